#!/bin/sh
# link_compiler.sh LLVM_RS OUTPUT : makes libwarploom-simt.so, LLVM 19 as the driver uses it, of Debian's static libraries. It exports the functions that
# crates/jit/src/llvm.rs names, binds everything else inside, and needs nothing but the C library: another LLVM in the same process meets
# nothing of it.
set -eu

names_from=$1
output=$2
llvm=/usr/lib/llvm-19/lib
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What X86 code generation, the reader of LLVM's text and the optimiser of -O2 are made of. `llvm-config --link-static` would add Polly, Z3 and libxml2.
components='Passes Coroutines HipStdPar ipo Vectorize Linker FrontendOpenMP FrontendOffloading X86CodeGen X86Desc X86Info
  MCDisassembler Instrumentation IRPrinter GlobalISel SelectionDAG CFGuard AsmPrinter CodeGen Target ScalarOpts InstCombine AggressiveInstCombine
  ObjCARCOpts TransformUtils CodeGenTypes BitWriter Analysis ProfileData Symbolize DebugInfoBTF DebugInfoPDB DebugInfoMSF DebugInfoDWARF
  Object TextAPI MCParser IRReader AsmParser MC DebugInfoCodeView BitReader Core Remarks BitstreamReader BinaryFormat TargetParser
  Support Demangle'
archives=
for component in $components; do
  archives="$archives $llvm/libLLVM$component.a"
done

# The functions of the interface, and the four that open a target.
grep -oE '^    LLVM[A-Za-z0-9]+: fn' "$names_from" | sed 's/^ *//; s/: fn//' >"$work/names"
grep -oE '"LLVMInitializeX86[A-Za-z]+' "$names_from" | tr -d '"' >>"$work/names"
[ -s "$work/names" ] || { echo "link_compiler.sh: $names_from names no functions" >&2; exit 1; }
{ echo '{ global:'; sed 's/$/;/' "$work/names"; echo 'local: *; };'; } >"$work/exports"

# The process may end while a kernel is compiled: LLVM must not take itself apart then.
cat >"$work/exit.c" <<'END'
int __cxa_atexit(void (*function)(void *), void *argument, void *library) {
  (void)function, (void)argument, (void)library;
  return 0;
}
END
${CC:-cc} -c -O2 -fPIC -o "$work/exit.o" "$work/exit.c"

# shellcheck disable=SC2046,SC2086
${CXX:-c++} -shared -o "$work/library" "$work/exit.o" $(sed 's/^/-Wl,-u,/' "$work/names") \
  -Wl,--start-group $archives -Wl,--end-group -l:libz.a -l:libzstd.a -static-libstdc++ -static-libgcc \
  -Wl,--version-script="$work/exports" -Wl,-soname,libwarploom-simt.so -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-z,now -Wl,--no-undefined -Wl,--as-needed -Wl,-s
# Whole or not at all.
mv "$work/library" "$output.new"
mv "$output.new" "$output"
