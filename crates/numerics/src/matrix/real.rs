//! Sums of products of floating-point numbers with at most 11 significant bits.
//!
//! A group of products and the summand are added at once: each is cut off, towards zero, `fraction` bits below the largest exponent among
//! them (of a product the sum of its factors' exponents; that of a subnormal number is the least normal one's), and the sum of the rest is exact. The model is that of published measurements
//! (docs/decisions/0021); with the parameters here it gives every recorded bit.
//!
//! The module [`block`] does so in vectors of `f32` and `i32`, as long as no factor is an infinity, a NaN, or far from 1; the module `special` does the same for a single element
//! of any operands.

use super::Sizes;
use super::block::{self, COLUMNS, Left, QUADS, ROWS, Right};
use super::special;
use super::vector::Vectors;
use crate::Rounding;
use crate::format::{self, F16, F32, Format};

/// How a sum becomes a number of the result's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounded {
    /// Towards zero, to this many fraction bits: 23 are `.f32`.
    Truncated(u32),
    /// To nearest even, to `.f16`.
    Half,
}

impl Rounded {
    /// The exponent of the least normal number of the type.
    pub(super) fn least(self) -> i32 {
        1 - match self {
            Rounded::Truncated(_) => F32::BIAS,
            Rounded::Half => F16::BIAS,
        }
    }
}

/// How the products of a group and the summand are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulation {
    /// Products that are added at once; the result is the next group's summand.
    pub group: usize,
    /// Bits below the largest exponent that are kept of each summand, at most 25.
    pub fraction: u32,
    /// What becomes of each group's sum.
    pub rounded: Rounded,
    /// The exponents of the least normal numbers of the left and the right factors: those of smaller numbers count as such.
    pub least: [i32; 2],
}

/// `d = a * b + d`: panels of `sizes`, groups of `how.group` consecutive `k`. Elements of `a` that `absent` marks (by their places in the panel) have no product, which only
/// shows where their factor is an infinity or a NaN: they must be zero.
///
/// # Panics
/// A panel is shorter than `sizes` says, or `k` is not a multiple of the group.
pub fn multiply<V: Vectors>(
    v: V,
    how: Accumulation,
    sizes: Sizes,
    [a, b]: [&[f32]; 2],
    absent: Option<&[bool]>,
    d: &mut [f32],
) {
    let Sizes { m, n, k } = sizes;
    let (a, b, d) = (&a[..m * k], &b[..k * n], &mut d[..m * n]);
    for first in (0..k).step_by(how.group) {
        let part = Sizes { k: how.group, ..sizes };
        let panels = [&a[first * m..][..how.group * m], &b[first * n..][..how.group * n]];
        let absent = absent.map(|absent| &absent[first * m..][..how.group * m]);
        if how.group.is_multiple_of(4) && how.group <= 4 * QUADS {
            v.run(
                #[inline(always)]
                || group(v, how, part, panels, absent, d),
            );
        } else {
            special::multiply(how, part, panels, absent, d, [0..m, 0..n]);
        }
    }
}

/// One group of products in each element of `d`, by blocks.
#[inline(always)]
fn group<V: Vectors>(
    v: V,
    how: Accumulation,
    sizes: Sizes,
    [a, b]: [&[f32]; 2],
    absent: Option<&[bool]>,
    d: &mut [f32],
) {
    let Sizes { m, n, k } = sizes;
    let quads = k / 4;
    let (mut of_a, mut of_b) = (Left::<QUADS>::default(), Right::<QUADS>::default());
    for row in (0..m).step_by(ROWS) {
        // What a block has beyond the panels is zeros.
        let rows = ROWS.min(m - row);
        for (k, place) in of_a.elements[..quads].as_flattened_mut().iter_mut().enumerate() {
            for (place, value) in place.iter_mut().zip(&a[k * m + row..][..rows]) {
                *place = value.to_bits();
            }
        }
        of_a.ready(v, true, quads, how.least[0]);
        for column in (0..n).step_by(COLUMNS) {
            let columns = COLUMNS.min(n - column);
            for (quad, place) in of_b.elements[..quads].iter_mut().enumerate() {
                for k in 0..4 {
                    for (at, value) in b[(4 * quad + k) * n + column..][..columns].iter().enumerate() {
                        place[4 * at + k] = value.to_bits();
                    }
                }
            }
            of_b.ready(v, true, quads, how.least[1]);
            let mut summands = [[0; ROWS]; COLUMNS];
            for (at, summands) in summands.iter_mut().enumerate().take(columns) {
                for (summand, value) in summands.iter_mut().zip(&d[(column + at) * m + row..][..rows]) {
                    *summand = value.to_bits();
                }
            }
            let summands = summands.map(
                #[inline(always)]
                |column| v.load(&column),
            );
            let Some(sums) = block::multiply(v, how, true, quads, &of_a, &of_b, &summands) else {
                special::multiply(how, sizes, [a, b], absent, d, [row..row + rows, column..column + columns]);
                continue;
            };
            for (at, sums) in sums.iter().enumerate().take(columns) {
                for (value, sum) in d[(column + at) * m + row..][..rows].iter_mut().zip(v.store(*sums)) {
                    *value = f32::from_bits(sum);
                }
            }
        }
    }
}

/// A sum in the result's type. What exceeds it becomes an infinity. A zero is positive.
#[inline(always)]
pub(super) fn round(sum: f64, rounded: Rounded) -> f32 {
    match rounded {
        Rounded::Truncated(fraction) => {
            let kept = f64::from_bits(sum.to_bits() & (u64::MAX << (52 - fraction)));
            kept as f32 + 0.0
        }
        Rounded::Half => format::widen::<F16>(format::narrow::<F16>(sum, Rounding::Nearest, false)) + 0.0,
    }
}

/// The sum of products and the summand, where that is added last.
#[inline(always)]
pub fn add(sum: f32, summand: f32, half: bool) -> f32 {
    match half {
        true => round(f64::from(sum) + f64::from(summand), Rounded::Half),
        false => format::canonical(sum + summand),
    }
}

/// `d = a * b + d` where vectors of `.f32` compute it, which is so for `mma.m8n8k4` with an `.f32` summand or result: fused multiply-adds from zero in ascending
/// order, and the summand.
///
/// # Panics
/// A panel is shorter than `sizes` says.
pub fn multiply_in_order(Sizes { m, n, k }: Sizes, [a, b]: [&[f32]; 2], d: &mut [f32]) {
    for (column, d) in d.chunks_exact_mut(m).enumerate().take(n) {
        for (row, d) in d.iter_mut().enumerate() {
            let sum = (0..k).fold(0.0, |sum: f32, k| a[k * m + row].mul_add(b[k * n + column], sum));
            *d = format::canonical(sum + *d);
        }
    }
}

/// The result of a floating-point product with `.satfinite` (PTX ISA 9.7.14.4.14): an infinity becomes the largest finite number, a NaN becomes zero.
#[inline(always)]
pub fn finite(value: f32, half: bool) -> f32 {
    let largest = if half { 65504.0 } else { f32::MAX };
    if value.is_nan() { 0.0 } else { value.clamp(-largest, largest) }
}
