//! External resource interoperability. Both APIs have the same descriptions, but for mipmapped arrays.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{CUDA_ARRAY3D_DESCRIPTOR, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC};

use super::array::driver_format;
use crate::border::{DefaultStream, In, Passed};
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

pub fn cudaDestroyExternalSemaphore(extSem: cudaExternalSemaphore_t) -> ApiResult {
    context::ensure()?;
    driver!(cuDestroyExternalSemaphore_v10000(extSem))
}
