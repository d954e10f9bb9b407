//! Compiles kernels with LLVM, and runs them behind the seam of `warploom-exec`.
//!
//! `warploom-simt` writes the text of a kernel; here LLVM makes code of it, and a kernel that was made runnable by another executor
//! gets variants of compiled code by the shape of its CTAs. LLVM is opened at the first compilation, so that a process that compiles nothing never
//! meets it. Where something is not covered, or LLVM is not there, the other executor runs the kernel.

mod kernel;
mod llvm;
mod sums;
mod tier;

pub use tier::{Mode, Target, tiered};

/// The assembly that LLVM makes of a kernel's text ([`warploom_simt::codegen::compile`]).
///
/// # Errors
/// What LLVM says against it, or what to install if it is not there.
pub fn assembly(text: &str) -> Result<String, String> {
    llvm::llvm()?.assembly(text)
}
