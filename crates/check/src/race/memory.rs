//! The shadow of global memory, for all grids of a process.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;

use super::location::Location;
use super::shadow::{Region, WORDS};

/// Parts with a lock each.
const SHARDS: usize = 64;
/// Bytes of a region.
pub(super) const REGION: u64 = 4 * WORDS as u64;

type Regions = HashMap<u64, Box<Region>>;

/// What is remembered of global memory.
pub(super) struct Memory {
    regions: Vec<Mutex<Regions>>,
    locations: Vec<Mutex<HashMap<u64, Location>>>,
    /// Something was ever released.
    released: AtomicBool,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            regions: (0..SHARDS).map(|_| Mutex::default()).collect(),
            locations: (0..SHARDS).map(|_| Mutex::default()).collect(),
            released: AtomicBool::new(false),
        }
    }
}

fn shard(number: u64) -> usize {
    (number ^ number >> 6 ^ number >> 12) as usize % SHARDS
}

impl Memory {
    /// The part with region `number`.
    pub(super) fn lock(&self, number: u64) -> MutexGuard<'_, Regions> {
        self.regions[shard(number)].lock()
    }

    pub(super) fn shard_of(number: u64) -> usize {
        shard(number)
    }

    /// The place at `address`, if something was ever released.
    pub(super) fn location<R>(&self, address: u64, act: impl FnOnce(&mut Location) -> R) -> Option<R> {
        if !self.released.load(Ordering::Acquire) {
            return None;
        }
        self.locations[shard(address >> 2)].lock().get_mut(&address).map(act)
    }

    /// The place at `address`, which something is released at.
    pub(super) fn release<R>(&self, address: u64, act: impl FnOnce(&mut Location) -> R) -> R {
        self.released.store(true, Ordering::Release);
        act(self.locations[shard(address >> 2)].lock().entry(address).or_default())
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        self.regions.iter().for_each(|shard| shard.lock().clear());
        self.locations.iter().for_each(|shard| shard.lock().clear());
    }

    /// Forgets what was there.
    pub(super) fn forget(&self, range: Range<u64>) {
        let mut at = range.start;
        while at < range.end {
            let number = at / REGION;
            let end = range.end.min((number + 1) * REGION);
            let mut regions = self.lock(number);
            if end - at == REGION {
                regions.remove(&number);
            } else if let Some(region) = regions.get_mut(&number) {
                region.clear((at % REGION / 4) as usize..(end - number * REGION).div_ceil(4) as usize);
            }
            at = end;
        }
        if self.released.load(Ordering::Acquire) {
            for shard in &self.locations {
                shard.lock().retain(|address, _| !range.contains(address));
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.regions
            .iter()
            .flat_map(|shard| shard.lock().values().map(|region| region.bytes()).collect::<Vec<_>>())
            .sum()
    }
}
