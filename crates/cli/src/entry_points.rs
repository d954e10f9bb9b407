//! `warploom entry-points`: what the CUDA versions brought.
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Args;
use warploom_abi::facts::ENTRY_POINTS;

use crate::version::CudaVersion;

/// List the entry points that a range of CUDA versions brought, oldest first.
///
/// One line each: the CUDA version, the base name to ask for, the ELF symbol, the typedef and its header, with tabs between.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  warploom entry-points --since 12.4 --until 12.6")]
pub(crate) struct EntryPoints {
    /// The first version of the range [default: all].
    #[arg(long, value_name = "X.Y", default_value = "0.0", hide_default_value = true)]
    since: CudaVersion,

    /// The last version of the range [default: the newest].
    #[arg(long, value_name = "X.Y", default_value = "999.0", hide_default_value = true)]
    until: CudaVersion,
}

impl EntryPoints {
    /// No entry point in the range is the answer no, as for a search that finds nothing.
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        if self.since > self.until {
            anyhow::bail!("--since {} is after --until {}", self.since, self.until);
        }
        let range = self.since.0..=self.until.0;
        let mut found: Vec<_> = ENTRY_POINTS
            .iter()
            .flat_map(|entry_point| {
                entry_point.versions.iter().map(move |version| (version.since, entry_point.name, version))
            })
            .filter(|(since, _, _)| range.contains(since))
            .collect();
        found.sort_by_key(|(since, name, version)| (*since, *name, version.symbol));
        let mut output = io::BufWriter::new(io::stdout().lock());
        for (since, name, version) in &found {
            let since = CudaVersion(*since);
            writeln!(output, "{since}\t{name}\t{}\t{}\t{}", version.symbol, version.typedef, version.header)?;
        }
        output.flush()?;
        Ok(if found.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}
