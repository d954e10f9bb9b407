#!/usr/bin/env python3
"""Records what barriers do with thread counts that the manual does not allow (PTX ISA 9.7.13.1: a multiple of the warp size, and not 0 for an arrival),
constants and values of registers. Prints JSON: for each instruction, number of threads and count what loading and running answer, and how many threads come
behind the barrier. Each case has a process of its own; one that does not end in time is a hang.

    barrier_counts.py [LIBCUDA] > barrier_counts.json
"""
import ctypes as C
import json
import subprocess
import sys

library = sys.argv[1] if len(sys.argv) > 1 else "libcuda.so.1"
SECONDS = 10
FORMS = {
    "bar.sync": "bar.sync 1, {count};",
    "barrier.sync": "barrier.sync 1, {count};",
    "bar.red.popc.u32": "bar.red.popc.u32 %r2, 1, {count}, %p1;",
    # A warp arrives, the other waits for both.
    "bar.arrive": "@%p0 bar.arrive 1, {count};\n  @!%p0 bar.sync 1, 64;",
}
CASES = [(form, threads, count, constant)
         for form in FORMS for threads in (32, 64) for count in (0, 1, 16, 31, 32, 33, 48, 64) for constant in (False, True)
         if count <= threads and (form != "bar.arrive" or (threads == 64 and count in (0, 1, 33, 48)))]


def text(form, constant, count):
    operand = str(count) if constant else "%r1"
    return f""".version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 count)
{{
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %d<2>;
  ld.param.u64 %d0, [out];
  ld.param.u32 %r1, [count];
  mov.u32 %r0, %tid.x;
  setp.lt.u32 %p0, %r0, 32;
  setp.ge.u32 %p1, %r0, 0;
  {FORMS[form].format(count=operand)}
  red.global.add.u32 [%d0], 1;
  ret;
}}
"""


def one(form, threads, count, constant):
    lib = C.CDLL(library)
    device, context, module, function, out = C.c_int(), C.c_void_p(), C.c_void_p(), C.c_void_p(), C.c_uint64()
    for call, *args in (("cuInit", 0), ("cuDeviceGet", C.byref(device), 0), ("cuDevicePrimaryCtxRetain", C.byref(context), device), ("cuCtxSetCurrent", context)):
        assert getattr(lib, call)(*args) == 0, call
    name = C.create_string_buffer(256)
    lib.cuDeviceGetName(name, 256, device)
    loaded = lib.cuModuleLoadData(C.byref(module), C.c_char_p(text(form, constant, count).encode()))
    ran = behind = None
    if not loaded:
        assert lib.cuModuleGetFunction(C.byref(function), module, b"k") == 0
        assert lib.cuMemAlloc_v2(C.byref(out), C.c_size_t(4)) == 0
        assert lib.cuMemsetD32_v2(out, 0, C.c_size_t(1)) == 0
        number = C.c_uint32(count)
        params = (C.c_void_p * 2)(C.cast(C.byref(out), C.c_void_p), C.cast(C.byref(number), C.c_void_p))
        assert lib.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, None, params, None) == 0
        ran = lib.cuCtxSynchronize()
        if not ran:
            result = C.c_uint32()
            assert lib.cuMemcpyDtoH_v2(C.byref(result), out, C.c_size_t(4)) == 0
            behind = result.value
    print(json.dumps({"device": name.value.decode(), "load": loaded, "run": ran, "behind": behind}))


if len(sys.argv) > 3:
    one(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "True")
    raise SystemExit

lines, device = [], None
for start in range(0, len(CASES), 16):
    batch = CASES[start:start + 16]
    children = [subprocess.Popen([sys.executable, __file__, library, *map(str, case)], stdout=subprocess.PIPE) for case in batch]
    for (form, threads, count, constant), child in zip(batch, children):
        case = {"form": form, "threads": threads, "count": count, "constant": constant}
        try:
            answer = json.loads(child.communicate(timeout=SECONDS)[0])
            device = answer.pop("device")
            case.update(answer)
        except subprocess.TimeoutExpired:
            child.kill()
            case["hangs"] = True
        lines.append(json.dumps(case))
print(json.dumps({"device": device})[:-1] + ', "cases": [')
print(",\n".join(lines) + "]}")
