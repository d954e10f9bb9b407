//! Logic and shifts (PTX ISA 9.7.8) and `prmt` (9.7.9.7).

use warploom_ptx::ir::{
    BoolOp, ClampMode, LogicOp, Op as Ir, Operand, Predicate, PrmtMode, ScalarType, ShiftDirection,
};

use super::{Decoded, Decoder, Refused};
use crate::isa::Op;
use crate::ops::logic;

impl Decoder<'_> {
    pub(super) fn logic(&mut self, op: &Ir) -> Decoded {
        match *op {
            Ir::Logic { op, ty: ScalarType::Pred, dst, a, b } => {
                let (a, b) = (self.predicate_operand(a), self.predicate_operand(b));
                let d = self.predicate_out(dst);
                let table = match op {
                    LogicOp::And => 0b1000,
                    LogicOp::Or => 0b1110,
                    LogicOp::Xor => 0b0110,
                };
                self.emit(Op::scalar(logic::predicate_table), d, [a, b, 0], table);
            }
            Ir::Logic { op, ty, dst, a, b } => {
                let op = match (op, ty.bits() > 32) {
                    (LogicOp::And, false) => Op::lanes::<logic::And32>(),
                    (LogicOp::Or, false) => Op::lanes::<logic::Or32>(),
                    (LogicOp::Xor, false) => Op::lanes::<logic::Xor32>(),
                    (LogicOp::And, true) => Op::lanes::<logic::And64>(),
                    (LogicOp::Or, true) => Op::lanes::<logic::Or64>(),
                    (LogicOp::Xor, true) => Op::lanes::<logic::Xor64>(),
                };
                let (a, b) = (self.narrowed(ty, a), self.narrowed(ty, b));
                let d = self.out(ty, dst);
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::Lop3 { lut, dst, dst_p, combine, a, b, c } => {
                let sources = [self.word(a), self.word(b), self.word(c)];
                let d = match dst {
                    Some(reg) => self.word_out(reg, false),
                    None => self.temporary32(),
                };
                self.emit(Op::lanes::<logic::Lop3>(), d, sources, u32::from(lut));
                if let (Some(p), Some((op, q))) = (dst_p, combine) {
                    let (p, q) = (self.predicate_out(p), self.predicate(q));
                    let op = match op {
                        BoolOp::Or => 0,
                        BoolOp::And => 1,
                        BoolOp::Xor => 2,
                    };
                    self.emit(Op::scalar(logic::nonzero), p, [d, q, 0], op);
                }
            }
            Ir::Shift { direction, ty, dst, a, amount } => {
                let op = match (direction, ty.bits(), ty.is_signed()) {
                    (ShiftDirection::Left, 16, _) => Op::lanes::<logic::Shl16>(),
                    (ShiftDirection::Left, 32, _) => Op::lanes::<logic::Shl32>(),
                    (ShiftDirection::Left, 64, _) => Op::lanes::<logic::Shl64>(),
                    (ShiftDirection::Right, 16, false) => Op::lanes::<logic::ShrU16>(),
                    (ShiftDirection::Right, 32, false) => Op::lanes::<logic::ShrU32>(),
                    (ShiftDirection::Right, 64, false) => Op::lanes::<logic::ShrU64>(),
                    (ShiftDirection::Right, 16, true) => Op::lanes::<logic::ShrS16>(),
                    (ShiftDirection::Right, 32, true) => Op::lanes::<logic::ShrS32>(),
                    (ShiftDirection::Right, 64, true) => Op::lanes::<logic::ShrS64>(),
                    _ => return Err(Refused::Unsupported),
                };
                let (a, b, d) = (self.source(ty, a), self.word(amount), self.out(ty, dst));
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::Shf { direction, mode, dst, lo, hi, amount } => {
                let op = match (direction, mode) {
                    (ShiftDirection::Left, ClampMode::Clamp) => Op::lanes::<logic::ShfLClamp>(),
                    (ShiftDirection::Left, ClampMode::Wrap) => Op::lanes::<logic::ShfLWrap>(),
                    (ShiftDirection::Right, ClampMode::Clamp) => Op::lanes::<logic::ShfRClamp>(),
                    (ShiftDirection::Right, ClampMode::Wrap) => Op::lanes::<logic::ShfRWrap>(),
                };
                self.three(op, ScalarType::B32, dst, [lo, hi, amount]);
            }
            Ir::Prmt { mode, dst, a, b, selector } => {
                let op = match mode {
                    PrmtMode::Index => Op::lanes::<logic::Prmt>(),
                    PrmtMode::F4e => Op::lanes::<logic::PrmtF4e>(),
                    PrmtMode::B4e => Op::lanes::<logic::PrmtB4e>(),
                    PrmtMode::Rc8 => Op::lanes::<logic::PrmtRc8>(),
                    PrmtMode::Ecl => Op::lanes::<logic::PrmtEcl>(),
                    PrmtMode::Ecr => Op::lanes::<logic::PrmtEcr>(),
                    PrmtMode::Rc16 => Op::lanes::<logic::PrmtRc16>(),
                };
                self.three(op, ScalarType::B32, dst, [a, b, selector]);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    /// A source operand of bitwise operations, whose upper bits must be clear where the type is narrower than the row.
    fn narrowed(&mut self, ty: ScalarType, operand: Operand) -> u32 {
        let slot = self.source(ty, operand);
        let wide = matches!(operand, Operand::Reg(reg) if self.ty(reg).bits() > ty.bits());
        if ty.bits() != 16 || !wide {
            return slot;
        }
        let narrow = self.temporary32();
        self.emit(Op::lanes::<crate::ops::moves::ZeroExtend16>(), narrow, [slot, 0, 0], 0);
        narrow
    }

    /// A source operand of type `.pred`.
    pub(super) fn predicate_operand(&mut self, operand: Operand) -> u32 {
        match operand {
            Operand::Reg(reg) => self.predicate(Predicate { reg, negated: false }),
            Operand::Imm(value) => self.constant_predicate(value != 0),
        }
    }
}
