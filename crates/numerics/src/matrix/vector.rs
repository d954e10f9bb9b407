//! What products of matrices need of vectors of sixteen words beyond what samples of textures do.

use crate::Rounding;
use crate::format::{self, F16};
use crate::vector::{Arrays, WordVectors, each};

#[cfg(target_arch = "x86_64")]
mod x86;

/// Sixteen words of 32 bits, and what is computed with them.
pub trait Vectors: WordVectors<Lanes = [u32; 16]> {
    /// Sums of the bytes, which wrap.
    fn add_bytes(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The larger bytes, which have no sign.
    fn max_bytes(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The top byte of each word in all its bytes.
    fn spread_top_bytes(self, a: Self::Words) -> Self::Words;
    /// Of each four words with four bytes each: words and bytes exchanged.
    fn exchange_bytes(self, a: Self::Words) -> Self::Words;
    /// The low bytes of the words.
    fn pack_bytes(self, a: Self::Words) -> [u32; 4];
    /// `.f32` as `.f16`, to nearest even, in low and high halves.
    fn narrow(self, low: Self::Words, high: Self::Words) -> Self::Words;
    /// `.f32` rounded to `.f16`, to nearest even, and what that is as `.f32`.
    fn round_to_half(self, a: Self::Words) -> Self::Words;
    /// `.s32` to `.f32`, towards zero.
    fn towards_zero(self, a: Self::Words) -> Self::Words;
    /// The even and the odd bytes of words as numbers of 16 bits.
    fn numbers_of_bytes(self, a: Self::Words, signed: bool) -> [Self::Words; 2];
    /// Of each word, the products of the low halves and of the high halves, which are `.s16`, added.
    fn dot(self, a: Self::Words, b: Self::Words) -> Self::Words;
}

/// An array whose words' bytes are computed of those of others.
macro_rules! each_byte {
    ($($a:ident),+ => $value:expr) => {{
        let mut out = [0u32; 16];
        for lane in 0..16 {
            $(let $a = $a[lane].to_le_bytes();)+
            let mut bytes = [0u8; 4];
            for byte in 0..4 {
                $(let $a = $a[byte];)+
                bytes[byte] = $value;
            }
            out[lane] = u32::from_le_bytes(bytes);
        }
        out
    }};
}

impl Vectors for Arrays {
    #[inline(always)]
    fn add_bytes(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each_byte!(a, b => a.wrapping_add(b))
    }

    #[inline(always)]
    fn max_bytes(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each_byte!(a, b => a.max(b))
    }

    #[inline(always)]
    fn spread_top_bytes(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => (a >> 24) * 0x0101_0101)
    }

    #[inline(always)]
    fn exchange_bytes(self, a: [u32; 16]) -> [u32; 16] {
        let mut out = [0; 16];
        for lane in 0..16 {
            for byte in 0..4 {
                out[lane] |= (a[lane / 4 * 4 + byte] >> (8 * (lane % 4)) & 0xff) << (8 * byte);
            }
        }
        out
    }

    #[inline(always)]
    fn pack_bytes(self, a: [u32; 16]) -> [u32; 4] {
        let mut out = [0; 4];
        for lane in 0..16 {
            out[lane / 4] |= (a[lane] & 0xff) << (8 * (lane % 4));
        }
        out
    }

    #[inline(always)]
    fn narrow(self, low: [u32; 16], high: [u32; 16]) -> [u32; 16] {
        let half = |bits| format::narrow::<F16>(f64::from(f32::from_bits(bits)), Rounding::Nearest, false);
        each!(low, high => half(low) | half(high) << 16)
    }

    #[inline(always)]
    fn round_to_half(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => {
            let half = format::narrow::<F16>(f64::from(f32::from_bits(a)), Rounding::Nearest, false);
            format::widen::<F16>(half).to_bits()
        })
    }

    #[inline(always)]
    fn towards_zero(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => {
            let exact = f64::from(a as i32).to_bits();
            (f64::from_bits(exact & u64::MAX << 29) as f32).to_bits()
        })
    }

    #[inline(always)]
    fn numbers_of_bytes(self, a: [u32; 16], signed: bool) -> [[u32; 16]; 2] {
        let even = each!(a => a & 0x00ff_00ff);
        let odd = each!(a => a >> 8 & 0x00ff_00ff);
        // Where the sign is set, ones above it.
        let extended = |a: u32| if signed { a | ((a >> 7 & 0x0001_0001) * 0xff00) } else { a };
        [each!(even => extended(even)), each!(odd => extended(odd))]
    }

    #[inline(always)]
    fn dot(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => {
            let low = i32::from(a as i16) * i32::from(b as i16);
            let high = i32::from((a >> 16) as i16) * i32::from((b >> 16) as i16);
            low.wrapping_add(high) as u32
        })
    }
}
