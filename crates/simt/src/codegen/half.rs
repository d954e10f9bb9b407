//! `.f16` and `.bf16` arithmetic and its packed forms (PTX ISA 9.7.4), as `warploom_numerics::half` defines it.
//!
//! Computed in `.f32`, whose significand has two bits more than twice a half's: a sum or product that was rounded to it rounds on to what rounding once
//! gives. For a fused operation that is not enough: what its sum loses makes the last place odd, which is. A pair is two lanes. Where the processor
//! computes in `.f16`, its instructions do.

use warploom_numerics::format::{Beyond, Bf16, F16, Format};
use warploom_ptx::ir::{FloatBinaryOp, FloatUnaryOp, Inst, Op, Operand, ScalarType};

use super::atomic_half::halves;
use super::function::{Val, Writer};
use super::names::{Element, Ty};

/// What becomes of a result.
#[derive(Clone, Copy, Debug, Default)]
struct Finish {
    ftz: bool,
    sat: bool,
    relu: bool,
}

/// 2^12, by which results are scaled that may have been below the normal numbers before they were rounded.
const SCALE: i64 = 0x4580_0000;
const SCALE_EXPONENT: i64 = 12;

/// Fraction bits, the pattern of infinity, and that of 1.
fn facts(bf: bool) -> (u32, i64, i64) {
    fn of<F: Format>() -> (u32, i64, i64) {
        let infinity = match F::BEYOND {
            Beyond::Infinity(infinity) => infinity,
            Beyond::Nan | Beyond::Nothing => F::NAN,
        };
        (F::FRACTION, i64::from(infinity), i64::from(F::BIAS) << F::FRACTION)
    }
    if bf { of::<Bf16>() } else { of::<F16>() }
}

