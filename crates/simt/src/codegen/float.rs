//! Floating-point arithmetic of `.f32` and `.f64` with its modifiers (PTX ISA 9.7.3), as `warploom_numerics::float` defines it.

use warploom_ptx::ir::{FloatBinaryOp, FloatUnaryOp, Inst, Op, Operand, Rounding, ScalarType, TestpOp};

use super::atomic_half::halves;
use super::function::{Val, Writer};
use super::names::{Element, Ty};
use crate::range::is_integer;

/// The bits of the exponent.
const EXPONENT: i64 = 0x7f80_0000;
const SIGN: i64 = 0x8000_0000;
/// 2^48
const SCALE: i64 = 0x5780_0000;
/// 2^-126 * 2^48
const SCALED_BOUND: i64 = 0x1880_0000;

/// Which of two numbers is the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) max: bool,
    /// No number, if either operand is none.
    pub(super) nan: bool,
}

/// What LLVM and the processor call an operation.
fn name_of(op: FloatBinaryOp) -> &'static str {
    match op {
        FloatBinaryOp::Add => "add",
        FloatBinaryOp::Sub => "sub",
        FloatBinaryOp::Mul => "mul",
        FloatBinaryOp::Div | FloatBinaryOp::DivFull | FloatBinaryOp::DivApprox => "div",
    }
}

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
    pub(super) fn flush_tiny(&mut self, value: &Val, scaled: &Val) -> Val {
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

    /// Operands of arithmetic in a type, each of the type that stands beside it, and the type of registers that hold the result. A pair is two lanes.
    fn float_operands<const N: usize>(
        &mut self,
        inst: &Inst,
        ty: ScalarType,
        operands: [(Operand, ScalarType); N],
    ) -> Result<(Ty, [Val; N]), String> {
        let bits = operands.map(|(operand, of)| self.operand(operand, of));
        let vector = bits.iter().any(|value| value.ty.lanes != 0);
        let bits = bits.map(|value| if vector { self.splat(&value) } else { value });
        let element = if ty == ScalarType::F32x2 { Some(Element::F32) } else { Element::float(ty) };
        let element = element.ok_or_else(|| self.lacks(inst))?;
        let whole = bits[0].ty.with(Element::bits_of(ty));
        let mut numbers = bits.clone();
        for ((number, value), (_, of)) in numbers.iter_mut().zip(&bits).zip(&operands) {
            *number = match of {
                ScalarType::F16 | ScalarType::Bf16 => self.widened(value, *of == ScalarType::Bf16),
                ScalarType::F32x2 => self.regrouped(value, Ty { element, lanes: 2 * value.ty.lanes.max(1) }),
                _ => self.cast("bitcast", value, element),
            };
        }
        Ok((whole, numbers))
    }

    pub(super) fn float_binary(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::FloatBinary { op, ty, a_ty, rnd, ftz, sat, a, b, .. } = &inst.op else { return Err(self.lacks(inst)) };
        if halves(*ty).is_some() {
            return self.half_arithmetic(inst);
        }
        let named = [*a, *b];
        let (whole, [a, b]) = self.float_operands(inst, *ty, [(*a, *a_ty), (*b, *ty)])?;
        let ftz = *ftz && a.ty.element == Element::F32;
        let pair = *ty == ScalarType::F32x2;
        let identity = |this: &Self, other: Operand| match op {
            _ if pair => true,
            FloatBinaryOp::Add | FloatBinaryOp::Sub => this.may_be_zero(other),
            _ => this.may_be_one(other),
        };
        let a = self.taken(named[0], &a, ftz, |this| identity(this, named[1]));
        let b = self.taken(named[1], &b, ftz, |this| identity(this, named[0]));
        let approximate = matches!(op, FloatBinaryOp::DivApprox | FloatBinaryOp::DivFull);
        let value = if *rnd == Rounding::Rn || approximate {
            self.nearest(*op, ftz, &a, &b)
        } else {
            let name = name_of(*op);
            let value = self.directed(inst, name, *rnd, &[&a, &b])?;
            match op {
                // What is below the normal numbers is exact.
                FloatBinaryOp::Add | FloatBinaryOp::Sub => self.flushed_sum(&value, ftz),
                _ if ftz => {
                    let scale = self.single(a.ty, SCALE);
                    let a = self.binary("fmul", &a, &scale);
                    let scaled = self.directed(inst, name, *rnd, &[&a, &b])?;
                    self.flush_tiny(&value, &scaled)
                }
                _ => value,
            }
        };
        let value = self.saturate(&value, *sat);
        Ok(self.paired_or_mixed(value, whole, *ty, *a_ty))
    }

    /// The result in its register. Of pairs, and of mixed precision, NaN is the one that the hardware gives, as bits of such types are what is looked at.
    fn paired_or_mixed(&mut self, value: Val, whole: Ty, ty: ScalarType, a_ty: ScalarType) -> Val {
        if ty != ScalarType::F32x2 && ty == a_ty {
            return value;
        }
        let (nan, canonical) = (self.compare("uno", &value, &value), self.constant(value.ty, 0x7fff_ffff));
        let value = self.select(&nan, &canonical, &value);
        if ty == ScalarType::F32x2 { self.regrouped(&value, whole) } else { value }
    }

    /// A sum, whatever of which is below the normal numbers is exact.
    fn flushed_sum(&mut self, sum: &Val, ftz: bool) -> Val {
        self.flush(sum, ftz && !self.plan.flushes())
    }

    /// Rounded to nearest, or approximate.
    pub(super) fn nearest(&mut self, op: FloatBinaryOp, ftz: bool, a: &Val, b: &Val) -> Val {
        if op != FloatBinaryOp::DivApprox && self.leaves_mode(a.ty, ftz) {
            return self.in_usual_mode(name_of(op), &[a, b]);
        }
        match op {
            FloatBinaryOp::Add | FloatBinaryOp::Sub => {
                let sum = self.binary(if op == FloatBinaryOp::Add { "fadd" } else { "fsub" }, a, b);
                self.flushed_sum(&sum, ftz)
            }
            FloatBinaryOp::Mul => {
                let product = self.binary("fmul", a, b);
                if ftz && !self.plan.flushes() {
                    let scale = self.single(a.ty, SCALE);
                    let scaled = self.binary("fmul", a, &scale);
                    let scaled = self.binary("fmul", &scaled, b);
                    self.flush_tiny(&product, &scaled)
                } else {
                    product
                }
            }
            FloatBinaryOp::Div | FloatBinaryOp::DivFull if ftz && !self.plan.flushes() => {
                let quotient = self.binary("fdiv", a, b);
                let scale = self.single(a.ty, SCALE);
                let bound = self.single(a.ty, SCALED_BOUND);
                let (x, y) = (self.intrinsic("fabs", &[a]), self.intrinsic("fabs", &[b]));
                let (x, y) = (self.binary("fmul", &x, &scale), self.binary("fmul", &y, &bound));
                let tiny = self.compare("olt", &x, &y);
                let zero = self.constant(quotient.ty, 0);
                let flushed = self.flush_tiny(&quotient, &zero);
                self.select(&tiny, &flushed, &quotient)
            }
            FloatBinaryOp::Div | FloatBinaryOp::DivFull => self.binary("fdiv", a, b),
            FloatBinaryOp::DivApprox => {
                let magnitude = self.intrinsic("fabs", &[b]);
                let (most, infinite) = (self.single(a.ty, 0x7e80_0000), self.single(a.ty, EXPONENT));
                let above = self.compare("ogt", &magnitude, &most);
                let finite = self.compare("olt", &magnitude, &infinite);
                let huge = self.binary("and", &above, &finite);
                let zero = self.constant(a.ty, 0);
                let none = self.binary("fmul", a, &zero);
                let vanished = self.binary("fmul", &none, b);
                let quotient = self.nearest(FloatBinaryOp::DivFull, ftz, a, b);
                self.select(&huge, &vanished, &quotient)
            }
        }
    }

    /// Whether an `.f32` is known to have been rounded to a whole number, or to be NaN or infinite.
    fn is_whole(&self, operand: Operand) -> bool {
        let Some(value) = self.value_of(operand) else { return false };
        let known = self.plan.info.values.get(value);
        let rounds = |def: &u32| match &self.body().insts[*def as usize].op {
            Op::Cvt { dst_ty: ScalarType::F32, src_ty: ScalarType::F32, rnd, .. } => {
                matches!(rnd, Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi))
            }
            Op::Cvt { dst_ty: ScalarType::F32, src_ty, .. } => is_integer(*src_ty),
            _ => false,
        };
        !known.undefined && !known.defs.is_empty() && known.defs.iter().all(rounds)
    }

    pub(super) fn float_unary(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::FloatUnary { op, ty, rnd, ftz, a, .. } = &inst.op else { return Err(self.lacks(inst)) };
        if halves(*ty).is_some() {
            return self.half_arithmetic(inst);
        }
        let single = *ty == ScalarType::F32;
        let whole = single && *op == FloatUnaryOp::Ex2 && self.is_whole(*a);
        let named = *a;
        let a = self.float_operand(*a, *ty)?;
        if whole {
            return Ok(self.ex2_of_whole(&a, *ftz));
        }
        let approximated =
            if single { self.approximated(*op, &a, *ftz) } else { self.approximated_double(*op, &a, *ftz) };
        if let Some(value) = approximated {
            return Ok(value);
        }
        let ftz = *ftz && single;
        let nearest = *rnd == Rounding::Rn;
        Ok(match op {
            FloatUnaryOp::Neg => {
                let value = self.set(a.ty, format!("fneg {} {}", a.ty.text(), a.text));
                self.flush(&value, ftz)
            }
            FloatUnaryOp::Abs => {
                let value = self.intrinsic("fabs", &[&a]);
                self.flush(&value, ftz)
            }
            FloatUnaryOp::Rcp => {
                let one = self.constant(a.ty, if single { 0x3f80_0000 } else { 0x3ff0_0000_0000_0000 });
                // Nothing is left of a number by dividing 1 by it.
                let a = self.taken(named, &a, ftz, |_| false);
                if nearest {
                    return Ok(self.nearest(FloatBinaryOp::Div, ftz, &one, &a));
                }
                let value = self.directed(inst, "div", *rnd, &[&one, &a])?;
                if !ftz {
                    return Ok(value);
                }
                let scale = self.single(a.ty, SCALE);
                let scaled = self.directed(inst, "div", *rnd, &[&scale, &a])?;
                self.flush_tiny(&value, &scaled)
            }
            FloatUnaryOp::Sqrt => {
                let a = self.taken(named, &a, ftz, |_| false);
                match nearest {
                    true if self.leaves_mode(a.ty, ftz) => self.in_usual_mode("sqrt", &[&a]),
                    true => self.intrinsic("sqrt", &[&a]),
                    false => self.directed(inst, "sqrt", *rnd, &[&a])?,
                }
            }
            _ => return Err(self.lacks(inst)),
        })
    }

    pub(super) fn fused(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::Fma { ty, a_ty, rnd, ftz, sat, a, b, c, .. } = &inst.op else { return Err(self.lacks(inst)) };
        if halves(*ty).is_some() {
            return self.half_arithmetic(inst);
        }
        let named = [*a, *b, *c];
        let (whole, [a, b, c]) = self.float_operands(inst, *ty, [(*a, *a_ty), (*b, *a_ty), (*c, *ty)])?;
        let ftz = *ftz && a.ty.element == Element::F32;
        let pair = *ty == ScalarType::F32x2;
        // 1 times a number, to which nothing is added; nothing, to which a number is added.
        let product = |this: &Self, other| pair || (this.may_be_zero(named[2]) && this.may_be_one(other));
        let sum = |this: &Self| pair || this.may_be_zero(named[0]) || this.may_be_zero(named[1]);
        let a = self.taken(named[0], &a, ftz, |this| product(this, named[1]));
        let b = self.taken(named[1], &b, ftz, |this| product(this, named[0]));
        let c = self.taken(named[2], &c, ftz, sum);
        let fused = |this: &mut Self, a: &Val, b: &Val, c: &Val| match rnd {
            Rounding::Rn if this.leaves_mode(a.ty, ftz) => Ok(this.in_usual_mode("fma", &[a, b, c])),
            Rounding::Rn => Ok(this.intrinsic("fma", &[a, b, c])),
            _ => this.directed(inst, "fma", *rnd, &[a, b, c]),
        };
        let mut value = fused(self, &a, &b, &c)?;
        if ftz && !(*rnd == Rounding::Rn && self.plan.flushes()) {
            let scale = self.single(a.ty, SCALE);
            let (a, c) = (self.binary("fmul", &a, &scale), self.binary("fmul", &c, &scale));
            let scaled = fused(self, &a, &b, &c)?;
            value = self.flush_tiny(&value, &scaled);
        }
        let value = self.saturate(&value, *sat);
        Ok(self.paired_or_mixed(value, whole, *ty, *a_ty))
    }

    /// `min` and `max`, of two operands or three.
    pub(super) fn lowest_or_highest(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::FloatMinMax { max, ty, ftz, nan, abs, xorsign, a, b, c, .. } = &inst.op else {
            return Err(self.lacks(inst));
        };
        if halves(*ty).is_some() {
            return self.half_arithmetic(inst);
        }
        let how = Choice { max: *max, nan: *nan };
        let named = [*a, *b, c.unwrap_or(*b)];
        let (_, values) = self.float_operands(inst, *ty, named.map(|operand| (operand, *ty)))?;
        // What is chosen is handed on as it is.
        let [a, b, third] = [0, 1, 2].map(|at| self.taken(named[at], &values[at], *ftz, |_| true));
        let magnitude =
            |this: &mut Self, value: &Val| if *abs { this.intrinsic("fabs", &[value]) } else { value.clone() };
        let (x, y) = (magnitude(self, &a), magnitude(self, &b));
        let fixed = |operand: Operand| match operand {
            Operand::Imm(bits) if *abs => Some(bits & (SIGN as u64 - 1)),
            Operand::Imm(bits) => Some(bits),
            Operand::Reg(_) => None,
        };
        // A constant comes second.
        let mut value = match fixed(named[0]) {
            first @ Some(_) => self.extremum(how, &y, &x, first),
            None => self.extremum(how, &x, &y, fixed(named[1])),
        };
        if matches!(&inst.op, Op::FloatMinMax { c: Some(_), .. }) {
            let other = magnitude(self, &third);
            return Ok(self.extremum(how, &value, &other, fixed(named[2])));
        }
        if *xorsign {
            let (x, y) = (self.bits_of_float(&a), self.bits_of_float(&b));
            let signs = self.binary("xor", &x, &y);
            let sign = self.constant(signs.ty, SIGN);
            let signs = self.binary("and", &signs, &sign);
            let bits = self.bits_of_float(&value);
            let signed = self.binary("or", &bits, &signs);
            let signed = self.cast("bitcast", &signed, value.ty.element);
            let nan = self.compare("uno", &value, &value);
            value = self.select(&nan, &value, &signed);
        }
        Ok(value)
    }

    /// `testp`
    pub(super) fn tested(&mut self, op: TestpOp, ty: ScalarType, a: Operand) -> Result<Val, String> {
        let a = self.float_operand(a, ty)?;
        let magnitude = self.intrinsic("fabs", &[&a]);
        let double = a.ty.element == Element::F64;
        let infinity = self.constant(a.ty, if double { 0x7ff << 52 } else { EXPONENT });
        let least = self.constant(a.ty, if double { 1 << 52 } else { 0x0080_0000 });
        let zero = self.constant(a.ty, 0);
        Ok(match op {
            TestpOp::Finite => self.compare("olt", &magnitude, &infinity),
            TestpOp::Infinite => self.compare("oeq", &magnitude, &infinity),
            TestpOp::Number => self.compare("ord", &a, &a),
            TestpOp::NotANumber => self.compare("uno", &a, &a),
            TestpOp::Normal | TestpOp::Subnormal => {
                let small = self.compare("olt", &magnitude, &least);
                let nonzero = self.compare("one", &magnitude, &zero);
                let subnormal = self.binary("and", &small, &nonzero);
                if op == TestpOp::Subnormal {
                    return Ok(subnormal);
                }
                let finite = self.compare("olt", &magnitude, &infinity);
                let ones = self.constant(subnormal.ty, 1);
                let others = self.binary("xor", &subnormal, &ones);
                self.binary("and", &finite, &others)
            }
        })
    }

    /// The operand that is a number, and of two zeros the one with the sign. The bits of the second are given if it is a constant.
    fn extremum(&mut self, Choice { max, nan: strict }: Choice, a: &Val, b: &Val, fixed: Option<u64>) -> Val {
        let bits = Element::Int(a.ty.element.bits());
        let first = self.compare(if max { "ogt" } else { "olt" }, a, b);
        let value = self.select(&first, a, b);
        // Where neither is more, processors' own instructions give the second: a constant is right then, if it is a number and not the zero that gives way to the other one.
        if let (Some(constant), Element::F32, false) = (fixed, a.ty.element, strict) {
            let constant = f32::from_bits(constant as u32);
            let number = !constant.is_nan() && !constant.is_subnormal();
            if number && (constant != 0.0 || constant.is_sign_positive() == max) {
                return value;
            }
        }
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
        // Neither is a number, or not both are: the NaN that the hardware gives.
        let (first, second) = (self.compare("uno", a, a), self.compare("uno", b, b));
        let none = self.binary(if strict { "or" } else { "and" }, &first, &second);
        let canonical = self.constant(a.ty, 0x7fff_ffff);
        self.select(&none, &canonical, &value)
    }
}
