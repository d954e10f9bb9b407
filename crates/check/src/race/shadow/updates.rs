//! Words that single lanes update: of each the last update, in a list beside the cells.
//!
//! Atomics on places here and there (histograms, counters, heads of lists) replace each other all the time. As notes, of which none is like another, they
//! would have to be sorted out again and again. Only who does something else with such a word gives its cell a note.

use std::ops::Range;

use super::{Cell, Region, WORDS};
use crate::race::actor::Actor;
use crate::race::note::{Access, FIXED, Kind, Note, WHOLE};

/// Instead of the number of a note: the word's last write is in the list.
pub(super) const UPDATED: u32 = u32::MAX;

/// One lane has updated a whole word.
#[derive(Clone, Copy, Debug, Default)]
struct Update {
    cta: u32,
    time: u32,
    place: u32,
    warp: u8,
    lane: u8,
    kind: Kind,
}

/// By word; none as long as there are no updates.
#[derive(Default)]
pub(super) struct Updates(Vec<Update>);

impl Update {
    #[inline]
    fn note(self) -> Note {
        let Update { cta, time, place, warp, lane, kind } = self;
        Note { cta, last: cta, time, place, warp, kind, lanes: 1 << lane, bytes: WHOLE, turn: FIXED, ..Note::default() }
    }
}

impl Updates {
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    pub(super) fn note(&self, word: usize) -> Note {
        self.0[word].note()
    }
}

impl Region {
    /// One lane updates a whole word atomically. False if that is not the same as all that was done to the word before: then nothing is remembered.
    #[inline]
    pub(crate) fn update(&mut self, word: usize, lane: u32, access: &Access, actor: &Actor<'_>) -> bool {
        let row = word..word + 1;
        let gathered = self.gathers.as_ref().is_some_and(|gathers| gathers.has_any(&row));
        if gathered || self.reads.has_any(&row) {
            return false;
        }
        if self.updates.0.is_empty() {
            self.begin_updates();
        }
        let Access { kind, place, time, .. } = *access;
        let update = Update { cta: actor.cta, time, place, warp: actor.warp, lane: lane as u8, kind };
        let replaces = match self.cells[word] {
            Cell { writes: 0, crowd: 0 } => true,
            Cell { writes: UPDATED, crowd: 0 } => actor.morally_strong(&self.updates.note(word), &update.note()),
            old => self.is_updated(old, &update.note(), actor),
        };
        if replaces {
            self.updates.0[word] = update;
            self.cells[word] = Cell { writes: UPDATED, crowd: 0 };
            self.writer = self.writer.max(actor.cta);
        }
        replaces
    }

    #[cold]
    fn begin_updates(&mut self) {
        self.updates.0 = vec![Update::default(); WORDS];
        if self.cells.is_empty() {
            self.cells = vec![Cell::default(); WORDS];
        }
    }

    /// Gives words their notes, before something other than an update of one lane is done to them.
    #[inline]
    pub(super) fn end_updates(&mut self, words: Range<usize>) {
        if self.updates.0.is_empty() {
            return;
        }
        for word in words {
            if self.cells[word].writes == UPDATED {
                self.cells[word].writes = self.notes.number(self.updates.note(word));
            }
        }
    }
}
