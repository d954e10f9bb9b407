//! Initialisation.
use warploom_driver::DriverError;

use crate::border::{ApiResult, state};
use crate::process;

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
    process::initialize()
}
