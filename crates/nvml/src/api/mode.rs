//! Modes of a device. None can be changed.

use warploom_abi::nvml::{nvmlComputeMode_t, nvmlDevice_t, nvmlEnableState_t, nvmlGpuVirtualizationMode_t};

use crate::border::{ApiResult, Out};
use crate::library::device as find;

fn set<T>(device: nvmlDevice_t, place: Out<'_, T>, name: &'static str, value: T) -> ApiResult {
    find(device)?;
    place.required(name)?.set(value);
    Ok(())
}

/// Any number of processes may use a device.
pub(crate) fn nvmlDeviceGetComputeMode(device: nvmlDevice_t, mode: Out<'_, nvmlComputeMode_t>) -> ApiResult {
    set(device, mode, "mode", nvmlComputeMode_t::NVML_COMPUTEMODE_DEFAULT)
}

/// There is nothing to load when a device is used first.
pub(crate) fn nvmlDeviceGetPersistenceMode(device: nvmlDevice_t, mode: Out<'_, nvmlEnableState_t>) -> ApiResult {
    set(device, mode, "mode", nvmlEnableState_t::NVML_FEATURE_ENABLED)
}

pub(crate) fn nvmlDeviceGetDisplayMode(device: nvmlDevice_t, display: Out<'_, nvmlEnableState_t>) -> ApiResult {
    set(device, display, "display", nvmlEnableState_t::NVML_FEATURE_DISABLED)
}

pub(crate) fn nvmlDeviceGetDisplayActive(device: nvmlDevice_t, isActive: Out<'_, nvmlEnableState_t>) -> ApiResult {
    set(device, isActive, "isActive", nvmlEnableState_t::NVML_FEATURE_DISABLED)
}

pub(crate) fn nvmlDeviceGetVirtualizationMode(
    device: nvmlDevice_t,
    pVirtualMode: Out<'_, nvmlGpuVirtualizationMode_t>,
) -> ApiResult {
    set(device, pVirtualMode, "pVirtualMode", nvmlGpuVirtualizationMode_t::NVML_GPU_VIRTUALIZATION_MODE_NONE)
}

/// No device is divided further.
pub(crate) fn nvmlDeviceIsMigDeviceHandle(device: nvmlDevice_t, isMigDevice: Out<'_, u32>) -> ApiResult {
    set(device, isMigDevice, "isMigDevice", 0)
}

pub(crate) fn nvmlDeviceGetMaxMigDeviceCount(device: nvmlDevice_t, count: Out<'_, u32>) -> ApiResult {
    set(device, count, "count", 0)
}
