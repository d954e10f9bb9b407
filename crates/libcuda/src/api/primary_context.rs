//! Primary context management. Unless they say so, functions of the first ABI mean the same as those of the second.
use warploom_abi::{CUcontext, CUdevice};
use warploom_driver::ErrorCode;

use crate::border::{ApiResult, Out};
use crate::process::driver;

pub(crate) fn cuDevicePrimaryCtxRetain(pctx: Out<'_, CUcontext>, dev: CUdevice) -> ApiResult {
    let place = pctx.required("pctx")?;
    place.set(CUcontext(driver()?.retain_primary(dev)?.handle().raw()));
    Ok(())
}

/// Unlike its successor it does not mind if nobody uses the context, as recorded.
pub(crate) fn cuDevicePrimaryCtxRelease(dev: CUdevice) -> ApiResult {
    match driver()?.release_primary(dev) {
        Err(error) if error.code() == ErrorCode::InvalidContext => Ok(()),
        result => result,
    }
}

pub(crate) fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) -> ApiResult {
    driver()?.release_primary(dev)
}

pub(crate) fn cuDevicePrimaryCtxSetFlags(dev: CUdevice, flags: u32) -> ApiResult {
    driver()?.set_primary_flags(dev, flags)
}

pub(crate) fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: u32) -> ApiResult {
    driver()?.set_primary_flags(dev, flags)
}

pub(crate) fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: Out<'_, u32>, active: Out<'_, i32>) -> ApiResult {
    let (flags, active) = (flags.required("flags")?, active.required("active")?);
    let state = driver()?.primary_state(dev)?;
    flags.set(state.flags);
    active.set(i32::from(state.active));
    Ok(())
}

pub(crate) fn cuDevicePrimaryCtxReset(dev: CUdevice) -> ApiResult {
    driver()?.reset_primary(dev)
}

pub(crate) fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) -> ApiResult {
    driver()?.reset_primary(dev)
}
