//! `warploom ptx compile`: what code a kernel becomes.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use warploom_jit::{Form, Target, emit};
use warploom_ptx::diagnostic::excerpts;
use warploom_ptx::{Options, VerifiedModule, load};

use super::analyze::shape;
use super::{capability, kernels, texts};

/// Print the code that kernels become, for this processor, or why they are left to the interpreter.
///
/// The exit status is 1 if the PTX does not load, or a kernel is not compiled.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  warploom ptx compile --emit asm --cta 16,16 kernels.ptx")]
pub(crate) struct Compile {
    /// In which form.
    #[arg(long, value_enum, default_value_t = Emit::Llvm)]
    emit: Emit,

    /// Threads of a CTA along x, y and z. A kernel with .reqntid has its own.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "128", value_parser = shape)]
    cta: [u32; 3],

    /// For which processor.
    #[arg(long, value_enum, default_value_t = Cpu::Host)]
    cpu: Cpu,

    /// Load for a device of this compute capability.
    #[arg(long, value_name = "sm_NN", default_value = "sm_90", value_parser = capability)]
    device: u32,

    /// Only this kernel.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,

    /// A PTX file, a fat binary, or what cuLinkComplete gave; - is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Emit {
    /// LLVM's text, before anything is done to it.
    Llvm,
    /// Assembly.
    Asm,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Cpu {
    /// This one.
    Host,
    /// One with AVX2 and nothing newer.
    #[value(name = "x86-64-v3")]
    V3,
}

impl Compile {
    pub(super) fn execute(&self) -> anyhow::Result<ExitCode> {
        let options = Options { driver_version: warploom_abi::CUDA_VERSION.unsigned_abs(), sm: self.device };
        let mut failed = false;
        let mut found = false;
        for (name, text) in texts(&self.file)? {
            match load(&text, &options) {
                Ok(module) => {
                    let (shown, declined) = self.show(&module)?;
                    found |= shown;
                    failed |= declined;
                }
                Err(failure) => {
                    eprint!("{}", excerpts(&failure.source, &name, &failure.diagnostics, io::stderr().is_terminal()));
                    failed = true;
                }
            }
        }
        match &self.kernel {
            Some(name) if !found && !failed => bail!("{} has no kernel {name}", self.file.display()),
            _ => Ok(ExitCode::from(u8::from(failed))),
        }
    }

    /// Whether there was a kernel, and whether one was declined.
    fn show(&self, module: &VerifiedModule) -> anyhow::Result<(bool, bool)> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let [mut found, mut declined] = [false; 2];
        let form = match self.emit {
            Emit::Llvm => Form::Llvm,
            Emit::Asm => Form::Assembly,
        };
        let target = match self.cpu {
            Cpu::Host => Target::Host,
            Cpu::V3 => Target::V3,
        };
        for kernel in kernels(module) {
            let function = &module.functions[kernel.0 as usize];
            if self.kernel.as_ref().is_some_and(|name| *name != function.name) {
                continue;
            }
            found = true;
            match emit(module, kernel, function.directives.reqntid.unwrap_or(self.cta), target, form) {
                Ok(text) => write!(out, "{text}")?,
                Err(why) => {
                    eprintln!("warploom: kernel {} is not compiled: {why}", function.name);
                    declined = true;
                }
            }
        }
        out.flush()?;
        Ok((found, declined))
    }
}
