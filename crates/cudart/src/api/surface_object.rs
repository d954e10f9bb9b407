//! Surface object management.
use warploom_abi::CUDA_RESOURCE_DESC;
use warploom_abi::runtime::*;

use super::texture_object::{resource, tell_resource};
use crate::border::{In, Out};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaCreateSurfaceObject(
    pSurfObject: Out<'_, cudaSurfaceObject_t>,
    pResDesc: In<'_, cudaResourceDesc>,
) -> ApiResult {
    let place = pSurfObject.required("pSurfObject")?;
    let resource = resource(&pResDesc)?;
    context::ensure()?;
    let mut object = 0;
    driver!(cuSurfObjectCreate_v5000(&mut object, &resource))?;
    place.set(object);
    Ok(())
}

pub fn cudaDestroySurfaceObject(surfObject: cudaSurfaceObject_t) -> ApiResult {
    context::ensure()?;
    driver!(cuSurfObjectDestroy_v5000(surfObject))
}

pub fn cudaGetSurfaceObjectResourceDesc(
    pResDesc: Out<'_, cudaResourceDesc>,
    surfObject: cudaSurfaceObject_t,
) -> ApiResult {
    let place = pResDesc.required("pResDesc")?;
    context::ensure()?;
    let mut resource = CUDA_RESOURCE_DESC::default();
    driver!(cuSurfObjectGetResourceDesc_v5000(&mut resource, surfObject))?;
    tell_resource(place, &resource)
}
