//! Stream memory operations. Those of the first ABI are refused as by NVIDIA's driver, whose module parameter for them is off unless
//! somebody sets it.
use std::any::Any;

use warploom_abi::{CUcontext, CUdeviceptr, CUstream, CUstreamBatchMemOpParams, CUstreamBatchMemOpType};
use warploom_driver::stream::{ValueAction, ValueOperation, WaitCondition};
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::graph::batch::Described;
use super::stream::named;
use crate::border::members::{self, MemoryOperation};
use crate::border::{ApiResult, DefaultStream, InArray, no_flags};
use crate::process::driver;

/// What the first ABI answers for a stream that exists.
fn first_abi(default: DefaultStream, stream: CUstream) -> ApiResult {
    driver()?.stream(named(stream, default))?;
    let reason = "the first ABI of stream memory operations is off (CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1); the second works";
    Err(DriverError::new(ErrorCode::NotSupported, reason))
}

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
    _addr: CUdeviceptr,
    _value: u32,
    _flags: u32,
) -> ApiResult {
    first_abi(default, stream)
}

pub(crate) fn cuStreamWriteValue32(
    default: DefaultStream,
    stream: CUstream,
    _addr: CUdeviceptr,
    _value: u32,
    _flags: u32,
) -> ApiResult {
    first_abi(default, stream)
}

pub(crate) fn cuStreamWaitValue32_v2(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u32,
    flags: u32,
) -> ApiResult {
    let operation = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operate(stream, default, MemoryOperation { operation, address: addr, value: u64::from(value), flags })
}

pub(crate) fn cuStreamWriteValue32_v2(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u32,
    flags: u32,
) -> ApiResult {
    let operation = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operate(stream, default, MemoryOperation { operation, address: addr, value: u64::from(value), flags })
}

pub(crate) fn cuStreamWaitValue64(
    default: DefaultStream,
    stream: CUstream,
    _addr: CUdeviceptr,
    _value: u64,
    _flags: u32,
) -> ApiResult {
    first_abi(default, stream)
}

pub(crate) fn cuStreamWriteValue64(
    default: DefaultStream,
    stream: CUstream,
    _addr: CUdeviceptr,
    _value: u64,
    _flags: u32,
) -> ApiResult {
    first_abi(default, stream)
}

pub(crate) fn cuStreamWaitValue64_v2(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u64,
    flags: u32,
) -> ApiResult {
    let operation = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_64;
    operate(stream, default, MemoryOperation { operation, address: addr, value, flags })
}

pub(crate) fn cuStreamWriteValue64_v2(
    default: DefaultStream,
    stream: CUstream,
    addr: CUdeviceptr,
    value: u64,
    flags: u32,
) -> ApiResult {
    let operation = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operate(stream, default, MemoryOperation { operation, address: addr, value, flags })
}

/// The operations that a caller describes.
pub(super) fn operations(given: &[CUstreamBatchMemOpParams]) -> DriverResult<Vec<ValueOperation>> {
    given.iter().map(|parameters| operation(members::memory_operation(parameters))).collect()
}

fn operation(given: MemoryOperation) -> DriverResult<ValueOperation> {
    let MemoryOperation { operation, address, value, flags } = given;
    let low = value as u32;
    let action = match operation {
        CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32 => {
            check_write_flags(flags)?;
            ValueAction::Write32(low)
        }
        CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_64 => {
            check_write_flags(flags)?;
            ValueAction::Write64(value)
        }
        CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_32 => {
            ValueAction::Wait32(low, WaitCondition::from_flags(flags)?)
        }
        CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WAIT_VALUE_64 => {
            ValueAction::Wait64(value, WaitCondition::from_flags(flags)?)
        }
        CUstreamBatchMemOpType::CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES
        | CUstreamBatchMemOpType::CU_STREAM_MEM_OP_BARRIER => ValueAction::Fence,
        unknown => return Err(DriverError::invalid_value(format!("{unknown:?} is no operation"))),
    };
    Ok(ValueOperation { address, action })
}

/// What a node of captured operations tells of them.
fn described(context: Handle, list: Vec<CUstreamBatchMemOpParams>) -> Box<dyn Any + Send + Sync> {
    Box::new(Described { context: CUcontext(context.raw()), list })
}

/// One operation.
fn operate(stream: CUstream, default: DefaultStream, given: MemoryOperation) -> ApiResult {
    let name = named(stream, default);
    let described = move |context| described(context, vec![members::operation_parameters(&given)]);
    driver()?.stream(name)?;
    driver()?.operate_on_values(name, vec![operation(given)?], described)
}

/// A batch has fewer than 256 operations, says the manual.
pub(super) fn check_batch(count: u32) -> ApiResult {
    if count >= 256 {
        return Err(DriverError::invalid_value(format!("a batch of {count} operations; 255 are possible")));
    }
    Ok(())
}

/// Operations one after the other. All are checked before the first is put into the stream.
fn batch(
    default: DefaultStream,
    stream: CUstream,
    count: u32,
    given: &InArray<'_, CUstreamBatchMemOpParams>,
    flags: u32,
) -> ApiResult {
    driver()?.stream(named(stream, default))?;
    no_flags(u64::from(flags))?;
    check_batch(count)?;
    let given = given.get(count as usize, "paramArray")?;
    let operations = operations(&given)?;
    driver()?.operate_on_values(named(stream, default), operations, move |context| described(context, given))
}

pub(crate) fn cuStreamBatchMemOp(
    default: DefaultStream,
    stream: CUstream,
    _count: u32,
    _paramArray: InArray<'_, CUstreamBatchMemOpParams>,
    _flags: u32,
) -> ApiResult {
    first_abi(default, stream)
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
