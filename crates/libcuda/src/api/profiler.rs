//! Profiler control: a range of interest for tools. There is no such tool in this process, which is no error, as recorded.
use warploom_abi::CUoutput_mode;
use warploom_driver::{DriverError, ErrorCode};

use crate::border::{ApiResult, InStr};
use crate::process::driver;

/// Deprecated; answered so by the recorded driver too, whatever is asked for, before `cuInit` as well.
pub(crate) fn cuProfilerInitialize(
    _configFile: InStr<'_>,
    _outputFile: InStr<'_>,
    _outputMode: CUoutput_mode,
) -> ApiResult {
    Err(DriverError::new(ErrorCode::NotSupported, "no profiler takes its configuration from the driver any more"))
}

pub(crate) fn cuProfilerStart() -> ApiResult {
    driver()?.current()?;
    Ok(())
}

pub(crate) fn cuProfilerStop() -> ApiResult {
    driver()?.current()?;
    Ok(())
}
