//! `cvt` and `cvt.pack` (PTX ISA 9.7.9.21 to 9.7.9.22).

use super::super::body::{BodyLowering, Lower};
use super::super::operand::Value;
use super::{Args, ty};
use crate::diagnostic::Code;
use crate::ir::{Op, Operand, Operands, Rounding, ScalarType};
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
        if rnd == Some(Rounding::Rs) {
            let (src, random) = match args.0.get(1) {
                Some(Value::Srcs(elements)) => (elements.clone(), args.src(2)),
                _ => (Operands::from_slice(&[args.src(1), args.src(2)]), args.src(3)),
            };
            return Ok(Some(Op::CvtRandom { dst_ty, satfinite, relu, dst: args.dst(0), src, random }));
        }
        let scaled = m.has("scaled::n2::ue8m0");
        if scaled || dst_ty == ScalarType::S2f6x2 || src_ty == ScalarType::S2f6x2 {
            return self.scaled((dst_ty, src_ty), scaled, (satfinite, relu), args, span).map(Some);
        }
        let (dst, a) = (args.dst(0), args.src(1));
        let (to, from) = (self.extended(dst_ty, dst), self.containing(src_ty, a));
        Ok(Some(Op::Cvt { dst_ty, src_ty, to, from, rnd, ftz, sat, satfinite, relu, dst, a, b: args.optional(2) }))
    }

    /// A conversion with a factor for each half, which stands behind the sources and goes with its modifier; without, both are 1.
    fn scaled(
        &mut self,
        (dst_ty, src_ty): (ScalarType, ScalarType),
        scaled: bool,
        (satfinite, relu): (bool, bool),
        args: Args<'_>,
        span: Span,
    ) -> Lower<Op> {
        const ONES: u64 = 0x7f7f;
        let sources = if src_ty == ScalarType::F32 { 2 } else { 1 };
        let b = if sources == 2 { args.optional(2) } else { None };
        let scale = args.optional(sources + 1);
        if scale.is_some() != scaled {
            return self.mismatch(span, "a scale factor and '.scaled::n2::ue8m0' go together");
        }
        let scale = scale.unwrap_or(Operand::Imm(ONES));
        Ok(Op::CvtScaled { dst_ty, src_ty, satfinite, relu, dst: args.dst(0), a: args.src(1), b, scale })
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
