//! Memory management: filling linear memory with a byte.
use std::ffi::c_void;

use warploom_abi::CUstream;
use warploom_abi::runtime::*;

use super::memory_copy::either;
use crate::border::{DefaultStream, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// The value's lowest byte.
fn byte(value: i32) -> u8 {
    value.to_le_bytes()[0]
}

pub fn cudaMemset(default: DefaultStream, devPtr: Passed<'_, c_void>, value: i32, count: usize) -> ApiResult {
    context::ensure()?;
    if count == 0 {
        return Ok(());
    }
    either!(default, cuMemsetD8_v3020, cuMemsetD8_v7000_ptds, (devPtr.addr(), byte(value), count))
}

pub fn cudaMemsetAsync(
    default: DefaultStream,
    devPtr: Passed<'_, c_void>,
    value: i32,
    count: usize,
    stream: CUstream,
) -> ApiResult {
    context::ensure()?;
    if count == 0 {
        return Ok(());
    }
    driver!(cuMemsetD8Async_v3020(devPtr.addr(), byte(value), count, default.stream(stream)))
}

pub fn cudaMemset2D(
    default: DefaultStream,
    devPtr: Passed<'_, c_void>,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
) -> ApiResult {
    context::ensure()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let arguments = (devPtr.addr(), byte(value));
    either!(default, cuMemsetD2D8_v3020, cuMemsetD2D8_v7000_ptds, (arguments.0, pitch, arguments.1, width, height))
}

pub fn cudaMemset2DAsync(
    default: DefaultStream,
    devPtr: Passed<'_, c_void>,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: CUstream,
) -> ApiResult {
    context::ensure()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    driver!(cuMemsetD2D8Async_v3020(devPtr.addr(), pitch, byte(value), width, height, default.stream(stream)))
}

/// The parts of a box that the driver can fill at once: address and rows of each. Slices that follow each other without a gap are one.
fn slices(at: &cudaPitchedPtr, extent: &cudaExtent) -> ApiResult<Vec<(u64, usize)>> {
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Ok(Vec::new());
    }
    // A single row has no pitch, as recorded.
    let single = extent.height == 1 && extent.depth == 1;
    if extent.width > at.pitch && !single {
        return Err(Failure::invalid_value(format!(
            "rows of {} bytes do not fit a pitch of {}",
            extent.width, at.pitch
        )));
    }
    let too_large = || Failure::invalid_value("the box is larger than any memory");
    let slice = at.pitch.checked_mul(at.ysize).ok_or_else(too_large)?;
    slice.checked_mul(extent.depth).ok_or_else(too_large)?;
    let first = at.ptr.addr() as u64;
    if extent.height == at.ysize || extent.depth == 1 {
        return Ok(vec![(first, extent.height.checked_mul(extent.depth).ok_or_else(too_large)?)]);
    }
    Ok((0..extent.depth).map(|index| (first + (slice * index) as u64, extent.height)).collect())
}

pub fn cudaMemset3D(
    default: DefaultStream,
    pitchedDevPtr: cudaPitchedPtr,
    value: i32,
    extent: cudaExtent,
) -> ApiResult {
    context::ensure()?;
    let (pitch, value, width) = (pitchedDevPtr.pitch, byte(value), extent.width);
    for (address, rows) in slices(&pitchedDevPtr, &extent)? {
        either!(default, cuMemsetD2D8_v3020, cuMemsetD2D8_v7000_ptds, (address, pitch, value, width, rows))?;
    }
    Ok(())
}

pub fn cudaMemset3DAsync(
    default: DefaultStream,
    pitchedDevPtr: cudaPitchedPtr,
    value: i32,
    extent: cudaExtent,
    stream: CUstream,
) -> ApiResult {
    context::ensure()?;
    let (pitch, value, width, stream) = (pitchedDevPtr.pitch, byte(value), extent.width, default.stream(stream));
    for (address, rows) in slices(&pitchedDevPtr, &extent)? {
        driver!(cuMemsetD2D8Async_v3020(address, pitch, value, width, rows, stream))?;
    }
    Ok(())
}
