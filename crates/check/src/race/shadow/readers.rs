//! Weak reads that have no cells: of rows, and of words here and there.

use std::ops::Range;

use smallvec::SmallVec;

use super::{CROWD, Cell, Memo, Region, WORDS};
use crate::race::actor::Actor;
use crate::race::note::{Access, Conflict, Note, WHOLE, turn};
use crate::race::reads::Span;

impl Region {
    /// The same of a weak read of whole words in a row, which is remembered as such. `address` is that of the region.
    pub(crate) fn read_row(
        &mut self,
        span: Span,
        address: u64,
        lanes: u32,
        access: &Access,
        actor: &Actor<'_>,
        conflicts: &mut Vec<Conflict>,
    ) {
        let note = Region::note((lanes, WHOLE), access, actor);
        let before = conflicts.len();
        if !self.cells.is_empty() && !actor.knows_grids_up_to(self.writer) {
            self.end_updates(span.words());
            if self.notes.len() > self.limit {
                self.collect();
            }
            self.check_row(&span, address, &note, actor, conflicts);
        }
        if access.tentative && conflicts.len() != before {
            return;
        }
        if self.reads.is_full() {
            self.disperse();
        }
        self.reads.add(span, note, actor);
    }

    /// The same of a weak read of one whole word by one lane, the words of whose warp lie here and there.
    #[inline]
    pub(crate) fn gather(
        &mut self,
        (word, address): (usize, u64),
        lane: u32,
        access: &Access,
        actor: &Actor<'_>,
        memo: &mut Memo,
        conflicts: &mut Vec<Conflict>,
    ) {
        let gathers = self.gathers.get_or_insert_default();
        if !gathers.is_for(actor) {
            return self.row((word..word + 1, address), (1 << lane, WHOLE), access, actor, memo, conflicts);
        }
        if !self.cells.is_empty() && !actor.knows_grids_up_to(self.writer) && self.cells[word] != Cell::default() {
            self.end_updates(word..word + 1);
            self.tidy(memo);
            let note = Region::note((1 << lane, WHOLE), access, actor);
            let before = conflicts.len();
            self.check(self.cells[word], (address, 1 << lane), &note, actor, conflicts);
            if access.tentative && conflicts.len() != before {
                return;
            }
        }
        if let Some(gathers) = &mut self.gathers {
            gathers.add(word, lane, (access.time, access.place), actor);
        }
    }

    /// Words are written. What was gathered of them before is over; what was not becomes cells, which the write is held against.
    #[inline(never)]
    pub(super) fn end_gathers(&mut self, words: &Range<usize>, bytes: u8, actor: &Actor<'_>) {
        let Some(gathers) = self.gathers.as_mut().filter(|gathers| gathers.has_any(words)) else { return };
        if gathers.is_before(actor) {
            if bytes == WHOLE {
                gathers.end(words);
            }
            return;
        }
        for (word, note) in gathers.disperse(actor) {
            let cell = &mut self.cells[word];
            let last = self.notes.get(cell.crowd);
            let joined = Note { lanes: last.lanes | note.lanes, place: last.place, ..note };
            let own = last.cta == last.last && last.warps == note.warps && last.has(note.cta, note.warp);
            if own && last.is_like(&Note { lanes: last.lanes, ..note }) {
                cell.crowd = self.notes.number(Note { next: last.next, ..joined });
            } else if self.notes.len_of(cell.crowd) < CROWD {
                cell.crowd = self.notes.number(Note { next: cell.crowd, ..note });
            }
        }
        self.limit = self.limit.max(2 * self.notes.len());
    }

    /// Finds what the read of a row is not ordered with.
    fn check_row(&self, span: &Span, address: u64, note: &Note, actor: &Actor<'_>, conflicts: &mut Vec<Conflict>) {
        let mut right = Cell::default();
        for (word, &cell) in span.words().zip(&self.cells[span.words()]) {
            if cell == right || cell == Cell::default() {
                continue;
            }
            let both = self.notes.chain(cell.writes).chain(self.notes.chain(cell.crowd));
            let mut writes = both.filter(|note| note.kind.writes());
            if writes.all(|note| actor.is_behind_all(note, actor.mask)) {
                right = cell;
                continue;
            }
            let here = address + 4 * word as u64;
            let note = span.note_at(note, word);
            let before = conflicts.len();
            actor.depends.set(false);
            self.check(cell, (here, note.lanes_at(here)), &note, actor, conflicts);
            if span.each == 0 && conflicts.len() == before && !actor.depends.get() {
                right = cell;
            }
        }
    }

    /// Finds the reads of rows that a write is not ordered with. Those that it replaces are over.
    pub(super) fn check_reads(
        &mut self,
        (words, address): (Range<usize>, u64),
        (relative, bytes): (u32, u8),
        access: &Access,
        actor: &Actor<'_>,
        conflicts: &mut Vec<Conflict>,
    ) {
        let mut replaced: SmallVec<[usize; 16]> = SmallVec::new();
        for (number, read) in self.reads.of(&words) {
            let row = read.span.words();
            let before = conflicts.len();
            if !actor.is_behind_all(&read.note, actor.mask) {
                for word in row.start.max(words.start)..row.end.min(words.end) {
                    let here = address + 4 * (word - words.start) as u64;
                    let lanes = relative.rotate_left(turn(here, access.turn));
                    let note = read.span.note_at(&read.note, word);
                    actor.depends.set(false);
                    for member in note.members() {
                        let earlier = actor.unordered(&member, member.lanes_at(here), lanes);
                        if earlier != 0 {
                            let (address, later) = (here, lanes);
                            conflicts.push(Conflict { address, note: member, earlier, later, bytes });
                        }
                    }
                    // What is not found at one word is at no other.
                    if read.span.each == 0 && conflicts.len() == before && !actor.depends.get() {
                        break;
                    }
                }
            }
            let inside = words.start <= row.start && row.end <= words.end;
            if inside && bytes == WHOLE && conflicts.len() == before {
                replaced.push(number);
            }
        }
        for number in replaced {
            self.reads.end(number);
        }
    }

    /// Gives the words that were read in rows cells with these reads: there are too many rows.
    fn disperse(&mut self) {
        if self.cells.is_empty() {
            self.cells = vec![Cell::default(); WORDS];
        }
        for read in self.reads.iter() {
            for word in read.span.words() {
                let cell = &mut self.cells[word];
                let note = read.span.note_at(&read.note, word);
                if self.notes.chain(cell.crowd).count() < CROWD {
                    cell.crowd = self.notes.number(Note { next: cell.crowd, ..note });
                }
            }
        }
        self.reads.clear();
        self.limit = self.limit.max(2 * self.notes.len());
    }
}
