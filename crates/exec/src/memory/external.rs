//! Memory files that come from outside as descriptors (`cuImportExternalMemory`), and parts of them as allocations.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use super::physical::memory_size;
use super::run::Zone;
use super::window::CHUNK;
use super::{AllocSpec, AllocationInfo, GRANULE, Memory, lock};

/// Pages of memory files that can be mapped anywhere.
const PAGE: u64 = 4096;

/// A memory file of the program.
pub struct ExternalMemory {
    file: File,
    size: u64,
}

/// The size of a memory file, which cannot shrink any more if its maker allows to say so; if not, the program promises it, as it does for host memory that
/// it registers. None for what is no memory file, and for one of huge pages.
pub(crate) fn secure(file: &File) -> Option<u64> {
    // SAFETY: asks for the seals of a descriptor that is open, and adds one; anything else than a memory file has none.
    let has_seals = unsafe {
        libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK);
        libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) >= 0
    };
    let found = file.metadata().ok()?;
    (has_seals && found.blksize() == PAGE).then_some(found.len())
}

impl ExternalMemory {
    /// What a descriptor stands for; None if that is no memory file.
    pub fn open(descriptor: OwnedFd) -> Option<ExternalMemory> {
        let file = File::from(descriptor);
        let length = secure(&file)?;
        // What this driver has exported has something behind the memory.
        let size = memory_size(&file).unwrap_or(length);
        Some(ExternalMemory { file, size })
    }

    /// In bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Memory {
    /// Maps `spec.size` bytes from `offset` on, which the memory has, as an allocation. It counts as nothing; freeing it ends the mapping.
    ///
    /// # Errors
    /// The host refuses.
    pub fn map_external(&self, external: &ExternalMemory, offset: u64, spec: AllocSpec) -> io::Result<AllocationInfo> {
        assert!(spec.size != 0 && offset.checked_add(spec.size).is_some_and(|end| end <= external.size));
        let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        let begin = offset / PAGE * PAGE;
        let inset = offset - begin;
        let length = (inset + spec.size).next_multiple_of(PAGE);
        let chunks = (length + GRANULE).div_ceil(CHUNK);
        let mut runs = lock(&self.space.runs);
        let (first, _) = self.space.take_committed(&mut runs, chunks, Zone::Own).map_err(|_| no_memory())?;
        let start = self.space.address_of(first);
        if let Err(error) = self.space.window.map_file(start, length, &external.file, begin) {
            runs.give(first, chunks);
            return Err(error);
        }
        Ok(self.enter_file_run(&mut runs, (first, chunks), start + inset, spec))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::FromRawFd;
    use std::os::unix::fs::FileExt;

    use super::super::{MemoryKind, Options};
    use super::*;
    use crate::fault::AccessKind;

    fn spec(size: u64) -> AllocSpec {
        AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 1, tag: 2, origin: "test" }
    }

    #[test]
    fn any_part_of_a_memory_file_is_an_allocation_of_its_bounds() {
        let memory = Memory::new(Options { window: 1 << 30, capacity: 1 << 28, ..Options::default() }).unwrap();
        for flags in [0, libc::MFD_ALLOW_SEALING] {
            // SAFETY: a new descriptor, owned by nobody else.
            let file = unsafe { File::from_raw_fd(libc::memfd_create(c"test".as_ptr(), flags)) };
            file.set_len((4 << 20) + 1000).unwrap();
            let external = ExternalMemory::open(file.try_clone().unwrap().into()).unwrap();
            assert_eq!(external.size(), (4 << 20) + 1000);
            let parts = [(0, (4 << 20) + 1000), (5000, 3 << 20), ((4 << 20) + 4, 996), (4096, 4096)];
            for (offset, size) in parts {
                let info = memory.map_external(&external, offset, spec(size)).unwrap();
                memory.view().store(info.base + size - 4, 7_u32).unwrap();
                let mut bytes = [0; 4];
                file.read_exact_at(&mut bytes, offset + size - 4).unwrap();
                assert_eq!((u32::from_ne_bytes(bytes), memory.used()), (7, 0));
                file.write_all_at(&[0; 4], offset + size - 4).unwrap();
                let behind = info.base + size.next_multiple_of(GRANULE);
                assert!(memory.check(behind, 1, AccessKind::Load).is_err());
                assert!(memory.check(info.base - 1, 1, AccessKind::Load).is_err());
                memory.free(info.base).unwrap();
                assert!(memory.check(info.base, 1, AccessKind::Load).is_err());
            }
        }
    }

    #[test]
    fn exported_memory_has_its_own_size_and_other_files_are_none() {
        let memory = Memory::new(Options { window: 1 << 30, capacity: 1 << 28, ..Options::default() }).unwrap();
        let physical = memory.create_physical(0, 4 << 20).unwrap();
        let external = ExternalMemory::open(memory.export(&physical, b"").unwrap()).unwrap();
        assert_eq!(external.size(), 4 << 20);
        assert!(ExternalMemory::open(File::open("/dev/null").unwrap().into()).is_none());
        assert!(ExternalMemory::open(File::open("/proc/self/exe").unwrap().into()).is_none());
    }
}
