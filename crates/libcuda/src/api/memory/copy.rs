//! Copies.
use warploom_abi::{
    CUDA_MEMCPY2D_v2, CUDA_MEMCPY3D_PEER, CUDA_MEMCPY3D_v2, CUarray, CUcontext, CUdeviceptr, CUmemorytype, CUstream,
};
use warploom_driver::memory::{Box3, CopyPlace, CopySide, SourceOrder, Transfer};
use warploom_driver::stream::StreamName;
use warploom_driver::{DriverError, DriverResult, Handle};

use super::super::stream::{default_stream, named};
use crate::border::{ApiResult, DefaultStream, HostPtr, In, callers_memory};
use crate::process::driver;

const HOST: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_HOST;

/// Whether a call comes back when the copy is done.
#[derive(Clone, Copy)]
enum When {
    Now(StreamName),
    Later(StreamName),
}

fn transfer(transfer: &Transfer, when: When) -> ApiResult {
    let driver = driver()?;
    match when {
        When::Now(stream) => driver.copy(transfer, stream, callers_memory()),
        When::Later(stream) => driver.copy_async(transfer, stream, SourceOrder::Stream, callers_memory()),
    }
}

/// Copies a run of bytes.
fn line(dst: CopyPlace, src: CopyPlace, bytes: usize, when: When) -> ApiResult {
    let size = Box3::line(bytes as u64);
    transfer(&Transfer { dst: CopySide::line(dst), src: CopySide::line(src), size }, when)
}

fn host(pointer: HostPtr) -> CopyPlace {
    CopyPlace::Host(pointer.addr() as u64)
}

/// A side that starts at a byte of an array of one dimension.
fn array_line(array: CUarray, offset: usize) -> DriverResult<CopySide> {
    let place = CopyPlace::Array(driver()?.array(Handle::from_raw(array.0))?);
    Ok(CopySide { place, origin: [offset as u64, 0, 0], pitch: 0, height: 0 })
}

fn sides(dst: CopySide, src: CopySide, bytes: usize, when: When) -> ApiResult {
    transfer(&Transfer { dst, src, size: Box3::line(bytes as u64) }, when)
}

