//! Patterns that loops carry: `address += 64`, of an address that is another for each lane. Kept are the first lane, which is all that a trip changes, and how far the
//! others are from there, which a loop leaves as it is.
//!
//! A pattern that always holds needs no lanes at all ([`lazy`](super::lazy)). That of an address mostly may fail to, as an index of 32 bits was widened for it.

use std::collections::BTreeMap;

use warploom_ptx::ir::{Body, Inst, IntBinaryOp, Op, Operand};

use super::function::Writer;
use super::lazy::is_flagged;
use super::names::Ty;
use crate::info::KernelInfo;
use crate::shape::Shape;
use crate::values::ValueId;

/// By value: the instruction that begins it. All others that write it add what the lanes have in common.
pub(super) fn carried(info: &KernelInfo<'_>, body: &Body, lazy: &[bool]) -> BTreeMap<ValueId, u32> {
    let all = (0..info.values.len() as u32).map(ValueId).filter(|value| !lazy[value.0 as usize]);
    all.filter_map(|value| Some((value, begins(info, body, value)?))).collect()
}

fn begins(info: &KernelInfo<'_>, body: &Body, value: ValueId) -> Option<u32> {
    let known = info.values.get(value);
    let pattern = matches!(info.shape(value), Shape::Affine(affine) if affine.is_constant());
    if !pattern || !is_flagged(info, value) || known.undefined {
        return None;
    }
    let (on, begins): (Vec<u32>, Vec<u32>) = known.defs.iter().partition(|def| goes_on(info, body, **def, value));
    let &[begins] = &begins[..] else { return None };
    (!on.is_empty() && body.insts[begins as usize].guard.is_none()).then_some(begins)
}

/// Whether an instruction adds to a value, or takes from it, what all lanes have in common.
fn goes_on(info: &KernelInfo<'_>, body: &Body, def: u32, value: ValueId) -> bool {
    let inst = &body.insts[def as usize];
    let Op::IntBinary { op, sat: false, relu: false, a, b, .. } = &inst.op else { return false };
    let read = |operand: Operand| info.values.read(body, def, operand);
    let common = |operand: Operand| read(operand).map_or(operand.reg().is_none(), |id| info.shape(id).is_uniform());
    let adds = |itself: Operand, other: Operand| read(itself) == Some(value) && common(other);
    inst.guard.is_none()
        && match op {
            IntBinaryOp::Add => adds(*a, *b) || adds(*b, *a),
            IntBinaryOp::Sub => adds(*a, *b),
            _ => false,
        }
}

impl Writer<'_> {
    /// Writes how far lanes are from the first, whose part has been written.
    pub(super) fn write_apart(&mut self, inst: &Inst, value: ValueId) -> Result<(), String> {
        let (lanes, signed) = self.result(inst)?;
        let lanes = self.splat(&lanes);
        let lanes = self.resize(&lanes, self.element_of(value).bits(), signed);
        let first = self.held(value, format!("%b{}", value.0), Ty::scalar(self.element_of(value)));
        let first = self.splat(&first);
        let apart = self.binary("sub", &lanes, &first);
        self.note_two_rows(value, &apart);
        self.write(inst, 0, &apart, false)
    }
}
