//! Loads and stores of one element of 8 or 16 bits (PTX ISA 9.7.9.8 to 9.7.9.12) into and from a register of up to 32, in global and in shared memory, at
//! a register plus a constant.

use std::marker::PhantomData;

use warploom_exec::memory::{Gather, Lanes, Run, RunMut, Scalar, Spread};

use crate::frame::Word;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::ops::global;
use crate::ops::load_store::{load_access, store_access};
use crate::ops::shared::{HALF, places, range, range_mut};
use crate::program::Inst;

/// An element, and how it fills a register.
pub(crate) trait Narrow {
    /// As it lies in memory.
    type Bits: Scalar;
    /// In a register.
    fn widen(bits: Self::Bits) -> u32;
    /// Back from one.
    fn narrow(word: u32) -> Self::Bits;
    /// From the bytes of an element.
    fn from_bytes(bytes: &[u8]) -> Self::Bits;
    /// Into the bytes of an element.
    fn to_bytes(bits: Self::Bits, bytes: &mut [u8]);
}

/// A signed byte in a register of 16 bits, of whose row the upper half stays clear.
pub(crate) struct ByteIn16;

macro_rules! narrow {
    ($($type:ty: $bits:ty, |$value:ident| $widen:expr;)*) => {$(
        impl Narrow for $type {
            type Bits = $bits;

            #[inline(always)]
            fn widen($value: $bits) -> u32 {
                $widen
            }

            #[inline(always)]
            fn narrow(word: u32) -> $bits {
                word as $bits
            }

            #[inline(always)]
            fn from_bytes(bytes: &[u8]) -> $bits {
                let mut element = [0; size_of::<$bits>()];
                element.copy_from_slice(bytes);
                <$bits>::from_le_bytes(element)
            }

            #[inline(always)]
            fn to_bytes(bits: $bits, bytes: &mut [u8]) {
                bytes.copy_from_slice(&bits.to_le_bytes());
            }
        }
    )*};
}

narrow! {
    u8: u8, |bits| u32::from(bits);
    i8: u8, |bits| bits as i8 as u32;
    ByteIn16: u8, |bits| u32::from(bits as i8 as u16);
    u16: u16, |bits| u32::from(bits);
    i16: u16, |bits| bits as i16 as u32;
}

#[inline(always)]
fn widened<T: Narrow>(elements: &[T::Bits; 32]) -> [u32; 32] {
    let mut wide = [0; 32];
    for lane in 0..32 {
        wide[lane] = T::widen(elements[lane]);
    }
    wide
}

#[inline(always)]
fn narrowed<T: Narrow>(row: &[u32; 32]) -> [T::Bits; 32] {
    let mut elements = [T::Bits::default(); 32];
    for lane in 0..32 {
        elements[lane] = T::narrow(row[lane]);
    }
    elements
}

/// A load from global memory into row `d`; operands as in [`global::LoadGlobal`].
pub(crate) struct LoadNarrow<T, const GENERIC: bool>(PhantomData<T>);

impl<T: Narrow, const GENERIC: bool> LaneOp for LoadNarrow<T, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let spread = machine.spread::<u64>(inst, mask, size_of::<T::Bits>() as u64);
        let mut out = [T::Bits::default(); 32];
        match machine.view.gather(global::places!(machine, inst, mask, spread, Gather::OneByOne), &mut out) {
            Ok(()) => {
                machine.put(inst.d, mask, &widened::<T>(&out));
                Flow::Next
            }
            Err(_) if GENERIC => load_access(machine, inst.b, mask),
            Err(fault) => global::refused(machine, *fault),
        }
    }
}

/// The store that goes with [`LoadNarrow`].
pub(crate) struct StoreNarrow<T, const GENERIC: bool>(PhantomData<T>);

impl<T: Narrow, const GENERIC: bool> LaneOp for StoreNarrow<T, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let spread = machine.spread::<u64>(inst, mask, size_of::<T::Bits>() as u64);
        let values = narrowed::<T>(u32::row(&machine.frame, inst.d));
        match machine.view.scatter(global::places!(machine, inst, mask, spread, Gather::OneByOne), &values) {
            Ok(()) => {
                machine.stores += 1;
                Flow::Next
            }
            Err(_) if GENERIC => store_access(machine, inst.b, mask),
            Err(fault) => global::refused(machine, *fault),
        }
    }
}

/// A load from shared memory into row `d`; operands as in [`crate::ops::shared::LoadShared`].
pub(crate) struct LoadSharedNarrow<B, T>(PhantomData<(B, T)>);

impl<B: Word + Into<u64>, T: Narrow> LaneOp for LoadSharedNarrow<B, T> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let size = size_of::<T::Bits>();
        let pattern = machine.spread::<B>(inst, mask, size as u64);
        let offset = inst.imm.wrapping_sub(machine.cta.base);
        let bases = B::row(&machine.frame, inst.a);
        let shared = &machine.cta.shared[..];
        let mut out = [T::Bits::default(); 32];
        let len = if pattern == Spread::Same { size } else { size * HALF };
        if pattern != Spread::Other
            && let Some(low) = range(shared, bases[0].address(offset), len, size)
            && let Some(high) = range(shared, bases[HALF].address(offset), len, size)
        {
            for (out, bytes) in out.chunks_exact_mut(HALF).zip([low, high]) {
                if pattern == Spread::Same {
                    out.fill(T::from_bytes(bytes));
                } else {
                    for (value, bytes) in out.iter_mut().zip(bytes.chunks_exact(size)) {
                        *value = T::from_bytes(bytes);
                    }
                }
            }
        } else if !Run::of(shared).gather(Gather::OneByOne, &places(bases, offset), mask, [&mut out]) {
            return load_access(machine, inst.b, mask);
        }
        machine.put(inst.d, mask, &widened::<T>(&out));
        Flow::Next
    }
}

/// The store that goes with [`LoadSharedNarrow`].
pub(crate) struct StoreSharedNarrow<B, T>(PhantomData<(B, T)>);

impl<B: Word + Into<u64>, T: Narrow> LaneOp for StoreSharedNarrow<B, T> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let size = size_of::<T::Bits>();
        let pattern = machine.spread::<B>(inst, mask, size as u64);
        let values = narrowed::<T>(u32::row(&machine.frame, inst.d));
        machine.stores += 1;
        let offset = inst.imm.wrapping_sub(machine.cta.base);
        let bases = B::row(&machine.frame, inst.a);
        let shared = &mut machine.cta.shared[..];
        if pattern == Spread::Consecutive {
            let mut served = true;
            for half in [0, HALF] {
                match range_mut(shared, bases[half].address(offset), size * HALF, size) {
                    Some(bytes) => {
                        for (value, bytes) in values[half..].iter().zip(bytes.chunks_exact_mut(size)) {
                            T::to_bytes(*value, bytes);
                        }
                    }
                    None => served = false,
                }
            }
            if served {
                return Flow::Next;
            }
        }
        match RunMut::of(shared).scatter(&places(bases, offset), mask, [&values]) {
            true => Flow::Next,
            false => store_access(machine, inst.b, mask),
        }
    }
}
