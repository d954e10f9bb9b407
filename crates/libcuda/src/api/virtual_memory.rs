//! Virtual memory management.
use std::os::fd::IntoRawFd;

use warploom_abi::{
    CU_MEM_CREATE_USAGE_TILE_POOL, CUarrayMapInfo, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc,
    CUmemAllocationGranularity_flags, CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationType,
    CUmemGenericAllocationHandle, CUmemLocation, CUmemRangeHandleType, CUstream,
};
use warploom_driver::array::ArrayMap;
use warploom_driver::memory::{HandleTypes, MapAccess};
use warploom_driver::{Driver, DriverError, DriverResult, ErrorCode, Handle};

use super::stream::named;
use crate::border::{ApiResult, DefaultStream, HostPtr, In, InArray, Out, members, no_flags};
use crate::process::driver;

fn physical(raw: CUmemGenericAllocationHandle) -> Handle {
    Handle::from_raw(usize::try_from(raw).unwrap_or(0))
}

/// The wished address is a wish only.
pub(crate) fn cuMemAddressReserve(
    ptr: Out<'_, CUdeviceptr>,
    size: usize,
    alignment: usize,
    addr: CUdeviceptr,
    flags: u64,
) -> ApiResult {
    let place = ptr.required("ptr")?;
    no_flags(flags)?;
    // A hint that is not followed, and looked at as recorded.
    let granularity = driver()?.map_granularity();
    if !addr.is_multiple_of(granularity) {
        return Err(DriverError::invalid_value(format!("{addr:#x} is no multiple of {granularity}")));
    }
    place.set(driver()?.reserve_addresses(size as u64, alignment as u64)?);
    Ok(())
}

pub(crate) fn cuMemAddressFree(ptr: CUdeviceptr, size: usize) -> ApiResult {
    driver()?.release_addresses(ptr, size as u64)
}

