//! Memory management: copies of boxes, between linear memory and arrays.
use warploom_abi::runtime::*;
use warploom_abi::{
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUarray_format, CUmemorytype, CUstream,
};

use super::array::block_bytes;
use super::memory_copy::{Way, either};
use crate::border::{DefaultStream, In};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// One side of a copy, in the driver's terms.
struct DriverSide {
    memory: CUmemorytype,
    array: CUarray,
    pointer: cudaPitchedPtr,
    /// Bytes, rows, slices.
    position: (usize, usize, usize),
}

/// An element of an array: a texel, or a block of compressed ones.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    pub(crate) bytes: usize,
    /// Texels along x, and along y.
    pub(crate) side: usize,
}

/// The elements that a copy counts: those of the first of both arrays that is one, or bytes.
pub(crate) fn element_of(arrays: [CUarray; 2]) -> ApiResult<Element> {
    let Some(array) = arrays.into_iter().find(|array| *array != CUarray::NULL) else {
        return Ok(Element { bytes: 1, side: 1 });
    };
    let mut descriptor = CUDA_ARRAY3D_DESCRIPTOR::default();
    driver!(cuArray3DGetDescriptor_v3020(&mut descriptor, array))?;
    element(&descriptor)
}

/// The elements of an array so described.
pub(crate) fn element(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> ApiResult<Element> {
    if let Some(bytes) = block_bytes(descriptor.Format) {
        return Ok(Element { bytes, side: 4 });
    }
    let bytes = match descriptor.Format {
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT8
        | CUarray_format::CU_AD_FORMAT_UNORM_INT8X1
        | CUarray_format::CU_AD_FORMAT_UNORM_INT8X2
        | CUarray_format::CU_AD_FORMAT_UNORM_INT8X4
        | CUarray_format::CU_AD_FORMAT_SNORM_INT8X1
        | CUarray_format::CU_AD_FORMAT_SNORM_INT8X2
        | CUarray_format::CU_AD_FORMAT_SNORM_INT8X4
        // Four channels in a word.
        | CUarray_format::CU_AD_FORMAT_UNORM_INT_101010_2 => 1,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT16
        | CUarray_format::CU_AD_FORMAT_UNORM_INT16X1
        | CUarray_format::CU_AD_FORMAT_UNORM_INT16X2
        | CUarray_format::CU_AD_FORMAT_UNORM_INT16X4
        | CUarray_format::CU_AD_FORMAT_SNORM_INT16X1
        | CUarray_format::CU_AD_FORMAT_SNORM_INT16X2
        | CUarray_format::CU_AD_FORMAT_SNORM_INT16X4
        | CUarray_format::CU_AD_FORMAT_HALF => 2,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT32
        | CUarray_format::CU_AD_FORMAT_FLOAT => 4,
        other => {
            let code = cudaError::cudaErrorInvalidChannelDescriptor;
            return Err(Failure::new(code, format!("elements of {other:?} have no size in bytes")));
        }
    };
    Ok(Element { bytes: bytes * descriptor.NumChannels as usize, side: 1 })
}

/// The driver's description of a copy; none if it is empty.
pub(crate) fn driver_copy(parameters: &cudaMemcpy3DParms) -> ApiResult<Option<CUDA_MEMCPY3D>> {
    let extent = parameters.extent;
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Ok(None);
    }
    let (source_memory, target_memory) = Way::of(parameters.kind)?.memory();
    // With an array, widths and positions count its elements, those in plain memory too: so recorded, where the manual says bytes.
    let arrays = [parameters.srcArray, parameters.dstArray];
    let with_array = arrays.into_iter().any(|array| array != CUarray::NULL);
    let element = element_of(arrays)?;
    let bytes = |elements: usize| {
        let bytes = elements.checked_mul(element.bytes);
        bytes.ok_or_else(|| Failure::invalid_value("the bytes of a row are too many to count"))
    };
    // Of compressed blocks, extents and positions in arrays count texels, of which each stands for its block; positions in plain memory count blocks, as recorded.
    let width = bytes(extent.width.div_ceil(element.side))?;
    let side = |name, array: CUarray, pointer: cudaPitchedPtr, position: cudaPos, memory| -> ApiResult<DriverSide> {
        let position = match array {
            CUarray::NULL => (bytes(position.x)?, position.y, position.z),
            _ => (bytes(position.x / element.side)?, position.y / element.side, position.z),
        };
        if (array == CUarray::NULL) == pointer.ptr.is_null() {
            return Err(Failure::invalid_value(format!("the {name} is an array or a pointer, and only one of them")));
        }
        if array != CUarray::NULL {
            return Ok(DriverSide { memory: CUmemorytype::CU_MEMORYTYPE_ARRAY, array, pointer, position });
        }
        if !with_array && extent.height > 1 && width > pointer.pitch {
            let reason = format!("the pitch of the {name} is {}, less than the {width} bytes of a row", pointer.pitch);
            return Err(Failure::new(cudaError::cudaErrorInvalidPitchValue, reason));
        }
        Ok(DriverSide { memory, array, pointer, position })
    };
    // As recorded of sources alone.
    if parameters.srcArray != CUarray::NULL && source_memory == CUmemorytype::CU_MEMORYTYPE_HOST {
        return Err(Failure::invalid_value(format!("{:?}: the source is an array, in device memory", parameters.kind)));
    }
    let source = side("source", parameters.srcArray, parameters.srcPtr, parameters.srcPos, source_memory)?;
    let target = side("target", parameters.dstArray, parameters.dstPtr, parameters.dstPos, target_memory)?;
    Ok(Some(CUDA_MEMCPY3D {
        srcXInBytes: source.position.0,
        srcY: source.position.1,
        srcZ: source.position.2,
        srcMemoryType: source.memory,
        srcHost: source.pointer.ptr,
        srcDevice: source.pointer.ptr.expose_provenance() as u64,
        srcArray: source.array,
        srcPitch: source.pointer.pitch,
        srcHeight: source.pointer.ysize,
        dstXInBytes: target.position.0,
        dstY: target.position.1,
        dstZ: target.position.2,
        dstMemoryType: target.memory,
        dstHost: target.pointer.ptr,
        dstDevice: target.pointer.ptr.expose_provenance() as u64,
        dstArray: target.array,
        dstPitch: target.pointer.pitch,
        dstHeight: target.pointer.ysize,
        WidthInBytes: width,
        Height: extent.height.div_ceil(element.side),
        Depth: extent.depth,
        ..Default::default()
    }))
}

