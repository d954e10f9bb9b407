//! Small allocations: slots of equal size in chunks, one list of free slots for each size class of each [`Pool`].
//!
//! A free slot waits in a queue before it is used again, so that a late access to it is still told as one to freed
//! memory. Each slot is longer than the allocation by a granule or more that belongs to nobody.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::table::{Head, Table, free_error};
use super::window::CHUNK;
use super::{ALIGNMENT, AllocError, AllocationInfo, FreeError, GRANULE, MemoryKind, lock};

/// Slots up to this size, with their gap, are slab slots; what is larger is a run of chunks.
const LARGEST_SLOT: u64 = 512 << 10;
/// Slots of free memory that wait before reuse, at most so many and so many bytes.
const WAITING_SLOTS: u64 = 64;
const WAITING_BYTES: u64 = 4 << 20;
/// Empty slabs of a class that keep their pages.
const EMPTY_SLABS: u32 = 2;

/// Kinds of memory that share chunks. An address past the end of one kind never lies in another.
#[derive(Clone, Copy)]
enum Pool {
    Device,
    Managed,
    Host,
    Module,
    /// What no program asked for: kernels do not get there by leaving an allocation, whatever the bounds.
    Driver,
}

const POOLS: [Pool; 5] = [Pool::Device, Pool::Managed, Pool::Host, Pool::Module, Pool::Driver];

impl Pool {
    fn of(kind: MemoryKind) -> Pool {
        match kind {
            MemoryKind::Device | MemoryKind::DeviceHeap => Pool::Device,
            MemoryKind::Managed => Pool::Managed,
            MemoryKind::PinnedHost => Pool::Host,
            MemoryKind::ModuleGlobal | MemoryKind::ModuleConst | MemoryKind::Array => Pool::Module,
            MemoryKind::Internal => Pool::Driver,
        }
    }
}

/// All size classes: those of the first pool, ascending, then of the next.
pub(super) struct Slabs {
    classes: Vec<Class>,
    of_each_pool: usize,
}

struct Class {
    stride: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slabs: Vec<Slab>,
    /// Slabs that have slots never used so far: only the last one.
    unused: u32,
    free: VecDeque<(u32, u32)>,
    /// Slabs without a live allocation that still hold pages.
    resident_empty: u32,
}

struct Slab {
    head: Arc<Head>,
    /// The allocation that is, or was last, in each slot used so far.
    last: Vec<AllocationInfo>,
    live: u32,
    discarded: bool,
}

impl Slabs {
    pub(super) fn new() -> Slabs {
        let mut strides = Vec::new();
        let mut stride = ALIGNMENT;
        while stride <= LARGEST_SLOT {
            strides.push(stride);
            // Eight classes for each doubling: at most an eighth of a slot is lost.
            stride +=
                (stride.next_power_of_two() / 2 / 8 * if stride.is_power_of_two() { 2 } else { 1 }).max(ALIGNMENT);
        }
        let classes =
            POOLS.iter().flat_map(|_| &strides).map(|stride| Class { stride: *stride, state: Mutex::default() });
        Slabs { classes: classes.collect(), of_each_pool: strides.len() }
    }

    /// The class for allocations of `rounded` bytes (a multiple of the granule), `None` if they are too large for slabs.
    pub(super) fn class_of(&self, rounded: u64, kind: MemoryKind) -> Option<usize> {
        let need = rounded + GRANULE;
        if need > LARGEST_SLOT {
            return None;
        }
        let first = Pool::of(kind) as usize * self.of_each_pool;
        let classes = &self.classes[first..first + self.of_each_pool];
        Some(first + classes.partition_point(|class| class.stride < need))
    }

    /// Whether a class is of what no program asked for.
    pub(super) fn is_internal(&self, class: u32) -> bool {
        class as usize >= Pool::Driver as usize * self.of_each_pool
    }

    /// Takes a slot, fills `info.base`.
    pub(super) fn alloc(
        &self,
        class: usize,
        info: &mut AllocationInfo,
        new_chunk: impl FnOnce() -> Result<u64, AllocError>,
        table: &Table,
    ) -> Result<(), AllocError> {
        let Class { stride, state } = &self.classes[class];
        let waiting = (WAITING_BYTES / stride).clamp(1, WAITING_SLOTS) as usize;
        let mut state = lock(state);
        let state = &mut *state;
        let (number, slot) = if state.free.len() >= waiting || (state.unused == 0 && !state.free.is_empty()) {
            state.free.pop_front().expect("the queue is not empty")
        } else {
            if state.unused == 0 {
                let number = state.slabs.len() as u32;
                // These grow with what a program allocates: where the host's memory ends, so does the device's.
                let no_host_memory = |_| AllocError::OutOfMemory;
                let slots = (CHUNK / stride) as usize;
                let mut last = Vec::new();
                last.try_reserve_exact(slots).map_err(no_host_memory)?;
                state.slabs.try_reserve(1).map_err(no_host_memory)?;
                // Room for all slots at once: that a free finds none would be nobody's to answer.
                let all = (state.slabs.len() + 1) * slots;
                state.free.try_reserve(all - state.free.len()).map_err(no_host_memory)?;
                let sizes = table.sizes_of_slab(*stride).ok_or(AllocError::OutOfMemory)?;
                let head = table.add_slab(new_chunk()?, (*stride, sizes), class as u32, number);
                state.unused = head.slots();
                state.slabs.push(Slab { head, last, live: 0, discarded: true });
            }
            state.unused -= 1;
            let slab = state.slabs.last().expect("a slab with unused slots is there");
            (state.slabs.len() as u32 - 1, slab.last.len() as u32)
        };
        let slab = &mut state.slabs[number as usize];
        if slab.live == 0 {
            if slab.discarded {
                slab.discarded = false;
            } else {
                state.resident_empty -= 1;
            }
        }
        slab.live += 1;
        info.base = slab.head.slot_base(slot);
        if slot as usize == slab.last.len() {
            slab.last.push(*info);
        } else {
            slab.last[slot as usize] = *info;
        }
        slab.head.publish(slot, info.size);
        Ok(())
    }

