//! The notes of a region: immutable, in chains that share their ends.

use smallvec::SmallVec;

use super::note::Note;

/// Places of the index of a region that has few notes.
const INDEX: usize = 16;
/// Places that are tried for a note.
const TRIED: usize = 8;

pub(super) struct Notes {
    /// The first one is nobody's: 0 is the end of a chain.
    list: Vec<Note>,
    /// Numbers of notes, near where their contents say; 0 for none. What has found no place is not found again, and made twice.
    index: Vec<u16>,
    /// The number that was asked for last.
    last: u32,
}

impl Default for Notes {
    fn default() -> Notes {
        Notes { list: vec![Note::default()], index: Vec::new(), last: 0 }
    }
}

fn mixed(note: &Note) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let mut mixed = pair(note.place ^ note.warps, note.lanes).wrapping_mul(ODD);
    mixed = (mixed ^ mixed >> 32 ^ pair(note.next, note.cta ^ note.last << 16)).wrapping_mul(ODD);
    mixed = (mixed ^ mixed >> 32 ^ pair(note.time, note.warp.into())).wrapping_mul(ODD);
    (mixed >> 32) as usize
}

impl Notes {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Note>() + self.index.capacity() * size_of::<u16>()
    }

    pub(super) fn clear(&mut self) {
        self.list.truncate(1);
        self.index.fill(0);
        self.last = 0;
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &Note {
        &self.list[number as usize]
    }

    #[inline]
    pub(super) fn chain(&self, first: u32) -> impl Iterator<Item = &Note> {
        let mut at = first;
        std::iter::from_fn(move || {
            let note = (at != 0).then(|| &self.list[at as usize])?;
            at = note.next;
            Some(note)
        })
    }

    /// The number of a chain of notes, before others that are a chain already.
    pub(super) fn link(&mut self, chain: &[Note], rest: u32) -> u32 {
        chain.iter().rev().fold(rest, |next, note| self.number(Note { next, ..*note }))
    }

    /// How many notes a chain has; for very long ones less.
    pub(super) fn len_of(&self, first: u32) -> usize {
        self.list[first as usize].len.into()
    }

    /// The number of a note.
    #[inline]
    pub(super) fn number(&mut self, note: Note) -> u32 {
        let note = Note { len: self.list[note.next as usize].len.saturating_add(1), ..note };
        if self.list[self.last as usize] != note {
            self.last = self.find(note);
        }
        self.last
    }

    /// The same of one that was not asked for last.
    #[inline(never)]
    fn find(&mut self, note: Note) -> u32 {
        if 2 * self.list.len() >= self.index.len() && self.list.len() < usize::from(u16::MAX) {
            self.index = vec![0; (4 * self.list.len()).next_power_of_two().max(INDEX)];
            for number in 1..self.list.len() as u16 {
                let place = self.place(&self.list[usize::from(number)]).unwrap_or_else(|free| free);
                self.index[place] = number;
            }
        }
        match self.place(&note) {
            Ok(place) => self.index[place].into(),
            Err(free) => {
                let number = self.push(note);
                self.index[free] = u16::try_from(number).unwrap_or(0);
                number
            }
        }
    }

    /// The number of a note that is not there, and will not be asked for again.
    pub(super) fn push(&mut self, note: Note) -> u32 {
        let note = Note { len: self.list[note.next as usize].len.saturating_add(1), ..note };
        if self.list.len() == self.list.capacity() {
            self.list.reserve_exact((self.list.len() / 4).max(8));
        }
        self.list.push(note);
        (self.list.len() - 1) as u32
    }

    /// Where a note is in the index, or is to be put.
    #[inline]
    fn place(&self, note: &Note) -> Result<usize, usize> {
        let mask = self.index.len() - 1;
        let first = mixed(note);
        for tried in 0..TRIED {
            let place = (first + tried) & mask;
            match self.index[place] {
                0 => return Err(place),
                number if self.list[usize::from(number)] == *note => return Ok(place),
                _ => {}
            }
        }
        Err(first & mask)
    }

    /// Sorts out the notes that none of these numbers refers to.
    pub(super) fn collect<'c>(&mut self, numbers: impl Iterator<Item = &'c mut u32>) {
        let mut moved = vec![0u32; self.list.len()];
        let mut kept = vec![self.list[0]];
        for number in numbers {
            *number = keep(&self.list, &mut moved, &mut kept, *number);
        }
        kept.shrink_to_fit();
        self.list = kept;
        self.index = Vec::new();
        self.last = 0;
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
