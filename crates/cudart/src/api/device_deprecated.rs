//! Device management, deprecated: how wide the banks of shared memory are.
use warploom_abi::CUsharedconfig;
use warploom_abi::runtime::cudaSharedMemConfig;

use crate::border::Out;
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaDeviceGetSharedMemConfig(pConfig: Out<'_, cudaSharedMemConfig>) -> ApiResult {
    let place = pConfig.required("pConfig")?;
    context::ensure()?;
    let mut config = CUsharedconfig::default();
    driver!(cuCtxGetSharedMemConfig_v4020(&mut config))?;
    place.set(cudaSharedMemConfig(config.0));
    Ok(())
}

pub fn cudaDeviceSetSharedMemConfig(config: cudaSharedMemConfig) -> ApiResult {
    context::ensure()?;
    driver!(cuCtxSetSharedMemConfig_v4020(CUsharedconfig(config.0)))
}
