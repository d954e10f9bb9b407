//! Integer arithmetic, extended precision and floating point (PTX ISA 9.7.1 to 9.7.5).

use super::{Args, rounding, ty};
use crate::ir::{
    ClampMode, FloatBinaryOp, FloatUnaryOp, IntBinaryOp, IntUnaryOp, MulMode, Op, Operand, Reg, ScalarType, TestpOp,
};
use crate::isa::{Modifiers, Opcode};

/// The operation; `carries` are the registers that an instruction of extended precision takes CC.CF from and puts it into.
pub(super) fn operation(opcode: Opcode, m: &Modifiers, args: Args<'_>, carries: (Option<Reg>, Option<Reg>)) -> Op {
    let ty = ty(m);
    let (ftz, sat) = (m.has("ftz"), m.has("sat"));
    match opcode {
        Opcode::Add | Opcode::Addc | Opcode::Sub | Opcode::Subc if !ty.is_float() => {
            let sub = matches!(opcode, Opcode::Sub | Opcode::Subc);
            let (dst, a, b) = (args.dst(0), args.src(1), args.src(2));
            let (carry_in, carry_out) = carries;
            if carry_in.is_some() || carry_out.is_some() {
                return Op::AddCarry { sub, carry_in, carry_out, ty, dst, a, b };
            }
            let op = if sub { IntBinaryOp::Sub } else { IntBinaryOp::Add };
            Op::IntBinary { op, ty, sat, relu: false, dst, a, b }
        }
        Opcode::Add => float_binary(FloatBinaryOp::Add, m, args),
        Opcode::Sub => float_binary(FloatBinaryOp::Sub, m, args),
        Opcode::Mul if ty.is_float() => float_binary(FloatBinaryOp::Mul, m, args),
        Opcode::Mul => Op::Mul { mode: mul_mode(m), ty, dst: args.dst(0), a: args.src(1), b: args.src(2) },
        Opcode::Fma => fma(m, args),
        Opcode::Mad if ty.is_float() => fma(m, args),
        Opcode::Mad | Opcode::Madc => {
            let (dst, a, b, c) = (args.dst(0), args.src(1), args.src(2), args.src(3));
            let (mode, (carry_in, carry_out)) = (mul_mode(m), carries);
            if carry_in.is_some() || carry_out.is_some() {
                return Op::MadCarry { mode, carry_in, carry_out, ty, dst, a, b, c };
            }
            Op::Mad { mode, ty, sat, dst, a, b, c }
        }
        Opcode::Clmad => {
            let (dst, a, b, c) = (args.dst(0), args.src(1), args.src(2), args.src(3));
            Op::Clmad { hi: m.has("hi"), dst, a, b, c }
        }
        Opcode::Mul24 => Op::Mul24 { mode: mul_mode(m), ty, dst: args.dst(0), a: args.src(1), b: args.src(2) },
        Opcode::Mad24 => {
            let (dst, a, b, c) = (args.dst(0), args.src(1), args.src(2), args.src(3));
            Op::Mad24 { mode: mul_mode(m), ty, sat, dst, a, b, c }
        }
        Opcode::Sad => Op::Sad { ty, dst: args.dst(0), a: args.src(1), b: args.src(2), c: args.src(3) },
        Opcode::Div if ty.is_float() => {
            let op = match () {
                () if m.has("approx") => FloatBinaryOp::DivApprox,
                () if m.has("full") => FloatBinaryOp::DivFull,
                () => FloatBinaryOp::Div,
            };
            float_binary(op, m, args)
        }
        Opcode::Div => int_binary(IntBinaryOp::Div, m, args),
        Opcode::Rem => int_binary(IntBinaryOp::Rem, m, args),
        Opcode::Min | Opcode::Max if ty.is_float() => Op::FloatMinMax {
            max: opcode == Opcode::Max,
            ty,
            ftz,
            nan: m.has("NaN"),
            abs: m.has("abs"),
            xorsign: m.has("xorsign"),
            dst: args.dst(0),
            a: args.src(1),
            b: args.src(2),
            c: args.optional(3),
        },
        Opcode::Min => int_binary(IntBinaryOp::Min, m, args),
        Opcode::Max => int_binary(IntBinaryOp::Max, m, args),
        Opcode::Abs if ty.is_float() => float_unary(FloatUnaryOp::Abs, m, args),
        Opcode::Neg if ty.is_float() => float_unary(FloatUnaryOp::Neg, m, args),
        Opcode::Abs => int_unary(IntUnaryOp::Abs, m, args),
        // Of bytes, a difference: their operations are those of two operands.
        Opcode::Neg if ty == ScalarType::S8x4 => {
            let (op, a, b) = (IntBinaryOp::Sub, Operand::Imm(0), args.src(1));
            Op::IntBinary { op, ty, sat, relu: false, dst: args.dst(0), a, b }
        }
        Opcode::Neg => int_unary(IntUnaryOp::Neg, m, args),
        Opcode::Popc => int_unary(IntUnaryOp::Popc, m, args),
        Opcode::Clz => int_unary(IntUnaryOp::Clz, m, args),
        Opcode::Brev => int_unary(IntUnaryOp::Brev, m, args),
        Opcode::Bfind if m.has("shiftamt") => int_unary(IntUnaryOp::BfindShift, m, args),
        Opcode::Bfind => int_unary(IntUnaryOp::Bfind, m, args),
        Opcode::Fns => Op::Fns { dst: args.dst(0), mask: args.src(1), base: args.src(2), offset: args.src(3) },
        Opcode::Bfe => Op::Bfe { ty, dst: args.dst(0), a: args.src(1), pos: args.src(2), len: args.src(3) },
        Opcode::Bfi => {
            let (dst, a, b, pos, len) = (args.dst(0), args.src(1), args.src(2), args.src(3), args.src(4));
            Op::Bfi { ty, dst, a, b, pos, len }
        }
        Opcode::Szext => Op::Szext { mode: clamp(m), ty, dst: args.dst(0), a: args.src(1), len: args.src(2) },
        Opcode::Bmsk => Op::Bmsk { mode: clamp(m), dst: args.dst(0), pos: args.src(1), len: args.src(2) },
        Opcode::Dp4a | Opcode::Dp2a => {
            let (a_ty, b_ty) = (ty, m.ty(1).unwrap_or(ty));
            let (dst, a, b, c) = (args.dst(0), args.src(1), args.src(2), args.src(3));
            if opcode == Opcode::Dp4a {
                return Op::Dp4a { a_ty, b_ty, dst, a, b, c };
            }
            Op::Dp2a { hi: m.has("hi"), a_ty, b_ty, dst, a, b, c }
        }
        Opcode::Testp => {
            let op = m.find(TestpOp::from_text).unwrap_or(TestpOp::Finite);
            Op::Testp { op, ty, dst: args.dst(0), a: args.src(1) }
        }
        Opcode::Copysign => Op::Copysign { ty, dst: args.dst(0), a: args.src(1), b: args.src(2) },
        Opcode::Rcp if m.has("approx") => float_unary(FloatUnaryOp::RcpApprox, m, args),
        Opcode::Rcp => float_unary(FloatUnaryOp::Rcp, m, args),
        Opcode::Sqrt if m.has("approx") => float_unary(FloatUnaryOp::SqrtApprox, m, args),
        Opcode::Sqrt => float_unary(FloatUnaryOp::Sqrt, m, args),
        Opcode::Rsqrt => float_unary(FloatUnaryOp::RsqrtApprox, m, args),
        Opcode::Sin if m.has("2pi") => float_unary(FloatUnaryOp::Sin2pi, m, args),
        Opcode::Cos if m.has("2pi") => float_unary(FloatUnaryOp::Cos2pi, m, args),
        Opcode::Sin => float_unary(FloatUnaryOp::Sin, m, args),
        Opcode::Cos => float_unary(FloatUnaryOp::Cos, m, args),
        Opcode::Lg2 => float_unary(FloatUnaryOp::Lg2, m, args),
        Opcode::Ex2 => float_unary(FloatUnaryOp::Ex2, m, args),
        _ => float_unary(FloatUnaryOp::Tanh, m, args),
    }
}

