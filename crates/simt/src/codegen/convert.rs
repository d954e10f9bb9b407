//! `cvt` (PTX ISA 9.7.9.21).

use warploom_ptx::ir::{Inst, Op, Rounding, ScalarType};

use super::function::{Val, Writer};
use super::names::Element;
use crate::range::is_integer;

impl Writer<'_> {
    /// Result and whether it is extended with its sign.
    pub(super) fn converted(&mut self, inst: &Inst) -> Result<(Val, bool), String> {
        let Op::Cvt {
            dst_ty,
            src_ty,
            rnd,
            ftz: false,
            sat: false,
            satfinite: false,
            relu: false,
            a,
            b: None,
            random: None,
            ..
        } = &inst.op
        else {
            return Err(self.lacks(inst));
        };
        let (from, to) = (*src_ty, *dst_ty);
        let float = |ty: ScalarType| Element::float(ty);
        if is_integer(from) && is_integer(to) {
            let a = self.operand(*a, from);
            return Ok((self.resize(&a, to.bits(), from.is_signed()), to.is_signed()));
        }
        match (float(from), float(to)) {
            (None, Some(element)) if is_integer(from) && *rnd == Some(Rounding::Rn) => {
                let a = self.operand(*a, from);
                Ok((self.cast(if from.is_signed() { "sitofp" } else { "uitofp" }, &a, element), false))
            }
            (Some(small), Some(large)) if small.bits() < large.bits() => {
                let a = self.float_operand(*a, from)?;
                Ok((self.cast("fpext", &a, large), false))
            }
            (Some(large), Some(small)) if small.bits() < large.bits() && *rnd == Some(Rounding::Rn) => {
                let a = self.float_operand(*a, from)?;
                Ok((self.cast("fptrunc", &a, small), false))
            }
            (Some(_), Some(_)) if from == to => {
                let a = self.float_operand(*a, from)?;
                let name = match rnd {
                    Some(Rounding::Rni) => "roundeven",
                    Some(Rounding::Rzi) => "trunc",
                    Some(Rounding::Rmi) => "floor",
                    Some(Rounding::Rpi) => "ceil",
                    _ => return Err(self.lacks(inst)),
                };
                Ok((self.intrinsic(name, &[&a]), false))
            }
            _ => Err(self.lacks(inst)),
        }
    }
}
