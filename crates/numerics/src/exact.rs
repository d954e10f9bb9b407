//! Operations in `f64` rounded to odd: an inexact result has an odd last place.
//!
//! Such a result can be rounded once more, in any direction, to a format of at most 51 significant bits, and gives what rounding the
//! exact result once would give. Operands are numbers of `.f32` or narrower formats, for which no step here overflows or underflows.
//! An exact zero is plus zero unless the operands agree on minus; see [`zero_sum`] for rounding down.

/// Makes `rounded`, whose exact value differs by something with the sign of `error`, odd.
#[inline(always)]
fn to_odd(rounded: f64, error: f64) -> f64 {
    let bits = rounded.to_bits();
    let inexact = (error > 0.0) | (error < 0.0);
    // The exact magnitude lies above an even `rounded` if the error has its sign, and below otherwise.
    let outward = (error < 0.0) == (rounded < 0.0);
    let adjusted = if outward { bits + 1 } else { bits.wrapping_sub(1) };
    f64::from_bits(if inexact & (bits & 1 == 0) { adjusted } else { bits })
}

/// `a + b` (the error by Knuth's two-sum).
#[inline(always)]
pub fn add(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_seen = sum - a;
    let a_seen = sum - b_seen;
    to_odd(sum, (a - a_seen) + (b - b_seen))
}

/// `a / b`
#[inline(always)]
pub fn div(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    let remainder = (-quotient).mul_add(b, a);
    to_odd(quotient, if b < 0.0 { -remainder } else { remainder })
}

/// The square root.
#[inline(always)]
pub fn sqrt(a: f64) -> f64 {
    let root = a.sqrt();
    to_odd(root, (-root).mul_add(root, a))
}

/// An integer of 64 bits.
#[inline(always)]
pub fn from_u64(value: u64) -> f64 {
    // The low 11 bits that f64 may lose become one bit, which suffices to tell exact, below half, half and above half apart.
    let sticky = u64::from(value & 0x7ff != 0) << 11;
    let kept = if value >> 53 == 0 { value } else { value & !0x7ff | sticky };
    // At most 53 bits remain; if the lost ones lay higher than the sticky bit, rounding to nearest of the rest is exact.
    kept as f64
}

/// The sign that an exact zero sum gets when rounding down: minus, unless both terms are plus zero.
#[inline(always)]
pub fn zero_sum(sum: f64, a_negative: bool, b_negative: bool) -> f64 {
    if (sum == 0.0) & (a_negative | b_negative) { -0.0 } else { sum }
}
