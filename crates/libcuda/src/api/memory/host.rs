//! Host memory that kernels can access.
use warploom_abi::CUdeviceptr;
use warploom_driver::DriverError;

use crate::border::{ApiResult, HostAddress, HostPtr, Out, callers_memory};
use crate::process::driver;

pub(crate) fn cuMemAllocHost_v2(pp: Out<'_, HostAddress>, bytesize: usize) -> ApiResult {
    cuMemHostAlloc(pp, bytesize, 0)
}

pub(crate) fn cuMemFreeHost(p: HostPtr) -> ApiResult {
    // To free nothing takes no context.
    if p.is_null() && driver()?.current_handle().is_null() {
        return Ok(());
    }
    driver()?.free_host(p.addr() as u64)
}

pub(crate) fn cuMemHostAlloc(pp: Out<'_, HostAddress>, bytesize: usize, Flags: u32) -> ApiResult {
    let place = pp.required("pp")?;
    place.set(HostAddress(driver()?.alloc_host(bytesize as u64, Flags)? as usize));
    Ok(())
}

pub(crate) fn cuMemHostGetDevicePointer_v2(pdptr: Out<'_, CUdeviceptr>, p: HostPtr, Flags: u32) -> ApiResult {
    let place = pdptr.required("pdptr")?;
    if Flags != 0 {
        return Err(DriverError::invalid_value(format!("Flags is {Flags}, must be 0")));
    }
    place.set(driver()?.host_device_pointer(p.addr() as u64)?);
    Ok(())
}

pub(crate) fn cuMemHostGetFlags(pFlags: Out<'_, u32>, p: HostPtr) -> ApiResult {
    let place = pFlags.required("pFlags")?;
    place.set(driver()?.host_memory_flags(p.addr() as u64)?);
    Ok(())
}

/// The first ABI means the same as the second.
pub(crate) fn cuMemHostRegister(p: HostPtr, bytesize: usize, Flags: u32) -> ApiResult {
    cuMemHostRegister_v2(p, bytesize, Flags)
}

pub(crate) fn cuMemHostRegister_v2(p: HostPtr, bytesize: usize, Flags: u32) -> ApiResult {
    driver()?.register_host(callers_memory().range(p.addr() as u64, bytesize as u64), Flags)
}

pub(crate) fn cuMemHostUnregister(p: HostPtr) -> ApiResult {
    driver()?.unregister_host(p.addr() as u64)
}
