//! One grid in flight: which CTAs have been issued, which wait to be resumed, and when all are done.

mod pace;
mod report;
mod stretches;

use std::any::Any;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::fault::Fault;
use crate::grid::{Grid, Poll};
use crate::kernel::{Cta, CtaExit, Worker};
use crate::pool::Report;
use pace::{Pace, Wakes};
pub(crate) use report::{Seen, defect_of, fault_of};
use stretches::Stretches;

/// CTAs that one worker may hold begun and put aside before it takes fresh ones no more, as on a GPU: a grid that does not exceed it can
/// wait for itself.
pub(crate) const RESIDENT_PER_WORKER: u64 = 32;
/// Most units that are claimed at once: neighbours, which mostly go on in memory where the one before has ended. With short ones that stream through
/// a row of a matrix, claims of 32 took twice as long as those of a whole row.
const LARGEST_CLAIM: u64 = 1024;
/// Claims that what is left for each worker is divided into, so that all come to the end of the grid at about the same time.
const CLAIMS: u64 = 4;
/// [`Run::listed`] of a run that the queue does not list.
pub(crate) const UNLISTED: usize = usize::MAX;

/// Called once, with the first fault if there was one.
pub(crate) type Done = Box<dyn FnOnce(Option<Arc<Fault>>) + Send>;

pub(crate) struct Run {
    pub(crate) grid: Grid,
    /// The device whose stream it is in.
    pub(crate) device: Option<u32>,
    units: u64,
    /// Claims that the units which are left should make, if they were all of the same size.
    claims: u64,
    most_resident: u64,
    counts: Counts,
    /// Index among the runs in flight, [`UNLISTED`] when it is none any more; changed under the lock of the pool's queue.
    pub(crate) listed: AtomicUsize,
    /// The thread that worked on it last found only CTAs that wait.
    pub(crate) waits: AtomicBool,
    /// A worker is about to take its only unit.
    pub(crate) is_expected: AtomicBool,
    /// How many workers may still be woken for it; the largest number for any.
    pub(crate) wakes: AtomicU32,
    fault: OnceLock<Arc<Fault>>,
    done: Mutex<Option<Done>>,
    report: Report,
}

/// What workers write: it stands apart from what all of them read for each CTA, and from each other. By gaps and not by alignment, as
/// the allocator keeps aligned memory at hand for nobody, and every launch takes some.
#[repr(C)]
struct Counts {
    _before: Gap,
    /// The next unit to issue, where units are issued in ascending order.
    issued: AtomicU64,
    /// Those to issue, where they are not.
    stretches: Stretches,
    _behind_issued: MaybeUninit<[u64; 6]>,
    finished: AtomicU64,
    _behind_finished: Gap,
    parked: ParkedQueue,
    /// Counts when a CTA got on that did not end.
    moves: AtomicU64,
    _behind: Gap,
}

/// With the word before or behind it, as much as a processor fetches at once: two lines of its caches.
type Gap = MaybeUninit<[u64; 15]>;

/// A launch of a run that is larger than what glibc's allocator keeps at hand would take a third more.
const _: () = assert!(size_of::<Run>() + 2 * size_of::<usize>() <= 1032);

impl Default for Counts {
    fn default() -> Counts {
        let [_before, _behind_finished, _behind] = [Gap::uninit(); 3];
        let _behind_issued = MaybeUninit::uninit();
        let (issued, stretches, finished, parked, moves) = Default::default();
        Counts { _before, issued, stretches, _behind_issued, finished, _behind_finished, parked, moves, _behind }
    }
}

/// What was put aside, and how much it is.
#[derive(Default)]
struct ParkedQueue {
    count: AtomicUsize,
    /// Units that were begun, put aside at least once, and have not ended.
    resident: AtomicU64,
    work: Mutex<VecDeque<Parked>>,
}

/// Work that was begun and put aside.
enum Parked {
    Cta(Cta),
    /// Units claimed and not begun.
    Units(u64, u64),
}

/// What one call for a CTA came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    Ended,
    Progressed,
    Waits,
}

/// What the units of a claim came to.
struct Issue {
    /// Any got on.
    progressed: bool,
    /// None was put aside.
    at_once: bool,
}

/// What a stay in [`Run::work`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Nothing is left that this thread could do.
    Exhausted,
    /// Work is left and something else should run first.
    Interrupted,
    /// Work is left, but all of it waits: until this time if all of it sleeps.
    Waiting(Option<Instant>),
}

