//! Conversions (PTX ISA 9.7.9.21, 9.7.9.22).
//!
//! A conversion is a chain of at most three steps: the source to a value of 32 or 64 bits, the conversion proper, and the extension to a
//! destination register that is wider or narrower than 32 bits.

use warploom_ptx::ir::{Op as Ir, Operand, Reg, Rounding, ScalarType};

use super::float::{by_mode, direction};
use super::{Decoded, Decoder, Refused};
use crate::isa::Op;
use crate::ops::modes::{Fixed, Flags, How, open};
use crate::ops::{convert as ops, moves};
use warploom_numerics::Rounding as Direction;

const ZERO: How = How { rounding: Direction::Zero, ..How::PLAIN };
const DOWN: How = How { rounding: Direction::Down, ..How::PLAIN };
const ZERO_FTZ: How = How { flags: Flags::FTZ, ..ZERO };
const FTZ: How = How { flags: Flags::FTZ, ..How::PLAIN };
const SATFINITE: How = How { flags: Flags::SATFINITE, ..How::PLAIN };

/// For each integer type its version of an operation.
macro_rules! by_integer {
    ($ty:expr, |$integer:ident| $op:expr) => {{
        macro_rules! of {
            ($type:ty) => {{
                type $integer = $type;
                $op
            }};
        }
        match $ty {
            ScalarType::U8 => of!(u8),
            ScalarType::S8 => of!(i8),
            ScalarType::U16 => of!(u16),
            ScalarType::S16 => of!(i16),
            ScalarType::U32 => of!(u32),
            ScalarType::S32 => of!(i32),
            ScalarType::U64 => of!(u64),
            ScalarType::S64 => of!(i64),
            _ => return Err(Refused::Unsupported),
        }
    }};
}

/// What a conversion reads.
#[derive(Clone, Copy)]
enum Value {
    U32(u32),
    S32(u32),
    U64(u32),
    S64(u32),
    F32(u32),
    F64(u32),
}

