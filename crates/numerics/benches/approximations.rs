//! How far the approximate functions are from the exact ones, for all inputs there are: `cargo bench --package warploom-numerics --bench approximations`
//! prints the rows of docs/numerics.md, with the manual's bounds beside what was measured, and fails if one is exceeded.
//!
//! Names behind `--` choose functions, a number looks at every so-manieth block of inputs only. Exact means the function of `f64` in the standard library,
//! whose error is some 2^-29 of what is measured.
#![allow(clippy::cast_precision_loss)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use warploom_numerics::format::{Bf16, F16, Format, widen};
use warploom_numerics::{approx, half};

/// In what an error counts.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    /// Places of the result's format at the exact value.
    Ulp,
    /// Of the exact value.
    Relative,
    /// As it is.
    Absolute,
}

/// A bound of the manual: for inputs of a range, by magnitude, and of one place.
struct Bound {
    section: &'static str,
    range: &'static str,
    holds_for: fn(f64) -> bool,
    measure: Measure,
    most: f64,
    text: &'static str,
}

/// How the exact function goes, where it is monotonic.
#[derive(Clone, Copy, PartialEq)]
enum Course {
    Rising,
    /// For numbers of one sign.
    Falling,
    Neither,
}

struct Function {
    name: &'static str,
    approximate: fn(u32) -> f64,
    /// With `.ftz`, as bits, from the bits of the input; none where there is no such form.
    flushed: Option<fn(f32) -> f32>,
    exact: fn(f64) -> f64,
    input: Input,
    course: Course,
    bounds: &'static [Bound],
}

#[derive(Clone, Copy, PartialEq)]
enum Input {
    Single,
    Half,
    Bfloat,
}

impl Input {
    const fn bits(self) -> u32 {
        if matches!(self, Input::Single) { 32 } else { 16 }
    }

    fn value(self, bits: u32) -> f64 {
        match self {
            Input::Single => f64::from(f32::from_bits(bits)),
            Input::Half => f64::from(widen::<F16>(bits)),
            Input::Bfloat => f64::from(widen::<Bf16>(bits)),
        }
    }

    /// The worth of a result's last place at `value`.
    fn ulp(self, value: f64) -> f64 {
        let (fraction, least) = match self {
            Input::Single => (23, -126),
            Input::Half => (F16::FRACTION as i32, -14),
            Input::Bfloat => (Bf16::FRACTION as i32, -126),
        };
        let exponent = (value.abs().to_bits() >> 52) as i32 - 1023;
        2f64.powi(exponent.max(least) - fraction)
    }

    /// Above it there is only infinity.
    fn largest(self) -> f64 {
        match self {
            Input::Single => f64::from(f32::MAX),
            Input::Half => 65504.0,
            Input::Bfloat => f64::from(widen::<Bf16>(Bf16::MAX)),
        }
    }

    /// Below it numbers lose places.
    fn least_normal(self) -> f64 {
        if self == Input::Half { 2f64.powi(-14) } else { 2f64.powi(-126) }
    }
}

/// Below it, a term or two of a series are exact to double precision, and take less time.
const NEAR: f64 = 1.0 / 16384.0;
const PI: f64 = std::f64::consts::PI;

const fn bound(
    section: &'static str,
    range: &'static str,
    holds_for: fn(f64) -> bool,
    measure: Measure,
    most: f64,
    text: &'static str,
) -> Bound {
    Bound { section, range, holds_for, measure, most, text }
}

/// `2^-exponent` to double precision.
const HALF_22: f64 = 1.0 / 4_194_304.0;
const HALF_23: f64 = 1.0 / 8_388_608.0;
const HALF_11: f64 = 1.0 / 2048.0;
/// 2^-22.9, 2^-21.49, 2^-20.5, 2^-14.7, 2^-9.9 and 2^-10.987.
const NEG_22_9: f64 = 1.277_653_5e-7;
const NEG_21_49: f64 = 3.395_203e-7;
const NEG_20_5: f64 = 6.743_495_8e-7;
const NEG_14_7: f64 = 3.757_154_5e-5;
const NEG_9_9: f64 = 1.046_653_7e-3;
const NEG_10_987: f64 = 4.927_009e-4;

