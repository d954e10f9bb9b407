//! Virtual memory management (`cuMemAddressReserve`, `cuMemCreate`, `cuMemMap`, `cuMemSetAccess`).
//!
//! Physical memory is a memory file of the host, mapped into reserved chunks of the window. A mapping becomes accessible
//! to kernels and copies when access is set. Mappings that touch are one range for accesses: programs grow buffers by
//! mapping more behind them. What is unmapped is replaced by ordinary memory of the window at the same moment, so that a
//! kernel that races with it meets mapped pages, as with any other free.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::table::{Extent, Head, Table};
use super::window::{CHUNK, Window};
use super::{AllocError, AllocSpec, AllocationInfo, Memory, lock};

/// Sizes and addresses of reservations, physical memory and mappings are multiples of this, in bytes.
pub const MAP_GRANULARITY: u64 = CHUNK;

/// Physical memory without an address. Dropping the last reference, mappings included, gives it back.
pub struct Physical {
    file: File,
    size: u64,
    used: Arc<AtomicU64>,
}

impl Physical {
    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        self.used.fetch_sub(self.size, Ordering::Relaxed);
    }
}

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
    reserved: BTreeMap<u64, u64>,
    mapped: BTreeMap<u64, Mapping>,
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
    fn holds_reserved(&self, address: u64, size: u64) -> bool {
        self.reserved.range(..=address).next_back().is_some_and(|(base, len)| address + size <= base + len)
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
        let mapping = self.at(address).filter(|mapping| mapping.access != MapAccess::None)?;
        let (mut start, mut end) = (mapping.info.base, mapping.end());
        while let Some(before) = start.checked_sub(1).and_then(|last| self.at(last))
            && before.access == mapping.access
        {
            start = before.info.base;
        }
        while let Some(after) = self.at(end)
            && after.access == mapping.access
        {
            end = after.end();
        }
        Some(Extent { start, span: end - start, epoch, read_only: mapping.access == MapAccess::Read })
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

fn granular(value: u64) -> bool {
    value != 0 && value.is_multiple_of(MAP_GRANULARITY)
}

impl Memory {
    /// Reserves addresses: `size` bytes at a multiple of `align` (0, or a power of two).
    pub fn reserve(&self, size: u64, align: u64) -> Result<u64, MapError> {
        if !granular(size) || size > self.window.size() || (align != 0 && !align.is_power_of_two()) {
            return Err(MapError::Invalid);
        }
        let align = align.max(CHUNK);
        let (chunks, slack) = (size / CHUNK, align / CHUNK - 1);
        let mut runs = lock(&self.runs);
        let first = runs.take(chunks + slack).ok_or(MapError::OutOfMemory)?;
        let start = self.window.base() + first * CHUNK;
        let base = start.next_multiple_of(align);
        let before = (base - start) / CHUNK;
        for (from, count) in [(first, before), (first + before + chunks, slack - before)] {
            if count != 0 {
                runs.give(from, count);
            }
        }
        lock(&self.virtual_memory).reserved.insert(base, size);
        Ok(base)
    }

    /// Gives a whole reservation back, in which nothing is mapped.
    pub fn release(&self, base: u64, size: u64) -> Result<(), MapError> {
        let mut runs = lock(&self.runs);
        let mut state = lock(&self.virtual_memory);
        if state.reserved.get(&base) != Some(&size) {
            return Err(MapError::NotReserved);
        }
        if state.mapped.range(base..base + size).next().is_some() {
            return Err(MapError::Mapped);
        }
        state.reserved.remove(&base);
        runs.give((base - self.window.base()) / CHUNK, size / CHUNK);
        Ok(())
    }

    /// Physical memory of `size` bytes, counted against the capacity.
    pub fn create_physical(&self, size: u64) -> Result<Arc<Physical>, AllocError> {
        if !granular(size) {
            return Err(AllocError::Empty);
        }
        self.charge(size)?;
        // SAFETY: the name is a C string; the descriptor returned is new and owned by nobody else.
        let file = unsafe {
            match libc::memfd_create(c"warploom".as_ptr(), libc::MFD_CLOEXEC) {
                -1 => None,
                descriptor => Some(File::from_raw_fd(descriptor)),
            }
        };
        match file.filter(|file| file.set_len(size).is_ok()) {
            Some(file) => Ok(Arc::new(Physical { file, size, used: self.used.clone() })),
            None => {
                self.used.fetch_sub(size, Ordering::Relaxed);
                Err(AllocError::OutOfMemory)
            }
        }
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
        let fits = offset.checked_add(size).is_some_and(|end| end <= physical.size);
        if !granular(address) || !granular(size) || !offset.is_multiple_of(CHUNK) || !fits {
            return Err(MapError::Invalid);
        }
        let mut state = lock(&self.virtual_memory);
        if !address.checked_add(size).is_some_and(|_| state.holds_reserved(address, size)) {
            return Err(MapError::NotReserved);
        }
        if state.at(address).is_some() || state.mapped.range(address..address + size).next().is_some() {
            return Err(MapError::Mapped);
        }
        self.window.map_file(address, size, &physical.file, offset).map_err(|_| MapError::OutOfMemory)?;
        let info = self.describe(spec, address);
        let mapping = Mapping { info, physical: physical.clone(), access: MapAccess::None, head: None };
        state.mapped.insert(address, mapping);
        Ok(info)
    }

    /// Sets what kernels may do with the mappings that make up a range.
    pub fn set_access(&self, address: u64, size: u64, access: MapAccess) -> Result<(), MapError> {
        if !granular(address) || !granular(size) {
            return Err(MapError::Invalid);
        }
        let mut state = lock(&self.virtual_memory);
        let last = address.checked_add(size).ok_or(MapError::Invalid)?;
        // Parts of a mapping cannot differ, but a range of several mappings may be set at once.
        for base in state.whole(address, last - address)? {
            let mapping = state.mapped.get_mut(&base).expect("listed under the same lock");
            if mapping.access != access {
                withdraw(mapping, &self.table, &self.window);
                mapping.access = access;
                if access != MapAccess::None {
                    let (first, chunks) = (self.window.chunk_of(base), mapping.info.size / CHUNK);
                    let read_only = access == MapAccess::Read;
                    mapping.head = Some(self.table.add_run(first, chunks, base, mapping.info.size, read_only));
                }
            }
        }
        Ok(())
    }

    /// What kernels may do at an address of a mapping.
    pub fn access_at(&self, address: u64) -> Option<MapAccess> {
        lock(&self.virtual_memory).at(address).map(|mapping| mapping.access)
    }

    /// The physical memory mapped at an address.
    pub fn physical_at(&self, address: u64) -> Option<Arc<Physical>> {
        lock(&self.virtual_memory).at(address).map(|mapping| mapping.physical.clone())
    }

    /// Whether a reservation holds the address: its base and size.
    pub fn reservation_at(&self, address: u64) -> Option<(u64, u64)> {
        let state = lock(&self.virtual_memory);
        let (base, size) = state.reserved.range(..=address).next_back()?;
        (address - base < *size).then_some((*base, *size))
    }

    /// Takes the mappings out that make up a range of a reservation. A range in which nothing is mapped is fine.
    pub fn unmap(&self, address: u64, size: u64) -> Result<(), MapError> {
        if !granular(address) || !granular(size) || address.checked_add(size).is_none() {
            return Err(MapError::Invalid);
        }
        let mut state = lock(&self.virtual_memory);
        if !state.holds_reserved(address, size) {
            return Err(MapError::NotReserved);
        }
        let overlaps = |mapping: &&Mapping| mapping.info.base < address + size && mapping.end() > address;
        let inside: Vec<u64> = state.mapped.values().filter(overlaps).map(|mapping| mapping.info.base).collect();
        if inside.iter().any(|base| *base < address || state.mapped[base].end() > address + size) {
            return Err(MapError::NotMapped);
        }
        for base in inside {
            let mut mapping = state.mapped.remove(&base).expect("listed under the same lock");
            withdraw(&mut mapping, &self.table, &self.window);
            self.window.map_own(base, mapping.info.size).map_err(|_| MapError::OutOfMemory)?;
        }
        Ok(())
    }
}

fn withdraw(mapping: &mut Mapping, table: &Table, window: &Window) {
    if let Some(head) = mapping.head.take() {
        table.remove_run(window.chunk_of(mapping.info.base), mapping.info.size / CHUNK, head);
    }
}

impl Window {
    /// Maps a part of a file over committed or uncommitted chunks.
    fn map_file(&self, address: u64, size: u64, file: &File, offset: u64) -> std::io::Result<()> {
        let offset = i64::try_from(offset).map_err(|_| std::io::ErrorKind::InvalidInput)?;
        self.replace(address, size, libc::MAP_SHARED, file.as_raw_fd(), offset)
    }

    /// Maps ordinary memory of zeroes.
    fn map_own(&self, address: u64, size: u64) -> std::io::Result<()> {
        self.replace(address, size, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0)
    }
}
