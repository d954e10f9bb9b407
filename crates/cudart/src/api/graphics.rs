//! Graphics interoperability: resources of other interfaces, whichever registered them.
use std::ffi::c_void;

use warploom_abi::runtime::*;

use crate::border::Passed;
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaGraphicsUnregisterResource(resource: cudaGraphicsResource_t) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsUnregisterResource_v3000(resource))
}

pub fn cudaGraphicsResourceSetMapFlags(resource: cudaGraphicsResource_t, flags: u32) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsResourceSetMapFlags_v6050(resource, flags))
}

pub fn cudaGraphicsMapResources(
    count: i32,
    resources: Passed<'_, cudaGraphicsResource_t>,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsMapResources_v3000(count.cast_unsigned(), resources.get(), stream))
}

pub fn cudaGraphicsUnmapResources(
    count: i32,
    resources: Passed<'_, cudaGraphicsResource_t>,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsUnmapResources_v3000(count.cast_unsigned(), resources.get(), stream))
}

pub fn cudaGraphicsResourceGetMappedPointer(
    devPtr: Passed<'_, *mut c_void>,
    size: Passed<'_, usize>,
    resource: cudaGraphicsResource_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsResourceGetMappedPointer_v3020(devPtr.cast(), size.get(), resource))
}

pub fn cudaGraphicsSubResourceGetMappedArray(
    array: Passed<'_, cudaArray_t>,
    resource: cudaGraphicsResource_t,
    arrayIndex: u32,
    mipLevel: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsSubResourceGetMappedArray_v3000(array.get(), resource, arrayIndex, mipLevel))
}

pub fn cudaGraphicsResourceGetMappedMipmappedArray(
    mipmappedArray: Passed<'_, cudaMipmappedArray_t>,
    resource: cudaGraphicsResource_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsResourceGetMappedMipmappedArray_v5000(mipmappedArray.get(), resource))
}
