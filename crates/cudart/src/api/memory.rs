//! Memory management: allocations of linear memory, and what is known of them.
use std::ffi::c_void;

use warploom_abi::CUmemAttach_flags;
use warploom_abi::runtime::*;

use crate::border::{Out, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// A device address as the pointer that it is here.
pub(crate) fn pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Nothing is an allocation without an address.
pub fn cudaMalloc(devPtr: Out<'_, *mut c_void>, size: usize) -> ApiResult {
    let place = devPtr.required("devPtr")?;
    context::ensure()?;
    let mut address = 0;
    if size > 0 {
        driver!(cuMemAlloc_v3020(&mut address, size))?;
    }
    place.set(pointer(address));
    Ok(())
}

/// Programs free NULL to have the context made; one that is lost says so.
pub fn cudaFree(devPtr: Passed<'_, c_void>) -> ApiResult {
    context::ensure()?;
    driver!(cuMemFree_v3020(devPtr.addr()))
}

pub fn cudaMallocHost(ptr: Out<'_, *mut c_void>, size: usize) -> ApiResult {
    cudaHostAlloc(ptr, size, cudaHostAllocDefault)
}

pub fn cudaHostAlloc(pHost: Out<'_, *mut c_void>, size: usize, flags: u32) -> ApiResult {
    let place = pHost.required("pHost")?;
    context::ensure()?;
    let mut host = std::ptr::null_mut();
    if size > 0 {
        driver!(cuMemHostAlloc_v2020(&mut host, size, flags))?;
    }
    place.set(host);
    Ok(())
}

pub fn cudaFreeHost(ptr: Passed<'_, c_void>) -> ApiResult {
    context::ensure()?;
    if ptr.get().is_null() {
        return Ok(());
    }
    driver!(cuMemFreeHost_v2000(ptr.get()))
}

pub fn cudaHostRegister(ptr: Passed<'_, c_void>, size: usize, flags: u32) -> ApiResult {
    context::ensure()?;
    driver!(cuMemHostRegister_v6050(ptr.get(), size, flags))
}

pub fn cudaHostUnregister(ptr: Passed<'_, c_void>) -> ApiResult {
    context::ensure()?;
    driver!(cuMemHostUnregister_v4000(ptr.get()))
}

pub fn cudaHostGetDevicePointer(pDevice: Out<'_, *mut c_void>, pHost: Passed<'_, c_void>, flags: u32) -> ApiResult {
    let place = pDevice.required("pDevice")?;
    context::ensure()?;
    let mut address = 0;
    driver!(cuMemHostGetDevicePointer_v3020(&mut address, pHost.get(), flags))?;
    place.set(pointer(address));
    Ok(())
}

pub fn cudaHostGetFlags(pFlags: Out<'_, u32>, pHost: Passed<'_, c_void>) -> ApiResult {
    let place = pFlags.required("pFlags")?;
    context::ensure()?;
    let mut flags = 0;
    driver!(cuMemHostGetFlags_v2030(&mut flags, pHost.get()))?;
    place.set(flags);
    Ok(())
}

pub fn cudaMallocManaged(devPtr: Out<'_, *mut c_void>, size: usize, flags: u32) -> ApiResult {
    let place = devPtr.required("devPtr")?;
    // As recorded, before flags are looked at.
    if size == 0 {
        context::ensure()?;
        place.set(std::ptr::null_mut());
        return Ok(());
    }
    let known = [CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL.0, CUmemAttach_flags::CU_MEM_ATTACH_HOST.0];
    if !known.contains(&flags) {
        return Err(Failure::invalid_value(format!("flags {flags:#x}: cudaMemAttachGlobal or cudaMemAttachHost")));
    }
    context::ensure()?;
    let mut address = 0;
    driver!(cuMemAllocManaged_v6000(&mut address, size, flags))?;
    place.set(pointer(address));
    Ok(())
}

/// Rows that start at the same place for every element size. Without width or height nothing is allocated.
pub fn cudaMallocPitch(devPtr: Out<'_, *mut c_void>, pitch: Out<'_, usize>, width: usize, height: usize) -> ApiResult {
    let (place, pitch) = (devPtr.required("devPtr")?, pitch.required("pitch")?);
    context::ensure()?;
    let (address, bytes) = pitched(width, height)?;
    pitch.set(bytes);
    place.set(pointer(address));
    Ok(())
}

pub fn cudaMalloc3D(pitchedDevPtr: Out<'_, cudaPitchedPtr>, extent: cudaExtent) -> ApiResult {
    let place = pitchedDevPtr.required("pitchedDevPtr")?;
    context::ensure()?;
    let rows = extent.height.checked_mul(extent.depth);
    let rows =
        rows.ok_or_else(|| Failure::new(cudaError::cudaErrorMemoryAllocation, "height times depth overflows"))?;
    let (address, pitch) = pitched(extent.width, rows)?;
    place.set(cudaPitchedPtr { ptr: pointer(address), pitch, xsize: extent.width, ysize: extent.height });
    Ok(())
}

/// Address and bytes from row to row.
fn pitched(width: usize, rows: usize) -> ApiResult<(u64, usize)> {
    /// Elements of this size may be read at once: the largest that the driver asks for.
    const ELEMENT: u32 = 16;
    let (mut address, mut pitch) = (0, 0);
    if width > 0 && rows > 0 {
        driver!(cuMemAllocPitch_v3020(&mut address, &mut pitch, width, rows, ELEMENT))?;
    }
    Ok((address, pitch))
}

pub fn cudaMemGetInfo(free: Out<'_, usize>, total: Out<'_, usize>) -> ApiResult {
    context::ensure()?;
    let (mut free_bytes, mut all_bytes) = (0, 0);
    driver!(cuMemGetInfo_v3020(&mut free_bytes, &mut all_bytes))?;
    for (place, value) in [(free, free_bytes), (total, all_bytes)] {
        if let Some(place) = place.optional() {
            place.set(value);
        }
    }
    Ok(())
}
