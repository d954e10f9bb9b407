//! Loops around barriers whose trips are known, written one behind the other: steps of trees and scans in shared memory (`for (s = blockDim.x / 2; s > 0; s /= 2)`).
//!
//! Of which threads a step is, and where they go, is known then for each of them, as a CTA's shape is. Compilers cannot do it, who do not know that.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use warploom_ptx::ir::{
    BarrierOp, Block, Body, Cfg, Inst, Loop, Op, Operand, Reg, SharedLayout, SpecialReg, Terminator, TerminatorKind,
};

use super::{Draft, redirect, targets};
use crate::gang::Gangs;
use crate::range::constant;
use crate::threads::{computed, is_covered};

/// Trips of a loop, at most.
const TRIPS: usize = 12;
/// Instructions of all trips.
const LONG: usize = 320;
/// Instructions of a kernel that is looked at.
const MOST: usize = 6000;
/// Loops that are written out.
const LOOPS: usize = 4;

/// Registers of which is known what all threads have in them.
type Known = BTreeMap<Reg, u64>;

/// Writes such loops out.
pub(super) fn write_out(body: &mut Body, cta: [u32; 3]) {
    let Ok(gangs) = Gangs::new(cta, 1) else { return };
    if body.insts.len() > MOST {
        return;
    }
    for _ in 0..LOOPS {
        let Some((inner, trips)) = body.loops.iter().find_map(|inner| Some((inner, trips(body, &gangs, inner)?)))
        else {
            return;
        };
        let drafts = written_out(body, inner, &trips);
        super::arrange_into(body, drafts);
    }
}

/// What is run of a loop in one trip: its blocks, with how they end.
type Trip = BTreeMap<u32, Terminator>;

/// All trips of a loop around barriers, if that is all that there can be.
fn trips(body: &Body, gangs: &Gangs, inner: &Loop) -> Option<Vec<Trip>> {
    let blocks = &body.blocks[inner.blocks.start as usize..inner.blocks.end as usize];
    let waits = |inst: &Inst| matches!(inst.op, Op::Barrier(BarrierOp::Sync { .. }));
    let within = |other: &Loop| other.blocks != inner.blocks && inner.blocks.contains(&other.blocks.start);
    let long: usize = blocks.iter().map(|block| block.insts.len()).sum();
    if inner.irreducible
        || long * 2 > LONG
        || body.loops.iter().any(within)
        || !blocks.iter().any(|block| insts_of(body, block).iter().any(waits))
    {
        return None;
    }
    let evaluation = Evaluation { body, gangs };
    let mut known = evaluation.before(inner)?;
    let mut trips = Vec::new();
    while trips.len() < TRIPS && (trips.len() + 1) * long <= LONG {
        let (trip, next) = evaluation.trip(inner, known)?;
        trips.push(trip);
        match next {
            Some(next) => known = next,
            // Of one that is run once nothing is gained.
            None => return (trips.len() > 1).then_some(trips),
        }
    }
    None
}

struct Evaluation<'b> {
    body: &'b Body,
    gangs: &'b Gangs,
}

