//! Virtual memory management (`cuMemAddressReserve`, `cuMemMap`, `cuMemSetAccess`): addresses, and what is mapped there.
//!
//! A mapping becomes accessible to kernels and copies when access is set. Mappings that touch are one range for accesses: programs grow buffers by
//! mapping more behind them. The chunks of a reservation stay mapped to something whatever happens, so that a kernel that races with an unmapping meets
//! mapped pages, as with any other free.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::mapped_ranges::{Accessible, LeftBehind};
use super::physical::{Pages, Physical};
use super::run::{Runs, Zone};
use super::table::{Extent, Head, Table};
use super::window::{CHUNK, Window};
use super::{AllocSpec, AllocationInfo, Memory, Space, lock};

/// Sizes and addresses of reservations, physical memory and mappings are multiples of this, in bytes.
pub const MAP_GRANULARITY: u64 = CHUNK;

/// What kernels may do with a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapAccess {
    /// Nothing: the state after mapping.
    None,
    /// Read.
    Read,
    /// Read and write.
    ReadWrite,
}

/// Why a reservation or mapping is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// An address or a size is 0 or not a multiple of [`MAP_GRANULARITY`], or larger than what it refers to.
    Invalid,
    /// No reservation holds the range, or it is not a whole one where that is needed.
    NotReserved,
    /// Something is mapped in the range.
    Mapped,
    /// Not all of the range is mapped, or a mapping reaches beyond it.
    NotMapped,
    /// The host refuses.
    OutOfMemory,
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MapError::Invalid => "an address or a size is zero, too large or not a multiple of the granularity",
            MapError::NotReserved => "no reservation holds the range",
            MapError::Mapped => "something is mapped in the range",
            MapError::NotMapped => "the range is not mapped, or not as a whole",
            MapError::OutOfMemory => "the host has no memory for the mapping",
        })
    }
}

impl std::error::Error for MapError {}

/// Reservations, and what is mapped in them.
#[derive(Default)]
pub(super) struct Virtual {
    reserved: BTreeMap<u64, Reservation>,
    mapped: BTreeMap<u64, Mapping>,
    accessible: Accessible,
    pub(super) left_behind: LeftBehind,
}

struct Reservation {
    size: u64,
    /// All of it can be read and written by the process.
    committed: bool,
}

struct Mapping {
    info: AllocationInfo,
    physical: Arc<Physical>,
    access: MapAccess,
    /// In the chunk table while accessible.
    head: Option<Arc<Head>>,
}

impl Mapping {
    fn end(&self) -> u64 {
        self.info.base + self.info.size
    }
}

impl Virtual {
    fn reservation(&self, address: u64, size: u64) -> Option<(u64, &Reservation)> {
        let (base, reservation) = self.reserved.range(..=address).next_back()?;
        (address + size <= base + reservation.size).then_some((*base, reservation))
    }

    fn at(&self, address: u64) -> Option<&Mapping> {
        let (_, mapping) = self.mapped.range(..=address).next_back()?;
        (address < mapping.end()).then_some(mapping)
    }

    pub(super) fn containing(&self, address: u64) -> Option<AllocationInfo> {
        self.at(address).map(|mapping| mapping.info)
    }

    /// The range of touching mappings with the same access around an address.
    pub(super) fn extent(&self, address: u64, epoch: u64) -> Option<Extent> {
        self.accessible.extent(address, epoch)
    }

    /// The mappings that make up exactly the range.
    fn whole(&self, address: u64, size: u64) -> Result<Vec<u64>, MapError> {
        let mut bases = Vec::new();
        let mut at = address;
        while at < address + size {
            let mapping = self.mapped.get(&at).ok_or(MapError::NotMapped)?;
            bases.push(at);
            at = mapping.end();
        }
        if at == address + size { Ok(bases) } else { Err(MapError::NotMapped) }
    }
}

pub(super) fn granular(value: u64) -> bool {
    value != 0 && value.is_multiple_of(MAP_GRANULARITY)
}

