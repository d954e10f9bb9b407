//! Loops in which threads may wait for each other, and what they take for granted about who runs.

use std::collections::BTreeSet;

use warploom_ptx::ir::{AtomicOp, BarrierOp, Body, Op, Semantics, Space};

use crate::divergence::successors;
use crate::uniformity::Uniformity;
use crate::values::{ValueId, Values, paired};

/// For whom a loop may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// For other CTAs: they must be started in order, and none parked behind one that waits for it.
    OtherCtas,
    /// For other warps of the CTA, or other CTAs: warps must get turns.
    OtherWarps,
    /// For other lanes of the warp too: lanes that have left the loop, or hold a lock, must get turns.
    OwnWarp,
}

/// A loop that ends when memory changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Its index in [`Body::loops`].
    pub index: u32,
    /// What looks at memory.
    pub inst: u32,
    /// For whom it may wait.
    pub kind: WaitKind,
}

/// The loops of a body whose end depends on what a volatile or ordered load, or an atomic, in them gives.
pub(crate) fn waits(body: &Body, values: &Values, uniformity: &Uniformity) -> Vec<Wait> {
    let mut out = Vec::new();
    for (index, inner) in body.loops.iter().enumerate() {
        let insts: BTreeSet<u32> =
            inner.blocks.clone().flat_map(|block| body.blocks[block as usize].insts.clone()).collect();
        if !insts.iter().any(|inst| looks(&body.insts[*inst as usize].op)) {
            continue;
        }
        let exits: Vec<u32> = inner
            .blocks
            .clone()
            .filter(|block| successors(body, *block).iter().any(|to| !inner.blocks.contains(to)))
            .collect();
        let divergent = exits.iter().any(|block| uniformity.divergence.splits.contains_key(block));
        let deciding = decides(body, values, &insts, exits.iter().flat_map(|block| values.of_end(*block)));
        let found = deciding.into_iter().filter(|inst| looks(&body.insts[*inst as usize].op));
        let found = found.map(|inst| (kind(&body.insts[inst as usize].op, divergent), inst)).max();
        // The most demanding of them says what the loop needs.
        if let Some((kind, inst)) = found {
            out.push(Wait { index: index as u32, inst, kind });
        }
    }
    out
}

/// Whether an instruction sees what others do meanwhile.
fn looks(op: &Op) -> bool {
    match op {
        Op::Ld { semantics, space, .. } => *semantics != Semantics::Weak && *space != Space::Local,
        Op::Atom { dst, .. } => dst.is_some(),
        Op::Mbarrier(_) => true,
        _ => false,
    }
}

fn kind(op: &Op, divergent: bool) -> WaitKind {
    let (space, takes) = match op {
        Op::Ld { space, .. } => (*space, false),
        // What can fail, or be refused, takes something that another lane may hold.
        Op::Atom { space, op, .. } => {
            (*space, matches!(op, AtomicOp::Cas | AtomicOp::Exch | AtomicOp::Or | AtomicOp::And))
        }
        _ => (Space::Shared, false),
    };
    match space {
        _ if takes && divergent => WaitKind::OwnWarp,
        Space::Global => WaitKind::OtherCtas,
        _ if divergent => WaitKind::OwnWarp,
        _ => WaitKind::OtherWarps,
    }
}

/// The instructions of a loop that values in it come from.
fn decides<'v>(
    body: &Body,
    values: &Values,
    insts: &BTreeSet<u32>,
    roots: impl Iterator<Item = &'v Option<ValueId>>,
) -> BTreeSet<u32> {
    let mut pending: Vec<ValueId> = roots.flatten().copied().collect();
    let mut seen: BTreeSet<ValueId> = pending.iter().copied().collect();
    let mut out = BTreeSet::new();
    while let Some(value) = pending.pop() {
        for inst in values.get(value).defs.iter().filter(|inst| insts.contains(inst)) {
            if !out.insert(*inst) {
                continue;
            }
            let operands = body.insts[*inst as usize].operands();
            for (operand, value) in paired(&operands, values.of_inst(*inst)) {
                if let Some(value) = value.filter(|value| operand.read().is_some() && seen.insert(*value)) {
                    pending.push(value);
                }
            }
        }
    }
    out
}

/// Whether a kernel accesses shared memory as volatile and never makes the lanes of a warp wait for each other: then it was written for warps in lockstep.
pub(crate) fn needs_lockstep(body: &Body) -> bool {
    let shared = |op: &Op| match op {
        Op::Ld { space, semantics, .. } | Op::St { space, semantics, .. } => {
            *space == Space::Shared && *semantics == Semantics::Volatile
        }
        _ => false,
    };
    let joined = |op: &Op| matches!(op, Op::Barrier(BarrierOp::Warp { .. }));
    body.insts.iter().any(|inst| shared(&inst.op)) && !body.insts.iter().any(|inst| joined(&inst.op))
}

/// Operations of whole warps in blocks that run with some of the lanes.
pub(crate) fn split_exchanges(body: &Body, uniformity: &Uniformity) -> Vec<u32> {
    let exchange = |op: &Op| {
        matches!(
            op,
            Op::Shfl { .. }
                | Op::Vote { .. }
                | Op::Match { .. }
                | Op::Redux { .. }
                | Op::Elect { .. }
                | Op::Barrier(BarrierOp::Warp { .. })
        )
    };
    let blocks = body.blocks.iter().zip(&uniformity.divergence.partial).filter(|(_, partial)| partial.is_some());
    blocks.flat_map(|(block, _)| block.insts.clone()).filter(|inst| exchange(&body.insts[*inst as usize].op)).collect()
}
