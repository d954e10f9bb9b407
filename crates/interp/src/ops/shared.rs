//! Loads and stores of shared memory in the shapes that matter for speed (PTX ISA 9.7.9.8 to 9.7.9.12): one element or a vector of the
//! registers' width, at a register plus a constant.
//!
//! Shared memory is one run of bytes. Lanes that access consecutive elements, or all the same one, are served a half warp at a time
//! (CTAs are often 16 threads wide); others lane by lane. What is out of bounds goes to the general forms, which report it.

use std::marker::PhantomData;

use warploom_exec::memory::Spread;

use crate::frame::Word;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine, lanes};
use crate::ops::load_store::{load_access, store_access};
use crate::program::Inst;

/// Lanes of half a warp.
const HALF: usize = 16;

/// The range of `len` bytes at `address`, if it lies in shared memory and is aligned to `size`.
#[inline(always)]
fn range(shared: &[u8], address: u64, len: usize, size: usize) -> Option<&[u8]> {
    let start = address as usize;
    if start.is_multiple_of(size) { shared.get(start..start.checked_add(len)?) } else { None }
}

/// [`range`], to write.
#[inline(always)]
fn range_mut(shared: &mut [u8], address: u64, len: usize, size: usize) -> Option<&mut [u8]> {
    let start = address as usize;
    if start.is_multiple_of(size) { shared.get_mut(start..start.checked_add(len)?) } else { None }
}

/// A load of `N` elements of the registers' width: base in row `a` of width `B`, offset `imm`, access `b`.
pub(crate) struct LoadShared<B, T, const N: usize>(PhantomData<(B, T)>);

impl<B: Word + Into<u64>, T: Word, const N: usize> LaneOp for LoadShared<B, T, N> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let size = T::BYTES * N;
        let pattern = machine.spread::<B>(inst, mask, size as u64);
        let bases = B::row(&machine.frame, inst.a);
        let first = [bases[0], bases[HALF]].map(|base| base.address(inst.imm));
        let shared = &machine.cta.shared[..];
        let function = machine.function;
        if pattern != Spread::Other {
            let len = if pattern == Spread::Same { size } else { size * HALF };
            if let Some(low) = range(shared, first[0], len, size)
                && let Some(high) = range(shared, first[1], len, size)
            {
                for index in 0..N {
                    let slot = match N {
                        1 => inst.d,
                        _ => function.accesses[inst.b as usize].slots[index].row(),
                    };
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
        let mut out = [[T::default(); 32]; N];
        for lane in lanes(mask) {
            let Some(bytes) = range(shared, bases[lane].address(inst.imm), size, size) else {
                return load_access(machine, inst.b, mask);
            };
            for (row, bytes) in out.iter_mut().zip(bytes.chunks_exact(T::BYTES)) {
                row[lane] = T::from_bytes(bytes);
            }
        }
        if N == 1 {
            machine.put(inst.d, mask, &out[0]);
            return Flow::Next;
        }
        for (row, slot) in out.iter().zip(&function.accesses[inst.b as usize].slots) {
            machine.put(slot.row(), mask, row);
        }
        Flow::Next
    }
}

/// The store that goes with [`LoadShared`]: for one element the value is `d`.
pub(crate) struct StoreShared<B, T, const N: usize>(PhantomData<(B, T)>);

impl<B: Word + Into<u64>, T: Word, const N: usize> LaneOp for StoreShared<B, T, N> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let size = T::BYTES * N;
        let pattern = machine.spread::<B>(inst, mask, size as u64);
        let function = machine.function;
        let mut rows = [T::row(&machine.frame, inst.d); N];
        if N > 1 {
            for (row, &source) in rows.iter_mut().zip(&function.accesses[inst.b as usize].slots) {
                *row = T::row(&machine.frame, source.row());
            }
        }
        machine.stores += 1;
        let bases = B::row(&machine.frame, inst.a);
        let shared = &mut machine.cta.shared[..];
        if pattern == Spread::Consecutive {
            let mut served = true;
            for half in [0, HALF] {
                match range_mut(shared, bases[half].address(inst.imm), size * HALF, size) {
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
        for lane in lanes(mask) {
            let Some(bytes) = range_mut(shared, bases[lane].address(inst.imm), size, size) else {
                return store_access(machine, inst.b, mask);
            };
            for (row, bytes) in rows.iter().zip(bytes.chunks_exact_mut(T::BYTES)) {
                row[lane].to_bytes(bytes);
            }
        }
        Flow::Next
    }
}
