//! Sums of products of floating-point numbers with at most 11 significant bits.
//!
//! A group of products and the summand are added at once: each is cut off, towards zero, `fraction` bits below the largest exponent among
//! them (of a product the sum of its factors' exponents), and the sum of the rest is exact. The model is that of published measurements
//! (docs/decisions/0021); with the parameters here it gives every recorded bit.
//!
//! [`multiply`] does so eight rows at a time in `f32` and `i32` vectors, as long as no factor is an infinity, a NaN, or far from 1;
//! the module `special` does the same for a single element of any operands.

use super::Sizes;
use super::special;
use crate::Rounding;
use crate::format::{self, F16};

/// Rows that are computed together.
const ROWS: usize = 8;

/// The finest and the largest magnitude of factors with which vectors of `f32` give the result: products and scales stay normal numbers.
const SMALLEST: u32 = (127 - 50) << 23;
const LARGEST: u32 = (127 + 50) << 23;

/// The bits of an `f32` that are its exponent.
pub(super) const EXPONENT: u32 = 0x7f80_0000;

/// How a sum becomes a number of the result's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounded {
    /// Towards zero, to this many fraction bits: 23 are `.f32`.
    Truncated(u32),
    /// To nearest even, to `.f16`.
    Half,
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
}

/// `d = a * b + d`: panels of `sizes`, groups of `how.group` consecutive `k`. Elements of `a` that `absent` marks (by their places in the panel) have no product, which only
/// shows where their factor is an infinity or a NaN: they must be zero. `truncate` takes numbers below 2^31 to integers, towards zero.
///
/// # Panics
/// A panel is shorter than `sizes` says, or `k` is not a multiple of the group.
#[inline(always)]
pub fn multiply(
    truncate: impl Fn([f32; ROWS]) -> [i32; ROWS] + Copy,
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
        if !(is_plain(panels[0]) && is_plain(panels[1]) && is_finite(d)) {
            let absent = absent.map(|absent| &absent[first * m..][..how.group * m]);
            special::multiply(how, part, panels, absent, d);
            continue;
        }
        match how.group {
            4 => group::<4>(truncate, how, part, panels, d),
            8 => group::<8>(truncate, how, part, panels, d),
            16 => group::<16>(truncate, how, part, panels, d),
            32 => group::<32>(truncate, how, part, panels, d),
            64 => group::<64>(truncate, how, part, panels, d),
            _ => special::multiply(how, part, panels, None, d),
        }
    }
}

/// Whether all are zero or neither very small nor very large.
#[inline(always)]
fn is_plain(values: &[f32]) -> bool {
    let mut odd = 0;
    for value in values {
        let magnitude = value.to_bits() & (u32::MAX >> 1);
        odd |= u32::from(magnitude.wrapping_sub(SMALLEST) > LARGEST - SMALLEST) & u32::from(magnitude != 0);
    }
    odd == 0
}

/// Whether none is an infinity or a NaN.
#[inline(always)]
fn is_finite(values: &[f32]) -> bool {
    let mut odd = 0;
    for value in values {
        odd |= u32::from(value.to_bits() & EXPONENT == EXPONENT);
    }
    odd == 0
}

/// Plus or minus the largest power of two that is not above a number's magnitude.
#[inline(always)]
fn power(value: f32) -> f32 {
    f32::from_bits(value.to_bits() & EXPONENT)
}

/// One group of `K` products in each element of `d`.
#[inline(always)]
fn group<const K: usize>(
    truncate: impl Fn([f32; ROWS]) -> [i32; ROWS] + Copy,
    how: Accumulation,
    Sizes { m, n, .. }: Sizes,
    [a, b]: [&[f32]; 2],
    d: &mut [f32],
) {
    for row in (0..m).step_by(ROWS) {
        let mut rows = [[0.0; ROWS]; K];
        let mut powers = [[0.0; ROWS]; K];
        for k in 0..K {
            rows[k].copy_from_slice(&a[k * m + row..][..ROWS]);
            powers[k] = rows[k].map(power);
        }
        for column in 0..n {
            let factors: [f32; K] = std::array::from_fn(|k| b[k * n + column]);
            let place = &mut d[column * m + row..][..ROWS];
            let mut summand = [0.0; ROWS];
            summand.copy_from_slice(place);
            place.copy_from_slice(&sums(truncate, how, &rows, &powers, &factors, &summand));
        }
    }
}

/// [`ROWS`] elements of one column.
#[inline(always)]
fn sums<const K: usize>(
    truncate: impl Fn([f32; ROWS]) -> [i32; ROWS],
    how: Accumulation,
    a: &[[f32; ROWS]; K],
    a_powers: &[[f32; ROWS]; K],
    b: &[f32; K],
    c: &[f32; ROWS],
) -> [f32; ROWS] {
    // Exact: factors have 11 bits at most.
    let mut products = [[0.0; ROWS]; K];
    let mut largest = [0.0f32; ROWS];
    for k in 0..K {
        let b_power = power(b[k]);
        for lane in 0..ROWS {
            products[k][lane] = a[k][lane] * b[k];
            let power = a_powers[k][lane] * b_power;
            largest[lane] = if power > largest[lane] { power } else { largest[lane] };
        }
    }
    let mut scales = [0.0; ROWS];
    let mut units = [0.0; ROWS];
    let mut has_products = [false; ROWS];
    for lane in 0..ROWS {
        has_products[lane] = largest[lane] > 0.0;
        let summand = power(c[lane]);
        largest[lane] = if summand > largest[lane] { summand } else { largest[lane] };
        // The power of two that brings the last place that is kept to 1, and its reciprocal.
        scales[lane] = f32::from_bits(((254 + how.fraction) << 23).wrapping_sub(largest[lane].to_bits()));
        units[lane] = f64::from(largest[lane]) * f64::from_bits(u64::from(1023 - how.fraction) << 52);
    }
    // Each is below 2^27, of at most 16 that are not zero.
    let mut total = [0i32; ROWS];
    for product in &products {
        let mut scaled = [0.0; ROWS];
        for lane in 0..ROWS {
            scaled[lane] = product[lane] * scales[lane];
        }
        let kept = truncate(scaled);
        for lane in 0..ROWS {
            total[lane] = total[lane].wrapping_add(kept[lane]);
        }
    }
    let mut scaled = [0.0; ROWS];
    for lane in 0..ROWS {
        scaled[lane] = c[lane] * scales[lane];
    }
    let summand = truncate(scaled);
    let mut out = [0.0; ROWS];
    for lane in 0..ROWS {
        // Exact: the integers have 32 bits together.
        let sum = (f64::from(total[lane]) + f64::from(summand[lane])) * units[lane];
        out[lane] = round(sum, how.rounded);
    }
    for lane in 0..ROWS {
        out[lane] = if has_products[lane] { out[lane] } else { round(f64::from(c[lane]), how.rounded) };
    }
    out
}

/// A sum in the result's type. What exceeds it becomes an infinity. A zero is positive.
#[inline(always)]
pub(super) fn round(sum: f64, rounded: Rounded) -> f32 {
    match rounded {
        Rounded::Truncated(fraction) => {
            let kept = f64::from_bits(sum.to_bits() & (u64::MAX << (52 - fraction)));
            kept as f32 + 0.0
        }
        Rounded::Half => format::widen::<F16>(format::narrow::<F16>(sum + 0.0, Rounding::Nearest, false)),
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
