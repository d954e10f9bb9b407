//! Error handling: names and texts of result codes.
use std::ffi::CStr;

use warploom_abi::CUresult;
use warploom_driver::DriverError;

use crate::border::{ApiResult, OutCStr};

/// Hands out `text`; for a number that is no code NULL goes out along with the error, as recorded.
fn describe(error: CUresult, text: Option<&'static CStr>, out: &OutCStr<'_>) -> ApiResult {
    out.set("pStr", text)?;
    text.map(|_| ()).ok_or_else(|| DriverError::invalid_value(format!("{} is no result code", error.0)))
}

pub(crate) fn cuGetErrorName(error: CUresult, pStr: OutCStr<'_>) -> ApiResult {
    describe(error, error.name(), &pStr)
}

pub(crate) fn cuGetErrorString(error: CUresult, pStr: OutCStr<'_>) -> ApiResult {
    describe(error, error.text(), &pStr)
}
