//! Which bytes were never written.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// A bit for each byte of a page: it was written.
type Page = Box<[u64; (PAGE / 64) as usize]>;

/// Device memory that was allocated and holds nothing of its own: pages are there once something is written to them.
#[derive(Default)]
pub(super) struct Fresh {
    /// The host's copies and fills are told of: without that nobody knows what was written.
    pub(super) told: bool,
    /// First address and end.
    ranges: BTreeMap<u64, u64>,
    pages: HashMap<u64, Page>,
}

impl Fresh {
    /// Memory whose bytes nobody has written.
    pub(super) fn add(&mut self, range: Range<u64>) {
        self.remove(&range);
        self.ranges.insert(range.start, range.end);
        self.clear_pages(&range);
    }

    /// Memory that is no more, or of which nothing is known.
    pub(super) fn remove(&mut self, range: &Range<u64>) {
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

    fn clear_pages(&mut self, range: &Range<u64>) {
        let numbers = range.start / PAGE..range.end.div_ceil(PAGE);
        if numbers.end - numbers.start > self.pages.len() as u64 {
            self.pages.retain(|number, _| !numbers.contains(number));
        } else {
            for number in numbers {
                self.pages.remove(&number);
            }
        }
        // The ends of neighbours lie in the same pages: what is forgotten of them counts as written.
        let neighbours = [range.start / PAGE * PAGE..range.start, range.end..range.end.next_multiple_of(PAGE)];
        for neighbour in neighbours.into_iter().filter(|range| !range.is_empty()) {
            self.write(neighbour);
        }
    }

    /// Bytes are written.
    pub(super) fn write(&mut self, range: Range<u64>) {
        if !self.is_fresh(&range) {
            return;
        }
        for (number, mask, word) in words(range) {
            self.pages.entry(number).or_insert_with(|| Box::new([0; 64]))[word] |= mask;
        }
    }

    /// Bytes that hold what nobody has written are written.
    pub(super) fn spoil(&mut self, range: Range<u64>) {
        if !self.is_fresh(&range) {
            return;
        }
        for (number, mask, word) in words(range) {
            if let Some(page) = self.pages.get_mut(&number) {
                page[word] &= !mask;
            }
        }
    }

    fn is_fresh(&self, range: &Range<u64>) -> bool {
        self.ranges.range(..range.end).next_back().is_some_and(|(_, &end)| end > range.start)
    }

    /// The first byte of a range that nobody has written.
    pub(super) fn unwritten(&self, range: Range<u64>) -> Option<u64> {
        if !self.told || !self.is_fresh(&range) {
            return None;
        }
        for (number, mask, word) in words(range) {
            let mut left = mask & !self.pages.get(&number).map_or(0, |page| page[word]);
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

/// Shared memory of a CTA: a bit for each byte that was written.
#[derive(Default)]
pub(super) struct Bytes {
    written: Vec<u64>,
}

impl Bytes {
    pub(super) fn write(&mut self, range: Range<u64>, defined: bool) {
        for at in range {
            let (word, bit) = ((at / 64) as usize, 1 << (at % 64));
            if self.written.len() <= word {
                self.written.resize(word + 1, 0);
            }
            if defined {
                self.written[word] |= bit;
            } else {
                self.written[word] &= !bit;
            }
        }
    }

    pub(super) fn unwritten(&self, mut range: Range<u64>) -> Option<u64> {
        range.find(|at| self.written.get((at / 64) as usize).is_none_or(|word| word >> (at % 64) & 1 == 0))
    }
}

/// Local memory of a warp: for each byte the lanes that have written it.
#[derive(Default)]
pub(super) struct Local {
    written: Vec<u32>,
    /// Values cross calls in it, of which nothing is told: all counts as written.
    pub(super) unknown: bool,
}

impl Local {
    pub(super) fn write(&mut self, range: Range<u64>, lane: u32, defined: bool) {
        for at in range {
            let at = at as usize;
            if self.written.len() <= at {
                self.written.resize(at + 1, 0);
            }
            self.written[at] = self.written[at] & !(1 << lane) | u32::from(defined) << lane;
        }
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
            let mut fresh = Fresh { told: true, ..Fresh::default() };
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
    fn nothing_is_known_before_the_host_tells_of_its_copies() {
        let mut fresh = Fresh::default();
        fresh.add(0..512);
        assert_eq!(fresh.unwritten(0..512), None);
        fresh.told = true;
        assert_eq!(fresh.unwritten(0..512), Some(0));
    }

    #[test]
    fn neighbours_in_a_page_are_not_forgotten() {
        let mut fresh = Fresh { told: true, ..Fresh::default() };
        fresh.add(0..512);
        fresh.add(512..1024);
        assert_eq!(fresh.unwritten(512..1024), Some(512));
        fresh.write(512..1024);
        fresh.remove(&(0..512));
        assert_eq!((fresh.unwritten(0..512), fresh.unwritten(512..1024)), (None, None));
    }
}
