//! `warploom run`: starts a program that finds our driver and our CUDA runtime.
mod tunables;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use anyhow::Context as _;
use clap::Args;
use warploom_abi::settings::{MOST_MULTIPROCESSORS, MOST_THREADS, OLDEST_CUDA_VERSION};

use crate::program::unaudited;
use crate::version::CudaVersion;
use crate::{library, ptxas};

/// Run a CUDA program on the CPU.
///
/// The program finds warploom's libcuda.so.1 before any other, through LD_LIBRARY_PATH, and so do the programs that it starts.
/// An auditing library (LD_AUDIT) gives it warploom's libcudart, by whatever path it asks for one, and leads the functions of a CUDA
/// runtime that is linked into it or into a library to warploom's. Its exit status is this command's.
#[derive(Debug, Default, Args)]
#[command(after_help = "Example:\n  warploom run --device sm_80 -- ./vector_add 1000000")]
pub(crate) struct Run {
    /// Behave as the driver of this CUDA version [default: the newest that warploom knows].
    #[arg(long, value_name = "X.Y", value_parser = emulated)]
    pub(crate) cuda: Option<CudaVersion>,

    /// Behave as a device of this compute capability [default: sm_90].
    #[arg(long, value_name = "sm_NN", value_parser = device)]
    pub(crate) device: Option<String>,

    /// Show this many devices; 0 is a machine without a GPU [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=64))]
    pub(crate) devices: Option<u32>,

    /// Run kernels on this many threads [default: one for each core that the process may use].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_THREADS)))]
    pub(crate) threads: Option<u32>,

    /// Use no more than this instruction set of the processor's for kernels [default: what it has].
    ///
    /// x86-64-v3 is AVX2, x86-64-v4 AVX-512. Results do not depend on it.
    #[arg(long, value_name = "NAME", value_parser = ["x86-64", "x86-64-v3", "x86-64-v4"])]
    pub(crate) cpu: Option<String>,

    /// Show this many multiprocessors on each device, whatever runs kernels [default: one for each thread].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_MULTIPROCESSORS)))]
    pub(crate) multiprocessors: Option<u32>,

    /// Report a kernel on standard error, once, when none of its CTAs has ended for so long [default: 10].
    ///
    /// The report says "stuck" if all threads that are left wait, and "still running" otherwise, and where they are.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) stall_seconds: Option<f64>,

    /// End a kernel that runs for longer, whatever it does, with CUDA_ERROR_LAUNCH_TIMEOUT [default: none].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) launch_timeout: Option<f64>,

    /// Print calls of the driver on standard error: all of them, or those that fail.
    #[arg(long, value_name = "WHAT", value_parser = ["calls", "errors"])]
    pub(crate) log: Option<String>,

    /// Leave the CUDA runtime and compilers that programs bring along alone: only the driver is warploom's.
    #[arg(long)]
    pub(crate) keep_runtime: bool,

    /// Say on standard error which objects were led to warploom's libraries and tools, and which could not be, and why; and what became of each kernel that was to be
    /// compiled.
    #[arg(long)]
    pub(crate) explain: bool,

    /// Check what kernels do, and report what is wrong: a list with commas of memory (accesses of what a thread may not access),
    /// race (accesses that nothing orders), init (values that nobody has written), sync (misuse of barriers), leak (what is not freed or destroyed),
    /// host (what the host does wrong beside its kernels).
    ///
    /// Kernels run in the interpreter, several times slower.
    #[arg(long, value_name = "CHECKS", value_parser = checks)]
    pub(crate) check: Option<String>,

    /// Leave out the reports that the rules of this file name, one `CHECK KERNEL FILE:LINE` a line; * is any.
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) suppressions: Option<PathBuf>,

    /// Write the reports of checks to this file: JSON, or JUnit's XML if its name ends in .xml.
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) report: Option<PathBuf>,

    /// Exit with this status if checks have found errors.
    #[arg(long, value_name = "N", requires = "check", value_parser = clap::value_parser!(u8))]
    pub(crate) error_exitcode: Option<u8>,

    /// Write what checks say to the end of this file, and not on standard error.
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) check_log: Option<PathBuf>,

    /// Report on kernels of this name alone: kernel_name=NAME, kernel_substring=TEXT or kernel_regex=TEXT, with a ! before it on all others. May be given several times.
    #[arg(long, value_name = "WORD", requires = "check")]
    pub(crate) check_kernels: Vec<String>,

    /// Print so many reports at most; files have all.
    #[arg(long, value_name = "N", requires = "check")]
    pub(crate) print_limit: Option<u32>,

    /// Report what weighs this much: error (what is wrong), or info (also what makes no difference to what was computed) [default: error].
    #[arg(long, value_name = "LEVEL", requires = "check", value_parser = ["info", "error"])]
    pub(crate) check_level: Option<String>,

    /// Fill device memory that is allocated with this byte, as 0xa5, so that what relies on zeros goes wrong [default: 0].
    #[arg(long, value_name = "BYTE", value_parser = byte)]
    pub(crate) fresh_memory: Option<u8>,

    /// What kernels may access: their allocations, or all that is on the pages of 2 MiB that these are on, as hardware, which does not notice what is
    /// wrong there: allocations or pages [default: allocations].
    #[arg(long, value_name = "BOUNDS", value_parser = ["allocations", "pages"])]
    pub(crate) bounds: Option<String>,

    /// The program and its arguments, which are its own even if they look like options.
    #[arg(value_name = "PROGRAM", required = true, num_args = 1.., trailing_var_arg = true)]
    pub(crate) program: Vec<OsString>,
}

