//! Memory management: arrays, and the formats of their elements. Copies with arrays are in `memory_copy_3d` and `array_copy`.
use warploom_abi::runtime::*;
use warploom_abi::{CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUarray_format, CUmipmappedArray};

use crate::border::{In, Out, Passed};
use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

pub fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, f: cudaChannelFormatKind) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}

/// The formats that have a kind of their own: the bits of their channels, and the driver's name. Both APIs count them in the same order.
fn own_kind(kind: cudaChannelFormatKind) -> Option<([i32; 4], CUarray_format)> {
    const FRACTIONS: u32 = cudaChannelFormatKind::cudaChannelFormatKindUnsignedNormalized8X1.0;
    const LAST_FRACTIONS: u32 = cudaChannelFormatKind::cudaChannelFormatKindSignedNormalized16X4.0;
    const BLOCKS: u32 = cudaChannelFormatKind::cudaChannelFormatKindUnsignedBlockCompressed1.0;
    const LAST_BLOCKS: u32 = cudaChannelFormatKind::cudaChannelFormatKindUnsignedBlockCompressed7SRGB.0;
    let from = |first: CUarray_format, index: u32| CUarray_format(first.0 + index);
    Some(match kind.0 {
        number @ FRACTIONS..=LAST_FRACTIONS => {
            let index = number - FRACTIONS;
            let (bits, channels) = (if (index / 3).is_multiple_of(2) { 8 } else { 16 }, [1, 2, 4][index as usize % 3]);
            let sizes = std::array::from_fn(|channel| if channel < channels { bits } else { 0 });
            (sizes, from(CUarray_format::CU_AD_FORMAT_UNORM_INT8X1, index))
        }
        number @ BLOCKS..=LAST_BLOCKS => {
            let index = number - BLOCKS;
            let sizes = match index {
                6 | 7 => [8, 0, 0, 0],
                8 | 9 => [8, 8, 0, 0],
                10 | 11 => [16, 16, 16, 0],
                _ => [8; 4],
            };
            (sizes, from(CUarray_format::CU_AD_FORMAT_BC1_UNORM, index))
        }
        _ if kind == cudaChannelFormatKind::cudaChannelFormatKindUnsignedNormalized1010102 => {
            ([10, 10, 10, 2], CUarray_format::CU_AD_FORMAT_UNORM_INT_101010_2)
        }
        _ if kind == cudaChannelFormatKind::cudaChannelFormatKindNV12 => {
            ([8, 8, 8, 0], CUarray_format::CU_AD_FORMAT_NV12)
        }
        _ => return None,
    })
}

/// The kinds that [`own_kind`] knows.
const OWN_KINDS: std::ops::RangeInclusive<u32> = cudaChannelFormatKind::cudaChannelFormatKindNV12.0
    ..=cudaChannelFormatKind::cudaChannelFormatKindUnsignedNormalized1010102.0;

/// Whether elements are fractions of their range by their format, as those of blocks are but for halves; of those packed in a word the runtime library says otherwise.
pub(crate) fn is_fractions(format: CUarray_format) -> bool {
    (CUarray_format::CU_AD_FORMAT_UNORM_INT8X1.0..=CUarray_format::CU_AD_FORMAT_SNORM_INT16X4.0).contains(&format.0)
        || block_bytes(format).is_some() && !is_halves_in_blocks(format)
}

/// Whether elements are blocks of halves, which are read as they are.
pub(crate) fn is_halves_in_blocks(format: CUarray_format) -> bool {
    matches!(format, CUarray_format::CU_AD_FORMAT_BC6H_UF16 | CUarray_format::CU_AD_FORMAT_BC6H_SF16)
}

/// Bytes of a block of compressed elements; none of other formats.
pub(crate) fn block_bytes(format: CUarray_format) -> Option<usize> {
    const FIRST: u32 = CUarray_format::CU_AD_FORMAT_BC1_UNORM.0;
    const LAST: u32 = CUarray_format::CU_AD_FORMAT_BC7_UNORM_SRGB.0;
    match format {
        CUarray_format::CU_AD_FORMAT_BC1_UNORM
        | CUarray_format::CU_AD_FORMAT_BC1_UNORM_SRGB
        | CUarray_format::CU_AD_FORMAT_BC4_UNORM
        | CUarray_format::CU_AD_FORMAT_BC4_SNORM => Some(8),
        CUarray_format(FIRST..=LAST) => Some(16),
        _ => None,
    }
}

