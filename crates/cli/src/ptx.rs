//! `warploom ptx`: says whether PTX loads and why not, and shows how it was understood.
mod analyze;
mod compile;

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use warploom_interp::{LoadError, Processor};
use warploom_ptx::diagnostic::{APPLICATION_INPUT, Diagnostic, error_log, excerpts, info_log};
use warploom_ptx::image::{EntryKind, Fatbin, ImageKind, identify, read_container};
use warploom_ptx::ir::{FunctionId, FunctionKind};
use warploom_ptx::lower::lower;
use warploom_ptx::{Options, VerifiedModule, load, syntax};

use crate::version::CudaVersion;

/// Check PTX, or show how it is understood
#[derive(Debug, Subcommand)]
pub(crate) enum Ptx {
    Check(Check),
    Dump(Dump),
    Analyze(analyze::Analyze),
    Compile(compile::Compile),
}

/// Say whether PTX loads, and what is wrong with it.
///
/// Files are PTX, fat binaries, or what cuLinkComplete gave. The exit status is 1 if one does not load, 2 if one cannot be read.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  warploom ptx check kernels.ptx\n  warploom ptx check --cuda 12.4 --device sm_80 *.ptx"
)]
pub(crate) struct Check {
    /// Load as the driver of this CUDA version.
    #[arg(long, value_name = "X.Y", default_value_t = CudaVersion(warploom_abi::CUDA_VERSION))]
    cuda: CudaVersion,

    /// Load for a device of this compute capability.
    #[arg(long, value_name = "sm_NN", default_value = "sm_90", value_parser = capability)]
    device: u32,

    /// Print the lines that a program finds in its JIT log.
    #[arg(long)]
    log: bool,

    /// The files; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Print PTX as it was understood, what was not understood left out.
///
/// What is wrong with it goes to standard error, and makes the exit status 1.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  warploom ptx dump --form ir kernels.ptx | less")]
pub(crate) struct Dump {
    /// In which form.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    form: Form,

    /// A PTX file, a fat binary, or what cuLinkComplete gave; - is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// PTX, one statement a line.
    Text,
    /// The syntax tree.
    Tree,
    /// The typed intermediate representation: registers, blocks, instructions with their lines.
    Ir,
}

impl Ptx {
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Check(command) => command.execute(),
            Self::Dump(command) => command.execute(),
            Self::Analyze(command) => command.execute(),
            Self::Compile(command) => command.execute(),
        }
    }
}

impl Check {
    fn execute(self) -> anyhow::Result<ExitCode> {
        let options = Options { driver_version: self.cuda.0.unsigned_abs(), sm: self.device };
        let mut status = 0;
        for file in &self.files {
            match texts(file) {
                Ok(texts) => {
                    for (name, text) in texts {
                        let loads = self.check(&name, &text, &options)?;
                        status = status.max(u8::from(!loads));
                    }
                }
                // The other files are looked at all the same.
                Err(error) => {
                    eprintln!("warploom: {error:#}");
                    status = 2;
                }
            }
        }
        Ok(ExitCode::from(status))
    }

    /// Prints what there is to say about one text; whether it loads.
    fn check(&self, name: &str, text: &[u8], options: &Options) -> anyhow::Result<bool> {
        let mut out = io::stdout().lock();
        match load(text, options) {
            Ok(module) => {
                self.problems(name, &String::from_utf8_lossy(text), module.warnings());
                for Refusal { line, kernel, reason } in refusals(&module) {
                    let line = line.map_or(String::new(), |line| format!("{line}:"));
                    writeln!(out, "{name}:{line} kernel {kernel} does not launch: {reason}")?;
                }
                let kernels = kernels(&module).count();
                writeln!(out, "{name}: loads, {kernels} kernel{}", if kernels == 1 { "" } else { "s" })?;
                Ok(true)
            }
            Err(failure) => {
                self.problems(name, &failure.source, &failure.diagnostics);
                writeln!(out, "{name}: does not load")?;
                Ok(false)
            }
        }
    }

    fn problems(&self, name: &str, source: &str, diagnostics: &[Diagnostic]) {
        if self.log {
            for log in [info_log, error_log].map(|log| log(source, APPLICATION_INPUT, diagnostics)) {
                if !log.is_empty() {
                    eprintln!("{log}");
                }
            }
        } else {
            eprint!("{}", excerpts(source, name, diagnostics, io::stderr().is_terminal()));
        }
    }
}

