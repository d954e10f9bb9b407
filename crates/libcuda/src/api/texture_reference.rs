//! Texture references.
use warploom_abi::{
    CUDA_ARRAY_DESCRIPTOR_v1, CUDA_ARRAY_DESCRIPTOR_v2, CUaddress_mode, CUarray, CUarray_format, CUdeviceptr,
    CUdeviceptr_v1, CUfilter_mode, CUmipmappedArray, CUtexref,
};
use warploom_driver::device::attribute;
use warploom_driver::texture::{BoundTexels, ReferenceBinding};
use warploom_driver::{DriverError, DriverResult, Handle};

use super::memory::first_abi::refused_handle;
use crate::border::{ApiResult, In, InArray, Out, OutArray};
use crate::process::driver;

fn change(reference: CUtexref, change: impl FnOnce(&mut ReferenceBinding) -> DriverResult) -> ApiResult {
    driver()?.change_texture_reference(Handle::from_raw(reference.0), change)
}

fn binding(reference: CUtexref) -> DriverResult<ReferenceBinding> {
    Ok(driver()?.texture_reference(Handle::from_raw(reference.0))?.binding())
}

/// The flag that the format of the array holds, which it does in any case: `CU_TRSA_OVERRIDE_FORMAT`.
const OVERRIDE_FORMAT: u32 = 1;

pub(crate) fn cuTexRefSetArray(hTexRef: CUtexref, hArray: CUarray, Flags: u32) -> ApiResult {
    if Flags & !OVERRIDE_FORMAT != 0 {
        return Err(DriverError::invalid_value(format!("Flags {Flags:#x} has unknown bits")));
    }
    let array = Handle::from_raw(hArray.0);
    let descriptor = *driver()?.array(array)?.descriptor();
    change(hTexRef, |binding| {
        binding.texels = Some(BoundTexels::Array(array));
        binding.format = descriptor.format.number();
        binding.channels = descriptor.channels as i32;
        Ok(())
    })
}

pub(crate) fn cuTexRefSetMipmappedArray(hTexRef: CUtexref, hMipmappedArray: CUmipmappedArray, Flags: u32) -> ApiResult {
    if Flags & !OVERRIDE_FORMAT != 0 {
        return Err(DriverError::invalid_value(format!("Flags {Flags:#x} has unknown bits")));
    }
    let array = Handle::from_raw(hMipmappedArray.0);
    let descriptor = *driver()?.array(driver()?.mipmap_level(array, 0)?)?.descriptor();
    change(hTexRef, |binding| {
        binding.texels = Some(BoundTexels::Mipmapped(array));
        binding.format = descriptor.format.number();
        binding.channels = descriptor.channels as i32;
        Ok(())
    })
}

/// An address between the multiples that textures can start at is rounded down, and the rest is told.
pub(crate) fn cuTexRefSetAddress_v2(
    ByteOffset: Out<'_, usize>,
    hTexRef: CUtexref,
    dptr: CUdeviceptr,
    bytes: usize,
) -> ApiResult {
    let alignment = driver()?.device(0)?.attribute(attribute::TEXTURE_ALIGNMENT).map_or(1, i32::unsigned_abs);
    let offset = dptr % u64::from(alignment.max(1));
    if offset != 0 && ByteOffset.is_null() {
        return Err(DriverError::invalid_value(format!("address {dptr:#x} is no multiple of {alignment}")));
    }
    change(hTexRef, |binding| {
        let bytes = (bytes as u64).saturating_add(offset);
        binding.texels = Some(BoundTexels::Linear { address: dptr - offset, bytes });
        Ok(())
    })?;
    if let Some(place) = ByteOffset.optional() {
        place.set(offset as usize);
    }
    Ok(())
}

/// The second ABI means the same as the third.
pub(crate) fn cuTexRefSetAddress2D_v2(
    hTexRef: CUtexref,
    desc: In<'_, CUDA_ARRAY_DESCRIPTOR_v2>,
    dptr: CUdeviceptr,
    Pitch: usize,
) -> ApiResult {
    cuTexRefSetAddress2D_v3(hTexRef, desc, dptr, Pitch)
}

pub(crate) fn cuTexRefSetAddress2D_v3(
    hTexRef: CUtexref,
    desc: In<'_, CUDA_ARRAY_DESCRIPTOR_v2>,
    dptr: CUdeviceptr,
    Pitch: usize,
) -> ApiResult {
    let shape = desc.get("desc")?;
    change(hTexRef, |binding| {
        binding.format = shape.Format.0;
        binding.channels = shape.NumChannels.cast_signed();
        binding.texels = Some(BoundTexels::Pitch2d {
            address: dptr,
            width: shape.Width as u64,
            height: shape.Height as u64,
            pitch: Pitch as u64,
        });
        Ok(())
    })
}

