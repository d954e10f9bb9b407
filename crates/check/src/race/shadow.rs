//! What is remembered of each byte: who wrote it last, and who has accessed it since without being ordered.
//!
//! Memory is looked at in words of four bytes. A word has a *cell*, two numbers of *notes*: the chain of the last writes (more than one only
//! where they wrote different bytes), and the *crowd*: reads since then, and strong writes that others have overtaken. Notes are immutable
//! and shared: lanes that access memory in the usual ways, each its own word or all the same one, leave the same note in all words, since a
//! note gives its lanes relative to the address. So a word costs 8 bytes, and one state of a word is worked out once for a whole row. Weak
//! reads of rows have no cells (`reads`).

mod readers;
mod updates;
mod writers;

use std::ops::Range;

use smallvec::SmallVec;

use super::actor::Actor;
use super::gathers::Gathers;
use super::note::{Access, Conflict, FIXED, Note, Value, turn};
use super::notes::Notes;
use super::reads::Reads;
use updates::{UPDATED, Updates};

/// Words of a region: 4 KiB of memory.
pub(crate) const WORDS: usize = 1024;
/// Accesses that a word's crowd remembers; a larger one forgets the oldest.
pub(super) const CROWD: usize = 40;
/// Notes of a crowd that a read is held against each time; all of them only when the crowd has grown by so many.
const NEAR: usize = 3;
const GROWN: usize = 16;
/// Notes of a region before the first time that unused ones are sorted out.
const NOTES: usize = 400;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    writes: u32,
    crowd: u32,
}

/// The shadow of 4 KiB.
pub(crate) struct Region {
    /// Of all words, or none if there is nothing in them.
    cells: Vec<Cell>,
    notes: Notes,
    limit: usize,
    reads: Reads,
    /// There if words were read here and there.
    gathers: Option<Box<Gathers>>,
    /// The highest of the numbers of CTAs that have written.
    writer: u32,
    /// There may be writes in crowds.
    overtaken: bool,
    updates: Updates,
}

/// What the last words with some states came to, within one instruction and one region: numbers of notes are those of their region.
#[derive(Default)]
pub(crate) struct Memo {
    region: (u64, u64),
    known: [(Cell, u32, u8, Cell); 4],
    next: usize,
    /// The crowd of words that some lanes are the first to read.
    first: Option<(u32, u8, u32)>,
}

impl Memo {
    /// The words that follow are in this region.
    pub(crate) fn enter(&mut self, region: (u64, u64)) {
        if self.region != region {
            self.region = region;
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.next = 0;
        self.first = None;
    }

    fn get(&self, from: Cell, relative: u32, bytes: u8) -> Option<Cell> {
        let fits = |&&(cell, lanes, of, _): &&(Cell, u32, u8, Cell)| cell == from && lanes == relative && of == bytes;
        self.known[..self.next.min(4)].iter().find(fits).map(|known| known.3)
    }

    fn learn(&mut self, from: Cell, relative: u32, bytes: u8, to: Cell) {
        self.known[self.next % 4] = (from, relative, bytes, to);
        self.next += 1;
    }
}

type Chain = SmallVec<[Note; 6]>;

impl Default for Region {
    fn default() -> Region {
        Region {
            cells: Vec::new(),
            notes: Notes::default(),
            limit: NOTES,
            reads: Reads::default(),
            gathers: None,
            writer: 0,
            overtaken: false,
            updates: Updates::default(),
        }
    }
}

impl Region {
    /// Bytes that this takes.
    pub(crate) fn bytes(&self) -> usize {
        let gathers = self.gathers.as_ref().map_or(0, |gathers| gathers.bytes());
        let rows = size_of_val(&*self.cells) + self.updates.bytes() + self.reads.bytes();
        size_of::<Region>() + rows + self.notes.bytes() + gathers
    }

