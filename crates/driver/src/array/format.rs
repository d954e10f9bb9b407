//! The formats of elements that arrays can have (`CUarray_format`).
use warploom_exec::texture::{BLOCK_SIDE, Compression};

use crate::{DriverError, DriverResult};

/// A format of elements, by its number in `CUarray_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format(u32);

const UNSIGNED_INT8: Format = Format(0x01);
const UNSIGNED_INT16: Format = Format(0x02);

/// One plane of an image: what its elements are, and how much narrower and lower than the image it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plane {
    pub(super) format: Format,
    pub(super) channels: u32,
    /// The image's width and height by those of the plane.
    pub(super) by: [u64; 2],
}

impl Plane {
    const fn new(format: Format, channels: u32, by: [u64; 2]) -> Plane {
        Plane { format, channels, by }
    }
}

/// Brightness, and two colours beside each other.
const fn semi_planar(format: Format, by: [u64; 2]) -> [Plane; 2] {
    [Plane::new(format, 1, [1, 1]), Plane::new(format, 2, by)]
}

const NV12: [Plane; 2] = semi_planar(UNSIGNED_INT8, [2, 2]);
const P016: [Plane; 2] = semi_planar(UNSIGNED_INT16, [2, 2]);
const NV16: [Plane; 2] = semi_planar(UNSIGNED_INT8, [2, 1]);
const P216: [Plane; 2] = semi_planar(UNSIGNED_INT16, [2, 1]);
const YUV444_8: [Plane; 2] = semi_planar(UNSIGNED_INT8, [1, 1]);
const YUV444_16: [Plane; 2] = semi_planar(UNSIGNED_INT16, [1, 1]);
const Y444_8: [Plane; 3] = [Plane::new(UNSIGNED_INT8, 1, [1, 1]); 3];
const Y444_10: [Plane; 3] = [Plane::new(UNSIGNED_INT16, 1, [1, 1]); 3];

/// What the elements of a format are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// One, two or four channels, each a number.
    Plain,
    /// The same as [`Elements::Plain`], as fractions of their range: so many channels.
    Fractions(u32),
    /// Fractions of 10, 10, 10 and 2 bits in a word.
    Packed,
    /// An image of several planes.
    Planes,
    /// An image whose brightness and colours lie among each other, of so many channels. A view says what they are read as.
    Interleaved(u32),
    /// Blocks of 4 x 4 compressed texels.
    Compressed(Compression),
}

impl Format {
    /// The format with this number, of those that an array has.
    ///
    /// # Errors
    /// `InvalidValue` for a number that is none, and for those of other systems' images.
    pub fn from_number(number: u32) -> DriverResult<Format> {
        let format = Format(number);
        format.known().map(|_| format)
    }

    /// The format with this number, of those that plain memory can be read as.
    ///
    /// # Errors
    /// `InvalidValue` for others: as recorded, fractions have arrays alone, but for those that are packed in a word.
    pub fn of_memory(number: u32) -> DriverResult<Format> {
        match Format(number).known()? {
            Elements::Plain | Elements::Packed => Ok(Format(number)),
            _ => Err(DriverError::invalid_value(format!("memory is not read as format {number:#x}"))),
        }
    }

    fn known(self) -> DriverResult<Elements> {
        Ok(match self.0 {
            0x01 | 0x02 | 0x03 | 0x08 | 0x09 | 0x0a | 0x10 | 0x20 => Elements::Plain,
            0x50 => Elements::Packed,
            0xc0..=0xcb => Elements::Fractions([1, 2, 4][(self.0 - 0xc0) as usize % 3]),
            0xb0 | 0x9f | 0xa1..=0xa4 | 0xb2..=0xb5 => Elements::Planes,
            0xa5 | 0xa8 | 0xb1 => Elements::Interleaved(4),
            0xa6 | 0xa7 => Elements::Interleaved(2),
            0xa9 => Elements::Interleaved(1),
            0x91 | 0x92 => Elements::Compressed(Compression::Bc1),
            0x93 | 0x94 => Elements::Compressed(Compression::Bc2),
            0x95 | 0x96 => Elements::Compressed(Compression::Bc3),
            0x97 | 0x98 => Elements::Compressed(Compression::Bc4 { signed: self.0 == 0x98 }),
            0x99 | 0x9a => Elements::Compressed(Compression::Bc5 { signed: self.0 == 0x9a }),
            0x9b | 0x9c => Elements::Compressed(Compression::Bc6h { signed: self.0 == 0x9c }),
            0x9d | 0x9e => Elements::Compressed(Compression::Bc7),
            number => return Err(DriverError::invalid_value(format!("{number:#x} is no format of arrays"))),
        })
    }

