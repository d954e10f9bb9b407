//! Sets.
use warploom_abi::{CUdeviceptr, CUstream};
use warploom_driver::memory::{Fill2d, FillWidth};

use super::super::stream::{default_stream, named};
use crate::border::{ApiResult, DefaultStream};
use crate::process::driver;

/// One row of elements.
fn row(address: CUdeviceptr, element: FillWidth, value: u32, count: usize) -> Fill2d {
    Fill2d { address, pitch: 0, element, value, width: count as u64, height: 1 }
}

pub(crate) fn cuMemsetD8_v2(default: DefaultStream, dstDevice: CUdeviceptr, uc: u8, N: usize) -> ApiResult {
    driver()?.fill(&row(dstDevice, FillWidth::One, u32::from(uc), N), default_stream(default), true)
}

pub(crate) fn cuMemsetD8Async(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    uc: u8,
    N: usize,
    hStream: CUstream,
) -> ApiResult {
    driver()?.fill(&row(dstDevice, FillWidth::One, u32::from(uc), N), named(hStream, default), false)
}

pub(crate) fn cuMemsetD16_v2(default: DefaultStream, dstDevice: CUdeviceptr, us: u16, N: usize) -> ApiResult {
    driver()?.fill(&row(dstDevice, FillWidth::Two, u32::from(us), N), default_stream(default), true)
}

pub(crate) fn cuMemsetD16Async(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    us: u16,
    N: usize,
    hStream: CUstream,
) -> ApiResult {
    driver()?.fill(&row(dstDevice, FillWidth::Two, u32::from(us), N), named(hStream, default), false)
}

pub(crate) fn cuMemsetD32_v2(default: DefaultStream, dstDevice: CUdeviceptr, ui: u32, N: usize) -> ApiResult {
    driver()?.fill(&row(dstDevice, FillWidth::Four, ui, N), default_stream(default), true)
}

pub(crate) fn cuMemsetD32Async(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    ui: u32,
    N: usize,
    hStream: CUstream,
) -> ApiResult {
    driver()?.fill(&row(dstDevice, FillWidth::Four, ui, N), named(hStream, default), false)
}

/// Rows of elements.
fn rows(address: CUdeviceptr, pitch: usize, element: FillWidth, value: u32, width: usize, height: usize) -> Fill2d {
    Fill2d { address, pitch: pitch as u64, element, value, width: width as u64, height: height as u64 }
}

pub(crate) fn cuMemsetD2D8_v2(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
) -> ApiResult {
    let fill = rows(dstDevice, dstPitch, FillWidth::One, u32::from(uc), Width, Height);
    driver()?.fill(&fill, default_stream(default), true)
}

pub(crate) fn cuMemsetD2D8Async(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    uc: u8,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> ApiResult {
    let fill = rows(dstDevice, dstPitch, FillWidth::One, u32::from(uc), Width, Height);
    driver()?.fill(&fill, named(hStream, default), false)
}

pub(crate) fn cuMemsetD2D16_v2(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
) -> ApiResult {
    let fill = rows(dstDevice, dstPitch, FillWidth::Two, u32::from(us), Width, Height);
    driver()?.fill(&fill, default_stream(default), true)
}

pub(crate) fn cuMemsetD2D16Async(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    us: u16,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> ApiResult {
    let fill = rows(dstDevice, dstPitch, FillWidth::Two, u32::from(us), Width, Height);
    driver()?.fill(&fill, named(hStream, default), false)
}

pub(crate) fn cuMemsetD2D32_v2(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
) -> ApiResult {
    let fill = rows(dstDevice, dstPitch, FillWidth::Four, ui, Width, Height);
    driver()?.fill(&fill, default_stream(default), true)
}

pub(crate) fn cuMemsetD2D32Async(
    default: DefaultStream,
    dstDevice: CUdeviceptr,
    dstPitch: usize,
    ui: u32,
    Width: usize,
    Height: usize,
    hStream: CUstream,
) -> ApiResult {
    let fill = rows(dstDevice, dstPitch, FillWidth::Four, ui, Width, Height);
    driver()?.fill(&fill, named(hStream, default), false)
}
