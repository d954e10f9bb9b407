"""Text of the cases' kernels: all have the same parameters and registers, and write their results to `out`."""
import itertools
import re

HEAD = """.version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in, .param .align 64 .b8 map[128], .param .align 64 .b8 other[128]){directives}
{{
  .reg .pred %p, %q, %first, %last, %leader;
  .reg .b16 %h<8>;
  .reg .b32 %r<40>, %thread, %cta, %rank, %buf, %bar, %step;
  .reg .b64 %d<20>, %out, %in, %map, %other;
  .reg .f32 %f<8>;
  .reg .f64 %e<4>;
  .shared .align 1024 .b8 buf[{size}];
  .shared .align 16 .b8 bars[64];
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  mov.b64 %other, other;
  cvta.param.u64 %other, %other;
  mov.u32 %thread, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %buf, buf;
  mov.u32 %bar, bars;
  setp.eq.u32 %first, %thread, 0;
  setp.eq.and.u32 %leader, %rank, 0, %first;
"""
labels = itertools.count()


def kernel(body, size=4096, directives="", version="8.3", target="sm_90a"):
    # Labels are numbered in each kernel: what stands in one changes no other.
    numbers = {}
    body = re.sub(r"\b(skip|wait|fill|load|dump)(\d+)\b", lambda found: found[1] + str(numbers.setdefault(found[0], len(numbers))), body)
    return HEAD.format(version=version, target=target, directives=directives and " " + directives, size=size) + body.strip("\n") + "\n  ret;\n}\n"


def one(*lines):
    """Lines that one thread of the CTA executes."""
    label = f"skip{next(labels)}"
    return f"  @!%first bra {label};\n" + "".join(f"  {line}\n" for line in lines) + f"{label}:\n"


def leader(*lines):
    """Lines that one thread of the cluster executes."""
    return one(*lines).replace("@!%first", "@!%leader")


def wait(address="%bar", parity=0, scope=""):
    label = f"wait{next(labels)}"
    return f"{label}:\n  mbarrier.try_wait.parity{scope}.shared::cta.b64 %p, [{address}], {parity};\n  @!%p bra {label};\n"


def fill(size, value="0xeeeeeeee"):
    """Words of the buffer: all the same, or (`index`) the hash of their number and of the rank of the CTA."""
    label = f"fill{next(labels)}"
    compute = f"mov.u32 %r31, {value};" if value != "index" else "mad.lo.u32 %r31, %rank, 4096, %r30; mul.lo.u32 %r31, %r31, 0x9e3779b1;"
    return f"  mov.u32 %r30, %thread;\n{label}:\n  {compute}\n  mad.lo.u32 %r32, %r30, 4, %buf;\n  st.shared.u32 [%r32], %r31;\n  mov.u32 %r33, %ntid.x;\n" \
           f"  add.u32 %r30, %r30, %r33;\n  setp.lt.u32 %p, %r30, {size // 4};\n  @%p bra {label};\n"


def load(size, source="%in"):
    """Fills the buffer from memory, each CTA with a part of its own."""
    label = f"load{next(labels)}"
    return f"  mov.u32 %r30, %thread;\n{label}:\n  mad.lo.u32 %r31, %cta, {size // 4}, %r30;\n  mad.wide.u32 %d18, %r31, 4, {source};\n  ld.global.u32 %r31, [%d18];\n" \
           f"  mad.lo.u32 %r32, %r30, 4, %buf;\n  st.shared.u32 [%r32], %r31;\n  mov.u32 %r33, %ntid.x;\n" \
           f"  add.u32 %r30, %r30, %r33;\n  setp.lt.u32 %p, %r30, {size // 4};\n  @%p bra {label};\n"


def dump(size, base=0):
    """Writes the buffer to `out`, behind those of the CTAs before."""
    label = f"dump{next(labels)}"
    return f"  mov.u32 %r30, %thread;\n{label}:\n  mad.lo.u32 %r32, %r30, 4, %buf;\n  ld.shared.u32 %r31, [%r32];\n  mad.lo.u32 %r32, %cta, {size // 4}, %r30;\n" \
           f"  mad.wide.u32 %d18, %r32, 4, %out;\n  st.global.u32 [%d18+{base}], %r31;\n  mov.u32 %r33, %ntid.x;\n  add.u32 %r30, %r30, %r33;\n" \
           f"  setp.lt.u32 %p, %r30, {size // 4};\n  @%p bra {label};\n"


def show(*registers, per_thread=False):
    """Writes registers (32 bits) to `out`: of each thread or of the first one of each CTA."""
    count = len(registers)
    at = "  mov.u32 %r39, %ntid.x;\n  mad.lo.u32 %r39, %cta, %r39, %thread;\n" if per_thread else "  mov.u32 %r39, %cta;\n"
    guard = "" if per_thread else "@%first "
    stores = "".join(f"  {guard}st.global.u32 [%d19+{4 * index}], {register};\n" for index, register in enumerate(registers))
    return at + f"  mad.wide.u32 %d19, %r39, {4 * count}, %out;\n" + stores


def show_wide(*registers):
    """Writes registers (64 bits) of the first thread of each CTA to `out`."""
    stores = "".join(f"  @%first st.global.u64 [%d19+{8 * index}], {register};\n" for index, register in enumerate(registers))
    return f"  mad.wide.u32 %d19, %cta, {8 * len(registers)}, %out;\n" + stores


SYNC = "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
INIT = one("mbarrier.init.shared::cta.b64 [%bar], 1;", "mbarrier.init.shared::cta.b64 [%bar+8], 1;", "fence.mbarrier_init.release.cluster;", "fence.proxy.async;") + "  bar.sync 0;\n"
TO_ASYNC = "  fence.proxy.async;\n  bar.sync 0;\n"
