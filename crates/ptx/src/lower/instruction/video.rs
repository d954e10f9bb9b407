//! Video instructions (PTX ISA 9.7.18): operands with byte and half selectors.

use super::super::body::{BodyLowering, Lower};
use super::Args;
use crate::diagnostic::Code;
use crate::ir::{ClampMode, Compare, Op, Operand, ScalarType, Selector, VideoKind, VideoOp, VideoSecond};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;
use crate::syntax::ast::{self, OperandKind};

/// An operand and the text of its selector.
struct Selected<'a> {
    operand: ast::Operand,
    selector: Option<&'a str>,
    negated: bool,
}

impl<'a> BodyLowering<'_, 'a> {
    pub(super) fn video(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Op> {
        let lanes = match opcode.text().as_bytes().last() {
            Some(b'2') => 2,
            Some(b'4') => 4,
            _ => 1,
        };
        let is_set = matches!(opcode, Opcode::Vset | Opcode::Vset2 | Opcode::Vset4);
        // `vset` has no destination type: its result is a truth value.
        let types = if is_set { [None, m.ty(0), m.ty(1)] } else { [m.ty(0), m.ty(1), m.ty(2)] };
        let [dst_ty, a_ty, b_ty] = types.map(|ty| ty.unwrap_or(ScalarType::U32));
        let written: Vec<Selected<'a>> = (0..args.0.len())
            .filter_map(|index| args.raw(index).copied())
            .map(|operand| self.selected(operand))
            .collect();
        let [dst, a, b, rest @ ..] = written.as_slice() else {
            return self.refuse(Code::Operand, span, "Arguments mismatch: three operands expected");
        };
        let c = rest.first();
        let kind = kind(opcode, m, a.negated != b.negated, c.is_some_and(|c| c.negated));
        let mut op = VideoOp {
            lanes,
            kind,
            dst_ty,
            a_ty,
            b_ty,
            sat: m.has("sat"),
            second: VideoSecond::None,
            dst: self.video_destination(dst, dst_ty)?,
            a: self.video_source(a, 1, a_ty)?,
            b: self.video_source(b, 2, b_ty)?,
            c: match c {
                Some(c) => Some(self.video_source(c, 3, dst_ty)?),
                None => None,
            },
            a_select: Selector::Word,
            b_select: Selector::Word,
            a_lanes: [0, 1, 2, 3],
            b_lanes: [0, 1, 2, 3],
            mask: (1 << lanes) - 1,
            accumulate: false,
        };
        if lanes == 1 {
            op.a_select = self.scalar_selector(a)?;
            op.b_select = self.scalar_selector(b)?;
            op.second = self.second(opcode, m, dst, op.c.is_some(), span)?;
        } else {
            op.accumulate = m.has("add");
            op.mask = self.lane_mask(dst, lanes)?;
            op.a_lanes = self.lane_selector(a, lanes, [0, 1, 2, 3])?;
            // Without a selector the second operand is itself; with one, both number the bytes of `b:a`.
            op.b_lanes = self.lane_selector(b, lanes, [4, 5, 6, 7])?;
        }
        Ok(Op::Video(Box::new(op)))
    }

    fn selected(&self, operand: ast::Operand) -> Selected<'a> {
        match operand.kind {
            OperandKind::Minus(inner) => Selected { negated: true, ..self.selected(self.l.ast[inner]) },
            OperandKind::Member(name, member) => Selected {
                operand: ast::Operand { kind: OperandKind::Name(name), span: operand.span },
                selector: Some(self.l.text(member)),
                negated: false,
            },
            _ => Selected { operand, selector: None, negated: false },
        }
    }

    fn video_destination(&mut self, dst: &Selected<'_>, ty: ScalarType) -> Lower<crate::ir::Reg> {
        self.argument = 0;
        self.destination(&dst.operand, ty, false)
    }

    fn video_source(&mut self, source: &Selected<'_>, argument: usize, ty: ScalarType) -> Lower<Operand> {
        self.argument = argument;
        self.source(&source.operand, ty, false)
    }

    fn scalar_selector(&mut self, operand: &Selected<'_>) -> Lower<Selector> {
        Ok(match operand.selector {
            None => Selector::Word,
            Some("b0") => Selector::Byte(0),
            Some("b1") => Selector::Byte(1),
            Some("b2") => Selector::Byte(2),
            Some("b3") => Selector::Byte(3),
            Some("h0") => Selector::Half(0),
            Some("h1") => Selector::Half(1),
            Some(text) => return self.bad_selector(operand, text),
        })
    }

    fn bad_selector<T>(&mut self, operand: &Selected<'_>, text: &str) -> Lower<T> {
        self.mismatch(operand.operand.span, format_args!("'.{text}' selects nothing here"))
    }

    /// What happens behind the operation: with `d.b0` the result is merged into `c`, else `.add`, `.min`, `.max` combine it with `c`.
    fn second(
        &mut self,
        opcode: Opcode,
        m: &Modifiers,
        dst: &Selected<'_>,
        has_c: bool,
        span: Span,
    ) -> Lower<VideoSecond> {
        let merge = self.scalar_selector(dst)?;
        let second = match () {
            () if opcode == Opcode::Vmad => return Ok(VideoSecond::None),
            () if merge != Selector::Word => VideoSecond::Merge(merge),
            () if m.has("add") => VideoSecond::Add,
            () if m.has("min") => VideoSecond::Min,
            () if m.has("max") => VideoSecond::Max,
            () => VideoSecond::None,
        };
        if has_c != (second != VideoSecond::None) {
            let expected =
                if has_c { "a secondary operation or a destination selector" } else { "a third source operand" };
            return self.mismatch(span, format_args!("{expected} is required"));
        }
        Ok(second)
    }

    /// `.h0`, `.h10`, `.b0`, `.b210` of a destination: the lanes that are written.
    fn lane_mask(&mut self, dst: &Selected<'_>, lanes: u8) -> Lower<u8> {
        let Some(text) = dst.selector else { return Ok((1 << lanes) - 1) };
        match lane_digits(text, lanes, lanes) {
            Some(digits) => Ok(digits.iter().fold(0, |mask, digit| mask | 1 << digit)),
            None => self.bad_selector(dst, text),
        }
    }

    /// `.h32`, `.b7654` of a source, most significant lane first.
    fn lane_selector(&mut self, operand: &Selected<'_>, lanes: u8, own: [u8; 4]) -> Lower<[u8; 4]> {
        let offset = if own[0] == 0 { 0 } else { lanes };
        let default = std::array::from_fn(|lane| lane as u8 + offset);
        let Some(text) = operand.selector else { return Ok(default) };
        match lane_digits(text, lanes, 2 * lanes).filter(|digits| digits.len() == usize::from(lanes)) {
            Some(digits) => {
                let mut selected = default;
                for (lane, digit) in digits.iter().rev().enumerate() {
                    selected[lane] = *digit;
                }
                Ok(selected)
            }
            None => self.bad_selector(operand, text),
        }
    }
}

