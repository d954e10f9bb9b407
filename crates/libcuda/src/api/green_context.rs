//! Green contexts: parts of a device's multiprocessors, contexts for them, and their streams.
use warploom_abi::{
    CU_DEV_SM_RESOURCE_GROUP_PARAMS, CUcontext, CUdevResource, CUdevResource_v1_anonymous0, CUdevResourceDesc,
    CUdevResourceType, CUdevSmResource, CUdevice, CUevent, CUgreenCtx, CUstream,
};
use warploom_driver::green::{Group, Part};
use warploom_driver::stream::StreamFacts;
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::stream::named;
use crate::border::{ApiResult, DefaultStream, In, InArray, InOut, InOutArray, Out, OutArray, no_flags};
use crate::process::driver;

fn handle(green: CUgreenCtx) -> Handle {
    Handle::from_raw(green.0)
}

/// Only multiprocessors are divided: the queue of work is one for all.
fn check_type(wanted: CUdevResourceType) -> DriverResult {
    if wanted != CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM {
        let reason = format!("{wanted:?}: only multiprocessors are resources here");
        return Err(DriverError::new(ErrorCode::InvalidResourceType, reason));
    }
    Ok(())
}

fn resource(part: &Part, flags: u32) -> CUdevResource {
    CUdevResource {
        r#type: CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM,
        _internal_padding: part.to_bytes(),
        anonymous0: CUdevResource_v1_anonymous0 {
            sm: CUdevSmResource {
                smCount: part.count(),
                minSmPartitionSize: 1,
                smCoscheduledAlignment: 1,
                flags,
                localityDomainId: 0,
            },
        },
        nextResource: std::ptr::null_mut(),
    }
}

/// What is left of a split; a resource of no type if nothing is.
fn rest(part: Option<&Part>) -> CUdevResource {
    part.map_or_else(CUdevResource::default, |part| resource(part, 0))
}