impl Memory {
    /// Reserves addresses: `size` bytes at a multiple of `align` (0, or a power of two).
    pub fn reserve(&self, size: u64, align: u64) -> Result<u64, MapError> {
        if !granular(size) || size > self.space.window.size() || (align != 0 && !align.is_power_of_two()) {
            return Err(MapError::Invalid);
        }
        let align = align.max(CHUNK);
        let (chunks, slack) = (size / CHUNK, align / CHUNK - 1);
        let mut runs = lock(&self.space.runs);
        let first = self.space.take(&mut runs, chunks + slack, Zone::Own).ok_or(MapError::OutOfMemory)?;
        let start = self.space.address_of(first);
        let base = start.next_multiple_of(align);
        let before = (base - start) / CHUNK;
        for (from, count) in [(first + before + chunks, slack - before), (first, before)] {
            if count != 0 {
                runs.give(from, count);
            }
        }
        lock(&self.space.virtual_memory).reserved.insert(base, Reservation { size, committed: false });
        Ok(base)
    }

    /// Gives a whole reservation back, in which nothing is mapped.
    pub fn release(&self, base: u64, size: u64) -> Result<(), MapError> {
        let mut runs = lock(&self.space.runs);
        let mut state = lock(&self.space.virtual_memory);
        if state.reserved.get(&base).is_none_or(|reservation| reservation.size != size) {
            return Err(MapError::NotReserved);
        }
        if state.mapped.range(base..base + size).next().is_some() {
            return Err(MapError::Mapped);
        }
        state.reserved.remove(&base);
        // From the end: what is left behind keeps its chunks.
        let mut end = base + size;
        let mut owners = Vec::new();
        while let Some((address, len, owner)) = state.left_behind.take(base, end) {
            if let Some(physical) = owner.upgrade() {
                lock(&physical.state).pages = Pages::Parked(address);
                self.space.give_between(&mut runs, address + len, end);
                end = address;
                owners.push(physical);
            } else {
                self.space.window.discard(self.space.window.chunk_of(address), len / CHUNK);
            }
        }
        self.space.give_between(&mut runs, base, end);
        drop((state, runs));
        // One of these may be the last reference, and takes the locks.
        drop(owners);
        Ok(())
    }

    /// Maps `spec.size` bytes of physical memory from `offset` on at `address`, in a reservation; without access yet.
    pub fn map(
        &self,
        address: u64,
        physical: &Arc<Physical>,
        offset: u64,
        spec: AllocSpec,
    ) -> Result<AllocationInfo, MapError> {
        let size = spec.size;
        let fits = offset.checked_add(size).is_some_and(|end| end <= physical.size());
        if !granular(address) || !granular(size) || !offset.is_multiple_of(CHUNK) || !fits {
            return Err(MapError::Invalid);
        }
        let mut owners = Vec::new();
        loop {
            let mut runs = lock(&self.space.runs);
            let mut state = lock(&self.space.virtual_memory);
            if address.checked_add(size).and_then(|_| state.reservation(address, size)).is_none() {
                return Err(MapError::NotReserved);
            }
            if state.at(address).is_some() || state.mapped.range(address..address + size).next().is_some() {
                return Err(MapError::Mapped);
            }
            let in_place = size == physical.size() && lock(&physical.state).mapped == 0;
            if !in_place && !matches!(lock(&physical.state).pages, Pages::File(_)) {
                drop((state, runs));
                self.move_to_file(physical).map_err(|_| MapError::OutOfMemory)?;
                continue;
            }
            let back = state.left_behind.remove_if_of(address, physical);
            let placed = self
                .space
                .clear(&mut runs, &mut state, &mut owners, (address, address + size))
                .and_then(|()| self.space.place(&mut runs, &mut state, (address, back), physical, (offset, size)));
            if placed.is_err() {
                if back {
                    state.left_behind.insert(address, physical);
                }
                return Err(MapError::OutOfMemory);
            }
            let info = self.describe(spec, address);
            let mapping = Mapping { info, physical: physical.clone(), access: MapAccess::None, head: None };
            state.mapped.insert(address, mapping);
            drop((state, runs));
            // One of these may be the last reference, and takes the locks.
            drop(owners);
            return Ok(info);
        }
    }

