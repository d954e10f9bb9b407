//! Options of NVIDIA's compute-sanitizer that are taken without effect, and options and values that cannot be taken, with the reason. All that its version of
//! CUDA 13.5 names are here or in the module above; docs/checkers.md has the list for people.
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// An option, what is taken, and why that has no effect, or anything else is refused.
struct Other(&'static str, Takes, &'static str);

#[derive(Clone, Copy)]
enum Takes {
    /// It has no value.
    Flag,
    /// Any value.
    Any,
    /// One of these values.
    One(&'static [&'static str]),
    /// It is refused, with its value.
    Nothing,
    /// It is refused, and has no value.
    NoFlag,
}

use Takes::{Any, Flag, NoFlag, Nothing, One};

const YES_NO: Takes = One(&["yes", "no"]);

/// Those with a letter, too.
const LETTERS: &[(&str, char)] = &[("launch-count", 'c'), ("launch-skip", 's'), ("quiet", 'q')];

const OTHERS: &[Other] = &[
    Other("target-processes", One(&["all", "application-only"]), "all processes that the program starts are checked"),
    Other("target-processes-filter", Nothing, "all processes that the program starts are checked"),
    Other(
        "show-backtrace",
        One(&["yes", "host", "device", "no"]),
        "calls of the host are shown where frames can be walked",
    ),
    Other("backtrace-short", YES_NO, "frames are shown from the function of the API on"),
    Other("num-callers-host", Any, "16 frames are shown at most"),
    Other("num-callers-device", Any, "the instruction is named, and the function that it is in"),
    Other("padding", Any, "every allocation has room behind it that belongs to nobody"),
    Other("track-unused-memory", NoFlag, "memory that is never used is not looked for"),
    Other("unused-memory-threshold", Any, "memory that is never used is not looked for"),
    Other("unused-shared-memory-report-limit", Any, "memory that is never used is not looked for"),
    Other("launch-timeout", Any, "the program is started in place of this command, and not waited for"),
    Other("kill", Flag, "the program is this process"),
    Other("mode", One(&["launch-and-attach", "launch"]), "there is nothing to attach to"),
    Other("port", Any, "there is nothing to connect to"),
    Other("max-connections", Any, "there is nothing to connect to"),
    Other("injection-path", Any, "nothing is injected"),
    Other("injection-path32", Any, "nothing is injected"),
    Other("preload-library", Nothing, "LD_PRELOAD has the same effect"),
    Other("support-32bit", Flag, "there are no 32-bit programs"),
    Other("require-cuda-init", YES_NO, "a program without CUDA has nothing to check"),
    Other("check-exit-code", YES_NO, "the program's exit status is passed on"),
    Other("destroy-on-device-error", One(&["context"]), "what ends a kernel is the error of its device"),
    Other("force-blocking-launches", Flag, "reports name the instruction in any case"),
    Other("force-synchronization-limit", Any, "nothing piles up"),
    Other("generate-coredump", NoFlag, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION asks for core dumps"),
    Other(
        "coredump-name",
        Any,
        "CUDA_COREDUMP_FILE names core dumps, for which CUDA_ENABLE_COREDUMP_ON_EXCEPTION asks",
    ),
    Other("coredump-behavior", Any, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION asks for core dumps"),
    Other("dump-kernel-launches", NoFlag, "WARPLOOM_LOG=calls shows launches, with all other calls"),
    Other("launch-count", One(&["0"]), "all launches are checked"),
    Other("launch-skip", One(&["0"]), "all launches are checked"),
    Other("nvtx", YES_NO, "names and pools that NVTX tells of are not used"),
    Other("nvtx-include", Nothing, "ranges that NVTX tells of are not used"),
    Other("nvtx-exclude", Nothing, "ranges that NVTX tells of are not used"),
    Other(
        "print-level",
        One(&["info", "auto", "warn", "error", "fatal"]),
        "what is no error is reported on request only",
    ),
    Other("print-session-details", Flag, "there is no session"),
    Other("save-session-details", Flag, "there is no session"),
    Other("quiet", Flag, "nothing is said but reports, and how many there were"),
    Other("demangle", One(&["full", "simple", "no"]), "kernels have the names that the linker knows"),
    Other("language", One(&["c"]), "threads and CTAs are counted from 0"),
    Other("strip-paths", YES_NO, "files are named as the code names them"),
    Other("prefix", Any, "lines have no prefix"),
    Other("read", Nothing, "files of NVIDIA's tool cannot be read"),
    Other("check-api-memory-access", YES_NO, "calls refuse memory that is not there"),
    Other("check-device-heap", YES_NO, "the heap of kernels is always checked"),
    Other("check-cache-control", Flag, "cache controls change nothing"),
    Other("check-bulk-copy", YES_NO, "bulk copies are always checked"),
    Other("check-tensor-ops", YES_NO, "tensor copies are always checked"),
    Other("check-warpgroup-mma", YES_NO, "they are always checked"),
    Other("check-optix", NoFlag, "there is no OptiX"),
    Other("check-optix-leaks", NoFlag, "there is no OptiX"),
    Other("detect-missing-module-unload", Flag, "--leak-check full finds modules that are not unloaded"),
    Other("ignore-getprocaddress-notfound", Flag, "failed calls are reported only if nobody looks at the result"),
    Other("report-device-side-allocation-failure", YES_NO, "malloc in a kernel that finds no memory is no error"),
    Other(
        "track-stream-ordered-races",
        One(&["all", "use-before-alloc", "use-after-free", "no"]),
        "use after free is always reported",
    ),
    Other("missing-barrier-init-is-fatal", YES_NO, "a kernel goes on after a report"),
    Other("num-cuda-barriers", Any, "there may be any number"),
    Other("racecheck-report", One(&["hazard", "analysis", "all"]), "each pair of places is one report"),
    Other("racecheck-memcpy-async", YES_NO, "asynchronous copies are always checked"),
    Other("racecheck-fence-proxy-async", One(&["no"]), "proxy fences that are missing are not looked for"),
    Other("racecheck-trace-sync", One(&["no"]), "operations that synchronise are not listed"),
    Other("racecheck-continue-on-deadlock", One(&["yes"]), "`warploom run --launch-timeout` ends what is stuck"),
    Other("racecheck-indirect-barrier-dependency", Flag, "what is ordered through others is always ordered"),
    Other("racecheck-num-workers", Any, "kernels' own threads check"),
    Other("racecheck-filter-cluster-id", Nothing, "all clusters are checked"),
    Other("initcheck-address-space", One(&["global", "shared", "all"]), "all are checked"),
    Other(
        "initcheck-track-filtered-global-memory",
        YES_NO,
        "what kernels write that are not reported on always counts",
    ),
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

/// Whether a value is taken, or why not.
fn take(takes: Takes, why: &str, value: &str) -> Result<String, String> {
    let taken = match takes {
        Any => !value.is_empty(),
        Flag => ["yes", "no"].contains(&value),
        NoFlag => value == "no",
        One(values) => values.contains(&value),
        Nothing => false,
    };
    match takes {
        _ if taken => Ok(value.to_owned()),
        One(values) => Err(format!("{why}; taken is {}", values.join(", "))),
        Any => Err("a value is expected".to_owned()),
        Flag | NoFlag | Nothing => Err(why.to_owned()),
    }
}

impl Args for Others {
    fn augment_args(command: Command) -> Command {
        OTHERS.iter().fold(command, |command, &Other(name, takes, why)| {
            let arg = Arg::new(name).long(name).value_name("VALUE").action(ArgAction::Append);
            let arg = match LETTERS.iter().find(|(with, _)| *with == name) {
                Some((_, letter)) => arg.short(*letter),
                None => arg,
            };
            let arg = match takes {
                // As with NVIDIA's tool the word behind it is the next one, and no value.
                Flag | NoFlag => arg.num_args(0..=1).require_equals(true).default_missing_value("yes"),
                Any | One(_) | Nothing => arg,
            };
            let help = match takes {
                Flag | Any | One(_) => format!("Taken, without effect: {why}"),
                NoFlag | Nothing => format!("Not taken: {why}"),
            };
            let arg = arg.value_parser(move |value: &str| take(takes, why, value));
            command.arg(arg.hide_short_help(true).long_help(help))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Others::augment_args(command)
    }
}
