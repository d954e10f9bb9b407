//! `.f16` and `.bf16` arithmetic and its packed forms (PTX ISA 9.7.4), and comparison values for 9.7.7.
//!
//! Functions are generic over the format, [`F16`](crate::format::F16) or [`Bf16`](crate::format::Bf16); values are raw bits. All is
//! computed in `f64` rounded to odd and rounded once, to nearest even, the only direction that these types have.

use crate::exact;
use crate::float;
use crate::format::{Beyond, Format, narrow, widen};
use crate::{Rounding, approx};

/// Modifiers of half precision arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// Subnormal operands and results are zeros, with their sign.
    pub ftz: bool,
    /// Clamps to 0..=1; NaN becomes 0.
    pub sat: bool,
    /// Negative results become 0; NaN stays NaN.
    pub relu: bool,
}

/// Sign-preserving zero for a subnormal, where `ftz` asks for it.
#[inline(always)]
pub fn flush<F: Format>(bits: u16, ftz: bool) -> u16 {
    if ftz & ((bits & 0x7fff) >> F::FRACTION == 0) { bits & 0x8000 } else { bits }
}

/// The value that arithmetic and comparisons see.
#[inline(always)]
pub fn value<F: Format>(bits: u16, ftz: bool) -> f32 {
    widen::<F>(u32::from(flush::<F>(bits, ftz)))
}

/// Whether the bits are a NaN.
#[inline(always)]
pub fn is_nan<F: Format>(bits: u16) -> bool {
    matches!(F::BEYOND, Beyond::Infinity(infinity) if u32::from(bits & 0x7fff) > infinity)
}

const SCALE_EXPONENT: u32 = 12;
const SCALE: f64 = (1 << SCALE_EXPONENT) as f64;

#[inline(always)]
fn operand<F: Format>(bits: u16, how: Modifiers) -> f64 {
    f64::from(value::<F>(bits, how.ftz))
}

#[inline(always)]
fn finish<F: Format>(exact: f64, how: Modifiers) -> u16 {
    let bits = narrow::<F>(exact, Rounding::Nearest, false) as u16;
    // Flushed is what would be below the normal numbers if the exponent had no bound: scaled up, as rounding sees it.
    let scaled = narrow::<F>(exact * SCALE, Rounding::Nearest, false) & 0x7fff;
    let bits = if how.ftz & (scaled < (SCALE_EXPONENT + 1) << F::FRACTION) { bits & 0x8000 } else { bits };
    let one = (F::BIAS as u16) << F::FRACTION;
    let negative = bits >> 15 != 0;
    let nan = is_nan::<F>(bits);
    let bits = if how.relu & negative & !nan { 0 } else { bits };
    let clamped = if negative | nan { 0 } else { bits.min(one) };
    if how.sat { clamped } else { bits }
}

/// `add{.rnd}{.ftz}{.sat}`
#[inline(always)]
pub fn add<F: Format>(a: u16, b: u16, how: Modifiers) -> u16 {
    finish::<F>(exact::add(operand::<F>(a, how), operand::<F>(b, how)), how)
}

/// `sub{.rnd}{.ftz}{.sat}`
#[inline(always)]
pub fn sub<F: Format>(a: u16, b: u16, how: Modifiers) -> u16 {
    finish::<F>(exact::add(operand::<F>(a, how), -operand::<F>(b, how)), how)
}

/// `mul{.rnd}{.ftz}{.sat}`
#[inline(always)]
pub fn mul<F: Format>(a: u16, b: u16, how: Modifiers) -> u16 {
    finish::<F>(operand::<F>(a, how) * operand::<F>(b, how), how)
}

/// `fma.rn{.ftz}{.sat}{.relu}`
#[inline(always)]
pub fn fma<F: Format>(a: u16, b: u16, c: u16, how: Modifiers) -> u16 {
    let product = operand::<F>(a, how) * operand::<F>(b, how);
    finish::<F>(exact::add(product, operand::<F>(c, how)), how)
}

/// The NaN that marks an operand as out of bounds for `.oob`, whatever its sign: what a tensor copy with that fill mode writes beyond the
/// tensor. Other NaNs, all ones among them, are ordinary (recorded on hardware: `tests/goldens/fma_out_of_bounds.json`).
pub const OUT_OF_BOUNDS: u16 = 0x7ff7;

/// `fma.rn.oob{.relu}`: zero if a factor is [`OUT_OF_BOUNDS`].
#[inline(always)]
pub fn fma_oob<F: Format>(a: u16, b: u16, c: u16, how: Modifiers) -> u16 {
    let is_out = |factor: u16| factor & 0x7fff == OUT_OF_BOUNDS;
    if is_out(a) | is_out(b) { 0 } else { fma::<F>(a, b, c, how) }
}

/// `neg{.ftz}`
#[inline(always)]
pub fn neg<F: Format>(a: u16, ftz: bool) -> u16 {
    if is_nan::<F>(a) { F::NAN as u16 } else { flush::<F>(a ^ 0x8000, ftz) }
}

/// `abs{.ftz}`
#[inline(always)]
pub fn abs<F: Format>(a: u16, ftz: bool) -> u16 {
    if is_nan::<F>(a) { F::NAN as u16 } else { flush::<F>(a & 0x7fff, ftz) }
}

/// `min` and `max`
#[inline(always)]
pub fn extremum<F: Format>(a: u16, b: u16, how: float::Extremum) -> u16 {
    let magnitudes = if how.abs { 0x7fff } else { 0xffff };
    let (x, y) = (value::<F>(a & magnitudes, how.ftz), value::<F>(b & magnitudes, how.ftz));
    let chosen = narrow::<F>(f64::from(float::choose(x, y, how)), Rounding::Nearest, false) as u16;
    let sign = (a ^ b) & 0x8000;
    if how.xorsign & !is_nan::<F>(chosen) { chosen | sign } else { chosen }
}

/// `ex2.approx`, with `.ftz` for `.bf16`.
#[inline(always)]
pub fn ex2<F: Format>(a: u16, ftz: bool) -> u16 {
    finish::<F>(f64::from(approx::ex2(value::<F>(a, ftz), false)), Modifiers { ftz, ..Modifiers::default() })
}

/// `tanh.approx`
#[inline(always)]
pub fn tanh<F: Format>(a: u16) -> u16 {
    finish::<F>(f64::from(approx::tanh(value::<F>(a, false))), Modifiers::default())
}

/// Applies `operation` to the two halves of a packed operand.
#[inline(always)]
pub fn pair1(a: u32, operation: impl Fn(u16) -> u16) -> u32 {
    u32::from(operation(a as u16)) | u32::from(operation((a >> 16) as u16)) << 16
}

/// Applies `operation` to the halves of two packed operands.
#[inline(always)]
pub fn pair2(a: u32, b: u32, operation: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(operation(a as u16, b as u16)) | u32::from(operation((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Applies `operation` to the halves of three packed operands.
#[inline(always)]
pub fn pair3(a: u32, b: u32, c: u32, operation: impl Fn(u16, u16, u16) -> u16) -> u32 {
    let low = operation(a as u16, b as u16, c as u16);
    let high = operation((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}
