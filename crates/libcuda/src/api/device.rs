//! Device management.
use std::ffi::CStr;

use warploom_abi::{
    CUarray_format, CUasyncCallback, CUasyncCallbackHandle, CUatomicOperation, CUatomicOperationCapability, CUdevice,
    CUdevice_P2PAttribute, CUdevice_attribute, CUdevprop_v1, CUexecAffinityType, CUflushGPUDirectRDMAWritesScope,
    CUflushGPUDirectRDMAWritesTarget, CUuuid,
};
use warploom_driver::device::{Device, attribute};
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use crate::border::{ApiResult, HostAddress, HostPtr, InArray, InStr, Out, OutArray, OutStr};
use crate::process::driver;

/// `0000:00:00.0` and the NUL.
const PCI_BUS_ID_SIZE: usize = 13;

/// The size of a text buffer, which C passes as an int.
fn size(len: i32, name: &str) -> DriverResult<usize> {
    usize::try_from(len)
        .ok()
        .filter(|len| *len > 0)
        .ok_or_else(|| DriverError::invalid_value(format!("{name} is {len}, must be positive")))
}

fn value(device: &Device, number: i32) -> DriverResult<i32> {
    device.attribute(number).ok_or_else(|| DriverError::invalid_value(format!("{number} is no device attribute")))
}

pub(crate) fn cuDeviceGet(device: Out<'_, CUdevice>, ordinal: i32) -> ApiResult {
    let place = device.required("device")?;
    driver()?.device(ordinal)?;
    place.set(ordinal);
    Ok(())
}

pub(crate) fn cuDeviceGetCount(count: Out<'_, i32>) -> ApiResult {
    let place = count.required("count")?;
    place.set(i32::try_from(driver()?.devices().len()).unwrap_or(i32::MAX));
    Ok(())
}

pub(crate) fn cuDeviceGetName(name: OutStr<'_>, len: i32, dev: CUdevice) -> ApiResult {
    let device = driver()?.device(dev)?;
    name.write("name", size(len, "len")?, device.name().to_bytes())
}

/// With every device a whole one, both versions answer the same.
pub(crate) fn cuDeviceGetUuid(uuid: Out<'_, CUuuid>, dev: CUdevice) -> ApiResult {
    let place = uuid.required("uuid")?;
    let bytes = driver()?.device(dev)?.uuid();
    place.set(CUuuid { bytes: bytes.map(|byte| byte as _) });
    Ok(())
}

pub(crate) fn cuDeviceGetUuid_v2(uuid: Out<'_, CUuuid>, dev: CUdevice) -> ApiResult {
    cuDeviceGetUuid(uuid, dev)
}

/// `CUDA_NVSCISYNC_ATTR_SIGNAL` and `CUDA_NVSCISYNC_ATTR_WAIT`.
const NVSCISYNC_FLAGS: i32 = 3;

/// NvSciSync is for systems on a chip.
pub(crate) fn cuDeviceGetNvSciSyncAttributes(nvSciSyncAttrList: HostPtr, dev: CUdevice, flags: i32) -> ApiResult {
    if nvSciSyncAttrList.is_null() {
        return Err(DriverError::invalid_handle("nvSciSyncAttrList is NULL"));
    }
    driver()?.device(dev)?;
    if flags == 0 || flags & !NVSCISYNC_FLAGS != 0 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} is none of SIGNAL, WAIT and both")));
    }
    Err(DriverError::new(ErrorCode::NotSupported, "the device takes no part in NvSciSync"))
}

/// LUIDs are Windows'.
pub(crate) fn cuDeviceGetLuid(_luid: OutArray<'_, std::ffi::c_char>, _mask: Out<'_, u32>, dev: CUdevice) -> ApiResult {
    driver()?.device(dev)?;
    Err(DriverError::new(ErrorCode::NotSupported, "devices have LUIDs on Windows only"))
}

/// The first ABI has 32 bits for the answer, and saturates.
pub(crate) fn cuDeviceTotalMem(bytes: Out<'_, u32>, dev: CUdevice) -> ApiResult {
    let place = bytes.required("bytes")?;
    place.set(u32::try_from(driver()?.device(dev)?.total_memory()).unwrap_or(u32::MAX));
    Ok(())
}

pub(crate) fn cuDeviceTotalMem_v2(bytes: Out<'_, usize>, dev: CUdevice) -> ApiResult {
    let place = bytes.required("bytes")?;
    place.set(usize::try_from(driver()?.device(dev)?.total_memory()).unwrap_or(usize::MAX));
    Ok(())
}

