//! `.f64` arithmetic (PTX ISA 9.7.3).
//!
//! Rounding to nearest is the host's. The other directions are computed in 128-bit integers.

use crate::Rounding;

const FRACTION: u32 = 52;
const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff << FRACTION;
/// Set in NaNs that do not signal.
const QUIET: u64 = 1 << 51;
/// What an invalid operation gives.
const INVALID: u64 = 0xfff8 << 48;

/// The result of an operation: the first NaN among the operands, made quiet. The order is that of the hardware's recordings, which is not
/// the instruction's; the manual leaves it open.
#[inline(always)]
fn propagate(value: f64, operands: &[f64]) -> f64 {
    let mut nan = INVALID;
    for operand in operands.iter().rev() {
        nan = if operand.is_nan() { operand.to_bits() | QUIET } else { nan };
    }
    if value.is_nan() { f64::from_bits(nan) } else { value }
}

/// A finite number as `significand * 2^exponent`.
#[inline(always)]
fn unpack(value: f64) -> (u64, i32) {
    let bits = value.to_bits() & !SIGN;
    let exponent = (bits >> FRACTION) as i32;
    let fraction = bits & ((1 << FRACTION) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << FRACTION, exponent - 1075) }
}

/// Rounds `significand * 2^exponent`, where `sticky` says that the exact value lies a little (less than the last place) above.
/// A sticky significand must have 64 bits or more.
pub(crate) fn pack(negative: bool, significand: u128, exponent: i32, sticky: bool, rounding: Rounding) -> f64 {
    let sign = if negative { SIGN } else { 0 };
    if significand == 0 && !sticky {
        return f64::from_bits(sign);
    }
    let leading = 127 - significand.leading_zeros() as i32;
    let shift = (leading - FRACTION as i32).max(-1074 - exponent);
    let place = exponent + shift;
    let kept = if shift <= 0 {
        (significand << -shift) as u64
    } else {
        let shift = shift.min(127) as u32;
        let kept = (significand >> shift) as u64;
        let rest = significand & ((1 << shift) - 1);
        // Two bits tell all that rounding asks: at least half, and not exactly so.
        let half = rest >> (shift - 1) & 1;
        let beyond = u64::from(rest & ((1 << (shift - 1)) - 1) != 0 || sticky);
        kept + rounding.increment(negative, kept & 1 != 0, (half as u64) << 1 | beyond, 2)
    };
    // The smallest exponent's field is 0 or 1, which the leading bit of `kept` decides; so also for a carry.
    let magnitude = ((i64::from(place) + 1074) as u64).saturating_mul(1 << FRACTION).saturating_add(kept);
    let bounded = if magnitude < INFINITY {
        magnitude
    } else if rounding.overflows_to_infinity(negative) {
        INFINITY
    } else {
        INFINITY - 1
    };
    f64::from_bits(sign | bounded)
}

/// `sum` of a number and another, each as sign, significand and exponent.
fn sum(a: (bool, u128, i32), b: (bool, u128, i32), rounding: Rounding) -> f64 {
    let top = |x: (bool, u128, i32)| x.2 - x.1.leading_zeros() as i32;
    let (large, small) = match (a.1, b.1) {
        (0, 0) => {
            let negative = if a.0 == b.0 { a.0 } else { rounding == Rounding::Down };
            return if negative { -0.0 } else { 0.0 };
        }
        (_, 0) => (a, b),
        (0, _) => (b, a),
        _ if top(a) >= top(b) => (a, b),
        _ => (b, a),
    };
    // The larger one goes to bit 125, so that a sum fits and the smaller one loses nothing unless it lies far below.
    let lead = 125 - (127 - large.1.leading_zeros() as i32);
    let exponent = large.2 - lead;
    let aligned = large.1 << lead;
    let distance = exponent - small.2;
    let (part, sticky) = if small.1 == 0 {
        (0, false)
    } else if distance <= 0 {
        (small.1 << -distance, false)
    } else if distance > 127 {
        (0, true)
    } else {
        (small.1 >> distance, small.1 & ((1 << distance) - 1) != 0)
    };
    if large.0 == small.0 {
        return pack(large.0, aligned + part, exponent, sticky, rounding);
    }
    if aligned >= part + u128::from(sticky) {
        let difference = aligned - part - u128::from(sticky);
        let negative = if difference == 0 && !sticky { rounding == Rounding::Down } else { large.0 };
        pack(negative, difference, exponent, sticky, rounding)
    } else {
        pack(small.0, part - aligned, exponent, false, rounding)
    }
}

/// `add{.rnd}.f64`
#[inline(always)]
pub fn add(a: f64, b: f64, rounding: Rounding) -> f64 {
    let value = if rounding == Rounding::Nearest { a + b } else { add_directed(a, b, rounding) };
    propagate(value, &[b, a])
}

fn add_directed(a: f64, b: f64, rounding: Rounding) -> f64 {
    if !(a.is_finite() && b.is_finite()) {
        return a + b;
    }
    let ((sa, ea), (sb, eb)) = (unpack(a), unpack(b));
    sum((a.is_sign_negative(), sa.into(), ea), (b.is_sign_negative(), sb.into(), eb), rounding)
}

