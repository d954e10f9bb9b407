//! Coredump attributes. Kernels that fault are reported on standard error and no core of a GPU is written, so the attributes
//! keep their defaults.
use warploom_abi::CUcoredumpSettings;
use warploom_driver::{DriverError, DriverResult, ErrorCode};

use crate::border::{ApiResult, HostPtr, InOut};
use crate::process::driver;

/// Where a core would go (`%h` is the host, `%p` the process), as the documentation has it.
const FILE: &[u8] = b"core.cu.%h.%p\0";
const PIPE: &[u8] = b"corepipe.cu.%h.%p\0";

/// The bytes of an attribute.
fn value_of(attribute: CUcoredumpSettings) -> DriverResult<&'static [u8]> {
    type S = CUcoredumpSettings;
    Ok(match attribute {
        S::CU_COREDUMP_ENABLE_ON_EXCEPTION | S::CU_COREDUMP_LIGHTWEIGHT | S::CU_COREDUMP_ENABLE_USER_TRIGGER => &[0],
        S::CU_COREDUMP_TRIGGER_HOST => &[1],
        S::CU_COREDUMP_FILE => FILE,
        S::CU_COREDUMP_PIPE => PIPE,
        S::CU_COREDUMP_GENERATION_FLAGS => &[0; 4],
        attribute => return Err(DriverError::invalid_value(format!("{attribute:?} is no attribute of coredumps"))),
    })
}

/// Without a place for the value its size is told; a place that is too small gets as much as fits.
fn get(attribute: CUcoredumpSettings, value: HostPtr, size: &InOut<'_, usize>) -> ApiResult {
    let bytes = value_of(attribute)?;
    let room = size.get("size")?;
    if value.is_null() {
        size.set(bytes.len());
        return Ok(());
    }
    let written = room.min(bytes.len());
    value.write_bytes("value", &bytes[..written])?;
    size.set(written);
    Ok(())
}

/// Only what holds anyway can be set.
fn set(attribute: CUcoredumpSettings, value: HostPtr, size: &InOut<'_, usize>) -> ApiResult {
    let bytes = value_of(attribute)?;
    let given = value.read_bytes("value", size.get("size")?.min(4096))?;
    let holds = given.len() >= bytes.len() && given.starts_with(bytes);
    if holds {
        return Ok(());
    }
    Err(DriverError::new(ErrorCode::NotSupported, format!("{attribute:?} cannot be changed: no coredumps are written")))
}

pub(crate) fn cuCoredumpGetAttribute(attrib: CUcoredumpSettings, value: HostPtr, size: InOut<'_, usize>) -> ApiResult {
    driver()?.current()?;
    get(attrib, value, &size)
}

pub(crate) fn cuCoredumpGetAttributeGlobal(
    attrib: CUcoredumpSettings,
    value: HostPtr,
    size: InOut<'_, usize>,
) -> ApiResult {
    get(attrib, value, &size)
}

pub(crate) fn cuCoredumpSetAttribute(attrib: CUcoredumpSettings, value: HostPtr, size: InOut<'_, usize>) -> ApiResult {
    driver()?.current()?;
    set(attrib, value, &size)
}

pub(crate) fn cuCoredumpSetAttributeGlobal(
    attrib: CUcoredumpSettings,
    value: HostPtr,
    size: InOut<'_, usize>,
) -> ApiResult {
    set(attrib, value, &size)
}
