"""Bulk copies and reductions (PTX ISA 9.7.9.25.4)."""
import struct

from cases import Case, WORDS
from ptx import *

LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {};"
DONE = ("cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;")


def copies():
    for size, source, target in ((16, 0, 0), (512, 0, 0), (4096, 16, 0), (2000, 48, 32), (8192, 4096, 8192)):
        body = fill(16384) + INIT + one(EXPECT.format(size), f"{LOAD} [%buf+{target}], [%in+{source}], {size}, [%bar];") + wait() + dump(16384)
        yield Case(f"{size} bytes from global memory", kernel(body, size=16384), out=16384)
    body = fill(4096) + INIT + one("mov.u32 %r0, 1024;", "expect:", EXPECT.format(4096), *[f"{LOAD} [%buf+{3072 - 1024 * part}], [%in+{1024 * part}], %r0, [%bar];" for part in range(4)]).replace("  expect:\n", "") + wait() + dump(4096)
    yield Case("four copies that one mbarrier counts", kernel(body), out=4096)
    body = fill(4096) + INIT + one(f"{LOAD} [%buf], [%in], 1024, [%bar];", "nanosleep.u32 20000;", EXPECT.format(1024)) + wait() + dump(4096)
    yield Case("bytes that come before they are expected", kernel(body), out=4096)
    body = fill(4096) + INIT + one(EXPECT.format(1024), f"{LOAD} [%buf], [%in], 1024, [%bar];") + wait() + "  bar.sync 0;\n" + one(EXPECT.format(512), f"{LOAD} [%buf+2048], [%in+1024], 512, [%bar];") + wait(parity=1) + dump(4096)
    yield Case("two phases", kernel(body), out=4096)
    yield Case("to global memory", kernel(fill(4096, "index") + TO_ASYNC + one(f"{STORE} [%out+64], [%buf+32], 1008;", *DONE)), out=b"\x11" * 2048)
    yield Case("to global memory, in three groups", kernel(fill(4096, "index") + TO_ASYNC + one(f"{STORE} [%out], [%buf], 512;", DONE[0], f"{STORE} [%out+1024], [%buf+512], 512;", DONE[0], f"{STORE} [%out+512], [%buf+1024], 256;", DONE[0],
               "cp.async.bulk.wait_group.read 2;", "cp.async.bulk.wait_group.read 0;", "st.shared.u32 [%buf], %thread;", "cp.async.bulk.wait_group 0;")), out=b"\x11" * 2048)
    yield Case("prefetch", kernel(one("cp.async.bulk.prefetch.L2.global [%in], 1024;", "cp.async.bulk.prefetch.L2.global [%in+16], 4096;")), out=16)
    body = fill(4096) + INIT + SYNC + one(EXPECT.format(1024)) + "  bar.sync 0;\n" + SYNC + leader("mov.b16 %h0, {mask};", f"{LOAD}.multicast::cluster [%buf+256], [%in], 1024, [%bar], %h0;") + "{waits}" + dump(4096) + SYNC
    for mask, size in ((0b11, 2), (0b10, 2), (0b1111, 4), (0b1010, 4), (0b0101, 4)):
        label = f"none{mask}"
        waits = f"  shr.u32 %r7, {mask}, %rank;\n  and.b32 %r7, %r7, 1;\n  setp.eq.u32 %q, %r7, 0;\n  @%q bra {label};\n" + wait(scope=".acquire.cluster") + f"{label}:\n"
        yield Case(f"multicast to {mask:#b} of {size}", kernel(body.replace("{mask}", str(mask)).replace("{waits}", waits)), out=4096 * size, grid=size, cluster=size)
    body = fill(2048, "index") + INIT + one("add.u32 %r9, %buf, 2048;", EXPECT.format(1024)) + SYNC + TO_ASYNC + "  add.u32 %r0, %rank, 1;\n  and.b32 %r0, %r0, 3;\n  add.u32 %r9, %buf, 1024;\n  mapa.shared::cluster.u32 %r2, %r9, %r0;\n  mapa.shared::cluster.u32 %r6, %bar, %r0;\n" \
           + one("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%buf], 1024, [%r6];") + wait(scope=".acquire.cluster") + dump(2048) + SYNC
    yield Case("to the shared memory of the next CTA", kernel(body), out=2048 * 4, grid=4, cluster=4)
    yield Case("from global memory to another CTA", kernel(fill(1024) + INIT + one(EXPECT.format(512)) + SYNC + "  xor.b32 %r0, %rank, 1;\n  mapa.shared::cluster.u32 %r2, %buf, %r0;\n  mapa.shared::cluster.u32 %r6, %bar, %r0;\n"
               + one("mul.wide.u32 %d0, %rank, 512;", "add.u64 %d0, %d0, %in;", f"{LOAD} [%r2+256], [%d0], 512, [%r6];") + wait(scope=".acquire.cluster") + dump(1024) + SYNC), out=2048, grid=2, cluster=2)


def pack(kind, values):
    return b"".join(struct.pack("<" + kind, value) for value in values)


def bf16(value):
    return struct.pack("<f", value)[2:]


