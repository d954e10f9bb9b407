//! `warploom compute-sanitizer`: `warploom run --check` with the options of NVIDIA's tool of that name, so that scripts need only another path.
mod file_name;
mod others;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};

use crate::run::Run;
use file_name::file_name;
use others::Others;

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

    /// Write what is said to the end of this file, and not on standard error. In its name %p is the number of the process, %q{NAME} a variable of the
    /// environment, and %% a per cent sign.
    #[arg(long, value_name = "FILE", value_parser = file_name)]
    log_file: Option<PathBuf>,

    /// Write the reports to this file, as --report does: not in the format of NVIDIA's tool, which nothing but that reads. Its name as for --log-file.
    #[arg(long, value_name = "FILE", conflicts_with = "report", value_parser = file_name)]
    save: Option<PathBuf>,

    /// With --save: in JUnit's XML, to a file whose name then must end in .xml.
    #[arg(long, requires = "save")]
    xml: bool,

    /// Print so many reports at most; 0 is all.
    #[arg(long, value_name = "N", default_value_t = 100)]
    print_limit: u32,

    /// Report on these kernels alone: kernel_name=NAME (kne) or kernel_substring=TEXT (kns), with commas between several, or regex=TEXT.
    #[arg(long, value_name = "KEY=VALUE")]
    kernel_name: Vec<String>,

    /// Report on all kernels but these.
    #[arg(long, value_name = "KEY=VALUE")]
    kernel_name_exclude: Vec<String>,

    /// As --kernel-name, with regular expressions for a part of the name.
    #[arg(long, visible_alias = "filter-regex", value_name = "KEY=VALUE")]
    kernel_regex: Vec<String>,

    /// As --kernel-name-exclude, with regular expressions for a part of the name.
    #[arg(long, value_name = "KEY=VALUE")]
    kernel_regex_exclude: Vec<String>,

    /// Report a kernel in which nothing has moved for so many milliseconds, once; 0 is after 10 seconds.
    #[arg(long, value_name = "N", default_value_t = 0)]
    racecheck_deadlock_timeout: u32,

    /// With racecheck: info also reports writes of the same value that nothing orders, which are no errors.
    #[arg(long, value_enum, default_value = "warn")]
    racecheck_detect_level: DetectLevel,

    /// Print the version.
    #[arg(short, long)]
    version: bool,

    /// Calls of the API that are wrong: all and extended add the check of what the host does.
    #[arg(long, value_name = "WHICH", value_enum, default_value = "explicit")]
    report_api_errors: ApiErrors,

    #[command(flatten)]
    others: Others,

    /// The program and its arguments, which are its own even if they look like options.
    #[arg(value_name = "PROGRAM", required_unless_present = "version", num_args = 1.., trailing_var_arg = true)]
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
enum DetectLevel {
    Info,
    Warn,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LeakCheck {
    Full,
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ApiErrors {
    All,
    Extended,
    Explicit,
    No,
}

impl ComputeSanitizer {
    /// What it is asked for as checks.
    fn checks(&self) -> String {
        let mut checks = match (self.tool, self.leak_check) {
            (Tool::Memcheck, LeakCheck::No) => "memory",
            (Tool::Memcheck, LeakCheck::Full) => "memory,leak",
            (Tool::Racecheck, _) => "race",
            (Tool::Initcheck, _) => "init",
            (Tool::Synccheck, _) => "sync",
        }
        .to_owned();
        if matches!(self.report_api_errors, ApiErrors::All | ApiErrors::Extended) {
            checks.push_str(",host");
        }
        checks
    }

    /// The kernels that are reported on, in the words of `warploom run`.
    fn kernels(&self) -> anyhow::Result<Vec<String>> {
        let mut words = Vec::new();
        for (sign, given) in [("", &self.kernel_name), ("!", &self.kernel_name_exclude)] {
            for word in given {
                match word.strip_prefix("regex=") {
                    Some(text) => words.push(format!("{sign}kernel_regex={text}")),
                    None => words.extend(word.split(',').map(|word| format!("{sign}{word}"))),
                }
            }
        }
        for (sign, given) in [("", &self.kernel_regex), ("!", &self.kernel_regex_exclude)] {
            for word in given {
                let text =
                    word.split_once('=').map(|(_, text)| text).with_context(|| format!("'{word}' has no '='"))?;
                words.push(format!("{sign}kernel_regex={text}"));
            }
        }
        Ok(words)
    }

    fn asked(self) -> anyhow::Result<Run> {
        if self.xml && self.save.as_ref().is_some_and(|file| file.extension().is_none_or(|end| end != "xml")) {
            bail!("with --xml the file of --save has a name that ends in .xml");
        }
        Ok(Run {
            check: Some(self.checks()),
            check_kernels: self.kernels()?,
            check_log: self.log_file,
            report: self.report.or(self.save),
            suppressions: self.suppressions,
            print_limit: (self.print_limit != 0).then_some(self.print_limit),
            error_exitcode: (self.error_exitcode != 0).then_some(self.error_exitcode),
            stall_seconds: (self.racecheck_deadlock_timeout != 0)
                .then(|| f64::from(self.racecheck_deadlock_timeout) / 1000.0),
            check_level: (self.racecheck_detect_level == DetectLevel::Info).then(|| "info".to_owned()),
            program: self.program,
            ..Run::default()
        })
    }

    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        if self.version {
            println!("warploom {}", env!("CARGO_PKG_VERSION"));
            return Ok(ExitCode::SUCCESS);
        }
        self.asked()?.execute()
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser};

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

    #[test]
    fn options_have_their_effect_or_are_refused() {
        let parsed = |line: &str| Line::try_parse_from(line.split(' ')).map(|line| line.tool);
        let tool = parsed(
            "x --kernel-name kns=a,kne=b --kernel-name regex=d{1,2} --kernel-regex-exclude kns=^c --print-limit 7 --log-file log --xml --save r.xml \
             --report-api-errors all --padding 64 --nvtx yes --target-processes all --racecheck-report all --force-blocking-launches --kill -q \
             --racecheck-deadlock-timeout 1500 -s 0 ./p --log-file mine",
        );
        let asked = tool.expect("accepted").asked().expect("understood");
        assert_eq!(asked.check.as_deref(), Some("memory,host"));
        assert_eq!(asked.check_kernels, ["kns=a", "kne=b", "kernel_regex=d{1,2}", "!kernel_regex=^c"]);
        assert_eq!((asked.print_limit, asked.error_exitcode), (Some(7), None));
        assert_eq!((asked.check_log, asked.report), (Some("log".into()), Some("r.xml".into())));
        assert_eq!(asked.program, ["./p", "--log-file", "mine"]);
        assert_eq!((asked.stall_seconds, asked.check_level), (Some(1.5), None));
        for (level, asked) in [("info", Some("info")), ("warn", None), ("error", None)] {
            let tool = parsed(&format!("x --tool racecheck --racecheck-detect-level {level} ./p")).expect("accepted");
            assert_eq!(tool.asked().expect("understood").check_level.as_deref(), asked);
        }
        assert!(parsed("x --save r.txt --xml ./p").expect("accepted").asked().is_err());
        assert!(parsed("x --version").expect("accepted").version && parsed("x").is_err());
        assert_eq!(parsed("x ./p").expect("accepted").asked().expect("understood").print_limit, Some(100));
        for (refused, expected) in [
            ("--read f", "files of NVIDIA's tool cannot be read"),
            ("--destroy-on-device-error kernel", "what ends a kernel is the error of its device; taken is context"),
            ("--track-unused-memory", "memory that is never used is not looked for"),
            ("--racecheck-report some", "taken is hazard, analysis, all"),
            ("-c 3", "all launches are checked; taken is 0"),
            ("--log-file a%z", "%z"),
            ("--no-such-option", "unexpected argument"),
        ] {
            let why = parsed(&format!("x {refused} ./p")).expect_err(refused).to_string();
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn the_list_for_people_is_whole() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checkers.md"));
        let text = text.expect("the document is there");
        let of_ours = ["help", "report"];
        for option in Line::command().get_arguments().filter_map(|option| option.get_long()) {
            assert!(
                of_ours.contains(&option) || text.contains(&format!("`--{option}`")),
                "{option} is not in the list"
            );
        }
    }
}
