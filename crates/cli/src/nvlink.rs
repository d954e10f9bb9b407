//! NVIDIA's linker of device code as nvcc starts it (`-rdc=true`): what objects hold becomes one image, and the file is written by which the host
//! program registers its parts.
mod optimized;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use object::{Object as _, ObjectSymbol as _};
use warploom_compilers::image::{Assembly, Image, Settings, lines};
use warploom_compilers::inputs::{Input, Kind, members, take_apart};

use crate::ptxas::options::Target;

/// What this command is called where it stands in for NVIDIA's.
pub(crate) const NAME: &str = "nvlink";
/// The exit status with errors.
const FAILED: u8 = 255;
/// How the name of the function begins that a host object of relocatable device code calls, and the linked program defines.
const REGISTRATION: &str = "__cudaRegisterLinkedBinary";

/// Link images that hold PTX, from objects, archives, fat binaries and files of PTX.
///
/// Code for link-time optimisation is NVIDIA's linker's, which makes PTX of it.
#[derive(Debug, Parser)]
#[command(name = "nvlink", disable_version_flag = true, max_term_width = 100)]
struct Link {
    /// The device to link for.
    #[arg(long, value_name = "NAME")]
    arch: Target,

    /// The image.
    #[arg(short, long, value_name = "FILE", default_value = "a.out")]
    output_file: PathBuf,

    /// Write the names by which parts of a host program register themselves to this file.
    #[arg(long, value_name = "FILE")]
    register_link_binaries: Option<PathBuf>,

    /// Archives to link with, as libNAME.a.
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    library: Vec<String>,

    /// Where archives are looked for.
    #[arg(short = 'L', long, value_name = "FOLDER", value_delimiter = ',')]
    library_path: Vec<PathBuf>,

    /// A kernel is to have no more registers than this.
    #[arg(long, value_name = "N")]
    maxrregcount: Option<u32>,

    /// Say what each kernel needs.
    #[arg(short, long)]
    verbose: bool,

    /// Say nothing that is no error.
    #[arg(short = 'w', long)]
    disable_warnings: bool,

    /// Leave functions that are called and not there to a later link.
    #[arg(short, long)]
    relocatable_link: bool,

    /// Take code for link-time optimisation, too.
    #[arg(long, alias = "dlto", alias = "link-time-opt")]
    lto: bool,

    /// The folder of NVVM in the toolkit whose linker optimises.
    #[arg(long, value_name = "FOLDER")]
    nvvmpath: Option<PathBuf>,

    #[command(flatten)]
    ignored: Ignored,

