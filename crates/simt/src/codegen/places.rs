//! Kernels whose lanes go their own ways: where groups of lanes can stop and go on, and what a warp's frame holds.
//!
//! Lanes of a warp need not come to an instruction together where they may wait for each other in any order: in loops that wait for others of their
//! warp, at exchanges that some come to before the others, at barriers for a part of the threads. Each lane has a *place* then, and
//! the executor lets groups of lanes at one place run in turns, from place to place, as the interpreter does.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{BarrierOp, Body, MatrixOp, Op, Operand};

use super::how::{How, how};
use super::plan::{Keep, Plan, size_of};
use super::sharing::Sharing;
use crate::pressure::scan;
use crate::values::ValueId;

/// What stands at the beginning of a warp's frame, by byte offset. Rows have an entry for each lane.
pub mod turn {
    /// Row of 32 bits, where lanes are [`SCATTERED`]: the number of the place where the lane goes on, or [`END`].
    pub const PLACES: u32 = 0;
    /// Row of 64 bits: what a lane brings to a meeting: what it gives the others, or bit 0 for a predicate.
    pub const GIVEN: u32 = 128;
    /// Row of 32 bits: the lane operand of `shfl`, or the number of a barrier if it is not [known](super::NamedBarrier::known).
    pub const WHICH: u32 = 384;
    /// Row of 32 bits: the clamp operand of `shfl`, or the threads of a barrier, 0 for all.
    pub const EXTENT: u32 = 512;
    /// Row of 32 bits: the member masks.
    pub const MEMBERS: u32 = 640;
    /// Row of 32 bits: what the meeting gives the lanes.
    pub const TAKEN: u32 = 768;
    /// A bit for each lane: the predicate that it gives.
    pub const HOLDS: u32 = 896;
    /// Which of [`super::Turns::meetings`].
    pub const MEETING: u32 = 900;
    /// The lanes that have not ended.
    pub const ALIVE: u32 = 904;
    /// The place where the lanes that ran go on, or [`END`].
    pub const PLACE: u32 = 908;
    /// Those among them that go on elsewhere, and, if there are any, where.
    pub const OTHERS: u32 = 912;
    /// See [`OTHERS`].
    pub const OTHER_PLACE: u32 = 916;
    /// Bytes.
    pub const SIZE: u32 = 960;

    /// In place of the place of lanes that have ended.
    pub const END: u32 = u32::MAX;

    /// What code gives back: the lanes stand where [`PLACE`] and [`OTHERS`] say.
    pub const STANDS: i32 = 0;
    /// The same, and what they did last was to look again at what they may wait for.
    pub const LOOKED: i32 = 1;
    /// The same, as the attention word is raised.
    pub const RAISED: i32 = 2;
    /// The same, and all but [`OTHERS`] have come to a meeting; they go on when it has given what they take.
    pub const MET: i32 = 3;
    /// Each of them stands where [`PLACES`] says.
    pub const SCATTERED: i32 = 4;
}

/// A kernel whose lanes go their own ways.
///
/// Its code is `i32 cta(context, warp, place, lanes, limit)`: runs a group of lanes of a warp from a place on, until they part, wait, end, or come to a place that
/// is not before `limit`, where others wait to go on with them. It gives back what [`turn`] says, or an [`outcome`](super::outcome) below 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// By place: the first instruction behind it, or the last of the body before, and its PTX line.
    pub places: Vec<(u32, u32)>,
    /// Instructions at which lanes meet.
    pub meetings: Vec<u32>,
    /// What must be 0 in a frame at the beginning, by offset and bytes: what may be read before it is written.
    pub cleared: Vec<(u32, u32)>,
    /// What loops that wait write of a frame, in the same way: as long as it stays, lanes in them do the same again.
    pub looking: Vec<(u32, u32)>,
}

/// What is planned of such a kernel.
pub(super) struct Places {
    /// By block: the place where it begins.
    begins: Vec<u32>,
    /// By instruction at which lanes meet: its number among them, where they take what it gives, and where those go on for which its guard is false.
    meetings: BTreeMap<u32, Meeting>,
    pub(super) turns: Turns,
    /// Blocks of loops that wait, with the loops' headers.
    waiting: Vec<(std::ops::Range<u32>, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    pub(super) number: u32,
    pub(super) take: u32,
    pub(super) behind: Option<u32>,
}

impl Places {
    pub(super) fn new(plan: &Plan<'_>) -> Places {
        let body = plan.body;
        let mut out = Places {
            begins: Vec::new(),
            meetings: BTreeMap::new(),
            turns: Turns::default(),
            waiting: plan
                .info
                .waits
                .iter()
                .map(|wait| body.loops[wait.index as usize].blocks.clone())
                .map(|blocks| (blocks.clone(), blocks.start))
                .collect(),
        };
        for block in &body.blocks {
            let line = |inst: u32| body.insts.get(inst as usize).map_or(block.terminator.line, |inst| inst.line);
            let add = |out: &mut Places, inst: u32| {
                let line = if block.insts.contains(&inst) { line(inst) } else { block.terminator.line };
                out.turns.places.push((inst, line));
                out.turns.places.len() as u32 - 1
            };
            let begin = add(&mut out, block.insts.start);
            out.begins.push(begin);
            for inst in block.insts.clone().filter(|inst| is_meeting(body, *inst)) {
                let number = out.turns.meetings.len() as u32;
                out.turns.meetings.push(inst);
                // A lane that waits stands at the instruction itself, for those who ask.
                let take = add(&mut out, inst);
                let behind = body.insts[inst as usize].guard.map(|_| add(&mut out, inst + 1));
                out.meetings.insert(inst, Meeting { number, take, behind });
            }
        }
        for (value, keep) in plan.homes() {
            let Keep::Gang(at) = keep else { continue };
            let known = plan.info.values.get(value);
            let parts = || plan.places(value, at).into_iter().map(|(_, ty, offset)| (offset, size_of(ty)));
            if known.undefined {
                out.turns.cleared.extend(parts());
            }
            if known.defs.iter().any(|def| out.is_waited_in(plan, *def)) {
                out.turns.looking.extend(parts());
            }
        }
        // Values share rows.
        out.turns.looking.sort_unstable();
        out.turns.looking.dedup();
        out
    }

