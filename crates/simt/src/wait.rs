//! Loops in which threads may wait for each other, and what they take for granted about who runs.
//!
//! A loop that looks at memory until it changes waits, unless it goes on by itself: one that tries a compare-and-swap again with what the last try
//! has found goes around only because another thread has got further, one that draws tickets comes to the last of them, and one that looks at place after place, with a counter, to the end
//! of the table.

use std::collections::BTreeSet;
use std::ops::Range;

use warploom_ptx::ir::{
    AtomicOp, BarrierOp, Body, Compare, IntBinaryOp, Op, Operand, Role, Semantics, Space, TerminatorKind,
};

use crate::control::Trip;
use crate::divergence::successors;
use crate::uniformity::{Uniformity, block_of};
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
    let block_of = block_of(body);
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
        let around = Around { body, values, blocks: inner.blocks.clone(), insts: &insts };
        if around.tries_again() {
            continue;
        }
        let counted = around.is_counted();
        let goes_on = |inst: u32| around.draws_tickets(inst) || (counted && around.moves(inst));
        let found = around
            .decides_to_leave(&exits, &block_of)
            .into_iter()
            .filter(|inst| looks(&body.insts[*inst as usize].op) && !goes_on(*inst));
        let found = found.map(|inst| (kind(&body.insts[inst as usize].op, divergent), inst)).max();
        // The most demanding of them says what the loop needs.
        if let Some((kind, inst)) = found {
            out.push(Wait { index: index as u32, inst, kind });
        }
    }
    out
}

/// A loop.
struct Around<'b> {
    body: &'b Body,
    values: &'b Values,
    blocks: Range<u32>,
    insts: &'b BTreeSet<u32>,
}

