//! [`super::real`] for any operands, an element at a time: infinities, NaNs, and magnitudes that vectors of `f32` have no room for.

use std::ops::Range;

use super::Sizes;
use super::real::{Accumulation, Rounded, round};
use crate::format::{F32, Format};

/// A number as an integer times a power of two, and the exponent of its leading bit.
#[derive(Clone, Copy)]
struct Scaled {
    significand: i64,
    /// Of the significand's last place.
    place: i32,
    /// Of the leading bit; of a product the sum of its factors'.
    exponent: i32,
}

impl Scaled {
    fn of(value: f32) -> Self {
        let bits = value.to_bits();
        let field = (bits >> F32::FRACTION & 0xff) as i32;
        let fraction = i64::from(bits & ((1 << F32::FRACTION) - 1));
        let magnitude = if field == 0 { fraction } else { fraction | 1 << F32::FRACTION };
        let place = field.max(1) - F32::BIAS - F32::FRACTION as i32;
        let exponent = place + 63 - magnitude.leading_zeros() as i32;
        Self { significand: if value.is_sign_negative() { -magnitude } else { magnitude }, place, exponent }
    }

    fn times(self, other: Self) -> Self {
        Self {
            significand: self.significand * other.significand,
            place: self.place + other.place,
            exponent: self.exponent + other.exponent,
        }
    }

    /// In units of 2 to the `place`, the rest cut off.
    fn kept(self, place: i32) -> i64 {
        let magnitude = self.significand.unsigned_abs();
        let kept = match self.place - place {
            // At most 2^28: the leading bit is no more than 26 places above the last one that is kept.
            up @ 0.. => magnitude << up.min(63),
            down => magnitude.checked_shr(down.unsigned_abs()).unwrap_or(0),
        };
        if self.significand < 0 { -(kept as i64) } else { kept as i64 }
    }
}

/// One group of products in some rows and columns; see [`super::real::multiply`].
#[cold]
#[inline(never)]
pub(super) fn multiply(
    how: Accumulation,
    Sizes { m, n, k }: Sizes,
    [a, b]: [&[f32]; 2],
    absent: Option<&[bool]>,
    d: &mut [f32],
    [rows, columns]: [Range<usize>; 2],
) {
    for column in columns {
        for row in rows.clone() {
            let factors = (0..k)
                .filter(|k| absent.is_none_or(|absent| !absent[k * m + row]))
                .map(|k| (a[k * m + row], b[k * n + column]));
            let place = &mut d[column * m + row];
            *place = element(how, factors, *place);
        }
    }
}

/// The sum of products and `c`.
fn element(how: Accumulation, factors: impl Iterator<Item = (f32, f32)> + Clone, c: f32) -> f32 {
    // Only which infinities and NaNs there are: their sum says what becomes of them.
    let beyond: f32 = factors.clone().map(|(a, b)| infinite(a, b)).sum::<f32>() + infinite(c, 1.0);
    if !beyond.is_finite() || c.is_nan() {
        let nan = beyond.is_nan() || c.is_nan();
        return if nan { f32::from_bits(F32::NAN) } else { beyond };
    }
    let scaled = |value: f32| Some(Scaled::of(value)).filter(|scaled| scaled.significand != 0);
    let products = factors.filter_map(|(a, b)| Some(scaled(a)?.times(scaled(b)?)));
    let summands = products.chain(scaled(c));
    let Some(largest) = summands.clone().map(|summand| summand.exponent).max() else { return 0.0 };
    let place = largest - how.fraction as i32;
    let sum: i64 = summands.map(|summand| summand.kept(place)).sum();
    // Below 2^34, and exponents of f64 suffice: exact.
    let value = sum as f64 * 2f64.powi(place);
    let tiny = value.abs() < f64::from(f32::MIN_POSITIVE) && how.rounded != Rounded::Half;
    round(if tiny { towards_zero(value) } else { value }, how.rounded)
}

/// The infinity that a product is, or zero.
fn infinite(a: f32, b: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    if product.is_infinite() || product.is_nan() { product as f32 } else { 0.0 }
}

/// A number below those of `f32` that are normal, cut off at the last place of those that are not.
fn towards_zero(value: f64) -> f64 {
    let last = 2f64.powi(-149);
    (value / last).trunc() * last
}
