//! Memory files of the program as device memory (`cuImportExternalMemory`): files from `memfd_create`, and what this driver has exported.
use std::os::fd::OwnedFd;

use warploom_exec::memory::{AllocSpec, ExternalMemory, MemoryKind};

use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};

/// The tag of what is mapped: not 0, as it cannot be named for other processes.
const EXTERNAL: u64 = 2;

/// A memory file that a program has imported.
pub(crate) struct ImportedMemory {
    handle: Handle,
    memory: ExternalMemory,
    /// Bytes that the program has said it has.
    size: u64,
    /// Whether it is mapped as a whole only (`CUDA_EXTERNAL_MEMORY_DEDICATED`).
    dedicated: bool,
}

impl Driver {
    /// Imports a memory file. Whoever changes its size while it is mapped pulls the pages from under kernels.
    ///
    /// # Errors
    /// `InvalidValue` for no bytes; `Unknown`, as recorded, for what is no memory file; those of [`Driver::current`].
    pub fn import_external(&self, descriptor: OwnedFd, size: u64, dedicated: bool) -> DriverResult<Handle> {
        self.current()?;
        if size == 0 {
            return Err(DriverError::invalid_value("external memory of 0 bytes"));
        }
        let memory = ExternalMemory::open(descriptor).ok_or_else(|| {
            let reason = "the descriptor is not that of a memory file: other external memory, such as Vulkan's, is on devices that a CPU is not";
            DriverError::new(ErrorCode::Unknown, reason)
        })?;
        let imported = self.imported.insert(|handle| ImportedMemory { handle, memory, size, dedicated })?;
        Ok(imported.handle)
    }

    /// Maps a part of imported memory as device memory of the calling thread's context, which is freed like any other
    /// (`cuExternalMemoryGetMappedBuffer`).
    ///
    /// # Errors
    /// `InvalidHandle` for stale and foreign handles; `InvalidValue` for a part that it does not have; `OutOfMemory`.
    pub fn map_external(&self, handle: Handle, offset: u64, size: u64) -> DriverResult<u64> {
        let imported = self.imported.lookup(handle)?;
        let context = self.current()?;
        let has = imported.size.min(imported.memory.size());
        let fits = size != 0 && offset.checked_add(size).is_some_and(|end| end <= has);
        if !fits || (imported.dedicated && offset != 0) {
            let reason = format!("{size} bytes at offset {offset} of {has} bytes of external memory");
            return Err(DriverError::invalid_value(reason));
        }
        let origin = "cuExternalMemoryGetMappedBuffer";
        let (device, owner) = (context.ordinal(), context.id());
        let spec = AllocSpec { size, kind: MemoryKind::Device, device, owner, tag: EXTERNAL, origin };
        context.while_alive(|| {
            let mapped = self.memory().map_external(&imported.memory, offset, spec);
            mapped.map(|info| info.base).map_err(|error| {
                DriverError::new(ErrorCode::OutOfMemory, format!("the host does not map the memory file: {error}"))
            })
        })
    }

    /// Fails for what is no imported memory.
    ///
    /// # Errors
    /// `InvalidHandle`.
    pub fn check_external(&self, handle: Handle) -> DriverResult {
        self.imported.lookup(handle).map(|_| ())
    }

    /// Ends imported memory. What is mapped of it stays until it is freed.
    ///
    /// # Errors
    /// `InvalidHandle` for stale and foreign handles; `InvalidValue` for NULL, as recorded.
    pub fn destroy_external(&self, handle: Handle) -> DriverResult {
        if handle.is_null() {
            return Err(DriverError::invalid_value("the external memory is NULL"));
        }
        self.imported.remove(handle).map(|_| ())
    }
}