    pub(super) fn begin(&self, block: u32) -> u32 {
        self.begins[block as usize]
    }

    pub(super) fn meeting(&self, inst: u32) -> Option<Meeting> {
        self.meetings.get(&inst).copied()
    }

    /// Whether a branch from one block back to another is one more trip of a loop that waits.
    pub(super) fn looks_again(&self, from: u32, to: u32) -> bool {
        self.waiting.iter().any(|(blocks, header)| *header == to && blocks.contains(&from))
    }

    /// Whether an instruction is in a loop that waits.
    fn is_waited_in(&self, plan: &Plan<'_>, inst: u32) -> bool {
        self.waiting.iter().any(|(blocks, _)| blocks.contains(&plan.block_of[inst as usize]))
    }

    /// What must be in the frame, and where: all that is alive where lanes may stop.
    pub(super) fn homes(plan: &Plan<'_>) -> (BTreeMap<ValueId, Keep>, u32) {
        let mut live: BTreeSet<ValueId> = BTreeSet::new();
        for (number, block) in (0u32..).zip(&plan.body.blocks) {
            live.extend(plan.info.values.live_in(number));
            if block.insts.clone().any(|inst| is_meeting(plan.body, inst)) {
                scan(plan.body, &plan.info.values, number, |inst, now| {
                    if let Some(inst) = inst.filter(|inst| is_meeting(plan.body, *inst)) {
                        live.extend(now);
                        // What it takes is written behind it.
                        live.extend(plan.info.values.of_inst(inst).iter().flatten());
                    }
                });
            }
        }
        let mut end = turn::SIZE;
        let mut homes = BTreeMap::new();
        let mut sharing = Sharing::new(plan, live.iter().copied());
        for value in live {
            let at = end.next_multiple_of(64);
            let shared = sharing.shared(plan, value, at);
            homes.insert(value, Keep::Gang(shared.unwrap_or(at)));
            if shared.is_none() {
                let places = plan.places(value, at);
                end = places.iter().map(|(_, ty, offset)| offset + size_of(*ty)).max().unwrap_or(at);
            }
        }
        (homes, end.next_multiple_of(64))
    }
}

/// What a `bar` or `barrier` of the CTA names.
pub struct NamedBarrier {
    /// Its number.
    pub id: Operand,
    /// How many threads it is for: 0 for all.
    pub count: Operand,
}

impl NamedBarrier {
    /// None of other barriers.
    pub fn of(op: &BarrierOp) -> Option<NamedBarrier> {
        let (id, count) = match *op {
            BarrierOp::Sync { id, count, .. } | BarrierOp::Reduce { id, count, .. } => (id, count),
            BarrierOp::Arrive { id, count, .. } => (id, Some(count)),
            _ => return None,
        };
        Some(NamedBarrier { id, count: count.unwrap_or(Operand::Imm(0)) })
    }

    /// Both as numbers, if no register has them: then lanes do not bring them.
    pub fn known(&self) -> Option<[u32; 2]> {
        match (self.id, self.count) {
            (Operand::Imm(id), Operand::Imm(count)) => Some([id as u32, count as u32]),
            _ => None,
        }
    }
}

/// Whether lanes wait for others at an instruction.
fn is_meeting(body: &Body, inst: u32) -> bool {
    let op = &body.insts[inst as usize].op;
    let group = |op: &MatrixOp| matches!(op, MatrixOp::WarpgroupWait { .. });
    matches!(op, Op::Barrier(op) if *op != BarrierOp::Yield)
        || members(op).is_some()
        || matches!(op, Op::Matrix(op) if group(op))
}

/// The operand that says which lanes take part, of what waits for them.
pub(super) fn members(op: &Op) -> Option<Operand> {
    match op {
        // All of the warp (9.7.14.4.3).
        Op::Matrix(_) if how(op) == How::Step => Some(Operand::Imm(u64::from(u32::MAX))),
        _ => op.membermask(),
    }
}
