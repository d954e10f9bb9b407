//! Execution control.
use warploom_abi::{
    CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END, CUfunction, CUhostFn, CUstream,
};
use warploom_driver::launch::LaunchShape;
use warploom_driver::module::Function;
use warploom_driver::{DriverError, DriverResult, Handle};

use super::stream::named;
use crate::border::{ApiResult, DefaultStream, HostPtr, InArray, callback};
use crate::process::driver;

/// The parameter buffer of a launch, from a pointer for each parameter or from a packed buffer.
pub(super) fn parameters(
    function: &Function,
    pointers: &InArray<'_, HostPtr>,
    extra: &InArray<'_, HostPtr>,
) -> DriverResult<Box<[u8]>> {
    match (pointers.is_null(), extra.is_null()) {
        (false, false) => Err(DriverError::invalid_value("both kernelParams and extra are given")),
        (true, true) if function.parameters().is_empty() => Ok(Box::default()),
        (true, true) => Err(DriverError::invalid_value("the kernel has parameters, and none are given")),
        (false, true) => {
            let mut buffer = vec![0; function.parameter_bytes() as usize];
            for (index, place) in function.parameters().iter().enumerate() {
                let bytes = pointers.at("kernelParams", index)?.read_bytes("a parameter", place.size as usize)?;
                if let Some(place) =
                    buffer.get_mut(place.offset as usize..).and_then(|rest| rest.get_mut(..bytes.len()))
                {
                    place.copy_from_slice(&bytes);
                }
            }
            Ok(buffer.into())
        }
        (true, false) => packed(function, extra),
    }
}

/// The buffer that `extra` describes: tags with their values, in any order.
fn packed(function: &Function, extra: &InArray<'_, HostPtr>) -> DriverResult<Box<[u8]>> {
    let (mut buffer, mut size) = (None, None);
    let mut index = 0;
    loop {
        let value = |offset: usize| extra.at("extra", index + offset);
        match value(0)?.addr() {
            CU_LAUNCH_PARAM_END => break,
            CU_LAUNCH_PARAM_BUFFER_POINTER => buffer = Some(value(1)?),
            CU_LAUNCH_PARAM_BUFFER_SIZE => {
                let bytes = value(1)?.read_bytes("the size of the parameter buffer", size_of::<usize>())?;
                size = Some(bytes.iter().rev().fold(0, |size, byte| size << 8 | usize::from(*byte)));
            }
            other => return Err(DriverError::invalid_value(format!("{other} in extra is no tag"))),
        }
        index += 2;
    }
    match (buffer, size) {
        (Some(buffer), Some(size)) if size > 0 || function.parameters().is_empty() => {
            // The driver says what more bytes than the kernel has mean; so many that no kernel has them are not read.
            Ok(buffer.read_bytes("the parameter buffer", size.min(function.parameter_bytes() as usize + 1))?.into())
        }
        (None, None) if function.parameters().is_empty() => Ok(Box::default()),
        _ => Err(DriverError::invalid_value("extra gives no parameters, and the kernel has some")),
    }
}

pub(crate) fn cuLaunchKernel(
    default: DefaultStream,
    f: CUfunction,
    gridDimX: u32,
    gridDimY: u32,
    gridDimZ: u32,
    blockDimX: u32,
    blockDimY: u32,
    blockDimZ: u32,
    sharedMemBytes: u32,
    hStream: CUstream,
    kernelParams: InArray<'_, HostPtr>,
    extra: InArray<'_, HostPtr>,
) -> ApiResult {
    let driver = driver()?;
    let function = driver.function(Handle::from_raw(f.0))?;
    let shape = LaunchShape {
        grid: [gridDimX, gridDimY, gridDimZ],
        cta: [blockDimX, blockDimY, blockDimZ],
        cluster: None,
        dynamic_shared: sharedMemBytes,
        cooperative: false,
    };
    let parameters = parameters(&function, &kernelParams, &extra)?;
    driver.launch(&function, &shape, named(hStream, default), parameters)
}

pub(crate) fn cuLaunchHostFunc(
    default: DefaultStream,
    hStream: CUstream,
    r#fn: CUhostFn,
    userData: HostPtr,
) -> ApiResult {
    if r#fn == CUhostFn::default() {
        return Err(DriverError::invalid_value("fn is NULL"));
    }
    driver()?.run_on_host(named(hStream, default), Box::new(callback::host_function(r#fn, userData)))
}
