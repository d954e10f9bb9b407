#!/usr/bin/env python3
"""Records what `wgmma` computes of numbers whose sums are not exact (PTX ISA 9.7.15.5.2), which tells how it adds them: from zero, and over four products in a row.
Factors come from shared memory, or the left one from registers. Prints JSON: for each case the first sums, and a digest of those of all threads.

    wgmma_reals.py [LIBCUDA] > wgmma_reals.json
    wgmma_reals.py --check wgmma_reals.json [LIBCUDA]
"""
import ctypes as C
import sys

import recorded

COLUMNS = 64
THREADS = 128
SEEDS = range(6)
# Of each type of factors: `k`, and bits of a word that are taken away and set, so that exponents differ by up to seven.
FACTORS = {
    "f16": (16, 0x9fff9fff, 0x20002000),
    "bf16": (16, 0x83ff83ff, 0x3c003c00),
    "tf32": (8, 0x83ffffff, 0x3c000000),
    "e4m3": (32, 0xbfbfbfbf, 0x20202020),
    "e5m2": (32, 0xbfbfbfbf, 0x20202020),
}
# Types of sums, of the left and of the right factor; whether the left one lies in registers; the sign of the left one.
KINDS = [(sums, left, right, registers, sign)
         for sums, left, right in (("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
                                   ("f32", "e4m3", "e4m3"), ("f32", "e5m2", "e5m2"), ("f32", "e4m3", "e5m2"), ("f16", "e5m2", "e4m3"))
         for registers in (False, True) for sign in (1, -1)]


def text(sums, left, right, registers, sign):
    k, taken, given = FACTORS[left]
    count = COLUMNS // 2 if sums == "f32" else COLUMNS // 4
    names = ", ".join(f"%f{at}" for at in range(count))
    a = "{%a0, %a1, %a2, %a3}" if registers else "%from"
    transposed = (", 0" if registers else ", 0, 0") if k == 16 else ""
    return count, f""".version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 seed, .param .u32 steps)
{{
  .reg .pred %p, %adds; .reg .b32 %t, %at, %x, %y, %seed, %steps, %a<4>; .reg .b64 %out, %from, %to; .reg .{'f32' if sums == 'f32' else 'b32'} %f<{count}>;
  .shared .align 128 .b8 tile[16384];
  ld.param.u64 %out, [out];
  ld.param.u32 %seed, [seed];
  ld.param.u32 %steps, [steps];
  mov.u32 %t, %tid.x;
  mov.u32 %at, tile;
  mad.lo.u32 %at, %t, 4, %at;
  mov.u32 %x, 0;
FILL:
  mad.lo.u32 %y, %x, 0x9e3779b9, %seed;
  mad.lo.u32 %y, %t, 0x85ebca6b, %y;
  {" ".join(f"shr.u32 %a0, %y, {by}; xor.b32 %y, %y, %a0; mul.lo.u32 %y, %y, {factor};" for by, factor in ((15, 0x2c1b3c6d), (12, 0x297a2d39), (15, 1)))}
  and.b32 %y, %y, {taken:#x};
  or.b32 %y, %y, {given:#x};
  st.shared.u32 [%at], %y;
  add.u32 %at, %at, 512;
  add.u32 %x, %x, 1;
  setp.lt.u32 %p, %x, 32;
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
  or.b64 %from, %from, 0x1000080000;
  add.u64 %to, %from, 128;
  mov.u32 %x, 0;
NEXT:
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{COLUMNS}k{k}.{sums}.{left}.{right} {{{names}}}, {a}, %to, %adds, {sign}, 1{transposed};
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
    out, made = driver.memory(THREADS * COLUMNS * 2), []
    for kind in KINDS:
        count, source = text(*kind)
        function, module = driver.kernel(source)
        for seed in SEEDS:
            for steps in (1, 4):
                driver.run(function, THREADS, out, C.c_uint32(7919 * seed + 1), C.c_uint32(steps))
                made.append({"kind": kind, "seed": seed, "steps": steps, **driver.digest(out, THREADS * count)})
        driver.call("cuModuleUnload", module)
    return made


sys.exit(recorded.main(sys.argv[1:], cases, "products of warpgroups"))
