//! Comparison and selection (PTX ISA 9.7.6, 9.7.7).

use warploom_ptx::ir::{BoolOp, Compare, Inst, Op, Operand, Predicate, ScalarType};

use super::atomic_half::halves;
use super::function::{Val, Writer};
use super::names::{Element, Ty};
use crate::range::is_integer;

/// What is compared, and how.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    cmp: Compare,
    ty: ScalarType,
    ftz: bool,
    a: Operand,
    b: Operand,
}

impl Writer<'_> {
    /// `setp`. Of a pair the second result is that of the upper half, else the complement.
    pub(super) fn set_predicates(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::Setp { cmp, ftz, ty, combine, dst_q, a, b, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let how = Comparison { cmp: *cmp, ty: *ty, ftz: *ftz, a: *a, b: *b };
        // All lanes of a pattern may be on one side.
        self.first_lane = self.written(inst, 0).is_some_and(|value| self.is_scalar(value));
        let first = self.comparison(inst, how, 0);
        self.first_lane = false;
        let first = first?;
        let second = match (dst_q, halves(*ty)) {
            (None, _) => None,
            (Some(_), Some((2, _))) => Some(self.comparison(inst, how, 1)?),
            (Some(_), _) => {
                let ones = self.constant(first.ty, 1);
                Some(self.binary("xor", &first, &ones))
            }
        };
        // All is read before anything is written.
        let first = self.combined(first, *combine);
        let second = second.map(|second| self.combined(second, *combine));
        self.write(inst, 0, &first, false)?;
        second.map_or(Ok(()), |second| self.write(inst, 1, &second, false))
    }

    /// A comparison of numbers, of what is read of its operands.
    pub(super) fn compared_once(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::Setp { cmp, ftz, ty, a, b, .. } = &inst.op else { return Err(self.lacks(inst)) };
        self.comparison(inst, Comparison { cmp: *cmp, ty: *ty, ftz: *ftz, a: *a, b: *b }, 0)
    }

    /// `set`: ones or the number 1, by the type of the result, where it holds.
    pub(super) fn set_number(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::Set { cmp, ftz, dst_ty, ty, combine, a, b, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let how = Comparison { cmp: *cmp, ty: *ty, ftz: *ftz, a: *a, b: *b };
        let paired = matches!(halves(*ty), Some((2, _)));
        let yes = match dst_ty {
            ScalarType::F32 => 0x3f80_0000,
            ScalarType::F16 | ScalarType::F16x2 => 0x3c00,
            ScalarType::Bf16 | ScalarType::Bf16x2 => 0x3f80,
            _ => -1,
        };
        let bits = if paired { 16 } else { dst_ty.bits() };
        let mut parts = Vec::new();
        for part in 0..1 + u32::from(paired) {
            let result = self.comparison(inst, how, part)?;
            let result = self.combined(result, *combine);
            let ty = Ty { element: Element::Int(bits), ..result.ty };
            let (yes, no) = (self.constant(ty, yes), self.constant(ty, 0));
            parts.push(self.select(&result, &yes, &no));
        }
        Ok(match &parts[..] {
            [low, high] => self.pair(high, low, 16),
            _ => parts.swap_remove(0),
        })
    }

    /// Of halves in a pair, one of them.
    fn comparison(&mut self, inst: &Inst, how: Comparison, part: u32) -> Result<Val, String> {
        let Comparison { cmp, ty, ftz, a, b } = how;
        if Element::float(ty).is_some() || halves(ty).is_some() {
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
            let (a, b) = match halves(ty) {
                None => {
                    let (x, y) = self.two_floats(a, b, ty)?;
                    (self.taken(a, &x, ftz, |_| false), self.taken(b, &y, ftz, |_| false))
                }
                Some((_, bf)) => {
                    let (a, b) = self.two(a, b, ty);
                    let half = |this: &mut Self, value: &Val| {
                        let by = this.constant(value.ty, i64::from(16 * part));
                        let value = this.binary("lshr", value, &by);
                        let value = this.resize(&value, 16, false);
                        this.half_value(&value, bf, ftz)
                    };
                    (half(self, &a), half(self, &b))
                }
            };
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

    pub(super) fn combined(&mut self, result: Val, combine: Option<(BoolOp, Predicate)>) -> Val {
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
}
