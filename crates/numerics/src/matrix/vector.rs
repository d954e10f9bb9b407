//! Vectors of sixteen words, as far as products of matrices need them: the same operations for every processor.
//!
//! Loops over arrays are left to the compiler where it makes vectors of them; where it does not, the processor's instructions stand here.

use crate::Rounding;
use crate::format::{self, F16};

#[cfg(target_arch = "x86_64")]
mod x86;

/// Sixteen words of 32 bits, and what is computed with them.
pub trait Vectors: Copy {
    /// Sixteen words.
    type Words: Copy;

    /// Calls a function, compiled for the processor.
    fn run<R>(self, function: impl FnOnce() -> R) -> R;
    /// From memory.
    fn load(self, from: &[u32; 16]) -> Self::Words;
    /// To memory.
    fn store(self, words: Self::Words) -> [u32; 16];
    /// The same word sixteen times.
    fn splat(self, word: u32) -> Self::Words;
    /// Sums that wrap.
    fn add(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Differences that wrap.
    fn sub(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `a & b`
    fn and(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `a | b`
    fn or(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `a ^ b`
    fn xor(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Shifted left.
    fn shl<const BY: u32>(self, a: Self::Words) -> Self::Words;
    /// Shifted right, zeros from above.
    fn shr<const BY: u32>(self, a: Self::Words) -> Self::Words;
    /// The larger ones as `.s32`.
    fn max(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `yes` where `a` is larger than `b` as `.s32`, else `no`.
    fn if_greater(self, a: Self::Words, b: Self::Words, yes: Self::Words, no: Self::Words) -> Self::Words;
    /// Whether any bit is set.
    fn any(self, a: Self::Words) -> bool;
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
    /// Products of `.f32`.
    fn mul(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Sums of `.f32`.
    fn add_floats(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `.f32` to `.s32`, towards zero, of numbers below 2^31, and of larger ones anything; of NaN and of numbers below -2^31 nothing above 0.
    fn truncate(self, a: Self::Words) -> Self::Words;
    /// `.f32` as `.f16`, to nearest even, in low and high halves.
    fn narrow(self, low: Self::Words, high: Self::Words) -> Self::Words;
    /// `.f32` rounded to `.f16`, to nearest even, and what that is as `.f32`.
    fn round_to_half(self, a: Self::Words) -> Self::Words;
    /// `.s32` to `.f32`, towards zero.
    fn towards_zero(self, a: Self::Words) -> Self::Words;
    /// The low and the high halves, which are `.f16`, as `.f32`. A NaN stays one.
    fn widen(self, a: Self::Words) -> [Self::Words; 2];
    /// The even and the odd bytes of words as numbers of 16 bits.
    fn numbers_of_bytes(self, a: Self::Words, signed: bool) -> [Self::Words; 2];
    /// Of each word, the products of the low halves and of the high halves, which are `.s16`, added.
    fn dot(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Of each four words `r[0]`, `r[1]`, `r[2]`, `r[3]`, four rows: rows and columns exchanged.
    fn transpose(self, rows: [Self::Words; 4]) -> [Self::Words; 4];
}

/// Plain arrays.
#[derive(Clone, Copy, Debug)]
pub struct Arrays;

/// An array whose elements are computed of those of others.
macro_rules! each {
    ($($a:ident),+ => $value:expr) => {{
        let mut out = [0; 16];
        for lane in 0..16 {
            $(let $a = $a[lane];)+
            out[lane] = $value;
        }
        out
    }};
}

/// The same of the bytes of words.
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
    type Words = [u32; 16];

    #[inline(always)]
    fn run<R>(self, function: impl FnOnce() -> R) -> R {
        function()
    }

    #[inline(always)]
    fn load(self, from: &[u32; 16]) -> [u32; 16] {
        *from
    }

    #[inline(always)]
    fn store(self, words: [u32; 16]) -> [u32; 16] {
        words
    }

    #[inline(always)]
    fn splat(self, word: u32) -> [u32; 16] {
        [word; 16]
    }

    #[inline(always)]
    fn add(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a.wrapping_add(b))
    }

    #[inline(always)]
    fn sub(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a.wrapping_sub(b))
    }

    #[inline(always)]
    fn and(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a & b)
    }

    #[inline(always)]
    fn or(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a | b)
    }

    #[inline(always)]
    fn xor(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a ^ b)
    }

    #[inline(always)]
    fn shl<const BY: u32>(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => a << BY)
    }

    #[inline(always)]
    fn shr<const BY: u32>(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => a >> BY)
    }

    #[inline(always)]
    fn max(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => (a as i32).max(b as i32) as u32)
    }

    #[inline(always)]
    fn if_greater(self, a: [u32; 16], b: [u32; 16], yes: [u32; 16], no: [u32; 16]) -> [u32; 16] {
        each!(a, b, yes, no => if a as i32 > b as i32 { yes } else { no })
    }

    #[inline(always)]
    fn any(self, a: [u32; 16]) -> bool {
        a.iter().fold(0, |any, word| any | word) != 0
    }

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
    fn mul(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => (f32::from_bits(a) * f32::from_bits(b)).to_bits())
    }

    #[inline(always)]
    fn add_floats(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => (f32::from_bits(a) + f32::from_bits(b)).to_bits())
    }

    #[inline(always)]
    fn truncate(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => f32::from_bits(a) as i32 as u32)
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
    fn widen(self, a: [u32; 16]) -> [[u32; 16]; 2] {
        // The exponent at its place, and as far off as the two types' are apart; but for infinities and NaNs.
        let high = each!(a => {
            let bits = ((a as i32) >> 3) as u32 & 0x8fff_e000;
            let beyond = if a & 0x7c00_0000 == 0x7c00_0000 { 0x7f80_0000 } else { 0 };
            (f32::from_bits(bits) * f32::from_bits((127 + 112) << 23)).to_bits() | beyond
        });
        let low = each!(a => {
            let bits = ((a << 16) as i32 >> 3) as u32 & 0x8fff_e000;
            let beyond = if a & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
            (f32::from_bits(bits) * f32::from_bits((127 + 112) << 23)).to_bits() | beyond
        });
        [low, high]
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

    #[inline(always)]
    fn transpose(self, rows: [[u32; 16]; 4]) -> [[u32; 16]; 4] {
        let mut out = [[0; 16]; 4];
        for lane in 0..16 {
            for column in 0..4 {
                out[column][lane] = rows[lane % 4][lane / 4 * 4 + column];
            }
        }
        out
    }
}
