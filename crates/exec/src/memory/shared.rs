//! Memory of which other processes can map any part, present and to come: what an exportable memory pool allocates from. All of it is in one memory file, as
//! large as the device; parts of it have pages once they are used, until they are freed.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

use super::physical::{Pages, Physical};
use super::reserved::Reservation;
use super::{AllocError, AllocSpec, AllocationInfo, CHUNK, ExportError, MAP_GRANULARITY, MapAccess, Memory, lock};

/// See the head of the file.
pub struct SharedMemory {
    physical: Arc<Physical>,
    /// Tells its file from all others of the machine.
    file: u64,
    parts: Mutex<Parts>,
}

#[derive(Default)]
struct Parts {
    /// Free parts of the file below `used_to`, by offset.
    free: BTreeMap<u64, u64>,
    used_to: u64,
    /// What is mapped, by address.
    mapped: BTreeMap<u64, Part>,
}

struct Part {
    offset: u64,
    size: u64,
    /// What it counts as; nothing if another process allocated it.
    counted: Option<Arc<Reservation>>,
}

impl Parts {
    /// The offset of `size` bytes that nobody has.
    fn take(&mut self, size: u64, most: u64) -> Option<u64> {
        if let Some((offset, len)) =
            self.free.iter().find(|(_, len)| **len >= size).map(|(offset, len)| (*offset, *len))
        {
            self.free.remove(&offset);
            if len > size {
                self.free.insert(offset + size, len - size);
            }
            return Some(offset);
        }
        let offset = self.used_to;
        self.used_to = offset.checked_add(size).filter(|end| *end <= most)?;
        Some(offset)
    }

    fn give(&mut self, mut offset: u64, mut size: u64) {
        if let Some((before, len)) = self.free.range(..offset).next_back().map(|(before, len)| (*before, *len))
            && before + len == offset
        {
            self.free.remove(&before);
            (offset, size) = (before, size + len);
        }
        if let Some(more) = self.free.remove(&(offset + size)) {
            size += more;
        }
        if offset + size == self.used_to {
            self.used_to = offset;
        } else {
            self.free.insert(offset, size);
        }
    }
}

impl SharedMemory {
    fn new(physical: Arc<Physical>) -> io::Result<SharedMemory> {
        let file = match &lock(&physical.state).pages {
            Pages::File(file) => file.metadata()?.ino(),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        Ok(SharedMemory { physical, file, parts: Mutex::default() })
    }

    /// A number that tells its file from all others of the machine.
    pub fn file(&self) -> u64 {
        self.file
    }

    /// Bytes that it can have.
    pub fn size(&self) -> u64 {
        self.physical.size()
    }

    /// Where in the file what is mapped at `address` stands.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let parts = lock(&self.parts);
        let (base, part) = parts.mapped.range(..=address).next_back()?;
        (address - base < part.size).then_some(part.offset + (address - base))
    }
}

impl Memory {
    /// Memory that can be shared. It counts as what is allocated of it.
    pub fn create_shared(&self) -> io::Result<SharedMemory> {
        let physical = self.in_new_file(self.capacity().next_multiple_of(CHUNK))?;
        SharedMemory::new(Arc::new(physical))
    }

    /// As [`Memory::export`], with a note for whoever imports it.
    pub fn export_shared(&self, shared: &SharedMemory, note: &[u8]) -> Result<OwnedFd, ExportError> {
        self.export(&shared.physical, note)
    }

    /// What a descriptor from [`Memory::export_shared`] stands for, and the note.
    pub fn import_shared(&self, descriptor: OwnedFd) -> Result<(SharedMemory, Vec<u8>), ExportError> {
        let (physical, note) = self.import(descriptor)?;
        Ok((SharedMemory::new(physical).map_err(ExportError::Host)?, note))
    }

    /// Allocates `spec.size` bytes of shared memory, a multiple of [`MAP_GRANULARITY`].
    pub fn alloc_shared(&self, shared: &SharedMemory, spec: AllocSpec) -> Result<AllocationInfo, AllocError> {
        let counted = self.reserve_bytes(spec.device, spec.size, None)?;
        let offset = lock(&shared.parts).take(spec.size, shared.physical.size()).ok_or(AllocError::OutOfMemory)?;
        self.map_shared(shared, offset, spec, Some(counted))
            .inspect_err(|_| lock(&shared.parts).give(offset, spec.size))
    }