fn part_of(resource: &CUdevResource) -> DriverResult<Part> {
    check_type(resource.r#type)?;
    Part::from_bytes(&resource._internal_padding)
}

pub(crate) fn cuDeviceGetDevResource(
    device: CUdevice,
    resource: Out<'_, CUdevResource>,
    r#type: CUdevResourceType,
) -> ApiResult {
    let driver = driver()?;
    let place = resource.required("resource")?;
    let part = driver.device_part(device)?;
    check_type(r#type)?;
    place.set(self::resource(&part, 0));
    Ok(())
}

pub(crate) fn cuCtxGetDevResource(
    hCtx: CUcontext,
    resource: Out<'_, CUdevResource>,
    r#type: CUdevResourceType,
) -> ApiResult {
    let place = resource.required("resource")?;
    check_type(r#type)?;
    if hCtx == CUcontext::NULL {
        return Err(DriverError::new(ErrorCode::InvalidContext, "hCtx is NULL"));
    }
    let driver = driver()?;
    let part = driver.context_part(&driver.context_ref(Handle::from_raw(hCtx.0))?)?;
    place.set(self::resource(&part, 0));
    Ok(())
}

pub(crate) fn cuGreenCtxGetDevResource(
    hCtx: CUgreenCtx,
    resource: Out<'_, CUdevResource>,
    r#type: CUdevResourceType,
) -> ApiResult {
    let place = resource.required("resource")?;
    check_type(r#type)?;
    let part = *driver()?.green_context(handle(hCtx))?.part();
    place.set(self::resource(&part, 0));
    Ok(())
}

pub(crate) fn cuStreamGetDevResource(
    default: DefaultStream,
    hStream: CUstream,
    resource: Out<'_, CUdevResource>,
    r#type: CUdevResourceType,
) -> ApiResult {
    let place = resource.required("resource")?;
    check_type(r#type)?;
    let part = driver()?.stream_part(named(hStream, default))?;
    place.set(self::resource(&part, 0));
    Ok(())
}

pub(crate) fn cuDevSmResourceSplitByCount(
    result: OutArray<'_, CUdevResource>,
    nbGroups: InOut<'_, u32>,
    input: In<'_, CUdevResource>,
    remainder: Out<'_, CUdevResource>,
    flags: u32,
    minCount: u32,
) -> ApiResult {
    let driver = driver()?;
    let count = nbGroups.get("nbGroups")?;
    let given = input.get("input")?;
    // Without a list only their number is asked.
    let most = if result.is_null() { u32::MAX } else { count };
    if most == 0 {
        return Err(DriverError::invalid_value("nbGroups is 0"));
    }
    let whole = part_of(&given)?;
    let (groups, left) = whole.split_by_count(driver.next_split(), most, flags, minCount)?;
    if !result.is_null() {
        for (index, part) in groups.iter().enumerate() {
            result.set(index, resource(part, 0));
        }
    }
    nbGroups.set(u32::try_from(groups.len()).unwrap_or(u32::MAX));
    if let Some(place) = remainder.optional() {
        place.set(rest(left.as_ref()));
    }
    Ok(())
}

pub(crate) fn cuDevSmResourceSplit(
    result: OutArray<'_, CUdevResource>,
    nbGroups: u32,
    input: In<'_, CUdevResource>,
    remainder: Out<'_, CUdevResource>,
    flags: u32,
    groupParams: InOutArray<'_, CU_DEV_SM_RESOURCE_GROUP_PARAMS>,
) -> ApiResult {
    let driver = driver()?;
    let given = groupParams.get(nbGroups as usize, "groupParams")?;
    let whole = part_of(&input.get("input")?)?;
    no_flags(u64::from(flags))?;
    if given.is_empty() {
        return Err(DriverError::invalid_value("nbGroups is 0"));
    }
    let wanted = |group: &CU_DEV_SM_RESOURCE_GROUP_PARAMS| Group {
        count: group.smCount,
        together: group.coscheduledSmCount,
        flags: group.flags,
    };
    let wanted = given.iter().map(wanted).collect::<Vec<_>>();
    let (found, left) = whole.split(driver.next_split(), &wanted, !result.is_null())?;
    for (index, ((group, part), given)) in found.iter().zip(given).enumerate() {
        groupParams.set(index, CU_DEV_SM_RESOURCE_GROUP_PARAMS { smCount: group.count, ..given });
        if let Some(part) = part {
            result.set(index, resource(part, group.flags));
        }
    }
    if let Some(place) = remainder.optional() {
        place.set(rest(left.as_ref()));
    }
    Ok(())
}

pub(crate) fn cuDevResourceGenerateDesc(
    phDesc: Out<'_, CUdevResourceDesc>,
    resources: InArray<'_, CUdevResource>,
    nbResources: u32,
) -> ApiResult {
    let place = phDesc.required("phDesc")?;
    let given = resources.get(nbResources as usize, "resources")?;
    let parts = given.iter().map(part_of).collect::<DriverResult<Vec<_>>>()?;
    place.set(CUdevResourceDesc(driver()?.describe(&parts)?.raw()));
    Ok(())
}

pub(crate) fn cuGreenCtxCreate(
    phCtx: Out<'_, CUgreenCtx>,
    desc: CUdevResourceDesc,
    dev: CUdevice,
    flags: u32,
) -> ApiResult {
    let driver = driver()?;
    let place = phCtx.required("phCtx")?;
    place.set(CUgreenCtx(driver.create_green_context(Handle::from_raw(desc.0), dev, flags)?.raw()));
    Ok(())
}

pub(crate) fn cuGreenCtxDestroy(hCtx: CUgreenCtx) -> ApiResult {
    driver()?.destroy_green_context(handle(hCtx))
}

/// The handle is that of a context already.
pub(crate) fn cuCtxFromGreenCtx(pContext: Out<'_, CUcontext>, hCtx: CUgreenCtx) -> ApiResult {
    let place = pContext.required("pContext")?;
    place.set(CUcontext(driver()?.green_context(handle(hCtx))?.handle().raw()));
    Ok(())
}

pub(crate) fn cuGreenCtxRecordEvent(hCtx: CUgreenCtx, hEvent: CUevent) -> ApiResult {
    let driver = driver()?;
    let green = driver.green_context(handle(hCtx))?.handle();
    driver.record_context(green, Handle::from_raw(hEvent.0))
}

pub(crate) fn cuGreenCtxWaitEvent(hCtx: CUgreenCtx, hEvent: CUevent) -> ApiResult {
    let driver = driver()?;
    let green = driver.green_context(handle(hCtx))?.handle();
    driver.wait_context(green, Handle::from_raw(hEvent.0))
}

pub(crate) fn cuStreamGetGreenCtx(hStream: CUstream, phCtx: Out<'_, CUgreenCtx>) -> ApiResult {
    let place = phCtx.required("phCtx")?;
    place.set(green_of(&driver()?.stream_facts(named(hStream, DefaultStream::Legacy))?));
    Ok(())
}

/// The green context of a stream; NULL without one.
pub(super) fn green_of(stream: &StreamFacts) -> CUgreenCtx {
    if stream.context == stream.whole { CUgreenCtx::NULL } else { CUgreenCtx(stream.context.raw()) }
}

pub(crate) fn cuGreenCtxStreamCreate(
    phStream: Out<'_, CUstream>,
    greenCtx: CUgreenCtx,
    flags: u32,
    priority: i32,
) -> ApiResult {
    let place = phStream.required("phStream")?;
    place.set(CUstream(driver()?.create_green_stream(handle(greenCtx), flags, priority)?.raw()));
    Ok(())
}

pub(crate) fn cuGreenCtxGetId(greenCtx: CUgreenCtx, greenCtxId: Out<'_, u64>) -> ApiResult {
    let place = greenCtxId.required("greenCtxId")?;
    place.set(driver()?.green_context_or_current(handle(greenCtx))?.id());
    Ok(())
}