impl Evaluation<'_> {
    /// What is known where a loop begins for the first time.
    fn before(&self, inner: &Loop) -> Option<Known> {
        let cfg = Cfg::new(self.body);
        let mut ends: Vec<Option<Known>> = vec![None; self.body.blocks.len()];
        // What has not been come to says nothing yet.
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..self.body.blocks.len() as u32 {
                let before = cfg.predecessors[block as usize].iter().filter_map(|from| ends[from.0 as usize].clone());
                let known = if block == 0 { Some(Known::new()) } else { before.reduce(common) };
                let known = known.map(|known| self.through(block, known));
                if ends[block as usize] != known {
                    ends[block as usize] = known;
                    changed = true;
                }
            }
        }
        let outside =
            cfg.predecessors[inner.blocks.start as usize].iter().filter(|from| !inner.blocks.contains(&from.0));
        outside.map(|from| ends[from.0 as usize].clone()).reduce(|a, b| Some(common(a?, b?)))?
    }

    /// One trip; what is known at the beginning of the next one, if there is one. None if that cannot be said.
    fn trip(&self, inner: &Loop, known: Known) -> Option<(Trip, Option<Known>)> {
        let header = inner.blocks.start;
        let mut begins = BTreeMap::from([(header, known)]);
        let (mut trip, mut next) = (Trip::new(), None);
        for block in inner.blocks.clone() {
            let Some(known) = begins.remove(&block) else { continue };
            let known = self.through(block, known);
            let end = self.decided(&self.body.blocks[block as usize].terminator, &known);
            if let TerminatorKind::BrxIdx { .. } = end.kind {
                return None;
            }
            let mut targets = targets(&end);
            targets.dedup();
            // Of those that leave it, no matter where, nothing need be known.
            if targets.len() > 1 && targets.contains(&header) {
                return None;
            }
            for to in targets {
                if to == header {
                    next = Some(match next {
                        Some(other) => common(other, known.clone()),
                        None => known.clone(),
                    });
                } else if inner.blocks.contains(&to) {
                    match begins.entry(to) {
                        Entry::Vacant(entry) => _ = entry.insert(known.clone()),
                        Entry::Occupied(mut entry) => {
                            let other = std::mem::take(entry.get_mut());
                            *entry.get_mut() = common(other, known.clone());
                        }
                    }
                }
            }
            trip.insert(block, end);
        }
        Some((trip, next))
    }

    /// What is known at the end of a block.
    fn through(&self, block: u32, mut known: Known) -> Known {
        for inst in insts_of(self.body, &self.body.blocks[block as usize]) {
            let result = if inst.guard.is_none() { self.result(inst, &known) } else { None };
            let mut written = inst.operands().into_iter().filter_map(|operand| operand.def());
            let first = written.next();
            written.for_each(|reg| _ = known.remove(&reg));
            match (first, result) {
                (Some(reg), Some(result)) => {
                    let bits = self.body.regs[reg.0 as usize].ty.bits();
                    known.insert(reg, result & (u64::MAX >> (64 - bits)));
                }
                (Some(reg), None) => _ = known.remove(&reg),
                (None, _) => {}
            }
        }
        known
    }

    /// The first result of an instruction, if all threads have the same.
    fn result(&self, inst: &Inst, known: &Known) -> Option<u64> {
        // Threads have numbers of their own.
        let own =
            matches!(inst.op, Op::ReadSpecial { reg: SpecialReg::TidX | SpecialReg::TidY | SpecialReg::TidZ, .. });
        if own || !is_covered(&inst.op) {
            return None;
        }
        let number = computed(self.gangs, &SharedLayout::default(), &inst.op, 0, |operand, ty| match operand {
            Operand::Imm(bits) => Some(constant(bits, ty)),
            Operand::Reg(reg) => Some(constant(*known.get(&reg)?, ty)),
        })?;
        Some(number as u64)
    }

    /// The end of a block, without a condition where what it comes to is known.
    fn decided(&self, end: &Terminator, known: &Known) -> Terminator {
        let mut end = end.clone();
        let Some(guard) = end.guard else { return end };
        let Some(holds) = known.get(&guard.reg) else { return end };
        end.guard = None;
        if (*holds != 0) != guard.negated {
            end.next = None;
        } else {
            end.kind = TerminatorKind::Next;
        }
        end
    }
}

fn insts_of<'b>(body: &'b Body, block: &Block) -> &'b [Inst] {
    &body.insts[block.insts.start as usize..block.insts.end as usize]
}

/// What is known on both ways.
fn common(mut one: Known, other: Known) -> Known {
    one.retain(|reg, number| other.get(reg) == Some(number));
    one
}

/// All blocks, with a copy of a loop's for each trip in its place.
fn written_out(body: &Body, inner: &Loop, trips: &[Trip]) -> Vec<Draft> {
    let header = inner.blocks.start;
    let draft = |block: u32, end: Terminator| {
        let block = &body.blocks[block as usize];
        Draft { label: block.label.clone(), insts: insts_of(body, block).to_vec(), end }
    };
    // Those outside keep their numbers; copies come behind all.
    let mut first = body.blocks.len() as u32;
    let mut places: Vec<BTreeMap<u32, u32>> = Vec::new();
    for trip in trips {
        places.push(trip.keys().copied().zip(first..).collect());
        first += trip.len() as u32;
    }
    let moved = |end: &Terminator, place: &dyn Fn(u32) -> u32| {
        let mut end = end.clone();
        redirect(&mut end, place);
        end
    };
    let into = |block: u32| if block == header { places[0][&header] } else { block };
    let mut drafts: Vec<Draft> = (0..body.blocks.len() as u32)
        .map(|block| draft(block, moved(&body.blocks[block as usize].terminator, &into)))
        .collect();
    for (number, trip) in trips.iter().enumerate() {
        for (block, end) in trip {
            let place = |to: u32| match places[number].get(&to) {
                _ if to == header => places[number + 1][&header],
                Some(place) => *place,
                None => to,
            };
            drafts.push(draft(*block, moved(end, &place)));
        }
    }
    drafts
}
