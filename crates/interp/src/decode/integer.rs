//! Integer arithmetic (PTX ISA 9.7.1) and extended precision (9.7.2).

use warploom_ptx::ir::{ClampMode, IntBinaryOp, IntUnaryOp, MulMode, Predicate, Reg, ScalarType};

use super::{Decoded, Decoder, Refused};
use crate::isa::Op;
use crate::ops::extended;
use crate::ops::integer::{self as int, w16, w32, w64};
use crate::ops::logic;

/// The operation of a family for the width of a type: 16, 32 or 64 bits.
macro_rules! by_width {
    ($ty:expr, $name:ident) => {
        match $ty.bits() {
            16 => Op::lanes::<w16::$name>(),
            32 => Op::lanes::<w32::$name>(),
            64 => Op::lanes::<w64::$name>(),
            _ => return Err(Refused::Unsupported),
        }
    };
}

/// The same, by signedness too.
macro_rules! by_type {
    ($ty:expr, $unsigned:ident, $signed:ident) => {
        if $ty.is_signed() { by_width!($ty, $signed) } else { by_width!($ty, $unsigned) }
    };
}

impl Decoder<'_> {
    pub(super) fn integer(&mut self, op: &warploom_ptx::ir::Op) -> Decoded {
        use warploom_ptx::ir::Op as Ir;
        match *op {
            Ir::IntBinary { op, ty, sat, relu, dst, a, b } => {
                let op = integer_binary(op, ty, sat, relu)?;
                let (a, b, d) = (self.source(ty, a), self.source(ty, b), self.out(ty, dst));
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::IntUnary { op, ty, dst, a } => {
                let counts =
                    matches!(op, IntUnaryOp::Popc | IntUnaryOp::Clz | IntUnaryOp::Bfind | IntUnaryOp::BfindShift);
                let result = if counts { ScalarType::U32 } else { ty };
                if ty == ScalarType::Pred {
                    let a = match a {
                        warploom_ptx::ir::Operand::Reg(reg) => {
                            self.predicate(warploom_ptx::ir::Predicate { reg, negated: false })
                        }
                        warploom_ptx::ir::Operand::Imm(value) => self.constant_predicate(value != 0),
                    };
                    let d = self.predicate_out(dst);
                    self.emit(Op::scalar(logic::predicate_table), d, [a, a, 0], 0b0001);
                    return Ok(());
                }
                let op = integer_unary(op, ty)?;
                let (a, d) = (self.source(ty, a), self.out(result, dst));
                self.emit(op, d, [a, 0, 0], 0);
            }
            Ir::Mul { mode: MulMode::Wide, ty, dst, a, b } => {
                let (a, b) = (self.source(ty, a), self.source(ty, b));
                let (op, d) = match ty {
                    ScalarType::U16 => (Op::lanes::<int::MulWideU16>(), self.word_out(dst, false)),
                    ScalarType::S16 => (Op::lanes::<int::MulWideS16>(), self.word_out(dst, true)),
                    ScalarType::U32 => (Op::lanes::<int::MulWideU32>(), self.double_out(dst)),
                    ScalarType::S32 => (Op::lanes::<int::MulWideS32>(), self.double_out(dst)),
                    _ => return Err(Refused::Unsupported),
                };
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::Mul { mode, ty, dst, a, b } => {
                let op = match mode {
                    MulMode::Lo => by_width!(ty, MulLo),
                    _ => by_type!(ty, MulHiU, MulHiS),
                };
                let (a, b, d) = (self.source(ty, a), self.source(ty, b), self.out(ty, dst));
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::Mad { mode: MulMode::Wide, ty, sat: false, dst, a, b, c } => {
                let (a, b) = (self.source(ty, a), self.source(ty, b));
                let wide = ty.bits() == 32;
                let (c, d) = if wide {
                    (self.double(c), self.double_out(dst))
                } else {
                    (self.word(c), self.word_out(dst, false))
                };
                let op = match ty {
                    ScalarType::U16 => Op::lanes::<int::MadWideU16>(),
                    ScalarType::S16 => Op::lanes::<int::MadWideS16>(),
                    ScalarType::U32 => Op::lanes::<int::MadWideU32>(),
                    ScalarType::S32 => Op::lanes::<int::MadWideS32>(),
                    _ => return Err(Refused::Unsupported),
                };
                self.emit(op, d, [a, b, c], 0);
            }
            Ir::Mad { mode, ty, sat, dst, a, b, c } => {
                let op = match (mode, ty, sat) {
                    (MulMode::Lo, _, false) => by_width!(ty, MadLo),
                    (MulMode::Hi, _, false) => by_type!(ty, MadHiU, MadHiS),
                    (MulMode::Hi, ScalarType::S32, true) => Op::lanes::<int::MadHiSatS32>(),
                    _ => return Err(Refused::Unsupported),
                };
                self.three(op, ty, dst, [a, b, c]);
            }
            Ir::Clmad { hi, dst, a, b, c } => {
                let op = if hi { Op::lanes::<int::ClmadHi>() } else { Op::lanes::<int::ClmadLo>() };
                self.three(op, ScalarType::U64, dst, [a, b, c]);
            }
            Ir::Mul24 { mode, ty, dst, a, b } => {
                let op = match (mode, ty.is_signed()) {
                    (MulMode::Lo, false) => Op::lanes::<int::Mul24LoU>(),
                    (MulMode::Lo, true) => Op::lanes::<int::Mul24LoS>(),
                    (_, false) => Op::lanes::<int::Mul24HiU>(),
                    (_, true) => Op::lanes::<int::Mul24HiS>(),
                };
                let (a, b, d) = (self.word(a), self.word(b), self.word_out(dst, false));
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::Mad24 { mode, ty, sat, dst, a, b, c } => {
                let op = match (mode, ty, sat) {
                    (MulMode::Lo, ScalarType::U32, false) => Op::lanes::<int::Mad24LoU>(),
                    (MulMode::Lo, ScalarType::S32, false) => Op::lanes::<int::Mad24LoS>(),
                    (MulMode::Hi, ScalarType::U32, false) => Op::lanes::<int::Mad24HiU>(),
                    (MulMode::Hi, ScalarType::S32, false) => Op::lanes::<int::Mad24HiS>(),
                    (MulMode::Hi, ScalarType::S32, true) => Op::lanes::<int::Mad24HiSatS>(),
                    _ => return Err(Refused::Unsupported),
                };
                self.three(op, ty, dst, [a, b, c]);
            }
            Ir::Sad { ty, dst, a, b, c } => {
                let op = by_type!(ty, SadU, SadS);
                self.three(op, ty, dst, [a, b, c]);
            }
            Ir::Fns { dst, mask, base, offset } => {
                self.three(Op::lanes::<int::Fns>(), ScalarType::B32, dst, [mask, base, offset]);
            }
            Ir::Bfe { ty, dst, a, pos, len } => {
                let op = match (ty.bits(), ty.is_signed()) {
                    (32, false) => Op::lanes::<int::BfeU32>(),
                    (32, true) => Op::lanes::<int::BfeS32>(),
                    (64, false) => Op::lanes::<int::BfeU64>(),
                    (64, true) => Op::lanes::<int::BfeS64>(),
                    _ => return Err(Refused::Unsupported),
                };
                let sources = [self.source(ty, a), self.word(pos), self.word(len)];
                let d = self.out(ty, dst);
                self.emit(op, d, sources, 0);
            }
            Ir::Bfi { ty, dst, a, b, pos, len } => {
                let op = if ty.bits() == 64 { Op::lanes::<int::Bfi64>() } else { Op::lanes::<int::Bfi32>() };
                let sources = [self.source(ty, a), self.source(ty, b), self.word(pos)];
                let length = self.word(len);
                let d = self.out(ty, dst);
                self.emit(op, d, sources, length);
            }
            Ir::Bmsk { mode, dst, pos, len } => {
                let op = match mode {
                    ClampMode::Clamp => Op::lanes::<int::BmskClamp>(),
                    ClampMode::Wrap => Op::lanes::<int::BmskWrap>(),
                };
                let (a, b, d) = (self.word(pos), self.word(len), self.word_out(dst, false));
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::Szext { mode, ty, dst, a, len } => {
                let op = match (mode, ty.is_signed()) {
                    (ClampMode::Clamp, false) => Op::lanes::<int::SzextClampU>(),
                    (ClampMode::Clamp, true) => Op::lanes::<int::SzextClampS>(),
                    (ClampMode::Wrap, false) => Op::lanes::<int::SzextWrapU>(),
                    (ClampMode::Wrap, true) => Op::lanes::<int::SzextWrapS>(),
                };
                let (a, b, d) = (self.word(a), self.word(len), self.word_out(dst, false));
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::Dp4a { a_ty, b_ty, dst, a, b, c } => {
                let op = match (a_ty.is_signed(), b_ty.is_signed()) {
                    (false, false) => Op::lanes::<int::Dp4aUU>(),
                    (false, true) => Op::lanes::<int::Dp4aUS>(),
                    (true, false) => Op::lanes::<int::Dp4aSU>(),
                    (true, true) => Op::lanes::<int::Dp4aSS>(),
                };
                self.three(op, ScalarType::B32, dst, [a, b, c]);
            }
            Ir::Dp2a { hi, a_ty, b_ty, dst, a, b, c } => {
                let op = match (hi, a_ty.is_signed(), b_ty.is_signed()) {
                    (false, false, false) => Op::lanes::<int::Dp2aLoUU>(),
                    (false, false, true) => Op::lanes::<int::Dp2aLoUS>(),
                    (false, true, false) => Op::lanes::<int::Dp2aLoSU>(),
                    (false, true, true) => Op::lanes::<int::Dp2aLoSS>(),
                    (true, false, false) => Op::lanes::<int::Dp2aHiUU>(),
                    (true, false, true) => Op::lanes::<int::Dp2aHiUS>(),
                    (true, true, false) => Op::lanes::<int::Dp2aHiSU>(),
                    (true, true, true) => Op::lanes::<int::Dp2aHiSS>(),
                };
                self.three(op, ScalarType::B32, dst, [a, b, c]);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    /// An operation of three operands and a result of one type.
    pub(super) fn three(
        &mut self,
        op: Op,
        ty: ScalarType,
        dst: warploom_ptx::ir::Reg,
        [a, b, c]: [warploom_ptx::ir::Operand; 3],
    ) {
        let sources = [self.source(ty, a), self.source(ty, b), self.source(ty, c)];
        let d = self.out(ty, dst);
        self.emit(op, d, sources, 0);
    }

    /// `add.cc` and its like.
    pub(super) fn extended(&mut self, op: &warploom_ptx::ir::Op) -> Decoded {
        use warploom_ptx::ir::Op as Ir;
        match *op {
            Ir::AddCarry { sub, carry_in, carry_out, ty, dst, a, b } => {
                let (a, b, d) = (self.source(ty, a), self.source(ty, b), self.out(ty, dst));
                let op = if ty.bits() == 64 { extended::add64 } else { extended::add32 };
                let (carry, flags) = self.carries(sub, carry_in, carry_out);
                self.emit(Op::scalar(op), d, [a, b, carry], flags);
            }
            Ir::MadCarry { mode, carry_in, carry_out, ty, dst, a, b, c } => {
                // The product first, then an addition that carries.
                let product = match mode {
                    MulMode::Lo => by_width!(ty, MulLo),
                    _ => by_type!(ty, MulHiU, MulHiS),
                };
                let wide = ty.bits() == 64;
                let (a, b, c) = (self.source(ty, a), self.source(ty, b), self.source(ty, c));
                let t = if wide { self.temporary64() } else { self.temporary32() };
                self.emit(product, t, [a, b, 0], 0);
                let d = self.out(ty, dst);
                let op = if wide { extended::add64 } else { extended::add32 };
                let (carry, flags) = self.carries(false, carry_in, carry_out);
                self.emit(Op::scalar(op), d, [t, c, carry], flags);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    /// The predicate that the carry comes from, and what an addition is to do with carries.
    fn carries(&mut self, subtract: bool, carry_in: Option<Reg>, carry_out: Option<Reg>) -> (u32, u32) {
        let from = carry_in.map(|reg| self.predicate(Predicate { reg, negated: false }));
        let into = carry_out.map(|reg| self.predicate_out(reg));
        (from.unwrap_or_default(), extended::flags(subtract, from.is_some(), into))
    }
}

fn integer_binary(op: IntBinaryOp, ty: ScalarType, sat: bool, relu: bool) -> Decoded<Op> {
    use IntBinaryOp::{Add, Div, Max, Min, Rem, Sub};
    use ScalarType::{S8x4, S16x2, S32, U8x4, U16x2, U32};
    Ok(match (op, ty, sat, relu) {
        (Add, U16x2 | S16x2, false, false) => Op::lanes::<int::AddX2>(),
        (Add, U16x2, true, false) => Op::lanes::<int::AddSatU16x2>(),
        (Add, S16x2, true, false) => Op::lanes::<int::AddSatS16x2>(),
        (Min, U16x2, false, false) => Op::lanes::<int::MinU16x2>(),
        (Max, U16x2, false, false) => Op::lanes::<int::MaxU16x2>(),
        (Min, S16x2, false, false) => Op::lanes::<int::MinS16x2>(),
        (Max, S16x2, false, false) => Op::lanes::<int::MaxS16x2>(),
        (Min, S16x2, false, true) => Op::lanes::<int::MinReluS16x2>(),
        (Max, S16x2, false, true) => Op::lanes::<int::MaxReluS16x2>(),
        (Add, U8x4 | S8x4, false, false) => Op::lanes::<int::AddX4>(),
        (Sub, U8x4 | S8x4, false, false) => Op::lanes::<int::SubX4>(),
        (Add, U8x4, true, false) => Op::lanes::<int::AddSatU8x4>(),
        (Add, S8x4, true, false) => Op::lanes::<int::AddSatS8x4>(),
        (Sub, U8x4, true, false) => Op::lanes::<int::SubSatU8x4>(),
        (Sub, S8x4, true, false) => Op::lanes::<int::SubSatS8x4>(),
        (Min, U8x4, false, false) => Op::lanes::<int::MinU8x4>(),
        (Max, U8x4, false, false) => Op::lanes::<int::MaxU8x4>(),
        (Min, S8x4, false, false) => Op::lanes::<int::MinS8x4>(),
        (Max, S8x4, false, false) => Op::lanes::<int::MaxS8x4>(),
        (Min, S8x4, false, true) => Op::lanes::<int::MinReluS8x4>(),
        (Max, S8x4, false, true) => Op::lanes::<int::MaxReluS8x4>(),
        (_, U16x2 | S16x2 | U8x4 | S8x4, ..) => return Err(Refused::Unsupported),
        (Add, S32, true, false) => Op::lanes::<int::AddSatS32>(),
        (Sub, S32, true, false) => Op::lanes::<int::SubSatS32>(),
        (Add, U32, true, false) => Op::lanes::<int::AddSatU32>(),
        (Min, S32, false, true) => Op::lanes::<int::MinReluS32>(),
        (Max, S32, false, true) => Op::lanes::<int::MaxReluS32>(),
        (Add, _, false, false) => by_width!(ty, Add),
        (Sub, _, false, false) => by_width!(ty, Sub),
        (Div, _, false, false) => by_type!(ty, DivU, DivS),
        (Rem, _, false, false) => by_type!(ty, RemU, RemS),
        (Min, _, false, false) => by_type!(ty, MinU, MinS),
        (Max, _, false, false) => by_type!(ty, MaxU, MaxS),
        (_, _, true, _) | (_, _, _, true) => return Err(Refused::Unsupported),
    })
}

fn integer_unary(op: IntUnaryOp, ty: ScalarType) -> Decoded<Op> {
    Ok(match op {
        IntUnaryOp::Abs => by_width!(ty, Abs),
        IntUnaryOp::Neg => by_width!(ty, Neg),
        IntUnaryOp::Popc => by_width!(ty, Popc),
        IntUnaryOp::Clz => by_width!(ty, Clz),
        IntUnaryOp::Bfind => by_type!(ty, BfindU, BfindS),
        IntUnaryOp::BfindShift => by_type!(ty, BfindShiftU, BfindShiftS),
        IntUnaryOp::Brev => by_width!(ty, Brev),
        IntUnaryOp::Not => match ty.bits() {
            16 => Op::lanes::<logic::Not16>(),
            64 => Op::lanes::<logic::Not64>(),
            _ => Op::lanes::<logic::Not32>(),
        },
        IntUnaryOp::Cnot => match ty.bits() {
            64 => Op::lanes::<logic::Cnot64>(),
            _ => Op::lanes::<logic::Cnot32>(),
        },
    })
}
