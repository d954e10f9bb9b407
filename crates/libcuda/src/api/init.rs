//! Initialisation.
use warploom_driver::{DriverError, ErrorCode};

use crate::border::{ApiResult, state};
use crate::settings::Settings;

/// Any number of calls; none but the first that succeeds does anything.
pub(crate) fn cuInit(Flags: u32) -> ApiResult {
    if Flags != 0 {
        return Err(DriverError::invalid_value(format!("Flags is {Flags}, must be 0")));
    }
    let phase = state::phase();
    if phase.is_initialized() {
        return Ok(());
    }
    if phase.is_over() {
        return phase.require_initialized();
    }
    if Settings::get().device_count == 0 {
        return Err(DriverError::new(
            ErrorCode::NoDevice,
            "WARPLOOM_DEVICE_COUNT=0 asks for a machine without devices",
        ));
    }
    state::initialized();
    Ok(())
}
