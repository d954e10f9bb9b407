#!/bin/sh
# static_runtime.sh ARCHIVE SYMBOLS OUTPUT: makes libcudart_static.a of the runtime's archive as the compiler leaves it. Only the names
# of SYMBOLS, a list with comments, stay global, and `warploom_runtime`, by which `warploom run` knows the library and leaves it alone.
set -eu

archive=$1 symbols=$2 output=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

grep -v '^#' "$symbols" >"$work/names"
echo warploom_runtime >>"$work/names"
# In a section of its own, which stays where symbols are stripped ("R": also where unused sections are dropped).
printf '.section .warploom_runtime,"aR"\n.globl warploom_runtime\nwarploom_runtime: .byte 1\n.section .note.GNU-stack,"",@progbits\n' |
  cc -c -x assembler -o "$work/marker.o" -
sed 's/^/-u /' "$work/names" >"$work/wanted"
ld -r --gc-sections @"$work/wanted" -o "$work/all.o" "$work/marker.o" "$archive"
# The bitcode of Rust's library is of no use, and trips up archivers with a plugin of an older LLVM.
objcopy --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd --keep-global-symbols="$work/names" "$work/all.o" "$work/cudart.o"
rm -f "$output"
ar rcs "$output" "$work/cudart.o"
