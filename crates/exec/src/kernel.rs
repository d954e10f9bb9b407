//! The seam between executors and grids.
//!
//! An executor (the warp interpreter, the vector compiler) implements [`LoadedKernel`]. A grid calls it for a batch of CTAs that
//! nobody has begun, or of clusters: all CTAs of a cluster run on one OS thread and share one [`Cta`]. A CTA runs until it ends,
//! faults or cannot go on; then it yields, and is called again later, alone, with the state that it left in [`Cta::state`], perhaps
//! on another thread.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::attention::{Attention, Watch};
use crate::fault::{Site, SiteInfo, Trap};
use crate::grid::{Grid, Launch, Poll, SLICE, Start};
use crate::stack;

/// Bytes of stack of a worker, as many as a program's first thread mostly has.
pub const WORKER_STACK: usize = 8 << 20;

/// A kernel that can run.
pub trait LoadedKernel: Send + Sync {
    /// The kernel's name in its module.
    fn name(&self) -> &str;

    /// Bytes of stack that [`LoadedKernel::run_ctas`] may need: threads of the program with less room do not help with its grids.
    fn stack_need(&self) -> usize {
        256 << 10
    }

    /// The type that it keeps in [`Cta::state`]; `()` for one that keeps nothing. What a finished CTA has left in it is lent to the
    /// next one on the same thread whose kernel names the same type.
    fn state_type(&self) -> TypeId {
        TypeId::of::<()>()
    }

    /// The kernel that runs this launch: `None` for itself, or one that computes the same. Asked when the launch starts, so that a kernel
    /// may move to better code between launches, have code of its own for a shape, and fall back where there is none.
    fn variant(&self, launch: &Launch) -> Option<Arc<dyn LoadedKernel>> {
        let _ = launch;
        None
    }

    /// Into how many parts a CTA of this launch may be divided at most that can run apart, on several workers: 1 for kernels whose threads
    /// meet at barriers or share memory. A part is a call of its own, with [`Cta::part`].
    fn most_parts(&self, launch: &Launch) -> u32 {
        let _ = launch;
        1
    }

    /// How many nanoseconds one thread is thought to need for all of a launch of which it is known that it ends whatever it finds in memory: no thread of it runs
    /// through a loop, or waits for anybody but others of its CTA. None of any other. Needs to be right to a factor of a few.
    fn ends_within(&self, launch: &Launch) -> Option<u64> {
        let _ = launch;
        None
    }

    /// Whether CTAs may be started in any order: none waits for another one.
    fn has_independent_ctas(&self) -> bool {
        false
    }

    /// Runs units that nobody has begun, CTAs or clusters: those with the numbers `units`, which are not empty, in ascending order. It comes
    /// back before the end of the batch where [`Grid::poll`] says so, and with the first CTA that does not finish.
    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        let mut start = Start::at(grid.unit_start(units.start));
        let mut done = 0;
        for unit in units {
            let (linear, part) = grid.unit_parts(unit);
            let mut cta =
                Cta { id: start.id(), linear, part, started: false, state: worker.take_spare(self.state_type()) };
            worker.note_start(unit);
            match self.run_cta(grid, &mut cta, worker) {
                CtaExit::Finished => worker.keep_spare(cta.state),
                exit => return Batch { done, stopped: Some((cta, exit)) },
            }
            done += 1;
            if grid.poll(worker) != Poll::Continue {
                break;
            }
            start = grid.next_start(start, unit + 1);
        }
        Batch { done, stopped: None }
    }

    /// Runs one CTA, or all CTAs of one cluster, from where it stopped.
    ///
    /// On the first call for a CTA, [`Cta::started`] is false and [`Cta::state`] holds `None` or what a finished CTA, of
    /// this kernel or another, left in it: the executor downcasts it and reuses the memory if it can.
    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit;

    /// Whether a worker may keep back what units have to do to memory, until [`LoadedKernel::leave`]; [`Worker::will_leave`] says whether that is to come.
    fn keeps_back(&self) -> bool {
        false
    }

    /// Called on a worker that has run units and turns from the grid, before the last of them counts as ended: what was kept back is done.
    fn leave(&self, worker: &mut Worker) {
        let _ = worker;
    }

    /// Bytes of shared memory that its code declares.
    fn static_shared(&self) -> u32 {
        0
    }

    /// What is known of an instruction that can fault.
    fn site(&self, site: Site) -> SiteInfo {
        let _ = site;
        SiteInfo::default()
    }

    /// What CTAs of a grid that have not begun wait for, if it is nothing of the kernel's own: for reports of grids that do not end.
    fn awaits(&self, grid: &Grid) -> Option<&'static str> {
        let _ = grid;
        None
    }

    /// One line for each group of threads of a yielded CTA: what it waits for and where. Empty if there is nothing to
    /// say. For reports of kernels that do not end.
    fn describe(&self, cta: &Cta) -> String {
        let _ = cta;
        String::new()
    }
}

