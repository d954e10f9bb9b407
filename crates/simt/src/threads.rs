//! What each thread of a CTA holds of a value, where that comes from its number and constants alone: `tile[thread - 4]`, `thread >= 4`.
//!
//! A pattern says how lanes differ, in any gang; this says what there is, in each one. Code for all gangs of a CTA at once needs to look at neither
//! conditions nor addresses of this kind.

use warploom_ptx::ir::{
    AddressTarget, Body, Compare, IntBinaryOp, LogicOp, MulMode, Op, Operand, ScalarType, SharedLayout, ShiftDirection,
    SpecialReg, TypeClass,
};

use crate::gang::Gangs;
use crate::info::KernelInfo;
use crate::range::{constant, is_integer};
use crate::values::{ValueId, paired};

/// By value: what each thread of the CTA holds, as the bits of the register.
pub(crate) struct Threads(Vec<Option<Box<[u64]>>>);

impl Threads {
    /// Of all values that one instruction writes, always.
    pub(crate) fn new(info: &KernelInfo<'_>, body: &Body, layout: &SharedLayout) -> Threads {
        let mut known = Threads(vec![None; info.values.len()]);
        for (inst, number) in body.insts.iter().zip(0u32..) {
            if inst.guard.is_some() {
                continue;
            }
            let Some(value) = info.values.written(body, number) else { continue };
            let written = info.values.get(value);
            if written.defs.len() != 1 || written.undefined || !is_covered(&inst.op) {
                continue;
            }
            let operands = inst.operands();
            let bits = written.ty.bits();
            let threads: Option<Box<[u64]>> = (0..info.gangs.threads())
                .map(|thread| {
                    let read = |operand: Operand, ty: ScalarType| match operand {
                        Operand::Imm(bits) => Some(constant(bits, ty)),
                        Operand::Reg(reg) => {
                            let mut read = paired(&operands, info.values.of_inst(number));
                            let value = read.find(|(operand, _)| operand.read() == Some(reg))?.1?;
                            Some(constant(known.of(value)?[thread as usize], ty))
                        }
                    };
                    let result = computed(&info.gangs, layout, &inst.op, thread, read)?;
                    Some(result as u64 & (u64::MAX >> (64 - bits)))
                })
                .collect();
            known.0[value.0 as usize] = threads;
        }
        known
    }

    /// What each thread holds of a value.
    pub(crate) fn of(&self, value: ValueId) -> Option<&[u64]> {
        self.0[value.0 as usize].as_deref()
    }
}

/// Operations whose first result [`computed`] may tell.
pub(crate) fn is_covered(op: &Op) -> bool {
    match op {
        Op::Mov { ty, .. } | Op::Mul { ty, .. } | Op::Shift { ty, .. } => is_integer(*ty),
        Op::IntBinary { ty, sat, relu, .. } => is_integer(*ty) && !sat && !relu,
        Op::Mad { ty, sat, .. } => is_integer(*ty) && !sat,
        Op::Logic { ty, .. } => is_integer(*ty) || *ty == ScalarType::Pred,
        Op::Setp { ty, combine, .. } => is_integer(*ty) && combine.is_none(),
        Op::Cvt { dst_ty, src_ty, sat, b, .. } => is_integer(*dst_ty) && is_integer(*src_ty) && !sat && b.is_none(),
        Op::AddressOf { .. } | Op::ReadSpecial { .. } => true,
        _ => false,
    }
}

/// The result of an instruction in one thread, in its low bits.
pub(crate) fn computed(
    gangs: &Gangs,
    layout: &SharedLayout,
    op: &Op,
    thread: u32,
    read: impl Fn(Operand, ScalarType) -> Option<i128>,
) -> Option<i128> {
    let product = |mode: MulMode, ty: ScalarType, a: Operand, b: Operand| match mode {
        MulMode::Lo | MulMode::Wide => Some(read(a, ty)?.wrapping_mul(read(b, ty)?)),
        MulMode::Hi => None,
    };
    match op {
        Op::Mov { ty, src, .. } => read(*src, *ty),
        Op::IntBinary { op: IntBinaryOp::Add, ty, a, b, .. } => Some(read(*a, *ty)? + read(*b, *ty)?),
        Op::IntBinary { op: IntBinaryOp::Sub, ty, a, b, .. } => Some(read(*a, *ty)? - read(*b, *ty)?),
        Op::Mul { mode, ty, a, b, .. } => product(*mode, *ty, *a, *b),
        Op::Mad { mode, ty, a, b, c, .. } => {
            let to = if *mode == MulMode::Wide { ty.doubled() } else { *ty };
            Some(product(*mode, *ty, *a, *b)?.wrapping_add(read(*c, to)?))
        }
        Op::Shift { direction, ty, a, amount, .. } => {
            let by = read(*amount, ScalarType::U32)?;
            let by = u32::try_from(by).ok().filter(|by| *by < ty.bits())?;
            match direction {
                ShiftDirection::Left => Some(read(*a, *ty)? << by),
                // A number without a sign, and bits, are filled with zeros.
                ShiftDirection::Right if ty.is_signed() => Some(read(*a, *ty)? >> by),
                ShiftDirection::Right => Some((read(*a, *ty)? & (i128::MAX >> (127 - ty.bits()))) >> by),
            }
        }
        Op::Logic { op, ty, a, b, .. } => {
            let (a, b) = (read(*a, *ty)?, read(*b, *ty)?);
            Some(match op {
                LogicOp::And => a & b,
                LogicOp::Or => a | b,
                LogicOp::Xor => a ^ b,
            })
        }
        Op::Setp { cmp, ty, a, b, .. } => {
            let (a, b) = (read(*a, *ty)?, read(*b, *ty)?);
            let ordered = ty.class() != TypeClass::Bits;
            Some(i128::from(match cmp {
                Compare::Eq => a == b,
                Compare::Ne => a != b,
                Compare::Lt if ordered => a < b,
                Compare::Le if ordered => a <= b,
                Compare::Gt if ordered => a > b,
                Compare::Ge if ordered => a >= b,
                _ => return None,
            }))
        }
        Op::Cvt { dst_ty, src_ty, a, .. } => Some(constant(read(*a, *src_ty)? as u64, *dst_ty)),
        Op::AddressOf { target: AddressTarget::Global(id), offset, .. } => {
            Some(i128::from(*layout.offsets.get(id)?) + i128::from(*offset))
        }
        Op::ReadSpecial { reg, .. } => Some(i128::from(match reg {
            SpecialReg::TidX => gangs.tid(0, thread),
            SpecialReg::TidY => gangs.tid(1, thread),
            SpecialReg::TidZ => gangs.tid(2, thread),
            SpecialReg::NtidX => gangs.cta[0],
            SpecialReg::NtidY => gangs.cta[1],
            SpecialReg::NtidZ => gangs.cta[2],
            _ => return None,
        })),
        _ => None,
    }
}
