//! Unified addressing: what a pointer points to, and hints about managed memory.
use warploom_abi::{
    CUcontext, CUdevice, CUdeviceptr, CUmem_advise, CUmem_range_attribute, CUmemLocation, CUmemorytype,
    CUpointer_attribute, CUstream,
};
use warploom_driver::memory::{Advice, HandleTypes, Hints, Location, Pointer, PointerKind};
use warploom_driver::{DriverError, DriverResult, ErrorCode, Handle};

use super::stream::named;
use crate::border::{ApiResult, DefaultStream, HostPtr, InArray, members, no_flags};
use crate::process::driver;

fn unknown(address: CUdeviceptr) -> DriverError {
    let what = "points to nothing that this driver allocated or registered";
    DriverError::about(ErrorCode::InvalidValue, address, what)
}

/// Writes an attribute of the memory that `address` points into.
fn write_attribute(data: HostPtr, attribute: CUpointer_attribute, address: u64, pointer: &Pointer) -> ApiResult {
    const DATA: &str = "data";
    type A = CUpointer_attribute;
    // What is documented as a boolean is as wide as an int, as recorded.
    let managed = pointer.kind == PointerKind::Managed;
    match attribute {
        A::CU_POINTER_ATTRIBUTE_CONTEXT => {
            let owner = driver()?.owner_of(pointer);
            data.write(DATA, CUcontext(owner.map_or(0, |handle| handle.raw())))
        }
        A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => {
            let host = CUmemorytype::CU_MEMORYTYPE_HOST;
            data.write(DATA, if pointer.is_host() { host } else { CUmemorytype::CU_MEMORYTYPE_DEVICE })
        }
        A::CU_POINTER_ATTRIBUTE_HOST_POINTER if !pointer.is_host_accessible() => {
            data.write(DATA, 0_u64)?;
            let what = "is device memory, without an address on the host";
            Err(DriverError::about(ErrorCode::InvalidValue, address, what))
        }
        A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER | A::CU_POINTER_ATTRIBUTE_HOST_POINTER => data.write(DATA, address),
        A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => data.write(DATA, u32::from(driver()?.is_synchronous(pointer))),
        A::CU_POINTER_ATTRIBUTE_BUFFER_ID | A::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => data.write(DATA, pointer.id),
        A::CU_POINTER_ATTRIBUTE_IS_MANAGED => data.write(DATA, u32::from(managed)),
        A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => data.write(DATA, pointer.device as i32),
        A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => data.write(DATA, u32::from(pointer.can_be_named)),
        A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => data.write(DATA, driver()?.addresses_around(pointer).0),
        A::CU_POINTER_ATTRIBUTE_RANGE_SIZE => data.write(DATA, driver()?.addresses_around(pointer).1),
        A::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => data.write(DATA, pointer.base),
        A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE => data.write(DATA, pointer.size),
        A::CU_POINTER_ATTRIBUTE_MAPPED => data.write(DATA, 1_u32),
        A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => {
            let of_pool = || driver().and_then(|driver| driver.pool(Handle::from_raw(pointer.pool as usize)));
            let types = pointer.mapped.or_else(|| of_pool().ok().map(|pool| pool.handle_types()));
            data.write(DATA, u64::from(types.map_or(0, HandleTypes::bits)))
        }
        A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE | A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => {
            data.write(DATA, 0_u32)
        }
        // Read and write.
        A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => data.write(DATA, 3_u32),
        A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => data.write(DATA, pointer.pool),
        _ => Err(DriverError::invalid_value(format!("{attribute:?} is no attribute that can be asked for"))),
    }
}

/// What several attributes at once answer for a pointer to nothing: that is no error there, as documented. An address is its own on the host, and an allocation is not
/// told of, as recorded.
fn write_nothing(data: HostPtr, attribute: CUpointer_attribute, address: u64) -> ApiResult {
    const DATA: &str = "data";
    type A = CUpointer_attribute;
    match attribute {
        A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        | A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        | A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS
        | A::CU_POINTER_ATTRIBUTE_IS_MANAGED
        | A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        | A::CU_POINTER_ATTRIBUTE_MAPPED
        | A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
        | A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => data.write(DATA, 0_u32),
        A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => data.write(DATA, -2_i32),
        A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR | A::CU_POINTER_ATTRIBUTE_RANGE_SIZE => data.required(DATA).map(drop),
        A::CU_POINTER_ATTRIBUTE_HOST_POINTER => data.write(DATA, address),
        A::CU_POINTER_ATTRIBUTE_CONTEXT
        | A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        | A::CU_POINTER_ATTRIBUTE_BUFFER_ID
        | A::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID
        | A::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR
        | A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE
        | A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES
        | A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => data.write(DATA, 0_u64),
        _ => Err(DriverError::invalid_value(format!("{attribute:?} is no attribute that can be asked for"))),
    }
}

