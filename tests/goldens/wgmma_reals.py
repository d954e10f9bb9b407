#!/usr/bin/env python3
"""Records what `wgmma` computes of numbers whose sums are not exact (PTX ISA 9.7.15.5.2), which tells how it adds them: from zero, and over four products in a row.
Factors come from shared memory, or the left one from registers; the left one may be sparse (9.7.15.6), and numbers be out of the ordinary: any bits, infinities and NaNs among them, mostly
subnormal ones, or such on one side alone. Prints JSON: for each case the first sums, and a digest of those of all threads.

    wgmma_reals.py [LIBCUDA] > wgmma_reals.json
    wgmma_reals.py [--every N] --check wgmma_reals.json [LIBCUDA]         # of each Nth kind
"""
import ctypes as C
import json
import sys

import recorded

COLUMNS = 64
THREADS = 128
SEEDS = range(6)
# Of each type of factors: `k`, and by mode bits of a word that are taken away and set. Ordinary are exponents that differ by up to seven; what is smaller than subnormal numbers have to be
# is multiplied by large ones.
FACTORS = {
    "f16": (16, {"ordinary": (0x9fff9fff, 0x20002000), "tiny": (0x87ff87ff, 0), "small": (0x807f807f, 0), "large": (0x8fff8fff, 0x60006000)}),
    "bf16": (16, {"ordinary": (0x83ff83ff, 0x3c003c00), "tiny": (0xa0ffa0ff, 0), "small": (0x800f800f, 0), "large": (0x80ff80ff, 0x7e007e00)}),
    "tf32": (8, {"ordinary": (0x83ffffff, 0x3c000000), "tiny": (0xa0ffffff, 0), "small": (0x800fffff, 0), "large": (0x80ffffff, 0x7e000000)}),
    "e4m3": (32, {"ordinary": (0xbfbfbfbf, 0x20202020), "tiny": (0x8f8f8f8f, 0), "small": (0x83838383, 0), "large": (0x8f8f8f8f, 0x60606060)}),
    "e5m2": (32, {"ordinary": (0xbfbfbfbf, 0x20202020), "tiny": (0x87878787, 0), "small": (0x81818181, 0), "large": (0x8f8f8f8f, 0x60606060)}),
}
# What numbers there are on both sides.
MODES = {mode: (mode, mode) for mode in ("ordinary", "any", "tiny")} | {"small left": ("small", "large"), "small right": ("large", "small")}
TYPES = (("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
         ("f32", "e4m3", "e4m3"), ("f32", "e5m2", "e5m2"), ("f32", "e4m3", "e5m2"), ("f16", "e5m2", "e4m3"))
# Types of sums, of the left and of the right factor; whether the left one lies in registers; the sign of the left one; which threads' words say where its elements are, if it is
# sparse; what numbers there are.
KINDS = [(*types, registers, sign, None, "ordinary") for types in TYPES for registers in (False, True) for sign in (1, -1)]
KINDS += [(*types, registers, 1, threads, "ordinary") for types in TYPES for registers in (False, True)
          for threads in ((0,) if types[1] in ("e4m3", "e5m2") else (0, 1))]
KINDS += [(*types, False, 1, threads, mode) for types in TYPES for threads in (None, 0) for mode in ("any", "tiny", "small left", "small right")]
# Two of four places that are taken, and of `.tf32` one of two.
PLACES = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110)
HALVES = (0b0100, 0b1110)


def places(left):
    """A word for each thread."""
    state, words = 1, []
    for _ in range(THREADS):
        word = 0
        for at in range(0, 32, 4):
            state = state * 1664525 + 1013904223 & 0xffffffff
            allowed = HALVES if left == "tf32" else PLACES
            word |= allowed[(state >> 16) % len(allowed)] << at
        words.append(word)
    return words


