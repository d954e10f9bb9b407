//! Instructions that compute, in the order of the PTX manual.

use warploom_ptx::ir::{
    AddressTarget, BoolOp, Compare, FloatBinaryOp, FloatUnaryOp, Inst, IntBinaryOp, IntUnaryOp, LogicOp, MulMode, Op,
    Operand, Predicate, Rounding, ScalarType, ShiftDirection, Space, SpecialReg,
};

use super::context;
use super::function::{Val, Writer};
use super::names::{Element, Ty};
use crate::range::is_integer;
use crate::shape::Shape;

impl Writer<'_> {
    /// One instruction, for the lanes of the mask.
    pub(super) fn instruction(&mut self, inst: &Inst) -> Result<(), String> {
        match &inst.op {
            Op::Ld { .. } => return self.ld(inst),
            Op::St { .. } => return self.st(inst),
            // Advice, and order between lanes that run in order.
            Op::Hint(_) | Op::CacheHint { .. } => return Ok(()),
            Op::Setp { dst_q: Some(_), .. } => return Err(self.lacks(inst)),
            Op::Unpack { ty, dst, src } => return self.unpack(inst, *ty, dst.len(), *src),
            _ => {}
        }
        // What a pattern comes to the same of in all lanes is computed from the first one.
        let written = self.plan.info.values.written(self.plan.body, self.inst);
        self.first_lane = written.is_some_and(|value| self.is_scalar(value));
        let result = self.result(inst);
        self.first_lane = false;
        let (value, signed) = result?;
        let base = if self.wants_base() {
            self.first_lane = true;
            let base = self.result(inst);
            self.first_lane = false;
            let (base, signed) = base?;
            let flag = self.holds(inst)?;
            Some((self.scalar(inst, base)?, signed, flag))
        } else {
            None
        };
        self.write(inst, 0, &value, signed)?;
        match base {
            Some((base, _, flag)) => self.write_base(inst, Some(base), flag),
            None => Ok(()),
        }
    }

    pub(super) fn lacks(&self, inst: &Inst) -> String {
        format!("line {}: {}", inst.line, self.plan.info.module.mnemonic(inst.mnemonic))
    }

    fn scalar(&self, inst: &Inst, value: Val) -> Result<Val, String> {
        if value.ty.lanes == 0 {
            Ok(value)
        } else {
            Err(format!("line {}: a pattern without its first lane", inst.line))
        }
    }

    /// Whether the pattern of the result holds.
    fn holds(&mut self, inst: &Inst) -> Result<Val, String> {
        let mut flag = self.constant(Ty::int(1, 0), 1);
        let read: Vec<_> = inst.operands().iter().filter_map(|operand| operand.read()).collect();
        for reg in read {
            if let Some(value) = self.value_of(Operand::Reg(reg)) {
                let other = self.read_flag(value);
                flag = self.binary("and", &flag, &other);
            }
        }
        let written = self.plan.info.values.written(self.plan.body, self.inst);
        let asked = written.is_some_and(|id| match self.shape(id) {
            Shape::Affine(affine) => affine.unless_wraps.contains(&self.inst),
            _ => false,
        });
        if asked {
            let (source, ty) = match &inst.op {
                Op::Mul { ty, a, b, .. } | Op::Mad { ty, a, b, .. } => {
                    let pattern =
                        |operand: &Operand| self.value_of(*operand).is_some_and(|value| !self.is_scalar(value));
                    (if pattern(a) { *a } else { *b }, *ty)
                }
                Op::Cvt { src_ty, a, .. } => (*a, *src_ty),
                _ => return Err(self.lacks(inst)),
            };
            let wide = self.has_not_wrapped(inst, source, ty)?;
            flag = self.binary("and", &flag, &wide);
        }
        Ok(flag)
    }

    /// Whether a pattern stays within its type in all lanes.
    fn has_not_wrapped(&mut self, inst: &Inst, source: Operand, ty: ScalarType) -> Result<Val, String> {
        let value = self.value_of(source).ok_or_else(|| self.lacks(inst))?;
        let Shape::Affine(affine) = self.shape(value) else { return Err(self.lacks(inst)) };
        let (low, high) = affine.lanes.bounds();
        let base = self.read_base(value).ok_or_else(|| self.lacks(inst))?;
        if ty.bits() > 32 {
            return Err(self.lacks(inst));
        }
        let base = self.resize(&base, ty.bits(), false);
        let base = self.resize(&base, 64, ty.is_signed());
        let (least, most) = match (ty.is_signed(), ty.bits()) {
            (true, bits) => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
            (false, bits) => (0, (1i64 << bits) - 1),
        };
        let i64 = base.ty;
        let (low, high) = (self.constant(i64, low), self.constant(i64, high));
        let (least, most) = (self.constant(i64, least), self.constant(i64, most));
        let first = self.binary("add", &base, &low);
        let last = self.binary("add", &base, &high);
        let first = self.compare("sge", &first, &least);
        let last = self.compare("sle", &last, &most);
        Ok(self.binary("and", &first, &last))
    }

    fn two(&mut self, a: Operand, b: Operand, ty: ScalarType) -> (Val, Val) {
        let (a, b) = (self.operand(a, ty), self.operand(b, ty));
        self.alike(a, b)
    }

    fn two_floats(&mut self, a: Operand, b: Operand, ty: ScalarType) -> Result<(Val, Val), String> {
        let (a, b) = (self.float_operand(a, ty)?, self.float_operand(b, ty)?);
        Ok(self.alike(a, b))
    }

    /// The result, and whether it is extended with its sign to a wider register.
    fn result(&mut self, inst: &Inst) -> Result<(Val, bool), String> {
        let plain = |value: Val| Ok((value, false));
        match &inst.op {
            Op::IntBinary { op, ty, sat: false, relu: false, a, b, .. } if is_integer(*ty) => {
                let (a, b) = self.two(*a, *b, *ty);
                let name = match op {
                    IntBinaryOp::Add => "add",
                    IntBinaryOp::Sub => "sub",
                    IntBinaryOp::Min | IntBinaryOp::Max => {
                        let signed = if ty.is_signed() { "s" } else { "u" };
                        let which = if *op == IntBinaryOp::Min { "min" } else { "max" };
                        return plain(self.intrinsic(&format!("{signed}{which}"), &[&a, &b]));
                    }
                    IntBinaryOp::Div | IntBinaryOp::Rem => return Err(self.lacks(inst)),
                };
                plain(self.binary(name, &a, &b))
            }
            Op::IntUnary { op, ty, a, .. } if is_integer(*ty) => {
                let a = self.operand(*a, *ty);
                let (zero, ones) = (self.constant(a.ty, 0), self.constant(a.ty, -1));
                match op {
                    IntUnaryOp::Neg => plain(self.binary("sub", &zero, &a)),
                    IntUnaryOp::Not => plain(self.binary("xor", &a, &ones)),
                    IntUnaryOp::Abs => {
                        let negative = self.binary("sub", &zero, &a);
                        let below = self.compare("slt", &a, &zero);
                        plain(self.select(&below, &negative, &a))
                    }
                    IntUnaryOp::Popc => {
                        let count = self.intrinsic("ctpop", &[&a]);
                        plain(self.resize(&count, 32, false))
                    }
                    IntUnaryOp::Brev => plain(self.intrinsic("bitreverse", &[&a])),
                    _ => Err(self.lacks(inst)),
                }
            }
            Op::Mul { mode, ty, a, b, .. } if is_integer(*ty) => {
                let (a, b) = self.two(*a, *b, *ty);
                plain(self.product(*mode, *ty, &a, &b))
            }
            Op::Mad { mode, ty, sat: false, a, b, c, .. } if is_integer(*ty) => {
                let (a, b) = self.two(*a, *b, *ty);
                let product = self.product(*mode, *ty, &a, &b);
                let wide = if *mode == MulMode::Wide { ty.doubled() } else { *ty };
                let c = self.operand(*c, wide);
                let (product, c) = self.alike(product, c);
                plain(self.binary("add", &product, &c))
            }
            Op::FloatUnary { op, ty, rnd: Rounding::Rn, ftz: false, a, .. } => self.float_unary(inst, *op, *ty, *a),
            Op::FloatBinary { op, ty, a_ty, rnd: Rounding::Rn, ftz: false, sat: false, a, b, .. } if ty == a_ty => {
                let name = match op {
                    FloatBinaryOp::Add => "fadd",
                    FloatBinaryOp::Sub => "fsub",
                    FloatBinaryOp::Mul => "fmul",
                    FloatBinaryOp::Div | FloatBinaryOp::DivFull => "fdiv",
                    FloatBinaryOp::DivApprox => return Err(self.lacks(inst)),
                };
                let (a, b) = self.two_floats(*a, *b, *ty)?;
                plain(self.binary(name, &a, &b))
            }
            Op::Fma {
                ty, a_ty, rnd: Rounding::Rn, ftz: false, sat: false, relu: false, oob: false, a, b, c, ..
            } if ty == a_ty => {
                let (a, b, c) =
                    (self.float_operand(*a, *ty)?, self.float_operand(*b, *ty)?, self.float_operand(*c, *ty)?);
                let (a, b, c) = self.alike3(a, b, c);
                plain(self.intrinsic("fma", &[&a, &b, &c]))
            }
            Op::FloatMinMax { max, ty, ftz: false, nan: false, abs: false, xorsign: false, a, b, c: None, .. } => {
                let (a, b) = self.two_floats(*a, *b, *ty)?;
                plain(self.extremum(*max, &a, &b))
            }
            Op::Set { .. } => Err(self.lacks(inst)),
            Op::Setp { cmp, ftz: false, ty, combine, dst_q: None, a, b, .. } => {
                let result = self.comparison(inst, *cmp, *ty, *a, *b)?;
                plain(self.combined(result, *combine))
            }
            Op::Selp { ty, a, b, c, .. } => {
                let (a, b) = (self.operand(*a, *ty), self.operand(*b, *ty));
                let c = self.predicate(*c);
                if c.ty.lanes == 0 {
                    let (a, b) = self.alike(a, b);
                    return plain(self.select(&c, &a, &b));
                }
                let (a, b) = (self.splat(&a), self.splat(&b));
                plain(self.select(&c, &a, &b))
            }
            Op::Logic { op, ty, a, b, .. } => {
                let (a, b) = self.two(*a, *b, *ty);
                let name = match op {
                    LogicOp::And => "and",
                    LogicOp::Or => "or",
                    LogicOp::Xor => "xor",
                };
                plain(self.binary(name, &a, &b))
            }
            Op::Shift { direction, ty, a, amount, .. } => plain(self.shift(*direction, *ty, *a, *amount)),
            Op::Mov { ty, src, .. } => plain(self.operand(*src, *ty)),
            Op::Pack { ty, elements, .. } => {
                let element = ty.element(elements.len());
                let mut all: Option<Val> = None;
                for (at, operand) in elements.iter().enumerate() {
                    let part = self.operand(*operand, element);
                    let part = self.resize(&part, ty.bits(), false);
                    let by = self.constant(part.ty, i64::from(element.bits()) * at as i64);
                    let part = self.binary("shl", &part, &by);
                    all = Some(match all {
                        None => part,
                        Some(all) => {
                            let (all, part) = self.alike(all, part);
                            self.binary("or", &all, &part)
                        }
                    });
                }
                plain(all.ok_or_else(|| self.lacks(inst))?)
            }
            Op::AddressOf { ty, target: AddressTarget::Global(id), offset, .. } => {
                let address = self.variable(*id, *offset);
                plain(self.resize(&address, ty.bits(), false))
            }
            Op::Cvta { space: Space::Global | Space::Const, ty, a, .. } => plain(self.operand(*a, *ty)),
            Op::Cvt { .. } => self.converted(inst),
            Op::ReadSpecial { ty, reg, .. } => {
                let value = self.special(inst, *reg)?;
                plain(self.resize(&value, ty.bits(), false))
            }
            _ => Err(self.lacks(inst)),
        }
    }

    fn product(&mut self, mode: MulMode, ty: ScalarType, a: &Val, b: &Val) -> Val {
        let bits = ty.bits();
        if mode == MulMode::Lo {
            return self.binary("mul", a, b);
        }
        let (a, b) = (self.resize(a, 2 * bits, ty.is_signed()), self.resize(b, 2 * bits, ty.is_signed()));
        let product = self.binary("mul", &a, &b);
        if mode == MulMode::Wide {
            return product;
        }
        let by = self.constant(product.ty, i64::from(bits));
        let high = self.binary("lshr", &product, &by);
        self.resize(&high, bits, false)
    }

    fn float_unary(
        &mut self,
        inst: &Inst,
        op: FloatUnaryOp,
        ty: ScalarType,
        a: Operand,
    ) -> Result<(Val, bool), String> {
        let a = self.float_operand(a, ty)?;
        let one = self.constant(a.ty, if ty == ScalarType::F32 { 0x3f80_0000 } else { 0x3ff0_0000_0000_0000 });
        let single = ty == ScalarType::F32;
        let value = match op {
            FloatUnaryOp::Neg => self.set(a.ty, format!("fneg {} {}", a.ty.text(), a.text)),
            FloatUnaryOp::Abs => self.intrinsic("fabs", &[&a]),
            FloatUnaryOp::Rcp => self.binary("fdiv", &one, &a),
            FloatUnaryOp::Sqrt => self.intrinsic("sqrt", &[&a]),
            // As `warploom_numerics::approx` defines them.
            FloatUnaryOp::RcpApprox if single => self.binary("fdiv", &one, &a),
            FloatUnaryOp::SqrtApprox if single => self.intrinsic("sqrt", &[&a]),
            FloatUnaryOp::RsqrtApprox if single => {
                let root = self.intrinsic("sqrt", &[&a]);
                self.binary("fdiv", &one, &root)
            }
            _ => return Err(self.lacks(inst)),
        };
        Ok((value, false))
    }

    /// The operand that is a number, and of two zeros the one with the sign.
    fn extremum(&mut self, max: bool, a: &Val, b: &Val) -> Val {
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

    fn comparison(&mut self, inst: &Inst, cmp: Compare, ty: ScalarType, a: Operand, b: Operand) -> Result<Val, String> {
        if Element::float(ty).is_some() {
            let name = match cmp {
                Compare::Eq => "oeq",
                Compare::Ne => "one",
                Compare::Lt => "olt",
                Compare::Le => "ole",
                Compare::Gt => "ogt",
                Compare::Ge => "oge",
                Compare::Equ => "ueq",
                Compare::Neu => "une",
                Compare::Ltu => "ult",
                Compare::Leu => "ule",
                Compare::Gtu => "ugt",
                Compare::Geu => "uge",
                Compare::Num => "ord",
                Compare::Nan => "uno",
            };
            let (a, b) = self.two_floats(a, b, ty)?;
            return Ok(self.compare(name, &a, &b));
        }
        if !is_integer(ty) {
            return Err(self.lacks(inst));
        }
        let signed = ty.is_signed();
        let name = match (cmp, signed) {
            (Compare::Eq, _) => "eq",
            (Compare::Ne, _) => "ne",
            (Compare::Lt, true) => "slt",
            (Compare::Le, true) => "sle",
            (Compare::Gt, true) => "sgt",
            (Compare::Ge, true) => "sge",
            (Compare::Lt, false) => "ult",
            (Compare::Le, false) => "ule",
            (Compare::Gt, false) => "ugt",
            (Compare::Ge, false) => "uge",
            _ => return Err(self.lacks(inst)),
        };
        let (a, b) = self.two(a, b, ty);
        Ok(self.compare(name, &a, &b))
    }

    fn combined(&mut self, result: Val, combine: Option<(BoolOp, Predicate)>) -> Val {
        let Some((op, predicate)) = combine else { return result };
        let other = self.predicate(predicate);
        let (result, other) = self.alike(result, other);
        let name = match op {
            BoolOp::And => "and",
            BoolOp::Or => "or",
            BoolOp::Xor => "xor",
        };
        self.binary(name, &result, &other)
    }

    /// Amounts beyond the width give what shifting by the width would.
    fn shift(&mut self, direction: ShiftDirection, ty: ScalarType, a: Operand, amount: Operand) -> Val {
        let a = self.operand(a, ty);
        let amount = self.operand(amount, ScalarType::U32);
        let (a, amount) = self.alike(a, amount);
        let bits = i64::from(ty.bits());
        let arithmetic = direction == ShiftDirection::Right && ty.is_signed();
        let most = self.constant(amount.ty, bits - 1);
        let limit = self.constant(amount.ty, bits);
        let within = self.compare("ult", &amount, &limit);
        let bounded = self.intrinsic("umin", &[&amount, &most]);
        let bounded = self.resize(&bounded, ty.bits(), false);
        let name = match (direction, arithmetic) {
            (ShiftDirection::Left, _) => "shl",
            (ShiftDirection::Right, true) => "ashr",
            (ShiftDirection::Right, false) => "lshr",
        };
        let shifted = self.binary(name, &a, &bounded);
        if arithmetic {
            return shifted;
        }
        let zero = self.constant(shifted.ty, 0);
        self.select(&within, &shifted, &zero)
    }

    fn unpack(&mut self, inst: &Inst, ty: ScalarType, count: usize, src: Operand) -> Result<(), String> {
        let whole = self.operand(src, ty);
        let element = ty.element(count);
        for at in 0..count {
            let by = self.constant(whole.ty, i64::from(element.bits()) * at as i64);
            let part = self.binary("lshr", &whole, &by);
            let part = self.resize(&part, element.bits(), false);
            self.write(inst, at, &part, false)?;
        }
        Ok(())
    }

    fn word(&mut self, offset: u32) -> Val {
        let at = self.field(offset);
        self.set(Ty::int(32, 0), format!("load i32, ptr {at}, !invariant.load !0"))
    }

    fn special(&mut self, inst: &Inst, reg: SpecialReg) -> Result<Val, String> {
        use SpecialReg::*;
        let cta = self.plan.info.gangs.cta;
        let i32 = Ty::int(32, 0);
        Ok(match reg {
            TidX => self.tid(0),
            TidY => self.tid(1),
            TidZ => self.tid(2),
            NtidX | NtidY | NtidZ => self.constant(i32, i64::from(cta[reg as usize - NtidX as usize])),
            CtaidX => self.word(context::CTAID),
            CtaidY => self.word(context::CTAID + 4),
            CtaidZ => self.word(context::CTAID + 8),
            NctaidX => self.word(context::NCTAID),
            NctaidY => self.word(context::NCTAID + 4),
            NctaidZ => self.word(context::NCTAID + 8),
            Laneid => {
                let thread = Val { ty: i32, text: "%thread".to_owned() };
                let low = self.constant(i32, 31);
                let first = self.binary("and", &thread, &low);
                if self.first_lane {
                    return Ok(first);
                }
                let first = self.splat(&first);
                let lane = Val { ty: first.ty, text: first.ty.lanes(0..i64::from(self.lanes())) };
                self.binary("add", &first, &lane)
            }
            Warpid => {
                let thread = Val { ty: i32, text: "%thread".to_owned() };
                let by = self.constant(i32, 5);
                self.binary("lshr", &thread, &by)
            }
            _ => return Err(self.lacks(inst)),
        })
    }

    /// `%tid` along an axis: from a table, as no shape of CTA is then special.
    fn tid(&mut self, axis: usize) -> Val {
        self.plan.needs_tid(axis);
        let written = self.plan.info.values.written(self.plan.body, self.inst);
        let lanes = match written {
            Some(value) if !self.first_lane && !self.is_scalar(value) => self.lanes(),
            _ => 0,
        };
        let ty = Ty::int(32, lanes);
        let at = self.set(Ty::int(64, 0), format!("getelementptr i32, ptr @tid{axis}, i32 %thread"));
        self.set(ty, format!("load {}, ptr {}, align 4", ty.text(), at.text))
    }
}
