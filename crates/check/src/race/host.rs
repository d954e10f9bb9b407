//! Copies and fills of the host: what nothing orders them with, grids and each other.
//!
//! A copy leaves nothing in the shadow, which is a grid's. It is held against the grids that are not ordered with it when it is done, and again when
//! one of those ends: what the grid has accessed is in the shadow then. Only weak accesses count: a kernel that polls
//! or updates memory with strong ones while the host copies it means to.

use std::collections::VecDeque;
use std::ops::Range;

use warploom_exec::observe::{Bytes, StreamPlace};

use super::memory::{Memory, REGION};
use super::note::Note;
use super::streams::Streams;

/// Copies that are remembered; older ones count as over.
const REMEMBERED: usize = 1024;
/// Conflicts of one copy that are reported.
const REPORTED: usize = 16;

/// Bytes that the host has read or written.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) place: StreamPlace,
    pub(super) range: Range<u64>,
    pub(super) writes: bool,
    pub(super) what: &'static str,
}

/// The latest ones.
#[derive(Default)]
pub(super) struct Copies(VecDeque<Copy>);

impl Copies {
    /// What a copy or fill reads and writes. Memory of the host that is no pinned memory no grid accesses, which is found out by the shadow.
    pub(super) fn of(
        place: StreamPlace,
        read: Option<&Bytes>,
        written: Option<&Bytes>,
        what: &'static str,
    ) -> impl Iterator<Item = Copy> {
        let copy = move |bytes: &Bytes, writes| Copy { place, range: bytes.range.clone(), writes, what };
        let (read, written) = (read.map(|bytes| copy(bytes, false)), written.map(|bytes| copy(bytes, true)));
        read.into_iter().chain(written)
    }

    /// Remembers one. The first of those before it that it conflicts with.
    pub(super) fn add(&mut self, copy: Copy, streams: &Streams) -> Option<Copy> {
        let conflicts = |other: &&Copy| {
            (other.writes || copy.writes)
                && other.range.start < copy.range.end
                && copy.range.start < other.range.end
                && other.place.stream != copy.place.stream
                && !streams.is_before(other.place, copy.place)
        };
        let found = self.0.iter().rev().find(conflicts).cloned();
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(copy);
        found
    }

    /// Those that are neither before nor behind a place.
    pub(super) fn beside(&self, place: StreamPlace, streams: &Streams) -> Vec<Copy> {
        let is_beside = |copy: &&Copy| {
            copy.place.stream != place.stream
                && !streams.is_before(copy.place, place)
                && !streams.is_before(place, copy.place)
        };
        self.0.iter().filter(is_beside).cloned().collect()
    }

    /// Forgets what was done to memory that is no more.
    pub(super) fn forget(&mut self, range: &Range<u64>) {
        self.0.retain(|copy| copy.range.end <= range.start || range.end <= copy.range.start);
    }
}

/// Accesses of some CTAs that a copy is not ordered with: an address and the access, one for each instruction.
pub(super) fn conflicts(memory: &Memory, copy: &Copy, ctas: &[Range<u32>]) -> Vec<(u64, Note)> {
    let mut found: Vec<(u64, Note)> = Vec::new();
    let mut start = copy.range.start;
    while start < copy.range.end && found.len() < REPORTED {
        let number = start / REGION;
        let end = copy.range.end.min((number + 1) * REGION);
        let region = memory.region(number).map(|region| region.lock());
        if let Some(region) = region.as_deref().and_then(|region| region.as_deref()) {
            for address in (start & !3..end).step_by(4) {
                let covers = |note: &Note| {
                    let bytes = (0..4).filter(|byte| copy.range.contains(&(address + byte)));
                    bytes.into_iter().any(|byte| note.bytes >> byte & 1 != 0)
                };
                let counts = |note: &Note| {
                    (copy.writes || note.kind.writes()) && !note.kind.strong() && note.is_of(ctas) && covers(note)
                };
                for note in region.notes_at((address % REGION / 4) as usize).filter(counts) {
                    if !found.iter().any(|(_, other)| other.place == note.place) {
                        found.push((address, note));
                    }
                }
            }
        }
        start = end;
    }
    found
}