pub(crate) fn cuDeviceGetTexture1DLinearMaxWidth(
    maxWidthInElements: Out<'_, usize>,
    format: CUarray_format,
    numChannels: u32,
    dev: CUdevice,
) -> ApiResult {
    let place = maxWidthInElements.required("maxWidthInElements")?;
    let device = driver()?.device(dev)?;
    let known = [
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
        CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
        CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
        CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
        CUarray_format::CU_AD_FORMAT_HALF,
        CUarray_format::CU_AD_FORMAT_FLOAT,
    ];
    if !known.contains(&format) {
        return Err(DriverError::invalid_value(format!("{format:?} is no format of a linear texture")));
    }
    if !matches!(numChannels, 1 | 2 | 4) {
        return Err(DriverError::invalid_value(format!("numChannels is {numChannels}, must be 1, 2 or 4")));
    }
    place.set(usize::try_from(value(device, attribute::MAXIMUM_TEXTURE1D_LINEAR_WIDTH)?).unwrap_or(0));
    Ok(())
}

pub(crate) fn cuDeviceGetAttribute(pi: Out<'_, i32>, attrib: CUdevice_attribute, dev: CUdevice) -> ApiResult {
    let place = pi.required("pi")?;
    let device = driver()?.device(dev)?;
    place.set(value(device, attrib.0 as i32)?);
    Ok(())
}

/// Devices do not limit what a context runs on; what has no affinity at all is supported as little, as recorded.
pub(crate) fn cuDeviceGetExecAffinitySupport(pi: Out<'_, i32>, _type: CUexecAffinityType, dev: CUdevice) -> ApiResult {
    let place = pi.required("pi")?;
    driver()?.device(dev)?;
    place.set(0);
    Ok(())
}

/// Writes of other devices are visible at once on a CPU.
pub(crate) fn cuFlushGPUDirectRDMAWrites(
    target: CUflushGPUDirectRDMAWritesTarget,
    scope: CUflushGPUDirectRDMAWritesScope,
) -> ApiResult {
    driver()?.current()?;
    if target != CUflushGPUDirectRDMAWritesTarget::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX {
        return Err(DriverError::invalid_value(format!("{target:?} is no target")));
    }
    let known = [
        CUflushGPUDirectRDMAWritesScope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER,
        CUflushGPUDirectRDMAWritesScope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES,
    ];
    if !known.contains(&scope) {
        return Err(DriverError::invalid_value(format!("{scope:?} is no scope")));
    }
    Ok(())
}

pub(crate) fn cuDeviceGetProperties(prop: Out<'_, CUdevprop_v1>, dev: CUdevice) -> ApiResult {
    let place = prop.required("prop")?;
    let device = driver()?.device(dev)?;
    let value = |number| value(device, number);
    place.set(CUdevprop_v1 {
        maxThreadsPerBlock: value(attribute::MAX_THREADS_PER_BLOCK)?,
        maxThreadsDim: [
            value(attribute::MAX_BLOCK_DIM_X)?,
            value(attribute::MAX_BLOCK_DIM_Y)?,
            value(attribute::MAX_BLOCK_DIM_Z)?,
        ],
        maxGridSize: [
            value(attribute::MAX_GRID_DIM_X)?,
            value(attribute::MAX_GRID_DIM_Y)?,
            value(attribute::MAX_GRID_DIM_Z)?,
        ],
        sharedMemPerBlock: value(attribute::MAX_SHARED_MEMORY_PER_BLOCK)?,
        totalConstantMemory: value(attribute::TOTAL_CONSTANT_MEMORY)?,
        SIMDWidth: value(attribute::WARP_SIZE)?,
        memPitch: value(attribute::MAX_PITCH)?,
        regsPerBlock: value(attribute::MAX_REGISTERS_PER_BLOCK)?,
        clockRate: value(attribute::CLOCK_RATE)?,
        textureAlign: value(attribute::TEXTURE_ALIGNMENT)?,
    });
    Ok(())
}

pub(crate) fn cuDeviceComputeCapability(major: Out<'_, i32>, minor: Out<'_, i32>, dev: CUdevice) -> ApiResult {
    let (major, minor) = (major.required("major")?, minor.required("minor")?);
    let device = driver()?.device(dev)?;
    let numbers =
        (value(device, attribute::COMPUTE_CAPABILITY_MAJOR)?, value(device, attribute::COMPUTE_CAPABILITY_MINOR)?);
    major.set(numbers.0);
    minor.set(numbers.1);
    Ok(())
}

