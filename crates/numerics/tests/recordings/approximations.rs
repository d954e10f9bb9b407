//! Holds the approximate functions to the error that the PTX manual documents (9.7.3, 9.7.4), on the inputs of the recording.
//!
//! The reference is the host's `f64` function. As in the sweep's own rule, what the hardware answered is accepted too.

use warploom_numerics::approx;
use warploom_numerics::format::{Bf16, F16, widen};
use warploom_numerics::half;

use crate::name::Name;
use crate::recording::{Kind, Recording};

/// A documented error.
#[derive(Clone, Copy)]
enum Bound {
    Ulp(f64),
    Relative(f64),
    Absolute(f64),
    /// As computed for an operand and its result.
    Of(fn(f64, f64) -> f64),
}

/// What the outputs' type tells about places and limits.
#[derive(Clone, Copy)]
struct Places {
    /// Fraction bits.
    fraction: i32,
    /// Exponents of the smallest normal and the largest finite number.
    lowest: i32,
    highest: i32,
}

const F32: Places = Places { fraction: 23, lowest: -126, highest: 127 };
const F64: Places = Places { fraction: 52, lowest: -1022, highest: 1023 };
const HALF: Places = Places { fraction: 10, lowest: -14, highest: 15 };
const BRAIN: Places = Places { fraction: 7, lowest: -126, highest: 127 };

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

fn sine_bound(x: f64, _: f64) -> f64 {
    use std::f64::consts::PI;
    match x.abs() {
        x if x <= 2.0 * PI => 2f64.powf(-20.5),
        x if x <= 100.0 * PI => 2f64.powf(-14.7),
        // Beyond, nothing is documented but the range.
        _ => 2.0,
    }
}

fn logarithm_bound(x: f64, result: f64) -> f64 {
    if x > 0.5 && x < 2.0 { power(-22) } else { power(-22) * result.abs() }
}

/// The relative bound cannot hold for a subnormal result, which gets its last place.
fn half_power_bound(_: f64, result: f64) -> f64 {
    (2f64.powf(-9.9) * result.abs()).max(power(-24))
}

/// Whether `got` is acceptable where `exact` is the result for `x`.
fn acceptable(got: f64, exact: f64, x: f64, bound: Bound, places: Places, ftz: bool) -> bool {
    if exact.is_nan() || got.is_nan() {
        return exact.is_nan() && got.is_nan();
    }
    let largest = (2.0 - power(-places.fraction)) * power(places.highest);
    let smallest = power(places.lowest);
    let ulp = || {
        let exponent = if exact == 0.0 { places.lowest } else { exact.abs().log2().floor() as i32 };
        power(exponent.clamp(places.lowest, places.highest) - places.fraction)
    };
    let tolerance = match bound {
        Bound::Ulp(count) => count * ulp(),
        Bound::Relative(bound) => bound * exact.abs(),
        Bound::Absolute(bound) => bound,
        Bound::Of(bound) => bound(x, exact),
    };
    let same_sign = got.is_sign_negative() == exact.is_sign_negative();
    if got.is_infinite() {
        return same_sign && exact.abs() + tolerance >= largest;
    }
    let flushed = ftz && got == 0.0 && exact.abs() < smallest * (1.0 + power(-20)) && (same_sign || exact == 0.0);
    flushed || (got - exact).abs() <= tolerance && (exact != 0.0 || same_sign)
}

fn flushed(x: f64, places: Places, ftz: bool) -> f64 {
    if ftz && x.abs() < power(places.lowest) { 0f64.copysign(x) } else { x }
}

fn quotient(a: f64, b: f64) -> f64 {
    // The manual: a finite divisor above 2^126 gives zero, or NaN for an infinite dividend.
    if b.abs() > power(126) && b.is_finite() { a * 0.0 * b.signum() } else { a / b }
}

/// An approximation with its `.ftz`, the exact function, and how far they may differ.
type Approximation = (fn(f32, bool) -> f32, fn(f64) -> f64, Bound);

fn single(name: &Name<'_>) -> Approximation {
    match name.op() {
        "rcp" => (approx::rcp, |x| 1.0 / x, Bound::Ulp(1.0)),
        "sqrt" => (approx::sqrt, f64::sqrt, Bound::Relative(power(-23))),
        "rsqrt" => (approx::rsqrt, |x| 1.0 / x.sqrt(), Bound::Relative(2f64.powf(-22.9))),
        "sin" => (approx::sin, f64::sin, Bound::Of(sine_bound)),
        "cos" => (approx::cos, f64::cos, Bound::Of(sine_bound)),
        "lg2" => (approx::lg2, f64::log2, Bound::Of(logarithm_bound)),
        "ex2" => (approx::ex2, f64::exp2, Bound::Ulp(2.0)),
        "tanh" => (|x, _| approx::tanh(x), f64::tanh, Bound::Relative(power(-11))),
        other => panic!("{other}"),
    }
}

