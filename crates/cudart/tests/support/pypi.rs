//! Packages of PyPI with NVIDIA's compilers, headers and runtime libraries, in the build folder: installed once for the tests of all crates.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The packages of a toolkit of version 13: what a program needs to be compiled and linked.
pub(crate) fn of_13(version: &str) -> Vec<String> {
    let parts = ["cuda-nvcc", "cuda-runtime", "cuda-crt", "nvvm"].map(|part| format!("nvidia-{part}=={version}.*"));
    // Headers that later toolkits number in a way of their own.
    parts.into_iter().chain(["nvidia-cuda-cccl==13.0.*".to_owned()]).collect()
}

/// Installs packages under a name, unless that was done before: the folder that they share. Else what could not be done.
pub(crate) fn install(name: &str, packages: &[String]) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let complete = target.join("complete");
    if !complete.exists() {
        let environment = target.join("venv");
        run(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&environment))?;
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target"]);
        run(pip.arg(&target).args(packages))?;
        std::fs::write(&complete, "").map_err(|error| error.to_string())?;
    }
    Ok(target)
}

/// Runs a command that must succeed; else what it says.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let Output { status, stderr, .. } = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {}", String::from_utf8_lossy(&stderr))) }
}