/// Unlike a name's, it is an error that a bus id does not fit, of which what does is written, as recorded.
pub(crate) fn cuDeviceGetPCIBusId(pciBusId: OutStr<'_>, len: i32, dev: CUdevice) -> ApiResult {
    let device = driver()?.device(dev)?;
    let len = size(len, "len")?;
    pciBusId.write("pciBusId", len, device.pci_bus_id().as_bytes())?;
    if len < PCI_BUS_ID_SIZE {
        return Err(DriverError::invalid_value(format!("len is {len}, a bus id needs {PCI_BUS_ID_SIZE}")));
    }
    Ok(())
}

pub(crate) fn cuDeviceGetByPCIBusId(dev: Out<'_, CUdevice>, pciBusId: InStr<'_>) -> ApiResult {
    let place = dev.required("dev")?;
    let text = pciBusId.get("pciBusId")?;
    let wanted = parse_bus_id(text)
        .ok_or_else(|| DriverError::invalid_value(format!("{text:?} is no PCI bus id such as 0000:01:00.0")))?;
    let device = driver()?.devices().iter().find(|device| {
        let number = |attribute| device.attribute(attribute).and_then(|value| u32::try_from(value).ok());
        number(attribute::PCI_DOMAIN_ID) == Some(wanted.domain)
            && number(attribute::PCI_BUS_ID) == Some(wanted.bus)
            && number(attribute::PCI_DEVICE_ID) == Some(wanted.device)
            && wanted.function == 0
    });
    let device = device
        .ok_or_else(|| DriverError::new(ErrorCode::InvalidDevice, format!("no device has the PCI bus id {text:?}")))?;
    place.set(i32::try_from(device.ordinal()).unwrap_or(i32::MAX));
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct BusId {
    domain: u32,
    bus: u32,
    device: u32,
    function: u32,
}

/// `[domain]:[bus]:[device].[function]`, `[domain]:[bus]:[device]`, or `[bus]:[device].[function]`, in hexadecimal.
fn parse_bus_id(text: &CStr) -> Option<BusId> {
    let text = text.to_str().ok()?;
    let hexadecimal = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        if digits { u32::from_str_radix(part, 16).ok() } else { None }
    };
    let (place, function) = match text.split_once('.') {
        Some((place, function)) => (place, Some(hexadecimal(function)?)),
        None => (text, None),
    };
    let parts: Vec<u32> = place.split(':').map(hexadecimal).collect::<Option<_>>()?;
    match (parts.as_slice(), function) {
        (&[domain, bus, device], function) => Some(BusId { domain, bus, device, function: function.unwrap_or(0) }),
        (&[bus, device], Some(function)) => Some(BusId { domain: 0, bus, device, function }),
        _ => None,
    }
}

/// All devices share one memory, so each reaches every other's; a device is no peer of itself.
pub(crate) fn cuDeviceCanAccessPeer(canAccessPeer: Out<'_, i32>, dev: CUdevice, peerDev: CUdevice) -> ApiResult {
    let place = canAccessPeer.required("canAccessPeer")?;
    driver()?.device(dev)?;
    driver()?.device(peerDev)?;
    place.set(i32::from(dev != peerDev));
    Ok(())
}

pub(crate) fn cuDeviceGetP2PAttribute(
    value: Out<'_, i32>,
    attrib: CUdevice_P2PAttribute,
    srcDevice: CUdevice,
    dstDevice: CUdevice,
) -> ApiResult {
    let place = value.required("value")?;
    driver()?.device(srcDevice)?;
    driver()?.device(dstDevice)?;
    if srcDevice == dstDevice {
        return Err(DriverError::new(ErrorCode::InvalidDevice, "a device is no peer of itself"));
    }
    place.set(match attrib {
        CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED
        | CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
        | CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED => 1,
        CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
        | CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => 0,
        _ => return Err(DriverError::invalid_value(format!("{attrib:?} is no attribute of peers"))),
    });
    Ok(())
}

