//! What the interface of runtime 11 has otherwise than 12: `tests/c/runtime_11/interface.c`, which declares it itself.
#[path = "support/library.rs"]
mod library;

use std::path::Path;
use std::process::Command;

/// Structures end where those of the headers of CUDA 11.8 do. 910 and 2 say that the graph has another shape, 801 that texture references are refused.
const PRINTED: &str = "\
version 11080, twice 21 is 42
threads 1024, PTX 52, behind them kept
mode 1, behind it kept
entry point found, graph updated, then refused with 910 for reason 2
texture references 801
properties up to byte 728: yes
";

#[test]
fn structures_and_functions_are_those_of_11() {
    let folder = library::folder();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c/runtime_11/interface.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime_11_interface");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(&program).arg(source);
    assert!(compiler.arg(folder.join("libcudart.so.11.0")).status().expect("there is a C compiler").success());
    let output = Command::new(&program).env("LD_LIBRARY_PATH", folder).output().expect("it starts");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed, PRINTED, "{errors}");
    assert!(output.status.success(), "{errors}");
}
