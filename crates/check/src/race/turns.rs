//! Atomics to the same places take turns: what one hands on is recorded, the executor performs it, and what it has observed is recorded, before the
//! next one begins. So they are recorded in the order in which they happen.

use std::sync::atomic::{AtomicBool, Ordering};

/// Places that have one turn together.
pub(super) const TURNS: usize = 64;
/// How often is looked before other threads are let run: a turn is over after some hundred instructions.
const LOOKS: usize = 64;

/// A turn for each of some places, which one thread has at a time.
pub(super) struct Turns([AtomicBool; TURNS]);

impl Default for Turns {
    fn default() -> Turns {
        Turns(std::array::from_fn(|_| AtomicBool::new(false)))
    }
}

impl Turns {
    /// Waits for the turns of a set. Nobody who has one asks for more.
    pub(super) fn take(&self, set: u64) {
        for turn in of(set) {
            let mut looks = 0;
            while self.0[turn].swap(true, Ordering::Acquire) {
                looks += 1;
                if looks < LOOKS {
                    std::hint::spin_loop();
                } else {
                    std::thread::yield_now();
                }
            }
        }
    }

    /// The turns of a set are over.
    pub(super) fn give(&self, set: u64) {
        of(set).for_each(|turn| self.0[turn].store(false, Ordering::Release));
    }
}

/// Ascending, so that no two wait for each other.
fn of(set: u64) -> impl Iterator<Item = usize> {
    (0..TURNS).filter(move |turn| set >> turn & 1 != 0)
}
