//! `cvt` and `cvt.pack` (PTX ISA 9.7.9.21 to 9.7.9.22).

use super::super::body::{BodyLowering, Lower};
use super::super::operand::Value;
use super::{Args, ty};
use crate::diagnostic::Code;
use crate::ir::{Op, Rounding, ScalarType};
use crate::isa::Modifiers;
use crate::syntax::Span;

impl BodyLowering<'_, '_> {
    pub(super) fn convert(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Option<Op>> {
        let dst_ty = ty(m);
        let src_ty = m.ty(1).unwrap_or(dst_ty);
        let (ftz, sat) = (m.has("ftz"), m.has("sat"));
        if m.has("pack") {
            let (dst, a, b, c) = (args.dst(0), args.src(1), args.src(2), args.optional(3));
            return Ok(Some(Op::CvtPack { dst_ty, src_ty, dst, a, b, c }));
        }
        let rnd = m.find(Rounding::from_text);
        if is_plain(dst_ty) && is_plain(src_ty) {
            self.check_rounding(dst_ty, src_ty, rnd, span)?;
            if ftz && dst_ty != ScalarType::F32 && src_ty != ScalarType::F32 {
                let message = "Modifier '.ftz' does not apply to this type of convert operation";
                return self.refuse(Code::Modifier, span, message);
            }
        }
        if sat && holds_all(dst_ty, src_ty) {
            let message = format!("Illegal modifier '.sat' for instruction 'cvt': every .{src_ty} is a .{dst_ty}");
            return self.refuse(Code::Modifier, span, message);
        }
        let (satfinite, relu) = (m.has("satfinite"), m.has("relu"));
        if let Some(Value::Srcs(elements)) = args.0.get(1) {
            // Four sources and random bits: the first two are the upper half of the destination.
            debug_assert_eq!(elements.len(), 4);
            return Ok(None);
        }
        if m.has("scaled::n2::ue8m0") || args.0.len() > 3 && rnd != Some(Rounding::Rs) {
            return Ok(None);
        }
        let (b, random) =
            if rnd == Some(Rounding::Rs) { (args.optional(2), args.optional(3)) } else { (args.optional(2), None) };
        let (dst, a) = (args.dst(0), args.src(1));
        let (to, from) = (self.extended(dst_ty, dst), self.containing(src_ty, a));
        Ok(Some(Op::Cvt { dst_ty, src_ty, to, from, rnd, ftz, sat, satfinite, relu, dst, a, b, random }))
    }

    /// Which rounding a conversion needs or takes.
    fn check_rounding(&mut self, dst: ScalarType, src: ScalarType, rnd: Option<Rounding>, span: Span) -> Lower<()> {
        let integer = rnd.is_some_and(|r| matches!(r, Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi));
        let (needed, allowed) = match (dst.is_float(), src.is_float()) {
            (false, false) => (false, rnd.is_none()),
            (false, true) => (true, integer),
            (true, false) => (true, !integer),
            (true, true) if dst == src => (false, rnd.is_none() || integer),
            (true, true) if dst.bits() <= src.bits() => (true, !integer),
            (true, true) => (false, rnd.is_none()),
        };
        if needed && rnd.is_none() {
            return self.refuse(Code::Modifier, span, "Rounding modifier required for instruction 'cvt'");
        }
        if !allowed {
            return self.refuse(Code::Modifier, span, "Illegal rounding modifier for instruction 'cvt'");
        }
        Ok(())
    }
}

/// Whether an integer type has every value of another.
fn holds_all(dst: ScalarType, src: ScalarType) -> bool {
    let wider = dst.bits() >= src.bits();
    !dst.is_float()
        && !src.is_float()
        && if dst.is_signed() == src.is_signed() { wider } else { dst.is_signed() && dst.bits() > src.bits() }
}

/// Types of the general form of `cvt`.
fn is_plain(ty: ScalarType) -> bool {
    use ScalarType::{Bf16, F16, F32, F64};
    !ty.is_float() || matches!(ty, F16 | Bf16 | F32 | F64)
}
