//! What the interface of runtime 11 has otherwise than 12: the programs of `tests/c/runtime_11`, which declare it themselves.
#[path = "support/library.rs"]
mod library;

use std::path::Path;
use std::process::Command;

/// Compiles a program against the library, and runs it; what it prints.
fn printed(name: &str) -> String {
    let folder = library::folder();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/c/runtime_11/{name}.c"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("runtime_11_{name}"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(&program).arg(source);
    assert!(compiler.arg(folder.join("libcudart.so.11.0")).status().expect("there is a C compiler").success());
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", folder).env("WARPLOOM_DEVICE_COUNT", "2");
    let output = command.output().expect("it starts");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}\n{errors}");
    printed.into_owned()
}

/// Structures end where those of the headers of CUDA 11.8 do. 910 and 2 say that the graph has another shape.
const INTERFACE: &str = "\
version 11080, twice 21 is 42
threads 1024, PTX 52, behind them kept
mode 1, behind it kept
entry point found, graph updated, then refused with 910 for reason 2
properties up to byte 728: yes
";

#[test]
fn structures_and_functions_are_those_of_11() {
    assert_eq!(printed("interface"), INTERFACE);
}

/// What is bound to references kernels read on the device that it was bound for, as the host's structures say; what is refused has the manual's codes.
#[test]
fn texture_and_surface_references_are_bound() {
    assert_eq!(printed("references"), "all as it should be\n");
}
