//! The pools of a process that could start no worker.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Shared;

/// See the head of the file.
#[derive(Default)]
pub(super) struct Siblings {
    /// Whether there is any.
    any: AtomicBool,
    /// Pools that have started nothing yet: any of them may turn out to be one.
    unstarted: AtomicUsize,
    alone: Mutex<Vec<Weak<Shared>>>,
}

impl Siblings {
    /// There is one more that has not started.
    pub(super) fn add_unstarted(&self) {
        self.unstarted.fetch_add(1, Ordering::SeqCst);
    }

    /// It has, and has been entered if it has no workers; or it never will.
    pub(super) fn note_started(&self) {
        self.unstarted.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn all_have_started(&self) -> bool {
        self.unstarted.load(Ordering::SeqCst) == 0
    }

    /// Adds a pool.
    pub(super) fn enter(&self, shared: &Arc<Shared>) {
        self.alone.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(shared));
        self.any.store(true, Ordering::Release);
    }

    #[inline]
    pub(super) fn are_alone(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Does a piece of work of each: what one waits for may be another's. False if there is none any more.
    #[cold]
    pub(super) fn stand_in(&self) -> bool {
        let alone: Vec<Arc<Shared>> = {
            let mut alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
            alone.retain(|shared| shared.strong_count() != 0);
            alone.iter().filter_map(Weak::upgrade).collect()
        };
        alone.iter().for_each(|shared| shared.stand_in());
        !alone.is_empty()
    }
}
