//! The interpreter behind the seam of `exec`: loads a kernel, runs its CTAs.
//!
//! The warps of a CTA take turns on the calling thread. A CTA whose warps all wait or poll comes back, so that others can run. What is
//! said about kernels that go wrong or do not end is in `report`.

use std::any::TypeId;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use warploom_exec::address::shared_address;
use warploom_exec::fault::{FaultKind, Site, SiteInfo, Trap};
use warploom_exec::grid::{Grid, Launch, Poll};
use warploom_exec::kernel::{Batch, Cta, CtaExit, LoadedKernel, SHARED_GRANULE, Worker, kept, run_units};
use warploom_exec::observe::{CtaObserver, Wants};
use warploom_ptx::ir::{self, BarrierOp, FunctionId, FunctionKind, GlobalId, Module, Op, Space, SpecialReg};

use crate::cluster::Cluster;
use crate::cta::CtaShared;
use crate::decode::{Context, decode};
use crate::error::LoadError;
use crate::isa::{Isa, Processor};
use crate::machine::{Flow, Machine};
use crate::program::Program;
use crate::stack::{CALL_BYTES, deepest_chain};
use crate::waiting::Outcome;
use crate::warp::Warp;

/// Instructions of a warp until the next one gets its turn: about a millisecond.
const SLICE: i32 = 1 << 16;

/// Makes `kernel` ready to run on `processor`. `is_placed` knows which of the module's `.global` and `.const` variables there are: where they are is
/// told by each launch, by the index of the variable in the module.
///
/// Decodes everything that the kernel can reach, and nothing else of the module.
///
/// # Errors
/// [`LoadError`] if something reachable cannot be executed; its text names instruction and line.
pub fn load(
    module: &Module,
    kernel: FunctionId,
    is_placed: &dyn Fn(GlobalId) -> bool,
    processor: Processor,
) -> Result<Arc<dyn LoadedKernel>, LoadError> {
    Ok(Arc::new(load_for(Isa::detect(processor), module, kernel, is_placed, None)?))
}

/// [`load`] for an observer: every access and all that orders threads is told to the [`Grid::observer`] of the grids that run it.
///
/// # Errors
/// As [`load`].
pub fn load_observed(
    module: &Module,
    kernel: FunctionId,
    is_placed: &dyn Fn(GlobalId) -> bool,
    processor: Processor,
    wants: Wants,
) -> Result<Arc<dyn LoadedKernel>, LoadError> {
    Ok(Arc::new(load_for(Isa::detect(processor), module, kernel, is_placed, Some(wants))?))
}

pub(crate) fn load_for(
    isa: Isa,
    module: &Module,
    kernel: FunctionId,
    is_placed: &dyn Fn(GlobalId) -> bool,
    observed: Option<Wants>,
) -> Result<InterpretedKernel, LoadError> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let source = &module.functions[kernel.0 as usize];
    debug_assert_eq!(source.kind, FunctionKind::Kernel);
    let shared = module.shared_layout(kernel);
    let reachable: Vec<FunctionId> =
        module.reachable(kernel).into_iter().filter(|id| module.functions[id.0 as usize].builtin.is_none()).collect();
    let by_id: HashMap<FunctionId, u32> = reachable.iter().enumerate().map(|(index, &id)| (id, index as u32)).collect();
    let context = Context { module, isa, functions: &by_id, is_placed, shared: &shared, observed };
    let functions = reachable.iter().map(|&id| decode(&context, id)).collect::<Result<Vec<_>, _>>()?;
    let constants = module
        .globals
        .iter()
        .enumerate()
        .map(|(index, global)| (index as u32, global))
        .filter(|&(index, global)| global.space == Space::Const && is_placed(GlobalId(index)))
        .map(|(index, global)| (index, global.size))
        .collect();
    let known_stack = deepest_chain(&functions, 0, CALL_BYTES);
    let (name, static_shared) = (source.name.clone(), shared.size);
    let files = module.files.clone();
    let program = Program { functions, kernel: 0, static_shared, known_stack, files, by_id, constants };
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let meets = |op: &Op| matches!(op, Op::Barrier(BarrierOp::ClusterArrive { .. } | BarrierOp::ClusterWait { .. }));
    let meets_cluster = reachable.iter().any(|&id| has(&module.functions[id.0 as usize], meets));
    let divisible = observed.is_none()
        && shared.size == 0
        && reachable.iter().all(|&id| is_divisible(&module.functions[id.0 as usize]));
    let through = source.body.as_ref().filter(|body| body.runs_through()).map(|body| body.insts.len() as u64);
    let observed = observed.is_some();
    let independent = !observed && source.body.as_ref().is_some_and(|body| body.has_independent_ctas());
    Ok(InterpretedKernel { name, program, isa, id, divisible, meets_cluster, through, independent, observed })
}

