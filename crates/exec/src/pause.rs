//! Stopping all work of a pool for a moment, at a place where it can stop; and the pool as a memory's crew.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

use crate::memory::Crew;
use crate::pool::Pool;

/// With the pool all work ends.
impl Crew for Weak<Pool> {
    fn threads(&self) -> u32 {
        self.upgrade().map_or(0, |pool| pool.threads())
    }

    fn spawn(&self, task: Box<dyn FnOnce() + Send>) {
        if let Some(pool) = self.upgrade() {
            Pool::spawn(&pool, false, task);
        }
    }

    fn pause(&self, action: &mut dyn FnMut()) {
        match self.upgrade() {
            Some(pool) => Pool::pause(&pool, action),
            None => action(),
        }
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
