//! Error handling: names and texts of result codes.
use std::ffi::CStr;

use warploom_abi::CUresult;
use warploom_driver::DriverError;

use crate::border::{ApiResult, OutCStr};
use crate::settings::Settings;

/// Hands out `text` of a code that the emulated driver knows; for others NULL goes out with the error, as recorded.
fn describe(error: CUresult, text: Option<&'static CStr>, out: &OutCStr<'_>) -> ApiResult {
    let known = text.filter(|_| error.since() <= Settings::get().cuda_version);
    out.set("pStr", known)?;
    if known.is_none() {
        return Err(DriverError::invalid_value(format!("{} is no result code", error.0)));
    }
    Ok(())
}

pub(crate) fn cuGetErrorName(error: CUresult, pStr: OutCStr<'_>) -> ApiResult {
    describe(error, error.name(), &pStr)
}

pub(crate) fn cuGetErrorString(error: CUresult, pStr: OutCStr<'_>) -> ApiResult {
    describe(error, error.text(), &pStr)
}
