//! Event management.
use warploom_abi::{CUevent, CUstream};
use warploom_driver::{DriverError, Handle};

use super::stream::named;
use crate::border::{ApiResult, DefaultStream, Out};
use crate::process::driver;

pub(crate) fn cuEventCreate(phEvent: Out<'_, CUevent>, Flags: u32) -> ApiResult {
    let place = phEvent.required("phEvent")?;
    place.set(CUevent(driver()?.create_event(Flags)?.raw()));
    Ok(())
}

pub(crate) fn cuEventRecord(default: DefaultStream, hEvent: CUevent, hStream: CUstream) -> ApiResult {
    driver()?.record_event(Handle::from_raw(hEvent.0), named(hStream, default), 0)
}

pub(crate) fn cuEventRecordWithFlags(
    default: DefaultStream,
    hEvent: CUevent,
    hStream: CUstream,
    flags: u32,
) -> ApiResult {
    driver()?.record_event(Handle::from_raw(hEvent.0), named(hStream, default), flags)
}

pub(crate) fn cuEventQuery(hEvent: CUevent) -> ApiResult {
    driver()?.query_event(Handle::from_raw(hEvent.0))
}

pub(crate) fn cuEventSynchronize(hEvent: CUevent) -> ApiResult {
    driver()?.synchronize_event(Handle::from_raw(hEvent.0))
}

/// The first ABI means the same as the second.
pub(crate) fn cuEventDestroy(hEvent: CUevent) -> ApiResult {
    cuEventDestroy_v2(hEvent)
}

pub(crate) fn cuEventDestroy_v2(hEvent: CUevent) -> ApiResult {
    driver()?.destroy_event(Handle::from_raw(hEvent.0))
}

/// The first ABI means the same as the second here: no event is recorded while the time is taken.
pub(crate) fn cuEventElapsedTime(pMilliseconds: Out<'_, f32>, hStart: CUevent, hEnd: CUevent) -> ApiResult {
    cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd)
}

/// NULL for the result is an invalid handle, as recorded.
pub(crate) fn cuEventElapsedTime_v2(pMilliseconds: Out<'_, f32>, hStart: CUevent, hEnd: CUevent) -> ApiResult {
    let place = pMilliseconds.optional().ok_or_else(|| DriverError::invalid_handle("pMilliseconds is NULL"))?;
    place.set(driver()?.elapsed_time(Handle::from_raw(hStart.0), Handle::from_raw(hEnd.0))?);
    Ok(())
}
