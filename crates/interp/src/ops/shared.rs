//! Loads and stores of shared memory in the shapes that matter for speed (PTX ISA 9.7.9.8 to 9.7.9.12): one element or a vector of the
//! registers' width, at a register plus a constant.
//!
//! Shared memory is one run of bytes. Lanes that access consecutive elements, or all the same one, are served a half warp at a time
//! (CTAs are often 16 threads wide); others lane by lane. What is out of bounds goes to the general forms, which report it.

use std::marker::PhantomData;

use warploom_exec::memory::{Run, RunMut, Scalar, Spread};

use crate::frame::Word;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::ops::load_store::{load_access, store_access};
use crate::program::{Function, Inst};

/// Lanes of half a warp.
pub(super) const HALF: usize = 16;

/// The range of `len` bytes at `address`, if it lies in shared memory and is aligned to `size`.
#[inline(always)]
pub(super) fn range(shared: &[u8], address: u64, len: usize, size: usize) -> Option<&[u8]> {
    let start = address as usize;
    if start.is_multiple_of(size) { shared.get(start..start.checked_add(len)?) } else { None }
}

/// [`range`], to write.
#[inline(always)]
pub(super) fn range_mut(shared: &mut [u8], address: u64, len: usize, size: usize) -> Option<&mut [u8]> {
    let start = address as usize;
    if start.is_multiple_of(size) { shared.get_mut(start..start.checked_add(len)?) } else { None }
}

/// The addresses of an access at `offset` from `bases`.
#[inline(always)]
pub(super) fn places<B: Word>(bases: &[B; 32], offset: u32) -> [u64; 32] {
    let mut places = [0; 32];
    for lane in 0..32 {
        places[lane] = bases[lane].address(offset);
    }
    places
}

/// The rows that an access loads into or stores from.
#[inline(always)]
fn slots<const N: usize>(function: &Function, inst: &Inst) -> [u32; N] {
    let mut rows = [inst.d; N];
    if N > 1 {
        for (row, slot) in rows.iter_mut().zip(&function.accesses[inst.b as usize].slots) {
            *row = slot.row();
        }
    }
    rows
}

/// A load of `N` elements of the registers' width: base in row `a` of width `B`, offset `imm`, access `b`.
pub(crate) struct LoadShared<B, T, const N: usize>(PhantomData<(B, T)>);

impl<B: Word + Into<u64>, T: Word + Scalar, const N: usize> LaneOp for LoadShared<B, T, N> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let how = machine.isa.gather();
        let size = T::BYTES * N;
        let pattern = machine.spread::<B>(inst, mask, size as u64);
        let offset = inst.imm.wrapping_sub(machine.cta.base);
        let bases = B::row(&machine.frame, inst.a);
        let shared = &machine.cta.shared[..];
        if pattern != Spread::Other {
            let first = [bases[0], bases[HALF]].map(|base| base.address(offset));
            let slots = slots::<N>(machine.function, inst);
            let len = if pattern == Spread::Same { size } else { size * HALF };
            if let Some(low) = range(shared, first[0], len, size)
                && let Some(high) = range(shared, first[1], len, size)
            {
                for (index, slot) in slots.into_iter().enumerate() {
                    let row = T::row_mut(&mut machine.frame, slot);
                    for (half, bytes) in [low, high].into_iter().enumerate() {
                        let row = &mut row[half * HALF..][..HALF];
                        if pattern == Spread::Same {
                            row.fill(T::from_bytes(&bytes[index * T::BYTES..]));
                        } else {
                            for (value, bytes) in row.iter_mut().zip(bytes.chunks_exact(size)) {
                                *value = T::from_bytes(&bytes[index * T::BYTES..]);
                            }
                        }
                    }
                }
                return Flow::Next;
            }
        }
        let slots = slots::<N>(machine.function, inst);
        let mut out = [[T::default(); 32]; N];
        for (row, slot) in out.iter_mut().zip(slots) {
            *row = *T::row(&machine.frame, slot);
        }
        if !Run::of(shared).gather(how, &places(bases, offset), mask, out.each_mut()) {
            return load_access(machine, inst.b, mask);
        }
        for (row, slot) in out.iter().zip(slots) {
            *T::row_mut(&mut machine.frame, slot) = *row;
        }
        Flow::Next
    }
}

/// The store that goes with [`LoadShared`]: for one element the value is `d`.
pub(crate) struct StoreShared<B, T, const N: usize>(PhantomData<(B, T)>);

impl<B: Word + Into<u64>, T: Word + Scalar, const N: usize> LaneOp for StoreShared<B, T, N> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let size = T::BYTES * N;
        let pattern = machine.spread::<B>(inst, mask, size as u64);
        let mut rows = [T::row(&machine.frame, inst.d); N];
        if N > 1 {
            for (row, slot) in rows.iter_mut().zip(slots::<N>(machine.function, inst)) {
                *row = T::row(&machine.frame, slot);
            }
        }
        machine.stores += 1;
        let offset = inst.imm.wrapping_sub(machine.cta.base);
        let bases = B::row(&machine.frame, inst.a);
        let shared = &mut machine.cta.shared[..];
        if pattern == Spread::Consecutive {
            let mut served = true;
            for half in [0, HALF] {
                match range_mut(shared, bases[half].address(offset), size * HALF, size) {
                    Some(bytes) => {
                        for (lane, bytes) in bytes.chunks_exact_mut(size).enumerate() {
                            for (row, bytes) in rows.iter().zip(bytes.chunks_exact_mut(T::BYTES)) {
                                row[half + lane].to_bytes(bytes);
                            }
                        }
                    }
                    None => served = false,
                }
            }
            if served {
                return Flow::Next;
            }
        }
        match RunMut::of(shared).scatter(&places(bases, offset), mask, rows) {
            true => Flow::Next,
            false => store_access(machine, inst.b, mask),
        }
    }
}
