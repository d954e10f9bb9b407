//! What an instruction accesses, as rows of words that are looked up together: in each the lanes go on as the addresses do.

use smallvec::SmallVec;
use warploom_exec::address::split_shared;
use warploom_exec::memory::Spread;
use warploom_exec::observe::Access as Told;

use super::actor::Actor;
use super::cluster::Cta;
use super::memory::{Memory, REGION};
use super::pieces::{pieces, words};
use super::shadow::{Access, Conflict, FIXED, Kind, Memo, Region, WHOLE, turn};

/// Lanes of half a warp.
const HALF: u32 = 16;

/// Words in a row, of which the same bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    address: u64,
    words: u64,
    /// Lanes, turned right by the address.
    relative: u32,
    bytes: u8,
}

/// All of them.
pub(super) struct Rows {
    rows: SmallVec<[Row; 8]>,
    /// By which power of two addresses are divided before lanes are turned by them.
    pub(super) turn: u8,
}

impl Rows {
    /// Those of an access by the lanes of a mask.
    pub(super) fn of(mask: u32, told: &Told<'_>, kind: Kind) -> Rows {
        let bytes = u64::from(told.bytes);
        let regular = bytes.is_power_of_two() && bytes <= 64;
        let turn = if regular { bytes.trailing_zeros() as u8 } else { FIXED };
        let starts = [told.addresses[0], told.addresses[HALF as usize]];
        let whole = bytes.is_multiple_of(4) && starts.iter().all(|start| start.is_multiple_of(4));
        let stores = kind.writes() && !kind.reads();
        let joined = starts[1] == starts[0].wrapping_add(u64::from(HALF) * u64::from(told.apart));
        let apart = starts[0].abs_diff(starts[1]) >= u64::from(HALF) * bytes;
        match told.spread {
            Spread::Same if whole => {
                let mut rows = Rows { rows: SmallVec::new(), turn: FIXED };
                if starts[0] == starts[1] {
                    rows.push(starts[0], bytes / 4, u32::MAX, WHOLE);
                } else if bytes == 4 || !kind.writes() {
                    rows.push(starts[0], bytes / 4, 0xffff, WHOLE);
                    rows.push(starts[1], bytes / 4, 0xffff_0000, WHOLE);
                } else {
                    return Rows::one_by_one(mask, told, stores, turn);
                }
                rows
            }
            Spread::Consecutive
                if whole
                    && regular
                    && told.apart == told.bytes
                    && (joined || apart || !stores)
                    && starts.iter().all(|start| start.is_multiple_of(bytes)) =>
            {
                let mut rows = Rows { rows: SmallVec::new(), turn };
                let half = u64::from(HALF) * bytes / 4;
                if joined {
                    rows.push(starts[0], 2 * half, 1, WHOLE);
                } else {
                    rows.push(starts[0], half, 1, WHOLE);
                    rows.push(starts[1], half, 1 << HALF, WHOLE);
                }
                rows
            }
            Spread::Consecutive if whole && told.apart == 4 && !kind.writes() => {
                let mut rows = Rows { rows: SmallVec::new(), turn: 2 };
                if joined {
                    rows.push_overlapping(starts[0], told.bytes / 4, 2 * HALF, 0);
                } else {
                    rows.push_overlapping(starts[0], told.bytes / 4, HALF, 0);
                    rows.push_overlapping(starts[1], told.bytes / 4, HALF, HALF);
                }
                rows
            }
            _ => Rows::one_by_one(mask, told, stores, turn),
        }
    }

    fn push(&mut self, address: u64, words: u64, lanes: u32, bytes: u8) {
        self.rows.push(Row { address, words, relative: lanes.rotate_right(turn(address, self.turn)), bytes });
    }

    /// Lanes from `first` on, each of which accesses so many words, one word behind the lane before.
    fn push_overlapping(&mut self, address: u64, words: u32, lanes: u32, first: u32) {
        let mut before = None;
        for word in 0..lanes - 1 + words {
            let (low, high) = ((word + 1).saturating_sub(words), word.min(lanes - 1));
            let here = ((u64::MAX >> (63 - (high - low))) << low << first) as u32;
            match self.rows.last_mut() {
                Some(row) if before.is_some_and(|before: u32| u64::from(before) << 1 == u64::from(here)) => {
                    row.words += 1
                }
                _ => self.push(address.wrapping_add(4 * u64::from(word)), 1, here, WHOLE),
            }
            before = Some(here);
        }
    }

