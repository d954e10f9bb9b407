//! Memory of a device, and how much of it all processes have that this one may look into.

use warploom_abi::nvml::{nvmlDevice_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlPageRetirementCause_t, nvmlReturn_t};
use warploom_monitor::Look;

use super::version_of;
use crate::border::{ApiResult, Failure, InOut, Out, OutArray};
use crate::library::{Found, device as find};

pub(crate) fn nvmlDeviceGetMemoryInfo(device: nvmlDevice_t, memory: Out<'_, nvmlMemory_t>) -> ApiResult {
    let device = find(device)?;
    let place = memory.required("memory")?;
    let (total, used) = (device.total_memory(), used(&device));
    place.set(nvmlMemory_t { total, free: total.saturating_sub(used), used });
    Ok(())
}

/// Nothing is reserved.
pub(crate) fn nvmlDeviceGetMemoryInfo_v2(device: nvmlDevice_t, memory: InOut<'_, nvmlMemory_v2_t>) -> ApiResult {
    let device = find(device)?;
    let version = memory.get("memory")?.version;
    if version != version_of::<nvmlMemory_v2_t>(2) {
        // As recorded; other functions say that the version is wrong.
        let reason = format!("the structure says version {version:#x}, which this function does not know");
        return Err(Failure::new(nvmlReturn_t::NVML_ERROR_FUNCTION_NOT_FOUND, reason));
    }
    let (total, used) = (device.total_memory(), used(&device));
    memory.set(nvmlMemory_v2_t { version, total, reserved: 0, free: total.saturating_sub(used), used });
    Ok(())
}

/// What processes use of it. Those with other settings may have more than it is here.
fn used(device: &Found) -> u64 {
    Look::now().used(device.number()).min(device.total_memory())
}

/// No page of it is retired. A caller who only asks how many there are may have no list.
fn retired(device: nvmlDevice_t, count: &InOut<'_, u32>) -> ApiResult {
    find(device)?;
    count.get("pageCount")?;
    Err(Failure::not_supported("the memory is the host's, which looks after its pages itself"))
}

pub(crate) fn nvmlDeviceGetRetiredPages(
    device: nvmlDevice_t,
    _cause: nvmlPageRetirementCause_t,
    pageCount: InOut<'_, u32>,
    _addresses: OutArray<'_, u64>,
) -> ApiResult {
    retired(device, &pageCount)
}

pub(crate) fn nvmlDeviceGetRetiredPages_v2(
    device: nvmlDevice_t,
    _cause: nvmlPageRetirementCause_t,
    pageCount: InOut<'_, u32>,
    _addresses: OutArray<'_, u64>,
    _timestamps: OutArray<'_, u64>,
) -> ApiResult {
    retired(device, &pageCount)
}
