//! Floating-point arithmetic of `.f32` and `.f64` with its modifiers (PTX ISA 9.7.3), as `warploom_numerics::float` defines it; rounded to nearest.

use warploom_ptx::ir::{FloatBinaryOp, Inst, Op, Rounding, ScalarType};

use super::function::{Val, Writer};
use super::names::{Element, Ty};

/// The bits of the exponent.
const EXPONENT: i64 = 0x7f80_0000;
const SIGN: i64 = 0x8000_0000;
/// 2^48
const SCALE: i64 = 0x5780_0000;
/// 2^-126 * 2^48
const SCALED_BOUND: i64 = 0x1880_0000;

impl Writer<'_> {
    /// A number of the type of another value, by the bits of an `.f32`.
    pub(super) fn single(&self, like: Ty, bits: i64) -> Val {
        self.constant(like.with(Element::F32), bits)
    }

    pub(super) fn bits_of_float(&mut self, a: &Val) -> Val {
        self.cast("bitcast", a, Element::Int(a.ty.element.bits()))
    }

    /// Zero of its sign for a subnormal `.f32`, where `ftz` asks for it.
    pub(super) fn flush(&mut self, a: &Val, ftz: bool) -> Val {
        if !ftz || a.ty.element != Element::F32 {
            return a.clone();
        }
        let bits = self.bits_of_float(a);
        let exponent = self.constant(bits.ty, EXPONENT);
        let sign = self.constant(bits.ty, SIGN);
        let zero = self.constant(bits.ty, 0);
        let exponent = self.binary("and", &bits, &exponent);
        let small = self.compare("eq", &exponent, &zero);
        let sign = self.binary("and", &bits, &sign);
        let bits = self.select(&small, &sign, &bits);
        self.cast("bitcast", &bits, Element::F32)
    }

    /// Zero of its sign for a result that was below the normal numbers before it was rounded: `scaled` is the same with 2^48 times the result.
    fn flush_tiny(&mut self, value: &Val, scaled: &Val) -> Val {
        let magnitude = self.intrinsic("fabs", &[scaled]);
        let bound = self.single(value.ty, SCALED_BOUND);
        let small = self.compare("olt", &magnitude, &bound);
        let bits = self.bits_of_float(value);
        let sign = self.constant(bits.ty, SIGN);
        let sign = self.binary("and", &bits, &sign);
        let bits = self.select(&small, &sign, &bits);
        self.cast("bitcast", &bits, Element::F32)
    }

    /// Clamped to 0..=1, NaN becoming 0, where `sat` asks for it.
    pub(super) fn saturate(&mut self, a: &Val, sat: bool) -> Val {
        if !sat {
            return a.clone();
        }
        let zero = self.constant(a.ty, 0);
        let one = self.constant(a.ty, if a.ty.element == Element::F32 { 0x3f80_0000 } else { 0x3ff0_0000_0000_0000 });
        let below = self.compare("olt", a, &one);
        let low = self.select(&below, a, &one);
        let above = self.compare("ogt", a, &zero);
        self.select(&above, &low, &zero)
    }

    pub(super) fn float_binary(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::FloatBinary { op, ty, a_ty, rnd, ftz, sat, a, b, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let approximate = matches!(op, FloatBinaryOp::DivApprox | FloatBinaryOp::DivFull);
        if ty != a_ty || (*rnd != Rounding::Rn && !approximate) {
            return Err(self.lacks(inst));
        }
        let single = *ty == ScalarType::F32;
        let (a, b) = (self.float_operand(*a, *ty)?, self.float_operand(*b, *ty)?);
        let (a, b) = self.alike(a, b);
        let ftz = *ftz && single;
        let (a, b) = (self.flush(&a, ftz), self.flush(&b, ftz));
        let value = match op {
            FloatBinaryOp::Add | FloatBinaryOp::Sub => {
                let sum = self.binary(if *op == FloatBinaryOp::Add { "fadd" } else { "fsub" }, &a, &b);
                self.flush(&sum, ftz)
            }
            FloatBinaryOp::Mul => {
                let product = self.binary("fmul", &a, &b);
                if ftz {
                    let scale = self.single(a.ty, SCALE);
                    let scaled = self.binary("fmul", &a, &scale);
                    let scaled = self.binary("fmul", &scaled, &b);
                    self.flush_tiny(&product, &scaled)
                } else {
                    product
                }
            }
            FloatBinaryOp::Div if ftz => {
                let quotient = self.binary("fdiv", &a, &b);
                let scale = self.single(a.ty, SCALE);
                let bound = self.single(a.ty, SCALED_BOUND);
                let (x, y) = (self.intrinsic("fabs", &[&a]), self.intrinsic("fabs", &[&b]));
                let (x, y) = (self.binary("fmul", &x, &scale), self.binary("fmul", &y, &bound));
                let tiny = self.compare("olt", &x, &y);
                let zero = self.constant(quotient.ty, 0);
                let flushed = self.flush_tiny(&quotient, &zero);
                self.select(&tiny, &flushed, &quotient)
            }
            FloatBinaryOp::Div => self.binary("fdiv", &a, &b),
            FloatBinaryOp::DivFull => {
                let quotient = self.binary("fdiv", &a, &b);
                self.flush(&quotient, ftz)
            }
            FloatBinaryOp::DivApprox => {
                let magnitude = self.intrinsic("fabs", &[&b]);
                let (most, infinite) = (self.single(a.ty, 0x7e80_0000), self.single(a.ty, EXPONENT));
                let above = self.compare("ogt", &magnitude, &most);
                let finite = self.compare("olt", &magnitude, &infinite);
                let huge = self.binary("and", &above, &finite);
                let zero = self.constant(a.ty, 0);
                let none = self.binary("fmul", &a, &zero);
                let vanished = self.binary("fmul", &none, &b);
                let quotient = self.binary("fdiv", &a, &b);
                let value = self.select(&huge, &vanished, &quotient);
                self.flush(&value, ftz)
            }
        };
        Ok(self.saturate(&value, *sat))
    }

    pub(super) fn fused(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::Fma { ty, a_ty, rnd: Rounding::Rn, ftz, sat, relu: false, oob: false, a, b, c, .. } = &inst.op else {
            return Err(self.lacks(inst));
        };
        if ty != a_ty {
            return Err(self.lacks(inst));
        }
        let ftz = *ftz && *ty == ScalarType::F32;
        let (a, b, c) = (self.float_operand(*a, *ty)?, self.float_operand(*b, *ty)?, self.float_operand(*c, *ty)?);
        let (a, b, c) = self.alike3(a, b, c);
        let (a, b, c) = (self.flush(&a, ftz), self.flush(&b, ftz), self.flush(&c, ftz));
        let mut value = self.intrinsic("fma", &[&a, &b, &c]);
        if ftz {
            let scale = self.single(a.ty, SCALE);
            let (a, c) = (self.binary("fmul", &a, &scale), self.binary("fmul", &c, &scale));
            let scaled = self.intrinsic("fma", &[&a, &b, &c]);
            value = self.flush_tiny(&value, &scaled);
        }
        Ok(self.saturate(&value, *sat))
    }

    /// The operand that is a number, and of two zeros the one with the sign.
    pub(super) fn extremum(&mut self, max: bool, a: &Val, b: &Val) -> Val {
        let bits = Element::Int(a.ty.element.bits());
        let first = self.compare(if max { "ogt" } else { "olt" }, a, b);
        let value = self.select(&first, a, b);
        let equal = self.compare("oeq", a, b);
        let (x, y) = (self.cast("bitcast", a, bits), self.cast("bitcast", b, bits));
        // Equal numbers differ at most in the sign of zero.
        let both = self.binary(if max { "and" } else { "or" }, &x, &y);
        let both = self.cast("bitcast", &both, a.ty.element);
        let value = self.select(&equal, &both, &value);
        let nan = self.compare("uno", b, b);
        let value = self.select(&nan, a, &value);
        if a.ty.element != Element::F32 {
            return value;
        }
        // Neither is a number: the NaN that the hardware gives.
        let (first, second) = (self.compare("uno", a, a), self.compare("uno", b, b));
        let neither = self.binary("and", &first, &second);
        let canonical = self.constant(a.ty, 0x7fff_ffff);
        self.select(&neither, &canonical, &value)
    }
}