def text(sums, left, right, registers, sign, threads, mode):
    k = FACTORS[left][0]
    masks = [FACTORS[ty][1].get(side, (0xffffffff, 0)) for ty, side in zip((left, right), MODES[mode])]
    (taken, given), (right_taken, right_given) = masks
    count = COLUMNS // 2 if sums == "f32" else COLUMNS // 4
    names = ", ".join(f"%f{at}" for at in range(count))
    a = "{%a0, %a1, %a2, %a3}" if registers else "%from"
    transposed = (", 0" if registers else ", 0, 0") if k == 16 else ""
    sparse, where = ("", "") if threads is None else (".sp", f", %places, {threads}")
    # A sparse left factor makes up for twice as many rows of the right one, whose eights are further apart.
    k, right_rows = (k, 0x1000080000) if threads is None else (2 * k, 0x2000080000)
    return count, f""".version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 seed, .param .u32 steps, .param .u64 places)
{{
  .reg .pred %p, %adds; .reg .b32 %t, %at, %x, %y, %seed, %steps, %places, %a<4>; .reg .b64 %out, %from, %to; .reg .{'f32' if sums == 'f32' else 'b32'} %f<{count}>;
  .shared .align 128 .b8 tile[20480];
  ld.param.u64 %out, [out];
  ld.param.u32 %seed, [seed];
  ld.param.u32 %steps, [steps];
  ld.param.u64 %from, [places];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %from, %t, 4, %from;
  ld.global.u32 %places, [%from];
  mov.u32 %at, tile;
  mad.lo.u32 %at, %t, 4, %at;
  mov.u32 %x, 0;
FILL:
  mad.lo.u32 %y, %x, 0x9e3779b9, %seed;
  mad.lo.u32 %y, %t, 0x85ebca6b, %y;
  {" ".join(f"shr.u32 %a0, %y, {by}; xor.b32 %y, %y, %a0; mul.lo.u32 %y, %y, {factor};" for by, factor in ((15, 0x2c1b3c6d), (12, 0x297a2d39), (15, 1)))}
  // Rows of 512 bytes: four of the left factor, and behind them those of the right one; of further products both are anywhere.
  setp.ge.u32 %p, %x, 4;
  setp.lt.and.u32 %p, %x, 16, %p;
  selp.b32 %a0, {right_taken:#x}, {taken:#x}, %p;
  selp.b32 %a1, {right_given:#x}, {given:#x}, %p;
  and.b32 %y, %y, %a0;
  or.b32 %y, %y, %a1;
  st.shared.u32 [%at], %y;
  add.u32 %at, %at, 512;
  add.u32 %x, %x, 1;
  setp.lt.u32 %p, %x, 40;
  @%p bra FILL;
  fence.proxy.async;
  bar.sync 0;
  mov.u32 %at, tile;
  mad.lo.u32 %x, %t, 16, %at;
  ld.shared.v4.u32 {{%a0, %a1, %a2, %a3}}, [%x+8192];
  {" ".join(f"mov.b32 %f{at}, 0;" for at in range(count))}
  setp.eq.u32 %adds, %t, %t;
  // Units of eight rows follow each other, two of them for each eight rows; the right factor is a unit further on.
  shr.u32 %at, %at, 4;
  cvt.u64.u32 %from, %at;
  add.u64 %to, %from, 128;
  or.b64 %from, %from, 0x1000080000;
  or.b64 %to, %to, {right_rows:#x};
  mov.u32 %x, 0;
NEXT:
  wgmma.fence.sync.aligned;
  wgmma.mma_async{sparse}.sync.aligned.m64n{COLUMNS}k{k}.{sums}.{left}.{right} {{{names}}}, {a}, %to{where}, %adds, {sign}, 1{transposed};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.u64 %from, %from, 256;
  add.u64 %to, %to, 256;
  add.u32 %x, %x, 1;
  setp.lt.u32 %p, %x, %steps;
  @%p bra NEXT;
  mad.wide.u32 %out, %t, {4 * count}, %out;
  {" ".join(f"st.global.b32 [%out+{4 * at}], %f{at};" for at in range(count))}
  ret;
}}
"""


def cases(driver):
    out, given, made = driver.memory(THREADS * COLUMNS * 2), driver.memory(4 * THREADS), []
    for kind in KINDS:
        count, source = text(*kind)
        words = (C.c_uint32 * THREADS)(*places(kind[1]))
        driver.call("cuMemcpyHtoD_v2", given, words, C.c_size_t(C.sizeof(words)))
        function, module = driver.kernel(source)
        for seed in SEEDS:
            for steps in (1, 4):
                driver.run(function, THREADS, out, C.c_uint32(7919 * seed + 1), C.c_uint32(steps), given)
                made.append({"kind": kind, "seed": seed, "steps": steps, **driver.digest(out, THREADS * count)})
        driver.call("cuModuleUnload", module)
    return made


arguments = sys.argv[1:]
if arguments[:1] == ["--every"]:
    KINDS, arguments = KINDS[::int(arguments[1])], arguments[2:]
chosen = json.loads(json.dumps(KINDS))
sys.exit(recorded.main(arguments, cases, "products of warpgroups", lambda case: case["kind"] in chosen))
