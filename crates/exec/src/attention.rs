//! How the pool gets the attention of threads that run kernels.
//!
//! Every such thread has one word, at an address that stays the same while it lives. It is 0 as long as nothing is to be done but to
//! go on; executors look at it at backward branches and between CTAs, and nowhere else do they look at anything that other
//! threads write. Only when it is not 0 does somebody ask why: see [`crate::grid::Grid::poll`].
//!
//! A clock thread raises the words of busy threads at every [`TICK`], which bounds time slices without reading the time for each
//! CTA. What cannot wait raises them at once: cancelled grids, work of urgent streams. The clock sleeps while no kernel runs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::signal::Signal;

/// How often busy threads look up.
pub(crate) const TICK: Duration = Duration::from_millis(2);
/// Ticks without any busy thread before the clock sleeps: launches often follow each other closely.
const IDLE_TICKS: u32 = 25;

/// Something has happened since the word was lowered.
const RAISED: u32 = 1;
/// No clock runs: the word is never lowered.
const UNCLOCKED: u32 = 2;

/// The attention word of one thread.
#[derive(Default)]
pub(crate) struct Attention {
    word: AtomicU32,
    /// The thread is running CTAs or a task.
    busy: AtomicBool,
    /// It belongs to the pool: not a thread of the program that helps.
    worker: bool,
}

impl Attention {
    /// The one load of an executor that goes on.
    #[inline(always)]
    pub(crate) fn is_raised(&self) -> bool {
        self.word.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn is_workers(&self) -> bool {
        self.worker
    }

    pub(crate) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Called before looking at what there may be, so that nothing that comes later is lost.
    pub(crate) fn lower(&self) {
        self.word.fetch_and(UNCLOCKED, Ordering::SeqCst);
    }

    pub(crate) fn raise(&self) {
        self.word.fetch_or(RAISED, Ordering::SeqCst);
    }
}

/// The attention words of all threads that run kernels, what waits for them, and the clock.
pub(crate) struct Watch {
    /// Entries of the pool's queue, and how many of them are urgent.
    waiting: CachePadded<[AtomicU32; 2]>,
    words: Mutex<Vec<Arc<CachePadded<Attention>>>>,
    /// Wakes the clock.
    alarm: Signal,
    asleep: AtomicBool,
    stopped: AtomicBool,
    unclocked: AtomicBool,
    /// [`OPEN`], or how many threads may still run at the end of the process, then [`CLOSED`].
    close: AtomicU32,
}

const OPEN: u32 = u32::MAX;
const CLOSED: u32 = OPEN - 1;

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            waiting: CachePadded::default(),
            words: Mutex::default(),
            alarm: Signal::default(),
            asleep: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            unclocked: AtomicBool::new(false),
            close: AtomicU32::new(OPEN),
        }
    }
}

impl Watch {
    fn words(&self) -> MutexGuard<'_, Vec<Arc<CachePadded<Attention>>>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A word for one more thread.
    pub(crate) fn enroll(&self, worker: bool) -> Arc<CachePadded<Attention>> {
        let attention = Arc::new(CachePadded::new(Attention { worker, ..Attention::default() }));
        let mut words = self.words();
        if self.unclocked.load(Ordering::Relaxed) {
            attention.word.store(UNCLOCKED, Ordering::Relaxed);
        }
        words.push(attention.clone());
        attention
    }

    /// The thread begins to run CTAs or a task.
    pub(crate) fn begin(&self, attention: &Attention) {
        attention.busy.store(true, Ordering::SeqCst);
        attention.lower();
        if self.asleep.load(Ordering::SeqCst) {
            self.alarm.notify(1);
        }
    }

    /// It runs none any more.
    pub(crate) fn end(&self, attention: &Attention) {
        attention.busy.store(false, Ordering::Release);
    }

    /// Makes all threads that run CTAs look up.
    pub(crate) fn raise_all(&self) {
        for attention in &*self.words() {
            if attention.busy.load(Ordering::SeqCst) {
                attention.raise();
            }
        }
    }

    /// How many threads run CTAs now: all, or only the pool's own.
    pub(crate) fn busy(&self, only_workers: bool) -> usize {
        let counts = |attention: &&Arc<CachePadded<Attention>>| {
            attention.busy.load(Ordering::SeqCst) && (attention.worker || !only_workers)
        };
        self.words().iter().filter(counts).count()
    }

    /// Notes how many entries the pool's queue has.
    pub(crate) fn set_waiting(&self, all: usize, urgent: usize) {
        self.waiting[0].store(all as u32, Ordering::Release);
        self.waiting[1].store(urgent as u32, Ordering::Release);
    }

    pub(crate) fn waiting(&self) -> u32 {
        self.waiting[0].load(Ordering::Acquire)
    }

    pub(crate) fn urgent_waiting(&self) -> u32 {
        self.waiting[1].load(Ordering::Acquire)
    }

    /// Waits for the next tick: until something runs, if nothing did for long. False after [`Watch::stop`].
    pub(crate) fn tick(&self, idle: &mut u32) -> bool {
        let epoch = self.alarm.epoch();
        if *idle < IDLE_TICKS {
            self.alarm.sleep(epoch, Some(TICK));
        } else {
            self.asleep.store(true, Ordering::SeqCst);
            // Who became busy before that, or wants something else, did not see it.
            if self.busy(false) == 0 && !self.is_stopped() && self.close.load(Ordering::SeqCst) == OPEN {
                self.alarm.sleep(epoch, None);
            }
            self.asleep.store(false, Ordering::SeqCst);
            *idle = 0;
        }
        *idle = if self.busy(false) == 0 { *idle + 1 } else { 0 };
        self.raise_all();
        !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Has the clock call everything off, and waits until nothing but `own` threads runs, for `limit` at most. For the end of the
    /// process: it takes no lock, as the calling thread may have been interrupted while it held one.
    pub(crate) fn close(&self, own: u32, limit: Duration) {
        let start = Instant::now();
        self.close.store(own, Ordering::SeqCst);
        self.alarm.notify_all();
        while self.close.load(Ordering::SeqCst) != CLOSED && start.elapsed() < limit {
            std::thread::sleep(Duration::from_micros(100));
            self.alarm.notify_all();
        }
    }

    /// For the clock: whether everything is to be called off.
    pub(crate) fn is_closing(&self) -> bool {
        !matches!(self.close.load(Ordering::SeqCst), OPEN | CLOSED)
    }

    /// For the clock: what ran has been called off.
    pub(crate) fn note_closed(&self) {
        let own = self.close.load(Ordering::SeqCst);
        if own < CLOSED && self.busy(false) <= own as usize {
            self.close.store(CLOSED, Ordering::SeqCst);
        }
    }

    /// There is no clock: every look at a word must be a long one.
    pub(crate) fn go_without_clock(&self) {
        let words = self.words();
        self.unclocked.store(true, Ordering::Relaxed);
        for attention in &*words {
            attention.word.fetch_or(UNCLOCKED, Ordering::SeqCst);
        }
    }

    /// Ends the clock.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.alarm.notify(1);
    }
}
