//! What is remembered of each byte: who wrote it last, and who has accessed it since without being ordered.
//!
//! Memory is looked at in words of four bytes. A word has a *cell*, two numbers of *notes*: the chain of the last writes (more than one only
//! where they wrote different bytes), and the *crowd*: reads since then, and strong writes that others have overtaken. Notes are immutable
//! and shared: lanes that access memory in the usual ways, each its own word or all the same one, leave the same note in all words, since a
//! note gives its lanes relative to the address. So a word costs 8 bytes, and one state of a word is worked out once for a whole row.

use smallvec::SmallVec;

use super::actor::Actor;

/// Words of a region: 4 KiB of memory.
pub(crate) const WORDS: usize = 1024;
/// Accesses that a word's crowd remembers; a larger one forgets the oldest.
const CROWD: usize = 40;
/// Notes of a region before the first time that unused ones are sorted out.
const NOTES: usize = 192;
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

    /// `size`: bytes of an element.
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

    pub(crate) fn strong(self) -> bool {
        self.0 & 7 != 0
    }
}

/// An access by some lanes of a warp to a word. Weak reads by the same lanes of several warps at the same time, and of several CTAs, have one note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// The next one of the chain, 0 for none.
    next: u32,
    /// Number of the CTA in the process: of the first one, of every `stride`th up to `last`.
    pub(crate) cta: u32,
    pub(crate) last: u32,
    stride: u32,
    /// The warps, where these may be several: one bit for each.
    warps: u32,
    pub(crate) time: u32,
    /// Lanes, turned right by the address: see [`turn`].
    lanes: u32,
    /// Number of the instruction in its kernel.
    pub(crate) place: u32,
    /// The first warp.
    pub(crate) warp: u8,
    /// A bit for each byte of the word.
    pub(crate) bytes: u8,
    pub(crate) kind: Kind,
    /// By which power of two the address is divided before lanes are turned by it.
    pub(crate) turn: u8,
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
        (self.cta..=self.last).step_by(self.stride.max(1) as usize)
    }

    /// Whether one of some CTAs has accessed the word.
    pub(crate) fn is_of(&self, ctas: &[std::ops::Range<u32>]) -> bool {
        self.ctas().any(|cta| ctas.iter().any(|range| range.contains(&cta)))
    }

    /// Each warp of each CTA by itself.
    fn members(&self) -> impl Iterator<Item = Note> + use<> {
        let note = *self;
        let warps = move || {
            let several = (0..32u8).filter(move |warp| note.warps >> warp & 1 != 0);
            several.chain((note.warps == 0).then_some(note.warp))
        };
        note.ctas()
            .flat_map(move |cta| warps().map(move |warp| Note { cta, last: cta, stride: 0, warp, warps: 0, ..note }))
    }

    fn has(&self, cta: u32, warp: u8) -> bool {
        let warps = if self.warps == 0 { self.warp == warp } else { warp < 32 && self.warps >> warp & 1 != 0 };
        warps && self.cta <= cta && cta <= self.last && (cta - self.cta).is_multiple_of(self.stride.max(1))
    }

    /// The same but for who it was.
    fn is_like(&self, other: &Note) -> bool {
        let what = |note: &Note| (note.time, note.lanes, note.bytes, note.kind, note.turn);
        what(self) == what(other)
    }

    /// One note for both, if there is one: they are reads of the same lanes.
    fn united(&self, other: &Note, width: u32) -> Option<Note> {
        if !self.is_like(other) || self.kind.strong() || self.kind.writes() || self.warps == 0 || other.warps == 0 {
            return None;
        }
        if self.cta == self.last && other.cta == other.last && self.cta == other.cta {
            let warps = self.warps | other.warps;
            return Some(Note { warps, warp: warps.trailing_zeros() as u8, ..*self });
        }
        let (first, second) = if self.cta < other.cta { (self, other) } else { (other, self) };
        let distance = second.cta.checked_sub(first.last).filter(|distance| [1, width].contains(distance))?;
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
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    writes: u32,
    crowd: u32,
}

