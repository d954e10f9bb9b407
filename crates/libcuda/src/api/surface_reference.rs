//! Surface references.
use warploom_abi::{CUarray, CUsurfref};
use warploom_driver::{DriverError, Handle};

use crate::border::{ApiResult, Out};
use crate::process::driver;

pub(crate) fn cuSurfRefSetArray(hSurfRef: CUsurfref, hArray: CUarray, Flags: u32) -> ApiResult {
    if Flags != 0 {
        return Err(DriverError::invalid_value(format!("Flags is {Flags}, must be 0")));
    }
    driver()?.bind_surface_reference(Handle::from_raw(hSurfRef.0), Handle::from_raw(hArray.0))
}

pub(crate) fn cuSurfRefGetArray(phArray: Out<'_, CUarray>, hSurfRef: CUsurfref) -> ApiResult {
    let place = phArray.required("phArray")?;
    place.set(CUarray(driver()?.surface_reference_array(Handle::from_raw(hSurfRef.0))?.raw()));
    Ok(())
}
