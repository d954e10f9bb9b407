//! What sampling needs of vectors beyond what products of matrices do.

use crate::vector::{Arrays, WordVectors, each};

#[cfg(target_arch = "x86_64")]
mod x86;

/// Words, or floats, as lanes are sampled.
pub trait SamplingVectors: WordVectors {
    /// The first word.
    fn first(self, a: Self::Words) -> u32;
    /// Whether any of these bits is set in any word.
    fn any_of(self, a: Self::Words, bits: u32) -> bool;
    /// Products, their low words.
    fn mul_words(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Shifted left by a distance that all have.
    fn shl_by(self, a: Self::Words, by: u32) -> Self::Words;
    /// Shifted right by a distance that all have.
    fn shr_by(self, a: Self::Words, by: u32) -> Self::Words;
    /// Shifted right by distances of less than 32.
    fn shr_each(self, a: Self::Words, by: Self::Words) -> Self::Words;
    /// Shifted right, signs from above.
    fn sar<const BY: u32>(self, a: Self::Words) -> Self::Words;
    /// The smaller ones as `.s32`.
    fn min(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The larger ones as `.u32`.
    fn most(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The smaller ones as `.u32`.
    fn least(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The larger ones as `.u16x2`.
    fn most_halves(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The smaller ones as `.u16x2`.
    fn least_halves(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Differences as `.u16x2`.
    fn sub_halves(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `.s32` to `.f32`, of numbers of up to 24 bits.
    fn to_floats(self, a: Self::Words) -> Self::Words;
    /// Differences of `.f32`.
    fn sub_floats(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `.f32` down to whole numbers.
    fn floor(self, a: Self::Words) -> Self::Words;
    /// `.f32` down to whole numbers of 256ths.
    fn floor_parts(self, a: Self::Words) -> Self::Words;
    /// What `.f32` are beyond the whole number below, cut downward to 24 bits or more behind the point; 0 of infinities and NaN.
    fn fraction(self, a: Self::Words) -> Self::Words;
    /// `.f32`: `a` where it is larger than `b`, and else `b`, as for NaN.
    fn larger(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `.f32`: `a` where it is smaller than `b`, and else `b`, as for NaN.
    fn smaller(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `a * b + c` of `.f32`, where the product needs no rounding: with the sum or on its own, it is the same.
    fn add_exact_product(self, a: Self::Words, b: Self::Words, c: Self::Words) -> Self::Words;
    /// Whole `.f32` of up to `RANGE`, one less than a power of 2 of 15 or 16, as its fractions, to nearest.
    fn fractions<const RANGE: u32>(self, a: Self::Words) -> Self::Words;
    /// Weighted sums of `.f32`, exact in `.f64`, without the last `CUT` bits, halves away from 0: those of an `.f32` or fewer are left, and none is a denormal.
    fn exact_sums<const CUT: u32>(self, terms: [Self::Words; 4], weights: &[Self::Words; 4]) -> Self::Words;
}

/// What the reciprocal of `range` has beyond the power of 2 next to it: of products with it few bits are seen, and of those with the power none is lost.
#[inline(always)]
fn beyond(range: u32) -> [f32; 2] {
    let power = 1.0 / (range + 1) as f32;
    [power, (1.0 / f64::from(range) - f64::from(power)) as f32]
}

/// 2^24: a fraction of so many parts is a number that needs no rounding.
const LAST_PART: f32 = (1 << 24) as f32;

/// Both halves of words.
#[inline(always)]
fn of_halves(a: u32, b: u32, each: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(each(a as u16, b as u16)) | u32::from(each((a >> 16) as u16, (b >> 16) as u16)) << 16
}

impl SamplingVectors for Arrays {
    #[inline(always)]
    fn first(self, a: [u32; 16]) -> u32 {
        a[0]
    }

    #[inline(always)]
    fn any_of(self, a: [u32; 16], bits: u32) -> bool {
        self.any(each!(a => a & bits))
    }

    #[inline(always)]
    fn mul_words(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a.wrapping_mul(b))
    }

    #[inline(always)]
    fn shl_by(self, a: [u32; 16], by: u32) -> [u32; 16] {
        each!(a => a << by)
    }

    #[inline(always)]
    fn shr_by(self, a: [u32; 16], by: u32) -> [u32; 16] {
        each!(a => a >> by)
    }

    #[inline(always)]
    fn shr_each(self, a: [u32; 16], by: [u32; 16]) -> [u32; 16] {
        each!(a, by => a >> (by & 31))
    }

    #[inline(always)]
    fn sar<const BY: u32>(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => (a as i32 >> BY) as u32)
    }

    #[inline(always)]
    fn min(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => (a as i32).min(b as i32) as u32)
    }

    #[inline(always)]
    fn most(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a.max(b))
    }

    #[inline(always)]
    fn least(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a.min(b))
    }

    #[inline(always)]
    fn most_halves(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => of_halves(a, b, u16::max))
    }

    #[inline(always)]
    fn least_halves(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => of_halves(a, b, u16::min))
    }

    #[inline(always)]
    fn sub_halves(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => of_halves(a, b, u16::wrapping_sub))
    }

    #[inline(always)]
    fn to_floats(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => (a as i32 as f32).to_bits())
    }

    #[inline(always)]
    fn sub_floats(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => (f32::from_bits(a) - f32::from_bits(b)).to_bits())
    }

