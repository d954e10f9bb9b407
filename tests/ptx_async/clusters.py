"""Clusters: their registers, barriers, and shared memory of other CTAs (PTX ISA 3.2, 9.7.13.3, 10)."""
from cases import Case
from ptx import *

REGISTERS = ["%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z", "%clusterid.x", "%clusterid.y", "%clusterid.z",
             "%nclusterid.x", "%nclusterid.y", "%nclusterid.z", "%cluster_ctarank", "%cluster_nctarank"]
NUMBER = "  mov.u32 %r20, %ctaid.y;\n  mov.u32 %r21, %nctaid.x;\n  mad.lo.u32 %cta, %r20, %r21, %cta;\n  mov.u32 %r20, %ctaid.z;\n  mov.u32 %r22, %nctaid.y;\n  mul.lo.u32 %r21, %r21, %r22;\n  mad.lo.u32 %cta, %r20, %r21, %cta;\n"


def registers():
    moves = NUMBER + "".join(f"  mov.u32 %r{index}, {name};\n" for index, name in enumerate(REGISTERS)) + "  mov.pred %p, %is_explicit_cluster;\n  selp.u32 %r14, 1, 0, %p;\n"
    text = moves + show(*[f"%r{index}" for index in range(15)])
    for grid, cluster in (((4, 1, 1), None), ((4, 1, 1), (1, 1, 1)), ((8, 1, 1), (2, 1, 1)), ((6, 4, 1), (3, 2, 1)), ((4, 2, 4), (2, 2, 2)), ((2, 8, 1), (1, 8, 1))):
        count = grid[0] * grid[1] * grid[2]
        yield Case(f"registers of {grid} in clusters of {cluster}", kernel(text), out=60 * count, grid=grid, cluster=cluster, block=32)
    yield Case("registers, .reqnctapercluster 2, 2", kernel(text, directives=".explicitcluster .reqnctapercluster 2, 2, 1"), out=60 * 16, grid=(4, 4, 1), block=32)
    yield Case("registers, .reqnctapercluster and the same attribute", kernel(text, directives=".explicitcluster .reqnctapercluster 2, 1, 1"), out=60 * 4, grid=4, cluster=2, block=32)
    yield Case("registers, .reqnctapercluster and another attribute", kernel(text, directives=".explicitcluster .reqnctapercluster 2, 1, 1"), out=60 * 4, grid=4, cluster=4, block=32)
    yield Case("registers, .explicitcluster without an attribute", kernel(text, directives=".explicitcluster"), out=60 * 4, grid=4, block=32)
    yield Case("registers, .explicitcluster with an attribute", kernel(text, directives=".explicitcluster"), out=60 * 4, grid=4, cluster=2, block=32)
    for cluster in (3, 9, 16, 0):
        yield Case(f"clusters of {cluster} in a grid of 4", kernel(text), out=60 * 4, grid=4, cluster=(cluster, 1, 1), block=32)
    yield Case("clusters of 16 in a grid of 16", kernel(text), out=60 * 16, grid=16, cluster=16, block=32)
    yield Case(".maxclusterrank 2, clusters of 4", kernel(text, directives=".maxclusterrank 2"), out=60 * 4, grid=4, cluster=4, block=32)


