//! What a team loads from shared memory that the CTA has stored there before, where it is known which thread has stored each lane's: *forwarded* from the
//! registers that were stored, not loaded.
//!
//! Steps of scans and of stencils in shared memory load what lies a few threads away (`row[thread - 4]`): the halves of two vectors that have just been stored. A processor
//! forwards from one store only, and has such a load wait until both are in its cache.
//!
//! A team of all gangs runs each instruction for all threads before the next one, so that what a load finds is what the last store before it has left, in the
//! order of the code. That is followed where it is straight: a list of stores is carried from block to block, as long as all ways to a block carry the same one.

use std::collections::{BTreeMap, HashMap};

use warploom_ptx::ir::{AsyncOp, BarrierOp, Base, BlockId, Cfg, Op, Semantics, SharedLayout, Space};

use super::function::{Val, Writer};
use super::how::{How, how};
use super::names::Ty;
use super::plan::Plan;
use crate::threads::Threads;

/// Stores that are looked at for a load, the last ones.
const RECENT: usize = 8;

/// By load, and by gang: who has stored what it loads.
#[derive(Default)]
pub(super) struct Forwards {
    sources: BTreeMap<u32, Vec<Option<Source>>>,
    /// The stores among these.
    stores: Vec<u32>,
}

/// Lanes of one gang, or of two that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source {
    store: u32,
    /// The thread that has stored the first lane's; less than none where that lane does not run.
    first: i64,
}

impl Forwards {
    /// Of a kernel whose gangs are one team.
    pub(super) fn new(plan: &Plan<'_>, threads: &Threads, layout: &SharedLayout) -> Forwards {
        let mut search = Search { plan, threads, layout, found: Forwards::default() };
        if search.has_candidates() {
            search.run();
        }
        search.found
    }
}

struct Search<'a> {
    plan: &'a Plan<'a>,
    threads: &'a Threads,
    layout: &'a SharedLayout,
    found: Forwards,
}

/// What is in shared memory: of the stores that have been made, the last ones, in their order.
type Stored = Vec<u32>;

