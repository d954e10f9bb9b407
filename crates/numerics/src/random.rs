//! Conversions that round by random bits: `cvt.rs` (PTX ISA 9.7.9.21).
//!
//! The bits are added to what a conversion cuts off the significand, aligned at its upper end, and the carry rounds away from zero.

use crate::convert::Narrowing;
use crate::format::{Beyond, Format};

/// The 16 random bits for one pair of four numbers that become `width` bits wide each (figures of 9.7.9.21): a half of the word, or for `.e2m1x4` a byte
/// of each half.
#[inline(always)]
pub fn part(bits: u32, width: u32, upper: bool) -> u32 {
    let shift = match (width, upper) {
        (8, true) => 16,
        (8, false) => 0,
        (_, true) => return bits >> 16 & 0xff00 | bits >> 8 & 0xff,
        (_, false) => return bits >> 8 & 0xff00 | bits & 0xff,
    };
    bits >> shift & 0xffff
}

/// Two numbers, `a` above `b`, rounded by the same 16 bits: `a` takes them in reverse. That it does is in no manual; it is published of a B200, and not
/// recorded here.
#[inline(always)]
pub fn pair<F: Format>(a: f32, b: f32, bits: u32, width: u32, how: Narrowing) -> u32 {
    let reversed = u32::from((bits as u16).reverse_bits());
    narrow::<F>(a, reversed, 16, how) << width | narrow::<F>(b, bits, 16, how)
}

/// A number of the format, rounded by the lowest `count` of `random`.
#[inline(always)]
pub fn narrow<F: Format>(value: f32, random: u32, count: u32, how: Narrowing) -> u32 {
    let bits = value.to_bits();
    let negative = bits >> 31 != 0;
    let exponent = (bits >> 23 & 0xff) as i32;
    let significand = u64::from(bits & 0x7f_ffff) | u64::from(exponent != 0) << 23;
    // Of subnormal numbers the exponent is that of the smallest normal ones, in the source as in the format.
    let above = exponent.max(1) - 127 + F::BIAS;
    let shift = (23 - F::FRACTION as i32 + (1 - above).max(0)).min(62) as u32;
    let random = u64::from(random) & ((1 << count) - 1);
    // Further down, nothing of the significand reaches the random bits.
    let sum = significand + (random << (shift - count).min(40));
    let rounded = sum >> shift;
    let finite = (((above - 1).max(0) as u64) << F::FRACTION) + rounded;
    let beyond = match F::BEYOND {
        Beyond::Infinity(pattern) if !how.satfinite => pattern,
        Beyond::Nan if !how.satfinite => F::NAN,
        _ => F::MAX,
    };
    let magnitude = if exponent == 0xff || finite > u64::from(F::MAX) { beyond } else { finite as u32 };
    let signed = if how.relu & negative { 0 } else { magnitude | u32::from(negative) << F::SIGN };
    if value.is_nan() { F::NAN } else { signed }
}
