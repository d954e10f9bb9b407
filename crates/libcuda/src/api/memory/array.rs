//! Arrays.
use warploom_abi::{
    CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL, CUDA_ARRAY_DESCRIPTOR_v2, CUDA_ARRAY_MEMORY_REQUIREMENTS,
    CUDA_ARRAY_SPARSE_PROPERTIES, CUDA_ARRAY_SPARSE_PROPERTIES_v1_tileExtent, CUDA_ARRAY3D_DESCRIPTOR_v2, CUarray,
    CUarray_format, CUdevice, CUmipmappedArray,
};
use warploom_driver::array::{AnyArray, ArrayDescriptor, Format, TILE_BYTES};
use warploom_driver::{DriverResult, Handle};

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

fn sparse_properties(array: AnyArray) -> DriverResult<CUDA_ARRAY_SPARSE_PROPERTIES> {
    let known = driver()?.sparse_properties(array)?;
    let [width, height, depth] = known.tile.map(|extent| extent as u32);
    let flags = if known.single { CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL } else { 0 };
    // Without levels there is none that a tail could begin with.
    let levels = matches!(array, AnyArray::Mipmapped(_)) || known.tail > 0;
    Ok(CUDA_ARRAY_SPARSE_PROPERTIES {
        tileExtent: CUDA_ARRAY_SPARSE_PROPERTIES_v1_tileExtent { width, height, depth },
        miptailFirstLevel: if levels { known.first_of_tail } else { 0 },
        miptailSize: known.tail,
        flags,
        ..Default::default()
    })
}

fn memory_requirements(array: AnyArray) -> DriverResult<CUDA_ARRAY_MEMORY_REQUIREMENTS> {
    let size = driver()?.memory_requirement(array)? as usize;
    Ok(CUDA_ARRAY_MEMORY_REQUIREMENTS { size, alignment: TILE_BYTES as usize, ..Default::default() })
}

pub(crate) fn cuArrayGetPlane(pPlaneArray: Out<'_, CUarray>, hArray: CUarray, planeIdx: u32) -> ApiResult {
    let place = pPlaneArray.required("pPlaneArray")?;
    place.set(CUarray(driver()?.array_plane(Handle::from_raw(hArray.0), planeIdx)?.raw()));
    Ok(())
}

pub(crate) fn cuArrayGetSparseProperties(
    sparseProperties: Out<'_, CUDA_ARRAY_SPARSE_PROPERTIES>,
    array: CUarray,
) -> ApiResult {
    let place = sparseProperties.required("sparseProperties")?;
    place.set(sparse_properties(AnyArray::Array(Handle::from_raw(array.0)))?);
    Ok(())
}

/// The device may be any number, as recorded.
pub(crate) fn cuArrayGetMemoryRequirements(
    memoryRequirements: Out<'_, CUDA_ARRAY_MEMORY_REQUIREMENTS>,
    array: CUarray,
    _device: CUdevice,
) -> ApiResult {
    let place = memoryRequirements.required("memoryRequirements")?;
    place.set(memory_requirements(AnyArray::Array(Handle::from_raw(array.0)))?);
    Ok(())
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

pub(crate) fn cuMipmappedArrayGetSparseProperties(
    sparseProperties: Out<'_, CUDA_ARRAY_SPARSE_PROPERTIES>,
    mipmap: CUmipmappedArray,
) -> ApiResult {
    let place = sparseProperties.required("sparseProperties")?;
    place.set(sparse_properties(AnyArray::Mipmapped(Handle::from_raw(mipmap.0)))?);
    Ok(())
}

/// As above.
pub(crate) fn cuMipmappedArrayGetMemoryRequirements(
    memoryRequirements: Out<'_, CUDA_ARRAY_MEMORY_REQUIREMENTS>,
    mipmap: CUmipmappedArray,
    _device: CUdevice,
) -> ApiResult {
    let place = memoryRequirements.required("memoryRequirements")?;
    place.set(memory_requirements(AnyArray::Mipmapped(Handle::from_raw(mipmap.0)))?);
    Ok(())
}
