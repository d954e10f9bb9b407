//! The approximate functions (PTX ISA 9.7.3 `.approx` and `.full`, 9.7.4 `ex2` and `tanh`).
//!
//! The manual bounds their error and leaves the rest open. Here each is a fixed sequence of IEEE operations on `f32`, with the
//! coefficients below, so that every executor gives the same bits. The coefficients are minimax fits of this project, rounded to `f32`;
//! a polynomial's come lowest degree first, and it is evaluated by Horner's rule with `mul_add`.

use crate::convert::Integer;
use crate::float::{self, flush};
use crate::format::canonical;
use crate::rounding::Rounding;

/// `(sin r - r) / r^3` in `r^2`, for `|r| <= pi/4`.
pub const SIN: [u32; 4] = [0xbe2a_aaab, 0x3c08_8888, 0xb950_0a6d, 0x3637_01c2];
/// `(cos r - 1 + r^2 / 2) / r^4` in `r^2`, for `|r| <= pi/4`.
pub const COS: [u32; 4] = [0x3d2a_aaab, 0xbab6_0e4d, 0x37d3_7d7d, 0xb543_5534];
/// `(2^f - 1) / f`, for `f` in `0..=1`.
pub const EX2: [u32; 6] = [0x3f31_7215, 0x3e75_fed4, 0x3d63_419b, 0x3c1e_9dc4, 0x3aa2_b992, 0x3964_8897];
/// What is added to an exponent, so that the sum's lowest bits are those of the exponent with its bias.
pub const BIASED: u32 = 0x4b40_007f;
/// What half of a number's bits is taken from for a first guess of its reciprocal root, off by 1 part in 28 at most.
pub const RSQRT_GUESS: u32 = 0x5f37_5e00;
/// The ten bits of a guess's significand that are kept: of so many the square is exact, even that of the least guess, which is subnormal.
pub const RSQRT_KEPT: u32 = 0xffff_c000;
/// `(1 / sqrt(1 - e) - 1) / e`, for `|e|` up to 0.07.
pub const RSQRT: [u32; 4] = [0x3eff_ffc5, 0x3ebf_ffa7, 0x3ea0_c213, 0x3e8c_d4b9];
/// `log2(1 + t) / t`, for `1 + t` from `sqrt(1/2)` to `sqrt(2)`.
pub const LG2: [u32; 10] = [
    0x3fb8_aa3b,
    0xbf38_aa38,
    0x3ef6_3840,
    0xbeb8_ad34,
    0x3e93_c173,
    0xbe75_634a,
    0x3e51_3303,
    0xbe43_3007,
    0x3e40_556f,
    0xbde7_5e93,
];
/// `(tanh x - x) / x^3` in `x^2`, for `|x| <= 0.65`.
pub const TANH: [u32; 5] = [0xbeaa_aaa9, 0x3e08_86a9, 0xbd5c_7aa7, 0x3cab_1faa, 0xbbc2_b6f1];
/// `pi / 2` as a sum of three numbers.
pub const HALF_PI: [u32; 3] = [0x3fc9_0fdb, 0xb33b_bd2e, 0xa6f7_2ced];
/// `2 pi`
pub const TWO_PI: u32 = 0x40c9_0fdb;
/// `2 / pi`
pub const TWO_OVER_PI: u32 = 0x3f22_f983;
/// `2 / ln 2`
pub const TWO_LOG2_E: u32 = 0x4038_aa3b;
/// `sqrt(1/2)`
pub const ROOT_HALF: u32 = 0x3f35_04f3;

#[inline(always)]
fn horner<const N: usize>(x: f32, coefficients: [u32; N]) -> f32 {
    let mut value = f32::from_bits(coefficients[N - 1]);
    for coefficient in coefficients.iter().rev().skip(1) {
        value = value.mul_add(x, f32::from_bits(*coefficient));
    }
    value
}

/// `rcp.approx{.ftz}.f32`: correctly rounded (bound: 1 ulp).
#[inline(always)]
pub fn rcp(a: f32, ftz: bool) -> f32 {
    flush(canonical(1.0 / flush(a, ftz)), ftz)
}

/// `sqrt.approx{.ftz}.f32`: correctly rounded (bound: relative 2^-23).
#[inline(always)]
pub fn sqrt(a: f32, ftz: bool) -> f32 {
    canonical(flush(a, ftz).sqrt())
}

