//! `malloc` and `free` in kernels (CUDA programming guide, dynamic global memory allocation).
//!
//! Allocations come from the memory window, so that kernels' mistakes with them are found like any other; the heap
//! counts them against its limit (`CU_LIMIT_MALLOC_HEAP_SIZE`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::{AllocSpec, Memory, MemoryKind};

/// The limit of a new context, in bytes.
pub const DEFAULT_LIMIT: u64 = 8 << 20;

/// The heap of one context.
pub struct DeviceHeap {
    memory: Arc<Memory>,
    device: u32,
    owner: u64,
    limit: AtomicU64,
    used: AtomicU64,
}

impl DeviceHeap {
    /// An empty heap with the default limit.
    pub fn new(memory: Arc<Memory>, device: u32, owner: u64) -> DeviceHeap {
        DeviceHeap { memory, device, owner, limit: AtomicU64::new(DEFAULT_LIMIT), used: AtomicU64::new(0) }
    }

    /// Bytes that may be allocated at once.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Sets the limit; what is allocated stays.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// `malloc`: the address, or `None` where C gives NULL.
    pub fn malloc(&self, size: u64) -> Option<u64> {
        if size == 0 {
            return None;
        }
        let fits = |used: u64| used.checked_add(size).filter(|sum| *sum <= self.limit());
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        let spec = AllocSpec {
            size,
            kind: MemoryKind::DeviceHeap,
            device: self.device,
            owner: self.owner,
            tag: 0,
            origin: "malloc in a kernel",
        };
        match self.memory.alloc(spec) {
            Ok(info) => Some(info.base),
            Err(_) => {
                self.used.fetch_sub(size, Ordering::Relaxed);
                None
            }
        }
    }

    /// Room for the parameters of a launch by a kernel: none of what `malloc` gives.
    pub fn buffer(&self, size: u64) -> Option<u64> {
        let (device, kind, owner) = (self.device, MemoryKind::DeviceHeap, self.owner);
        let spec =
            AllocSpec { size: size.max(1), kind, device, owner, tag: 0, origin: "parameters of a launch by a kernel" };
        self.memory.alloc(spec).ok().map(|info| info.base)
    }

    /// Gives such room back.
    pub fn free_buffer(&self, address: u64) {
        // It is there: it is freed here only.
        let _ = self.memory.free(address);
    }

    /// `free` of an address that is not NULL. Error: it is not a live allocation of this heap; the text says what it is.
    pub fn free(&self, address: u64) -> Result<(), String> {
        if let Some(info) = self.memory.lookup(address)
            && (info.kind != MemoryKind::DeviceHeap || info.owner != self.owner)
        {
            return Err(format!("free of {address:#x} in a kernel: it lies in {info}"));
        }
        let info = self.memory.free(address).map_err(|error| format!("free of {address:#x} in a kernel: {error}"))?;
        self.used.fetch_sub(info.size, Ordering::Relaxed);
        Ok(())
    }

    /// Frees everything, when the context goes.
    pub fn clear(&self) {
        let mut mine = Vec::new();
        self.memory.each_allocation(|info| {
            if info.kind == MemoryKind::DeviceHeap && info.owner == self.owner {
                mine.push(info.base);
            }
        });
        for base in mine {
            // A kernel that still runs may have been faster.
            let _ = self.free(base);
        }
    }
}
