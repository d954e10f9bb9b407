//! Threads for the program's own callbacks, which may block for as long as they like.
//!
//! A callback gets a thread that waits for one, or a new one: a callback that blocks never keeps another from running.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::float::DefaultMode;
use crate::masks::Blocked;

/// An unused thread ends after this time.
const LINGER: Duration = Duration::from_secs(10);

/// What programs expect of a thread that runs their code.
const STACK: usize = 8 << 20;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct CallbackThreads {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
}

impl CallbackThreads {
    pub(crate) fn run(&self, job: Job) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.jobs.push_back(job);
        if state.jobs.len() <= state.idle {
            self.shared.arrived.notify_one();
            return;
        }
        drop(state);
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name("warploom-callback".to_owned()).stack_size(STACK);
        let _signals = Blocked::block();
        let spawned = thread.spawn(move || {
            // Not the mode of whoever submitted the callback.
            let _mode = DefaultMode::set();
            shared.serve();
        });
        if spawned.is_err() {
            // Without a thread the callback runs here: late in a long queue of work, but it runs.
            self.shared.drain();
        }
    }
}

impl Shared {
    fn drain(&self) {
        loop {
            let job = self.state.lock().unwrap_or_else(PoisonError::into_inner).jobs.pop_front();
            match job {
                Some(job) => job(),
                None => return,
            }
        }
    }

    fn serve(&self) {
        loop {
            self.drain();
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if !state.jobs.is_empty() {
                continue;
            }
            state.idle += 1;
            let (mut state, _) = self
                .arrived
                .wait_timeout_while(state, LINGER, |state| state.jobs.is_empty())
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
            if state.jobs.is_empty() {
                return;
            }
        }
    }
}
