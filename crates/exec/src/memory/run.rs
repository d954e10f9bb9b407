//! Large allocations: runs of whole chunks, and the chunks of the window that are free.
//!
//! Chunks that forked processes inherit are taken from the top of the window downwards, all others from its start upwards: the host keeps that
//! property by mapping, and mappings of both kinds in turn would be as many as there are allocations.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::table::Head;
use super::window::CHUNK;
use super::{AllocationInfo, Neighbours};

/// Freed runs whose addresses wait before they are used again.
const WAITING_RUNS: usize = 16;
/// Freed runs that reports remember.
const HISTORY: usize = 1024;

/// Which part of the window chunks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    /// Forked processes do not get them.
    Own,
    /// Forked processes inherit them.
    Inherited,
}

/// Free chunks, never touching each other.
#[derive(Default)]
struct Free {
    /// First to count.
    by_place: BTreeMap<u64, u64>,
    /// Count and first.
    by_len: BTreeSet<(u64, u64)>,
}

impl Free {
    fn insert(&mut self, first: u64, count: u64) {
        self.by_place.insert(first, count);
        self.by_len.insert((count, first));
    }

    fn remove(&mut self, first: u64) -> Option<u64> {
        let count = self.by_place.remove(&first)?;
        self.by_len.remove(&(count, first));
        Some(count)
    }

    /// `count` chunks of the shortest piece that has as many.
    fn take(&mut self, count: u64) -> Option<u64> {
        let (len, first) = *self.by_len.range((count, 0)..).next()?;
        self.remove(first);
        if len > count {
            self.insert(first + count, len - count);
        }
        Some(first)
    }

    /// Puts chunks in; the piece that they are part of then.
    fn give(&mut self, mut first: u64, mut count: u64) -> (u64, u64) {
        if let Some((&before, &len)) = self.by_place.range(..first).next_back()
            && before + len == first
        {
            self.remove(before);
            first = before;
            count += len;
        }
        if let Some(len) = self.remove(first + count) {
            count += len;
        }
        self.insert(first, count);
        (first, count)
    }
}

/// A freed run whose addresses wait.
struct Waiting {
    first: u64,
    count: u64,
    /// It still has its pages.
    resident: bool,
}

/// The chunks of the window: live runs, free chunks, freed runs. Free chunks have no pages.
pub(super) struct Runs {
    /// The chunks from here on are free, as are those in the free lists below...
    unused_from: u64,
    /// ...up to here; those in the free lists above are free as well.
    unused_to: u64,
    /// The lowest that `unused_to` ever was.
    inherited_from: u64,
    free: [Free; 2],
    live: BTreeMap<u64, (AllocationInfo, Arc<Head>)>,
    waiting: VecDeque<Waiting>,
    /// Bytes of pages that waiting runs may keep, and have.
    cache: u64,
    cached: u64,
    freed: VecDeque<AllocationInfo>,
}

/// Chunks that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) first: u64,
    /// Their zone was another one, or none, before.
    pub(super) new_zone: bool,
}

impl Runs {
    /// `total` chunks, all free. Freed runs may keep `cache` bytes of pages.
    pub(super) fn new(total: u64, cache: u64) -> Runs {
        Runs {
            unused_from: 0,
            unused_to: total,
            inherited_from: total,
            free: Default::default(),
            live: BTreeMap::new(),
            waiting: VecDeque::new(),
            cache,
            cached: 0,
            freed: VecDeque::new(),
        }
    }

    /// Takes `count` free chunks in a row.
    pub(super) fn take(&mut self, count: u64, zone: Zone) -> Option<Taken> {
        if let Some(first) = self.free[zone as usize].take(count) {
            return Some(Taken { first, new_zone: false });
        }
        if self.unused_to - self.unused_from < count {
            return None;
        }
        match zone {
            Zone::Own => {
                let first = self.unused_from;
                self.unused_from += count;
                Some(Taken { first, new_zone: self.unused_from > self.inherited_from })
            }
            Zone::Inherited => {
                self.unused_to -= count;
                self.inherited_from = self.inherited_from.min(self.unused_to);
                Some(Taken { first: self.unused_to, new_zone: true })
            }
        }
    }

    fn zone_of(&self, first: u64) -> Zone {
        if first < self.unused_from { Zone::Own } else { Zone::Inherited }
    }

    /// Gives chunks without pages back, for immediate use.
    pub(super) fn give(&mut self, first: u64, count: u64) {
        let zone = self.zone_of(first);
        let (first, count) = self.free[zone as usize].give(first, count);
        match zone {
            Zone::Own if first + count == self.unused_from => self.unused_from = first,
            Zone::Inherited if first == self.unused_to => self.unused_to = first + count,
            Zone::Own | Zone::Inherited => return,
        }
        self.free[zone as usize].remove(first);
    }

    /// Whether a freed run of `count` chunks keeps its pages while it waits.
    pub(super) fn keeps_pages(&self, count: u64) -> bool {
        count * CHUNK <= self.cache / 2
    }