/// The shadow of 4 KiB.
pub(crate) struct Region {
    cells: Box<[Cell]>,
    notes: Vec<Note>,
    /// Where notes that were made lately are.
    lately: [u32; 64],
    limit: usize,
}

/// What the last words with some states came to, within one instruction and one region: numbers of notes are those of their region.
#[derive(Default)]
pub(crate) struct Memo {
    region: (u64, u64),
    known: [Option<(Cell, u32, u8, Cell)>; 4],
    next: usize,
}

impl Memo {
    /// The words that follow are in this region.
    pub(crate) fn enter(&mut self, region: (u64, u64)) {
        if self.region != region {
            *self = Memo { region, ..Memo::default() };
        }
    }

    fn get(&self, from: Cell, relative: u32, bytes: u8) -> Option<Cell> {
        let fits = |&&(cell, lanes, of, _): &&(Cell, u32, u8, Cell)| cell == from && lanes == relative && of == bytes;
        self.known.iter().flatten().find(fits).map(|known| known.3)
    }

    fn learn(&mut self, from: Cell, relative: u32, bytes: u8, to: Cell) {
        self.known[self.next % 4] = Some((from, relative, bytes, to));
        self.next += 1;
    }
}

type Chain = SmallVec<[Note; 6]>;

impl Default for Region {
    fn default() -> Region {
        Region {
            cells: vec![Cell::default(); WORDS].into(),
            notes: vec![Note::default()],
            lately: [0; 64],
            limit: NOTES,
        }
    }
}

