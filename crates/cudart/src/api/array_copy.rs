//! Memory management: copies of rows between linear memory and arrays. Offsets and widths are in bytes.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUDA_MEMCPY2D, CUarray, CUmemorytype, CUstream};

use super::memory_copy::{Way, either};
use crate::border::{DefaultStream, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

const ARRAY: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_ARRAY;

/// Bytes and rows of a copy.
type Size = (usize, usize);

fn check_pitch(pitch: usize, (width, height): Size) -> ApiResult {
    if height > 1 && width > pitch {
        let reason = format!("the pitch is {pitch}, less than the {width} bytes of a row");
        return Err(Failure::new(cudaError::cudaErrorInvalidPitchValue, reason));
    }
    Ok(())
}

/// Arrays are in device memory, whatever else the kind of a copy says.
fn check_place(kind: cudaMemcpyKind, memory: CUmemorytype) -> ApiResult {
    if memory == CUmemorytype::CU_MEMORYTYPE_HOST {
        let code = cudaError::cudaErrorInvalidMemcpyDirection;
        return Err(Failure::new(code, format!("{kind:?}: arrays are in device memory")));
    }
    Ok(())
}

fn to_array(
    (dst, x, y): (CUarray, usize, usize),
    (src, spitch): (&Passed<'_, c_void>, usize),
    (width, height): Size,
    kind: cudaMemcpyKind,
) -> ApiResult<Option<CUDA_MEMCPY2D>> {
    context::ensure()?;
    if width == 0 || height == 0 {
        return Ok(None);
    }
    let (source, target) = Way::of(kind)?.memory();
    check_place(kind, target)?;
    check_pitch(spitch, (width, height))?;
    Ok(Some(CUDA_MEMCPY2D {
        srcMemoryType: source,
        srcHost: src.get(),
        srcDevice: src.addr(),
        srcPitch: spitch,
        dstMemoryType: ARRAY,
        dstArray: dst,
        dstXInBytes: x,
        dstY: y,
        WidthInBytes: width,
        Height: height,
        ..Default::default()
    }))
}

fn from_array(
    (dst, dpitch): (&Passed<'_, c_void>, usize),
    (src, x, y): (CUarray, usize, usize),
    (width, height): Size,
    kind: cudaMemcpyKind,
) -> ApiResult<Option<CUDA_MEMCPY2D>> {
    context::ensure()?;
    if width == 0 || height == 0 {
        return Ok(None);
    }
    let (source, target) = Way::of(kind)?.memory();
    check_place(kind, source)?;
    check_pitch(dpitch, (width, height))?;
    Ok(Some(CUDA_MEMCPY2D {
        srcMemoryType: ARRAY,
        srcArray: src,
        srcXInBytes: x,
        srcY: y,
        dstMemoryType: target,
        dstHost: dst.get(),
        dstDevice: dst.addr(),
        dstPitch: dpitch,
        WidthInBytes: width,
        Height: height,
        ..Default::default()
    }))
}

fn run(default: DefaultStream, copy: Option<CUDA_MEMCPY2D>) -> ApiResult {
    match copy {
        None => Ok(()),
        Some(copy) => either!(default, cuMemcpy2DUnaligned_v3020, cuMemcpy2DUnaligned_v7000_ptds, (&copy)),
    }
}

fn queue(copy: Option<CUDA_MEMCPY2D>, stream: CUstream) -> ApiResult {
    match copy {
        None => Ok(()),
        Some(copy) => driver!(cuMemcpy2DAsync_v3020(&copy, stream)),
    }
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpy2DToArray(
    default: DefaultStream,
    dst: CUarray,
    wOffset: usize,
    hOffset: usize,
    src: Passed<'_, c_void>,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    run(default, to_array((dst, wOffset, hOffset), (&src, spitch), (width, height), kind)?)
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpy2DToArrayAsync(
    default: DefaultStream,
    dst: CUarray,
    wOffset: usize,
    hOffset: usize,
    src: Passed<'_, c_void>,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> ApiResult {
    queue(to_array((dst, wOffset, hOffset), (&src, spitch), (width, height), kind)?, default.stream(stream))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpy2DFromArray(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    dpitch: usize,
    src: CUarray,
    wOffset: usize,
    hOffset: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    run(default, from_array((&dst, dpitch), (src, wOffset, hOffset), (width, height), kind)?)
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpy2DFromArrayAsync(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    dpitch: usize,
    src: CUarray,
    wOffset: usize,
    hOffset: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> ApiResult {
    queue(from_array((&dst, dpitch), (src, wOffset, hOffset), (width, height), kind)?, default.stream(stream))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpy2DArrayToArray(
    default: DefaultStream,
    dst: CUarray,
    wOffsetDst: usize,
    hOffsetDst: usize,
    src: CUarray,
    wOffsetSrc: usize,
    hOffsetSrc: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    context::ensure()?;
    Way::of(kind)?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    run(
        default,
        Some(CUDA_MEMCPY2D {
            srcMemoryType: ARRAY,
            srcArray: src,
            srcXInBytes: wOffsetSrc,
            srcY: hOffsetSrc,
            dstMemoryType: ARRAY,
            dstArray: dst,
            dstXInBytes: wOffsetDst,
            dstY: hOffsetDst,
            WidthInBytes: width,
            Height: height,
            ..Default::default()
        }),
    )
}
