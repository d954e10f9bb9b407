//! Interactions with the driver API: the driver's handles of what compiled host code registered.
use std::ffi::c_void;

use warploom_abi::runtime::cudaError;
use warploom_abi::{CUfunction, CUkernel};

use super::execution::kernel;
use crate::border::{Out, Passed};
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// What no compiled code registered, and no handle is, is called no device function here.
fn nameless(failure: Failure) -> Failure {
    if failure.code != cudaError::cudaErrorInvalidResourceHandle {
        return failure;
    }
    Failure::new(cudaError::cudaErrorInvalidDeviceFunction, "the address stands for no kernel")
}

/// The function of the current context.
pub fn cudaGetFuncBySymbol(functionPtr: Out<'_, CUfunction>, symbolPtr: Passed<'_, c_void>) -> ApiResult {
    let place = functionPtr.required("functionPtr")?;
    let kernel = kernel(&symbolPtr)?;
    let mut function = CUfunction::NULL;
    driver!(cuKernelGetFunction_v12000(&mut function, kernel)).map_err(nameless)?;
    place.set(function);
    Ok(())
}

/// The kernel, which holds for every context.
pub fn cudaGetKernel(kernelPtr: Out<'_, CUkernel>, entryFuncAddr: Passed<'_, c_void>) -> ApiResult {
    let place = kernelPtr.required("kernelPtr")?;
    let kernel = kernel(&entryFuncAddr)?;
    if kernel.0 as u64 == entryFuncAddr.addr() {
        let mut function = CUfunction::NULL;
        driver!(cuKernelGetFunction_v12000(&mut function, kernel)).map_err(nameless)?;
    }
    place.set(kernel);
    Ok(())
}
