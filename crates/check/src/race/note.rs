//! What is remembered of an access: who made it, and how.

use std::ops::Range;

use super::actor::GridOrder;

/// [`Note::turn`] of lanes that do not depend on the address.
pub(crate) const FIXED: u8 = 63;
/// All bytes of a word.
pub(crate) const WHOLE: u8 = 0b1111;

/// What an access does, how far it is strong (PTX ISA 8.3, 8.5), and the size of its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kind(u8);

/// How strong an access is: weak, or for whom it is strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    Weak,
    Cta,
    Cluster,
    Gpu,
    Sys,
}

impl Kind {
    const READS: u8 = 8;
    const WRITES: u8 = 16;

    /// [`Kind::size`] of elements that may have any.
    pub(crate) const ANY_SIZE: u8 = 7;

    /// `size`: bytes of an element; 128 and more where it is not known.
    pub(crate) fn new(strength: Strength, reads: bool, writes: bool, size: u64) -> Kind {
        let size = size.checked_ilog2().unwrap_or(0).min(7) as u8;
        Kind(strength as u8 | if reads { Kind::READS } else { 0 } | if writes { Kind::WRITES } else { 0 } | size << 5)
    }

    /// Size of an element, as a power of two.
    pub(crate) fn size(self) -> u8 {
        self.0 >> 5
    }

    pub(crate) fn reads(self) -> bool {
        self.0 & Kind::READS != 0
    }

    pub(crate) fn writes(self) -> bool {
        self.0 & Kind::WRITES != 0
    }

    pub(crate) fn strength(self) -> Strength {
        match self.0 & 7 {
            0 => Strength::Weak,
            1 => Strength::Cta,
            2 => Strength::Cluster,
            3 => Strength::Gpu,
            _ => Strength::Sys,
        }
    }

    /// It writes, whatever was there.
    pub(crate) fn stores(self) -> bool {
        self.0 & (Kind::READS | Kind::WRITES) == Kind::WRITES
    }

    pub(crate) fn is_weak_read(self) -> bool {
        self.0 & (7 | Kind::READS | Kind::WRITES) == Kind::READS
    }

    pub(crate) fn is_strong_atomic(self) -> bool {
        self.strong() && self.reads() && self.writes()
    }

    pub(crate) fn strong(self) -> bool {
        self.0 & 7 != 0
    }
}

/// An access by some lanes of a warp to a word. Weak reads by the same lanes of several warps at the same time, and of several CTAs, have one note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// The next one of the chain that it is in, 0 for none.
    pub(super) next: u32,
    /// Number of the CTA in the process: of the first one, of every `stride`th up to `last`.
    pub(crate) cta: u32,
    pub(crate) last: u32,
    /// The warps, where these may be several: one bit for each.
    pub(super) warps: u32,
    pub(crate) time: u32,
    /// Lanes, turned right by the address: see [`turn`].
    pub(super) lanes: u32,
    /// Number of the instruction in its kernel.
    pub(crate) place: u32,
    /// The first warp.
    pub(crate) warp: u8,
    /// A bit for each byte of the word.
    pub(crate) bytes: u8,
    pub(crate) kind: Kind,
    /// By which power of two the address is divided before lanes are turned by it.
    pub(crate) turn: u8,
    pub(super) stride: u16,
    /// Notes of the chain from here on, or as many as can be said.
    pub(super) len: u8,
    /// Of a write: what became of the value.
    pub(crate) value: Value,
}

/// What is known of the value that a write has put into a place, beside what stands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    /// It is what stands there, as far as it is the last write; or one of the last writes that nothing orders, which all put the same there, if none was
    /// reported.
    #[default]
    Last,
    /// The same threads have put something else there at the same time, too, or it is not known what.
    Varied,
    /// Something else was put over it by what comes behind it. It is remembered for writes that come behind neither.
    Over,
}

/// By how much lanes are turned at a word, for lanes whose accesses are `1 << turn` bytes apart.
pub(crate) fn turn(address: u64, turn: u8) -> u32 {
    (address >> turn) as u32 & 31
}

impl Note {
    /// The lanes that accessed the word at `address`.
    pub(crate) fn lanes_at(&self, address: u64) -> u32 {
        self.lanes.rotate_left(turn(address, self.turn))
    }
}

