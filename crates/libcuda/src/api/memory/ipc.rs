//! Memory and events of other processes. A handle names the process and the allocation. Memory here belongs to its process,
//! so no other process can open it.
use warploom_abi::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMemHandle};
use warploom_driver::memory::PointerKind;
use warploom_driver::{DriverError, ErrorCode, Handle};

use crate::border::{ApiResult, Out};
use crate::process::driver;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
const LAZY_PEER_ACCESS: u32 = 1;

fn bytes_of(numbers: [u64; 2]) -> [std::ffi::c_char; 64] {
    let mut bytes = [0; 64];
    for (place, byte) in bytes.iter_mut().zip(numbers.into_iter().flat_map(u64::to_ne_bytes)) {
        *place = byte as std::ffi::c_char;
    }
    bytes
}

fn this_process() -> u64 {
    u64::from(std::process::id())
}

fn process_of(handle: &CUipcMemHandle) -> u64 {
    handle.reserved.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte as u8))
}

pub(crate) fn cuIpcGetMemHandle(pHandle: Out<'_, CUipcMemHandle>, dptr: CUdeviceptr) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    driver()?.current()?;
    let pointer = driver()?.pointer(dptr).filter(|pointer| pointer.kind == PointerKind::Device && pointer.pool == 0);
    let pointer = pointer
        .ok_or_else(|| DriverError::invalid_value(format!("{dptr:#x} is not in memory that cuMemAlloc allocated")))?;
    place.set(CUipcMemHandle { reserved: bytes_of([this_process(), pointer.id]) });
    Ok(())
}

/// The process that made a handle cannot open it itself, as recorded.
pub(crate) fn cuIpcOpenMemHandle(pdptr: Out<'_, CUdeviceptr>, handle: CUipcMemHandle, Flags: u32) -> ApiResult {
    pdptr.required("pdptr")?;
    driver()?.current()?;
    if Flags != LAZY_PEER_ACCESS {
        return Err(DriverError::invalid_value(format!("Flags is {Flags}, must be {LAZY_PEER_ACCESS}")));
    }
    if process_of(&handle) == this_process() {
        return Err(DriverError::new(ErrorCode::InvalidContext, "the handle is of this process itself"));
    }
    let reason = "memory of this driver belongs to its process: another one cannot open it";
    Err(DriverError::new(ErrorCode::NotSupported, reason))
}

pub(crate) fn cuIpcOpenMemHandle_v2(pdptr: Out<'_, CUdeviceptr>, handle: CUipcMemHandle, Flags: u32) -> ApiResult {
    cuIpcOpenMemHandle(pdptr, handle, Flags)
}

/// Nothing was ever opened, so nothing can be closed.
pub(crate) fn cuIpcCloseMemHandle(dptr: CUdeviceptr) -> ApiResult {
    driver()?.current()?;
    Err(DriverError::invalid_value(format!("{dptr:#x} was not opened with cuIpcOpenMemHandle")))
}

/// Events stay in their process too (`CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED` is 0).
pub(crate) fn cuIpcGetEventHandle(pHandle: Out<'_, CUipcEventHandle>, event: CUevent) -> ApiResult {
    pHandle.required("pHandle")?;
    if !driver()?.is_interprocess_event(Handle::from_raw(event.0))? {
        return Err(DriverError::invalid_handle("the event was not created with CU_EVENT_INTERPROCESS"));
    }
    Err(DriverError::new(ErrorCode::NotSupported, "events of this driver belong to their process"))
}

pub(crate) fn cuIpcOpenEventHandle(phEvent: Out<'_, CUevent>, _handle: CUipcEventHandle) -> ApiResult {
    phEvent.required("phEvent")?;
    driver()?.current()?;
    Err(DriverError::new(ErrorCode::NotSupported, "events of this driver belong to their process"))
}
