#!/bin/sh
# Makes clang_debug.ptx: a kernel with full debug data, as clang's NVPTX target writes it.
cd "$(dirname "$0")" && clang-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -O0 -g \
  --cuda-noopt-device-debug -fdebug-compilation-dir=. -S clang_debug.cu -o clang_debug.ptx
