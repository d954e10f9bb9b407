//! Conversions (PTX ISA 9.7.9.21 `cvt`, 9.7.9.22 `cvt.pack`).
//!
//! A conversion between integers without `.sat` is truncation or extension, Rust's `as`, and has no function here.

use crate::format::{F32, Format, Tf32, canonical, narrow};
use crate::{Rounding, double, exact, float};

/// The integer types of `cvt`.
pub trait Integer: Copy {
    /// Width in bits.
    const BITS: u32;
    /// The value, saturated.
    fn from_i64(value: i64) -> Self;
    /// The value, saturated.
    fn from_u64(value: u64) -> Self;
    /// An integral value, saturated; NaN gives 0.
    fn from_f32(value: f32) -> Self;
    /// An integral value, saturated; NaN gives 0.
    fn from_f64(value: f64) -> Self;
    /// Only the top bit set.
    fn top_bit() -> Self;
    /// The nearest `.f32`, ties to even.
    fn to_f32(self) -> f32;
    /// The nearest `.f64`, ties to even.
    fn to_f64(self) -> f64;
    /// Sign and magnitude.
    fn parts(self) -> (bool, u64);
}

/// An integral number of magnitude below 2^22, as an integer: what stands in the low bits of its sum with a number whose last place is
/// worth 1. Others give any value. Rust's conversions saturate, which compilers do one number at a time.
#[inline(always)]
pub(crate) fn small_integer(value: f32) -> i32 {
    const MIDDLE: f32 = 12_582_912.0;
    (value + MIDDLE).to_bits().wrapping_sub(MIDDLE.to_bits()) as i32
}

/// An integral number saturated to `low..=high`, an integer type of up to 32 bits; NaN gives 0.
#[inline(always)]
fn bounded_f32(value: f32, low: i64, high: i64) -> u32 {
    // Halves of 16 bits, as single precision has no place for 32.
    let upper = (value * (1.0 / 65536.0)).trunc();
    let lower = value - upper * 65536.0;
    let bits = ((small_integer(upper) as u32) << 16).wrapping_add(small_integer(lower) as u32);
    let bits = if value >= high.wrapping_add(1) as f32 { high as u32 } else { bits };
    let bits = if value <= low as f32 { low as u32 } else { bits };
    if value.is_nan() { 0 } else { bits }
}

/// [`bounded_f32`] from double precision.
#[inline(always)]
fn bounded_f64(value: f64, low: i64, high: i64) -> u32 {
    // As in `small_integer`.
    const MIDDLE: f64 = 6_755_399_441_055_744.0;
    let value = if value >= high as f64 { high as f64 } else { value };
    let value = if value <= low as f64 { low as f64 } else { value };
    if value.is_nan() { 0 } else { (value + MIDDLE).to_bits() as u32 }
}

macro_rules! integers {
    ($($ty:ty: $unsigned:ty, |$value:ident| $parts:expr;)*) => {$(
        impl Integer for $ty {
            const BITS: u32 = <$ty>::BITS;

            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                let low = if <$ty>::MIN == 0 { 0 } else { i64::MIN >> (64 - <$ty>::BITS) };
                let high = i64::try_from(<$ty>::MAX).unwrap_or(i64::MAX);
                value.clamp(low, high) as $ty
            }

            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value.min(<$ty>::MAX as u64) as $ty
            }

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                match <$ty>::BITS {
                    64 => value as $ty,
                    _ => bounded_f32(value, <$ty>::MIN as i64, <$ty>::MAX as i64) as $ty,
                }
            }

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                match <$ty>::BITS {
                    64 => value as $ty,
                    _ => bounded_f64(value, <$ty>::MIN as i64, <$ty>::MAX as i64) as $ty,
                }
            }

            #[inline(always)]
            fn top_bit() -> Self {
                ((1 as $unsigned) << (<$ty>::BITS - 1)) as $ty
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn parts(self) -> (bool, u64) {
                let $value = self;
                $parts
            }
        }
    )*};
}

integers! {
    u8: u8, |value| (false, u64::from(value));
    i8: u8, |value| (value < 0, u64::from(value.unsigned_abs()));
    u16: u16, |value| (false, u64::from(value));
    i16: u16, |value| (value < 0, u64::from(value.unsigned_abs()));
    u32: u32, |value| (false, u64::from(value));
    i32: u32, |value| (value < 0, u64::from(value.unsigned_abs()));
    u64: u64, |value| (false, value);
    i64: u64, |value| (value < 0, value.unsigned_abs());
}

