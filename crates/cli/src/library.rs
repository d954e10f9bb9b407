//! Where our libraries are.
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use warploom_entrypoint::Driver;

use crate::{nvlink, ptxas, smi};

/// The name that programs ask the dynamic linker for.
const SONAME: &str = "libcuda.so.1";
/// What cargo calls our libraries, and what the dynamic linker does.
const BUILT: [(&str, &str); 5] = [
    ("libcuda.so", SONAME),
    ("libcudart11.so", "libcudart.so.11.0"),
    ("libcudart12.so", "libcudart.so.12"),
    ("libcudart13.so", "libcudart.so.13"),
    ("libwarploom_nvml.so", "libnvidia-ml.so.1"),
];
/// Tools of NVIDIA's that this command stands in for under their names.
pub(crate) const TOOLS: [&str; 3] = [ptxas::NAME, nvlink::NAME, smi::NAME];
/// The file name of the auditing library.
pub(crate) const AUDITOR: &str = "libwarploom_audit.so";

/// The folder with our `libcuda.so.1`: `../lib/warploom` of an installed command, the command's own folder in a build tree.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    let command = std::env::current_exe().context("cannot tell where this command is")?;
    let beside = command.parent().unwrap_or(Path::new("/")).to_owned();
    let installed = beside.join("../lib/warploom");
    if installed.join(SONAME).exists() {
        return installed.canonicalize().with_context(|| format!("cannot resolve {}", installed.display()));
    }
    for (built, name) in BUILT {
        if beside.join(built).exists() {
            link(Path::new(built), &beside.join(name))?;
        }
    }
    if beside.join(SONAME).exists() {
        return Ok(beside);
    }
    bail!(
        "no driver library: neither {} nor {} is there",
        installed.join(SONAME).display(),
        beside.join(BUILT[0].0).display()
    )
}

/// The auditing library, which leads programs to our libraries; it lies beside the driver.
pub(crate) fn auditor() -> anyhow::Result<PathBuf> {
    let auditor = folder()?.join(AUDITOR);
    if !auditor.exists() {
        bail!("no auditing library: {} is not there; with --keep-runtime programs run without it", auditor.display());
    }
    if auditor.as_os_str().as_encoded_bytes().contains(&b':') {
        bail!("{} cannot be given to the dynamic linker: it has a colon in its path", auditor.display());
    }
    Ok(auditor)
}

/// The folder with this command under the names of tools of NVIDIA's, for `PATH`: part of what is installed, in a build tree made when it is wanted.
pub(crate) fn tools() -> anyhow::Result<PathBuf> {
    let tools = folder()?.join("bin");
    for name in TOOLS {
        let tool = tools.join(name);
        if !tool.exists() {
            let command = std::env::current_exe().context("cannot tell where this command is")?;
            std::fs::create_dir_all(&tools).with_context(|| format!("cannot create {}", tools.display()))?;
            link(&command, &tool)?;
        }
    }
    Ok(tools)
}

/// Cargo builds libraries without the number that the dynamic linker asks for.
fn link(built: &Path, name: &Path) -> anyhow::Result<()> {
    match std::os::unix::fs::symlink(built, name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot create {}", name.display()))
        }
        _ => Ok(()),
    }
}

/// Loads `library`, or ours.
pub(crate) fn open(library: Option<&Path>) -> anyhow::Result<Driver> {
    let driver = match library {
        Some(library) => Driver::open(library),
        None => Driver::open(folder()?.join(SONAME)),
    };
    Ok(driver?)
}
