//! Blocks of 4 x 4 compressed texels, BC1 to BC7 (Khronos Data Format Specification 1.3, chapters 18 to 20; in CUDA, `CU_AD_FORMAT_BC*` and `CU_RES_VIEW_FORMAT_*_BC*`).
//!
//! The specification leaves it open how what lies between two ends is rounded in BC1 to BC5; here that is as an H100 does it, for all pairs of ends
//! (`tests/c/answers/blocks.c`). BC6H and BC7 it lays down to the bit.

mod bits;
mod colours;
mod fractions;
mod halves;
mod modes;
mod partitions;

use bits::Bits;

/// How 4 x 4 texels were made a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Compression {
    Bc1,
    Bc2,
    Bc3,
    Bc4 { signed: bool },
    Bc5 { signed: bool },
    Bc6h { signed: bool },
    Bc7,
}

/// Texels of a block along x, and along y.
pub const BLOCK_SIDE: u32 = 4;

impl Compression {
    /// Bytes of a block.
    pub const fn bytes(self) -> u64 {
        match self {
            Compression::Bc1 | Compression::Bc4 { .. } => 8,
            _ => 16,
        }
    }

    /// Channels of a texel.
    pub const fn channels(self) -> u32 {
        match self {
            Compression::Bc4 { .. } => 1,
            Compression::Bc5 { .. } => 2,
            Compression::Bc6h { .. } => 3,
            _ => 4,
        }
    }

    /// The channels of texel `x`, `y` of a block, the first byte of which is the lowest; what it lacks is 0. They are fractions of 8 bits, of 16 bits for BC4 and BC5, with
    /// their sign, and halves for BC6H.
    pub fn texel(self, block: u128, x: u32, y: u32) -> [u32; 4] {
        let index = (y % BLOCK_SIDE * BLOCK_SIDE + x % BLOCK_SIDE) as usize;
        let (low, high) = (block as u64, (block >> 64) as u64);
        match self {
            Compression::Bc1 => colours::of_three_or_four(low, index),
            Compression::Bc2 => {
                let alpha = (low >> (4 * index)) as u32 & 0xf;
                with_alpha(colours::of_four(high, index), alpha * 0x11)
            }
            Compression::Bc3 => with_alpha(colours::of_four(high, index), fractions::short(low, index)),
            Compression::Bc4 { signed } => [fractions::long(low, index, signed), 0, 0, 0],
            Compression::Bc5 { signed } => {
                [fractions::long(low, index, signed), fractions::long(high, index, signed), 0, 0]
            }
            Compression::Bc6h { signed } => halves::texel(Bits::new(block), index, signed),
            Compression::Bc7 => modes::texel(Bits::new(block), index),
        }
    }
}

fn with_alpha([red, green, blue]: [u32; 3], alpha: u32) -> [u32; 4] {
    [red, green, blue, alpha]
}

/// What lies `share` 2048ths of the way from one end of 8 bits to the other: the nearest, halves up.
fn between([from, to]: [i32; 2], share: i32) -> i32 {
    (from * 2048 + (to - from) * share + 1024) >> 11
}

/// Of what lies between two ends, in 64ths from the first: for indices of 2, 3 and 4 bits (section 19.1.2).
fn weight(index: u32, bits: u32) -> u32 {
    const TWO: [u32; 4] = [0, 21, 43, 64];
    const THREE: [u32; 8] = [0, 9, 18, 27, 37, 46, 55, 64];
    const FOUR: [u32; 16] = [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64];
    match bits {
        2 => TWO[index as usize],
        3 => THREE[index as usize],
        _ => FOUR[index as usize],
    }
}