def addresses():
    body = "  mapa.shared::cluster.u32 %r0, %buf, 0;\n  mapa.shared::cluster.u32 %r1, %buf, 1;\n  getctarank.shared::cluster.u32 %r2, %buf;\n  getctarank.shared::cluster.u32 %r3, %r1;\n" \
           "  cvta.shared.u64 %d0, %d1;\n  cvt.u64.u32 %d1, %buf;\n  cvta.shared.u64 %d0, %d1;\n  mapa.u64 %d2, %d0, 1;\n  getctarank.u64 %r4, %d2;\n  sub.u64 %d3, %d2, %d0;\n  cvt.u32.u64 %r5, %d3;\n" \
           "  isspacep.shared::cta %p, %d0;\n  selp.u32 %r6, 1, 0, %p;\n  isspacep.shared::cluster %p, %d0;\n  selp.u32 %r7, 1, 0, %p;\n" \
           "  isspacep.shared::cta %p, %d2;\n  selp.u32 %r8, 1, 0, %p;\n  isspacep.shared::cluster %p, %d2;\n  selp.u32 %r9, 1, 0, %p;\n  isspacep.global %p, %d2;\n  selp.u32 %r10, 1, 0, %p;\n" \
           "  mapa.shared::cluster.u32 %r11, %r1, 0;\n  sub.u32 %r12, %r1, %r0;\n  sub.u32 %r13, %buf, %r0;\n  mov.u32 %r14, 7;\n  mapa.shared::cluster.u32 %r15, %buf, %r14;\n  sub.u32 %r15, %r15, %r0;\n  sub.u32 %r11, %r11, %r0;\n"
    yield Case("addresses in a cluster", kernel(body + show("%r2", "%r3", "%r4", "%r5", "%r6", "%r7", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13", "%r15")), out=52 * 4, grid=4, cluster=2, block=32)
    yield Case("addresses in a cluster, whole", kernel(body + show("%buf", "%r0", "%r1") + "  add.u64 %out, %out, 64;\n" + show_wide("%d0", "%d2")), out=64 + 16 * 4, grid=4, cluster=2, block=32, fact=True)
    yield Case("getctarank without a cluster", kernel("  getctarank.shared::cluster.u32 %r0, %buf;\n  mapa.shared::cluster.u32 %r1, %buf, 0;\n  sub.u32 %r1, %r1, %buf;\n" + show("%r0", "%r1")), out=8, block=32)
    yield Case("isspacep of shared windows without a cluster", kernel("  cvt.u64.u32 %d1, %buf;\n  cvta.shared.u64 %d0, %d1;\n  isspacep.shared::cta %p, %d0;\n  selp.u32 %r6, 1, 0, %p;\n  isspacep.shared::cluster %p, %d0;\n  selp.u32 %r7, 1, 0, %p;\n" + show("%r6", "%r7")), out=8, block=32)


PEER = "  mov.u32 %r1, %cluster_nctarank;\n  add.u32 %r0, %rank, 1;\n  rem.u32 %r0, %r0, %r1;\n  mapa.shared::cluster.u32 %r2, %buf, %r0;\n  cvt.u64.u32 %d1, %buf;\n  cvta.shared.u64 %d0, %d1;\n  mapa.u64 %d2, %d0, %r0;\n"


def memory():
    for size in (2, 4, 8):
        body = fill(1024, "index") + SYNC + PEER + "  mad.lo.u32 %r3, %thread, 4, %r2;\n  ld.shared::cluster.u32 %r4, [%r3];\n  mul.wide.u32 %d3, %thread, 4;\n  add.u64 %d3, %d3, %d2;\n  ld.u32 %r5, [%d3+512];\n" + show("%r4", "%r5", per_thread=True) + SYNC
        yield Case(f"loads from the next of {size} CTAs", kernel(body), out=1024 * size * 2, grid=size * 2, cluster=size)
    body = fill(2048) + SYNC + PEER + "  mad.lo.u32 %r3, %thread, 4, %r2;\n  mad.lo.u32 %r4, %cta, 1000, %thread;\n  st.shared::cluster.u32 [%r3], %r4;\n  mul.wide.u32 %d3, %thread, 4;\n  add.u64 %d3, %d3, %d2;\n  st.u32 [%d3+512], %r4;\n" \
           "  mad.lo.u32 %r3, %thread, 8, %r2;\n  st.shared::cluster.v2.u32 [%r3+1024], {%r4, %thread};\n" + SYNC + dump(2048)
    yield Case("stores to the next CTA", kernel(body), out=2048 * 4, grid=4, cluster=4)
    ops = ["atom.shared::cluster.add.u32 %r5, [%r3], %thread;", "atom.add.u32 %r6, [%d3+512], 3;", "red.shared::cluster.max.u32 [%r3+1024], %thread;", "atom.shared::cluster.cas.b32 %r7, [%r3+1536], 0xeeeeeeee, %thread;",
           "atom.relaxed.cluster.shared::cluster.inc.u32 %r8, [%r2+2048], 1000;"]
    body = fill(4096) + SYNC + PEER + "  mad.lo.u32 %r3, %thread, 4, %r2;\n  mul.wide.u32 %d3, %thread, 4;\n  add.u64 %d3, %d3, %d2;\n" + "".join(f"  {op}\n" for op in ops) + SYNC + dump(4096)
    yield Case("atomics on the next CTA", kernel(body), out=4096 * 2, grid=2, cluster=2)
    body = fill(64, "0") + SYNC + "  mov.u32 %r0, 0;\n  mapa.shared::cluster.u32 %r2, %buf, %r0;\n  red.shared::cluster.add.u32 [%r2], 1;\n" + SYNC + "  ld.shared::cluster.u32 %r3, [%r2];\n" + show("%r3", per_thread=True) + SYNC
    for size in (2, 4, 8):
        yield Case(f"a counter of {size} CTAs", kernel(body), out=4 * 128 * size * 2, grid=size * 2, cluster=size)
    body = "  mov.u32 %r10, 0;\n  mov.u32 %r11, 0;\n" + fill(64, "0") + SYNC + "again:\n  mapa.shared::cluster.u32 %r2, %buf, 0;\n  @%first red.shared::cluster.add.u32 [%r2], 1;\n  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n" \
           "  ld.shared::cluster.u32 %r3, [%r2];\n  add.u32 %r11, %r11, %r3;\n  barrier.cluster.arrive;\n  barrier.cluster.wait;\n  add.u32 %r10, %r10, 1;\n  setp.lt.u32 %p, %r10, 10;\n  @%p bra again;\n" + show("%r11", per_thread=True)
    yield Case("ten rounds of a cluster's barrier", kernel(body), out=4 * 128 * 4, grid=4, cluster=4)
    init = one("mov.u32 %r1, %cluster_nctarank;", "mbarrier.init.shared.b64 [%bar], %r1;", "fence.mbarrier_init.release.cluster;")
    body = fill(512, "7") + init + SYNC + "  mapa.shared::cluster.u32 %r2, %bar, 0;\n  mapa.shared::cluster.u32 %r3, %buf, 0;\n" + one("mad.lo.u32 %r4, %rank, 4, %r3;", "st.shared::cluster.u32 [%r4], %rank;", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];") \
           + "  setp.ne.u32 %q, %rank, 0;\n  @%q bra over;\n" + wait(scope=".acquire.cluster") + "  bar.sync 0;\n" + dump(512) + "over:\n" + SYNC
    yield Case("arrivals from other CTAs", kernel(body), out=512, grid=4, cluster=4)
    init = one("mbarrier.init.shared.b64 [%bar], 1;", "fence.mbarrier_init.release.cluster;")
    body = fill(512) + init + SYNC + PEER + "  mapa.shared::cluster.u32 %r6, %bar, %r0;\n" + one("mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 512;") + "  bar.sync 0;\n  mad.lo.u32 %r3, %thread, 4, %r2;\n  mad.lo.u32 %r4, %rank, 1000, %thread;\n" \
           "  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r3], %r4, [%r6];\n" + wait(scope=".acquire.cluster") + dump(512) + SYNC
    yield Case("st.async b32", kernel(body), out=512 * 4, grid=4, cluster=4)
    for ty, registers, width in (("b64", "%d5", 8), ("u64", "%d5", 8), ("f64", "%e0", 8), ("v2.b32", "{%r4, %thread}", 8), ("v4.b32", "{%r4, %thread, %rank, %r0}", 16), ("v2.f32", "{%f0, %f1}", 8), ("v4.u32", "{%thread, %thread, %thread, %rank}", 16), ("v2.b64", "{%d5, %d6}", 16), ("s32", "%r4", 4)):
        setup = "  mad.lo.u32 %r4, %rank, 1000, %thread;\n  mul.wide.u32 %d5, %r4, 100003;\n  not.b64 %d6, %d5;\n  cvt.rn.f64.u32 %e0, %r4;\n  cvt.rn.f32.u32 %f0, %r4;\n  neg.f32 %f1, %f0;\n"
        rest = setup + f"  mad.lo.u32 %r5, %thread, {width}, %r2;\n  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{ty} [%r5], {registers}, [%r6];\n"
        size = width * 128
        body = fill(size) + init + SYNC + PEER + "  mapa.shared::cluster.u32 %r6, %bar, %r0;\n" + one(f"mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {size};") + "  bar.sync 0;\n" + rest + wait(scope=".acquire.cluster") + dump(size) + SYNC
        yield Case(f"st.async {ty}", kernel(body), out=size * 2, grid=2, cluster=2)
    for op, ty in (("and", "b32"), ("or", "b32"), ("xor", "b32"), ("min", "u32"), ("max", "u32"), ("add", "u32"), ("min", "s32"), ("max", "s32"), ("add", "s32"), ("inc", "u32"), ("dec", "u32"), ("add", "u64")):
        width = 8 if ty == "u64" else 4
        value = "%d5" if ty == "u64" else "%r4"
        body = fill(width * 128, "index") + init + SYNC + PEER + "  mapa.shared::cluster.u32 %r6, %bar, %r0;\n" + one(f"mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {2 * width * 128};") + "  bar.sync 0;\n" \
               + f"  mul.lo.u32 %r4, %thread, 0x9e3779b9;\n  mul.wide.u32 %d5, %r4, %r4;\n  mad.lo.u32 %r5, %thread, {width}, %r2;\n" + f"  red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.{op}.{ty} [%r5], {value}, [%r6];\n" * 2 \
               + wait(scope=".acquire.cluster") + dump(width * 128) + SYNC
        yield Case(f"red.async {op}.{ty}", kernel(body), out=width * 256, grid=2, cluster=2)


def faults():
    late = "  nanosleep.u32 1000000;\n" * 3
    yield Case("load from a CTA that has exited", kernel("  setp.eq.u32 %p, %rank, 1;\n  @%p ret;\n" + late + "  mapa.shared::cluster.u32 %r2, %buf, 1;\n  ld.shared::cluster.u32 %r3, [%r2];\n" + show("%r3")), out=8, grid=2, cluster=2, block=32)
    yield Case("store to a CTA that has exited", kernel("  setp.eq.u32 %p, %rank, 1;\n  @%p ret;\n" + late + "  mapa.shared::cluster.u32 %r2, %buf, 1;\n  st.shared::cluster.u32 [%r2], %r2;\n"), out=8, grid=2, cluster=2, block=32)
    yield Case("atomic on a CTA that has exited", kernel("  setp.eq.u32 %p, %rank, 1;\n  @%p ret;\n" + late + "  mapa.shared::cluster.u32 %r2, %buf, 1;\n  atom.shared::cluster.add.u32 %r3, [%r2], 1;\n" + show("%r3")), out=8, grid=2, cluster=2, block=32)
    yield Case("load from a rank that there is not", kernel("  mapa.shared::cluster.u32 %r2, %buf, 5;\n  ld.shared::cluster.u32 %r3, [%r2];\n" + show("%r3")), out=8, grid=2, cluster=2, block=32)
    yield Case("store to a rank that there is not", kernel("  mapa.shared::cluster.u32 %r2, %buf, 5;\n  st.shared::cluster.u32 [%r2], %r2;\n"), out=8, grid=2, cluster=2, block=32)
    yield Case("load from rank 1 without a cluster", kernel("  mapa.shared::cluster.u32 %r2, %buf, 1;\n  ld.shared::cluster.u32 %r3, [%r2];\n" + show("%r3")), out=8, block=32)
    yield Case("load beyond another CTA's shared memory", kernel("  mapa.shared::cluster.u32 %r2, %buf, 1;\n  add.u32 %r2, %r2, 0x30000;\n  ld.shared::cluster.u32 %r3, [%r2];\n" + show("%r3") + SYNC), out=8, grid=2, cluster=2, block=32)
    yield Case("misaligned load from another CTA", kernel("  mapa.shared::cluster.u32 %r2, %buf, 1;\n  ld.shared::cluster.u32 %r3, [%r2+2];\n" + show("%r3") + SYNC), out=8, grid=2, cluster=2, block=32)
    yield Case("arrival at a CTA that has exited", kernel("  setp.eq.u32 %p, %rank, 1;\n  @%p ret;\n" + late + "  mapa.shared::cluster.u32 %r2, %bar, 1;\n" + one("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];")), out=8, grid=2, cluster=2, block=32)
    yield Case("own address through ld.shared::cta with another's rank", kernel(fill(64, "index") + SYNC + "  mapa.shared::cluster.u32 %r2, %buf, 1;\n  ld.shared::cta.u32 %r3, [%r2+4];\n" + show("%r3") + SYNC), out=8, grid=2, cluster=2, block=32)


def all_cases():
    yield from registers()
    yield from addresses()
    yield from memory()
    yield from faults()
