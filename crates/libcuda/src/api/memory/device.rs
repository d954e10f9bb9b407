//! Device and managed memory.
use warploom_abi::CUdeviceptr;

use crate::border::{ApiResult, Out};
use crate::process::driver;

pub(crate) fn cuMemGetInfo_v2(free: Out<'_, usize>, total: Out<'_, usize>) -> ApiResult {
    let (free_bytes, total_bytes) = driver()?.memory_info()?;
    if let Some(place) = free.optional() {
        place.set(free_bytes as usize);
    }
    if let Some(place) = total.optional() {
        place.set(total_bytes as usize);
    }
    Ok(())
}

pub(crate) fn cuMemAlloc_v2(dptr: Out<'_, CUdeviceptr>, bytesize: usize) -> ApiResult {
    let place = dptr.required("dptr")?;
    place.set(driver()?.alloc(bytesize as u64)?);
    Ok(())
}

pub(crate) fn cuMemAllocPitch_v2(
    dptr: Out<'_, CUdeviceptr>,
    pPitch: Out<'_, usize>,
    WidthInBytes: usize,
    Height: usize,
    ElementSizeBytes: u32,
) -> ApiResult {
    let (dptr, pitch) = (dptr.required("dptr")?, pPitch.required("pPitch")?);
    let (address, bytes) = driver()?.alloc_pitch(WidthInBytes as u64, Height as u64, ElementSizeBytes)?;
    dptr.set(address);
    pitch.set(bytes as usize);
    Ok(())
}

pub(crate) fn cuMemFree_v2(dptr: CUdeviceptr) -> ApiResult {
    // To free nothing takes no context.
    if dptr == 0 && driver()?.current_handle().is_null() {
        return Ok(());
    }
    driver()?.free(dptr)
}

pub(crate) fn cuMemGetAddressRange_v2(
    pbase: Out<'_, CUdeviceptr>,
    psize: Out<'_, usize>,
    dptr: CUdeviceptr,
) -> ApiResult {
    if pbase.is_null() && psize.is_null() {
        return Ok(());
    }
    let (base, size) = driver()?.address_range(dptr)?;
    if let Some(place) = pbase.optional() {
        place.set(base);
    }
    if let Some(place) = psize.optional() {
        place.set(size as usize);
    }
    Ok(())
}

pub(crate) fn cuMemAllocManaged(dptr: Out<'_, CUdeviceptr>, bytesize: usize, flags: u32) -> ApiResult {
    let place = dptr.required("dptr")?;
    place.set(driver()?.alloc_managed(bytesize as u64, flags)?);
    Ok(())
}
