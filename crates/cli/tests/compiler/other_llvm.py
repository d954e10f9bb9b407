"""Compiles with llvmlite's LLVM and runs kernels that the driver compiles with its own, in turn."""

import ctypes

from llvmlite import binding as llvm

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry times(.param .u64 out, .param .u32 factor)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [factor];
mov.u32 %r2, %tid.x; mul.lo.u32 %r3, %r1, %r2;
mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r3;
ret;
}
"""


def square(engines):
    module = llvm.parse_assembly("define i32 @square(i32 %x) { %y = mul i32 %x, %x ret i32 %y }")
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    engines.append(engine)
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(engine.get_function_address("square"))


def launch(cuda, function, out, threads, factor):
    pointer, number = ctypes.c_uint64(out.value), ctypes.c_uint32(factor)
    params = (ctypes.c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(number))
    assert cuda.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, None, params, None) == 0
    words = (ctypes.c_uint32 * threads)()
    assert cuda.cuMemcpyDtoH_v2(words, out, ctypes.sizeof(words)) == 0
    assert list(words) == [factor * thread for thread in range(threads)]


def main():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    engines = []
    assert square(engines)(7) == 49
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function, out = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"times") == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(out), 4096) == 0
    launch(cuda, function, out, 64, 3)
    assert square(engines)(9) == 81
    launch(cuda, function, out, 128, 5)
    print("both")


main()
