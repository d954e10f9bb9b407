//! Thread management, deprecated: the device's functions under their first names.
use warploom_abi::runtime::{cudaFuncCache, cudaLimit};

use super::device;
use crate::border::Out;
use crate::failure::ApiResult;

pub fn cudaThreadExit() -> ApiResult {
    device::cudaDeviceReset()
}

pub fn cudaThreadSynchronize() -> ApiResult {
    device::cudaDeviceSynchronize()
}

pub fn cudaThreadSetLimit(limit: cudaLimit, value: usize) -> ApiResult {
    device::cudaDeviceSetLimit(limit, value)
}

pub fn cudaThreadGetLimit(pValue: Out<'_, usize>, limit: cudaLimit) -> ApiResult {
    device::cudaDeviceGetLimit(pValue, limit)
}

pub fn cudaThreadGetCacheConfig(pCacheConfig: Out<'_, cudaFuncCache>) -> ApiResult {
    device::cudaDeviceGetCacheConfig(pCacheConfig)
}

pub fn cudaThreadSetCacheConfig(cacheConfig: cudaFuncCache) -> ApiResult {
    device::cudaDeviceSetCacheConfig(cacheConfig)
}