/// Where Triton takes its assembler from, for devices before sm_100 and from there on, and Mojo, which has NVIDIA's in a library of its own otherwise. Others look for `ptxas` on
/// `PATH`, or start NVIDIA's, whose place the auditing library gives to ours.
const PTXAS_VARIABLES: [&str; 3] = ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "MODULAR_NVPTX_COMPILER_PATH"];
/// What libraries go by that would otherwise ask for what is not there: the name, the value, and what would be without it.
/// - JAX asks NVIDIA's libraries for their versions before it uses any, CUPTI among them, which answers nothing without a private table of the driver's.
/// - cuDF leaves it to itself, or to nvCOMP, where what is compressed is worked on. nvCOMP's kernels of one compute capability differ from another's, and only the oldest's is PTX, so
///   that Zstandard is launched in CTAs that its kernel has no registers for. Here its own code for the host is as near to the data.
const LIBRARY_VARIABLES: [(&str, &str, &str); 3] = [
    ("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1", "JAX would ask CUPTI, which knows NVIDIA's driver only, for its version"),
    (
        "LIBCUDF_HOST_DECOMPRESSION",
        "ON",
        "cuDF would launch nvCOMP's kernels, whose PTX is of another device than their host's code takes them for",
    ),
    (
        "LIBCUDF_HOST_COMPRESSION",
        "ON",
        "cuDF would launch nvCOMP's kernels, where its own code for the processor does the same",
    ),
];

/// A version that the library can be a driver of.
fn emulated(text: &str) -> Result<CudaVersion, String> {
    let (oldest, newest) = (CudaVersion(OLDEST_CUDA_VERSION), CudaVersion(warploom_abi::CUDA_VERSION));
    let version: CudaVersion = text.parse()?;
    if (oldest..=newest).contains(&version) {
        Ok(version)
    } else {
        Err(format!("versions from {oldest} to {newest} are known"))
    }
}

fn device(text: &str) -> Result<String, String> {
    let known = warploom_abi::settings::COMPUTE_CAPABILITIES.map(|capability| format!("sm_{capability}"));
    if known.iter().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    Err(format!("one of {} is expected", known.join(", ")))
}

/// A list of checks, as it is.
fn checks(text: &str) -> Result<String, String> {
    warploom_check::Settings::parse_checks(text).map(|_| text.to_owned())
}

fn byte(text: &str) -> Result<u8, String> {
    let byte = text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u8::from_str_radix(digits, 16));
    byte.map_err(|_| "a byte such as 0xa5 is expected".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|seconds| *seconds > 0.0 && *seconds < 1e9)
        .ok_or_else(|| "a time in seconds is expected".into())
}

