//! Stream ordered memory allocator.
use warploom_abi::{
    CUdevice, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType,
    CUmemLocation, CUmemPool_attribute, CUmemPoolProps, CUmemPoolPtrExportData, CUmemoryPool, CUstream,
};
use warploom_driver::memory::{HighMark, Location, MapAccess, PoolPlace, location_kind};
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::stream::named;
use crate::border::{ApiResult, DefaultStream, HostPtr, In, InArray, Out, members};
use crate::process::driver;

fn pool_handle(pool: CUmemoryPool) -> Handle {
    Handle::from_raw(pool.0)
}

fn c_pool(handle: Handle) -> CUmemoryPool {
    CUmemoryPool(handle.raw())
}

/// What pools of device memory are made for.
fn on_device(device: CUdevice) -> PoolPlace {
    PoolPlace { managed: false, location: Location { kind: location_kind::DEVICE, id: device } }
}

/// What pools of a type of memory in a location are made for.
fn place_of(location: CUmemLocation, memory: CUmemAllocationType) -> DriverResult<PoolPlace> {
    let managed = match memory {
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED => false,
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => true,
        memory => return Err(DriverError::invalid_value(format!("{memory:?} is no type of memory for pools"))),
    };
    Ok(PoolPlace { managed, location: members::location(location) })
}

pub(crate) fn cuMemAllocAsync(
    default: DefaultStream,
    dptr: Out<'_, CUdeviceptr>,
    bytesize: usize,
    hStream: CUstream,
) -> ApiResult {
    let place = dptr.required("dptr")?;
    place.set(driver()?.alloc_async(bytesize as u64, None, named(hStream, default))?);
    Ok(())
}

pub(crate) fn cuMemAllocFromPoolAsync(
    default: DefaultStream,
    dptr: Out<'_, CUdeviceptr>,
    bytesize: usize,
    pool: CUmemoryPool,
    hStream: CUstream,
) -> ApiResult {
    let place = dptr.required("dptr")?;
    place.set(driver()?.alloc_async(bytesize as u64, Some(pool_handle(pool)), named(hStream, default))?);
    Ok(())
}

pub(crate) fn cuMemFreeAsync(default: DefaultStream, dptr: CUdeviceptr, hStream: CUstream) -> ApiResult {
    driver()?.free_async(dptr, named(hStream, default))
}

pub(crate) fn cuMemPoolTrimTo(pool: CUmemoryPool, minBytesToKeep: usize) -> ApiResult {
    driver()?.trim_pool(pool_handle(pool), minBytesToKeep as u64)
}

pub(crate) fn cuMemPoolSetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: HostPtr) -> ApiResult {
    type A = CUmemPool_attribute;
    let pool = driver()?.pool(pool_handle(pool))?;
    let reset = |mark| match value.read::<u64>("value")? {
        0 => {
            pool.reset_high(mark);
            Ok(())
        }
        bytes => Err(DriverError::invalid_value(format!("{attr:?} can be set to 0 only, not to {bytes}"))),
    };
    match attr {
        A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
        | A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
        | A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
            pool.set_reuse(attr.0, value.read::<i32>("value")? != 0)
        }
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => {
            pool.set_release_threshold(value.read::<u64>("value")?);
            Ok(())
        }
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => reset(HighMark::Reserved),
        A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => reset(HighMark::Used),
        _ => Err(DriverError::invalid_value(format!("{attr:?} cannot be set"))),
    }
}

pub(crate) fn cuMemPoolGetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: HostPtr) -> ApiResult {
    const VALUE: &str = "value";
    type A = CUmemPool_attribute;
    let pool = driver()?.pool(pool_handle(pool))?;
    let (figures, place) = (pool.figures(), pool.place());
    match attr {
        A::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
        | A::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
        | A::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => value.write(VALUE, i32::from(pool.reuse(attr.0)?)),
        A::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => value.write(VALUE, pool.release_threshold()),
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => value.write(VALUE, figures.reserved),
        A::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => value.write(VALUE, figures.reserved_high),
        A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => value.write(VALUE, figures.used),
        A::CU_MEMPOOL_ATTR_USED_MEM_HIGH => value.write(VALUE, figures.used_high),
        A::CU_MEMPOOL_ATTR_ALLOCATION_TYPE if place.managed => {
            value.write(VALUE, CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED)
        }
        A::CU_MEMPOOL_ATTR_ALLOCATION_TYPE => value.write(VALUE, CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED),
        A::CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES => {
            value.write(VALUE, CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE)
        }
        A::CU_MEMPOOL_ATTR_LOCATION_ID => value.write(VALUE, place.location.id),
        A::CU_MEMPOOL_ATTR_LOCATION_TYPE => value.write(VALUE, place.location.kind),
        A::CU_MEMPOOL_ATTR_MAX_POOL_SIZE => value.write(VALUE, pool.max_size()),
        A::CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED => value.write(VALUE, 0_i32),
        _ => Err(DriverError::invalid_value(format!("{attr:?} is no attribute of memory pools"))),
    }
}

pub(crate) fn cuMemPoolSetAccess(pool: CUmemoryPool, map: InArray<'_, CUmemAccessDesc>, count: usize) -> ApiResult {
    driver()?.pool(pool_handle(pool))?;
    for descriptor in map.read("map", count)? {
        let access = match descriptor.flags {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE => MapAccess::None,
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ => MapAccess::Read,
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => MapAccess::ReadWrite,
            flags => return Err(DriverError::invalid_value(format!("{flags:?} is no access"))),
        };
        driver()?.set_pool_access(pool_handle(pool), members::location(descriptor.location), access)?;
    }
    Ok(())
}