/// Whether there is such an operation in a function.
fn has(function: &ir::Function, is: impl Fn(&Op) -> bool) -> bool {
    function.body.as_ref().is_some_and(|body| body.insts.iter().any(|inst| is(&inst.op)))
}

/// Whether the warps of a CTA can run apart as far as a function is concerned: nothing in it is common to a CTA's threads, or ordered
/// for them only, or tells on which multiprocessor they run.
fn is_divisible(function: &ir::Function) -> bool {
    let common = |op: &Op| match op {
        Op::Barrier(_) | Op::Fence(_) | Op::Mbarrier(_) | Op::Async(_) => true,
        Op::ReadSpecial { reg, .. } => *reg == SpecialReg::Smid,
        _ => false,
    };
    !has(function, common)
}

/// A kernel in decoded form.
pub(crate) struct InterpretedKernel {
    pub(crate) name: String,
    pub(crate) program: Program,
    isa: Isa,
    /// The warps of a CTA have nothing to do with each other.
    divisible: bool,
    /// Its threads meet at the barrier of the cluster, also of one that is a single CTA.
    meets_cluster: bool,
    /// Its instructions, if a thread runs each of them once at most and waits for nobody.
    through: Option<u64>,
    /// Its CTAs may be started in any order, and nobody is told in which they are.
    independent: bool,
    /// It says what it does.
    observed: bool,
    /// Unique in the process, so that kept state is known to belong to this kernel.
    id: u64,
}

/// What is kept of a CTA (or cluster) between calls, and of a finished one for the next.
#[derive(Default)]
pub(crate) struct State {
    kernel: u64,
    /// The variables whose addresses frames hold.
    variables: Option<Arc<[u64]>>,
    shape: [u32; 3],
    /// Threads of each warp that exist, and which of how many parts of such a CTA that is.
    lanes: Vec<u32>,
    part: [u32; 2],
    pub(crate) ctas: Vec<CtaState>,
    /// What they share, while none of them runs.
    pub(crate) cluster: Option<Box<Cluster>>,
    /// Who is told of what they do, while none of them runs.
    observer: Option<Box<dyn CtaObserver>>,
    /// The same of the kernels that ran here before, oldest first: programs launch a few in turn.
    others: Vec<State>,
}

/// Kernels whose state a worker keeps besides the last one's.
const OTHERS: usize = 3;

pub(crate) struct CtaState {
    pub(crate) shared: CtaShared,
    #[expect(clippy::vec_box, reason = "the warp that runs changes places with nobody's")]
    pub(crate) warps: Vec<Box<Warp>>,
    /// What is in the place of the warp that runs; nothing while one does.
    nobody: Option<Box<Warp>>,
    /// The warp that the next round begins with.
    first: usize,
}

