//! External resource interoperability: memory files and host semaphores, by descriptor. What belongs to other devices and other systems is refused.
use warploom_abi::{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC,
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    CUdeviceptr, CUexternalMemory, CUexternalMemoryHandleType, CUexternalSemaphore, CUexternalSemaphoreHandleType,
    CUmipmappedArray, CUstream,
};
use warploom_driver::stream::{SemaphoreAction, SemaphoreKind, SemaphoreWork};
use warploom_driver::{Driver, DriverError, DriverResult, ErrorCode, Handle};

use super::stream::named;
use crate::border::graph::KeptParameters;
use crate::border::{ApiResult, DefaultStream, GivenDescriptor, In, InArray, Out, members, no_flags};
use crate::process::driver;

/// `CUDA_EXTERNAL_MEMORY_DEDICATED`.
const DEDICATED: u32 = 1;

fn unknown(error: DriverError) -> DriverError {
    DriverError::new(ErrorCode::Unknown, error.reason().into_owned())
}

fn refused(what: &str, number: u32) -> DriverError {
    let reason = format!("{what} of type {number} is of another system, or of a device that a CPU is not");
    DriverError::new(ErrorCode::NotSupported, reason)
}

pub(crate) fn cuImportExternalMemory(
    extMem_out: Out<'_, CUexternalMemory>,
    memHandleDesc: In<'_, CUDA_EXTERNAL_MEMORY_HANDLE_DESC>,
) -> ApiResult {
    type T = CUexternalMemoryHandleType;
    let place = extMem_out.required("extMem_out")?;
    let given = memHandleDesc.get("memHandleDesc")?;
    let driver = driver()?;
    driver.current()?;
    if given.flags & !DEDICATED != 0 {
        return Err(DriverError::invalid_value(format!("flags {:#x} has unknown bits", given.flags)));
    }
    let dedicated = given.flags & DEDICATED != 0;
    match given.r#type {
        T::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD if given.size == 0 => {
            Err(DriverError::invalid_value("external memory of 0 bytes"))
        }
        T::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD => {
            let descriptor = GivenDescriptor::new(members::memory_descriptor(&given));
            let copy = descriptor.copy("handle").map_err(unknown)?;
            place.set(CUexternalMemory(driver.import_external(copy, given.size, dedicated)?.raw()));
            // It is the driver's now, as documented.
            descriptor.close();
            Ok(())
        }
        // As recorded, such resources have to be dedicated.
        T::CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE
        | T::CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE
        | T::CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT
            if !dedicated =>
        {
            Err(DriverError::invalid_value("a resource of Direct3D must be dedicated"))
        }
        CUexternalMemoryHandleType(number @ 2..=9) => Err(refused("external memory", number)),
        CUexternalMemoryHandleType(number) => {
            Err(DriverError::invalid_value(format!("{number} is no type of external memory")))
        }
    }
}

pub(crate) fn cuExternalMemoryGetMappedBuffer(
    devPtr: Out<'_, CUdeviceptr>,
    extMem: CUexternalMemory,
    bufferDesc: In<'_, CUDA_EXTERNAL_MEMORY_BUFFER_DESC>,
) -> ApiResult {
    let place = devPtr.required("devPtr")?;
    let given = bufferDesc.get("bufferDesc")?;
    no_flags(u64::from(given.flags))?;
    place.set(driver()?.map_external(Handle::from_raw(extMem.0), given.offset, given.size)?);
    Ok(())
}

pub(crate) fn cuExternalMemoryGetMappedMipmappedArray(
    mipmap: Out<'_, CUmipmappedArray>,
    extMem: CUexternalMemory,
    mipmapDesc: In<'_, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC>,
) -> ApiResult {
    mipmap.required("mipmap")?;
    mipmapDesc.get("mipmapDesc")?;
    driver()?.check_external(Handle::from_raw(extMem.0))?;
    let reason = "the layout of an array in memory is the driver's own: a memory file can be mapped as a buffer only";
    Err(DriverError::new(ErrorCode::NotSupported, reason))
}

pub(crate) fn cuDestroyExternalMemory(extMem: CUexternalMemory) -> ApiResult {
    driver()?.destroy_external(Handle::from_raw(extMem.0))
}

