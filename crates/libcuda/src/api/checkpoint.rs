//! Checkpoints of processes: none is ever made, so that a process that uses the driver is running.
use warploom_abi::{
    CUcheckpointCheckpointArgs, CUcheckpointLockArgs, CUcheckpointRestoreArgs, CUcheckpointUnlockArgs, CUprocessState,
};
use warploom_driver::{DriverError, ErrorCode};

use crate::border::{ApiResult, In, Out};

/// As recorded: a process that is not there answers `OPERATING_SYSTEM`, one that does not use the driver `NOT_INITIALIZED`. Which
/// other processes use this driver cannot be told.
pub(crate) fn cuCheckpointProcessGetState(pid: i32, state: Out<'_, CUprocessState>) -> ApiResult {
    let place = state.required("state")?;
    check_process(pid)?;
    place.set(CUprocessState::CU_PROCESS_STATE_RUNNING);
    Ok(())
}

/// Fails unless `pid` is the calling process.
fn check_process(pid: i32) -> ApiResult {
    if pid <= 0 || !std::path::Path::new(&format!("/proc/{pid}")).exists() {
        return Err(DriverError::new(ErrorCode::OperatingSystem, format!("there is no process {pid}")));
    }
    if pid.unsigned_abs() != std::process::id() {
        return Err(DriverError::new(
            ErrorCode::NotInitialized,
            format!("process {pid} is not known to use this driver"),
        ));
    }
    Ok(())
}

fn none_is_made() -> ApiResult {
    let reason = "checkpoints are not made: what a process has on the device is memory of its own, which programs that save processes save too";
    Err(DriverError::new(ErrorCode::NotSupported, reason))
}

/// What is for a process that is locked: none ever is.
fn not_locked(pid: i32) -> ApiResult {
    check_process(pid)?;
    Err(DriverError::new(ErrorCode::IllegalState, format!("process {pid} is running, not locked")))
}

pub(crate) fn cuCheckpointProcessGetRestoreThreadId(pid: i32, tid: Out<'_, i32>) -> ApiResult {
    tid.required("tid")?;
    check_process(pid)?;
    none_is_made()
}

pub(crate) fn cuCheckpointProcessLock(pid: i32, _args: In<'_, CUcheckpointLockArgs>) -> ApiResult {
    check_process(pid)?;
    none_is_made()
}

pub(crate) fn cuCheckpointProcessCheckpoint(pid: i32, _args: In<'_, CUcheckpointCheckpointArgs>) -> ApiResult {
    not_locked(pid)
}

pub(crate) fn cuCheckpointProcessRestore(pid: i32, _args: In<'_, CUcheckpointRestoreArgs>) -> ApiResult {
    not_locked(pid)
}

pub(crate) fn cuCheckpointProcessUnlock(pid: i32, _args: In<'_, CUcheckpointUnlockArgs>) -> ApiResult {
    not_locked(pid)
}