impl LoadedKernel for InterpretedKernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn state_type(&self) -> TypeId {
        TypeId::of::<State>()
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        let mut state: Box<State> = kept(worker.take_spare(self.state_type()));
        let batch = run_units(grid, units, worker, |start, part, worker| {
            match self.start(&mut state, grid, start.id(), part, worker) {
                Ok(()) => self.rounds(&mut state, grid, worker),
                Err(kind) => CtaExit::Fault(Box::new(Trap::new(kind))),
            }
        });
        batch.keep(state, worker)
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        let mut state: Box<State> = kept(cta.state.take());
        if !cta.started
            && let Err(kind) = self.start(&mut state, grid, cta.id, cta.part, worker)
        {
            return CtaExit::Fault(Box::new(Trap::new(kind)));
        }
        let exit = self.rounds(&mut state, grid, worker);
        cta.state = Some(state);
        exit
    }

    fn has_independent_ctas(&self) -> bool {
        self.independent
    }

    fn ends_within(&self, launch: &Launch) -> Option<u64> {
        /// Threads' instructions in a nanosecond, of warps that are full.
        const EACH: u64 = 5;
        /// What it takes to begin a CTA.
        const CTA: u64 = 100;
        let warps = u64::from(launch.cta.iter().product::<u32>().div_ceil(32));
        Some(launch.ctas().saturating_mul(CTA + 32 * warps * (self.through? + 1) / EACH))
    }

    fn static_shared(&self) -> u32 {
        self.program.static_shared
    }

    fn site(&self, site: Site) -> SiteInfo {
        self.site_info(site)
    }

    fn most_parts(&self, launch: &Launch) -> u32 {
        /// Warps of a part: a shorter one would cost more to start than to run.
        const WARPS: u32 = 4;
        match self.divisible && launch.dynamic_shared == 0 {
            true => launch.cta.iter().product::<u32>() / (32 * WARPS),
            false => 1,
        }
    }

    fn describe(&self, cta: &Cta) -> String {
        match cta.state.as_ref().and_then(|state| state.downcast_ref::<State>()) {
            Some(state) => self.whereabouts(state),
            None => String::new(),
        }
    }
}

impl InterpretedKernel {
    /// Makes `state` that of CTA `id`, or of the part of it, before its first instruction.
    fn start(&self, state: &mut State, grid: &Grid, id: [u32; 3], part: u32, worker: &Worker) -> Result<(), FaultKind> {
        let launch = &grid.launch;
        state.turn_to(self.id, &launch.variables);
        let State { shape, lanes, ctas, cluster, observer, .. } = state;
        let same_shape = *shape == launch.cta;
        if !same_shape || state.part != [part, grid.parts] {
            *shape = launch.cta;
            state.part = [part, grid.parts];
            lanes.clear();
            lanes.extend(lanes_of_warps(launch.cta, part, grid.parts));
        }
        let size = launch.cluster.iter().product::<u32>().max(1);
        ctas.resize_with(size as usize, || CtaState {
            shared: CtaShared::default(),
            warps: Vec::new(),
            nobody: None,
            first: 0,
        });
        if size == 1 && !self.meets_cluster {
            *cluster = None;
        } else {
            cluster.get_or_insert_default().start(size, lanes);
        }
        for (rank, entry) in ctas.iter_mut().enumerate() {
            let rank = rank as u32;
            entry.shared.base = shared_address(rank, 0);
            if let Some(cluster) = cluster {
                cluster.turn(rank, &mut entry.shared.shared);
            }
            entry.shared.id = if size == 1 {
                id
            } else {
                let [cx, cy, _] = launch.cluster;
                let place = [rank % cx, rank / cx % cy, rank / (cx * cy)];
                [0, 1, 2].map(|axis| id[axis] + place[axis])
            };
            entry.shared.worker = worker.index;
            entry.first = 0;
            let shared = self.program.static_shared + launch.dynamic_shared;
            entry.shared.start(lanes, shared.next_multiple_of(SHARED_GRANULE) as usize);
            if entry.warps.len() != lanes.len() {
                entry.warps.resize_with(lanes.len(), Box::default);
            }
            for (index, (warp, &lanes)) in entry.warps.iter_mut().zip(&*lanes).enumerate() {
                if !same_shape || warp.tid.is_empty() {
                    warp.tid.clear();
                    warp.tid.extend_from_slice(&thread_ids(index as u32, launch.cta));
                }
                warp.start(&self.program, &mut entry.shared.frames, index as u32, lanes)?;
            }
            if let Some(cluster) = cluster {
                cluster.turn(rank, &mut entry.shared.shared);
            }
        }
        *observer = grid.observer.as_ref().filter(|_| self.observed).map(|observer| {
            let ids: Vec<[u32; 3]> = ctas.iter().map(|cta| cta.shared.id).collect();
            observer.begin(&ids)
        });
        Ok(())
    }

