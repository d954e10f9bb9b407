//! Packages of PyPI with NVIDIA's compilers, headers and runtime libraries, in the build folder: installed once for the tests of all crates.
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The packages of a toolkit of version 13: what a program needs to be compiled and linked.
pub(crate) fn of_13(version: &str) -> Vec<String> {
    let parts = ["cuda-nvcc", "cuda-runtime", "cuda-crt", "nvvm"].map(|part| format!("nvidia-{part}=={version}.*"));
    // Headers that later toolkits number in a way of their own.
    parts.into_iter().chain(["nvidia-cuda-cccl==13.0.*".to_owned()]).collect()
}

/// Installs packages under a name, unless that was done before: the folder that they share. Else what could not be done. Other tests that want
/// packages meanwhile wait.
pub(crate) fn install(name: &str, packages: &[String]) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lock = File::create(folder.join("pypi.lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let target = folder.join(name);
    let complete = target.join("complete");
    if !complete.exists() {
        let mut pip = Command::new(pip(folder)?);
        pip.args([
            "install",
            "--quiet",
            "--no-deps",
            "--no-compile",
            "--disable-pip-version-check",
            "--upgrade",
            "--target",
        ]);
        run(pip.arg(&target).args(packages))?;
        std::fs::write(&complete, "").map_err(|error| error.to_string())?;
    }
    Ok(target)
}

/// The installer, in an environment of its own, as the system's is often none that installs.
fn pip(folder: &Path) -> Result<PathBuf, String> {
    let pip = folder.join("pip/bin/pip");
    if !pip.exists() {
        run(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(folder.join("pip")))?;
    }
    Ok(pip)
}

/// Runs a command that must succeed; else what it says.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let Output { status, stderr, .. } = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {}", String::from_utf8_lossy(&stderr))) }
}