impl Decoder<'_> {
    pub(super) fn conversion(&mut self, op: &Ir) -> Decoded {
        if let Ir::CvtRandom { dst_ty, satfinite, relu, dst, src, random } = op {
            return self.random(*dst_ty, narrowing(*satfinite, *relu), *dst, src, *random);
        }
        match *op {
            Ir::CvtScaled { dst_ty, src_ty, satfinite, relu, dst, a, b, scale } => {
                self.scaled((dst_ty, src_ty), narrowing(satfinite, relu), dst, [Some(a), b], scale)
            }
            Ir::Cvt { dst_ty, src_ty, to, from: _, rnd, ftz, sat, satfinite, relu, dst, a, b } => {
                let rounding = direction(rnd.unwrap_or(Rounding::Rn))?;
                let saturation = Flags::SAT.when(sat) | Flags::SATFINITE.when(satfinite);
                let how = How { rounding, flags: Flags::FTZ.when(ftz) | Flags::RELU.when(relu) | saturation };
                if is_packed(dst_ty) {
                    return self.packed(dst_ty, src_ty, how, dst, a, b);
                }
                let integral = matches!(rnd, Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi));
                if is_integer(src_ty) && is_integer(dst_ty) {
                    return self.integer_to_integer(dst_ty, src_ty, sat, (to, dst), a);
                }
                let value = self.convertible(src_ty, a)?;
                if is_integer(dst_ty) {
                    let d = self.integer_out(dst_ty, (to, dst));
                    let (op, a) = to_integer(dst_ty, value, how)?;
                    self.emit(op, d, [a, 0, 0], how.pack());
                    return Ok(());
                }
                let (value, how) = self.integral(dst_ty, src_ty, value, how, integral)?;
                let d = self.out(dst_ty, dst);
                let (op, a) = to_float(dst_ty, value, how, integral && dst_ty == src_ty)?;
                self.emit(op, d, [a, 0, 0], how.pack());
                Ok(())
            }
            Ir::CvtPack { dst_ty, src_ty: _, dst, a, b, c } => {
                let bits = dst_ty.bits() as i32;
                let sources = [self.word(a), self.word(b), self.word(c.unwrap_or(Operand::Imm(0)))];
                let d = self.word_out(dst, false);
                let imm = if dst_ty.is_signed() { -bits } else { bits };
                self.emit(Op::lanes::<ops::Pack>(), d, sources, imm as u32);
                Ok(())
            }
            _ => Err(Refused::Unsupported),
        }
    }

    /// The row of a half as `.f32`.
    pub(super) fn widened(&mut self, ty: ScalarType, row: u32) -> Decoded<u32> {
        let op = match ty {
            ScalarType::F16 => Op::lanes::<ops::F32FromF16>(),
            ScalarType::Bf16 => Op::lanes::<ops::F32FromBf16>(),
            _ => return Err(Refused::Unsupported),
        };
        let wide = self.temporary32();
        self.emit(op, wide, [row, 0, 0], 0);
        Ok(wide)
    }

    /// The source as a value that conversions know.
    fn convertible(&mut self, ty: ScalarType, operand: Operand) -> Decoded<Value> {
        let row = self.source(ty, operand);
        Ok(match ty {
            ScalarType::U64 => Value::U64(row),
            ScalarType::S64 => Value::S64(row),
            ScalarType::F32 => Value::F32(row),
            ScalarType::F64 => Value::F64(row),
            ScalarType::F16 | ScalarType::Bf16 => Value::F32(self.widened(ty, row)?),
            _ if ty.is_signed() => Value::S32(self.extended_word(ty, row)),
            _ if is_integer(ty) => Value::U32(self.extended_word(ty, row)),
            _ => return Err(Refused::Unsupported),
        })
    }

    /// A row whose values of at most 32 bits are extended to 32 bits by their type.
    fn extended_word(&mut self, ty: ScalarType, row: u32) -> u32 {
        let Some(op) = extension(ty) else { return row };
        let wide = self.temporary32();
        self.emit(op, wide, [row, 0, 0], 0);
        wide
    }

    /// Halves round to integers as `.f32` does, before they become halves again.
    fn integral(
        &mut self,
        dst_ty: ScalarType,
        src_ty: ScalarType,
        value: Value,
        how: How,
        integral: bool,
    ) -> Decoded<(Value, How)> {
        let Value::F32(row) = value else { return Ok((value, how)) };
        if !integral || dst_ty != src_ty || dst_ty == ScalarType::F32 {
            return Ok((value, how));
        }
        let whole = self.temporary32();
        self.emit(by_mode!(ops::IntegralF32, how), whole, [row, 0, 0], how.pack());
        Ok((Value::F32(whole), How { rounding: Direction::Nearest, ..how }))
    }

    /// The row that gets an integer result: 64-bit, or 32-bit extended by its type, then cut or extended to the register.
    fn integer_out(&mut self, ty: ScalarType, (to, dst): (ScalarType, Reg)) -> u32 {
        if ty.bits() == 64 {
            return self.double_out(dst);
        }
        let cut = match to.bits() {
            8 => Op::lanes::<ops::ZeroExtend8>(),
            16 => Op::lanes::<moves::ZeroExtend16>(),
            _ => return self.word_out(dst, ty.is_signed()),
        };
        let (wide, slot) = (self.temporary32(), self.word_out(dst, false));
        self.emit_after(cut, slot, wide);
        wide
    }

    fn integer_to_integer(
        &mut self,
        dst_ty: ScalarType,
        src_ty: ScalarType,
        sat: bool,
        dst: (ScalarType, Reg),
        a: Operand,
    ) -> Decoded {
        let value = self.convertible(src_ty, a)?;
        let d = self.integer_out(dst_ty, dst);
        if sat {
            let (row, signed) = self.wide(value)?;
            match (dst_ty, signed) {
                // Every value fits.
                (ScalarType::S64, true) | (ScalarType::U64, false) => self.copy(dst_ty, d, row),
                (_, true) => {
                    self.emit(by_integer!(dst_ty, |T| Op::lanes::<ops::Saturate<T, i64>>()), d, [row, 0, 0], 0);
                }
                (_, false) => {
                    self.emit(by_integer!(dst_ty, |T| Op::lanes::<ops::Saturate<T, u64>>()), d, [row, 0, 0], 0);
                }
            }
            return Ok(());
        }
        if dst_ty.bits() == 64 {
            let (row, _) = self.wide(value)?;
            self.copy(dst_ty, d, row);
            return Ok(());
        }
        let row = match value {
            Value::U64(row) | Value::S64(row) => {
                let narrow = self.temporary32();
                self.emit(Op::lanes::<moves::Narrow>(), narrow, [row, 0, 0], 0);
                narrow
            }
            Value::U32(row) | Value::S32(row) => row,
            Value::F32(_) | Value::F64(_) => return Err(Refused::Unsupported),
        };
        self.emit(extension(dst_ty).unwrap_or(Op::lanes::<moves::Mov32>()), d, [row, 0, 0], 0);
        Ok(())
    }

    /// An integer in 64 bits, and whether it is signed.
    fn wide(&mut self, value: Value) -> Decoded<(u32, bool)> {
        let (op, row, signed) = match value {
            Value::U64(row) => return Ok((row, false)),
            Value::S64(row) => return Ok((row, true)),
            Value::U32(row) => (Op::lanes::<moves::Widen>(), row, false),
            Value::S32(row) => (Op::lanes::<moves::WidenS32>(), row, true),
            Value::F32(_) | Value::F64(_) => return Err(Refused::Unsupported),
        };
        let wide = self.temporary64();
        self.emit(op, wide, [row, 0, 0], 0);
        Ok((wide, signed))
    }

    fn packed(
        &mut self,
        dst_ty: ScalarType,
        src_ty: ScalarType,
        how: How,
        dst: Reg,
        a: Operand,
        b: Option<Operand>,
    ) -> Decoded {
        use ScalarType::*;
        let op = match (dst_ty, src_ty) {
            (F16x2, F32) => by_mode!(ops::F16x2FromF32, how),
            (Bf16x2, F32) => by_mode!(ops::Bf16x2FromF32, how),
            (E4m3x2, F32) => by_mode!(ops::E4m3x2FromF32, how, [SATFINITE]),
            (E5m2x2, F32) => by_mode!(ops::E5m2x2FromF32, how, [SATFINITE]),
            (E2m3x2, F32) => by_mode!(ops::E2m3x2FromF32, how, [SATFINITE]),
            (E3m2x2, F32) => by_mode!(ops::E3m2x2FromF32, how, [SATFINITE]),
            (E2m1x2, F32) => by_mode!(ops::E2m1x2FromF32, how, [SATFINITE]),
            (E4m3x2, F16x2) => by_mode!(ops::E4m3x2FromF16x2, how, [SATFINITE]),
            (E5m2x2, F16x2) => by_mode!(ops::E5m2x2FromF16x2, how, [SATFINITE]),
            (F16x2, E4m3x2) => by_mode!(ops::F16x2FromE4m3x2, how),
            (F16x2, E5m2x2) => by_mode!(ops::F16x2FromE5m2x2, how),
            (F16x2, E2m3x2) => by_mode!(ops::F16x2FromE2m3x2, how),
            (F16x2, E3m2x2) => by_mode!(ops::F16x2FromE3m2x2, how),
            (F16x2, E2m1x2) => by_mode!(ops::F16x2FromE2m1x2, how),
            (E4m3x2, Bf16x2) => by_mode!(ops::E4m3x2FromBf16x2, how, [SATFINITE]),
            (E5m2x2, Bf16x2) => by_mode!(ops::E5m2x2FromBf16x2, how, [SATFINITE]),
            (E2m3x2, F16x2) => by_mode!(ops::E2m3x2FromF16x2, how, [SATFINITE]),
            (E2m3x2, Bf16x2) => by_mode!(ops::E2m3x2FromBf16x2, how, [SATFINITE]),
            (E3m2x2, F16x2) => by_mode!(ops::E3m2x2FromF16x2, how, [SATFINITE]),
            (E3m2x2, Bf16x2) => by_mode!(ops::E3m2x2FromBf16x2, how, [SATFINITE]),
            (E2m1x2, F16x2) => by_mode!(ops::E2m1x2FromF16x2, how, [SATFINITE]),
            (E2m1x2, Bf16x2) => by_mode!(ops::E2m1x2FromBf16x2, how, [SATFINITE]),
            (Bf16x2, E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | E2m1x2) => {
                return self.scaled((dst_ty, src_ty), how, dst, [Some(a), None], Operand::Imm(ONES));
            }
            (Ue8m0x2, F32) => by_mode!(ops::Ue8m0x2FromF32, how),
            (Ue8m0x2, Bf16x2) => by_mode!(ops::Ue8m0x2FromBf16x2, how),
            (Bf16x2, Ue8m0x2) => Op::lanes::<ops::Bf16x2FromUe8m0x2>(),
            _ => return Err(Refused::Unsupported),
        };
        let a = self.word(a);
        let b = b.map_or(0, |b| self.word(b));
        let d = self.word_out(dst, false);
        self.emit(op, d, [a, b, 0], how.pack());
        Ok(())
    }
}

