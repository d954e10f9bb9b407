//! Error handling.
use std::ffi::{CStr, c_char};

use warploom_abi::runtime::cudaError;

use crate::border::{asked, last_error, version};
use crate::context;
use crate::failure::{ApiResult, Failure};

/// What a value that is no result code is called.
const UNRECOGNIZED: &CStr = c"unrecognized error code";

/// An error that is not new: it does not become the last one.
fn told(error: cudaError) -> ApiResult {
    if error == cudaError::cudaSuccess { Ok(()) } else { Err(Failure { code: error, reason: None, remembered: false }) }
}

/// Initialises the driver, as any call does: without one, that is the answer.
pub fn cudaGetLastError() -> ApiResult {
    context::devices()?;
    asked();
    told(last_error(Some(cudaError::cudaSuccess)))
}

pub fn cudaPeekAtLastError() -> ApiResult {
    context::devices()?;
    asked();
    told(last_error(None))
}

pub fn cudaGetErrorName(error: cudaError) -> *const c_char {
    facts(error).0.as_ptr()
}

pub fn cudaGetErrorString(error: cudaError) -> *const c_char {
    facts(error).1.as_ptr()
}

fn facts(error: cudaError) -> (&'static CStr, &'static CStr) {
    let major = u32::try_from(version() / 1000).unwrap_or_default();
    error.name_and_text(major).unwrap_or((UNRECOGNIZED, UNRECOGNIZED))
}
