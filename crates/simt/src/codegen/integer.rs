//! Integer arithmetic that is more than one instruction of LLVM's (PTX ISA 9.7.1), as `warploom_numerics::integer` defines it.

use warploom_ptx::ir::{ClampMode, Inst, IntBinaryOp, Op, Operand, ScalarType};

use super::function::{Val, Writer};
use super::names::{Element, Ty};
use crate::shape::Shape;

/// How many bits the parts of a packed type have.
fn part_of(ty: ScalarType) -> Option<u32> {
    match ty {
        ScalarType::U16x2 | ScalarType::S16x2 => Some(16),
        ScalarType::U8x4 | ScalarType::S8x4 => Some(8),
        _ => None,
    }
}

impl Writer<'_> {
    /// Quotient or remainder, of whole vectors: of up to 32 bits in double precision, which holds both without rounding. By zero all ones.
    pub(super) fn divided(&mut self, remainder: bool, ty: ScalarType, a: Operand, b: Operand) -> Val {
        let signed = ty.is_signed();
        let by_constant = match b {
            Operand::Imm(number) => {
                let bits = number << (64 - ty.bits()) >> (64 - ty.bits());
                bits != 0 && !(signed && bits == u64::MAX >> (64 - ty.bits()))
            }
            Operand::Reg(_) => false,
        };
        let numerator = a;
        let (a, b) = (self.operand(a, ty), self.operand(b, ty));
        if !by_constant && let Some((first, apart, holds)) = self.near_numerators(numerator, &a, &b) {
            return self.divided_once(remainder, signed, (&a, &b), (&first, apart, holds));
        }
        self.divided_by_lane(remainder, signed, by_constant, (a, b))
    }

    /// Of numerators that lanes have at known distances, and that have one divisor: the first one, the distances, and whether they hold.
    fn near_numerators(&mut self, numerator: Operand, a: &Val, b: &Val) -> Option<(Val, Vec<i64>, Val)> {
        let value = self.value_of(numerator).filter(|_| self.full && a.ty.lanes != 0 && b.ty.lanes == 0)?;
        let plan = self.plan;
        let (affine, is_guess) = match (self.shape(value), plan.info.guess(value)) {
            (Shape::Affine(affine), _) if affine.told_by.is_empty() => (affine, false),
            (_, Some(affine)) => (affine, true),
            _ => return None,
        };
        let apart = affine.lanes.get().to_vec();
        if !affine.is_constant() || affine.lanes.bounds().0 < 0 || affine.lanes.bounds().1 >= 1 << 30 {
            return None;
        }
        if !is_guess {
            let first = self.read_base(value)?;
            let first = self.resize(&first, a.ty.element.bits(), false);
            return Some((first, apart, self.constant(Ty::int(1, 0), 1)));
        }
        let scalar = Ty { lanes: 0, ..a.ty };
        let first = self.set(scalar, format!("extractelement {} {}, i32 0", a.ty.text(), a.text));
        if self.is_as_guessed(value) {
            return Some((first, apart, self.constant(Ty::int(1, 0), 1)));
        }
        let all = self.splat(&first);
        let steps = Val { ty: a.ty, text: a.ty.lanes(apart.iter().copied()) };
        let expected = self.binary("add", &all, &steps);
        let same = self.compare("eq", a, &expected);
        let holds = self.all_run(&same);
        Some((first, apart, holds))
    }

    /// Indices are taken apart into rows and columns: as a row has many of them, the quotient mostly is one for all lanes, and one division tells it. Full code is left
    /// where it is not, so that what is computed of it there is known to be the same for all lanes.
    fn divided_once(
        &mut self,
        remainder: bool,
        signed: bool,
        (a, b): (&Val, &Val),
        (first, apart, holds): (&Val, Vec<i64>, Val),
    ) -> Val {
        let bits = a.ty.element.bits();
        let number = |number: i64| Val { ty: first.ty, text: number.to_string() };
        let extent = apart.iter().copied().max().unwrap_or(0);
        // None is negative, nor wraps around.
        let most = if signed { i64::MAX >> (64 - bits) } else { -1 };
        let safe = self.intrinsic("umax", &[b, &number(1)]);
        let quotient = self.binary("udiv", first, &safe);
        let product = self.binary("mul", &quotient, &safe);
        let rest = self.binary("sub", first, &product);
        let left = self.binary("sub", b, &number(extent));
        let tests = [
            self.compare("ugt", b, &number(extent)),
            self.compare("ule", b, &number(most)),
            self.compare("ult", &rest, &left),
            self.compare("ule", first, &number(most - extent)),
        ];
        let fine = tests.iter().fold(holds, |all, test| self.joined("and", &all, test));
        let apart = if remainder { apart } else { vec![0; apart.len()] };
        let once_for_all = |this: &mut Self| {
            let all = this.splat(if remainder { &rest } else { &quotient });
            this.binary("add", &all, &Val { ty: a.ty, text: a.ty.lanes(apart.iter().copied()) })
        };
        if self.divides_as_guessed(&fine, &apart) {
            return once_for_all(self);
        }
        let place = self.new_place(a.ty);
        let [once, each, done] = [(); 3].map(|()| self.fresh());
        self.line(format!("br i1 {}, label %L{once}, label %L{each}, !prof !2", fine.text));
        self.label(&format!("L{each}"));
        let result = self.divided_by_lane(remainder, signed, false, (a.clone(), b.clone()));
        self.store(&result, &place);
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{once}"));
        let result = once_for_all(self);
        self.store(&result, &place);
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{done}"));
        self.load(a.ty, &place)
    }

    fn divided_by_lane(&mut self, remainder: bool, signed: bool, by_constant: bool, (a, b): (Val, Val)) -> Val {
        let (a, b) = self.alike(a, b);
        let bits = a.ty.element.bits();
        let name = match (signed, remainder) {
            (true, false) => "sdiv",
            (true, true) => "srem",
            (false, false) => "udiv",
            (false, true) => "urem",
        };
        if by_constant {
            return self.binary(name, &a, &b);
        }
        let (zero, one, ones) = (self.constant(a.ty, 0), self.constant(a.ty, 1), self.constant(a.ty, -1));
        let by_zero = self.compare("eq", &b, &zero);
        // What would overflow is the negative, or leaves nothing.
        let by_minus_one = self.compare("eq", &b, &ones);
        let special = if signed { self.binary("or", &by_zero, &by_minus_one) } else { by_zero.clone() };
        let safe = self.select(&special, &one, &b);
        let value = if a.ty.lanes == 0 || bits > 32 {
            self.binary(name, &a, &safe)
        } else {
            let (to, from) = if signed { ("sitofp", "fptosi") } else { ("uitofp", "fptoui") };
            let (x, y) = (self.cast(to, &a, Element::F64), self.cast(to, &safe, Element::F64));
            let quotient = self.binary("fdiv", &x, &y);
            let quotient = self.cast(from, &quotient, Element::Int(a.ty.element.bits()));
            if remainder {
                let product = self.binary("mul", &quotient, &safe);
                self.binary("sub", &a, &product)
            } else {
                quotient
            }
        };
        let value = if signed {
            let negative = if remainder { zero } else { self.binary("sub", &zero, &a) };
            self.select(&by_minus_one, &negative, &value)
        } else {
            value
        };
        self.select(&by_zero, &ones, &value)
    }

    /// `bfe`
    pub(super) fn extracted(&mut self, ty: ScalarType, a: Operand, pos: Operand, len: Operand) -> Val {
        let a = self.operand(a, ty);
        let (pos, len) = (self.operand(pos, ScalarType::U32), self.operand(len, ScalarType::U32));
        let (a, pos, len) = self.alike3(a, pos, len);
        let bits = ty.bits();
        let signed = ty.is_signed();
        let counts = self.constant(pos.ty, if bits == 64 { -1 } else { 0xff });
        let (pos, len) = (self.binary("and", &pos, &counts), self.binary("and", &len, &counts));
        let (top, whole) = (self.constant(pos.ty, i64::from(bits) - 1), self.constant(pos.ty, i64::from(bits)));
        let shift = if signed { "ashr" } else { "lshr" };
        let within = self.compare("ult", &pos, &whole);
        let bounded = self.intrinsic("umin", &[&pos, &top]);
        let bounded = self.resize(&bounded, bits, false);
        let shifted = self.binary(shift, &a, &bounded);
        let zero = self.constant(a.ty, 0);
        let shifted = if signed { shifted } else { self.select(&within, &shifted, &zero) };
        let most = self.intrinsic("umin", &[&len, &whole]);
        let unused = self.binary("sub", &whole, &most);
        // An empty field is chosen below, and would be shifted too far.
        let unused = self.intrinsic("umin", &[&unused, &top]);
        let unused = self.resize(&unused, bits, false);
        let up = self.binary("shl", &shifted, &unused);
        let field = self.binary(shift, &up, &unused);
        let end = self.intrinsic("uadd.sat", &[&pos, &len]);
        let beyond = self.compare("uge", &end, &whole);
        let field = self.select(&beyond, &shifted, &field);
        let none = self.constant(len.ty, 0);
        let empty = self.compare("eq", &len, &none);
        self.select(&empty, &zero, &field)
    }

    /// `bfi`
    pub(super) fn inserted(&mut self, ty: ScalarType, [a, b, pos, len]: [Operand; 4]) -> Val {
        let bits = ty.bits();
        let (a, b) = (self.operand(a, ty), self.operand(b, ty));
        let (pos, len) = (self.operand(pos, ScalarType::U32), self.operand(len, ScalarType::U32));
        let (a, pos, len) = self.alike3(a, pos, len);
        let (a, b) = self.alike(a, b);
        let (a, pos, len) = self.alike3(a, pos, len);
        let counts = self.constant(pos.ty, if bits == 64 { -1 } else { 0xff });
        let (pos, len) = (self.binary("and", &pos, &counts), self.binary("and", &len, &counts));
        let (a, b) = (self.resize(&a, 64, false), self.resize(&b, 64, false));
        let (pos, len) = (self.resize(&pos, 64, false), self.resize(&len, 64, false));
        let (ones, zero) = (self.constant(a.ty, -1), self.constant(a.ty, 0));
        let (limit, top) = (self.constant(a.ty, 64), self.constant(a.ty, 63));
        let all = self.compare("uge", &len, &limit);
        let bounded = self.intrinsic("umin", &[&len, &top]);
        let rest = self.binary("shl", &ones, &bounded);
        let field = self.binary("xor", &rest, &ones);
        let field = self.select(&all, &ones, &field);
        let there = self.compare("ult", &pos, &limit);
        let at = self.binary("and", &pos, &top);
        let field = self.binary("shl", &field, &at);
        let field = self.select(&there, &field, &zero);
        let moved = self.binary("shl", &a, &at);
        let inside = self.binary("and", &moved, &field);
        let outside = self.binary("xor", &field, &ones);
        let outside = self.binary("and", &b, &outside);
        let value = self.binary("or", &inside, &outside);
        self.resize(&value, bits, false)
    }

    /// `mul24`, and the product of `mad24`.
    pub(super) fn product24(&mut self, high: bool, ty: ScalarType, a: Operand, b: Operand) -> Val {
        let signed = ty.is_signed();
        let (a, b) = (self.operand(a, ty), self.operand(b, ty));
        let (a, b) = self.alike(a, b);
        let low = |this: &mut Self, value: &Val| {
            let by = this.constant(value.ty, 8);
            let up = this.binary("shl", value, &by);
            let low = this.binary(if signed { "ashr" } else { "lshr" }, &up, &by);
            this.resize(&low, 64, signed)
        };
        let (a, b) = (low(self, &a), low(self, &b));
        let product = self.binary("mul", &a, &b);
        let by = self.constant(product.ty, if high { 16 } else { 0 });
        let product = self.binary("lshr", &product, &by);
        self.resize(&product, 32, false)
    }

    /// `sad`
    pub(super) fn distance(&mut self, ty: ScalarType, [a, b, c]: [Operand; 3]) -> Val {
        let (a, b, c) = (self.operand(a, ty), self.operand(b, ty), self.operand(c, ty));
        let (a, b, c) = self.alike3(a, b, c);
        let kind = if ty.is_signed() { "s" } else { "u" };
        let high = self.intrinsic(&format!("{kind}max"), &[&a, &b]);
        let low = self.intrinsic(&format!("{kind}min"), &[&a, &b]);
        let apart = self.binary("sub", &high, &low);
        self.binary("add", &apart, &c)
    }

    /// `add`, `sub`, `mad` with a carry in and out (PTX ISA 9.7.2). A difference is the sum with the complement, and carries as that does.
    pub(super) fn extended(&mut self, inst: &Inst) -> Result<(), String> {
        let (sub, carry_in, carry_out, ty) = match &inst.op {
            Op::AddCarry { sub, carry_in, carry_out, ty, .. } => (*sub, carry_in, carry_out, *ty),
            Op::MadCarry { carry_in, carry_out, ty, .. } => (false, carry_in, carry_out, *ty),
            _ => return Err(self.lacks(inst)),
        };
        let (a, b) = match &inst.op {
            Op::MadCarry { mode, a, b, c, .. } => {
                let (a, b) = self.two(*a, *b, ty);
                let product = self.product(*mode, ty, &a, &b);
                let c = self.operand(*c, ty);
                self.alike(product, c)
            }
            Op::AddCarry { a, b, .. } => self.two(*a, *b, ty),
            _ => return Err(self.lacks(inst)),
        };
        let ones = self.constant(b.ty, -1);
        let b = if sub { self.binary("xor", &b, &ones) } else { b };
        let carry = match carry_in {
            Some(carry) => self.operand(Operand::Reg(*carry), ScalarType::Pred),
            None => self.constant(a.ty.with(Element::Int(1)), i64::from(sub)),
        };
        let (a, b, carry) = self.alike3(a, b, carry);
        let carry = self.resize(&carry, ty.bits(), false);
        let partial = self.binary("add", &a, &b);
        let sum = self.binary("add", &partial, &carry);
        let Some(out) = carry_out else { return self.write(inst, 0, &sum, ty.is_signed()) };
        let (first, second) = (self.compare("ult", &partial, &a), self.compare("ult", &sum, &partial));
        let over = self.binary("or", &first, &second);
        // In the order in which the operands are listed.
        let defs: Vec<_> = inst.operands().iter().filter_map(|operand| operand.def()).collect();
        for (at, def) in defs.iter().enumerate() {
            let value = if def == out { &over } else { &sum };
            self.write(inst, at, value, ty.is_signed() && def != out)?;
        }
        Ok(())
    }

    /// `bfind`: where the highest bit is that is no sign, or how far it is from the top; all ones if there is none.
    pub(super) fn found(&mut self, ty: ScalarType, a: Operand, from_top: bool) -> Val {
        let mut a = self.operand(a, ty);
        let (zero, last) = (self.constant(a.ty, 0), self.constant(a.ty, i64::from(ty.bits()) - 1));
        if ty.is_signed() {
            let sign = self.binary("ashr", &a, &last);
            a = self.binary("xor", &a, &sign);
        }
        let above = self.leading_zeros(&a);
        let place = if from_top { above } else { self.binary("sub", &last, &above) };
        let none = self.compare("eq", &a, &zero);
        let ones = self.constant(a.ty, -1);
        let place = self.select(&none, &ones, &place);
        self.resize(&place, 32, false)
    }

    pub(super) fn leading_zeros(&mut self, a: &Val) -> Val {
        let (ty, suffix) = (a.ty.text(), a.ty.suffix());
        self.plan.declare(format!("declare {ty} @llvm.ctlz.{suffix}({ty}, i1)"));
        self.set(a.ty, format!("call {ty} @llvm.ctlz.{suffix}({ty} {}, i1 false)", a.text))
    }

    /// A count of bits of a word: above 31 it is 32, or wraps.
    fn count_of_bits(&mut self, amount: &Val, mode: ClampMode) -> Val {
        let (name, bound) = if mode == ClampMode::Wrap { ("and", 31) } else { ("umin", 32) };
        let bound = self.constant(amount.ty, bound);
        let amount =
            if name == "and" { self.binary(name, amount, &bound) } else { self.intrinsic(name, &[amount, &bound]) };
        self.resize(&amount, 64, false)
    }

    /// `bmsk`
    pub(super) fn mask_of_bits(&mut self, mode: ClampMode, pos: Operand, len: Operand) -> Val {
        let (pos, len) = self.two(pos, len, ScalarType::B32);
        let (pos, len) = (self.count_of_bits(&pos, mode), self.count_of_bits(&len, mode));
        let one = self.constant(len.ty, 1);
        let above = self.binary("shl", &one, &len);
        let ones = self.binary("sub", &above, &one);
        let ones = self.binary("shl", &ones, &pos);
        self.resize(&ones, 32, false)
    }

    /// `szext`: the low bits, extended.
    pub(super) fn extended_bits(&mut self, mode: ClampMode, ty: ScalarType, a: Operand, len: Operand) -> Val {
        let (a, len) = self.two(a, len, ScalarType::B32);
        let (a, len) = (self.resize(&a, 64, false), self.count_of_bits(&len, mode));
        let (word, most) = (self.constant(a.ty, 32), self.constant(a.ty, 63));
        // Without any bit, what would be shifted by the whole width is shifted in two steps.
        let unused = self.binary("sub", &word, &len);
        let top = self.binary("shl", &a, &unused);
        let top = self.binary("shl", &top, &word);
        let down = self.binary("add", &unused, &word);
        let down = self.intrinsic("umin", &[&down, &most]);
        let value = self.binary(if ty.is_signed() { "ashr" } else { "lshr" }, &top, &down);
        self.resize(&value, 32, false)
    }

    /// `add`, `sub`, `min`, `max` with their modifiers; of a packed type each part is a lane.
    pub(super) fn summed_or_compared(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::IntBinary { op, ty, sat, relu, a, b, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let (a, b) = self.two(*a, *b, *ty);
        let whole = a.ty;
        let (a, b) = match part_of(*ty) {
            Some(bits) => (self.packed_parts(&a, bits), self.packed_parts(&b, bits)),
            None => (a, b),
        };
        let kind = if ty.is_signed() { "s" } else { "u" };
        let value = match (op, sat) {
            (IntBinaryOp::Add, false) => self.binary("add", &a, &b),
            (IntBinaryOp::Sub, false) => self.binary("sub", &a, &b),
            (IntBinaryOp::Add, true) => self.intrinsic(&format!("{kind}add.sat"), &[&a, &b]),
            (IntBinaryOp::Sub, true) => self.intrinsic(&format!("{kind}sub.sat"), &[&a, &b]),
            (IntBinaryOp::Min, _) => self.intrinsic(&format!("{kind}min"), &[&a, &b]),
            (IntBinaryOp::Max, _) => self.intrinsic(&format!("{kind}max"), &[&a, &b]),
            (IntBinaryOp::Div | IntBinaryOp::Rem, _) => return Err(self.lacks(inst)),
        };
        let zero = self.constant(value.ty, 0);
        let value = if *relu { self.intrinsic("smax", &[&value, &zero]) } else { value };
        Ok(self.regrouped(&value, whole))
    }

    /// A number of up to 64 bits, of an integral one: saturated, NaN becoming 0.
    pub(super) fn saturated_integer(&mut self, a: &Val, bits: u32, signed: bool) -> Val {
        let double = a.ty.element == Element::F64;
        let number = |value: f64| if double { value.to_bits() as i64 } else { i64::from((value as f32).to_bits()) };
        let power = 2f64.powi(bits as i32 - i32::from(signed));
        let over = self.constant(a.ty, number(power));
        let over = self.compare("oge", a, &over);
        let (least, most) = match signed {
            true => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
            false => (0, -1),
        };
        let bound = self.constant(a.ty, number(if signed { -power } else { 0.0 }));
        let under = self.compare("ole", a, &bound);
        let nan = self.compare("uno", a, a);
        // More bits than are asked for, where the processor has no conversion to fewer.
        let through = if bits < 32 { 32 } else { bits };
        let value = self.cast(if signed || bits < 32 { "fptosi" } else { "fptoui" }, a, Element::Int(through));
        let value = self.set(value.ty, format!("freeze {} {}", value.ty.text(), value.text));
        let value = self.resize(&value, bits, false);
        let (least, most, zero) =
            (self.constant(value.ty, least), self.constant(value.ty, most), self.constant(value.ty, 0));
        let value = self.select(&over, &most, &value);
        let value = self.select(&under, &least, &value);
        self.select(&nan, &zero, &value)
    }
}
