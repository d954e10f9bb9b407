//! What an instruction accesses, as rows of words that are looked up together: in each the lanes go on as the addresses do.

use smallvec::SmallVec;
use warploom_exec::address::split_shared;
use warploom_exec::memory::Spread;
use warploom_exec::observe::Access as Told;

use super::actor::Actor;
use super::cluster::Cta;
use super::memory::{Memory, REGION};
use super::note::{Access, Conflict, FIXED, Kind, WHOLE, turn};
use super::pieces::{lanes, pieces, words};
use super::reads::Span;
use super::shadow::{Memo, Region};

/// Lanes of half a warp.
const HALF: u32 = 16;
/// Words that a row has at least for a read of it to be remembered by the row.
const LONG: u32 = 4;

/// Words in a row, of which the same bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    address: u64,
    words: u32,
    /// Lanes, turned right by the address.
    relative: u32,
    bytes: u8,
    /// Where not 0: the lanes, which are not turned, each read so many words, one word behind the lane before.
    each: u8,
    /// Words of those before this part.
    before: u16,
}

/// All of them.
pub(super) struct Rows {
    rows: SmallVec<[Row; 32]>,
    /// By which power of two addresses are divided before lanes are turned by them.
    pub(super) turn: u8,
}

impl Rows {
    pub(super) fn none() -> Rows {
        Rows { rows: SmallVec::new(), turn: FIXED }
    }

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
            Spread::Consecutive if whole && told.apart == 4 && kind.is_weak_read() && bytes / 4 <= u8::MAX.into() => {
                let mut rows = Rows { rows: SmallVec::new(), turn: 2 };
                let each = (bytes / 4) as u8;
                if joined {
                    rows.push_overlapping(starts[0], each, u32::MAX);
                } else {
                    rows.push_overlapping(starts[0], each, 0xffff);
                    rows.push_overlapping(starts[1], each, 0xffff_0000);
                }
                rows
            }
            _ => Rows::one_by_one(mask, told, stores, turn),
        }
    }

    fn push(&mut self, address: u64, words: u64, lanes: u32, bytes: u8) {
        let relative = lanes.rotate_right(turn(address, self.turn));
        self.rows.push(Row { address, words: words as u32, relative, bytes, each: 0, before: 0 });
    }

    /// Lanes each of which reads so many words, one word behind the lane before.
    fn push_overlapping(&mut self, address: u64, each: u8, lanes: u32) {
        let words = u32::from(each) + lanes.count_ones() - 1;
        self.rows.push(Row { address, words, relative: lanes, bytes: WHOLE, each, before: 0 });
    }

    fn one_by_one(mask: u32, told: &Told<'_>, stores: bool, turn: u8) -> Rows {
        let bytes = u64::from(told.bytes);
        let pieces = pieces(mask, told.addresses, stores);
        let aligned = |address: u64| bytes.is_multiple_of(4) && address.is_multiple_of(bytes);
        if turn == FIXED || !pieces.iter().all(|&(address, _)| aligned(address)) {
            let mut rows = Rows { rows: SmallVec::new(), turn };
            for (address, lanes) in pieces {
                // Bulk copies: one lane.
                if turn == FIXED && bytes.is_multiple_of(4) && address.is_multiple_of(4) {
                    rows.push(address, bytes / 4, lanes, WHOLE);
                } else {
                    words(address, bytes).for_each(|(word, bytes)| rows.push(word, 1, lanes, bytes));
                }
            }
            return rows;
        }
        let follows = |before: (u64, u32), then: (u64, u32)| {
            before.0 + bytes == then.0 && before.1 << 1 == then.1 && then.1.is_power_of_two()
        };
        let relative = |(address, lanes): (u64, u32)| lanes.rotate_right(self::turn(address, turn));
        let alike = |pair: &[(u64, u32)]| relative(pair[0]) == relative(pair[1]);
        // Lanes that are not apart as they would be in a row, most of them, have each its own note.
        let regular = 2 * pieces.windows(2).filter(|pair| alike(pair)).count() >= pieces.len() - 1;
        let turn = if regular { turn } else { FIXED };
        let mut rows = Rows { rows: SmallVec::new(), turn };
        let mut before = None;
        for piece in pieces {
            match rows.rows.last_mut() {
                Some(row) if regular && before.is_some_and(|before| follows(before, piece)) => {
                    row.words += told.bytes / 4
                }
                _ => rows.push(piece.0, bytes / 4, piece.1, WHOLE),
            }
            before = Some(piece);
        }
        rows
    }

    /// Whether these are atomics of lanes on words here and there.
    #[inline]
    pub(super) fn may_update(told: &Told<'_>, access: &Access) -> bool {
        told.bytes == 4 && told.aligned && told.spread == Spread::Other && access.kind.is_strong_atomic()
    }

    /// Such atomics on words of shared memory that are updated all the time. The lanes of which more is to be said.
    #[inline]
    pub(super) fn update_shared(
        ctas: &mut [Cta],
        mask: u32,
        told: &Told<'_>,
        access: &Access,
        actor: &Actor<'_>,
    ) -> u32 {
        lanes(mask).fold(mask, |rest, lane| {
            let (rank, offset) = split_shared(told.addresses[lane as usize] as u32);
            let (index, word) = (u64::from(offset) / REGION, u64::from(offset) % REGION / 4);
            let region = ctas.get_mut(rank as usize).and_then(|cta| cta.shadow.get_mut(index as usize)?.as_deref_mut());
            let done = region.is_some_and(|region| region.update(word as usize, lane, access, actor));
            rest & !(u32::from(done) << lane)
        })
    }

    /// The same on words of global memory.
    #[inline(never)]
    pub(super) fn update_global(
        memory: &Memory,
        mask: u32,
        told: &Told<'_>,
        access: &Access,
        actor: &Actor<'_>,
    ) -> u32 {
        let (mut left, mut rest) = (mask, mask);
        while left != 0 {
            let number = told.addresses[left.trailing_zeros() as usize] / REGION;
            let inside = lanes(left).filter(|&lane| told.addresses[lane as usize] / REGION == number);
            let inside = inside.fold(0, |inside, lane| inside | 1u32 << lane);
            left &= !inside;
            let Some(mut region) = memory.region(number).map(|region| region.lock()) else { continue };
            let region = region.get_or_insert_default();
            for lane in lanes(inside) {
                let word = told.addresses[lane as usize] % REGION / 4;
                rest &= !(u32::from(region.update(word as usize, lane, access, actor)) << lane);
            }
        }
        rest
    }

    /// Whether these may be reads whose lanes read words here and there.
    #[inline]
    pub(super) fn may_gather(mask: u32, told: &Told<'_>, access: &Access) -> bool {
        let plain = matches!(told.bytes, 4 | 8 | 16) && told.aligned && told.align.is_multiple_of(told.bytes);
        plain && told.spread == Spread::Other && access.kind.is_weak_read() && scattered(mask, told)
    }

    /// Reads of global memory whose lanes read words here and there.
    #[inline(never)]
    pub(super) fn gather(
        memory: &Memory,
        mask: u32,
        told: &Told<'_>,
        access: &Access,
        actor: &Actor<'_>,
        conflicts: &mut Vec<Conflict>,
    ) {
        let bytes = u64::from(told.bytes);
        let access = Access { turn: FIXED, ..*access };
        let mut memo = Memo::default();
        let mut held = None;
        for lane in lanes(mask) {
            let address = told.addresses[lane as usize];
            let number = address / REGION;
            if held.as_ref().is_none_or(|&(other, _)| other != number) {
                drop(held.take());
                memo.enter((0, number));
                held = memory.region(number).map(|region| (number, region.lock()));
            }
            let Some((_, region)) = &mut held else { continue };
            let region = region.get_or_insert_default();
            for address in (address..address + bytes).step_by(4) {
                let word = (address % REGION / 4) as usize;
                region.gather((word, address), lane, &access, actor, &mut memo, conflicts);
            }
        }
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

/// Whether most lanes read neither behind the lane before, nor what that one reads.
#[inline(never)]
fn scattered(mask: u32, told: &Told<'_>) -> bool {
    let base = |lane: u32| told.addresses[lane as usize].wrapping_sub(u64::from(lane * told.bytes));
    let (mut left, mut in_rows, mut same) = (mask & mask.wrapping_sub(1), 0, 0);
    let mut before = mask.trailing_zeros() & 31;
    while left != 0 {
        let lane = left.trailing_zeros();
        left &= left - 1;
        in_rows += u32::from(base(lane) == base(before));
        same += u32::from(told.addresses[lane as usize] == told.addresses[before as usize]);
        before = lane;
    }
    let pairs = mask.count_ones().saturating_sub(1);
    2 * (in_rows + same) < pairs
}

impl Row {
    /// Its parts, each in one region.
    fn parts(self) -> impl Iterator<Item = Row> {
        let mut left = self;
        std::iter::from_fn(move || {
            let words = left.words.min(((REGION - left.address % REGION) / 4) as u32);
            let part = Row { words, ..left };
            left.address = left.address.wrapping_add(4 * u64::from(words));
            left.words -= words;
            left.before = left.before.wrapping_add(words as u16);
            (words != 0).then_some(part)
        })
    }

    /// Which words these are of their region.
    fn span(&self) -> Span {
        let from = (self.address % REGION / 4) as u16;
        let base = if self.each == 0 { 0 } else { from as i16 - self.before as i16 };
        Span { from, to: from + self.words as u16, each: self.each, base }
    }

    fn look_up(
        self,
        region: &mut Region,
        access: &Access,
        actor: &Actor<'_>,
        memo: &mut Memo,
        conflicts: &mut Vec<Conflict>,
    ) {
        let whole = self.words >= LONG && self.bytes == WHOLE;
        if self.each != 0 || whole && access.kind.is_weak_read() {
            let start = self.address - self.address % REGION;
            return region.read_row(self.span(), start, self.relative, access, actor, conflicts);
        }
        let first = (self.address % REGION / 4) as usize;
        let words = first..first + self.words as usize;
        region.row((words, self.address), (self.relative, self.bytes), access, actor, memo, conflicts);
    }
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::{REGION, Rows};
    use crate::race::note::{Note, turn};

    #[test]
    fn lanes_that_read_over_each_other_are_known_at_each_word() {
        for (each, lanes) in
            [(1, 0xffff), (7, 0xffff_0000), (16, 0xffff), (20, 0xffff_0000), (3, u32::MAX), (40, u32::MAX)]
        {
            let start = 0x1_0ff4u64;
            let mut rows = Rows { rows: SmallVec::new(), turn: 2 };
            rows.push_overlapping(start, each, lanes);
            let mut next = start;
            for row in rows.rows.iter().flat_map(|row| row.parts()) {
                assert_eq!(row.address, next);
                let note = Note { lanes: row.relative, turn: 2, ..Note::default() };
                for word in row.span().words() {
                    let here = next - next % REGION + 4 * word as u64;
                    let index = (here - start) / 4;
                    let reads = |lane: &u32| (u64::from(*lane)..u64::from(lane + u32::from(each))).contains(&index);
                    let expected = (0..lanes.count_ones()).filter(reads).fold(0u32, |mask, lane| mask | 1 << lane);
                    let found = row.span().note_at(&note, word);
                    assert_eq!(
                        found.lanes_at(here),
                        expected << lanes.trailing_zeros(),
                        "word {index} of {each} x {lanes:x}"
                    );
                    assert_eq!(turn(here, 2), word as u32 % 32);
                }
                next += 4 * u64::from(row.words);
            }
            assert_eq!(next, start + 4 * (u64::from(lanes.count_ones()) - 1 + u64::from(each)));
        }
    }
}