#[test]
fn approximations_of_f32_and_f64_keep_their_bounds() {
    let mut recording = Recording::open("float");
    for text in recording.names() {
        let name = Name::of(&text);
        let ftz = name.has("ftz");
        if !(name.has("approx") || name.has("full")) {
            recording.left.remove(&text);
        } else if name.op() == "div" {
            divisions(&mut recording, &text, &name, ftz);
        } else if name.ty() == "f64" {
            doubles(&mut recording, &text, &name, ftz);
        } else {
            let (function, exact, bound) = single(&name);
            let argument = |x: &[u64]| f32::from_bits(x[0] as u32);
            recording.check_where(
                &text,
                &["f32.u"],
                &[Kind::F32],
                |x| vec![function(argument(x), ftz).to_bits().into()],
                |x, got, _| {
                    let x = flushed(argument(x).into(), F32, ftz);
                    acceptable(f32::from_bits(got as u32).into(), exact(x), x, bound, F32, ftz)
                },
            );
        }
    }
    recording.finish();
}

fn divisions(recording: &mut Recording, text: &str, name: &Name<'_>, ftz: bool) {
    let full = name.has("full");
    let arguments = |x: &[u64]| (f32::from_bits(x[0] as u32), f32::from_bits(x[1] as u32));
    recording.check_where(
        text,
        &["f32.a", "f32.b"],
        &[Kind::F32],
        |x| {
            let (a, b) = arguments(x);
            let value = if full { approx::div_full(a, b, ftz) } else { approx::div(a, b, ftz) };
            vec![value.to_bits().into()]
        },
        |x, got, _| {
            let (a, b) = arguments(x);
            let (a, b) = (flushed(a.into(), F32, ftz), flushed(b.into(), F32, ftz));
            // Nothing is documented for a subnormal divisor of `div.approx`.
            let open = !full && b != 0.0 && b.abs() < power(-126);
            let exact = if full { a / b } else { quotient(a, b) };
            open || acceptable(f32::from_bits(got as u32).into(), exact, b, Bound::Ulp(2.0), F32, ftz)
        },
    );
}

fn doubles(recording: &mut Recording, text: &str, name: &Name<'_>, ftz: bool) {
    let function = match (name.op(), ftz) {
        ("rcp", _) => approx::rcp_ftz_f64,
        (_, true) => approx::rsqrt_ftz_f64,
        _ => approx::rsqrt_f64,
    };
    // The manual gives no bounds here: 20 bits of the result are documented for the first two.
    let bound = if ftz { Bound::Relative(2f64.powf(-18.5)) } else { Bound::Ulp(2.0) };
    recording.check_where(
        text,
        &["f64.u"],
        &[Kind::F64],
        |x| vec![function(f64::from_bits(x[0])).to_bits()],
        |x, got, _| {
            let bits = if ftz { x[0] & 0xffff_ffff_0000_0000 } else { x[0] };
            let x = flushed(f64::from_bits(bits), F64, ftz);
            let exact = if name.op() == "rcp" { 1.0 / x } else { 1.0 / x.sqrt() };
            acceptable(f64::from_bits(got), exact, x, bound, F64, ftz)
        },
    );
}

#[test]
fn approximations_of_halves_keep_their_bounds() {
    let mut recording = Recording::open("half");
    for text in recording.names() {
        let name = Name::of(&text);
        if !name.has("approx") {
            recording.left.remove(&text);
            continue;
        }
        let (brain, ftz) = (name.ty().starts_with('b'), name.has("ftz"));
        let function = |bits: u16| match (name.op(), brain) {
            ("ex2", false) => half::ex2::<F16>(bits, ftz),
            ("ex2", true) => half::ex2::<Bf16>(bits, ftz),
            (_, false) => half::tanh::<F16>(bits),
            (_, true) => half::tanh::<Bf16>(bits),
        };
        let (exact, bound): (fn(f64) -> f64, Bound) = match (name.op(), brain) {
            ("ex2", false) => (f64::exp2, Bound::Of(half_power_bound)),
            ("ex2", true) => (f64::exp2, Bound::Relative(power(-7))),
            (_, false) => (f64::tanh, Bound::Absolute(2f64.powf(-10.987))),
            (_, true) => (f64::tanh, Bound::Absolute(power(-8))),
        };
        let places = if brain { BRAIN } else { HALF };
        let value = |bits: u64| f64::from(if brain { widen::<Bf16>(bits as u32) } else { widen::<F16>(bits as u32) });
        let packed = name.ty().ends_with("x2");
        let kind = match (packed, brain) {
            (false, false) => Kind::F16,
            (false, true) => Kind::Bf16,
            (true, false) => Kind::F16x2,
            (true, true) => Kind::Bf16x2,
        };
        recording.check_where(
            &text,
            &[&format!("{}.u", name.ty())],
            &[kind],
            |x| {
                let pair = half::pair1(x[0] as u32, function);
                vec![u64::from(if packed { pair } else { pair & 0xffff })]
            },
            |x, got, recorded| {
                let parts: &[u32] = if packed { &[0, 16] } else { &[0] };
                parts.iter().all(|shift| {
                    let part = |bits: u64| bits >> shift & 0xffff;
                    let x = flushed(value(part(x[0])), places, ftz);
                    part(got) == part(recorded) || acceptable(value(part(got)), exact(x), x, bound, places, ftz)
                })
            },
        );
    }
    recording.finish();
}
