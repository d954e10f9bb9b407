//! What threads do with the queue's work: the workers' loop, a turn of an entry, rests, and the clock.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{COMES, HOME, RUNS, Shared, WOKEN};
use crate::float::DefaultMode;
use crate::kernel::Worker;
use crate::masks;
use crate::queue::Entry;
use crate::run::{Run, Stay};
use crate::signal::{spin_for, spin_until};

/// How long an idle worker looks for work before it sleeps: launches often follow each other closely.
const SPIN: Duration = Duration::from_micros(40);
/// How long it then leaves the work to whoever has brought it: a thread of the program that launches a small grid and waits for it runs it itself, and takes
/// twice as long if a worker looks at the queue meanwhile.
const PATIENCE: Duration = Duration::from_micros(1);
/// Rests of a worker that finds only waiting work: from short to long, so that a flag set by the host is seen soon and a
/// long wait costs little.
const SHORTEST_REST: Duration = Duration::from_micros(20);
const LONGEST_REST: Duration = Duration::from_millis(1);
/// How late the system may wake a worker: the last part of a kernel's sleep is waited for awake.
const WAKING: Duration = Duration::from_micros(20);
/// Looks at waiting work before the first rest.
const EAGER_ROUNDS: u32 = 200;

/// What came of an entry's turn.
pub(super) enum Served {
    /// Something moved.
    Progressed,
    /// All of it waits.
    Waits,
    /// All of it sleeps until then.
    Sleeps(Instant),
}

impl Shared {
    /// The clock thread. `program` is what the program blocks.
    pub(super) fn clock(&self, program: &libc::sigset_t) {
        /// Ticks between looks at the program's signal handlers.
        const LOOK: u32 = 50;
        let (mut idle, mut ticks) = (0, 0u32);
        masks::take_what_ends_the_process(program);
        while self.watch.tick(&mut idle) {
            ticks = ticks.wrapping_add(1);
            if ticks % LOOK == 0 || idle == 1 {
                masks::take_what_ends_the_process(program);
            }
            if self.watch.is_closing() {
                let runs = self.queue().runs().to_vec();
                runs.iter().for_each(|run| run.cancel(None));
                self.watch.note_closed();
            }
        }
    }

    pub(super) fn worker(&self, index: u32) {
        drop(self.gate());
        let _mode = DefaultMode::set();
        wake_in_time();
        stay_on(&self.options.processors);
        HOME.set(self.address());
        let mut worker = Worker::new(index, false, &self.watch);
        // Takes in a row that found only waiting work.
        let mut fruitless = 0u32;
        loop {
            let epoch = self.work.epoch();
            let Some(entry) = self.take(Some(index)) else {
                if self.queue().shutdown {
                    return;
                }
                self.comes();
                if self.options.threads == 1 || !self.work.spin(epoch, SPIN) {
                    self.goes();
                    worker.rest();
                    self.work.sleep(epoch, None);
                } else {
                    spin_for(PATIENCE);
                }
                continue;
            };
            // Of a grid that others have begun to the end, nothing is left to do.
            if let Entry::Grid(run) = &entry
                && !run.has_work()
            {
                self.offer(run);
                continue;
            }
            self.goes();
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

    /// The worker will look for work before it sleeps or does anything that takes long.
    pub(super) fn comes(&self) {
        if !COMES.replace(true) {
            self.work.count_in();
        }
    }

    /// It has found some, or goes to sleep.
    pub(super) fn goes(&self) {
        if COMES.replace(false) {
            self.work.count_out();
        }
    }

    /// Does a piece of an entry's work.
    pub(super) fn serve(&self, entry: Entry, worker: &mut Worker) -> Served {
        match entry {
            Entry::Grid(run) => self.work_on(&run, worker),
            Entry::Task(task) => {
                self.wake_another(0);
                self.busy(worker, |_| task());
                Served::Progressed
            }
            Entry::Condition(mut condition, then) => {
                let met = condition();
                if met {
                    then();
                    return Served::Progressed;
                }
                self.queue().push(Entry::Condition(condition, then), false, &self.watch);
                Served::Waits
            }
        }
    }

    /// Works on a grid for a while.
    fn work_on(&self, run: &Arc<Run>, worker: &mut Worker) -> Served {
        let more = run.may_wake(run.work_for_more(WOKEN));
        if more != 0 {
            // Each that wakes wakes some more: the whole pool is up after a few rounds.
            self.offer(run);
            self.wake_for(run, more);
        } else {
            self.wake_another(u32::from(run.grid.queued.load(Ordering::Relaxed)));
        }
        let stay = self.stay(run, worker);
        run.waits.store(matches!(stay, Stay::Waiting(_)), Ordering::Relaxed);
        self.offer(run);
        let Stay::Waiting(until) = stay else { return Served::Progressed };
        // Others that wait for this worker may have something to do before that.
        let alone = self.watch.waiting() <= 1;
        until.filter(|_| alone).map_or(Served::Waits, Served::Sleeps)
    }

    /// Waits until a kernel's threads wake, or new work comes.
    pub(super) fn sleep_until(&self, until: Instant) {
        let epoch = self.work.epoch();
        let left = until.saturating_duration_since(Instant::now());
        if left > WAKING {
            self.work.sleep(epoch, Some(left - WAKING));
        } else {
            spin_until(left, || self.work.epoch() != epoch);
        }
    }

    /// Runs CTAs of a grid on this thread.
    pub(super) fn stay(&self, run: &Run, worker: &mut Worker) -> Stay {
        worker.start_slice();
        if !worker.is_pools() {
            // A thread of the program stands in for one of them.
            worker.index = run.grid.launch.workers.first();
        }
        self.busy(worker, |worker| run.work(worker))
    }

    /// Counts the thread as busy meanwhile.
    pub(super) fn busy<R>(&self, worker: &mut Worker, work: impl FnOnce(&mut Worker) -> R) -> R {
        self.watch.begin(&worker.attention);
        let outer = RUNS.replace(self.address());
        let result = work(worker);
        RUNS.set(outer);
        self.watch.end(&worker.attention);
        result
    }

    /// If there is more to do than this worker takes, another one should wake. `own` entries are of what it has taken.
    fn wake_another(&self, own: u32) {
        if self.watch.waiting() > own {
            self.work.notify(1);
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
}

/// Lets the system wake this thread when it asks to be woken, and not up to 50 microseconds later: kernels sleep for less than that.
fn wake_in_time() {
    // SAFETY: this option takes a number, and changes nothing but the precision of this thread's timers. Without it sleeps are longer.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_000 as libc::c_ulong, 0, 0, 0);
    }
}

/// Keeps this thread on these processors, if there are any: a number that the host does not take back changes nothing.
fn stay_on(processors: &[u32]) {
    #[cfg(target_os = "linux")]
    if !processors.is_empty() {
        // SAFETY: a set of bits, of which all zeros is the empty one; the macros of the C library write inside of it, as the numbers are below its size. The
        // call reads it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            for processor in processors.iter().filter(|&&processor| processor < libc::CPU_SETSIZE as u32) {
                libc::CPU_SET(*processor as usize, &mut set);
            }
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
}
