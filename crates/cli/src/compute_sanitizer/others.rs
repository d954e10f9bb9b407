//! Options of NVIDIA's compute-sanitizer that are taken without effect, and values of them that cannot be.
use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// An option, the values that are taken (any, if none is listed), and why they have no effect, or others are refused.
struct Other(&'static str, &'static [&'static str], &'static str);

const YES_NO: &[&str] = &["yes", "no"];

const OTHERS: &[Other] = &[
    Other("target-processes", &["all", "application-only"], "all processes that the program starts are checked"),
    Other("show-backtrace", &["yes", "host", "device", "no"], "backtraces are shown where frames can be walked"),
    Other("num-callers-host", &[], "16 frames are shown at most"),
    Other("num-callers-device", &[], "the instruction is named, and the function that it is in"),
    Other("padding", &[], "every allocation has room behind it that belongs to nobody"),
    Other("track-unused-memory", &["no"], "memory that is never used is not looked for"),
    Other("unused-memory-threshold", &[], "memory that is never used is not looked for"),
    Other("launch-timeout", &[], "the program is started in place of this command, and not waited for"),
    Other("kill", YES_NO, "the program is this process"),
    Other("mode", &["launch-and-attach", "launch"], "there is nothing to attach to"),
    Other("port", &[], "there is nothing to connect to"),
    Other("max-connections", &[], "there is nothing to connect to"),
    Other("injection-path", &[], "nothing is injected"),
    Other("injection-path32", &[], "nothing is injected"),
    Other("support-32bit", YES_NO, "there are no 32-bit programs"),
    Other("require-cuda-init", YES_NO, "a program without CUDA has nothing to check"),
    Other("check-exit-code", YES_NO, "the program's exit status is passed on"),
    Other("destroy-on-device-error", &["context"], "what ends a kernel is the error of its device"),
    Other("force-blocking-launches", YES_NO, "reports name the instruction in any case"),
    Other("force-synchronization-limit", &[], "nothing piles up"),
    Other("generate-coredump", &["no"], "CUDA_ENABLE_COREDUMP_ON_EXCEPTION asks for core dumps"),
    Other("launch-count", &["0"], "all launches are checked"),
    Other("launch-skip", &["0"], "all launches are checked"),
    Other("nvtx", YES_NO, "names and pools that NVTX tells of are not used"),
    Other("print-level", &["info", "warn", "error", "fatal"], "all reports are errors"),
    Other("print-session-details", YES_NO, "there is no session"),
    Other("save-session-details", YES_NO, "there is no session"),
    Other("demangle", &["full", "simple", "no"], "kernels have the names that the linker knows"),
    Other("strip-paths", YES_NO, "files are named as the code names them"),
    Other("prefix", &[], "lines have no prefix"),
    Other("check-api-memory-access", YES_NO, "calls refuse memory that is not there"),
    Other("check-device-heap", YES_NO, "the heap of kernels is always checked"),
    Other("check-cache-control", YES_NO, "cache controls change nothing"),
    Other("check-bulk-copy", YES_NO, "bulk copies are always checked"),
    Other("check-warpgroup-mma", YES_NO, "they are always checked"),
    Other("check-optix", &["no"], "there is no OptiX"),
    Other("check-optix-leaks", &["no"], "there is no OptiX"),
    Other(
        "track-stream-ordered-races",
        &["all", "use-before-alloc", "use-after-free", "no"],
        "use after free is always reported",
    ),
    Other("missing-barrier-init-is-fatal", YES_NO, "a kernel goes on after a report"),
    Other("num-cuda-barriers", &[], "there may be any number"),
    Other("racecheck-report", &["hazard", "analysis", "all"], "each pair of places is one report"),
    Other("racecheck-detect-level", &["info", "warn", "error"], "all races are errors"),
    Other("racecheck-memcpy-async", YES_NO, "asynchronous copies are always checked"),
    Other("racecheck-indirect-barrier-dependency", YES_NO, "what is ordered through others is always ordered"),
    Other("racecheck-num-workers", &[], "kernels' own threads check"),
    Other("initcheck-address-space", &["global", "shared", "all"], "all are checked"),
    Other("read", &["-"], "files of NVIDIA's tool cannot be read"),
    Other("target-processes-filter", &["none"], "all processes that the program starts are checked"),
];

/// Taken, and forgotten.
#[derive(Debug, Default)]
pub(crate) struct Others;

impl FromArgMatches for Others {
    fn from_arg_matches(_: &ArgMatches) -> Result<Others, Error> {
        Ok(Others)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), Error> {
        Ok(())
    }
}

impl Args for Others {
    fn augment_args(command: Command) -> Command {
        OTHERS.iter().fold(command, |command, Other(name, values, why)| {
            let arg = Arg::new(*name).long(*name).value_name("VALUE").action(ArgAction::Append);
            let arg = arg
                .hide_short_help(true)
                .hide_possible_values(false)
                .long_help(format!("Taken, without effect: {why}"));
            command.arg(match values {
                [] => arg.value_parser(NonEmptyStringValueParser::new()),
                values => arg.value_parser(values.to_vec()),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Others::augment_args(command)
    }
}
