//! Error log management: the log is the driver's.
use std::ffi::{c_char, c_void};

use warploom_abi::CUlogsCallback;
use warploom_abi::runtime::*;

use crate::border::Passed;
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

/// Both APIs have the same callbacks.
pub fn cudaLogsRegisterCallback(
    callbackFunc: cudaLogsCallback_t,
    userData: Passed<'_, c_void>,
    callback_out: Passed<'_, cudaLogsCallbackHandle>,
) -> ApiResult {
    context::devices()?;
    let function = CUlogsCallback(callbackFunc.0);
    driver!(cuLogsRegisterCallback_v12090(function, userData.get(), callback_out.get()))
}

pub fn cudaLogsUnregisterCallback(callback: cudaLogsCallbackHandle) -> ApiResult {
    context::devices()?;
    driver!(cuLogsUnregisterCallback_v12090(callback))
}

pub fn cudaLogsCurrent(iterator_out: Passed<'_, cudaLogIterator>, flags: u32) -> ApiResult {
    context::devices()?;
    driver!(cuLogsCurrent_v12090(iterator_out.get(), flags))
}

pub fn cudaLogsDumpToFile(
    iterator: Passed<'_, cudaLogIterator>,
    pathToFile: Passed<'_, c_char>,
    flags: u32,
) -> ApiResult {
    context::devices()?;
    driver!(cuLogsDumpToFile_v12090(iterator.get(), pathToFile.get(), flags))
}

pub fn cudaLogsDumpToMemory(
    iterator: Passed<'_, cudaLogIterator>,
    buffer: Passed<'_, c_char>,
    size: Passed<'_, usize>,
    flags: u32,
) -> ApiResult {
    context::devices()?;
    driver!(cuLogsDumpToMemory_v12090(iterator.get(), buffer.get(), size.get(), flags))
}
