//! Workspaces: memory in which the CTAs of a cooperative grid wait for each other.
//!
//! `cooperative_groups::grid_group::sync` is compiled into the kernel. It finds the workspace's address in `%envreg1` (its upper half) and
//! `%envreg2` (its lower half), traps if that is 0, and counts arrivals in the second of two words; the first one is the workspace's
//! size. The highest bit of the count turns over each time that all CTAs have arrived, so a workspace serves one grid after another.

use std::sync::Arc;

use crate::memory::{AllocError, AllocSpec, Memory, MemoryKind};

/// Bytes of a workspace.
const SIZE: u32 = 8;

/// The memory of one cooperative grid, freed with the last launch that holds it.
pub struct Workspace {
    memory: Arc<Memory>,
    address: u64,
}

impl Workspace {
    /// Memory for a grid on a device.
    ///
    /// # Errors
    /// If there is no memory left.
    pub fn new(memory: &Arc<Memory>, device: u32) -> Result<Arc<Workspace>, AllocError> {
        let (size, kind, origin) = (u64::from(SIZE), MemoryKind::Internal, "a cooperative launch");
        let info = memory.alloc(AllocSpec { size, kind, device, owner: 0, tag: 0, origin })?;
        // The memory is the workspace's own: both words can be written.
        let _ = memory.view().store(info.base, u64::from(SIZE));
        Ok(Arc::new(Workspace { memory: Arc::clone(memory), address: info.base }))
    }

    /// What the kernel finds in its environment registers.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // It is ours alone: nobody else frees it.
        let _ = self.memory.free(self.address);
    }
}
