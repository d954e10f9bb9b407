//! Loads, stores and prefetches (PTX ISA 9.7.9.8 to 9.7.9.18).
//!
//! The common shapes have loops of their own; everything else goes lane by lane through [`load_any`] and [`store_any`], which mean
//! the same.

use std::marker::PhantomData;

use warploom_exec::fault::{AccessFault, AccessKind, FaultKind, Refusal};
use warploom_exec::memory::Scalar;

use crate::frame::Word;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine, lanes};
use crate::memory::{Base, Extend, Slot, StateSpace};
use crate::program::Inst;

/// A load of one element whose width is the register's, from global memory (`GENERIC` false) or through a generic address: base
/// register `a`, offset `imm`, access `b`.
pub(crate) struct LoadGlobal<T, const GENERIC: bool>(PhantomData<T>);

impl<T: Word + Scalar, const GENERIC: bool> LaneOp for LoadGlobal<T, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let addresses = machine.addresses(Base::Double(inst.a), i64::from(inst.imm as i32));
        let mut out = [T::default(); 32];
        match machine.view.gather(&addresses, mask, &mut out) {
            Ok(()) => {
                machine.put(inst.d, mask, &out);
                Flow::Next
            }
            Err(_) if GENERIC => load_access(machine, inst.b, mask),
            Err(fault) => refused(machine, *fault),
        }
    }
}

/// The store that goes with [`LoadGlobal`]: value `d`.
pub(crate) struct StoreGlobal<T, const GENERIC: bool>(PhantomData<T>);

impl<T: Word + Scalar, const GENERIC: bool> LaneOp for StoreGlobal<T, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let addresses = machine.addresses(Base::Double(inst.a), i64::from(inst.imm as i32));
        let done = machine.view.scatter(&addresses, mask, T::row(&machine.frame, inst.d));
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

/// A value of a type narrower than the 32-bit register that it is loaded into or stored from.
pub(crate) trait Narrow: Scalar {
    /// In a register.
    fn widen(self) -> u32;
    /// Back from one.
    fn narrow(word: u32) -> Self;
}

impl Narrow for u8 {
    #[inline(always)]
    fn widen(self) -> u32 {
        u32::from(self)
    }

    #[inline(always)]
    fn narrow(word: u32) -> Self {
        word as u8
    }
}

impl Narrow for u16 {
    #[inline(always)]
    fn widen(self) -> u32 {
        u32::from(self)
    }

    #[inline(always)]
    fn narrow(word: u32) -> Self {
        word as u16
    }
}

/// A load of an unsigned or untyped 8 or 16-bit element into a 32-bit row; operands as in [`LoadGlobal`].
pub(crate) struct LoadNarrow<T, const GENERIC: bool>(PhantomData<T>);

impl<T: Narrow, const GENERIC: bool> LaneOp for LoadNarrow<T, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let addresses = machine.addresses(Base::Double(inst.a), i64::from(inst.imm as i32));
        let mut out = [T::default(); 32];
        match machine.view.gather(&addresses, mask, &mut out) {
            Ok(()) => {
                machine.put(inst.d, mask, &out.map(T::widen));
                Flow::Next
            }
            Err(_) if GENERIC => load_access(machine, inst.b, mask),
            Err(fault) => refused(machine, *fault),
        }
    }
}

/// The store that goes with [`LoadNarrow`].
pub(crate) struct StoreNarrow<T, const GENERIC: bool>(PhantomData<T>);

