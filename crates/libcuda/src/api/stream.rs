//! Stream management.
use warploom_abi::{
    CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, CUcontext, CUdevice, CUdeviceptr, CUevent, CUgreenCtx, CUmemAttach_flags,
    CUresult, CUstream, CUstreamAttrID, CUstreamAttrValue, CUstreamCallback,
};
use warploom_driver::stream::{StreamFacts, StreamName};
use warploom_driver::{DriverError, ErrorCode, Handle};

use super::green_context::green_of;
use crate::border::{ApiResult, DefaultStream, HostAddress, In, Out, callback, members, no_flags};
use crate::process::driver;

/// The stream that a handle means: 0 is the default stream that the symbol was called for.
#[inline]
pub(super) fn named(stream: CUstream, default: DefaultStream) -> StreamName {
    match (stream, default) {
        (CUstream::NULL, DefaultStream::Legacy) | (CU_STREAM_LEGACY, _) => StreamName::Legacy,
        (CUstream::NULL, DefaultStream::PerThread) | (CU_STREAM_PER_THREAD, _) => StreamName::PerThread,
        (stream, _) => StreamName::Created(Handle::from_raw(stream.0)),
    }
}

/// The default stream, for functions without a stream argument.
#[inline]
pub(super) fn default_stream(default: DefaultStream) -> StreamName {
    named(CUstream::NULL, default)
}

pub(crate) fn cuStreamCreate(phStream: Out<'_, CUstream>, Flags: u32) -> ApiResult {
    let place = phStream.required("phStream")?;
    place.set(CUstream(driver()?.create_stream(Flags, 0)?.raw()));
    Ok(())
}

pub(crate) fn cuStreamCreateWithPriority(phStream: Out<'_, CUstream>, flags: u32, priority: i32) -> ApiResult {
    let place = phStream.required("phStream")?;
    place.set(CUstream(driver()?.create_stream(flags, priority)?.raw()));
    Ok(())
}

/// What can be asked of a stream whose capture has not failed.
fn asked(stream: StreamName) -> Result<StreamFacts, DriverError> {
    let driver = driver()?;
    driver.refuse_failed_capture(stream)?;
    driver.stream_facts(stream)
}

pub(crate) fn cuStreamGetPriority(default: DefaultStream, hStream: CUstream, priority: Out<'_, i32>) -> ApiResult {
    let place = priority.required("priority")?;
    place.set(asked(named(hStream, default))?.priority);
    Ok(())
}

pub(crate) fn cuStreamGetDevice(default: DefaultStream, hStream: CUstream, device: Out<'_, CUdevice>) -> ApiResult {
    let place = device.required("device")?;
    let facts = driver()?.stream_facts(named(hStream, default))?;
    place.set(i32::try_from(facts.ordinal).unwrap_or(i32::MAX));
    Ok(())
}

pub(crate) fn cuStreamGetFlags(default: DefaultStream, hStream: CUstream, flags: Out<'_, u32>) -> ApiResult {
    let place = flags.required("flags")?;
    place.set(driver()?.stream_facts(named(hStream, default))?.flags);
    Ok(())
}

pub(crate) fn cuStreamGetId(default: DefaultStream, hStream: CUstream, streamId: Out<'_, u64>) -> ApiResult {
    let place = streamId.required("streamId")?;
    place.set(driver()?.stream_facts(named(hStream, default))?.id);
    Ok(())
}

pub(crate) fn cuStreamGetCtx(default: DefaultStream, hStream: CUstream, pctx: Out<'_, CUcontext>) -> ApiResult {
    let place = pctx.required("pctx")?;
    place.set(CUcontext(asked(named(hStream, default))?.context.raw()));
    Ok(())
}

/// Of a stream of a green context the one that this is of.
pub(crate) fn cuStreamGetCtx_v2(
    default: DefaultStream,
    hStream: CUstream,
    pCtx: Out<'_, CUcontext>,
    pGreenCtx: Out<'_, CUgreenCtx>,
) -> ApiResult {
    let (context, green) = (pCtx.required("pCtx")?, pGreenCtx.required("pGreenCtx")?);
    let facts = asked(named(hStream, default))?;
    context.set(CUcontext(facts.whole.raw()));
    green.set(green_of(&facts));
    Ok(())
}

pub(crate) fn cuStreamWaitEvent(default: DefaultStream, hStream: CUstream, hEvent: CUevent, Flags: u32) -> ApiResult {
    driver()?.wait_event(named(hStream, default), Handle::from_raw(hEvent.0), Flags)
}

pub(crate) fn cuStreamAddCallback(
    default: DefaultStream,
    hStream: CUstream,
    callback: CUstreamCallback,
    userData: HostAddress,
    flags: u32,
) -> ApiResult {
    no_flags(u64::from(flags))?;
    if callback == CUstreamCallback::default() {
        return Err(DriverError::invalid_value("callback is NULL"));
    }
    let callback = callback::stream_callback(callback, hStream, userData);
    let status = |error: Option<ErrorCode>| CUresult(error.map_or(0, ErrorCode::value));
    driver()?.call_back(named(hStream, default), Box::new(move |error| callback(status(error))))
}

pub(crate) fn cuStreamQuery(default: DefaultStream, hStream: CUstream) -> ApiResult {
    driver()?.query_stream(named(hStream, default))
}

pub(crate) fn cuStreamSynchronize(default: DefaultStream, hStream: CUstream) -> ApiResult {
    driver()?.synchronize_stream(named(hStream, default))
}

/// The first ABI means the same as the second.
pub(crate) fn cuStreamDestroy(hStream: CUstream) -> ApiResult {
    cuStreamDestroy_v2(hStream)
}

pub(crate) fn cuStreamDestroy_v2(hStream: CUstream) -> ApiResult {
    driver()?.destroy_stream(named(hStream, DefaultStream::Legacy))
}

/// Managed memory belongs to all streams at any time on a CPU: only the arguments are looked at.
pub(crate) fn cuStreamAttachMemAsync(
    default: DefaultStream,
    hStream: CUstream,
    dptr: CUdeviceptr,
    length: usize,
    flags: u32,
) -> ApiResult {
    let driver = driver()?;
    driver.stream_facts(named(hStream, default))?;
    driver.refuse_unsafe_in_capture()?;
    if hStream == CUstream::NULL && flags == CUmemAttach_flags::CU_MEM_ATTACH_SINGLE.0 {
        return Err(DriverError::invalid_value("nothing is attached to the default stream alone"));
    }
    driver.attach_managed(dptr, length as u64, flags)
}

pub(crate) fn cuStreamCopyAttributes(default: DefaultStream, dstStream: CUstream, srcStream: CUstream) -> ApiResult {
    driver()?.copy_stream_attributes(named(dstStream, default), named(srcStream, default))
}

pub(crate) fn cuStreamGetAttribute(
    default: DefaultStream,
    hStream: CUstream,
    attr: CUstreamAttrID,
    value: Out<'_, CUstreamAttrValue>,
) -> ApiResult {
    let place = value.required("value")?;
    let bytes_of_union = driver()?.stream_attribute(named(hStream, default), attr.0)?;
    place.set(CUstreamAttrValue { bytes_of_union });
    Ok(())
}

pub(crate) fn cuStreamSetAttribute(
    default: DefaultStream,
    hStream: CUstream,
    attr: CUstreamAttrID,
    param: In<'_, CUstreamAttrValue>,
) -> ApiResult {
    let value = members::attribute_value(&param.get("value")?);
    driver()?.set_stream_attribute(named(hStream, default), attr.0, value)
}
