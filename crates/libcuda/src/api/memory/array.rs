//! Arrays.
use warploom_abi::{CUDA_ARRAY_DESCRIPTOR_v2, CUDA_ARRAY3D_DESCRIPTOR_v2, CUarray, CUarray_format};
use warploom_driver::Handle;
use warploom_driver::array::{ArrayDescriptor, Format};

use crate::border::{ApiResult, In, Out};
use crate::process::driver;

pub(crate) fn cuArrayCreate_v2(
    pHandle: Out<'_, CUarray>,
    pAllocateArray: In<'_, CUDA_ARRAY_DESCRIPTOR_v2>,
) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    let asked = pAllocateArray.required("pAllocateArray")?;
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

pub(crate) fn cuArray3DCreate_v2(
    pHandle: Out<'_, CUarray>,
    pAllocateArray: In<'_, CUDA_ARRAY3D_DESCRIPTOR_v2>,
) -> ApiResult {
    let place = pHandle.required("pHandle")?;
    let asked = pAllocateArray.required("pAllocateArray")?;
    let descriptor = ArrayDescriptor {
        width: asked.Width as u64,
        height: asked.Height as u64,
        depth: asked.Depth as u64,
        format: Format::from_number(asked.Format.0)?,
        channels: asked.NumChannels,
        flags: asked.Flags,
    };
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