impl<T: Narrow, const GENERIC: bool> LaneOp for StoreNarrow<T, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let addresses = machine.addresses(Base::Double(inst.a), i64::from(inst.imm as i32));
        let values = machine.frame.r32[inst.d as usize].map(T::narrow);
        match machine.view.scatter(&addresses, mask, &values) {
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
fn refused(machine: &mut Machine<'_>, fault: AccessFault) -> Flow {
    machine.fail(1 << (fault.lane & 31), FaultKind::Access(fault))
}

/// A vector load of `N` elements from global memory into registers of the elements' width; operands as in [`LoadGlobal`].
pub(crate) struct LoadGlobalVector<T, const N: usize, const GENERIC: bool>(PhantomData<T>);

impl<T: Word + Scalar, const N: usize, const GENERIC: bool> LaneOp for LoadGlobalVector<T, N, GENERIC> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let addresses = machine.addresses(Base::Double(inst.a), i64::from(inst.imm as i32));
        let mut out = [[T::default(); 32]; N];
        match machine.view.gather_vector(&addresses, mask, &mut out) {
            Ok(()) => {
                let function = machine.function;
                for (row, slot) in out.iter().zip(&function.accesses[inst.b as usize].slots) {
                    if let Slot::Word(slot) | Slot::Double(slot) = *slot {
                        machine.put(slot, mask, row);
                    }
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
        let addresses = machine.addresses(Base::Double(inst.a), i64::from(inst.imm as i32));
        let mut rows = [[T::default(); 32]; N];
        let function = machine.function;
        for (row, slot) in rows.iter_mut().zip(&function.accesses[inst.b as usize].slots) {
            if let Slot::Word(slot) | Slot::Double(slot) = *slot {
                *row = *T::row(&machine.frame, slot);
            }
        }
        match machine.view.scatter_vector(&addresses, mask, &rows) {
            Ok(()) => {
                machine.stores += 1;
                Flow::Next
            }
            Err(_) if GENERIC => store_access(machine, inst.b, mask),
            Err(fault) => refused(machine, *fault),
        }
    }
}

/// A load of `N` elements of the registers' width from shared memory: base in row `a` of width `B`, offset `imm`, access `b`.
pub(crate) struct LoadShared<B, T, const N: usize>(PhantomData<(B, T)>);

impl<B: Word, T: Word, const N: usize> LaneOp for LoadShared<B, T, N> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let addresses = B::row(&machine.frame, inst.a).map(
            #[inline(always)]
            |base| base.address(inst.imm),
        );
        let shared = &machine.cta.shared[..];
        let size = T::BYTES * N;
        let mut out = [[T::default(); 32]; N];
        let first = addresses[0];
        let consecutive =
            (0..32).fold(true, |all, lane| all & (addresses[lane] == first.wrapping_add((size * lane) as u64)));
        let start = first as usize;
        if consecutive
            && start.is_multiple_of(size)
            && let Some(bytes) = start.checked_add(32 * size).and_then(|end| shared.get(start..end))
        {
            for (lane, bytes) in bytes.chunks_exact(size).enumerate() {
                for (row, bytes) in out.iter_mut().zip(bytes.chunks_exact(T::BYTES)) {
                    row[lane] = T::from_bytes(bytes);
                }
            }
        } else {
            for lane in lanes(mask) {
                let place = addresses[lane] as usize;
                match place.checked_add(size).and_then(|end| shared.get(place..end)) {
                    Some(bytes) if place.is_multiple_of(size) => {
                        for (row, bytes) in out.iter_mut().zip(bytes.chunks_exact(T::BYTES)) {
                            row[lane] = T::from_bytes(bytes);
                        }
                    }
                    _ => return load_access(machine, inst.b, mask),
                }
            }
        }
        if N == 1 {
            machine.put(inst.d, mask, &out[0]);
            return Flow::Next;
        }
        let function = machine.function;
        for (row, slot) in out.iter().zip(&function.accesses[inst.b as usize].slots) {
            if let Slot::Word(slot) | Slot::Double(slot) = *slot {
                machine.put(slot, mask, row);
            }
        }
        Flow::Next
    }
}

/// The store that goes with [`LoadShared`]: for one element the value is `d`.
pub(crate) struct StoreShared<B, T, const N: usize>(PhantomData<(B, T)>);

impl<B: Word, T: Word, const N: usize> LaneOp for StoreShared<B, T, N> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let size = T::BYTES * N;
        let function = machine.function;
        let mut slots = [inst.d; N];
        if N > 1 {
            for (slot, &source) in slots.iter_mut().zip(&function.accesses[inst.b as usize].slots) {
                let (Slot::Word(source) | Slot::Double(source) | Slot::Quad(source)) = source;
                *slot = source;
            }
        }
        let bases = B::row(&machine.frame, inst.a);
        let rows = slots.map(
            #[inline(always)]
            |slot| T::row(&machine.frame, slot),
        );
        machine.stores += 1;
        let shared = &mut machine.cta.shared[..];
        for lane in lanes(mask) {
            let place = bases[lane].address(inst.imm) as usize;
            match place.checked_add(size).and_then(|end| shared.get_mut(place..end)) {
                Some(bytes) if place.is_multiple_of(size) => {
                    for (row, bytes) in rows.iter().zip(bytes.chunks_exact_mut(T::BYTES)) {
                        row[lane].to_bytes(bytes);
                    }
                }
                _ => return store_access(machine, inst.b, mask),
            }
        }
        Flow::Next
    }
}

