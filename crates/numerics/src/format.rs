//! The narrow floating-point formats, as facts, and the one definition of rounding to them.

use crate::Rounding;

/// What follows the largest finite number of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// An infinity with this pattern, then NaNs.
    Infinity(u32),
    /// Nothing but the NaN.
    Nan,
    /// Nothing: the format has only finite numbers.
    Nothing,
}

/// A binary format whose numbers all are `.f32` numbers.
pub trait Format {
    /// Fraction bits that are stored.
    const FRACTION: u32;
    /// What is subtracted from a stored exponent.
    const BIAS: i32;
    /// Position of the sign bit.
    const SIGN: u32;
    /// Pattern of the largest finite number.
    const MAX: u32;
    /// What lies beyond.
    const BEYOND: Beyond;
    /// The NaN that operations give. A format without NaN gives its positive maximum (PTX ISA 9.7.9.21).
    const NAN: u32;
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident { $fraction:literal, $bias:literal, $sign:literal, $max:literal, $beyond:expr, $nan:literal })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Format for $name {
            const FRACTION: u32 = $fraction;
            const BIAS: i32 = $bias;
            const SIGN: u32 = $sign;
            const MAX: u32 = $max;
            const BEYOND: Beyond = $beyond;
            const NAN: u32 = $nan;
        }
    )*};
}

// Columns: fraction bits, bias, sign bit, largest finite, what follows, NaN (PTX ISA 5.2.3).
formats! {
    /// `.f32`
    F32 { 23, 127, 31, 0x7f7f_ffff, Beyond::Infinity(0x7f80_0000), 0x7fff_ffff }
    /// `.tf32`: an `.f32` without the low 13 bits; see [`crate::convert::to_tf32`] for where the bits lie.
    Tf32 { 10, 127, 18, 0x3fbff, Beyond::Infinity(0x3fc00), 0x3ffff }
    /// `.f16`
    F16 { 10, 15, 15, 0x7bff, Beyond::Infinity(0x7c00), 0x7fff }
    /// `.bf16`
    Bf16 { 7, 127, 15, 0x7f7f, Beyond::Infinity(0x7f80), 0x7fff }
    /// `.e4m3`
    E4m3 { 3, 7, 7, 0x7e, Beyond::Nan, 0x7f }
    /// `.e5m2`
    E5m2 { 2, 15, 7, 0x7b, Beyond::Infinity(0x7c), 0x7f }
    /// `.e2m3`
    E2m3 { 3, 1, 5, 0x1f, Beyond::Nothing, 0x1f }
    /// `.e3m2`
    E3m2 { 2, 3, 5, 0x1f, Beyond::Nothing, 0x1f }
    /// `.e2m1`
    E2m1 { 1, 1, 3, 0x7, Beyond::Nothing, 0x7 }
}

const F64_FRACTION: u32 = 52;

/// Rounds `value` to the format. NaN becomes the format's NaN; with `satfinite` what is too large becomes the largest finite number,
/// infinity included.
///
/// The result is the correctly rounded exact result if `value` was rounded to odd (see [`crate::exact`]): every format here is at least
/// two bits narrower than `f64`.
#[inline(always)]
pub fn narrow<F: Format>(value: f64, rounding: Rounding, satfinite: bool) -> u32 {
    let bits = value.to_bits();
    let negative = bits >> 63 != 0;
    let magnitude = bits & (u64::MAX >> 1);
    let exponent = (magnitude >> F64_FRACTION) as i64;
    // The format's smallest exponent, counted as f64 counts.
    let smallest = 1024 - i64::from(F::BIAS);
    let implicit = u64::from(exponent != 0) << F64_FRACTION;
    let significand = magnitude & ((1 << F64_FRACTION) - 1) | implicit;
    let below = (smallest - exponent).max(0);
    // Beyond 54 everything is far below half of the last place, which is all that rounding asks.
    let shift = (i64::from(F64_FRACTION - F::FRACTION) + below).min(62) as u64;
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let rounded = kept + rounding.increment(negative, kept & 1 != 0, rest, 1 << (shift - 1));
    // The kept part holds the leading bit, which the exponent field absorbs; a carry moves on to the next exponent.
    let finite = (((exponent - smallest).max(0) as u64) << F::FRACTION) + rounded;
    let infinite = match F::BEYOND {
        Beyond::Infinity(pattern) => pattern,
        Beyond::Nan => F::NAN,
        Beyond::Nothing => F::MAX,
    };
    let exceeding = if satfinite || !(rounding.overflows_to_infinity(negative) || magnitude == 0x7ff << F64_FRACTION) {
        F::MAX
    } else {
        infinite
    };
    let magnitude_out = if finite > u64::from(F::MAX) { exceeding } else { finite as u32 };
    if value.is_nan() { F::NAN } else { magnitude_out | u32::from(negative) << F::SIGN }
}

/// The value of a number of the format, exactly.
#[inline(always)]
pub fn widen<F: Format>(bits: u32) -> f32 {
    let negative = bits >> F::SIGN & 1 != 0;
    let magnitude = bits & ((1 << F::SIGN) - 1);
    // Exponent and fraction in the place of f32's, then scaled by the difference of the biases, which also normalises subnormals.
    let scale = f32::from_bits(((254 - F::BIAS) as u32) << 23);
    let placed = f32::from_bits(magnitude << (23 - F::FRACTION));
    let finite = if F::BIAS == 127 { placed } else { placed * scale };
    let special = match F::BEYOND {
        Beyond::Infinity(pattern) if magnitude == pattern => f32::INFINITY.to_bits(),
        _ => F32::NAN,
    };
    let value = if magnitude > F::MAX { special } else { finite.to_bits() };
    f32::from_bits(if magnitude > F::MAX && special == F32::NAN { value } else { value | u32::from(negative) << 31 })
}

/// The NaN that `.f32` operations give in place of any other.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> f32 {
    if value.is_nan() { f32::from_bits(F32::NAN) } else { value }
}
