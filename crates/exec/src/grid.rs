//! Launches: what a kernel is started with, and the grid that executors see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::heap::DeviceHeap;
use crate::kernel::{LoadedKernel, Worker};
use crate::memory::Memory;
use crate::output::DeviceOutput;
use crate::texture::Objects;

/// What all kernels of a context share.
pub struct Environment {
    /// Device memory.
    pub memory: Arc<Memory>,
    /// The heap behind `malloc` in kernels.
    pub heap: DeviceHeap,
    /// Where kernels print.
    pub output: Arc<dyn DeviceOutput>,
    /// Textures and surfaces.
    pub objects: Arc<dyn Objects>,
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
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Kernel parameters, laid out as PTX does.
    pub params: Box<[u8]>,
    /// All CTAs must be able to wait for each other.
    pub cooperative: bool,
    /// Bytes of local memory that call frames of a thread may use (`CU_LIMIT_STACK_SIZE`).
    pub stack_limit: u64,
    /// What the context lends.
    pub environment: Arc<Environment>,
}

/// A running grid, as executors see it.
pub struct Grid {
    /// What it was started with.
    pub launch: Launch,
    /// `%gridid`: unique in the process.
    pub id: u64,
    /// `%nsmid`: workers of the pool.
    pub sm_count: u32,
    pub(crate) cancelled: AtomicBool,
    pub(crate) started: Instant,
    /// When the grid has run too long.
    pub(crate) deadline: Option<Instant>,
    /// An executor has been told that it has.
    pub(crate) late: AtomicBool,
    /// Entries of the pool's queue: work that waits for a worker.
    pub(crate) waiting: Arc<AtomicU32>,
}

/// What an executor should do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Go on.
    Continue,
    /// Something else waits for this worker: come back with [`crate::kernel::CtaExit::Yielded`] soon.
    Yield,
    /// The grid has faulted, is abandoned or has run too long: come back at once with `Finished`.
    Cancel,
}

impl Grid {
    pub(crate) fn new(launch: Launch, sm_count: u32, waiting: Arc<AtomicU32>, limit: Option<Duration>) -> Grid {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        let deadline = limit.and_then(|limit| started.checked_add(limit));
        let (cancelled, late) = (AtomicBool::new(false), AtomicBool::new(false));
        Grid { launch, id, sm_count, cancelled, started, deadline, late, waiting }
    }

    /// Whether to go on. Mostly two loads: for every few thousand instructions of a CTA, at backward branches.
    #[inline]
    pub fn poll(&self, worker: &Worker) -> Poll {
        if self.cancelled.load(Ordering::Relaxed) {
            Poll::Cancel
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.late.store(true, Ordering::Relaxed);
            Poll::Cancel
        } else if self.waiting.load(Ordering::Relaxed) != 0 && worker.slice_is_over() {
            Poll::Yield
        } else {
            Poll::Continue
        }
    }

    /// Device memory.
    #[inline]
    pub fn memory(&self) -> &Memory {
        &self.launch.environment.memory
    }

    /// Units of issue: clusters, or CTAs where the grid has no clusters.
    pub fn units(&self) -> u64 {
        (0..3).map(|axis| u64::from(self.launch.grid[axis] / self.launch.cluster[axis].max(1))).product()
    }

    /// `%ctaid` of the first CTA of a unit, x fastest.
    pub fn unit_start(&self, unit: u64) -> [u32; 3] {
        let Launch { grid, cluster, .. } = &self.launch;
        let along = |axis: usize| u64::from(grid[axis] / cluster[axis].max(1));
        let (x, rest) = (unit % along(0), unit / along(0));
        let (y, z) = (rest % along(1), rest / along(1));
        [x as u32 * cluster[0], y as u32 * cluster[1], z as u32 * cluster[2]]
    }

    /// From the first CTA of a unit to that of the next.
    pub(crate) fn advance(&self, id: &mut [u32; 3]) {
        let Launch { grid, cluster, .. } = &self.launch;
        for axis in 0..3 {
            id[axis] += cluster[axis];
            if id[axis] + cluster[axis] <= grid[axis] {
                return;
            }
            id[axis] = 0;
        }
    }
}
