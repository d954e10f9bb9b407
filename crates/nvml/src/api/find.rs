//! Devices and what finds them.

use std::ffi::CStr;

use warploom_abi::nvml::{nvmlDevice_t, nvmlReturn_t, nvmlUUID_t, nvmlUUIDType_t};
use warploom_monitor::Device;

use super::{check_version, version_of};
use crate::border::{ApiResult, Failure, In, InStr, Out};
use crate::library::{handle, monitor};

pub(crate) fn nvmlDeviceGetCount_v2(deviceCount: Out<'_, u32>) -> ApiResult {
    deviceCount.required("deviceCount")?.set(monitor()?.devices().len() as u32);
    Ok(())
}

pub(crate) fn nvmlDeviceGetCount(deviceCount: Out<'_, u32>) -> ApiResult {
    nvmlDeviceGetCount_v2(deviceCount)
}

pub(crate) fn nvmlDeviceGetHandleByIndex_v2(index: u32, device: Out<'_, nvmlDevice_t>) -> ApiResult {
    let place = device.required("device")?;
    let monitor = monitor()?;
    let found = monitor.devices().get(index as usize);
    let there_is = monitor.devices().len();
    place.set(handle(
        found.ok_or_else(|| Failure::invalid_argument(format!("there is no device {index}, only {there_is}")))?,
    ));
    Ok(())
}

pub(crate) fn nvmlDeviceGetHandleByIndex(index: u32, device: Out<'_, nvmlDevice_t>) -> ApiResult {
    nvmlDeviceGetHandleByIndex_v2(index, device)
}

pub(crate) fn nvmlDeviceGetHandleByUUID(uuid: InStr<'_>, device: Out<'_, nvmlDevice_t>) -> ApiResult {
    let uuid = uuid.get("uuid")?.to_string_lossy();
    find(device, &format!("the UUID {uuid}"), |candidate| is_named(candidate, &uuid))
}

pub(crate) fn nvmlDeviceGetHandleByUUIDV(uuid: In<'_, nvmlUUID_t>, device: Out<'_, nvmlDevice_t>) -> ApiResult {
    let given = uuid.get("uuid")?;
    check_version(given.version, version_of::<nvmlUUID_t>(1))?;
    // SAFETY: all bytes are values of bytes.
    let bytes = unsafe { given.value.bytes_of_union };
    match nvmlUUIDType_t(given.r#type) {
        nvmlUUIDType_t::NVML_UUID_TYPE_ASCII => {
            let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default().to_string_lossy();
            find(device, &format!("the UUID {text}"), |candidate| is_named(candidate, &text))
        }
        nvmlUUIDType_t::NVML_UUID_TYPE_BINARY => find(device, "the UUID", |one| one.uuid() == bytes[..16]),
        other => Err(Failure::invalid_argument(format!("{other:?} is no form of a UUID"))),
    }
}

/// `[domain:]bus:device[.function]`, in hexadecimal digits.
pub(crate) fn nvmlDeviceGetHandleByPciBusId_v2(pciBusId: InStr<'_>, device: Out<'_, nvmlDevice_t>) -> ApiResult {
    let text = pciBusId.get("pciBusId")?.to_string_lossy();
    let address = parse_pci(&text).ok_or_else(|| Failure::invalid_argument(format!("{text} is no PCI address")))?;
    find(device, &format!("the PCI address {text}"), |candidate| candidate.pci_address() == address)
}

pub(crate) fn nvmlDeviceGetHandleByPciBusId(pciBusId: InStr<'_>, device: Out<'_, nvmlDevice_t>) -> ApiResult {
    nvmlDeviceGetHandleByPciBusId_v2(pciBusId, device)
}

/// No device has a serial number.
pub(crate) fn nvmlDeviceGetHandleBySerial(serial: InStr<'_>, device: Out<'_, nvmlDevice_t>) -> ApiResult {
    let serial = serial.get("serial")?.to_string_lossy();
    find(device, &format!("the serial number {serial}"), |_| false)
}

/// With or without the first letters, in small ones behind that, as recorded.
fn is_named(device: &Device, name: &str) -> bool {
    let uuid = device.uuid_text();
    uuid == name || uuid.strip_prefix("GPU-") == Some(name)
}

fn find(place: Out<'_, nvmlDevice_t>, what: &str, is_it: impl Fn(&Device) -> bool) -> ApiResult {
    let place = place.required("device")?;
    let monitor = monitor()?;
    let found = monitor.devices().iter().find(|device| is_it(device));
    let none = || Failure::new(nvmlReturn_t::NVML_ERROR_NOT_FOUND, format!("no device has {what}"));
    place.set(handle(found.ok_or_else(none)?));
    Ok(())
}

/// Domain, bus and device.
fn parse_pci(text: &str) -> Option<[i32; 3]> {
    let (rest, function) = text.rsplit_once('.').unwrap_or((text, "0"));
    let mut parts = rest.rsplit(':').map(|digits| i32::from_str_radix(digits, 16).ok());
    let (device, bus, domain) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    (function == "0" && parts.next().is_none()).then_some([domain, bus, device])
}
