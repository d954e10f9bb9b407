//! Weak reads of rows of words: remembered by the row, for a region.
//!
//! What a grid only reads is read in rows, by many warps, and often the same rows. So a row has one entry for all who have read it, the words
//! no cells, and to remember a read costs the same for long rows as for short ones. Writes are held against the entries.

use std::ops::Range;

use super::actor::Actor;
use super::note::Note;
use super::shadow::WORDS;

/// Words of a block: parts of a region of which it is known whether anything in them was read.
const BLOCK: usize = WORDS / 64;
/// Entries of the smallest table of their places.
const HEADS: usize = 8;
/// Entries that a region has at most.
const MOST: usize = 1024;

/// Which words of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: u16,
    pub(super) to: u16,
    /// Where lanes each read so many words, one word behind the lane before; 0 where they go on as the addresses do.
    pub(super) each: u8,
    /// The first of those, which may lie before the region.
    pub(super) base: i16,
}

impl Span {
    pub(super) fn words(&self) -> Range<usize> {
        self.from.into()..self.to.into()
    }

    /// `note` for one of the words.
    pub(super) fn note_at(&self, note: &Note, word: usize) -> Note {
        if self.each == 0 {
            return *note;
        }
        // Lanes go on from the lowest one, as the words from the first one.
        let (first, last) = (note.lanes.trailing_zeros(), note.lanes.count_ones() - 1);
        let index = (word as i32 - i32::from(self.base)) as u32;
        let (low, high) = ((index + 1).saturating_sub(self.each.into()), index.min(last));
        let lanes = ((u64::MAX >> (63 - (high - low))) << low << first) as u32;
        Note { lanes: lanes.rotate_right(word as u32 & 31), turn: 2, ..*note }
    }
}

/// A row that was read. The note's `next` is the number of the next entry at the same place of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) span: Span,
    pub(super) note: Note,
}

impl Read {
    /// Whether it is no longer held against writes: its row is empty.
    fn is_over(&self) -> bool {
        self.span.from == self.span.to
    }
}

#[derive(Default)]
pub(super) struct Reads {
    list: Vec<Read>,
    over: usize,
    /// Numbers of entries, one more than their indices.
    heads: Vec<u16>,
    /// A bit for each block of which something may have been read.
    blocks: u64,
}

fn blocks(words: &Range<usize>) -> u64 {
    let (first, last) = (words.start / BLOCK, (words.end - 1) / BLOCK);
    u64::MAX >> (63 - (last - first)) << first
}

fn mixed(span: &Span, note: &Note) -> usize {
    let row = u32::from(span.from) << 16 | u32::from(span.to);
    let how = u32::from(note.turn) << 8 ^ u32::from(span.each);
    let mixed = row.wrapping_mul(0x9e37_79b9) ^ (note.lanes ^ how).wrapping_mul(0x85eb_ca6b);
    ((mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d) >> 8) as usize
}