/// The bounds of `sin.approx` and `cos.approx`, in whose sections the same is said.
const fn of_angles(section: &'static str) -> [Bound; 3] {
    let turn = |x: f64| x.abs() <= 2.0 * PI;
    let turns = |x: f64| x.abs() <= 100.0 * PI;
    [
        bound(section, "-2 pi to 2 pi", turn, Measure::Absolute, NEG_20_5, "absolute 2^-20.5"),
        bound(section, "-100 pi to 100 pi", turns, Measure::Absolute, NEG_14_7, "absolute 2^-14.7"),
        bound(section, "up to 2^15", |x| x.abs() <= 32_768.0, Measure::Absolute, f64::INFINITY, "none"),
    ]
}

/// Of angles in turns: what an H200 keeps to.
const fn of_turns(section: &'static str) -> Bound {
    bound(section, "all", |_| true, Measure::Absolute, NEG_21_49, "unknown; an H200 has 2^-21.49")
}

const FUNCTIONS: &[Function] = &[
    Function {
        name: "rcp.approx.f32",
        approximate: |bits| approx::rcp(f32::from_bits(bits), false).into(),
        flushed: Some(|a| approx::rcp(a, true)),
        exact: |x| 1.0 / x,
        input: Input::Single,
        course: Course::Falling,
        bounds: &[bound("9.7.3.13", "all", |_| true, Measure::Ulp, 1.0, "1 ulp")],
    },
    Function {
        name: "sqrt.approx.f32",
        approximate: |bits| approx::sqrt(f32::from_bits(bits), false).into(),
        flushed: Some(|a| approx::sqrt(a, true)),
        exact: f64::sqrt,
        input: Input::Single,
        course: Course::Rising,
        bounds: &[bound("9.7.3.15", "all", |_| true, Measure::Relative, HALF_23, "relative 2^-23")],
    },
    Function {
        name: "rsqrt.approx.f32",
        approximate: |bits| approx::rsqrt(f32::from_bits(bits), false).into(),
        flushed: Some(|a| approx::rsqrt(a, true)),
        exact: |x| 1.0 / x.sqrt(),
        input: Input::Single,
        course: Course::Falling,
        bounds: &[bound("9.7.3.16", "all", |_| true, Measure::Relative, NEG_22_9, "relative 2^-22.9")],
    },
    Function {
        name: "sin.approx.f32",
        approximate: |bits| approx::sin(f32::from_bits(bits), false).into(),
        flushed: Some(|a| approx::sin(a, true)),
        exact: |x| if x.abs() < NEAR { x - x * x * x / 6.0 } else { x.sin() },
        input: Input::Single,
        course: Course::Neither,
        bounds: &of_angles("9.7.3.18"),
    },
    Function {
        name: "cos.approx.f32",
        approximate: |bits| approx::cos(f32::from_bits(bits), false).into(),
        flushed: Some(|a| approx::cos(a, true)),
        exact: |x| if x.abs() < NEAR { 1.0 - x * x / 2.0 } else { x.cos() },
        input: Input::Single,
        course: Course::Neither,
        bounds: &of_angles("9.7.3.19"),
    },
    Function {
        name: "sin.approx.2pi.ftz.f32",
        approximate: |bits| approx::sin_2pi(f32::from_bits(bits)).into(),
        flushed: None,
        exact: |x| if x.abs() < NEAR * NEAR { 2.0 * PI * x } else { (2.0 * PI * (x % 1.0)).sin() },
        input: Input::Single,
        course: Course::Neither,
        bounds: &[of_turns("9.7.3.18")],
    },
    Function {
        name: "cos.approx.2pi.ftz.f32",
        approximate: |bits| approx::cos_2pi(f32::from_bits(bits)).into(),
        flushed: None,
        exact: |x| if x.abs() < NEAR * NEAR { 1.0 } else { (2.0 * PI * (x % 1.0)).cos() },
        input: Input::Single,
        course: Course::Neither,
        bounds: &[of_turns("9.7.3.19")],
    },
    Function {
        name: "lg2.approx.f32",
        approximate: |bits| approx::lg2(f32::from_bits(bits), false).into(),
        flushed: Some(|a| approx::lg2(a, true)),
        exact: f64::log2,
        input: Input::Single,
        course: Course::Rising,
        bounds: &[
            bound("9.7.3.20", "1/2 to 2", |x| x > 0.5 && x < 2.0, Measure::Absolute, HALF_22, "absolute 2^-22"),
            bound("9.7.3.20", "elsewhere", |x| x <= 0.5 || x >= 2.0, Measure::Relative, HALF_22, "relative 2^-22"),
        ],
    },
    Function {
        name: "ex2.approx.f32",
        approximate: |bits| approx::ex2(f32::from_bits(bits), false).into(),
        flushed: Some(|a| approx::ex2(a, true)),
        exact: |x| if x.abs() < NEAR * NEAR { 1.0 + x * std::f64::consts::LN_2 } else { x.clamp(-400.0, 400.0).exp2() },
        input: Input::Single,
        course: Course::Rising,
        bounds: &[bound("9.7.3.21", "all", |_| true, Measure::Ulp, 2.0, "2 ulp")],
    },
    Function {
        name: "tanh.approx.f32",
        approximate: |bits| approx::tanh(f32::from_bits(bits)).into(),
        flushed: None,
        exact: |x| if x.abs() < NEAR { x - x * x * x / 3.0 } else { x.clamp(-40.0, 40.0).tanh() },
        input: Input::Single,
        course: Course::Rising,
        bounds: &[bound("9.7.3.22", "all", |_| true, Measure::Relative, HALF_11, "relative 2^-11")],
    },
    Function {
        name: "ex2.approx.f16",
        approximate: |bits| widen::<F16>(half::ex2::<F16>(bits as u16, false).into()).into(),
        flushed: None,
        exact: f64::exp2,
        input: Input::Half,
        course: Course::Rising,
        bounds: &[bound("9.7.4.10", "all", |_| true, Measure::Relative, NEG_9_9, "relative 2^-9.9")],
    },
    Function {
        name: "ex2.approx.ftz.bf16",
        approximate: |bits| widen::<Bf16>(half::ex2::<Bf16>(bits as u16, true).into()).into(),
        flushed: None,
        exact: f64::exp2,
        input: Input::Bfloat,
        course: Course::Rising,
        bounds: &[bound("9.7.4.10", "all", |_| true, Measure::Relative, 1.0 / 128.0, "relative 2^-7")],
    },
    Function {
        name: "tanh.approx.f16",
        approximate: |bits| widen::<F16>(half::tanh::<F16>(bits as u16).into()).into(),
        flushed: None,
        exact: f64::tanh,
        input: Input::Half,
        course: Course::Rising,
        bounds: &[bound("9.7.4.9", "all", |_| true, Measure::Absolute, NEG_10_987, "absolute 2^-10.987")],
    },
    Function {
        name: "tanh.approx.bf16",
        approximate: |bits| widen::<Bf16>(half::tanh::<Bf16>(bits as u16).into()).into(),
        flushed: None,
        exact: f64::tanh,
        input: Input::Bfloat,
        course: Course::Rising,
        bounds: &[bound("9.7.4.9", "all", |_| true, Measure::Relative, 1.0 / 256.0, "relative 2^-8")],
    },
];

