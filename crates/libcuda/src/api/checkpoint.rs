//! Checkpoints of processes: none is ever made, so that a process that uses the driver is running.
use warploom_abi::CUprocessState;
use warploom_driver::{DriverError, ErrorCode};

use crate::border::{ApiResult, Out};

/// As recorded: a process that is not there answers `OPERATING_SYSTEM`, one that does not use the driver `NOT_INITIALIZED`. Which
/// other processes use this driver cannot be told.
pub(crate) fn cuCheckpointProcessGetState(pid: i32, state: Out<'_, CUprocessState>) -> ApiResult {
    let place = state.required("state")?;
    if pid <= 0 || !std::path::Path::new(&format!("/proc/{pid}")).exists() {
        return Err(DriverError::new(ErrorCode::OperatingSystem, format!("there is no process {pid}")));
    }
    if pid.unsigned_abs() != std::process::id() {
        return Err(DriverError::new(
            ErrorCode::NotInitialized,
            format!("process {pid} is not known to use this driver"),
        ));
    }
    place.set(CUprocessState::CU_PROCESS_STATE_RUNNING);
    Ok(())
}
