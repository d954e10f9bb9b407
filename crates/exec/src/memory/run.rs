//! Large allocations: runs of whole chunks, and the chunks of the window that are free.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::table::Head;
use super::{AllocationInfo, Neighbours};

/// Freed runs whose addresses wait before they are used again.
const WAITING_RUNS: usize = 16;
/// Freed runs that reports remember.
const HISTORY: usize = 1024;

/// The chunks of the window: live runs, free chunks, freed runs.
pub(super) struct Runs {
    total: u64,
    /// No chunk from here on was ever used.
    unused_from: u64,
    /// Free chunks below: first to count, never touching each other.
    free: BTreeMap<u64, u64>,
    live: BTreeMap<u64, (AllocationInfo, Arc<Head>)>,
    waiting: VecDeque<(u64, u64)>,
    freed: VecDeque<AllocationInfo>,
}

impl Runs {
    pub(super) fn new(total: u64) -> Runs {
        Runs {
            total,
            unused_from: 0,
            free: BTreeMap::new(),
            live: BTreeMap::new(),
            waiting: VecDeque::new(),
            freed: VecDeque::new(),
        }
    }

    /// Takes `count` chunks in a row: the first of them.
    pub(super) fn take(&mut self, count: u64) -> Option<u64> {
        loop {
            if let Some((&first, &len)) = self.free.iter().find(|(_, len)| **len >= count) {
                self.free.remove(&first);
                if len > count {
                    self.free.insert(first + count, len - count);
                }
                return Some(first);
            }
            if self.total - self.unused_from >= count {
                let first = self.unused_from;
                self.unused_from += count;
                return Some(first);
            }
            let (first, len) = self.waiting.pop_front()?;
            self.give(first, len);
        }
    }

    /// Gives chunks back, for immediate use.
    pub(super) fn give(&mut self, mut first: u64, mut count: u64) {
        if let Some((&before, &len)) = self.free.range(..first).next_back()
            && before + len == first
        {
            self.free.remove(&before);
            first = before;
            count += len;
        }
        if let Some(len) = self.free.remove(&(first + count)) {
            count += len;
        }
        self.free.insert(first, count);
    }

    /// Gives the chunks of a freed allocation back after a while, and remembers it.
    pub(super) fn retire(&mut self, info: AllocationInfo, first: u64, count: u64) {
        self.waiting.push_back((first, count));
        if self.waiting.len() > WAITING_RUNS {
            let (first, count) = self.waiting.pop_front().expect("the queue is not empty");
            self.give(first, count);
        }
        self.remember(info);
    }

    /// Remembers a freed allocation for reports.
    pub(super) fn remember(&mut self, info: AllocationInfo) {
        if self.freed.len() == HISTORY {
            self.freed.pop_front();
        }
        self.freed.push_back(info);
    }

    pub(super) fn record(&mut self, info: AllocationInfo, head: Arc<Head>) {
        self.live.insert(info.base, (info, head));
    }

    pub(super) fn remove(&mut self, base: u64) -> Option<(AllocationInfo, Arc<Head>)> {
        self.live.remove(&base)
    }

    pub(super) fn containing(&self, address: u64) -> Option<AllocationInfo> {
        let (_, (info, _)) = self.live.range(..=address).next_back()?;
        (address - info.base < info.size).then_some(*info)
    }

    pub(super) fn freed_at(&self, base: u64) -> Option<AllocationInfo> {
        self.freed.iter().rev().find(|info| info.base == base).copied()
    }

    pub(super) fn neighbours(&self, address: u64) -> Neighbours {
        let before = self.live.range(..=address).next_back().map(|(_, (info, _))| *info);
        let after = self.live.range(address.saturating_add(1)..).next().map(|(_, (info, _))| *info);
        let inside = before.is_some_and(|info| address - info.base < info.size);
        let freed = if inside {
            None
        } else {
            self.freed.iter().rev().find(|info| address.wrapping_sub(info.base) < info.size).copied()
        };
        Neighbours { before, after, freed }
    }

    pub(super) fn each_live(&self, visit: impl FnMut(AllocationInfo)) {
        self.live.values().map(|(info, _)| *info).for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_given_out_once_and_merge_when_given_back() {
        let mut runs = Runs::new(10);
        assert_eq!((runs.take(3), runs.take(3), runs.take(4), runs.take(1)), (Some(0), Some(3), Some(6), None));
        runs.give(0, 3);
        runs.give(6, 4);
        assert_eq!(runs.take(5), None);
        runs.give(3, 3);
        assert_eq!(runs.free.len(), 1);
        assert_eq!((runs.take(10), runs.take(1)), (Some(0), None));
    }
}
