//! `.f32` arithmetic (PTX ISA 9.7.3), without the approximations (see [`crate::approx`]).
//!
//! Rounding to nearest is the host's; the other directions go through `f64` rounded to odd. `ftz` reads subnormal operands as zeros and
//! writes zeros for subnormal results, both with their sign; `sat` clamps to 0..=1 and makes NaN 0.

use crate::Rounding;
use crate::exact;
use crate::format::{F32, canonical, narrow};

/// Sign-preserving zero for a subnormal, where `ftz` asks for it.
#[inline(always)]
pub fn flush(value: f32, ftz: bool) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if ftz & (bits & 0x7f80_0000 == 0) { bits & 0x8000_0000 } else { bits })
}

/// Clamps to 0..=1, NaN becoming 0, where `sat` asks for it.
#[inline(always)]
pub fn saturate(value: f32, sat: bool) -> f32 {
    let clamped = if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 };
    if sat { clamped } else { value }
}

#[inline(always)]
fn finish(value: f32, ftz: bool, sat: bool) -> f32 {
    saturate(flush(canonical(value), ftz), sat)
}

#[inline(always)]
fn round(exact: f64, rounding: Rounding) -> f32 {
    f32::from_bits(narrow::<F32>(exact, rounding, false))
}

/// `add{.rnd}{.ftz}{.sat}.f32`
#[inline(always)]
pub fn add(a: f32, b: f32, rounding: Rounding, ftz: bool, sat: bool) -> f32 {
    let (a, b) = (flush(a, ftz), flush(b, ftz));
    let sum = if rounding == Rounding::Nearest { a + b } else { add_directed(f64::from(a), f64::from(b), rounding) };
    finish(sum, ftz, sat)
}

#[inline(always)]
fn add_directed(a: f64, b: f64, rounding: Rounding) -> f32 {
    let sum = exact::add(a, b);
    let sum =
        if rounding == Rounding::Down { exact::zero_sum(sum, a.is_sign_negative(), b.is_sign_negative()) } else { sum };
    round(sum, rounding)
}

/// `sub{.rnd}{.ftz}{.sat}.f32`
#[inline(always)]
pub fn sub(a: f32, b: f32, rounding: Rounding, ftz: bool, sat: bool) -> f32 {
    add(a, -b, rounding, ftz, sat)
}

/// `mul{.rnd}{.ftz}{.sat}.f32`
#[inline(always)]
pub fn mul(a: f32, b: f32, rounding: Rounding, ftz: bool, sat: bool) -> f32 {
    let (a, b) = (flush(a, ftz), flush(b, ftz));
    // 48 bits: exact in f64.
    let product = if rounding == Rounding::Nearest { a * b } else { round(f64::from(a) * f64::from(b), rounding) };
    finish(product, ftz, sat)
}

/// `fma.rnd{.ftz}{.sat}.f32`, and `mad`, which is the same.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32, rounding: Rounding, ftz: bool, sat: bool) -> f32 {
    let (a, b, c) = (flush(a, ftz), flush(b, ftz), flush(c, ftz));
    let value = if rounding == Rounding::Nearest {
        a.mul_add(b, c)
    } else {
        add_directed(f64::from(a) * f64::from(b), f64::from(c), rounding)
    };
    finish(value, ftz, sat)
}

/// `div.rnd{.ftz}.f32`
#[inline(always)]
pub fn div(a: f32, b: f32, rounding: Rounding, ftz: bool) -> f32 {
    let (a, b) = (flush(a, ftz), flush(b, ftz));
    let quotient =
        if rounding == Rounding::Nearest { a / b } else { round(exact::div(f64::from(a), f64::from(b)), rounding) };
    finish(quotient, ftz, false)
}

/// `rcp.rnd{.ftz}.f32`
#[inline(always)]
pub fn rcp(a: f32, rounding: Rounding, ftz: bool) -> f32 {
    div(1.0, a, rounding, ftz)
}

/// `sqrt.rnd{.ftz}.f32`
#[inline(always)]
pub fn sqrt(a: f32, rounding: Rounding, ftz: bool) -> f32 {
    let a = flush(a, ftz);
    let root = if rounding == Rounding::Nearest { a.sqrt() } else { round(exact::sqrt(f64::from(a)), rounding) };
    finish(root, ftz, false)
}

/// `abs{.ftz}.f32`
#[inline(always)]
pub fn abs(a: f32, ftz: bool) -> f32 {
    finish(a.abs(), ftz, false)
}

/// `neg{.ftz}.f32`
#[inline(always)]
pub fn neg(a: f32, ftz: bool) -> f32 {
    finish(-a, ftz, false)
}

/// Modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extremum {
    /// `max` instead of `min`.
    pub max: bool,
    /// `.ftz`
    pub ftz: bool,
    /// `.NaN`: a NaN operand makes the result NaN; else the other operand is the result.
    pub nan: bool,
    /// `.xorsign.abs`: of the magnitudes, with the exclusive or of the signs.
    pub xorsign_abs: bool,
}

/// `min` and `max` of `.f32`: minus zero lies below plus zero.
#[inline(always)]
pub fn extremum(a: f32, b: f32, how: Extremum) -> f32 {
    let (a, b) = (flush(a, how.ftz), flush(b, how.ftz));
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let (x, y) = if how.xorsign_abs { (a.abs(), b.abs()) } else { (a, b) };
    let below = order(x) < order(y);
    let chosen = if below != how.max { x } else { y };
    let chosen = if how.xorsign_abs { f32::from_bits(chosen.to_bits() | sign) } else { chosen };
    let one_nan = if x.is_nan() { signed(y, sign, how) } else { signed(x, sign, how) };
    let with_nan = if how.nan | (x.is_nan() & y.is_nan()) { f32::NAN } else { one_nan };
    canonical(if x.is_nan() | y.is_nan() { with_nan } else { chosen })
}

#[inline(always)]
fn signed(value: f32, sign: u32, how: Extremum) -> f32 {
    if how.xorsign_abs { f32::from_bits(value.to_bits() | sign) } else { value }
}

/// An integer that orders numbers as their values, with minus zero below plus zero.
#[inline(always)]
fn order(value: f32) -> i32 {
    let bits = value.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// What `testp` asks (PTX ISA 9.7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// `testp.f32`. Zeros are neither normal nor subnormal.
#[inline(always)]
pub fn has_property(a: f32, property: Property) -> bool {
    match property {
        Property::Finite => a.is_finite(),
        Property::Infinite => a.is_infinite(),
        Property::Number => !a.is_nan(),
        Property::NotANumber => a.is_nan(),
        Property::Normal => a.is_normal(),
        Property::Subnormal => a.is_subnormal(),
    }
}

/// `copysign.f32`: the sign of `a` and the magnitude of `b`.
#[inline(always)]
pub fn copysign(a: f32, b: f32) -> f32 {
    f32::from_bits((a.to_bits() & 0x8000_0000) | (b.to_bits() & 0x7fff_ffff))
}

/// `min` and `max` of three `.f32`.
#[inline(always)]
pub fn extremum_of_3(a: f32, b: f32, c: f32, how: Extremum) -> f32 {
    extremum(extremum(a, b, how), c, how)
}