    fn one_by_one(mask: u32, told: &Told<'_>, stores: bool, turn: u8) -> Rows {
        let mut rows = Rows { rows: SmallVec::new(), turn };
        let bytes = u64::from(told.bytes);
        let mut before = None;
        for (address, lanes) in pieces(mask, told.addresses, stores) {
            // Bulk copies: one lane.
            if turn == FIXED && bytes.is_multiple_of(4) && address.is_multiple_of(4) {
                rows.push(address, bytes / 4, lanes, WHOLE);
                continue;
            }
            if !(bytes.is_multiple_of(4) && address.is_multiple_of(bytes) && turn != FIXED) {
                for (word, bytes) in words(address, bytes) {
                    rows.push(word, 1, lanes, bytes);
                }
                continue;
            }
            match rows.rows.last_mut() {
                Some(row) if before == Some((address - bytes.min(address), lanes >> 1)) && lanes.is_power_of_two() => {
                    row.words += bytes / 4;
                }
                _ => rows.push(address, bytes / 4, lanes, WHOLE),
            }
            before = Some((address, lanes));
        }
        rows
    }

    /// Looks them up in the shadows of the CTAs of a cluster.
    #[expect(clippy::vec_box, reason = "shadows change hands as pointers")]
    pub(super) fn in_shared(
        &self,
        ctas: &mut [Cta],
        spare: &mut Vec<Box<Region>>,
        access: &Access,
        actor: &Actor<'_>,
        conflicts: &mut Vec<Conflict>,
    ) {
        let mut memo = Memo::default();
        for part in self.rows.iter().flat_map(|row| row.parts()) {
            let (rank, offset) = split_shared(part.address as u32);
            let Some(cta) = ctas.get_mut(rank as usize) else { continue };
            let index = u64::from(offset) / REGION;
            memo.enter((u64::from(rank), index));
            let region = cta.region(index as usize).get_or_insert_with(|| spare.pop().unwrap_or_default());
            part.look_up(region, access, actor, &mut memo, conflicts);
        }
    }

    /// Looks them up in the shadow of global memory.
    pub(super) fn in_global(&self, memory: &Memory, access: &Access, actor: &Actor<'_>, conflicts: &mut Vec<Conflict>) {
        let mut memo = Memo::default();
        let mut held = None;
        for part in self.rows.iter().flat_map(|row| row.parts()) {
            let number = part.address / REGION;
            if held.as_ref().is_none_or(|&(other, _)| other != number) {
                // Two are never held at once.
                drop(held.take());
                memo.enter((0, number));
                held = memory.region(number).map(|region| (number, region.lock()));
            }
            let Some((_, region)) = &mut held else { continue };
            part.look_up(region.get_or_insert_default(), access, actor, &mut memo, conflicts);
        }
    }
}

impl Row {
    /// Its parts, each in one region.
    fn parts(self) -> impl Iterator<Item = Row> {
        let mut left = self;
        std::iter::from_fn(move || {
            let words = left.words.min((REGION - left.address % REGION) / 4);
            let part = Row { words, ..left };
            left.address = left.address.wrapping_add(4 * words);
            left.words -= words;
            (words != 0).then_some(part)
        })
    }

    fn look_up(
        self,
        region: &mut Region,
        access: &Access,
        actor: &Actor<'_>,
        memo: &mut Memo,
        conflicts: &mut Vec<Conflict>,
    ) {
        let first = (self.address % REGION / 4) as usize;
        let words = first..first + self.words as usize;
        region.row((words, self.address), (self.relative, self.bytes), access, actor, memo, conflicts);
    }
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::{Row, Rows};
    use crate::race::shadow::turn;

    #[test]
    fn lanes_that_read_over_each_other_are_known_at_each_word() {
        for (words, lanes, first) in [(1, 16, 0), (7, 16, 16), (16, 16, 0), (20, 16, 16), (3, 32, 0), (40, 32, 0)] {
            let start = 0x1_0ff4u64;
            let mut rows = Rows { rows: SmallVec::new(), turn: 2 };
            rows.push_overlapping(start, words, lanes, first);
            let mut next = start;
            for row in rows.rows.iter().flat_map(|row| row.parts()) {
                let Row { address, words: count, relative, bytes } = row;
                assert_eq!((address, bytes), (next, 0b1111));
                for word in 0..count {
                    let here = address + 4 * word;
                    let index = (here - start) / 4;
                    let reads = |lane: &u32| (u64::from(*lane)..u64::from(lane + words)).contains(&index);
                    let expected = (0..lanes).filter(reads).fold(0u32, |mask, lane| mask | 1 << (lane + first));
                    assert_eq!(relative.rotate_left(turn(here, 2)), expected, "word {index} of {words} x {lanes}");
                }
                next = address + 4 * count;
            }
            assert_eq!(next, start + 4 * u64::from(lanes - 1 + words));
        }
    }
}
