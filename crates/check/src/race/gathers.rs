//! Weak reads of words here and there: each remembered in two bytes, for a region.
//!
//! What a grid only reads, and not in rows (tables, columns of sparse matrices, neighbours in a graph), is read by many warps, each word by a
//! few. Cells for such words would each have a chain of notes of its own. So a region writes down who reads, once for as long as the same warp
//! goes on at the same time, and behind it a number for each word and lane. Writes are held against that: what they are
//! ordered behind is over; for others the words get cells, and so do what the rest of the grid reads in the region.

use std::ops::Range;

use super::actor::Actor;
use super::note::{FIXED, Kind, Note, Strength, WHOLE};
use super::shadow::{CROWD, WORDS};

/// Numbers that a region has before it looks for ones it does not need.
const MANY: usize = 1 << 14;
/// Numbers that are looked through for each write that is no earlier grid's.
const FEW: usize = 1 << 8;
/// Set in the first number of those that say who reads.
const WHO: u16 = 1 << 15;
/// Numbers that say who reads.
const HEAD: usize = 7;

/// A warp, at one of its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Who {
    cta: u32,
    time: u32,
    warp: u8,
}

impl Who {
    fn of(actor: &Actor<'_>, time: u32) -> Who {
        Who { cta: actor.cta, time, warp: actor.warp }
    }

    fn note(self, place: u32) -> Note {
        let Who { cta, time, warp } = self;
        let warps = if warp < 32 { 1 << warp } else { 0 };
        // Words are accesses of their own (PTX ISA 8.2.2).
        let kind = Kind::new(Strength::Weak, true, false, 4);
        let bytes = WHOLE;
        Note { cta, last: cta, warps, time, place, warp, bytes, kind, turn: FIXED, ..Note::default() }
    }
}

/// One lane has read one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Read {
    who: Who,
    /// Of a word's number the ten bits above those of the lane's.
    what: u16,
    place: u32,
}

impl Read {
    fn word(&self) -> usize {
        usize::from(self.what >> 5)
    }
}

#[derive(Default)]
pub(super) struct Gathers {
    /// Who reads, and what.
    numbers: Vec<u16>,
    /// Who is the last of them.
    last: Option<Who>,
    /// A bit for each word that was read.
    words: [u64; WORDS / 64],
    /// The highest of the numbers of CTAs that have read.
    reader: u32,
    /// How many numbers there may be before the next look.
    limit: usize,
    /// CTAs below this number use cells.
    off: u32,
}

impl Gathers {
    pub(super) fn bytes(&self) -> usize {
        size_of::<Gathers>() + self.numbers.capacity() * size_of::<u16>()
    }

    /// Whether reads of an actor are written down here.
    pub(super) fn is_for(&self, actor: &Actor<'_>) -> bool {
        actor.cta >= self.off
    }

    /// Whether one of some words was read.
    #[inline]
    pub(super) fn has_any(&self, words: &Range<usize>) -> bool {
        bits(words).any(|(at, bits)| self.words[at] & bits != 0)
    }

    /// A lane reads a word.
    #[inline]
    pub(super) fn add(&mut self, word: usize, lane: u32, (time, place): (u32, u32), actor: &Actor<'_>) {
        let who = Who::of(actor, time);
        if self.last != Some(who) {
            self.enter(who, place, actor);
        }
        self.words[word / 64] |= 1 << (word % 64);
        if self.numbers.len() == self.numbers.capacity() {
            self.numbers.reserve_exact((self.numbers.len() / 2).max(16));
        }
        self.numbers.push((word as u16) << 5 | lane as u16);
    }

    /// Says who reads from here on.
    #[inline(never)]
    fn enter(&mut self, who: Who, place: u32, actor: &Actor<'_>) {
        if self.numbers.len() >= self.limit.max(MANY) {
            self.sort_out(actor);
        }
        self.reader = self.reader.max(who.cta);
        self.last = Some(who);
        self.numbers.extend(head(who, place));
    }

    /// What was read, oldest first.
    fn reads(&self) -> impl Iterator<Item = Read> {
        let mut who = Who { cta: 0, time: 0, warp: 0 };
        let (mut place, mut at) = (0, 0);
        std::iter::from_fn(move || {
            while let Some([first, cta @ .., time, time_high, place_low, place_high]) =
                self.numbers.get(at..at + HEAD).filter(|head| head[0] & WHO != 0)
            {
                let wide = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
                who = Who { cta: wide(cta[0], cta[1]), time: wide(*time, *time_high), warp: *first as u8 };
                place = wide(*place_low, *place_high);
                at += HEAD;
            }
            let what = *self.numbers.get(at)?;
            at += 1;
            Some(Read { who, what, place })
        })
    }

