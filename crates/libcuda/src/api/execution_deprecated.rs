//! Execution control before `cuLaunchKernel`.
use warploom_abi::{CUDA_LAUNCH_PARAMS, CUfunction, CUsharedconfig, CUstream, CUtexref};
use warploom_driver::launch::LaunchShape;
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::execution::launch;
use super::stream::named;
use crate::border::graph::pointers;
use crate::border::{ApiResult, DefaultStream, HostPtr, InArray};
use crate::process::driver;

pub(crate) fn cuFuncSetBlockShape(hfunc: CUfunction, x: i32, y: i32, z: i32) -> ApiResult {
    driver()?.function(Handle::from_raw(hfunc.0))?.set_cta([x, y, z])
}

pub(crate) fn cuFuncSetSharedSize(hfunc: CUfunction, bytes: u32) -> ApiResult {
    driver()?.function(Handle::from_raw(hfunc.0))?.set_dynamic_shared(bytes)
}

pub(crate) fn cuParamSetSize(hfunc: CUfunction, numbytes: u32) -> ApiResult {
    driver()?.function(Handle::from_raw(hfunc.0))?.set_parameter_bytes(numbytes as usize)
}

fn offset(offset: i32) -> DriverResult<usize> {
    usize::try_from(offset).map_err(|_| DriverError::invalid_value(format!("offset {offset} is negative")))
}

pub(crate) fn cuParamSeti(hfunc: CUfunction, offset: i32, value: u32) -> ApiResult {
    let function = driver()?.function(Handle::from_raw(hfunc.0))?;
    function.set_parameter(self::offset(offset)?, &value.to_ne_bytes())
}

pub(crate) fn cuParamSetf(hfunc: CUfunction, offset: i32, value: f32) -> ApiResult {
    let function = driver()?.function(Handle::from_raw(hfunc.0))?;
    function.set_parameter(self::offset(offset)?, &value.to_ne_bytes())
}

pub(crate) fn cuParamSetv(hfunc: CUfunction, offset: i32, ptr: HostPtr, numbytes: u32) -> ApiResult {
    let function = driver()?.function(Handle::from_raw(hfunc.0))?;
    let start = self::offset(offset)?;
    // Nothing is read of what no kernel can take.
    function.check_parameter_end(start.saturating_add(numbytes as usize))?;
    function.set_parameter(start, &ptr.read_bytes("ptr", numbytes as usize)?)
}

pub(crate) fn cuLaunch(f: CUfunction) -> ApiResult {
    cuLaunchGrid(f, 1, 1)
}

pub(crate) fn cuLaunchGrid(f: CUfunction, grid_width: i32, grid_height: i32) -> ApiResult {
    cuLaunchGridAsync(f, grid_width, grid_height, CUstream::NULL)
}

pub(crate) fn cuLaunchGridAsync(f: CUfunction, grid_width: i32, grid_height: i32, hStream: CUstream) -> ApiResult {
    let driver = driver()?;
    let function = driver.function(Handle::from_raw(f.0))?;
    driver.launch_legacy(&function, [grid_width, grid_height], named(hStream, DefaultStream::Legacy))
}

/// `CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC` and `..._NO_POST_LAUNCH_SYNC`: on one device a stream's order is all the order there is.
const MULTI_DEVICE_FLAGS: u32 = 3;

/// The default streams' handles: NULL, `CU_STREAM_LEGACY`, `CU_STREAM_PER_THREAD`.
const DEFAULT_STREAMS: std::ops::RangeInclusive<usize> = 0..=2;

/// Works for a grid of one device. Where the grids are of several, their threads could wait for each other, which the devices say that they cannot
/// (`CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH`).
pub(crate) fn cuLaunchCooperativeKernelMultiDevice(
    launchParamsList: InArray<'_, CUDA_LAUNCH_PARAMS>,
    numDevices: u32,
    flags: u32,
) -> ApiResult {
    let devices = driver()?.devices().len();
    if numDevices == 0 || numDevices as usize > devices {
        return Err(DriverError::invalid_value(format!("launches on {numDevices} of {devices} devices")));
    }
    if flags & !MULTI_DEVICE_FLAGS != 0 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    let given = launchParamsList.get(numDevices as usize, "launchParamsList")?;
    if given.iter().any(|launch| DEFAULT_STREAMS.contains(&launch.hStream.0)) {
        return Err(DriverError::invalid_handle("a launch over devices takes no default stream"));
    }
    let [one] = given.as_slice() else {
        let reason = "grids of several devices cannot wait for each other";
        return Err(DriverError::new(ErrorCode::NotSupported, reason));
    };
    let shape = LaunchShape {
        grid: [one.gridDimX, one.gridDimY, one.gridDimZ],
        cta: [one.blockDimX, one.blockDimY, one.blockDimZ],
        cluster: None,
        dynamic_shared: one.sharedMemBytes,
        cooperative: true,
    };
    let stream = named(one.hStream, DefaultStream::Legacy);
    launch(one.function, &shape, stream, &pointers(one.kernelParams), &InArray::none())
}

/// Texture references of a function were never bound this way since compute capability 2.0: every reference is unknown, as recorded.
pub(crate) fn cuParamSetTexRef(hfunc: CUfunction, _texunit: i32, _hTexRef: CUtexref) -> ApiResult {
    driver()?.function(Handle::from_raw(hfunc.0))?;
    Err(DriverError::invalid_handle("texture references are bound to modules, not to functions"))
}

/// The width of banks is without effect on a CPU.
pub(crate) fn cuFuncSetSharedMemConfig(hfunc: CUfunction, config: CUsharedconfig) -> ApiResult {
    driver()?.function(Handle::from_raw(hfunc.0))?;
    if config.0 > CUsharedconfig::CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE.0 {
        return Err(DriverError::invalid_value(format!("{} is no shared memory configuration", config.0)));
    }
    Ok(())
}
