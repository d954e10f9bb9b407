"""A process with Python's own fault handler: kernels fault without it. faulthandler.py LIBCUDA [own]: then faults itself."""
import ctypes
import faulthandler
import sys

faulthandler.enable()
cuda = ctypes.CDLL(sys.argv[1])

PTX = b"""
.version 7.0
.target sm_52
.address_size 64
.visible .entry stores(.param .u64 to) {
    .reg .b64 %d;
    ld.param.u64 %d, [to];
    st.global.u64 [%d], %d;
    ret;
}
"""
ILLEGAL_ADDRESS = 700


def check(result, expected=0):
    if result != expected:
        sys.exit(f"{result} instead of {expected}")


context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"stores"))
target = ctypes.c_uint64()
check(cuda.cuMemAlloc_v2(ctypes.byref(target), ctypes.c_size_t(64)))


def launch(address):
    value = ctypes.c_uint64(address)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None))
    return cuda.cuCtxSynchronize()


check(launch(target.value))
check(launch(ctypes.addressof(target)), ILLEGAL_ADDRESS)
check(cuda.cuMemFree_v2(target), ILLEGAL_ADDRESS)
assert faulthandler.is_enabled()
print("done", flush=True)
if sys.argv[2:] == ["own"]:
    ctypes.string_at(8)
