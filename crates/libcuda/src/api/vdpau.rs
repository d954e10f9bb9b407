//! VDPAU interoperability: no device of VDPAU is one of ours, whatever its functions would say, so they are not called.
//! The order of refusals is recorded (tests/c/answers/interop.golden).
use warploom_abi::{CUcontext, CUdevice, CUgraphicsResource, VdpDevice, VdpOutputSurface, VdpVideoSurface};
use warploom_driver::context::check_flags;
use warploom_driver::{DriverError, ErrorCode};

use crate::border::{ApiResult, HostPtr, Out};
use crate::process::driver;

fn foreign(device: VdpDevice) -> ApiResult {
    if device == 0 {
        return Err(DriverError::invalid_value("0 is no device of VDPAU"));
    }
    let reason = format!("device {device} of VDPAU is an engine for video, not one of this driver's devices");
    Err(DriverError::new(ErrorCode::Unknown, reason))
}

fn no_context() -> ApiResult {
    driver()?;
    Err(DriverError::new(ErrorCode::InvalidContext, "no context was made for a device of VDPAU: none can be"))
}

pub(crate) fn cuVDPAUGetDevice(
    _pDevice: Out<'_, CUdevice>,
    vdpDevice: VdpDevice,
    vdpGetProcAddress: HostPtr,
) -> ApiResult {
    driver()?;
    vdpGetProcAddress.required("vdpGetProcAddress")?;
    foreign(vdpDevice)
}

/// As `cuCtxCreate` of the first ABI.
pub(crate) fn cuVDPAUCtxCreate(
    pCtx: Out<'_, CUcontext>,
    flags: u32,
    device: CUdevice,
    _vdpDevice: VdpDevice,
    vdpGetProcAddress: HostPtr,
) -> ApiResult {
    super::context::cuCtxCreate(pCtx, flags, device)?;
    vdpGetProcAddress.required("vdpGetProcAddress").map(drop)
}

pub(crate) fn cuVDPAUCtxCreate_v2(
    pCtx: Out<'_, CUcontext>,
    flags: u32,
    device: CUdevice,
    vdpDevice: VdpDevice,
    vdpGetProcAddress: HostPtr,
) -> ApiResult {
    pCtx.required("pCtx")?;
    driver()?.device(device)?;
    check_flags(flags)?;
    vdpGetProcAddress.required("vdpGetProcAddress")?;
    foreign(vdpDevice)
}

pub(crate) fn cuGraphicsVDPAURegisterVideoSurface(
    _pCudaResource: Out<'_, CUgraphicsResource>,
    _vdpSurface: VdpVideoSurface,
    _flags: u32,
) -> ApiResult {
    no_context()
}

pub(crate) fn cuGraphicsVDPAURegisterOutputSurface(
    _pCudaResource: Out<'_, CUgraphicsResource>,
    _vdpSurface: VdpOutputSurface,
    _flags: u32,
) -> ApiResult {
    no_context()
}