/// The digits behind the `h` (two lanes) or `b` (four lanes) of a selector, each below `limit`.
fn lane_digits(text: &str, lanes: u8, limit: u8) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(if lanes == 2 { 'h' } else { 'b' })?;
    let read = |byte: u8| byte.checked_sub(b'0').filter(|digit| *digit < limit);
    let digits: Option<Vec<u8>> = digits.bytes().map(read).collect();
    digits.filter(|digits| !digits.is_empty() && digits.len() <= usize::from(lanes))
}

fn kind(opcode: Opcode, m: &Modifiers, negate_product: bool, negate_c: bool) -> VideoKind {
    let clamp = m.find(ClampMode::from_text).unwrap_or(ClampMode::Clamp);
    match opcode {
        Opcode::Vadd | Opcode::Vadd2 | Opcode::Vadd4 => VideoKind::Add,
        Opcode::Vsub | Opcode::Vsub2 | Opcode::Vsub4 => VideoKind::Sub,
        Opcode::Vabsdiff | Opcode::Vabsdiff2 | Opcode::Vabsdiff4 => VideoKind::AbsDiff,
        Opcode::Vmin | Opcode::Vmin2 | Opcode::Vmin4 => VideoKind::Min,
        Opcode::Vmax | Opcode::Vmax2 | Opcode::Vmax4 => VideoKind::Max,
        Opcode::Vavrg2 | Opcode::Vavrg4 => VideoKind::Average,
        Opcode::Vshl => VideoKind::Shl(clamp),
        Opcode::Vshr => VideoKind::Shr(clamp),
        Opcode::Vmad => {
            let shift = match () {
                () if m.has("shr7") => 7,
                () if m.has("shr15") => 15,
                () => 0,
            };
            VideoKind::Mad { shift, po: m.has("po"), negate_product, negate_c }
        }
        _ => VideoKind::Set(m.find(Compare::from_text).unwrap_or(Compare::Eq)),
    }
}
