//! Profiler control: a range of interest for tools. There is no such tool in this process, which is no error, as recorded.
use crate::border::ApiResult;
use crate::process::driver;

pub(crate) fn cuProfilerStart() -> ApiResult {
    driver()?.current()?;
    Ok(())
}

pub(crate) fn cuProfilerStop() -> ApiResult {
    driver()?.current()?;
    Ok(())
}
