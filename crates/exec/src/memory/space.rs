//! What the allocator, virtual memory and physical memory share.

use std::sync::{Mutex, RwLock};

use super::file_chunks::FileChunks;
use super::run::{Runs, Zone};
use super::virtual_memory::Virtual;
use super::window::{CHUNK, Window};
use super::{AllocError, lock};

/// The window, and what its chunks are used for.
pub(super) struct Space {
    pub(super) runs: Mutex<Runs>,
    /// Locked after `runs` where both are.
    pub(super) virtual_memory: Mutex<Virtual>,
    /// Held for reading by copies and fills of the host, for writing while pages move.
    pub(super) still: RwLock<()>,
    /// Locked last.
    pub(super) file_chunks: FileChunks,
    pub(super) window: Window,
}

impl Space {
    /// Takes chunks, if need be those of runs that wait.
    pub(super) fn take(&self, runs: &mut Runs, chunks: u64, zone: Zone) -> Option<u64> {
        loop {
            if let Some(taken) = runs.take(chunks, zone) {
                if taken.new_zone {
                    self.window.inherit(taken.first, chunks, zone == Zone::Inherited);
                }
                return Some(taken.first);
            }
            let (first, count, resident) = runs.hurry()?;
            if resident {
                self.window.discard(first, count);
            }
            runs.give(first, count);
        }
    }

    /// Takes chunks that can be read and written; whether any of them never were before.
    pub(super) fn take_committed(&self, runs: &mut Runs, chunks: u64, zone: Zone) -> Result<(u64, bool), AllocError> {
        let first = self.take(runs, chunks, zone).ok_or(AllocError::OutOfMemory)?;
        match self.window.commit(first, chunks) {
            Ok(new) => Ok((first, new)),
            Err(_) => {
                runs.give(first, chunks);
                Err(AllocError::OutOfMemory)
            }
        }
    }

    /// Gives the pages and the addresses of a run back that nobody can find any more.
    pub(super) fn give_back(&self, first: u64, chunks: u64) {
        self.window.discard(first, chunks);
        lock(&self.runs).give(first, chunks);
    }

    pub(super) fn address_of(&self, chunk: u64) -> u64 {
        self.window.base() + chunk * CHUNK
    }
}
