//! What runs between the barriers of a CTA.
//!
//! A region begins at the kernel's entry or behind a barrier, and goes on to the next barriers. All gangs of a CTA can run a region one after the other
//! if every barrier is under branches that all threads of the CTA take alike; then what is alive at a barrier is all that has to be kept of each gang.

use std::collections::BTreeSet;
use std::ops::Range;

use warploom_ptx::ir::{BarrierOp, Body, MatrixOp, Op, Operand, Predicate, TerminatorKind};

use crate::divergence::successors;
use crate::pressure::{Pressure, scan, weight};
use crate::shape::Shape;
use crate::uniformity::Uniformity;
use crate::values::Values;

/// Whether all threads come to a barrier together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierControl {
    /// All that have not ended, and none waits for another one.
    Whole,
    /// Gangs take the branch at the end of this block differently.
    ByGang(u32),
    /// Lanes do.
    ByLane(u32),
    /// It is one of several barriers, for a part of the threads, or one that is arrived at without waiting.
    Counted,
}

/// Where a region begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum RegionStart {
    Entry,
    Barrier(u32),
}

impl RegionStart {
    /// The barrier behind which it is.
    pub(crate) fn barrier(self) -> Option<u32> {
        match self {
            RegionStart::Entry => None,
            RegionStart::Barrier(inst) => Some(inst),
        }
    }
}

/// What runs from one barrier to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where it begins.
    pub start: RegionStart,
    /// The blocks of which it runs a part.
    pub blocks: BTreeSet<u32>,
    /// The instructions that it runs, the barrier before it included, block by block.
    pub insts: Vec<Range<u32>>,
    /// The barriers that end it.
    pub barriers: BTreeSet<u32>,
    /// Whether threads can end in it.
    pub ends: bool,
    /// What is alive where it begins, and so is kept of each gang.
    pub kept: Pressure,
}

/// Barriers and the regions between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Barriers {
    /// The instructions, in order.
    pub all: Vec<(u32, BarrierControl)>,
    /// The first begins at the entry.
    pub regions: Vec<Region>,
}

impl Barriers {
    pub(crate) fn new(
        body: &Body,
        values: &Values,
        uniformity: &Uniformity,
        block_of: &[u32],
        threads: u32,
    ) -> Barriers {
        // A count says the same as none if it is that of all threads.
        let all_threads = |count: &Option<Operand>| match count {
            None => true,
            Some(count) => *count == Operand::Imm(u64::from(threads)),
        };
        let mut all = Vec::new();
        for (number, inst) in body.insts.iter().enumerate() {
            let together = || control(values, uniformity, number as u32, block_of[number], inst.guard);
            let op = match &inst.op {
                Op::Barrier(op) => op,
                // Of a warpgroup; more of the CTA may wait as well.
                Op::Matrix(op) if matches!(**op, MatrixOp::WarpgroupWait { .. }) => {
                    all.push((number as u32, together()));
                    continue;
                }
                _ => continue,
            };
            let control = match op {
                BarrierOp::Warp { .. } | BarrierOp::ClusterArrive { .. } => continue,
                // Of a cluster of one CTA. All have arrived when they have come to wait.
                BarrierOp::ClusterWait { .. } => together(),
                // Nobody waits there. Where not all come together, it is left out.
                BarrierOp::Yield => match together() {
                    BarrierControl::Whole => BarrierControl::Whole,
                    _ => continue,
                },
                BarrierOp::Arrive { .. } => BarrierControl::Counted,
                BarrierOp::Sync { id, count, .. } | BarrierOp::Reduce { id, count, .. } => match (id, count) {
                    (Operand::Imm(_), count) if all_threads(count) => together(),
                    _ => BarrierControl::Counted,
                },
            };
            all.push((number as u32, control));
        }
        let starts = std::iter::once(RegionStart::Entry).chain(all.iter().map(|(inst, _)| RegionStart::Barrier(*inst)));
        let is_barrier = |inst: u32| all.binary_search_by_key(&inst, |(inst, _)| *inst).is_ok();
        let regions =
            starts.map(|start| Region::new(body, values, &uniformity.shapes, block_of, start, &is_barrier)).collect();
        Barriers { all, regions }
    }

    /// Whether gangs can run region after region.
    pub fn are_whole(&self) -> bool {
        self.all.iter().all(|(_, control)| *control == BarrierControl::Whole)
    }
}

fn control(
    values: &Values,
    uniformity: &Uniformity,
    inst: u32,
    block: u32,
    guard: Option<Predicate>,
) -> BarrierControl {
    if guard.is_some() {
        let guard = values.of_inst(inst).first().copied().flatten();
        match guard.map(|guard| &uniformity.shapes[guard.0 as usize]) {
            Some(shape) if shape.is_cta_uniform() => {}
            Some(shape) if shape.is_uniform() => return BarrierControl::ByGang(block),
            _ => return BarrierControl::ByLane(block),
        }
    }
    if let Some(branch) = uniformity.divergence.partial[block as usize] {
        return BarrierControl::ByLane(branch);
    }
    let by_gang = uniformity.gang_splits.iter().find(|(_, split)| split.partial.contains(&block));
    by_gang.map_or(BarrierControl::Whole, |(branch, _)| BarrierControl::ByGang(*branch))
}

impl Region {
    fn new(
        body: &Body,
        values: &Values,
        shapes: &[Shape],
        block_of: &[u32],
        start: RegionStart,
        is_barrier: &dyn Fn(u32) -> bool,
    ) -> Region {
        let (block, first) = match start {
            RegionStart::Entry => (0, body.blocks.first().map_or(0, |block| block.insts.start)),
            RegionStart::Barrier(inst) => (block_of[inst as usize], inst + 1),
        };
        let mut kept = Pressure::default();
        if let RegionStart::Barrier(barrier) = start {
            scan(body, values, block, |inst, live| {
                if inst == Some(barrier) {
                    kept = weight(values, shapes, live);
                }
            });
        }
        let own = start.barrier().map(|inst| inst..inst + 1);
        let insts = own.into_iter().collect();
        let mut region = Region { start, blocks: BTreeSet::new(), insts, barriers: BTreeSet::new(), ends: false, kept };
        // Blocks that are entered at their beginning; the one that the region begins in may be one of them again.
        let mut entered = BTreeSet::new();
        let mut pending = vec![(block, first)];
        while let Some((block, first)) = pending.pop() {
            region.blocks.insert(block);
            let insts = first..body.blocks[block as usize].insts.end;
            let barrier = insts.clone().find(|inst| is_barrier(*inst));
            if let Some(inst) = barrier {
                region.barriers.insert(inst);
                // Lanes for which its guard is false pass it.
                if body.insts[inst as usize].guard.is_none() {
                    region.insts.push(first..inst);
                    continue;
                }
            }
            region.insts.push(insts);
            let kind = &body.blocks[block as usize].terminator.kind;
            region.ends |= matches!(kind, TerminatorKind::Ret { .. } | TerminatorKind::Exit);
            for to in successors(body, block) {
                if entered.insert(to) {
                    pending.push((to, body.blocks[to as usize].insts.start));
                }
            }
        }
        region
    }
}