impl Note {
    /// Numbers of the CTAs whose access it is.
    fn ctas(&self) -> impl Iterator<Item = u32> + use<> {
        (self.cta..=self.last).step_by(self.stride.max(1).into())
    }

    /// Whether one of some CTAs has accessed the word.
    pub(crate) fn is_of(&self, ctas: &[Range<u32>]) -> bool {
        self.ctas().any(|cta| ctas.iter().any(|range| range.contains(&cta)))
    }

    /// Each warp of each CTA by itself.
    pub(super) fn members(&self) -> impl Iterator<Item = Note> + use<> {
        let note = *self;
        let warps = move || {
            let several = (0..32u8).filter(move |warp| note.warps >> warp & 1 != 0);
            several.chain((note.warps == 0).then_some(note.warp))
        };
        note.ctas()
            .flat_map(move |cta| warps().map(move |warp| Note { cta, last: cta, stride: 0, warp, warps: 0, ..note }))
    }

    pub(super) fn has(&self, cta: u32, warp: u8) -> bool {
        let warps = if self.warps == 0 { self.warp == warp } else { warp < 32 && self.warps >> warp & 1 != 0 };
        warps && self.cta <= cta && cta <= self.last && (cta - self.cta).is_multiple_of(self.stride.max(1).into())
    }

    /// The same but for who it was.
    pub(super) fn is_like(&self, other: &Note) -> bool {
        let what = |note: &Note| (note.time, note.lanes, note.bytes, note.kind, note.turn);
        what(self) == what(other)
    }

    /// One note for both, if there is one: they are reads, or writes, of the same lanes, in CTAs of this grid.
    pub(super) fn united(&self, other: &Note, grid: &GridOrder) -> Option<Note> {
        if !(grid.ctas.contains(&self.cta) && grid.ctas.contains(&other.cta)) {
            return None;
        }
        if !self.is_like(other)
            || self.kind.strong()
            || self.kind.reads() && self.kind.writes()
            || self.value != other.value
        {
            return None;
        }
        if self.warps == 0 || other.warps == 0 {
            return None;
        }
        if self.cta == self.last && other.cta == other.last && self.cta == other.cta {
            let warps = self.warps | other.warps;
            return Some(Note { warps, warp: warps.trailing_zeros() as u8, ..*self });
        }
        let (first, second) = if self.cta < other.cta { (self, other) } else { (other, self) };
        let distance = second.cta.checked_sub(first.last).filter(|distance| [1, grid.width].contains(distance))?;
        let distance = u16::try_from(distance).ok()?;
        let fits = |note: &Note| note.cta == note.last || note.stride == distance;
        let both = first.warps == second.warps && fits(first) && fits(second);
        both.then_some(Note { last: second.last, stride: distance, ..*first })
    }
}

/// An access of an instruction, for all of its lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) kind: Kind,
    pub(crate) place: u32,
    pub(crate) time: u32,
    pub(crate) turn: u8,
    /// It is told of once more where it is in conflict, and not remembered then.
    pub(crate) tentative: bool,
}

/// An access that is not ordered with an earlier one to the same bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    /// The first byte of the word.
    pub(crate) address: u64,
    /// The earlier access, and its lanes that are not ordered.
    pub(crate) note: Note,
    pub(crate) earlier: u32,
    /// The lanes of the later one.
    pub(crate) later: u32,
    /// The bytes of the word that the later one accesses.
    pub(crate) bytes: u8,
}

#[cfg(test)]
mod tests {
    use super::Note;

    #[test]
    fn every_cta_of_a_note_has_accessed_the_word() {
        let note = Note { cta: 3, last: 9, stride: 3, ..Note::default() };
        let of = |cta: u32| note.is_of(&[0..1, cta..cta + 1]);
        assert_eq!((0..12).filter(|cta| of(*cta)).collect::<Vec<_>>(), [3, 6, 9]);
        let one = Note { cta: 5, last: 5, ..Note::default() };
        assert!(one.is_of(&[0..1, 2..6]) && !one.is_of(&[0..5, 6..9]) && !one.is_of(&[]));
    }
}