/// What was seen.
#[derive(Clone, Default)]
struct Seen {
    /// Of each bound, the largest error and the input that has it.
    worst: Vec<(f64, u32)>,
    /// Steps from one number to the next that go against the course of the exact function.
    against: u64,
    /// Infinities, NaNs and zeros that are not as they should be, and flushed results that are not those of flushed inputs.
    wrong: u64,
    example: Option<u32>,
}

impl Seen {
    fn wrong(&mut self, bits: u32) {
        self.wrong += 1;
        self.example.get_or_insert(bits);
    }

    fn join(&mut self, other: &Seen) {
        if self.worst.is_empty() {
            self.worst.clone_from(&other.worst);
        } else {
            for (here, there) in self.worst.iter_mut().zip(&other.worst) {
                if there.0 > here.0 {
                    *here = *there;
                }
            }
        }
        self.against += other.against;
        self.wrong += other.wrong;
        self.example = self.example.or(other.example);
    }
}

fn error(measure: Measure, input: Input, value: f64, exact: f64) -> f64 {
    let difference = (value - exact).abs();
    match measure {
        Measure::Absolute => difference,
        Measure::Ulp => difference / input.ulp(exact),
        // What has fewer places than normal numbers is within one of them.
        Measure::Relative if exact.abs() < input.least_normal() => 0.0,
        Measure::Relative => difference / exact.abs(),
    }
}

