//! Guesses that the first lane and the last one tell: of what is clamped (`min(max(x - 1, 0), width - 1)`) or chosen at a border (`x == 0 ? width - 1 : x - 1`), and of bits that
//! are shifted out of a number.

use warploom_ptx::ir::{Compare, IntBinaryOp, Op, Operand, Predicate, ScalarType, ShiftDirection};

use super::full::Sides;
use super::function::{Val, Writer};
use super::guess::Guessed;
use super::names::Ty;
use crate::range::is_integer;
use crate::shape::Shape;
use crate::values::ValueId;

impl Writer<'_> {
    /// What a value's first lane has, and whether all lanes have what is guessed of them, worked out without a look at each. For gangs all of whose lanes run.
    pub(super) fn told_by_ends(&mut self, value: ValueId) -> Option<Guessed> {
        let def = self.def_that_lasts(value)?;
        let inst = &self.plan.body.insts[def as usize];
        let before = (self.inst, self.values, self.guessed.take());
        self.turn_to(def);
        let told = match &inst.op {
            Op::IntBinary { op: op @ (IntBinaryOp::Min | IntBinaryOp::Max), ty, relu: false, a, b, .. } => {
                self.of_clamped(*op, *ty, [*a, *b])
            }
            Op::IntBinary { op: op @ (IntBinaryOp::Add | IntBinaryOp::Sub), ty, sat: false, a, b, .. } => {
                self.of_moved(*op, *ty, [*a, *b])
            }
            Op::Selp { ty, a, b, c, .. } if is_integer(*ty) => self.of_chosen(*ty, [*a, *b], *c),
            Op::Shift { direction: ShiftDirection::Right, ty, a, amount, .. } => self.of_shifted(*ty, *a, *amount),
            _ => None,
        };
        (self.inst, self.values, self.guessed) = before;
        let (first, holds) = told?;
        Some(Guessed { value, first, holds })
    }

    /// Of what is moved by what all lanes have.
    fn of_moved(&mut self, op: IntBinaryOp, ty: ScalarType, sides: [Operand; 2]) -> Option<(Val, Val)> {
        let moved = match sides.map(|side| self.is_common(side)) {
            [false, true] => sides[0],
            [true, false] if op == IntBinaryOp::Add => sides[1],
            _ => return None,
        };
        let moved = self.value_of(moved)?;
        let told = self.told_by_ends(moved)?;
        let holds = told.holds.clone();
        self.guessed = Some(told);
        let [a, b] = sides.map(|side| self.first_of(side, ty));
        Some((self.binary(if op == IntBinaryOp::Add { "add" } else { "sub" }, &a?, &b?), holds))
    }

    /// What the first lane has of an operand.
    fn first_of(&mut self, operand: Operand, ty: ScalarType) -> Option<Val> {
        match self.value_of(operand) {
            Some(value) => self.read_base(value).filter(|base| base.ty.element.bits() == ty.bits()),
            None => Some(self.operand(operand, ty)),
        }
    }

    /// Of the lesser or greater of a pattern and what all lanes have: they have the pattern if all of them take that side, and have not if one of them takes the other.
    fn of_clamped(&mut self, op: IntBinaryOp, ty: ScalarType, sides: [Operand; 2]) -> Option<(Val, Val)> {
        let (pattern, limit) = match sides.map(|side| self.is_common(side)) {
            [false, true] => (sides[0], sides[1]),
            [true, false] => (sides[1], sides[0]),
            _ => return None,
        };
        let clamped = self.value_of(pattern)?;
        if !self.has_base(clamped) {
            // Clamped on the other side before.
            self.guessed = Some(self.told_by_ends(clamped)?);
        }
        let cmp = if op == IntBinaryOp::Min { Compare::Le } else { Compare::Ge };
        let holds = self.compared(cmp, ty, pattern, limit)?.all;
        let first = self.first_of(pattern, ty)?;
        let limit = self.first_of(limit, ty)?;
        let name = match (op, ty.is_signed()) {
            (IntBinaryOp::Min, true) => "smin",
            (IntBinaryOp::Min, false) => "umin",
            (_, true) => "smax",
            (_, false) => "umax",
        };
        Some((self.intrinsic(name, &[&first, &limit]), holds))
    }

    /// Of what is chosen by a comparison: lanes have the pattern if all of them choose it, and one number if all choose the same.
    fn of_chosen(&mut self, ty: ScalarType, sides: [Operand; 2], predicate: Predicate) -> Option<(Val, Val)> {
        let condition = self.value_of(Operand::Reg(predicate.reg))?;
        let told = sides.map(|side| {
            let value = self.value_of(side).filter(|_| !self.is_common(side));
            self.guessed = value.filter(|value| !self.has_base(*value)).and_then(|value| self.told_by_ends(value));
            let holds = match value {
                Some(value) => self.read_flag(value),
                None => self.constant(Ty::int(1, 0), 1),
            };
            let first = self.first_of(side, ty);
            self.guessed = None;
            Some((first?, holds))
        });
        let [Some((first, first_holds)), Some((second, second_holds))] = told else { return None };
        let (known, is) = self.compared_in_first(condition)?;
        let Sides { all, none, .. } = known;
        let (yes, no) = if predicate.negated { (none, all) } else { (all, none) };
        let [yes, no] = [(yes, first_holds), (no, second_holds)].map(|(side, holds)| self.joined("and", &side, &holds));
        let holds = match sides.map(|side| self.is_common(side)) {
            [false, true] => yes,
            [true, false] => no,
            _ => self.joined("or", &yes, &no),
        };
        let (first, second) = if predicate.negated { (second, first) } else { (first, second) };
        Some((self.select(&is, &first, &second), holds))
    }

    /// What is known of a comparison, and what comes of it in the first lane.
    fn compared_in_first(&mut self, condition: ValueId) -> Option<(Sides, Val)> {
        let def = self.def_that_lasts(condition)?;
        let before = (self.inst, self.values, self.first_lane);
        let inst = self.turn_to(def);
        let out = match &inst.op {
            Op::Setp { combine: None, dst_q: None, ty, a, b, .. }
                if is_integer(*ty) && [*a, *b].into_iter().all(|side| self.first_of(side, *ty).is_some()) =>
            {
                let sides = self.sides_written(inst);
                self.first_lane = true;
                let is = self.compared_once(inst);
                sides.zip(is.ok())
            }
            _ => None,
        };
        (self.inst, self.values, self.first_lane) = before;
        out
    }

    /// Of the high bits of a pattern, which all lanes have in common if the first and the last one have.
    fn of_shifted(&mut self, ty: ScalarType, shifted: Operand, amount: Operand) -> Option<(Val, Val)> {
        let Operand::Imm(by) = amount else { return None };
        let value = self.value_of(shifted)?;
        let Shape::Affine(affine) = self.shape(value) else { return None };
        let (low, high) = affine.lanes.bounds();
        let fits = by < u64::from(ty.bits()) && self.element_of(value).bits() == ty.bits();
        // Lanes lie in two blocks at most then.
        if !fits || !affine.is_constant() || low != 0 || (by < 62 && high >= 1 << by) {
            return None;
        }
        let base = self.read_base(value)?;
        let [by, high] = [by as i64, high].map(|number| self.constant(base.ty, number));
        let last = self.binary("add", &base, &high);
        let name = if ty.is_signed() { "ashr" } else { "lshr" };
        let [first, last] = [&base, &last].map(|end| self.binary(name, end, &by));
        let same = self.compare("eq", &first, &last);
        let holds = self.read_flag(value);
        Some((first, self.joined("and", &same, &holds)))
    }
}