    /// Lets the warps take turns until all have ended, or none can go on.
    fn rounds(&self, state: &mut State, grid: &Grid, worker: &Worker) -> CtaExit {
        // Whether anything but waiting has happened in this call.
        let mut moved = false;
        let alone = state.ctas.len() == 1;
        loop {
            let mut round = Round::default();
            for (cta, rank) in state.ctas.iter_mut().zip(0..) {
                cta.take_turn(&mut state.cluster, &mut state.observer, rank);
                let done = self.turns(cta, grid, worker, &mut round, alone);
                cta.end_turn(&mut state.cluster, &mut state.observer, rank);
                if let Err(trap) = done {
                    return CtaExit::Fault(trap);
                }
            }
            moved |= round.moved;
            if !round.unfinished {
                if let Some(mut observer) = state.observer.take() {
                    observer.finished();
                }
                return CtaExit::Finished;
            }
            let poll = round.poll.unwrap_or_else(|| grid.poll(worker));
            if poll == Poll::Cancel {
                return CtaExit::Cancelled;
            }
            moved |= round.outcome >= Some(Outcome::Lingered);
            match round.outcome {
                Some(Outcome::Progressed) if poll == Poll::Continue => {}
                None if state.wakes().is_none() => return CtaExit::Fault(self.stuck(state)),
                _ if moved => return CtaExit::Yielded { progressed: true },
                _ => {
                    return match state.wakes() {
                        Some(until) if !state.looks() => CtaExit::Asleep { until },
                        _ => CtaExit::Yielded { progressed: false },
                    };
                }
            }
        }
    }

    /// Time slices for the warps of a CTA that can run, one for each, or until something else waits for the worker. One that is `alone`
    /// goes on with further rounds as long as it gets on.
    fn turns(
        &self,
        cta: &mut CtaState,
        grid: &Grid,
        worker: &Worker,
        round: &mut Round,
        alone: bool,
    ) -> Result<(), Box<Trap>> {
        let function = &self.program.functions[self.program.kernel as usize];
        let CtaState { shared, warps, nobody, first } = cta;
        let frame = shared.frames.take_nobodys();
        let warp = nobody.take().unwrap_or_default();
        let mut machine =
            Machine { fuel: SLICE, ..Machine::new(&self.program, function, self.isa, grid, shared, frame, warp) };
        loop {
            self.round(&mut machine, warps, first, worker, round)?;
            let on = alone && round.unfinished && round.outcome == Some(Outcome::Progressed);
            if !on || round.poll.is_some() || grid.poll(worker) != Poll::Continue {
                break;
            }
            *round = Round { moved: true, ..Round::default() };
        }
        let Machine { view, cta, warp, frame, .. } = machine;
        *nobody = Some(warp);
        cta.frames.give_nobodys(frame);
        cta.recent = Some(view.into_recent());
        Ok(())
    }

    /// One time slice for each warp that can run, beginning with number `first`.
    fn round(
        &self,
        machine: &mut Machine<'_>,
        warps: &mut [Box<Warp>],
        first: &mut usize,
        worker: &Worker,
        round: &mut Round,
    ) -> Result<(), Box<Trap>> {
        let count = warps.len();
        let (before, after) = warps.split_at_mut(std::mem::take(first));
        for warp in after.iter_mut().chain(before) {
            if warp.finished() {
                continue;
            }
            if !warp.runnable(machine.cta) {
                round.unfinished = true;
                continue;
            }
            machine.fuel = SLICE;
            machine.polls = 0;
            machine.stores = 0;
            machine.looks = 0;
            std::mem::swap(&mut machine.warp, warp);
            let flow = machine.run();
            if flow == Flow::Fault {
                return Err(self.trap(machine));
            }
            round.outcome = round.outcome.max(Some(machine.outcome()));
            std::mem::swap(&mut machine.warp, warp);
            // One that has ended needs no other round, in which nothing would be left to run.
            round.unfinished |= !warp.finished();
            if flow == Flow::Slice && machine.fuel <= 0 {
                let poll = machine.grid.poll(worker);
                if poll != Poll::Continue {
                    round.poll = Some(poll);
                    *first = (warp.index as usize + 1) % count;
                    break;
                }
            }
        }
        Ok(())
    }
}

