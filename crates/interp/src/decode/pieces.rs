//! What bytes of results hang on, for an observer that follows values: of instructions that move bytes, choose among them or cut them off by constants.
//!
//! A program computes with halves of registers, and with words of which it needs but some bytes: a structure is loaded with the bytes between its
//! members, a register packed of one half only. What the others hold is of no interest to what is made of these.

use std::collections::BTreeSet;

use warploom_exec::observe::Piece;
use warploom_ptx::ir::{
    BoolOp, IntUnaryOp, LogicOp, MatrixOp, Op as Ir, Operand, Predicate, PrmtMode, Reg, ScalarType, ShiftDirection,
};

/// What an operand counts for nothing by: where `by` does not hold.
pub(super) struct Choice {
    pub(super) register: Reg,
    pub(super) by: Predicate,
}

/// Operands that count in some lanes only: those that are not chosen, that nothing is added to, and where another one says what a conjunction or disjunction is.
pub(super) fn choices(op: &Ir) -> Vec<Choice> {
    let plain = |reg: Reg, negated: bool| Predicate { reg, negated };
    match *op {
        Ir::Selp { a, b, c, .. } => {
            let other = Predicate { negated: !c.negated, ..c };
            let chosen = [(a, c), (b, other)].into_iter();
            // What stands at both places counts in all lanes.
            let chosen = chosen.filter(|_| a != b);
            chosen.filter_map(|(operand, by)| Some(Choice { register: operand.reg()?, by })).collect()
        }
        Ir::Logic { op: op @ (LogicOp::And | LogicOp::Or), ty: ScalarType::Pred, a, b, .. } if a != b => {
            let (Some(a), Some(b)) = (a.reg(), b.reg()) else { return Vec::new() };
            let or = op == LogicOp::Or;
            vec![Choice { register: a, by: plain(b, or) }, Choice { register: b, by: plain(a, or) }]
        }
        Ir::Setp { combine: Some((op @ (BoolOp::And | BoolOp::Or), by)), dst_q: None, a, b, .. } => {
            let by = Predicate { negated: by.negated ^ (op == BoolOp::Or), ..by };
            [a, b].iter().filter_map(|operand| Some(Choice { register: operand.reg()?, by })).collect()
        }
        // Without the scale for `d` the products are not added to what it held (PTX ISA 9.7.15.5.2).
        Ir::Matrix(ref op) => match &**op {
            MatrixOp::WarpgroupMma(product) => {
                let (held, by) = (product.c.iter().filter_map(|operand| operand.reg()), product.scale_d);
                held.map(|register| Choice { register, by }).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What each byte of the results hangs on. None where all hang on all that is read.
pub(super) fn pieces(op: &Ir) -> Option<Vec<Piece>> {
    let mut pieces = Pieces::default();
    match *op {
        Ir::Mov { ty, dst, src } if ty != ScalarType::Pred => pieces.bits(dst, 0, ty.bits(), |bit| Some((src, bit))),
        Ir::Pack { ty, dst, ref elements } => {
            let each = whole_bytes(ty, elements.len())?;
            pieces.bits(dst, 0, ty.bits(), |bit| Some((elements[(bit / each) as usize], bit % each)));
        }
        Ir::Unpack { ty, ref dst, src } => {
            let each = whole_bytes(ty, dst.len())?;
            for (element, dst) in (0..).zip(dst) {
                pieces.bits(*dst, 0, each, |bit| Some((src, element * each + bit)));
            }
        }
        Ir::Cvt { dst_ty, src_ty, to, from, rnd: None, sat: false, dst, a, b: None, .. }
            if [dst_ty, src_ty, to, from].iter().all(|ty| !ty.is_float() && ty.bits() >= 8) =>
        {
            pieces.bits(dst, 0, to.bits(), |bit| {
                let bit = if dst_ty.is_signed() { bit.min(dst_ty.bits() - 1) } else { bit };
                let within = bit < dst_ty.bits() && (src_ty.is_signed() || bit < src_ty.bits());
                within.then_some((a, bit.min(src_ty.bits() - 1)))
            });
        }
        Ir::IntUnary { op: IntUnaryOp::Not, ty, dst, a } if ty != ScalarType::Pred => {
            pieces.bits(dst, 0, ty.bits(), |bit| Some((a, bit)));
        }
        Ir::Logic { op, ty, dst, a, b } if ty != ScalarType::Pred => {
            for (x, y) in [(a, b), (b, a)] {
                pieces.bits(dst, 0, ty.bits(), |bit| match (op, y) {
                    (LogicOp::And, Operand::Imm(mask)) if mask >> bit & 1 == 0 => None,
                    (LogicOp::Or, Operand::Imm(mask)) if mask >> bit & 1 == 1 => None,
                    _ => Some((x, bit)),
                });
            }
        }
        Ir::Lop3 { lut, dst: Some(dst), dst_p: None, a, b, c, .. } => {
            for (place, operand) in [(2, a), (1, b), (0, c)] {
                pieces.bits(dst, 0, 32, |bit| counts(lut, [a, b, c], place, bit).then_some((operand, bit)));
            }
        }
        Ir::Shift { direction, ty, dst, a, amount: Operand::Imm(amount) } => {
            let (width, amount) = (ty.bits(), (amount as u32).min(ty.bits()));
            pieces.bits(dst, 0, width, |bit| match direction {
                ShiftDirection::Left => bit.checked_sub(amount).map(|bit| (a, bit)),
                ShiftDirection::Right if ty.is_signed() => Some((a, (bit + amount).min(width - 1))),
                ShiftDirection::Right => Some((a, bit + amount)).filter(|(_, bit)| *bit < width),
            });
        }
        Ir::Bfe { ty, dst, a, pos: Operand::Imm(pos), len: Operand::Imm(len) } if pos + len <= ty.bits().into() => {
            let (pos, len) = (pos as u32, len as u32);
            pieces.bits(dst, 0, ty.bits(), |bit| match len {
                0 => None,
                _ if bit < len || ty.is_signed() => Some((a, pos + bit.min(len - 1))),
                _ => None,
            });
        }
        Ir::Bfi { ty, dst, a, b, pos: Operand::Imm(pos), len: Operand::Imm(len) } if pos + len <= ty.bits().into() => {
            let inserted = pos as u32..(pos + len) as u32;
            pieces.bits(dst, 0, ty.bits(), |bit| match inserted.contains(&bit) {
                true => Some((a, bit - inserted.start)),
                false => Some((b, bit)),
            });
        }
        Ir::Prmt { mode: PrmtMode::Index, dst, a, b, selector: Operand::Imm(selector) } => {
            for byte in 0..4 {
                let from = (selector >> (4 * byte) & 7) as u32;
                let source = if from < 4 { a } else { b };
                pieces.bits(dst, 8 * byte, 8, |bit| Some((source, 8 * (from % 4) + bit)));
            }
        }
        Ir::Selp { ty, dst, a, b, c } if ty != ScalarType::Pred => {
            for operand in [a, b] {
                pieces.bits(dst, 0, ty.bits(), |bit| Some((operand, bit)));
            }
            pieces.bits(dst, 0, ty.bits(), |_| Some((Operand::Reg(c.reg), 0)));
        }
        _ => return None,
    }
    Some(pieces.0.into_iter().collect())
}

/// The bits of each of so many equal parts of a type, if they are bytes.
fn whole_bytes(ty: ScalarType, parts: usize) -> Option<u32> {
    let each = ty.bits().checked_div(parts as u32)?;
    (each >= 8 && each.is_multiple_of(8)).then_some(each)
}

/// Whether bit `bit` of the operand at a place of the table's index can be seen in the result of `lop3`, the others being what constants say.
fn counts(lut: u8, operands: [Operand; 3], place: u32, bit: u32) -> bool {
    let possible = |index: u32| {
        (0..3).zip(operands).all(|(nth, operand)| match operand {
            Operand::Imm(value) => value >> bit & 1 == u64::from(index >> (2 - nth) & 1),
            Operand::Reg(_) => true,
        })
    };
    let differs = |index: u32| lut >> index & 1 != lut >> (index ^ 1 << place) & 1;
    operands[2 - place as usize].reg().is_some() && (0..8).any(|index| possible(index) && differs(index))
}

#[derive(Default)]
struct Pieces(BTreeSet<Piece>);

impl Pieces {
    /// Adds what `count` bits of a register from `start` on come from.
    fn bits(&mut self, dst: Reg, start: u32, count: u32, source: impl Fn(u32) -> Option<(Operand, u32)>) {
        for bit in 0..count {
            if let Some((Operand::Reg(from), of)) = source(bit) {
                let (at, byte) = (((start + bit) / 8) as u8, (of / 8) as u8);
                self.0.insert(Piece { to: dst.0, at, from: from.0, byte });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of register 0 that the lowest bytes of register 9 hang on, upwards.
    fn of(op: &Ir) -> Vec<Vec<u8>> {
        let pieces = pieces(op).expect("pieces");
        let width = 4;
        let bytes = |at: u8| pieces.iter().filter(|piece| piece.at == at).map(|piece| piece.byte).collect();
        (0..width).map(bytes).collect()
    }

    const DST: Reg = Reg(9);
    const A: Operand = Operand::Reg(Reg(0));

    #[test]
    fn conversions_extend_by_the_last_byte_or_by_nothing() {
        let cvt = |dst_ty, src_ty, to, from| Ir::Cvt {
            dst_ty,
            src_ty,
            to,
            from,
            rnd: None,
            ftz: false,
            sat: false,
            satfinite: false,
            relu: false,
            dst: DST,
            a: A,
            b: None,
        };
        use ScalarType::{S8, S16, S32, U8, U32, U64};
        assert_eq!(of(&cvt(U32, U64, U32, U64)), [[0], [1], [2], [3]]);
        assert_eq!(of(&cvt(S32, S8, S32, S32)), [[0], [0], [0], [0]]);
        assert_eq!(of(&cvt(U32, U8, U32, U32)), [vec![0], vec![], vec![], vec![]]);
        assert_eq!(of(&cvt(S16, U32, S32, U32)), [[0], [1], [1], [1]]);
    }

    #[test]
    fn shifts_and_fields_by_constants() {
        let shift = |direction, ty, amount| Ir::Shift { direction, ty, dst: DST, a: A, amount: Operand::Imm(amount) };
        use ShiftDirection::{Left, Right};
        assert_eq!(of(&shift(Left, ScalarType::B32, 16)), [vec![], vec![], vec![0], vec![1]]);
        assert_eq!(of(&shift(Right, ScalarType::U32, 12)), [vec![1, 2], vec![2, 3], vec![3], vec![]]);
        assert_eq!(of(&shift(Right, ScalarType::S32, 40)), [[3], [3], [3], [3]]);
        let (pos, len) = (Operand::Imm(8), Operand::Imm(8));
        let field = |ty| Ir::Bfe { ty, dst: DST, a: A, pos, len };
        assert_eq!(of(&field(ScalarType::U32)), [vec![1], vec![], vec![], vec![]]);
        assert_eq!(of(&field(ScalarType::S32)), [[1], [1], [1], [1]]);
        let b = Operand::Imm(7);
        let into = Ir::Bfi { ty: ScalarType::B32, dst: DST, a: A, b, pos, len };
        assert_eq!(of(&into), [vec![], vec![0], vec![], vec![]]);
        let selector = Operand::Imm(0x7b03);
        let permuted = Ir::Prmt { mode: PrmtMode::Index, dst: DST, a: A, b, selector };
        assert_eq!(of(&permuted), [vec![3], vec![0], vec![3], vec![]]);
    }

    #[test]
    fn constants_cut_bytes_off() {
        let logic = |op, mask| Ir::Logic { op, ty: ScalarType::B32, dst: DST, a: A, b: Operand::Imm(mask) };
        assert_eq!(of(&logic(LogicOp::And, 0xff01)), [vec![0], vec![1], vec![], vec![]]);
        assert_eq!(of(&logic(LogicOp::Or, 0xff01)), [vec![0], vec![], vec![2], vec![3]]);
        let lop3 = |lut, b, c| Ir::Lop3 { lut, dst: Some(DST), dst_p: None, combine: None, a: A, b, c };
        let (mask, none) = (Operand::Imm(0xff00), Operand::Imm(0));
        // a & b | c, and a table that does not look at a.
        assert_eq!(of(&lop3(0xea, mask, none)), [vec![], vec![1], vec![], vec![]]);
        assert!(of(&lop3(0xcc, mask, none)).iter().all(Vec::is_empty));
    }
}
