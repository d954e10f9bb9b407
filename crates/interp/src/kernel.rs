//! The interpreter behind the seam of `exec`: loads a kernel, runs its CTAs.
//!
//! The warps of a CTA take turns on the calling thread. A CTA whose warps all wait or poll comes back, so that others can run. What is
//! said about kernels that go wrong or do not end is in `report`.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use warploom_exec::fault::{FaultKind, Site, SiteInfo, Trap};
use warploom_exec::grid::{Grid, Launch, Poll};
use warploom_exec::kernel::{Cta, CtaExit, LoadedKernel, Resources, Worker};
use warploom_ptx::ir::{self, FunctionId, FunctionKind, GlobalId, Module, Op, Space, SpecialReg};

use crate::cta::CtaShared;
use crate::decode::{Context, decode};
use crate::error::LoadError;
use crate::frame::Frame;
use crate::isa::Isa;
use crate::machine::{Flow, Machine};
use crate::program::Program;
use crate::stack::{CALL_BYTES, deepest_chain};
use crate::waiting::Outcome;
use crate::warp::{NO_PARENT, Warp};

/// Instructions of a warp until the next one gets its turn: about a millisecond.
const SLICE: i32 = 1 << 16;

/// A CTA gets its shared memory in multiples of so many bytes, and accesses up to there succeed, as recorded from a device of
/// compute capability 9.0. What is between the variables and there is nobody's.
const SHARED_GRANULE: u32 = 128;

/// Makes `kernel` ready to run. `is_placed` knows which of the module's `.global` and `.const` variables there are: where they are is
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
) -> Result<Arc<dyn LoadedKernel>, LoadError> {
    Ok(Arc::new(load_for(Isa::detect(), module, kernel, is_placed)?))
}

pub(crate) fn load_for(
    isa: Isa,
    module: &Module,
    kernel: FunctionId,
    is_placed: &dyn Fn(GlobalId) -> bool,
) -> Result<InterpretedKernel, LoadError> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let source = &module.functions[kernel.0 as usize];
    debug_assert_eq!(source.kind, FunctionKind::Kernel);
    let shared = module.shared_layout(kernel);
    let reachable: Vec<FunctionId> =
        module.reachable(kernel).into_iter().filter(|id| module.functions[id.0 as usize].builtin.is_none()).collect();
    let by_id: HashMap<FunctionId, u32> = reachable.iter().enumerate().map(|(index, &id)| (id, index as u32)).collect();
    let context = Context { module, isa, functions: &by_id, is_placed, shared: &shared };
    let functions = reachable.iter().map(|&id| decode(&context, id)).collect::<Result<Vec<_>, _>>()?;
    let directives = &source.directives;
    let threads = |shape: [u32; 3]| shape.iter().product::<u32>();
    let resources = Resources {
        static_shared: shared.size,
        local: functions.first().map_or(0, |kernel| {
            u32::try_from(u64::from(kernel.stack_bytes) + deepest_chain(&functions, 0, 0)).unwrap_or(u32::MAX)
        }),
        constant: module
            .globals
            .iter()
            .filter(|global| global.space == Space::Const)
            .map(|global| global.size as u32)
            .sum(),
        registers: functions.first().map_or(0, |f| f.layout.rows32 + 2 * f.layout.rows64).clamp(8, 255) as u32,
        max_threads: directives.reqntid.or(directives.maxntid).map_or(1024, threads),
        required_cta: directives.reqntid,
        required_cluster: directives.reqnctapercluster,
        params: source.param_buffer_size,
    };
    let constants = module
        .globals
        .iter()
        .enumerate()
        .map(|(index, global)| (index as u32, global))
        .filter(|&(index, global)| global.space == Space::Const && is_placed(GlobalId(index)))
        .map(|(index, global)| (index, global.size))
        .collect();
    let known_stack = deepest_chain(&functions, 0, CALL_BYTES);
    let program = Program { functions, kernel: 0, known_stack, files: module.files.clone(), by_id, constants };
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let divisible = shared.size == 0 && reachable.iter().all(|&id| is_divisible(&module.functions[id.0 as usize]));
    Ok(InterpretedKernel { name: source.name.clone(), resources, program, isa, id, divisible })
}

/// Whether the warps of a CTA can run apart as far as a function is concerned: nothing in it is common to a CTA's threads, or ordered
/// for them only, or tells on which multiprocessor they run.
fn is_divisible(function: &ir::Function) -> bool {
    let common = |op: &Op| match op {
        Op::Barrier(_) | Op::Fence(_) | Op::Mbarrier(_) | Op::Async(_) => true,
        Op::ReadSpecial { reg, .. } => *reg == SpecialReg::Smid,
        _ => false,
    };
    function.body.as_ref().is_none_or(|body| !body.insts.iter().any(|inst| common(&inst.op)))
}

/// A kernel in decoded form.
pub(crate) struct InterpretedKernel {
    pub(crate) name: String,
    resources: Resources,
    pub(crate) program: Program,
    isa: Isa,
    /// The warps of a CTA have nothing to do with each other.
    divisible: bool,
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
    pub(crate) ctas: Vec<CtaState>,
}

pub(crate) struct CtaState {
    pub(crate) shared: CtaShared,
    pub(crate) warps: Vec<Warp>,
    /// The warp that the next round begins with.
    first: usize,
}

