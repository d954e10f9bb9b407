//! Texture object management, and the descriptions of resources that surface objects share.
use std::mem::offset_of;

use warploom_abi::runtime::*;
use warploom_abi::{
    CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER,
    CU_TRSF_SEAMLESS_CUBEMAP, CU_TRSF_SRGB, CUDA_ARRAY3D_DESCRIPTOR, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC,
    CUDA_TEXTURE_DESC, CUaddress_mode, CUarray, CUarray_format, CUfilter_mode, CUresourceViewFormat, CUresourcetype,
};

use super::array::{channel_format, driver_format, is_fractions, is_halves_in_blocks};
use super::memory::pointer;
use crate::border::{Destination, In, Out, version};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// Where the structures of runtime 12 end.
const RESOURCE_END_12: usize = 64;
const VIEW_END_12: usize = offset_of!(cudaResourceViewDesc, reserved);

/// Where the texture's structure of runtime 11 ends.
const TEXTURE_END_11: usize = offset_of!(cudaTextureDesc, seamlessCubemap);

/// What a caller describes; of runtime 12 the structure is shorter.
pub(crate) fn resource(description: &In<'_, cudaResourceDesc>) -> ApiResult<CUDA_RESOURCE_DESC> {
    const NAME: &str = "pResDesc";
    let given = if version() < 13_000 { description.start::<RESOURCE_END_12>(NAME)? } else { description.get(NAME)? };
    let mut resource = CUDA_RESOURCE_DESC { resType: CUresourcetype(given.resType.0), ..Default::default() };
    // SAFETY: every member of the union is valid for all bits, and the kind says which the caller set.
    unsafe {
        match given.resType {
            // Drivers do not agree on what they say to it.
            cudaResourceType::cudaResourceTypeArray if given.res.array.array == cudaArray_t::NULL => {
                return Err(Failure::new(cudaError::cudaErrorInvalidResourceHandle, "the array is NULL"));
            }
            cudaResourceType::cudaResourceTypeArray => resource.res.array.hArray = given.res.array.array,
            cudaResourceType::cudaResourceTypeMipmappedArray => {
                resource.res.mipmap.hMipmappedArray = given.res.mipmap.mipmap;
            }
            cudaResourceType::cudaResourceTypeLinear => {
                let linear = given.res.linear;
                (resource.res.linear.format, resource.res.linear.numChannels) = driver_format(&linear.desc)?;
                resource.res.linear.devPtr = linear.devPtr.expose_provenance() as u64;
                resource.res.linear.sizeInBytes = linear.sizeInBytes;
            }
            cudaResourceType::cudaResourceTypePitch2D => {
                let rows = given.res.pitch2D;
                (resource.res.pitch2D.format, resource.res.pitch2D.numChannels) = driver_format(&rows.desc)?;
                resource.res.pitch2D.devPtr = rows.devPtr.expose_provenance() as u64;
                resource.res.pitch2D.width = rows.width;
                resource.res.pitch2D.height = rows.height;
                resource.res.pitch2D.pitchInBytes = rows.pitchInBytes;
            }
            other => return Err(Failure::invalid_value(format!("{} is no type of resource", other.0))),
        }
    }
    Ok(resource)
}

