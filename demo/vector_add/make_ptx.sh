#!/bin/sh
# Makes vector_add.ptx from vector_add.cu with clang's NVPTX target; nothing of a CUDA toolkit is needed.
set -eu
cd "$(dirname "$0")"
exec "${CLANG:-clang++-19}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_52 -nocudainc -nocudalib -O3 -S \
  -o "${1:-vector_add.ptx}" vector_add.cu
