#!/bin/sh
# Compiles kernels/*.cu to PTX in the directory given (default ptx/), with clang's NVPTX target:
#   tools/make_ptx.sh [OUTDIR [SET]]
# SET is the folder whose kernels/ are taken, default this one; those of the second set:
#   tools/make_ptx.sh more/ptx more
# NVCC=/path/to/nvcc takes NVIDIA's compiler instead, e.g. PyPI's:
#   python3 -m venv tk && tk/bin/pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime
set -eu
cd "$(dirname "$0")/.."
out=${1:-ptx}
kernels=${2:-.}/kernels
mkdir -p "$out"
out=$(cd "$out" && pwd)
CLANG=${CLANG:-clang++-19}
for cu in "$kernels"/*.cu; do
  n=$(basename "$cu" .cu)
  if [ -n "${NVCC:-}" ]; then
    (cd "$kernels" && "$NVCC" -arch=compute_80 -O3 -ptx -o "$out/$n.ptx" "$n.cu")
  else
    "$CLANG" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -Xclang -target-feature -Xclang +ptx70 -std=c++17 -O3 \
      -Wno-unknown-cuda-version -include tools/cuda_device.h -S -o "$out/$n.ptx" "$cu"
  fi
done
