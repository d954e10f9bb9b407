//! Tensor maps: what a program says of a tensor, for copies of its parts by kernels. Which values are possible is as recorded.

use warploom_exec::tensor_map::{ElementType, MOST_DIMENSIONS, MOST_SPATIAL, Part, TENSOR_MAP_BYTES, TensorMap};

use crate::driver::Driver;
use crate::{DriverError, DriverResult, ErrorCode};

/// The bytes of a tensor map.
pub type TensorMapBytes = [u8; TENSOR_MAP_BYTES];

/// What addresses and strides of tensors are multiples of, and the part of a row that is copied; with slices of 32 bytes strides are multiples of these.
const GRANULE: u64 = 16;
/// Strides are less.
const STRIDES: u64 = 1 << 40;
/// Most elements in a dimension.
const MOST_ELEMENTS: u64 = 1 << 32;
/// Most elements of a part in a dimension.
const MOST_IN_PART: u32 = 256;
/// Most steps from an element to the next.
const MOST_STEPS: u32 = 8;
/// Most pixels of a column.
const MOST_PIXELS: u32 = 1024;
/// Most bytes that are taken of a box: the shared memory of a multiprocessor.
const MOST_BYTES: u64 = 228 << 10;

/// A tensor in memory. Slices have an entry for each dimension, `strides` one less.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// Number of the elements' type (`CUtensorMapDataType`).
    pub ty: u32,
    /// Where it begins.
    pub address: u64,
    /// Elements in each dimension.
    pub dims: &'a [u64],
    /// Bytes from an element to the next in each dimension but the first.
    pub strides: &'a [u64],
    /// Every how many elements are taken.
    pub steps: &'a [u32],
    /// `CUtensorMapInterleave`
    pub interleave: u32,
    /// `CUtensorMapSwizzle`
    pub swizzle: u32,
    /// `CUtensorMapL2promotion`, which nothing depends on.
    pub promotion: u32,
    /// `CUtensorMapFloatOOBfill`
    pub fill: u32,
}

/// What copies take of a tensor.
#[derive(Clone, Copy, Debug)]
pub enum TensorPart<'a> {
    /// So many elements in each dimension.
    Box(&'a [u32]),
    /// Pixels of images.
    Columns {
        /// The corners of the frame that pixels are in, from those of the image, for each spatial dimension.
        lower: &'a [i32],
        /// The other one.
        upper: &'a [i32],
        /// Channels of each pixel.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
    },
}

fn invalid(reason: String) -> DriverError {
    DriverError::new(ErrorCode::InvalidValue, reason)
}

fn within<T: PartialOrd + std::fmt::Display>(what: &str, value: T, least: T, most: T) -> DriverResult {
    if least <= value && value <= most {
        return Ok(());
    }
    Err(invalid(format!("{what} {value}: from {least} to {most} are possible")))
}

/// Checks the number of dimensions of a tensor, of which copies take pixels of images or not, before anything is read that it counts.
///
/// # Errors
/// `InvalidValue`.
pub fn check_rank(rank: u32, images: bool) -> DriverResult<usize> {
    within("rank", rank, if images { 3 } else { 1 }, MOST_DIMENSIONS as u32)?;
    Ok(rank as usize)
}