/// `rsqrt.approx{.ftz}.f32`: relative 2^-23.47 (bound: 2^-22.9), exact for powers of 4, never going back.
///
/// A guess and one step, without a root or a division, of positive normal numbers; of others two roundings of what is exact.
#[inline(always)]
pub fn rsqrt(a: f32, ftz: bool) -> f32 {
    let guess = f32::from_bits(RSQRT_GUESS.wrapping_sub(a.to_bits() >> 1) & RSQRT_KEPT);
    // Rounded once: with a square that loses something, results go back in places where their argument goes on.
    let error = (-a).mul_add(guess * guess, 1.0);
    let value = (guess * error).mul_add(horner(error, RSQRT), guess);
    let special = a.to_bits().wrapping_sub(f32::MIN_POSITIVE.to_bits()) >= 0x7f00_0000;
    if special { canonical(1.0 / flush(a, ftz).sqrt()) } else { value }
}

/// `div.approx{.ftz}.f32`: correctly rounded, but zero for a finite `|b|` above 2^126, as the manual has it (bound: 2 ulp).
#[inline(always)]
pub fn div(a: f32, b: f32, ftz: bool) -> f32 {
    let (a, b) = (flush(a, ftz), flush(b, ftz));
    let huge = (b.abs() > f32::from_bits(0x7e80_0000)) & b.is_finite();
    // Zero, with the sign of the quotient; NaN if `a` is infinite.
    let vanished = a * 0.0 * b;
    if huge { canonical(vanished) } else { div_full(a, b, ftz) }
}

/// `div.full{.ftz}.f32`: correctly rounded (bound: 2 ulp), and what is too small is what it is to `div.rn.ftz`, and to processors that flush by themselves.
#[inline(always)]
pub fn div_full(a: f32, b: f32, ftz: bool) -> f32 {
    float::div(a, b, Rounding::Nearest, ftz)
}

/// The angle's quadrant and its distance from the quadrant's middle axis.
///
/// Accurate for `|x|` up to 2^15; far beyond, the quadrant is a guess, and the distance is bounded, so that results stay in -1..=1.
#[inline(always)]
fn reduce(x: f32) -> (i32, f32) {
    let quadrant = (x * f32::from_bits(TWO_OVER_PI)).round_ties_even();
    let [high, middle, low] = HALF_PI.map(f32::from_bits);
    let rest = (-quadrant).mul_add(low, (-quadrant).mul_add(middle, (-quadrant).mul_add(high, x)));
    (i32::from_f32(quadrant), rest.clamp(-0.79, 0.79))
}

/// Sine of an angle given by quadrant and rest.
#[inline(always)]
fn sine(quadrant: i32, r: f32) -> f32 {
    let square = r * r;
    let sin = (square * r).mul_add(horner(square, SIN), r);
    let cos = (square * square).mul_add(horner(square, COS), square.mul_add(-0.5, 1.0));
    let value = if quadrant & 1 != 0 { cos } else { sin };
    let sign = ((quadrant & 2) as u32) << 30;
    canonical(f32::from_bits(value.to_bits() ^ sign))
}

/// `sin.approx{.ftz}.f32`: absolute 2^-23.3 while `|a|` is at most 2^15 (bound: 2^-20.5 in -2 pi..2 pi, 2^-14.7 in -100 pi..100 pi).
#[inline(always)]
pub fn sin(a: f32, ftz: bool) -> f32 {
    let a = flush(a, ftz);
    let (quadrant, rest) = reduce(a);
    let value = flush(sine(quadrant, rest), ftz);
    if a == 0.0 { a } else { value }
}

/// `cos.approx{.ftz}.f32`: as [`sin`].
#[inline(always)]
pub fn cos(a: f32, ftz: bool) -> f32 {
    let (quadrant, rest) = reduce(flush(a, ftz));
    flush(sine(quadrant.wrapping_add(1), rest), ftz)
}

/// The quadrant of an angle in turns, and its distance in radians from the quadrant's middle axis.
///
/// The part of a turn is exact for every number; of an infinite one there is none.
#[inline(always)]
fn reduce_turns(turns: f32) -> (i32, f32) {
    let part = turns - turns.round_ties_even();
    let quadrant = (part * 4.0).round_ties_even();
    let rest = quadrant.mul_add(-0.25, part);
    (i32::from_f32(quadrant), rest * f32::from_bits(TWO_PI))
}

/// `sin.approx.2pi.ftz.f32`: of an angle in turns, whatever its size.
#[inline(always)]
pub fn sin_2pi(a: f32) -> f32 {
    let a = flush(a, true);
    let (quadrant, rest) = reduce_turns(a);
    let value = flush(sine(quadrant, rest), true);
    if a == 0.0 { a } else { value }
}

