//! A program in C that is linked with the library.
mod support;

use std::path::Path;
use std::process::Command;

const EXPECTED: &str = "\
before it is initialised: Uninitialized
initialised: Success
counted: Success
device 0: Success
  small UUID: Insufficient Size
  UUID: Success
  found: Success, the same
  memory: Success, 512 MiB, all accounted for
  memory without a place: Invalid Argument
  busy: Success, a percentage
  temperature: Not Supported
  processors: Success, some
device 1: Invalid Argument
no device: Invalid Argument
ended: Success
ended again: Uninitialized
";

#[test]
fn a_linked_program_is_answered() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c/nvml/ask.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ask");
    let folder = support::named();
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, &source])
        .arg(folder.join("libnvidia-ml.so.1"))
        .status();
    assert!(compiled.expect("a C compiler starts").success());
    let mut command = Command::new(&program);
    support::take_out(&mut command).env("WARPLOOM_MEMORY", "512M").env("LD_LIBRARY_PATH", folder);
    let output = command.output().expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), EXPECTED);
}
