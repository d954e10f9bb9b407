//! Tensor maps (PTX ISA 5.5): what the 128 opaque bytes of one say. The driver writes them, kernels read and change them.
//!
//! Rules about values are where maps are made; here is only what can be told from the bytes.

use std::ops::Range;

/// Bytes of a tensor map.
pub const TENSOR_MAP_BYTES: usize = 128;
/// Most dimensions.
pub const MOST_DIMENSIONS: usize = 5;
/// Dimensions of an image: those that are neither channels nor images.
pub const MOST_SPATIAL: usize = 3;

/// What the first bytes of a map read as: bytes that are no map are told by them.
const MARK: u32 = 0x7061_6d74;

/// The type of a tensor's elements (`CUtensorMapDataType`, in its order).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ElementType {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    /// Subnormal numbers become zero.
    F32Ftz,
    Tf32,
    /// As `F32Ftz`.
    Tf32Ftz,
}

impl ElementType {
    /// All of them, by their numbers.
    pub const ALL: [ElementType; 13] = {
        use ElementType::*;
        [U8, U16, U32, S32, U64, S64, F16, F32, F64, Bf16, F32Ftz, Tf32, Tf32Ftz]
    };

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            ElementType::U8 => 1,
            ElementType::U16 | ElementType::F16 | ElementType::Bf16 => 2,
            ElementType::U64 | ElementType::S64 | ElementType::F64 => 8,
            _ => 4,
        }
    }

    /// Whether its values are floating-point numbers.
    pub fn is_float(self) -> bool {
        self as u8 >= ElementType::F16 as u8
    }
}

/// Which part of a tensor a copy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A box with so many elements in each dimension.
    Box([u16; MOST_DIMENSIONS]),
    /// Pixels of images, one behind the other within a frame around the tensor.
    Columns {
        /// The first pixel of the frame, from that of the tensor on, in each spatial dimension.
        lower: [i16; MOST_SPATIAL],
        /// The last one, from the tensor's last.
        upper: [i16; MOST_SPATIAL],
        /// Channels of each pixel.
        channels: u16,
        /// Pixels.
        pixels: u16,
    },
}

/// A tensor in global memory, and what copies take of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of the elements.
    pub ty: ElementType,
    /// Number of dimensions.
    pub rank: u8,
    /// Where the tensor begins.
    pub address: u64,
    /// Elements in each dimension, less one.
    pub last: [u32; MOST_DIMENSIONS],
    /// Bytes from an element to the next one in each dimension but the first.
    pub strides: [u64; MOST_DIMENSIONS - 1],
    /// Every how many elements are taken in each dimension.
    pub steps: [u8; MOST_DIMENSIONS],
    /// The part.
    pub part: Part,
    /// 0, or 1 and 2 for slices of 16 and 32 bytes.
    pub interleave: u8,
    /// 0, or 1 to 3 for spans of 32, 64 and 128 bytes.
    pub swizzle: u8,
    /// Elements outside of the tensor read as not-a-number.
    pub nan: bool,
}

impl Default for TensorMap {
    fn default() -> TensorMap {
        TensorMap {
            ty: ElementType::U8,
            rank: 1,
            address: 0,
            last: [0; MOST_DIMENSIONS],
            strides: [0; MOST_DIMENSIONS - 1],
            steps: [1; MOST_DIMENSIONS],
            part: Part::Box([1; MOST_DIMENSIONS]),
            interleave: 0,
            swizzle: 0,
            nan: false,
        }
    }
}