/// [`LoadedKernel::run_ctas`] for an executor that has one state for a whole batch: `run` runs the unit with a start (of [`Cta::id`]) and a part
/// ([`Cta::part`]) from its start, with what the one before has left. Where that lies is told by [`Batch::keep`].
#[inline]
pub fn run_units(
    grid: &Grid,
    units: Range<u64>,
    worker: &mut Worker,
    mut run: impl FnMut(Start, u32, &Worker) -> CtaExit,
) -> Batch {
    let mut start = Start::at(grid.unit_start(units.start));
    let mut done = 0;
    for unit in units {
        let (linear, part) = grid.unit_parts(unit);
        worker.note_start(unit);
        match run(start, part, worker) {
            CtaExit::Finished => {}
            exit => {
                let cta = Cta { id: start.id(), linear, part, started: false, state: None };
                return Batch { done, stopped: Some((cta, exit)) };
            }
        }
        done += 1;
        if grid.poll(worker) != Poll::Continue {
            break;
        }
        start = grid.next_start(start, unit + 1);
    }
    Batch { done, stopped: None }
}

/// The state that an executor finds, if it is one of its own; else a fresh one.
pub fn kept<S: Default + 'static>(state: Option<Box<dyn Any + Send>>) -> Box<S> {
    state.and_then(|state| state.downcast().ok()).unwrap_or_default()
}

/// A CTA gets its shared memory in multiples of so many bytes, and accesses up to there succeed, as recorded from a device of
/// compute capability 9.0. What is between the variables and there is nobody's.
pub const SHARED_GRANULE: u32 = 128;

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
    /// [`Grid::poll`] said that the grid is at an end. What the CTA left half done is not used again.
    Cancelled,
    /// The kernel is at an end: no further CTA of the grid runs.
    Fault(Box<Trap>),
}

/// How [`LoadedKernel::run_ctas`] came back.
pub struct Batch {
    /// CTAs at the start of the batch that have finished.
    pub done: u64,
    /// The CTA after these, if it has begun and not finished, and how it came back.
    pub stopped: Option<(Cta, CtaExit)>,
}

impl Batch {
    /// Leaves the state that its CTAs ran with to the one that has not finished, or to the next batch of this worker.
    pub fn keep(mut self, state: Box<dyn Any + Send>, worker: &mut Worker) -> Batch {
        match &mut self.stopped {
            Some((cta, _)) => cta.state = Some(state),
            None => worker.keep_spare(Some(state)),
        }
        self
    }
}

/// One CTA (or cluster) of a grid.
#[derive(Default)]
pub struct Cta {
    /// `%ctaid` of the CTA with rank 0 in the cluster.
    pub id: [u32; 3],
    /// Its number in the order of issue (x fastest; of clusters where the grid has clusters).
    pub linear: u64,
    /// Which of the grid's [`parts`](Grid::parts) of the CTA it is.
    pub part: u32,
    /// False on the first call for this CTA.
    pub started: bool,
    /// What the executor keeps between calls.
    pub state: Option<Box<dyn Any + Send>>,
}

/// What the calling OS thread lends to executors. In lines of the cache that no other thread writes to, two at once being fetched: each CTA is noted here.
#[repr(align(128))]
pub struct Worker {
    /// Which worker it is, from 0: `%smid`.
    pub index: u32,
    pub(crate) attention: Arc<CachePadded<Attention>>,
    /// It is a thread of the program that waits for the grid.
    pub(crate) helps: bool,
    /// [`LoadedKernel::leave`] will be called.
    pub(crate) will_leave: bool,
    /// The unit that runs, for reports of panics.
    pub(crate) unit: u64,
    /// How many brief grids it has run.
    pub(crate) brief: u32,
    /// State of CTAs that finished on this thread, for the next ones that start: [`SPARES`] of each type at most.
    spares: Vec<(TypeId, Box<dyn Any + Send>)>,
    /// When the present work was first seen to have this thread.
    slice: Cell<Option<Instant>>,
    /// When the CTA that runs was first seen to run.
    turn: Cell<Option<Instant>>,
}

