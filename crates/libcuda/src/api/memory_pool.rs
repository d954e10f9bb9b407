//! Stream ordered memory allocator.
use warploom_abi::{
    CUdevice, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType,
    CUmemLocation, CUmemPool_attribute, CUmemPoolProps, CUmemPoolPtrExportData, CUmemoryPool, CUstream,
};
use warploom_driver::memory::{HandleTypes, HighMark, Location, MapAccess, PoolPlace, SharedAllocation, location_kind};
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::stream::named;
use crate::border::{ApiResult, DefaultStream, HostPtr, In, InArray, Out, inherited, members, no_flags};
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
pub(super) fn place_of(location: CUmemLocation, memory: CUmemAllocationType) -> DriverResult<PoolPlace> {
    let managed = match memory {
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED => false,
        CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED => true,
        memory => return Err(DriverError::invalid_value(format!("{memory:?} is no type of memory for pools"))),
    };
    Ok(PoolPlace { managed, location: members::location(location) })
}

/// The same of places that pools can be the current ones of.
fn place_of_current(location: CUmemLocation, memory: CUmemAllocationType) -> DriverResult<PoolPlace> {
    // As recorded, before the type of memory is looked at.
    if location.r#type.0 > location_kind::HOST_NUMA {
        let reason = format!("no pool is the current one of {:?}", location.r#type);
        return Err(DriverError::new(ErrorCode::NotSupported, reason));
    }
    place_of(location, memory)
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
    pool.require_own()?;
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
    pool.require_own()?;
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
            value.write(VALUE, CUmemAllocationHandleType(pool.handle_types().bits()))
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
    for descriptor in map.get(count, "map")? {
        let access = match descriptor.flags {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE => Some(MapAccess::None),
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ => Some(MapAccess::Read),
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Some(MapAccess::ReadWrite),
            _ => None,
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
    let location = members::location(location.get("location")?);
    place.set(match driver()?.pool_access(pool_handle(memPool), location)? {
        MapAccess::None => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
        MapAccess::Read => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ,
        MapAccess::ReadWrite => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    });
    Ok(())
}

pub(crate) fn cuMemPoolCreate(pool: Out<'_, CUmemoryPool>, poolProps: In<'_, CUmemPoolProps>) -> ApiResult {
    let place = pool.required("pool")?;
    let properties = poolProps.get("poolProps")?;
    let pool_place = place_of(properties.location, properties.allocType)?;
    if properties.reserved != CUmemPoolProps::default().reserved {
        return Err(DriverError::invalid_value("reserved members of poolProps must be 0"));
    }
    let made = driver()?.create_pool(pool_place, properties.maxSize as u64, properties.handleTypes.0)?;
    place.set(c_pool(made));
    Ok(())
}

pub(crate) fn cuMemPoolDestroy(pool: CUmemoryPool) -> ApiResult {
    driver()?.destroy_pool(pool_handle(pool))
}

pub(crate) fn cuDeviceGetDefaultMemPool(pool_out: Out<'_, CUmemoryPool>, dev: CUdevice) -> ApiResult {
    let place = pool_out.required("pool_out")?;
    let driver = driver()?;
    driver.device(dev)?;
    place.set(c_pool(driver.default_pool(on_device(dev))?));
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
    place.set(c_pool(driver()?.default_pool(place_of_current(location.get("location")?, r#type)?)?));
    Ok(())
}

pub(crate) fn cuMemGetMemPool(
    pool: Out<'_, CUmemoryPool>,
    location: In<'_, CUmemLocation>,
    r#type: CUmemAllocationType,
) -> ApiResult {
    let place = pool.required("pool")?;
    place.set(c_pool(driver()?.current_pool(place_of_current(location.get("location")?, r#type)?)?));
    Ok(())
}

pub(crate) fn cuMemSetMemPool(
    location: In<'_, CUmemLocation>,
    r#type: CUmemAllocationType,
    pool: CUmemoryPool,
) -> ApiResult {
    let (driver, handle) = (driver()?, pool_handle(pool));
    driver.pool(handle)?;
    driver.set_current_pool(place_of_current(location.get("location")?, r#type)?, handle)
}

/// The kinds of handles that a descriptor of a pool is.
fn exported_types(kind: CUmemAllocationHandleType) -> DriverResult<HandleTypes> {
    let types = HandleTypes::new(kind.0)?;
    if types == HandleTypes::POSIX_FILE_DESCRIPTOR {
        return Ok(types);
    }
    Err(DriverError::invalid_value(format!("{kind:?} is no kind of handle to export or import")))
}

pub(crate) fn cuMemPoolExportToShareableHandle(
    handle_out: HostPtr,
    pool: CUmemoryPool,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> ApiResult {
    handle_out.required("handle_out")?;
    driver()?.pool(pool_handle(pool))?;
    no_flags(flags)?;
    // As recorded: a pool was not created with what it cannot be created with.
    let types = exported_types(handleType).map_err(|error| DriverError::invalid_value(error.reason().into_owned()))?;
    let descriptor = driver()?.export_pool(pool_handle(pool), types)?;
    // The program closes it; unlike others it stays open in programs that this one becomes, as recorded.
    handle_out.write("handle_out", inherited(descriptor)?)
}

pub(crate) fn cuMemPoolImportFromShareableHandle(
    pool_out: Out<'_, CUmemoryPool>,
    handle: HostPtr,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> ApiResult {
    let place = pool_out.required("pool_out")?;
    no_flags(flags)?;
    exported_types(handleType)?;
    let descriptor = handle.descriptor("handle").map_err(|error| match error.code() {
        ErrorCode::InvalidValue => DriverError::new(ErrorCode::Unknown, error.reason().into_owned()),
        _ => error,
    })?;
    place.set(c_pool(driver()?.import_pool(descriptor)?));
    Ok(())
}

/// What export data begins with; the file, the offset and the size follow, eight bytes each.
const EXPORT_DATA: &[u8; 8] = b"warploom";

pub(crate) fn cuMemPoolExportPointer(shareData_out: Out<'_, CUmemPoolPtrExportData>, ptr: CUdeviceptr) -> ApiResult {
    let place = shareData_out.required("shareData_out")?;
    let SharedAllocation { file, offset, size } = driver()?.export_pool_pointer(ptr)?;
    let words = [u64::from_le_bytes(*EXPORT_DATA), file, offset, size].map(u64::to_le_bytes);
    let mut data = CUmemPoolPtrExportData::default();
    for (place, byte) in data.reserved.iter_mut().zip(words.as_flattened()) {
        *place = *byte;
    }
    place.set(data);
    Ok(())
}

pub(crate) fn cuMemPoolImportPointer(
    ptr_out: Out<'_, CUdeviceptr>,
    pool: CUmemoryPool,
    shareData: In<'_, CUmemPoolPtrExportData>,
) -> ApiResult {
    let place = ptr_out.required("ptr_out")?;
    let data = shareData.get("shareData")?;
    driver()?.pool(pool_handle(pool))?;
    let word = |index: usize| u64::from_le_bytes(std::array::from_fn(|byte| data.reserved[8 * index + byte]));
    if !data.reserved.starts_with(EXPORT_DATA) {
        return Err(DriverError::invalid_value("shareData was not written by cuMemPoolExportPointer"));
    }
    let told = SharedAllocation { file: word(1), offset: word(2), size: word(3) };
    place.set(driver()?.import_pool_pointer(pool_handle(pool), told)?);
    Ok(())
}