impl TensorMap {
    /// The bytes.
    pub fn to_bytes(&self) -> [u8; TENSOR_MAP_BYTES] {
        let mut out = Bytes { bytes: [0; TENSOR_MAP_BYTES], at: 0 };
        let (is_box, extents, lower, upper, channels, pixels) = match self.part {
            Part::Box(extents) => (1, extents, [0; MOST_SPATIAL], [0; MOST_SPATIAL], 0, 0),
            Part::Columns { lower, upper, channels, pixels } => {
                (0, [0; MOST_DIMENSIONS], lower, upper, channels, pixels)
            }
        };
        out.put(&MARK.to_le_bytes());
        out.put(&[
            self.ty as u8,
            self.rank,
            self.interleave,
            self.swizzle,
            u8::from(self.nan),
            is_box,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        out.put(&self.address.to_le_bytes());
        self.strides.iter().for_each(|stride| out.put(&stride.to_le_bytes()));
        self.last.iter().for_each(|last| out.put(&last.to_le_bytes()));
        extents.iter().for_each(|extent| out.put(&extent.to_le_bytes()));
        lower.iter().chain(&upper).for_each(|corner| out.put(&corner.to_le_bytes()));
        out.put(&channels.to_le_bytes());
        out.put(&pixels.to_le_bytes());
        out.put(&self.steps);
        out.bytes
    }

    /// What bytes say; `None` if they are no tensor map.
    pub fn from_bytes(bytes: &[u8; TENSOR_MAP_BYTES]) -> Option<TensorMap> {
        let mut from = Bytes { bytes: *bytes, at: 0 };
        if u32::from_le_bytes(from.take()) != MARK {
            return None;
        }
        let [ty, rank, interleave, swizzle, nan, is_box, ..]: [u8; 12] = from.take();
        let address = u64::from_le_bytes(from.take());
        let strides = std::array::from_fn(|_| u64::from_le_bytes(from.take()));
        let last = std::array::from_fn(|_| u32::from_le_bytes(from.take()));
        let extents = std::array::from_fn(|_| u16::from_le_bytes(from.take()));
        let lower = std::array::from_fn(|_| i16::from_le_bytes(from.take()));
        let upper = std::array::from_fn(|_| i16::from_le_bytes(from.take()));
        let [channels, pixels] = [u16::from_le_bytes(from.take()), u16::from_le_bytes(from.take())];
        let part = if is_box != 0 { Part::Box(extents) } else { Part::Columns { lower, upper, channels, pixels } };
        let ty = *ElementType::ALL.get(usize::from(ty))?;
        let sound = (1..=MOST_DIMENSIONS).contains(&usize::from(rank)) && interleave <= 2 && swizzle <= 3;
        let steps = from.take();
        sound.then_some(TensorMap { ty, rank, address, last, strides, steps, part, interleave, swizzle, nan: nan != 0 })
    }

    /// The spatial dimensions of images: of interleaved ones the first, of others those behind the channels.
    pub fn spatial(&self) -> Range<usize> {
        let first = usize::from(self.interleave == 0);
        first..first + usize::from(self.rank) - 2
    }

    /// Bytes of what is one element of the first dimension: an element, or an interleaved slice.
    pub fn unit(&self) -> u32 {
        if self.interleave == 0 { self.ty.bytes() } else { 16 << (self.interleave - 1) }
    }

    /// Bytes within which 16-byte pieces change places; 0 where they do not.
    pub fn span(&self) -> u32 {
        if self.swizzle == 0 { 0 } else { 16 << self.swizzle }
    }
}

/// Bytes that are written or read in order.
struct Bytes {
    bytes: [u8; TENSOR_MAP_BYTES],
    at: usize,
}

impl Bytes {
    fn put(&mut self, field: &[u8]) {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let field = std::array::from_fn(|index| self.bytes[self.at + index]);
        self.at += N;
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_read_back() {
        let tiled = TensorMap {
            ty: ElementType::Bf16,
            rank: 5,
            address: 0x1234_5678_9abc_def0,
            last: [1, 2, 3, 4, u32::MAX],
            strides: [16, 32, 1 << 39, 64],
            steps: [1, 2, 3, 4, 8],
            part: Part::Box([256, 1, 2, 3, 4]),
            interleave: 2,
            swizzle: 1,
            nan: true,
        };
        let part = Part::Columns { lower: [-128, 127, -16], upper: [15, -1, 0], channels: 256, pixels: 1024 };
        for map in [tiled, TensorMap { part, ..tiled }, TensorMap::default()] {
            assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Some(map));
        }
    }

    #[test]
    fn other_bytes_are_none() {
        assert_eq!(TensorMap::from_bytes(&[0; TENSOR_MAP_BYTES]), None);
        let mut bytes = TensorMap::default().to_bytes();
        bytes[4] = 13;
        assert_eq!(TensorMap::from_bytes(&bytes), None);
    }
}