    /// The accesses to a word that are remembered.
    pub(crate) fn notes_at(&self, word: usize) -> impl Iterator<Item = Note> {
        let Cell { writes, crowd } = self.cells.get(word).copied().unwrap_or_default();
        let row = word..word + 1;
        let reads = self.reads.iter().filter(move |read| read.span.words().contains(&row.start));
        let reads = reads.map(move |read| read.span.note_at(&read.note, word));
        let gathered = self.gathers.iter().flat_map(move |gathers| gathers.of(word));
        let (writes, update) = if writes == UPDATED { (0, Some(self.updates.note(word))) } else { (writes, None) };
        update
            .into_iter()
            .chain(self.notes.chain(writes).chain(self.notes.chain(crowd)).copied())
            .chain(reads)
            .chain(gathered)
    }

    /// Forgets a range of words.
    pub(crate) fn clear(&mut self, words: Range<usize>) {
        self.reads.forget(&words);
        if let Some(gathers) = &mut self.gathers {
            gathers.forget(&words);
        }
        if !self.cells.is_empty() {
            self.cells[words].fill(Cell::default());
        }
    }

    /// Forgets all.
    pub(crate) fn reset(&mut self) {
        self.cells.fill(Cell::default());
        self.notes.clear();
        self.limit = NOTES;
        self.reads.clear();
        self.gathers = None;
        (self.writer, self.overtaken) = (0, false);
    }

    /// What an actor does to words, for the lanes `relative`.
    fn note((relative, bytes): (u32, u8), access: &Access, actor: &Actor<'_>) -> Note {
        let warps = if actor.warp < 32 { 1 << actor.warp } else { 0 };
        let (cta, warp, turn) = (actor.cta, actor.warp, access.turn);
        let (time, place, kind) = (access.time, access.place, access.kind);
        Note { cta, last: cta, warps, time, lanes: relative, place, warp, bytes, kind, turn, ..Note::default() }
    }

    /// Lanes access the `bytes` of words in a row, number `words` here, the first of them at `address`; `relative` are the lanes, turned right by the
    /// address of each.
    pub(crate) fn row(
        &mut self,
        (words, address): (Range<usize>, u64),
        (relative, bytes): (u32, u8),
        access: &Access,
        actor: &Actor<'_>,
        memo: &mut Memo,
        conflicts: &mut Vec<Conflict>,
    ) {
        if self.cells.is_empty() {
            self.cells = vec![Cell::default(); WORDS];
        }
        self.end_updates(words.clone());
        if access.kind.writes() {
            self.writer = self.writer.max(actor.cta);
            if self.reads.has_any(&words) {
                self.check_reads((words.clone(), address), (relative, bytes), access, actor, conflicts);
            }
            if self.gathers.is_some() {
                self.end_gathers(&words, bytes, actor);
            }
        }
        let mut at = words.start;
        if words.len() == 1 {
            let old = self.cells[at];
            let lanes = relative.rotate_left(turn(address, access.turn));
            if !access.kind.writes() && self.is_first_read(old, lanes, actor) {
                let crowd = match memo.first {
                    Some((known, of, crowd)) if (known, of) == (relative, bytes) => crowd,
                    _ => self.notes.number(Region::note((relative, bytes), access, actor)),
                };
                self.cells[at].crowd = crowd;
                memo.first = Some((relative, bytes, crowd));
            } else {
                self.access((at, address), (relative, bytes), access, actor, conflicts);
            }
            return self.tidy(memo);
        }
        while at < words.end {
            let old = self.cells[at];
            if memo.get(old, relative, bytes).is_none() {
                let here = address + 4 * (at - words.start) as u64;
                if let Some(new) = self.access((at, here), (relative, bytes), access, actor, conflicts) {
                    memo.learn(old, relative, bytes, new);
                }
                at += 1;
                self.tidy(memo);
            }
            let Some(new) = memo.get(old, relative, bytes) else { continue };
            let same = self.cells[at..words.end].iter().take_while(|&&cell| cell == old).count();
            if new != old {
                self.cells[at..at + same].fill(new);
            }
            at += same;
        }
    }

    /// Sorts out notes that no word has, when there are many.
    #[inline]
    fn tidy(&mut self, memo: &mut Memo) {
        if self.notes.len() > self.limit {
            self.collect();
            memo.forget();
        }
    }