impl Decoder<'_> {
    /// `cvt.rs`.
    fn random(&mut self, ty: ScalarType, how: How, dst: Reg, src: &[Operand], random: Operand) -> Decoded {
        use ScalarType::*;
        let random = self.word(random);
        let rows: Vec<u32> = src.iter().map(|&value| self.word(value)).collect();
        let op = match ty {
            F16x2 => by_mode!(ops::F16x2AtRandom, how),
            Bf16x2 => by_mode!(ops::Bf16x2AtRandom, how),
            E4m3x4 => by_mode!(ops::E4m3x2AtRandom, how),
            E5m2x4 => by_mode!(ops::E5m2x2AtRandom, how),
            E2m3x4 => by_mode!(ops::E2m3x2AtRandom, how),
            E3m2x4 => by_mode!(ops::E3m2x2AtRandom, how),
            E2m1x4 => by_mode!(ops::E2m1x2AtRandom, how),
            _ => return Err(Refused::Unsupported),
        };
        let &[a, b, ref rest @ ..] = &rows[..] else { return Err(Refused::Unsupported) };
        let &[c, d] = rest else {
            let to = self.word_out(dst, false);
            self.emit(op, to, [a, b, random], how.pack());
            return Ok(());
        };
        // Two numbers at a time, each pair with its part of the random bits.
        let width = ty.bits() / 4;
        let halves = [([a, b], true), ([c, d], false)].map(|([a, b], upper)| {
            let (bits, pair) = (self.temporary32(), self.temporary32());
            self.emit(Op::lanes::<ops::RandomPart>(), bits, [random, 0, 0], width << 1 | u32::from(upper));
            self.emit(op, pair, [a, b, bits], how.pack());
            pair
        });
        let to = self.word_out(dst, false);
        self.emit(Op::lanes::<ops::Join>(), to, [halves[0], halves[1], 0], 2 * width);
        Ok(())
    }

    /// Conversions with a factor for each half.
    fn scaled(
        &mut self,
        (dst_ty, src_ty): (ScalarType, ScalarType),
        how: How,
        dst: Reg,
        src: [Option<Operand>; 2],
        scale: Operand,
    ) -> Decoded {
        use ScalarType::*;
        let [a, b] = src.map(|value| value.map_or(0, |value| self.word(value)));
        let scale = self.word(scale);
        let (op, sources) = match (dst_ty, src_ty) {
            (S2f6x2, F32) => (by_mode!(ops::S2f6x2FromF32, how), [a, b, scale]),
            (S2f6x2, Bf16x2) => (by_mode!(ops::S2f6x2FromBf16x2, how), [a, scale, 0]),
            (Bf16x2, S2f6x2) => (by_mode!(ops::Bf16x2FromS2f6x2, how), [a, scale, 0]),
            (Bf16x2, E4m3x2) => (by_mode!(ops::Bf16x2FromE4m3x2, how), [a, scale, 0]),
            (Bf16x2, E5m2x2) => (by_mode!(ops::Bf16x2FromE5m2x2, how), [a, scale, 0]),
            (Bf16x2, E2m3x2) => (by_mode!(ops::Bf16x2FromE2m3x2, how), [a, scale, 0]),
            (Bf16x2, E3m2x2) => (by_mode!(ops::Bf16x2FromE3m2x2, how), [a, scale, 0]),
            (Bf16x2, E2m1x2) => (by_mode!(ops::Bf16x2FromE2m1x2, how), [a, scale, 0]),
            _ => return Err(Refused::Unsupported),
        };
        let to = self.word_out(dst, false);
        self.emit(op, to, sources, how.pack());
        Ok(())
    }
}

