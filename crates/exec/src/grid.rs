//! Launches: what a kernel is started with, and the grid that executors see.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::attention::Watch;
use crate::device_runtime::{DeviceRuntime, GraphRun};
use crate::family::Family;
use crate::heap::DeviceHeap;
use crate::kernel::{LoadedKernel, Worker};
use crate::memory::{Memory, Reservation};
use crate::observe::GridObserver;
use crate::output::DeviceOutput;
use crate::overdue::Overdue;
use crate::run::{Run, Seen};
use crate::texture::{NoObjects, Objects};
use crate::workspace::Workspace;

/// Bytes of local memory that call frames of a thread may use in a new context (`CU_LIMIT_STACK_SIZE`), as recorded.
pub const DEFAULT_STACK: u64 = 1024;

/// Launches by kernels that may be pending in a new context (`CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT`), as recorded.
pub const DEFAULT_PENDING_LAUNCHES: u64 = 2048;

/// What all kernels of a context share.
pub struct Environment {
    /// Device memory.
    pub memory: Arc<Memory>,
    /// The heap behind `malloc` in kernels.
    pub heap: DeviceHeap,
    /// Where kernels print.
    pub output: Arc<dyn DeviceOutput>,
    /// How fast `%clock64` counts, in kHz: the device's clock rate.
    pub clock_khz: u32,
    /// What kernels have launched.
    pub pending: Arc<PendingLaunches>,
}

/// Launches of kernels by kernels that have not ended, of a context.
pub struct PendingLaunches {
    count: AtomicU64,
    limit: AtomicU64,
}

impl Default for PendingLaunches {
    /// None, with the limit of a new context.
    fn default() -> Self {
        PendingLaunches { count: AtomicU64::new(0), limit: AtomicU64::new(DEFAULT_PENDING_LAUNCHES) }
    }
}

/// One of the launches that a context allows kernels, until it is dropped.
pub struct PendingLaunch(Arc<PendingLaunches>);

impl PendingLaunches {
    /// How many there may be.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Sets how many there may be (`CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT`).
    pub fn set_limit(&self, count: u64) {
        self.limit.store(count, Ordering::Relaxed);
    }

    /// One more, if it is allowed.
    pub fn enter(self: &Arc<Self>) -> Option<PendingLaunch> {
        let more = |count: u64| (count < self.limit()).then_some(count + 1);
        self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(PendingLaunch(Arc::clone(self)))
    }
}

impl Drop for PendingLaunch {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A kernel with all that its start needs.
#[derive(Clone)]
pub struct Launch {
    /// The kernel.
    pub kernel: Arc<dyn LoadedKernel>,
    /// `%nctaid`.
    pub grid: [u32; 3],
    /// `%ntid`.
    pub cta: [u32; 3],
    /// CTAs of a cluster, (1, 1, 1) without clusters; divides `grid`.
    pub cluster: [u32; 3],
    /// `%is_explicit_cluster`: somebody has said how large clusters are.
    pub explicit_cluster: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Kernel parameters, laid out as PTX does.
    pub params: Box<[u8]>,
    /// All CTAs must be able to wait for each other: where they do. None for a launch that is not cooperative.
    pub cooperative: Option<Arc<Workspace>>,
    /// Bytes of local memory that call frames of a thread may use (`CU_LIMIT_STACK_SIZE`).
    pub stack_limit: u64,
    /// Where the variables of the kernel's module instance lie, by the executor's own numbers of them: code holds no addresses, so that
    /// instances share it. 0 where the kernel refers to none.
    pub variables: Arc<[u64]>,
    /// Textures and surfaces, references as they were bound when the launch was made.
    pub objects: Arc<dyn Objects>,
    /// The device memory that its threads' local memory counts as.
    pub local: Option<Arc<Reservation>>,
    /// Who may run it.
    pub workers: WorkerSet,
    /// Whom its threads ask that launch kernels themselves; None for a kernel that cannot.
    pub runtime: Option<Arc<dyn DeviceRuntime>>,
    /// What it comes behind, if a grid has launched it so.
    pub behind: Option<Arc<Family>>,
    /// The launch of a graph that it belongs to, if it may launch graphs, or ask which it is in.
    pub graph: Option<Arc<GraphRun>>,
    /// What the context lends.
    pub environment: Arc<Environment>,
}

impl Launch {
    /// A kernel that needs nothing else: no parameters, variables and dynamic shared memory, with the stack that contexts begin with.
    pub fn new(kernel: Arc<dyn LoadedKernel>, grid: [u32; 3], cta: [u32; 3], environment: &Arc<Environment>) -> Launch {
        Launch {
            kernel,
            grid,
            cta,
            cluster: [1; 3],
            explicit_cluster: false,
            dynamic_shared: 0,
            params: Box::default(),
            cooperative: None,
            stack_limit: DEFAULT_STACK,
            variables: Arc::default(),
            objects: Arc::new(NoObjects),
            local: None,
            workers: WorkerSet::default(),
            runtime: None,
            behind: None,
            graph: None,
            environment: Arc::clone(environment),
        }
    }

