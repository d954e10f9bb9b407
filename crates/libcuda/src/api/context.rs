//! Context management.
use warploom_abi::{
    CUcontext, CUctxCreateParams, CUdevice, CUevent, CUexecAffinityParam, CUexecAffinityParam_v1_param,
    CUexecAffinitySmCount, CUexecAffinityType, CUfunc_cache, CUlimit,
};
use warploom_driver::context::Limit;
use warploom_driver::device::attribute;
use warploom_driver::stream::PRIORITIES;
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use crate::border::{ApiResult, In, InArray, Out};
use crate::process::driver;

fn handle(context: CUcontext) -> Handle {
    Handle::from_raw(context.0)
}

fn create(pctx: Out<'_, CUcontext>, flags: u32, dev: CUdevice) -> ApiResult {
    let place = pctx.required("pctx")?;
    place.set(CUcontext(driver()?.create_context(flags, dev)?.handle().raw()));
    Ok(())
}

/// Contexts of the first ABI have 32-bit pointers, which a process of 64 bits cannot give them.
pub(crate) fn cuCtxCreate(pctx: Out<'_, CUcontext>, _flags: u32, dev: CUdevice) -> ApiResult {
    pctx.required("pctx")?;
    driver()?.device(dev)?;
    Err(DriverError::new(ErrorCode::OutOfMemory, "a context of the first ABI has no memory in a 64-bit process"))
}

pub(crate) fn cuCtxCreate_v2(pctx: Out<'_, CUcontext>, flags: u32, dev: CUdevice) -> ApiResult {
    create(pctx, flags, dev)
}

/// Without affinities it is the second ABI; the devices have none (`cuDeviceGetExecAffinitySupport`).
pub(crate) fn cuCtxCreate_v3(
    pctx: Out<'_, CUcontext>,
    paramsArray: InArray<'_, CUexecAffinityParam>,
    numParams: i32,
    flags: u32,
    dev: CUdevice,
) -> ApiResult {
    refuse_affinities(!paramsArray.is_null(), numParams)?;
    create(pctx, flags, dev)
}

