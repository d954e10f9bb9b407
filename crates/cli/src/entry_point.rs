//! `warploom entry-point`: what one `cuGetProcAddress` request gives, and if nothing, why.
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use warploom_abi::facts::ENTRY_POINTS;
use warploom_entrypoint::{DefaultStream, Driver, LookupError};

use crate::library;
use crate::version::CudaVersion;

/// Show which function cuGetProcAddress gives for a name, a CUDA version and a default stream.
///
/// The driver itself is asked: warploom's, or the one that --library names. Exits with 1 if the driver gives none, and says why.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  warploom entry-point cuMemAlloc --cuda 3.1\n  warploom entry-point cuLaunchKernel --cuda 12.0 --per-thread"
)]
pub(crate) struct EntryPoint {
    /// The base name, without _v2, _ptds or _ptsz.
    #[arg(value_name = "NAME")]
    name: String,

    /// The CUDA version that the caller was written for [default: the driver's].
    #[arg(long, value_name = "X.Y")]
    cuda: Option<CudaVersion>,

    /// Ask for the variant whose stream 0 is the calling thread's default stream.
    #[arg(long, conflicts_with = "legacy")]
    per_thread: bool,

    /// Ask for the variant whose stream 0 is the legacy default stream.
    #[arg(long)]
    legacy: bool,

    /// Ask this driver library instead of warploom's.
    #[arg(long, value_name = "PATH")]
    library: Option<PathBuf>,
}

impl EntryPoint {
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        let driver = library::open(self.library.as_deref())?;
        let version = self.cuda.unwrap_or(CudaVersion(driver.version()));
        let stream = match (self.per_thread, self.legacy) {
            (true, _) => DefaultStream::PerThread,
            (_, true) => DefaultStream::Legacy,
            _ => DefaultStream::AsCompiled,
        };
        match driver.look_up(&self.name, version.0, stream) {
            Ok(symbol) => {
                let name = symbol.name();
                print(&driver, &self.name, version, name.as_deref())?;
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                eprintln!("warploom: {error}");
                for line in advice(&error, self.per_thread) {
                    eprintln!("  {line}");
                }
                Ok(ExitCode::from(1))
            }
        }
    }
}

fn print(driver: &Driver, name: &str, version: CudaVersion, symbol: Option<&str>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{name} for callers of CUDA {version}")?;
    let facts = ENTRY_POINTS
        .iter()
        .find(|entry_point| entry_point.name == name)
        .and_then(|entry_point| entry_point.versions.iter().find(|version| Some(version.symbol) == symbol));
    writeln!(out, "  symbol       {}", symbol.unwrap_or("without a name in the library"))?;
    match facts {
        Some(facts) => {
            writeln!(out, "  ABI version  {}, since CUDA {}", abi_number(facts.symbol), CudaVersion(facts.since))?;
            writeln!(out, "  typedef      {}", facts.typedef)?;
            writeln!(out, "  header       {}", facts.header)?;
        }
        None => writeln!(out, "  typedef      none that warploom knows")?,
    }
    writeln!(out, "  driver       {}", driver.identity())?;
    Ok(())
}

/// `cuMemAlloc_v2_ptds` is ABI version 2.
fn abi_number(symbol: &str) -> u32 {
    let base = symbol.strip_suffix("_ptds").or_else(|| symbol.strip_suffix("_ptsz")).unwrap_or(symbol);
    base.rsplit_once("_v").and_then(|(_, number)| number.parse().ok()).unwrap_or(1)
}

/// What a person can do about it.
fn advice(error: &LookupError, per_thread: bool) -> Vec<String> {
    match error {
        LookupError::SymbolNotFound { name } => not_found(name),
        LookupError::VersionNotSufficient { name, .. } => {
            let versions = ENTRY_POINTS.iter().find(|entry_point| entry_point.name == name).map(|facts| facts.versions);
            let since = |variant| {
                let versions = versions?.iter().filter(|version| version.per_thread == variant);
                versions.map(|version| CudaVersion(version.since)).min()
            };
            match (since(true).filter(|_| per_thread), since(false)) {
                (Some(since), _) => {
                    vec![format!(
                        "Its per-thread variant came with CUDA {since}; the driver is new enough, ask for that version."
                    )]
                }
                (None, Some(since)) => {
                    vec![format!("It came with CUDA {since}; the driver is new enough, ask for that version.")]
                }
                (None, None) => Vec::new(),
            }
        }
        LookupError::NewerThanDriver { .. } => {
            vec!["A driver refuses every request above its own version; a newer driver is needed.".to_owned()]
        }
        LookupError::Failed { .. } => Vec::new(),
    }
}

fn not_found(name: &str) -> Vec<String> {
    if let Some(entry_point) = ENTRY_POINTS.iter().find(|entry_point| entry_point.name == name) {
        let since = entry_point.versions.iter().map(|version| version.since).min().unwrap_or_default();
        return vec![format!("It came with CUDA {}; the driver is older, and needs an update.", CudaVersion(since))];
    }
    let owner =
        ENTRY_POINTS.iter().find(|entry_point| entry_point.versions.iter().any(|version| version.symbol == name));
    if let Some(entry_point) = owner {
        return vec![format!("That is an ELF symbol; the base name to ask for is {}.", entry_point.name)];
    }
    let mut close: Vec<(f64, &str)> = ENTRY_POINTS
        .iter()
        .map(|entry_point| {
            (strsim::jaro_winkler(&name.to_lowercase(), &entry_point.name.to_lowercase()), entry_point.name)
        })
        .filter(|(likeness, _)| *likeness > 0.92)
        .collect();
    close.sort_by(|left, right| right.0.total_cmp(&left.0));
    let names: Vec<&str> = close.iter().take(3).map(|(_, name)| *name).collect();
    if names.is_empty() { Vec::new() } else { vec![format!("Did you mean {}?", names.join(", "))] }
}

#[cfg(test)]
mod tests {
    #[test]
    fn symbols_tell_their_abi_version() {
        let symbols = ["cuMemAlloc", "cuMemAlloc_v2", "cuLaunchKernel_ptsz", "cuMemcpy3D_v2_ptds", "cuCtxCreate_v4"];
        assert_eq!(symbols.map(super::abi_number), [1, 2, 1, 2, 4]);
    }
}
