//! EGL interoperability. What EGL has is known to the driver alone; frames are described otherwise there.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUeglColorFormat, CUeglFrame, CUeglFrame_v1_frame, CUeglFrameType, CUgraphicsResource, CUstream};

use super::array::{channel_format, driver_format};
use crate::border::{Out, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

type FrameType = cudaEglFrameType;

pub fn cudaGraphicsEGLRegisterImage(
    pCudaResource: Passed<'_, cudaGraphicsResource_t>,
    image: Passed<'_, c_void>,
    flags: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuGraphicsEGLRegisterImage_v7000(pCudaResource.get(), image.get(), flags))
}

pub fn cudaEGLStreamConsumerConnect(
    conn: Passed<'_, cudaEglStreamConnection>,
    eglStream: Passed<'_, c_void>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuEGLStreamConsumerConnect_v7000(conn.get(), eglStream.get()))
}

pub fn cudaEGLStreamConsumerConnectWithFlags(
    conn: Passed<'_, cudaEglStreamConnection>,
    eglStream: Passed<'_, c_void>,
    flags: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuEGLStreamConsumerConnectWithFlags_v8000(conn.get(), eglStream.get(), flags))
}

pub fn cudaEGLStreamConsumerDisconnect(conn: Passed<'_, cudaEglStreamConnection>) -> ApiResult {
    context::ensure()?;
    driver!(cuEGLStreamConsumerDisconnect_v7000(conn.get()))
}

pub fn cudaEGLStreamConsumerAcquireFrame(
    conn: Passed<'_, cudaEglStreamConnection>,
    pCudaResource: Passed<'_, CUgraphicsResource>,
    pStream: Passed<'_, CUstream>,
    timeout: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuEGLStreamConsumerAcquireFrame_v7000(conn.get(), pCudaResource.get(), pStream.get(), timeout))
}

pub fn cudaEGLStreamConsumerReleaseFrame(
    conn: Passed<'_, cudaEglStreamConnection>,
    pCudaResource: CUgraphicsResource,
    pStream: Passed<'_, CUstream>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuEGLStreamConsumerReleaseFrame_v7000(conn.get(), pCudaResource, pStream.get()))
}

pub fn cudaEGLStreamProducerConnect(
    conn: Passed<'_, cudaEglStreamConnection>,
    eglStream: Passed<'_, c_void>,
    width: EGLint,
    height: EGLint,
) -> ApiResult {
    context::ensure()?;
    driver!(cuEGLStreamProducerConnect_v7000(conn.get(), eglStream.get(), width, height))
}

pub fn cudaEGLStreamProducerDisconnect(conn: Passed<'_, cudaEglStreamConnection>) -> ApiResult {
    context::ensure()?;
    driver!(cuEGLStreamProducerDisconnect_v7000(conn.get()))
}

/// What the driver makes of a frame: it describes the first plane, and knows those that its colour format has besides.
fn driver_frame(frame: &cudaEglFrame) -> ApiResult<CUeglFrame> {
    let plane = &frame.planeDesc[0];
    let (cuFormat, numChannels) = driver_format(&plane.channelDesc)?;
    let (mut of_planes, mut pitch) = (CUeglFrame_v1_frame::default(), plane.pitch);
    // SAFETY: all members of the union are addresses and numbers, valid for all bits.
    unsafe {
        if frame.frameType == FrameType::cudaEglFrameTypeArray {
            of_planes.pArray = frame.frame.pArray;
        } else {
            of_planes.pPitch = frame.frame.pPitch.map(|plane| plane.ptr);
            pitch = u32::try_from(frame.frame.pPitch[0].pitch)
                .map_err(|_| Failure::invalid_value("the rows of a plane are over 4 GiB apart"))?;
        }
    }
    Ok(CUeglFrame {
        frame: of_planes,
        width: plane.width,
        height: plane.height,
        depth: plane.depth,
        pitch,
        planeCount: frame.planeCount,
        numChannels,
        frameType: CUeglFrameType(frame.frameType.0),
        eglColorFormat: CUeglColorFormat(frame.eglColorFormat.0),
        cuFormat,
    })
}

/// A frame of one plane as it is described here.
///
/// # Errors
/// `cudaErrorNotSupported` for more planes: the driver does not say how large the others are.
fn runtime_frame(frame: &CUeglFrame) -> ApiResult<cudaEglFrame> {
    if frame.planeCount != 1 {
        let reason = format!("a frame of {} planes is not described", frame.planeCount);
        return Err(Failure::new(cudaError::cudaErrorNotSupported, reason));
    }
    let mut described = cudaEglFrame {
        planeCount: 1,
        frameType: cudaEglFrameType(frame.frameType.0),
        eglColorFormat: cudaEglColorFormat(frame.eglColorFormat.0),
        ..Default::default()
    };
    described.planeDesc[0] = cudaEglPlaneDesc {
        width: frame.width,
        height: frame.height,
        depth: frame.depth,
        pitch: frame.pitch,
        numChannels: frame.numChannels,
        channelDesc: channel_format(frame.cuFormat, frame.numChannels)?,
        ..Default::default()
    };
    // SAFETY: all members of the unions are addresses and numbers, valid for all bits.
    unsafe {
        if described.frameType == FrameType::cudaEglFrameTypeArray {
            described.frame.pArray[0] = frame.frame.pArray[0];
        } else {
            let (ptr, pitch) = (frame.frame.pPitch[0], frame.pitch as usize);
            let (xsize, ysize) = (frame.width as usize, frame.height as usize);
            described.frame.pPitch[0] = cudaPitchedPtr { ptr, pitch, xsize, ysize };
        }
    }
    Ok(described)
}

pub fn cudaEGLStreamProducerPresentFrame(
    conn: Passed<'_, cudaEglStreamConnection>,
    eglframe: cudaEglFrame,
    pStream: Passed<'_, CUstream>,
) -> ApiResult {
    let frame = driver_frame(&eglframe)?;
    context::ensure()?;
    driver!(cuEGLStreamProducerPresentFrame_v7000(conn.get(), frame, pStream.get()))
}

pub fn cudaEGLStreamProducerReturnFrame(
    conn: Passed<'_, cudaEglStreamConnection>,
    eglframe: Out<'_, cudaEglFrame>,
    pStream: Passed<'_, CUstream>,
) -> ApiResult {
    context::ensure()?;
    let mut frame = CUeglFrame::default();
    driver!(cuEGLStreamProducerReturnFrame_v7000(conn.get(), &mut frame, pStream.get()))?;
    eglframe.required("eglframe")?.set(runtime_frame(&frame)?);
    Ok(())
}

pub fn cudaGraphicsResourceGetMappedEglFrame(
    eglFrame: Out<'_, cudaEglFrame>,
    resource: CUgraphicsResource,
    index: u32,
    mipLevel: u32,
) -> ApiResult {
    context::ensure()?;
    let mut frame = CUeglFrame::default();
    driver!(cuGraphicsResourceGetMappedEglFrame_v7000(&mut frame, resource, index, mipLevel))?;
    eglFrame.required("eglFrame")?.set(runtime_frame(&frame)?);
    Ok(())
}

/// As recorded, this is no error to remember.
pub fn cudaEventCreateFromEGLSync(
    _phEvent: Passed<'_, cudaEvent_t>,
    _eglSync: Passed<'_, c_void>,
    _flags: u32,
) -> ApiResult {
    let reason = "events of EGL are there on devices with Tegra alone";
    Err(Failure { remembered: false, ..Failure::new(cudaError::cudaErrorNotSupported, reason) })
}
