//! Worker threads, and the queue of work that they share.
//!
//! The queue holds grids in flight, single tasks (copies) and conditions that someone waits for. A worker takes the entry
//! at the front, urgent ones first; a grid goes to the back of the queue again as long as it has work for others, so grids of
//! several streams run at once, and one whose CTAs only wait does not keep the others from running. A worker stays with a grid
//! for a time slice if anything else waits, and to its end otherwise; it leaves for urgent work at once.
//!
//! Each device of a process has a pool of its own: what one device does takes neither a worker nor a lock of another's. Pools of a process know
//! each other for the case that one of them can start no thread: then threads that wait do its work.
//!
//! A grid that takes no longer than to hand it over is never queued: the thread that brings it runs it (`pool::brief`).
//!
//! Threads start with the first work for them: a process that forks before has none. They block signals, which belong to the
//! program's own threads: see `crate::masks`.

mod brief;
mod siblings;
mod worker;

use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::Duration;

use crossbeam_utils::atomic::AtomicCell;

use crate::attention::Watch;
use crate::family::Family;
use crate::fault::Fault;
use crate::float::DefaultMode;
use crate::grid::{Grid, Launch};
use crate::interprocess::activity::DeviceActivity;
use crate::kernel::{WORKER_STACK, Worker};
use crate::masks::Blocked;
use crate::observe::{GridFacts, Observer, StreamPlace};
use crate::overdue::Overdue;
use crate::queue::{Entry, Queue};
use crate::run::{Done, Run, UNLISTED};
use crate::signal::Signal;
use crate::stack;
pub(crate) use brief::{Brief, Unfinished};
use siblings::Siblings;
use worker::Served;

pub use crate::pause::AllPools;

/// Workers that one thread wakes for a grid: waking one takes microseconds, and it is up only tens of microseconds later.
const WOKEN: u32 = 4;
/// So many nanoseconds of one thread each worker more should find to do that is woken for a grid: otherwise the others have done it before that one is up.
const WORTH_WAKING: u64 = 20_000;
/// Takes reports.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// How the pool is set up.
pub struct PoolOptions {
    /// Worker threads. With 0 all work is done by threads that wait for it.
    pub threads: u32,
    /// The processors on which they run; all that the process may use if there are none here.
    pub processors: Vec<u32>,
    /// A grid of which no CTA has ended for so long is reported, once.
    pub report_stalled: Duration,
    /// A grid that runs longer ends with [`crate::fault::FaultKind::LaunchTimeout`]. `None`: it may run for ever.
    pub launch_timeout: Option<Duration>,
    /// Takes reports about stalled grids.
    pub report: Report,
    /// Who is told of what its grids and streams do.
    pub observer: Option<Arc<dyn Observer>>,
    /// Where other processes see when its grids run.
    pub activity: Option<DeviceActivity>,
}

impl Default for PoolOptions {
    /// As many threads as the process may use cores (affinity and control group); a report after 10 s; no timeout. Reports go to stderr.
    fn default() -> PoolOptions {
        PoolOptions {
            threads: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            processors: Vec::new(),
            report_stalled: Duration::from_secs(10),
            launch_timeout: None,
            // A closed stderr is no reason to panic.
            report: Arc::new(|text| drop(writeln!(std::io::stderr(), "warploom: {text}"))),
            observer: None,
            activity: None,
        }
    }
}

/// The workers of a device.
pub struct Pool {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    options: PoolOptions,
    pub(crate) started: AtomicBool,
    /// The process ends: nothing is to be started any more.
    closed: AtomicBool,
    /// Not one worker could start.
    alone: AtomicBool,
    siblings: Arc<Siblings>,
    /// How many workers there are, once they have started.
    pub(crate) workers: OnceLock<u32>,
    /// Held by whoever pauses the pool.
    pub(crate) pausing: Mutex<()>,
    /// Held for reading by host threads that help, for writing while the pool is paused.
    pub(crate) gate: RwLock<()>,
    queue: Mutex<Queue>,
    watch: Arc<Watch>,
    work: Signal,
    /// Lent to host threads that help: the one that was last given back, which mostly is all that there are, and the others.
    helper: AtomicCell<Option<Box<Worker>>>,
    helpers: Mutex<Vec<Worker>>,
}