pub(crate) fn cuCtxCreate_v4(
    pctx: Out<'_, CUcontext>,
    ctxCreateParams: In<'_, CUctxCreateParams>,
    flags: u32,
    dev: CUdevice,
) -> ApiResult {
    if let Some(parameters) = ctxCreateParams.optional() {
        refuse_affinities(!parameters.execAffinityParams.is_null(), parameters.numExecAffinityParams)?;
        if !parameters.cigParams.is_null() {
            let reason = "the device does not share its work with a graphics API";
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
    }
    create(pctx, flags, dev)
}

/// A list without elements is none, wherever it is: recorded on hardware.
fn refuse_affinities(given: bool, count: i32) -> DriverResult {
    if count <= 0 {
        return Ok(());
    }
    if !given {
        return Err(DriverError::invalid_value(format!("{count} affinities at NULL")));
    }
    let reason = "the device does not limit a context to some of its multiprocessors";
    Err(DriverError::new(ErrorCode::UnsupportedExecAffinity, reason))
}

/// The handle goes at once, whatever its usage count.
fn destroy(ctx: CUcontext) -> ApiResult {
    driver()?.destroy_context(handle(ctx))
}

pub(crate) fn cuCtxDestroy(ctx: CUcontext) -> ApiResult {
    destroy(ctx)
}

pub(crate) fn cuCtxDestroy_v2(ctx: CUcontext) -> ApiResult {
    destroy(ctx)
}

/// NULL is a wrong value, any other handle of no context is no context, as recorded.
fn push(ctx: CUcontext) -> ApiResult {
    if ctx == CUcontext::NULL {
        return Err(DriverError::invalid_value("ctx is NULL"));
    }
    driver()?.push_current(handle(ctx))
}

/// In the first ABI a context is attached to one thread at a time: it takes none that is current already, as recorded.
pub(crate) fn cuCtxPushCurrent(ctx: CUcontext) -> ApiResult {
    if ctx != CUcontext::NULL && driver()?.current_handle() == handle(ctx) {
        return Err(DriverError::new(
            ErrorCode::InvalidContext,
            "the context is current to the calling thread already",
        ));
    }
    push(ctx)
}

pub(crate) fn cuCtxPushCurrent_v2(ctx: CUcontext) -> ApiResult {
    push(ctx)
}

fn pop(pctx: Out<'_, CUcontext>) -> ApiResult {
    let popped = driver()?.pop_current()?;
    if let Some(place) = pctx.optional() {
        place.set(CUcontext(popped.raw()));
    }
    Ok(())
}

pub(crate) fn cuCtxPopCurrent(pctx: Out<'_, CUcontext>) -> ApiResult {
    pop(pctx)
}

pub(crate) fn cuCtxPopCurrent_v2(pctx: Out<'_, CUcontext>) -> ApiResult {
    pop(pctx)
}

pub(crate) fn cuCtxSetCurrent(ctx: CUcontext) -> ApiResult {
    driver()?.set_current(handle(ctx))
}

pub(crate) fn cuCtxGetCurrent(pctx: Out<'_, CUcontext>) -> ApiResult {
    let place = pctx.required("pctx")?;
    place.set(CUcontext(driver()?.current_handle().raw()));
    Ok(())
}

pub(crate) fn cuCtxGetDevice(device: Out<'_, CUdevice>) -> ApiResult {
    cuCtxGetDevice_v2(device, CUcontext::NULL)
}

pub(crate) fn cuCtxGetDevice_v2(device: Out<'_, CUdevice>, ctx: CUcontext) -> ApiResult {
    let place = device.required("device")?;
    let ordinal = driver()?.context_or_current(handle(ctx))?.ordinal();
    place.set(i32::try_from(ordinal).unwrap_or(i32::MAX));
    Ok(())
}

pub(crate) fn cuCtxGetFlags(flags: Out<'_, u32>) -> ApiResult {
    let place = flags.required("flags")?;
    place.set(driver()?.current()?.flags());
    Ok(())
}

pub(crate) fn cuCtxSetFlags(flags: u32) -> ApiResult {
    driver()?.current()?.set_flags(flags)
}

pub(crate) fn cuCtxGetId(ctx: CUcontext, ctxId: Out<'_, u64>) -> ApiResult {
    let place = ctxId.required("ctxId")?;
    place.set(driver()?.context_ref(handle(ctx))?.id());
    Ok(())
}

pub(crate) fn cuCtxSetLimit(limit: CUlimit, value: usize) -> ApiResult {
    let context = driver()?.current()?;
    let limit = Limit::from_number(limit.0)?;
    context.set_limit(limit, value as u64)
}

pub(crate) fn cuCtxGetLimit(pvalue: Out<'_, usize>, limit: CUlimit) -> ApiResult {
    let place = pvalue.required("pvalue")?;
    let context = driver()?.current()?;
    let value = context.limit(Limit::from_number(limit.0)?);
    place.set(usize::try_from(value).unwrap_or(usize::MAX));
    Ok(())
}

pub(crate) fn cuCtxGetCacheConfig(pconfig: Out<'_, CUfunc_cache>) -> ApiResult {
    let place = pconfig.required("pconfig")?;
    place.set(CUfunc_cache(driver()?.current()?.cache_config()));
    Ok(())
}

pub(crate) fn cuCtxSetCacheConfig(config: CUfunc_cache) -> ApiResult {
    driver()?.current()?.set_cache_config(config.0)
}

pub(crate) fn cuCtxGetApiVersion(ctx: CUcontext, version: Out<'_, u32>) -> ApiResult {
    let place = version.required("version")?;
    place.set(driver()?.context_or_current(handle(ctx))?.api_version());
    Ok(())
}

pub(crate) fn cuCtxGetStreamPriorityRange(leastPriority: Out<'_, i32>, greatestPriority: Out<'_, i32>) -> ApiResult {
    driver()?.current()?;
    for (place, priority) in [(leastPriority, PRIORITIES.0), (greatestPriority, PRIORITIES.1)] {
        if let Some(place) = place.optional() {
            place.set(priority);
        }
    }
    Ok(())
}

/// There is no such cache, so nothing in it persists.
pub(crate) fn cuCtxResetPersistingL2Cache() -> ApiResult {
    driver()?.current()?;
    Ok(())
}

/// A context without an affinity has all multiprocessors. What a green one has are its resources: it is no answer here, as recorded.
pub(crate) fn cuCtxGetExecAffinity(
    pExecAffinity: Out<'_, CUexecAffinityParam>,
    affinityType: CUexecAffinityType,
) -> ApiResult {
    let place = pExecAffinity.required("pExecAffinity")?;
    let context = driver()?.current()?;
    if driver()?.current_ref()?.green().is_some() {
        return Err(DriverError::new(ErrorCode::InvalidContext, "a green context has resources, and no affinity"));
    }
    if affinityType != CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT {
        return Err(DriverError::new(
            ErrorCode::UnsupportedExecAffinity,
            format!("{affinityType:?} is no affinity of this device"),
        ));
    }
    let device = driver()?.device(i32::try_from(context.ordinal()).unwrap_or(i32::MAX))?;
    let count = device.attribute(attribute::MULTIPROCESSOR_COUNT).and_then(|count| u32::try_from(count).ok());
    let smCount = CUexecAffinitySmCount { val: count.unwrap_or(0) };
    place.set(CUexecAffinityParam { r#type: affinityType, param: CUexecAffinityParam_v1_param { smCount } });
    Ok(())
}

pub(crate) fn cuCtxSynchronize() -> ApiResult {
    let driver = driver()?;
    driver.synchronize(&driver.current_place()?)
}

pub(crate) fn cuCtxSynchronize_v2(ctx: CUcontext) -> ApiResult {
    let driver = driver()?;
    driver.synchronize(&driver.context_ref(handle(ctx))?)
}

pub(crate) fn cuCtxRecordEvent(hCtx: CUcontext, hEvent: CUevent) -> ApiResult {
    driver()?.record_context(handle(hCtx), Handle::from_raw(hEvent.0))
}

pub(crate) fn cuCtxWaitEvent(hCtx: CUcontext, hEvent: CUevent) -> ApiResult {
    driver()?.wait_context(handle(hCtx), Handle::from_raw(hEvent.0))
}
