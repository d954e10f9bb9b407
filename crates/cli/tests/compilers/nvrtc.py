"""Compiles for devices with the NVRTC that is named, and runs what comes out."""
import sys

from support import Driver, Nvrtc

SOURCE = """extern "C" __global__ void kernel(int *to) {
  __shared__ int shared[32];
  shared[threadIdx.x] = __CUDA_ARCH__ / 10 + threadIdx.x;
  __syncthreads();
  to[threadIdx.x] = shared[31 - threadIdx.x];
}"""
nvrtc, driver = Nvrtc(sys.argv[1]), Driver()

for options, architecture in [
    (["-arch=sm_90"], 90),
    (["-arch", "sm_80"], 80),
    (["--gpu-architecture=sm_90a", "-lineinfo"], 90),
    (["--gpu-architecture", "sm_75", "--maxrregcount=32"], 75),
    (["-arch=compute_75", "-arch=sm_90", "-G"], 90),
]:
    status, get, program = nvrtc.compile(SOURCE, options)
    assert status == 0, (options, status, get("ProgramLog"))
    status, image = get("CUBIN")
    assert status == 0 and image.startswith(b"\x7fELF"), (options, status)
    assert driver.run(image, b"kernel", 32) == [architecture + 31 - thread for thread in range(32)], options
    status, ptx = get("PTX")
    assert status == 0 and b".target sm_%d" % architecture in ptx, ptx
    nvrtc.destroy(program)

# What the assembler says goes to the log.
status, get, program = nvrtc.compile(SOURCE, ["-arch=sm_90", "-Xptxas", "-v"])
assert status == 0 and b"Compiling entry function 'kernel' for 'sm_90'" in get("ProgramLog")[1], get("ProgramLog")
# A program may be compiled again, for no device: then it has no image.
assert nvrtc.library.nvrtcCompileProgram(program, 0, None) == 0
assert get("CUBIN") == (0, b"") and get("ProgramLog") == (0, b"\0"), (get("CUBIN"), get("ProgramLog"))
nvrtc.destroy(program)

# PTX of the program's own that is refused: the log says so, as for NVIDIA's.
status, get, program = nvrtc.compile('__global__ void kernel() { asm volatile("nothing.u32 %r1;"); }', ["-arch=sm_90"])
assert status == 6 and b"ptxas application ptx input, line" in get("ProgramLog")[1], (status, get("ProgramLog"))
assert get("CUBIN")[1] == b""
nvrtc.destroy(program)

# A function that is not there is an error, unless another link may bring it.
missing = "extern __device__ int other(); __global__ void kernel(int *to) { *to = other(); }"
for options, expected in [([], 6), (["-rdc=true"], 0)]:
    status, get, program = nvrtc.compile(missing, ["-arch=sm_90", *options])
    assert status == expected, (status, get("ProgramLog"))
    assert (len(get("CUBIN")[1]) > 0) == (expected == 0)
    nvrtc.destroy(program)

# Link-time optimisation has neither PTX nor an image.
status, get, program = nvrtc.compile(SOURCE, ["-arch=sm_90", "-dlto"])
assert status == 0 and len(get("LTOIR")[1]) > 100 and get("CUBIN")[1] == b""
nvrtc.destroy(program)

# What callers get wrong, NVIDIA's library answers.
assert nvrtc.library.nvrtcCompileProgram(None, 0, None) != 0
assert nvrtc.library.nvrtcGetCUBIN(None, None) != 0
print("all is well")
