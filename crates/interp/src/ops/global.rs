//! Loads and stores of global memory in the shapes that matter for speed (PTX ISA 9.7.9.8 to 9.7.9.12): one element or a vector of
//! the registers' width, at a 64-bit register plus a constant.

use std::marker::PhantomData;

use warploom_exec::fault::{AccessFault, FaultKind};
use warploom_exec::memory::{Gather, Lanes, Scalar, Spread};

use crate::frame::Word;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::memory::Base;
use crate::ops::load_store::{load_access, load_uniform, store_access};
use crate::program::Inst;

/// Where the instruction accesses memory. A macro, because a function would borrow the whole machine.
macro_rules! places {
    ($machine:ident, $inst:ident, $mask:ident, $spread:ident, $gather:expr) => {
        Lanes {
            bases: &$machine.frame.r64[$inst.a as usize],
            offset: $inst.imm as i32 as u64,
            mask: $mask,
            spread: $spread,
            site: $inst.b,
            gather: $gather,
        }
    };
}
pub(super) use places;

/// A load of one element whose width is the register's, from global memory (`GENERIC` false) or through a generic address: base
/// register `a`, offset `imm`, access `b`.
pub(crate) struct LoadGlobal<T, const GENERIC: bool>(PhantomData<T>);

impl<T: Word + Scalar, const GENERIC: bool> LaneOp for LoadGlobal<T, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let how = machine.isa.gather();
        let spread = machine.spread::<u64>(inst, mask, size_of::<T>() as u64);
        // Two lanes of the addresses by themselves, only where nothing needs all: what the compiler has of some lanes it does not compute
        // again in a vector.
        if spread != Spread::Other {
            let bases = &machine.frame.r64[inst.a as usize];
            let first = [bases[0], bases[16]].map(|base| base.wrapping_add(inst.imm as i32 as u64));
            if machine.view.load_halves(inst.b, spread, first, T::row_mut(&mut machine.frame, inst.d)) {
                return Flow::Next;
            }
        }
        gather::<T, GENERIC>(machine, inst, mask, spread, how)
    }
}

/// A load whose addresses have no pattern, or that fails.
#[inline(always)]
fn gather<T: Word + Scalar, const GENERIC: bool>(
    machine: &mut Machine<'_>,
    inst: &Inst,
    mask: u32,
    spread: Spread,
    how: Gather,
) -> Flow {
    let mut out = *T::row(&machine.frame, inst.d);
    match machine.view.gather_any(places!(machine, inst, mask, spread, how), [&mut out]) {
        Ok(()) => {
            *T::row_mut(&mut machine.frame, inst.d) = out;
            Flow::Next
        }
        Err(_) if GENERIC => load_access(machine, inst.b, mask),
        Err(fault) => refused(machine, *fault),
    }
}

/// The store that goes with [`LoadGlobal`]: value `d`.
pub(crate) struct StoreGlobal<T, const GENERIC: bool>(PhantomData<T>);

impl<T: Word + Scalar, const GENERIC: bool> LaneOp for StoreGlobal<T, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let spread = machine.spread::<u64>(inst, mask, size_of::<T>() as u64);
        let done = machine
            .view
            .scatter(places!(machine, inst, mask, spread, Gather::OneByOne), T::row(&machine.frame, inst.d));
        match done {
            Ok(()) => {
                machine.stores += 1;
                Flow::Next
            }
            Err(_) if GENERIC => store_access(machine, inst.b, mask),
            Err(fault) => refused(machine, *fault),
        }
    }
}

#[cold]
pub(super) fn refused(machine: &mut Machine<'_>, fault: AccessFault) -> Flow {
    machine.fail(1 << (fault.lane & 31), FaultKind::Access(fault))
}

/// A vector load of `N` elements from global memory into registers of the elements' width; operands as in [`LoadGlobal`].
pub(crate) struct LoadGlobalVector<T, const N: usize, const GENERIC: bool>(PhantomData<T>);

impl<T: Word + Scalar, const N: usize, const GENERIC: bool> LaneOp for LoadGlobalVector<T, N, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let how = machine.isa.gather();
        let spread = machine.spread::<u64>(inst, mask, size_of::<T>() as u64 * N as u64);
        let slots = &machine.function.accesses[inst.b as usize].slots;
        let mut out = [[T::default(); 32]; N];
        for (row, slot) in out.iter_mut().zip(slots) {
            *row = *T::row(&machine.frame, slot.row());
        }
        match machine.view.gather_vector(places!(machine, inst, mask, spread, how), out.each_mut()) {
            Ok(()) => {
                for (row, slot) in out.iter().zip(slots) {
                    *T::row_mut(&mut machine.frame, slot.row()) = *row;
                }
                Flow::Next
            }
            Err(_) if GENERIC => load_access(machine, inst.b, mask),
            Err(fault) => refused(machine, *fault),
        }
    }
}

/// The vector store; operands as in [`LoadGlobal`].
pub(crate) struct StoreGlobalVector<T, const N: usize, const GENERIC: bool>(PhantomData<T>);

impl<T: Word + Scalar, const N: usize, const GENERIC: bool> LaneOp for StoreGlobalVector<T, N, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let spread = machine.spread::<u64>(inst, mask, size_of::<T>() as u64 * N as u64);
        let mut rows = [[T::default(); 32]; N];
        let function = machine.function;
        for (row, slot) in rows.iter_mut().zip(&function.accesses[inst.b as usize].slots) {
            *row = *T::row(&machine.frame, slot.row());
        }
        match machine.view.scatter_vector(places!(machine, inst, mask, spread, Gather::OneByOne), &rows) {
            Ok(()) => {
                machine.stores += 1;
                Flow::Next
            }
            Err(_) if GENERIC => store_access(machine, inst.b, mask),
            Err(fault) => refused(machine, *fault),
        }
    }
}

/// A load of one element of the register's width from a variable, or at an address that the code tells: row `d`, access `imm`.
pub(crate) struct LoadVariable<T>(PhantomData<T>);

impl<T: Word + Scalar> LaneOp for LoadVariable<T> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let access = &machine.function.accesses[inst.imm as usize];
        let address = machine.uniform_address(access);
        // All loads from one variable are one site, counted from the end: those of a whole table would take the places of all others.
        let site = match access.base {
            Base::Variable(number) => !number,
            _ => inst.imm,
        };
        match machine.view.load_at::<T>(site, address) {
            Ok(value) => {
                machine.put(inst.d, mask, &[value; 32]);
                Flow::Next
            }
            Err(_) => load_uniform(machine, inst, mask),
        }
    }
}

/// A load of one element of the register's width from the kernel's parameters: row `d`, access `imm`, byte `a` of the parameters.
pub(crate) struct LoadParam<T>(PhantomData<T>);

impl<T: Word> LaneOp for LoadParam<T> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let start = inst.a as usize;
        match machine.grid.launch.params.get(start..start + T::BYTES) {
            Some(bytes) if start.is_multiple_of(T::BYTES) => {
                let value = T::from_bytes(bytes);
                machine.put(inst.d, mask, &[value; 32]);
                Flow::Next
            }
            _ => load_uniform(machine, inst, mask),
        }
    }
}