/// Factors of 1 for both halves.
const ONES: u64 = 0x7f7f;

fn narrowing(satfinite: bool, relu: bool) -> How {
    How { flags: Flags::SATFINITE.when(satfinite) | Flags::RELU.when(relu), ..How::PLAIN }
}

fn is_integer(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, U8 | S8 | U16 | S16 | U32 | S32 | U64 | S64)
}

fn is_packed(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, F16x2 | Bf16x2 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | E2m1x2 | Ue8m0x2)
}

/// What extends a value of less than 32 bits to 32 bits.
fn extension(ty: ScalarType) -> Option<Op> {
    match (ty.bits(), ty.is_signed()) {
        (8, false) => Some(Op::lanes::<ops::ZeroExtend8>()),
        (8, true) => Some(Op::lanes::<ops::SignExtend8>()),
        (16, false) => Some(Op::lanes::<moves::ZeroExtend16>()),
        (16, true) => Some(Op::lanes::<ops::SignExtend16>()),
        _ => None,
    }
}

/// A floating-point value to an integer.
fn to_integer(ty: ScalarType, value: Value, how: How) -> Decoded<(Op, u32)> {
    use ScalarType::*;
    Ok(match value {
        Value::F32(row) => (
            match ty {
                U32 => by_mode!(ops::FromF32<u32>, how, [How::PLAIN, ZERO, ZERO_FTZ]),
                S32 => by_mode!(ops::FromF32<i32>, how, [How::PLAIN, ZERO, DOWN, FTZ, ZERO_FTZ]),
                _ => by_integer!(ty, |T| by_mode!(ops::FromF32<T>, how, [ZERO])),
            },
            row,
        ),
        Value::F64(row) => (
            match ty {
                U32 => by_mode!(ops::FromF64<u32>, how, [How::PLAIN, ZERO]),
                S32 => by_mode!(ops::FromF64<i32>, how, [How::PLAIN, ZERO]),
                S64 => by_mode!(ops::FromF64<i64>, how, [How::PLAIN, ZERO]),
                _ => by_integer!(ty, |T| by_mode!(ops::FromF64<T>, how, [ZERO])),
            },
            row,
        ),
        _ => return Err(Refused::Unsupported),
    })
}

