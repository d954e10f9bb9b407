//! The settings that tests keep away from the programs that they start: those of whoever runs the tests are not the tests'.
use std::process::Command;

/// What changes answers or prints something. How kernels are executed (`WARPLOOM_CPU`, `WARPLOOM_JIT`) does neither: all tests can be run with each.
const SETTINGS: [&str; 12] = [
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
    "WARPLOOM_EXPLAIN",
    "CUDA_VISIBLE_DEVICES",
];

/// Takes the settings out of the environment of a program that is to be started.
pub(crate) fn take_out(command: &mut Command) -> &mut Command {
    SETTINGS.iter().fold(command, |command, name| command.env_remove(name))
}
