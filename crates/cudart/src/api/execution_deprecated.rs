//! Execution control, deprecated: how wide the banks of shared memory are.
use std::ffi::c_void;

use warploom_abi::runtime::cudaSharedMemConfig;
use warploom_abi::{CUfunction, CUsharedconfig};

use super::execution::kernel;
use crate::border::Passed;
use crate::driver::driver;
use crate::failure::ApiResult;

/// Newer devices have one width only: the wish is checked, and changes nothing.
pub fn cudaFuncSetSharedMemConfig(func: Passed<'_, c_void>, config: cudaSharedMemConfig) -> ApiResult {
    let kernel = kernel(&func)?;
    let mut function = CUfunction::NULL;
    driver!(cuKernelGetFunction_v12000(&mut function, kernel))?;
    driver!(cuFuncSetSharedMemConfig_v4020(function, CUsharedconfig(config.0)))
}
