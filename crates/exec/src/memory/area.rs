//! What blocks of lanes read from one area, all of which has been looked at.

use std::marker::PhantomData;

use warploom_numerics::vector::WordVectors;

use super::Memory;
use super::near::{Gathers, Room, Rows, Words, near_in_rows, unaligned_bits};
use crate::fault::AccessKind;

/// The most bytes of an [`Area`]: offsets in it have a sign for the processor.
const MOST_OF_AREA: u32 = 1 << 31;

/// Bytes that many accesses go to, which have been looked up in one piece: they may be read as long as memory has not changed.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    start: u64,
    bytes: u32,
    /// [`Memory::number`] of the memory, and the epoch of its table.
    memory: u64,
    epoch: u64,
}

impl Memory {
    /// So many bytes from an address on. None where they may not be read, or not in one piece, or are more than 2^31.
    pub fn area(&self, start: u64, bytes: u32) -> Option<Area> {
        let extent = self.extent(start, u64::from(bytes), AccessKind::Load).ok()?;
        let whole = bytes <= MOST_OF_AREA && extent.holds(start, u64::from(bytes));
        whole.then_some(Area { start, bytes, memory: self.number, epoch: extent.epoch })
    }
}

impl Area {
    /// The bytes, to be read from. None where memory has changed since they were looked up.
    #[inline(always)]
    pub fn readable(self, memory: &Memory) -> Option<Readable<'_>> {
        let Area { start, bytes, .. } = self;
        let holds = self.memory == memory.number && self.epoch == memory.table.epoch();
        // All of it is in an extent that may be read, and what was valid once stays mapped, as for views.
        holds.then_some(Readable { start, bytes, memory: PhantomData })
    }
}

/// An [`Area`] that may be read.
#[derive(Clone, Copy)]
pub struct Readable<'m> {
    start: u64,
    bytes: u32,
    memory: PhantomData<&'m ()>,
}

/// Whether `size` bytes from each of these offsets on are among the first so many, at most 2^31, and offsets multiples of `size`, or of 8 if that is less.
#[inline(always)]
fn are_in<V: WordVectors, const P: usize>(v: V, bytes: u32, size: u32, offsets: &[V::Words; P]) -> bool {
    /// Of offsets that are too large for an area.
    const SIGN: u32 = 1 << 31;
    let Some(last) = bytes.checked_sub(size) else { return false };
    let mut furthest = v.splat(0);
    for offsets in offsets {
        furthest = v.max(furthest, *offsets);
    }
    let beyond = v.and(v.sub(v.splat(last), furthest), v.splat(SIGN));
    !v.any(v.or(beyond, v.and(bits(v, offsets), v.splat((size.min(8) - 1) | SIGN))))
}

/// The bits that any of these have.
#[inline(always)]
fn bits<V: WordVectors, const P: usize>(v: V, words: &[V::Words; P]) -> V::Words {
    let mut bits = v.splat(0);
    for words in words {
        bits = v.or(bits, *words);
    }
    bits
}

impl<'m> Readable<'m> {
    /// Loads `N` words (1, 2 or 4) for each lane of a block, from each of `P` places in each of `R` rows: so many bytes behind the start. What lies near in a row
    /// is loaded together, and no lane is looked at on its own. None, with nothing loaded, where a lane's words are not in the area or not aligned to all of them or 8
    /// bytes.
    #[inline(always)]
    pub fn gather<V: Gathers, const N: usize, const P: usize, const R: usize>(
        self,
        v: V,
        places: &[[V::Words; P]; R],
    ) -> Option<[[[V::Words; N]; P]; R]> {
        let Readable { start, bytes, .. } = self;
        if start & unaligned_bits(4 * N) != 0 {
            return None;
        }
        let mut out = [[[v.splat(0); N]; P]; R];
        // Written out: a loop would have each vector go through memory, where single offsets are asked for.
        macro_rules! load {
            ($($row:literal)+) => {
                $(if $row < R {
                    let offsets = &places[$row];
                    let mut words = [[V::Lanes::default(); N]; P];
                    if !self.together(v, offsets, &mut words) {
                        if !are_in(v, bytes, 4 * N as u32, offsets) {
                            return None;
                        }
                        // SAFETY: each lane's words are in the area, which may be read, and aligned.
                        unsafe { v.apart(start, offsets, &mut words) };
                    }
                    for (out, words) in out[$row].as_flattened_mut().iter_mut().zip(words.as_flattened()) {
                        *out = v.load(words);
                    }
                })+
            };
        }
        const { assert!(R <= 2) };
        load!(0 1);
        Some(out)
    }

    /// Of [`Readable::gather`], what lies near in one row. False where that is not so.
    #[inline(always)]
    fn together<V: Gathers, const N: usize, const P: usize>(
        self,
        v: V,
        offsets: &[V::Words; P],
        words: &mut Words<V::Lanes, N, P>,
    ) -> bool {
        let mut room = Room::default();
        if v.any(v.and(bits(v, offsets), v.splat(4 * N as u32 - 1))) {
            return false;
        }
        let mut numbers = *offsets;
        for numbers in &mut numbers {
            *numbers = match N {
                1 => v.shr::<2>(*numbers),
                2 => v.shr::<3>(*numbers),
                _ => v.shr::<4>(*numbers),
            };
        }
        let Some(rows) = self.rows::<V, 4, N, 1>([0]) else { return false };
        match near_in_rows(v, [rows], &[numbers], &mut room) {
            Some([[near]]) => {
                *words = *near;
                true
            }
            None => false,
        }
    }

    /// Rows that begin so many bytes behind the start, to load elements of `N` words, or of `WIDTH` (1 or 2) bytes, from by windows. None where none lies in all of them, or they are
    /// not aligned to all of an element, or 8 bytes.
    #[inline(always)]
    pub fn rows<V: Gathers, const WIDTH: usize, const N: usize, const R: usize>(
        self,
        rows: [u32; R],
    ) -> Option<Rows<'m, V, WIDTH, N, R>> {
        // SAFETY: all of the area may be read.
        unsafe { Rows::new(self.start, self.bytes, rows) }
    }
}
