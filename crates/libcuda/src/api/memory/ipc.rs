//! Memory and events of other processes.
use std::ffi::c_char;

use warploom_abi::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMemHandle};
use warploom_driver::Handle;
use warploom_driver::memory::Name;

use crate::border::{ApiResult, Out};
use crate::process::driver;

fn bytes_of(name: Name) -> [c_char; 64] {
    name.to_bytes().map(|byte| byte as c_char)
}

fn name_in(bytes: [c_char; 64]) -> Option<Name> {
    Name::from_bytes(&bytes.map(|byte| byte as u8))
}

pub(crate) fn cuIpcGetMemHandle(pHandle: Out<'_, CUipcMemHandle>, dptr: CUdeviceptr) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    place.set(CUipcMemHandle { reserved: bytes_of(driver()?.name_memory(dptr)?) });
    Ok(())
}

pub(crate) fn cuIpcOpenMemHandle(pdptr: Out<'_, CUdeviceptr>, handle: CUipcMemHandle, Flags: u32) -> ApiResult {
    let place = pdptr.required("pdptr")?;
    place.set(driver()?.open_memory(name_in(handle.reserved), Flags, false)?);
    Ok(())
}

pub(crate) fn cuIpcOpenMemHandle_v2(pdptr: Out<'_, CUdeviceptr>, handle: CUipcMemHandle, Flags: u32) -> ApiResult {
    let place = pdptr.required("pdptr")?;
    place.set(driver()?.open_memory(name_in(handle.reserved), Flags, true)?);
    Ok(())
}

pub(crate) fn cuIpcCloseMemHandle(dptr: CUdeviceptr) -> ApiResult {
    driver()?.close_memory(dptr)
}

pub(crate) fn cuIpcGetEventHandle(pHandle: Out<'_, CUipcEventHandle>, event: CUevent) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    place.set(CUipcEventHandle { reserved: bytes_of(driver()?.name_event(Handle::from_raw(event.0))?) });
    Ok(())
}

pub(crate) fn cuIpcOpenEventHandle(phEvent: Out<'_, CUevent>, handle: CUipcEventHandle) -> ApiResult {
    let place = phEvent.required("phEvent")?;
    place.set(CUevent(driver()?.open_event(name_in(handle.reserved))?.raw()));
    Ok(())
}
