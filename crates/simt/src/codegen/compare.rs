//! Comparison and selection (PTX ISA 9.7.6, 9.7.7).

use warploom_ptx::ir::{BoolOp, Compare, Inst, Operand, Predicate, ScalarType};

use super::function::{Val, Writer};
use super::names::Element;
use crate::range::is_integer;

impl Writer<'_> {
    pub(super) fn comparison(
        &mut self,
        inst: &Inst,
        cmp: Compare,
        ty: ScalarType,
        ftz: bool,
        a: Operand,
        b: Operand,
    ) -> Result<Val, String> {
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
            let (a, b) = (self.flush(&a, ftz), self.flush(&b, ftz));
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
