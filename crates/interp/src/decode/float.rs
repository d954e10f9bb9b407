//! Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5).

use warploom_numerics::Rounding as Direction;
use warploom_ptx::ir::{FloatBinaryOp, FloatUnaryOp, Op as Ir, Operand, Rounding, ScalarType, TestpOp};

use super::{Decoded, Decoder, Refused};
use crate::isa::Op;
use crate::ops::modes::{Fixed, Flags, How, open};
use crate::ops::{float as ops, half};

/// The operation for the modifiers: an instance of its own for each listed combination, else the common one.
macro_rules! by_mode {
    ($function:ty, $how:expr) => { by_mode!($function, $how, [How::PLAIN]) };
    ($function:ty, $how:expr, [$($fixed:expr),*]) => {{
        let packed = $how.pack();
        $(if packed == const { $fixed.pack() } {
            Op::lanes::<Fixed<$function, { $fixed.pack() }>>()
        } else)* {
            Op::scalar(open::<$function>)
        }
    }};
}
pub(super) use by_mode;

/// For each half type its version of an operation.
macro_rules! by_half {
    ($ty:expr, $name:ident, $how:expr) => {
        match $ty {
            ScalarType::F16 => by_mode!(half::f16::$name, $how),
            ScalarType::F16x2 => by_mode!(half::f16x2::$name, $how),
            ScalarType::Bf16 => by_mode!(half::bf16::$name, $how),
            ScalarType::Bf16x2 => by_mode!(half::bf16x2::$name, $how),
            _ => return Err(Refused::Unsupported),
        }
    };
}

const FTZ: How = How { flags: Flags::FTZ, ..How::PLAIN };
const SAT: How = How { flags: Flags::SAT, ..How::PLAIN };
const FTZ_SAT: How = How { flags: Flags::FTZ.union(Flags::SAT), ..How::PLAIN };
const MAX: How = How { flags: Flags::MAX, ..How::PLAIN };
const FTZ_MAX: How = How { flags: Flags::FTZ.union(Flags::MAX), ..How::PLAIN };

/// The direction of a rounding modifier; `.rs` takes random bits and is none.
pub(super) fn direction(rounding: Rounding) -> Decoded<Direction> {
    Ok(match rounding {
        Rounding::Rn | Rounding::Rni => Direction::Nearest,
        Rounding::Rz | Rounding::Rzi => Direction::Zero,
        Rounding::Rm | Rounding::Rmi => Direction::Down,
        Rounding::Rp | Rounding::Rpi => Direction::Up,
        Rounding::Rna => Direction::Away,
        // Conversions alone round at random, and they have an operation of their own for it.
        Rounding::Rs => return Err(Refused::Unsupported),
    })
}