/// As recorded, any number is taken as a format, and any number of channels but 3 and those above 4. A kernel that reads memory in a
/// format that does not exist faults.
pub(crate) fn cuTexRefSetFormat(hTexRef: CUtexref, fmt: CUarray_format, NumPackedComponents: i32) -> ApiResult {
    if NumPackedComponents == 3 || NumPackedComponents > 4 {
        let reason = format!("{NumPackedComponents} channels; 1, 2 and 4 are possible");
        return Err(DriverError::invalid_value(reason));
    }
    change(hTexRef, |binding| {
        binding.format = fmt.0;
        binding.channels = NumPackedComponents;
        Ok(())
    })
}

/// The index of a dimension of a texture.
fn dimension(dim: i32) -> DriverResult<usize> {
    usize::try_from(dim)
        .ok()
        .filter(|dim| *dim < 3)
        .ok_or_else(|| DriverError::invalid_value(format!("there is no dimension {dim}")))
}

pub(crate) fn cuTexRefSetAddressMode(hTexRef: CUtexref, dim: i32, am: CUaddress_mode) -> ApiResult {
    let dim = dimension(dim)?;
    change(hTexRef, |binding| {
        binding.settings.address_modes[dim] = am.0;
        Ok(())
    })
}

pub(crate) fn cuTexRefSetFilterMode(hTexRef: CUtexref, fm: CUfilter_mode) -> ApiResult {
    change(hTexRef, |binding| {
        binding.settings.filter_mode = fm.0;
        Ok(())
    })
}

pub(crate) fn cuTexRefSetMipmapFilterMode(hTexRef: CUtexref, fm: CUfilter_mode) -> ApiResult {
    change(hTexRef, |binding| {
        binding.settings.mipmap_filter_mode = fm.0;
        Ok(())
    })
}

pub(crate) fn cuTexRefSetMipmapLevelBias(hTexRef: CUtexref, bias: f32) -> ApiResult {
    change(hTexRef, |binding| {
        binding.settings.mipmap_level_bias = bias;
        Ok(())
    })
}

pub(crate) fn cuTexRefSetMipmapLevelClamp(
    hTexRef: CUtexref,
    minMipmapLevelClamp: f32,
    maxMipmapLevelClamp: f32,
) -> ApiResult {
    change(hTexRef, |binding| {
        binding.settings.mipmap_level_clamp = [minMipmapLevelClamp, maxMipmapLevelClamp];
        Ok(())
    })
}

pub(crate) fn cuTexRefSetMaxAnisotropy(hTexRef: CUtexref, maxAniso: u32) -> ApiResult {
    change(hTexRef, |binding| {
        binding.settings.max_anisotropy = maxAniso;
        Ok(())
    })
}

pub(crate) fn cuTexRefSetBorderColor(hTexRef: CUtexref, pBorderColor: InArray<'_, f32>) -> ApiResult {
    let color = pBorderColor.get(4, "pBorderColor")?;
    change(hTexRef, |binding| {
        for (place, channel) in binding.settings.border_color.iter_mut().zip(color) {
            *place = channel;
        }
        Ok(())
    })
}

pub(crate) fn cuTexRefSetFlags(hTexRef: CUtexref, Flags: u32) -> ApiResult {
    change(hTexRef, |binding| {
        binding.settings.flags = Flags;
        Ok(())
    })
}

pub(crate) fn cuTexRefGetAddress_v2(pdptr: Out<'_, CUdeviceptr>, hTexRef: CUtexref) -> ApiResult {
    let place = pdptr.required("pdptr")?;
    match binding(hTexRef)?.texels {
        Some(BoundTexels::Linear { address, .. } | BoundTexels::Pitch2d { address, .. }) => place.set(address),
        _ => return Err(DriverError::invalid_value("the texture reference is not bound to memory")),
    }
    Ok(())
}

pub(crate) fn cuTexRefGetArray(phArray: Out<'_, CUarray>, hTexRef: CUtexref) -> ApiResult {
    let place = phArray.required("phArray")?;
    match binding(hTexRef)?.texels {
        Some(BoundTexels::Array(array)) => place.set(CUarray(array.raw())),
        _ => return Err(DriverError::invalid_value("the texture reference is not bound to an array")),
    }
    Ok(())
}

pub(crate) fn cuTexRefGetMipmappedArray(phMipmappedArray: Out<'_, CUmipmappedArray>, hTexRef: CUtexref) -> ApiResult {
    let place = phMipmappedArray.required("phMipmappedArray")?;
    match binding(hTexRef)?.texels {
        Some(BoundTexels::Mipmapped(array)) => place.set(CUmipmappedArray(array.raw())),
        _ => return Err(DriverError::invalid_value("the texture reference is not bound to a mipmapped array")),
    }
    Ok(())
}