/// The driver's format and number of channels: channels of one size, without gaps, or a kind that says all.
pub(crate) fn driver_format(format: &cudaChannelFormatDesc) -> ApiResult<(CUarray_format, u32)> {
    let sizes = [format.x, format.y, format.z, format.w];
    let channels = sizes.iter().take_while(|&&bits| bits != 0).count();
    if let Some((own, kind)) = own_kind(format.f) {
        return if sizes == own { Ok((kind, channels as u32)) } else { Err(unknown(format)) };
    }
    let uniform =
        sizes[..channels].iter().all(|&bits| bits == sizes[0]) && sizes[channels..].iter().all(|&bits| bits == 0);
    let kind = match (format.f, sizes[0]) {
        (cudaChannelFormatKind::cudaChannelFormatKindSigned, 8) => CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
        (cudaChannelFormatKind::cudaChannelFormatKindSigned, 16) => CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
        (cudaChannelFormatKind::cudaChannelFormatKindSigned, 32) => CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
        (cudaChannelFormatKind::cudaChannelFormatKindUnsigned, 8) => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        (cudaChannelFormatKind::cudaChannelFormatKindUnsigned, 16) => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
        (cudaChannelFormatKind::cudaChannelFormatKindUnsigned, 32) => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
        (cudaChannelFormatKind::cudaChannelFormatKindFloat, 16) => CUarray_format::CU_AD_FORMAT_HALF,
        (cudaChannelFormatKind::cudaChannelFormatKindFloat, 32) => CUarray_format::CU_AD_FORMAT_FLOAT,
        _ => return Err(unknown(format)),
    };
    match u32::try_from(channels) {
        Ok(channels @ (1 | 2 | 4)) if uniform => Ok((kind, channels)),
        _ => Err(unknown(format)),
    }
}

fn unknown(format: &cudaChannelFormatDesc) -> Failure {
    let code = cudaError::cudaErrorInvalidChannelDescriptor;
    Failure::new(code, format!("the driver has no format for elements of {format:?}"))
}

/// What a format and a number of channels of the driver are called here.
pub(crate) fn channel_format(format: CUarray_format, channels: u32) -> ApiResult<cudaChannelFormatDesc> {
    use cudaChannelFormatKind as Kind;
    let (kind, bits) = match format {
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8 => (Kind::cudaChannelFormatKindUnsigned, 8),
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16 => (Kind::cudaChannelFormatKindUnsigned, 16),
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32 => (Kind::cudaChannelFormatKindUnsigned, 32),
        CUarray_format::CU_AD_FORMAT_SIGNED_INT8 => (Kind::cudaChannelFormatKindSigned, 8),
        CUarray_format::CU_AD_FORMAT_SIGNED_INT16 => (Kind::cudaChannelFormatKindSigned, 16),
        CUarray_format::CU_AD_FORMAT_SIGNED_INT32 => (Kind::cudaChannelFormatKindSigned, 32),
        CUarray_format::CU_AD_FORMAT_HALF => (Kind::cudaChannelFormatKindFloat, 16),
        CUarray_format::CU_AD_FORMAT_FLOAT => (Kind::cudaChannelFormatKindFloat, 32),
        _ => return own_format(format),
    };
    let size = |channel| if channel < channels { bits } else { 0 };
    Ok(cudaChannelFormatDesc { x: size(0), y: size(1), z: size(2), w: size(3), f: kind })
}

/// What a format is called that has a kind of its own.
fn own_format(format: CUarray_format) -> ApiResult<cudaChannelFormatDesc> {
    let mut known = OWN_KINDS.filter_map(|number| {
        let kind = cudaChannelFormatKind(number);
        own_kind(kind).filter(|(_, own)| *own == format).map(|(sizes, _)| (kind, sizes))
    });
    match known.next() {
        Some((f, [x, y, z, w])) => Ok(cudaChannelFormatDesc { x, y, z, w, f }),
        None => {
            let code = cudaError::cudaErrorInvalidChannelDescriptor;
            Err(Failure::new(code, format!("elements of {format:?} have no channels of one size")))
        }
    }
}

/// The driver's description of an array.
fn described(desc: &cudaChannelFormatDesc, extent: cudaExtent, flags: u32) -> ApiResult<CUDA_ARRAY3D_DESCRIPTOR> {
    let (format, channels) = driver_format(desc)?;
    Ok(CUDA_ARRAY3D_DESCRIPTOR {
        Width: extent.width,
        Height: extent.height,
        Depth: extent.depth,
        Format: format,
        NumChannels: channels,
        Flags: flags,
    })
}

fn description(array: CUarray) -> ApiResult<CUDA_ARRAY3D_DESCRIPTOR> {
    let mut descriptor = CUDA_ARRAY3D_DESCRIPTOR::default();
    driver!(cuArray3DGetDescriptor_v3020(&mut descriptor, array))?;
    Ok(descriptor)
}

pub fn cudaMallocArray(
    array: Out<'_, CUarray>,
    desc: In<'_, cudaChannelFormatDesc>,
    width: usize,
    height: usize,
    flags: u32,
) -> ApiResult {
    cudaMalloc3DArray(array, desc, cudaExtent { width, height, depth: 0 }, flags)
}

