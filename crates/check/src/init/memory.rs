//! Which bytes were never written.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::touched::{PAGE, is_touched};

/// A bit for each byte of a page: it was written.
type Page = Box<[u64; (PAGE / 64) as usize]>;

/// Device memory that was allocated and holds nothing of its own: pages are there once something is written to them.
#[derive(Default)]
pub(super) struct Fresh {
    /// First address and end.
    ranges: BTreeMap<u64, u64>,
    pages: HashMap<u64, Page>,
    /// Of memory that the host writes without telling: first address and end.
    silent: BTreeMap<u64, u64>,
    /// Counts when bytes became ones that nobody has written: what was known of pages is over.
    changes: Arc<AtomicU64>,
}

impl Fresh {
    /// Memory whose bytes nobody has written.
    pub(super) fn add(&mut self, range: Range<u64>) {
        self.take_out(&range);
        self.ranges.insert(range.start, range.end);
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.clear_pages(&range);
    }

    /// Memory whose bytes nobody has written, and that the host may write without telling: as long as nobody has touched a page of it.
    pub(super) fn add_silent(&mut self, range: Range<u64>) {
        self.silent.insert(range.start, range.end);
        self.add(range);
    }

    /// What pages the host has touched counts as written.
    pub(super) fn settle(&mut self, range: &Range<u64>) {
        let inside = self.silent.range(..range.end).filter(|(_, end)| **end > range.start);
        let blocks: Vec<(u64, u64)> = inside.map(|(start, end)| (*start, *end)).collect();
        for (start, end) in blocks {
            for number in range.start.max(start) / PAGE..range.end.min(end).div_ceil(PAGE) {
                let page = (number * PAGE).max(start)..((number + 1) * PAGE).min(end);
                if self.unwritten(page.clone()).is_some() && is_touched(page.start) {
                    self.write(page);
                }
            }
        }
    }

    /// Memory that is no more, or of which nothing is known.
    pub(super) fn remove(&mut self, range: &Range<u64>) {
        self.silent.retain(|start, _| !range.contains(start));
        self.take_out(range);
    }

    fn take_out(&mut self, range: &Range<u64>) {
        let inside: Vec<u64> =
            self.ranges.range(..range.end).filter(|entry| *entry.1 > range.start).map(|e| *e.0).collect();
        for start in inside {
            let Some(end) = self.ranges.remove(&start) else { continue };
            if start < range.start {
                self.ranges.insert(start, range.start);
            }
            if end > range.end {
                self.ranges.insert(range.end, end);
            }
        }
    }

    /// Whole pages are forgotten; what shares one with neighbours is cleared by the byte.
    fn clear_pages(&mut self, range: &Range<u64>) {
        let numbers = range.start.div_ceil(PAGE)..range.end / PAGE;
        if numbers.is_empty() || numbers.end - numbers.start <= self.pages.len() as u64 {
            return self.spoil(range.clone());
        }
        self.pages.retain(|number, _| !numbers.contains(number));
        self.spoil(range.start..numbers.start * PAGE);
        self.spoil(numbers.end * PAGE..range.end);
    }

    /// Bytes are written.
    pub(super) fn write(&mut self, range: Range<u64>) {
        self.mark(range, true);
    }

    /// Bytes that hold what nobody has written are written.
    pub(super) fn spoil(&mut self, range: Range<u64>) {
        self.mark(range, false);
    }

