//! The CTAs of a cluster while they run: what their threads know, their shared memory's shadow, and where they meet.

use std::collections::HashMap;
use std::sync::Arc;

use warploom_exec::observe::{At, Copies, MbarrierOp, Scope, Semantics, SyncEvent};

use super::actor::GridOrder;
use super::clock::{BULK, COPIES, Clocks, Known};
use super::location::Location;
use super::note::Strength;
use super::shadow::Region;
use super::threads::{Meeting, Place, Sum, Warp};

/// A phase of a CTA's barrier.
#[derive(Debug, Default)]
struct Phase {
    id: u32,
    phase: u64,
    sum: Sum,
    /// Threads that have arrived and wait, and how many of them have not gone on.
    waiting: u32,
    left: u32,
    /// It is over, and all threads of the CTA were there.
    whole: Option<bool>,
}

/// A CTA.
pub(super) struct Cta {
    /// Number in the process.
    pub(super) number: u32,
    pub(super) warps: Vec<Warp>,
    phases: Vec<Phase>,
    /// Of its shared memory, 4 KiB each.
    pub(super) shadow: Vec<Option<Box<Region>>>,
}

/// A cluster; CTAs without one are alone in it.
#[derive(Default)]
pub(super) struct Cluster {
    /// There is one CTA: nobody else accesses its shared memory.
    pub(super) alone: bool,
    pub(super) ctas: Vec<Cta>,
    /// Shadows for shared memory that has none yet.
    #[expect(clippy::vec_box, reason = "shadows change hands as pointers")]
    pub(super) spare: Vec<Box<Region>>,
    /// Strong accesses and mbarriers, by `.shared` address.
    pub(super) locations: HashMap<u64, Location>,
    mbarriers: HashMap<u64, Clocks>,
    /// The barrier of the cluster: what those know that have arrived, how many, and what the phase before came to.
    arrived: (Clocks, u32),
    before: Clocks,
    alive: u32,
}

impl Cta {
    pub(super) fn new(number: u32, threads: u32) -> Cta {
        let warps = (0..threads.div_ceil(32)).map(|warp| match threads - 32 * warp {
            left @ 0..32 => Warp::new((1 << left) - 1),
            _ => Warp::new(u32::MAX),
        });
        Cta { number, warps: warps.collect(), phases: Vec::new(), shadow: Vec::new() }
    }

    fn alive(&self) -> u32 {
        self.warps.iter().map(|warp| warp.alive.count_ones()).sum()
    }

    /// The shadow of the `index`th 4 KiB of its shared memory.
    pub(super) fn region(&mut self, index: usize) -> &mut Option<Box<Region>> {
        if self.shadow.len() <= index {
            self.shadow.resize_with(index + 1, || None);
        }
        &mut self.shadow[index]
    }

    fn arrive(&mut self, at: &At, id: u32, phase: u64, waits: bool) {
        let index = match self.phases.iter().position(|known| known.id == id && known.phase == phase) {
            Some(index) => index,
            None => {
                self.phases.push(Phase { id, phase, ..Phase::default() });
                self.phases.len() - 1
            }
        };
        let place = Place { cta: self.number, warp: at.warp as u8 };
        let warp = &mut self.warps[at.warp as usize];
        let known = &mut self.phases[index];
        warp.add_to(at.mask, place, &mut known.sum);
        if waits {
            known.waiting += at.mask.count_ones();
            known.left += at.mask.count_ones();
            warp.waiting.push((at.mask, id, phase));
        }
    }

