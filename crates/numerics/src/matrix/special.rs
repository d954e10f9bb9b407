//! [`super::real`] for any operands, an element at a time: infinities, NaNs, and magnitudes that vectors of `f32` have no room for.

use std::ops::Range;

use super::Sizes;
use super::real::{Accumulation, Rounded, round};
use crate::format::{F32, Format};

/// A number as an integer times a power of two, and the exponent that it is aligned by.
#[derive(Clone, Copy)]
pub(super) struct Scaled {
    pub(super) significand: i64,
    /// Of the significand's last place.
    pub(super) place: i32,
    /// Of the leading bit; of a product the sum of its factors'.
    pub(super) exponent: i32,
}

impl Scaled {
    /// A finite number that is not zero, with as few bits as it has.
    pub(super) fn of(value: f64) -> Option<Self> {
        const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
        let bits = value.to_bits();
        let fraction = bits & ((1 << FRACTION) - 1) | 1 << FRACTION;
        // What comes here is of `f32` or a product of such, so that none is subnormal.
        let exponent = (bits >> FRACTION & 0x7ff) as i32 - (f64::MAX_EXP - 1);
        let zeros = fraction.trailing_zeros();
        let magnitude = (fraction >> zeros) as i64;
        let place = exponent - FRACTION as i32 + zeros as i32;
        let significand = if value.is_sign_negative() { -magnitude } else { magnitude };
        (value != 0.0).then_some(Self { significand, place, exponent })
    }

    /// With an exponent of at least so much.
    fn raised(self, least: i32) -> Self {
        Self { exponent: self.exponent.max(least), ..self }
    }

    pub(super) fn times(self, other: Self) -> Self {
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
            // At most 2^28 of products, as the leading bit is no more than 26 places above the last one that is kept, and 2^47 of scaled groups.
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
                .map(|k| (f64::from(a[k * m + row]), f64::from(b[k * n + column])));
            let place = &mut d[column * m + row];
            *place = element(how, factors, *place);
        }
    }
}

/// The sum of products and `c`.
pub(super) fn element(how: Accumulation, factors: impl Iterator<Item = (f64, f64)> + Clone, c: f32) -> f32 {
    // Only which infinities and NaNs there are: their sum says what becomes of them.
    let beyond: f32 = factors.clone().map(|(a, b)| infinite(a, b)).sum::<f32>() + infinite(c.into(), 1.0);
    if !beyond.is_finite() || c.is_nan() {
        let nan = beyond.is_nan() || c.is_nan();
        return if nan { f32::from_bits(F32::NAN) } else { beyond };
    }
    let [left, right] = how.least;
    let products = factors.filter_map(|(a, b)| Some(Scaled::of(a)?.raised(left).times(Scaled::of(b)?.raised(right))));
    let summand = Scaled::of(c.into()).map(|summand| summand.raised(how.rounded.least()));
    sum(how, products.chain(summand))
}

/// The sum of what is left of summands that are finite.
pub(super) fn sum(how: Accumulation, summands: impl Iterator<Item = Scaled> + Clone) -> f32 {
    let Some(largest) = summands.clone().map(|summand| summand.exponent).max() else { return 0.0 };
    let place = largest - how.fraction as i32;
    let sum: i64 = summands.map(|summand| summand.kept(place)).sum();
    // Below 2^53, and exponents of f64 suffice: exact.
    let value = sum as f64 * 2f64.powi(place);
    let tiny = value.abs() < f64::from(f32::MIN_POSITIVE) && how.rounded != Rounded::Half;
    round(if tiny { towards_zero(value) } else { value }, how.rounded)
}

/// The infinity that a product is, or zero.
fn infinite(a: f64, b: f64) -> f32 {
    let product = a * b;
    if product.is_infinite() || product.is_nan() { product as f32 } else { 0.0 }
}

/// A number below those of `f32` that are normal, cut off at the last place of those that are not.
fn towards_zero(value: f64) -> f64 {
    let last = 2f64.powi(-149);
    (value / last).trunc() * last
}
