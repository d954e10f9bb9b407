//! How programs are run with the driver and both runtimes.
use std::path::Path;
use std::process::Command;

use crate::library;

/// Runs a program: the dynamic linker finds the libraries, or, in place of a runtime that is linked in, `warploom run` leads the
/// program to ours.
pub(crate) fn runner(program: &Path, runtime_is_linked_in: bool) -> Command {
    if runtime_is_linked_in {
        let mut command = Command::new(library::folder().join("warploom"));
        command.args(["run", "--"]).arg(program);
        return command;
    }
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", library::folder());
    command
}
