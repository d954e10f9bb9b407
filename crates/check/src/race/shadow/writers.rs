//! Writes: which of those before them are remembered.
//!
//! A store that puts there what is there already is no race with the one that has put it there. So more than the last write is to be known: of several
//! that nothing orders each, since what comes behind one of them and writes something else is in a race with the others; and of those behind each other
//! the last that put something else there, for who comes behind neither.

use super::{CROWD, Cell, Chain, Region};
use crate::race::actor::Actor;
use crate::race::note::{Note, Value};

impl Region {
    pub(super) fn write(&mut self, old: Cell, (address, lanes): (u64, u32), note: Note, actor: &Actor<'_>) -> Cell {
        let mut note = note;
        let mut overtaken = false;
        let (mut writes, mut crowd) = (Chain::new(), Chain::new());
        let unordered = |other: &Note| {
            !actor.is_behind_all(other, lanes)
                && other.members().any(|member| actor.unordered(&member, member.lanes_at(address), lanes) != 0)
        };
        let stores = note.kind.stores();
        for other in self.notes.chain(old.writes) {
            let (left, both) = (other.bytes & !note.bytes, other.bytes & note.bytes);
            if left != 0 {
                writes.push(Note { bytes: left, ..*other });
            }
            // An atomic has read what it replaces; a store has not, and somebody may be ordered with the one only.
            if both == 0 || !stores {
                continue;
            }
            let replaced = Note { bytes: both, warps: warps_of(other), ..*other };
            let strong = actor.morally_strong(other, &note);
            if unordered(other) {
                if strong || other.kind.stores() {
                    overtaken = true;
                    let kept = if strong { *other } else { Note { value: kept(other, actor), ..replaced } };
                    join(&mut crowd, kept, actor);
                }
                continue;
            }
            if actor.all_are_behind(other) {
                continue;
            }
            if other.value != Value::Last || other.kind.reads() || actor.store.changes() {
                if actor.is_same(other, &note) {
                    note.value = Value::Varied;
                } else {
                    join(&mut crowd, Note { value: Value::Over, ..replaced }, actor);
                }
            }
        }
        for other in self.notes.chain(old.crowd) {
            let covered = other.bytes & !note.bytes == 0;
            if !covered || !stores || !other.kind.writes() {
                if !covered {
                    crowd.push(*other);
                }
                continue;
            }
            let strong = actor.morally_strong(other, &note);
            if unordered(other) {
                if strong || other.kind.stores() {
                    let kept = if strong { *other } else { Note { value: kept(other, actor), ..*other } };
                    join(&mut crowd, kept, actor);
                }
                continue;
            }
            if actor.all_are_behind(other) {
                continue;
            }
            let kept = match other.value {
                // The last one that put something else there is behind it, or in a race with it.
                Value::Over => !actor.store.changes(),
                Value::Varied => true,
                Value::Last => actor.store.changes(),
            };
            if kept {
                join(&mut crowd, Note { value: Value::Over, ..*other }, actor);
            }
        }
        self.overtaken |= overtaken;
        writes.insert(0, note);
        crowd.truncate(CROWD);
        Cell { writes: self.notes.link(&writes, 0), crowd: self.notes.link(&crowd, 0) }
    }
}

/// What is known of the value of a store that another one replaces, which nothing orders with it. One of another CTA may not be in memory yet: whether the two
/// differ is found, and reported, where they are held against each other.
fn kept(other: &Note, actor: &Actor<'_>) -> Value {
    let there = other.cta == actor.cta && other.last == actor.cta;
    if other.value == Value::Last && there && actor.store.changes() { Value::Varied } else { other.value }
}

/// The warps of a note that may be one for several.
fn warps_of(note: &Note) -> u32 {
    if note.warps == 0 && note.warp < 32 { 1 << note.warp } else { note.warps }
}

/// Adds a write to a crowd: to the note of others, if that can be one for all.
fn join(crowd: &mut Chain, note: Note, actor: &Actor<'_>) {
    let mut note = note;
    while let Some((index, both)) = crowd.iter().enumerate().find_map(|(index, other)| {
        let alike = other.kind.stores() && note.kind.stores();
        Some((index, note.united(other, actor.grid).filter(|_| alike)?))
    }) {
        note = both;
        crowd.remove(index);
    }
    crowd.push(note);
}
