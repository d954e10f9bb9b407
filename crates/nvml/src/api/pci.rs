//! The address of a device, in a PCI domain that hosts do not use: that of `cuDeviceGetPCIBusId`, in the form of this library.

use warploom_abi::nvml::{nvmlDevice_t, nvmlPciInfo_t, nvmlPciInfoExt_t};
use warploom_monitor::Device;

use super::{check_version, version_of};
use crate::border::{ApiResult, InOut, Out, characters};
use crate::library::device as find;

/// Bytes of the structure as the first version had it, up to the number of the device.
const FIRST: usize = 32;
/// The same of the second version, up to the number of the subsystem.
const SECOND: usize = 36;

/// It is no PCI device: it has no numbers of its own there.
fn info(device: &Device) -> nvmlPciInfo_t {
    let [domain, bus, slot] = device.pci_address();
    nvmlPciInfo_t {
        busIdLegacy: characters(&device.pci_bus_id()),
        domain: domain as u32,
        bus: bus as u32,
        device: slot as u32,
        pciDeviceId: 0,
        pciSubSystemId: 0,
        busId: characters(&device.long_pci_bus_id()),
    }
}

pub(crate) fn nvmlDeviceGetPciInfo(device: nvmlDevice_t, pci: Out<'_, nvmlPciInfo_t>) -> ApiResult {
    let device = find(device)?;
    let info = info(&device);
    pci.required("pci")?.set_start::<FIRST>(&info);
    Ok(())
}

pub(crate) fn nvmlDeviceGetPciInfo_v2(device: nvmlDevice_t, pci: Out<'_, nvmlPciInfo_t>) -> ApiResult {
    let device = find(device)?;
    let info = info(&device);
    pci.required("pci")?.set_start::<SECOND>(&info);
    Ok(())
}

pub(crate) fn nvmlDeviceGetPciInfo_v3(device: nvmlDevice_t, pci: Out<'_, nvmlPciInfo_t>) -> ApiResult {
    let device = find(device)?;
    let info = info(&device);
    pci.required("pci")?.set(info);
    Ok(())
}

pub(crate) fn nvmlDeviceGetPciInfoExt(device: nvmlDevice_t, pci: InOut<'_, nvmlPciInfoExt_t>) -> ApiResult {
    let device = find(device)?;
    let mut ext = pci.get("pci")?;
    check_version(ext.version, version_of::<nvmlPciInfoExt_t>(1))?;
    let info = info(&device);
    (ext.domain, ext.bus, ext.device, ext.busId) = (info.domain, info.bus, info.device, info.busId);
    (ext.pciDeviceId, ext.pciSubSystemId, ext.baseClass, ext.subClass) = (0, 0, 0, 0);
    pci.set(ext);
    Ok(())
}
