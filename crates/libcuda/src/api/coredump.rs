//! Coredump attributes.
use parking_lot::Mutex;
use warploom_abi::CUcoredumpSettings;
use warploom_driver::coredump::{CoredumpSetting, CoredumpSettings};

use crate::border::{ApiResult, HostPtr, InOut, state};
use crate::process::driver;

/// Without a place for the value its size is told.
fn get(
    settings: &Mutex<CoredumpSettings>,
    attribute: CUcoredumpSettings,
    value: HostPtr,
    size: &InOut<'_, usize>,
) -> ApiResult {
    let room = size.get("size")?;
    let setting = CoredumpSetting::from_number(attribute.0)?;
    let settings = settings.lock();
    if value.is_null() {
        size.set(settings.size(setting)?);
        return Ok(());
    }
    value.write_bytes("value", &settings.get(setting, room)?)
}

/// Without a value its size is told.
fn set(
    settings: &Mutex<CoredumpSettings>,
    attribute: CUcoredumpSettings,
    value: HostPtr,
    size: &InOut<'_, usize>,
) -> ApiResult {
    let given = size.get("size")?;
    let setting = CoredumpSetting::from_number(attribute.0)?;
    let mut settings = settings.lock();
    let largest = settings.size(setting)?;
    if value.is_null() {
        size.set(largest);
        return Ok(());
    }
    // One byte more than is possible tells that there are too many.
    let bytes = value.read_bytes("value", given.min(largest + 1))?;
    settings.set(setting, &bytes, state::phase().is_initialized())
}

pub(crate) fn cuCoredumpGetAttribute(attrib: CUcoredumpSettings, value: HostPtr, size: InOut<'_, usize>) -> ApiResult {
    get(driver()?.current()?.coredump(), attrib, value, &size)
}

pub(crate) fn cuCoredumpGetAttributeGlobal(
    attrib: CUcoredumpSettings,
    value: HostPtr,
    size: InOut<'_, usize>,
) -> ApiResult {
    get(CoredumpSettings::of_process(), attrib, value, &size)
}

pub(crate) fn cuCoredumpSetAttribute(attrib: CUcoredumpSettings, value: HostPtr, size: InOut<'_, usize>) -> ApiResult {
    set(driver()?.current()?.coredump(), attrib, value, &size)
}

pub(crate) fn cuCoredumpSetAttributeGlobal(
    attrib: CUcoredumpSettings,
    value: HostPtr,
    size: InOut<'_, usize>,
) -> ApiResult {
    set(CoredumpSettings::of_process(), attrib, value, &size)
}