/// A load of kernel parameters at a constant offset: one read for all lanes.
pub(crate) fn load_param(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let access = &function.accesses[inst.imm as usize];
    for (index, slot) in access.slots.iter().enumerate() {
        let address = access.offset as u64 + index as u64 * u64::from(access.size);
        let value = match machine.load(StateSpace::Param, address, access.size, 0) {
            Ok(value) => extended(value, access.size, access.extend),
            Err(kind) => return machine.fail(mask, kind),
        };
        match *slot {
            Slot::Word(slot) => machine.put(slot, mask, &[value as u32; 32]),
            Slot::Double(slot) => machine.put(slot, mask, &[value as u64; 32]),
            Slot::Quad(slot) => {
                machine.put(slot, mask, &[value as u64; 32]);
                machine.put(slot + 1, mask, &[(value >> 64) as u64; 32]);
            }
        }
    }
    Flow::Next
}

/// A load of whole words of local memory at the same address in all lanes: rows are copied.
pub(crate) fn load_local_rows(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let access = &function.accesses[inst.imm as usize];
    let address = machine.addresses(access.base, access.offset)[0];
    let words = access.bytes() / 4;
    let row = (address / 4) as usize;
    if !address.is_multiple_of(u64::from(access.bytes())) || machine.warp.local.len() < row + words as usize {
        return load_access(machine, inst.imm, mask);
    }
    let mut next = row;
    for slot in &access.slots {
        match *slot {
            Slot::Word(slot) => {
                let value = machine.warp.local[next];
                machine.put(slot, mask, &value);
            }
            Slot::Double(slot) => {
                let value = join(&machine.warp.local[next], &machine.warp.local[next + 1]);
                machine.put(slot, mask, &value);
            }
            Slot::Quad(slot) => {
                let low = join(&machine.warp.local[next], &machine.warp.local[next + 1]);
                let high = join(&machine.warp.local[next + 2], &machine.warp.local[next + 3]);
                machine.put(slot, mask, &low);
                machine.put(slot + 1, mask, &high);
            }
        }
        next += access.size as usize / 4;
    }
    Flow::Next
}

/// The store that goes with [`load_local_rows`].
pub(crate) fn store_local_rows(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let access = &function.accesses[inst.imm as usize];
    let address = machine.addresses(access.base, access.offset)[0];
    let words = access.bytes() / 4;
    let row = (address / 4) as usize;
    if !address.is_multiple_of(u64::from(access.bytes())) || machine.warp.local.len() < row + words as usize {
        return store_access(machine, inst.imm, mask);
    }
    let mut next = row;
    for slot in &access.slots {
        let local = &mut machine.warp.local;
        let mut put = |offset: usize, value: &[u32; 32]| u32::blend(&mut local[next + offset], value, mask);
        match *slot {
            Slot::Word(slot) => put(0, &machine.frame.r32[slot as usize]),
            Slot::Double(slot) => {
                let value = &machine.frame.r64[slot as usize];
                put(0, &value.map(|v| v as u32));
                put(1, &value.map(|v| (v >> 32) as u32));
            }
            Slot::Quad(slot) => {
                for half in 0..2 {
                    let value = &machine.frame.r64[slot as usize + half];
                    put(2 * half, &value.map(|v| v as u32));
                    put(2 * half + 1, &value.map(|v| (v >> 32) as u32));
                }
            }
        }
        next += access.size as usize / 4;
    }
    Flow::Next
}

fn join(low: &[u32; 32], high: &[u32; 32]) -> [u64; 32] {
    std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
}

/// Any load, described by access `imm`.
pub(crate) fn load_any(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    load_access(machine, inst.imm, mask)
}

/// Any store, described by access `imm`.
pub(crate) fn store_any(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    store_access(machine, inst.imm, mask)
}

