#!/bin/sh
# need.sh COMMAND... : makes sure that the given commands can be run. Missing ones are installed with apt where that is
# possible (root, or sudo without a password); else this says precisely what to install, and fails.
set -eu

package_of() {
  case $1 in
    cc | gcc) echo gcc libc6-dev ;;
    c++ | g++) echo g++ ;;
    nm | readelf) echo binutils ;;
    clang++-19 | clang-19) echo clang-19 ;;
    libomp-19) echo libomp-19-dev ;;
    mpirun) echo openmpi-bin ;;
    python3-numpy) echo python3 python3-numpy ;;
    python3-venv) echo python3 python3-venv ;;
    *) echo "$1" ;;
  esac
}

present() {
  case $1 in
    freeglut3-dev) [ -e /usr/include/GL/freeglut.h ] ;;
    libfreeimage-dev) [ -e /usr/include/FreeImage.h ] ;;
    libopenmpi-dev) ls /usr/lib/*/openmpi/include/mpi.h >/dev/null 2>&1 ;;
    llvm-14-dev) [ -e /usr/lib/llvm-14/lib/libLLVMCore.a ] ;;
    llvm-19-dev) [ -e /usr/lib/llvm-19/lib/libLLVMX86CodeGen.a ] ;;
    zlib1g-dev) ls /usr/lib/*/libz.a >/dev/null 2>&1 ;;
    libzstd-dev) ls /usr/lib/*/libzstd.a >/dev/null 2>&1 ;;
    libomp-19) ls /usr/lib/llvm-19/lib/libomp.so >/dev/null 2>&1 ;;
    python3-numpy) /usr/bin/python3 -c 'import numpy' 2>/dev/null ;;
    python3-venv) /usr/bin/python3 -c 'import venv, ensurepip' 2>/dev/null ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

packages=
for command in "$@"; do
  present "$command" || packages="$packages $(package_of "$command")"
done
[ -n "$packages" ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then
    as_root=
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=sudo
  else
    echo "missing; please run: sudo apt-get install$packages" >&2
    exit 1
  fi
  echo "installing$packages" >&2
  $as_root apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $packages >/dev/null
else
  echo "missing; please install what Debian calls$packages" >&2
  exit 1
fi
