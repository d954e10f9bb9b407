//! Stream memory operations. The first ABI means the same as the second, which only needs no setting of a module parameter.
use warploom_abi::{CUdeviceptr, CUstream};
use warploom_driver::DriverError;
use warploom_driver::stream::WaitCondition;

use super::stream::named;
use crate::border::{ApiResult, DefaultStream};
use crate::process::driver;

/// The flags of a write: whether it may pass earlier writes makes no difference on a CPU.
fn check_write_flags(flags: u32) -> ApiResult {
    if flags > 1 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    Ok(())
}

pub(crate) fn cuStreamWaitValue32(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u32,
    flags: u32,
) -> ApiResult {
    cuStreamWaitValue32_v2(default, stream, addr, value, flags)
}

pub(crate) fn cuStreamWriteValue32(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u32,
    flags: u32,
) -> ApiResult {
    cuStreamWriteValue32_v2(default, stream, addr, value, flags)
}

pub(crate) fn cuStreamWaitValue32_v2(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u32,
    flags: u32,
) -> ApiResult {
    driver()?.wait_value_32(named(stream, default), addr, value, WaitCondition::from_flags(flags)?)
}

pub(crate) fn cuStreamWriteValue32_v2(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u32,
    flags: u32,
) -> ApiResult {
    check_write_flags(flags)?;
    driver()?.write_value_32(named(stream, default), addr, value)
}

pub(crate) fn cuStreamWaitValue64(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u64,
    flags: u32,
) -> ApiResult {
    cuStreamWaitValue64_v2(default, stream, addr, value, flags)
}

pub(crate) fn cuStreamWriteValue64(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u64,
    flags: u32,
) -> ApiResult {
    cuStreamWriteValue64_v2(default, stream, addr, value, flags)
}

pub(crate) fn cuStreamWaitValue64_v2(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u64,
    flags: u32,
) -> ApiResult {
    driver()?.wait_value_64(named(stream, default), addr, value, WaitCondition::from_flags(flags)?)
}

pub(crate) fn cuStreamWriteValue64_v2(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u64,
    flags: u32,
) -> ApiResult {
    check_write_flags(flags)?;
    driver()?.write_value_64(named(stream, default), addr, value)
}