/// Which widths of an atomic operation are one step for everybody: all that kernels have, on a CPU.
fn atomic_capability(operation: CUatomicOperation) -> DriverResult<u32> {
    type O = CUatomicOperation;
    type C = CUatomicOperationCapability;
    let words = C::CU_ATOMIC_CAPABILITY_SCALAR_32.0 | C::CU_ATOMIC_CAPABILITY_SCALAR_64.0;
    let (signed, unsigned) = (C::CU_ATOMIC_CAPABILITY_SIGNED.0, C::CU_ATOMIC_CAPABILITY_UNSIGNED.0);
    let reduction = C::CU_ATOMIC_CAPABILITY_REDUCTION.0;
    Ok(match operation {
        O::CU_ATOMIC_OPERATION_INTEGER_ADD
        | O::CU_ATOMIC_OPERATION_INTEGER_MIN
        | O::CU_ATOMIC_OPERATION_INTEGER_MAX => words | signed | unsigned | reduction,
        O::CU_ATOMIC_OPERATION_INTEGER_INCREMENT | O::CU_ATOMIC_OPERATION_INTEGER_DECREMENT => {
            C::CU_ATOMIC_CAPABILITY_SCALAR_32.0 | unsigned | reduction
        }
        O::CU_ATOMIC_OPERATION_AND | O::CU_ATOMIC_OPERATION_OR | O::CU_ATOMIC_OPERATION_XOR => {
            words | unsigned | reduction
        }
        O::CU_ATOMIC_OPERATION_EXCHANGE | O::CU_ATOMIC_OPERATION_CAS => {
            words | C::CU_ATOMIC_CAPABILITY_SCALAR_128.0 | unsigned
        }
        O::CU_ATOMIC_OPERATION_FLOAT_ADD => words | signed | reduction,
        // Kernels have no minimum and maximum of single or double precision.
        O::CU_ATOMIC_OPERATION_FLOAT_MIN | O::CU_ATOMIC_OPERATION_FLOAT_MAX => 0,
        operation => return Err(DriverError::invalid_value(format!("{operation:?} is no atomic operation"))),
    })
}

fn write_atomic_capabilities(
    capabilities: &OutArray<'_, u32>,
    operations: &InArray<'_, CUatomicOperation>,
    count: u32,
) -> ApiResult {
    if count == 0 {
        return Err(DriverError::invalid_value("count is 0"));
    }
    let operations = operations.get(count as usize, "operations")?;
    let answers = operations.into_iter().map(atomic_capability).collect::<DriverResult<Vec<u32>>>()?;
    capabilities.write("capabilities", answers.len(), &answers)
}

pub(crate) fn cuDeviceGetHostAtomicCapabilities(
    capabilities: OutArray<'_, u32>,
    operations: InArray<'_, CUatomicOperation>,
    count: u32,
    dev: CUdevice,
) -> ApiResult {
    driver()?.device(dev)?;
    write_atomic_capabilities(&capabilities, &operations, count)
}

pub(crate) fn cuDeviceGetP2PAtomicCapabilities(
    capabilities: OutArray<'_, u32>,
    operations: InArray<'_, CUatomicOperation>,
    count: u32,
    srcDevice: CUdevice,
    dstDevice: CUdevice,
) -> ApiResult {
    driver()?.device(srcDevice)?;
    driver()?.device(dstDevice)?;
    if srcDevice == dstDevice {
        return Err(DriverError::new(ErrorCode::InvalidDevice, "a device is no peer of itself"));
    }
    write_atomic_capabilities(&capabilities, &operations, count)
}

/// The notifications that there are concern budgets of memory, which devices here do not have: none ever comes.
pub(crate) fn cuDeviceRegisterAsyncNotification(
    device: CUdevice,
    callbackFunc: CUasyncCallback,
    _userData: HostAddress,
    callback: Out<'_, CUasyncCallbackHandle>,
) -> ApiResult {
    let place = callback.required("callback")?;
    if callbackFunc == CUasyncCallback::default() {
        return Err(DriverError::invalid_value("callbackFunc is NULL"));
    }
    place.set(CUasyncCallbackHandle(driver()?.add_listener(device)?.raw()));
    Ok(())
}

pub(crate) fn cuDeviceUnregisterAsyncNotification(device: CUdevice, callback: CUasyncCallbackHandle) -> ApiResult {
    driver()?.remove_listener(device, Handle::from_raw(callback.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_ids_come_in_three_forms() {
        let id = |domain, bus, device, function| Some(BusId { domain, bus, device, function });
        assert_eq!(parse_bus_id(c"0001:0a:1f.7"), id(1, 10, 31, 7));
        assert_eq!(parse_bus_id(c"10000:00:02"), id(0x10000, 0, 2, 0));
        assert_eq!(parse_bus_id(c"0A:1F.0"), id(0, 10, 31, 0));
        for wrong in [c"junk", c"", c"0a:1f", c"0:0:0:0.0", c"+1:0:0.0", c"0:0:0.", c"::", c"1.2"] {
            assert_eq!(parse_bus_id(wrong), None, "{wrong:?}");
        }
    }
}
