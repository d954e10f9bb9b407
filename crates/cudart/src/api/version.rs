//! Version management. Neither function needs a device.
use crate::border::{Out, version};
use crate::driver;
use crate::failure::ApiResult;

/// A machine without a driver has version 0 of it.
pub fn cudaDriverGetVersion(driverVersion: Out<'_, i32>) -> ApiResult {
    let place = driverVersion.required("driverVersion")?;
    place.set(driver::library().map_or(0, |driver| driver.version()));
    Ok(())
}

pub fn cudaRuntimeGetVersion(runtimeVersion: Out<'_, i32>) -> ApiResult {
    runtimeVersion.required("runtimeVersion")?.set(version());
    Ok(())
}