pub(crate) fn cuMemCreate(
    handle: Out<'_, CUmemGenericAllocationHandle>,
    size: usize,
    prop: In<'_, CUmemAllocationProp>,
    flags: u64,
) -> ApiResult {
    let place = handle.required("handle")?;
    let properties = prop.get("prop")?;
    no_flags(flags)?;
    let (driver, location) = (driver()?, members::location(properties.location));
    driver.check_new_physical(size as u64, location)?;
    if properties.r#type != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED {
        return Err(DriverError::invalid_value(format!("{:?} is no type of physical memory", properties.r#type)));
    }
    let types = HandleTypes::of_memory(properties.requestedHandleTypes.0, location)?;
    // Other bits mean nothing, as recorded.
    let for_tiles = u32::from(properties.allocFlags.usage) & CU_MEM_CREATE_USAGE_TILE_POOL != 0;
    let create = if for_tiles { Driver::create_tile_pool } else { Driver::create_physical };
    place.set(create(driver, size as u64, location, types)?.raw() as u64);
    Ok(())
}

pub(crate) fn cuMemRelease(memory: CUmemGenericAllocationHandle) -> ApiResult {
    driver()?.release_physical(physical(memory))
}

pub(crate) fn cuMemExportToShareableHandle(
    shareableHandle: HostPtr,
    handle: CUmemGenericAllocationHandle,
    handleType: CUmemAllocationHandleType,
    flags: u64,
) -> ApiResult {
    shareableHandle.required("shareableHandle")?;
    no_flags(flags)?;
    // As recorded, one that there is not here is a wrong value.
    let types =
        HandleTypes::new(handleType.0).map_err(|error| DriverError::invalid_value(error.reason().into_owned()))?;
    let descriptor = driver()?.export_physical(physical(handle), types)?;
    // The program closes it.
    shareableHandle.write("shareableHandle", descriptor.into_raw_fd())
}

/// The descriptor stays the program's.
pub(crate) fn cuMemImportFromShareableHandle(
    handle: Out<'_, CUmemGenericAllocationHandle>,
    osHandle: HostPtr,
    shHandleType: CUmemAllocationHandleType,
) -> ApiResult {
    let place = handle.required("handle")?;
    if HandleTypes::new(shHandleType.0)? != HandleTypes::POSIX_FILE_DESCRIPTOR {
        return Err(DriverError::invalid_value(format!("{shHandleType:?} is no kind of handle to import")));
    }
    let imported = driver()?.import_physical(osHandle.descriptor("osHandle")?)?;
    place.set(imported.raw() as u64);
    Ok(())
}

pub(crate) fn cuMemMap(
    ptr: CUdeviceptr,
    size: usize,
    offset: usize,
    memory: CUmemGenericAllocationHandle,
    flags: u64,
) -> ApiResult {
    no_flags(flags)?;
    driver()?.map(ptr, size as u64, offset as u64, physical(memory))
}

pub(crate) fn cuMemMapArrayAsync(
    default: DefaultStream,
    mapInfoList: InArray<'_, CUarrayMapInfo>,
    count: u32,
    hStream: CUstream,
) -> ApiResult {
    if count == 0 {
        return Err(DriverError::invalid_value("count is 0"));
    }
    let list = mapInfoList.get(count as usize, "mapInfoList")?;
    let driver = driver()?;
    let stream = named(hStream, default);
    driver.refuse_capture_of(stream)?;
    let maps = list.iter().map(members::array_map).collect::<DriverResult<Vec<ArrayMap>>>()?;
    driver.map_arrays(&maps, stream)
}

pub(crate) fn cuMemUnmap(ptr: CUdeviceptr, size: usize) -> ApiResult {
    driver()?.unmap(ptr, size as u64)
}

pub(crate) fn cuMemSetAccess(
    ptr: CUdeviceptr,
    size: usize,
    desc: InArray<'_, CUmemAccessDesc>,
    count: usize,
) -> ApiResult {
    if count == 0 {
        return Err(DriverError::invalid_value("count is 0"));
    }
    // All devices share one memory, so what one may do all may; the last descriptor holds.
    for descriptor in desc.get(count, "desc")? {
        let access = match descriptor.flags {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE => MapAccess::None,
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ => MapAccess::Read,
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => MapAccess::ReadWrite,
            flags => return Err(DriverError::invalid_value(format!("{flags:?} is no access"))),
        };
        driver()?.set_access(ptr, size as u64, members::location(descriptor.location), access)?;
    }
    Ok(())
}

pub(crate) fn cuMemGetAccess(flags: Out<'_, u64>, location: In<'_, CUmemLocation>, ptr: CUdeviceptr) -> ApiResult {
    let place = flags.required("flags")?;
    let location = members::location(location.get("location")?);
    let access = match driver()?.access(ptr, location)? {
        MapAccess::None => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
        MapAccess::Read => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ,
        MapAccess::ReadWrite => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    place.set(u64::from(access.0));
    Ok(())
}

/// The same for every kind of memory, so the properties are not looked at, as recorded.
pub(crate) fn cuMemGetAllocationGranularity(
    granularity: Out<'_, usize>,
    prop: In<'_, CUmemAllocationProp>,
    option: CUmemAllocationGranularity_flags,
) -> ApiResult {
    let place = granularity.required("granularity")?;
    prop.get("prop")?;
    let known = [
        CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM,
        CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
    ];
    if !known.contains(&option) {
        return Err(DriverError::invalid_value(format!("{option:?} is no kind of granularity")));
    }
    place.set(usize::try_from(driver()?.map_granularity()).unwrap_or(usize::MAX));
    Ok(())
}

pub(crate) fn cuMemGetAllocationPropertiesFromHandle(
    prop: Out<'_, CUmemAllocationProp>,
    memory: CUmemGenericAllocationHandle,
) -> ApiResult {
    let place = prop.required("prop")?;
    let memory = driver()?.physical_memory(physical(memory))?;
    place.set(CUmemAllocationProp {
        r#type: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: CUmemAllocationHandleType(memory.handle_types().bits()),
        location: members::c_location(memory.location()),
        ..CUmemAllocationProp::default()
    });
    Ok(())
}

pub(crate) fn cuMemRetainAllocationHandle(memory: Out<'_, CUmemGenericAllocationHandle>, addr: HostPtr) -> ApiResult {
    let place = memory.required("handle")?;
    place.set(driver()?.retain_mapped(addr.required("addr")? as u64)?.raw() as u64);
    Ok(())
}

/// Of the one kind of handle that there is, none can be made: it lets devices of a bus reach memory, and there is no bus.
pub(crate) fn cuMemGetHandleForAddressRange(
    handle: HostPtr,
    dptr: CUdeviceptr,
    size: usize,
    handleType: CUmemRangeHandleType,
    flags: u64,
) -> ApiResult {
    /// `CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE`.
    const MAPPING_OF_PCIE: u64 = 1;
    handle.required("handle")?;
    if handleType != CUmemRangeHandleType::CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags & !MAPPING_OF_PCIE != 0 {
        let reason = format!("{handleType:?} with flags {flags:#x} is no kind of handle for a range of addresses");
        return Err(DriverError::invalid_value(reason));
    }
    driver()?.check_pages(dptr, size as u64)?;
    let reason = "a descriptor of a DMA buffer is for devices of a bus, which a CPU is not: CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED is 0";
    Err(DriverError::new(ErrorCode::NotSupported, reason))
}
