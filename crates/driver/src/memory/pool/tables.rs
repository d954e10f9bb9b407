//! All memory pools, and which of them a place allocates from.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use warploom_exec::memory::{AllocationInfo, Kept, Memory};

use super::sharing::Sharing;
use super::{MemoryPool, PoolPlace, pool_of};
use crate::DriverResult;
use crate::handle::{HandleTable, Kind};

/// The pools of a place: the one that is always there, and the one that allocations come from now.
pub(super) struct Slot {
    place: PoolPlace,
    pub(super) default: Arc<MemoryPool>,
    pub(super) current: Arc<MemoryPool>,
}

/// All memory pools.
pub(crate) struct Pools {
    pub(super) table: HandleTable<MemoryPool>,
    pub(super) slots: Mutex<Vec<Slot>>,
    /// Something was kept since pools were last looked at.
    pub(super) keep: AtomicBool,
}

impl Pools {
    pub(crate) fn new() -> Pools {
        Pools { table: HandleTable::new(Kind::MemoryPool), slots: Mutex::default(), keep: AtomicBool::new(false) }
    }

    pub(super) fn make(
        &self,
        place: PoolPlace,
        max_size: u64,
        is_default: bool,
        sharing: Sharing,
    ) -> DriverResult<Arc<MemoryPool>> {
        self.table.insert(|handle| MemoryPool {
            handle,
            place,
            is_default,
            max_size,
            sharing,
            reuse: [const { AtomicBool::new(true) }; 3],
            release_threshold: AtomicU64::new(0),
            store: Mutex::default(),
            access: Mutex::default(),
        })
    }

    pub(super) fn with_slot<T>(&self, place: PoolPlace, use_slot: impl FnOnce(&mut Slot) -> T) -> DriverResult<T> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.iter_mut().find(|slot| slot.place == place) {
            return Ok(use_slot(slot));
        }
        let default = self.make(place, 0, true, Sharing::No)?;
        let mut slot = Slot { place, current: Arc::clone(&default), default };
        let answer = use_slot(&mut slot);
        slots.push(slot);
        Ok(answer)
    }

    /// Counts memory that the program has freed.
    pub(in crate::memory) fn was_freed(&self, info: &AllocationInfo) {
        if let Some(pool) = self.table.get(pool_of(info)) {
            pool.was_freed(info);
        }
    }

    /// Gives back all that pools keep; false if that is nothing.
    pub(super) fn release_all(&self, memory: &Memory) -> bool {
        let mut any = false;
        while let Some(pool) = self.table.find(|pool| !pool.store.lock().kept.is_empty()) {
            pool.trim(memory, 0);
            any = true;
        }
        any
    }

    /// Counts shared memory that is gone.
    pub(super) fn gave_back(&self, info: &AllocationInfo) {
        if let Some(pool) = self.table.get(pool_of(info)) {
            pool.gave_back(info.size);
        }
    }

    /// Gives memory to the pool it came from.
    pub(in crate::memory) fn came_back(&self, memory: &Memory, info: &AllocationInfo, kept: Option<Kept>) {
        match self.table.get(pool_of(info)) {
            Some(pool) => {
                if kept.is_some() {
                    self.keep.store(true, Ordering::Relaxed);
                }
                pool.came_back(memory, info, kept);
            }
            None => kept.into_iter().for_each(|kept| memory.give_back_kept(kept)),
        }
    }
}