    /// The reads of one word.
    pub(super) fn of(&self, word: usize) -> impl Iterator<Item = Note> {
        let any = self.has_any(&(word..word + 1));
        let reads = any.then(|| self.reads()).into_iter().flatten();
        reads.filter(move |read| read.word() == word).map(note)
    }

    /// Whether all reads come before what an actor does, as far as that is soon told.
    pub(super) fn is_before(&self, actor: &Actor<'_>) -> bool {
        actor.knows_grids_up_to(self.reader)
            || self.numbers.len() <= FEW
                && self.reads().all(|read| actor.is_behind_all(&read.who.note(read.place), actor.mask))
    }

    /// Words are written behind all who have read them. What they have read is not held against later writes, which come behind this one, or
    /// are in conflict with it.
    pub(super) fn end(&mut self, words: &Range<usize>) {
        for (at, bits) in bits(words) {
            self.words[at] &= !bits;
        }
        if self.words == [0; WORDS / 64] {
            self.clear();
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Gathers { off: self.off, ..Gathers::default() };
    }

    /// Words are forgotten.
    pub(super) fn forget(&mut self, words: &Range<usize>) {
        if self.has_any(words) {
            let kept = self.reads().filter(|read| !words.contains(&read.word())).collect();
            self.keep(kept);
        }
    }

    /// All that was read, oldest first, for cells; the rest of an actor's grid shall use these too.
    pub(super) fn disperse(&mut self, actor: &Actor<'_>) -> Vec<(usize, Note)> {
        let all = self.reads().map(|read| (read.word(), note(read))).collect();
        self.clear();
        self.off = actor.grid.ctas.end;
        all
    }

    /// Leaves out what was read twice, what an earlier grid has read as this one has, and what is beyond the number of reads that are remembered
    /// of a word: the oldest.
    fn sort_out(&mut self, actor: &Actor<'_>) {
        let mut all: Vec<Read> = self.reads().collect();
        let mut here = [0u64; WORDS / 64];
        for read in all.iter().filter(|read| actor.grid.ctas.contains(&read.who.cta)) {
            here[read.word() / 64] |= 1 << (read.word() % 64);
        }
        let again = |read: &Read| here[read.word() / 64] >> (read.word() % 64) & 1 != 0;
        all.retain(|read| !again(read) || !actor.grid.knows_grid_of(read.who.cta));
        all.sort_unstable();
        all.dedup_by_key(|read| (read.who, read.what));
        let mut left = [CROWD as u8; WORDS];
        let mut newest = |read: &Read| {
            let left = &mut left[read.word()];
            *left = left.saturating_sub(1);
            *left != 0
        };
        let mut kept: Vec<Read> = all.into_iter().rev().filter(|read| newest(read)).collect();
        kept.reverse();
        self.keep(kept);
        self.limit = 2 * self.numbers.len();
    }

    /// These are all reads.
    fn keep(&mut self, reads: Vec<Read>) {
        let (off, limit) = (self.off, self.limit);
        *self = Gathers { off, limit, ..Gathers::default() };
        for read in reads {
            if self.last != Some(read.who) {
                self.numbers.extend(head(read.who, read.place));
                self.last = Some(read.who);
                self.reader = self.reader.max(read.who.cta);
            }
            self.words[read.word() / 64] |= 1 << (read.word() % 64);
            self.numbers.push(read.what);
        }
    }
}

fn head(who: Who, place: u32) -> [u16; HEAD] {
    let [cta, time, place] = [who.cta, who.time, place].map(|wide| [wide as u16, (wide >> 16) as u16]);
    [WHO | u16::from(who.warp), cta[0], cta[1], time[0], time[1], place[0], place[1]]
}

fn note(read: Read) -> Note {
    Note { lanes: 1 << (read.what & 31), ..read.who.note(read.place) }
}

/// The words of bits of a range of words, and which of their bits.
fn bits(words: &Range<usize>) -> impl Iterator<Item = (usize, u64)> + use<> {
    let Range { mut start, end } = *words;
    std::iter::from_fn(move || {
        if start >= end {
            return None;
        }
        let stop = end.min((start / 64 + 1) * 64);
        let bits = u64::MAX >> (64 - (stop - start)) << (start % 64);
        let at = start / 64;
        start = stop;
        Some((at, bits))
    })
}