    fn pass(&mut self, at: &At, id: u32) {
        let alive = self.alive();
        let warp = &mut self.warps[at.warp as usize];
        let mut lanes = at.mask;
        while lanes != 0 {
            let Some(index) = warp.waiting.iter().position(|entry| entry.0 & lanes != 0 && entry.1 == id) else {
                return;
            };
            let (mask, _, phase) = warp.waiting[index];
            let gone = mask & lanes;
            lanes &= !gone;
            warp.waiting[index].0 &= !gone;
            if warp.waiting[index].0 == 0 {
                warp.waiting.swap_remove(index);
            }
            let Some(index) = self.phases.iter().position(|known| known.id == id && known.phase == phase) else {
                continue;
            };
            let known = &mut self.phases[index];
            // All were there: then nothing that this CTA has done so far comes after.
            if *known.whole.get_or_insert(known.waiting == alive) {
                if known.left == known.waiting {
                    let times = self.warps.iter().map(|warp| warp.now).max().unwrap_or(0);
                    known.sum.own.learn_all(times);
                }
                let all = known.sum.own.all;
                let warp = &mut self.warps[at.warp as usize];
                warp.now = warp.now.max(all + 1);
                warp.take(gone, &known.sum);
            } else {
                self.warps[at.warp as usize].take(gone, &known.sum);
            }
            let known = &mut self.phases[index];
            known.left -= gone.count_ones().min(known.left);
            if known.left == 0 {
                self.phases.swap_remove(index);
            }
            return self.pass(&At { mask: lanes, ..*at }, id);
        }
    }
}

impl Cluster {
    /// Takes a CTA in, in the order of their ranks.
    pub(super) fn add(&mut self, cta: Cta) {
        self.alive += cta.alive();
        self.ctas.push(cta);
    }

    /// What orders threads.
    pub(super) fn sync(&mut self, grid: &Arc<GridOrder>, rank: usize, at: &At, event: &SyncEvent<'_>) {
        let Some(cta) = self.ctas.get_mut(rank) else { return };
        let place = Place { cta: cta.number, warp: at.warp as u8 };
        let lanes = at.mask;
        match *event {
            SyncEvent::BarrierArrive { id, waits, phase, .. } => cta.arrive(at, id, phase, waits),
            SyncEvent::BarrierPass { id } => cta.pass(at, id),
            SyncEvent::WarpArrive { members, orders: true, .. } => {
                let warp = &mut cta.warps[at.warp as usize];
                let index = match warp.meetings.iter().position(|meeting| meeting.members == members) {
                    Some(index) => index,
                    None => {
                        warp.meetings.push(Meeting { members, ..Meeting::default() });
                        warp.meetings.len() - 1
                    }
                };
                let mut meeting = std::mem::take(&mut warp.meetings[index]);
                warp.add_to(lanes, place, &mut meeting.sum);
                meeting.arrived |= lanes;
                warp.meetings[index] = meeting;
            }
            SyncEvent::WarpPass { members, orders: true } => {
                let warp = &mut cta.warps[at.warp as usize];
                let Some(index) = warp.meetings.iter().position(|meeting| meeting.members == members) else { return };
                let mut meeting = warp.meetings.swap_remove(index);
                warp.take(lanes, &meeting.sum);
                meeting.gone |= lanes;
                if meeting.arrived & !meeting.gone != 0 {
                    warp.meetings.push(meeting);
                }
            }
            SyncEvent::WarpArrive { .. } | SyncEvent::WarpPass { .. } | SyncEvent::ProxyFence => {}
            SyncEvent::Fence { semantics, scope } => {
                let warp = &mut cta.warps[at.warp as usize];
                let (strength, now) = (strength_of(scope), warp.now);
                let acquires = !matches!(semantics, Semantics::Release);
                let releases = !matches!(semantics, Semantics::Acquire);
                warp.change(lanes, |class| {
                    if acquires && let Some(pending) = class.pending.clone() {
                        for clocks in pending[..(strength as usize).min(3)].iter().flatten() {
                            class.acquire(place, clocks);
                        }
                    }
                    if releases {
                        class.fence(strength, class.published(grid, place, class.lanes, now));
                    }
                });
                warp.now += 1;
            }
            SyncEvent::Mbarrier { addresses, ref op, .. } => {
                let warp = &mut cta.warps[at.warp as usize];
                let (arrives, copies) = match op {
                    MbarrierOp::Init { .. } => (false, false),
                    MbarrierOp::Arrive { .. } => (true, false),
                    MbarrierOp::ArriveOfCopies { .. } => (true, true),
                    MbarrierOp::Inval
                    | MbarrierOp::ExpectTx { .. }
                    | MbarrierOp::CompleteTx { .. }
                    | MbarrierOp::CheckLayout
                    | MbarrierOp::Test => return,
                };
                if !arrives {
                    // A new object: what an old one at this place knew is over.
                    for lane in at.lanes() {
                        self.mbarriers.remove(&addresses[lane as usize]);
                    }
                    return;
                }
                for lane in at.lanes() {
                    let Some(class) = warp.classes.iter().find(|class| class.lanes >> lane & 1 != 0) else { continue };
                    let mut clocks = class.published(grid, place, 1 << lane, warp.now);
                    if copies {
                        let mut own = Known::default();
                        own.learn(place.warp + COPIES, 1 << lane, warp.now);
                        clocks.learn(grid, place.cta, own);
                    }
                    self.mbarriers.entry(addresses[lane as usize]).or_default().join(&clocks);
                }
                warp.now += 1;
            }
            SyncEvent::MbarrierPass { addresses, .. } => {
                let copies = self.bulk_copies(grid);
                let cta = &mut self.ctas[rank];
                let warp = &mut cta.warps[at.warp as usize];
                for lane in at.lanes() {
                    let clocks = self.mbarriers.get(&addresses[lane as usize]);
                    let known = clocks.cloned().unwrap_or_default();
                    warp.change(1 << lane, |class| {
                        class.acquire(place, &known);
                        class.acquire(place, &copies);
                    });
                }
            }
            SyncEvent::ClusterArrive { semantics } => {
                let warp = &mut cta.warps[at.warp as usize];
                if semantics != Semantics::Relaxed {
                    for class in &warp.classes {
                        let inside = class.lanes & lanes;
                        if inside != 0 {
                            self.arrived.0.join(&class.published(grid, place, inside, warp.now));
                        }
                    }
                    warp.now += 1;
                }
                warp.arrived |= lanes;
                self.arrived.1 += lanes.count_ones();
                self.end_phase();
            }
            SyncEvent::ClusterPass => {
                let before = self.before.clone();
                cta.warps[at.warp as usize].change(lanes, |class| class.acquire(place, &before));
            }
            SyncEvent::Copies(Copies::Commit { bulk }) => cta.warps[at.warp as usize].commit(lanes, bulk),
            SyncEvent::Copies(Copies::Wait { bulk, pending }) => cta.warps[at.warp as usize].wait(lanes, bulk, pending),
            SyncEvent::Exit => {
                let warp = &mut cta.warps[at.warp as usize];
                self.alive -= (warp.alive & lanes).count_ones().min(self.alive);
                warp.alive &= !lanes;
                // Who arrives and exits is not one of those that are left.
                self.arrived.1 -= (warp.arrived & lanes).count_ones().min(self.arrived.1);
                warp.arrived &= !lanes;
                self.end_phase();
            }
        }
    }

