//! Processes that use a device: those that have a context there and that this one may look into. All of them compute; none draws.

use warploom_abi::nvml::{nvmlDevice_t, nvmlProcessInfo_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t};
use warploom_monitor::{Look, ProcessUse};

use super::write_list;
use crate::border::{ApiResult, InOut, OutArray};
use crate::library::device as find;

/// An instance of a device that there is not.
const NO_INSTANCE: u32 = u32::MAX;

fn processes(device: nvmlDevice_t) -> ApiResult<Vec<ProcessUse>> {
    let device = find(device)?;
    Ok(Look::now().processes(device.number()))
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
    let found: Vec<nvmlProcessInfo_v1_t> = processes(device)?.into_iter().map(first).collect();
    write_list(&infoCount, &infos, &found)
}

pub(crate) fn nvmlDeviceGetGraphicsRunningProcesses(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v1_t>,
) -> ApiResult {
    find(device)?;
    write_list(&infoCount, &infos, &[])
}

pub(crate) fn nvmlDeviceGetMPSComputeRunningProcesses(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v1_t>,
) -> ApiResult {
    find(device)?;
    write_list(&infoCount, &infos, &[])
}

pub(crate) fn nvmlDeviceGetComputeRunningProcesses_v2(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v2_t>,
) -> ApiResult {
    let found: Vec<nvmlProcessInfo_v2_t> = processes(device)?.into_iter().map(second).collect();
    write_list(&infoCount, &infos, &found)
}

pub(crate) fn nvmlDeviceGetGraphicsRunningProcesses_v2(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v2_t>,
) -> ApiResult {
    find(device)?;
    write_list(&infoCount, &infos, &[])
}

pub(crate) fn nvmlDeviceGetMPSComputeRunningProcesses_v2(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_v2_t>,
) -> ApiResult {
    find(device)?;
    write_list(&infoCount, &infos, &[])
}

pub(crate) fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_t>,
) -> ApiResult {
    let found: Vec<nvmlProcessInfo_t> = processes(device)?.into_iter().map(third).collect();
    write_list(&infoCount, &infos, &found)
}

pub(crate) fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_t>,
) -> ApiResult {
    find(device)?;
    write_list(&infoCount, &infos, &[])
}

pub(crate) fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    infoCount: InOut<'_, u32>,
    infos: OutArray<'_, nvmlProcessInfo_t>,
) -> ApiResult {
    find(device)?;
    write_list(&infoCount, &infos, &[])
}