/// `cos.approx.2pi.ftz.f32`: as [`sin_2pi`].
#[inline(always)]
pub fn cos_2pi(a: f32) -> f32 {
    let (quadrant, rest) = reduce_turns(flush(a, true));
    flush(sine(quadrant.wrapping_add(1), rest), true)
}

/// `ex2.approx{.ftz}.f32`: 1.29 ulp (bound: 2 ulp), exact for whole numbers.
#[inline(always)]
pub fn ex2(a: f32, ftz: bool) -> f32 {
    // With `.ftz` 2^-127 is zero below, as is all that is less.
    let bounded = a.clamp(if ftz { -127.0 } else { -160.0 }, 128.0);
    let whole = bounded.floor();
    let fraction = bounded - whole;
    let mantissa = fraction.mul_add(horner(fraction, EX2), 1.0);
    let power = |exponent: f32| f32::from_bits((exponent + f32::from_bits(BIASED)).to_bits() << 23);
    if ftz {
        return canonical(mantissa * power(whole));
    }
    // Two steps, since the power may be subnormal.
    let first = whole.max(-126.0);
    canonical(mantissa * power(first) * power(whole - first))
}

/// `lg2.approx{.ftz}.f32`: absolute 2^-23 in 1/2..2, else relative 2^-23 (bounds: 2^-22).
#[inline(always)]
pub fn lg2(a: f32, ftz: bool) -> f32 {
    let a = flush(a, ftz);
    let subnormal = a < f32::MIN_POSITIVE;
    let normal = if subnormal { a * f32::from_bits(0x4b80_0000) } else { a };
    let offset = (normal.to_bits() as i32).wrapping_sub(ROOT_HALF as i32);
    let exponent = (offset >> 23) as f32 - if subnormal { 24.0 } else { 0.0 };
    let t = f32::from_bits((offset as u32 & 0x7f_ffff) + ROOT_HALF) - 1.0;
    let value = flush(t.mul_add(horner(t, LG2), exponent), ftz);
    let value = if a == f32::INFINITY { a } else { value };
    let value = if a == 0.0 { f32::NEG_INFINITY } else { value };
    canonical(if (a < 0.0) | a.is_nan() { f32::NAN } else { value })
}

/// `tanh.approx.f32`: relative 2^-22 (bound: 2^-11).
#[inline(always)]
pub fn tanh(a: f32) -> f32 {
    let magnitude = a.abs();
    let square = a * a;
    let near = (square * magnitude).mul_add(horner(square, TANH), magnitude);
    let far = 1.0 - 2.0 / (ex2(magnitude * f32::from_bits(TWO_LOG2_E), false) + 1.0);
    let value = if magnitude < 0.65 { near } else { far };
    canonical(value.copysign(a))
}

const HIGH_WORD: u64 = 0xffff_ffff_0000_0000;

/// What the approximations of `.f64` look at: the high word, a subnormal being zero.
#[inline(always)]
fn high_word(a: f64) -> f64 {
    let bits = a.to_bits() & HIGH_WORD;
    f64::from_bits(if bits & 0x7ff0 << 48 == 0 { bits & 1 << 63 } else { bits })
}

/// Rounds to the high word; a subnormal is zero, and NaN the one that the hardware gives.
#[inline(always)]
fn to_high_word(value: f64) -> f64 {
    let rounded = high_word(f64::from_bits(value.to_bits() + 0x8000_0000));
    if value.is_nan() { f64::from_bits(0x7fff_ffff << 32) } else { rounded }
}

/// `rcp.approx.ftz.f64`: 20 bits of the reciprocal of the high word.
#[inline(always)]
pub fn rcp_ftz_f64(a: f64) -> f64 {
    to_high_word(1.0 / high_word(a))
}

/// `rsqrt.approx.ftz.f64`: 20 bits of the reciprocal root of the high word.
#[inline(always)]
pub fn rsqrt_ftz_f64(a: f64) -> f64 {
    to_high_word(1.0 / high_word(a).sqrt())
}

/// `rsqrt.approx.f64`: two roundings, below 1.5 ulp.
#[inline(always)]
pub fn rsqrt_f64(a: f64) -> f64 {
    crate::double::rcp(crate::double::sqrt(a, crate::Rounding::Nearest), crate::Rounding::Nearest)
}