pub(crate) fn cuMemPoolGetAccess(
    flags: Out<'_, CUmemAccess_flags>,
    memPool: CUmemoryPool,
    location: In<'_, CUmemLocation>,
) -> ApiResult {
    let place = flags.required("flags")?;
    let location = members::location(location.required("location")?);
    place.set(match driver()?.pool_access(pool_handle(memPool), location)? {
        MapAccess::None => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
        MapAccess::Read => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ,
        MapAccess::ReadWrite => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    });
    Ok(())
}

pub(crate) fn cuMemPoolCreate(pool: Out<'_, CUmemoryPool>, poolProps: In<'_, CUmemPoolProps>) -> ApiResult {
    let place = pool.required("pool")?;
    let properties = poolProps.required("poolProps")?;
    let pool_place = place_of(properties.location, properties.allocType)?;
    not_shared(properties.handleTypes)?;
    place.set(c_pool(driver()?.create_pool(pool_place, properties.maxSize as u64)?));
    Ok(())
}

pub(crate) fn cuMemPoolDestroy(pool: CUmemoryPool) -> ApiResult {
    driver()?.destroy_pool(pool_handle(pool))
}

pub(crate) fn cuDeviceGetDefaultMemPool(pool_out: Out<'_, CUmemoryPool>, dev: CUdevice) -> ApiResult {
    let place = pool_out.required("pool_out")?;
    place.set(c_pool(driver()?.default_pool(on_device(dev))?));
    Ok(())
}

pub(crate) fn cuDeviceGetMemPool(pool: Out<'_, CUmemoryPool>, dev: CUdevice) -> ApiResult {
    let place = pool.required("pool")?;
    place.set(c_pool(driver()?.current_pool(on_device(dev))?));
    Ok(())
}

pub(crate) fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) -> ApiResult {
    driver()?.set_current_pool(on_device(dev), pool_handle(pool))
}

pub(crate) fn cuMemGetDefaultMemPool(
    pool_out: Out<'_, CUmemoryPool>,
    location: In<'_, CUmemLocation>,
    r#type: CUmemAllocationType,
) -> ApiResult {
    let place = pool_out.required("pool_out")?;
    place.set(c_pool(driver()?.default_pool(place_of(location.required("location")?, r#type)?)?));
    Ok(())
}

pub(crate) fn cuMemGetMemPool(
    pool: Out<'_, CUmemoryPool>,
    location: In<'_, CUmemLocation>,
    r#type: CUmemAllocationType,
) -> ApiResult {
    let place = pool.required("pool")?;
    place.set(c_pool(driver()?.current_pool(place_of(location.required("location")?, r#type)?)?));
    Ok(())
}

pub(crate) fn cuMemSetMemPool(
    location: In<'_, CUmemLocation>,
    r#type: CUmemAllocationType,
    pool: CUmemoryPool,
) -> ApiResult {
    driver()?.set_current_pool(place_of(location.required("location")?, r#type)?, pool_handle(pool))
}

/// Memory of this driver belongs to its process (`CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES` is 0).
fn not_shared(kind: CUmemAllocationHandleType) -> DriverResult {
    if kind == CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE {
        return Ok(());
    }
    let reason = format!("memory pools cannot be shared with other processes, so not as {kind:?}");
    Err(DriverError::new(ErrorCode::NotSupported, reason))
}

/// A pool was never created for sharing, so it cannot be exported.
fn not_exportable(pool: CUmemoryPool) -> DriverError {
    DriverError::invalid_value(format!("the pool {:#x} was not created with a handle type for sharing", pool.0))
}

pub(crate) fn cuMemPoolExportToShareableHandle(
    handle_out: HostPtr,
    pool: CUmemoryPool,
    _handleType: CUmemAllocationHandleType,
    flags: u64,
) -> ApiResult {
    handle_out.required("handle_out")?;
    driver()?.pool(pool_handle(pool))?;
    if flags != 0 {
        return Err(DriverError::invalid_value(format!("flags is {flags}, must be 0")));
    }
    Err(not_exportable(pool))
}

pub(crate) fn cuMemPoolImportFromShareableHandle(
    pool_out: Out<'_, CUmemoryPool>,
    _handle: HostPtr,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> ApiResult {
    pool_out.required("pool_out")?;
    if flags != 0 {
        return Err(DriverError::invalid_value(format!("flags is {flags}, must be 0")));
    }
    not_shared(handleType)?;
    Err(DriverError::invalid_value(format!("{handleType:?} is no kind of handle to import")))
}

pub(crate) fn cuMemPoolExportPointer(shareData_out: Out<'_, CUmemPoolPtrExportData>, ptr: CUdeviceptr) -> ApiResult {
    shareData_out.required("shareData_out")?;
    let pool = driver()?.pointer(ptr).map_or(0, |pointer| pointer.pool);
    if pool == 0 {
        return Err(DriverError::invalid_value(format!("{ptr:#x} came from no memory pool")));
    }
    Err(not_exportable(CUmemoryPool(pool as usize)))
}

pub(crate) fn cuMemPoolImportPointer(
    ptr_out: Out<'_, CUdeviceptr>,
    pool: CUmemoryPool,
    shareData: In<'_, CUmemPoolPtrExportData>,
) -> ApiResult {
    ptr_out.required("ptr_out")?;
    shareData.required("shareData")?;
    driver()?.pool(pool_handle(pool))?;
    Err(DriverError::invalid_value(format!("the pool {:#x} was not imported from another process", pool.0)))
}