    fn mark(&mut self, range: Range<u64>, written: bool) {
        if !self.is_fresh(&range) {
            return;
        }
        if !written {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        let mut at = range.start;
        while at < range.end {
            let number = at / PAGE;
            let end = range.end.min((number + 1) * PAGE);
            match (end - at == PAGE, written) {
                (true, true) => _ = self.pages.insert(number, Box::new([u64::MAX; 64])),
                (true, false) => _ = self.pages.remove(&number),
                (false, true) => {
                    let page = self.pages.entry(number).or_insert_with(|| Box::new([0; 64]));
                    words(at..end).for_each(|(_, mask, word)| page[word] |= mask);
                }
                (false, false) => {
                    if let Some(page) = self.pages.get_mut(&number) {
                        words(at..end).for_each(|(_, mask, word)| page[word] &= !mask);
                    }
                }
            }
            at = end;
        }
    }

    /// As many bytes from `from` on as `to` has are copied there, written or not.
    pub(super) fn copy(&mut self, from: u64, to: Range<u64>) {
        if !self.is_fresh(&to) {
            return;
        }
        self.settle(&(from..from + (to.end - to.start)));
        let gaps = self.gaps(from..from + (to.end - to.start));
        let start = to.start;
        self.write(to);
        for gap in gaps {
            self.spoil(gap.start - from + start..gap.end - from + start);
        }
    }

    fn is_fresh(&self, range: &Range<u64>) -> bool {
        self.ranges.range(..range.end).next_back().is_some_and(|(_, &end)| end > range.start)
    }

    /// The first byte of a range that nobody has written.
    pub(super) fn unwritten(&self, range: Range<u64>) -> Option<u64> {
        if !self.is_fresh(&range) {
            return None;
        }
        let mut page = (u64::MAX, None);
        for (number, mask, word) in words(range) {
            if page.0 != number {
                page = (number, self.pages.get(&number));
            }
            let mut left = mask & !page.1.map_or(0, |page| page[word]);
            while left != 0 {
                let address = number * PAGE + word as u64 * 64 + u64::from(left.trailing_zeros());
                if self.is_fresh(&(address..address + 1)) {
                    return Some(address);
                }
                left &= left - 1;
            }
        }
        None
    }

    /// The parts of a range that nobody has written, ascending.
    pub(super) fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps: Vec<Range<u64>> = Vec::new();
        let inside = self.ranges.range(..range.end).filter(|(_, end)| **end > range.start);
        for (start, end) in inside {
            for (number, mask, word) in words(range.start.max(*start)..range.end.min(*end)) {
                let mut left = mask & !self.pages.get(&number).map_or(0, |page| page[word]);
                let base = number * PAGE + word as u64 * 64;
                while left != 0 {
                    let (from, len) = (left.trailing_zeros(), (left >> left.trailing_zeros()).trailing_ones());
                    let gap = base + u64::from(from)..base + u64::from(from + len);
                    left &= u64::MAX.checked_shl(from + len).unwrap_or(0);
                    match gaps.last_mut() {
                        Some(last) if last.end == gap.start => last.end = gap.end,
                        _ => gaps.push(gap),
                    }
                }
            }
        }
        gaps
    }
}

/// The words of bits of a range: page, bits, word in the page.
fn words(range: Range<u64>) -> impl Iterator<Item = (u64, u64, usize)> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= range.end {
            return None;
        }
        let end = range.end.min((at / 64 + 1) * 64);
        let mask = u64::MAX >> (64 - (end - at)) << (at % 64);
        let place = (at / PAGE, mask, (at % PAGE / 64) as usize);
        at = end;
        Some(place)
    })
}

/// Pages whose bytes have all been written, or are followed by nobody: what a CTA has found out.
pub(super) struct Known {
    changes: Arc<AtomicU64>,
    /// As many as there were when the pages were found.
    seen: u64,
    /// Numbers of pages and one, by the last bits of the number.
    pages: [u64; Known::PAGES as usize],
}

impl Known {
    const PAGES: u64 = 64;
    /// Bytes that are looked at together, at most.
    const MOST: u64 = 4 * PAGE;

    pub(super) fn new(fresh: &Fresh) -> Known {
        Known { changes: fresh.changes.clone(), seen: 0, pages: [0; Known::PAGES as usize] }
    }

    /// Whether all bytes of a range are in such pages.
    #[inline]
    pub(super) fn has(&mut self, range: &Range<u64>) -> bool {
        let now = self.changes.load(Ordering::Relaxed);
        if self.seen != now {
            self.seen = now;
            self.pages.fill(0);
        }
        let numbers = range.start / PAGE..range.end.div_ceil(PAGE);
        range.end - range.start <= Known::MOST
            && numbers.into_iter().all(|number| self.pages[(number % Known::PAGES) as usize] == number + 1)
    }

    /// Whether all bytes of a range have been written.
    #[inline]
    pub(super) fn is_written(&mut self, range: &Range<u64>, fresh: &Mutex<Fresh>) -> bool {
        self.has(range) || range.end - range.start <= Known::MOST && self.find_out(range, fresh)
    }

    #[inline(never)]
    fn find_out(&mut self, range: &Range<u64>, fresh: &Mutex<Fresh>) -> bool {
        let mut fresh = fresh.lock();
        fresh.settle(range);
        for number in range.start / PAGE..range.end.div_ceil(PAGE) {
            if fresh.unwritten(number * PAGE..(number + 1) * PAGE).is_none() {
                self.pages[(number % Known::PAGES) as usize] = number + 1;
            }
        }
        fresh.unwritten(range.clone()).is_none()
    }
}