/// Tells of a resource.
pub(crate) fn tell_resource(place: Destination<'_, cudaResourceDesc>, resource: &CUDA_RESOURCE_DESC) -> ApiResult {
    let mut told = cudaResourceDesc { resType: cudaResourceType(resource.resType.0), ..Default::default() };
    // SAFETY: as above; the driver set the member.
    unsafe {
        match told.resType {
            cudaResourceType::cudaResourceTypeArray => told.res.array.array = resource.res.array.hArray,
            cudaResourceType::cudaResourceTypeMipmappedArray => {
                told.res.mipmap.mipmap = resource.res.mipmap.hMipmappedArray;
            }
            cudaResourceType::cudaResourceTypeLinear => {
                let linear = resource.res.linear;
                told.res.linear.desc = channel_format(linear.format, linear.numChannels)?;
                told.res.linear.devPtr = pointer(linear.devPtr);
                told.res.linear.sizeInBytes = linear.sizeInBytes;
            }
            _ => {
                let rows = resource.res.pitch2D;
                told.res.pitch2D.desc = channel_format(rows.format, rows.numChannels)?;
                told.res.pitch2D.devPtr = pointer(rows.devPtr);
                told.res.pitch2D.width = rows.width;
                told.res.pitch2D.height = rows.height;
                told.res.pitch2D.pitchInBytes = rows.pitchInBytes;
            }
        }
    }
    if version() < 13_000 {
        place.set_start::<RESOURCE_END_12>(&told)
    } else {
        place.set(told)
    }
    Ok(())
}

/// The driver has one word of flags for what are several fields here.
pub(super) fn texture(given: &cudaTextureDesc) -> CUDA_TEXTURE_DESC {
    let integers = given.readMode == cudaTextureReadMode::cudaReadModeElementType;
    let flags = [
        (integers, CU_TRSF_READ_AS_INTEGER),
        (given.normalizedCoords != 0, CU_TRSF_NORMALIZED_COORDINATES),
        (given.sRGB != 0, CU_TRSF_SRGB),
        (given.disableTrilinearOptimization != 0, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION),
        (given.seamlessCubemap != 0, CU_TRSF_SEAMLESS_CUBEMAP),
    ];
    CUDA_TEXTURE_DESC {
        addressMode: given.addressMode.map(|mode| CUaddress_mode(mode.0)),
        filterMode: CUfilter_mode(given.filterMode.0),
        flags: flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum(),
        maxAnisotropy: given.maxAnisotropy,
        mipmapFilterMode: CUfilter_mode(given.mipmapFilterMode.0),
        mipmapLevelBias: given.mipmapLevelBias,
        minMipmapLevelClamp: given.minMipmapLevelClamp,
        maxMipmapLevelClamp: given.maxMipmapLevelClamp,
        borderColor: given.borderColor,
        ..Default::default()
    }
}

