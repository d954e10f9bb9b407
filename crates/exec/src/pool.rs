//! Worker threads, and the queue of work that they share.
//!
//! The queue holds grids in flight, single tasks (copies) and conditions that someone waits for. A worker takes the entry
//! at the front; a grid goes to the back of the queue again as long as it has work for others, so grids of several
//! streams run at once, and one whose CTAs only wait does not keep the others from running. A worker stays with a grid
//! for a time slice if anything else waits, and to its end otherwise.
//!
//! Threads start with the first work: a process that forks before has none. They block all signals, which belong to the
//! program's own threads.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::float::DefaultMode;
use crate::grid::{Grid, Launch};
use crate::kernel::Worker;
use crate::run::{Done, Run, Stay};
use crate::signal::Signal;
use crate::stack;

/// How long one entry of the queue may keep a worker while others wait.
const SLICE: Duration = Duration::from_millis(2);
/// How long an idle worker looks for work before it sleeps: launches often follow each other closely.
const SPIN: Duration = Duration::from_micros(40);
/// Rests of a worker that finds only waiting work: from short to long, so that a flag set by the host is seen soon and a
/// long wait costs little.
const SHORTEST_REST: Duration = Duration::from_micros(20);
const LONGEST_REST: Duration = Duration::from_millis(1);
/// How late the system may wake a thread: the last part of a kernel's sleep is waited for awake.
const WAKING: Duration = Duration::from_micros(60);
/// Looks at waiting work before the first rest.
const EAGER_ROUNDS: u32 = 200;

/// How the pool is set up.
pub struct PoolOptions {
    /// Worker threads. With 0 all work is done by threads that wait for it.
    pub threads: u32,
    /// A grid in which nothing has moved for so long is reported, once.
    pub report_stalled: Duration,
    /// A grid that runs longer ends with [`crate::fault::FaultKind::LaunchTimeout`]. `None`: it may run for ever.
    pub launch_timeout: Option<Duration>,
    /// Takes reports about stalled grids.
    pub report: Box<dyn Fn(&str) + Send + Sync>,
}

impl Default for PoolOptions {
    /// As many threads as the process may use cores (affinity and control group), or `WARPLOOM_THREADS`; a report after
    /// 10 s, or `WARPLOOM_STALL_SECONDS`; a timeout only with `WARPLOOM_LAUNCH_TIMEOUT` (seconds). Reports go to stderr.
    fn default() -> PoolOptions {
        let threads = number("WARPLOOM_THREADS").filter(|threads| *threads >= 1.0).map_or_else(
            || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            |threads| threads.min(1024.0) as u32,
        );
        let seconds = |name| number(name).filter(|s| *s > 0.0 && *s < 1e9).map(Duration::from_secs_f64);
        PoolOptions {
            threads,
            report_stalled: seconds("WARPLOOM_STALL_SECONDS").unwrap_or(Duration::from_secs(10)),
            launch_timeout: seconds("WARPLOOM_LAUNCH_TIMEOUT"),
            // A closed stderr is no reason to panic.
            report: Box::new(|text| drop(writeln!(std::io::stderr(), "warploom: {text}"))),
        }
    }
}

fn number(variable: &str) -> Option<f64> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

/// The workers of a process.
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    options: PoolOptions,
    started: AtomicBool,
    /// Not one worker could start.
    alone: AtomicBool,
    queue: Mutex<Queue>,
    /// Entries in the queue.
    waiting: Arc<AtomicU32>,
    work: Signal,
    /// Lent to host threads that help.
    helpers: Mutex<Vec<Worker>>,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// Grids in flight, queued or not.
    runs: Vec<Arc<Run>>,
    shutdown: bool,
}

enum Entry {
    Grid(Arc<Run>),
    Task(Box<dyn FnOnce() + Send>),
    /// Looked at until it is true.
    Condition(Box<dyn FnMut() -> bool + Send>, Box<dyn FnOnce() + Send>),
}

/// What came of an entry's turn.
enum Served {
    /// Something moved.
    Progressed,
    /// All of it waits.
    Waits,
    /// All of it sleeps until then.
    Sleeps(Instant),
}

/// A grid in flight.
#[derive(Clone)]
pub struct RunningGrid(Arc<Run>);

impl RunningGrid {
    /// Whether all of its CTAs have ended.
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// Ends it early with a fault.
    pub(crate) fn cancel(&self, fault: &Arc<Fault>) {
        self.0.cancel(Some(fault.clone()));
    }
}

impl Pool {
    /// A pool without threads yet.
    pub fn new(options: PoolOptions) -> Pool {
        Pool {
            shared: Arc::new(Shared {
                options,
                started: AtomicBool::new(false),
                alone: AtomicBool::new(false),
                queue: Mutex::default(),
                waiting: Arc::new(AtomicU32::new(0)),
                work: Signal::default(),
                helpers: Mutex::default(),
            }),
        }
    }