/// States that a thread keeps of each type: CTAs that wait for others take theirs along, and new ones start meanwhile.
const SPARES: usize = 16;

impl Worker {
    pub(crate) fn new(index: u32, helps: bool, watch: &Watch) -> Worker {
        let attention = watch.enroll(!helps);
        let [slice, turn] = [const { Cell::new(None) }; 2];
        Worker { index, attention, helps, will_leave: false, unit: 0, brief: 0, spares: Vec::new(), slice, turn }
    }

    /// The attention word, for compiled code: as long as it reads 0, [`Grid::poll`] says [`Poll::Continue`]. It stays at its address
    /// during a call.
    pub fn attention(&self) -> &AtomicU32 {
        self.attention.word()
    }

    /// Whether [`LoadedKernel::leave`] will be called for what the units that run now keep back.
    pub fn will_leave(&self) -> bool {
        self.will_leave
    }

    /// What a finished CTA left for the next with the same type of state.
    pub fn take_spare(&mut self, state: TypeId) -> Option<Box<dyn Any + Send>> {
        let index = self.spares.iter().rposition(|(of, _)| *of == state)?;
        Some(self.spares.remove(index).1)
    }

    /// Keeps what a finished CTA has left.
    pub fn keep_spare(&mut self, state: Option<Box<dyn Any + Send>>) {
        let Some(state) = state else { return };
        let of = (*state).type_id();
        if self.spares.iter().filter(|(other, _)| *other == of).count() == SPARES
            && let Some(oldest) = self.spares.iter().position(|(other, _)| *other == of)
        {
            self.spares.remove(oldest);
        }
        self.spares.push((of, state));
    }

    /// The thread has nothing to do: of what CTAs have left it keeps the last one of each type.
    pub(crate) fn rest(&mut self) {
        for at in (0..self.spares.len()).rev() {
            let of = self.spares[at].0;
            if self.spares[at + 1..].iter().any(|(other, _)| *other == of) {
                self.spares.remove(at);
            }
        }
    }

    /// A unit starts or goes on.
    #[inline]
    pub fn note_start(&mut self, unit: u64) {
        self.unit = unit;
        self.turn.set(None);
    }

    /// Whether the thread has so many bytes of stack left.
    pub fn has_stack(&self, bytes: usize) -> bool {
        stack::room() >= bytes
    }

    /// Whether it is one of the pool's own, not a thread of the program that helps or stands in.
    pub fn is_pools(&self) -> bool {
        self.attention.is_workers()
    }

    pub(crate) fn start_slice(&mut self) {
        self.slice.set(None);
    }

    /// Whether the thread's present work has had its share of time.
    pub(crate) fn slice_is_over(&self, now: Instant) -> bool {
        has_lasted(&self.slice, now, SLICE)
    }

    /// Whether the CTA that runs has been seen to run for so long.
    pub(crate) fn turn_is_over(&self, now: Instant, limit: Duration) -> bool {
        has_lasted(&self.turn, now, limit)
    }
}

/// Whether what was first seen then has lasted so long; if it has not been seen yet, it is seen now. The time is read only where the clock
/// makes a thread look up.
fn has_lasted(seen: &Cell<Option<Instant>>, now: Instant, limit: Duration) -> bool {
    match seen.get() {
        Some(seen) => now.duration_since(seen) >= limit,
        None => {
            seen.set(Some(now));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_kept_by_type_and_few_of_them_while_the_thread_rests() {
        let mut worker = Worker::new(0, false, &Watch::default());
        worker.keep_spare(Some(Box::new(0u64)));
        for number in 0..2 * SPARES as u32 {
            worker.keep_spare(Some(Box::new(number)));
        }
        let take = |worker: &mut Worker| kept::<u32>(worker.take_spare(TypeId::of::<u32>()));
        // The last one is the warmest.
        assert_eq!(*take(&mut worker), 2 * SPARES as u32 - 1);
        assert_eq!(worker.spares.len(), SPARES);
        worker.rest();
        assert_eq!(worker.spares.len(), 2);
        assert_eq!(*take(&mut worker), 2 * SPARES as u32 - 2);
        assert!(worker.take_spare(TypeId::of::<u32>()).is_none());
        assert!(worker.take_spare(TypeId::of::<u64>()).is_some());
    }
}