impl Run {
    pub(crate) fn new(grid: Grid, device: Option<u32>, workers: u32, report: Report, done: Done) -> Run {
        let units = grid.units();
        let workers = u64::from(grid.launch.workers.count(workers).max(1));
        let cooperative = grid.launch.cooperative.is_some();
        let resident = workers * RESIDENT_PER_WORKER * u64::from(grid.parts);
        let any_order = !cooperative && grid.launch.kernel.has_independent_ctas();
        let stretches = if any_order { Stretches::new(units, workers) } else { Stretches::default() };
        Run {
            device,
            units,
            claims: if cooperative { u64::MAX } else { CLAIMS * workers },
            most_resident: if cooperative { u64::MAX } else { resident },
            counts: Counts { stretches, ..Counts::default() },
            listed: AtomicUsize::new(UNLISTED),
            waits: AtomicBool::new(false),
            is_expected: AtomicBool::new(false),
            wakes: AtomicU32::new(u32::MAX),
            fault: OnceLock::new(),
            done: Mutex::new(Some(done)),
            report,
            grid,
        }
    }

    /// Of a grid that a thread has begun: `next` is the first unit that it has not.
    pub(crate) fn begun(mut self, next: u64) -> Run {
        // The one before has not ended.
        self.counts.stretches = Stretches::default();
        self.counts.issued = AtomicU64::new(next);
        self.counts.finished = AtomicU64::new(next - 1);
        self
    }

    fn parked(&self) -> MutexGuard<'_, VecDeque<Parked>> {
        self.counts.parked.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a worker would find something to do.
    pub(crate) fn has_work(&self) -> bool {
        self.counts.parked.count.load(Ordering::SeqCst) != 0 || self.can_issue()
    }

    /// How many workers, besides one, would find something to do: `limit` if there are more.
    pub(crate) fn work_for_more(&self, limit: u32) -> u32 {
        if !self.has_work() {
            return 0;
        }
        let parked = self.counts.parked.count.load(Ordering::Relaxed) as u64;
        (parked + self.fresh()).saturating_sub(1).min(u64::from(limit)) as u32
    }

