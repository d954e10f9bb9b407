//! Handles to memory and events for other processes (`cuIpc*`). A handle names the process and the allocation. Memory of `cuMemAlloc` and
//! events belong to their process, so no other process can open one.
use super::{Pointer, PointerKind};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
const LAZY_PEER_ACCESS: u32 = 1;

/// What a handle to memory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemoryName {
    /// The process that allocated it.
    pub process: u64,
    /// The number of the allocation there.
    pub allocation: u64,
}

impl Driver {
    /// The name of the device memory that `address` lies in, for other processes.
    ///
    /// # Errors
    /// `InvalidValue` for memory that did not come from `cuMemAlloc`; those of [`Driver::current`].
    pub fn name_memory(&self, address: u64) -> DriverResult<SharedMemoryName> {
        self.current()?;
        let of_alloc = |known: &Pointer| known.kind == PointerKind::Device && known.pool == 0 && known.mapped.is_none();
        let pointer = self.pointer(address).filter(of_alloc);
        let pointer = pointer.ok_or_else(|| {
            DriverError::about(ErrorCode::InvalidValue, address, "is not in memory that cuMemAlloc allocated")
        })?;
        Ok(SharedMemoryName { process: this_process(), allocation: pointer.id })
    }

    /// Opens memory of another process.
    ///
    /// # Errors
    /// `InvalidValue` for other flags than the one that there is; `InvalidContext` for memory of this process, as recorded; `NotSupported`
    /// for all other; those of [`Driver::current`].
    pub fn open_memory(&self, name: SharedMemoryName, flags: u32) -> DriverResult<u64> {
        self.current()?;
        if flags != LAZY_PEER_ACCESS {
            return Err(DriverError::invalid_value(format!("Flags is {flags}, must be {LAZY_PEER_ACCESS}")));
        }
        if name.process == this_process() {
            return Err(DriverError::new(ErrorCode::InvalidContext, "the handle is of this process itself"));
        }
        let reason = "memory of this driver belongs to its process: another one cannot open it";
        Err(DriverError::new(ErrorCode::NotSupported, reason))
    }

    /// Closes memory of another process.
    ///
    /// # Errors
    /// `InvalidValue`: nothing was ever opened; those of [`Driver::current`].
    pub fn close_memory(&self, address: u64) -> DriverResult {
        self.current()?;
        Err(DriverError::about(ErrorCode::InvalidValue, address, "was not opened with cuIpcOpenMemHandle"))
    }

    /// Names an event for other processes (`CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED` is 0).
    ///
    /// # Errors
    /// `InvalidHandle` for stale and foreign handles and events that were not made for that; `NotSupported` for others; the sticky error.
    pub fn name_event(&self, event: Handle) -> DriverResult {
        if !self.event(event)?.is_interprocess() {
            return Err(DriverError::invalid_handle("the event was not created with CU_EVENT_INTERPROCESS"));
        }
        Err(events_stay())
    }

    /// Opens an event of another process.
    ///
    /// # Errors
    /// `NotSupported`; those of [`Driver::current`].
    pub fn open_event(&self) -> DriverResult<Handle> {
        self.current()?;
        Err(events_stay())
    }
}

fn this_process() -> u64 {
    u64::from(std::process::id())
}

fn events_stay() -> DriverError {
    DriverError::new(ErrorCode::NotSupported, "events of this driver belong to their process")
}
