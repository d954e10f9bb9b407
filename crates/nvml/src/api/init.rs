//! Initialization and cleanup.

use crate::border::ApiResult;
use crate::library;

pub(crate) fn nvmlInit() -> ApiResult {
    library::begin();
    Ok(())
}

pub(crate) fn nvmlInit_v2() -> ApiResult {
    nvmlInit()
}

/// The flags say what to do without devices, or if they cannot be attached; others are taken too, as recorded. A CPU is always there.
pub(crate) fn nvmlInitWithFlags(_flags: u32) -> ApiResult {
    nvmlInit()
}

pub(crate) fn nvmlShutdown() -> ApiResult {
    library::end()
}
