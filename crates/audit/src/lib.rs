//! An auditing library for the dynamic linker (`LD_AUDIT`, rtld-audit(7)): how our driver and our runtime library get into a program.
//!
//! - Whoever loads a `libcudart`, a `libcuda` or a `libnvidia-ml`, by whatever name and path, gets ours (`libraries`).
//! - Where NVIDIA's runtime library is linked into a program or library, its functions are led to our `libcudart` of the same major
//!   version, before any code of that object runs (`embedded`, `lead`; `layouts` where it was stripped). In Python modules without a symbol table those lead there that the
//!   module hands to others (`python`).
//! - NVIDIA's run-time compiler and linker (`libnvrtc`, `libnvJitLink`) are loaded as they are; what they export leads through a library of
//!   ours that knows them (`front`).
//! - NVIDIA's assembler and linker, started by their path, give way to ours (`tools`).
//! - Who asks whether the files of NVIDIA's kernel module are there is told that they are (`device_files`).
//! - Where an older driver is asked for, our driver loses the names that are newer (`hide`).
//!
//! It lives in a namespace of its own, with a C library of its own, in every program that `warploom run` starts and in their children. So it
//! starts no thread, keeps no file open, holds no lock while it calls the dynamic linker, and costs about a tenth of a millisecond.
//! What it did is told on standard error if `WARPLOOM_EXPLAIN` is set.
//!
//! Only `interface`, `loaded`, `trampolines`, `text`, `exports`, `resolve` and `device_files` are unsafe: what the dynamic linker hands over, memory of
//! the program, and functions that it calls.

mod device_files;
mod elf_file;
mod embedded;
mod explain;
mod exports;
mod front;
mod hide;
mod interface;
mod layouts;
mod lead;
mod libraries;
mod loaded;
mod python;
mod resolve;
mod text;
mod tools;
mod trampolines;
