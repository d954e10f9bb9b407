//! Memory management: copies with attributes, one or several in a call. Both APIs describe them alike.
use std::ffi::c_void;

use warploom_abi::runtime::*;

use crate::border::{DefaultStream, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpyBatchAsync(
    default: DefaultStream,
    dsts: Passed<'_, *mut c_void>,
    srcs: Passed<'_, *mut c_void>,
    sizes: Passed<'_, usize>,
    count: usize,
    attrs: Passed<'_, cudaMemcpyAttributes>,
    attrsIdxs: Passed<'_, usize>,
    numAttrs: usize,
    failIdx: Passed<'_, usize>,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let (targets, sources, sizes) = (dsts.cast(), srcs.cast(), sizes.get());
    let (attributes, starts, failed, stream) = (attrs.cast(), attrsIdxs.get(), failIdx.get(), default.stream(stream));
    driver!(cuMemcpyBatchAsync_v12080(targets, sources, sizes, count, attributes, starts, numAttrs, failed, stream))
}

#[expect(clippy::too_many_arguments, reason = "as in the manual")]
pub fn cudaMemcpyBatchAsync_v13(
    default: DefaultStream,
    dsts: Passed<'_, *mut c_void>,
    srcs: Passed<'_, *const c_void>,
    sizes: Passed<'_, usize>,
    count: usize,
    attrs: Passed<'_, cudaMemcpyAttributes>,
    attrsIdxs: Passed<'_, usize>,
    numAttrs: usize,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let (targets, sources, sizes) = (dsts.cast(), srcs.cast(), sizes.get());
    let (attributes, starts, stream) = (attrs.cast(), attrsIdxs.get(), default.stream(stream));
    driver!(cuMemcpyBatchAsync_v13000(targets, sources, sizes, count, attributes, starts, numAttrs, stream))
}

pub fn cudaMemcpy3DBatchAsync(
    default: DefaultStream,
    numOps: usize,
    opList: Passed<'_, cudaMemcpy3DBatchOp>,
    failIdx: Passed<'_, usize>,
    flags: u64,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let (operations, failed, stream) = (opList.cast(), failIdx.get(), default.stream(stream));
    driver!(cuMemcpy3DBatchAsync_v12080(numOps, operations, failed, flags, stream))
}

pub fn cudaMemcpy3DBatchAsync_v13(
    default: DefaultStream,
    numOps: usize,
    opList: Passed<'_, cudaMemcpy3DBatchOp>,
    flags: u64,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let (operations, stream) = (opList.cast(), default.stream(stream));
    driver!(cuMemcpy3DBatchAsync_v13000(numOps, operations, flags, stream))
}

pub fn cudaMemcpyWithAttributesAsync(
    default: DefaultStream,
    dst: Passed<'_, c_void>,
    src: Passed<'_, c_void>,
    size: usize,
    attr: Passed<'_, cudaMemcpyAttributes>,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let (target, source, stream) = (dst.addr(), src.addr(), default.stream(stream));
    driver!(cuMemcpyWithAttributesAsync_v13020(target, source, size, attr.cast(), stream))
}

pub fn cudaMemcpy3DWithAttributesAsync(
    default: DefaultStream,
    op: Passed<'_, cudaMemcpy3DBatchOp>,
    flags: u64,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemcpy3DWithAttributesAsync_v13020(op.cast(), flags, default.stream(stream)))
}
