//! The shadow of global memory, for all grids of a process: a table of three levels, of which the last has a lock for each 4 KiB.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::location::Location;
use super::shadow::{Region, WORDS};
use super::turns::{TURNS, Turns};

/// Parts with a lock each of the places that something was released at, and with a turn each of those that atomics update.
const SHARDS: usize = TURNS;
/// Bytes of a region.
pub(super) const REGION: u64 = 4 * WORDS as u64;
/// Entries of a table, as a power of two: three levels for the 2^48 bytes that processors address.
const FAN: u32 = 12;

type Table<T> = Box<[T]>;
type Leaf = Table<Mutex<Option<Box<Region>>>>;
type Middle = Table<OnceLock<Leaf>>;

fn table<T>(entry: impl Fn() -> T) -> Table<T> {
    (0..1 << FAN).map(|_| entry()).collect()
}

/// What is remembered of global memory.
pub(super) struct Memory {
    regions: Table<OnceLock<Middle>>,
    locations: Vec<Mutex<HashMap<u64, Location>>>,
    /// Something was ever released.
    released: AtomicBool,
    /// Of the places that atomics update.
    pub(super) turns: Turns,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            regions: table(OnceLock::new),
            locations: (0..SHARDS).map(|_| Mutex::default()).collect(),
            released: AtomicBool::new(false),
            turns: Turns::default(),
        }
    }
}

fn index(number: u64, level: u32) -> usize {
    (number >> (FAN * level)) as usize & ((1 << FAN) - 1)
}

/// Which part a place belongs to.
pub(super) fn shard(address: u64) -> usize {
    let word = address >> 2;
    (word ^ word >> 6 ^ word >> 12) as usize % SHARDS
}

impl Memory {
    /// The place of region `number`; none beyond what processors address, where nothing can be accessed.
    pub(super) fn region(&self, number: u64) -> Option<&Mutex<Option<Box<Region>>>> {
        if number >> (3 * FAN) != 0 {
            return None;
        }
        let middle = self.regions[index(number, 2)].get_or_init(|| table(OnceLock::new));
        let leaf = middle[index(number, 1)].get_or_init(|| table(|| Mutex::new(None)));
        Some(&leaf[index(number, 0)])
    }

    /// The leaves that are there.
    fn leaves(&self) -> impl Iterator<Item = (u64, &Leaf)> {
        let middles = (0u64..).zip(&self.regions).filter_map(|(high, middle)| Some((high, middle.get()?)));
        middles.flat_map(|(high, middle)| {
            let leaves = (0u64..).zip(middle).filter_map(|(low, leaf)| Some((low, leaf.get()?)));
            leaves.map(move |(low, leaf)| ((high << FAN | low) << FAN, leaf))
        })
    }

    /// Whether something was ever released in global memory.
    pub(super) fn was_released(&self) -> bool {
        self.released.load(Ordering::Acquire)
    }

    /// The place at `address`, if something was ever released.
    pub(super) fn location<R>(&self, address: u64, act: impl FnOnce(&mut Location) -> R) -> Option<R> {
        if !self.was_released() {
            return None;
        }
        self.locations[shard(address)].lock().get_mut(&address).map(act)
    }

    /// The place at `address`, which something is released at.
    pub(super) fn release<R>(&self, address: u64, act: impl FnOnce(&mut Location) -> R) -> R {
        self.released.store(true, Ordering::Release);
        act(self.locations[shard(address)].lock().entry(address).or_default())
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        self.leaves().flat_map(|(_, leaf)| leaf).for_each(|region| *region.lock() = None);
        self.locations.iter().for_each(|shard| shard.lock().clear());
    }

    /// Forgets what was there.
    pub(super) fn forget(&self, range: Range<u64>) {
        let (first, last) = (range.start / REGION, range.end.div_ceil(REGION));
        for (start, leaf) in self.leaves().filter(|(start, _)| *start < last && *start + (1 << FAN) > first) {
            for number in first.max(start)..last.min(start + (1 << FAN)) {
                let mut region = leaf[index(number, 0)].lock();
                let at = number * REGION;
                let inside = range.start.max(at)..range.end.min(at + REGION);
                if inside.end - inside.start == REGION {
                    *region = None;
                } else if let Some(region) = &mut *region {
                    region.clear(((inside.start - at) / 4) as usize..(inside.end - at).div_ceil(4) as usize);
                }
            }
        }
        if self.was_released() {
            for shard in &self.locations {
                shard.lock().retain(|address, _| !range.contains(address));
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let of = |leaf: &Leaf| -> usize {
            let regions = leaf.iter().filter_map(|region| region.lock().as_ref().map(|region| region.bytes()));
            size_of_val(&**leaf) + regions.sum::<usize>()
        };
        self.leaves().map(|(_, leaf)| of(leaf)).sum()
    }
}