pub(crate) fn cuTexRefGetAddressMode(pam: Out<'_, CUaddress_mode>, hTexRef: CUtexref, dim: i32) -> ApiResult {
    let place = pam.required("pam")?;
    place.set(CUaddress_mode(binding(hTexRef)?.settings.address_modes[dimension(dim)?]));
    Ok(())
}

pub(crate) fn cuTexRefGetFilterMode(pfm: Out<'_, CUfilter_mode>, hTexRef: CUtexref) -> ApiResult {
    let place = pfm.required("pfm")?;
    place.set(CUfilter_mode(binding(hTexRef)?.settings.filter_mode));
    Ok(())
}

pub(crate) fn cuTexRefGetFormat(
    pFormat: Out<'_, CUarray_format>,
    pNumChannels: Out<'_, i32>,
    hTexRef: CUtexref,
) -> ApiResult {
    let place = pFormat.required("pFormat")?;
    let binding = binding(hTexRef)?;
    place.set(CUarray_format(binding.format));
    if let Some(place) = pNumChannels.optional() {
        place.set(binding.channels);
    }
    Ok(())
}

pub(crate) fn cuTexRefGetMipmapFilterMode(pfm: Out<'_, CUfilter_mode>, hTexRef: CUtexref) -> ApiResult {
    let place = pfm.required("pfm")?;
    place.set(CUfilter_mode(binding(hTexRef)?.settings.mipmap_filter_mode));
    Ok(())
}

pub(crate) fn cuTexRefGetMipmapLevelBias(pbias: Out<'_, f32>, hTexRef: CUtexref) -> ApiResult {
    let place = pbias.required("pbias")?;
    place.set(binding(hTexRef)?.settings.mipmap_level_bias);
    Ok(())
}

pub(crate) fn cuTexRefGetMipmapLevelClamp(
    pminMipmapLevelClamp: Out<'_, f32>,
    pmaxMipmapLevelClamp: Out<'_, f32>,
    hTexRef: CUtexref,
) -> ApiResult {
    let (least, most) = (
        pminMipmapLevelClamp.required("pminMipmapLevelClamp")?,
        pmaxMipmapLevelClamp.required("pmaxMipmapLevelClamp")?,
    );
    let clamp = binding(hTexRef)?.settings.mipmap_level_clamp;
    least.set(clamp[0]);
    most.set(clamp[1]);
    Ok(())
}

pub(crate) fn cuTexRefGetMaxAnisotropy(pmaxAniso: Out<'_, i32>, hTexRef: CUtexref) -> ApiResult {
    let place = pmaxAniso.required("pmaxAniso")?;
    place.set(i32::try_from(binding(hTexRef)?.settings.max_anisotropy).unwrap_or(i32::MAX));
    Ok(())
}

pub(crate) fn cuTexRefGetBorderColor(pBorderColor: OutArray<'_, f32>, hTexRef: CUtexref) -> ApiResult {
    let color = binding(hTexRef)?.settings.border_color;
    pBorderColor.write("pBorderColor", color.len(), &color)
}

pub(crate) fn cuTexRefGetFlags(pFlags: Out<'_, u32>, hTexRef: CUtexref) -> ApiResult {
    let place = pFlags.required("pFlags")?;
    place.set(binding(hTexRef)?.settings.flags);
    Ok(())
}

pub(crate) fn cuTexRefCreate(pTexRef: Out<'_, CUtexref>) -> ApiResult {
    let place = pTexRef.required("pTexRef")?;
    place.set(CUtexref(driver()?.create_texture_reference()?.raw()));
    Ok(())
}

pub(crate) fn cuTexRefDestroy(hTexRef: CUtexref) -> ApiResult {
    driver()?.destroy_texture_reference(Handle::from_raw(hTexRef.0))
}

pub(crate) fn cuTexRefSetAddress(
    _ByteOffset: Out<'_, u32>,
    _hTexRef: CUtexref,
    _dptr: CUdeviceptr_v1,
    _bytes: u32,
) -> ApiResult {
    refused_handle()
}

pub(crate) fn cuTexRefSetAddress2D(
    _hTexRef: CUtexref,
    _desc: In<'_, CUDA_ARRAY_DESCRIPTOR_v1>,
    _dptr: CUdeviceptr_v1,
    _Pitch: u32,
) -> ApiResult {
    refused_handle()
}

pub(crate) fn cuTexRefGetAddress(_pdptr: Out<'_, CUdeviceptr_v1>, _hTexRef: CUtexref) -> ApiResult {
    refused_handle()
}
