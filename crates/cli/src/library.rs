//! Where our driver library is.
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use warploom_entrypoint::Driver;

/// The name that programs ask the dynamic linker for.
const SONAME: &str = "libcuda.so.1";

/// The folder with our `libcuda.so.1`: `../lib/warploom` of an installed command, the command's own folder in a build tree.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    let command = std::env::current_exe().context("cannot tell where this command is")?;
    let beside = command.parent().unwrap_or(Path::new("/")).to_owned();
    let installed = beside.join("../lib/warploom");
    if installed.join(SONAME).exists() {
        return installed.canonicalize().with_context(|| format!("cannot resolve {}", installed.display()));
    }
    let built = beside.join("libcuda.so");
    if built.exists() {
        link(&beside.join(SONAME))?;
    }
    if beside.join(SONAME).exists() {
        return Ok(beside);
    }
    bail!("no driver library: neither {} nor {} is there", installed.join(SONAME).display(), built.display())
}

/// Cargo builds the library without the number that the dynamic linker asks for.
fn link(name: &Path) -> anyhow::Result<()> {
    match std::os::unix::fs::symlink("libcuda.so", name) {
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