    /// Sets what kernels may do with the mappings that make up a range.
    pub fn set_access(&self, address: u64, size: u64, access: MapAccess) -> Result<(), MapError> {
        if !granular(address) || !granular(size) {
            return Err(MapError::Invalid);
        }
        let mut state = lock(&self.space.virtual_memory);
        let state = &mut *state;
        let last = address.checked_add(size).ok_or(MapError::Invalid)?;
        // Parts of a mapping cannot differ, but a range of several mappings may be set at once.
        for base in state.whole(address, last - address)? {
            let mapping = state.mapped.get_mut(&base).expect("listed under the same lock");
            if mapping.access != access {
                withdraw(mapping, &self.table, &self.space.window);
                mapping.access = access;
                publish(mapping, &self.table, &self.space.window);
            }
        }
        state.accessible.set(address, last, access);
        Ok(())
    }

    /// What kernels may do at an address of a mapping.
    pub fn access_at(&self, address: u64) -> Option<MapAccess> {
        lock(&self.space.virtual_memory).at(address).map(|mapping| mapping.access)
    }

    /// The physical memory mapped at an address.
    pub fn physical_at(&self, address: u64) -> Option<Arc<Physical>> {
        lock(&self.space.virtual_memory).at(address).map(|mapping| mapping.physical.clone())
    }

    /// Whether a reservation holds the address: its base and size.
    pub fn reservation_at(&self, address: u64) -> Option<(u64, u64)> {
        let state = lock(&self.space.virtual_memory);
        state.reservation(address, 1).map(|(base, reservation)| (base, reservation.size))
    }

    /// Takes the mappings out that make up a range of a reservation. A range in which nothing is mapped is fine. If the host refuses, what it refuses
    /// stays mapped.
    pub fn unmap(&self, address: u64, size: u64) -> Result<(), MapError> {
        if !granular(address) || !granular(size) || address.checked_add(size).is_none() {
            return Err(MapError::Invalid);
        }
        let mut state = lock(&self.space.virtual_memory);
        if state.reservation(address, size).is_none() {
            return Err(MapError::NotReserved);
        }
        let end = address + size;
        let inside: Vec<u64> = state.mapped.range(address..end).map(|(base, _)| *base).collect();
        let reaches_in = state.at(address).is_some_and(|mapping| mapping.info.base < address);
        if reaches_in || inside.last().is_some_and(|last| state.mapped[last].end() > end) {
            return Err(MapError::NotMapped);
        }
        let mut gone = Vec::new();
        let mut result = Ok(());
        for base in inside {
            let mut mapping = state.mapped.remove(&base).expect("listed under the same lock");
            withdraw(&mut mapping, &self.table, &self.space.window);
            let mut physical = lock(&mapping.physical.state);
            if matches!(physical.pages, Pages::File(_)) {
                if self.space.window.map_own(base, mapping.info.size).is_err() {
                    drop(physical);
                    publish(&mut mapping, &self.table, &self.space.window);
                    state.mapped.insert(base, mapping);
                    result = Err(MapError::OutOfMemory);
                    break;
                }
            } else {
                state.left_behind.insert(base, &mapping.physical);
            }
            physical.mapped -= 1;
            drop(physical);
            state.accessible.set(base, mapping.end(), MapAccess::None);
            gone.push(mapping);
        }
        drop(state);
        // The last references may be among them, which take the lock.
        drop(gone);
        result
    }
}