    /// The cluster's barrier goes on when all have arrived that are left.
    fn end_phase(&mut self) {
        if self.arrived.1 != 0 && self.arrived.1 >= self.alive {
            self.before = std::mem::take(&mut self.arrived).0;
            self.ctas.iter_mut().flat_map(|cta| &mut cta.warps).for_each(|warp| warp.arrived = 0);
        }
    }

    /// All bulk copies that the cluster has issued: whoever finds a phase of an mbarrier over comes behind them. Which of them the object
    /// has counted is not told.
    fn bulk_copies(&self, grid: &Arc<GridOrder>) -> Clocks {
        let mut clocks = Clocks::default();
        for cta in &self.ctas {
            let mut known = Known::default();
            for (warp, index) in cta.warps.iter().zip(0u8..).filter(|(warp, _)| warp.issued != 0) {
                known.learn(index + BULK, u32::MAX, warp.issued);
            }
            clocks.learn(grid, cta.number, known);
        }
        clocks
    }
}

/// For whom an access of this scope is strong.
pub(super) fn strength_of(scope: Scope) -> Strength {
    match scope {
        Scope::Cta => Strength::Cta,
        Scope::Cluster => Strength::Cluster,
        Scope::Gpu => Strength::Gpu,
        Scope::Sys => Strength::Sys,
    }
}