/// `sub{.rnd}.f64`
#[inline(always)]
pub fn sub(a: f64, b: f64, rounding: Rounding) -> f64 {
    let value = if rounding == Rounding::Nearest { a - b } else { add_directed(a, -b, rounding) };
    propagate(value, &[b, a])
}

/// `mul{.rnd}.f64`
#[inline(always)]
pub fn mul(a: f64, b: f64, rounding: Rounding) -> f64 {
    let value = if rounding == Rounding::Nearest { a * b } else { mul_directed(a, b, rounding) };
    propagate(value, &[b, a])
}

fn mul_directed(a: f64, b: f64, rounding: Rounding) -> f64 {
    if !(a.is_finite() && b.is_finite()) {
        return a * b;
    }
    let ((sa, ea), (sb, eb)) = (unpack(a), unpack(b));
    let negative = a.is_sign_negative() != b.is_sign_negative();
    pack(negative, u128::from(sa) * u128::from(sb), ea + eb, false, rounding)
}

/// `fma.rnd.f64`, and `mad`, which is the same.
#[inline(always)]
pub fn fma(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    let value = if rounding == Rounding::Nearest { a.mul_add(b, c) } else { fma_directed(a, b, c, rounding) };
    propagate(value, &[b, c, a])
}

fn fma_directed(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        return a.mul_add(b, c);
    }
    let ((sa, ea), (sb, eb), (sc, ec)) = (unpack(a), unpack(b), unpack(c));
    let negative = a.is_sign_negative() != b.is_sign_negative();
    sum((negative, u128::from(sa) * u128::from(sb), ea + eb), (c.is_sign_negative(), sc.into(), ec), rounding)
}

/// `div.rnd.f64`
#[inline(always)]
pub fn div(a: f64, b: f64, rounding: Rounding) -> f64 {
    let value = if rounding == Rounding::Nearest { a / b } else { div_directed(a, b, rounding) };
    propagate(value, &[a, b])
}

fn div_directed(a: f64, b: f64, rounding: Rounding) -> f64 {
    if !(a.is_finite() && b.is_finite()) || a == 0.0 || b == 0.0 {
        return a / b;
    }
    let ((sa, ea), (sb, eb)) = (unpack(a), unpack(b));
    // A dividend of 127 bits over at most 53 leaves 74 bits of quotient or more.
    let lead = u128::from(sa).leading_zeros() as i32 - 1;
    let dividend = u128::from(sa) << lead;
    let divisor = u128::from(sb);
    let negative = a.is_sign_negative() != b.is_sign_negative();
    pack(negative, dividend / divisor, ea - lead - eb, !dividend.is_multiple_of(divisor), rounding)
}

/// `rcp.rnd.f64`
#[inline(always)]
pub fn rcp(a: f64, rounding: Rounding) -> f64 {
    div(1.0, a, rounding)
}

/// `sqrt.rnd.f64`
#[inline(always)]
pub fn sqrt(a: f64, rounding: Rounding) -> f64 {
    let value = if rounding == Rounding::Nearest { a.sqrt() } else { sqrt_directed(a, rounding) };
    propagate(value, &[a])
}

fn sqrt_directed(a: f64, rounding: Rounding) -> f64 {
    if !(a.is_finite() && a > 0.0) {
        return a.sqrt();
    }
    let (significand, exponent) = unpack(a);
    // An even exponent and 126 or 127 bits, for 63 or 64 bits of root; one place more is made of the remainder.
    let lead = significand.leading_zeros() as i32 + 63;
    let lead = lead - ((exponent - lead) & 1);
    let radicand = u128::from(significand) << lead;
    let root = radicand.isqrt();
    pack(false, root << 1, (exponent - lead) / 2 - 1, root * root != radicand, rounding)
}

/// `abs.f64`
#[inline(always)]
pub fn abs(a: f64) -> f64 {
    propagate(f64::from_bits(a.to_bits() & !SIGN), &[a])
}

/// `neg.f64`
#[inline(always)]
pub fn neg(a: f64) -> f64 {
    propagate(f64::from_bits(a.to_bits() ^ SIGN), &[a])
}

/// `min.f64` and `max.f64`: of a NaN and a number the number; minus zero lies below plus zero.
#[inline(always)]
pub fn extremum(a: f64, b: f64, max: bool) -> f64 {
    let below = order(a) < order(b);
    let chosen = if below != max { a } else { b };
    let chosen = if b.is_nan() { a } else { chosen };
    let chosen = if a.is_nan() { b } else { chosen };
    propagate(chosen, &[b, a])
}

#[inline(always)]
fn order(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// `copysign.f64`: the sign of `a` and the magnitude of `b`.
#[inline(always)]
pub fn copysign(a: f64, b: f64) -> f64 {
    f64::from_bits((a.to_bits() & SIGN) | (b.to_bits() & !SIGN))
}