pub(crate) fn cuMemcpy(default: DefaultStream, dst: CUdeviceptr, src: CUdeviceptr, ByteCount: usize) -> ApiResult {
    line(CopyPlace::Unified(dst), CopyPlace::Unified(src), ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyAsync(
    default: DefaultStream,
    dst: CUdeviceptr,
    src: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> ApiResult {
    line(CopyPlace::Unified(dst), CopyPlace::Unified(src), ByteCount, When::Later(named(hStream, default)))
}

/// A copy from one context to another.
fn between(transfer: &Transfer, dst: CUcontext, src: CUcontext, when: When) -> ApiResult {
    let driver = driver()?;
    let contexts = [dst, src].map(|context| Handle::from_raw(context.0));
    match when {
        When::Now(stream) => driver.copy_between(transfer, contexts, stream, callers_memory()),
        When::Later(stream) => driver.copy_between_async(transfer, contexts, stream, callers_memory()),
    }
}

fn peer_line(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) -> Transfer {
    let [dst, src] = [dst, src].map(|address| CopySide::line(CopyPlace::Device(address)));
    Transfer { dst, src, size: Box3::line(bytes as u64) }
}

pub(crate) fn cuMemcpyPeer(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    dstContext: CUcontext,
    srcDevice: CUdeviceptr,
    srcContext: CUcontext,
    ByteCount: usize,
) -> ApiResult {
    let transfer = peer_line(dstDevice, srcDevice, ByteCount);
    between(&transfer, dstContext, srcContext, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyPeerAsync(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    dstContext: CUcontext,
    srcDevice: CUdeviceptr,
    srcContext: CUcontext,
    ByteCount: usize,
    hStream: CUstream,
) -> ApiResult {
    let transfer = peer_line(dstDevice, srcDevice, ByteCount);
    between(&transfer, dstContext, srcContext, When::Later(named(hStream, default)))
}

pub(crate) fn cuMemcpyHtoD_v2(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    srcHost: HostPtr,
    ByteCount: usize,
) -> ApiResult {
    line(CopyPlace::Device(dstDevice), host(srcHost), ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyDtoH_v2(
    default: DefaultStream,
    dstHost: HostPtr,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> ApiResult {
    line(host(dstHost), CopyPlace::Device(srcDevice), ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyDtoD_v2(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> ApiResult {
    line(CopyPlace::Device(dstDevice), CopyPlace::Device(srcDevice), ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyHtoDAsync_v2(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    srcHost: HostPtr,
    ByteCount: usize,
    hStream: CUstream,
) -> ApiResult {
    line(CopyPlace::Device(dstDevice), host(srcHost), ByteCount, When::Later(named(hStream, default)))
}

pub(crate) fn cuMemcpyDtoHAsync_v2(
    default: DefaultStream,
    dstHost: HostPtr,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> ApiResult {
    line(host(dstHost), CopyPlace::Device(srcDevice), ByteCount, When::Later(named(hStream, default)))
}

pub(crate) fn cuMemcpyDtoDAsync_v2(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
    hStream: CUstream,
) -> ApiResult {
    line(CopyPlace::Device(dstDevice), CopyPlace::Device(srcDevice), ByteCount, When::Later(named(hStream, default)))
}

/// A copy of no bytes to or from an array: the array is not looked at.
fn nothing(stream: StreamName) -> ApiResult {
    driver()?.stream(stream).map(|_| ())
}

pub(crate) fn cuMemcpyDtoA_v2(
    default: DefaultStream,
    dstArray: CUarray,
    dstOffset: usize,
    srcDevice: CUdeviceptr,
    ByteCount: usize,
) -> ApiResult {
    if ByteCount == 0 {
        return nothing(default_stream(default));
    }
    let dst = array_line(dstArray, dstOffset)?;
    sides(dst, CopySide::line(CopyPlace::Device(srcDevice)), ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyAtoD_v2(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> ApiResult {
    if ByteCount == 0 {
        return nothing(default_stream(default));
    }
    let src = array_line(srcArray, srcOffset)?;
    sides(CopySide::line(CopyPlace::Device(dstDevice)), src, ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyHtoA_v2(
    default: DefaultStream,
    dstArray: CUarray,
    dstOffset: usize,
    srcHost: HostPtr,
    ByteCount: usize,
) -> ApiResult {
    if ByteCount == 0 {
        return nothing(default_stream(default));
    }
    let dst = array_line(dstArray, dstOffset)?;
    sides(dst, CopySide::line(host(srcHost)), ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyAtoH_v2(
    default: DefaultStream,
    dstHost: HostPtr,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> ApiResult {
    if ByteCount == 0 {
        return nothing(default_stream(default));
    }
    let src = array_line(srcArray, srcOffset)?;
    sides(CopySide::line(host(dstHost)), src, ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyAtoA_v2(
    default: DefaultStream,
    dstArray: CUarray,
    dstOffset: usize,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
) -> ApiResult {
    if ByteCount == 0 {
        return nothing(default_stream(default));
    }
    let (dst, src) = (array_line(dstArray, dstOffset)?, array_line(srcArray, srcOffset)?);
    sides(dst, src, ByteCount, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpyHtoAAsync_v2(
    default: DefaultStream,
    dstArray: CUarray,
    dstOffset: usize,
    srcHost: HostPtr,
    ByteCount: usize,
    hStream: CUstream,
) -> ApiResult {
    if ByteCount == 0 {
        return nothing(named(hStream, default));
    }
    let dst = array_line(dstArray, dstOffset)?;
    sides(dst, CopySide::line(host(srcHost)), ByteCount, When::Later(named(hStream, default)))
}

pub(crate) fn cuMemcpyAtoHAsync_v2(
    default: DefaultStream,
    dstHost: HostPtr,
    srcArray: CUarray,
    srcOffset: usize,
    ByteCount: usize,
    hStream: CUstream,
) -> ApiResult {
    if ByteCount == 0 {
        return nothing(named(hStream, default));
    }
    let src = array_line(srcArray, srcOffset)?;
    sides(CopySide::line(host(dstHost)), src, ByteCount, When::Later(named(hStream, default)))
}

/// The place that the members of a copy structure name.
fn place(kind: CUmemorytype, host: usize, device: CUdeviceptr, array: CUarray) -> DriverResult<CopyPlace> {
    Ok(match kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => CopyPlace::Host(host as u64),
        CUmemorytype::CU_MEMORYTYPE_DEVICE => CopyPlace::Device(device),
        CUmemorytype::CU_MEMORYTYPE_UNIFIED => CopyPlace::Unified(device),
        CUmemorytype::CU_MEMORYTYPE_ARRAY if array == CUarray::NULL => {
            return Err(DriverError::invalid_value("an array to copy from or to is NULL"));
        }
        CUmemorytype::CU_MEMORYTYPE_ARRAY => CopyPlace::Array(driver()?.array(Handle::from_raw(array.0))?),
        _ => return Err(DriverError::invalid_value(format!("{} is no kind of memory", kind.0))),
    })
}

/// A copy of two dimensions. One of nothing succeeds, whatever it is told.
fn rectangle(copy: &CUDA_MEMCPY2D_v2) -> DriverResult<Transfer> {
    let empty = copy.WidthInBytes == 0 || copy.Height == 0;
    let kind = |kind| if empty { HOST } else { kind };
    let src = place(kind(copy.srcMemoryType), copy.srcHost as usize, copy.srcDevice, copy.srcArray)?;
    let dst = place(kind(copy.dstMemoryType), copy.dstHost as usize, copy.dstDevice, copy.dstArray)?;
    let side = |place, x, y, pitch| CopySide { place, origin: [x as u64, y as u64, 0], pitch: pitch as u64, height: 0 };
    Ok(Transfer {
        dst: side(dst, copy.dstXInBytes, copy.dstY, copy.dstPitch),
        src: side(src, copy.srcXInBytes, copy.srcY, copy.srcPitch),
        size: Box3 { width: copy.WidthInBytes as u64, height: copy.Height as u64, depth: 1 },
    })
}

pub(crate) fn cuMemcpy2D_v2(default: DefaultStream, pCopy: In<'_, CUDA_MEMCPY2D_v2>) -> ApiResult {
    transfer(&rectangle(&pCopy.get("pCopy")?)?, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpy2DUnaligned_v2(default: DefaultStream, pCopy: In<'_, CUDA_MEMCPY2D_v2>) -> ApiResult {
    cuMemcpy2D_v2(default, pCopy)
}

pub(crate) fn cuMemcpy2DAsync_v2(
    default: DefaultStream,
    pCopy: In<'_, CUDA_MEMCPY2D_v2>,
    hStream: CUstream,
) -> ApiResult {
    transfer(&rectangle(&pCopy.get("pCopy")?)?, When::Later(named(hStream, default)))
}

/// A copy of three dimensions, which need not be of anything: a copy of nothing succeeds, whatever it is told.
fn cuboid_or_nothing(copy: &CUDA_MEMCPY3D_v2) -> DriverResult<Transfer> {
    let empty = copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
    if empty { cuboid(&CUDA_MEMCPY3D_v2 { srcMemoryType: HOST, dstMemoryType: HOST, ..*copy }) } else { cuboid(copy) }
}

/// The reserved members are of no account, as recorded, nor is a level of detail of what is no array.
pub(in crate::api) fn cuboid(copy: &CUDA_MEMCPY3D_v2) -> DriverResult<Transfer> {
    let src = place(copy.srcMemoryType, copy.srcHost as usize, copy.srcDevice, copy.srcArray)?;
    let dst = place(copy.dstMemoryType, copy.dstHost as usize, copy.dstDevice, copy.dstArray)?;
    for (place, level) in [(&src, copy.srcLOD), (&dst, copy.dstLOD)] {
        if matches!(place, CopyPlace::Array(_)) && level != 0 {
            return Err(DriverError::invalid_value(format!("level {level} of an array, which has one")));
        }
    }
    let side = |place, origin: [usize; 3], pitch, height| CopySide {
        place,
        origin: origin.map(|offset| offset as u64),
        pitch: pitch as u64,
        height: height as u64,
    };
    Ok(Transfer {
        dst: side(dst, [copy.dstXInBytes, copy.dstY, copy.dstZ], copy.dstPitch, copy.dstHeight),
        src: side(src, [copy.srcXInBytes, copy.srcY, copy.srcZ], copy.srcPitch, copy.srcHeight),
        size: Box3 { width: copy.WidthInBytes as u64, height: copy.Height as u64, depth: copy.Depth as u64 },
    })
}

/// The members of a copy structure that name a place.
fn named_place(place: &CopyPlace) -> (CUmemorytype, usize, CUdeviceptr, CUarray) {
    match place {
        CopyPlace::Host(address) => (CUmemorytype::CU_MEMORYTYPE_HOST, *address as usize, 0, CUarray::NULL),
        CopyPlace::Device(address) => (CUmemorytype::CU_MEMORYTYPE_DEVICE, 0, *address, CUarray::NULL),
        CopyPlace::Unified(address) => (CUmemorytype::CU_MEMORYTYPE_UNIFIED, 0, *address, CUarray::NULL),
        CopyPlace::Array(array) => (CUmemorytype::CU_MEMORYTYPE_ARRAY, 0, 0, CUarray(array.handle().raw())),
    }
}

/// The structure that describes a copy.
pub(in crate::api) fn described(transfer: &Transfer) -> CUDA_MEMCPY3D_v2 {
    let (src, dst) = (&transfer.src, &transfer.dst);
    let (srcMemoryType, srcHost, srcDevice, srcArray) = named_place(&src.place);
    let (dstMemoryType, dstHost, dstDevice, dstArray) = named_place(&dst.place);
    CUDA_MEMCPY3D_v2 {
        srcXInBytes: src.origin[0] as usize,
        srcY: src.origin[1] as usize,
        srcZ: src.origin[2] as usize,
        srcMemoryType,
        srcHost: std::ptr::with_exposed_provenance(srcHost),
        srcDevice,
        srcArray,
        srcPitch: src.pitch as usize,
        srcHeight: src.height as usize,
        dstXInBytes: dst.origin[0] as usize,
        dstY: dst.origin[1] as usize,
        dstZ: dst.origin[2] as usize,
        dstMemoryType,
        dstHost: std::ptr::with_exposed_provenance_mut(dstHost),
        dstDevice,
        dstArray,
        dstPitch: dst.pitch as usize,
        dstHeight: dst.height as usize,
        WidthInBytes: transfer.size.width as usize,
        Height: transfer.size.height as usize,
        Depth: transfer.size.depth as usize,
        ..CUDA_MEMCPY3D_v2::default()
    }
}

pub(crate) fn cuMemcpy3D_v2(default: DefaultStream, pCopy: In<'_, CUDA_MEMCPY3D_v2>) -> ApiResult {
    transfer(&cuboid_or_nothing(&pCopy.get("pCopy")?)?, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpy3DAsync_v2(
    default: DefaultStream,
    pCopy: In<'_, CUDA_MEMCPY3D_v2>,
    hStream: CUstream,
) -> ApiResult {
    transfer(&cuboid_or_nothing(&pCopy.get("pCopy")?)?, When::Later(named(hStream, default)))
}

/// As [`cuboid`], between contexts.
fn peer_cuboid(copy: &CUDA_MEMCPY3D_PEER) -> DriverResult<Transfer> {
    cuboid_or_nothing(&CUDA_MEMCPY3D_v2 {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcZ: copy.srcZ,
        srcMemoryType: copy.srcMemoryType,
        srcHost: copy.srcHost,
        srcDevice: copy.srcDevice,
        srcArray: copy.srcArray,
        srcPitch: copy.srcPitch,
        srcHeight: copy.srcHeight,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstZ: copy.dstZ,
        dstMemoryType: copy.dstMemoryType,
        dstHost: copy.dstHost,
        dstDevice: copy.dstDevice,
        dstArray: copy.dstArray,
        dstPitch: copy.dstPitch,
        dstHeight: copy.dstHeight,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: copy.Depth,
        ..CUDA_MEMCPY3D_v2::default()
    })
}

pub(crate) fn cuMemcpy3DPeer(default: DefaultStream, pCopy: In<'_, CUDA_MEMCPY3D_PEER>) -> ApiResult {
    let copy = pCopy.get("pCopy")?;
    between(&peer_cuboid(&copy)?, copy.dstContext, copy.srcContext, When::Now(default_stream(default)))
}

pub(crate) fn cuMemcpy3DPeerAsync(
    default: DefaultStream,
    pCopy: In<'_, CUDA_MEMCPY3D_PEER>,
    hStream: CUstream,
) -> ApiResult {
    let copy = pCopy.get("pCopy")?;
    between(&peer_cuboid(&copy)?, copy.dstContext, copy.srcContext, When::Later(named(hStream, default)))
}
