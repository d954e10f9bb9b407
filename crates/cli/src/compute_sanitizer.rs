//! `warploom compute-sanitizer`: `warploom run --check` with the options of NVIDIA's tool of that name, so that scripts need only another path.
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::run::Run;

/// Check a CUDA program on the CPU, with the options of NVIDIA's compute-sanitizer.
///
/// Those of its options that have a meaning here are taken. As with it, the exit status is the program's own unless --error-exitcode says another.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  warploom compute-sanitizer --tool racecheck --error-exitcode 9 ./vector_add")]
pub(crate) struct ComputeSanitizer {
    /// What is looked for.
    #[arg(short, long, value_enum, default_value = "memcheck")]
    tool: Tool,

    /// With memcheck: also report what is not freed.
    #[arg(long, value_enum, default_value = "no")]
    leak_check: LeakCheck,

    /// Exit with this status if errors are found; 0 is the program's own.
    #[arg(long, value_name = "N", default_value_t = 0)]
    error_exitcode: u8,

    /// Write the reports to this file: JSON, or JUnit's XML if its name ends in .xml. Not of NVIDIA's tool.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Leave out the reports that the rules of this file name, as `warploom run` does. NVIDIA's own format is another.
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,

    /// Taken, without effect: all processes that the program starts are checked.
    #[arg(long, value_name = "WHICH", value_parser = ["all", "application-only"])]
    target_processes: Option<String>,

    /// Taken, without effect: backtraces of calls are shown where frames can be walked.
    #[arg(long, value_name = "WHICH")]
    show_backtrace: Option<String>,

    /// Taken, without effect: every allocation has room that belongs to nobody behind it.
    #[arg(long, value_name = "BYTES")]
    padding: Option<u64>,

    /// The program and its arguments, which are its own even if they look like options.
    #[arg(value_name = "PROGRAM", required = true, num_args = 1.., trailing_var_arg = true)]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// Accesses of memory, `--check memory`.
    Memcheck,
    /// Races, `--check race`: of global memory too.
    Racecheck,
    /// Values that nobody has written, `--check init`.
    Initcheck,
    /// Barriers, `--check sync`.
    Synccheck,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LeakCheck {
    Full,
    No,
}

impl ComputeSanitizer {
    /// What it is asked for as checks.
    fn checks(&self) -> &'static str {
        match (self.tool, self.leak_check) {
            (Tool::Memcheck, LeakCheck::No) => "memory",
            (Tool::Memcheck, LeakCheck::Full) => "memory,leak",
            (Tool::Racecheck, _) => "race",
            (Tool::Initcheck, _) => "init",
            (Tool::Synccheck, _) => "sync",
        }
    }

    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        let checks = self.checks();
        let status = (self.error_exitcode != 0).then_some(self.error_exitcode);
        let mut words = self.program.into_iter();
        let program = words.next().context("a program is expected")?;
        Run::checked(checks, (self.report, self.suppressions), status, (program, words.collect())).execute()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::ComputeSanitizer;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        tool: ComputeSanitizer,
    }

    #[test]
    fn tools_are_checks() {
        for (line, checks) in [
            ("x ./p", "memory"),
            ("x --tool memcheck --leak-check full ./p --tool x", "memory,leak"),
            ("x --tool racecheck --target-processes all ./p", "race"),
            ("x --tool=initcheck ./p", "init"),
            ("x -t synccheck --error-exitcode 3 ./p", "sync"),
        ] {
            let line = Line::try_parse_from(line.split(' ')).expect("accepted");
            assert_eq!(line.tool.checks(), checks);
            assert_eq!(line.tool.program[0], "./p");
            assert!(warploom_check::Settings::parse_checks(checks).is_ok());
        }
        assert!(Line::try_parse_from(["x", "--tool", "othercheck", "./p"]).is_err());
    }
}
