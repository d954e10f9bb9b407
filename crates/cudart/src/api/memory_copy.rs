//! Memory management: copies of linear memory and symbols.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUDA_MEMCPY2D, CUmemorytype, CUstream};

use crate::border::{DefaultStream, Passed};
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};
use crate::{binaries, context};

/// Which way a copy goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// As the addresses say.
    Default,
}

impl Way {
    pub(crate) fn of(kind: cudaMemcpyKind) -> ApiResult<Way> {
        Ok(match kind {
            cudaMemcpyKind::cudaMemcpyHostToHost => Way::HostToHost,
            cudaMemcpyKind::cudaMemcpyHostToDevice => Way::HostToDevice,
            cudaMemcpyKind::cudaMemcpyDeviceToHost => Way::DeviceToHost,
            cudaMemcpyKind::cudaMemcpyDeviceToDevice => Way::DeviceToDevice,
            cudaMemcpyKind::cudaMemcpyDefault => Way::Default,
            other => {
                let reason = format!("{} is no kind of copy", other.0);
                return Err(Failure::new(cudaError::cudaErrorInvalidMemcpyDirection, reason));
            }
        })
    }

    /// The kinds of memory, source and target.
    pub(crate) fn memory(self) -> (CUmemorytype, CUmemorytype) {
        let (host, device) = (CUmemorytype::CU_MEMORYTYPE_HOST, CUmemorytype::CU_MEMORYTYPE_DEVICE);
        match self {
            Way::HostToHost => (host, host),
            Way::HostToDevice => (host, device),
            Way::DeviceToHost => (device, host),
            Way::DeviceToDevice => (device, device),
            Way::Default => (CUmemorytype::CU_MEMORYTYPE_UNIFIED, CUmemorytype::CU_MEMORYTYPE_UNIFIED),
        }
    }
}

/// Calls the driver's function for the legacy default stream, or that for the calling thread's.
macro_rules! either {
    ($default:expr, $legacy:ident, $per_thread:ident, $arguments:tt) => {
        match $default {
            DefaultStream::Legacy => driver!($legacy $arguments),
            DefaultStream::PerThread => driver!($per_thread $arguments),
        }
    };
}
pub(crate) use either;

pub fn cudaMemcpy(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    context::ensure()?;
    if count == 0 {
        return Ok(());
    }
    let (to, from) = (dst.addr(), src.addr());
    match Way::of(kind)? {
        Way::HostToDevice => {
            either!(default, cuMemcpyHtoD_v3020, cuMemcpyHtoD_v7000_ptds, (to, src.get(), count))
        }
        Way::DeviceToHost => {
            either!(default, cuMemcpyDtoH_v3020, cuMemcpyDtoH_v7000_ptds, (dst.get(), from, count))
        }
        Way::DeviceToDevice => either!(default, cuMemcpyDtoD_v3020, cuMemcpyDtoD_v7000_ptds, (to, from, count)),
        Way::HostToHost | Way::Default => either!(default, cuMemcpy_v4000, cuMemcpy_v7000_ptds, (to, from, count)),
    }
}

