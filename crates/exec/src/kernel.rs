//! The seam between executors and grids.
//!
//! An executor (the warp interpreter, the vector compiler) implements [`LoadedKernel`]. A grid calls it for one CTA at a
//! time, or for one cluster at a time: all CTAs of a cluster run on one OS thread and share one [`Cta`]. A CTA runs until
//! it ends, faults or cannot go on; then it yields, and is called again later with the state that it left in
//! [`Cta::state`], perhaps on another thread.

use std::any::Any;
use std::time::Instant;

use crate::fault::Fault;
use crate::grid::Grid;

/// What a kernel needs of the device, known when it is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of statically declared shared memory of a CTA.
    pub static_shared: u32,
    /// Bytes of local memory of a thread (declared variables and the deepest known call chain).
    pub local: u32,
    /// Bytes of constants that the kernel's module declares.
    pub constant: u32,
    /// Registers of a thread, in 32-bit units, as a GPU would need (an estimate, for occupancy queries).
    pub registers: u32,
    /// Most threads of a CTA (`.maxntid`, `.reqntid`), 1024 where nothing is stated.
    pub max_threads: u32,
    /// `.reqntid`: the only shape of CTA allowed.
    pub required_cta: Option<[u32; 3]>,
    /// `.reqnctapercluster` or `.explicitcluster`: the cluster's shape.
    pub required_cluster: Option<[u32; 3]>,
    /// Bytes of kernel parameters.
    pub params: u32,
}

/// A kernel that can run.
pub trait LoadedKernel: Send + Sync {
    /// The kernel's name in its module.
    fn name(&self) -> &str;

    /// What it needs.
    fn resources(&self) -> &Resources;

    /// Runs one CTA, or all CTAs of one cluster, from where it stopped.
    ///
    /// On the first call for a CTA, [`Cta::started`] is false and [`Cta::state`] holds `None` or what a finished CTA, of
    /// this kernel or another, left in it: the executor downcasts it and reuses the memory if it can.
    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit;

    /// One line for each group of threads of a yielded CTA: what it waits for and where. Empty if there is nothing to
    /// say. For reports of kernels that do not end.
    fn describe(&self, cta: &Cta) -> String {
        let _ = cta;
        String::new()
    }
}

/// How [`LoadedKernel::run_cta`] came back.
#[derive(Debug)]
pub enum CtaExit {
    /// All threads have exited.
    Finished,
    /// Not all threads have exited, and something else should run first.
    Yielded {
        /// False if all that happened since the last call was waiting (polling memory, a barrier of the grid). Workers
        /// slow down when nothing but waiting is left.
        progressed: bool,
    },
    /// Nothing has happened since the last call, and nothing will until then: all threads sleep, or wait for ones that do.
    Asleep {
        /// When to call again.
        until: Instant,
    },
    /// The kernel is at an end: no further CTA of the grid runs.
    Fault(Box<Fault>),
}

/// One CTA (or cluster) of a grid.
#[derive(Default)]
pub struct Cta {
    /// `%ctaid` of the CTA with rank 0 in the cluster.
    pub id: [u32; 3],
    /// Its number in the order of issue (x fastest; of clusters where the grid has clusters).
    pub linear: u64,
    /// False on the first call for this CTA.
    pub started: bool,
    /// What the executor keeps between calls.
    pub state: Option<Box<dyn Any + Send>>,
}

/// What the calling OS thread lends to executors.
#[derive(Default)]
pub struct Worker {
    /// Which worker it is, from 0: `%smid`.
    pub index: u32,
    /// Whatever an executor wants to keep on this thread between CTAs.
    pub scratch: Option<Box<dyn Any + Send>>,
    /// State of a CTA that finished on this thread, for the next one that starts.
    pub(crate) spare: Option<Box<dyn Any + Send>>,
    /// When other work may have this thread.
    pub(crate) slice_end: Option<Instant>,
}

impl Worker {
    pub(crate) fn new(index: u32) -> Worker {
        Worker { index, ..Worker::default() }
    }

    /// Whether the thread's present work has had its share of time.
    pub(crate) fn slice_is_over(&self) -> bool {
        self.slice_end.is_some_and(|end| Instant::now() >= end)
    }
}