/// Enters an accessible mapping in the chunk table.
fn publish(mapping: &mut Mapping, table: &Table, window: &Window) {
    if mapping.access != MapAccess::None {
        let AllocationInfo { base, size, .. } = mapping.info;
        let read_only = mapping.access == MapAccess::Read;
        mapping.head = Some(table.add_run(window.chunk_of(base), size / CHUNK, base, size, read_only));
    }
}

fn withdraw(mapping: &mut Mapping, table: &Table, window: &Window) {
    if let Some(head) = mapping.head.take() {
        table.remove_run(window.chunk_of(mapping.info.base), mapping.info.size / CHUNK, head);
    }
}

impl Space {
    fn give_between(&self, runs: &mut Runs, start: u64, end: u64) {
        if end > start {
            runs.give(self.window.chunk_of(start), (end - start) / CHUNK);
        }
    }

    /// Moves away what was left behind in a range. The owners are the caller's to drop, without locks.
    fn clear(
        &self,
        runs: &mut Runs,
        state: &mut Virtual,
        owners: &mut Vec<Arc<Physical>>,
        (start, end): (u64, u64),
    ) -> std::io::Result<()> {
        while let Some((at, len, owner)) = state.left_behind.take(start, end) {
            if let Some(other) = owner.upgrade() {
                let parked = self.park(runs, &other, &mut lock(&other.state));
                if parked.is_err() {
                    state.left_behind.insert(at, &other);
                }
                owners.push(other);
                parked?;
            } else {
                self.window.discard(self.window.chunk_of(at), len / CHUNK);
            }
        }
        Ok(())
    }

    /// Brings physical memory to a range of a reservation in which nothing is: all of it unless it is in a file. `back`: its pages were left there.
    fn place(
        &self,
        runs: &mut Runs,
        state: &mut Virtual,
        (address, back): (u64, bool),
        physical: &Arc<Physical>,
        (offset, size): (u64, u64),
    ) -> std::io::Result<()> {
        let mut its = lock(&physical.state);
        if let Pages::File(file) = &its.pages {
            self.window.map_file(address, size, file, offset)?;
            its.mapped += 1;
            return Ok(());
        }
        self.commit_reservation(state, address, size)?;
        match its.pages {
            Pages::InReservation(from) if !back => {
                self.move_chunks(from, address, physical.chunks())?;
                state.left_behind.remove_if_of(from, physical);
            }
            Pages::Parked(from) => {
                self.move_chunks(from, address, physical.chunks())?;
                runs.give(self.window.chunk_of(from), physical.chunks());
            }
            Pages::None | Pages::InReservation(_) | Pages::File(_) => {}
        }
        its.pages = Pages::InReservation(address);
        its.mapped = 1;
        Ok(())
    }

    /// Makes the whole reservation readable and writable, so that it remains one mapping for the host; if that is too much for it, the range only.
    fn commit_reservation(&self, state: &mut Virtual, address: u64, size: u64) -> std::io::Result<()> {
        let Some((base, reservation)) = state.reservation(address, size) else { return Ok(()) };
        if reservation.committed {
            return Ok(());
        }
        let (first, count) = (self.window.chunk_of(base), reservation.size / CHUNK);
        if self.window.commit(first, count).is_ok() {
            self.window.prefer_huge_pages(first, count);
            if let Some(reservation) = state.reserved.get_mut(&base) {
                reservation.committed = true;
            }
            return Ok(());
        }
        self.window.commit(self.window.chunk_of(address), size / CHUNK).map(|_| ())
    }
}

impl Window {
    /// Maps a part of a file over committed or uncommitted chunks.
    pub(super) fn map_file(&self, address: u64, size: u64, file: &std::fs::File, offset: u64) -> std::io::Result<()> {
        let offset = i64::try_from(offset).map_err(|_| std::io::ErrorKind::InvalidInput)?;
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(file);
        self.replace(address, size, libc::MAP_SHARED, descriptor, offset)
    }

    /// Maps ordinary memory of zeroes.
    pub(super) fn map_own(&self, address: u64, size: u64) -> std::io::Result<()> {
        self.replace(address, size, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0)
    }
}