/// A volatile, relaxed or acquiring load (PTX ISA 8.4): what a waiting thread polls with.
pub(crate) fn load_strong(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    machine.polls += 1;
    let flow = load_access(machine, inst.imm, mask);
    std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
    flow
}

/// A volatile, relaxed or releasing store.
pub(crate) fn store_strong(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
    store_access(machine, inst.imm, mask)
}

fn load_access(machine: &mut Machine<'_>, index: u32, mask: u32) -> Flow {
    let function = machine.function;
    let access = &function.accesses[index as usize];
    let addresses = machine.addresses(access.base, access.offset);
    for lane in lanes(mask) {
        let address = addresses[lane];
        if let Err(kind) = aligned(access.space, address, access.bytes(), AccessKind::Load) {
            return machine.fail(1 << lane, kind);
        }
        for (index, slot) in access.slots.iter().enumerate() {
            let place = address.wrapping_add(index as u64 * u64::from(access.size));
            let value = match machine.load(access.space, place, access.size, lane) {
                Ok(value) => extended(value, access.size, access.extend),
                Err(kind) => return machine.fail(1 << lane, kind),
            };
            machine.set_lane(*slot, lane, value);
        }
    }
    Flow::Next
}

fn store_access(machine: &mut Machine<'_>, index: u32, mask: u32) -> Flow {
    machine.stores += 1;
    let function = machine.function;
    let access = &function.accesses[index as usize];
    let addresses = machine.addresses(access.base, access.offset);
    for lane in lanes(mask) {
        let address = addresses[lane];
        if let Err(kind) = aligned(access.space, address, access.bytes(), AccessKind::Store) {
            return machine.fail(1 << lane, kind);
        }
        for (index, slot) in access.slots.iter().enumerate() {
            let place = address.wrapping_add(index as u64 * u64::from(access.size));
            let value = machine.lane(*slot, lane);
            if let Err(kind) = machine.store(access.space, place, access.size, lane, value) {
                return machine.fail(1 << lane, kind);
            }
        }
    }
    Flow::Next
}

/// A vector access must be aligned to its whole size; that of one element is checked where it lands.
fn aligned(space: StateSpace, address: u64, bytes: u32, kind: AccessKind) -> Result<(), FaultKind> {
    if address.is_multiple_of(u64::from(bytes)) {
        return Ok(());
    }
    Err(match space {
        StateSpace::Global | StateSpace::Generic => FaultKind::Access(AccessFault {
            address,
            size: u64::from(bytes),
            kind,
            refusal: Refusal::Misaligned,
            lane: 0,
            nearest: None,
        }),
        StateSpace::Shared => FaultKind::MisalignedInSpace { space: ".shared", address, size: u64::from(bytes) },
        StateSpace::Local => FaultKind::MisalignedInSpace { space: ".local", address, size: u64::from(bytes) },
        StateSpace::Param => FaultKind::MisalignedInSpace { space: ".param", address, size: u64::from(bytes) },
    })
}

fn extended(value: u128, size: u32, extend: Extend) -> u128 {
    match extend {
        Extend::Zero => value,
        Extend::Sign => {
            let shift = 128 - 8 * size;
            ((value << shift) as i128 >> shift) as u128
        }
    }
}

impl Machine<'_> {
    /// Writes one lane of a register.
    pub(crate) fn set_lane(&mut self, slot: Slot, lane: usize, value: u128) {
        match slot {
            Slot::Word(slot) => self.frame.r32[slot as usize][lane] = value as u32,
            Slot::Double(slot) => self.frame.r64[slot as usize][lane] = value as u64,
            Slot::Quad(slot) => {
                self.frame.r64[slot as usize][lane] = value as u64;
                self.frame.r64[slot as usize + 1][lane] = (value >> 64) as u64;
            }
        }
    }

    /// Reads one lane of a register.
    pub(crate) fn lane(&self, slot: Slot, lane: usize) -> u128 {
        match slot {
            Slot::Word(slot) => u128::from(self.frame.r32[slot as usize][lane]),
            Slot::Double(slot) => u128::from(self.frame.r64[slot as usize][lane]),
            Slot::Quad(slot) => {
                u128::from(self.frame.r64[slot as usize][lane])
                    | u128::from(self.frame.r64[slot as usize + 1][lane]) << 64
            }
        }
    }
}
