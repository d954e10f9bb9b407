//! Clocks and performance states. Power, temperature and fans are the machine's, and nobody's who uses a device: they are not supported.

use warploom_abi::nvml::{nvmlClockId_t, nvmlClockType_t, nvmlDevice_t, nvmlPstates_t};

use crate::border::{ApiResult, Failure, Out};
use crate::library::device as find;

/// The processor's clock, as far as the host says; it has no memory or video clock of its own.
pub(crate) fn nvmlDeviceGetClockInfo(device: nvmlDevice_t, r#type: nvmlClockType_t, clock: Out<'_, u32>) -> ApiResult {
    let device = find(device)?;
    let place = clock.required("clock")?;
    match r#type {
        nvmlClockType_t::NVML_CLOCK_GRAPHICS | nvmlClockType_t::NVML_CLOCK_SM => place.set(device.clock()),
        _ => return Err(Failure::not_supported(format!("a CPU has no {:?}", r#type))),
    }
    Ok(())
}

pub(crate) fn nvmlDeviceGetMaxClockInfo(
    device: nvmlDevice_t,
    r#type: nvmlClockType_t,
    clock: Out<'_, u32>,
) -> ApiResult {
    nvmlDeviceGetClockInfo(device, r#type, clock)
}

pub(crate) fn nvmlDeviceGetClock(
    device: nvmlDevice_t,
    clockType: nvmlClockType_t,
    clockId: nvmlClockId_t,
    clockMHz: Out<'_, u32>,
) -> ApiResult {
    match clockId {
        nvmlClockId_t::NVML_CLOCK_ID_CURRENT => nvmlDeviceGetClockInfo(device, clockType, clockMHz),
        nvmlClockId_t(0..4) => {
            find(device)?;
            Err(Failure::not_supported("clocks cannot be set"))
        }
        _ => Err(Failure::invalid_argument(format!("{clockId:?} is no kind of clock"))),
    }
}

/// The state of most performance: a device has no other.
pub(crate) fn nvmlDeviceGetPerformanceState(device: nvmlDevice_t, pState: Out<'_, nvmlPstates_t>) -> ApiResult {
    find(device)?;
    pState.required("pState")?.set(nvmlPstates_t::NVML_PSTATE_0);
    Ok(())
}

pub(crate) fn nvmlDeviceGetPowerState(device: nvmlDevice_t, pState: Out<'_, nvmlPstates_t>) -> ApiResult {
    nvmlDeviceGetPerformanceState(device, pState)
}

/// Nothing that slows a device down is known.
pub(crate) fn nvmlDeviceGetCurrentClocksEventReasons(
    device: nvmlDevice_t,
    clocksEventReasons: Out<'_, u64>,
) -> ApiResult {
    find(device)?;
    clocksEventReasons.required("clocksEventReasons")?.set(0);
    Ok(())
}

pub(crate) fn nvmlDeviceGetCurrentClocksThrottleReasons(
    device: nvmlDevice_t,
    clocksThrottleReasons: Out<'_, u64>,
) -> ApiResult {
    nvmlDeviceGetCurrentClocksEventReasons(device, clocksThrottleReasons)
}

pub(crate) fn nvmlDeviceGetSupportedClocksEventReasons(
    device: nvmlDevice_t,
    supportedClocksEventReasons: Out<'_, u64>,
) -> ApiResult {
    nvmlDeviceGetCurrentClocksEventReasons(device, supportedClocksEventReasons)
}

pub(crate) fn nvmlDeviceGetSupportedClocksThrottleReasons(
    device: nvmlDevice_t,
    supportedClocksThrottleReasons: Out<'_, u64>,
) -> ApiResult {
    nvmlDeviceGetCurrentClocksEventReasons(device, supportedClocksThrottleReasons)
}