impl Around<'_> {
    fn op(&self, inst: u32) -> &Op {
        &self.body.insts[inst as usize].op
    }

    /// The value that is the first one written by an instruction.
    fn result(&self, inst: u32) -> Option<ValueId> {
        let operands = self.body.insts[inst as usize].operands();
        paired(&operands, self.values.of_inst(inst)).find(|(operand, _)| operand.def().is_some()).and_then(|(_, v)| v)
    }

    /// The values of an instruction's plain operands, in order.
    fn used(&self, inst: u32) -> Vec<Option<ValueId>> {
        let operands = self.body.insts[inst as usize].operands();
        paired(&operands, self.values.of_inst(inst))
            .filter(|(operand, _)| operand.role == Role::Use)
            .map(|(_, value)| value)
            .collect()
    }

    /// The value of an instruction's address.
    fn address(&self, inst: u32) -> Option<ValueId> {
        let operands = self.body.insts[inst as usize].operands();
        paired(&operands, self.values.of_inst(inst))
            .find(|(operand, _)| operand.role == Role::Address)
            .and_then(|(_, v)| v)
    }

    /// The instructions that decide whether it is left: those that the conditions at its exits come from, and those by which it is known whether these run. A thread that adds to its
    /// counter only once another has stored something waits for it.
    fn decides_to_leave(&self, exits: &[u32], block_of: &[u32]) -> BTreeSet<u32> {
        let mut trip = Trip::new(self.body, self.blocks.clone());
        let behind = |inst: u32| {
            let ends = trip.deciding(block_of[inst as usize]);
            ends.iter().flat_map(|end| self.values.of_end(*end)).flatten().copied().collect()
        };
        let conditions = exits.iter().flat_map(|block| self.values.of_end(*block));
        decides(self.body, self.values, self.insts, conditions, behind)
    }

    /// The test that alone decides at the end of each trip whether there is another one: the last block, the test, and whether it is for going around.
    fn last_test(&self) -> Option<(u32, u32, bool)> {
        let header = self.blocks.start;
        let mut latches = self.blocks.clone().filter(|block| successors(self.body, *block).contains(&header));
        let (Some(latch), None) = (latches.next(), latches.next()) else { return None };
        let end = &self.body.blocks[latch as usize].terminator;
        let (TerminatorKind::Bra { target, .. }, Some(guard)) = (&end.kind, end.guard) else { return None };
        let taken_goes_around = target.0 == header;
        if taken_goes_around && end.next.is_some_and(|next| next.0 == header) {
            return None;
        }
        let condition = self.values.of_end(latch).first().copied().flatten()?;
        let [test] = self.values.get(condition).defs[..] else { return None };
        let always =
            self.body.blocks[latch as usize].insts.contains(&test) && self.body.insts[test as usize].guard.is_none();
        always.then_some((latch, test, taken_goes_around != guard.negated))
    }

    /// Whether it goes around if and only if a compare-and-swap has failed, and then compares with something newer.
    fn tries_again(&self) -> bool {
        let Some((latch, test, goes_around)) = self.last_test() else { return false };
        let insts = self.body.blocks[latch as usize].insts.clone();
        let Op::Setp { cmp: cmp @ (Compare::Eq | Compare::Ne), combine: None, dst_q: None, ty, .. } = self.op(test)
        else {
            return false;
        };
        let unguarded = |inst: u32| self.body.insts[inst as usize].guard.is_none();
        if !crate::range::is_integer(*ty) {
            return false;
        }
        let compared = self.used(test);
        let swap = |inst: &u32| {
            let Op::Atom { op: AtomicOp::Cas, dst: Some(_), .. } = self.op(*inst) else { return false };
            let (found, expected) = (self.result(*inst), self.used(*inst).first().copied().flatten());
            let pair = [found, expected];
            // Nothing has changed either of them when they are compared.
            let between = (*inst + 1..test).filter_map(|between| self.result(between));
            unguarded(*inst)
                && pair.iter().all(Option::is_some)
                && (compared[..] == pair || compared[..] == [expected, found])
                && !between.into_iter().any(|value| pair.contains(&Some(value)))
                && self.is_observed(*inst, expected)
        };
        (*cmp == Compare::Ne) == goes_around && (insts.start..test).any(|inst| swap(&inst))
    }

    /// Whether an instruction looks at another place in each trip, as whoever probes a table does.
    fn moves(&self, inst: u32) -> bool {
        self.address(inst)
            .is_some_and(|address| self.values.get(address).defs.iter().any(|def| self.insts.contains(def)))
    }

    /// Whether a counter ends it, whatever memory holds: one that the last block of each trip takes one step on, toward a number that stays.
    fn is_counted(&self) -> bool {
        let Some((latch, test, goes_around)) = self.last_test() else { return false };
        let Op::Setp { cmp, combine: None, dst_q: None, ty, a: Operand::Reg(counter), b: limit, .. } = *self.op(test)
        else {
            return false;
        };
        let up = match (cmp, goes_around) {
            (Compare::Lt, true) | (Compare::Ge, false) => true,
            (Compare::Gt, true) | (Compare::Le, false) => false,
            (Compare::Ne, true) | (Compare::Eq, false) => true,
            _ => return false,
        };
        let value = |operand: Operand| self.values.read(self.body, test, operand);
        let stays = match limit {
            Operand::Imm(_) => true,
            Operand::Reg(_) => value(limit)
                .is_some_and(|limit| !self.values.get(limit).defs.iter().any(|def| self.insts.contains(def))),
        };
        let insts = &self.body.blocks[latch as usize].insts;
        let always = |inst: u32| insts.contains(&inst) && self.body.insts[inst as usize].guard.is_none();
        let Some(counter_value) = value(Operand::Reg(counter)) else { return false };
        let mut steps = self.values.get(counter_value).defs.iter().filter(|def| self.insts.contains(def));
        let (Some(step), None) = (steps.next(), steps.next()) else { return false };
        let one = match *self.op(*step) {
            Op::IntBinary { op: IntBinaryOp::Add, a: Operand::Reg(a), b: Operand::Imm(by), ty, .. } if a == counter => {
                by == if up { 1 } else { u64::MAX >> (64 - ty.bits()) }
            }
            _ => false,
        };
        one && stays && always(*step) && *step < test && crate::range::is_integer(ty)
    }

    /// Whether a value comes from what a compare-and-swap, or a load of the loop, has found.
    fn is_observed(&self, swap: u32, expected: Option<ValueId>) -> bool {
        let from = decides(self.body, self.values, self.insts, [expected].iter(), |_| Vec::new());
        from.iter().any(|inst| *inst == swap || matches!(self.op(*inst), Op::Ld { .. }))
    }

    /// Whether an atomic counts up with every trip, and nothing else in the loop changes what it counts.
    fn draws_tickets(&self, inst: u32) -> bool {
        let Op::Atom { op: AtomicOp::Add, b, ty, .. } = self.op(inst) else { return false };
        let up = match b[..] {
            [Operand::Imm(by)] => by != 0 && by >> (ty.bits() - 1) == 0,
            _ => false,
        };
        let address = self.address(inst);
        let others = self.insts.iter().filter(|other| **other != inst && matches!(self.op(**other), Op::Atom { .. }));
        up && crate::range::is_integer(*ty)
            && address.is_some()
            && others.into_iter().all(|other| self.address(*other).is_some_and(|other| Some(other) != address))
    }
}

/// Whether an instruction sees what others do meanwhile.
pub(crate) fn looks(op: &Op) -> bool {
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

/// The instructions of a loop that values in it come from, directly or by values that are `behind` one of these.
fn decides<'v>(
    body: &Body,
    values: &Values,
    insts: &BTreeSet<u32>,
    roots: impl Iterator<Item = &'v Option<ValueId>>,
    mut behind: impl FnMut(u32) -> Vec<ValueId>,
) -> BTreeSet<u32> {
    let mut pending: Vec<ValueId> = roots.flatten().copied().collect();
    let mut seen: BTreeSet<ValueId> = pending.iter().copied().collect();
    let mut out = BTreeSet::new();
    while let Some(value) = pending.pop() {
        for inst in values.get(value).defs.iter().filter(|inst| insts.contains(inst)) {
            if !out.insert(*inst) {
                continue;
            }
            pending.extend(behind(*inst).into_iter().filter(|value| seen.insert(*value)));
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
                | Op::Matrix(_)
                | Op::Barrier(BarrierOp::Warp { .. })
        )
    };
    let blocks = body.blocks.iter().zip(&uniformity.divergence.partial).filter(|(_, partial)| partial.is_some());
    blocks.flat_map(|(block, _)| block.insts.clone()).filter(|inst| exchange(&body.insts[*inst as usize].op)).collect()
}