impl Search<'_> {
    /// Whether there is a load that lies across what one gang has stored: without one there is nothing to gain.
    fn has_candidates(&self) -> bool {
        let row = |inst: u32| self.plan.access(inst).map(|(_, access)| access.bytes * self.plan.info.gangs.width);
        let all = || 0..self.plan.body.insts.len() as u32;
        let firsts = |inst: u32| Some((self.addresses(inst)?[0], row(inst)?));
        let stores: Vec<_> = all().filter(|inst| self.is_plain_store(*inst)).filter_map(firsts).collect();
        let across = |load: (i64, u32)| stores.iter().any(|store| (load.0 - store.0) % i64::from(store.1) != 0);
        all().filter(|inst| self.is_plain_load(*inst)).filter_map(firsts).any(across)
    }

    fn run(&mut self) {
        let plan = self.plan;
        let count = plan.body.blocks.len();
        // What is there at the end of each block.
        let mut ends: Vec<Option<Stored>> = vec![None; count];
        let before = Cfg::new(plan.body).predecessors;
        for block in 0..count as u32 {
            // It has been gone through with its branch.
            if plan.arm_of(block).is_some_and(super::arms::Arm::is_known) {
                continue;
            }
            let mut stored = common(&before[block as usize], block, &ends);
            self.block(block, &mut stored);
            if let Some(arm) = plan.arm(block).filter(|arm| arm.is_known()) {
                self.block(arm.block, &mut stored);
                ends[arm.block as usize] = Some(stored.clone());
            }
            ends[block as usize] = Some(stored);
        }
    }

    fn block(&mut self, block: u32, stored: &mut Stored) {
        for inst in self.plan.body.blocks[block as usize].insts.clone() {
            match &self.plan.body.insts[inst as usize].op {
                Op::Ld { .. } if self.is_plain_load(inst) => self.load(inst, stored),
                Op::St { .. } if self.is_plain_store(inst) => {
                    let width = |store: u32| self.plan.access(store).map(|(_, access)| access.bytes);
                    // Of one size, what is stored replaces another number or none.
                    if stored.last().is_some_and(|last| width(*last) != width(inst)) {
                        stored.clear();
                    }
                    stored.push(inst);
                    if stored.len() > RECENT {
                        stored.remove(0);
                    }
                }
                op if leaves_shared_memory(op) => {}
                _ => stored.clear(),
            }
        }
    }

    /// Finds out for each gang who has stored what it loads.
    fn load(&mut self, load: u32, stored: &Stored) {
        let plan = self.plan;
        let Some((_, access)) = plan.access(load) else { return };
        let from_same_size = |store: &u32| plan.access(*store).is_some_and(|(_, store)| store.bytes == access.bytes);
        let Some(addresses) = self.addresses(load).filter(|_| stored.last().is_some_and(from_same_size)) else {
            return;
        };
        let mut there: HashMap<i64, (u32, i64)> = HashMap::new();
        for store in stored {
            let runs = self.runs(*store);
            for (thread, address) in self.addresses(*store).unwrap_or_default().into_iter().enumerate() {
                if runs.is_none_or(|runs| runs[thread]) {
                    there.insert(address, (*store, thread as i64));
                }
            }
        }
        let width = plan.info.gangs.width as usize;
        let runs = self.runs(load);
        let looped = plan.body.loops.iter().any(|inner| inner.blocks.contains(&plan.block_of[load as usize]));
        let sources: Vec<Option<Source>> = addresses
            .chunks(width)
            .enumerate()
            .map(|(gang, addresses)| {
                let mut all: Option<Source> = None;
                for (lane, address) in addresses.iter().enumerate() {
                    if runs.is_some_and(|runs| !runs[gang * width + lane]) {
                        continue;
                    }
                    let &(store, thread) = there.get(address)?;
                    let source = Source { store, first: thread - lane as i64 };
                    if *all.get_or_insert(source) != source {
                        return None;
                    }
                }
                all
            })
            .collect();
        let mut apart =
            sources.iter().zip(0..).filter_map(|(source, gang)| Some((*source)?.first - gang * width as i64));
        let Some(first) = apart.next() else { return };
        // Whole vectors of other gangs are as soon loaded, and in loops registers are for what is kept from trip to trip.
        let is_whole = first != 0 && first % width as i64 == 0;
        if (is_whole && looped) || apart.any(|apart| apart != first) {
            return;
        }
        self.found.stores.extend(sources.iter().flatten().map(|source| source.store));
        self.found.sources.insert(load, sources);
    }

    /// By thread, whether it runs an instruction; none if all do.
    fn runs(&self, inst: u32) -> Option<&[bool]> {
        self.plan.arm_of(self.plan.block_of[inst as usize])?.runs.as_deref()
    }

    /// Whether an instruction is one whose lanes and places are known, of one element for each.
    fn is_plain(&self, inst: u32) -> bool {
        let arm = self.plan.arm_of(self.plan.block_of[inst as usize]);
        let asked = arm.is_some_and(|arm| !arm.is_known());
        self.plan.body.insts[inst as usize].guard.is_none() && !asked && self.addresses(inst).is_some()
    }

    fn is_plain_load(&self, inst: u32) -> bool {
        let op = &self.plan.body.insts[inst as usize].op;
        let one = matches!(op, Op::Ld { space: Space::Shared, semantics: Semantics::Weak, dst, .. } if dst.len() == 1);
        one && self.is_plain(inst)
    }

    fn is_plain_store(&self, inst: u32) -> bool {
        let op = &self.plan.body.insts[inst as usize].op;
        let one = matches!(op, Op::St { space: Space::Shared, semantics: Semantics::Weak, src, .. } if src.len() == 1);
        one && self.is_plain(inst)
    }

    /// Where each thread goes, if that is known, and is static shared memory for all that run.
    fn addresses(&self, inst: u32) -> Option<Vec<i64>> {
        let plan = self.plan;
        let (_, access) = plan.access(inst)?;
        let (Op::Ld { addr, .. } | Op::St { addr, .. }) = &plan.body.insts[inst as usize].op else { return None };
        let threads = plan.info.gangs.threads() as usize;
        let all: Vec<i64> = match addr.base {
            Base::Reg(_) => {
                let known = self.threads.of(plan.address_of(inst)?)?;
                known
                    .iter()
                    .map(|address| i64::try_from(*address).ok()?.checked_add(addr.offset))
                    .collect::<Option<_>>()?
            }
            Base::Global(id) => vec![i64::from(*self.layout.offsets.get(&id)?) + addr.offset; threads],
            Base::Absolute | Base::ParamFrame | Base::LocalFrame => return None,
        };
        let bytes = i64::from(access.bytes);
        let runs = self.runs(inst);
        let fine = all.iter().enumerate().all(|(thread, address)| {
            let inside = *address >= 0 && address + bytes <= i64::from(self.layout.size) && address % bytes == 0;
            inside || runs.is_some_and(|runs| !runs[thread])
        });
        fine.then_some(all)
    }
}

