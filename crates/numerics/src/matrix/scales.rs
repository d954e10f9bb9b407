//! Products with block scaling (PTX ISA 9.7.14.3): `d = (a * scale_a) * (b * scale_b) + d`.
//!
//! The models are published ones of sm_120 (docs/decisions/0021). Where a scale is for all of `k`, it is a power of two and only moves exponents: the sum is one of [`super::real`].
//! Elements of 4 bits are multiplied in groups of sixteen, whose sums are exact; the groups, scaled, and the summand are added as products are elsewhere, but that the exponent of a
//! group is that of its scales alone.

use super::Sizes;
use super::real::{Accumulation, Rounded};
use super::special::{self, Scaled};
use crate::format::{F32, Format};

/// Of [`Accumulation::least`]: numbers with scales have any exponents.
const ANY: [i32; 2] = [i32::MIN; 2];

/// What a byte of a scale is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// `.ue8m0`: two to the power of it less 127; 255 is a NaN.
    Ue8m0,
    /// `.ue4m3`: an `.e4m3` whose sign has no say.
    Ue4m3,
}

/// The scales of a product, for so many blocks of `k`: that of (row, block) of `a` at `block * m + row`, that of (block, column) of `b` at `block * n + column`.
#[derive(Clone, Copy, Debug)]
pub struct Scales<'s> {
    /// What they are.
    pub format: Scale,
    /// Those of `a`.
    pub a: &'s [u8],
    /// Those of `b`.
    pub b: &'s [u8],
}

/// Powers of two whose products with factors of at most 8 bits are normal numbers of `f32`.
const NEAR: std::ops::RangeInclusive<u8> = 64..=190;
/// How many products are added exactly before they are scaled.
const GROUP: usize = 16;
/// Bits of each scaled group and of the summand that are kept below the largest exponent among them.
const FRACTION: u32 = 35;

/// Multiplies each row of `a` and each column of `b` by its `.ue8m0`; `false` if numbers of `f32` may not hold one: then nothing has changed.
pub fn scale(Sizes { m, n, .. }: Sizes, [a, b]: [&mut [f32]; 2], scales: Scales<'_>) -> bool {
    let (by_row, by_column) = (&scales.a[..m], &scales.b[..n]);
    if !by_row.iter().chain(by_column).all(|scale| NEAR.contains(scale)) {
        return false;
    }
    for (panel, scales) in [(a, by_row), (b, by_column)] {
        for line in panel.chunks_exact_mut(scales.len()) {
            for (value, scale) in line.iter_mut().zip(scales) {
                *value *= f32::from_bits(u32::from(*scale) << F32::FRACTION);
            }
        }
    }
    true
}

/// [`super::real::multiply`] of panels whose rows and columns have any `.ue8m0` each, an element at a time.
///
/// # Panics
/// A panel is shorter than `sizes` says.
pub fn multiply(
    how: Accumulation,
    Sizes { m, n, k }: Sizes,
    [a, b]: [&[f32]; 2],
    absent: Option<&[bool]>,
    scales: Scales<'_>,
    d: &mut [f32],
) {
    let how = Accumulation { least: ANY, ..how };
    for column in 0..n {
        for row in 0..m {
            let (of_row, of_column) = (power(scales.a[row]), power(scales.b[column]));
            let factors = (0..k)
                .filter(|k| absent.is_none_or(|absent| !absent[k * m + row]))
                .map(|k| (f64::from(a[k * m + row]) * of_row, f64::from(b[k * n + column]) * of_column));
            let place = &mut d[column * m + row];
            *place = special::element(how, factors, *place);
        }
    }
}

/// The number that an `.ue8m0` is.
fn power(scale: u8) -> f64 {
    if scale == 0xff { f64::NAN } else { 2f64.powi(i32::from(scale) - 127) }
}

/// `d = (a * scale_a) * (b * scale_b) + d` of `.e2m1`, whose `k` has as many blocks as there are scales for a row, and groups of `per_group` elements, of which sixteen are there.
///
/// # Panics
/// A panel is shorter than `sizes` says, or `k` is not a multiple of `per_group`.
pub fn multiply_groups(
    Sizes { m, n, k }: Sizes,
    per_group: usize,
    [a, b]: [&[f32]; 2],
    scales: Scales<'_>,
    d: &mut [f32],
) {
    let groups = k / per_group;
    let per_block = groups * m / scales.a.len();
    let factor = |scale: &u8| scales.format.factor(*scale);
    let of_a: Vec<Option<Scaled>> = scales.a.iter().map(factor).collect();
    let of_b: Vec<Option<Scaled>> = scales.b.iter().map(factor).collect();
    let mut dots = vec![0.0f32; groups * m];
    for column in 0..n {
        dots.fill(0.0);
        for (group, dots) in dots.chunks_exact_mut(m).enumerate() {
            for k in group * per_group..(group + 1) * per_group {
                let factor = b[k * n + column];
                // Multiples of a quarter, at most 576: exact.
                dots.iter_mut().zip(&a[k * m..][..m]).for_each(|(dot, value)| *dot += value * factor);
            }
        }
        for row in 0..m {
            let place = &mut d[column * m + row];
            let scaled = |group: usize| {
                let block = group / per_block;
                let (Some(a), Some(b)) = (of_a[block * m + row], of_b[block * n + column]) else { return None };
                Some((dots[group * m + row], a.times(b)))
            };
            *place = element((0..groups).map(scaled), *place);
        }
    }
}

/// The sum of groups, each with its scale, which is `None` if it is a NaN, and `c`.
fn element(groups: impl Iterator<Item = Option<(f32, Scaled)>> + Clone, c: f32) -> f32 {
    if c.is_nan() || groups.clone().any(|group| group.is_none()) {
        return f32::from_bits(F32::NAN);
    }
    if c.is_infinite() {
        return c;
    }
    let how = Accumulation { group: GROUP, fraction: FRACTION, rounded: Rounded::Truncated(F32::FRACTION), least: ANY };
    let groups = groups.flatten().filter(|(_, scale)| scale.significand != 0);
    let summands = groups.map(|(dot, scale)| Scaled {
        significand: (dot * 4.0) as i64 * scale.significand,
        place: scale.place - 2,
        exponent: scale.exponent,
    });
    special::sum(how, summands.chain(Scaled::of(f64::from(c))))
}

impl Scale {
    /// A scale as a factor, whose exponent is that of the format's field; `None` if it is a NaN.
    fn factor(self, bits: u8) -> Option<Scaled> {
        match self {
            Scale::Ue8m0 if bits == 0xff => None,
            Scale::Ue8m0 => {
                let exponent = i32::from(bits) - 127;
                Some(Scaled { significand: 1, place: exponent, exponent })
            }
            Scale::Ue4m3 => {
                let (field, fraction) = (i32::from(bits >> 3 & 0xf), i64::from(bits & 7));
                if (field, fraction) == (0xf, 7) {
                    return None;
                }
                let exponent = field.max(1) - 7;
                let significand = if field == 0 { fraction } else { fraction | 8 };
                Some(Scaled { significand, place: exponent - 3, exponent })
            }
        }
    }
}