/// The integral number that `value` rounds to (`cvt.rni` and the like between equal types).
#[inline(always)]
pub fn integral(value: f32, rounding: Rounding) -> f32 {
    canonical(match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::Away => value.round(),
    })
}

/// [`integral`] for `.f64`; a NaN keeps sign and payload and becomes quiet.
#[inline(always)]
pub fn integral_f64(value: f64, rounding: Rounding) -> f64 {
    let rounded = match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::Away => value.round(),
    };
    if value.is_nan() { f64::from_bits(value.to_bits() | (1 << 51)) } else { rounded }
}

/// `.f32` (or a half, widened) to an integer, saturating. NaN gives 0, but the top bit in 64-bit types.
#[inline(always)]
pub fn integer_from_f32<D: Integer>(value: f32, rounding: Rounding) -> D {
    let result = D::from_f32(integral(value, rounding));
    if (D::BITS == 64) & value.is_nan() { D::top_bit() } else { result }
}

/// `.f64` to an integer, saturating. NaN gives the top bit.
#[inline(always)]
pub fn integer_from_f64<D: Integer>(value: f64, rounding: Rounding) -> D {
    let result = D::from_f64(integral_f64(value, rounding));
    if value.is_nan() { D::top_bit() } else { result }
}

/// An integer to `.f32`.
#[inline(always)]
pub fn f32_from_integer<S: Integer>(value: S, rounding: Rounding, sat: bool) -> f32 {
    let rounded = if rounding == Rounding::Nearest {
        value.to_f32()
    } else {
        f32::from_bits(narrow_integer::<F32, S>(value, rounding, false))
    };
    float::saturate(rounded, sat)
}

/// An integer to `.f64`.
#[inline(always)]
pub fn f64_from_integer<S: Integer>(value: S, rounding: Rounding, sat: bool) -> f64 {
    let rounded = if rounding == Rounding::Nearest || S::BITS <= 32 {
        value.to_f64()
    } else {
        let (negative, magnitude) = value.parts();
        double::pack(negative, u128::from(magnitude), 0, false, rounding)
    };
    saturate_f64(rounded, sat)
}

/// An integer to a narrow format.
#[inline(always)]
pub fn narrow_integer<F: Format, S: Integer>(value: S, rounding: Rounding, sat: bool) -> u32 {
    let exact = if S::BITS <= 32 {
        value.to_f64()
    } else {
        let (negative, magnitude) = value.parts();
        let magnitude = exact::from_u64(magnitude);
        if negative { -magnitude } else { magnitude }
    };
    narrow::<F>(saturate_f64(exact, sat), rounding, false)
}

/// Modifiers of a conversion to a narrow format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Narrowing {
    /// The direction.
    pub rounding: Rounding,
    /// Too large magnitudes become the largest finite one.
    pub satfinite: bool,
    /// Negative values become plus zero; NaN stays NaN.
    pub relu: bool,
    /// Clamps to 0..=1; NaN becomes 0.
    pub sat: bool,
}

/// A floating-point number to a narrow format.
#[inline(always)]
pub fn to_format<F: Format>(value: f64, how: Narrowing) -> u32 {
    let value = if how.relu & (value <= 0.0) { 0.0 } else { value };
    let value = saturate_f64(value, how.sat);
    narrow::<F>(value, how.rounding, how.satfinite)
}

/// [`to_format`] as `cvt` from `.f64` has it: a NaN keeps its sign and the top of its payload and becomes quiet, where other sources
/// give the format's own NaN.
#[inline(always)]
pub fn from_f64<F: Format>(value: f64, how: Narrowing) -> u32 {
    let narrowed = to_format::<F>(value, how);
    if value.is_nan() & !how.sat { narrow_nan::<F>(value) } else { narrowed }
}

/// A NaN of a format that has infinities.
#[inline(always)]
fn narrow_nan<F: Format>(value: f64) -> u32 {
    let bits = value.to_bits();
    let payload = (bits >> (52 - F::FRACTION)) as u32 & ((1 << F::FRACTION) - 1);
    // The infinity is what follows the largest finite number.
    (((bits >> 63) as u32) << F::SIGN) | (F::MAX + 1) | (1 << (F::FRACTION - 1)) | payload
}

/// `.sat` on an `.f64`: clamps to 0..=1, NaN becoming 0.
#[inline(always)]
pub fn saturate_f64(value: f64, sat: bool) -> f64 {
    let clamped = if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 };
    if sat { clamped } else { value }
}

