//! Library management.
use std::ffi::{c_char, c_void};

use warploom_abi::CUfunction_attribute;
use warploom_abi::runtime::*;

use super::execution::check_settable;
use crate::border::Passed;
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaLibraryLoadData(
    library: Passed<'_, cudaLibrary_t>,
    code: Passed<'_, c_void>,
    jitOptions: Passed<'_, cudaJitOption>,
    jitOptionsValues: Passed<'_, *mut c_void>,
    numJitOptions: u32,
    libraryOptions: Passed<'_, cudaLibraryOption>,
    libraryOptionValues: Passed<'_, *mut c_void>,
    numLibraryOptions: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryLoadData_v12000(
        library.get(),
        code.get(),
        jitOptions.cast(),
        jitOptionsValues.get(),
        numJitOptions,
        libraryOptions.cast(),
        libraryOptionValues.get(),
        numLibraryOptions
    ))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaLibraryLoadFromFile(
    library: Passed<'_, cudaLibrary_t>,
    fileName: Passed<'_, c_char>,
    jitOptions: Passed<'_, cudaJitOption>,
    jitOptionsValues: Passed<'_, *mut c_void>,
    numJitOptions: u32,
    libraryOptions: Passed<'_, cudaLibraryOption>,
    libraryOptionValues: Passed<'_, *mut c_void>,
    numLibraryOptions: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryLoadFromFile_v12000(
        library.get(),
        fileName.get(),
        jitOptions.cast(),
        jitOptionsValues.get(),
        numJitOptions,
        libraryOptions.cast(),
        libraryOptionValues.get(),
        numLibraryOptions
    ))
}

pub fn cudaLibraryUnload(library: cudaLibrary_t) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryUnload_v12000(library))
}

pub fn cudaLibraryGetKernel(
    pKernel: Passed<'_, cudaKernel_t>,
    library: cudaLibrary_t,
    name: Passed<'_, c_char>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryGetKernel_v12000(pKernel.get(), library, name.get()))
}

pub fn cudaLibraryGetGlobal(
    dptr: Passed<'_, *mut c_void>,
    bytes: Passed<'_, usize>,
    library: cudaLibrary_t,
    name: Passed<'_, c_char>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryGetGlobal_v12000(dptr.cast(), bytes.get(), library, name.get()))
}

pub fn cudaLibraryGetManaged(
    dptr: Passed<'_, *mut c_void>,
    bytes: Passed<'_, usize>,
    library: cudaLibrary_t,
    name: Passed<'_, c_char>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryGetManaged_v12000(dptr.cast(), bytes.get(), library, name.get()))
}

pub fn cudaLibraryGetUnifiedFunction(
    fptr: Passed<'_, *mut c_void>,
    library: cudaLibrary_t,
    symbol: Passed<'_, c_char>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryGetUnifiedFunction_v12000(fptr.get(), library, symbol.get()))
}

pub fn cudaKernelSetAttributeForDevice(
    kernel: cudaKernel_t,
    attr: cudaFuncAttribute,
    value: i32,
    device: i32,
) -> ApiResult {
    check_settable(attr)?;
    if kernel == cudaKernel_t::NULL {
        return Err(Failure::new(cudaError::cudaErrorInvalidResourceHandle, "kernel is NULL"));
    }
    let device = context::device(device)?;
    driver!(cuKernelSetAttribute_v12000(CUfunction_attribute(attr.0), value, kernel, device))
}

pub fn cudaLibraryGetKernelCount(count: Passed<'_, u32>, lib: cudaLibrary_t) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryGetKernelCount_v12040(count.get(), lib))
}

pub fn cudaLibraryEnumerateKernels(
    kernels: Passed<'_, cudaKernel_t>,
    numKernels: u32,
    lib: cudaLibrary_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuLibraryEnumerateKernels_v12040(kernels.get(), numKernels, lib))
}
