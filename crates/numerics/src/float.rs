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

/// 2^48, by which [`flush_tiny`] scales.
const SCALE: f32 = f32::from_bits(0x5780_0000);

/// Zero for a result that `.ftz` flushes: what would be below the normal numbers if the exponent had no bound. `scaled` is the same
/// operation with 2^48 times the result, so that it is normal where it matters (results near the bound come from operands that are far
/// from overflow, or are exact).
#[inline(always)]
fn flush_tiny(value: f32, scaled: f32, ftz: bool) -> f32 {
    let bound = f32::MIN_POSITIVE * SCALE;
    f32::from_bits(if ftz & (scaled.abs() < bound) { value.to_bits() & 0x8000_0000 } else { value.to_bits() })
}

#[inline(always)]
fn finish(value: f32, sat: bool) -> f32 {
    saturate(canonical(value), sat)
}

/// The rounded `exact`, flushed if `ftz` asks for it.
#[inline(always)]
pub(crate) fn round(exact: f64, rounding: Rounding, ftz: bool) -> f32 {
    let rounded = |exact| f32::from_bits(narrow::<F32>(exact, rounding, false));
    flush_tiny(rounded(exact), if ftz { rounded(exact * f64::from(SCALE)) } else { 0.0 }, ftz)
}

/// `add{.rnd}{.ftz}{.sat}.f32`
#[inline(always)]
pub fn add(a: f32, b: f32, rounding: Rounding, ftz: bool, sat: bool) -> f32 {
    let (a, b) = (flush(a, ftz), flush(b, ftz));
    let sum = if rounding == Rounding::Nearest {
        flush(a + b, ftz)
    } else {
        add_directed(f64::from(a), f64::from(b), rounding, ftz)
    };
    finish(sum, sat)
}

#[inline(always)]
fn add_directed(a: f64, b: f64, rounding: Rounding, ftz: bool) -> f32 {
    let sum = exact::add(a, b);
    let sum =
        if rounding == Rounding::Down { exact::zero_sum(sum, a.is_sign_negative(), b.is_sign_negative()) } else { sum };
    round(sum, rounding, ftz)
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
    let product = if rounding == Rounding::Nearest {
        flush_tiny(a * b, a * SCALE * b, ftz)
    } else {
        // 48 bits: exact in f64.
        round(f64::from(a) * f64::from(b), rounding, ftz)
    };
    finish(product, sat)
}

/// `fma.rnd{.ftz}{.sat}.f32`, and `mad`, which is the same.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32, rounding: Rounding, ftz: bool, sat: bool) -> f32 {
    let (a, b, c) = (flush(a, ftz), flush(b, ftz), flush(c, ftz));
    let value = if rounding == Rounding::Nearest {
        flush_tiny(a.mul_add(b, c), (a * SCALE).mul_add(b, c * SCALE), ftz)
    } else {
        add_directed(f64::from(a) * f64::from(b), f64::from(c), rounding, ftz)
    };
    finish(value, sat)
}

/// A product added to a sum of which only the end is looked at: [`fma`] rounded to nearest, but that any NaN may stand for one. A NaN stays
/// one whatever is added, so [`end_of_sum`] at the end gives what [`fma`] at each step does.
#[inline(always)]
pub fn add_product(a: f32, b: f32, sum: f32) -> f32 {
    a.mul_add(b, sum)
}

/// What [`add_product`] has led to, as the hardware writes it.
#[inline(always)]
pub fn end_of_sum(sum: f32) -> f32 {
    canonical(sum)
}

/// `div.rnd{.ftz}.f32`
#[inline(always)]
pub fn div(a: f32, b: f32, rounding: Rounding, ftz: bool) -> f32 {
    let (a, b) = (flush(a, ftz), flush(b, ftz));
    let quotient = if rounding == Rounding::Nearest {
        let quotient = a / b;
        // A quotient cannot lie so close below the bound that rounding with any exponent would lift it.
        let tiny = ftz & (a.abs() * SCALE < b.abs() * (f32::MIN_POSITIVE * SCALE));
        if tiny { flush_tiny(quotient, 0.0, true) } else { quotient }
    } else {
        round(exact::div(f64::from(a), f64::from(b)), rounding, ftz)
    };
    canonical(quotient)
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
    let root = if rounding == Rounding::Nearest { a.sqrt() } else { round(exact::sqrt(f64::from(a)), rounding, ftz) };
    canonical(root)
}

/// `abs{.ftz}.f32`
#[inline(always)]
pub fn abs(a: f32, ftz: bool) -> f32 {
    canonical(flush(a.abs(), ftz))
}

/// `neg{.ftz}.f32`
#[inline(always)]
pub fn neg(a: f32, ftz: bool) -> f32 {
    canonical(flush(-a, ftz))
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
    /// `.abs`: of the magnitudes.
    pub abs: bool,
    /// `.xorsign`, only with `.abs`: the result gets the exclusive or of the signs.
    pub xorsign: bool,
}

/// `min` and `max` of `.f32`: minus zero lies below plus zero.
#[inline(always)]
pub fn extremum(a: f32, b: f32, how: Extremum) -> f32 {
    let (a, b) = (flush(a, how.ftz), flush(b, how.ftz));
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    if how.abs {
        let magnitude = choose(a.abs(), b.abs(), how);
        if !how.xorsign | magnitude.is_nan() { magnitude } else { f32::from_bits(magnitude.to_bits() | sign) }
    } else {
        choose(a, b, how)
    }
}

/// The lower or the higher, as `max` and `nan` have it.
#[inline(always)]
pub(crate) fn choose(a: f32, b: f32, how: Extremum) -> f32 {
    let below = order(a) < order(b);
    let chosen = if below != how.max { a } else { b };
    let chosen = if b.is_nan() { a } else { chosen };
    let chosen = if a.is_nan() { b } else { chosen };
    canonical(if how.nan & (a.is_nan() | b.is_nan()) { f32::NAN } else { chosen })
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

/// A type that `testp` asks about.
pub trait Tested: Copy {
    /// `testp`. Zeros are normal (PTX ISA 9.7.3.1).
    fn has(self, property: Property) -> bool;
}

macro_rules! tested {
    ($($ty:ty),*) => {$(
        impl Tested for $ty {
            #[inline(always)]
            fn has(self, property: Property) -> bool {
                match property {
                    Property::Finite => self.is_finite(),
                    Property::Infinite => self.is_infinite(),
                    Property::Number => !self.is_nan(),
                    Property::NotANumber => self.is_nan(),
                    Property::Normal => self.is_normal() | (self == 0.0),
                    Property::Subnormal => self.is_subnormal(),
                }
            }
        }
    )*};
}

tested!(f32, f64);

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
