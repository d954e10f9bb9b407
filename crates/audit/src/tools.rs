//! NVIDIA's tools that make machine code, where a program starts them by their path: ours take their place.
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::explain;

/// Set by nvcc for the tools that it starts: what it builds is for whom it is told to build it, a toolkit with our tools in it (`warploom toolkit`) or another.
const NVCC: &str = "_NVVM_BRANCH_";

/// Goes on as our tool if this program is one of NVIDIA's that there is one of ours for, in `bin` of our libraries' folder: XLA starts the `ptxas` of NVIDIA's
/// package, whatever is on `PATH`.
pub(crate) fn take_the_place(folder: &Path) {
    let Ok(program) = std::env::current_exe() else { return };
    let Some(ours) = instead_of(&program, folder) else { return };
    let name = program.to_string_lossy();
    if std::env::var_os(NVCC).is_some() {
        explain::say(
            &name,
            format_args!("left alone: nvcc has started it (a toolkit of `warploom toolkit` has warploom's)"),
        );
        return;
    }
    explain::say(&name, format_args!("{} takes its place", ours.display()));
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Comes back only if ours could not be started.
    let error = Command::new(&ours).args(arguments).exec();
    explain::say(&name, format_args!("left alone: {} cannot be started: {error}", ours.display()));
}

/// Our tool of the same name, if this is not it.
fn instead_of(program: &Path, folder: &Path) -> Option<PathBuf> {
    let ours = folder.join("bin").join(program.file_name()?);
    // It is this command under another name.
    let command = ours.canonicalize().ok()?;
    (command != program).then_some(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_told_by_their_names() {
        let folder = std::env::temp_dir().join(format!("warploom-tools-{}", std::process::id()));
        let tools = folder.join("bin");
        std::fs::create_dir_all(&tools).expect("the folder for files that do not stay takes folders");
        let tool = tools.join("ptxas");
        std::fs::write(&tool, "").expect("it takes files");
        let ours = folder.join("bin").join("ptxas");
        assert_eq!(instead_of(Path::new("/opt/cuda/bin/ptxas"), &folder), Some(ours));
        assert_eq!(instead_of(Path::new("/opt/cuda/bin/cicc"), &folder), None);
        assert_eq!(instead_of(&tool.canonicalize().expect("it is there"), &folder), None);
        std::fs::remove_dir_all(&folder).expect("it goes");
    }
}
