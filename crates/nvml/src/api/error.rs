//! Error reporting.

use std::ffi::c_char;

use warploom_abi::nvml::nvmlReturn_t;

pub(crate) fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    let unknown = nvmlReturn_t::NVML_ERROR_UNKNOWN.text().unwrap_or_default();
    result.text().unwrap_or(unknown).as_ptr()
}
