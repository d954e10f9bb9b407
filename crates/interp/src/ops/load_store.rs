//! Loads, stores and prefetches (PTX ISA 9.7.9.8 to 9.7.9.18): parameters, local memory, and any access whatever.
//!
//! The common shapes of global and shared accesses have files of their own (`global`, `shared`, `narrow`); everything else goes lane by lane
//! through [`load_any`] and [`store_any`], which mean the same.

use warploom_exec::address::{Space, classify};
use warploom_exec::fault::{AccessFault, AccessKind, FaultKind, Refusal};

use crate::frame::{Row64, Word};
use crate::machine::{Flow, Machine, lanes};
use crate::memory::{Access, Extend, Slot, StateSpace};
use crate::program::Inst;
use crate::waiting::{Look, mix};

/// A load at an address known when the kernel was decoded (kernel parameters, variables): one read for all lanes. Access `imm`.
pub(crate) fn load_uniform(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let access = &function.accesses[inst.imm as usize];
    let start = machine.uniform_address(access);
    if let Err(kind) = aligned(access.space, start, access.bytes(), AccessKind::Load) {
        return machine.fail(mask, kind);
    }
    for (index, slot) in access.slots.iter().enumerate() {
        let address = start + index as u64 * u64::from(access.size);
        let value = match machine.load(access.space, address, access.size, 0) {
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
    let function = machine.function;
    let access = &function.accesses[inst.imm as usize];
    // The load may write the row that it takes its addresses from.
    let addresses = machine.addresses(access.base, access.offset);
    let flow = load_access(machine, inst.imm, mask);
    std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
    if flow == Flow::Next {
        note_loaded(machine, inst.imm, mask, &addresses);
    }
    flow
}

/// Behind a strong load of shared memory, access `imm`, that did not write the row of its addresses. Only the host thread that runs the CTA reaches that memory:
/// such a load is any load, but that it may be what a waiting thread polls with.
pub(crate) fn loaded_strong(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let access = &machine.function.accesses[inst.imm as usize];
    let addresses = machine.addresses(access.base, access.offset);
    note_loaded(machine, inst.imm, mask, &addresses);
    Flow::Next
}

/// Notes what a load has found, by which waiting is told from work.
fn note_loaded(machine: &mut Machine<'_>, index: u32, mask: u32, addresses: &Row64) {
    let access = &machine.function.accesses[index as usize];
    let mut found = [0; 32];
    for lane in lanes(mask) {
        for &slot in &access.slots {
            let value = machine.lane(slot, lane);
            found[lane] = mix(mix(found[lane], value as u64), (value >> 64) as u64);
        }
    }
    machine.note_look(Look::Load(index), mask, addresses, &found);
}

/// A volatile, relaxed or releasing store.
pub(crate) fn store_strong(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
    store_access(machine, inst.imm, mask)
}

pub(crate) fn load_access(machine: &mut Machine<'_>, index: u32, mask: u32) -> Flow {
    let function = machine.function;
    let access = &function.accesses[index as usize];
    let addresses = machine.addresses(access.base, access.offset);
    for lane in lanes(mask) {
        let address = addresses[lane];
        if let Err(kind) = aligned(access.space, address, access.bytes(), AccessKind::Load) {
            return machine.fail(1 << lane, kind);
        }
        if access.together() {
            let whole = match machine.load_whole(access, address, lane) {
                Ok(whole) => whole,
                Err(kind) => return machine.fail(1 << lane, kind),
            };
            for (index, slot) in access.slots.iter().enumerate() {
                let element = whole >> (8 * access.size as usize * index) & low(access.size);
                machine.set_lane(*slot, lane, extended(element, access.size, access.extend));
            }
            continue;
        }
        for (index, slot) in access.slots.iter().enumerate() {
            let place = address.wrapping_add(index as u64 * u64::from(access.size));
            let loaded = if access.at_once() {
                machine.load_at_once(access.space, place, lane)
            } else {
                machine.load(access.space, place, access.size, lane)
            };
            let value = match loaded {
                Ok(value) => extended(value, access.size, access.extend),
                Err(kind) => return machine.fail(1 << lane, kind),
            };
            machine.set_lane(*slot, lane, value);
        }
    }
    Flow::Next
}

pub(crate) fn store_access(machine: &mut Machine<'_>, index: u32, mask: u32) -> Flow {
    let function = machine.function;
    let access = &function.accesses[index as usize];
    let addresses = machine.addresses(access.base, access.offset);
    for lane in lanes(mask) {
        let address = addresses[lane];
        if let Err(kind) = aligned(access.space, address, access.bytes(), AccessKind::Store) {
            return machine.fail(1 << lane, kind);
        }
        machine.stores += u32::from(seen_by_others(access.space, address));
        if access.together() {
            let shifted = |(index, slot): (usize, &Slot)| {
                (machine.lane(*slot, lane) & low(access.size)) << (8 * access.size as usize * index)
            };
            let whole = access.slots.iter().enumerate().map(shifted).fold(0, |whole, element| whole | element);
            if let Err(kind) = machine.store_whole(access, address, lane, whole) {
                return machine.fail(1 << lane, kind);
            }
            continue;
        }
        for (index, slot) in access.slots.iter().enumerate() {
            let place = address.wrapping_add(index as u64 * u64::from(access.size));
            let value = machine.lane(*slot, lane);
            let stored = if access.at_once() {
                machine.store_at_once(access.space, place, lane, value)
            } else {
                machine.store(access.space, place, access.size, lane, value)
            };
            if let Err(kind) = stored {
                return machine.fail(1 << lane, kind);
            }
        }
    }
    Flow::Next
}

/// Local memory is the thread's own: code that was not optimised keeps in it what a loop that waits works with.
fn seen_by_others(space: StateSpace, address: u64) -> bool {
    match space {
        StateSpace::Local => false,
        StateSpace::Generic => !matches!(classify(address), Space::Local(_)),
        _ => true,
    }
}

/// A vector access must be aligned to its whole size; that of one element is checked where it lands.
fn aligned(space: StateSpace, address: u64, bytes: u32, kind: AccessKind) -> Result<(), FaultKind> {
    if address.is_multiple_of(u64::from(bytes)) {
        return Ok(());
    }
    Err(misaligned(space, address, u64::from(bytes), kind))
}

/// The fault of an access to an address that is not a multiple of `size`.
pub(crate) fn misaligned(space: StateSpace, address: u64, size: u64, kind: AccessKind) -> FaultKind {
    match space {
        StateSpace::Global | StateSpace::Generic => {
            FaultKind::Access(AccessFault { address, size, kind, refusal: Refusal::Misaligned, lane: 0, nearest: None })
        }
        StateSpace::Shared | StateSpace::Cluster => FaultKind::MisalignedInSpace { space: ".shared", address, size },
        StateSpace::Local => FaultKind::MisalignedInSpace { space: ".local", address, size },
        StateSpace::Param => FaultKind::MisalignedInSpace { space: ".param", address, size },
    }
}

/// All bits of an element.
fn low(size: u32) -> u128 {
    u128::MAX >> (128 - 8 * size)
}

fn extended(value: u128, size: u32, extend: Extend) -> u128 {
    match extend {
        Extend::Zero => value,
        Extend::Sign => sign_extended(value, size),
        Extend::Sign16 => sign_extended(value, size) & 0xffff,
    }
}

fn sign_extended(value: u128, size: u32) -> u128 {
    let shift = 128 - 8 * size;
    ((value << shift) as i128 >> shift) as u128
}

impl Machine<'_> {
    /// All elements of a vector that is read together, the first in the low bits.
    fn load_whole(&mut self, access: &Access, address: u64, lane: usize) -> Result<u128, FaultKind> {
        match access.bytes() {
            16 => self.load_at_once(access.space, address, lane),
            bytes => self.load(access.space, address, bytes, lane),
        }
    }

    /// Writes the elements of a vector together.
    fn store_whole(&mut self, access: &Access, address: u64, lane: usize, whole: u128) -> Result<(), FaultKind> {
        match access.bytes() {
            16 => self.store_at_once(access.space, address, lane, whole),
            bytes => self.store(access.space, address, bytes, lane, whole),
        }
    }

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