/// An integer to a floating-point type.
fn from_integer<T: ops::Number>(ty: ScalarType, how: How) -> Decoded<Op> {
    Ok(match ty {
        ScalarType::F32 => by_mode!(ops::F32From<T>, how),
        ScalarType::F64 => by_mode!(ops::F64From<T>, how),
        ScalarType::F16 => by_mode!(ops::F16From<T>, how),
        ScalarType::Bf16 => by_mode!(ops::Bf16From<T>, how),
        _ => return Err(Refused::Unsupported),
    })
}

/// A value to a floating-point type; `integral` between equal types.
fn to_float(ty: ScalarType, value: Value, how: How, integral: bool) -> Decoded<(Op, u32)> {
    use ScalarType::*;
    Ok(match (ty, value) {
        (_, Value::U32(row)) => (from_integer::<u32>(ty, how)?, row),
        (_, Value::S32(row)) => (from_integer::<i32>(ty, how)?, row),
        (_, Value::U64(row)) => (from_integer::<u64>(ty, how)?, row),
        (_, Value::S64(row)) => (from_integer::<i64>(ty, how)?, row),
        (F32, Value::F32(row)) if integral => (by_mode!(ops::IntegralF32, how, [How::PLAIN, ZERO, DOWN]), row),
        (F32, Value::F32(row)) => (by_mode!(ops::F32FromF32, how, [How::PLAIN, FTZ]), row),
        (F32, Value::F64(row)) => (by_mode!(ops::F32FromF64, how, [How::PLAIN, FTZ]), row),
        (F64, Value::F32(row)) => (by_mode!(ops::F64FromF32, how, [How::PLAIN, FTZ]), row),
        (F64, Value::F64(row)) if integral => (by_mode!(ops::IntegralF64, how, [How::PLAIN, ZERO, DOWN]), row),
        (F64, Value::F64(row)) => (by_mode!(ops::F64FromF64, how), row),
        (F16, Value::F32(row)) => (by_mode!(ops::F16FromF32, how), row),
        (F16, Value::F64(row)) => (by_mode!(ops::F16FromF64, how), row),
        (Bf16, Value::F32(row)) => (by_mode!(ops::Bf16FromF32, how), row),
        (Bf16, Value::F64(row)) => (by_mode!(ops::Bf16FromF64, how), row),
        (Tf32, Value::F32(row)) => (by_mode!(ops::Tf32FromF32, how), row),
        _ => return Err(Refused::Unsupported),
    })
}