    /// How many workers there are, or will be: the device's multiprocessors. At least 1.
    pub fn threads(&self) -> u32 {
        self.shared.options.threads.max(1)
    }

    /// Starts a grid. `done` is called once, on any thread, with the first fault if there was one.
    pub fn launch(&self, launch: Launch, urgent: bool, done: Done) -> RunningGrid {
        let shared = &self.shared;
        let threads = self.threads();
        let grid = Grid::new(launch, threads, shared.waiting.clone(), shared.options.launch_timeout);
        assert!(grid.units() != 0, "a grid has CTAs");
        let run = Arc::new(Run::new(grid, threads, done));
        run.queued.store(true, Ordering::Relaxed);
        {
            let mut queue = shared.queue();
            queue.runs.push(run.clone());
            let entry = Entry::Grid(run.clone());
            if urgent {
                queue.entries.push_front(entry);
            } else {
                queue.entries.push_back(entry);
            }
            shared.count(&queue);
        }
        self.wake();
        RunningGrid(run)
    }

    /// Runs a task on a worker. It must not wait for other work of the pool.
    pub fn spawn(&self, task: Box<dyn FnOnce() + Send>) {
        self.enqueue(Entry::Task(task));
    }

    /// Calls `then` on a worker once `condition` is true; it is looked at again and again, by one thread at a time.
    pub fn when(&self, condition: Box<dyn FnMut() -> bool + Send>, then: Box<dyn FnOnce() + Send>) {
        self.enqueue(Entry::Condition(condition, then));
    }

    fn enqueue(&self, entry: Entry) {
        {
            let mut queue = self.shared.queue();
            queue.entries.push_back(entry);
            self.shared.count(&queue);
        }
        self.wake();
    }

    fn wake(&self) {
        if !self.shared.started.load(Ordering::Acquire) {
            self.start();
        }
        self.shared.work.notify_one();
    }

    #[cold]
    fn start(&self) {
        if self.shared.started.swap(true, Ordering::AcqRel) {
            return;
        }
        let _signals = BlockedSignals::block();
        let mut workers = 0;
        for index in 0..self.shared.options.threads {
            let shared = self.shared.clone();
            let spawned = std::thread::Builder::new()
                .name(format!("warploom-{index}"))
                .stack_size(4 << 20)
                .spawn(move || shared.worker(index));
            if let Err(error) = spawned {
                // One is enough to go on; with none, threads that wait do the work.
                (self.shared.options.report)(&format!("worker thread {index} cannot start: {error}"));
                break;
            }
            workers += 1;
        }
        self.shared.alone.store(workers == 0, Ordering::Release);
    }

    /// In a process that can have no workers: does a piece of whatever there is to do, on the calling thread. False if
    /// there are workers, which do it.
    pub(crate) fn stand_in(&self) -> bool {
        let shared = &self.shared;
        if !shared.alone.load(Ordering::Acquire) {
            return false;
        }
        let _mode = DefaultMode::set();
        let lent = shared.helpers().pop();
        let mut worker = lent.unwrap_or_else(|| Worker::new(0));
        match shared.take().map(|entry| shared.serve(entry, &mut worker)) {
            Some(Served::Progressed) => {}
            Some(Served::Sleeps(until)) => shared.sleep_until(until),
            Some(Served::Waits) | None => std::thread::yield_now(),
        }
        shared.helpers().push(worker);
        true
    }

    /// Lets the calling thread work on a grid until nothing is left that it could do.
    pub(crate) fn help(&self, grid: &RunningGrid) {
        if grid.0.is_done() || !grid.0.has_work() || stack::room() < stack::ROOM_TO_HELP {
            return;
        }
        let _mode = DefaultMode::set();
        let lent = self.shared.helpers().pop();
        // A helper is the first multiprocessor to `%smid`: which one is not promised.
        let mut worker = lent.unwrap_or_else(|| Worker::new(0));
        worker.slice_end = Some(Instant::now() + SLICE);
        grid.0.work(&mut worker, |worker| worker.slice_is_over());
        self.shared.offer(&grid.0);
        self.shared.helpers().push(worker);
    }

