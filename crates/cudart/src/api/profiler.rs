//! Profiler control.
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaProfilerStart() -> ApiResult {
    context::ensure()?;
    driver!(cuProfilerStart_v4000())
}

pub fn cudaProfilerStop() -> ApiResult {
    context::ensure()?;
    driver!(cuProfilerStop_v4000())
}
