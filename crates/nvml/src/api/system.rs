//! System queries.

use warploom_abi::nvml::{nvmlDevice_t, nvmlReturn_t, nvmlSystemDriverBranchInfo_t};
use warploom_monitor::{Monitor, name_of_process};

use super::{check_version, version_of, write_list};
use crate::border::{ApiResult, Failure, InOut, Out, OutArray, OutStr, characters, write};
use crate::library::{handle, monitor};

pub(crate) fn nvmlSystemGetDriverVersion(version: OutStr<'_>, length: u32) -> ApiResult {
    write(&version, "version", length, &monitor()?.driver_version())
}

/// This one is answered before the library is initialised, too.
pub(crate) fn nvmlSystemGetNVMLVersion(version: OutStr<'_>, length: u32) -> ApiResult {
    let version_of = |monitor: &Monitor| monitor.library_version();
    let known = monitor().map(|monitor| version_of(&monitor));
    write(&version, "version", length, &known.unwrap_or_else(|_| version_of(&Monitor::from_environment().0)))
}

pub(crate) fn nvmlSystemGetCudaDriverVersion(cudaDriverVersion: Out<'_, i32>) -> ApiResult {
    cudaDriverVersion.required("cudaDriverVersion")?.set(monitor()?.cuda_version());
    Ok(())
}

pub(crate) fn nvmlSystemGetCudaDriverVersion_v2(cudaDriverVersion: Out<'_, i32>) -> ApiResult {
    nvmlSystemGetCudaDriverVersion(cudaDriverVersion)
}

pub(crate) fn nvmlSystemGetDriverBranch(branchInfo: InOut<'_, nvmlSystemDriverBranchInfo_t>, length: u32) -> ApiResult {
    let mut info = branchInfo.get("branchInfo")?;
    check_version(info.version, version_of::<nvmlSystemDriverBranchInfo_t>(1))?;
    let branch = format!("r{}", monitor()?.driver_version().replace('.', "_"));
    if branch.len() >= (length as usize).min(info.branch.len()) {
        let reason = format!("the branch has {length} bytes; {} are needed", branch.len() + 1);
        return Err(Failure::new(nvmlReturn_t::NVML_ERROR_INSUFFICIENT_SIZE, reason));
    }
    info.branch = characters(&branch);
    branchInfo.set(info);
    Ok(())
}

/// The name is cut off where the buffer ends.
pub(crate) fn nvmlSystemGetProcessName(pid: u32, name: OutStr<'_>, length: u32) -> ApiResult {
    if name.is_null() || length == 0 {
        return Err(Failure::invalid_argument("there is no room for a name"));
    }
    let found = name_of_process(pid)
        .ok_or_else(|| Failure::new(nvmlReturn_t::NVML_ERROR_NOT_FOUND, format!("there is no process {pid}")))?;
    name.write("name", length as usize, found.as_bytes())
}

pub(crate) fn nvmlSystemGetTopologyGpuSet(
    cpuNumber: u32,
    count: InOut<'_, u32>,
    deviceArray: OutArray<'_, nvmlDevice_t>,
) -> ApiResult {
    let monitor = monitor()?;
    let near = monitor.devices().iter().filter(|device| device.processors().contains(&cpuNumber));
    let near: Vec<nvmlDevice_t> = near.map(handle).collect();
    // Without a list it is asked how many there are.
    if deviceArray.is_null() {
        count.get("count")?;
        count.set(near.len() as u32);
        return Ok(());
    }
    write_list(&count, &deviceArray, &near)
}

/// There are no units: boxes of devices.
pub(crate) fn nvmlUnitGetCount(unitCount: Out<'_, u32>) -> ApiResult {
    unitCount.required("unitCount")?.set(0);
    Ok(())
}

/// No device is kept from programs.
pub(crate) fn nvmlGetExcludedDeviceCount(deviceCount: Out<'_, u32>) -> ApiResult {
    nvmlUnitGetCount(deviceCount)
}

pub(crate) fn nvmlGetBlacklistDeviceCount(deviceCount: Out<'_, u32>) -> ApiResult {
    nvmlUnitGetCount(deviceCount)
}