pub(crate) fn cuPointerGetAttribute(data: HostPtr, attribute: CUpointer_attribute, ptr: CUdeviceptr) -> ApiResult {
    data.required("data")?;
    let pointer = driver()?.pointer(ptr).ok_or_else(|| unknown(ptr))?;
    write_attribute(data, attribute, ptr, &pointer)
}

pub(crate) fn cuPointerGetAttributes(
    numAttributes: u32,
    attributes: InArray<'_, CUpointer_attribute>,
    data: InArray<'_, HostPtr>,
    ptr: CUdeviceptr,
) -> ApiResult {
    if numAttributes == 0 {
        return Err(DriverError::invalid_value("numAttributes is 0"));
    }
    let attributes = attributes.get(numAttributes as usize, "attributes")?;
    let data = data.get(numAttributes as usize, "data")?;
    let pointer = driver()?.pointer(ptr);
    for (attribute, data) in attributes.into_iter().zip(data) {
        match &pointer {
            // Device memory has no host address, which is no error among others.
            Some(pointer)
                if attribute == CUpointer_attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER
                    && !pointer.is_host_accessible() =>
            {
                data.write("data", 0_u64)?;
            }
            Some(pointer) => write_attribute(data, attribute, ptr, pointer)?,
            None => write_nothing(data, attribute, ptr)?,
        }
    }
    Ok(())
}

/// Only whether copies are synchronous can be set.
pub(crate) fn cuPointerSetAttribute(value: HostPtr, attribute: CUpointer_attribute, ptr: CUdeviceptr) -> ApiResult {
    let bytes = value.read_bytes("value", 1)?;
    if attribute != CUpointer_attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
        return Err(DriverError::invalid_value(format!("{attribute:?} cannot be set")));
    }
    let pointer = driver()?.pointer(ptr).ok_or_else(|| unknown(ptr))?;
    driver()?.set_synchronous(&pointer, bytes != [0]);
    Ok(())
}

fn prefetch(
    address: CUdeviceptr,
    size: usize,
    location: Location,
    stream: CUstream,
    default: DefaultStream,
) -> ApiResult {
    driver()?.prefetch(address, size as u64, location, named(stream, default))
}

pub(crate) fn cuMemPrefetchAsync(
    default: DefaultStream,
    devPtr: CUdeviceptr,
    count: usize,
    dstDevice: CUdevice,
    hStream: CUstream,
) -> ApiResult {
    prefetch(devPtr, count, Location::of_ordinal(dstDevice), hStream, default)
}

pub(crate) fn cuMemPrefetchAsync_v2(
    default: DefaultStream,
    devPtr: CUdeviceptr,
    count: usize,
    location: CUmemLocation,
    flags: u32,
    hStream: CUstream,
) -> ApiResult {
    no_flags(u64::from(flags))?;
    prefetch(devPtr, count, members::location(location), hStream, default)
}

fn advice_of(advice: CUmem_advise, location: Location) -> DriverResult<Advice> {
    Ok(match advice {
        CUmem_advise::CU_MEM_ADVISE_SET_READ_MOSTLY => Advice::ReadMostly(true),
        CUmem_advise::CU_MEM_ADVISE_UNSET_READ_MOSTLY => Advice::ReadMostly(false),
        CUmem_advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION => Advice::Preferred(Some(location)),
        CUmem_advise::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => Advice::Preferred(None),
        CUmem_advise::CU_MEM_ADVISE_SET_ACCESSED_BY => Advice::AccessedBy(location, true),
        CUmem_advise::CU_MEM_ADVISE_UNSET_ACCESSED_BY => Advice::AccessedBy(location, false),
        advice => return Err(DriverError::invalid_value(format!("{advice:?} is no advice"))),
    })
}