impl Run {
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        let (program, arguments) = self.program.split_first().context("a program is expected")?;
        let mut command = process::Command::new(program);
        command.args(arguments);
        command.env("LD_LIBRARY_PATH", search_path(library::folder()?.into_os_string(), "LD_LIBRARY_PATH"));
        let tools = library::tools()?;
        let explain = |what: String| {
            if self.explain {
                eprintln!("warploom: explain: {}: {what}", program.to_string_lossy());
            }
        };
        let assembler = tools.join(ptxas::NAME);
        let assemblers =
            PTXAS_VARIABLES.map(|name| (name, assembler.as_os_str(), format!("finds warploom's ptxas in {name}")));
        let libraries = LIBRARY_VARIABLES
            .map(|(name, value, without)| (name, OsStr::new(value), format!("finds {name}={value}: {without}")));
        for (name, value, what) in assemblers.into_iter().chain(libraries) {
            match std::env::var_os(name) {
                None => {
                    explain(what);
                    command.env(name, value);
                }
                Some(there) => explain(format!("left alone: {name} is set, to {}", there.to_string_lossy())),
            }
        }
        explain(format!("finds warploom's {} on PATH, in {}", library::TOOLS.join(", "), tools.display()));
        command.env("PATH", search_path(tools.into_os_string(), "PATH"));
        let auditor = if self.keep_runtime { None } else { Some(library::auditor()?) };
        match audit_list(auditor.map(PathBuf::into_os_string), std::env::var_os("LD_AUDIT")) {
            Some(list) => {
                command.env("LD_AUDIT", list);
                command.env(tunables::VARIABLE, tunables::with_static_tls(std::env::var_os(tunables::VARIABLE)));
            }
            None => {
                command.env_remove("LD_AUDIT");
            }
        }
        if self.keep_runtime {
            explain("left alone: its CUDA runtime and compilers, as --keep-runtime says".to_owned());
        } else if let Some(why) = unaudited(program) {
            explain(format!("left alone: {why}"));
        }
        let settings = [
            ("WARPLOOM_EXPLAIN", self.explain.then(|| "1".to_owned())),
            ("WARPLOOM_CUDA_VERSION", self.cuda.map(|version| version.to_string())),
            ("WARPLOOM_DEVICE", self.device),
            ("WARPLOOM_DEVICE_COUNT", self.devices.map(|count| count.to_string())),
            ("WARPLOOM_THREADS", self.threads.map(|count| count.to_string())),
            ("WARPLOOM_CPU", self.cpu),
            ("WARPLOOM_MULTIPROCESSORS", self.multiprocessors.map(|count| count.to_string())),
            ("WARPLOOM_STALL_SECONDS", self.stall_seconds.map(|seconds| seconds.to_string())),
            ("WARPLOOM_LAUNCH_TIMEOUT", self.launch_timeout.map(|seconds| seconds.to_string())),
            ("WARPLOOM_LOG", self.log),
            ("WARPLOOM_CHECK", self.check),
            ("WARPLOOM_CHECK_EXIT", self.error_exitcode.map(|status| status.to_string())),
            ("WARPLOOM_CHECK_KERNELS", (!self.check_kernels.is_empty()).then(|| self.check_kernels.join("\n"))),
            ("WARPLOOM_CHECK_PRINT", self.print_limit.map(|limit| limit.to_string())),
            ("WARPLOOM_CHECK_LEVEL", self.check_level),
            ("WARPLOOM_FRESH_MEMORY", self.fresh_memory.map(|byte| byte.to_string())),
            ("WARPLOOM_BOUNDS", self.bounds),
        ];
        for (name, value) in settings {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        let files = [
            ("WARPLOOM_CHECK_SUPPRESSIONS", self.suppressions),
            ("WARPLOOM_CHECK_REPORT", self.report),
            ("WARPLOOM_CHECK_LOG", self.check_log),
        ];
        for (name, path) in files {
            if let Some(path) = path {
                command.env(name, std::path::absolute(path)?);
            }
        }
        // Comes back only if the program could not be started.
        let error = command.exec();
        eprintln!("warploom: cannot run {}: {error}", program.to_string_lossy());
        Ok(ExitCode::from(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }))
    }
}

/// Our folder first, then what was in this variable.
fn search_path(mut folders: OsString, variable: &str) -> OsString {
    if let Some(rest) = std::env::var_os(variable).filter(|rest| !rest.is_empty()) {
        folders.push(":");
        folders.push(rest);
    }
    folders
}

/// Ours first, if it is wanted, then what was there, less ours from a `warploom run` further out.
fn audit_list(ours: Option<OsString>, there: Option<OsString>) -> Option<OsString> {
    let there = there.unwrap_or_default();
    let others = there.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
    let others =
        others.filter(|path| !path.is_empty() && Path::new(path).file_name() != Some(OsStr::new(library::AUDITOR)));
    let all: Vec<&OsStr> = ours.as_deref().into_iter().chain(others).collect();
    (!all.is_empty()).then(|| all.join(OsStr::new(":")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_auditing_libraries_stay() {
        let list = |ours: Option<&str>, there: Option<&str>| {
            audit_list(ours.map(OsString::from), there.map(OsString::from))
                .map(|list| list.into_string().expect("text"))
        };
        let ours = "/w/libwarploom_audit.so";
        assert_eq!(list(Some(ours), None).as_deref(), Some(ours));
        assert_eq!(list(Some(ours), Some("/a.so:/b.so")).as_deref(), Some("/w/libwarploom_audit.so:/a.so:/b.so"));
        assert_eq!(
            list(Some(ours), Some("/old/libwarploom_audit.so:/a.so")).as_deref(),
            Some("/w/libwarploom_audit.so:/a.so")
        );
        assert_eq!(list(None, Some("/a.so::/old/libwarploom_audit.so")).as_deref(), Some("/a.so"));
        assert_eq!(list(None, Some(ours)), None);
    }
}
