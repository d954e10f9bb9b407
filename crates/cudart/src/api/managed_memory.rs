//! Memory management: where managed memory is, and where it had better be.
use std::ffi::c_void;

use warploom_abi::CUmem_range_attribute;
use warploom_abi::runtime::*;

use crate::border::Passed;
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaMemRangeGetAttribute(
    data: Passed<'_, c_void>,
    dataSize: usize,
    attribute: cudaMemRangeAttribute,
    devPtr: Passed<'_, c_void>,
    count: usize,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemRangeGetAttribute_v8000(
        data.get(),
        dataSize,
        CUmem_range_attribute(attribute.0),
        devPtr.addr(),
        count
    ))
}

pub fn cudaMemRangeGetAttributes(
    data: Passed<'_, *mut c_void>,
    dataSizes: Passed<'_, usize>,
    attributes: Passed<'_, cudaMemRangeAttribute>,
    numAttributes: usize,
    devPtr: Passed<'_, c_void>,
    count: usize,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemRangeGetAttributes_v8000(
        data.get(),
        dataSizes.get(),
        attributes.cast(),
        numAttributes,
        devPtr.addr(),
        count
    ))
}
