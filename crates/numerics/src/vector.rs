//! Vectors of words: the same operations for every processor, as far as products of matrices and samples of textures both need them.
//!
//! Loops over arrays are left to the compiler where it makes vectors of them; where it does not, the processor's instructions stand here.

use std::fmt::Debug;
use std::ops::IndexMut;

use bytemuck::Pod;

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

#[cfg(target_arch = "x86_64")]
pub use x86::Eight;

/// A word of each lane, as they lie in memory.
pub trait Lanes:
    Pod + Debug + Default + PartialEq + AsRef<[u32]> + AsMut<[u32]> + IndexMut<usize, Output = u32>
{
}

impl Lanes for [u32; 8] {}
impl Lanes for [u32; 16] {}

/// A word of 32 bits for each of some lanes, and what is computed with them.
pub trait WordVectors: Copy {
    /// As they lie in memory.
    type Lanes: Lanes;
    /// As they are computed with.
    type Words: Copy;

    /// Calls a function, compiled for the processor.
    fn run<R>(self, function: impl FnOnce() -> R) -> R;
    /// From memory.
    fn load(self, from: &Self::Lanes) -> Self::Words;
    /// To memory.
    fn store(self, words: Self::Words) -> Self::Lanes;
    /// The same word in all lanes.
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
    /// Products of `.f32`.
    fn mul(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Sums of `.f32`.
    fn add_floats(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `.f32` to `.s32`, towards zero, of numbers below 2^31, and of larger ones anything; of NaN and of numbers below -2^31 nothing above 0.
    fn truncate(self, a: Self::Words) -> Self::Words;
    /// The low and the high halves, which are `.f16`, as `.f32`. A NaN stays one.
    fn widen(self, a: Self::Words) -> [Self::Words; 2];
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

pub(crate) use each;

impl WordVectors for Arrays {
    type Lanes = [u32; 16];
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
    fn widen(self, a: [u32; 16]) -> [[u32; 16]; 2] {
        widened(a)
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

/// [`WordVectors::widen`]
#[inline(always)]
fn widened<const LANES: usize>(words: [u32; LANES]) -> [[u32; LANES]; 2] {
    // The exponent at its place, and as far off as the two types' are apart; but for infinities and NaNs.
    let mut out = [[0; LANES]; 2];
    for (shift, out) in [16, 0].into_iter().zip(&mut out) {
        for (out, word) in out.iter_mut().zip(words) {
            let above = word << shift;
            let bits = (above as i32 >> 3) as u32 & 0x8fff_e000;
            let beyond = if above & 0x7c00_0000 == 0x7c00_0000 { 0x7f80_0000 } else { 0 };
            *out = (f32::from_bits(bits) * f32::from_bits((127 + 112) << 23)).to_bits() | beyond;
        }
    }
    out
}