pub fn cudaMemcpyAsync(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> ApiResult {
    context::ensure()?;
    if count == 0 {
        return Ok(());
    }
    let (to, from, stream) = (dst.addr(), src.addr(), default.stream(stream));
    match Way::of(kind)? {
        Way::HostToDevice => driver!(cuMemcpyHtoDAsync_v3020(to, src.get(), count, stream)),
        Way::DeviceToHost => driver!(cuMemcpyDtoHAsync_v3020(dst.get(), from, count, stream)),
        Way::DeviceToDevice => driver!(cuMemcpyDtoDAsync_v3020(to, from, count, stream)),
        Way::HostToHost | Way::Default => driver!(cuMemcpyAsync_v4000(to, from, count, stream)),
    }
}

/// The rows of a copy, without any of which there is nothing to do.
fn rows(
    (dst, dpitch): (&Passed<'_, c_void>, usize),
    (src, spitch): (&Passed<'_, c_void>, usize),
    (width, height): (usize, usize),
    kind: cudaMemcpyKind,
) -> ApiResult<Option<CUDA_MEMCPY2D>> {
    context::ensure()?;
    if width == 0 || height == 0 {
        return Ok(None);
    }
    for (name, pitch) in [("dpitch", dpitch), ("spitch", spitch)] {
        if height > 1 && width > pitch {
            let reason = format!("{name} is {pitch}, less than the {width} bytes of a row");
            return Err(Failure::new(cudaError::cudaErrorInvalidPitchValue, reason));
        }
    }
    let (source, target) = Way::of(kind)?.memory();
    Ok(Some(CUDA_MEMCPY2D {
        srcMemoryType: source,
        srcHost: src.get(),
        srcDevice: src.addr(),
        srcPitch: spitch,
        dstMemoryType: target,
        dstHost: dst.get(),
        dstDevice: dst.addr(),
        dstPitch: dpitch,
        WidthInBytes: width,
        Height: height,
        ..Default::default()
    }))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpy2D(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    dpitch: usize,
    src: Passed<'_, c_void>,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    match rows((&dst, dpitch), (&src, spitch), (width, height), kind)? {
        None => Ok(()),
        Some(copy) => either!(default, cuMemcpy2DUnaligned_v3020, cuMemcpy2DUnaligned_v7000_ptds, (&copy)),
    }
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpy2DAsync(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    dpitch: usize,
    src: Passed<'_, c_void>,
    spitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> ApiResult {
    match rows((&dst, dpitch), (&src, spitch), (width, height), kind)? {
        None => Ok(()),
        Some(copy) => driver!(cuMemcpy2DAsync_v3020(&copy, default.stream(stream))),
    }
}

pub fn cudaMemcpyPeer(
    dst: Passed<'_, c_void>,
    dstDevice: i32,
    src: Passed<'_, c_void>,
    srcDevice: i32,
    count: usize,
) -> ApiResult {
    context::ensure()?;
    let (to, from) = (context::primary(dstDevice)?, context::primary(srcDevice)?);
    driver!(cuMemcpyPeer_v4000(dst.addr(), to, src.addr(), from, count))
}

pub fn cudaMemcpyPeerAsync(
    dst: Passed<'_, c_void>,
    dstDevice: i32,
    src: Passed<'_, c_void>,
    srcDevice: i32,
    count: usize,
    stream: CUstream,
) -> ApiResult {
    context::ensure()?;
    let (to, from) = (context::primary(dstDevice)?, context::primary(srcDevice)?);
    driver!(cuMemcpyPeerAsync_v4000(dst.addr(), to, src.addr(), from, count, stream))
}

/// Where in a symbol a copy of `count` bytes is, which is of none of the kinds that are `wrong`.
fn in_symbol(
    symbol: &Passed<'_, c_void>,
    (offset, count): (usize, usize),
    kind: cudaMemcpyKind,
    wrong: [cudaMemcpyKind; 2],
) -> ApiResult<Passed<'static, c_void>> {
    context::ensure()?;
    let (address, size) = binaries::variable(symbol.addr() as usize)?;
    if offset.checked_add(count).is_none_or(|end| end > size) {
        let reason = format!("{count} bytes at {offset} are not within the {size} bytes of the symbol");
        return Err(Failure::invalid_value(reason));
    }
    Way::of(kind)?;
    if wrong.contains(&kind) {
        let code = cudaError::cudaErrorInvalidMemcpyDirection;
        return Err(Failure::new(code, format!("{kind:?}: a symbol is in device memory")));
    }
    Ok(Passed::to_device(address + offset as u64))
}

/// Where a copy to a symbol goes: kinds that do not end in device memory are refused.
pub(crate) fn to_symbol(
    symbol: &Passed<'_, c_void>,
    place: (usize, usize),
    kind: cudaMemcpyKind,
) -> ApiResult<Passed<'static, c_void>> {
    let wrong = [cudaMemcpyKind::cudaMemcpyDeviceToHost, cudaMemcpyKind::cudaMemcpyHostToHost];
    in_symbol(symbol, place, kind, wrong)
}

/// Where a copy from a symbol comes from: kinds that do not begin in device memory are refused.
pub(crate) fn from_symbol(
    symbol: &Passed<'_, c_void>,
    place: (usize, usize),
    kind: cudaMemcpyKind,
) -> ApiResult<Passed<'static, c_void>> {
    let wrong = [cudaMemcpyKind::cudaMemcpyHostToDevice, cudaMemcpyKind::cudaMemcpyHostToHost];
    in_symbol(symbol, place, kind, wrong)
}

pub fn cudaMemcpyToSymbol(
    default: DefaultStream,
    symbol: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    // As recorded, a copy of nothing looks at nothing.
    if count == 0 {
        return context::ensure();
    }
    let target = to_symbol(&symbol, (offset, count), kind)?;
    cudaMemcpy(default, target, src, count, kind)
}

pub fn cudaMemcpyFromSymbol(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    symbol: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> ApiResult {
    // As recorded, a copy of nothing looks at nothing.
    if count == 0 {
        return context::ensure();
    }
    let source = from_symbol(&symbol, (offset, count), kind)?;
    cudaMemcpy(default, dst, source, count, kind)
}

pub fn cudaMemcpyToSymbolAsync(
    default: DefaultStream,
    symbol: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> ApiResult {
    // As recorded, a copy of nothing looks at nothing.
    if count == 0 {
        return context::ensure();
    }
    let target = to_symbol(&symbol, (offset, count), kind)?;
    cudaMemcpyAsync(default, target, src, count, kind, stream)
}

pub fn cudaMemcpyFromSymbolAsync(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    symbol: Passed<'_, c_void>,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    stream: CUstream,
) -> ApiResult {
    // As recorded, a copy of nothing looks at nothing.
    if count == 0 {
        return context::ensure();
    }
    let source = from_symbol(&symbol, (offset, count), kind)?;
    cudaMemcpyAsync(default, dst, source, count, kind, stream)
}
