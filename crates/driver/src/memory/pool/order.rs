//! Allocation and freeing in the order of a stream.
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use warploom_exec::memory::{AllocationInfo, Memory, MemoryKind};
use warploom_exec::stream::Weight;

use super::{Location, PoolPlace, Pools, pool_of};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::memory::location_kind;
use crate::stream::StreamName;
use crate::{DriverError, DriverResult};

/// Memory that streams will free when they get there: a program may not free it again.
#[derive(Default)]
pub(crate) struct Frees {
    count: AtomicUsize,
    addresses: Mutex<HashSet<u64>>,
}

impl Frees {
    /// Fails if a stream will free the allocation at `address`.
    #[inline]
    pub(in crate::memory) fn check(&self, address: u64) -> DriverResult {
        if self.count.load(Ordering::Acquire) != 0 && self.addresses.lock().contains(&address) {
            return Err(freed_already(address));
        }
        Ok(())
    }

    /// Fails if a stream will free the allocation that `address` lies in: no later call may name it, whatever its stream.
    #[inline]
    pub(in crate::memory) fn check_inside(&self, memory: &Memory, address: u64) -> DriverResult {
        if self.count.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        memory.lookup(address).map_or(Ok(()), |info| self.check(info.base))
    }

    fn enter(&self, address: u64) -> DriverResult {
        if !self.addresses.lock().insert(address) {
            return Err(freed_already(address));
        }
        self.count.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    fn leave(&self, address: u64) {
        if self.addresses.lock().remove(&address) {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn freed_already(address: u64) -> DriverError {
    DriverError::invalid_value(format!("{address:#x} has already been freed, by cuMemFreeAsync"))
}

/// Frees pooled memory now, and says whether it was there: its context or another thread may have been faster.
fn free_to_pool(memory: &Memory, pools: &Pools, address: u64) -> bool {
    memory.free_keeping(address).map(|(info, kept)| pools.came_back(memory, &info, kept)).is_ok()
}

impl Driver {
    /// Allocates `size` bytes of device memory for work of a stream, from `pool` or from the current pool of the stream's
    /// device. 0 bytes give address 0.
    ///
    /// # Errors
    /// `OutOfMemory`; `InvalidValue` for an unknown pool; as [`Driver::stream`].
    pub fn alloc_async(&self, size: u64, pool: Option<Handle>, stream: StreamName) -> DriverResult<u64> {
        let stream = self.stream(stream)?;
        if let Some(capture) = self.capture_of(&stream)? {
            return self.capture_alloc(&capture, &stream, size);
        }
        self.refuse_unsafe_in_capture()?;
        let pool = match pool {
            Some(pool) => self.pool(pool)?,
            None => {
                let id = i32::try_from(stream.context.ordinal()).unwrap_or(0);
                let location = Location { kind: location_kind::DEVICE, id };
                let place = PoolPlace { managed: false, location };
                self.pools.with_slot(place, |slot| Arc::clone(&slot.current))?
            }
        };
        if size == 0 { Ok(0) } else { pool.alloc(self.memory(), size) }
    }

    /// The allocation that starts at `address`, if `caller` may free it: device and managed memory, and what pools have.
    pub(in crate::memory) fn freeable_at(&self, address: u64, caller: &str) -> DriverResult<AllocationInfo> {
        self.frees.check(address)?;
        let info = self.allocation_at(address, caller, |kind| {
            matches!(kind, MemoryKind::Device | MemoryKind::Managed | MemoryKind::PinnedHost)
        })?;
        if info.kind == MemoryKind::PinnedHost && pool_of(&info).is_null() {
            return Err(DriverError::invalid_value(format!("{caller} is not for {info}")));
        }
        Ok(info)
    }

    /// Frees memory that may be of a pool now.
    pub(in crate::memory) fn give_back_to_pool(&self, info: &AllocationInfo) -> DriverResult {
        if free_to_pool(self.memory(), &self.pools, info.base) {
            self.pools.was_freed(info);
        }
        Ok(())
    }

    /// Frees device or managed memory, of a pool or not, when a stream gets there; 0 is allowed.
    ///
    /// # Errors
    /// `InvalidValue` for an address at which no such allocation starts, or that has been freed in a stream already; as
    /// [`Driver::stream`].
    pub fn free_async(&self, address: u64, stream: StreamName) -> DriverResult {
        let stream = self.stream(stream)?;
        if address == 0 {
            return Ok(());
        }
        if let Some(capture) = self.capture_of(&stream)? {
            return self.capture(&capture, &stream, self.free_work(address)?).map(|_| ());
        }
        self.refuse_unsafe_in_capture()?;
        if self.graph_memory.free(address) {
            return Ok(());
        }
        let info = self.freeable_at(address, "cuMemFreeAsync")?;
        if stream.stream.is_idle() {
            return self.give_back_to_pool(&info);
        }
        self.frees.enter(address)?;
        self.pools.was_freed(&info);
        let (memory, pools, frees) = (Arc::clone(self.memory()), Arc::clone(&self.pools), Arc::clone(&self.frees));
        stream.stream.run(Weight::Light, move || {
            frees.leave(address);
            free_to_pool(&memory, &pools, address);
        });
        Ok(())
    }
}
