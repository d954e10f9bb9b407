//! Texture and surface references, which CUDA 11 was the last to have: structures of the host program that stand for references of compiled
//! device code. How texels are read stands in the structure, as it is when something is bound.
use std::ffi::c_void;

use warploom_abi::runtime::*;
use warploom_abi::{
    CU_TRSA_OVERRIDE_FORMAT, CUDA_ARRAY_DESCRIPTOR_v2, CUDA_RESOURCE_DESC, CUarray, CUdevice_attribute,
    CUmipmappedArray, CUresourcetype, CUtexref,
};

use super::array::driver_format;
use super::device::attribute;
use super::texture_object::{self, check_reading};
use crate::binaries::{self, Texture};
use crate::border::{In, Out, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// The size that C++ passes where a program gives none, `UINT_MAX`: up to the end of the allocation.
const ALL: usize = u32::MAX as usize;

/// Textures start at multiples of the device's alignment: an address between two is rounded down, and kernels add what the program is told of that.
pub fn cudaBindTexture(
    offset: Out<'_, usize>,
    texref: Passed<'_, textureReference>,
    devPtr: Passed<'_, c_void>,
    desc: In<'_, cudaChannelFormatDesc>,
    size: usize,
) -> ApiResult {
    context::ensure()?;
    let texture = binaries::texture(texref.addr() as usize)?;
    let (format, channels) = driver_format(&desc.get("desc")?)?;
    let address = devPtr.addr();
    let before = before(address, &offset)?;
    let bytes = if size == ALL { size.min(rest(address)?) } else { size };
    let mut resource = CUDA_RESOURCE_DESC { resType: CUresourcetype::CU_RESOURCE_TYPE_LINEAR, ..Default::default() };
    resource.res.linear.format = format;
    bind(&texture, &texref, &resource, before, |reference| {
        driver!(cuTexRefSetFormat_v2000(reference, format, channels.cast_signed()))?;
        let mut rounded = 0;
        driver!(cuTexRefSetAddress_v3020(&mut rounded, reference, address, bytes))
    })?;
    tell(offset, before)
}

/// Who adds to the columns what an address was rounded down by makes the rows longer by as much himself.
pub fn cudaBindTexture2D(
    offset: Out<'_, usize>,
    texref: Passed<'_, textureReference>,
    devPtr: Passed<'_, c_void>,
    desc: In<'_, cudaChannelFormatDesc>,
    width: usize,
    height: usize,
    pitch: usize,
) -> ApiResult {
    context::ensure()?;
    let texture = binaries::texture(texref.addr() as usize)?;
    let (format, channels) = driver_format(&desc.get("desc")?)?;
    let before = before(devPtr.addr(), &offset)?;
    let start = devPtr.addr() - before as u64;
    let rows = CUDA_ARRAY_DESCRIPTOR_v2 { Width: width, Height: height, Format: format, NumChannels: channels };
    let mut resource = CUDA_RESOURCE_DESC { resType: CUresourcetype::CU_RESOURCE_TYPE_PITCH2D, ..Default::default() };
    resource.res.pitch2D.format = format;
    bind(&texture, &texref, &resource, before, |reference| {
        driver!(cuTexRefSetAddress2D_v4010(reference, &rows, start, pitch))
    })?;
    tell(offset, before)
}

/// Texels are in the array's own format, whatever `desc` says.
pub fn cudaBindTextureToArray(
    texref: Passed<'_, textureReference>,
    array: cudaArray_const_t,
    desc: In<'_, cudaChannelFormatDesc>,
) -> ApiResult {
    context::ensure()?;
    let texture = binaries::texture(texref.addr() as usize)?;
    driver_format(&desc.get("desc")?)?;
    present(array != CUarray::NULL)?;
    let mut resource = CUDA_RESOURCE_DESC { resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY, ..Default::default() };
    resource.res.array.hArray = array;
    bind(&texture, &texref, &resource, 0, |reference| {
        driver!(cuTexRefSetArray_v2000(reference, array, CU_TRSA_OVERRIDE_FORMAT))
    })
}

/// As for an array.
pub fn cudaBindTextureToMipmappedArray(
    texref: Passed<'_, textureReference>,
    mipmappedArray: cudaMipmappedArray_const_t,
    desc: In<'_, cudaChannelFormatDesc>,
) -> ApiResult {
    context::ensure()?;
    let texture = binaries::texture(texref.addr() as usize)?;
    driver_format(&desc.get("desc")?)?;
    present(mipmappedArray != CUmipmappedArray::NULL)?;
    let kind = CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    let mut resource = CUDA_RESOURCE_DESC { resType: kind, ..Default::default() };
    resource.res.mipmap.hMipmappedArray = mipmappedArray;
    bind(&texture, &texref, &resource, 0, |reference| {
        driver!(cuTexRefSetMipmappedArray_v5000(reference, mipmappedArray, CU_TRSA_OVERRIDE_FORMAT))
    })
}

pub fn cudaUnbindTexture(texref: Passed<'_, textureReference>) -> ApiResult {
    context::ensure()?;
    let texture = binaries::texture(texref.addr() as usize)?;
    if texture.offset()?.is_none() {
        return Ok(());
    }
    unbind(&texture, texture.reference()?)
}

pub fn cudaGetTextureAlignmentOffset(offset: Out<'_, usize>, texref: Passed<'_, textureReference>) -> ApiResult {
    let place = offset.required("offset")?;
    context::ensure()?;
    let bound = binaries::texture(texref.addr() as usize)?.offset()?;
    let unbound = || Failure::new(cudaError::cudaErrorInvalidTextureBinding, "the texture reference is not bound");
    place.set(bound.ok_or_else(unbound)?);
    Ok(())
}

pub fn cudaGetTextureReference(texref: Out<'_, *const textureReference>, symbol: Passed<'_, c_void>) -> ApiResult {
    let place = texref.required("texref")?;
    binaries::texture(symbol.addr() as usize)?;
    place.set(symbol.get().cast_const().cast());
    Ok(())
}

/// Texels are in the array's own format, whatever `desc` says.
pub fn cudaBindSurfaceToArray(
    surfref: Passed<'_, surfaceReference>,
    array: cudaArray_const_t,
    desc: In<'_, cudaChannelFormatDesc>,
) -> ApiResult {
    context::ensure()?;
    let reference = binaries::surface(surfref.addr() as usize)?;
    desc.get("desc")?;
    present(array != CUarray::NULL)?;
    driver!(cuSurfRefSetArray_v3000(reference, array, 0))
}

pub fn cudaGetSurfaceReference(surfref: Out<'_, *const surfaceReference>, symbol: Passed<'_, c_void>) -> ApiResult {
    let place = surfref.required("surfref")?;
    binaries::is_surface(symbol.addr() as usize)?;
    place.set(symbol.get().cast_const().cast());
    Ok(())
}

/// Binds the current context's reference to a resource: `set` says where its texels are, from so many bytes before what was meant. What was bound before is
/// unbound first, as the settings need not suit it, which may be gone, too.
fn bind(
    texture: &Texture,
    texref: &Passed<'_, textureReference>,
    resource: &CUDA_RESOURCE_DESC,
    before: usize,
    set: impl FnOnce(CUtexref) -> ApiResult,
) -> ApiResult {
    let described = described(texture, &texref.structure().get("texref")?);
    let settings = texture_object::texture(&described);
    check_reading(resource, &described)?;
    let reference = texture.reference()?;
    unbind(texture, reference)?;
    driver!(cuTexRefSetFlags_v2000(reference, settings.flags))?;
    for (dimension, mode) in (0..).zip(settings.addressMode) {
        driver!(cuTexRefSetAddressMode_v2000(reference, dimension, mode))?;
    }
    driver!(cuTexRefSetFilterMode_v2000(reference, settings.filterMode))?;
    driver!(cuTexRefSetMaxAnisotropy_v5000(reference, settings.maxAnisotropy))?;
    driver!(cuTexRefSetMipmapFilterMode_v5000(reference, settings.mipmapFilterMode))?;
    driver!(cuTexRefSetMipmapLevelBias_v5000(reference, settings.mipmapLevelBias))?;
    let (least, most) = (settings.minMipmapLevelClamp, settings.maxMipmapLevelClamp);
    driver!(cuTexRefSetMipmapLevelClamp_v5000(reference, least, most))?;
    set(reference)?;
    texture.bound(before)
}

/// Binds the current context's reference to nothing.
fn unbind(texture: &Texture, reference: CUtexref) -> ApiResult {
    texture.unbound()?;
    let mut rounded = 0;
    driver!(cuTexRefSetAddress_v3020(&mut rounded, reference, 0, 0))
}

/// How an object would be described that is read in the same way.
fn described(texture: &Texture, reference: &textureReference) -> cudaTextureDesc {
    cudaTextureDesc {
        addressMode: reference.addressMode,
        filterMode: reference.filterMode,
        readMode: texture.read_mode,
        sRGB: reference.sRGB,
        normalizedCoords: reference.normalized,
        maxAnisotropy: reference.maxAnisotropy,
        mipmapFilterMode: reference.mipmapFilterMode,
        mipmapLevelBias: reference.mipmapLevelBias,
        minMipmapLevelClamp: reference.minMipmapLevelClamp,
        maxMipmapLevelClamp: reference.maxMipmapLevelClamp,
        disableTrilinearOptimization: reference.disableTrilinearOptimization,
        ..Default::default()
    }
}

/// Refuses NULL in an array's place, as a description of a resource is.
fn present(is_there: bool) -> ApiResult {
    let refusal = || Failure::new(cudaError::cudaErrorInvalidResourceHandle, "the array is NULL");
    is_there.then_some(()).ok_or_else(refusal)
}

/// How many bytes before an address a texture starts. If that is not there, the program must want to know.
fn before(address: u64, offset: &Out<'_, usize>) -> ApiResult<usize> {
    let device = context::device(context::current_device()?)?;
    let alignment = attribute(device, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT.0)?;
    let before = address % u64::from(alignment.unsigned_abs().max(1));
    if before != 0 && offset.is_null() {
        return Err(Failure::invalid_value(format!(
            "address {address:#x} is no multiple of {alignment}, and offset is NULL"
        )));
    }
    Ok(before as usize)
}

fn tell(offset: Out<'_, usize>, before: usize) -> ApiResult {
    if let Some(place) = offset.optional() {
        place.set(before);
    }
    Ok(())
}

/// The bytes from an address to the end of its allocation.
fn rest(address: u64) -> ApiResult<usize> {
    let (mut start, mut bytes) = (0, 0);
    driver!(cuMemGetAddressRange_v3020(&mut start, &mut bytes, address))
        .map_err(|_| Failure::invalid_value(format!("{address:#x} is in no allocation")))?;
    Ok(bytes - (address - start) as usize)
}
