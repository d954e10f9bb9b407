//! OpenGL interoperability. What OpenGL has is known to the driver alone.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUGLDeviceList, CUgraphicsResource, CUstream};

use crate::border::Passed;
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// All flags that resources of graphics interfaces are registered with (`cudaGraphicsRegisterFlags`).
const REGISTER_FLAGS: u32 = 0xf;

/// What is wrong whatever the object is.
fn check(resource: &Passed<'_, CUgraphicsResource>, flags: u32) -> ApiResult {
    if resource.get().is_null() {
        return Err(Failure::invalid_value("resource is NULL"));
    }
    if flags & !REGISTER_FLAGS != 0 {
        return Err(Failure::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    context::ensure()
}

pub fn cudaGLGetDevices(
    pCudaDeviceCount: Passed<'_, u32>,
    pCudaDevices: Passed<'_, i32>,
    cudaDeviceCount: u32,
    deviceList: cudaGLDeviceList,
) -> ApiResult {
    if !(1..=3).contains(&deviceList.0) {
        return Err(Failure::invalid_value(format!("{} is no list of devices", deviceList.0)));
    }
    context::devices()?;
    let (count, devices) = (pCudaDeviceCount.get(), pCudaDevices.cast());
    driver!(cuGLGetDevices_v6050(count, devices, cudaDeviceCount, CUGLDeviceList(deviceList.0)))
}

pub fn cudaGraphicsGLRegisterImage(
    resource: Passed<'_, cudaGraphicsResource_t>,
    image: GLuint,
    target: GLenum,
    flags: u32,
) -> ApiResult {
    check(&resource, flags)?;
    driver!(cuGraphicsGLRegisterImage_v3000(resource.get(), image, target, flags))
}

pub fn cudaGraphicsGLRegisterBuffer(
    resource: Passed<'_, cudaGraphicsResource_t>,
    buffer: GLuint,
    flags: u32,
) -> ApiResult {
    check(&resource, flags)?;
    driver!(cuGraphicsGLRegisterBuffer_v3000(resource.get(), buffer, flags))
}

/// Lets a device work for another interface, which would have to be done before it works at all.
pub(super) fn set_device(device: i32, interface: &str) -> ApiResult {
    context::device(device)?;
    if context::current()? != warploom_abi::CUcontext::NULL {
        let reason = "the thread's device is in use already";
        return Err(Failure::new(cudaError::cudaErrorSetOnActiveProcess, reason));
    }
    let reason = format!("device {device} does not work for {interface}");
    Err(Failure::new(cudaError::cudaErrorDevicesUnavailable, reason))
}

pub fn cudaGLSetGLDevice(device: i32) -> ApiResult {
    set_device(device, "OpenGL")
}

pub fn cudaGLRegisterBufferObject(bufObj: GLuint) -> ApiResult {
    context::ensure()?;
    driver!(cuGLRegisterBufferObject_v2000(bufObj))
}

pub fn cudaGLMapBufferObject(devPtr: Passed<'_, *mut c_void>, bufObj: GLuint) -> ApiResult {
    context::ensure()?;
    let mut size = 0;
    driver!(cuGLMapBufferObject_v3020(devPtr.cast(), &mut size, bufObj))
}

pub fn cudaGLUnmapBufferObject(bufObj: GLuint) -> ApiResult {
    context::ensure()?;
    driver!(cuGLUnmapBufferObject_v2000(bufObj))
}

pub fn cudaGLUnregisterBufferObject(bufObj: GLuint) -> ApiResult {
    context::ensure()?;
    // As recorded, whether there is OpenGL comes before whether there is the buffer.
    let (mut count, all) = (0, CUGLDeviceList::CU_GL_DEVICE_LIST_ALL);
    driver!(cuGLGetDevices_v6050(&mut count, std::ptr::null_mut(), 0, all))?;
    driver!(cuGLUnregisterBufferObject_v2000(bufObj))
}

pub fn cudaGLSetBufferObjectMapFlags(bufObj: GLuint, flags: u32) -> ApiResult {
    context::ensure()?;
    driver!(cuGLSetBufferObjectMapFlags_v2030(bufObj, flags))
}

pub fn cudaGLMapBufferObjectAsync(devPtr: Passed<'_, *mut c_void>, bufObj: GLuint, stream: CUstream) -> ApiResult {
    context::ensure()?;
    let mut size = 0;
    driver!(cuGLMapBufferObjectAsync_v3020(devPtr.cast(), &mut size, bufObj, stream))
}

pub fn cudaGLUnmapBufferObjectAsync(bufObj: GLuint, stream: CUstream) -> ApiResult {
    context::ensure()?;
    driver!(cuGLUnmapBufferObjectAsync_v2030(bufObj, stream))
}
