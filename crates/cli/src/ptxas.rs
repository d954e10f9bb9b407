//! `warploom ptxas`: NVIDIA's assembler as tools start it. PTX is checked with our diagnostics in its lines, and becomes the image that our
//! driver loads, which holds the PTX.
pub(crate) mod options;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use warploom_ptx::diagnostic::{error_log, info_log};
use warploom_ptx::image::{Container, write_container};
use warploom_ptx::resources::{Shape, notes};
use warploom_ptx::verify::newest_version;
use warploom_ptx::{Linker, Options, VerifiedModule};

use crate::ptx::{Refusal, refusals};
use crate::version::CudaVersion;
use options::{Assemble, Target};

/// What this command is called where it stands in for NVIDIA's.
pub(crate) const NAME: &str = "ptxas";
/// The exit status with errors, as recorded.
const FAILED: u8 = 255;
/// Kernels have at least so many registers by NVIDIA's ABI, whatever they are limited to; as recorded for sm_80 and newer.
const FEWEST_REGISTERS: u32 = 24;

/// Stand in for NVIDIA's ptxas: check PTX, and write an image that warploom's driver loads
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Ptxas {
    /// Options and files as NVIDIA's ptxas takes them; `--help` lists them
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Ptxas {
    /// With these options and files.
    pub(crate) fn new(words: Vec<OsString>) -> Ptxas {
        Ptxas { words }
    }

    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        let options = match options::parse(self.words) {
            Ok(options) => options,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                error.print()?;
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => return Ok(fatal(&said(&error))),
        };
        if options.version {
            println!("{}", version());
        } else if options.list_arch {
            Target::known().for_each(|target| println!("{target}"));
        } else if options.list_version {
            versions().for_each(|(major, minor)| println!("{major}.{minor}"));
        } else {
            return Ok(assemble(&options));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What `--version` prints. Tools look for "release X.Y" and "VX.Y.Z" in it, the CUDA version.
fn version() -> String {
    let cuda = CudaVersion(warploom_abi::CUDA_VERSION);
    let own = env!("CARGO_PKG_VERSION");
    format!("ptxas: the PTX assembler of warploom {own}\nCuda compilation tools, release {cuda}, V{cuda}.0")
}

/// The versions of PTX that are understood.
fn versions() -> impl Iterator<Item = (u32, u32)> {
    let newest = newest_version(warploom_abi::CUDA_VERSION.unsigned_abs());
    (1..=newest.0)
        .flat_map(|major| (0..16).map(move |minor| (major, minor)))
        .filter(move |version| *version <= newest && warploom_ptx::verify::exists(*version))
}

/// What is wrong with the command line, as NVIDIA's tool says it.
fn said(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    // "--gpu-name <NAME>" is the option "gpu-name".
    let option = text(ContextKind::InvalidArg);
    let option = option.trim_start_matches('-').split([' ', '=']).next().unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => format!("Unknown option '-{option}'"),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation if !text(ContextKind::InvalidValue).is_empty() => {
            format!("Value '{}' is not defined for option '{option}'", text(ContextKind::InvalidValue))
        }
        _ => {
            let all = error.to_string();
            all.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    }
}

fn fatal(message: &str) -> ExitCode {
    eprintln!("ptxas fatal   : {message}");
    ExitCode::from(FAILED)
}

/// The texts with the names that messages call them by; what is wrong with a file that cannot be read.
fn texts(options: &Assemble) -> Result<Vec<(String, Vec<u8>)>, String> {
    let strings = options.input_as_string.iter().map(|text| Ok(("<string>".to_owned(), text.clone().into_bytes())));
    let files = options.files.iter().map(|path| {
        let name = path.display().to_string();
        fs::read(path).map(|text| (name.clone(), text)).map_err(|_| format!("Input file '{name}' could not be opened"))
    });
    files.chain(strings).collect()
}

fn assemble(options: &Assemble) -> ExitCode {
    let inputs = match texts(options) {
        Ok(inputs) if inputs.is_empty() => {
            return fatal("No input files specified; use option --help for more information");
        }
        Ok(inputs) => inputs,
        Err(message) => return fatal(&message),
    };
    let sm = options.gpu_name.sm();
    let ptx = Options { driver_version: warploom_abi::CUDA_VERSION.unsigned_abs(), sm };
    let most_registers = options.most_registers();
    let start = Instant::now();

    let (mut linker, mut container) = (Linker::new(), Container { texts: Vec::new(), most_registers, sm });
    let (mut remarks, mut failed) = (String::new(), false);
    for (name, text) in inputs {
        let source = String::from_utf8_lossy(&text).into_owned();
        let input = match warploom_ptx::compile(&text, &ptx) {
            Ok(input) => input,
            Err(failure) => {
                eprintln!("{}", error_log(&failure.source, &name, &failure.diagnostics));
                failed = true;
                continue;
            }
        };
        remarks.push_str(&info_log(&source, &name, input.warnings()));
        match linker.add(&name, input) {
            Ok(()) => container.texts.push((name, source)),
            Err(messages) => {
                messages.iter().for_each(|message| eprintln!("ptxas error   : {message}"));
                failed = true;
            }
        }
    }
    if failed {
        return ExitCode::from(FAILED);
    }
    let module = match linker.complete() {
        Ok(module) => Some(module),
        // Another link may bring what is missing.
        Err(_) if options.compile_only => None,
        Err(messages) => return fatal(&messages.join("\nptxas fatal   : ")),
    };
    if let Some(module) = &module
        && let Err(message) = wanted(options, module)
    {
        return fatal(&message);
    }
    if !remarks.is_empty() && !options.disable_warnings {
        eprintln!("{remarks}");
        if options.warning_as_error {
            return ExitCode::from(FAILED);
        }
    }
    report(options, module.as_ref(), &container, sm, start.elapsed());
    // A virtual architecture is for parsing only.
    if options.gpu_name.is_virtual() {
        return ExitCode::SUCCESS;
    }
    match write_container(&container) {
        Err(error) => fatal(&error.to_string()),
        Ok(image) => write(&options.output_file, &image),
    }
}

/// Whether each kernel of `--entry` is there.
fn wanted(options: &Assemble, module: &VerifiedModule) -> Result<(), String> {
    let missing = options.entry.iter().find(|name| !module.functions.iter().any(|function| function.name == **name));
    missing.map_or(Ok(()), |name| Err(format!("Entry function '{name}' not found")))
}

/// What kernels need, if that is wanted, and which of them the driver will not launch.
fn report(options: &Assemble, module: Option<&VerifiedModule>, container: &Container, sm: u32, time: Duration) {
    if options.verbose
        && let Some(module) = module
    {
        let wanted = |name: &str| options.entry.is_empty() || options.entry.iter().any(|entry| entry == name);
        eprintln!("{}", notes(module, sm, container.most_registers, Shape::Assembler, wanted));
        eprintln!("ptxas info    : Compile time = {:.3} ms", time.as_secs_f64() * 1e3);
    }
    if options.disable_warnings {
        return;
    }
    let file = container.texts.first().map_or("", |(name, _)| name.as_str());
    for Refusal { line, kernel, reason } in module.into_iter().flat_map(refusals) {
        let place =
            line.filter(|_| container.texts.len() == 1).map_or(String::new(), |line| format!(" {file}, line {line};"));
        eprintln!("ptxas{place} warning : kernel {kernel} does not launch: {reason}");
    }
}

fn write(path: &Path, image: &[u8]) -> ExitCode {
    match fs::write(path, image) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fatal(&format!("Output file '{}' could not be written: {error}", path.display())),
    }
}
