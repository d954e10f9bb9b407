//! Code for link-time optimisation, which NVIDIA's linker makes PTX of.
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Link;

/// Where in a toolkit its linker is, from the compiler's folder in that of NVVM.
const LINKER: &str = "../../bin/nvlink";

/// The PTX of all inputs together. `relocatable`: with the functions in it that none of them calls.
pub(super) fn text(link: &Link, inputs: &[PathBuf], relocatable: bool) -> Result<String, String> {
    let Some(nvvm) = &link.nvvmpath else {
        return Err(
            "link-time optimisation needs a toolkit of NVIDIA's: name its folder nvvm with --nvvmpath".to_owned()
        );
    };
    let linker = linker(nvvm)?;
    let mut command = Command::new(&linker);
    // Under `warploom run`, this command would take its place.
    command.env_remove("LD_AUDIT");
    command.args(["-lto", "-emit-ptx", "-m64", &format!("-arch={}", link.arch)]).arg("-nvvmpath").arg(nvvm);
    command.args(relocatable.then_some("-r")).args(["-o", "/dev/stdout"]).args(inputs);
    let done = command.output().map_err(|error| format!("Could not start '{}': {error}", linker.display()))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Err(format!("'{}' does not optimise: {}", linker.display(), said.trim_end()));
    }
    if !link.disable_warnings && !said.is_empty() {
        eprintln!("{}", said.trim_end());
    }
    String::from_utf8(done.stdout).map_err(|_| format!("'{}' writes no PTX", linker.display()))
}

/// NVIDIA's linker in the toolkit that NVVM is in; in ours the compiler's folder is a link to there.
fn linker(nvvm: &Path) -> Result<PathBuf, String> {
    let missing = |error| format!("cannot find the linker of the toolkit of '{}': {error}", nvvm.display());
    let linker =
        nvvm.join("bin").canonicalize().and_then(|compiler| compiler.join(LINKER).canonicalize()).map_err(missing)?;
    let ours = std::env::current_exe().and_then(|command| command.canonicalize()).map_err(missing)?;
    if linker == ours {
        return Err(format!("the linker of the toolkit of '{}' is this one, which does not optimise", nvvm.display()));
    }
    Ok(linker)
}