impl CtaState {
    /// The CTA of this rank runs now: it gets its memory, and what it shares with others.
    fn take_turn(
        &mut self,
        cluster: &mut Option<Box<Cluster>>,
        observer: &mut Option<Box<dyn CtaObserver>>,
        rank: u32,
    ) {
        self.shared.cluster = cluster.take();
        self.shared.observer = observer.take();
        if let Some(cluster) = &mut self.shared.cluster {
            cluster.turn(rank, &mut self.shared.shared);
        }
    }

    /// Others may run.
    fn end_turn(&mut self, cluster: &mut Option<Box<Cluster>>, observer: &mut Option<Box<dyn CtaObserver>>, rank: u32) {
        *observer = self.shared.observer.take();
        if let Some(cluster) = &mut self.shared.cluster {
            cluster.turn(rank, &mut self.shared.shared);
        }
        *cluster = self.shared.cluster.take();
    }
}

impl State {
    fn is_of(&self, kernel: u64, variables: &Arc<[u64]>) -> bool {
        self.kernel == kernel && self.variables.as_ref().is_some_and(|other| Arc::ptr_eq(other, variables))
    }

    /// Becomes what the last CTA of this kernel has left.
    fn turn_to(&mut self, kernel: u64, variables: &Arc<[u64]>) {
        if self.is_of(kernel, variables) {
            return;
        }
        let mut others = std::mem::take(&mut self.others);
        let known = others.iter().position(|other| other.is_of(kernel, variables)).map(|at| others.remove(at));
        let fresh = || State { kernel, variables: Some(variables.clone()), ..State::default() };
        let before = std::mem::replace(self, known.unwrap_or_else(fresh));
        if before.variables.is_some() {
            others.push(before);
            if others.len() > OTHERS {
                others.remove(0);
            }
        }
        self.others = others;
    }

    /// When the first thread that sleeps wakes.
    fn wakes(&self) -> Option<Instant> {
        self.ctas.iter().flat_map(|cta| &cta.warps).filter_map(|warp| warp.wakes()).min()
    }

    /// Whether a thread neither sleeps nor waits for ones that do.
    fn looks(&self) -> bool {
        self.ctas.iter().any(|cta| cta.warps.iter().any(|warp| warp.is_ready(&cta.shared, self.cluster.as_deref())))
    }
}

/// How far the CTAs came in one round.
#[derive(Default)]
struct Round {
    /// Some threads had not exited before it.
    unfinished: bool,
    /// The best that a warp came to; none if none could run.
    outcome: Option<Outcome>,
    /// What the grid said to a warp that had used its time slice, if it was not to go on.
    poll: Option<Poll>,
    /// There were rounds before it in which warps got on.
    moved: bool,
}

/// The threads that exist of each warp of a CTA of this shape, or of the part of it: the warps of other parts have none here.
fn lanes_of_warps(shape: [u32; 3], part: u32, parts: u32) -> impl Iterator<Item = u32> {
    let threads = shape.iter().product::<u32>();
    let count = threads.div_ceil(32);
    let here = count * part / parts..count * (part + 1) / parts;
    (0..count).map(move |warp| match threads - warp * 32 {
        _ if !here.contains(&warp) => 0,
        32.. => u32::MAX,
        rest => (1 << rest) - 1,
    })
}

/// `%tid` of the lanes of a warp: x fastest.
fn thread_ids(warp: u32, shape: [u32; 3]) -> [[u32; 32]; 3] {
    let of_lane = |axis: fn(u32, [u32; 3]) -> u32| std::array::from_fn(|lane| axis(warp * 32 + lane as u32, shape));
    [
        of_lane(|thread, [x, ..]| thread % x),
        of_lane(|thread, [x, y, _]| thread / x % y),
        of_lane(|thread, [x, y, _]| thread / (x * y)),
    ]
}