fn look(function: &Function, bits: u32, seen: &mut Seen) -> f64 {
    let Function { input, .. } = *function;
    let argument = input.value(bits);
    // What `.ftz` forms of half precision flush.
    let argument = if function.name.contains("ftz") && argument.abs() < input.least_normal() { 0.0 } else { argument };
    let value = (function.approximate)(bits);
    if !function.bounds.iter().any(|bound| (bound.holds_for)(argument)) && argument.is_finite() {
        // Where nothing is bounded, as of sines of large angles, only that there is a number counts.
        if value.is_nan() {
            seen.wrong(bits);
        }
        return value;
    }
    let exact = (function.exact)(argument);
    if exact.is_nan() || value.is_nan() {
        // sin and cos of infinity, roots of what is negative.
        if exact.is_nan() != value.is_nan() {
            seen.wrong(bits);
        }
    } else if exact.is_infinite() || value.is_infinite() {
        // Infinity stands for what rounds to it, too.
        let reached = exact.abs() > input.largest() * (1.0 - 1e-6) && exact.signum() == value.signum();
        if value != exact && !(value.is_infinite() && reached) && exact.abs() <= input.largest() {
            seen.wrong(bits);
        }
    } else {
        let flushes = function.name.contains("ftz") && exact.abs() < input.least_normal();
        for (bound, worst) in function.bounds.iter().zip(&mut seen.worst) {
            if (bound.holds_for)(argument) && !flushes {
                let error = error(bound.measure, input, value, exact);
                if error > worst.0 {
                    *worst = (error, bits);
                }
            }
        }
    }
    if let Some(flushed) = function.flushed {
        let flush = |value: f32| if value.is_subnormal() { 0f32.copysign(value) } else { value };
        let argument = flush(f32::from_bits(bits));
        let expected = flush((function.approximate)(argument.to_bits()) as f32);
        let found = flushed(argument);
        if found.to_bits() != expected.to_bits() && !(found.is_nan() && expected.is_nan()) {
            seen.wrong(bits);
        }
    }
    value
}

/// Inputs that one thread looks at in a row.
const BLOCK: u32 = 1 << 16;

/// A block of inputs of one sign, by rising magnitude.
fn block(function: &Function, start: u32, count: u32) -> Seen {
    let mut seen = Seen { worst: vec![(0.0, 0); function.bounds.len()], ..Seen::default() };
    let mut before: Option<f64> = None;
    let sign = function.input.value(start).is_sign_negative();
    // The last of the block before, too, so that no step is left out.
    let first = if start == 0 || start == 1 << (function.input.bits() - 1) { start } else { start - 1 };
    for bits in first..=start + (count - 1) {
        let value = look(function, bits, &mut seen);
        if let Some(before) = before
            && !before.is_nan()
            && !value.is_nan()
        {
            let falls = match function.course {
                Course::Rising => sign,
                Course::Falling => !sign,
                Course::Neither => continue,
            };
            seen.against += u64::from(if falls { value > before } else { value < before });
        }
        before = Some(value);
    }
    seen
}

fn measure(function: &Function, every: u64) -> Seen {
    let blocks = (1u64 << function.input.bits()) / u64::from(BLOCK.min(1 << (function.input.bits() - 1)));
    let size = ((1u64 << function.input.bits()) / blocks) as u32;
    let next = AtomicU64::new(0);
    let all = Mutex::new(Seen::default());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Seen::default();
                loop {
                    let number = next.fetch_add(every, Ordering::Relaxed);
                    if number >= blocks {
                        break;
                    }
                    own.join(&block(function, (number * u64::from(size)) as u32, size));
                }
                all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).join(&own);
            });
        }
    });
    all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let every = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1);
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<u64>().is_err()).collect();
    let mut exceeded = false;
    println!("| function | inputs | bound of the manual | measured | at | steps against its course | wrong |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for function in FUNCTIONS.iter().filter(|f| names.is_empty() || names.iter().any(|name| f.name.contains(*name))) {
        let seen = measure(function, every);
        for (bound, (error, bits)) in function.bounds.iter().zip(&seen.worst) {
            let measured = match bound.measure {
                Measure::Ulp => format!("{error:.4} ulp"),
                Measure::Relative | Measure::Absolute => format!("2^{:.3}", error.log2()),
            };
            let against = if function.course == Course::Neither { "-".to_owned() } else { seen.against.to_string() };
            let wrong = seen.example.map_or("0".to_owned(), |bits| format!("{} (0x{bits:x})", seen.wrong));
            println!(
                "| `{}` | {} | {} ({}) | {measured} | 0x{bits:x} | {against} | {wrong} |",
                function.name, bound.range, bound.text, bound.section
            );
            exceeded |= *error > bound.most;
        }
        exceeded |= seen.wrong != 0;
    }
    if exceeded {
        eprintln!("a bound is exceeded, or a result is wrong");
        std::process::exit(1);
    }
}
