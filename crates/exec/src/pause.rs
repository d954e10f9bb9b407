//! Stopping all work of a pool for a moment, at a place where it can stop; and the pools of all devices as a memory's crew.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

use crate::memory::Crew;
use crate::pool::Pool;

/// The pools of a process. A worker is helped by those of its own pool; threads of the program by those of all pools in turn.
pub struct AllPools {
    /// With a pool all its work ends.
    pools: Box<[Weak<Pool>]>,
    turn: AtomicUsize,
}

impl AllPools {
    /// These.
    pub fn new<'a>(pools: impl IntoIterator<Item = &'a Arc<Pool>>) -> AllPools {
        AllPools { pools: pools.into_iter().map(Arc::downgrade).collect(), turn: AtomicUsize::new(0) }
    }

    fn home(&self) -> Option<Arc<Pool>> {
        self.pools.iter().filter_map(Weak::upgrade).find(|pool| pool.is_home())
    }

    /// Pauses one after the other, in the same order whoever asks for it.
    fn pause_all(pools: &[Weak<Pool>], action: &mut dyn FnMut()) {
        let Some((first, others)) = pools.split_first() else { return action() };
        let mut others = || AllPools::pause_all(others, action);
        match first.upgrade() {
            Some(pool) => pool.pause(&mut others),
            None => others(),
        }
    }
}

impl Crew for AllPools {
    fn threads(&self) -> u32 {
        let all = || self.pools.iter().filter_map(Weak::upgrade).map(|pool| pool.threads()).sum();
        self.home().map_or_else(all, |pool| pool.threads())
    }

    fn spawn(&self, task: Box<dyn FnOnce() + Send>) {
        let next = || self.pools.get(self.turn.fetch_add(1, Ordering::Relaxed) % self.pools.len())?.upgrade();
        if let Some(pool) = self.home().or_else(next) {
            Pool::spawn(&pool, false, task);
        }
    }

    fn pause(&self, action: &mut dyn FnMut()) {
        AllPools::pause_all(&self.pools, action);
    }
}

/// Where workers meet, and wait to be let go.
#[derive(Default)]
struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    here: u32,
    over: bool,
}

impl Meeting {
    fn attend(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.here += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.over));
    }

    fn wait_for(&self, all: u32) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(state, |state| state.here < all));
    }
}

/// Lets everybody go, whatever happens.
struct End<'a>(&'a Meeting);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        self.0.changed.notify_all();
    }
}

impl Pool {
    /// Calls `action` while no kernel and no task runs: waits until each worker has come to the end of what it does or to a place where a kernel
    /// gives way to others. Must not be called by a task. `action` must not wait for work of the pool.
    pub fn pause(&self, action: &mut dyn FnMut()) {
        let shared = self.shared();
        // Each needs all workers.
        let _one = shared.pausing.lock().unwrap_or_else(PoisonError::into_inner);
        if !shared.started.load(Ordering::Acquire) {
            let _gate = shared.gate.write().unwrap_or_else(PoisonError::into_inner);
            // Whoever starts from here on waits at the gate.
            if !shared.started.load(Ordering::Acquire) {
                return action();
            }
        }
        let workers = loop {
            if let Some(workers) = shared.workers.get() {
                break *workers;
            }
            std::thread::yield_now();
        };
        let meeting = Arc::new(Meeting::default());
        let _end = End(&meeting);
        for _ in 0..workers {
            let meeting = meeting.clone();
            self.spawn(true, Box::new(move || meeting.attend()));
        }
        meeting.wait_for(workers);
        if workers == 0 {
            // Threads that stand in leave a kernel for other work.
            self.spawn(true, Box::new(|| {}));
        }
        // Threads that help leave soon as well.
        let _gate = shared.gate.write().unwrap_or_else(PoisonError::into_inner);
        action();
    }
}
