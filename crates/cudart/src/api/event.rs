//! Event management.
use warploom_abi::runtime::*;
use warploom_abi::{CUevent, CUstream};

use crate::border::{DefaultStream, Out};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

pub fn cudaEventCreate(event: Out<'_, CUevent>) -> ApiResult {
    cudaEventCreateWithFlags(event, cudaEventDefault)
}

pub fn cudaEventCreateWithFlags(event: Out<'_, CUevent>, flags: u32) -> ApiResult {
    let place = event.required("event")?;
    context::ensure()?;
    let mut event = CUevent::NULL;
    driver!(cuEventCreate_v2000(&mut event, flags))?;
    place.set(event);
    Ok(())
}

/// NULL is no event.
fn there(event: CUevent) -> ApiResult<CUevent> {
    context::ensure()?;
    if event == CUevent::NULL {
        return Err(Failure::new(cudaError::cudaErrorInvalidResourceHandle, "the event is NULL"));
    }
    Ok(event)
}

pub fn cudaEventRecord(default: DefaultStream, event: CUevent, stream: CUstream) -> ApiResult {
    driver!(cuEventRecord_v2000(there(event)?, default.stream(stream)))
}

pub fn cudaEventRecordWithFlags(default: DefaultStream, event: CUevent, stream: CUstream, flags: u32) -> ApiResult {
    driver!(cuEventRecordWithFlags_v11010(there(event)?, default.stream(stream), flags))
}

pub fn cudaEventQuery(event: CUevent) -> ApiResult {
    driver!(cuEventQuery_v2000(there(event)?))
}

pub fn cudaEventSynchronize(event: CUevent) -> ApiResult {
    driver!(cuEventSynchronize_v2000(there(event)?))
}

pub fn cudaEventDestroy(event: CUevent) -> ApiResult {
    driver!(cuEventDestroy_v4000(there(event)?))
}

pub fn cudaEventElapsedTime(ms: Out<'_, f32>, start: CUevent, end: CUevent) -> ApiResult {
    let place = ms.required("ms")?;
    let mut time = 0.0;
    driver!(cuEventElapsedTime_v2000(&mut time, there(start)?, there(end)?))?;
    place.set(time);
    Ok(())
}

pub fn cudaEventElapsedTime_v2(ms: Out<'_, f32>, start: CUevent, end: CUevent) -> ApiResult {
    let place = ms.required("ms")?;
    let mut time = 0.0;
    driver!(cuEventElapsedTime_v12080(&mut time, there(start)?, there(end)?))?;
    place.set(time);
    Ok(())
}
