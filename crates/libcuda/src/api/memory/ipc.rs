//! Memory and events of other processes.
use warploom_abi::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMemHandle};
use warploom_driver::Handle;
use warploom_driver::memory::SharedMemoryName;

use crate::border::{ApiResult, Out};
use crate::process::driver;

fn bytes_of(name: SharedMemoryName) -> [std::ffi::c_char; 64] {
    let mut bytes = [0; 64];
    let numbers = [name.process, name.allocation].into_iter().flat_map(u64::to_ne_bytes);
    for (place, byte) in bytes.iter_mut().zip(numbers) {
        *place = byte as std::ffi::c_char;
    }
    bytes
}

fn name_in(bytes: &[std::ffi::c_char; 64]) -> SharedMemoryName {
    let number = |at: usize| {
        let bytes = bytes.iter().skip(at).take(size_of::<u64>());
        bytes.rev().fold(0, |number, byte| number << 8 | u64::from(*byte as u8))
    };
    SharedMemoryName { process: number(0), allocation: number(size_of::<u64>()) }
}

pub(crate) fn cuIpcGetMemHandle(pHandle: Out<'_, CUipcMemHandle>, dptr: CUdeviceptr) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    place.set(CUipcMemHandle { reserved: bytes_of(driver()?.name_memory(dptr)?) });
    Ok(())
}

pub(crate) fn cuIpcOpenMemHandle(pdptr: Out<'_, CUdeviceptr>, handle: CUipcMemHandle, Flags: u32) -> ApiResult {
    let place = pdptr.required("pdptr")?;
    place.set(driver()?.open_memory(name_in(&handle.reserved), Flags)?);
    Ok(())
}

pub(crate) fn cuIpcOpenMemHandle_v2(pdptr: Out<'_, CUdeviceptr>, handle: CUipcMemHandle, Flags: u32) -> ApiResult {
    cuIpcOpenMemHandle(pdptr, handle, Flags)
}

pub(crate) fn cuIpcCloseMemHandle(dptr: CUdeviceptr) -> ApiResult {
    driver()?.close_memory(dptr)
}

pub(crate) fn cuIpcGetEventHandle(pHandle: Out<'_, CUipcEventHandle>, event: CUevent) -> ApiResult {
    pHandle.required("pHandle")?;
    driver()?.name_event(Handle::from_raw(event.0))
}

pub(crate) fn cuIpcOpenEventHandle(phEvent: Out<'_, CUevent>, _handle: CUipcEventHandle) -> ApiResult {
    let place = phEvent.required("phEvent")?;
    place.set(CUevent(driver()?.open_event()?.raw()));
    Ok(())
}
