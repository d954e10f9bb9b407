//! VDPAU interoperability. What VDPAU has is known to the driver alone.
use warploom_abi::runtime::*;

use super::gl::set_device;
use crate::border::{Out, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

pub fn cudaVDPAUGetDevice(
    device: Out<'_, i32>,
    vdpDevice: VdpDevice,
    vdpGetProcAddress: Passed<'_, VdpGetProcAddress>,
) -> ApiResult {
    context::devices()?;
    let mut found = 0;
    driver!(cuVDPAUGetDevice_v3010(&mut found, vdpDevice, vdpGetProcAddress.get()))?;
    device.required("device")?.set(found);
    Ok(())
}

pub fn cudaVDPAUSetVDPAUDevice(
    device: i32,
    _vdpDevice: VdpDevice,
    vdpGetProcAddress: Passed<'_, VdpGetProcAddress>,
) -> ApiResult {
    match set_device(device, "VDPAU") {
        // NVIDIA's runtime calls it there.
        Err(failure) if failure.code == cudaError::cudaErrorDevicesUnavailable && vdpGetProcAddress.get().is_null() => {
            Err(Failure::invalid_value("vdpGetProcAddress is NULL"))
        }
        answer => answer,
    }
}

pub fn cudaGraphicsVDPAURegisterVideoSurface(
    resource: Passed<'_, cudaGraphicsResource_t>,
    vdpSurface: VdpVideoSurface,
    flags: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsVDPAURegisterVideoSurface_v3010(resource.get(), vdpSurface, flags))
}

pub fn cudaGraphicsVDPAURegisterOutputSurface(
    resource: Passed<'_, cudaGraphicsResource_t>,
    vdpSurface: VdpOutputSurface,
    flags: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsVDPAURegisterOutputSurface_v3010(resource.get(), vdpSurface, flags))
}
