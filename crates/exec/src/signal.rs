//! Waiting for a condition that other threads make true: an event count.
//!
//! The waker changes the condition, then calls [`Signal::notify`] or [`Signal::notify_all`]; with nobody asleep that
//! is two atomic operations. The sleeper takes [`Signal::epoch`], looks at the condition, then waits for that epoch to
//! pass, so that no change is missed.
//!
//! Sleepers wait on the epoch itself (`futex(2)`): nobody takes a lock, so that many who are woken at once do not queue for one, and a
//! thread that was interrupted anywhere can wake others.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(crate) struct Signal {
    epoch: AtomicU32,
    /// Threads that will look at the epoch before they sleep: they need no waking.
    awake: AtomicU32,
    /// Whether one of them looks at it all the time.
    spins: AtomicBool,
    sleepers: AtomicU32,
}

impl Signal {
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Wakes so many threads, those included that need no waking, or all if there are fewer.
    pub(crate) fn notify(&self, count: u32) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let asleep = count.saturating_sub(self.awake.load(Ordering::SeqCst));
        if asleep != 0 && self.sleepers.load(Ordering::SeqCst) != 0 {
            futex_wake(&self.epoch, asleep, Reach::Process);
        }
    }

    pub(crate) fn notify_all(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            futex_wake(&self.epoch, i32::MAX as u32, Reach::Process);
        }
    }

    /// Counts the calling thread among those that need no waking: before it sleeps, or does anything that takes long, it takes the epoch, looks at the
    /// condition, and says that it does not count any more.
    pub(crate) fn count_in(&self) {
        self.awake.fetch_add(1, Ordering::SeqCst);
    }

    /// The end of [`Signal::count_in`].
    pub(crate) fn count_out(&self) {
        self.awake.fetch_sub(1, Ordering::SeqCst);
    }

    /// Spins until the epoch is not `seen` any more, for `time` at most and only if no other thread does; whether the epoch has passed.
    pub(crate) fn spin(&self, seen: u32, time: Duration) -> bool {
        if self.spins.swap(true, Ordering::Relaxed) {
            return false;
        }
        let passed = spin_until(time, || self.epoch.load(Ordering::Relaxed) != seen);
        self.spins.store(false, Ordering::Relaxed);
        passed
    }

    /// Sleeps until the epoch is not `seen` any more, or the time is over.
    pub(crate) fn sleep(&self, seen: u32, timeout: Option<Duration>) {
        let end = timeout.map(|timeout| Instant::now() + timeout);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.epoch.load(Ordering::SeqCst) == seen {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            futex_wait(&self.epoch, seen, left, Reach::Process);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Who waits for a word and wakes those who do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Threads of this process.
    Process,
    /// Those of all processes that have mapped it.
    Machine,
}

impl Reach {
    fn flag(self) -> libc::c_int {
        if self == Reach::Process { libc::FUTEX_PRIVATE_FLAG } else { 0 }
    }
}

/// Sleeps if the word is `seen`, until it is woken, interrupted, or the time is over.
pub(crate) fn futex_wait(word: &AtomicU32, seen: u32, timeout: Option<Duration>, reach: Reach) {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let operation = libc::FUTEX_WAIT | reach.flag();
    // SAFETY: the word outlives the call, and the timeout is null or a time that does. Why it comes back does not matter: the caller looks again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, seen, timeout) };
}

/// Wakes so many of the threads that sleep on the word.
pub(crate) fn futex_wake(word: &AtomicU32, count: u32, reach: Reach) {
    // SAFETY: the kernel uses the address only to find who sleeps on it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | reach.flag(), count) };
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

/// Lets less time go by than it would take to give the core away.
pub(crate) fn spin_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn sleepers_wake_when_the_epoch_passes_or_the_time_is_over() {
        let signal = Arc::new(Signal::default());
        let seen = signal.epoch();
        let start = Instant::now();
        signal.sleep(seen, Some(Duration::from_millis(5)));
        assert!(start.elapsed() >= Duration::from_millis(5));
        let sleepers: Vec<_> = (0..4)
            .map(|_| {
                let signal = signal.clone();
                std::thread::spawn(move || signal.sleep(seen, None))
            })
            .collect();
        while signal.sleepers.load(Ordering::SeqCst) != 4 {
            std::thread::yield_now();
        }
        signal.notify(1);
        while signal.sleepers.load(Ordering::SeqCst) == 4 {
            std::thread::yield_now();
        }
        signal.notify_all();
        sleepers.into_iter().for_each(|sleeper| sleeper.join().expect("it wakes"));
        // What has passed is not waited for.
        signal.sleep(seen, None);
    }
}
