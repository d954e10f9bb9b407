//! Stores to global memory that have been told of, and that memory does not have yet: another worker does them.
//!
//! Whether a store puts there what an earlier one has put is seen in memory, once that one is there. A cluster says when its store departs, before
//! that is remembered in the shadow, and when it has landed; it has one at a time. Who wants to compare waits. Two that wait for each other
//! would do so for ever: who waits says what it stores, and that is as good as memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// What lanes put where.
type Put = Vec<(u64, Vec<u8>)>;

/// The stores of a cluster, or a CTA without one.
#[derive(Default)]
pub(super) struct Flight {
    /// Counts departures and landings: odd while a store is on its way.
    count: AtomicU64,
    /// What it stores, while it waits for others.
    put: Mutex<Option<Put>>,
    published: AtomicBool,
}

impl Flight {
    /// A store is about to be remembered in the shadow, under the locks of which this is seen by who finds it there.
    pub(super) fn depart(&self) {
        self.count.fetch_or(1, Ordering::Relaxed);
    }

    /// It is in memory, or will never be.
    #[inline]
    pub(super) fn land(&self) {
        let count = self.count.load(Ordering::Relaxed);
        if count & 1 == 1 {
            // Nobody else changes it.
            if self.published.swap(false, Ordering::Relaxed) {
                *self.put.lock() = None;
            }
            self.count.store(count + 1, Ordering::Release);
        }
    }

    /// Says what the store on its way puts where, until it lands.
    pub(super) fn publish(&self, put: impl FnOnce() -> Put) {
        if self.count.load(Ordering::Relaxed) & 1 == 1 {
            self.put.lock().get_or_insert_with(put);
            self.published.store(true, Ordering::Relaxed);
        }
    }

    /// Waits for the store that is on its way. The byte at an address that it will have put there, if that is known sooner; none once it has landed.
    pub(super) fn wait(&self, address: u64) -> Option<u8> {
        let seen = self.count.load(Ordering::Acquire);
        if seen & 1 == 0 {
            return None;
        }
        loop {
            if let Some(put) = &*self.put.lock() {
                let of = |(start, bytes): &(u64, Vec<u8>)| bytes.get(address.checked_sub(*start)? as usize).copied();
                return put.iter().find_map(of);
            }
            if self.count.load(Ordering::Acquire) != seen {
                return None;
            }
            std::thread::yield_now();
        }
    }
}

/// Those of all clusters that run, by the numbers of their CTAs.
#[derive(Default)]
pub(super) struct Flights(Mutex<HashMap<u32, Arc<Flight>>>);

impl Flights {
    pub(super) fn begin(&self, ctas: impl Iterator<Item = u32>) -> Arc<Flight> {
        let flight = Arc::new(Flight::default());
        let mut flights = self.0.lock();
        ctas.for_each(|cta| drop(flights.insert(cta, Arc::clone(&flight))));
        flight
    }

    pub(super) fn end(&self, ctas: impl Iterator<Item = u32>) {
        let mut flights = self.0.lock();
        ctas.for_each(|cta| drop(flights.remove(&cta)));
    }

    /// Of the cluster of a CTA, if it runs.
    pub(super) fn of(&self, cta: u32) -> Option<Arc<Flight>> {
        self.0.lock().get(&cta).cloned()
    }
}