    /// How many CTAs it has.
    pub fn ctas(&self) -> u64 {
        self.grid.iter().fold(1, |all, extent| all.saturating_mul(u64::from(*extent)))
    }
}

/// The workers of a device that may run a grid: all, or the multiprocessors of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerSet {
    /// A bit for each worker, from the lowest of the first word on; `None` for all.
    bits: Option<Arc<[u64]>>,
}

impl WorkerSet {
    /// The workers with these numbers.
    pub fn of(workers: impl IntoIterator<Item = u32>) -> WorkerSet {
        let mut bits = Vec::new();
        for worker in workers {
            let word = (worker / 64) as usize;
            bits.resize(bits.len().max(word + 1), 0u64);
            bits[word] |= 1 << (worker % 64);
        }
        WorkerSet { bits: Some(bits.into()) }
    }

    /// Whether it is not the set of all workers.
    pub fn is_restricted(&self) -> bool {
        self.bits.is_some()
    }

    /// Whether a worker is among them.
    pub fn contains(&self, worker: u32) -> bool {
        let word = |bits: &Arc<[u64]>| bits.get((worker / 64) as usize).copied().unwrap_or(0);
        self.bits.as_ref().is_none_or(|bits| word(bits) >> (worker % 64) & 1 != 0)
    }

    /// How many of a pool's `workers` it has.
    pub fn count(&self, workers: u32) -> u32 {
        if self.is_restricted() { (0..workers).filter(|&worker| self.contains(worker)).count() as u32 } else { workers }
    }

    /// The lowest number in it; 0 if it is empty.
    pub fn first(&self) -> u32 {
        let words = self.bits.iter().flat_map(|bits| bits.iter());
        let found = words.enumerate().find(|(_, word)| **word != 0);
        found.map_or(0, |(index, word)| index as u32 * 64 + word.trailing_zeros())
    }
}

/// A running grid, as executors see it.
pub struct Grid {
    /// What it was started with.
    pub launch: Box<Launch>,
    /// `%gridid`: unique in the process.
    pub id: u64,
    /// `%nsmid`: workers of the pool.
    pub sm_count: u32,
    /// Into how many parts each CTA is divided: see [`LoadedKernel::most_parts`].
    pub parts: u32,
    /// Who is told of what it does, if anybody is.
    pub observer: Option<Box<dyn GridObserver>>,
    /// What it puts into streams itself, if it can.
    pub family: Option<Arc<Family>>,
    /// Work of this grid waits in the pool's queue.
    pub(crate) queued: AtomicBool,
    /// Its stream is urgent.
    pub(crate) urgent: bool,
    pub(crate) cancelled: AtomicBool,
    /// Whether the grid should be reported, or ended because it has run too long.
    pub(crate) overdue: Overdue,
    /// An executor has been told that the grid has run too long.
    pub(crate) late: AtomicBool,
    /// Everything else that wants the threads that run this grid.
    pub(crate) watch: Arc<Watch>,
    /// What reports it, where an executor stays inside a CTA.
    pub(crate) run: Weak<Run>,
}

/// How long one entry of the queue may keep a worker while others wait, from the first tick of the clock on: to the next.
pub(crate) const SLICE: Duration = Duration::from_millis(1);
/// How long one CTA may keep a thread from the other CTAs of its grid, which it may be waiting for in a way that looks like work.
const TURN: Duration = Duration::from_millis(50);

/// What an executor should do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Go on.
    Continue,
    /// Something else waits for this worker, or somebody wants to know where the CTA is: come back with
    /// [`crate::kernel::CtaExit::Yielded`] soon.
    Yield,
    /// The grid has faulted, is abandoned or has run too long: come back at once with
    /// [`crate::kernel::CtaExit::Cancelled`].
    Cancel,
}

impl Grid {
    pub(crate) fn new(
        launch: Box<Launch>,
        sm_count: u32,
        urgent: bool,
        watch: Arc<Watch>,
        overdue: Overdue,
        run: Weak<Run>,
    ) -> Grid {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let [queued, cancelled, late] = [const { AtomicBool::new(false) }; 3];
        let mut grid = Grid {
            launch,
            id,
            sm_count,
            parts: 1,
            observer: None,
            family: None,
            queued,
            urgent,
            cancelled,
            overdue,
            late,
            watch,
            run,
        };
        grid.parts = grid.choose_parts();
        grid
    }

    /// Grids with fewer CTAs than it takes to keep all workers busy are divided further, if the kernel allows it.
    fn choose_parts(&self) -> u32 {
        /// Units for each worker that even out how long they take.
        const UNITS: u64 = 4;
        let enough = UNITS * u64::from(self.launch.workers.count(self.sm_count));
        let ctas = self.units();
        if ctas == 0 || ctas >= enough || self.launch.cluster != [1; 3] {
            return 1;
        }
        let most = self.launch.kernel.most_parts(&self.launch);
        u64::from(most).min(enough.div_ceil(ctas)).max(1) as u32
    }

    /// Whether to go on: a load of the thread's own attention word, for backward branches and between CTAs.
    #[inline(always)]
    pub fn poll(&self, worker: &Worker) -> Poll {
        if worker.attention.is_raised() { self.look(worker) } else { Poll::Continue }
    }

