//! Instructions that compute, in the order of the PTX manual.

use warploom_ptx::ir::{
    AddressTarget, BarrierOp, CallTarget, FenceOp, Inst, IntBinaryOp, IntUnaryOp, LogicOp, MulMode, Op, Operand,
    ScalarType, Semantics, ShiftDirection, Space,
};

use super::exchange::is_exchange;
use super::function::{Val, Writer};
use super::how::{How, how};
use super::names::Ty;
use super::span::Across;
use super::stop::StopKind;
use super::window;
use crate::range::is_integer;
use crate::shape::Shape;
use crate::values::ValueId;

impl Writer<'_> {
    /// One instruction, for the lanes of the mask.
    pub(super) fn instruction(&mut self, inst: &Inst) -> Result<(), String> {
        match how(&inst.op) {
            How::Declined | How::Turns => return Err(self.lacks(inst)),
            How::Nothing => return Ok(()),
            How::Step => return self.stepped(inst),
            How::Vector | How::Lanes | How::Inlined | How::Region => {}
        }
        match &inst.op {
            Op::Ld { .. } => return self.ld(inst),
            Op::St { .. } => return self.st(inst),
            Op::Atom { .. } => return self.atom(inst),
            Op::Fence(fence) => return self.fence(inst, fence),
            // Not all threads come to it together.
            Op::Barrier(BarrierOp::Yield) => return Ok(()),
            op if is_exchange(op) => return self.exchange(inst),
            Op::Brkpt => {
                self.end(inst, StopKind::Trap);
                return Ok(());
            }
            Op::Multicast(_) => {
                self.end(inst, StopKind::NoMulticast);
                return Ok(());
            }
            Op::Call { target, .. } => {
                return match **target {
                    CallTarget::Direct(id) if self.plan.info.has_code(id) => self.call(inst, id),
                    CallTarget::Direct(_) => self.stepped(inst),
                    CallTarget::Indirect { .. } => self.no_function(inst),
                };
            }
            Op::Setp { .. } => return self.set_predicates(inst),
            Op::AddCarry { .. } | Op::MadCarry { .. } => return self.extended(inst),
            Op::Lop3 { .. } => return self.lop3(inst),
            Op::Unpack { ty, dst, src } => return self.unpack(inst, *ty, dst.len(), *src),
            _ => {}
        }
        // What a pattern comes to the same of in all lanes is computed from the first one.
        let written = self.plan.info.values.written(self.plan.body, self.inst);
        let begins = written.and_then(|value| self.plan.begins(value));
        let lazy = written.is_some_and(|value| self.plan.is_lazy(value));
        if !lazy && begins.is_none() {
            self.first_lane = written.is_some_and(|value| self.is_scalar(value));
            let result = self.result(inst);
            self.first_lane = false;
            let (value, signed) = result?;
            self.write(inst, 0, &value, signed)?;
        }
        if self.wants_base() {
            self.guessed = self.find_out();
            self.first_lane = true;
            let base = self.result(inst);
            self.first_lane = false;
            let flag = self.holds(inst);
            self.guessed = None;
            let ((base, _), flag) = (base?, flag?);
            let base = self.scalar(inst, base)?;
            self.write_base(inst, Some(base), flag)?;
        }
        match written {
            Some(value) if begins == Some(self.inst) => self.write_apart(inst, value),
            _ => Ok(()),
        }
    }

    /// The host's.
    fn fence(&mut self, inst: &Inst, fence: &FenceOp) -> Result<(), String> {
        match fence {
            FenceOp::Thread { semantics: Semantics::Sc, .. } => self.line("fence seq_cst"),
            FenceOp::Thread { .. } | FenceOp::Proxy(_) => self.line("fence acq_rel"),
            FenceOp::MbarrierInit => return Err(self.lacks(inst)),
        }
        Ok(())
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
            Shape::Affine(affine) => affine.told_by.contains(&self.inst),
            _ => false,
        });
        if asked {
            let (source, ty) = match &inst.op {
                // Nothing is widened: only the guess was asked for.
                Op::IntBinary { .. } | Op::Shift { .. } if self.guessed.is_some() => return Ok(flag),
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
        let written = self.plan.info.values.written(self.plan.body, self.inst);
        let across = written.filter(|_| self.team > 0).map(|id| self.plan.across(id));
        let shape = match (across, self.plan.wide()) {
            // For all gangs of the team at once.
            (Some(Across::Steps(_)), Some(wide)) => wide.shape(value),
            _ => self.shape(value),
        };
        let (low, high) = match shape {
            Shape::Affine(affine) => affine.lanes.bounds(),
            Shape::Varying(_) if let Some(guess) = self.plan.info.guess(value) => guess.lanes.bounds(),
            shape if shape.is_uniform() => (0, 0),
            _ => return Err(self.lacks(inst)),
        };
        if ty.bits() > 32 {
            return Err(self.lacks(inst));
        }
        let (least, most) = match (ty.is_signed(), ty.bits()) {
            (true, bits) => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
            (false, bits) => (0, (1i64 << bits) - 1),
        };
        let base = self.base_within(inst, value, ty)?;
        let mut fine = self.are_within(&base, [low, high], [least, most]);
        if let Some(Across::Even) = across {
            // Where the last gang has as many times what the second has more, no gang before it has wrapped around.
            let second = self.of_member(1, |this| this.base_within(inst, value, ty))?;
            let step = self.binary("sub", &second, &base);
            let step = self.resize(&step, ty.bits(), false);
            let step = self.resize(&step, 64, true);
            let times = self.constant(step.ty, i64::from(self.team) - 1);
            let step = self.binary("mul", &step, &times);
            let last = self.binary("add", &base, &step);
            let last = self.are_within(&last, [low, high], [least, most]);
            fine = self.binary("and", &fine, &last);
        }
        Ok(fine)
    }

    /// What the first lane has of a number, which may be held in a wider register.
    fn base_within(&mut self, inst: &Inst, value: ValueId, ty: ScalarType) -> Result<Val, String> {
        let base = self.read_base(value).ok_or_else(|| self.lacks(inst))?;
        let base = self.resize(&base, ty.bits(), false);
        Ok(self.resize(&base, 64, ty.is_signed()))
    }

    /// Whether a pattern that reaches from one number to another behind a first one stays between two others.
    fn are_within(&mut self, base: &Val, [low, high]: [i64; 2], [least, most]: [i64; 2]) -> Val {
        let i64 = base.ty;
        let (low, high) = (self.constant(i64, low), self.constant(i64, high));
        let (least, most) = (self.constant(i64, least), self.constant(i64, most));
        let first = self.binary("add", base, &low);
        let last = self.binary("add", base, &high);
        let first = self.compare("sge", &first, &least);
        let last = self.compare("sle", &last, &most);
        self.binary("and", &first, &last)
    }

    pub(super) fn two(&mut self, a: Operand, b: Operand, ty: ScalarType) -> (Val, Val) {
        let (a, b) = (self.operand(a, ty), self.operand(b, ty));
        self.alike(a, b)
    }

    pub(super) fn two_floats(&mut self, a: Operand, b: Operand, ty: ScalarType) -> Result<(Val, Val), String> {
        let (a, b) = (self.float_operand(a, ty)?, self.float_operand(b, ty)?);
        Ok(self.alike(a, b))
    }

    /// The result, and whether it is extended with its sign to a wider register.
    pub(super) fn result(&mut self, inst: &Inst) -> Result<(Val, bool), String> {
        let plain = |value: Val| Ok((value, false));
        match &inst.op {
            Op::IntBinary { op: op @ (IntBinaryOp::Div | IntBinaryOp::Rem), ty, a, b, .. } if is_integer(*ty) => {
                plain(self.divided(*op == IntBinaryOp::Rem, *ty, *a, *b))
            }
            Op::IntBinary { .. } => plain(self.summed_or_compared(inst)?),
            Op::Clmad { hi, a, b, c, .. } => plain(self.without_carries(*hi, [*a, *b, *c])),
            Op::Mul24 { mode, ty, a, b, .. } => plain(self.product24(*mode == MulMode::Hi, *ty, *a, *b)),
            Op::Mad24 { mode, ty, sat, a, b, c, .. } => {
                let product = self.product24(*mode == MulMode::Hi, *ty, *a, *b);
                let c = self.operand(*c, *ty);
                plain(self.added(product, c, *sat))
            }
            Op::Sad { ty, a, b, c, .. } if is_integer(*ty) => plain(self.distance(*ty, [*a, *b, *c])),
            Op::Bfe { ty, a, pos, len, .. } => plain(self.extracted(*ty, *a, *pos, *len)),
            Op::Bfi { ty, a, b, pos, len, .. } => plain(self.inserted(*ty, [*a, *b, *pos, *len])),
            Op::Dp4a { a_ty, b_ty, a, b, c, .. } => {
                plain(self.dot([*a, *b, *c], [a_ty.is_signed(), b_ty.is_signed()], 4, 0))
            }
            Op::Dp2a { hi, a_ty, b_ty, a, b, c, .. } => {
                plain(self.dot([*a, *b, *c], [a_ty.is_signed(), b_ty.is_signed()], 2, if *hi { 2 } else { 0 }))
            }
            Op::Shf { direction, mode, lo, hi, amount, .. } => {
                plain(self.funnel(*direction, *mode, [*lo, *hi, *amount]))
            }
            Op::Prmt { mode, a, b, selector, .. } => plain(self.chosen_bytes(*mode, [*a, *b, *selector])),
            Op::Bmsk { mode, pos, len, .. } => plain(self.mask_of_bits(*mode, *pos, *len)),
            Op::Szext { mode, ty, a, len, .. } => plain(self.extended_bits(*mode, *ty, *a, *len)),
            Op::CvtPack { dst_ty, a, b, c, .. } => plain(self.packed(*dst_ty, [*a, *b], *c)),
            Op::Copysign { ty, a, b, .. } => {
                let (a, b) = self.two_floats(*a, *b, *ty)?;
                plain(self.intrinsic("copysign", &[&b, &a]))
            }
            // Of a predicate too.
            Op::IntUnary { op: IntUnaryOp::Not, ty, a, .. } => {
                let a = self.operand(*a, *ty);
                let ones = self.constant(a.ty, -1);
                plain(self.binary("xor", &a, &ones))
            }
            Op::IntUnary { op: op @ (IntUnaryOp::Bfind | IntUnaryOp::BfindShift), ty, a, .. } if is_integer(*ty) => {
                plain(self.found(*ty, *a, *op == IntUnaryOp::BfindShift))
            }
            Op::IntUnary { op, ty, a, .. } if is_integer(*ty) => {
                let a = self.operand(*a, *ty);
                let zero = self.constant(a.ty, 0);
                match op {
                    IntUnaryOp::Neg => plain(self.binary("sub", &zero, &a)),
                    IntUnaryOp::Abs => {
                        let negative = self.binary("sub", &zero, &a);
                        let below = self.compare("slt", &a, &zero);
                        plain(self.select(&below, &negative, &a))
                    }
                    IntUnaryOp::Popc => {
                        let count = self.intrinsic("ctpop", &[&a]);
                        plain(self.resize(&count, 32, false))
                    }
                    IntUnaryOp::Clz => {
                        let count = self.leading_zeros(&a);
                        plain(self.resize(&count, 32, false))
                    }
                    IntUnaryOp::Cnot => plain(self.is_nothing(&a)),
                    IntUnaryOp::Brev => plain(self.intrinsic("bitreverse", &[&a])),
                    _ => Err(self.lacks(inst)),
                }
            }
            Op::Mul { mode, ty, a, b, .. } if is_integer(*ty) => {
                let (a, b) = self.two(*a, *b, *ty);
                plain(self.product(*mode, *ty, &a, &b))
            }
            Op::Mad { mode, ty, sat, a, b, c, .. } if is_integer(*ty) => {
                let (a, b) = self.two(*a, *b, *ty);
                let product = self.product(*mode, *ty, &a, &b);
                let wide = if *mode == MulMode::Wide { ty.doubled() } else { *ty };
                let c = self.operand(*c, wide);
                plain(self.added(product, c, *sat))
            }
            Op::FloatUnary { .. } => plain(self.float_unary(inst)?),
            Op::FloatBinary { .. } => plain(self.float_binary(inst)?),
            Op::Fma { .. } => plain(self.fused(inst)?),
            Op::FloatMinMax { .. } => plain(self.lowest_or_highest(inst)?),
            Op::Testp { op, ty, a, .. } => plain(self.tested(*op, *ty, *a)?),
            Op::Set { .. } => plain(self.set_number(inst)?),
            Op::Slct { ty, c_ty, ftz, a, b, c, .. } => {
                let (a, b) = self.two(*a, *b, *ty);
                let first = if *c_ty == ScalarType::F32 {
                    let c = self.float_operand(*c, *c_ty)?;
                    let c = self.flush(&c, *ftz);
                    let zero = self.constant(c.ty, 0);
                    self.compare("oge", &c, &zero)
                } else {
                    let c = self.operand(*c, *c_ty);
                    let zero = self.constant(c.ty, 0);
                    self.compare("sge", &c, &zero)
                };
                let (first, a, b) = self.alike3(first, a, b);
                plain(self.select(&first, &a, &b))
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
            Op::AddressOf { target: AddressTarget::Function(id), .. } => {
                plain(self.constant(Ty::int(64, 0), window::FUNCTIONS + 16 * i64::from(id.0)))
            }
            // A place in each thread's own memory, or among the launch's parameters: the same number for all of them.
            Op::AddressOf { ty, target: AddressTarget::LocalFrame | AddressTarget::ParamFrame, offset, .. } => {
                plain(self.constant(Ty::int(ty.bits(), 0), *offset))
            }
            Op::Cvta { space: Space::Global | Space::Const | Space::Generic, ty, a, .. } => {
                plain(self.operand(*a, *ty))
            }
            Op::Cvta { to_generic, space, ty, a, .. } => {
                let start = match space {
                    Space::Shared | Space::SharedCluster => window::SHARED,
                    Space::Local => window::LOCAL,
                    Space::Param => window::PARAM,
                    _ => return Err(self.lacks(inst)),
                };
                let a = self.operand(*a, *ty);
                if ty.bits() < 64 {
                    return plain(a);
                }
                let start = self.constant(a.ty, start);
                plain(self.binary(if *to_generic { "add" } else { "sub" }, &a, &start))
            }
            Op::Mapa { ty, a, rank, .. } => plain(self.in_cta(*ty, *a, *rank)),
            Op::GetCtaRank { ty, a, .. } => plain(self.rank_of(*ty, *a)),
            Op::Cvt { .. } => self.converted(inst),
            Op::ReadSpecial { ty, reg, .. } => {
                let value = self.special(inst, *reg)?;
                plain(self.resize(&value, ty.bits(), false))
            }
            _ => Err(self.lacks(inst)),
        }
    }

    /// `mapa`: the same place in the shared memory of another CTA. Bits 24 to 31 of an address have the CTA's rank.
    fn in_cta(&mut self, ty: ScalarType, a: Operand, rank: Operand) -> Val {
        let (a, rank) = (self.operand(a, ty), self.operand(rank, ScalarType::U32));
        let (a, rank) = self.alike(a, rank);
        let own = if ty.bits() > 32 { !0xff00_0000 } else { 0x00ff_ffff };
        let offset = self.constant(a.ty, own);
        let offset = self.binary("and", &a, &offset);
        let by = self.constant(rank.ty, 24);
        let rank = self.binary("shl", &rank, &by);
        let rank = self.resize(&rank, ty.bits(), false);
        self.binary("or", &offset, &rank)
    }

    /// `getctarank`
    fn rank_of(&mut self, ty: ScalarType, a: Operand) -> Val {
        let a = self.operand(a, ty);
        let low = self.resize(&a, 32, false);
        let by = self.constant(low.ty, 24);
        self.binary("lshr", &low, &by)
    }

    pub(super) fn product(&mut self, mode: MulMode, ty: ScalarType, a: &Val, b: &Val) -> Val {
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

    /// A sum, of signed numbers that stay in their range if it saturates.
    fn added(&mut self, a: Val, b: Val, sat: bool) -> Val {
        let (a, b) = self.alike(a, b);
        if sat { self.intrinsic("sadd.sat", &[&a, &b]) } else { self.binary("add", &a, &b) }
    }

    /// Amounts beyond the width give what shifting by the width would.
    fn shift(&mut self, direction: ShiftDirection, ty: ScalarType, a: Operand, amount: Operand) -> Val {
        let a = self.operand(a, ty);
        let bits = i64::from(ty.bits());
        let arithmetic = direction == ShiftDirection::Right && ty.is_signed();
        let name = match (direction, arithmetic) {
            (ShiftDirection::Left, _) => "shl",
            (ShiftDirection::Right, true) => "ashr",
            (ShiftDirection::Right, false) => "lshr",
        };
        if let Operand::Imm(by) = amount
            && (by as u32) < ty.bits()
        {
            let by = self.constant(a.ty, i64::from(by as u32));
            return self.binary(name, &a, &by);
        }
        let amount = self.operand(amount, ScalarType::U32);
        let (a, amount) = self.alike(a, amount);
        let most = self.constant(amount.ty, bits - 1);
        let limit = self.constant(amount.ty, bits);
        let within = self.compare("ult", &amount, &limit);
        let bounded = self.intrinsic("umin", &[&amount, &most]);
        let bounded = self.resize(&bounded, ty.bits(), false);
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
}
