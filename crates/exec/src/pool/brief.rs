//! Grids that take no longer than to hand them over (decision 30): the thread that brings one runs it, and no other thread hears of it.
//!
//! Such a grid is no run in flight: it is in no list, has no counters that threads share, and nobody waits for it or calls it off. One that does not end
//! all the same becomes one, and goes on with the workers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::{HOME, Pool, RUNS, RunningGrid, Shared};
use crate::fault::Fault;
use crate::grid::{Grid, Launch};
use crate::kernel::{Cta, CtaExit, Worker};
use crate::run::{Done, Run, defect_of, fault_of, guard};
use crate::stack;

/// Nanoseconds that a thread of the program takes for a grid itself rather than hand it to a worker, which takes as long: a worker that is awake hears of it a
/// microsecond later, what the grid reads and writes goes from one core's cache to the other's, and so does the news of its end.
const BRIEF: u64 = 4000;
/// Of so many brief grids the time of one is taken, for all of them: the clock is not read for each.
const SAMPLED: u32 = 64;

/// What became of a brief grid.
pub(crate) enum Brief {
    /// All of its CTAs have ended.
    Ended,
    /// One has faulted, and the others are not begun.
    Faulted(Arc<Fault>),
    /// One waits all the same.
    Unfinished(Box<Unfinished>),
}

/// A grid that was thought to be brief.
pub(crate) struct Unfinished {
    pub(crate) grid: Grid,
    /// The first unit that was not begun.
    pub(crate) next: u64,
    /// The unit before it, and how it came back.
    pub(crate) stopped: (Cta, CtaExit),
}

impl Pool {
    /// Whether the calling thread may run a launch before it goes on: it takes no longer than to hand it over, and waits for nobody. Its kernel is then the
    /// one that runs it.
    pub(crate) fn is_brief(&self, launch: &mut Launch) -> bool {
        // Not from within another grid's run, whose end may start the next one, and that one's the next.
        let outside = HOME.get() == 0 && RUNS.get() == 0 && self.observer().is_none();
        let alone = launch.cooperative.is_none() && launch.cluster == [1; 3] && !launch.workers.is_restricted();
        let childless = launch.runtime.is_none() && launch.behind.is_none() && launch.graph.is_none();
        if !(outside && alone && childless) {
            return false;
        }
        let variant = launch.kernel.variant(launch);
        let kernel = variant.as_ref().unwrap_or(&launch.kernel);
        let brief = kernel.ends_within(launch).is_some_and(|time| time <= BRIEF);
        if brief && let Some(variant) = variant {
            launch.kernel = variant;
        }
        brief
    }

    /// Runs a brief grid on the calling thread. Gives it back where the thread cannot.
    pub(crate) fn run_brief(&self, launch: Box<Launch>, urgent: bool) -> Result<Brief, Box<Launch>> {
        let shared = &self.shared;
        let Ok(_gate) = shared.gate.try_read() else { return Err(launch) };
        if stack::room() < launch.kernel.stack_need() {
            return Err(launch);
        }
        let grid = self.grid(launch, urgent, Weak::new());
        Ok(shared.lend_worker(|worker| {
            worker.start_slice();
            worker.brief = worker.brief.wrapping_add(1);
            let start = worker.brief.is_multiple_of(SAMPLED).then(Instant::now);
            let brief = shared.busy(worker, |worker| shared.run_units(grid, worker));
            if let Some(start) = start {
                shared.queue().note_brief(start.elapsed() * SAMPLED);
            }
            brief
        }))
    }

    /// Makes a run in flight of a grid that a thread has begun, up to the unit before `next`, which has not ended. `done` as for [`Pool::launch`].
    pub(crate) fn enter_begun(&self, mut grid: Grid, next: u64, device: Option<u32>, done: Done) -> RunningGrid {
        let shared = &self.shared;
        let run = Arc::new_cyclic(|run| {
            grid.run = run.clone();
            Run::new(grid, device, self.threads(), shared.options.report.clone(), done).begun(next)
        });
        shared.queue().list(&run);
        RunningGrid(run)
    }

    /// Lets the workers go on with it, and with the unit that has not ended.
    pub(crate) fn go_on_with(&self, RunningGrid(run): &RunningGrid, (cta, exit): (Cta, CtaExit)) {
        let shared = &self.shared;
        shared.lend_worker(|worker| run.take_back(cta, exit, worker));
        shared.offer(run);
        self.begin(run.grid.urgent);
    }
}

impl Shared {
    /// Runs a grid from its start.
    fn run_units(&self, grid: Grid, worker: &mut Worker) -> Brief {
        let units = grid.units();
        let mut next = 0;
        // Whoever closes the pool either sees that the thread is busy, or is seen here.
        while next < units && !self.closed.load(Ordering::SeqCst) {
            let fault = match guard(|| grid.launch.kernel.run_ctas(&grid, next..units, worker)) {
                Ok(batch) => {
                    next += batch.done;
                    let Some((cta, exit)) = batch.stopped else { continue };
                    next += 1;
                    match exit {
                        CtaExit::Finished => {
                            worker.keep_spare(cta.state);
                            continue;
                        }
                        CtaExit::Fault(trap) => fault_of(&grid, *trap, cta.id),
                        exit => return Brief::Unfinished(Box::new(Unfinished { grid, next, stopped: (cta, exit) })),
                    }
                }
                Err(panic) => defect_of(&grid, grid.unit_start(worker.unit), panic),
            };
            return Brief::Faulted(Arc::new(fault));
        }
        Brief::Ended
    }
}
