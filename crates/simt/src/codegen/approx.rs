//! The approximate functions (PTX ISA 9.7.3), operation by operation as `warploom_numerics::approx` defines them, so that the bits are the same.

use warploom_numerics::approx;
use warploom_ptx::ir::FloatUnaryOp;

use super::function::{Val, Writer};
use super::names::Element;

const ONE: i64 = 0x3f80_0000;
const FOUR: i64 = 0x4080_0000;
/// 1 / 16
const SIXTEENTH: i64 = 0x3d80_0000;
/// 2^122
const LARGE: i64 = 0x7c80_0000;

impl Writer<'_> {
    /// One of them of an `.f32`; none of another operation.
    pub(super) fn approximated(&mut self, op: FloatUnaryOp, a: &Val, ftz: bool) -> Option<Val> {
        match op {
            FloatUnaryOp::Ex2 => return Some(self.ex2(a, ftz)),
            FloatUnaryOp::RsqrtApprox => return Some(self.rsqrt(a, ftz)),
            _ => {}
        }
        let a = self.flush(a, ftz);
        let one = self.single(a.ty, ONE);
        let value = match op {
            FloatUnaryOp::RcpApprox => self.binary("fdiv", &one, &a),
            FloatUnaryOp::SqrtApprox => return Some(self.intrinsic("sqrt", &[&a])),
            FloatUnaryOp::Lg2 => return Some(self.lg2(&a, ftz)),
            FloatUnaryOp::Sin | FloatUnaryOp::Sin2pi => {
                let (quadrant, rest) =
                    if op == FloatUnaryOp::Sin { self.quadrant(&a) } else { self.quadrant_of_turns(&a) };
                let value = self.sine(&quadrant, &rest);
                let value = self.flush(&value, ftz);
                let zero = self.constant(a.ty, 0);
                let is_zero = self.compare("oeq", &a, &zero);
                return Some(self.select(&is_zero, &a, &value));
            }
            FloatUnaryOp::Cos | FloatUnaryOp::Cos2pi => {
                let (quadrant, rest) =
                    if op == FloatUnaryOp::Cos { self.quadrant(&a) } else { self.quadrant_of_turns(&a) };
                let next = self.constant(quadrant.ty, 1);
                let quadrant = self.binary("add", &quadrant, &next);
                self.sine(&quadrant, &rest)
            }
            FloatUnaryOp::Tanh => return Some(self.tanh(&a)),
            _ => return None,
        };
        Some(self.flush(&value, ftz))
    }

    /// One of them of an `.f64`: all but `rsqrt` without `.ftz` look at the high word only.
    pub(super) fn approximated_double(&mut self, op: FloatUnaryOp, a: &Val, ftz: bool) -> Option<Val> {
        let one = self.constant(a.ty, 0x3ff0_0000_0000_0000);
        match op {
            FloatUnaryOp::RsqrtApprox if !ftz => {
                let root = self.intrinsic("sqrt", &[a]);
                return Some(self.binary("fdiv", &one, &root));
            }
            FloatUnaryOp::RcpApprox | FloatUnaryOp::RsqrtApprox => {}
            _ => return None,
        }
        let bits = self.bits_of_float(a);
        let a = self.high_word(&bits);
        let a = if op == FloatUnaryOp::RsqrtApprox { self.intrinsic("sqrt", &[&a]) } else { a };
        let value = self.binary("fdiv", &one, &a);
        let bits = self.bits_of_float(&value);
        let half = self.constant(bits.ty, 0x8000_0000);
        let rounded = self.binary("add", &bits, &half);
        let rounded = self.high_word(&rounded);
        let (nan, canonical) = (self.compare("uno", &value, &value), self.constant(value.ty, 0x7fff_ffff << 32));
        Some(self.select(&nan, &canonical, &rounded))
    }

    /// The high word of an `.f64`'s bits, a subnormal being zero.
    fn high_word(&mut self, bits: &Val) -> Val {
        let high = self.constant(bits.ty, !0xffff_ffff);
        let bits = self.binary("and", bits, &high);
        let (exponent, sign) = (self.constant(bits.ty, 0x7ff << 52), self.constant(bits.ty, i64::MIN));
        let zero = self.constant(bits.ty, 0);
        let exponent = self.binary("and", &bits, &exponent);
        let small = self.compare("eq", &exponent, &zero);
        let sign = self.binary("and", &bits, &sign);
        let bits = self.select(&small, &sign, &bits);
        self.cast("bitcast", &bits, Element::F64)
    }

    fn horner<const N: usize>(&mut self, x: &Val, coefficients: [u32; N]) -> Val {
        let mut value = self.single(x.ty, i64::from(coefficients[N - 1]));
        for coefficient in coefficients.iter().rev().skip(1) {
            let coefficient = self.single(x.ty, i64::from(*coefficient));
            value = self.intrinsic("fma", &[&value, x, &coefficient]);
        }
        value
    }

    /// NaN stays.
    fn clamped(&mut self, a: &Val, low: f32, high: f32) -> Val {
        let value = self.at_least(a, low);
        let high = self.single(a.ty, high.to_bits().into());
        let above = self.compare("ogt", &value, &high);
        self.select(&above, &high, &value)
    }

    fn at_least(&mut self, a: &Val, low: f32) -> Val {
        let low = self.single(a.ty, low.to_bits().into());
        let below = self.compare("olt", a, &low);
        self.select(&below, &low, a)
    }

    /// 2 to the power of a whole number, which the exponent has place for: at -127 it is zero.
    fn power(&mut self, exponent: &Val) -> Val {
        let biased = self.single(exponent.ty, approx::BIASED.into());
        let sum = self.binary("fadd", exponent, &biased);
        let bits = self.bits_of_float(&sum);
        let place = self.constant(bits.ty, 23);
        let bits = self.binary("shl", &bits, &place);
        self.cast("bitcast", &bits, Element::F32)
    }

    fn ex2(&mut self, a: &Val, ftz: bool) -> Val {
        let bounded = self.exponent(a, ftz);
        let whole = self.intrinsic("floor", &[&bounded]);
        let fraction = self.binary("fsub", &bounded, &whole);
        let polynomial = self.horner(&fraction, approx::EX2);
        let one = self.single(a.ty, ONE);
        let mantissa = self.intrinsic("fma", &[&fraction, &polynomial, &one]);
        self.scaled(&mantissa, &whole, ftz)
    }

    /// 2 to the power of what has been rounded to a whole number: nothing is left for the polynomial, but NaN.
    pub(super) fn ex2_of_whole(&mut self, a: &Val, ftz: bool) -> Val {
        let whole = self.exponent(a, ftz);
        let fraction = self.binary("fsub", &whole, &whole);
        let one = self.single(a.ty, ONE);
        let mantissa = self.binary("fadd", &fraction, &one);
        self.scaled(&mantissa, &whole, ftz)
    }

    fn exponent(&mut self, a: &Val, ftz: bool) -> Val {
        self.clamped(a, if ftz { -127.0 } else { -160.0 }, 128.0)
    }

    /// A number from 1 to 2, times 2 to the power of a whole one.
    fn scaled(&mut self, mantissa: &Val, whole: &Val, ftz: bool) -> Val {
        if ftz {
            let power = self.power(whole);
            return self.binary("fmul", mantissa, &power);
        }
        let first = self.at_least(whole, -126.0);
        let second = self.binary("fsub", whole, &first);
        let (first, second) = (self.power(&first), self.power(&second));
        let value = self.binary("fmul", mantissa, &first);
        self.binary("fmul", &value, &second)
    }

    /// Numbers that are not positive and normal are rare: a look tells whether any lane has one.
    fn rsqrt(&mut self, a: &Val, ftz: bool) -> Val {
        let bits = self.bits_of_float(a);
        let (half, guess) = (self.constant(bits.ty, 1), self.constant(bits.ty, approx::RSQRT_GUESS.into()));
        let half = self.binary("lshr", &bits, &half);
        let guess = self.binary("sub", &guess, &half);
        let kept = self.constant(bits.ty, approx::RSQRT_KEPT.into());
        let guess = self.binary("and", &guess, &kept);
        let guess = self.cast("bitcast", &guess, Element::F32);
        let square = self.binary("fmul", &guess, &guess);
        let one = self.single(a.ty, ONE);
        let value = self.root_step(a, &square, &guess);
        // Infinity comes first of what is above, and turns to what no number with a sign is below.
        let (turn, last) = (self.constant(bits.ty, 0x7f80_0000), self.constant(bits.ty, 0xfeff_ffff));
        let turned = self.binary("add", &bits, &turn);
        let special = self.compare("sgt", &turned, &last);
        // Where the processor flushes, the square of the least guesses is lost: those are looked at again.
        let large = self.plan.flushes().then(|| {
            let bound = self.constant(bits.ty, LARGE);
            self.compare("sgt", &bits, &bound)
        });
        let seldom = match &large {
            Some(large) => self.binary("or", &special, large),
            None => special.clone(),
        };
        let place = format!("%rsqrt{}", self.fresh());
        self.places.push((place.clone(), a.ty));
        self.store(&value, &place);
        let (on, rare) = (self.fresh(), self.fresh());
        let any = if seldom.ty.lanes == 0 { seldom } else { self.any(&seldom.text) };
        self.line(format!("br i1 {}, label %L{rare}, label %L{on}, !prof !1", any.text));
        self.label(&format!("L{rare}"));
        let flushed = self.flush(a, ftz);
        let root = self.intrinsic("sqrt", &[&flushed]);
        let exact = self.binary("fdiv", &one, &root);
        let value = match large {
            None => value,
            Some(large) => {
                // Sixteen times the square and a sixteenth of the number have the same product.
                let (sixteenth, four) = (self.single(a.ty, SIXTEENTH), self.single(a.ty, FOUR));
                let (small, root) = (self.binary("fmul", a, &sixteenth), self.binary("fmul", &guess, &four));
                let square = self.binary("fmul", &root, &root);
                let again = self.root_step(&small, &square, &guess);
                self.select(&large, &again, &value)
            }
        };
        let chosen = self.select(&special, &exact, &value);
        self.store(&chosen, &place);
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{on}"));
        self.load(a.ty, &place)
    }

    /// One step from a guess of a reciprocal root, of whose square and of the number that it is of it is told how far it is off.
    fn root_step(&mut self, a: &Val, square: &Val, guess: &Val) -> Val {
        let negative = self.set(a.ty, format!("fneg {} {}", a.ty.text(), a.text));
        let one = self.single(a.ty, ONE);
        let error = self.intrinsic("fma", &[&negative, square, &one]);
        let polynomial = self.horner(&error, approx::RSQRT);
        let step = self.binary("fmul", guess, &error);
        self.intrinsic("fma", &[&step, &polynomial, guess])
    }

    fn lg2(&mut self, a: &Val, ftz: bool) -> Val {
        let (least, up) = (self.single(a.ty, 0x0080_0000), self.single(a.ty, 0x4b80_0000));
        let subnormal = self.compare("olt", a, &least);
        let scaled = self.binary("fmul", a, &up);
        let normal = self.select(&subnormal, &scaled, a);
        let bits = self.bits_of_float(&normal);
        let root = self.constant(bits.ty, i64::from(approx::ROOT_HALF));
        let offset = self.binary("sub", &bits, &root);
        let place = self.constant(bits.ty, 23);
        let exponent = self.binary("ashr", &offset, &place);
        let exponent = self.cast("sitofp", &exponent, Element::F32);
        let (steps, none) = (self.single(a.ty, 24f32.to_bits().into()), self.single(a.ty, 0));
        let steps = self.select(&subnormal, &steps, &none);
        let exponent = self.binary("fsub", &exponent, &steps);
        let low = self.constant(bits.ty, 0x7f_ffff);
        let mantissa = self.binary("and", &offset, &low);
        let mantissa = self.binary("add", &mantissa, &root);
        let mantissa = self.cast("bitcast", &mantissa, Element::F32);
        let one = self.single(a.ty, ONE);
        let t = self.binary("fsub", &mantissa, &one);
        let polynomial = self.horner(&t, approx::LG2);
        let value = self.intrinsic("fma", &[&t, &polynomial, &exponent]);
        let value = self.flush(&value, ftz);
        let infinite = self.single(a.ty, 0x7f80_0000);
        let is_infinite = self.compare("oeq", a, &infinite);
        let value = self.select(&is_infinite, a, &value);
        let zero = self.constant(a.ty, 0);
        let is_zero = self.compare("oeq", a, &zero);
        let lowest = self.single(a.ty, 0xff80_0000);
        let value = self.select(&is_zero, &lowest, &value);
        let invalid = self.compare("ult", a, &zero);
        let nan = self.single(a.ty, 0x7fff_ffff);
        self.select(&invalid, &nan, &value)
    }

    /// The angle's quadrant and its distance from the middle of that.
    fn quadrant(&mut self, a: &Val) -> (Val, Val) {
        let inverse = self.single(a.ty, approx::TWO_OVER_PI.into());
        let quadrants = self.binary("fmul", a, &inverse);
        let quadrant = self.intrinsic("roundeven", &[&quadrants]);
        let negative = self.set(quadrant.ty, format!("fneg {} {}", quadrant.ty.text(), quadrant.text));
        let mut rest = a.clone();
        for part in approx::HALF_PI {
            let part = self.single(a.ty, part.into());
            rest = self.intrinsic("fma", &[&negative, &part, &rest]);
        }
        let rest = self.clamped(&rest, -0.79, 0.79);
        (self.saturated_integer(&quadrant, 32, true), rest)
    }

    fn quadrant_of_turns(&mut self, a: &Val) -> (Val, Val) {
        let whole = self.intrinsic("roundeven", &[a]);
        let part = self.binary("fsub", a, &whole);
        let four = self.single(a.ty, 0x4080_0000);
        let quadrants = self.binary("fmul", &part, &four);
        let quadrant = self.intrinsic("roundeven", &[&quadrants]);
        let quarter = self.single(a.ty, 0xbe80_0000);
        let rest = self.intrinsic("fma", &[&quadrant, &quarter, &part]);
        let turn = self.single(a.ty, approx::TWO_PI.into());
        let rest = self.binary("fmul", &rest, &turn);
        // Of what is no number both sine and cosine are none, whatever the quadrant.
        let number = self.cast("fptosi", &quadrant, Element::Int(32));
        let number = self.set(number.ty, format!("freeze {} {}", number.ty.text(), number.text));
        (number, rest)
    }

    fn sine(&mut self, quadrant: &Val, r: &Val) -> Val {
        let square = self.binary("fmul", r, r);
        let cube = self.binary("fmul", &square, r);
        let polynomial = self.horner(&square, approx::SIN);
        let sin = self.intrinsic("fma", &[&cube, &polynomial, r]);
        let fourth = self.binary("fmul", &square, &square);
        let polynomial = self.horner(&square, approx::COS);
        let (half, one) = (self.single(r.ty, 0xbf00_0000), self.single(r.ty, ONE));
        let near = self.intrinsic("fma", &[&square, &half, &one]);
        let cos = self.intrinsic("fma", &[&fourth, &polynomial, &near]);
        let (first, second, zero) =
            (self.constant(quadrant.ty, 1), self.constant(quadrant.ty, 2), self.constant(quadrant.ty, 0));
        let odd = self.binary("and", quadrant, &first);
        let odd = self.compare("ne", &odd, &zero);
        let value = self.select(&odd, &cos, &sin);
        let upper = self.binary("and", quadrant, &second);
        let place = self.constant(quadrant.ty, 30);
        let sign = self.binary("shl", &upper, &place);
        let bits = self.bits_of_float(&value);
        let bits = self.binary("xor", &bits, &sign);
        self.cast("bitcast", &bits, Element::F32)
    }

    fn tanh(&mut self, a: &Val) -> Val {
        let magnitude = self.intrinsic("fabs", &[a]);
        let square = self.binary("fmul", a, a);
        let cube = self.binary("fmul", &square, &magnitude);
        let polynomial = self.horner(&square, approx::TANH);
        let near = self.intrinsic("fma", &[&cube, &polynomial, &magnitude]);
        let (one, two) = (self.single(a.ty, ONE), self.single(a.ty, 0x4000_0000));
        let scale = self.single(a.ty, approx::TWO_LOG2_E.into());
        let exponent = self.binary("fmul", &magnitude, &scale);
        let power = self.ex2(&exponent, false);
        let below = self.binary("fadd", &power, &one);
        let part = self.binary("fdiv", &two, &below);
        let far = self.binary("fsub", &one, &part);
        let bound = self.single(a.ty, 0.65f32.to_bits().into());
        let is_near = self.compare("olt", &magnitude, &bound);
        let value = self.select(&is_near, &near, &far);
        self.intrinsic("copysign", &[&value, a])
    }
}