    /// How many of `wanted` workers may be woken for it, which then counts.
    pub(crate) fn may_wake(&self, wanted: u32) -> u32 {
        if self.wakes.load(Ordering::Relaxed) == u32::MAX {
            return wanted;
        }
        let less = |left: u32| Some(left.saturating_sub(wanted));
        self.wakes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).map_or(0, |left| left.min(wanted))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.counts.finished.load(Ordering::Acquire) >= self.units
    }

    /// Units that nobody has claimed.
    fn fresh(&self) -> u64 {
        if self.counts.stretches.are_none() {
            self.units.saturating_sub(self.counts.issued.load(Ordering::SeqCst))
        } else {
            self.counts.stretches.left()
        }
    }

    fn can_issue(&self) -> bool {
        self.fresh() != 0 && self.counts.parked.resident.load(Ordering::Relaxed) < self.most_resident
    }

    /// Claims units that nobody has begun, `most` at most.
    fn claim(&self, most: u64) -> Option<(u64, u64)> {
        if !self.can_issue() {
            return None;
        }
        if !self.counts.stretches.are_none() {
            return self.counts.stretches.claim(most);
        }
        // The fewer are left, the fewer at once: so all workers come to the end of the grid at about the same time.
        let behind = |first: u64| {
            let left = self.units.checked_sub(first).filter(|left| *left != 0)?;
            Some(first + (left / self.claims).clamp(1, most))
        };
        let first = self.counts.issued.fetch_update(Ordering::SeqCst, Ordering::SeqCst, behind).ok()?;
        Some((first, behind(first)?))
    }

    fn unpark(&self) -> Option<Parked> {
        if self.counts.parked.count.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut parked = self.parked();
        let work = parked.pop_front();
        self.counts.parked.count.store(parked.len(), Ordering::SeqCst);
        work
    }

    fn park(&self, work: Parked) {
        {
            let mut parked = self.parked();
            parked.push_back(work);
            self.counts.parked.count.store(parked.len(), Ordering::SeqCst);
        }
        if self.is_cancelled() {
            self.drop_parked();
        }
    }

    /// Runs CTAs until nothing is left, all wait, or the thread is wanted elsewhere.
    pub(crate) fn work(&self, worker: &mut Worker) -> Stay {
        let mut held = 0;
        let stay = self.work_until(worker, &mut held);
        if held != 0 {
            if let Err(panic) = guard(|| self.grid.launch.kernel.leave(worker)) {
                self.fail_at(self.grid.unit_start(worker.unit), panic);
            }
            self.finish(held);
        }
        stay
    }

    /// `held` are units that have ended, and count as ended when the worker has left.
    fn work_until(&self, worker: &mut Worker, held: &mut u64) -> Stay {
        // Fresh CTAs and parked ones take turns, so that neither starves the other.
        let mut resume_next = false;
        let mut fruitless = 0;
        let mut wakes = Wakes::default();
        let mut pace = Pace::default();
        loop {
            let fresh = || self.claim(pace.most).map(|(first, end)| Parked::Units(first, end));
            let work = if resume_next { self.unpark().or_else(fresh) } else { fresh().or_else(|| self.unpark()) };
            resume_next = !resume_next;
            let progressed = match work {
                None => return Stay::Exhausted,
                Some(Parked::Cta(cta)) => self.resume(cta, worker, &mut wakes),
                Some(Parked::Units(first, end)) => {
                    let issue = self.issue(first, end, worker, &mut wakes, held);
                    if end < self.units {
                        pace.note(end - first, issue.at_once);
                    }
                    issue.progressed
                }
            };
            if progressed {
                fruitless = 0;
                wakes = Wakes::default();
            } else {
                fruitless += 1;
                // Everything parked has been asked once, and nothing can be issued: it all waits.
                if fruitless > self.counts.parked.count.load(Ordering::Relaxed) && !self.can_issue() {
                    return if self.has_work() { Stay::Waiting(wakes.time()) } else { Stay::Exhausted };
                }
            }
            if self.poll(worker) == Poll::Yield {
                return if self.has_work() { Stay::Interrupted } else { Stay::Exhausted };
            }
        }
    }

    /// Asks the grid whether to go on, and ends one that has run too long.
    fn poll(&self, worker: &Worker) -> Poll {
        let poll = self.grid.poll(worker);
        if poll == Poll::Yield {
            self.attend(Seen::Nowhere);
        } else if poll == Poll::Cancel && !self.is_cancelled() {
            self.time_out(Seen::Nowhere);
        }
        poll
    }

    fn is_cancelled(&self) -> bool {
        self.grid.cancelled.load(Ordering::SeqCst)
    }

    /// Runs units that were claimed.
    fn issue(&self, first: u64, end: u64, worker: &mut Worker, wakes: &mut Wakes, held: &mut u64) -> Issue {
        let kernel = &*self.grid.launch.kernel;
        let mut next = first;
        let (mut progressed, mut at_once) = (false, true);
        // Counted once for a claim: workers share the counters.
        let mut ended = 0;
        worker.will_leave = kernel.keeps_back();
        while next < end {
            if self.is_cancelled() {
                ended += end - next;
                break;
            }
            match guard(|| kernel.run_ctas(&self.grid, next..end, worker)) {
                Ok(batch) => {
                    next += batch.done;
                    ended += batch.done;
                    progressed |= batch.done != 0;
                    if let Some((cta, exit)) = batch.stopped {
                        next += 1;
                        match self.settle(cta, exit, worker, wakes) {
                            Settled::Ended => (ended, progressed) = (ended + 1, true),
                            Settled::Progressed => (progressed, at_once) = (true, false),
                            Settled::Waits => at_once = false,
                        }
                    }
                }
                Err(panic) => {
                    self.fail_at(self.grid.unit_start(worker.unit), panic);
                    ended += end - next;
                    break;
                }
            }
            if next < end && self.poll(worker) == Poll::Yield {
                self.park(Parked::Units(next, end));
                break;
            }
        }
        if ended != 0 {
            // One is enough to keep the grid from its end.
            if kernel.keeps_back() {
                ended = ended + std::mem::replace(held, 1) - 1;
            }
            if ended != 0 {
                self.finish(ended);
            }
        }
        Issue { progressed, at_once }
    }

    /// Runs a CTA that was begun; whether it got on.
    fn resume(&self, mut cta: Cta, worker: &mut Worker, wakes: &mut Wakes) -> bool {
        let kernel = &*self.grid.launch.kernel;
        worker.note_start(cta.linear * u64::from(self.grid.parts) + u64::from(cta.part));
        let exit = match self.is_cancelled() {
            true => Ok(CtaExit::Cancelled),
            false => guard(|| kernel.run_cta(&self.grid, &mut cta, worker)),
        };
        let settled = match exit {
            Ok(exit) => self.settle(cta, exit, worker, wakes),
            Err(panic) => {
                self.fail_at(cta.id, panic);
                Settled::Ended
            }
        };
        if settled == Settled::Ended {
            self.counts.parked.resident.fetch_sub(1, Ordering::Relaxed);
            self.finish(1);
        }
        settled != Settled::Waits
    }

    /// Does what an exit of one CTA asks for. The caller owes one that has ended to [`Run::finish`]. One that waits adds to `wakes` when
    /// it should be asked again.
    fn settle(&self, mut cta: Cta, exit: CtaExit, worker: &mut Worker, wakes: &mut Wakes) -> Settled {
        match exit {
            CtaExit::Finished => {
                worker.keep_spare(cta.state.take());
                Settled::Ended
            }
            CtaExit::Yielded { progressed } => {
                let settled = if progressed {
                    self.counts.moves.fetch_add(1, Ordering::Relaxed);
                    Settled::Progressed
                } else {
                    *wakes = Wakes::AtOnce;
                    Settled::Waits
                };
                self.put_aside(cta);
                settled
            }
            CtaExit::Asleep { until } => {
                *wakes = wakes.or(until);
                self.put_aside(cta);
                Settled::Waits
            }
            CtaExit::Cancelled => {
                if !self.is_cancelled() {
                    match self.grid.late.load(Ordering::Relaxed) {
                        true => self.time_out(Seen::Left(&cta)),
                        false => self.fail_at(cta.id, "a CTA was given up that nobody had cancelled".to_owned()),
                    }
                }
                Settled::Ended
            }
            CtaExit::Fault(trap) => {
                self.cancel(Some(Arc::new(fault_of(&self.grid, *trap, cta.id))));
                Settled::Ended
            }
        }
    }

    /// Takes back a unit that a thread has begun outside of [`Run::work`].
    pub(crate) fn take_back(&self, cta: Cta, exit: CtaExit, worker: &mut Worker) {
        if self.settle(cta, exit, worker, &mut Wakes::default()) == Settled::Ended {
            self.finish(1);
        }
    }

    /// Parks a CTA that has come back unfinished.
    fn put_aside(&self, mut cta: Cta) {
        if !std::mem::replace(&mut cta.started, true) {
            self.counts.parked.resident.fetch_add(1, Ordering::Relaxed);
        }
        self.attend(Seen::Left(&cta));
        self.park(Parked::Cta(cta));
    }

    /// Ends the grid early: nothing more is issued, what is parked is dropped, what runs is told. The first fault counts.
    pub(crate) fn cancel(&self, fault: Option<Arc<Fault>>) {
        if let Some(fault) = fault {
            // A later one loses: CTAs that run at the same time may fault too.
            let _ = self.fault.set(fault);
        }
        self.grid.cancelled.store(true, Ordering::SeqCst);
        self.grid.watch.raise_all();
        let left = if self.counts.stretches.are_none() {
            self.units.saturating_sub(self.counts.issued.swap(self.units, Ordering::SeqCst))
        } else {
            self.counts.stretches.drain()
        };
        if left != 0 {
            // The caller's own unit is unfinished, or nothing runs: in that case this completes the grid.
            self.finish(left);
        }
        self.drop_parked();
    }

    fn drop_parked(&self) {
        let dropped = {
            let mut parked = self.parked();
            self.counts.parked.count.store(0, Ordering::SeqCst);
            std::mem::take(&mut *parked)
        };
        let units = dropped.iter().map(|work| match work {
            Parked::Cta(_) => 1,
            Parked::Units(first, end) => end - first,
        });
        let units = units.sum();
        if units != 0 {
            self.finish(units);
        }
    }

    fn finish(&self, units: u64) {
        if self.counts.finished.fetch_add(units, Ordering::AcqRel) + units == self.units {
            let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(observer) = &self.grid.observer {
                observer.end(self.fault.get().map(|fault| &**fault));
            }
            if let Some(done) = done {
                done(self.fault.get().cloned());
            }
        }
    }
}

/// Calls an executor. A panic of it comes back as its text.
pub(crate) fn guard<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_text(&*panic))
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("panic").to_owned()
}