    /// Lets the chunks of a freed allocation wait. `resident`: they have their pages still.
    pub(super) fn retire(&mut self, first: u64, count: u64, resident: bool) {
        self.waiting.push_back(Waiting { first, count, resident });
        if resident {
            self.cached += count * CHUNK;
        }
    }

    /// The waiting run whose turn has come to be free, or to lose its pages, if there are more of them or more bytes than may wait: first, count, and
    /// whether it has pages. It is the caller's then.
    pub(super) fn overdue(&mut self) -> Option<(u64, u64, bool)> {
        let at = if self.waiting.len() > WAITING_RUNS {
            0
        } else if self.cached > self.cache {
            self.waiting.iter().position(|waiting| waiting.resident)?
        } else {
            return None;
        };
        self.leave(at)
    }

    /// The run that has waited longest, where there is no room for another.
    pub(super) fn hurry(&mut self) -> Option<(u64, u64, bool)> {
        self.leave(0)
    }

    fn leave(&mut self, at: usize) -> Option<(u64, u64, bool)> {
        let Waiting { first, count, resident } = self.waiting.remove(at)?;
        if resident {
            self.cached -= count * CHUNK;
        }
        Some((first, count, resident))
    }

    /// A waiting run of exactly `count` chunks that has its pages: the older of two at least, so that an access to what was freed last is still told as one.
    pub(super) fn reuse(&mut self, count: u64, zone: Zone) -> Option<u64> {
        let fits =
            |waiting: &Waiting| waiting.resident && waiting.count == count && self.zone_of(waiting.first) == zone;
        let mut fitting = (0..self.waiting.len()).filter(|at| fits(&self.waiting[*at]));
        let (first, _second) = (fitting.next()?, fitting.next()?);
        self.leave(first).map(|(first, ..)| first)
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

    fn first(taken: Option<Taken>) -> Option<u64> {
        taken.map(|taken| taken.first)
    }

    #[test]
    fn chunks_are_given_out_once_and_merge_when_given_back() {
        let mut runs = Runs::new(10, 0);
        let take = |runs: &mut Runs, count| first(runs.take(count, Zone::Own));
        assert_eq!([3, 3, 4, 1].map(|count| take(&mut runs, count)), [Some(0), Some(3), Some(6), None]);
        runs.give(0, 3);
        runs.give(6, 4);
        assert_eq!(take(&mut runs, 5), None);
        runs.give(3, 3);
        assert_eq!((runs.unused_from, runs.free[0].by_place.len(), runs.free[0].by_len.len()), (0, 0, 0));
        assert_eq!([10, 1].map(|count| take(&mut runs, count)), [Some(0), None]);
    }

    #[test]
    fn what_is_inherited_comes_from_the_other_end() {
        let mut runs = Runs::new(10, 0);
        assert_eq!(runs.take(3, Zone::Inherited), Some(Taken { first: 7, new_zone: true }));
        assert_eq!(runs.take(2, Zone::Own), Some(Taken { first: 0, new_zone: false }));
        assert_eq!(runs.take(2, Zone::Inherited), Some(Taken { first: 5, new_zone: true }));
        runs.give(7, 3);
        assert_eq!(runs.take(2, Zone::Inherited), Some(Taken { first: 7, new_zone: false }));
        runs.give(7, 2);
        runs.give(5, 2);
        assert_eq!(runs.take(8, Zone::Own), Some(Taken { first: 2, new_zone: true }));
        assert_eq!(runs.take(1, Zone::Inherited), None);
    }

    #[test]
    fn the_best_piece_is_found_among_many() {
        let mut runs = Runs::new(1 << 20, 0);
        let taken: Vec<u64> = (0..100_000).map(|n| first(runs.take(1 + n % 7, Zone::Own)).unwrap()).collect();
        for (n, first) in taken.iter().enumerate().step_by(2) {
            runs.give(*first, 1 + n as u64 % 7);
        }
        assert_eq!(first(runs.take(7, Zone::Own)), Some(taken[6]));
        assert_eq!(first(runs.take(1, Zone::Own)), Some(taken[0]));
    }

    #[test]
    fn freed_runs_keep_pages_up_to_a_bound_and_the_older_of_two_is_used_again() {
        let mut runs = Runs::new(100, 8 * CHUNK);
        assert!(runs.keeps_pages(4) && !runs.keeps_pages(5));
        assert_eq!((0..3).map(|_| first(runs.take(3, Zone::Own)).unwrap()).collect::<Vec<_>>(), [0, 3, 6]);
        runs.retire(3, 3, true);
        assert_eq!(runs.reuse(3, Zone::Own), None);
        runs.retire(0, 3, true);
        assert_eq!((runs.reuse(2, Zone::Own), runs.reuse(3, Zone::Inherited), runs.overdue()), (None, None, None));
        assert_eq!(runs.reuse(3, Zone::Own), Some(3));
        runs.retire(3, 3, true);
        runs.retire(6, 3, true);
        assert_eq!((runs.overdue(), runs.overdue()), (Some((0, 3, true)), None));
        assert_eq!((runs.hurry(), runs.hurry(), runs.hurry()), (Some((3, 3, true)), Some((6, 3, true)), None));
        assert_eq!(runs.cached, 0);
    }
}
