//! Graphics interoperability: resources of OpenGL, EGL and VDPAU. Registering one is always refused (`gl`, `egl`, `vdpau`), so no handle names any.
//! What is looked at in which order is recorded (tests/c/answers/interop.golden).
use warploom_abi::{CUarray, CUdeviceptr, CUdeviceptr_v1, CUgraphicsResource, CUmipmappedArray, CUstream};
use warploom_driver::DriverError;

use crate::border::{ApiResult, DefaultStream, InArray, Out};

/// `CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY` and `CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD`, which exclude each other for what has no texels.
pub(super) fn check_access_flags(flags: u32) -> ApiResult {
    if flags > 2 {
        let reason = format!("flags {flags:#x} is none of NONE, READ_ONLY and WRITE_DISCARD");
        return Err(DriverError::invalid_value(reason));
    }
    Ok(())
}

pub(super) fn unknown(resource: CUgraphicsResource) -> ApiResult {
    let reason = format!("{:#x} is no resource of graphics: none can be registered", resource.0);
    Err(DriverError::invalid_handle(reason))
}

/// Any resource of a list.
fn unknown_of(count: u32, resources: &InArray<'_, CUgraphicsResource>) -> ApiResult {
    if count == 0 {
        return Err(DriverError::invalid_value("count is 0"));
    }
    unknown(resources.at("resources", 0)?)
}

pub(crate) fn cuGraphicsUnregisterResource(resource: CUgraphicsResource) -> ApiResult {
    unknown(resource)
}

pub(crate) fn cuGraphicsSubResourceGetMappedArray(
    _pArray: Out<'_, CUarray>,
    resource: CUgraphicsResource,
    _arrayIndex: u32,
    _mipLevel: u32,
) -> ApiResult {
    unknown(resource)
}

pub(crate) fn cuGraphicsResourceGetMappedMipmappedArray(
    _pMipmappedArray: Out<'_, CUmipmappedArray>,
    resource: CUgraphicsResource,
) -> ApiResult {
    unknown(resource)
}

pub(crate) fn cuGraphicsResourceGetMappedPointer(
    _pDevPtr: Out<'_, CUdeviceptr_v1>,
    _pSize: Out<'_, u32>,
    resource: CUgraphicsResource,
) -> ApiResult {
    unknown(resource)
}

pub(crate) fn cuGraphicsResourceGetMappedPointer_v2(
    _pDevPtr: Out<'_, CUdeviceptr>,
    _pSize: Out<'_, usize>,
    resource: CUgraphicsResource,
) -> ApiResult {
    unknown(resource)
}

pub(crate) fn cuGraphicsResourceSetMapFlags(resource: CUgraphicsResource, _flags: u32) -> ApiResult {
    unknown(resource)
}

pub(crate) fn cuGraphicsResourceSetMapFlags_v2(resource: CUgraphicsResource, _flags: u32) -> ApiResult {
    unknown(resource)
}

pub(crate) fn cuGraphicsMapResources(
    _default: DefaultStream,
    count: u32,
    resources: InArray<'_, CUgraphicsResource>,
    _hStream: CUstream,
) -> ApiResult {
    unknown_of(count, &resources)
}

pub(crate) fn cuGraphicsUnmapResources(
    _default: DefaultStream,
    count: u32,
    resources: InArray<'_, CUgraphicsResource>,
    _hStream: CUstream,
) -> ApiResult {
    unknown_of(count, &resources)
}
