//! NVIDIA's compiler, which comes from PyPI.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The packages of the compiler. Code that it makes runs on a driver of CUDA 13.0.
const PACKAGES: [&str; 5] =
    ["nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm", "nvidia-cuda-runtime", "nvidia-cuda-cccl"];
const VERSION: &str = "13.0.*";

/// Where the compiler is: the folder with `bin`, `include` and `lib`. None, and said so, if the registry is out of reach.
pub(crate) fn compiler() -> Option<&'static Path> {
    static COMPILER: OnceLock<Option<PathBuf>> = OnceLock::new();
    COMPILER
        .get_or_init(|| {
            let installed = install();
            if let Err(why) = &installed {
                eprintln!("SKIPPED: NVIDIA's compiler cannot be installed from PyPI, nothing was tested:\n{why}");
            }
            installed.ok()
        })
        .as_deref()
}

fn install() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda_compiler");
    let toolkit = || {
        let libraries = std::fs::read_dir(folder.join("lib")).ok()?.next()?.ok()?.path();
        Some(libraries.join("site-packages/nvidia/cu13")).filter(|toolkit| toolkit.join("complete").exists())
    };
    if let Some(toolkit) = toolkit() {
        return Ok(toolkit);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let packages = PACKAGES.map(|package| format!("{package}=={VERSION}"));
    run(Command::new(folder.join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(packages))?;
    let libraries = std::fs::read_dir(folder.join("lib")).map_err(|error| error.to_string())?.next();
    let libraries = libraries.ok_or("the environment has no packages")?.map_err(|error| error.to_string())?.path();
    let found = libraries.join("site-packages/nvidia/cu13");
    std::fs::write(found.join("complete"), "").map_err(|error| error.to_string())?;
    Ok(found)
}

/// Runs a command that must succeed; else what it says.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let Output { status, stderr, .. } = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {}", String::from_utf8_lossy(&stderr))) }
}