impl Driver {
    /// The bytes of a tensor map.
    ///
    /// # Errors
    /// `InvalidValue` for what no copy can do; `NotSupported` where devices copy no tensors.
    pub fn encode_tensor_map(&self, tensor: &Tensor<'_>, part: &TensorPart<'_>) -> DriverResult<TensorMapBytes> {
        let context = self.current()?;
        let capability = self.device_of(&context)?.capability();
        if capability < 90 {
            let reason = format!("devices of compute capability {} copy no tensors", f64::from(capability) / 10.0);
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        Ok(map(tensor, part)?.to_bytes())
    }

    /// The bytes of a tensor map with another address.
    ///
    /// # Errors
    /// `InvalidValue` for an address that no tensor can have.
    pub fn replace_tensor_address(&self, bytes: &TensorMapBytes, address: u64) -> DriverResult<TensorMapBytes> {
        self.current()?;
        // As recorded, also of a tensor with slices of 32 bytes.
        check_address(address, GRANULE)?;
        // As recorded, bytes that are no tensor map are none to refuse.
        let map = TensorMap::from_bytes(bytes).unwrap_or_default();
        Ok(TensorMap { address, ..map }.to_bytes())
    }
}

fn check_address(address: u64, granule: u64) -> DriverResult {
    match address.is_multiple_of(granule) {
        true => Ok(()),
        false => Err(invalid(format!("a tensor at {address:#x}, which is no multiple of {granule}"))),
    }
}

fn map(tensor: &Tensor<'_>, part: &TensorPart<'_>) -> DriverResult<TensorMap> {
    let rank = check_rank(tensor.dims.len() as u32, matches!(part, TensorPart::Columns { .. }))?;
    let ty = ElementType::ALL.get(tensor.ty as usize).copied();
    let ty = ty.ok_or_else(|| invalid(format!("element type {}", tensor.ty)))?;
    within("interleave", tensor.interleave, 0, 2)?;
    within("swizzle", tensor.swizzle, 0, 3)?;
    within("L2 promotion", tensor.promotion, 0, 3)?;
    within("fill of elements outside", tensor.fill, 0, u32::from(ty.is_float()))?;
    let granule = if tensor.interleave == 2 { 2 * GRANULE } else { GRANULE };
    check_address(tensor.address, granule)?;
    if tensor.interleave != 0 && rank < 3 {
        return Err(invalid(format!("interleaved slices in {rank} dimensions: there must be 3 at least")));
    }
    let mut map = TensorMap {
        ty,
        rank: rank as u8,
        address: tensor.address,
        interleave: tensor.interleave as u8,
        swizzle: tensor.swizzle as u8,
        nan: tensor.fill == 1,
        ..TensorMap::default()
    };
    for ((dim, last), axis) in tensor.dims.iter().zip(&mut map.last).zip(0..) {
        within(&format!("size of dimension {axis}"), *dim, 1, MOST_ELEMENTS)?;
        *last = (dim - 1) as u32;
    }
    for ((stride, place), axis) in tensor.strides.iter().zip(&mut map.strides).zip(1..) {
        if *stride >= STRIDES || !stride.is_multiple_of(granule) {
            let text = format!(
                "stride {stride:#x} of dimension {axis}: a multiple of {granule} below {STRIDES:#x} is possible"
            );
            return Err(invalid(text));
        }
        *place = *stride;
    }
    for ((steps, place), axis) in tensor.steps.iter().zip(&mut map.steps).zip(0..) {
        within(&format!("element stride of dimension {axis}"), *steps, 1, MOST_STEPS)?;
        *place = *steps as u8;
    }
    map.part = match part {
        TensorPart::Box(extents) => boxed(&map, extents)?,
        TensorPart::Columns { lower, upper, channels, pixels } => columns(&map, lower, upper, *channels, *pixels)?,
    };
    Ok(map)
}

/// Checks the bytes of a row of a part.
fn check_row(map: &TensorMap, elements: u32) -> DriverResult {
    let bytes = u64::from(elements * map.ty.bytes());
    if !bytes.is_multiple_of(GRANULE) {
        return Err(invalid(format!("rows of {bytes} bytes: they must be multiples of {GRANULE}")));
    }
    let span = u64::from(map.span());
    if map.interleave == 0 && span != 0 && bytes > span {
        return Err(invalid(format!("rows of {bytes} bytes with a swizzle of {span} bytes")));
    }
    Ok(())
}

fn boxed(map: &TensorMap, extents: &[u32]) -> DriverResult<Part> {
    let mut out = [1; MOST_DIMENSIONS];
    let mut bytes = u64::from(map.ty.bytes());
    for ((extent, place), axis) in extents.iter().zip(&mut out).zip(0usize..) {
        within(&format!("size of the box in dimension {axis}"), *extent, 1, MOST_IN_PART)?;
        *place = *extent as u16;
        // As recorded, a last one that is taken of less than a whole step does not count.
        bytes *= u64::from(extent / u32::from(map.steps[axis]));
    }
    check_row(map, extents[0])?;
    within("bytes of the box", bytes, 0, MOST_BYTES)?;
    Ok(Part::Box(out))
}

fn columns(map: &TensorMap, lower: &[i32], upper: &[i32], channels: u32, pixels: u32) -> DriverResult<Part> {
    within("channels of a pixel", channels, 1, MOST_IN_PART)?;
    within("pixels of a column", pixels, 1, MOST_PIXELS)?;
    check_row(map, channels)?;
    within("bytes of a column", u64::from(channels * pixels * map.ty.bytes()), 1, MOST_BYTES)?;
    // 16 bits for all spatial dimensions together: 16, twice 8, three times 5.
    let most = (1 << (16 / lower.len().max(1) - 1)) - 1;
    let mut corners = [[0; MOST_SPATIAL]; 2];
    for (corner, given) in corners.iter_mut().zip([lower, upper]) {
        for (place, value) in corner.iter_mut().zip(given) {
            within("corner of the frame", *value, -most - 1, most)?;
            *place = *value as i16;
        }
    }
    // As recorded, where a dimension ends is a number of 32 bits with a sign.
    for (axis, (lower, upper)) in map.spatial().zip(lower.iter().zip(upper)) {
        let end = map.last[axis].wrapping_add(1).wrapping_add_signed(*upper).cast_signed();
        if end <= *lower {
            return Err(invalid(format!("corners {lower} and {upper} leave no pixel in dimension {axis}")));
        }
    }
    let [lower, upper] = corners;
    Ok(Part::Columns { lower, upper, channels: channels as u16, pixels: pixels as u16 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENSOR: Tensor<'_> = Tensor {
        ty: 1,
        address: 0x1000,
        dims: &[64, 32],
        strides: &[128],
        steps: &[1, 2],
        interleave: 0,
        swizzle: 3,
        promotion: 0,
        fill: 0,
    };

    fn refused(tensor: Tensor<'_>, extents: &[u32]) -> String {
        map(&tensor, &TensorPart::Box(extents)).expect_err("no copy can do it").to_string()
    }

    #[test]
    fn what_is_said_comes_into_the_map() {
        let made = map(&TENSOR, &TensorPart::Box(&[64, 8])).expect("a tensor");
        assert_eq!((made.last[..2].to_vec(), made.strides[0], made.steps[1]), (vec![63, 31], 128, 2));
        assert_eq!(made.part, Part::Box([64, 8, 1, 1, 1]));
        assert_eq!(TensorMap::from_bytes(&made.to_bytes()), Some(made));
    }

    #[test]
    fn refusals_say_which_value_it_is() {
        assert!(refused(TENSOR, &[128, 8]).contains("256 bytes with a swizzle of 128"));
        assert!(refused(TENSOR, &[4, 8]).contains("rows of 8 bytes"));
        assert!(refused(Tensor { strides: &[120], ..TENSOR }, &[64, 8]).contains("stride 0x78 of dimension 1"));
        assert!(refused(Tensor { fill: 1, ..TENSOR }, &[64, 8]).contains("fill"));
        assert!(refused(Tensor { interleave: 1, ..TENSOR }, &[64, 8]).contains("2 dimensions"));
        let images = Tensor { dims: &[16, 9, 8, 3], strides: &[32, 288, 2304], steps: &[1; 4], ..TENSOR };
        let part = TensorPart::Columns { lower: &[4, 0], upper: &[-8, 0], channels: 16, pixels: 24 };
        let reason = map(&images, &part).expect_err("an empty frame").to_string();
        assert!(reason.contains("leave no pixel"), "{reason}");
    }
}
