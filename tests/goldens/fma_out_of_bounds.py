#!/usr/bin/env python3
"""Records what `fma.rn.oob` computes on hardware (PTX ISA 9.7.4.5): which patterns of a half mark an operand as out of bounds, what becomes of them as
each operand, with `.relu`, and in each half of a packed operand. Prints JSON with hexadecimal bits.

    fma_out_of_bounds.py [LIBCUDA] > fma_out_of_bounds.json

`sweeps`: for all 65536 patterns of one operand, those for which the instruction and the same without `.oob` differ, with both results.
`products`: all triples of `values`, the last operand running fastest.
"""
import ctypes as C
import itertools
import json
import sys

lib = C.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libcuda.so.1")
VALUES = {
    "f16": [0x7ff7, 0xfff7, 0x7fff, 0xffff, 0x7ff6, 0x7e00, 0x7c01, 0x7c00, 0xfc00, 0x0000, 0x8000, 0x3c00, 0xc000, 0x0001, 0x7bff],
    "bf16": [0x7ff7, 0xfff7, 0x7fff, 0xffff, 0x7ff6, 0x7fc0, 0x7f81, 0x7f80, 0xff80, 0x0000, 0x8000, 0x3f80, 0xc000, 0x0001, 0x7f7f],
}
ONE, TWO = {"f16": 0x3c00, "bf16": 0x3f80}, {"f16": 0x4000, "bf16": 0x4000}


def check(name, *args):
    result = getattr(lib, name)(*args)
    if result:
        raise SystemExit(f"{name} answers {result}")


def kernel(instruction, bits):
    return f"""
.version 8.1
.target sm_90
.address_size 64
.visible .entry run(.param .u64 in, .param .u64 out, .param .u32 count)
{{
  .reg .pred %none; .reg .b32 %i, %n, %count; .reg .b64 %p, %o; .reg .b{bits} %a, %b, %c, %d;
  mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %i, 128, %n;
  ld.param.u32 %count, [count]; setp.ge.u32 %none, %i, %count; @%none exit;
  ld.param.u64 %p, [in]; mad.wide.u32 %p, %i, {3 * bits // 8}, %p;
  ld.global.b{bits} %a, [%p]; ld.global.b{bits} %b, [%p+{bits // 8}]; ld.global.b{bits} %c, [%p+{2 * bits // 8}];
  {instruction} %d, %a, %b, %c;
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %i, {bits // 8}, %o; st.global.b{bits} [%o], %d;
  ret;
}}
"""


def run(instruction, bits, triples):
    module, function, source, target = C.c_void_p(), C.c_void_p(), C.c_uint64(), C.c_uint64()
    check("cuModuleLoadData", C.byref(module), C.c_char_p(kernel(instruction, bits).encode()))
    check("cuModuleGetFunction", C.byref(function), module, b"run")
    word = C.c_uint16 if bits == 16 else C.c_uint32
    flat = (word * (3 * len(triples)))(*itertools.chain(*triples))
    out = (word * len(triples))()
    check("cuMemAlloc_v2", C.byref(source), C.c_size_t(C.sizeof(flat)))
    check("cuMemAlloc_v2", C.byref(target), C.c_size_t(C.sizeof(out)))
    check("cuMemcpyHtoD_v2", source, flat, C.c_size_t(C.sizeof(flat)))
    count = C.c_uint32(len(triples))
    params = (C.c_void_p * 3)(*[C.cast(C.byref(x), C.c_void_p) for x in (source, target, count)])
    check("cuLaunchKernel", function, (len(triples) + 127) // 128, 1, 1, 128, 1, 1, 0, None, params, None)
    check("cuMemcpyDtoH_v2", out, target, C.c_size_t(C.sizeof(out)))
    check("cuMemFree_v2", source)
    check("cuMemFree_v2", target)
    check("cuModuleUnload", module)
    return list(out)


check("cuInit", 0)
device, context, version = C.c_int(), C.c_void_p(), C.c_int()
check("cuDeviceGet", C.byref(device), 0)
check("cuDevicePrimaryCtxRetain", C.byref(context), device)
check("cuCtxSetCurrent", context)
check("cuDriverGetVersion", C.byref(version))
name = C.create_string_buffer(256)
check("cuDeviceGetName", name, 256, device)

lines = []
for ty, relu in itertools.product(("f16", "bf16"), ("", ".relu")):
    sweeps = {}
    for place, operand in enumerate("abc"):
        triples = [tuple(x if at == place else (ONE, ONE, TWO)[at][ty] for at in range(3)) for x in range(65536)]
        marked = run(f"fma.rn.oob{relu}.{ty}", 16, triples)
        plain = run(f"fma.rn{relu}.{ty}", 16, triples)
        sweeps[operand] = [f"{x:04x} {m:04x} {p:04x}" for x, (m, p) in enumerate(zip(marked, plain)) if m != p]
    triples = list(itertools.product(VALUES[ty], repeat=3))
    products = run(f"fma.rn.oob{relu}.{ty}", 16, triples)
    # The upper halves are the same triples from the other end.
    pairs = [tuple(low | high << 16 for low, high in zip(a, b)) for a, b in zip(triples, reversed(triples))]
    packed = run(f"fma.rn.oob{relu}.{ty}x2", 32, pairs)
    lines.append(json.dumps({
        "type": ty, "relu": bool(relu), "values": [f"{x:04x}" for x in VALUES[ty]], "sweeps": sweeps,
        "products": " ".join(f"{x:04x}" for x in products), "packed": " ".join(f"{x:08x}" for x in packed),
    }, separators=(",", ":")))
print(json.dumps({"device": name.value.decode(), "driver": version.value})[:-1] + ',"cases":[')
print(",\n".join(lines) + "]}")
