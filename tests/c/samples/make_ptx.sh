#!/bin/sh
# Makes the PTX of the samples from their CUDA C++ with clang's NVPTX target; nothing of a CUDA toolkit is needed.
set -eu
cd "$(dirname "$0")"
for source in *.cu; do
  "${CLANG:-clang++-19}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_52 -nocudainc -nocudalib -O3 -S \
    -o "${source%.cu}.ptx" "$source"
done