/// The format of a resource. What no resource is, the driver says.
fn format_of(resource: &CUDA_RESOURCE_DESC) -> ApiResult<Option<CUarray_format>> {
    // SAFETY: every member of the union is valid for all bits, and the kind says which is set.
    let (array, mipmap, linear, rows) =
        unsafe { (resource.res.array, resource.res.mipmap, resource.res.linear, resource.res.pitch2D) };
    let array = match resource.resType {
        CUresourcetype::CU_RESOURCE_TYPE_LINEAR => return Ok(Some(linear.format)),
        CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => return Ok(Some(rows.format)),
        CUresourcetype::CU_RESOURCE_TYPE_ARRAY => array.hArray,
        CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
            let mut base = CUarray::NULL;
            match driver!(cuMipmappedArrayGetLevel_v5000(&mut base, mipmap.hMipmappedArray, 0)) {
                Ok(()) => base,
                Err(_) => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let mut shape = CUDA_ARRAY3D_DESCRIPTOR::default();
    driver!(cuArray3DGetDescriptor_v3020(&mut shape, array))?;
    Ok(Some(shape.Format))
}

/// Fractions are read as such, and numbers, words that they are packed in and blocks of halves as they are, as recorded; whole numbers that are read as they are have nothing between them, nor
/// have words.
pub(super) fn check_reading(resource: &CUDA_RESOURCE_DESC, texture: &cudaTextureDesc) -> ApiResult {
    let Some(format) = format_of(resource)? else { return Ok(()) };
    let linear = texture.filterMode == cudaTextureFilterMode::cudaFilterModeLinear;
    let as_they_are = texture.readMode == cudaTextureReadMode::cudaReadModeElementType;
    let as_fractions = texture.readMode == cudaTextureReadMode::cudaReadModeNormalizedFloat;
    let only_as_is = format == CUarray_format::CU_AD_FORMAT_UNORM_INT_101010_2 || is_halves_in_blocks(format);
    let numbers = matches!(format, CUarray_format::CU_AD_FORMAT_FLOAT | CUarray_format::CU_AD_FORMAT_HALF);
    // Words are no fractions, whatever a view makes of them.
    let words =
        matches!(format, CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32 | CUarray_format::CU_AD_FORMAT_SIGNED_INT32);
    let refused = match () {
        () if only_as_is => !as_they_are,
        () if is_fractions(format) => as_they_are,
        () if words => as_fractions && !linear,
        () => numbers && as_fractions,
    };
    if refused {
        let mode =
            if is_fractions(format) && !only_as_is { "cudaReadModeNormalizedFloat" } else { "cudaReadModeElementType" };
        return Err(Failure::new(
            cudaError::cudaErrorInvalidNormSetting,
            format!("elements of {format:?} are read in {mode}"),
        ));
    }
    if !linear || !(as_they_are || words) || numbers || only_as_is {
        return Ok(());
    }
    let code = cudaError::cudaErrorInvalidFilterSetting;
    Err(Failure::new(code, format!("elements of {format:?} that are whole numbers cannot be interpolated")))
}

pub fn cudaCreateTextureObject(
    pTexObject: Out<'_, cudaTextureObject_t>,
    pResDesc: In<'_, cudaResourceDesc>,
    pTexDesc: In<'_, cudaTextureDesc>,
    pResViewDesc: In<'_, cudaResourceViewDesc>,
) -> ApiResult {
    const NAME: &str = "pTexDesc";
    let place = pTexObject.required("pTexObject")?;
    let short = version() < 12_000;
    let description = if short { pTexDesc.start::<TEXTURE_END_11>(NAME)? } else { pTexDesc.get(NAME)? };
    create(place, &pResDesc, &description, &pResViewDesc)
}

/// Of runtime 11: with a longer description, which is that of the function without the ending from 12 on.
pub fn cudaCreateTextureObject_v2(
    pTexObject: Out<'_, cudaTextureObject_t>,
    pResDesc: In<'_, cudaResourceDesc>,
    pTexDesc: In<'_, cudaTextureDesc>,
    pResViewDesc: In<'_, cudaResourceViewDesc>,
) -> ApiResult {
    create(pTexObject.required("pTexObject")?, &pResDesc, &pTexDesc.get("pTexDesc")?, &pResViewDesc)
}

fn create(
    place: Destination<'_, cudaTextureObject_t>,
    pResDesc: &In<'_, cudaResourceDesc>,
    description: &cudaTextureDesc,
    pResViewDesc: &In<'_, cudaResourceViewDesc>,
) -> ApiResult {
    let (resource, texture) = (resource(pResDesc)?, texture(description));
    let view = if pResViewDesc.is_null() { None } else { Some(pResViewDesc.start::<VIEW_END_12>("pResViewDesc")?) };
    let view = view.map(|view| CUDA_RESOURCE_VIEW_DESC {
        format: CUresourceViewFormat(view.format.0),
        width: view.width,
        height: view.height,
        depth: view.depth,
        firstMipmapLevel: view.firstMipmapLevel,
        lastMipmapLevel: view.lastMipmapLevel,
        firstLayer: view.firstLayer,
        lastLayer: view.lastLayer,
        ..Default::default()
    });
    let view = view.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    context::ensure()?;
    check_reading(&resource, description)?;
    let mut object = 0;
    driver!(cuTexObjectCreate_v5000(&mut object, &resource, &texture, view))?;
    place.set(object);
    Ok(())
}

pub fn cudaDestroyTextureObject(texObject: cudaTextureObject_t) -> ApiResult {
    context::ensure()?;
    driver!(cuTexObjectDestroy_v5000(texObject))
}

pub fn cudaGetTextureObjectResourceDesc(
    pResDesc: Out<'_, cudaResourceDesc>,
    texObject: cudaTextureObject_t,
) -> ApiResult {
    let place = pResDesc.required("pResDesc")?;
    context::ensure()?;
    let mut resource = CUDA_RESOURCE_DESC::default();
    driver!(cuTexObjectGetResourceDesc_v5000(&mut resource, texObject))?;
    tell_resource(place, &resource)
}

pub fn cudaGetTextureObjectTextureDesc(
    pTexDesc: Out<'_, cudaTextureDesc>,
    texObject: cudaTextureObject_t,
) -> ApiResult {
    let place = pTexDesc.required("pTexDesc")?;
    let told = texture_of(texObject)?;
    if version() < 12_000 {
        place.set_start::<TEXTURE_END_11>(&told);
    } else {
        place.set(told);
    }
    Ok(())
}

/// Of runtime 11: the longer description.
pub fn cudaGetTextureObjectTextureDesc_v2(
    pTexDesc: Out<'_, cudaTextureDesc>,
    texObject: cudaTextureObject_t,
) -> ApiResult {
    let place = pTexDesc.required("pTexDesc")?;
    place.set(texture_of(texObject)?);
    Ok(())
}

fn texture_of(texObject: cudaTextureObject_t) -> ApiResult<cudaTextureDesc> {
    context::ensure()?;
    let mut texture = CUDA_TEXTURE_DESC::default();
    driver!(cuTexObjectGetTextureDesc_v5000(&mut texture, texObject))?;
    let set = |flag| i32::from(texture.flags & flag != 0);
    let integers = texture.flags & CU_TRSF_READ_AS_INTEGER != 0;
    Ok(cudaTextureDesc {
        addressMode: texture.addressMode.map(|mode| cudaTextureAddressMode(mode.0)),
        filterMode: cudaTextureFilterMode(texture.filterMode.0),
        readMode: if integers {
            cudaTextureReadMode::cudaReadModeElementType
        } else {
            cudaTextureReadMode::cudaReadModeNormalizedFloat
        },
        sRGB: set(CU_TRSF_SRGB),
        borderColor: texture.borderColor,
        normalizedCoords: set(CU_TRSF_NORMALIZED_COORDINATES),
        maxAnisotropy: texture.maxAnisotropy,
        mipmapFilterMode: cudaTextureFilterMode(texture.mipmapFilterMode.0),
        mipmapLevelBias: texture.mipmapLevelBias,
        minMipmapLevelClamp: texture.minMipmapLevelClamp,
        maxMipmapLevelClamp: texture.maxMipmapLevelClamp,
        disableTrilinearOptimization: set(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION),
        seamlessCubemap: set(CU_TRSF_SEAMLESS_CUBEMAP),
    })
}

pub fn cudaGetTextureObjectResourceViewDesc(
    pResViewDesc: Out<'_, cudaResourceViewDesc>,
    texObject: cudaTextureObject_t,
) -> ApiResult {
    let place = pResViewDesc.required("pResViewDesc")?;
    context::ensure()?;
    let mut view = CUDA_RESOURCE_VIEW_DESC::default();
    driver!(cuTexObjectGetResourceViewDesc_v5000(&mut view, texObject))?;
    let told = cudaResourceViewDesc {
        format: cudaResourceViewFormat(view.format.0),
        width: view.width,
        height: view.height,
        depth: view.depth,
        firstMipmapLevel: view.firstMipmapLevel,
        lastMipmapLevel: view.lastMipmapLevel,
        firstLayer: view.firstLayer,
        lastLayer: view.lastLayer,
        ..Default::default()
    };
    if version() < 13_000 {
        place.set_start::<VIEW_END_12>(&told)
    } else {
        place.set(told)
    }
    Ok(())
}