    /// What its elements are.
    pub(crate) fn elements(self) -> Elements {
        // Made of numbers that are known only.
        self.known().unwrap_or(Elements::Plain)
    }

    /// Its number in `CUarray_format`.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Bytes of one channel; of a packed word, a quarter of it. Blocks and images of several planes have none.
    pub fn bytes(self) -> u64 {
        match self.0 {
            0x01 | 0x08 | 0x50 | 0xa5 | 0xa8 | 0xc0..=0xc2 | 0xc6..=0xc8 => 1,
            0x02 | 0x09 | 0x10 | 0xa6 | 0xa7 | 0xb1 | 0xc3..=0xc5 | 0xc9..=0xcb => 2,
            _ => 4,
        }
    }

    /// Texels of an element along x, and along y.
    pub(crate) fn element_side(self) -> u64 {
        if self.compression().is_some() { u64::from(BLOCK_SIDE) } else { 1 }
    }

    /// How its blocks are compressed, if it has some.
    pub(crate) fn compression(self) -> Option<Compression> {
        match self.elements() {
            Elements::Compressed(compression) => Some(compression),
            _ => None,
        }
    }

    /// Whether its elements are of an image whose brightness and colours lie among each other.
    pub(crate) fn is_interleaved(self) -> bool {
        matches!(self.elements(), Elements::Interleaved(_))
    }

    /// Whether it says that its colours are of sRGB: textures of it are made with the flag for that.
    pub(crate) fn is_srgb(self) -> bool {
        matches!(self.0, 0x92 | 0x94 | 0x96 | 0x9e)
    }

    /// Whether an element can have so many channels.
    pub fn has(self, channels: u32) -> bool {
        match self.elements() {
            Elements::Plain => matches!(channels, 1 | 2 | 4),
            Elements::Packed => channels == 4,
            Elements::Planes => channels == 3,
            Elements::Fractions(only) | Elements::Interleaved(only) => channels == only,
            Elements::Compressed(compression) => channels == compression.channels(),
        }
    }

    /// The planes of an image; none of other formats.
    pub(super) fn planes(self) -> &'static [Plane] {
        match self.0 {
            0xb0 => &NV12,
            0x9f | 0xa1 => &P016,
            0xa2 => &NV16,
            0xa3 | 0xa4 => &P216,
            0xb2 => &Y444_8,
            0xb3 => &Y444_10,
            0xb4 => &YUV444_8,
            0xb5 => &YUV444_16,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_their_channels() {
        let formats: Vec<Format> = (0..256).filter_map(|number| Format::from_number(number).ok()).collect();
        assert_eq!(formats.len(), 8 + 1 + 12 + 10 + 6 + 14);
        for format in &formats {
            let several = format.elements() == Elements::Plain;
            assert_eq!((0..9).filter(|&channels| format.has(channels)).count(), if several { 3 } else { 1 });
            assert_eq!(format.planes().is_empty(), format.elements() != Elements::Planes);
        }
        let fractions: Vec<u64> = (0xc0..=0xcb).map(|number| Format(number).bytes()).collect();
        assert_eq!(fractions, [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]);
        let colours = formats.iter().filter(|format| format.is_srgb());
        assert!(colours.clone().all(|format| format.compression().is_some() && format.has(4)));
        assert_eq!(colours.count(), 4);
    }

    #[test]
    fn elements_of_images() {
        // As recorded, whatever the format says of halves of colours: four bytes each, and eight of the one of four channels of 16 bits.
        let bytes = [0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xb1].map(|number| match Format(number).elements() {
            Elements::Interleaved(channels) => Format(number).bytes() * u64::from(channels),
            _ => 0,
        });
        assert_eq!(bytes, [4, 4, 4, 4, 4, 8]);
    }
}