impl Decoder<'_> {
    pub(super) fn float(&mut self, op: &Ir) -> Decoded {
        match *op {
            Ir::FloatUnary { op, ty, rnd, ftz, dst, a } => {
                let how = How { rounding: direction(rnd)?, flags: Flags::FTZ.when(ftz) };
                let (a, d) = (self.source(ty, a), self.out(ty, dst));
                self.emit(unary(op, ty, how)?, d, [a, 0, 0], how.pack());
            }
            Ir::FloatBinary { op, ty, a_ty, rnd, ftz, sat, dst, a, b } => {
                let how = How { rounding: direction(rnd)?, flags: Flags::FTZ.when(ftz) | Flags::SAT.when(sat) };
                let (a, b, d) = (self.mixed(a_ty, ty, a)?, self.source(ty, b), self.out(ty, dst));
                self.emit(binary(op, ty, how)?, d, [a, b, 0], how.pack());
            }
            Ir::Fma { ty, a_ty, rnd, ftz, sat, relu, oob, dst, a, b, c } => {
                let flags = Flags::FTZ.when(ftz) | Flags::SAT.when(sat) | Flags::RELU.when(relu);
                let how = How { rounding: direction(rnd)?, flags };
                let sources = [self.mixed(a_ty, ty, a)?, self.mixed(a_ty, ty, b)?, self.source(ty, c)];
                let d = self.out(ty, dst);
                let op = match ty {
                    ScalarType::F32 => by_mode!(ops::Fma32, how, [How::PLAIN, FTZ, SAT, FTZ_SAT]),
                    ScalarType::F32x2 => by_mode!(ops::FmaPair, how, [How::PLAIN, FTZ]),
                    ScalarType::F64 => by_mode!(ops::Fma64, how),
                    _ if oob => by_half!(ty, FmaOob, how),
                    _ => by_half!(ty, Fma, how),
                };
                self.emit(op, d, sources, how.pack());
            }
            Ir::FloatMinMax { max, ty, ftz, nan, abs, xorsign, dst, a, b, c } => {
                let signs = Flags::ABS.when(abs) | Flags::XORSIGN.when(xorsign);
                let flags = Flags::MAX.when(max) | Flags::FTZ.when(ftz) | Flags::NAN.when(nan) | signs;
                let how = How { flags, ..How::PLAIN };
                let (a, b, d) = (self.source(ty, a), self.source(ty, b), self.out(ty, dst));
                let c = c.map(|c| self.source(ty, c));
                let op = match ty {
                    ScalarType::F32 if c.is_some() => by_mode!(ops::ExtremumOf3, how, [How::PLAIN, MAX]),
                    _ if c.is_some() => return Err(Refused::Unsupported),
                    ScalarType::F32 => by_mode!(ops::Extremum32, how, [How::PLAIN, MAX, FTZ, FTZ_MAX]),
                    ScalarType::F64 => by_mode!(ops::Extremum64, how, [How::PLAIN, MAX]),
                    _ => by_half!(ty, Extremum, how),
                };
                self.emit(op, d, [a, b, c.unwrap_or_default()], how.pack());
            }
            Ir::Testp { op, ty, dst, a } => {
                let property = match op {
                    TestpOp::Finite => 0,
                    TestpOp::Infinite => 1,
                    TestpOp::Number => 2,
                    TestpOp::NotANumber => 3,
                    TestpOp::Normal => 4,
                    TestpOp::Subnormal => 5,
                };
                let (a, p) = (self.source(ty, a), self.predicate_out(dst));
                let op = match ty {
                    ScalarType::F32 => Op::lanes::<ops::Testp<f32>>(),
                    _ => Op::lanes::<ops::Testp<f64>>(),
                };
                self.emit(op, p, [a, a, 0], property);
            }
            Ir::Copysign { ty, dst, a, b } => {
                let (a, b, d) = (self.source(ty, a), self.source(ty, b), self.out(ty, dst));
                let op = match ty {
                    ScalarType::F32 => Op::lanes::<ops::Copysign32>(),
                    _ => Op::lanes::<ops::Copysign64>(),
                };
                self.emit(op, d, [a, b, 0], 0);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    /// An operand of type `narrow` where the instruction computes in `ty`: widened, which is exact (PTX ISA 9.7.5).
    fn mixed(&mut self, narrow: ScalarType, ty: ScalarType, operand: Operand) -> Decoded<u32> {
        let row = self.source(narrow, operand);
        if narrow == ty { Ok(row) } else { self.widened(narrow, row) }
    }
}

fn unary(op: FloatUnaryOp, ty: ScalarType, how: How) -> Decoded<Op> {
    use FloatUnaryOp::*;
    Ok(match (ty, op) {
        (ScalarType::F32, Abs) => by_mode!(ops::Abs32, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, Neg) => by_mode!(ops::Neg32, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, Rcp) => by_mode!(ops::Rcp32, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, Sqrt) => by_mode!(ops::Sqrt32, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, RcpApprox) => by_mode!(ops::RcpApprox, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, SqrtApprox) => by_mode!(ops::SqrtApprox, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, RsqrtApprox) => by_mode!(ops::RsqrtApprox, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, Sin) => by_mode!(ops::Sin, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, Cos) => by_mode!(ops::Cos, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, Sin2pi) => by_mode!(ops::Sin2pi, how, [FTZ]),
        (ScalarType::F32, Cos2pi) => by_mode!(ops::Cos2pi, how, [FTZ]),
        (ScalarType::F32, Lg2) => by_mode!(ops::Lg2, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, Ex2) => by_mode!(ops::Ex2, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, Tanh) => by_mode!(ops::Tanh, how),
        (ScalarType::F64, Abs) => by_mode!(ops::Abs64, how),
        (ScalarType::F64, Neg) => by_mode!(ops::Neg64, how),
        (ScalarType::F64, Rcp) => by_mode!(ops::Rcp64, how),
        (ScalarType::F64, Sqrt) => by_mode!(ops::Sqrt64, how),
        (ScalarType::F64, RcpApprox) => by_mode!(ops::RcpApprox64, how, [FTZ]),
        (ScalarType::F64, RsqrtApprox) => by_mode!(ops::RsqrtApprox64, how, [How::PLAIN, FTZ]),
        (_, Abs) => by_half!(ty, Abs, how),
        (_, Neg) => by_half!(ty, Neg, how),
        (_, Ex2) => by_half!(ty, Ex2, how),
        (_, Tanh) => by_half!(ty, Tanh, how),
        _ => return Err(Refused::Unsupported),
    })
}

fn binary(op: FloatBinaryOp, ty: ScalarType, how: How) -> Decoded<Op> {
    use FloatBinaryOp::*;
    Ok(match (ty, op) {
        (ScalarType::F32, Add) => by_mode!(ops::Add32, how, [How::PLAIN, FTZ, SAT, FTZ_SAT]),
        (ScalarType::F32, Sub) => by_mode!(ops::Sub32, how, [How::PLAIN, FTZ, SAT, FTZ_SAT]),
        (ScalarType::F32, Mul) => by_mode!(ops::Mul32, how, [How::PLAIN, FTZ, SAT, FTZ_SAT]),
        (ScalarType::F32, Div) => by_mode!(ops::Div32, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, DivApprox) => by_mode!(ops::DivApprox, how, [How::PLAIN, FTZ]),
        (ScalarType::F32, DivFull) => by_mode!(ops::DivFull, how, [How::PLAIN, FTZ]),
        (ScalarType::F32x2, Add) => by_mode!(ops::AddPair, how, [How::PLAIN, FTZ]),
        (ScalarType::F32x2, Sub) => by_mode!(ops::SubPair, how, [How::PLAIN, FTZ]),
        (ScalarType::F32x2, Mul) => by_mode!(ops::MulPair, how, [How::PLAIN, FTZ]),
        (ScalarType::F64, Add) => by_mode!(ops::Add64, how),
        (ScalarType::F64, Sub) => by_mode!(ops::Sub64, how),
        (ScalarType::F64, Mul) => by_mode!(ops::Mul64, how),
        (ScalarType::F64, Div) => by_mode!(ops::Div64, how),
        (_, Add) => by_half!(ty, Add, how),
        (_, Sub) => by_half!(ty, Sub, how),
        (_, Mul) => by_half!(ty, Mul, how),
        _ => return Err(Refused::Unsupported),
    })
}
