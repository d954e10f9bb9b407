//! Execution context management: parts of a device, and contexts for them. An execution context is the driver's context: a device's
//! own is its primary one.
use std::collections::BTreeMap;

use parking_lot::Mutex;
use warploom_abi::runtime::*;
use warploom_abi::{CUcontext, CUdevResourceType, CUgreenCtx};

use crate::border::{DefaultStream, Out, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// The green contexts that stand behind execution contexts.
static GREEN: Mutex<BTreeMap<usize, CUgreenCtx>> = Mutex::new(BTreeMap::new());

fn green(ctx: cudaExecutionContext_t) -> Option<CUgreenCtx> {
    GREEN.lock().get(&ctx.0).copied()
}

/// The driver's context, which must be one.
fn context_of(ctx: cudaExecutionContext_t) -> ApiResult<CUcontext> {
    context::devices()?;
    if ctx == cudaExecutionContext_t::NULL {
        return Err(Failure::new(cudaError::cudaErrorInvalidResourceHandle, "ctx is NULL"));
    }
    Ok(CUcontext(ctx.0))
}

pub fn cudaDeviceGetExecutionCtx(ctx: Out<'_, cudaExecutionContext_t>, device: i32) -> ApiResult {
    let place = ctx.required("ctx")?;
    place.set(cudaExecutionContext_t(context::primary(device)?.0));
    Ok(())
}

pub fn cudaDeviceGetDevResource(
    device: i32,
    resource: Passed<'_, cudaDevResource>,
    r#type: cudaDevResourceType,
) -> ApiResult {
    let device = context::device(device)?;
    driver!(cuDeviceGetDevResource_v12040(device, resource.cast(), CUdevResourceType(r#type.0)))
}

pub fn cudaDevSmResourceSplitByCount(
    result: Passed<'_, cudaDevResource>,
    nbGroups: Passed<'_, u32>,
    input: Passed<'_, cudaDevResource>,
    remaining: Passed<'_, cudaDevResource>,
    flags: u32,
    minCount: u32,
) -> ApiResult {
    context::devices()?;
    let (parts, count, whole, rest) = (result.cast(), nbGroups.get(), input.cast(), remaining.cast());
    driver!(cuDevSmResourceSplitByCount_v12040(parts, count, whole, rest, flags, minCount))
}

pub fn cudaDevSmResourceSplit(
    result: Passed<'_, cudaDevResource>,
    nbGroups: u32,
    input: Passed<'_, cudaDevResource>,
    remainder: Passed<'_, cudaDevResource>,
    flags: u32,
    groupParams: Passed<'_, cudaDevSmResourceGroupParams>,
) -> ApiResult {
    context::devices()?;
    let (parts, whole, rest, wanted) = (result.cast(), input.cast(), remainder.cast(), groupParams.cast());
    driver!(cuDevSmResourceSplit_v13010(parts, nbGroups, whole, rest, flags, wanted))
}

pub fn cudaDevResourceGenerateDesc(
    phDesc: Passed<'_, cudaDevResourceDesc_t>,
    resources: Passed<'_, cudaDevResource>,
    nbResources: u32,
) -> ApiResult {
    context::devices()?;
    driver!(cuDevResourceGenerateDesc_v12040(phDesc.get(), resources.cast(), nbResources))
}

/// The flag that the driver wants is the only way to make one.
pub fn cudaGreenCtxCreate(
    phCtx: Out<'_, cudaExecutionContext_t>,
    desc: cudaDevResourceDesc_t,
    device: i32,
    flags: u32,
) -> ApiResult {
    let place = phCtx.required("phCtx")?;
    let device = context::device(device)?;
    if flags != 0 {
        return Err(Failure::invalid_value(format!("flags is {flags:#x}, and not 0")));
    }
    let (mut made, mut context) = (CUgreenCtx::NULL, CUcontext::NULL);
    driver!(cuGreenCtxCreate_v12040(
        &mut made,
        desc,
        device,
        warploom_abi::CUgreenCtxCreate_flags::CU_GREEN_CTX_DEFAULT_STREAM.0
    ))?;
    if let Err(failure) = driver!(cuCtxFromGreenCtx_v12040(&mut context, made)) {
        driver!(cuGreenCtxDestroy_v12040(made))?;
        return Err(failure);
    }
    GREEN.lock().insert(context.0, made);
    place.set(cudaExecutionContext_t(context.0));
    Ok(())
}

/// A device's own is not destroyed, but reset.
pub fn cudaExecutionCtxDestroy(ctx: cudaExecutionContext_t) -> ApiResult {
    context_of(ctx)?;
    let made = GREEN.lock().remove(&ctx.0).ok_or_else(|| {
        Failure::new(cudaError::cudaErrorInvalidResourceHandle, "ctx is none that cudaGreenCtxCreate made")
    })?;
    driver!(cuGreenCtxDestroy_v12040(made))
}

pub fn cudaExecutionCtxGetDevResource(
    ctx: cudaExecutionContext_t,
    resource: Passed<'_, cudaDevResource>,
    r#type: cudaDevResourceType,
) -> ApiResult {
    let context = context_of(ctx)?;
    driver!(cuCtxGetDevResource_v12040(context, resource.cast(), CUdevResourceType(r#type.0)))
}

pub fn cudaExecutionCtxGetDevice(device: Passed<'_, i32>, ctx: cudaExecutionContext_t) -> ApiResult {
    let context = context_of(ctx)?;
    driver!(cuCtxGetDevice_v13000(device.get(), context))
}

pub fn cudaExecutionCtxGetId(ctx: cudaExecutionContext_t, ctxId: Passed<'_, u64>) -> ApiResult {
    let context = context_of(ctx)?;
    driver!(cuCtxGetId_v12000(context, ctxId.get()))
}

pub fn cudaExecutionCtxStreamCreate(
    phStream: Passed<'_, cudaStream_t>,
    ctx: cudaExecutionContext_t,
    flags: u32,
    priority: i32,
) -> ApiResult {
    let context = context_of(ctx)?;
    if let Some(green) = green(ctx) {
        return driver!(cuGreenCtxStreamCreate_v12050(phStream.get(), green, flags, priority));
    }
    driver!(cuCtxPushCurrent_v4000(context))?;
    let created = driver!(cuStreamCreateWithPriority_v5050(phStream.get(), flags, priority));
    driver!(cuCtxPopCurrent_v4000(std::ptr::null_mut()))?;
    created
}

pub fn cudaExecutionCtxSynchronize(ctx: cudaExecutionContext_t) -> ApiResult {
    let context = context_of(ctx)?;
    driver!(cuCtxSynchronize_v13000(context))
}

pub fn cudaStreamGetDevResource(
    default: DefaultStream,
    hStream: cudaStream_t,
    resource: Passed<'_, cudaDevResource>,
    r#type: cudaDevResourceType,
) -> ApiResult {
    context::ensure()?;
    let stream = default.stream(hStream);
    driver!(cuStreamGetDevResource_v13010(stream, resource.cast(), CUdevResourceType(r#type.0)))
}

pub fn cudaExecutionCtxRecordEvent(ctx: cudaExecutionContext_t, event: cudaEvent_t) -> ApiResult {
    let context = context_of(ctx)?;
    driver!(cuCtxRecordEvent_v12050(context, event))
}

pub fn cudaExecutionCtxWaitEvent(ctx: cudaExecutionContext_t, event: cudaEvent_t) -> ApiResult {
    let context = context_of(ctx)?;
    driver!(cuCtxWaitEvent_v12050(context, event))
}