    /// The same for an executor that cannot leave a CTA in the middle, `cta` ([`Cta::id`](crate::kernel::Cta::id)): whether to go on. What is
    /// to be said about a grid that does not end is said meanwhile, and who only wants the thread for something else waits: the word is
    /// low until the clock raises it again, so that loops do not ask at each trip.
    pub fn goes_on(&self, worker: &Worker, cta: [u32; 3]) -> bool {
        if !worker.attention.is_raised() {
            return true;
        }
        if self.look(worker) == Poll::Continue {
            return true;
        }
        if !self.cancelled.load(Ordering::SeqCst) {
            worker.attention.lower();
            if let Some(run) = self.run.upgrade() {
                run.attend(Seen::Inside(cta));
            }
        }
        !self.cancelled.load(Ordering::SeqCst)
    }

    /// Finds out why the word is raised. It stays so if the executor is to come back.
    #[cold]
    fn look(&self, worker: &Worker) -> Poll {
        worker.attention.lower();
        let poll = if self.cancelled.load(Ordering::SeqCst) {
            Poll::Cancel
        } else {
            let now = Instant::now();
            if self.overdue.is_lost(now) {
                self.late.store(true, Ordering::Relaxed);
                Poll::Cancel
            } else if self.overdue.is_due(now) || self.is_over(worker, now) {
                Poll::Yield
            } else {
                Poll::Continue
            }
        };
        if poll != Poll::Continue {
            worker.attention.raise();
        }
        poll
    }

    /// Whether the thread should do something else.
    fn is_over(&self, worker: &Worker, now: Instant) -> bool {
        if worker.turn_is_over(now, TURN) {
            return true;
        }
        let sliced = worker.slice_is_over(now);
        if worker.helps {
            // More threads than there are workers do not make a grid faster.
            return sliced && self.watch.busy(true) >= self.sm_count as usize;
        }
        // Its own entry means that it could use more workers, not that somebody else waits for this one.
        let waiting = self.watch.waiting();
        let own = u32::from(self.queued.load(Ordering::Acquire));
        (sliced && waiting > own) || (!self.urgent && self.watch.urgent_waiting() != 0)
    }

    /// Device memory.
    #[inline]
    pub fn memory(&self) -> &Memory {
        &self.launch.environment.memory
    }

    /// Units of issue: clusters, or CTAs where the grid has no clusters, or parts of CTAs.
    pub fn units(&self) -> u64 {
        let Launch { grid, cluster, .. } = &*self.launch;
        // Without divisions where there are no clusters: short grids take notice of them.
        let clusters = match cluster {
            [1, 1, 1] => self.launch.ctas(),
            _ => (0..3).map(|axis| u64::from(grid[axis] / cluster[axis].max(1))).product(),
        };
        clusters * u64::from(self.parts)
    }

    /// The number of a unit's CTA in the order of issue, and which part of it the unit is.
    pub fn unit_parts(&self, unit: u64) -> (u64, u32) {
        if self.parts == 1 { (unit, 0) } else { (unit / u64::from(self.parts), (unit % u64::from(self.parts)) as u32) }
    }

    /// `%ctaid` of the first CTA of a unit, x fastest.
    pub fn unit_start(&self, unit: u64) -> [u32; 3] {
        let (unit, _) = self.unit_parts(unit);
        if unit == 0 {
            return [0; 3];
        }
        let Launch { grid, cluster, .. } = &*self.launch;
        let along = |axis: usize| u64::from(grid[axis] / cluster[axis].max(1));
        let (x, rest) = (unit % along(0), unit / along(0));
        let (y, z) = (rest % along(1), rest / along(1));
        [x as u32 * cluster[0], y as u32 * cluster[1], z as u32 * cluster[2]]
    }

    /// The start of `unit`, where that of the one before it is `start`.
    #[inline]
    pub fn next_start(&self, start: Start, unit: u64) -> Start {
        if self.unit_parts(unit).1 != 0 {
            return start;
        }
        let Launch { grid, cluster, .. } = &*self.launch;
        let [x, y, z] = start.id();
        if x + 2 * cluster[0] <= grid[0] {
            return Start::at([x + cluster[0], y, z]);
        }
        if y + 2 * cluster[1] <= grid[1] {
            return Start::at([0, y + cluster[1], z]);
        }
        Start::at([0, 0, z + cluster[2]])
    }
}

/// `%ctaid` of the first CTA of a unit, for a loop through units that follow each other.
///
/// Two of the numbers are one word, as which they are copied: a copy of two words that have been stored one by one waits until all that the CTA before has
/// stored is in the processor's cache.
#[derive(Clone, Copy)]
pub struct Start {
    /// y above x.
    plane: u64,
    z: u32,
}

impl Start {
    /// At [`Grid::unit_start`].
    #[inline]
    pub fn at([x, y, z]: [u32; 3]) -> Start {
        Start { plane: u64::from(y) << 32 | u64::from(x), z }
    }

    /// `%ctaid`.
    #[inline]
    pub fn id(self) -> [u32; 3] {
        [self.plane as u32, (self.plane >> 32) as u32, self.z]
    }
}
