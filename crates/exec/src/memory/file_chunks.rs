//! Allocations whose chunks are in a memory file instead of the window's own pages: those that other processes may open, and those that other
//! processes have allocated.
//!
//! A small allocation takes its whole slab along: the others of that slab go on in the same file, and who opens one can map all of them, as the
//! documentation of `cuIpcGetMemHandle` says of small allocations.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::physical::{Pages, new_file, seal};
use super::run::{Runs, Zone};
use super::window::CHUNK;
use super::{AllocSpec, AllocationInfo, ExportError, GRANULE, Memory, Space, lock};

/// Where another process finds an allocation, as long as that is not freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// A descriptor of this process.
    pub descriptor: RawFd,
    /// The number of the file that it stands for, among memory files of the machine.
    pub file: u64,
    /// Where the allocation begins in the file, in bytes.
    pub offset: u64,
}

/// Runs of chunks in memory files, by their first chunk.
#[derive(Default)]
pub(super) struct FileChunks {
    /// How many there are: with none, nobody needs the lock.
    count: AtomicUsize,
    runs: Mutex<BTreeMap<u64, FileRun>>,
}

pub(super) struct FileRun {
    pub(super) chunks: u64,
    /// None where another process has allocated the memory, which then counts here as nothing.
    own: Option<std::fs::File>,
}

impl FileRun {
    pub(super) fn is_own(&self) -> bool {
        self.own.is_some()
    }
}

impl FileChunks {
    fn insert(&self, first: u64, run: FileRun) {
        let mut runs = lock(&self.runs);
        runs.insert(first, run);
        self.count.store(runs.len(), Ordering::Release);
    }

    /// How many chunks of a file begin with this one.
    pub(super) fn chunks_from(&self, first: u64) -> Option<u64> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        lock(&self.runs).get(&first).map(|run| run.chunks)
    }

    pub(super) fn remove(&self, first: u64) -> Option<FileRun> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut runs = lock(&self.runs);
        let run = runs.remove(&first);
        self.count.store(runs.len(), Ordering::Release);
        run
    }
}

impl Space {
    /// Takes the pages of a freed slab away; a file of its chunk, which nobody may open any more, ends.
    pub(super) fn empty_slab(&self, first: u64) {
        match self.file_chunks.remove(first) {
            // Where the host refuses, the chunk stays what it is: memory of this process, which others may still see.
            Some(run) if self.window.map_own(self.address_of(first), CHUNK).is_err() => {
                self.file_chunks.insert(first, run);
            }
            Some(_) => {}
            None => self.window.discard(first, 1),
        }
    }
}

impl Memory {
    /// Moves a live allocation to a memory file where others can open it, with a note of up to 64 bytes. Kernels and copies pause meanwhile. The file ends
    /// with the allocation; who has mapped it keeps the bytes.
    ///
    /// # Errors
    /// `NotExported` if the allocation was freed meanwhile.
    pub fn export_allocation(&self, info: &AllocationInfo, note: &[u8]) -> Result<FilePlace, ExportError> {
        let mut place = Err(ExportError::NotExported);
        self.while_nothing_moves(true, &mut || {
            place = match self.table.slab_at(info.base) {
                Some(slot) => self.slabs.while_live(slot, info.id, |start| self.export_chunks(start, 1, note)),
                None => {
                    let runs = lock(&self.space.runs);
                    let lives = runs.containing(info.base).is_some_and(|live| live.id == info.id);
                    let chunks = super::chunks_for(info.size).filter(|_| lives);
                    chunks.map(|chunks| self.export_chunks(info.base, chunks, note))
                }
            }
            .unwrap_or(Err(ExportError::NotExported))
            .map(|(start, place)| FilePlace { offset: info.base - start, ..place });
        });
        place
    }

    /// Sees to it that chunks are in a file: where they start, and the file. Nobody may use or free them meanwhile.
    fn export_chunks(&self, start: u64, chunks: u64, note: &[u8]) -> Result<(u64, FilePlace), ExportError> {
        let space = &*self.space;
        let first = space.window.chunk_of(start);
        let found = |file: &std::fs::File| {
            let number = file.metadata().map_err(ExportError::Host)?.ino();
            Ok((start, FilePlace { descriptor: file.as_raw_fd(), file: number, offset: 0 }))
        };
        if let Some(run) = lock(&space.file_chunks.runs).get(&first) {
            return run.own.as_ref().map_or(Err(ExportError::NotExported), found);
        }
        let move_all = || -> io::Result<std::fs::File> {
            let file = new_file(chunks * CHUNK)?;
            space.write_to(&file, start, chunks)?;
            seal(&file, chunks * CHUNK, note)?;
            space.window.map_file(start, chunks * CHUNK, &file, 0)?;
            Ok(file)
        };
        let file = move_all().map_err(ExportError::Host)?;
        let place = found(&file)?;
        space.file_chunks.insert(first, FileRun { chunks, own: Some(file) });
        Ok(place)
    }

