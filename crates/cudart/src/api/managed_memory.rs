//! Memory management: where managed memory is, and where it had better be.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::types::CUmemLocation_v1_anonymous0;
use warploom_abi::{CUmem_advise, CUmem_range_attribute, CUmemLocation, CUmemLocationType};

use crate::border::{DefaultStream, Passed};
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

/// What a device's number stands for, where -1 is the host.
fn location(device: i32) -> CUmemLocation {
    let kind = if device == cudaCpuDeviceId {
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST
    } else {
        CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE
    };
    CUmemLocation { r#type: kind, anonymous0: CUmemLocation_v1_anonymous0 { id: device } }
}

/// Both APIs have the same kinds of location.
fn driver_location(location: cudaMemLocation) -> CUmemLocation {
    // SAFETY: all members of the union are numbers, valid for all bits.
    let id = unsafe { location.anonymous0.id };
    CUmemLocation { r#type: CUmemLocationType(location.r#type.0), anonymous0: CUmemLocation_v1_anonymous0 { id } }
}

pub fn cudaMemAdvise(devPtr: Passed<'_, c_void>, count: usize, advice: cudaMemoryAdvise, device: i32) -> ApiResult {
    context::ensure()?;
    driver!(cuMemAdvise_v8000(devPtr.addr(), count, CUmem_advise(advice.0), device))
}

pub fn cudaMemAdvise_v2(
    devPtr: Passed<'_, c_void>,
    count: usize,
    advice: cudaMemoryAdvise,
    location: cudaMemLocation,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemAdvise_v12020(devPtr.addr(), count, CUmem_advise(advice.0), driver_location(location)))
}

pub fn cudaMemPrefetchAsync(
    default: DefaultStream,
    devPtr: Passed<'_, c_void>,
    count: usize,
    dstDevice: i32,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let stream = default.stream(stream);
    driver!(cuMemPrefetchAsync_v12020(devPtr.addr(), count, location(dstDevice), 0, stream))
}

pub fn cudaMemPrefetchAsync_v2(
    default: DefaultStream,
    devPtr: Passed<'_, c_void>,
    count: usize,
    location: cudaMemLocation,
    flags: u32,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let stream = default.stream(stream);
    driver!(cuMemPrefetchAsync_v12020(devPtr.addr(), count, driver_location(location), flags, stream))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemPrefetchBatchAsync(
    default: DefaultStream,
    dptrs: Passed<'_, *mut c_void>,
    sizes: Passed<'_, usize>,
    count: usize,
    prefetchLocs: Passed<'_, cudaMemLocation>,
    prefetchLocIdxs: Passed<'_, usize>,
    numPrefetchLocs: usize,
    flags: u64,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemPrefetchBatchAsync_v13000(
        dptrs.cast(),
        sizes.get(),
        count,
        prefetchLocs.cast(),
        prefetchLocIdxs.get(),
        numPrefetchLocs,
        flags,
        default.stream(stream)
    ))
}

pub fn cudaMemDiscardBatchAsync(
    default: DefaultStream,
    dptrs: Passed<'_, *mut c_void>,
    sizes: Passed<'_, usize>,
    count: usize,
    flags: u64,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemDiscardBatchAsync_v13000(dptrs.cast(), sizes.get(), count, flags, default.stream(stream)))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemDiscardAndPrefetchBatchAsync(
    default: DefaultStream,
    dptrs: Passed<'_, *mut c_void>,
    sizes: Passed<'_, usize>,
    count: usize,
    prefetchLocs: Passed<'_, cudaMemLocation>,
    prefetchLocIdxs: Passed<'_, usize>,
    numPrefetchLocs: usize,
    flags: u64,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemDiscardAndPrefetchBatchAsync_v13000(
        dptrs.cast(),
        sizes.get(),
        count,
        prefetchLocs.cast(),
        prefetchLocIdxs.get(),
        numPrefetchLocs,
        flags,
        default.stream(stream)
    ))
}

pub fn cudaMemGetLocationInfo(
    devPtr: Passed<'_, c_void>,
    size: usize,
    summaryGranularity: usize,
    samplingGranularity: usize,
    location_out: Passed<'_, cudaMemLocation>,
) -> ApiResult {
    context::ensure()?;
    let (address, place) = (devPtr.addr(), location_out.cast());
    driver!(cuMemGetLocationInfo_v13040(address, size, summaryGranularity, samplingGranularity, place))
}