INTEGERS = WORDS[:1024]
SMALL = [(index * 7) % 61 - 20 for index in range(256)]
FLOATS = {"f32": pack("f", SMALL), "f64": pack("d", SMALL[:128]), "f16": pack("e", SMALL + SMALL), "bf16": b"".join(map(bf16, SMALL + SMALL))}
# Bits of subnormal numbers and their neighbours, each with each.
TINY = {"f32": ("I", 1 << 31, 1 << 23), "f64": ("Q", 1 << 63, 1 << 52), "f16": ("H", 1 << 15, 1 << 10), "bf16": ("H", 1 << 15, 1 << 7)}


def tiny(ty):
    """All pairs of them: one of each, and the other one, as bytes."""
    code, negative, least = TINY[ty]
    bits = [sign | bits for sign in (0, negative) for bits in (0, 1, least // 2, least - 1, least, least + least // 2)]
    return [pack(code, column) for column in zip(*((a, b) for a in bits for b in bits))]


REVERSED = {ty: content[::-1] for ty, content in FLOATS.items()}
OTHER = {"f32": pack("f", SMALL[::-1]), "f64": pack("d", SMALL[:128][::-1]), "f16": pack("e", (SMALL + SMALL)[::-1]), "bf16": b"".join(map(bf16, (SMALL + SMALL)[::-1]))}


def reductions():
    for op, types in (("and", ("b32", "b64")), ("or", ("b32", "b64")), ("xor", ("b32", "b64")), ("add", ("u32", "s32", "u64", "f32", "f64", "noftz.f16", "noftz.bf16")), ("inc", ("u32",)), ("dec", ("u32",)),
                      ("min", ("u32", "s32", "u64", "s64", "f16", "bf16")), ("max", ("u32", "s32", "u64", "s64", "f16", "bf16"))):
        for ty in types:
            plain = ty.removeprefix("noftz.")
            before, values = (FLOATS[plain], OTHER[plain]) if plain in FLOATS else (INTEGERS[::-1], INTEGERS)
            body = load(1024) + TO_ASYNC + one(*[f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{ty} [%out], [%buf], 1024;", *DONE] * 2)
            yield Case(f"reduction to global memory, {op}.{ty}", kernel(body), out=before, input=values)
    for ty in ("f32", "f64", "noftz.f16", "noftz.bf16"):
        before, values = tiny(ty.removeprefix("noftz."))
        body = load(2048) + TO_ASYNC + one(f"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.{ty} [%out], [%buf], {len(values)};", *DONE)
        yield Case(f"reduction to global memory of subnormal numbers, add.{ty}", kernel(body), out=before, input=values.ljust(2048, b"\0"))
    for op, ty in (("and", "b32"), ("or", "b32"), ("xor", "b32"), ("add", "u32"), ("add", "s32"), ("add", "u64"), ("inc", "u32"), ("dec", "u32"), ("min", "u32"), ("min", "s32"), ("max", "u32"), ("max", "s32")):
        body = fill(1024, "index") + INIT + one(EXPECT.format(512)) + SYNC + TO_ASYNC + "  xor.b32 %r0, %rank, 1;\n  add.u32 %r9, %buf, 512;\n  mapa.shared::cluster.u32 %r2, %r9, %r0;\n  mapa.shared::cluster.u32 %r6, %bar, %r0;\n" \
               + one(f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{ty} [%r2], [%buf], 512, [%r6];") + wait(scope=".acquire.cluster") + dump(1024) + SYNC
        yield Case(f"reduction in another CTA, {op}.{ty}", kernel(body), out=2048, grid=2, cluster=2)


def faults():
    def load_of(setup, size="512"):
        return kernel(INIT + one(EXPECT.format(512), *setup, f"mov.u32 %r0, {size};", f"{LOAD} [%buf], [%in], %r0, [%bar];", "nanosleep.u32 100000;"))
    yield Case("fault: target of a bulk copy at no multiple of 16", load_of(["add.u32 %buf, %buf, 8;"]), out=16)
    yield Case("fault: source of a bulk copy at no multiple of 16", load_of(["add.u64 %in, %in, 8;"]), out=16)
    for size in (0, 8, 24):
        body = fill(512) + INIT + one(EXPECT.format(512), f"mov.u32 %r0, {size};", f"{LOAD} [%buf], [%in], %r0, [%bar];", "nanosleep.u32 100000;") + "  bar.sync 0;\n" + dump(512)
        yield Case(f"{size} bytes from global memory", kernel(body), out=512)
    yield Case("fault: mbarrier of a bulk copy misaligned", load_of(["add.u32 %bar, %bar, 4;"]), out=16)
    yield Case("fault: bulk copy from nowhere", load_of(["mov.u64 %in, 4096;"]), out=16)
    yield Case("fault: bulk copy over the end of shared memory", load_of(["add.u32 %buf, %buf, 0x38000;"]), out=16)
    yield Case("fault: bulk copy to nowhere", kernel(fill(512) + TO_ASYNC + one("mov.u64 %out, 4096;", f"{STORE} [%out], [%buf], 512;", *DONE)), out=16)
    yield Case("fault: multicast to a CTA that there is not", kernel(INIT + SYNC + leader("mov.b16 %h0, 12;", EXPECT.format(512), f"{LOAD}.multicast::cluster [%buf], [%in], 512, [%bar], %h0;", "nanosleep.u32 100000;") + SYNC), out=16, grid=2, cluster=2)


def all_cases():
    yield from copies()
    yield from reductions()
    yield from faults()
