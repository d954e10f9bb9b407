//! Which memory an access goes to, as far as the kernel's parameters tell.

use std::collections::BTreeSet;

use warploom_ptx::ir::{Base, Body, IntBinaryOp, Op, Operand, ScalarType};

use crate::info::KernelInfo;

/// The offset of the one parameter that the address of an access is made of.
pub(super) fn parameter_behind(info: &KernelInfo<'_>, body: &Body, inst: u32) -> Option<i64> {
    let (Op::Ld { addr, .. } | Op::St { addr, .. } | Op::Atom { addr, .. }) = &body.insts[inst as usize].op else {
        return None;
    };
    let Base::Reg(reg) = addr.base else { return None };
    let mut next = vec![info.values.read(body, inst, Operand::Reg(reg))?];
    let (mut seen, mut parameters) = (BTreeSet::new(), BTreeSet::new());
    while let Some(value) = next.pop() {
        if !seen.insert(value) {
            continue;
        }
        for def in &info.values.get(value).defs {
            let from = |operand: Operand| info.values.read(body, *def, operand);
            match &body.insts[*def as usize].op {
                Op::Ld { addr, ty: ScalarType::U64 | ScalarType::S64 | ScalarType::B64, dst, .. }
                    if addr.base == Base::ParamFrame && dst.len() == 1 =>
                {
                    parameters.insert(addr.offset);
                }
                Op::Mov { src: a, .. } | Op::Cvta { a, .. } => next.extend(from(*a)),
                Op::IntBinary { op: IntBinaryOp::Add, a, b, .. } => {
                    next.extend([from(*a), from(*b)].into_iter().flatten())
                }
                Op::IntBinary { op: IntBinaryOp::Sub, a, .. } | Op::Mad { c: a, .. } => next.extend(from(*a)),
                _ => {}
            }
        }
    }
    let mut parameters = parameters.into_iter();
    parameters.next().filter(|_| parameters.next().is_none())
}