thread_local! {
    /// The pool of which the thread is a worker, by the address of what it shares; 0 for other threads.
    static HOME: Cell<usize> = const { Cell::new(0) };
    /// The pool whose CTAs or task the thread is running; 0 for none.
    static RUNS: Cell<usize> = const { Cell::new(0) };
    /// Whether the thread counts among the workers that will look for work before they sleep: see [`Signal::count_in`].
    static COMES: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is a worker of a pool.
pub(crate) fn is_worker() -> bool {
    HOME.get() != 0
}

/// A grid in flight.
#[derive(Clone)]
pub struct RunningGrid(Arc<Run>);

impl RunningGrid {
    /// Whether all of its CTAs have ended.
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// Ends it early, with a fault if there is a reason that the program should hear.
    pub(crate) fn cancel(&self, fault: Option<&Arc<Fault>>) {
        self.0.cancel(fault.cloned());
    }
}

/// Where a grid comes from.
#[derive(Default)]
pub(crate) struct Origin {
    /// Its place in a stream.
    pub(crate) place: Option<StreamPlace>,
    /// What it belongs to, if it may put work into streams itself.
    pub(crate) family: Option<Arc<Family>>,
    /// Whether the calling thread has nothing else to do: a worker is free next.
    pub(crate) free: bool,
}

impl Pool {
    /// A pool without threads yet.
    pub fn new(options: PoolOptions) -> Arc<Pool> {
        Pool::among(Arc::default(), options)
    }

    /// Another pool of the same process.
    pub fn beside(&self, options: PoolOptions) -> Arc<Pool> {
        Pool::among(Arc::clone(&self.shared.siblings), options)
    }

    fn among(siblings: Arc<Siblings>, options: PoolOptions) -> Arc<Pool> {
        let queue = Mutex::new(Queue::new(options.activity.clone()));
        siblings.add_unstarted();
        Arc::new(Pool {
            shared: Arc::new(Shared {
                options,
                started: AtomicBool::new(false),
                closed: AtomicBool::new(false),
                alone: AtomicBool::new(false),
                siblings,
                workers: OnceLock::new(),
                pausing: Mutex::default(),
                gate: RwLock::default(),
                queue,
                watch: Arc::default(),
                work: Signal::default(),
                helper: AtomicCell::default(),
                helpers: Mutex::default(),
            }),
        })
    }

    /// How many workers there are, or will be: the device's multiprocessors. At least 1.
    pub fn threads(&self) -> u32 {
        self.shared.options.threads.max(1)
    }

    /// Who is told of what its grids and streams do.
    #[inline]
    pub fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.shared.options.observer.as_ref()
    }

    /// Starts a grid, in a stream of this device. `done` is called once, on any thread, with the first fault if there was one.
    pub fn launch(&self, launch: Launch, device: Option<u32>, urgent: bool, done: Done) -> RunningGrid {
        self.launch_from(Box::new(launch), device, urgent, Origin::default(), done)
    }

    /// [`Pool::launch`] of what comes from a stream.
    pub(crate) fn launch_from(
        &self,
        mut launch: Box<Launch>,
        device: Option<u32>,
        urgent: bool,
        Origin { place, family, free }: Origin,
        done: Done,
    ) -> RunningGrid {
        let shared = &self.shared;
        let threads = self.threads();
        if let Some(variant) = launch.kernel.variant(&launch) {
            launch.kernel = variant;
        }
        assert!(launch.workers.count(threads) != 0, "a grid has workers");
        let wakes = launch
            .kernel
            .ends_within(&launch)
            .map_or(u32::MAX, |time| u32::try_from(time / WORTH_WAKING).unwrap_or(u32::MAX).max(1));
        let run = Arc::new_cyclic(|run| {
            let mut grid = self.grid(launch, urgent, run.clone());
            grid.family = family;
            grid.observer = self.observer().map(|observer| {
                observer.begin_grid(&GridFacts {
                    id: grid.id,
                    launch: &grid.launch,
                    static_shared: grid.launch.kernel.static_shared(),
                    place,
                })
            });
            let mut run = Run::new(grid, device, threads, shared.options.report.clone(), done);
            run.wakes = AtomicU32::new(wakes);
            run
        });
        let units = u32::try_from(run.grid.units()).unwrap_or(u32::MAX);
        assert!(units != 0, "a grid has CTAs");
        // A worker that is free next comes by itself: to wake another one for what follows in a stream would take longer than most of it.
        let comes = free && self.is_home() && !run.grid.launch.workers.is_restricted();
        run.is_expected.store(comes && units == 1, Ordering::Relaxed);
        {
            let mut queue = shared.queue();
            queue.list(&run);
            queue.push_grid(&run, &shared.watch);
        }
        self.begin(urgent);
        shared.wake_for(&run, run.may_wake(WOKEN.min(units - u32::from(comes))));
        RunningGrid(run)
    }

    /// A launch as executors see it.
    fn grid(&self, launch: Box<Launch>, urgent: bool, run: Weak<Run>) -> Grid {
        let PoolOptions { report_stalled, launch_timeout, .. } = self.shared.options;
        let overdue = Overdue::new(report_stalled, launch_timeout);
        Grid::new(launch, self.threads(), urgent, self.shared.watch.clone(), overdue, run)
    }

    /// Runs a task on a worker. It must not wait for other work of the pool.
    pub fn spawn(&self, urgent: bool, task: Box<dyn FnOnce() + Send>) {
        self.enqueue(Entry::Task(task), urgent);
    }

    /// Calls `then` on a worker once `condition` is true; it is looked at again and again, by one thread at a time.
    pub fn when(&self, condition: Box<dyn FnMut() -> bool + Send>, then: Box<dyn FnOnce() + Send>) {
        self.enqueue(Entry::Condition(condition, then), false);
    }

    /// Tells people.
    pub(crate) fn report(&self, text: &str) {
        (self.shared.options.report)(text);
    }

    /// Whether the process ends.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::SeqCst)
    }

    /// The calling thread has done what it had to, and finds what is put into the queue now if it is one of the workers.
    pub(crate) fn becomes_free(&self) {
        if self.is_home() {
            self.shared.comes();
        }
    }

    /// It has found something else.
    pub(crate) fn goes_on(&self) {
        if self.is_home() {
            self.shared.goes();
        }
    }

    /// Whether nothing waits for a worker.
    pub(crate) fn has_no_queue(&self) -> bool {
        self.shared.watch.waiting() == 0
    }

    fn enqueue(&self, entry: Entry, urgent: bool) {
        self.shared.queue().push(entry, urgent, &self.shared.watch);
        self.begin(urgent);
        self.shared.work.notify(1);
    }

    /// Something has been put into the queue: starts the workers if this is the first of all, and gets their attention if it is urgent.
    fn begin(&self, urgent: bool) {
        if !self.shared.started.load(Ordering::Acquire) {
            self.start();
        }
        if urgent {
            self.shared.watch.raise_all();
        }
    }

    #[cold]
    fn start(&self) {
        if self.shared.started.swap(true, Ordering::AcqRel) {
            return;
        }
        let signals = Blocked::block();
        let mut workers = 0;
        for index in 0..self.shared.options.threads {
            let shared = self.shared.clone();
            let spawned = std::thread::Builder::new()
                .name(format!("warploom-{index}"))
                .stack_size(WORKER_STACK)
                .spawn(move || shared.worker(index));
            if let Err(error) = spawned {
                // One is enough to go on; with none, threads that wait do the work.
                (self.shared.options.report)(&format!("worker thread {index} cannot start: {error}"));
                break;
            }
            workers += 1;
        }
        let (shared, blocked) = (self.shared.clone(), signals.before());
        let clock = std::thread::Builder::new().name("warploom-clock".to_owned()).stack_size(1 << 20);
        if workers == 0 || clock.spawn(move || shared.clock(&blocked)).is_err() {
            self.shared.watch.go_without_clock();
        }
        if workers == 0 {
            self.shared.alone.store(true, Ordering::Release);
            self.shared.siblings.enter(&self.shared);
        }
        self.shared.siblings.note_started();
        // Only the first call gets here.
        let _ = self.shared.workers.set(workers);
    }

    /// Whether the calling thread is one of its workers.
    pub(crate) fn is_home(&self) -> bool {
        HOME.get() == self.shared.address()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Where pools of the process could start no workers: does a piece of whatever there is to do for them, on the calling thread. False if all
    /// have workers, which do it.
    #[inline]
    pub(crate) fn stand_in(&self) -> bool {
        self.shared.siblings.are_alone() && self.shared.siblings.stand_in()
    }

    /// Whether it is known of all pools of the process if they have workers.
    pub(crate) fn all_have_started(&self) -> bool {
        self.shared.siblings.all_have_started()
    }

    /// Lets the calling thread work on a grid until nothing is left that it could do, or all workers are at work. Leaves it to the worker that is about to
    /// take all of it if the thread is `patient`.
    pub(crate) fn help(&self, grid: &RunningGrid, patient: bool) {
        let shared = &self.shared;
        let run = &grid.0;
        let expected = patient && run.is_expected.load(Ordering::Relaxed);
        if expected || run.is_done() || !run.has_work() || stack::room() < run.grid.launch.kernel.stack_need() {
            return;
        }
        let _gate = self.shared.gate();
        shared.work_as_helper(run);
    }

    /// Ends all grids of a device's streams early that are in flight, with this fault for those that have none.
    pub(crate) fn cancel_all_of(&self, device: Option<u32>, fault: &Arc<Fault>) {
        let runs = self.shared.queue().runs().to_vec();
        for run in runs.iter().filter(|run| run.device == device) {
            run.cancel(Some(fault.clone()));
        }
    }

    /// Ends all grids in flight and waits until no other thread runs one, or a task, for `limit` at most. What streams hold, callbacks too, is
    /// dropped. For the end of the process, when what they use goes away.
    pub fn close(&self, limit: Duration) {
        let shared = &self.shared;
        shared.closed.store(true, Ordering::SeqCst);
        if shared.started.load(Ordering::Acquire) && !shared.alone.load(Ordering::Acquire) {
            shared.watch.close(u32::from(RUNS.get() == shared.address()), limit);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.shared.started.load(Ordering::Acquire) {
            self.shared.siblings.note_started();
        }
        self.shared.queue().shutdown = true;
        self.shared.work.notify_all();
        self.shared.watch.stop();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn helpers(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.helpers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells it from other pools.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Does a piece of work on a thread that is no worker.
    fn stand_in(&self) {
        let _gate = self.gate();
        let served = self.lend_worker(|worker| {
            worker.helps = false;
            self.take(None).map(|entry| self.serve(entry, worker))
        });
        match served {
            Some(Served::Progressed) => {}
            Some(Served::Sleeps(until)) => self.sleep_until(until),
            Some(Served::Waits) | None => std::thread::yield_now(),
        }
    }

    /// Works on a grid as a thread of the program, as long as there is something to do.
    fn work_as_helper(&self, run: &Arc<Run>) {
        self.lend_worker(|worker| self.stay(run, worker));
        self.offer(run);
    }

    /// Waits while the pool is paused.
    fn gate(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a thread of the program that runs CTAs: it is the first multiprocessor to `%smid`; which one is not promised.
    fn lend_worker<R>(&self, work: impl FnOnce(&mut Worker) -> R) -> R {
        let _mode = DefaultMode::set();
        let other = || self.helpers().pop().unwrap_or_else(|| Worker::new(0, true, &self.watch));
        let mut worker = self.helper.take().unwrap_or_else(|| Box::new(other()));
        // Who had it before may have stood in for a worker, or for one of a part of the device.
        (worker.index, worker.helps) = (0, true);
        let result = work(&mut worker);
        if let Some(mut other) = self.helper.swap(Some(worker)) {
            other.rest();
            self.helpers().push(*other);
        }
        result
    }

    fn take(&self, worker: Option<u32>) -> Option<Entry> {
        if self.watch.waiting() == 0 {
            return None;
        }
        self.queue().pop(worker, &self.watch)
    }

    /// Puts a grid that has work into the queue, unless it is there.
    fn offer(&self, run: &Arc<Run>) {
        if run.is_done() {
            if run.listed.load(Ordering::Relaxed) != UNLISTED {
                self.queue().unlist(run, &self.watch);
            }
            return;
        }
        if !run.has_work() || run.grid.queued.load(Ordering::Relaxed) {
            return;
        }
        {
            let mut queue = self.queue();
            if run.grid.queued.load(Ordering::Relaxed) {
                return;
            }
            queue.push_grid(run, &self.watch);
        }
        self.wake_for(run, 1);
    }

    /// Wakes so many workers, if any, of which the first ones may work on a grid that has been put into the queue.
    fn wake_for(&self, run: &Run, count: u32) {
        if count == 0 {
            return;
        }
        match run.grid.launch.workers.is_restricted() {
            // The one that would be woken may be none of them.
            true => self.work.notify_all(),
            false => self.work.notify(count),
        }
    }
}
