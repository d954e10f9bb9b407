//! EGL interoperability: no display of EGL has images or streams that a CPU device could take, so that nothing is ever connected.
//! The order of refusals is recorded (tests/c/answers/interop.golden).
use warploom_abi::{CUeglFrame, CUeglStreamConnection, CUgraphicsResource, CUstream, EGLint};
use warploom_driver::{DriverError, ErrorCode};

use super::graphics::{check_access_flags, unknown};
use crate::border::{ApiResult, HostAddress, In, Out};
use crate::process::driver;

/// The largest of `CUeglResourceLocationFlags`: system memory and video memory.
const LAST_LOCATION: u32 = 1;

fn foreign(what: &str) -> ApiResult {
    let reason = format!("{what} belongs to no display of EGL that shares memory with this device");
    Err(DriverError::new(ErrorCode::Unknown, reason))
}

fn connect(connection: Out<'_, CUeglStreamConnection>, stream: HostAddress) -> ApiResult {
    driver()?;
    if stream.0 == 0 {
        return Err(DriverError::invalid_handle("the stream of EGL is NULL"));
    }
    connection.required("conn")?;
    foreign("the stream")
}

fn not_connected() -> ApiResult {
    Err(DriverError::invalid_handle("conn is no connection to a stream of EGL: none can be made"))
}

pub(crate) fn cuGraphicsEGLRegisterImage(
    pCudaResource: Out<'_, CUgraphicsResource>,
    _image: HostAddress,
    flags: u32,
) -> ApiResult {
    driver()?.current()?;
    pCudaResource.required("pCudaResource")?;
    check_access_flags(flags)?;
    foreign("the image")
}

pub(crate) fn cuEGLStreamConsumerConnect(conn: Out<'_, CUeglStreamConnection>, stream: HostAddress) -> ApiResult {
    connect(conn, stream)
}

pub(crate) fn cuEGLStreamConsumerConnectWithFlags(
    conn: Out<'_, CUeglStreamConnection>,
    stream: HostAddress,
    flags: u32,
) -> ApiResult {
    if stream.0 != 0 && flags > LAST_LOCATION {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} is no place of resources")));
    }
    connect(conn, stream)
}

pub(crate) fn cuEGLStreamConsumerDisconnect(_conn: In<'_, CUeglStreamConnection>) -> ApiResult {
    not_connected()
}

pub(crate) fn cuEGLStreamConsumerAcquireFrame(
    _conn: In<'_, CUeglStreamConnection>,
    _pCudaResource: Out<'_, CUgraphicsResource>,
    _pStream: In<'_, CUstream>,
    _timeout: u32,
) -> ApiResult {
    not_connected()
}

pub(crate) fn cuEGLStreamConsumerReleaseFrame(
    _conn: In<'_, CUeglStreamConnection>,
    _pCudaResource: CUgraphicsResource,
    _pStream: Out<'_, CUstream>,
) -> ApiResult {
    not_connected()
}

pub(crate) fn cuEGLStreamProducerConnect(
    conn: Out<'_, CUeglStreamConnection>,
    stream: HostAddress,
    _width: EGLint,
    _height: EGLint,
) -> ApiResult {
    connect(conn, stream)
}

pub(crate) fn cuEGLStreamProducerDisconnect(_conn: In<'_, CUeglStreamConnection>) -> ApiResult {
    not_connected()
}

pub(crate) fn cuEGLStreamProducerPresentFrame(
    _conn: In<'_, CUeglStreamConnection>,
    _eglframe: CUeglFrame,
    _pStream: In<'_, CUstream>,
) -> ApiResult {
    not_connected()
}

pub(crate) fn cuEGLStreamProducerReturnFrame(
    _conn: In<'_, CUeglStreamConnection>,
    _eglframe: Out<'_, CUeglFrame>,
    _pStream: In<'_, CUstream>,
) -> ApiResult {
    not_connected()
}

pub(crate) fn cuGraphicsResourceGetMappedEglFrame(
    _eglFrame: Out<'_, CUeglFrame>,
    resource: CUgraphicsResource,
    _index: u32,
    _mipLevel: u32,
) -> ApiResult {
    unknown(resource)
}
