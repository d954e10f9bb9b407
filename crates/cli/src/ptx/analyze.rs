//! `warploom ptx analyze`: what a compiler of kernels knows of them.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use warploom_ptx::diagnostic::excerpts;
use warploom_ptx::{Options, VerifiedModule, load};
use warploom_simt::{Gangs, analyze};

use super::{capability, kernels, texts};

/// Print what is known of kernels when the threads of a warp are to run as the lanes of vectors.
///
/// For each value whether threads that run together have it in common, and why not; where they part and meet; how they access memory; what runs between
/// barriers; where they may wait for each other. The exit status is 1 if the PTX does not load.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  warploom ptx analyze --cta 16,16 --gang 16 kernels.ptx")]
pub(crate) struct Analyze {
    /// Threads of a CTA along x, y and z. A kernel with .reqntid has its own.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "128", value_parser = shape)]
    cta: [u32; 3],

    /// Threads that run together: 1, 2, 4, 8, 16 or 32.
    #[arg(long, value_name = "N", default_value_t = 8)]
    gang: u32,

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

impl Analyze {
    pub(super) fn execute(&self) -> anyhow::Result<ExitCode> {
        let options = Options { driver_version: warploom_abi::CUDA_VERSION.unsigned_abs(), sm: self.device };
        let mut failed = false;
        let mut found = false;
        for (name, text) in texts(&self.file)? {
            match load(&text, &options) {
                Ok(module) => found |= self.show(&module)?,
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

    /// Whether there was a kernel to show.
    fn show(&self, module: &VerifiedModule) -> anyhow::Result<bool> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let mut found = false;
        for kernel in kernels(module) {
            let function = &module.functions[kernel.0 as usize];
            if self.kernel.as_ref().is_some_and(|name| *name != function.name) {
                continue;
            }
            let gangs =
                Gangs::new(function.directives.reqntid.unwrap_or(self.cta), self.gang).map_err(anyhow::Error::msg)?;
            if let Some(info) = analyze(module, kernel, gangs) {
                write!(out, "{info}")?;
                found = true;
            }
        }
        out.flush()?;
        Ok(found)
    }
}

/// Extents of a CTA.
pub(super) fn shape(text: &str) -> Result<[u32; 3], String> {
    let extents: Result<Vec<u32>, _> = text.split(',').map(|extent| extent.trim().parse()).collect();
    match extents.as_deref() {
        Ok(&[x]) => Ok([x, 1, 1]),
        Ok(&[x, y]) => Ok([x, y, 1]),
        Ok(&[x, y, z]) => Ok([x, y, z]),
        _ => Err("one to three numbers with commas are expected".to_owned()),
    }
}
