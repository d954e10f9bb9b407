//! NVIDIA's compiler, which comes from PyPI.
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::pypi;

/// Code that this compiler makes runs on a driver of CUDA 13.0.
const VERSION: &str = "13.0";

/// Where the compiler is: the folder with `bin`, `include` and `lib`. None, and said so, if the registry is out of reach.
pub(crate) fn compiler() -> Option<&'static Path> {
    static COMPILER: OnceLock<Option<PathBuf>> = OnceLock::new();
    COMPILER
        .get_or_init(|| {
            let installed = pypi::install(&format!("cuda-{VERSION}"), &pypi::of_13(VERSION));
            if let Err(why) = &installed {
                eprintln!("SKIPPED: NVIDIA's compiler cannot be installed from PyPI, nothing was tested:\n{why}");
            }
            Some(installed.ok()?.join("nvidia/cu13"))
        })
        .as_deref()
}
