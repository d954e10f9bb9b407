//! Driver entry point access.
use std::ffi::{CStr, c_void};

use warploom_abi::CUdriverProcAddressQueryResult;
use warploom_abi::runtime::{cudaDriverEntryPointQueryResult, cudaGetDriverEntryPointFlags};

use crate::border::{DefaultStream, Destination, InStr, Out, version};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

/// Looks for what this runtime's own version knows.
pub fn cudaGetDriverEntryPoint(
    default: DefaultStream,
    symbol: InStr<'_>,
    funcPtr: Out<'_, *mut c_void>,
    flags: u64,
    driverStatus: Out<'_, cudaDriverEntryPointQueryResult>,
) -> ApiResult {
    look_up(default, &symbol, funcPtr, version(), flags, driverStatus.optional())
}

/// Of runtime 11, which does not tell why there is none.
pub fn cudaGetDriverEntryPoint_v11(
    default: DefaultStream,
    symbol: InStr<'_>,
    funcPtr: Out<'_, *mut c_void>,
    flags: u64,
) -> ApiResult {
    look_up(default, &symbol, funcPtr, version(), flags, None)
}

/// Looks for what a caller that knows CUDA `cudaVersion` may call.
pub fn cudaGetDriverEntryPointByVersion(
    default: DefaultStream,
    symbol: InStr<'_>,
    funcPtr: Out<'_, *mut c_void>,
    cudaVersion: u32,
    flags: u64,
    driverStatus: Out<'_, cudaDriverEntryPointQueryResult>,
) -> ApiResult {
    look_up(default, &symbol, funcPtr, cudaVersion.cast_signed(), flags, driverStatus.optional())
}

/// The driver's own lookup; what a NULL argument crashes in NVIDIA's runtime is an invalid value here.
fn look_up(
    default: DefaultStream,
    symbol: &InStr<'_>,
    place: Out<'_, *mut c_void>,
    version: i32,
    flags: u64,
    status_place: Option<Destination<'_, cudaDriverEntryPointQueryResult>>,
) -> ApiResult {
    let name: &CStr = symbol.get("symbol")?;
    let place = place.required("funcPtr")?;
    context::devices()?;
    let flags = match (default, flags) {
        (DefaultStream::PerThread, 0) => u64::from(cudaGetDriverEntryPointFlags::cudaEnablePerThreadDefaultStream.0),
        _ => flags,
    };
    let mut address: *mut c_void = std::ptr::null_mut();
    let mut status = CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
    driver!(cuGetProcAddress_v12000(name.as_ptr(), &mut address, version, flags, &mut status))?;
    place.set(address);
    if let Some(place) = status_place {
        place.set(cudaDriverEntryPointQueryResult(status.0));
    }
    Ok(())
}
