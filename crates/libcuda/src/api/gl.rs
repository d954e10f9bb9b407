//! OpenGL interoperability: refused as a process without a context of OpenGL is, once the arguments are what they may be, as recorded
//! (tests/c/answers/interop.golden).
use warploom_abi::{
    CUGLDeviceList, CUcontext, CUdevice, CUdeviceptr, CUdeviceptr_v1, CUgraphicsResource, CUstream, GLenum, GLuint,
};
use warploom_driver::context::check_flags;
use warploom_driver::{DriverError, ErrorCode};

use super::graphics::check_access_flags;
use crate::border::{ApiResult, DefaultStream, Out, OutArray};
use crate::process::driver;

/// The targets of `cuGraphicsGLRegisterImage` in the manual: `GL_TEXTURE_2D`, `GL_TEXTURE_3D`, `GL_TEXTURE_RECTANGLE`, `GL_TEXTURE_CUBE_MAP`,
/// `GL_TEXTURE_2D_ARRAY`, `GL_RENDERBUFFER` (numbers of OpenGL's registry).
const TARGETS: [GLenum; 6] = [0x0de1, 0x806f, 0x84f5, 0x8513, 0x8c1a, 0x8d41];

/// All bits of `CUgraphicsRegisterFlags`.
const REGISTER_FLAGS: u32 = 0xf;

fn no_context() -> ApiResult {
    let reason = "the calling thread has no context of OpenGL that this device could share";
    Err(DriverError::new(ErrorCode::OperatingSystem, reason))
}

fn not_registered(buffer: GLuint) -> ApiResult {
    driver()?.current()?;
    Err(DriverError::invalid_value(format!("buffer {buffer} of OpenGL is not registered: none can be")))
}

/// Where contexts of the first ABI are asked for, there are none.
fn not_of_first_abi() -> ApiResult {
    driver()?;
    Err(DriverError::new(ErrorCode::InvalidContext, "the current context is not of the first ABI"))
}

pub(crate) fn cuGraphicsGLRegisterBuffer(
    pCudaResource: Out<'_, CUgraphicsResource>,
    buffer: GLuint,
    Flags: u32,
) -> ApiResult {
    driver()?.current()?;
    pCudaResource.required("pCudaResource")?;
    if buffer == 0 {
        return Err(DriverError::invalid_value("0 is no buffer of OpenGL"));
    }
    check_access_flags(Flags)?;
    no_context()
}

pub(crate) fn cuGraphicsGLRegisterImage(
    pCudaResource: Out<'_, CUgraphicsResource>,
    image: GLuint,
    target: GLenum,
    Flags: u32,
) -> ApiResult {
    driver()?.current()?;
    pCudaResource.required("pCudaResource")?;
    if image == 0 {
        return Err(DriverError::invalid_value("0 is no image of OpenGL"));
    }
    if !TARGETS.contains(&target) {
        return Err(DriverError::invalid_value(format!("target {target:#x} is none whose images can be registered")));
    }
    if Flags & !REGISTER_FLAGS != 0 {
        return Err(DriverError::invalid_value(format!("flags {Flags:#x} has unknown bits")));
    }
    no_context()
}

pub(crate) fn cuGLGetDevices(
    pCudaDeviceCount: Out<'_, u32>,
    pCudaDevices: OutArray<'_, CUdevice>,
    cudaDeviceCount: u32,
    deviceList: CUGLDeviceList,
) -> ApiResult {
    cuGLGetDevices_v2(pCudaDeviceCount, pCudaDevices, cudaDeviceCount, deviceList)
}

pub(crate) fn cuGLGetDevices_v2(
    _pCudaDeviceCount: Out<'_, u32>,
    _pCudaDevices: OutArray<'_, CUdevice>,
    _cudaDeviceCount: u32,
    _deviceList: CUGLDeviceList,
) -> ApiResult {
    driver()?;
    no_context()
}

pub(crate) fn cuGLCtxCreate(pCtx: Out<'_, CUcontext>, Flags: u32, device: CUdevice) -> ApiResult {
    cuGLCtxCreate_v2(pCtx, Flags, device)
}

pub(crate) fn cuGLCtxCreate_v2(pCtx: Out<'_, CUcontext>, Flags: u32, device: CUdevice) -> ApiResult {
    pCtx.required("pCtx")?;
    driver()?.device(device)?;
    check_flags(Flags)?;
    no_context()
}

pub(crate) fn cuGLInit() -> ApiResult {
    driver()?.current()?;
    no_context()
}

pub(crate) fn cuGLRegisterBufferObject(_buffer: GLuint) -> ApiResult {
    driver()?.current()?;
    no_context()
}

pub(crate) fn cuGLMapBufferObject(_dptr: Out<'_, CUdeviceptr_v1>, _size: Out<'_, u32>, _buffer: GLuint) -> ApiResult {
    not_of_first_abi()
}

pub(crate) fn cuGLMapBufferObject_v2(
    _default: DefaultStream,
    _dptr: Out<'_, CUdeviceptr>,
    _size: Out<'_, usize>,
    buffer: GLuint,
) -> ApiResult {
    not_registered(buffer)
}

pub(crate) fn cuGLUnmapBufferObject(buffer: GLuint) -> ApiResult {
    not_registered(buffer)
}

pub(crate) fn cuGLUnregisterBufferObject(buffer: GLuint) -> ApiResult {
    not_registered(buffer)
}

pub(crate) fn cuGLSetBufferObjectMapFlags(buffer: GLuint, _Flags: u32) -> ApiResult {
    not_registered(buffer)
}

pub(crate) fn cuGLMapBufferObjectAsync(
    _dptr: Out<'_, CUdeviceptr_v1>,
    _size: Out<'_, u32>,
    _buffer: GLuint,
    _hStream: CUstream,
) -> ApiResult {
    not_of_first_abi()
}

pub(crate) fn cuGLMapBufferObjectAsync_v2(
    _default: DefaultStream,
    _dptr: Out<'_, CUdeviceptr>,
    _size: Out<'_, usize>,
    buffer: GLuint,
    _hStream: CUstream,
) -> ApiResult {
    not_registered(buffer)
}

pub(crate) fn cuGLUnmapBufferObjectAsync(buffer: GLuint, _hStream: CUstream) -> ApiResult {
    not_registered(buffer)
}
