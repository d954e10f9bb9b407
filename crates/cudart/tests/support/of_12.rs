//! CUDA 12: PyPI has no compiler of that, but its headers and libraries, for which a newer one compiles.
use std::path::PathBuf;

use crate::pypi;

/// Headers and libraries of CUDA 12, in the folder `nvidia` of where this is. Else why they cannot be had.
pub(crate) fn install() -> Result<PathBuf, String> {
    let parts =
        ["nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86", "nvidia-cuda-cccl-cu12==12.9.27"];
    pypi::install("cuda-12.9-headers", &parts.map(str::to_owned))
}
