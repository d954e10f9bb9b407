//! Results of the runtime API that nobody looks at, as the check `host` of our driver reports them: `tests/c/runtime/results.c`, with each runtime, shared and static.
#[path = "support/library.rs"]
mod library;
#[path = "../../../tests/settings.rs"]
mod settings;

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The program, with a runtime.
fn built(name: &str, major: u32, runtime: &[PathBuf]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("results_{name}_{major}"));
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-O1", "-g", "-Wall", "-Werror", &format!("-DWARPLOOM_CUDA_H={major}000")]);
    command.arg("-I").arg(root().join("include")).arg(root().join("tests/c/runtime/results.c")).args(runtime);
    succeeds(command.args(["-ldl", "-lpthread", "-lm", "-o"]).arg(&program));
    program
}

/// What is said of a case.
fn said(program: &Path, case: &str) -> String {
    let mut command = Command::new(program);
    settings::take_out(&mut command);
    command.arg(case).env("LD_LIBRARY_PATH", library::folder()).env("WARPLOOM_CHECK", "host");
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.stdout == b"done\n", "{case}: {errors}");
    errors
}

fn cases(program: &Path) {
    for (case, call) in [
        ("dropped", "cudaSetDevice fails with cudaErrorInvalidDevice"),
        ("overwritten", "cudaSetDevice fails with cudaErrorInvalidDevice"),
        ("launched", "cudaLaunchKernel fails with cudaErrorInvalid"),
    ] {
        let said = said(program, case);
        let call = format!("error[host/result-dropped]: {call}");
        let behind =
            ", and nobody looks at that before cudaDeviceSynchronize succeeds, nor asks for the last error later\n";
        for part in [&*call, behind, "called here", "main", ": 1 error\n"] {
            assert!(said.contains(part), "{case}: no {part:?} in\n{said}");
        }
    }
    for case in ["looked", "asked", "launch_asked"] {
        let said = said(program, case);
        assert!(said.ends_with(": 0 errors\n") && said.lines().count() == 1, "{case}: {said}");
    }
}

#[test]
fn results_of_the_shared_runtimes() {
    for major in [12, 13] {
        cases(&built("shared", major, &[library::folder().join(format!("libcudart.so.{major}"))]));
    }
}

#[test]
fn results_of_the_static_runtimes() {
    let test = std::env::current_exe().expect("a test knows its executable");
    let profile = test.ancestors().nth(2).expect("tests are in a folder of the profile's");
    library::folder();
    for major in [12, 13] {
        let archive = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libcudart{major}_static.a"));
        let mut command = Command::new(root().join("scripts/static_runtime.sh"));
        command.arg(profile.join(format!("libcudart{major}.a")));
        command.arg(root().join(format!("crates/cudart{major}/src/generated/symbols.txt"))).arg(&archive);
        succeeds(&mut command);
        cases(&built("static", major, &[archive]));
    }
}
