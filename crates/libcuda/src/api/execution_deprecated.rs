//! Execution control before `cuLaunchKernel`.
use warploom_abi::{CUfunction, CUsharedconfig, CUstream, CUtexref};
use warploom_driver::{DriverError, DriverResult, Handle};

use super::stream::named;
use crate::border::{ApiResult, DefaultStream, HostPtr};
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
