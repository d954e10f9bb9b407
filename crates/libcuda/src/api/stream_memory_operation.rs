//! Stream memory operations. The first ABI means the same as the second, which only needs no setting of a module parameter.
use warploom_abi::{CUdeviceptr, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType};
use warploom_driver::DriverError;
use warploom_driver::stream::WaitCondition;

use super::stream::named;
use crate::border::members::{self, MemoryOperation};
use crate::border::{ApiResult, DefaultStream, InArray};
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

/// Operations one after the other. All are checked before the first is put into the stream.
fn batch(
    default: DefaultStream,
    stream: CUstream,
    count: u32,
    operations: &InArray<'_, CUstreamBatchMemOpParams>,
    flags: u32,
) -> ApiResult {
    if flags != 0 {
        return Err(DriverError::invalid_value(format!("flags is {flags}, must be 0")));
    }
    let operations: Vec<MemoryOperation> =
        operations.read("paramArray", count as usize)?.iter().map(members::memory_operation).collect();
    for operation in &operations {
        match operation.operation {
            CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32
            | CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_64 => check_write_flags(operation.flags)?,
            CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_32
            | CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
                WaitCondition::from_flags(operation.flags)?;
            }
            CUstreamBatchMemOpType::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES
            | CUstreamBatchMemOpType::CU_STREAM_MEM_OP_BARRIER => {}
            unknown => return Err(DriverError::invalid_value(format!("{unknown:?} is no operation"))),
        }
    }
    let name = named(stream, default);
    driver()?.stream(name)?;
    for MemoryOperation { operation, address, value, flags } in operations {
        let low = value as u32;
        match operation {
            CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32 => driver()?.write_value_32(name, address, low)?,
            CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
                driver()?.write_value_64(name, address, value)?
            }
            CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_32 => {
                driver()?.wait_value_32(name, address, low, WaitCondition::from_flags(flags)?)?;
            }
            CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
                driver()?.wait_value_64(name, address, value, WaitCondition::from_flags(flags)?)?;
            }
            // Writes of others are visible as they happen, and a stream keeps its order.
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn cuStreamBatchMemOp(
    default: DefaultStream,
    stream: CUstream,
    count: u32,
    paramArray: InArray<'_, CUstreamBatchMemOpParams>,
    flags: u32,
) -> ApiResult {
    batch(default, stream, count, &paramArray, flags)
}

pub(crate) fn cuStreamBatchMemOp_v2(
    default: DefaultStream,
    stream: CUstream,
    count: u32,
    paramArray: InArray<'_, CUstreamBatchMemOpParams>,
    flags: u32,
) -> ApiResult {
    batch(default, stream, count, &paramArray, flags)
}
