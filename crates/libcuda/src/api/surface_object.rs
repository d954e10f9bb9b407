//! Surface objects.
use warploom_abi::{CUDA_RESOURCE_DESC, CUsurfObject};
use warploom_driver::Handle;

use crate::border::members::{resource, resource_description};
use crate::border::{ApiResult, In, Out};
use crate::process::driver;

fn handle(object: CUsurfObject) -> Handle {
    Handle::from_raw(usize::try_from(object).unwrap_or(0))
}

pub(crate) fn cuSurfObjectCreate(
    pSurfObject: Out<'_, CUsurfObject>,
    pResDesc: In<'_, CUDA_RESOURCE_DESC>,
) -> ApiResult {
    let place = pSurfObject.required("pSurfObject")?;
    let resource = resource(&pResDesc.get("pResDesc")?)?;
    place.set(driver()?.create_surface(resource)?.raw() as CUsurfObject);
    Ok(())
}

pub(crate) fn cuSurfObjectDestroy(surfObject: CUsurfObject) -> ApiResult {
    // As recorded, there is no object 0, and to destroy it is no mistake.
    if surfObject == 0 {
        return driver()?.current().map(|_| ());
    }
    driver()?.destroy_surface(handle(surfObject))
}

pub(crate) fn cuSurfObjectGetResourceDesc(
    pResDesc: Out<'_, CUDA_RESOURCE_DESC>,
    surfObject: CUsurfObject,
) -> ApiResult {
    let place = pResDesc.required("pResDesc")?;
    place.set(resource_description(&driver()?.surface(handle(surfObject))?));
    Ok(())
}
