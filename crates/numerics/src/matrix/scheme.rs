//! How the sums of an instruction are grouped and rounded, as was recorded on sm_90; for products of warpgroups it had been published (docs/decisions/0021).

use super::real::{Accumulation, Rounded};
use crate::format::{E4m3, E5m2, F16, F32, Format};

/// The floating-point formats of factors, as far as sums differ by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorFormat {
    /// `.f16`
    Half,
    /// `.bf16` and `.tf32`, which have the exponents of `.f32`. So too narrow formats whose sums are not recorded.
    Wide,
    /// `.e4m3`
    E4m3,
    /// `.e5m2`
    E5m2,
}

impl FactorFormat {
    fn is_byte(self) -> bool {
        matches!(self, FactorFormat::E4m3 | FactorFormat::E5m2)
    }

    /// The exponent of the least normal number.
    fn least(self) -> i32 {
        1 - match self {
            FactorFormat::Half => F16::BIAS,
            FactorFormat::Wide => F32::BIAS,
            FactorFormat::E4m3 => E4m3::BIAS,
            FactorFormat::E5m2 => E5m2::BIAS,
        }
    }
}

/// How an instruction's sums are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Each group.
    pub accumulation: Accumulation,
    /// Of the `k` of a product, in blocks of this many, the even blocks are the first group and the odd ones the second.
    pub alternating: Option<usize>,
    /// The products are summed from zero and the summand is added to the rounded sum, instead of being the first group's.
    pub summand_last: bool,
}

/// Bits of each summand that are kept below the largest exponent.
const FRACTION: u32 = 25;
/// The same for 8-bit floats in products of a warpgroup, whose results have as many fraction bits.
const FRACTION_OF_BYTES: u32 = 13;

impl Scheme {
    /// `mma`, `mma.sp` and `wmma`: 8-bit floats are converted to `.f16`, of which each word of four gives two words, and multiplied by two
    /// instructions. `k` counts the elements of `b`; a sparse product has half as many in `a`.
    pub fn warp(factors: [FactorFormat; 2], k: usize, sparse: bool, half: bool) -> Self {
        let rounded = if half { Rounded::Half } else { Rounded::Truncated(23) };
        let bytes = factors[0].is_byte();
        let least = if bytes { [FactorFormat::Half.least(); 2] } else { factors.map(FactorFormat::least) };
        let accumulation = Accumulation { group: if bytes { k / 2 } else { k }, fraction: FRACTION, rounded, least };
        let block = if sparse { 4 } else { 2 };
        Self { accumulation, alternating: bytes.then_some(block), summand_last: bytes }
    }

    /// `wgmma.mma_async`
    pub fn warpgroup(factors: [FactorFormat; 2], k: usize, half: bool) -> Self {
        let bytes = factors[0].is_byte();
        let fraction = if bytes { FRACTION_OF_BYTES } else { FRACTION };
        let rounded = match (half, bytes) {
            (true, _) => Rounded::Half,
            (false, false) => Rounded::Truncated(23),
            (false, true) => Rounded::Truncated(FRACTION_OF_BYTES),
        };
        let accumulation = Accumulation { group: k, fraction, rounded, least: factors.map(FactorFormat::least) };
        Self { accumulation, alternating: None, summand_last: false }
    }

    /// Where column `k` of `a` is to lie so that groups are consecutive.
    pub fn place(&self, k: usize) -> usize {
        match self.alternating {
            None => k,
            Some(block) => k / block % 2 * self.accumulation.group + k / (2 * block) * block + k % block,
        }
    }
}