fn kernels(module: &VerifiedModule) -> impl Iterator<Item = FunctionId> {
    let functions = module.functions.iter().enumerate();
    functions.filter(|(_, function)| function.kind == FunctionKind::Kernel).map(|(at, _)| FunctionId(at as u32))
}

/// What keeps a kernel from launching.
pub(crate) struct Refusal<'a> {
    /// Where, if it is at one place.
    pub(crate) line: Option<u32>,
    /// The kernel's name.
    pub(crate) kernel: &'a str,
    /// Why.
    pub(crate) reason: String,
}

/// What keeps kernels from launching. Instructions without a meaning are all named, of those that only cannot be executed the first.
pub(crate) fn refusals(module: &VerifiedModule) -> impl Iterator<Item = Refusal<'_>> {
    kernels(module).flat_map(move |id| {
        let kernel = module.functions[id.0 as usize].name.as_str();
        let refusal = |line: u32, instruction: &str| {
            let reason = format!("`{instruction}` is not supported");
            Refusal { line: Some(line), kernel, reason }
        };
        let unknown = module.unsupported(id);
        if !unknown.is_empty() {
            let all = unknown.into_iter().map(|(_, found)| refusal(found.line, module.mnemonic(found.mnemonic)));
            return all.collect::<Vec<_>>();
        }
        // Nothing is executed, so that no variable need be anywhere.
        match warploom_interp::load(module, id, &|_| true, Processor::default()) {
            Ok(_) => Vec::new(),
            Err(LoadError::Unsupported { instruction, line, .. }) => vec![refusal(line, &instruction)],
            Err(error) => vec![Refusal { line: None, kernel, reason: error.to_string() }],
        }
    })
}

impl Dump {
    fn execute(self) -> anyhow::Result<ExitCode> {
        let mut failed = false;
        for (name, text) in texts(&self.file)? {
            let parsed = syntax::parse(&text);
            let color = io::stderr().is_terminal();
            let mut diagnostics = parsed.diagnostics;
            let text = match self.form {
                Form::Text => parsed.module.to_string(),
                Form::Tree => syntax::dump(&parsed.module),
                Form::Ir => {
                    let lowered = lower(&parsed.module);
                    diagnostics.extend(lowered.diagnostics);
                    lowered.module.to_string()
                }
            };
            eprint!("{}", excerpts(parsed.module.source(), &name, &diagnostics, color));
            failed |= diagnostics.iter().any(Diagnostic::is_error);
            let mut out = BufWriter::new(io::stdout().lock());
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
        Ok(ExitCode::from(u8::from(failed)))
    }
}

/// The PTX texts of a file, each with the name to show for it.
fn texts(file: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let name = if is_standard_input(file) { "<stdin>".to_owned() } else { file.display().to_string() };
    let bytes = read(file).with_context(|| format!("cannot read {name}"))?;
    let texts: Vec<_> = match identify(&bytes) {
        Some(ImageKind::Fatbin) => {
            let fatbin = Fatbin::parse(&bytes).with_context(|| format!("cannot read {name}"))?;
            let entries = fatbin.entries.iter().filter(|entry| entry.kind == EntryKind::Ptx);
            entries
                .map(|entry| Ok((format!("{name}({})", entry.architecture), entry.content().map(Cow::into_owned)?)))
                .collect::<anyhow::Result<_>>()?
        }
        Some(ImageKind::Elf) => {
            let container = read_container(&bytes).with_context(|| format!("cannot read {name}"))?;
            container.texts.into_iter().map(|(part, text)| (format!("{name}({part})"), text.into_bytes())).collect()
        }
        // Text that is no PTX is for the parser to complain about.
        Some(ImageKind::Ptx | ImageKind::FatbinWrapper) | None => return Ok(vec![(name, bytes)]),
    };
    if texts.is_empty() {
        bail!("{name} holds no PTX, only machine code: compile it for a virtual architecture as well (compute_NN)");
    }
    Ok(texts)
}

fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    if !is_standard_input(file) {
        return std::fs::read(file);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn capability(text: &str) -> Result<u32, String> {
    let known = warploom_abi::settings::COMPUTE_CAPABILITIES;
    let capability = text.strip_prefix("sm_").and_then(|digits| digits.parse().ok());
    capability.filter(|capability| known.contains(capability)).ok_or_else(|| {
        let names = known.map(|capability| format!("sm_{capability}"));
        format!("one of {} is expected", names.join(", "))
    })
}
