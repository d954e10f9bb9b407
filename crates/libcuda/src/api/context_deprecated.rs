//! Context management, deprecated.
use warploom_abi::{CUcontext, CUsharedconfig};
use warploom_driver::Handle;

use crate::border::{ApiResult, Out, no_flags};
use crate::process::driver;

pub(crate) fn cuCtxAttach(pctx: Out<'_, CUcontext>, flags: u32) -> ApiResult {
    let place = pctx.required("pctx")?;
    no_flags(u64::from(flags))?;
    place.set(CUcontext(driver()?.attach()?.handle().raw()));
    Ok(())
}

pub(crate) fn cuCtxDetach(ctx: CUcontext) -> ApiResult {
    driver()?.detach(Handle::from_raw(ctx.0))
}

pub(crate) fn cuCtxGetSharedMemConfig(pConfig: Out<'_, CUsharedconfig>) -> ApiResult {
    let place = pConfig.required("pConfig")?;
    place.set(CUsharedconfig(driver()?.current()?.shared_config()));
    Ok(())
}

pub(crate) fn cuCtxSetSharedMemConfig(config: CUsharedconfig) -> ApiResult {
    driver()?.current()?.set_shared_config(config.0)
}
