//! Initialization and cleanup.

use crate::border::{ApiResult, Failure};
use crate::library;

/// Flags of `nvmlInitWithFlags`: without devices, without attaching to them, and in any case. A CPU is always there.
const KNOWN_FLAGS: u32 = 7;

pub(crate) fn nvmlInit() -> ApiResult {
    library::begin();
    Ok(())
}

pub(crate) fn nvmlInit_v2() -> ApiResult {
    nvmlInit()
}

pub(crate) fn nvmlInitWithFlags(flags: u32) -> ApiResult {
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Failure::invalid_argument(format!("flags {flags:#x} has bits that are no flags")));
    }
    nvmlInit()
}

pub(crate) fn nvmlShutdown() -> ApiResult {
    library::end()
}
