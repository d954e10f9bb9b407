//! Where devices are in the machine, and what they have in common.

use warploom_abi::nvml::{
    NVML_AFFINITY_SCOPE_NODE, NVML_AFFINITY_SCOPE_SOCKET, nvmlAffinityScope_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t,
    nvmlGpuP2PStatus_t, nvmlGpuTopologyLevel_t,
};
use warploom_monitor::{Device, Distance};

use super::write_list;
use crate::border::{ApiResult, Failure, InOut, Out, OutArray};
use crate::library::{device as find, handle, monitor};

/// Writes the set of `members`, one bit each, into as many words as there are.
fn write_set(set: &OutArray<'_, u64>, words: u32, members: &[u32]) -> ApiResult {
    if words == 0 || set.is_null() {
        return Err(Failure::invalid_argument("there is no room for a set"));
    }
    let word = |at: u32| {
        let here = members.iter().filter(|member| **member / u64::BITS == at);
        here.fold(0, |word, member| word | 1_u64 << (member % u64::BITS))
    };
    (0..words).for_each(|at| set.set(at as usize, word(at)));
    Ok(())
}

fn check_scope(scope: nvmlAffinityScope_t) -> ApiResult {
    if matches!(scope, NVML_AFFINITY_SCOPE_NODE | NVML_AFFINITY_SCOPE_SOCKET) {
        return Ok(());
    }
    Err(Failure::invalid_argument(format!("{scope} is no scope")))
}

/// The processors that run the device's kernels.
pub(crate) fn nvmlDeviceGetCpuAffinity(device: nvmlDevice_t, cpuSetSize: u32, cpuSet: OutArray<'_, u64>) -> ApiResult {
    write_set(&cpuSet, cpuSetSize, find(device)?.processors())
}

pub(crate) fn nvmlDeviceGetCpuAffinityWithinScope(
    device: nvmlDevice_t,
    cpuSetSize: u32,
    cpuSet: OutArray<'_, u64>,
    scope: nvmlAffinityScope_t,
) -> ApiResult {
    check_scope(scope)?;
    nvmlDeviceGetCpuAffinity(device, cpuSetSize, cpuSet)
}

/// The memory nodes of these processors.
pub(crate) fn nvmlDeviceGetMemoryAffinity(
    device: nvmlDevice_t,
    nodeSetSize: u32,
    nodeSet: OutArray<'_, u64>,
    scope: nvmlAffinityScope_t,
) -> ApiResult {
    check_scope(scope)?;
    write_set(&nodeSet, nodeSetSize, find(device)?.nodes())
}

fn level(device: &Device, other: &Device) -> nvmlGpuTopologyLevel_t {
    match device.distance(other) {
        Distance::Same => nvmlGpuTopologyLevel_t::NVML_TOPOLOGY_INTERNAL,
        Distance::Node => nvmlGpuTopologyLevel_t::NVML_TOPOLOGY_NODE,
        Distance::Machine => nvmlGpuTopologyLevel_t::NVML_TOPOLOGY_SYSTEM,
    }
}

pub(crate) fn nvmlDeviceGetTopologyCommonAncestor(
    device1: nvmlDevice_t,
    device2: nvmlDevice_t,
    pathInfo: Out<'_, nvmlGpuTopologyLevel_t>,
) -> ApiResult {
    let (one, other) = (find(device1)?, find(device2)?);
    pathInfo.required("pathInfo")?.set(level(&one, &other));
    Ok(())
}

/// The devices at this distance, the device itself not among them.
pub(crate) fn nvmlDeviceGetTopologyNearestGpus(
    device: nvmlDevice_t,
    level: nvmlGpuTopologyLevel_t,
    count: InOut<'_, u32>,
    deviceArray: OutArray<'_, nvmlDevice_t>,
) -> ApiResult {
    let device = find(device)?;
    let monitor = monitor()?;
    let near = monitor
        .devices()
        .iter()
        .filter(|other| other.number() != device.number() && self::level(&device, other) == level);
    let near: Vec<nvmlDevice_t> = near.map(handle).collect();
    // Without a list it is asked how many there are.
    if deviceArray.is_null() {
        count.get("count")?;
        count.set(near.len() as u32);
        return Ok(());
    }
    write_list(&count, &deviceArray, &near)
}

/// Each device is a board of its own.
pub(crate) fn nvmlDeviceOnSameBoard(
    device1: nvmlDevice_t,
    device2: nvmlDevice_t,
    onSameBoard: Out<'_, i32>,
) -> ApiResult {
    let same = find(device1)?.number() == find(device2)?.number();
    onSameBoard.required("onSameBoard")?.set(i32::from(same));
    Ok(())
}

/// All devices reach each other's memory, which is the machine's; not through links of NVIDIA's. Of a device and itself nothing is said, as recorded.
pub(crate) fn nvmlDeviceGetP2PStatus(
    device1: nvmlDevice_t,
    device2: nvmlDevice_t,
    p2pIndex: nvmlGpuP2PCapsIndex_t,
    p2pStatus: Out<'_, nvmlGpuP2PStatus_t>,
) -> ApiResult {
    let itself = find(device1)?.number() == find(device2)?.number();
    let place = p2pStatus.required("p2pStatus")?;
    place.set(match p2pIndex {
        nvmlGpuP2PCapsIndex_t(0..5) if itself => nvmlGpuP2PStatus_t::NVML_P2P_STATUS_NOT_SUPPORTED,
        nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_READ
        | nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_WRITE
        | nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_ATOMICS => nvmlGpuP2PStatus_t::NVML_P2P_STATUS_OK,
        nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_NVLINK | nvmlGpuP2PCapsIndex_t::NVML_P2P_CAPS_INDEX_PCI => {
            nvmlGpuP2PStatus_t::NVML_P2P_STATUS_NOT_SUPPORTED
        }
        _ => return Err(Failure::invalid_argument(format!("{p2pIndex:?} is nothing that devices do"))),
    });
    Ok(())
}