/// Both APIs have the same flags.
pub fn cudaMalloc3DArray(
    array: Out<'_, CUarray>,
    desc: In<'_, cudaChannelFormatDesc>,
    extent: cudaExtent,
    flags: u32,
) -> ApiResult {
    let place = array.required("array")?;
    let descriptor = described(&desc.get("desc")?, extent, flags)?;
    context::ensure()?;
    let mut array = CUarray::NULL;
    driver!(cuArray3DCreate_v3020(&mut array, &descriptor))?;
    place.set(array);
    Ok(())
}

pub fn cudaMallocMipmappedArray(
    mipmappedArray: Out<'_, CUmipmappedArray>,
    desc: In<'_, cudaChannelFormatDesc>,
    extent: cudaExtent,
    numLevels: u32,
    flags: u32,
) -> ApiResult {
    let place = mipmappedArray.required("mipmappedArray")?;
    let descriptor = described(&desc.get("desc")?, extent, flags)?;
    context::ensure()?;
    let mut array = CUmipmappedArray::NULL;
    driver!(cuMipmappedArrayCreate_v5000(&mut array, &descriptor, numLevels))?;
    place.set(array);
    Ok(())
}

/// No array is freed without an error, as no memory is.
pub fn cudaFreeArray(array: CUarray) -> ApiResult {
    context::ensure()?;
    if array == CUarray::NULL { Ok(()) } else { driver!(cuArrayDestroy_v2000(array)) }
}

pub fn cudaFreeMipmappedArray(mipmappedArray: CUmipmappedArray) -> ApiResult {
    context::ensure()?;
    if mipmappedArray == CUmipmappedArray::NULL {
        Ok(())
    } else {
        driver!(cuMipmappedArrayDestroy_v5000(mipmappedArray))
    }
}

pub fn cudaGetMipmappedArrayLevel(
    levelArray: Passed<'_, CUarray>,
    mipmappedArray: CUmipmappedArray,
    level: u32,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMipmappedArrayGetLevel_v5000(levelArray.get(), mipmappedArray, level))
}

pub fn cudaGetChannelDesc(desc: Out<'_, cudaChannelFormatDesc>, array: CUarray) -> ApiResult {
    let place = desc.required("desc")?;
    context::ensure()?;
    let descriptor = description(array)?;
    place.set(channel_format(descriptor.Format, descriptor.NumChannels)?);
    Ok(())
}

pub fn cudaArrayGetInfo(
    desc: Out<'_, cudaChannelFormatDesc>,
    extent: Out<'_, cudaExtent>,
    flags: Out<'_, u32>,
    array: CUarray,
) -> ApiResult {
    context::ensure()?;
    let descriptor = description(array)?;
    if let Some(place) = desc.optional() {
        place.set(channel_format(descriptor.Format, descriptor.NumChannels)?);
    }
    if let Some(place) = extent.optional() {
        place.set(cudaExtent { width: descriptor.Width, height: descriptor.Height, depth: descriptor.Depth });
    }
    if let Some(place) = flags.optional() {
        place.set(descriptor.Flags);
    }
    Ok(())
}

pub fn cudaArrayGetPlane(pPlaneArray: Passed<'_, CUarray>, hArray: CUarray, planeIdx: u32) -> ApiResult {
    context::ensure()?;
    driver!(cuArrayGetPlane_v11020(pPlaneArray.get(), hArray, planeIdx))
}

pub fn cudaArrayGetMemoryRequirements(
    memoryRequirements: Passed<'_, cudaArrayMemoryRequirements>,
    array: CUarray,
    device: i32,
) -> ApiResult {
    let device = context::device(device)?;
    driver!(cuArrayGetMemoryRequirements_v11060(memoryRequirements.cast(), array, device))
}

pub fn cudaMipmappedArrayGetMemoryRequirements(
    memoryRequirements: Passed<'_, cudaArrayMemoryRequirements>,
    mipmap: CUmipmappedArray,
    device: i32,
) -> ApiResult {
    let device = context::device(device)?;
    driver!(cuMipmappedArrayGetMemoryRequirements_v11060(memoryRequirements.cast(), mipmap, device))
}

pub fn cudaArrayGetSparseProperties(
    sparseProperties: Passed<'_, cudaArraySparseProperties>,
    array: CUarray,
) -> ApiResult {
    context::ensure()?;
    driver!(cuArrayGetSparseProperties_v11010(sparseProperties.cast(), array))
}

pub fn cudaMipmappedArrayGetSparseProperties(
    sparseProperties: Passed<'_, cudaArraySparseProperties>,
    mipmap: CUmipmappedArray,
) -> ApiResult {
    context::ensure()?;
    driver!(cuMipmappedArrayGetSparseProperties_v11010(sparseProperties.cast(), mipmap))
}
