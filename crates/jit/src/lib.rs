//! Compiles kernels with LLVM, and runs them behind the seam of `warploom-exec`.
//!
//! `warploom-simt` writes the text of a kernel; here LLVM makes code of it, and a kernel that was made runnable by another executor
//! gets variants of compiled code by the shape of its CTAs. LLVM is opened at the first compilation, so that a process that compiles nothing never
//! meets it. Where something is not covered, or LLVM is not there, the other executor runs the kernel.

mod apart;
mod asked;
mod background;
mod cache;
mod caches;
mod compile;
mod context;
mod effort;
mod estimate;
mod kernel;
mod llvm;
mod microarchitecture;
mod object;
mod sums;
mod tier;
mod turns;

pub use cache::{Cache, CacheSettings, Usage};
pub use compile::{Origin, Target};
pub use tier::{Made, Mode, Options, tiered};
pub use warploom_simt::codegen::Style;

use warploom_ptx::ir::{FunctionId, Module};

/// No compilation begins any more: for the end of the process.
pub fn close() {
    background::close();
}

/// What code is to be shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// LLVM's text, as it is written.
    Llvm,
    /// Assembly.
    Assembly,
}

/// What a kernel becomes for CTAs of one shape, as a text.
///
/// # Errors
/// Why it is not covered, or what to install.
pub fn emit(module: &Module, kernel: FunctionId, cta: [u32; 3], target: Target, form: Form) -> Result<String, String> {
    let llvm = llvm::llvm()?;
    let module = &warploom_simt::standalone(module, kernel, cta, Style::Chosen)?;
    let task = compile::Task { module, kernel, cta, target, style: Style::Chosen, dump: None };
    let (cpu, features) = task.processor(llvm.cpu(), llvm.features());
    let written = task.write(&cpu, &features)?;
    let shown = |text: String| match form {
        Form::Llvm => Ok(text),
        Form::Assembly => llvm.assembly(&text),
    };
    let text = shown(written.text)?;
    let Some(apart) = written.apart else { return Ok(text) };
    let mark = if form == Form::Llvm { ';' } else { '#' };
    Ok(format!("{text}\n{mark} Another module: what gangs go on with where their team is left.\n\n{}", shown(apart)?))
}

/// The compiler that there is: its version, and where it was found.
///
/// # Errors
/// Why there is none.
pub fn compiler() -> Result<String, String> {
    Ok(llvm::llvm()?.describe())
}

/// The assembly that LLVM makes of a kernel's text ([`warploom_simt::codegen::compile`]).
///
/// # Errors
/// What LLVM says against it, or what to install if it is not there.
pub fn assembly(text: &str) -> Result<String, String> {
    llvm::llvm()?.assembly(text)
}
