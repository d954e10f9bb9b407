//! The programs of `tests/c/behaviour`: what documented calls do that no recording covers, with good and with bad arguments.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

use std::process::Command;

fn run(source: &str, prepare: impl FnOnce(&mut Command)) -> String {
    program::build(&format!("behaviour/{source}"), "", &[]).run(prepare)
}

#[test]
fn memory_pools() {
    assert_eq!(run("memory_pools.c", |command| _ = command.env("WARPLOOM_DEVICE_COUNT", "2")), "done\n");
}

#[test]
fn batches_of_copies() {
    assert_eq!(run("batches.c", |_| {}), "done\n");
}

#[test]
fn contexts_of_two_devices() {
    assert_eq!(run("contexts_of_two_devices.c", |command| _ = command.env("WARPLOOM_DEVICE_COUNT", "2")), "done\n");
}