/// What all ways to a block have in common: everything, or nothing. What a loop's own end has left is not known where it begins.
fn common(before: &[BlockId], block: u32, ends: &[Option<Stored>]) -> Stored {
    let mut all: Option<&Stored> = None;
    for from in before {
        let end = ends[from.0 as usize].as_ref().filter(|_| from.0 < block);
        match (end, all) {
            (Some(end), None) => all = Some(end),
            (Some(end), Some(all)) if end == all => {}
            _ => return Stored::new(),
        }
    }
    all.cloned().unwrap_or_default()
}

/// Whether an instruction is sure not to change shared memory, nor to tell of what others have changed.
fn leaves_shared_memory(op: &Op) -> bool {
    match op {
        Op::Ld { semantics, .. } => *semantics == Semantics::Weak,
        Op::St { space, .. } => matches!(space, Space::Global | Space::Local | Space::Param),
        Op::Atom { space, .. } => *space == Space::Global,
        // The whole CTA is one team.
        Op::Barrier(BarrierOp::Sync { .. } | BarrierOp::Reduce { .. } | BarrierOp::Warp { .. } | BarrierOp::Yield) => {
            true
        }
        Op::Async(op) => matches!(**op, AsyncOp::CommitGroup | AsyncOp::BulkCommitGroup),
        Op::Barrier(_) | Op::Mbarrier(_) | Op::Fence(_) | Op::Matrix(_) | Op::Texture(_) | Op::Call { .. } => false,
        op => matches!(how(op), How::Vector | How::Nothing),
    }
}

impl Writer<'_> {
    /// Keeps what a gang stores for those that load it.
    pub(super) fn keep_stored(&mut self, value: &Val) {
        if self.team > 0 && self.plan.forwards().stores.contains(&self.inst) {
            self.stored.insert((self.inst, self.member), value.clone());
        }
    }

    /// What a gang of the team loads, if it is known who has stored that.
    pub(super) fn forwarded(&mut self, ty: Ty) -> Option<Val> {
        if self.team == 0 || self.first_lane || ty.lanes == 0 {
            return None;
        }
        let source = (*self.plan.forwards().sources.get(&self.inst)?.get(self.member as usize)?)?;
        let width = i64::from(self.lanes());
        let (gang, shift) = (source.first.div_euclid(width), source.first.rem_euclid(width));
        let mut part = |gang: i64| -> Option<Val> {
            let stored = self.stored.get(&(source.store, u32::try_from(gang).ok()?)).cloned()?;
            (stored.ty.element == ty.element).then(|| self.splat(&stored))
        };
        let first = part(gang);
        if shift == 0 {
            return first;
        }
        let second = part(gang + 1);
        first.as_ref().or(second.as_ref())?;
        // Of a gang that there is not, or that has stored nothing, no lane runs: it has zeros, as where nothing is loaded.
        let text = |part: Option<Val>| part.map_or_else(|| "zeroinitializer".to_owned(), |part| part.text);
        let (first, second) = (text(first), text(second));
        let (order, of) = (Ty::int(32, ty.lanes).lanes(shift..shift + width), ty.text());
        Some(self.set(ty, format!("shufflevector {of} {first}, {of} {second}, <{} x i32> {order}", ty.lanes)))
    }
}
