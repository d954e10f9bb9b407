"""Prints what the NVRTC that is named says of programs and options that it refuses."""
import sys

from support import Nvrtc

nvrtc = Nvrtc(sys.argv[1])
for source, options in [
    ("__global__ void kernel() { nothing(); }", ["-arch=sm_90"]),
    ("__global__ void kernel() { int unused; }", ["-arch=sm_90"]),
    ("__global__ void kernel() {}", ["-arch=sm_33"]),
    ("__global__ void kernel() {}", ["-arch=sm_90", "--nothing"]),
    ("__global__ void kernel() {}", ["-arch"]),
]:
    status, get, program = nvrtc.compile(source, options)
    print(status, get("ProgramLog"), len(get("CUBIN")[1]) > 0)
    nvrtc.destroy(program)