pub fn cudaMemcpy3D(default: DefaultStream, p: In<'_, cudaMemcpy3DParms>) -> ApiResult {
    let parameters = p.get("p")?;
    context::ensure()?;
    match driver_copy(&parameters)? {
        None => Ok(()),
        Some(copy) => either!(default, cuMemcpy3D_v3020, cuMemcpy3D_v7000_ptds, (&copy)),
    }
}

pub fn cudaMemcpy3DAsync(default: DefaultStream, p: In<'_, cudaMemcpy3DParms>, stream: CUstream) -> ApiResult {
    let parameters = p.get("p")?;
    context::ensure()?;
    match driver_copy(&parameters)? {
        None => Ok(()),
        Some(copy) => driver!(cuMemcpy3DAsync_v3020(&copy, default.stream(stream))),
    }
}

/// The copy between two devices that a caller describes; none if it is empty.
fn peer_copy(parameters: &cudaMemcpy3DPeerParms) -> ApiResult<Option<CUDA_MEMCPY3D_PEER>> {
    let (source, target) = (context::primary(parameters.srcDevice)?, context::primary(parameters.dstDevice)?);
    let copy = driver_copy(&cudaMemcpy3DParms {
        srcArray: parameters.srcArray,
        srcPos: parameters.srcPos,
        srcPtr: parameters.srcPtr,
        dstArray: parameters.dstArray,
        dstPos: parameters.dstPos,
        dstPtr: parameters.dstPtr,
        extent: parameters.extent,
        kind: cudaMemcpyKind::cudaMemcpyDeviceToDevice,
    })?;
    Ok(copy.map(|copy| CUDA_MEMCPY3D_PEER {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcZ: copy.srcZ,
        srcMemoryType: copy.srcMemoryType,
        srcDevice: copy.srcDevice,
        srcArray: copy.srcArray,
        srcContext: source,
        srcPitch: copy.srcPitch,
        srcHeight: copy.srcHeight,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstZ: copy.dstZ,
        dstMemoryType: copy.dstMemoryType,
        dstDevice: copy.dstDevice,
        dstArray: copy.dstArray,
        dstContext: target,
        dstPitch: copy.dstPitch,
        dstHeight: copy.dstHeight,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: copy.Depth,
        ..Default::default()
    }))
}

pub fn cudaMemcpy3DPeer(default: DefaultStream, p: In<'_, cudaMemcpy3DPeerParms>) -> ApiResult {
    let parameters = p.get("p")?;
    context::ensure()?;
    match peer_copy(&parameters)? {
        None => Ok(()),
        Some(copy) => either!(default, cuMemcpy3DPeer_v4000, cuMemcpy3DPeer_v7000_ptds, (&copy)),
    }
}

pub fn cudaMemcpy3DPeerAsync(default: DefaultStream, p: In<'_, cudaMemcpy3DPeerParms>, stream: CUstream) -> ApiResult {
    let parameters = p.get("p")?;
    context::ensure()?;
    match peer_copy(&parameters)? {
        None => Ok(()),
        Some(copy) => driver!(cuMemcpy3DPeerAsync_v4000(&copy, default.stream(stream))),
    }
}
