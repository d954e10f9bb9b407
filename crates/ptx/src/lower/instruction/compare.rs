//! Comparison, selection, logic and shift (PTX ISA 9.7.6 to 9.7.8).

use super::super::body::{BodyLowering, Lower};
use super::{Args, ty};
use crate::diagnostic::Code;
use crate::ir::{
    BoolOp, ClampMode, Compare, IntUnaryOp, LogicOp, Op, Predicate, ScalarType, ShiftDirection, TypeClass,
};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;

impl BodyLowering<'_, '_> {
    pub(super) fn comparison(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Op> {
        let ty = ty(m);
        let ftz = m.has("ftz");
        let combine = |predicate: Option<Predicate>| m.find(BoolOp::from_text).zip(predicate);
        Ok(match opcode {
            Opcode::Set => {
                let (dst_ty, ty) = (ty, m.ty(1).unwrap_or(ty));
                let cmp = self.compare(m, ty, span)?;
                let combine = combine(args.optional_pred(3));
                Op::Set { cmp, ftz, dst_ty, ty, combine, dst: args.dst(0), a: args.src(1), b: args.src(2) }
            }
            Opcode::Setp => {
                let cmp = self.compare(m, ty, span)?;
                let (dst_p, dst_q) = args.pair(0);
                let combine = combine(args.optional_pred(3));
                Op::Setp { cmp, ftz, ty, combine, dst_p, dst_q, a: args.src(1), b: args.src(2) }
            }
            Opcode::Selp => Op::Selp { ty, dst: args.dst(0), a: args.src(1), b: args.src(2), c: args.pred(3) },
            Opcode::Slct => {
                let c_ty = m.ty(1).unwrap_or(ScalarType::S32);
                Op::Slct { ty, c_ty, ftz, dst: args.dst(0), a: args.src(1), b: args.src(2), c: args.src(3) }
            }
            Opcode::And | Opcode::Or | Opcode::Xor => {
                let op = match opcode {
                    Opcode::And => LogicOp::And,
                    Opcode::Or => LogicOp::Or,
                    _ => LogicOp::Xor,
                };
                Op::Logic { op, ty, dst: args.dst(0), a: args.src(1), b: args.src(2) }
            }
            Opcode::Not => Op::IntUnary { op: IntUnaryOp::Not, ty, dst: args.dst(0), a: args.src(1) },
            Opcode::Cnot => Op::IntUnary { op: IntUnaryOp::Cnot, ty, dst: args.dst(0), a: args.src(1) },
            Opcode::Lop3 => {
                let (a, b, c) = (args.src(1), args.src(2), args.src(3));
                let lut = args.constant(4) as u8;
                let combine = combine(args.optional_pred(5));
                if combine.is_some() {
                    let (dst, dst_p) = args.pair(0);
                    return Ok(Op::Lop3 { lut, dst: Some(dst), dst_p, combine, a, b, c });
                }
                Op::Lop3 { lut, dst: Some(args.dst(0)), dst_p: None, combine, a, b, c }
            }
            Opcode::Shf => {
                let direction = if m.has("l") { ShiftDirection::Left } else { ShiftDirection::Right };
                let mode = m.find(ClampMode::from_text).unwrap_or(ClampMode::Clamp);
                let (dst, lo, hi, amount) = (args.dst(0), args.src(1), args.src(2), args.src(3));
                Op::Shf { direction, mode, dst, lo, hi, amount }
            }
            _ => {
                let direction = if opcode == Opcode::Shl { ShiftDirection::Left } else { ShiftDirection::Right };
                Op::Shift { direction, ty, dst: args.dst(0), a: args.src(1), amount: args.src(2) }
            }
        })
    }

    /// The comparison, checked against the type it is applied to (PTX ISA 9.3.1).
    fn compare(&mut self, m: &Modifiers, ty: ScalarType, span: Span) -> Lower<Compare> {
        let word = m.first().unwrap_or("");
        let unsigned = match word {
            "lo" => Some(Compare::Lt),
            "ls" => Some(Compare::Le),
            "hi" => Some(Compare::Gt),
            "hs" => Some(Compare::Ge),
            _ => None,
        };
        let class = ty.class();
        let compare = unsigned.or_else(|| Compare::from_text(word)).unwrap_or(Compare::Eq);
        let possible = match compare {
            _ if unsigned.is_some() => class == TypeClass::Unsigned,
            Compare::Eq | Compare::Ne => true,
            Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => class != TypeClass::Bits,
            _ => class == TypeClass::Float,
        };
        if possible {
            return Ok(compare);
        }
        let message =
            format!("Mismatch between instruction type and comparison qualifier: '.{word}' does not apply to .{ty}");
        self.refuse(Code::Modifier, span, message)
    }
}