    /// Maps an allocation of `spec.size` bytes at an offset in what [`Memory::export_allocation`] of another process has made a file of; and the note.
    /// It counts there, not here. Freeing it ends the mapping.
    pub fn import_allocation(
        &self,
        descriptor: OwnedFd,
        offset: u64,
        spec: AllocSpec,
    ) -> Result<(AllocationInfo, Vec<u8>), ExportError> {
        let (physical, note) = self.import(descriptor)?;
        let begin = offset / CHUNK * CHUNK;
        let room = (offset - begin).checked_add(spec.size).and_then(|end| end.checked_add(GRANULE));
        let size = room.and_then(|room| room.checked_next_multiple_of(CHUNK)).filter(|_| spec.size != 0);
        let within = size.filter(|size| begin.checked_add(*size).is_some_and(|end| end <= physical.size()));
        let size = within.ok_or(ExportError::NotExported)?;
        let state = lock(&physical.state);
        let Pages::File(file) = &state.pages else { return Err(ExportError::NotExported) };
        let chunks = size / CHUNK;
        let mut runs = lock(&self.space.runs);
        let no_memory = || ExportError::Host(io::ErrorKind::OutOfMemory.into());
        let first = self.space.take(&mut runs, chunks, Zone::Own).ok_or_else(no_memory)?;
        let start = self.space.address_of(first);
        if let Err(error) = self.space.window.map_file(start, size, file, begin) {
            runs.give(first, chunks);
            return Err(ExportError::Host(error));
        }
        Ok((self.enter_file_run(&mut runs, (first, chunks), start + (offset - begin), spec), note))
    }

    /// Enters chunks, in which a file that is not this memory's has been mapped, as an allocation at `base`.
    pub(super) fn enter_file_run(
        &self,
        runs: &mut Runs,
        (first, chunks): (u64, u64),
        base: u64,
        spec: AllocSpec,
    ) -> AllocationInfo {
        let info = self.describe(spec, base);
        self.space.file_chunks.insert(first, FileRun { chunks, own: None });
        runs.record(info, self.table.add_run(first, chunks, base, info.size, false));
        info
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;

    use super::super::{MemoryKind, Options};
    use super::*;
    use crate::fault::AccessKind;

    fn memory() -> Memory {
        Memory::new(Options { window: 1 << 30, capacity: 1 << 28, ..Options::default() }).unwrap()
    }

    fn spec(size: u64) -> AllocSpec {
        AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 1, tag: 0, origin: "test" }
    }

    fn descriptor(place: FilePlace) -> OwnedFd {
        // SAFETY: the descriptor is open as long as the allocation is not freed.
        unsafe { BorrowedFd::borrow_raw(place.descriptor) }.try_clone_to_owned().unwrap()
    }

    #[test]
    fn large_allocations_are_seen_by_importers_and_end_apart() {
        let (memory, other) = (memory(), memory());
        let info = memory.alloc(spec(5 << 20)).unwrap();
        memory.view().store(info.base + (5 << 20) - 4, 7_u32).unwrap();
        let place = memory.export_allocation(&info, b"note").unwrap();
        assert_eq!(memory.export_allocation(&info, b"note").unwrap(), place);
        let (there, note) = other.import_allocation(descriptor(place), place.offset, spec(5 << 20)).unwrap();
        assert_eq!((&note[..], other.used(), memory.used()), (&b"note"[..], 0, 5 << 20));
        assert_eq!(other.view().load::<u32>(there.base + (5 << 20) - 4).unwrap(), 7);
        other.view().store(there.base, 9_u32).unwrap();
        assert_eq!(memory.view().load::<u32>(info.base).unwrap(), 9);
        assert!(other.check(there.base + (5 << 20), 1, AccessKind::Load).is_err());
        memory.free(info.base).unwrap();
        assert_eq!(other.view().load::<u32>(there.base).unwrap(), 9);
        other.free(there.base).unwrap();
        assert!(other.check(there.base, 1, AccessKind::Load).is_err());
        assert_eq!((memory.used(), other.used()), (0, 0));
        // Neither the addresses nor the bytes are shared any more.
        let again = memory.alloc(spec(5 << 20)).unwrap();
        assert_eq!(memory.view().load::<u32>(again.base + (5 << 20) - 4).unwrap(), 0);
        assert!(memory.export_allocation(&info, b"note").is_err());
    }

    #[test]
    fn small_allocations_take_their_slab_along_and_are_seen_in_their_bounds() {
        let (memory, other) = (memory(), memory());
        let [first, second] = [3000, 3000].map(|size| memory.alloc(spec(size)).unwrap());
        memory.view().store(second.base + 2996, 5_u32).unwrap();
        let places = [first, second].map(|info| memory.export_allocation(&info, b"").unwrap());
        assert_eq!(places[0].file, places[1].file);
        assert_eq!(places[1].offset - places[0].offset, second.base - first.base);
        let (there, _) = other.import_allocation(descriptor(places[1]), places[1].offset, spec(3000)).unwrap();
        assert_eq!(other.view().load::<u32>(there.base + 2996).unwrap(), 5);
        assert_eq!(other.lookup(there.base + 10).map(|info| (info.base, info.size)), Some((there.base, 3000)));
        assert!(other.check(there.base - 1, 1, AccessKind::Load).is_err());
        assert!(other.check(there.base + 3000, 200, AccessKind::Load).is_err());
        other.free(there.base).unwrap();
        for info in [first, second] {
            memory.free(info.base).unwrap();
        }
        let again = memory.alloc(spec(3000)).unwrap();
        memory.view().store(again.base, 1_u32).unwrap();
    }

    #[test]
    fn what_is_said_of_a_file_is_not_believed() {
        let (memory, other) = (memory(), memory());
        let info = memory.alloc(spec(5 << 20)).unwrap();
        let place = memory.export_allocation(&info, b"").unwrap();
        for (offset, size) in [(0, 0), (0, 6 << 20), (4 << 20, 2 << 20), (u64::MAX - 7, 8), (8, u64::MAX)] {
            assert!(other.import_allocation(descriptor(place), offset, spec(size)).is_err(), "{offset} {size}");
        }
    }
}
