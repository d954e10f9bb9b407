//! Sums in memory that nobody asks for before the grid ends: each worker keeps what it adds to a place for itself, and adds it to the memory
//! when it turns from the grid. Of small memory it has a row of sums, word by word; of larger one a table of the places that it has come to. Many updates of
//! one place become one, and workers do not take each other's cache lines away.
//!
//! What is kept back must not be missed. A kernel that could order its threads across CTAs keeps nothing back (`warploom_simt` decides that from its
//! text); then only accesses of the same worker can tell, which go through the table of sites: sums are kept of one allocation, to which no other
//! site of the kernel goes, and as soon as one does, what is kept is added and no more is kept.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_simt::codegen::sums::{ENTRIES, Entry, ROW};

/// So many updates of places that others have pushed out of the table, and as many more for each CTA: beyond that keeping costs more than it saves.
const PUSHED_OUT: u64 = 1 << 14;
const PUSHED_OUT_BY_CTA: u64 = 32;

/// The memory of which all sums are in a row. Offset and meaning of the fields are those of [`context`](warploom_simt::codegen::context).
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Row {
    pub(crate) start: u64,
    pub(crate) count: u64,
    pub(crate) sums: *mut u32,
}

/// What one worker has kept back.
#[derive(Default)]
pub(crate) struct Sums {
    table: Vec<Entry>,
    /// Whether there is something in the table.
    filled: bool,
    /// By word of the memory, if that is small; empty if not.
    row: Vec<u32>,
    /// The memory that the places are in.
    pub(crate) memory: Range<u64>,
    /// Nothing is kept until the worker turns from the grid.
    off: bool,
    left: u64,
}

impl Sums {
    /// The table, for code that keeps sums; none if that costs more than it saves.
    pub(crate) fn table(&mut self) -> *mut Entry {
        if self.table.is_empty() {
            self.table.resize(ENTRIES, Entry::default());
            self.left = PUSHED_OUT;
        }
        if self.left == 0 {
            return std::ptr::null_mut();
        }
        self.left += PUSHED_OUT_BY_CTA;
        self.table.as_mut_ptr()
    }

    /// Whether sums of a place are kept. `memory` is where its site may go, and tells whether another site goes there.
    pub(crate) fn keeps(&mut self, address: u64, memory: impl FnOnce() -> Option<Range<u64>>) -> bool {
        if self.off || self.left == 0 {
            return false;
        }
        if self.memory.is_empty() {
            match memory() {
                Some(memory) => {
                    let words = (memory.end - memory.start) / 4;
                    self.row.resize(if words <= ROW { words as usize } else { 0 }, 0);
                    self.memory = memory;
                }
                None => self.off = true,
            }
        }
        self.memory.contains(&address)
    }

    /// The row, for code that keeps sums.
    pub(crate) fn row(&mut self) -> Row {
        Row { start: self.memory.start, count: self.row.len() as u64, sums: self.row.as_mut_ptr() }
    }

    /// Keeps a summand that code has not: in the row, or as the first of a place in the table, where what was kept of the one that had its entry is added.
    ///
    /// # Safety
    /// The memory of all places is there.
    pub(crate) unsafe fn keep(&mut self, address: u64, summand: u32) {
        if let Some(sum) = self.row.get_mut(((address - self.memory.start) / 4) as usize) {
            *sum = sum.wrapping_add(summand);
            return;
        }
        self.filled = true;
        let entry = &mut self.table[(address >> 2) as usize % ENTRIES];
        let before = std::mem::replace(entry, Entry { address, sum: summand, ..Entry::default() });
        if before.address != 0 {
            self.left -= 1;
            // SAFETY: the caller's.
            unsafe { add(before.address, before.sum) };
        }
    }

    /// A site that keeps no sums goes to some memory.
    ///
    /// # Safety
    /// The memory of all places is there.
    pub(crate) unsafe fn meet(&mut self, other: &Range<u64>) {
        if other.start < self.memory.end && self.memory.start < other.end {
            // SAFETY: the caller's.
            unsafe { self.flush() };
            self.off = true;
        }
    }

    /// Adds all that was kept, and begins anew.
    ///
    /// # Safety
    /// The memory of all places is there.
    pub(crate) unsafe fn flush(&mut self) {
        for (sum, address) in self.row.drain(..).zip((self.memory.start..).step_by(4)).filter(|(sum, _)| *sum != 0) {
            // SAFETY: the caller's.
            unsafe { add(address, sum) };
        }
        let filled = std::mem::take(&mut self.filled);
        for entry in self.table.iter_mut().filter(|entry| filled && entry.address != 0) {
            // SAFETY: the caller's.
            unsafe { add(entry.address, entry.sum) };
            *entry = Entry::default();
        }
        (self.memory, self.off, self.left) = (0..0, false, PUSHED_OUT);
    }
}

/// # Safety
/// There is an aligned word.
pub(crate) unsafe fn add(address: u64, summand: u32) {
    let place = std::ptr::with_exposed_provenance_mut::<u32>(address as usize);
    // SAFETY: the caller's; others update it by atomics too.
    unsafe { AtomicU32::from_ptr(place) }.fetch_add(summand, Ordering::Relaxed);
}
