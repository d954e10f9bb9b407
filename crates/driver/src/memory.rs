//! Memory of contexts: device, managed and pinned allocations, registered host pages, and what a pointer points to.
//!
//! Addresses are numbers here. What lies behind a host address is reached through a [`HostRange`] that the caller of the
//! driver vouches for.
mod external;
mod fill;
mod fresh;
mod hints;
mod host;
mod ipc;
mod peer;
mod pointer;
mod pool;
mod told;
mod transfer;
mod virtual_memory;

pub use fill::Fill2d;
pub use hints::{Advice, Hints, Location, location_kind};
pub use host::host_flags;
pub use pointer::{Pointer, PointerKind};
pub use pool::{HighMark, MemoryPool, PoolPlace, PoolUse, REUSE_ATTRIBUTES, SharedAllocation};
pub use transfer::{Box3, CopyPlace, CopySide, SourceOrder, Transfer};
pub use virtual_memory::{HandleTypes, PhysicalMemory};
pub use warploom_exec::copy::FillWidth;
pub use warploom_exec::interprocess::Name;
pub use warploom_exec::memory::{CallersMemory, HostRange, MapAccess};

pub(crate) use external::ImportedMemory;
pub(crate) use hints::AllHints;
pub(crate) use host::RegisteredPages;
pub(crate) use ipc::BetweenProcesses;
pub(crate) use pool::{Frees, Pools};
pub(crate) use told::Teller;
pub(crate) use transfer::Checked;
pub(crate) use virtual_memory::{Mappings, TilePool};

use warploom_exec::fault::{AccessKind, Nearest};
use warploom_exec::memory::{AllocError, AllocSpec, AllocationInfo, FreeError, MemoryKind};
use warploom_exec::observe::HostEvent;

use crate::context::Context;
use crate::driver::Driver;
use crate::{DriverError, DriverResult, ErrorCode};

/// Rows of pitched allocations start at multiples of this, as recorded.
const PITCH_ALIGNMENT: u64 = 512;

/// `CU_MEM_ATTACH_GLOBAL`: all streams use managed memory.
pub(crate) const ATTACH_GLOBAL: u32 = 1;

impl Driver {
    /// Allocates `size` bytes of device memory for the calling thread's context.
    ///
    /// # Errors
    /// `InvalidValue` for 0 bytes, `OutOfMemory`, and those of [`Driver::current`].
    pub fn alloc(&self, size: u64) -> DriverResult<u64> {
        let context = self.current()?;
        self.refuse_unsafe_in_capture()?;
        self.alloc_in(&context, size, MemoryKind::Device, 0, "cuMemAlloc")
    }

    /// Allocates for `context`. `tag` comes back from lookups; `origin` names the entry point in reports.
    pub(crate) fn alloc_in(
        &self,
        context: &Context,
        size: u64,
        kind: MemoryKind,
        tag: u64,
        origin: &'static str,
    ) -> DriverResult<u64> {
        let spec = AllocSpec { size, kind, device: context.ordinal(), owner: context.id(), tag, origin };
        self.with_freed_memory(size, || {
            context.while_alive(|| match self.memory().alloc(spec) {
                Ok(info) => {
                    self.fill_fresh(&info);
                    self.tell(|| HostEvent::Alloc { info, place: None });
                    Ok(info.base)
                }
                Err(AllocError::Empty) => Err(DriverError::invalid_value("an allocation of 0 bytes")),
                Err(AllocError::OutOfMemory) => Err(self.out_of_memory(context, size)),
            })
        })
    }

    #[cold]
    fn out_of_memory(&self, context: &Context, size: u64) -> DriverError {
        let (used, capacity) = (self.memory().used_of(context.ordinal()), self.memory().capacity());
        let reason = format!("{size} bytes are not free: {used} of {capacity} bytes of device memory are in use");
        DriverError::new(ErrorCode::OutOfMemory, reason)
    }