/// Shared memory of a CTA: a bit for each byte that was written.
#[derive(Default)]
pub(super) struct Bytes {
    written: Vec<u64>,
}

impl Bytes {
    pub(super) fn write(&mut self, range: Range<u64>, defined: bool) {
        for (word, mask) in bits(range) {
            if self.written.len() <= word {
                self.written.resize(word + 1, 0);
            }
            if defined {
                self.written[word] |= mask;
            } else {
                self.written[word] &= !mask;
            }
        }
    }

    #[inline]
    pub(super) fn is_written(&self, range: &Range<u64>) -> bool {
        bits(range.clone()).all(|(word, mask)| self.written.get(word).is_some_and(|bits| mask & !bits == 0))
    }

    pub(super) fn unwritten(&self, mut range: Range<u64>) -> Option<u64> {
        if self.is_written(&range) {
            return None;
        }
        range.find(|&at| !self.is_written(&(at..at + 1)))
    }
}

/// The words of bits of a range, and which of their bits.
fn bits(range: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    words(range).map(|(page, mask, word)| ((page * (PAGE / 64)) as usize + word, mask))
}

/// Local memory of a warp: for each byte the lanes that have written it.
#[derive(Default)]
pub(super) struct Local {
    written: Vec<u32>,
    /// Values cross calls in it, of which nothing is told: all counts as written.
    pub(super) unknown: bool,
}

impl Local {
    pub(super) fn write(&mut self, range: Range<u64>, lanes: u32, defined: bool) {
        for at in range {
            let at = at as usize;
            if self.written.len() <= at {
                self.written.resize(at + 1, 0);
            }
            self.written[at] = self.written[at] & !lanes | if defined { lanes } else { 0 };
        }
    }

    /// Whether lanes have written all bytes of a range.
    pub(super) fn is_written(&self, mut range: Range<u64>, lanes: u32) -> bool {
        self.unknown || range.all(|at| self.written.get(at as usize).is_some_and(|written| lanes & !written == 0))
    }

    pub(super) fn unwritten(&self, mut range: Range<u64>, lane: u32) -> Option<u64> {
        if self.unknown {
            return None;
        }
        range.find(|&at| self.written.get(at as usize).is_none_or(|lanes| lanes >> lane & 1 == 0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Fresh;

    proptest! {
        #[test]
        fn bytes_are_written_or_not_one_by_one(acts in prop::collection::vec((0u64..3, 0u64..9000, 1u64..5000), 1..20)) {
            let mut fresh = Fresh::default();
            fresh.add(100..9100);
            let mut written = vec![false; 20000];
            written[..100].fill(true);
            written[9100..].fill(true);
            for (act, start, len) in acts {
                let range = start..start + len;
                let inside = (range.start.max(100) as usize)..(range.end.clamp(100, 9100) as usize);
                match act {
                    0 => fresh.spoil(range.clone()),
                    _ => fresh.write(range.clone()),
                }
                if inside.start < inside.end {
                    written[inside].fill(act != 0);
                }
                let expected = (0..15000u64).find(|&at| !written[at as usize]);
                prop_assert_eq!(fresh.unwritten(0..15000), expected);
            }
        }
    }

    #[test]
    fn copies_take_along_what_is_not_written() {
        let mut fresh = Fresh::default();
        fresh.add(0..0x3000);
        fresh.write(0..0x2000);
        fresh.spoil(10..20);
        fresh.spoil(100..0x1100);
        fresh.copy(5, 0x2000..0x3000);
        assert_eq!(fresh.gaps(0x2000..0x3000), [0x2005..0x200f, 0x205f..0x3000]);
        // What is in no fresh memory counts as written.
        fresh.copy(0x10_0000, 0x2000..0x2080);
        let rest = 0x2080..0x3000;
        assert_eq!(fresh.gaps(0x1ff0..0x3008), [rest]);
    }

    #[test]
    fn neighbours_in_a_page_are_not_forgotten() {
        let mut fresh = Fresh::default();
        fresh.add(0..512);
        fresh.write(8..512);
        fresh.add(512..1024);
        assert_eq!(fresh.gaps(0..1024), [0..8, 512..1024]);
        fresh.write(512..1024);
        fresh.remove(&(0..512));
        assert_eq!((fresh.unwritten(0..512), fresh.unwritten(512..1024)), (None, None));
    }
}
