//! The settings that tests keep away from the programs that they start: those of whoever runs the tests are not the tests'.
use std::process::Command;

/// What changes answers or prints something. How kernels are executed (`WARPLOOM_CPU`, `WARPLOOM_JIT`) does neither: all tests can be run with each.
const SETTINGS: [&str; 14] = [
    "WARPLOOM_CUDA_VERSION",
    "WARPLOOM_DEVICE",
    "WARPLOOM_DEVICE_COUNT",
    "WARPLOOM_THREADS",
    "WARPLOOM_MULTIPROCESSORS",
    "WARPLOOM_MEMORY",
    "WARPLOOM_STALL_SECONDS",
    "WARPLOOM_LAUNCH_TIMEOUT",
    "WARPLOOM_LOG",
    "WARPLOOM_DUMP",
    "WARPLOOM_CACHE_DIR",
    "CUDA_CACHE_MAXSIZE",
    "WARPLOOM_EXPLAIN",
    "CUDA_VISIBLE_DEVICES",
];

/// Takes the settings out of the environment of a program that is to be started.
pub(crate) fn take_out(command: &mut Command) -> &mut Command {
    let command = SETTINGS.iter().fold(command, |command, name| command.env_remove(name));
    // What earlier runs have left is not what is tested, and nothing of a test is left behind.
    command.env("CUDA_CACHE_DISABLE", "1")
}
