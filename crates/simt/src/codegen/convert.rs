//! `cvt` (PTX ISA 9.7.9.21), as `warploom_numerics::convert` defines it.

use warploom_ptx::ir::{Inst, Op, Rounding, ScalarType};

use super::function::{Val, Writer};
use super::names::Element;
use crate::range::is_integer;

/// The direction of a conversion to integral numbers.
fn integral(rnd: Option<Rounding>) -> Option<&'static str> {
    Some(match rnd? {
        Rounding::Rni => "roundeven",
        Rounding::Rzi => "trunc",
        Rounding::Rmi => "floor",
        Rounding::Rpi => "ceil",
        _ => return None,
    })
}

impl Writer<'_> {
    /// Result and whether it is extended with its sign.
    pub(super) fn converted(&mut self, inst: &Inst) -> Result<(Val, bool), String> {
        let Op::Cvt { dst_ty, src_ty, rnd, ftz, sat, satfinite: false, relu: false, a, b: None, random: None, .. } =
            &inst.op
        else {
            return Err(self.lacks(inst));
        };
        let (from, to, ftz, sat) = (*src_ty, *dst_ty, *ftz, *sat);
        let float = |ty: ScalarType| Element::float(ty);
        if is_integer(from) && is_integer(to) {
            if sat {
                return Err(self.lacks(inst));
            }
            let a = self.operand(*a, from);
            return Ok((self.resize(&a, to.bits(), from.is_signed()), to.is_signed()));
        }
        let value = match (float(from), float(to)) {
            (None, Some(element)) if is_integer(from) && *rnd == Some(Rounding::Rn) => {
                let a = self.operand(*a, from);
                self.cast(if from.is_signed() { "sitofp" } else { "uitofp" }, &a, element)
            }
            (None, Some(Element::F32)) if from == ScalarType::F16 && rnd.is_none() => {
                let a = self.operand(*a, from);
                self.widened_half(&a)
            }
            (Some(Element::F32), None) if to == ScalarType::F16 && *rnd == Some(Rounding::Rn) && !sat && !ftz => {
                let a = self.float_operand(*a, from)?;
                return Ok((self.narrowed_half(&a), false));
            }
            (Some(_), None) if is_integer(to) => {
                let a = self.float_operand(*a, from)?;
                let a = self.flush(&a, ftz);
                let name = integral(*rnd).ok_or_else(|| self.lacks(inst))?;
                let whole = self.intrinsic(name, &[&a]);
                let value = self.saturated_integer(&whole, to.bits(), to.is_signed());
                if from == ScalarType::F32 && to.bits() < 64 {
                    return Ok((value, to.is_signed()));
                }
                // No number gives the top bit.
                let nan = self.compare("uno", &a, &a);
                let top = self.constant(value.ty, i64::MIN >> (64 - to.bits()));
                return Ok((self.select(&nan, &top, &value), to.is_signed()));
            }
            (Some(small), Some(large)) if small.bits() < large.bits() => {
                let a = self.float_operand(*a, from)?;
                let a = self.flush(&a, ftz);
                let a = self.saturate(&a, sat);
                self.cast("fpext", &a, large)
            }
            (Some(large), Some(small)) if small.bits() < large.bits() && *rnd == Some(Rounding::Rn) && !ftz => {
                let a = self.float_operand(*a, from)?;
                self.cast("fptrunc", &a, small)
            }
            (Some(_), Some(_)) if from == to => {
                let a = self.float_operand(*a, from)?;
                let a = self.flush(&a, ftz);
                match rnd {
                    None => a,
                    _ => {
                        let name = integral(*rnd).ok_or_else(|| self.lacks(inst))?;
                        self.intrinsic(name, &[&a])
                    }
                }
            }
            _ => return Err(self.lacks(inst)),
        };
        Ok((self.saturate(&value, sat), false))
    }

    /// An `.f16`'s bits as an `.f32`.
    pub(super) fn widened_half(&mut self, a: &Val) -> Val {
        let half = self.vector_text(a, "half");
        let value = self.set(a.ty, format!("bitcast {} {} to {half}", a.ty.text(), a.text));
        let ty = a.ty.with(Element::F32);
        self.set(ty, format!("fpext {half} {} to {}", value.text, ty.text()))
    }

    /// An `.f32` as the bits of the nearest `.f16`.
    pub(super) fn narrowed_half(&mut self, a: &Val) -> Val {
        let half = self.vector_text(a, "half");
        let ty = a.ty.with(Element::Int(16));
        let value = self.set(ty, format!("fptrunc {} {} to {half}", a.ty.text(), a.text));
        let bits = self.set(ty, format!("bitcast {half} {} to {}", value.text, ty.text()));
        let (nan, canonical) = (self.compare("uno", a, a), self.constant(ty, 0x7fff));
        self.select(&nan, &canonical, &bits)
    }

    fn vector_text(&self, like: &Val, element: &str) -> String {
        match like.ty.lanes {
            0 => element.to_owned(),
            lanes => format!("<{lanes} x {element}>"),
        }
    }
}
