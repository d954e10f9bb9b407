//! Device management: the devices, the thread's choice among them, limits and settings of a device.
use std::ffi::{c_char, c_void};

use warploom_abi::runtime::*;
use warploom_abi::{
    CUasyncCallback, CUctx_flags, CUdevice, CUdevice_P2PAttribute, CUdevice_attribute, CUflushGPUDirectRDMAWritesScope,
    CUflushGPUDirectRDMAWritesTarget, CUfunc_cache, CUlimit, CUmemoryPool,
};

use crate::border::{In, InArray, InStr, Out, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// Callbacks and forked processes may ask: the answer needs no driver once it is known.
pub fn cudaGetDeviceCount(count: Out<'_, i32>) -> ApiResult {
    let place = count.required("count")?;
    place.set(context::devices()?);
    Ok(())
}

pub fn cudaGetDevice(device: Out<'_, i32>) -> ApiResult {
    let place = device.required("device")?;
    place.set(context::current_device()?);
    Ok(())
}

pub fn cudaSetDevice(device: i32) -> ApiResult {
    context::choose(device)
}

/// Which devices a thread may be given when it chooses none: the first of the list becomes this one's.
pub fn cudaSetValidDevices(device_arr: InArray<'_, i32>, len: i32) -> ApiResult {
    let count = context::devices()?;
    let len = usize::try_from(len).ok().filter(|&len| i32::try_from(len).is_ok_and(|len| len <= count));
    let len = len.ok_or_else(|| Failure::invalid_value(format!("len is not between 0 and {count}")))?;
    let list = device_arr.get(len, "device_arr")?;
    for &ordinal in &list {
        context::device(ordinal)?;
    }
    context::prefer(list.first().copied().unwrap_or(0));
    Ok(())
}

/// Initialises a device without making it the thread's.
pub fn cudaInitDevice(device: i32, deviceFlags: u32, flags: u32) -> ApiResult {
    let handle = context::device(device)?;
    // As recorded, other bits say nothing.
    if flags & cudaInitDeviceFlagsAreValid != 0 {
        set_flags(handle, deviceFlags)?;
    }
    context::primary(device).map(|_| ())
}

pub fn cudaSetDeviceFlags(flags: u32) -> ApiResult {
    let ordinal = context::current_device()?;
    set_flags(context::device(ordinal)?, flags)?;
    context::ensure()
}

/// Mapped host memory needs no flag any more.
fn set_flags(device: CUdevice, flags: u32) -> ApiResult {
    driver!(cuDevicePrimaryCtxSetFlags_v11000(device, flags & !cudaDeviceMapHost))
}

pub fn cudaGetDeviceFlags(flags: Out<'_, u32>) -> ApiResult {
    let place = flags.required("flags")?;
    let device = context::device(context::current_device()?)?;
    let (mut flags, mut active) = (0, 0);
    driver!(cuDevicePrimaryCtxGetState_v7000(device, &mut flags, &mut active))?;
    // What it asks of coredumps is the driver's alone.
    let coredumps = CUctx_flags::CU_CTX_COREDUMP_ENABLE.0 | CUctx_flags::CU_CTX_USER_COREDUMP_ENABLE.0;
    place.set(flags & !coredumps | cudaDeviceMapHost);
    Ok(())
}

pub fn cudaDeviceReset() -> ApiResult {
    context::reset()
}

pub fn cudaDeviceSynchronize() -> ApiResult {
    context::ensure()?;
    driver!(cuCtxSynchronize_v2000())
}

pub fn cudaDeviceSetLimit(limit: cudaLimit, value: usize) -> ApiResult {
    context::ensure()?;
    driver!(cuCtxSetLimit_v3010(CUlimit(limit.0), value))
}

pub fn cudaDeviceGetLimit(pValue: Out<'_, usize>, limit: cudaLimit) -> ApiResult {
    let place = pValue.required("pValue")?;
    context::ensure()?;
    let mut value = 0;
    driver!(cuCtxGetLimit_v3010(&mut value, CUlimit(limit.0)))?;
    place.set(value);
    Ok(())
}

pub fn cudaDeviceGetCacheConfig(pCacheConfig: Out<'_, cudaFuncCache>) -> ApiResult {
    let place = pCacheConfig.required("pCacheConfig")?;
    context::ensure()?;
    let mut config = CUfunc_cache::default();
    driver!(cuCtxGetCacheConfig_v3020(&mut config))?;
    place.set(cudaFuncCache(config.0));
    Ok(())
}

pub fn cudaDeviceSetCacheConfig(cacheConfig: cudaFuncCache) -> ApiResult {
    context::ensure()?;
    driver!(cuCtxSetCacheConfig_v3020(CUfunc_cache(cacheConfig.0)))
}

pub fn cudaDeviceGetStreamPriorityRange(leastPriority: Out<'_, i32>, greatestPriority: Out<'_, i32>) -> ApiResult {
    context::ensure()?;
    let (mut least, mut greatest) = (0, 0);
    driver!(cuCtxGetStreamPriorityRange_v5050(&mut least, &mut greatest))?;
    for (place, value) in [(leastPriority, least), (greatestPriority, greatest)] {
        if let Some(place) = place.optional() {
            place.set(value);
        }
    }
    Ok(())
}

pub fn cudaDeviceGetByPCIBusId(device: Out<'_, i32>, pciBusId: InStr<'_>) -> ApiResult {
    let place = device.required("device")?;
    let id = pciBusId.get("pciBusId")?;
    context::devices()?;
    let mut device = CUdevice::default();
    driver!(cuDeviceGetByPCIBusId_v4010(&mut device, id.as_ptr()))?;
    place.set(device);
    Ok(())
}

pub fn cudaDeviceGetPCIBusId(pciBusId: Passed<'_, c_char>, len: i32, device: i32) -> ApiResult {
    let device = context::device(device)?;
    driver!(cuDeviceGetPCIBusId_v4010(pciBusId.get(), len, device))
}

pub fn cudaDeviceGetAttribute(value: Out<'_, i32>, attr: cudaDeviceAttr, device: i32) -> ApiResult {
    let place = value.required("value")?;
    place.set(attribute(context::device(device)?, attr.0)?);
    Ok(())
}

/// Both APIs number the attributes alike.
pub(crate) fn attribute(device: CUdevice, attribute: u32) -> ApiResult<i32> {
    let mut value = 0;
    driver!(cuDeviceGetAttribute_v2000(&mut value, CUdevice_attribute(attribute), device))?;
    Ok(value)
}

pub fn cudaDeviceGetP2PAttribute(
    value: Out<'_, i32>,
    attr: cudaDeviceP2PAttr,
    srcDevice: i32,
    dstDevice: i32,
) -> ApiResult {
    let place = value.required("value")?;
    let (source, target) = (context::device(srcDevice)?, context::device(dstDevice)?);
    let mut value = 0;
    driver!(cuDeviceGetP2PAttribute_v8000(&mut value, CUdevice_P2PAttribute(attr.0), source, target))?;
    place.set(value);
    Ok(())
}

pub fn cudaDeviceGetTexture1DLinearMaxWidth(
    maxWidthInElements: Out<'_, usize>,
    fmtDesc: In<'_, cudaChannelFormatDesc>,
    device: i32,
) -> ApiResult {
    let place = maxWidthInElements.required("maxWidthInElements")?;
    let (format, channels) = super::array::driver_format(&fmtDesc.get("fmtDesc")?)?;
    let device = context::device(device)?;
    let mut width = 0;
    driver!(cuDeviceGetTexture1DLinearMaxWidth_v11010(&mut width, format, channels, device))?;
    place.set(width);
    Ok(())
}

pub fn cudaDeviceGetHostAtomicCapabilities(
    capabilities: Passed<'_, u32>,
    operations: Passed<'_, cudaAtomicOperation>,
    count: u32,
    device: i32,
) -> ApiResult {
    let device = context::device(device)?;
    driver!(cuDeviceGetHostAtomicCapabilities_v13000(capabilities.get(), operations.cast(), count, device))
}

pub fn cudaDeviceGetP2PAtomicCapabilities(
    capabilities: Passed<'_, u32>,
    operations: Passed<'_, cudaAtomicOperation>,
    count: u32,
    srcDevice: i32,
    dstDevice: i32,
) -> ApiResult {
    if capabilities.get().is_null() {
        return Err(Failure::invalid_value("capabilities is NULL"));
    }
    let (source, target) = (context::device(srcDevice)?, context::device(dstDevice)?);
    driver!(cuDeviceGetP2PAtomicCapabilities_v13000(capabilities.get(), operations.cast(), count, source, target))
}

/// Both APIs tell the same to callbacks.
pub fn cudaDeviceRegisterAsyncNotification(
    device: i32,
    callbackFunc: cudaAsyncCallback,
    userData: Passed<'_, c_void>,
    callback: Passed<'_, cudaAsyncCallbackHandle_t>,
) -> ApiResult {
    let (device, function) = (context::device(device)?, CUasyncCallback(callbackFunc.0));
    driver!(cuDeviceRegisterAsyncNotification_v12040(device, function, userData.get(), callback.cast()))
}

pub fn cudaDeviceUnregisterAsyncNotification(device: i32, callback: cudaAsyncCallbackHandle_t) -> ApiResult {
    let device = context::device(device)?;
    driver!(cuDeviceUnregisterAsyncNotification_v12040(device, warploom_abi::CUasyncCallbackHandle(callback.0)))
}

pub fn cudaDeviceGetNvSciSyncAttributes(nvSciSyncAttrList: Passed<'_, c_void>, device: i32, flags: i32) -> ApiResult {
    if nvSciSyncAttrList.get().is_null() {
        return Err(Failure::new(cudaError::cudaErrorInvalidResourceHandle, "nvSciSyncAttrList is NULL"));
    }
    let device = context::device(device)?;
    driver!(cuDeviceGetNvSciSyncAttributes_v10020(nvSciSyncAttrList.get(), device, flags))
}

pub fn cudaDeviceGetDefaultMemPool(memPool: Out<'_, CUmemoryPool>, device: i32) -> ApiResult {
    let place = memPool.required("memPool")?;
    let device = context::device(device)?;
    let mut pool = CUmemoryPool::NULL;
    driver!(cuDeviceGetDefaultMemPool_v11020(&mut pool, device))?;
    place.set(pool);
    Ok(())
}

pub fn cudaDeviceSetMemPool(device: i32, memPool: CUmemoryPool) -> ApiResult {
    // As recorded, the driver says what is wrong with one that there is not.
    let device = context::device(device).unwrap_or(device);
    driver!(cuDeviceSetMemPool_v11020(device, memPool))
}

pub fn cudaDeviceGetMemPool(memPool: Out<'_, CUmemoryPool>, device: i32) -> ApiResult {
    let place = memPool.required("memPool")?;
    // As for [`cudaDeviceSetMemPool`].
    let device = context::device(device).unwrap_or(device);
    let mut pool = CUmemoryPool::NULL;
    driver!(cuDeviceGetMemPool_v11020(&mut pool, device))?;
    place.set(pool);
    Ok(())
}

pub fn cudaDeviceFlushGPUDirectRDMAWrites(
    target: cudaFlushGPUDirectRDMAWritesTarget,
    scope: cudaFlushGPUDirectRDMAWritesScope,
) -> ApiResult {
    context::ensure()?;
    driver!(cuFlushGPUDirectRDMAWrites_v11030(
        CUflushGPUDirectRDMAWritesTarget(target.0),
        CUflushGPUDirectRDMAWritesScope(scope.0)
    ))
}

pub fn cudaCtxResetPersistingL2Cache() -> ApiResult {
    context::ensure()?;
    driver!(cuCtxResetPersistingL2Cache_v11000())
}

pub fn cudaIpcGetEventHandle(handle: Passed<'_, cudaIpcEventHandle_t>, event: cudaEvent_t) -> ApiResult {
    context::ensure()?;
    driver!(cuIpcGetEventHandle_v4010(handle.cast(), event))
}

pub fn cudaIpcOpenEventHandle(event: Passed<'_, cudaEvent_t>, handle: cudaIpcEventHandle_t) -> ApiResult {
    context::ensure()?;
    let handle = warploom_abi::CUipcEventHandle { reserved: handle.reserved };
    driver!(cuIpcOpenEventHandle_v4010(event.get(), handle))
}

pub fn cudaIpcGetMemHandle(handle: Passed<'_, cudaIpcMemHandle_t>, devPtr: Passed<'_, c_void>) -> ApiResult {
    context::ensure()?;
    driver!(cuIpcGetMemHandle_v4010(handle.cast(), devPtr.addr()))
}

pub fn cudaIpcOpenMemHandle(devPtr: Out<'_, *mut c_void>, handle: cudaIpcMemHandle_t, flags: u32) -> ApiResult {
    let place = devPtr.required("devPtr")?;
    context::ensure()?;
    let handle = warploom_abi::CUipcMemHandle { reserved: handle.reserved };
    let mut address = 0;
    driver!(cuIpcOpenMemHandle_v11000(&mut address, handle, flags))?;
    place.set(super::memory::pointer(address));
    Ok(())
}

pub fn cudaIpcCloseMemHandle(devPtr: Passed<'_, c_void>) -> ApiResult {
    context::ensure()?;
    driver!(cuIpcCloseMemHandle_v4010(devPtr.addr()))
}