    /// What is linked.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// What decides about machine code for GPUs, or about the host's linker.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Taken, without effect")]
struct Ignored {
    #[arg(short, long, value_name = "BITS", value_parser = ["64"])]
    machine: Option<String>,
    #[arg(long, value_name = "NAME")]
    cpu_arch: Option<String>,
    #[arg(long, value_name = "COMPILER")]
    host_ccbin: Option<String>,
    #[arg(short = 'g', long)]
    debug: bool,
    #[arg(long)]
    disable_infos: bool,
    #[arg(long)]
    ignore_host_info: bool,
    #[arg(long)]
    keep_system_libraries: bool,
    #[arg(long, alias = "extrawarn")]
    extra_warnings: bool,
    #[arg(long, value_name = "OPTIONS")]
    #[arg(alias = "Xptxas")]
    ptxas_options: Vec<String>,
}

/// Stand in for NVIDIA's nvlink: link images that hold PTX
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Nvlink {
    /// Options and files as NVIDIA's nvlink takes them; `--help` lists them
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Nvlink {
    /// With these options and files.
    pub(crate) fn new(words: Vec<OsString>) -> Nvlink {
        Nvlink { words }
    }

    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        execute(self.words)
    }
}

/// Links as the command line says.
fn execute(words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let command = Link::command();
    let words = crate::words::read(&command, words)?;
    let matches = command.try_get_matches_from(std::iter::once(OsString::from(NAME)).chain(words));
    let link = match matches.and_then(|matches| Link::from_arg_matches(&matches)) {
        Ok(link) => link,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            error.print()?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => {
            let all = error.to_string();
            return Ok(fatal(all.lines().next().unwrap_or_default().trim_start_matches("error: ")));
        }
    };
    Ok(link.execute().map_or_else(|message| fatal(&message), |()| ExitCode::SUCCESS))
}

fn fatal(message: &str) -> ExitCode {
    eprintln!("nvlink fatal   : {message}");
    ExitCode::from(FAILED)
}

impl Link {
    fn execute(&self) -> Result<(), String> {
        if self.arch.is_virtual() {
            return Err("a device is linked for, as in --arch=sm_80".to_owned());
        }
        let settings = Settings {
            sm: self.arch.sm(),
            most_registers: self.maxrregcount,
            relocatable: self.relocatable_link,
            any_prototypes: false,
            verbose: self.verbose,
        };
        let (mut assembly, mut registered) = (Assembly::new(settings), Vec::new());
        let (mut optimizable, mut others) = (Vec::new(), false);
        let libraries = self.library.iter().filter_map(|name| self.find(name));
        for path in self.files.iter().cloned().chain(libraries) {
            let name = path.display().to_string();
            let bytes = fs::read(&path).map_err(|error| format!("Could not open input file '{name}': {error}"))?;
            match take_apart(Kind::Any, &name, &bytes, settings.sm, self.lto) {
                Input::Texts(texts) if texts.is_empty() => continue,
                Input::Texts(texts) => {
                    others = true;
                    for (_, text) in texts {
                        assembly.add(&name, text)?;
                    }
                }
                Input::MachineCode => {
                    return Err(format!(
                        "'{name}' holds machine code for GPUs, and no PTX for {}; compile it with the nvcc of this toolkit",
                        self.arch
                    ));
                }
                // Text for the host's linker.
                Input::Theirs if !self.lto || std::str::from_utf8(&bytes).is_ok() => continue,
                Input::Theirs => optimizable.push(path),
            }
            registered.extend(registrations(&bytes));
        }
        if !optimizable.is_empty() {
            // What the rest calls is to be left, too.
            assembly.add("lto", optimized::text(self, &optimizable, self.relocatable_link || others)?)?;
        }
        assembly.add_device_runtime()?;
        let Image { file, remarks } =
            assembly.complete().map_err(|messages| lines("", &messages).replace('\n', "\nnvlink error   : "))?;
        if !remarks.is_empty() && !self.disable_warnings {
            eprintln!("{remarks}");
        }
        write(&self.output_file, &file)?;
        if let Some(path) = &self.register_link_binaries {
            let names = registered.iter().map(|name| format!("DEFINE_REGISTER_FUNC({name})\n"));
            let text = format!("#define NUM_PRELINKED_OBJECTS {}\n{}", registered.len(), names.collect::<String>());
            write(path, text.as_bytes())?;
        }
        Ok(())
    }

    /// Archives that are not there are the host linker's, such as `-lpthread`.
    fn find(&self, name: &str) -> Option<PathBuf> {
        self.library_path.iter().map(|folder| folder.join(format!("lib{name}.a"))).find(|path| path.exists())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("Could not write '{}': {error}", path.display()))
}

/// The names by which a host object, or those in an archive, register their device code.
fn registrations(bytes: &[u8]) -> Vec<String> {
    let objects = members(bytes).unwrap_or_else(|| vec![bytes]);
    let mut names = Vec::new();
    for object in objects {
        let object = object.to_vec();
        let Ok(file) = object::File::parse(&*object) else { continue };
        let wanted = file.symbols().filter(|symbol| symbol.is_undefined());
        let wanted = wanted.filter_map(|symbol| Some(symbol.name().ok()?.strip_prefix(REGISTRATION)?.to_owned()));
        names.extend(wanted);
    }
    names
}