    /// Ends all grids in flight early, with this fault for those that have none.
    pub(crate) fn cancel_all(&self, fault: &Arc<Fault>) {
        let runs = self.shared.queue().runs.clone();
        for run in runs {
            run.cancel(Some(fault.clone()));
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.queue().shutdown = true;
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn helpers(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.helpers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, queue: &Queue) {
        self.waiting.store(queue.entries.len() as u32, Ordering::Release);
    }

    fn take(&self) -> Option<Entry> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut queue = self.queue();
        let entry = queue.entries.pop_front();
        if let Some(Entry::Grid(run)) = &entry {
            run.queued.store(false, Ordering::Relaxed);
        }
        self.count(&queue);
        entry
    }

    /// Puts a grid that has work into the queue, unless it is there.
    fn offer(&self, run: &Arc<Run>) {
        if run.is_done() {
            self.queue().runs.retain(|other| !Arc::ptr_eq(other, run));
            return;
        }
        if !run.has_work() || run.queued.load(Ordering::Relaxed) {
            return;
        }
        {
            let mut queue = self.queue();
            if run.queued.swap(true, Ordering::Relaxed) {
                return;
            }
            queue.entries.push_back(Entry::Grid(run.clone()));
            self.count(&queue);
        }
        self.work.notify_one();
    }

    fn worker(&self, index: u32) {
        let _mode = DefaultMode::set();
        let mut worker = Worker::new(index);
        // Takes in a row that found only waiting work.
        let mut fruitless = 0u32;
        loop {
            let epoch = self.work.epoch();
            let Some(entry) = self.take() else {
                if self.queue().shutdown {
                    return;
                }
                let spin = self.options.threads > 1 && self.work.spin(epoch, SPIN, 1);
                if !spin {
                    self.work.sleep(epoch, None);
                }
                continue;
            };
            match self.serve(entry, &mut worker) {
                Served::Progressed => fruitless = 0,
                Served::Waits => {
                    fruitless += 1;
                    self.rest(fruitless);
                }
                Served::Sleeps(until) => self.sleep_until(until),
            }
        }
    }

    /// Does a piece of an entry's work.
    fn serve(&self, entry: Entry, worker: &mut Worker) -> Served {
        match entry {
            Entry::Grid(run) => self.work_on(&run, worker),
            Entry::Task(task) => {
                self.wake_another();
                task();
                Served::Progressed
            }
            Entry::Condition(mut condition, then) => {
                let met = condition();
                if met {
                    then();
                    return Served::Progressed;
                }
                let mut queue = self.queue();
                queue.entries.push_back(Entry::Condition(condition, then));
                self.count(&queue);
                Served::Waits
            }
        }
    }

    /// Works on a grid for a while.
    fn work_on(&self, run: &Arc<Run>, worker: &mut Worker) -> Served {
        if run.has_work_for_more() {
            // Two wake for each that wakes: the whole pool is up after a few rounds.
            self.offer(run);
            self.work.notify_one();
        } else {
            self.wake_another();
        }
        worker.slice_end = Some(Instant::now() + SLICE);
        let others_wait = |worker: &Worker| self.waiting.load(Ordering::Relaxed) != 0 && worker.slice_is_over();
        let stay = run.work(worker, others_wait);
        self.offer(run);
        let Stay::Waiting(until) = stay else { return Served::Progressed };
        self.watch(run);
        // Others that wait for this worker may have something to do before that.
        let alone = self.waiting.load(Ordering::Relaxed) <= 1;
        until.filter(|_| alone).map_or(Served::Waits, Served::Sleeps)
    }

    /// Waits until a kernel's threads wake, or new work comes.
    fn sleep_until(&self, until: Instant) {
        let epoch = self.work.epoch();
        let left = until.saturating_duration_since(Instant::now());
        if left > WAKING {
            self.work.sleep(epoch, Some(left - WAKING));
        } else {
            std::thread::yield_now();
        }
    }

    /// If there is more to do than this worker takes, another one should wake.
    fn wake_another(&self) {
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.work.notify_one();
        }
    }

    /// Slows a worker down that finds only waiting work.
    fn rest(&self, fruitless: u32) {
        if fruitless < EAGER_ROUNDS {
            std::thread::yield_now();
            return;
        }
        let doublings = (fruitless - EAGER_ROUNDS) / 64;
        let rest = SHORTEST_REST.saturating_mul(1 << doublings.min(10)).min(LONGEST_REST);
        self.work.sleep(self.work.epoch(), Some(rest));
    }

    /// Reports a grid that does not get on, and ends one that runs too long.
    fn watch(&self, run: &Run) {
        let options = &self.options;
        let stalled = run.stalled_ms();
        if u128::from(stalled) >= options.report_stalled.as_millis() && run.report_once() {
            (options.report)(&format!("nothing has moved for {stalled} ms; {}", run.describe()));
        }
        if run.grid.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            run.time_out();
        }
    }
}

/// All signals blocked on this thread until dropped: threads started meanwhile inherit it.
struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn block() -> BlockedSignals {
        // SAFETY: both sets are local; `sigfillset` initialises the first, `pthread_sigmask` the second.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            BlockedSignals { before }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: restores what `block` found.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}
