//! Logic and shifts that are more than one instruction of LLVM's (PTX ISA 9.7.8), and `prmt` (9.7.9.7), as `warploom_numerics::logic` defines them.

use warploom_ptx::ir::{ClampMode, Inst, Op, Operand, PrmtMode, ScalarType, ShiftDirection};

use super::function::{Val, Writer};
use super::names::Element;

impl Writer<'_> {
    pub(super) fn lop3(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::Lop3 { lut, dst: Some(_), dst_p: None, a, b, c, .. } = &inst.op else { return self.stepped(inst) };
        let word = ScalarType::B32;
        let (a, b, c) = (self.operand(*a, word), self.operand(*b, word), self.operand(*c, word));
        let (a, b, c) = self.alike3(a, b, c);
        let ones = self.constant(a.ty, -1);
        let rest = [&a, &b, &c].map(|value| self.binary("xor", value, &ones));
        let mut sum: Option<Val> = None;
        for row in (0..8u8).filter(|row| lut >> row & 1 != 0) {
            let pick = |yes: &Val, no: &Val, bit: u8| if row >> bit & 1 != 0 { yes.clone() } else { no.clone() };
            let (x, y, z) = (pick(&a, &rest[0], 2), pick(&b, &rest[1], 1), pick(&c, &rest[2], 0));
            let both = self.binary("and", &x, &y);
            let all = self.binary("and", &both, &z);
            sum = Some(match sum {
                None => all,
                Some(sum) => self.binary("or", &sum, &all),
            });
        }
        let value = sum.unwrap_or_else(|| self.constant(a.ty, 0));
        let common = self.written(inst, 0).is_some_and(|value| self.is_scalar(value));
        debug_assert!(!common || value.ty.lanes == 0);
        self.write(inst, 0, &value, false)
    }

    pub(super) fn funnel(
        &mut self,
        direction: ShiftDirection,
        mode: ClampMode,
        [low, high, amount]: [Operand; 3],
    ) -> Val {
        let word = ScalarType::B32;
        let (low, high, amount) = (self.operand(low, word), self.operand(high, word), self.operand(amount, word));
        let (low, high, amount) = self.alike3(low, high, amount);
        let left = direction == ShiftDirection::Left;
        let shifted = self.intrinsic(if left { "fshl" } else { "fshr" }, &[&high, &low, &amount]);
        if mode == ClampMode::Wrap {
            return shifted;
        }
        let limit = self.constant(amount.ty, 32);
        let over = self.compare("uge", &amount, &limit);
        self.select(&over, if left { &low } else { &high }, &shifted)
    }

    /// `prmt` with a selector that is known.
    pub(super) fn permuted_bytes(&mut self, mode: PrmtMode, a: Operand, b: Operand, selector: u64) -> Option<Val> {
        if mode != PrmtMode::Index {
            return None;
        }
        let word = ScalarType::B32;
        let (a, b) = (self.operand(a, word), self.operand(b, word));
        let (a, b) = self.alike(a, b);
        let mut all: Option<Val> = None;
        for place in 0..4u32 {
            let nibble = (selector >> (4 * place)) as u32 & 15;
            let source = if nibble & 4 == 0 { &a } else { &b };
            // To the top, and down to its place; what replicates the sign goes down as that.
            let up = self.constant(a.ty, i64::from(24 - 8 * (nibble & 3)));
            let top = self.binary("shl", source, &up);
            let byte = if nibble & 8 != 0 {
                let by = self.constant(a.ty, 31);
                self.binary("ashr", &top, &by)
            } else {
                top
            };
            let high = self.constant(a.ty, 0xff00_0000);
            let byte = self.binary("and", &byte, &high);
            let down = self.constant(a.ty, i64::from(24 - 8 * place));
            let byte = self.binary("lshr", &byte, &down);
            all = Some(match all {
                None => byte,
                Some(all) => self.binary("or", &all, &byte),
            });
        }
        all
    }

    /// 1 of zero, 0 of others.
    pub(super) fn is_nothing(&mut self, a: &Val) -> Val {
        let zero = self.constant(a.ty, 0);
        let is = self.compare("eq", a, &zero);
        self.cast("zext", &is, Element::Int(a.ty.element.bits()))
    }
}
