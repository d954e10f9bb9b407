//! What a device is.

use warploom_abi::nvml::{
    NVML_BUS_TYPE_UNKNOWN, NVML_DEVICE_ARCH_ADA, NVML_DEVICE_ARCH_AMPERE, NVML_DEVICE_ARCH_BLACKWELL,
    NVML_DEVICE_ARCH_HOPPER, NVML_DEVICE_ARCH_TURING, NVML_DEVICE_ARCH_UNKNOWN, nvmlBrandType_t, nvmlBusType_t,
    nvmlDevice_t, nvmlDeviceArchitecture_t, nvmlPdi_t,
};

use super::{check_version, version_of};
use crate::border::{ApiResult, InOut, Out, OutStr, write};
use crate::library::device as find;

pub(crate) fn nvmlDeviceGetName(device: nvmlDevice_t, name: OutStr<'_>, length: u32) -> ApiResult {
    write(&name, "name", length, &find(device)?.name().to_string_lossy())
}

pub(crate) fn nvmlDeviceGetUUID(device: nvmlDevice_t, uuid: OutStr<'_>, length: u32) -> ApiResult {
    write(&uuid, "uuid", length, &find(device)?.uuid_text())
}

/// A number that no other device has: the first half of the UUID.
pub(crate) fn nvmlDeviceGetPdi(device: nvmlDevice_t, pdi: InOut<'_, nvmlPdi_t>) -> ApiResult {
    let device = find(device)?;
    let version = pdi.get("pdi")?.version;
    check_version(version, version_of::<nvmlPdi_t>(1))?;
    let value = device.uuid()[..8].iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    pdi.set(nvmlPdi_t { version, value });
    Ok(())
}

pub(crate) fn nvmlDeviceGetIndex(device: nvmlDevice_t, index: Out<'_, u32>) -> ApiResult {
    let device = find(device)?;
    index.required("index")?.set(device.number());
    Ok(())
}

/// There is no file in `/dev`; the number of the device is what its file would be called.
pub(crate) fn nvmlDeviceGetMinorNumber(device: nvmlDevice_t, minorNumber: Out<'_, u32>) -> ApiResult {
    nvmlDeviceGetIndex(device, minorNumber)
}

/// No brand of NVIDIA's.
pub(crate) fn nvmlDeviceGetBrand(device: nvmlDevice_t, r#type: Out<'_, nvmlBrandType_t>) -> ApiResult {
    find(device)?;
    r#type.required("type")?.set(nvmlBrandType_t::NVML_BRAND_UNKNOWN);
    Ok(())
}

/// That of the compute capability that the device has.
pub(crate) fn nvmlDeviceGetArchitecture(device: nvmlDevice_t, arch: Out<'_, nvmlDeviceArchitecture_t>) -> ApiResult {
    let device = find(device)?;
    arch.required("arch")?.set(match device.compute_capability() {
        (7, 5) => NVML_DEVICE_ARCH_TURING,
        (8, 9) => NVML_DEVICE_ARCH_ADA,
        (8, _) => NVML_DEVICE_ARCH_AMPERE,
        (9, _) => NVML_DEVICE_ARCH_HOPPER,
        (10..=12, _) => NVML_DEVICE_ARCH_BLACKWELL,
        _ => NVML_DEVICE_ARCH_UNKNOWN,
    });
    Ok(())
}

pub(crate) fn nvmlDeviceGetCudaComputeCapability(
    device: nvmlDevice_t,
    major: Out<'_, i32>,
    minor: Out<'_, i32>,
) -> ApiResult {
    let capability = find(device)?.compute_capability();
    let (major, minor) = (major.required("major")?, minor.required("minor")?);
    major.set(capability.0);
    minor.set(capability.1);
    Ok(())
}

/// Each device is a board of its own, whose number is the device's address.
pub(crate) fn nvmlDeviceGetBoardId(device: nvmlDevice_t, boardId: Out<'_, u32>) -> ApiResult {
    let [_, bus, slot] = find(device)?.pci_address();
    boardId.required("boardId")?.set((bus << 8 | slot << 3) as u32);
    Ok(())
}

pub(crate) fn nvmlDeviceGetMultiGpuBoard(device: nvmlDevice_t, multiGpuBool: Out<'_, u32>) -> ApiResult {
    find(device)?;
    multiGpuBool.required("multiGpuBool")?.set(0);
    Ok(())
}

/// It is on no bus.
pub(crate) fn nvmlDeviceGetBusType(device: nvmlDevice_t, r#type: Out<'_, nvmlBusType_t>) -> ApiResult {
    find(device)?;
    r#type.required("type")?.set(NVML_BUS_TYPE_UNKNOWN);
    Ok(())
}
