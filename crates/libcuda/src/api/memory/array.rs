//! Arrays.
use warploom_abi::{
    CUDA_ARRAY_DESCRIPTOR_v2, CUDA_ARRAY_MEMORY_REQUIREMENTS, CUDA_ARRAY_SPARSE_PROPERTIES, CUDA_ARRAY3D_DESCRIPTOR_v2,
    CUarray, CUarray_format, CUdevice, CUmipmappedArray,
};
use warploom_driver::array::{ArrayDescriptor, Format};
use warploom_driver::{DriverError, DriverResult, Handle};

use crate::border::{ApiResult, In, Out};
use crate::process::driver;

pub(crate) fn cuArrayCreate_v2(
    pHandle: Out<'_, CUarray>,
    pAllocateArray: In<'_, CUDA_ARRAY_DESCRIPTOR_v2>,
) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    let asked = pAllocateArray.get("pAllocateArray")?;
    let descriptor = ArrayDescriptor {
        width: asked.Width as u64,
        height: asked.Height as u64,
        depth: 0,
        format: Format::from_number(asked.Format.0)?,
        channels: asked.NumChannels,
        flags: 0,
    };
    place.set(CUarray(driver()?.create_array(descriptor)?.raw()));
    Ok(())
}

pub(crate) fn cuArrayGetDescriptor_v2(
    pArrayDescriptor: Out<'_, CUDA_ARRAY_DESCRIPTOR_v2>,
    hArray: CUarray,
) -> ApiResult {
    let place = pArrayDescriptor.required("pArrayDescriptor")?;
    let array = driver()?.array(Handle::from_raw(hArray.0))?;
    let known = array.descriptor();
    place.set(CUDA_ARRAY_DESCRIPTOR_v2 {
        Width: known.width as usize,
        Height: known.height as usize,
        Format: CUarray_format(known.format.number()),
        NumChannels: known.channels,
    });
    Ok(())
}

/// The array that a program asks for.
fn described(asked: &CUDA_ARRAY3D_DESCRIPTOR_v2) -> DriverResult<ArrayDescriptor> {
    Ok(ArrayDescriptor {
        width: asked.Width as u64,
        height: asked.Height as u64,
        depth: asked.Depth as u64,
        format: Format::from_number(asked.Format.0)?,
        channels: asked.NumChannels,
        flags: asked.Flags,
    })
}

pub(crate) fn cuArray3DCreate_v2(
    pHandle: Out<'_, CUarray>,
    pAllocateArray: In<'_, CUDA_ARRAY3D_DESCRIPTOR_v2>,
) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    let descriptor = described(&pAllocateArray.get("pAllocateArray")?)?;
    place.set(CUarray(driver()?.create_array(descriptor)?.raw()));
    Ok(())
}

pub(crate) fn cuArray3DGetDescriptor_v2(
    pArrayDescriptor: Out<'_, CUDA_ARRAY3D_DESCRIPTOR_v2>,
    hArray: CUarray,
) -> ApiResult {
    let place = pArrayDescriptor.required("pArrayDescriptor")?;
    let array = driver()?.array(Handle::from_raw(hArray.0))?;
    let known = array.descriptor();
    place.set(CUDA_ARRAY3D_DESCRIPTOR_v2 {
        Width: known.width as usize,
        Height: known.height as usize,
        Depth: known.depth as usize,
        Format: CUarray_format(known.format.number()),
        NumChannels: known.channels,
        Flags: known.flags,
    });
    Ok(())
}

pub(crate) fn cuArrayDestroy(hArray: CUarray) -> ApiResult {
    driver()?.destroy_array(Handle::from_raw(hArray.0))
}

/// What arrays, mipmapped ones too, that the driver backs with memory at once do not have.
fn only_of<T>(what: &str, found: DriverResult<T>) -> ApiResult {
    found?;
    Err(DriverError::invalid_value(format!("the array was not created as {what}")))
}

/// No format has planes here.
pub(crate) fn cuArrayGetPlane(pPlaneArray: Out<'_, CUarray>, hArray: CUarray, _planeIdx: u32) -> ApiResult {
    pPlaneArray.required("pPlaneArray")?;
    only_of("one of several planes", driver()?.array(Handle::from_raw(hArray.0)))
}

/// No array is sparse (`CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED` is 0).
pub(crate) fn cuArrayGetSparseProperties(
    sparseProperties: Out<'_, CUDA_ARRAY_SPARSE_PROPERTIES>,
    array: CUarray,
) -> ApiResult {
    sparseProperties.required("sparseProperties")?;
    only_of("CUDA_ARRAY3D_SPARSE", driver()?.array(Handle::from_raw(array.0)))
}

/// No array waits for its memory (`CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED` is 0).
pub(crate) fn cuArrayGetMemoryRequirements(
    memoryRequirements: Out<'_, CUDA_ARRAY_MEMORY_REQUIREMENTS>,
    array: CUarray,
    device: CUdevice,
) -> ApiResult {
    memoryRequirements.required("memoryRequirements")?;
    let driver = driver()?;
    driver.device(device)?;
    only_of("CUDA_ARRAY3D_DEFERRED_MAPPING", driver.array(Handle::from_raw(array.0)))
}

pub(crate) fn cuMipmappedArrayCreate(
    pHandle: Out<'_, CUmipmappedArray>,
    pMipmappedArrayDesc: In<'_, CUDA_ARRAY3D_DESCRIPTOR_v2>,
    numMipmapLevels: u32,
) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    let descriptor = pMipmappedArrayDesc.get("pMipmappedArrayDesc")?;
    let driver = driver()?;
    // A capture refuses it whatever the array, as recorded.
    driver.refuse_unsafe_in_capture()?;
    place.set(CUmipmappedArray(driver.create_mipmapped_array(described(&descriptor)?, numMipmapLevels)?.raw()));
    Ok(())
}

pub(crate) fn cuMipmappedArrayGetLevel(
    pLevelArray: Out<'_, CUarray>,
    hMipmappedArray: CUmipmappedArray,
    level: u32,
) -> ApiResult {
    let level = driver()?.mipmap_level(Handle::from_raw(hMipmappedArray.0), level)?;
    pLevelArray.required("pLevelArray")?.set(CUarray(level.raw()));
    Ok(())
}

pub(crate) fn cuMipmappedArrayDestroy(hMipmappedArray: CUmipmappedArray) -> ApiResult {
    driver()?.destroy_mipmapped_array(Handle::from_raw(hMipmappedArray.0))
}

/// No array is sparse, as above.
pub(crate) fn cuMipmappedArrayGetSparseProperties(
    sparseProperties: Out<'_, CUDA_ARRAY_SPARSE_PROPERTIES>,
    mipmap: CUmipmappedArray,
) -> ApiResult {
    sparseProperties.required("sparseProperties")?;
    only_of("CUDA_ARRAY3D_SPARSE", driver()?.mipmapped_array(Handle::from_raw(mipmap.0)))
}

/// No array waits for its memory, as above.
pub(crate) fn cuMipmappedArrayGetMemoryRequirements(
    memoryRequirements: Out<'_, CUDA_ARRAY_MEMORY_REQUIREMENTS>,
    mipmap: CUmipmappedArray,
    device: CUdevice,
) -> ApiResult {
    memoryRequirements.required("memoryRequirements")?;
    let driver = driver()?;
    driver.device(device)?;
    only_of("CUDA_ARRAY3D_DEFERRED_MAPPING", driver.mipmapped_array(Handle::from_raw(mipmap.0)))
}