pub(crate) fn cuMemAdvise(devPtr: CUdeviceptr, count: usize, advice: CUmem_advise, device: CUdevice) -> ApiResult {
    driver()?.advise(devPtr, count as u64, advice_of(advice, Location::of_ordinal(device))?)
}

pub(crate) fn cuMemAdvise_v2(
    devPtr: CUdeviceptr,
    count: usize,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> ApiResult {
    let location = members::location(location);
    driver()?.advise_place(devPtr, count as u64, advice_of(advice, location)?, location)
}

/// What the documentation calls an invalid device, where parts of a range differ or nothing was said.
const NO_PLACE: i32 = -2;

/// The value that all parts of a range share.
fn shared<T: PartialEq>(parts: &[Hints], value: impl Fn(&Hints) -> Option<T>) -> Option<T> {
    let first = value(parts.first()?)?;
    parts.iter().all(|part| value(part).as_ref() == Some(&first)).then_some(first)
}

fn write_range_attribute(data: HostPtr, size: usize, attribute: CUmem_range_attribute, parts: &[Hints]) -> ApiResult {
    type A = CUmem_range_attribute;
    if size == 0 || !size.is_multiple_of(size_of::<i32>()) {
        return Err(DriverError::invalid_value(format!("dataSize is {size}, must be a multiple of 4")));
    }
    let preferred = shared(parts, |part| part.preferred);
    let prefetched = shared(parts, |part| part.prefetched);
    let value = match attribute {
        A::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => i32::from(parts.iter().all(|part| part.read_mostly)),
        A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION => preferred.map_or(NO_PLACE, Location::ordinal),
        A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION => prefetched.map_or(NO_PLACE, Location::ordinal),
        A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => preferred.map_or(0, |place| place.kind as i32),
        A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => preferred.map_or(NO_PLACE, |place| place.id),
        A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => prefetched.map_or(0, |place| place.kind as i32),
        A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => prefetched.map_or(NO_PLACE, |place| place.id),
        A::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => return write_accessors(data, size, parts),
        _ => return Err(DriverError::invalid_value(format!("{attribute:?} is no attribute of ranges"))),
    };
    if size != size_of::<i32>() {
        return Err(DriverError::invalid_value(format!("dataSize is {size}, must be 4 for {attribute:?}")));
    }
    data.write("data", value)
}

/// As many accessors of all parts as there is room for; the rest of the room holds no places.
fn write_accessors(data: HostPtr, size: usize, parts: &[Hints]) -> ApiResult {
    let candidates = parts.first().map(|part| part.accessed_by.as_slice()).unwrap_or_default();
    let everywhere = candidates.iter().filter(|place| parts.iter().all(|part| part.accessed_by.contains(place)));
    let places = everywhere.copied().chain(std::iter::repeat(NO_PLACE));
    data.required("data")?;
    for (index, place) in places.take(size / size_of::<i32>()).enumerate() {
        data.write_at("data", index, place)?;
    }
    Ok(())
}

pub(crate) fn cuMemRangeGetAttribute(
    data: HostPtr,
    dataSize: usize,
    attribute: CUmem_range_attribute,
    devPtr: CUdeviceptr,
    count: usize,
) -> ApiResult {
    data.required("data")?;
    let parts = driver()?.hints(devPtr, count as u64)?;
    write_range_attribute(data, dataSize, attribute, &parts)
}

pub(crate) fn cuMemRangeGetAttributes(
    data: InArray<'_, HostPtr>,
    dataSizes: InArray<'_, usize>,
    attributes: InArray<'_, CUmem_range_attribute>,
    numAttributes: usize,
    devPtr: CUdeviceptr,
    count: usize,
) -> ApiResult {
    if numAttributes == 0 {
        return Err(DriverError::invalid_value("numAttributes is 0"));
    }
    let data = data.get(numAttributes, "data")?;
    let sizes = dataSizes.get(numAttributes, "dataSizes")?;
    let attributes = attributes.get(numAttributes, "attributes")?;
    let parts = driver()?.hints(devPtr, count as u64)?;
    for ((data, size), attribute) in data.into_iter().zip(sizes).zip(attributes) {
        write_range_attribute(data, size, attribute, &parts)?;
    }
    Ok(())
}