    /// Frees the allocation that starts at `base` in a slot. `discard` is called with the first address of a slab whose
    /// pages can go, while nobody can allocate in it.
    pub(super) fn free(
        &self,
        (class, number, slot): (u32, u32, u32),
        base: u64,
        table: &Table,
        discard: impl FnOnce(u64),
    ) -> Result<AllocationInfo, FreeError> {
        let mut state = lock(&self.classes[class as usize].state);
        let state = &mut *state;
        let slab = &mut state.slabs[number as usize];
        let last = slab.last.get(slot as usize).copied();
        let live = last.filter(|_| slab.head.size(slot) != 0);
        let Some(info) = live.filter(|info| info.base == base) else { return Err(free_error(base, live, last)) };
        table.clear_slot(&slab.head, slot);
        slab.live -= 1;
        state.free.push_back((number, slot));
        if slab.live == 0 {
            if state.resident_empty >= EMPTY_SLABS {
                slab.discarded = true;
                discard(slab.head.slot_base(0));
            } else {
                state.resident_empty += 1;
            }
        }
        Ok(info)
    }

    /// The live allocation in a slot.
    pub(super) fn live(&self, (class, number, slot): (u32, u32, u32)) -> Option<AllocationInfo> {
        let state = lock(&self.classes[class as usize].state);
        let slab = state.slabs.get(number as usize)?;
        slab.last.get(slot as usize).copied().filter(|_| slab.head.size(slot) != 0)
    }

    /// What `action` comes to, called with the first address of the slab while nobody can allocate or free there; None unless the allocation with this number
    /// is in the slot.
    pub(super) fn while_live<R>(
        &self,
        (class, number, slot): (u32, u32, u32),
        id: u64,
        action: impl FnOnce(u64) -> R,
    ) -> Option<R> {
        let state = lock(&self.classes[class as usize].state);
        let slab = state.slabs.get(number as usize)?;
        slab.last.get(slot as usize).filter(|info| info.id == id && slab.head.size(slot) != 0)?;
        Some(action(slab.head.slot_base(0)))
    }

    /// The live allocations before and after an address, and a freed one that held it.
    pub(super) fn neighbours(&self, (class, number, slot): (u32, u32, u32), address: u64) -> super::Neighbours {
        let state = lock(&self.classes[class as usize].state);
        let mut found = super::Neighbours::default();
        let Some(slab) = state.slabs.get(number as usize) else { return found };
        let live = |slot: u32| slab.last.get(slot as usize).copied().filter(|_| slab.head.size(slot) != 0);
        found.before = live(slot).or_else(|| slot.checked_sub(1).and_then(live));
        found.after = live(slot + 1);
        if live(slot).is_none() {
            found.freed = slab.last.get(slot as usize).copied().filter(|last| address - last.base < last.size);
        }
        found
    }

    /// All live allocations.
    pub(super) fn each_live(&self, mut visit: impl FnMut(AllocationInfo)) {
        for class in &self.classes {
            for slab in lock(&class.state).slabs.iter().filter(|slab| slab.live != 0) {
                for (slot, info) in slab.last.iter().enumerate() {
                    if slab.head.size(slot as u32) != 0 {
                        visit(*info);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_waste_little_and_keep_a_gap() {
        let slabs = Slabs::new();
        for class in &slabs.classes {
            assert_eq!(class.stride % ALIGNMENT, 0);
        }
        for rounded in (GRANULE..LARGEST_SLOT).step_by(GRANULE as usize) {
            let Some(class) = slabs.class_of(rounded, MemoryKind::Managed) else {
                assert!(rounded + GRANULE > LARGEST_SLOT);
                continue;
            };
            let stride = slabs.classes[class].stride;
            assert!(stride >= rounded + GRANULE);
            assert!(stride <= (rounded + GRANULE) * 9 / 8 + ALIGNMENT, "{rounded} bytes in a slot of {stride}");
        }
    }
}
