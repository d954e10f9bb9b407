//! Peer context memory access.
use warploom_abi::CUcontext;
use warploom_driver::{DriverError, Handle};

use crate::border::ApiResult;
use crate::process::driver;

pub(crate) fn cuCtxEnablePeerAccess(peerContext: CUcontext, Flags: u32) -> ApiResult {
    driver()?.current()?;
    if Flags != 0 {
        return Err(DriverError::invalid_value(format!("Flags is {Flags}, must be 0")));
    }
    driver()?.enable_peer_access(Handle::from_raw(peerContext.0))
}

pub(crate) fn cuCtxDisablePeerAccess(peerContext: CUcontext) -> ApiResult {
    driver()?.disable_peer_access(Handle::from_raw(peerContext.0))
}