fn mul_mode(m: &Modifiers) -> MulMode {
    m.find(MulMode::from_text).unwrap_or(MulMode::Lo)
}

fn clamp(m: &Modifiers) -> ClampMode {
    m.find(ClampMode::from_text).unwrap_or(ClampMode::Clamp)
}

fn int_binary(op: IntBinaryOp, m: &Modifiers, args: Args<'_>) -> Op {
    let (sat, relu) = (m.has("sat"), m.has("relu"));
    Op::IntBinary { op, ty: ty(m), sat, relu, dst: args.dst(0), a: args.src(1), b: args.src(2) }
}

fn int_unary(op: IntUnaryOp, m: &Modifiers, args: Args<'_>) -> Op {
    Op::IntUnary { op, ty: ty(m), dst: args.dst(0), a: args.src(1) }
}

fn float_unary(op: FloatUnaryOp, m: &Modifiers, args: Args<'_>) -> Op {
    Op::FloatUnary { op, ty: ty(m), rnd: rounding(m), ftz: m.has("ftz"), dst: args.dst(0), a: args.src(1) }
}

fn float_binary(op: FloatBinaryOp, m: &Modifiers, args: Args<'_>) -> Op {
    let ty = ty(m);
    let (rnd, ftz, sat) = (rounding(m), m.has("ftz"), m.has("sat"));
    let a_ty: ScalarType = m.ty(1).unwrap_or(ty);
    Op::FloatBinary { op, ty, a_ty, rnd, ftz, sat, dst: args.dst(0), a: args.src(1), b: args.src(2) }
}

fn fma(m: &Modifiers, args: Args<'_>) -> Op {
    let ty = ty(m);
    Op::Fma {
        ty,
        a_ty: m.ty(1).unwrap_or(ty),
        rnd: rounding(m),
        ftz: m.has("ftz"),
        sat: m.has("sat"),
        relu: m.has("relu"),
        oob: m.has("oob"),
        dst: args.dst(0),
        a: args.src(1),
        b: args.src(2),
        c: args.src(3),
    }
}