pub(crate) fn cuImportExternalSemaphore(
    extSem_out: Out<'_, CUexternalSemaphore>,
    semHandleDesc: In<'_, CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC>,
) -> ApiResult {
    type T = CUexternalSemaphoreHandleType;
    let place = extSem_out.required("extSem_out")?;
    let given = semHandleDesc.get("semHandleDesc")?;
    let driver = driver()?;
    driver.current()?;
    no_flags(u64::from(given.flags))?;
    let descriptor = GivenDescriptor::new(members::semaphore_descriptor(&given));
    let (copy, kind) = match given.r#type {
        T::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD => {
            (descriptor.copy("handle").map_err(unknown)?, SemaphoreKind::Binary)
        }
        T::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD => {
            (descriptor.copy("handle")?, SemaphoreKind::Timeline)
        }
        CUexternalSemaphoreHandleType(number @ 2..=10) => return Err(refused("an external semaphore", number)),
        CUexternalSemaphoreHandleType(number) => {
            return Err(DriverError::invalid_value(format!("{number} is no type of external semaphore")));
        }
    };
    place.set(CUexternalSemaphore(driver.import_semaphore(copy, kind)?.raw()));
    descriptor.close();
    Ok(())
}

/// What is done with each semaphore of a list, by the type of its parameters; flags are for other kinds of semaphores.
pub(super) trait Action: Copy {
    const ACTION: SemaphoreAction;
    fn value(&self) -> u64;
}

impl Action for CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS {
    const ACTION: SemaphoreAction = SemaphoreAction::Signal;

    fn value(&self) -> u64 {
        self.params.fence.value
    }
}

impl Action for CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS {
    const ACTION: SemaphoreAction = SemaphoreAction::Wait;

    fn value(&self) -> u64 {
        self.params.fence.value
    }
}

/// Signals or waits as the program described them.
pub(super) struct Given<P> {
    pub(super) semaphores: Vec<CUexternalSemaphore>,
    pub(super) parameters: KeptParameters<P>,
}

impl<P: Action + 'static> Given<P>
where
    KeptParameters<P>: Send + Sync,
{
    /// The work. A list that is shorter than the program says ends at what is no semaphore, before memory is taken for all of it.
    pub(super) fn work(
        driver: &Driver,
        list: &InArray<'_, CUexternalSemaphore>,
        parameters: &InArray<'_, P>,
        count: usize,
    ) -> DriverResult<SemaphoreWork> {
        let mut given = Given { semaphores: Vec::new(), parameters: KeptParameters(Vec::new()) };
        let mut semaphores = Vec::new();
        for index in 0..count {
            let semaphore = list.at("extSemArray", index)?;
            let parameter = parameters.at("paramsArray", index)?;
            semaphores.push(driver.valued_semaphore(Handle::from_raw(semaphore.0), parameter.value())?);
            given.semaphores.push(semaphore);
            given.parameters.0.push(parameter);
        }
        Ok(SemaphoreWork { action: P::ACTION, semaphores, given: Box::new(given) })
    }
}

fn some(count: u32) -> DriverResult<usize> {
    if count == 0 { Err(DriverError::invalid_value("numExtSems is 0")) } else { Ok(count as usize) }
}

pub(crate) fn cuSignalExternalSemaphoresAsync(
    default: DefaultStream,
    extSemArray: InArray<'_, CUexternalSemaphore>,
    paramsArray: InArray<'_, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>,
    numExtSems: u32,
    stream: CUstream,
) -> ApiResult {
    let count = some(numExtSems)?;
    let driver = driver()?;
    driver.use_semaphores(named(stream, default), Given::work(driver, &extSemArray, &paramsArray, count)?)
}

pub(crate) fn cuWaitExternalSemaphoresAsync(
    default: DefaultStream,
    extSemArray: InArray<'_, CUexternalSemaphore>,
    paramsArray: InArray<'_, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>,
    numExtSems: u32,
    stream: CUstream,
) -> ApiResult {
    let count = some(numExtSems)?;
    let driver = driver()?;
    driver.use_semaphores(named(stream, default), Given::work(driver, &extSemArray, &paramsArray, count)?)
}

pub(crate) fn cuDestroyExternalSemaphore(extSem: CUexternalSemaphore) -> ApiResult {
    driver()?.destroy_semaphore(Handle::from_raw(extSem.0))
}