impl Region {
    /// Bytes that this takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Region>() + size_of_val(&*self.cells) + self.notes.capacity() * size_of::<Note>()
    }

    /// The accesses to a word that are remembered.
    pub(crate) fn notes_at(&self, word: usize) -> impl Iterator<Item = &Note> {
        let Cell { writes, crowd } = self.cells[word];
        self.chain(writes).chain(self.chain(crowd))
    }

    /// Forgets a range of words.
    pub(crate) fn clear(&mut self, words: std::ops::Range<usize>) {
        self.cells[words].fill(Cell::default());
    }

    /// Forgets all.
    pub(crate) fn reset(&mut self) {
        self.cells.fill(Cell::default());
        self.notes.truncate(1);
        self.lately = [0; 64];
        self.limit = NOTES;
    }

    /// Lanes access the `bytes` of words in a row, number `words` here, the first of them at `address`; `relative` are the lanes, turned right by the
    /// address of each.
    pub(crate) fn row(
        &mut self,
        (words, address): (std::ops::Range<usize>, u64),
        (relative, bytes): (u32, u8),
        access: &Access,
        actor: &Actor<'_>,
        memo: &mut Memo,
        conflicts: &mut Vec<Conflict>,
    ) {
        let mut at = words.start;
        while at < words.end {
            let old = self.cells[at];
            if memo.get(old, relative, bytes).is_none() {
                let here = address + 4 * (at - words.start) as u64;
                self.access((at, here), (relative, bytes), access, actor, memo, conflicts);
                at += 1;
            }
            let Some(new) = memo.get(old, relative, bytes) else { continue };
            let same = self.cells[at..words.end].iter().take_while(|&&cell| cell == old).count();
            if new != old {
                self.cells[at..at + same].fill(new);
            }
            at += same;
        }
    }

    /// The same of one word. What the lanes are not ordered with goes to `conflicts`.
    fn access(
        &mut self,
        (word, address): (usize, u64),
        (relative, bytes): (u32, u8),
        access: &Access,
        actor: &Actor<'_>,
        memo: &mut Memo,
        conflicts: &mut Vec<Conflict>,
    ) {
        let old = self.cells[word];
        let lanes = relative.rotate_left(turn(address, access.turn));
        let before = conflicts.len();
        actor.depends.set(false);
        let warps = if actor.warp < 32 { 1 << actor.warp } else { 0 };
        let (cta, warp, turn) = (actor.cta, actor.warp, access.turn);
        let (time, place, kind) = (access.time, access.place, access.kind);
        let note =
            Note { next: 0, cta, last: cta, stride: 0, warps, time, lanes: relative, place, warp, bytes, kind, turn };
        let new = if access.kind.writes() {
            self.check(old, (address, lanes), &note, actor, conflicts);
            self.write(old, (address, lanes), Note { warps: 0, ..note }, actor)
        } else if self.has_read(old, &note) {
            old
        } else {
            self.check(old, (address, lanes), &note, actor, conflicts);
            self.read(old, (address, lanes), note, actor)
        };
        if !(access.tentative && conflicts.len() != before) {
            self.cells[word] = new;
        }
        let grown = self.notes.len() > self.limit;
        if grown {
            self.collect();
            *memo = Memo { region: memo.region, ..Memo::default() };
        } else if !actor.depends.get() && conflicts.len() == before {
            memo.learn(old, relative, bytes, new);
        }
    }

    /// Finds what the access is not ordered with.
    fn check(
        &self,
        old: Cell,
        (address, lanes): (u64, u32),
        new: &Note,
        actor: &Actor<'_>,
        conflicts: &mut Vec<Conflict>,
    ) {
        // Lanes that come behind a strong access that has read what was written last.
        let mut observed = None;
        let both = self.chain(old.writes).chain(self.chain(old.crowd));
        let both = both.filter(|note| note.bytes & new.bytes != 0 && (note.kind.writes() || new.kind.writes()));
        let members = both.filter(|note| !actor.is_behind_all(note, lanes)).flat_map(Note::members);
        for note in members {
            let note = &note;
            let earlier = actor.unordered(note, note.lanes_at(address), lanes);
            if earlier == 0 || actor.morally_strong(note, new) {
                continue;
            }
            // What a strong access has observed comes before all that comes behind that access (PTX ISA 8.9.4).
            let (mut earlier, mut later) = (earlier, lanes);
            if note.kind.strong() && note.kind.writes() {
                later &= !*observed.get_or_insert_with(|| self.observed(old, (address, lanes), new.bytes, actor));
                earlier = actor.unordered(note, note.lanes_at(address), later);
            }
            if earlier != 0 {
                conflicts.push(Conflict { address, note: *note, earlier, later });
            }
        }
    }

    /// Lanes that come behind a strong access, or have made it themselves, that has read what was written last.
    fn observed(&self, old: Cell, (address, lanes): (u64, u32), bytes: u8, actor: &Actor<'_>) -> u32 {
        let reads = |note: &&Note| note.kind.strong() && note.kind.reads() && note.bytes & bytes == bytes;
        let head = self.chain(old.writes).take(1);
        let strong = head.chain(self.chain(old.crowd)).filter(reads);
        strong.fold(0, |behind, note| behind | actor.behind(note, note.lanes_at(address), lanes))
    }

    /// Whether a read adds nothing: the same threads have read at this time, or have just written.
    fn has_read(&self, old: Cell, note: &Note) -> bool {
        let known = |other: &Note| {
            let wrote = other.kind.writes() && !other.kind.reads() && !note.kind.strong();
            (other.kind == note.kind || wrote)
                && other.time == note.time
                && other.turn == note.turn
                && other.bytes & note.bytes == note.bytes
                && note.lanes & !other.lanes == 0
                && other.has(note.cta, note.warp)
        };
        self.chain(old.crowd).any(known) || self.chain(old.writes).any(known)
    }

    fn read(&mut self, old: Cell, (address, lanes): (u64, u32), note: Note, actor: &Actor<'_>) -> Cell {
        let mut note = note;
        let mut crowd = Chain::new();
        for other in self.chain(old.crowd) {
            let alike = other.has(note.cta, note.warp)
                && other.cta == other.last
                && other.warps.count_ones() <= 1
                && Note { lanes: note.lanes, ..*other }.is_like(&note);
            if alike {
                note.lanes |= other.lanes;
                note.place = other.place;
                continue;
            }
            let replaces = |member: Note| actor.supersedes(&member, member.lanes_at(address), lanes);
            let covered = other.bytes & !note.bytes == 0
                && (note.kind.strong() || !other.kind.strong())
                && !other.kind.writes()
                && (actor.is_behind_all(other, lanes) || other.members().all(replaces));
            if !covered {
                crowd.push(*other);
            }
        }
        // First the warps of a CTA, then the CTAs.
        while let Some((index, both)) =
            crowd.iter().enumerate().find_map(|(index, other)| Some((index, note.united(other, actor.grid.width)?)))
        {
            note = both;
            crowd.remove(index);
        }
        crowd.insert(0, note);
        crowd.truncate(CROWD);
        Cell { crowd: self.link(&crowd), ..old }
    }

    fn write(&mut self, old: Cell, (address, lanes): (u64, u32), note: Note, actor: &Actor<'_>) -> Cell {
        let (mut writes, mut crowd) = (Chain::new(), Chain::new());
        writes.push(note);
        for other in self.chain(old.writes) {
            let left = other.bytes & !note.bytes;
            if left != 0 {
                writes.push(Note { bytes: left, ..*other });
            }
            // An atomic has read what it replaces; a store has not, and somebody may be ordered with the one only.
            if other.bytes & note.bytes != 0
                && !note.kind.reads()
                && actor.morally_strong(other, &note)
                && actor.unordered(other, other.lanes_at(address), lanes) != 0
            {
                crowd.push(*other);
            }
        }
        for other in self.chain(old.crowd) {
            let covered = other.bytes & !note.bytes == 0;
            let overtaken = other.kind.writes() && !note.kind.reads() && actor.morally_strong(other, &note);
            if !covered || overtaken && actor.unordered(other, other.lanes_at(address), lanes) != 0 {
                crowd.push(*other);
            }
        }
        crowd.truncate(CROWD);
        Cell { writes: self.link(&writes), crowd: self.link(&crowd) }
    }

    fn chain(&self, first: u32) -> impl Iterator<Item = &Note> {
        let mut at = first;
        std::iter::from_fn(move || {
            let note = (at != 0).then(|| &self.notes[at as usize])?;
            at = note.next;
            Some(note)
        })
    }

    /// The number of a chain of notes.
    fn link(&mut self, chain: &[Note]) -> u32 {
        chain.iter().rev().fold(0, |next, note| self.number(Note { next, ..*note }))
    }

    fn number(&mut self, note: Note) -> u32 {
        let mixed = (note.next ^ note.lanes.rotate_left(7) ^ note.place << 3 ^ u32::from(note.warp) ^ note.time << 9)
            .wrapping_mul(0x9e37_79b9)
            .wrapping_add(note.cta.wrapping_mul(0x85eb_ca6b))
            .wrapping_add((note.last ^ note.warps).wrapping_mul(0xc2b2_ae35));
        let lately = &mut self.lately[(mixed >> 26) as usize];
        if *lately != 0 && self.notes[*lately as usize] == note {
            return *lately;
        }
        *lately = self.notes.len() as u32;
        self.notes.push(note);
        *lately
    }

    /// Sorts out the notes that no cell refers to.
    fn collect(&mut self) {
        let mut moved = vec![0u32; self.notes.len()];
        let mut kept = vec![self.notes[0]];
        for index in 0..self.cells.len() {
            let Cell { writes, crowd } = self.cells[index];
            let writes = keep(&self.notes, &mut moved, &mut kept, writes);
            let crowd = keep(&self.notes, &mut moved, &mut kept, crowd);
            self.cells[index] = Cell { writes, crowd };
        }
        self.limit = (2 * kept.len()).max(NOTES);
        kept.shrink_to_fit();
        self.notes = kept;
        self.lately = [0; 64];
    }
}

/// Takes a chain over into `kept`.
fn keep(notes: &[Note], moved: &mut [u32], kept: &mut Vec<Note>, first: u32) -> u32 {
    let mut chain = SmallVec::<[u32; 16]>::new();
    let mut at = first;
    while at != 0 && moved[at as usize] == 0 {
        chain.push(at);
        at = notes[at as usize].next;
    }
    let mut next = if at == 0 { 0 } else { moved[at as usize] };
    for &at in chain.iter().rev() {
        moved[at as usize] = kept.len() as u32;
        kept.push(Note { next, ..notes[at as usize] });
        next = moved[at as usize];
    }
    next
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