impl Writer<'_> {
    /// Arithmetic on halves.
    pub(super) fn half_arithmetic(&mut self, inst: &Inst) -> Result<Val, String> {
        let plain = Finish::default();
        match &inst.op {
            Op::FloatUnary { op: op @ (FloatUnaryOp::Neg | FloatUnaryOp::Abs), ty, ftz, a, .. } => {
                let (whole, [a], bf) = self.half_operands(inst, *ty, [*a])?;
                let sign = self.constant(a.ty, if *op == FloatUnaryOp::Neg { 0x8000 } else { 0x7fff });
                let value = self.binary(if *op == FloatUnaryOp::Neg { "xor" } else { "and" }, &a, &sign);
                let value = self.flushed_half(&value, bf, *ftz);
                let nan = self.is_half_nan(&a, bf);
                let canonical = self.constant(a.ty, 0x7fff);
                let value = self.select(&nan, &canonical, &value);
                Ok(self.regrouped(&value, whole))
            }
            Op::FloatUnary { op: op @ (FloatUnaryOp::Ex2 | FloatUnaryOp::Tanh), ty, ftz, a, .. } => {
                let (whole, [a], bf) = self.half_operands(inst, *ty, [*a])?;
                let a = self.half_value(&a, bf, *ftz);
                let value = self.approximated(*op, &a, false).ok_or_else(|| self.lacks(inst))?;
                let value = self.finished_half(&value, bf, Finish { ftz: *ftz, ..plain });
                Ok(self.regrouped(&value, whole))
            }
            Op::FloatBinary { op, ty, ftz, sat, a, b, .. } => {
                let name = match op {
                    FloatBinaryOp::Add => "fadd",
                    FloatBinaryOp::Sub => "fsub",
                    FloatBinaryOp::Mul => "fmul",
                    _ => return Err(self.lacks(inst)),
                };
                let (whole, [a, b], bf) = self.half_operands(inst, *ty, [*a, *b])?;
                let how = Finish { ftz: *ftz, sat: *sat, relu: false };
                let value = if self.computes_in_halves(bf, *ftz) {
                    let (a, b) = (self.cast("bitcast", &a, Element::F16), self.cast("bitcast", &b, Element::F16));
                    let value = self.binary(name, &a, &b);
                    self.computed_half(&value, how)
                } else {
                    let (a, b) = (self.half_value(&a, bf, *ftz), self.half_value(&b, bf, *ftz));
                    let value = self.binary(name, &a, &b);
                    self.finished_half(&value, bf, how)
                };
                Ok(self.regrouped(&value, whole))
            }
            Op::Fma { ty, ftz, sat, relu, oob, a, b, c, .. } => {
                let (whole, [a, b, c], bf) = self.half_operands(inst, *ty, [*a, *b, *c])?;
                let how = Finish { ftz: *ftz, sat: *sat, relu: *relu };
                let mut value = self.fused_halves([&a, &b, &c], bf, how);
                if *oob {
                    let marked = i64::from(warploom_numerics::half::OUT_OF_BOUNDS);
                    let (magnitude, marked) = (self.constant(a.ty, 0x7fff), self.constant(a.ty, marked));
                    let zero = self.constant(a.ty, 0);
                    for factor in [&a, &b] {
                        let bits = self.binary("and", factor, &magnitude);
                        let out = self.compare("eq", &bits, &marked);
                        value = self.select(&out, &zero, &value);
                    }
                }
                Ok(self.regrouped(&value, whole))
            }
            Op::FloatMinMax { max, ty, ftz, nan, abs, xorsign, a, b, c: None, .. } => {
                let (whole, [a, b], bf) = self.half_operands(inst, *ty, [*a, *b])?;
                let magnitude = self.constant(a.ty, if *abs { 0x7fff } else { -1 });
                let (x, y) = (self.binary("and", &a, &magnitude), self.binary("and", &b, &magnitude));
                let (x, y) = (self.flushed_half(&x, bf, *ftz), self.flushed_half(&y, bf, *ftz));
                let mut value = self.extremum_of_halves(*max, *nan, &x, &y, bf);
                if *xorsign {
                    let signs = self.binary("xor", &a, &b);
                    let sign = self.constant(a.ty, 0x8000);
                    let signs = self.binary("and", &signs, &sign);
                    let signed = self.binary("or", &value, &signs);
                    let nan = self.is_half_nan(&value, bf);
                    value = self.select(&nan, &value, &signed);
                }
                Ok(self.regrouped(&value, whole))
            }
            _ => Err(self.lacks(inst)),
        }
    }

    /// The operand that is a number, and of two zeros the one with the sign, as bits.
    fn extremum_of_halves(&mut self, max: bool, strict: bool, a: &Val, b: &Val, bf: bool) -> Val {
        let (x, y) = (self.widened(a, bf), self.widened(b, bf));
        let first = self.compare(if max { "ogt" } else { "olt" }, &x, &y);
        let value = self.select(&first, a, b);
        // Equal numbers differ at most in the sign of zero.
        let equal = self.compare("oeq", &x, &y);
        let both = self.binary(if max { "and" } else { "or" }, a, b);
        let value = self.select(&equal, &both, &value);
        let (no_a, no_b) = (self.compare("uno", &x, &x), self.compare("uno", &y, &y));
        let value = self.select(&no_b, a, &value);
        let none = self.binary(if strict { "or" } else { "and" }, &no_a, &no_b);
        let canonical = self.constant(value.ty, 0x7fff);
        self.select(&none, &canonical, &value)
    }

    /// The type of the operands, the operands' halves, and whether they are `.bf16`.
    pub(super) fn half_operands<const N: usize>(
        &mut self,
        inst: &Inst,
        ty: ScalarType,
        operands: [Operand; N],
    ) -> Result<(Ty, [Val; N], bool), String> {
        let (_, bf) = halves(ty).ok_or_else(|| self.lacks(inst))?;
        let all = operands.map(|operand| self.operand(operand, ty));
        let vector = all.iter().any(|value| value.ty.lanes != 0);
        let all = all.map(|value| if vector { self.splat(&value) } else { value });
        let whole = all[0].ty;
        Ok((whole, all.map(|value| self.packed_parts(&value, 16)), bf))
    }

    /// The parts of so many bits of packed values, as lanes.
    pub(super) fn packed_parts(&mut self, a: &Val, part: u32) -> Val {
        let bits = a.ty.element.bits();
        if bits == part {
            return a.clone();
        }
        let ty = Ty::int(part, a.ty.lanes.max(1) * (bits / part));
        self.set(ty, format!("bitcast {} {} to {}", a.ty.text(), a.text, ty.text()))
    }

    /// Back to the type that they were of.
    pub(super) fn regrouped(&mut self, a: &Val, whole: Ty) -> Val {
        if a.ty == whole {
            return a.clone();
        }
        self.set(whole, format!("bitcast {} {} to {}", a.ty.text(), a.text, whole.text()))
    }

    fn computes_in_halves(&self, bf: bool, ftz: bool) -> bool {
        !bf && !ftz && self.plan.machine().halves
    }

    fn flushed_half(&mut self, a: &Val, bf: bool, ftz: bool) -> Val {
        if !ftz {
            return a.clone();
        }
        let (_, infinity, _) = facts(bf);
        let (exponent, sign) = (self.constant(a.ty, infinity), self.constant(a.ty, 0x8000));
        let zero = self.constant(a.ty, 0);
        let exponent = self.binary("and", a, &exponent);
        let small = self.compare("eq", &exponent, &zero);
        let sign = self.binary("and", a, &sign);
        self.select(&small, &sign, a)
    }

    /// As an `.f32`, subnormal numbers as zeros where `ftz` asks for it.
    pub(super) fn half_value(&mut self, a: &Val, bf: bool, ftz: bool) -> Val {
        let a = self.flushed_half(a, bf, ftz);
        self.widened(&a, bf)
    }

    pub(super) fn is_half_nan(&mut self, a: &Val, bf: bool) -> Val {
        let (magnitude, infinity) = (self.constant(a.ty, 0x7fff), self.constant(a.ty, facts(bf).1));
        let magnitude = self.binary("and", a, &magnitude);
        self.compare("ugt", &magnitude, &infinity)
    }

    /// A product of two and a third, rounded once.
    fn fused_halves(&mut self, [a, b, c]: [&Val; 3], bf: bool, how: Finish) -> Val {
        if self.computes_in_halves(bf, how.ftz) {
            let [a, b, c] = [a, b, c].map(|value| self.cast("bitcast", value, Element::F16));
            let value = self.intrinsic("fma", &[&a, &b, &c]);
            return self.computed_half(&value, how);
        }
        let [mut a, mut b, mut c] = [a, b, c].map(|value| self.half_value(value, bf, how.ftz));
        if bf {
            // Exponents of products of `.bf16` pass those of `.f32`.
            [a, b, c] = [a, b, c].map(|value| self.cast("fpext", &value, Element::F64));
        }
        let product = self.binary("fmul", &a, &b);
        let sum = self.odd_sum(&product, &c);
        let sum = if bf { self.odd_single(&sum) } else { sum };
        self.finished_half(&sum, bf, how)
    }

    /// What the processor has computed in `.f16`.
    fn computed_half(&mut self, value: &Val, how: Finish) -> Val {
        let bits = self.bits_of_float(value);
        let (nan, canonical) = (self.compare("uno", value, value), self.constant(bits.ty, 0x7fff));
        let bits = self.select(&nan, &canonical, &bits);
        self.bounded_half(&bits, false, how)
    }

    /// The nearest half of an `.f32`.
    pub(super) fn narrowed(&mut self, a: &Val, bf: bool) -> Val {
        if !bf {
            return self.narrowed_half(a);
        }
        let bits = self.bits_of_float(a);
        let by = self.constant(bits.ty, 16);
        let (one, below) = (self.constant(bits.ty, 1), self.constant(bits.ty, 0x7fff));
        let last = self.binary("lshr", &bits, &by);
        let last = self.binary("and", &last, &one);
        let up = self.binary("add", &last, &below);
        let rounded = self.binary("add", &bits, &up);
        let rounded = self.binary("lshr", &rounded, &by);
        let rounded = self.resize(&rounded, 16, false);
        let (nan, canonical) = (self.compare("uno", a, a), self.constant(rounded.ty, 0x7fff));
        self.select(&nan, &canonical, &rounded)
    }

    /// A half as an `.f32`.
    pub(super) fn widened(&mut self, a: &Val, bf: bool) -> Val {
        if !bf {
            return self.widened_half(a);
        }
        let bits = self.resize(a, 32, false);
        let by = self.constant(bits.ty, 16);
        let bits = self.binary("shl", &bits, &by);
        self.cast("bitcast", &bits, Element::F32)
    }

    /// The result of a number that is exact, or rounded so that it may be rounded once more.
    fn finished_half(&mut self, value: &Val, bf: bool, how: Finish) -> Val {
        let mut bits = self.narrowed(value, bf);
        if how.ftz {
            let scale = self.single(value.ty, SCALE);
            let scaled = self.binary("fmul", value, &scale);
            let scaled = self.narrowed(&scaled, bf);
            let (magnitude, sign) = (self.constant(bits.ty, 0x7fff), self.constant(bits.ty, 0x8000));
            let bound = self.constant(bits.ty, (SCALE_EXPONENT + 1) << facts(bf).0);
            let scaled = self.binary("and", &scaled, &magnitude);
            let tiny = self.compare("ult", &scaled, &bound);
            let sign = self.binary("and", &bits, &sign);
            bits = self.select(&tiny, &sign, &bits);
        }
        self.bounded_half(&bits, bf, how)
    }

    fn bounded_half(&mut self, bits: &Val, bf: bool, how: Finish) -> Val {
        if !(how.sat || how.relu) {
            return bits.clone();
        }
        let zero = self.constant(bits.ty, 0);
        let negative = self.compare("slt", bits, &zero);
        let nan = self.is_half_nan(bits, bf);
        if how.relu {
            let below = self.select(&nan, bits, &zero);
            return self.select(&negative, &below, bits);
        }
        let one = self.constant(bits.ty, facts(bf).2);
        let most = self.intrinsic("umin", &[bits, &one]);
        let none = self.binary("or", &negative, &nan);
        self.select(&none, &zero, &most)
    }
}
