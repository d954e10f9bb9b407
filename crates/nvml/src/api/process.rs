//! Processes that use a device: those that have a context there and that this one may look into. All of them compute; none draws.

use warploom_abi::nvml::{nvmlDevice_t, nvmlProcessInfo_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t};
use warploom_monitor::{Look, ProcessUse};

use super::write_list;
use crate::border::{ApiResult, InOut, OutArray};
use crate::library::device as find;

/// An instance of a device that there is not.
const NO_INSTANCE: u32 = u32::MAX;

/// The processes that compute on a device, as one version of the list has them.
fn computing<T: Copy>(
    device: nvmlDevice_t,
    count: &InOut<'_, u32>,
    list: &OutArray<'_, T>,
    version: fn(ProcessUse) -> T,
) -> ApiResult {
    let device = find(device)?;
    let found: Vec<T> = Look::now().processes(device.number()).into_iter().map(version).collect();
    write_list(count, list, &found)
}

/// The processes that draw, or share a device through a server: none.
fn nobody<T: Copy>(device: nvmlDevice_t, count: &InOut<'_, u32>, list: &OutArray<'_, T>) -> ApiResult {
    find(device)?;
    write_list(count, list, &[])
}

fn first(found: ProcessUse) -> nvmlProcessInfo_v1_t {
    nvmlProcessInfo_v1_t { pid: found.process, usedGpuMemory: found.memory }
}

fn second(found: ProcessUse) -> nvmlProcessInfo_v2_t {
    let (gpuInstanceId, computeInstanceId) = (NO_INSTANCE, NO_INSTANCE);
    nvmlProcessInfo_v2_t { pid: found.process, usedGpuMemory: found.memory, gpuInstanceId, computeInstanceId }
}

fn third(found: ProcessUse) -> nvmlProcessInfo_t {
    let nvmlProcessInfo_v2_t { pid, usedGpuMemory, gpuInstanceId, computeInstanceId } = second(found);
    nvmlProcessInfo_t { pid, usedGpuMemory, gpuInstanceId, computeInstanceId }
}

pub(crate) fn nvmlDeviceGetComputeRunningProcesses(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v1_t>,
) -> ApiResult {
    computing(device, &infoCount, &infos, first)
}

pub(crate) fn nvmlDeviceGetGraphicsRunningProcesses(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v1_t>,
) -> ApiResult {
    nobody(device, &infoCount, &infos)
}

pub(crate) fn nvmlDeviceGetMPSComputeRunningProcesses(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v1_t>,
) -> ApiResult {
    nobody(device, &infoCount, &infos)
}

pub(crate) fn nvmlDeviceGetComputeRunningProcesses_v2(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v2_t>,
) -> ApiResult {
    computing(device, &infoCount, &infos, second)
}

pub(crate) fn nvmlDeviceGetGraphicsRunningProcesses_v2(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v2_t>,
) -> ApiResult {
    nobody(device, &infoCount, &infos)
}

pub(crate) fn nvmlDeviceGetMPSComputeRunningProcesses_v2(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v2_t>,
) -> ApiResult {
    nobody(device, &infoCount, &infos)
}

pub(crate) fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_t>,
) -> ApiResult {
    computing(device, &infoCount, &infos, third)
}

pub(crate) fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_t>,
) -> ApiResult {
    nobody(device, &infoCount, &infos)
}

pub(crate) fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_t>,
) -> ApiResult {
    nobody(device, &infoCount, &infos)
}