    /// Allocates `height` rows of at least `width` bytes each; the address, and the distance of rows in bytes.
    ///
    /// # Errors
    /// `InvalidValue` for an empty area or an element size other than 4, 8 and 16; otherwise as [`Driver::alloc`].
    pub fn alloc_pitch(&self, width: u64, height: u64, element: u32) -> DriverResult<(u64, u64)> {
        let context = self.current()?;
        self.refuse_unsafe_in_capture()?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(DriverError::invalid_value(format!(
                "an element size of {element} bytes; 4, 8 or 16 are possible"
            )));
        }
        if width == 0 || height == 0 {
            return Err(DriverError::invalid_value(format!("an area of {width} bytes by {height} rows is empty")));
        }
        let pitch = width.checked_next_multiple_of(PITCH_ALIGNMENT);
        let (pitch, size) = pitch
            .and_then(|pitch| Some((pitch, pitch.checked_mul(height)?)))
            .ok_or_else(|| self.out_of_memory(&context, u64::MAX))?;
        let address = self.alloc_in(&context, size, MemoryKind::Device, 0, "cuMemAllocPitch")?;
        Ok((address, pitch))
    }

    /// Allocates managed memory. `attach` is 1 (global) or 2 (host), and comes back from lookups.
    ///
    /// # Errors
    /// `InvalidValue` for 0 bytes or another `attach`; otherwise as [`Driver::alloc`].
    pub fn alloc_managed(&self, size: u64, attach: u32) -> DriverResult<u64> {
        if !matches!(attach, 1 | 2) {
            return Err(DriverError::invalid_value(format!(
                "flags {attach} are neither attached globally nor to the host"
            )));
        }
        // As recorded, before a context is asked for.
        if size == 0 {
            return Err(DriverError::invalid_value("an allocation of 0 bytes"));
        }
        let context = self.current()?;
        self.refuse_unsafe_in_capture()?;
        self.alloc_in(&context, size, MemoryKind::Managed, u64::from(attach), "cuMemAllocManaged")
    }

    /// Checks the arguments of attaching managed memory to a stream. `flags` is 1 (global), 2 (host) or 4 (one stream); a
    /// length of 0 is the whole allocation.
    ///
    /// # Errors
    /// `InvalidValue` for other memory, part of an allocation, or other flags; those of [`Driver::current`].
    pub fn attach_managed(&self, address: u64, len: u64, flags: u32) -> DriverResult {
        self.current()?;
        if !matches!(flags, 1 | 2 | 4) {
            return Err(DriverError::invalid_value(format!("flags {flags} names no way of attaching")));
        }
        match self.pointer(address) {
            Some(Pointer { kind: PointerKind::Managed, base, size, .. })
                if base == address && (len == 0 || len == size) =>
            {
                Ok(())
            }
            _ => Err(DriverError::invalid_value(format!("{len} bytes at {address:#x} are no managed allocation"))),
        }
    }

    /// Frees device or managed memory once all work of its context is done; 0 is allowed.
    ///
    /// # Errors
    /// `InvalidValue` for an address at which no such allocation starts, and those of [`Driver::current`].
    pub fn free(&self, address: u64) -> DriverResult {
        self.refuse_unsafe_in_capture()?;
        if address == 0 {
            return self.current().map(drop);
        }
        if self.graph_memory.is_freeable(address) {
            self.finish_all_of(&*self.current()?)?;
            // Another thread may have freed it meanwhile: then it is no allocation any more, as the next look finds.
            if self.graph_memory.free(address).is_some() {
                return Ok(());
            }
        }
        let info = self.freeable_at(address, "cuMemFree")?;
        self.finish_users_of(&info)?;
        if pool::pool_of(&info).is_null() { self.give_back(address) } else { self.give_back_to_pool(&info) }
    }

    /// The allocation that `address` lies in: one of the memory, or a part of one that a pool has divided.
    pub(super) fn allocated_at(&self, address: u64) -> Option<AllocationInfo> {
        self.memory().lookup(address).and_then(|whole| self.frees.refine(whole, address))
    }

    /// The allocation that starts at `address`, if its kind is right.
    pub(super) fn allocation_at(
        &self,
        address: u64,
        caller: &str,
        right: impl Fn(MemoryKind) -> bool,
    ) -> DriverResult<AllocationInfo> {
        match self.allocated_at(address) {
            Some(info) if info.base == address && right(info.kind) => Ok(info),
            Some(info) if info.base == address => {
                Err(DriverError::invalid_value(format!("{caller} is not for {info}")))
            }
            Some(info) => {
                let offset = address - info.base;
                Err(DriverError::invalid_value(format!(
                    "{address:#x} is not the start of an allocation but at offset {offset} of {info}"
                )))
            }
            None => Err(self.no_allocation(address)),
        }
    }

    /// Why no allocation starts at `address`.
    #[cold]
    fn no_allocation(&self, address: u64) -> DriverError {
        DriverError::invalid_value(match self.memory().nearest(address) {
            Some(Nearest::Freed(0, info)) => format!("{address:#x} has already been freed: it was {info}"),
            Some(Nearest::Freed(offset, info)) => {
                format!("{address:#x} is no allocation but at offset {offset} of {info}, which has been freed")
            }
            Some(Nearest::After(distance, info)) => {
                format!("{address:#x} is no allocation: it lies {distance} bytes after the end of {info}")
            }
            Some(Nearest::Before(distance, info)) => {
                format!("{address:#x} is no allocation: it lies {distance} bytes before {info}")
            }
            Some(Nearest::Host) => format!("{address:#x} is host memory that was not allocated by the driver"),
            Some(Nearest::Straddles(_) | Nearest::Inside(..)) | None => {
                format!("{address:#x} is no allocation, and none is near")
            }
        })
    }

    /// Frees the allocation at `address`, which the caller has just looked up.
    pub(crate) fn give_back(&self, address: u64) -> DriverResult {
        match self.memory().free(address) {
            Ok(info) => {
                self.tell(|| HostEvent::Free { info, place: None });
                self.forget_name_of(&info);
                Ok(())
            }
            // Another thread was faster.
            Err(error @ (FreeError::NotAllocated | FreeError::NotTheStart(_) | FreeError::AlreadyFreed(_))) => {
                Err(DriverError::invalid_value(format!("{address:#x}: {error}")))
            }
        }
    }

    /// Start and size of the allocation that holds `address`, or of the mapping.
    ///
    /// # Errors
    /// `NotFound` if none does, and for a mapping that nobody may access, as recorded; those of [`Driver::current`].
    pub fn address_range(&self, address: u64) -> DriverResult<(u64, u64)> {
        self.current()?;
        let accessible = |pointer: &Pointer| {
            pointer.mapped.is_none() || self.memory().access_at(address).is_some_and(|access| access != MapAccess::None)
        };
        let pointer = self
            .pointer(address)
            .filter(accessible)
            .ok_or_else(|| DriverError::about(ErrorCode::NotFound, address, "is held by no allocation"))?;
        Ok((pointer.base, pointer.size))
    }

    /// Bytes free and bytes in all, of the device of the calling thread's context. Free is no more than what the machine has left: other processes use the same
    /// memory.
    ///
    /// # Errors
    /// Those of [`Driver::current`].
    pub fn memory_info(&self) -> DriverResult<(u64, u64)> {
        let context = self.current()?;
        Ok((self.memory().free_bytes(context.ordinal()), self.memory().capacity()))
    }

    /// Why `len` bytes at `address` cannot be used.
    #[cold]
    pub(super) fn nowhere(&self, address: u64, len: u64, kind: AccessKind) -> DriverError {
        let what = match kind {
            AccessKind::Load => "read",
            AccessKind::Store | AccessKind::Atomic => "written",
        };
        let place = match self.memory().nearest(address) {
            Some(Nearest::Straddles(info)) => format!("they run over the end of {info}"),
            Some(Nearest::After(distance, info)) => format!("they start {distance} bytes after the end of {info}"),
            Some(Nearest::Before(distance, info)) => format!("they start {distance} bytes before {info}"),
            Some(Nearest::Freed(offset, info)) => {
                format!("they start at offset {offset} of {info}, which has been freed")
            }
            Some(Nearest::Inside(offset, info)) => format!("they start at offset {offset} of {info}"),
            Some(Nearest::Host) | None => "nothing is allocated or registered there".to_owned(),
        };
        DriverError::invalid_value(format!("{len} bytes at {address:#x} cannot be {what}: {place}"))
    }

    /// Gives back all that a context had allocated or registered.
    pub(crate) fn free_memory_of(&self, context: &Context) {
        self.close_memory_of(context);
        let mut owned = Vec::new();
        self.memory().each_allocation(|info| {
            if info.owner == context.id() {
                owned.push(info.base);
            }
        });
        for base in owned {
            self.variable_names.forget(base);
            // The program may be freeing the same memory on another thread; then it is gone, which is what is wanted.
            let _ = self.give_back(base);
        }
        self.unregister_all_of(context);
    }
}