    fn collect(&mut self) {
        let numbers = self.cells.iter_mut().flat_map(|cell| [&mut cell.writes, &mut cell.crowd]);
        self.notes.collect(numbers.filter(|number| **number != UPDATED));
        self.limit = (self.notes.len() + self.notes.len() / 2).max(NOTES);
    }

    /// One word is accessed. What the lanes are not ordered with goes to `conflicts`. What becomes of the word, if the same becomes of all that are
    /// like it.
    fn access(
        &mut self,
        (word, address): (usize, u64),
        (relative, bytes): (u32, u8),
        access: &Access,
        actor: &Actor<'_>,
        conflicts: &mut Vec<Conflict>,
    ) -> Option<Cell> {
        let old = self.cells[word];
        let lanes = relative.rotate_left(turn(address, access.turn));
        let before = conflicts.len();
        actor.depends.set(false);
        let note = Region::note((relative, bytes), access, actor);
        let new = if access.kind.writes() {
            let disagree = note.kind.stores() && !lanes.is_power_of_two() && !actor.store.agrees();
            let value = if disagree { Value::Varied } else { Value::Last };
            let note = Note { warps: 0, value, ..note };
            match self.updated(old, &note, actor) {
                Some(new) => new,
                None => {
                    self.check(old, (address, lanes), &note, actor, conflicts);
                    self.write(old, (address, lanes), note, actor)
                }
            }
        } else if self.is_first_read(old, lanes, actor) {
            Cell { crowd: self.notes.number(note), ..old }
        } else if self.has_read(old, &note) {
            old
        } else {
            self.check(old, (address, lanes), &note, actor, conflicts);
            self.read(old, (address, lanes), note, actor)
        };
        let right = conflicts.len() == before;
        if right || !access.tentative {
            self.cells[word] = new;
        }
        (right && !actor.depends.get()).then_some(new)
    }

    /// What becomes of a word that atomics alone have accessed, all strong for each other.
    fn updated(&mut self, old: Cell, note: &Note, actor: &Actor<'_>) -> Option<Cell> {
        self.is_updated(old, note, actor).then(|| Cell { writes: self.notes.number(*note), crowd: 0 })
    }

    #[inline]
    fn is_updated(&self, old: Cell, note: &Note, actor: &Actor<'_>) -> bool {
        if old.crowd != 0 || old.writes == 0 || !note.kind.reads() || !note.kind.strong() {
            return false;
        }
        let last = self.notes.get(old.writes);
        last.next == 0 && last.cta == last.last && actor.morally_strong(last, note)
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
        // A read is held against writes, and there are none in most crowds.
        let crowd = if new.kind.writes() || self.overtaken { old.crowd } else { 0 };
        let both = self.notes.chain(old.writes).chain(self.notes.chain(crowd));
        let both = both.filter(|note| note.bytes & new.bytes != 0 && (note.kind.writes() || new.kind.writes()));
        // What comes behind a write is ordered with what that was put over, unless it is not ordered with that either.
        let both = both.filter(|note| note.value != Value::Over || new.kind.stores());
        for note in both.filter(|note| !actor.is_behind_all(note, lanes)) {
            for member in note.members() {
                let note = &member;
                let earlier = actor.unordered(note, note.lanes_at(address), lanes);
                if earlier == 0 || actor.morally_strong(note, new) {
                    continue;
                }
                // What a strong access has observed comes before all that comes behind that access (PTX ISA 8.9.4).
                let (mut earlier, mut later) = (earlier, lanes);
                if note.kind.strong() && note.kind.writes() {
                    let observes = || self.observed(old, (address, lanes), new.bytes, actor);
                    later &= !*observed.get_or_insert_with(observes);
                    earlier = actor.unordered(note, note.lanes_at(address), later);
                }
                if earlier != 0 {
                    conflicts.push(Conflict { address, note: *note, earlier, later, bytes: new.bytes });
                    // Of writes that have one note one is enough.
                    if note.kind.writes() {
                        break;
                    }
                }
            }
        }
    }