    #[inline(always)]
    fn floor(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => f32::from_bits(a).floor().to_bits())
    }

    #[inline(always)]
    fn floor_parts(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => ((f32::from_bits(a) * 256.0).floor() / 256.0).to_bits())
    }

    #[inline(always)]
    fn fraction(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => {
            // Powers of 2: all of this is exact.
            let part = (f32::from_bits(a) * LAST_PART).floor();
            let inside = (part - (part * (1.0 / LAST_PART)).floor() * LAST_PART) * (1.0 / LAST_PART);
            (if inside > 0.0 { inside } else { 0.0 }).to_bits()
        })
    }

    #[inline(always)]
    fn larger(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => if f32::from_bits(a) > f32::from_bits(b) { a } else { b })
    }

    #[inline(always)]
    fn smaller(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => if f32::from_bits(a) < f32::from_bits(b) { a } else { b })
    }

    #[inline(always)]
    fn add_exact_product(self, a: [u32; 16], b: [u32; 16], c: [u32; 16]) -> [u32; 16] {
        each!(a, b, c => (f32::from_bits(a) * f32::from_bits(b) + f32::from_bits(c)).to_bits())
    }

    #[inline(always)]
    fn fractions<const RANGE: u32>(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => (f32::from_bits(a) / RANGE as f32).to_bits())
    }

    #[inline(always)]
    fn exact_sums<const CUT: u32>(self, terms: [[u32; 16]; 4], weights: &[[u32; 16]; 4]) -> [u32; 16] {
        let mut out = [0; 16];
        for (lane, out) in out.iter_mut().enumerate() {
            let double = |words: &[u32; 16]| f64::from(f32::from_bits(words[lane]));
            let product = |corner: usize| double(&terms[corner]) * double(&weights[corner]);
            let sum = product(0) + product(1) + product(2) + product(3);
            let half_up = sum.to_bits().wrapping_add(1 << (CUT - 1));
            *out = (f64::from_bits(half_up & (u64::MAX << CUT)) as f32).to_bits();
        }
        out
    }
}

/// A word of each lane, made of what there is for it.
#[cfg(test)]
pub(super) fn lanes_of<V: SamplingVectors, T>(v: V, from: &[T], word: impl Fn(&T) -> u32) -> V::Words {
    let mut lanes = V::Lanes::default();
    for (lane, from) in lanes.as_mut().iter_mut().zip(from) {
        *lane = word(from);
    }
    v.load(&lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_quotients<V: SamplingVectors>(v: V, values: &[f32], got: V::Words, by: f32) -> bool {
        let got = v.store(got);
        values.iter().enumerate().all(|(lane, value)| got[lane] == (value / by).to_bits())
    }

    fn quotients(v: impl SamplingVectors) {
        let all = |range: std::ops::RangeInclusive<i32>| {
            let values: Vec<f32> = range.map(|value| value as f32).collect();
            values.chunks(8).map(<[f32]>::to_vec).collect::<Vec<_>>()
        };
        for values in all(0..=65535) {
            assert!(are_quotients(
                v,
                &values,
                v.fractions::<65535>(lanes_of(v, &values, |value| value.to_bits())),
                65535.0
            ));
        }
        for values in all(-32767..=32767) {
            assert!(are_quotients(
                v,
                &values,
                v.fractions::<32767>(lanes_of(v, &values, |value| value.to_bits())),
                32767.0
            ));
        }
    }

    #[test]
    fn fractions_are_quotients() {
        quotients(Arrays);
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(v) = pulp::x86::V3::try_new() {
                quotients(crate::vector::Eight(v));
            }
            if let Some(v) = pulp::x86::V4::try_new() {
                quotients(v);
            }
        }
    }
}
