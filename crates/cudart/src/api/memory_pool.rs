//! Stream ordered memory allocator.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUmemAllocationHandleType, CUmemAllocationType, CUmemPool_attribute};

use crate::border::{DefaultStream, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaFreeAsync(default: DefaultStream, devPtr: Passed<'_, c_void>, hStream: cudaStream_t) -> ApiResult {
    context::ensure()?;
    driver!(cuMemFreeAsync_v11020(devPtr.addr(), default.stream(hStream)))
}

pub fn cudaMemPoolTrimTo(memPool: cudaMemPool_t, minBytesToKeep: usize) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolTrimTo_v11020(memPool, minBytesToKeep))
}

pub fn cudaMemPoolSetAttribute(memPool: cudaMemPool_t, attr: cudaMemPoolAttr, value: Passed<'_, c_void>) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolSetAttribute_v11020(memPool, CUmemPool_attribute(attr.0), value.get()))
}

pub fn cudaMemPoolGetAttribute(memPool: cudaMemPool_t, attr: cudaMemPoolAttr, value: Passed<'_, c_void>) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolGetAttribute_v11020(memPool, CUmemPool_attribute(attr.0), value.get()))
}

pub fn cudaMemPoolSetAccess(
    memPool: cudaMemPool_t,
    descList: Passed<'_, cudaMemAccessDesc>,
    count: usize,
) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolSetAccess_v11020(memPool, descList.cast(), count))
}

pub fn cudaMemPoolGetAccess(
    flags: Passed<'_, cudaMemAccessFlags>,
    memPool: cudaMemPool_t,
    location: Passed<'_, cudaMemLocation>,
) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolGetAccess_v11020(flags.cast(), memPool, location.cast()))
}

pub fn cudaMemPoolCreate(memPool: Passed<'_, cudaMemPool_t>, poolProps: Passed<'_, cudaMemPoolProps>) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolCreate_v11020(memPool.get(), poolProps.cast()))
}

pub fn cudaMemPoolDestroy(memPool: cudaMemPool_t) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolDestroy_v11020(memPool))
}

pub fn cudaMallocAsync(
    default: DefaultStream,
    devPtr: Passed<'_, *mut c_void>,
    size: usize,
    hStream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemAllocAsync_v11020(devPtr.cast(), size, default.stream(hStream)))
}

pub fn cudaMallocFromPoolAsync(
    default: DefaultStream,
    ptr: Passed<'_, *mut c_void>,
    size: usize,
    memPool: cudaMemPool_t,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemAllocFromPoolAsync_v11020(ptr.cast(), size, memPool, default.stream(stream)))
}

pub fn cudaMemPoolExportToShareableHandle(
    shareableHandle: Passed<'_, c_void>,
    memPool: cudaMemPool_t,
    handleType: cudaMemAllocationHandleType,
    flags: u32,
) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolExportToShareableHandle_v11020(
        shareableHandle.get(),
        memPool,
        CUmemAllocationHandleType(handleType.0),
        u64::from(flags)
    ))
}

pub fn cudaMemPoolImportFromShareableHandle(
    memPool: Passed<'_, cudaMemPool_t>,
    shareableHandle: Passed<'_, c_void>,
    handleType: cudaMemAllocationHandleType,
    flags: u32,
) -> ApiResult {
    context::devices()?;
    driver!(cuMemPoolImportFromShareableHandle_v11020(
        memPool.get(),
        shareableHandle.get(),
        CUmemAllocationHandleType(handleType.0),
        u64::from(flags)
    ))
}

pub fn cudaMemPoolExportPointer(
    exportData: Passed<'_, cudaMemPoolPtrExportData>,
    ptr: Passed<'_, c_void>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemPoolExportPointer_v11020(exportData.cast(), ptr.addr()))
}

pub fn cudaMemPoolImportPointer(
    ptr: Passed<'_, *mut c_void>,
    memPool: cudaMemPool_t,
    exportData: Passed<'_, cudaMemPoolPtrExportData>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMemPoolImportPointer_v11020(ptr.cast(), memPool, exportData.cast()))
}

pub fn cudaMemGetDefaultMemPool(
    memPool: Passed<'_, cudaMemPool_t>,
    location: Passed<'_, cudaMemLocation>,
    r#type: cudaMemAllocationType,
) -> ApiResult {
    context::devices()?;
    driver!(cuMemGetDefaultMemPool_v13000(memPool.get(), location.cast(), CUmemAllocationType(r#type.0)))
}

pub fn cudaMemGetMemPool(
    memPool: Passed<'_, cudaMemPool_t>,
    location: Passed<'_, cudaMemLocation>,
    r#type: cudaMemAllocationType,
) -> ApiResult {
    context::devices()?;
    driver!(cuMemGetMemPool_v13000(memPool.get(), location.cast(), CUmemAllocationType(r#type.0)))
}

pub fn cudaMemSetMemPool(
    location: Passed<'_, cudaMemLocation>,
    r#type: cudaMemAllocationType,
    memPool: cudaMemPool_t,
) -> ApiResult {
    context::devices()?;
    driver!(cuMemSetMemPool_v13000(location.cast(), CUmemAllocationType(r#type.0), memPool))
}