    /// Lanes that come behind a strong access, or have made it themselves, that has read what was written last.
    fn observed(&self, old: Cell, (address, lanes): (u64, u32), bytes: u8, actor: &Actor<'_>) -> u32 {
        let reads = |note: &&Note| note.kind.strong() && note.kind.reads() && note.bytes & bytes == bytes;
        let head = self.notes.chain(old.writes).take(1);
        let strong = head.chain(self.notes.chain(old.crowd)).filter(reads);
        strong.fold(0, |behind, note| behind | actor.behind(note, note.lanes_at(address), lanes))
    }

    /// Whether nobody has read a word since the only write, which all of the lanes come behind.
    #[inline]
    fn is_first_read(&self, old: Cell, lanes: u32, actor: &Actor<'_>) -> bool {
        let write = self.notes.get(old.writes);
        old.crowd == 0 && write.next == 0 && (old.writes == 0 || actor.is_behind_all(write, lanes))
    }

    /// Whether a read adds nothing: the same threads have read at this time, or have just written.
    fn has_read(&self, old: Cell, note: &Note) -> bool {
        let known = |other: &Note, wrote: bool| {
            (other.kind == note.kind || wrote && other.kind.stores() && !note.kind.strong())
                && other.time == note.time
                && other.turn == note.turn
                && other.bytes & note.bytes == note.bytes
                && note.lanes & !other.lanes == 0
                && other.has(note.cta, note.warp)
        };
        let near = if note.turn == FIXED { 1 } else { NEAR };
        // Who has written reads its own, or what somebody has put there whom it is not ordered with.
        let alone = |of: &Region| {
            let mut crowd = of.notes.chain(old.crowd);
            !of.overtaken || !crowd.any(|other| other.kind.writes() && other.value != Value::Over)
        };
        self.notes.chain(old.crowd).take(near).any(|other| known(other, false))
            || self.notes.chain(old.writes).any(|other| known(other, alone(self)))
    }

    fn read(&mut self, old: Cell, (address, lanes): (u64, u32), note: Note, actor: &Actor<'_>) -> Cell {
        let mut note = note;
        let mut crowd = Chain::new();
        let total = self.notes.len_of(old.crowd);
        let near = match () {
            () if total.is_multiple_of(GROWN) => total,
            () if note.turn == FIXED && note.lanes.is_power_of_two() => 1,
            () => NEAR,
        };
        let (mut rest, mut gone) = (old.crowd, false);
        while rest != 0 && crowd.len() < near {
            let other = self.notes.get(rest);
            rest = other.next;
            let alike = other.has(note.cta, note.warp)
                && other.cta == other.last
                && other.warps.count_ones() <= 1
                && Note { lanes: note.lanes, ..*other }.is_like(&note);
            if alike {
                note.lanes |= other.lanes;
                note.place = other.place;
                gone = true;
                continue;
            }
            let replaces = |member: Note| actor.supersedes(&member, member.lanes_at(address), lanes);
            let covered = other.bytes & !note.bytes == 0
                && (note.kind.strong() || !other.kind.strong())
                && !other.kind.writes()
                && (actor.is_behind_all(other, lanes) || other.members().all(replaces));
            gone |= covered;
            if !covered {
                crowd.push(*other);
            }
        }
        // First the warps of a CTA, then the CTAs.
        while let Some((index, both)) =
            crowd.iter().enumerate().find_map(|(index, other)| Some((index, note.united(other, actor.grid)?)))
        {
            note = both;
            crowd.remove(index);
            gone = true;
        }
        if !gone && total < CROWD {
            // Behind what others have read, one of single lanes is not found again.
            let single = rest != 0 && note.lanes.is_power_of_two() && note.turn == FIXED;
            let note = Note { next: old.crowd, ..note };
            return Cell { crowd: if single { self.notes.push(note) } else { self.notes.number(note) }, ..old };
        }
        crowd.insert(0, note);
        crowd.truncate(CROWD);
        Cell { crowd: self.notes.link(&crowd, rest), ..old }
    }
}
