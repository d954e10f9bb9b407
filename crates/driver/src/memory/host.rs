//! Host memory that kernels can access: pinned allocations and registered pages.
use std::collections::BTreeMap;

use parking_lot::Mutex;
use warploom_exec::memory::{HostRange, MemoryKind, RegisterError};

use super::{DriverError, DriverResult, Pointer, PointerKind, pool};
use crate::ErrorCode;
use crate::context::Context;
use crate::driver::Driver;

/// The flags of `cuMemHostAlloc` and `cuMemHostRegister`; the first two are the same for both.
#[expect(missing_docs, reason = "the names of the C constants say it")]
pub mod host_flags {
    pub const PORTABLE: u32 = 1;
    pub const DEVICE_MAP: u32 = 2;
    pub const WRITE_COMBINED: u32 = 4;
    pub const IO_MEMORY: u32 = 4;
    pub const READ_ONLY: u32 = 8;
}

/// What is remembered of registered pages besides their range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisteredPage {
    pub(crate) flags: u32,
    pub(crate) owner: u64,
    pub(crate) device: u32,
    pub(crate) id: u64,
}

/// Registered pages by first address.
pub(crate) type RegisteredPages = Mutex<BTreeMap<u64, RegisteredPage>>;

impl Driver {
    /// Allocates pinned host memory, at the same address for host and kernels; 0 bytes give address 0, as recorded.
    ///
    /// # Errors
    /// `InvalidValue` for unknown flags; otherwise as [`Driver::alloc`].
    pub fn alloc_host(&self, size: u64, flags: u32) -> DriverResult<u64> {
        self.refuse_unsafe_in_capture()?;
        let context = self.current()?;
        if flags & !(host_flags::PORTABLE | host_flags::DEVICE_MAP | host_flags::WRITE_COMBINED) != 0 {
            return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
        }
        if size == 0 {
            return Ok(0);
        }
        // With one address space for host and kernels, all pinned memory is mapped.
        let flags = flags | host_flags::DEVICE_MAP;
        self.alloc_in(&context, size, MemoryKind::PinnedHost, u64::from(flags), "cuMemHostAlloc")
    }

    /// Frees pinned host memory once all work of its context is done; 0 is allowed.
    ///
    /// # Errors
    /// `InvalidValue` for an address at which no such allocation starts, and those of [`Driver::current`].
    pub fn free_host(&self, address: u64) -> DriverResult {
        self.refuse_unsafe_in_capture()?;
        if address == 0 {
            return self.current().map(drop);
        }
        let info = self.allocation_at(address, "cuMemFreeHost", |kind| kind == MemoryKind::PinnedHost)?;
        if !pool::pool_of(&info).is_null() {
            return Err(DriverError::invalid_value(format!("{info} came from a memory pool")));
        }
        self.finish_users_of(&info)?;
        self.give_back(address)
    }

    /// The flags that pinned or registered memory has; managed memory is mapped, as recorded.
    ///
    /// # Errors
    /// `InvalidValue` for other memory, and those of [`Driver::current`].
    pub fn host_memory_flags(&self, address: u64) -> DriverResult<u32> {
        self.current()?;
        match self.pointer(address) {
            Some(pointer) if pointer.is_host() => Ok(pointer.flags),
            Some(pointer) if pointer.kind == PointerKind::Managed => Ok(host_flags::DEVICE_MAP),
            _ => Err(not_host_memory(address)),
        }
    }

    /// The address at which kernels access pinned or registered memory: the same.
    ///
    /// # Errors
    /// `InvalidValue` for other memory, and those of [`Driver::current`].
    pub fn host_device_pointer(&self, address: u64) -> DriverResult<u64> {
        self.current()?;
        let pointer = self.pointer(address).filter(Pointer::is_host);
        pointer.map(|_| address).ok_or_else(|| not_host_memory(address))
    }

    /// Lets kernels access host pages.
    ///
    /// # Errors
    /// `InvalidValue` for an empty range, device memory, unknown flags and that of memory of other devices, of which there is none; `HostMemoryAlreadyRegistered`; those of
    /// [`Driver::current`].
    pub fn register_host(&self, range: HostRange, flags: u32) -> DriverResult {
        self.refuse_unsafe_in_capture()?;
        let context = self.current()?;
        let known = host_flags::PORTABLE | host_flags::DEVICE_MAP | host_flags::IO_MEMORY | host_flags::READ_ONLY;
        if flags & !known != 0 {
            return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
        }
        if range.address() == 0 {
            return Err(DriverError::invalid_value("the address is NULL"));
        }
        if flags & host_flags::IO_MEMORY != 0 && self.memory().registered_at(range.address()).is_none() {
            return Err(DriverError::invalid_value("no memory of another device of the machine is registered"));
        }
        let mut pages = self.registered.lock();
        self.memory().register_host(range, flags & host_flags::READ_ONLY != 0).map_err(|error| {
            let code = match error {
                RegisterError::AlreadyRegistered => ErrorCode::HostMemoryAlreadyRegistered,
                RegisterError::Invalid | RegisterError::InWindow | RegisterError::NotRegistered => {
                    ErrorCode::InvalidValue
                }
            };
            DriverError::new(code, format!("{} bytes at {:#x}: {error}", range.size(), range.address()))
        })?;
        let page = RegisteredPage {
            // As recorded, that it is only read is not told back.
            flags: flags & !host_flags::READ_ONLY | host_flags::DEVICE_MAP,
            owner: context.id(),
            device: context.ordinal(),
            id: self.next_id(),
        };
        pages.insert(range.address(), page);
        Ok(())
    }

    /// Takes registered pages back, once all work is done.
    ///
    /// # Errors
    /// `HostMemoryNotRegistered`; `InvalidValue` for NULL, inside a registered range and for what the driver has allocated; those of [`Driver::current`].
    pub fn unregister_host(&self, address: u64) -> DriverResult {
        self.refuse_unsafe_in_capture()?;
        let context = self.current()?;
        if address == 0 {
            return Err(DriverError::invalid_value("the address is NULL"));
        }
        self.finish_all_of(&context)?;
        let mut pages = self.registered.lock();
        match self.memory().unregister_host(address) {
            Ok(_) => {
                pages.remove(&address);
                Ok(())
            }
            Err(_) if self.memory().registered_at(address).is_some() => {
                Err(DriverError::invalid_value(format!("{address:#x} is not the start of the registered range")))
            }
            Err(_) if self.memory().in_window(address) => {
                Err(DriverError::invalid_value(format!("{address:#x} is memory of the driver's own")))
            }
            Err(error) => Err(DriverError::new(ErrorCode::HostMemoryNotRegistered, format!("{address:#x}: {error}"))),
        }
    }

    pub(super) fn unregister_all_of(&self, context: &Context) {
        self.registered.lock().retain(|address, page| {
            let keep = page.owner != context.id();
            if !keep {
                // The two tables change together, under this lock: the range is there.
                let _ = self.memory().unregister_host(*address);
            }
            keep
        });
    }
}

fn not_host_memory(address: u64) -> DriverError {
    DriverError::about(ErrorCode::InvalidValue, address, "is neither pinned nor registered host memory")
}