/// `cvt` from `.f32` to itself, rounding to an integer if a direction is given.
#[inline(always)]
pub fn f32_from_f32(value: f32, rounding: Option<Rounding>, ftz: bool, sat: bool) -> f32 {
    let value = float::flush(value, ftz);
    float::saturate(rounding.map_or(canonical(value), |rounding| integral(value, rounding)), sat)
}

/// `cvt` from `.f64` to itself, rounding to an integer if a direction is given.
#[inline(always)]
pub fn f64_from_f64(value: f64, rounding: Option<Rounding>, sat: bool) -> f64 {
    saturate_f64(rounding.map_or(value, |rounding| integral_f64(value, rounding)), sat)
}

/// `cvt.rnd{.ftz}{.sat}.f32.f64`; NaNs as in [`from_f64`].
#[inline(always)]
pub fn f32_from_f64(value: f64, rounding: Rounding, ftz: bool, sat: bool) -> f32 {
    let rounded = if rounding == Rounding::Nearest && !ftz { value as f32 } else { float::round(value, rounding, ftz) };
    let kept = if value.is_nan() { f32::from_bits(narrow_nan::<F32>(value)) } else { rounded };
    float::saturate(kept, sat)
}

/// `cvt{.ftz}{.sat}.f64.f32`: exact; a NaN keeps its payload and becomes quiet.
#[inline(always)]
pub fn f64_from_f32(value: f32, ftz: bool, sat: bool) -> f64 {
    let value = float::saturate(float::flush(value, ftz), sat);
    let bits = value.to_bits();
    let nan = u64::from(bits >> 31) << 63 | 0x7ff8 << 48 | u64::from(bits & 0x7f_ffff) << 29;
    if value.is_nan() { f64::from_bits(nan) } else { f64::from(value) }
}

/// `cvt.rnd{.satfinite}{.relu}.tf32.f32`: the bits of an `.f32` whose low 13 are zero.
#[inline(always)]
pub fn to_tf32(value: f32, how: Narrowing) -> u32 {
    if how.rounding == Rounding::Away {
        return to_tf32_away(value, how.satfinite);
    }
    to_format::<Tf32>(f64::from(value), how) << 13
}

/// `.rna`: the hardware adds half a place to the pattern and does not look at NaNs, whose payload may vanish.
#[inline(always)]
fn to_tf32_away(value: f32, satfinite: bool) -> u32 {
    let bits = value.to_bits();
    let sign = bits & 0x8000_0000;
    let magnitude = bits & 0x7fff_ffff;
    let rounded = if magnitude >= 0x7f80_0000 { magnitude } else { magnitude + 0x1000 } & !0x1fff;
    let limit = Tf32::MAX << 13;
    sign | if satfinite & (rounded == 0x7f80_0000) { limit } else { rounded }
}

/// `cvt.pack.sat.CONVERT.s32{.b32}`: `a` and `b` saturated to `bits`, `b` lowest, `c` moved up by two elements above them.
#[inline(always)]
pub fn pack(a: i32, b: i32, c: u32, bits: u32, signed: bool) -> u32 {
    let (low, high) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let mask = (1 << bits) - 1;
    let element = |value: i32| value.clamp(low, high) as u32 & mask;
    let rest = if bits == 16 { 0 } else { c << (2 * bits) };
    rest | element(a) << bits | element(b)
}

/// To `.ue8m0`, a power of two: the magnitude, rounded up or toward zero. What is larger than the largest power, infinity included, becomes
/// that power (`0xfe`) with `satfinite`, and the NaN `0xff` without; a NaN stays one.
#[inline(always)]
pub fn to_ue8m0(value: f32, up: bool, satfinite: bool) -> u8 {
    let magnitude = value.to_bits() & 0x7fff_ffff;
    let exponent = magnitude >> 23;
    // Code 0 is 2^-127, which is subnormal as an `.f32`.
    let above = if exponent == 0 { magnitude > 0x40_0000 } else { magnitude & 0x7f_ffff != 0 };
    let rounded = (exponent + u32::from(up & above)).min(if satfinite { 0xfe } else { 0xff });
    if value.is_nan() { 0xff } else { rounded as u8 }
}

/// The `.bf16` of an `.ue8m0`.
#[inline(always)]
pub fn bf16_from_ue8m0(code: u8) -> u16 {
    match code {
        0 => 0x0040,
        0xff => 0x7fff,
        _ => u16::from(code) << 7,
    }
}