impl Reads {
    pub(super) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Read>() + self.heads.capacity() * size_of::<u16>()
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.heads.fill(0);
        (self.over, self.blocks) = (0, 0);
    }

    /// Whether there is no place for one more.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// The entries, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Read> {
        self.list.iter().filter(|read| !read.is_over())
    }

    /// Whether something of a row was read.
    pub(super) fn has_any(&self, words: &Range<usize>) -> bool {
        self.blocks & blocks(words) != 0
    }

    /// Entries with words of a row, and their numbers.
    pub(super) fn of<'r>(&'r self, words: &'r Range<usize>) -> impl Iterator<Item = (usize, &'r Read)> {
        let overlaps = |read: &Read| usize::from(read.span.from) < words.end && words.start < usize::from(read.span.to);
        // One that is over still lies somewhere.
        let counts = move |read: &Read| !read.is_over() && overlaps(read);
        self.list.iter().enumerate().filter(move |(_, read)| counts(read))
    }

    /// An entry is over.
    pub(super) fn end(&mut self, number: usize) {
        let span = &mut self.list[number].span;
        span.to = span.from;
        self.over += 1;
        if self.over == self.list.len() {
            self.clear();
        }
    }

    /// Words are forgotten.
    pub(super) fn forget(&mut self, words: &Range<usize>) {
        let mut rest = Vec::new();
        for read in self.iter() {
            let old = read.span.words();
            for left in [old.start..old.end.min(words.start), old.start.max(words.end)..old.end] {
                if !left.is_empty() {
                    let span = Span { from: left.start as u16, to: left.end as u16, ..read.span };
                    rest.push(Read { span, ..*read });
                }
            }
        }
        self.list = rest;
        self.sort();
    }

    /// Remembers a read by the lanes of an actor.
    pub(super) fn add(&mut self, span: Span, note: Note, actor: &Actor<'_>) {
        let mut newest = None;
        let mut united = false;
        let mut at = self.heads.get(self.place(&span, &note)).copied().unwrap_or(0);
        while at != 0 {
            let index = usize::from(at) - 1;
            let Read { span: row, note: other } = &mut self.list[index];
            at = other.next as u16;
            if *row != span || (other.lanes, other.turn, other.kind) != (note.lanes, note.turn, note.kind) {
                continue;
            }
            let of_cta = other.cta == note.cta && other.last == note.cta;
            if other.time == note.time {
                if other.has(note.cta, note.warp) {
                    return;
                }
                if of_cta && other.warps != 0 && note.warps != 0 {
                    other.warps |= note.warps;
                    other.warp = other.warps.trailing_zeros() as u8;
                    return;
                }
            }
            let of_warp = of_cta && other.warp == note.warp && other.warps.count_ones() <= 1;
            if of_warp || actor.is_behind_all(other, actor.mask) {
                *other = Note { next: other.next, ..note };
                return;
            }
            match newest {
                None => newest = Some(index),
                // The CTA that read it last will not be joined by more of its warps, as a rule.
                Some(newest) if !united => {
                    united = true;
                    let both = self.list[newest].note.united(&self.list[index].note, actor.grid);
                    if let Some(both) = both {
                        self.list[index].note = Note { next: self.list[index].note.next, ..both };
                        self.list[newest].note = Note { next: self.list[newest].note.next, ..note };
                        return;
                    }
                }
                Some(_) => {}
            }
        }
        self.push(Read { span, note });
    }

    fn push(&mut self, read: Read) {
        self.blocks |= blocks(&read.span.words());
        if self.list.len() == self.list.capacity() {
            self.list.reserve_exact((self.list.len() / 2).max(4));
        }
        self.list.push(read);
        if self.over > self.list.len() / 2 || self.list.len() > 2 * self.heads.len() {
            self.list.retain(|read| !read.is_over());
            self.sort();
        } else {
            self.enter(self.list.len() - 1);
        }
    }

    /// Makes the table of what the list has.
    fn sort(&mut self) {
        self.heads = vec![0; self.list.len().next_power_of_two().max(HEADS)];
        (self.over, self.blocks) = (0, 0);
        for index in 0..self.list.len() {
            self.blocks |= blocks(&self.list[index].span.words());
            self.enter(index);
        }
    }

    fn enter(&mut self, index: usize) {
        let Read { span, note } = &self.list[index];
        let place = self.place(span, note);
        self.list[index].note.next = self.heads[place].into();
        self.heads[place] = index as u16 + 1;
    }

    fn place(&self, span: &Span, note: &Note) -> usize {
        mixed(span, note) & self.heads.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_not_ended_again() {
        let mut reads = Reads::default();
        for (from, to) in [(4, 8), (16, 24)] {
            reads.push(Read { span: Span { from, to, each: 0, base: 0 }, note: Note::default() });
        }
        // Writes of a row around the first one.
        for _ in 0..2 {
            let inside: Vec<usize> = reads.of(&(0..12)).map(|(number, _)| number).collect();
            inside.into_iter().for_each(|number| reads.end(number));
        }
        assert_eq!(reads.of(&(0..32)).count(), 1);
        assert!(reads.has_any(&(16..24)));
    }
}
