//! Conversions with a factor that is a power of two: `.scaled::n2::ue8m0`, and the fixed-point format `.s2f6` (PTX ISA 9.7.9.21).

use crate::convert::{Narrowing, to_format};
use crate::format::Bf16;

/// The factor of an `.ue8m0`: 2^-127 to 2^127, or not a number.
#[inline(always)]
fn factor(scale: u8) -> f64 {
    let power = f64::from_bits((u64::from(scale) + 1023 - 127) << 52);
    if scale == 0xff { f64::NAN } else { power }
}

/// `value`, which has the few bits of a narrow format, times the factor, as `.bf16`: the product is exact, and rounded once.
#[inline(always)]
pub fn bf16(value: f32, scale: u8, how: Narrowing) -> u32 {
    to_format::<Bf16>(f64::from(value) * factor(scale), how)
}

/// The value of an `.s2f6`: a byte in two's complement, in units of 2^-6.
#[inline(always)]
pub fn from_s2f6(code: u8) -> f32 {
    f32::from(code as i8) / 64.0
}

/// `value` divided by the factor, as `.s2f6`, to nearest even and saturating; not a number becomes the largest one.
#[inline(always)]
pub fn to_s2f6(value: f32, scale: u8, relu: bool) -> u8 {
    let quotient = f64::from(value) / factor(scale);
    let least = if relu { 0.0 } else { f64::from(i8::MIN) };
    let units = (quotient * 64.0).round_ties_even();
    let bounded = if units < least {
        least
    } else if units > f64::from(i8::MAX) {
        f64::from(i8::MAX)
    } else {
        units
    };
    if quotient.is_nan() { i8::MAX as u8 } else { bounded as i8 as u8 }
}
