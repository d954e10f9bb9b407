//! External resource interoperability. Both APIs have the same descriptions, but for mipmapped arrays.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
};

use super::array::driver_format;
use crate::border::{DefaultStream, In, InArray, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::ApiResult;

pub fn cudaImportExternalMemory(
    extMem_out: Passed<'_, cudaExternalMemory_t>,
    memHandleDesc: Passed<'_, cudaExternalMemoryHandleDesc>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuImportExternalMemory_v10000(extMem_out.get(), memHandleDesc.cast()))
}

pub fn cudaExternalMemoryGetMappedBuffer(
    devPtr: Passed<'_, *mut c_void>,
    extMem: cudaExternalMemory_t,
    bufferDesc: Passed<'_, cudaExternalMemoryBufferDesc>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuExternalMemoryGetMappedBuffer_v10000(devPtr.cast(), extMem, bufferDesc.cast()))
}

pub fn cudaExternalMemoryGetMappedMipmappedArray(
    mipmap: Passed<'_, cudaMipmappedArray_t>,
    extMem: cudaExternalMemory_t,
    mipmapDesc: In<'_, cudaExternalMemoryMipmappedArrayDesc>,
) -> ApiResult {
    let wanted = mipmapDesc.get("mipmapDesc")?;
    context::ensure()?;
    let (format, channels) = driver_format(&wanted.formatDesc)?;
    let description = CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC {
        offset: wanted.offset,
        arrayDesc: CUDA_ARRAY3D_DESCRIPTOR {
            Width: wanted.extent.width,
            Height: wanted.extent.height,
            Depth: wanted.extent.depth,
            Format: format,
            NumChannels: channels,
            Flags: wanted.flags,
        },
        numLevels: wanted.numLevels,
        ..Default::default()
    };
    driver!(cuExternalMemoryGetMappedMipmappedArray_v10000(mipmap.get(), extMem, &description))
}

pub fn cudaDestroyExternalMemory(extMem: cudaExternalMemory_t) -> ApiResult {
    context::ensure()?;
    driver!(cuDestroyExternalMemory_v10000(extMem))
}

pub fn cudaImportExternalSemaphore(
    extSem_out: Passed<'_, cudaExternalSemaphore_t>,
    semHandleDesc: Passed<'_, cudaExternalSemaphoreHandleDesc>,
) -> ApiResult {
    context::ensure()?;
    driver!(cuImportExternalSemaphore_v10000(extSem_out.get(), semHandleDesc.cast()))
}

pub fn cudaSignalExternalSemaphoresAsync_v2(
    default: DefaultStream,
    extSemArray: Passed<'_, cudaExternalSemaphore_t>,
    paramsArray: Passed<'_, cudaExternalSemaphoreSignalParams>,
    numExtSems: u32,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let (semaphores, parameters, stream) = (extSemArray.get(), paramsArray.cast(), default.stream(stream));
    driver!(cuSignalExternalSemaphoresAsync_v10000(semaphores, parameters, numExtSems, stream))
}

/// The first form, whose parameters end earlier.
pub fn cudaSignalExternalSemaphoresAsync(
    default: DefaultStream,
    extSemArray: Passed<'_, cudaExternalSemaphore_t>,
    paramsArray: InArray<'_, cudaExternalSemaphoreSignalParams_v1>,
    numExtSems: u32,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let second = |first: cudaExternalSemaphoreSignalParams_v1| {
        let mut second = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS::default();
        second.params.fence.value = first.params.fence.value;
        second.params.keyedMutex.key = first.params.keyedMutex.key;
        second.flags = first.flags;
        second
    };
    let parameters = paramsArray.get(numExtSems as usize, "paramsArray")?;
    let parameters: Vec<_> = parameters.into_iter().map(second).collect();
    let (semaphores, stream) = (extSemArray.get(), default.stream(stream));
    driver!(cuSignalExternalSemaphoresAsync_v10000(semaphores, parameters.as_ptr(), numExtSems, stream))
}

pub fn cudaWaitExternalSemaphoresAsync_v2(
    default: DefaultStream,
    extSemArray: Passed<'_, cudaExternalSemaphore_t>,
    paramsArray: Passed<'_, cudaExternalSemaphoreWaitParams>,
    numExtSems: u32,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let (semaphores, parameters, stream) = (extSemArray.get(), paramsArray.cast(), default.stream(stream));
    driver!(cuWaitExternalSemaphoresAsync_v10000(semaphores, parameters, numExtSems, stream))
}

/// As [`cudaSignalExternalSemaphoresAsync`].
pub fn cudaWaitExternalSemaphoresAsync(
    default: DefaultStream,
    extSemArray: Passed<'_, cudaExternalSemaphore_t>,
    paramsArray: InArray<'_, cudaExternalSemaphoreWaitParams_v1>,
    numExtSems: u32,
    stream: cudaStream_t,
) -> ApiResult {
    context::ensure()?;
    let second = |first: cudaExternalSemaphoreWaitParams_v1| {
        let mut second = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS::default();
        second.params.fence.value = first.params.fence.value;
        second.params.keyedMutex.key = first.params.keyedMutex.key;
        second.params.keyedMutex.timeoutMs = first.params.keyedMutex.timeoutMs;
        second.flags = first.flags;
        second
    };
    let parameters = paramsArray.get(numExtSems as usize, "paramsArray")?;
    let parameters: Vec<_> = parameters.into_iter().map(second).collect();
    let (semaphores, stream) = (extSemArray.get(), default.stream(stream));
    driver!(cuWaitExternalSemaphoresAsync_v10000(semaphores, parameters.as_ptr(), numExtSems, stream))
}

pub fn cudaDestroyExternalSemaphore(extSem: cudaExternalSemaphore_t) -> ApiResult {
    context::ensure()?;
    driver!(cuDestroyExternalSemaphore_v10000(extSem))
}