impl LoadedKernel for InterpretedKernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn state_type(&self) -> TypeId {
        TypeId::of::<State>()
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        let kept = cta.state.take().and_then(|state| state.downcast::<State>().ok());
        let mut state = kept.unwrap_or_else(|| Box::new(State::default()));
        if !cta.started
            && let Err(kind) = self.start(&mut state, grid, cta, worker)
        {
            return CtaExit::Fault(Box::new(Trap::new(kind)));
        }
        let exit = self.rounds(&mut state, grid, worker);
        cta.state = Some(state);
        exit
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
    fn start(&self, state: &mut State, grid: &Grid, cta: &Cta, worker: &Worker) -> Result<(), FaultKind> {
        let launch = &grid.launch;
        if state.kernel != self.id
            || !state.variables.as_ref().is_some_and(|other| Arc::ptr_eq(other, &launch.variables))
        {
            state.ctas.clear();
            state.kernel = self.id;
            state.variables = Some(launch.variables.clone());
        }
        let same_shape = state.shape == launch.cta;
        state.shape = launch.cta;
        let size = launch.cluster.iter().product::<u32>().max(1);
        let threads = launch.cta.iter().product::<u32>();
        let count = threads.div_ceil(32);
        // Where the CTA is divided, the warps of other parts have no threads here.
        let here = count * cta.part / grid.parts..count * (cta.part + 1) / grid.parts;
        let warps: Vec<u32> = (0..count)
            .map(|warp| match threads - warp * 32 {
                _ if !here.contains(&warp) => 0,
                32.. => u32::MAX,
                rest => (1 << rest) - 1,
            })
            .collect();
        state.ctas.resize_with(size as usize, || CtaState {
            shared: CtaShared::default(),
            warps: Vec::new(),
            first: 0,
        });
        for (rank, entry) in state.ctas.iter_mut().enumerate() {
            let rank = rank as u32;
            let [cx, cy, _] = launch.cluster;
            let place = [rank % cx, rank / cx % cy, rank / (cx * cy)];
            entry.shared.id = [0, 1, 2].map(|axis| cta.id[axis] + place[axis]);
            entry.shared.worker = worker.index;
            entry.first = 0;
            let shared = self.resources.static_shared + launch.dynamic_shared;
            entry.shared.start(&warps, shared.next_multiple_of(SHARED_GRANULE) as usize);
            entry.warps.resize_with(warps.len(), Warp::default);
            for (index, (warp, &lanes)) in entry.warps.iter_mut().zip(&warps).enumerate() {
                if !same_shape || warp.tid.is_empty() {
                    warp.tid = thread_ids(index as u32, launch.cta).to_vec();
                }
                warp.start(&self.program, &mut entry.shared.frames, index as u32, lanes)?;
            }
        }
        Ok(())
    }

    /// Lets the warps take turns until all have ended, or none can go on.
    fn rounds(&self, state: &mut State, grid: &Grid, worker: &Worker) -> CtaExit {
        // Whether anything but waiting has happened in this call.
        let mut moved = false;
        loop {
            let mut round = Round { finished: true, outcome: None, poll: Poll::Continue };
            for cta in &mut state.ctas {
                if let Err(trap) = self.round(cta, grid, worker, &mut round) {
                    return CtaExit::Fault(trap);
                }
            }
            if round.finished {
                return CtaExit::Finished;
            }
            let poll = if round.poll == Poll::Continue { grid.poll(worker) } else { round.poll };
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

    /// One time slice for each warp of a CTA that can run, or until something else waits for the worker.
    fn round(&self, cta: &mut CtaState, grid: &Grid, worker: &Worker, round: &mut Round) -> Result<(), Box<Trap>> {
        let function = &self.program.functions[self.program.kernel as usize];
        let CtaState { shared, warps, first } = cta;
        let mut nobody = Warp::default();
        let mut machine = Machine {
            frame: Frame::default(),
            pc: 0,
            active: 0,
            limit: u32::MAX,
            fuel: SLICE,
            polls: 0,
            stores: 0,
            looks: 0,
            activation: NO_PARENT,
            isa: self.isa,
            function,
            program: &self.program,
            grid,
            view: grid.memory().view_with(shared.recent.take()),
            cta: shared,
            warp: &mut nobody,
            fault: None,
        };
        let count = warps.len();
        let (before, after) = warps.split_at_mut(*first);
        *first = 0;
        for warp in after.iter_mut().chain(before) {
            if warp.finished() {
                continue;
            }
            round.finished = false;
            if !warp.runnable(machine.cta) {
                continue;
            }
            machine.fuel = SLICE;
            machine.polls = 0;
            machine.stores = 0;
            machine.looks = 0;
            machine.warp = warp;
            let flow = machine.run();
            if flow == Flow::Fault {
                return Err(self.trap(&mut machine));
            }
            round.outcome = round.outcome.max(Some(machine.outcome()));
            if flow == Flow::Slice && machine.fuel <= 0 {
                round.poll = grid.poll(worker);
                if round.poll != Poll::Continue {
                    *first = (machine.warp.index as usize + 1) % count;
                    break;
                }
            }
        }
        machine.cta.recent = Some(machine.view.into_recent());
        Ok(())
    }
}

impl State {
    /// When the first thread that sleeps wakes.
    fn wakes(&self) -> Option<Instant> {
        self.ctas.iter().flat_map(|cta| &cta.warps).filter_map(Warp::wakes).min()
    }

    /// Whether a thread neither sleeps nor waits for ones that do.
    fn looks(&self) -> bool {
        self.ctas.iter().any(|cta| cta.warps.iter().any(|warp| warp.is_ready(&cta.shared)))
    }
}

/// How far the CTAs came in one round.
struct Round {
    /// All threads have exited.
    finished: bool,
    /// The best that a warp came to; none if none could run.
    outcome: Option<Outcome>,
    /// What the grid said to a warp that had used its time slice.
    poll: Poll,
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