    /// Maps `spec.size` bytes from `offset` on that another process has allocated, both multiples of [`MAP_GRANULARITY`].
    pub fn import_part(
        &self,
        shared: &SharedMemory,
        offset: u64,
        spec: AllocSpec,
    ) -> Result<AllocationInfo, AllocError> {
        self.map_shared(shared, offset, spec, None)
    }

    fn map_shared(
        &self,
        shared: &SharedMemory,
        offset: u64,
        spec: AllocSpec,
        counted: Option<Arc<Reservation>>,
    ) -> Result<AllocationInfo, AllocError> {
        let no_memory = |_| AllocError::OutOfMemory;
        let size = spec.size;
        let base = self.reserve(size, MAP_GRANULARITY).map_err(no_memory)?;
        let mapped = self.map(base, &shared.physical, offset, spec);
        let accessible = mapped.and_then(|info| self.set_access(base, size, MapAccess::ReadWrite).map(|()| info));
        match accessible {
            Ok(info) => {
                lock(&shared.parts).mapped.insert(base, Part { offset, size, counted });
                Ok(info)
            }
            Err(error) => {
                // What was done of it is undone: an address range that stays is lost, and nothing else.
                let _ = self.unmap(base, size).and_then(|()| self.release(base, size));
                Err(no_memory(error))
            }
        }
    }

    /// Frees what is mapped at `base`. What this process has allocated there is gone for all.
    pub fn free_shared(&self, shared: &SharedMemory, base: u64) {
        let Some(part) = lock(&shared.parts).mapped.remove(&base) else { return };
        let Part { offset, size, counted } = part;
        if self.unmap(base, size).and_then(|()| self.release(base, size)).is_err() {
            // The host refuses: the addresses stay as they are, and the memory with them, as long as the file.
            return;
        }
        if counted.is_some() {
            discard(&shared.physical, offset, size);
            lock(&shared.parts).give(offset, size);
        }
    }
}

/// Takes the pages of a part of a file away.
fn discard(physical: &Physical, offset: u64, size: u64) {
    if let Pages::File(file) = &lock(&physical.state).pages {
        let (offset, size) = (offset as libc::off_t, size as libc::off_t);
        // SAFETY: a range of a file that is ours. What it refuses is memory that is given back later.
        unsafe {
            libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, size)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryKind, Options};
    use super::*;

    fn spec(chunks: u64) -> AllocSpec {
        AllocSpec { size: chunks * CHUNK, kind: MemoryKind::Device, device: 0, owner: 0, tag: 16, origin: "test" }
    }

    #[test]
    fn parts_are_seen_by_whoever_imports_and_their_pages_end_with_them() {
        let memory = Memory::new(Options { window: 1 << 30, capacity: 1 << 28, ..Options::default() }).unwrap();
        let other = Memory::new(Options { window: 1 << 30, capacity: 1 << 28, ..Options::default() }).unwrap();
        let shared = memory.create_shared().unwrap();
        let (imported, note) = other.import_shared(memory.export_shared(&shared, b"note").unwrap()).unwrap();
        assert_eq!((imported.file(), &note[..]), (shared.file(), &b"note"[..]));
        let [first, second] = [3, 2].map(|chunks| memory.alloc_shared(&shared, spec(chunks)).unwrap());
        assert_eq!((memory.used(), other.used()), (5 * CHUNK, 0));
        assert_eq!(shared.offset_of(second.base + 7), Some(3 * CHUNK + 7));
        memory.view().store(second.base + 8, 7_u32).unwrap();
        let there = other.import_part(&imported, 3 * CHUNK, spec(2)).unwrap();
        assert_eq!(other.view().load::<u32>(there.base + 8).unwrap(), 7);
        other.free_shared(&imported, there.base);
        assert!(other.view().load::<u32>(there.base + 8).is_err());
        assert_eq!(memory.view().load::<u32>(second.base + 8).unwrap(), 7);
        memory.free_shared(&shared, first.base);
        memory.free_shared(&shared, second.base);
        assert_eq!(memory.used(), 0);
        // The same part again, with fresh pages.
        let again = memory.alloc_shared(&shared, spec(5)).unwrap();
        assert_eq!(shared.offset_of(again.base), Some(0));
        assert_eq!(memory.view().load::<u32>(again.base + 3 * CHUNK + 8).unwrap(), 0);
        assert!(memory.alloc_shared(&shared, spec(1 << 10)).is_err());
        assert_eq!(memory.used(), 5 * CHUNK);
    }
}
