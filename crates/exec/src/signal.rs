//! Waiting for a condition that other threads make true: an event count.
//!
//! The waker changes the condition, then calls [`Signal::notify_one`] or [`Signal::notify_all`]; with nobody asleep that
//! is two atomic operations. The sleeper takes [`Signal::epoch`], looks at the condition, then waits for that epoch to
//! pass, so that no change is missed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(crate) struct Signal {
    epoch: AtomicU32,
    /// Threads that look at the epoch all the time: they need no waking.
    spinners: AtomicU32,
    sleepers: AtomicU32,
    mutex: Mutex<()>,
    condvar: Condvar,
}

impl Signal {
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::SeqCst)
    }

    pub(crate) fn notify_one(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        if self.spinners.load(Ordering::SeqCst) == 0 && self.sleepers.load(Ordering::SeqCst) != 0 {
            drop(self.mutex.lock().unwrap_or_else(PoisonError::into_inner));
            self.condvar.notify_one();
        }
    }

    /// Wakes sleepers without the lock: one that is just going to sleep may miss it, so it is to be done again.
    pub(crate) fn nudge(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.condvar.notify_all();
    }

    pub(crate) fn notify_all(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            drop(self.mutex.lock().unwrap_or_else(PoisonError::into_inner));
            self.condvar.notify_all();
        }
    }

    /// Spins until the epoch is not `seen` any more, for `time` at most and only if fewer than `most` threads do; whether
    /// the epoch has passed.
    pub(crate) fn spin(&self, seen: u32, time: Duration, most: u32) -> bool {
        if self.spinners.fetch_add(1, Ordering::SeqCst) >= most {
            self.spinners.fetch_sub(1, Ordering::SeqCst);
            return false;
        }
        let passed = spin_until(time, || self.epoch.load(Ordering::Relaxed) != seen);
        self.spinners.fetch_sub(1, Ordering::SeqCst);
        passed
    }

    /// Sleeps until the epoch is not `seen` any more, or the time is over.
    pub(crate) fn sleep(&self, seen: u32, timeout: Option<Duration>) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |_: &mut ()| self.epoch.load(Ordering::SeqCst) == seen;
        match timeout {
            None => drop(self.condvar.wait_while(guard, waiting)),
            Some(timeout) => drop(self.condvar.wait_timeout_while(guard, timeout, waiting)),
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Looks at a condition without pause for `time` at most; whether it came true. Gives the core to other threads now and
/// then: there may be fewer cores than threads that want to run.
pub(crate) fn spin_until(time: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..32 {
            if condition() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() >= time {
            return false;
        }
        std::thread::yield_now();
    }
}
