//! Allocation and freeing in the order of a stream.
use std::sync::Arc;

use warploom_exec::memory::{AllocationInfo, Memory, MemoryKind};
use warploom_exec::observe::HostEvent;
use warploom_exec::stream::{Stream, Weight};

use super::pending::Ended;
use super::sharing::Sharing;
use super::{Frees, Location, PoolPlace, Pools, pool_of};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::memory::ipc::is_opened;
use crate::memory::location_kind;
use crate::stream::StreamName;
use crate::{DriverError, DriverResult, ErrorCode};

/// Frees pooled memory now, and says whether it was there: its context or another thread may have been faster.
fn free_to_pool(memory: &Memory, pools: &Pools, frees: &Frees, address: u64) -> bool {
    let whole = match frees.end(address) {
        Ended::Nothing => address,
        Ended::Before => return false,
        Ended::Part => return true,
        Ended::Whole(base, None) => base,
        Ended::Whole(base, Some(shared)) => {
            let info = memory.lookup(base);
            memory.free_shared(&shared, base);
            info.iter().for_each(|info| pools.gave_back(info));
            return true;
        }
    };
    memory.free_keeping(whole).map(|(info, kept)| pools.came_back(memory, &info, kept)).is_ok()
}

/// What a stream was given to free: freed when this is dropped.
struct PendingFree {
    memory: Arc<Memory>,
    pools: Arc<Pools>,
    frees: Arc<Frees>,
    number: u64,
}

impl Drop for PendingFree {
    fn drop(&mut self) {
        if let Some(address) = self.frees.leave(self.number) {
            free_to_pool(&self.memory, &self.pools, &self.frees, address);
        }
    }
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
        pool.require_own()?;
        if size == 0 {
            return Ok(0);
        }
        let divisible = pool.is_divisible(self.memory(), size);
        if let Some((address, bytes)) = self.frees.take(self.memory(), &stream.stream, pool.tag(), (size, divisible)) {
            // What the stream does with it from now on comes after all that it did with it before.
            pool.was_taken_again(bytes);
            self.tell_allocated(address, &stream.stream);
            return Ok(address);
        }
        let address = self.with_freed_memory(size, || match &pool.sharing {
            Sharing::Exports(_, shared) => pool.alloc_shared(self.memory(), &self.frees, shared, size),
            Sharing::No | Sharing::Imports(..) => pool.alloc(self.memory(), size),
        })?;
        self.tell_allocated(address, &stream.stream);
        Ok(address)
    }

    /// Tells the observer of an allocation for what comes next in a stream, and fills it if that is asked for.
    fn tell_allocated(&self, address: u64, stream: &Stream) {
        let asked = self.is_observed() || self.options().fresh_memory.is_some();
        if let Some(info) = asked.then(|| self.allocated_at(address)).flatten() {
            self.fill_fresh_in(info, stream);
            self.tell(|| HostEvent::Alloc { info, place: Some(stream.last()) });
            let observer = stream.observer().cloned();
            stream.run(Weight::Light, move || observer.iter().for_each(|it| it.host(&HostEvent::Ready(info))));
        }
    }

    /// Allocates `size` bytes; where there is no memory, once more after pools have given up what they keep, and after streams have got to
    /// what they are to free. No lock may be held: the streams may be at work for long.
    ///
    /// # Errors
    /// Those of `alloc`, if nothing is left to wait for; the sticky error.
    pub(crate) fn with_freed_memory<T>(
        &self,
        size: u64,
        mut alloc: impl FnMut() -> DriverResult<T>,
    ) -> DriverResult<T> {
        loop {
            match alloc() {
                Err(error) if error.code() == ErrorCode::OutOfMemory && size <= self.memory().capacity() => {
                    if self.release_kept() {
                        continue;
                    }
                    let Some(stream) = self.frees.stream() else { return Err(error) };
                    stream.synchronize();
                    self.state_of(&stream).check()?;
                }
                answer => return answer,
            }
        }
    }

    /// Gives back all that pools keep; false if that is nothing.
    pub(crate) fn release_kept(&self) -> bool {
        self.pools.release_all(self.memory())
    }

    /// The allocation that starts at `address`, if `caller` may free it: device and managed memory, and what pools have.
    pub(in crate::memory) fn freeable_at(&self, address: u64, caller: &str) -> DriverResult<AllocationInfo> {
        self.frees.check(address)?;
        if self.graph_memory.has(address) {
            let reason = format!("no launch of a graph has allocated the memory at {address:#x}, or it has been freed");
            return Err(DriverError::invalid_value(reason));
        }
        let info = self.allocation_at(address, caller, |kind| {
            matches!(kind, MemoryKind::Device | MemoryKind::Managed | MemoryKind::PinnedHost)
        })?;
        if info.kind == MemoryKind::PinnedHost && pool_of(&info).is_null() {
            return Err(DriverError::invalid_value(format!("{caller} is not for {info}")));
        }
        if is_opened(&info) {
            return Err(DriverError::invalid_value(format!(
                "{caller} is not for {info}: cuIpcCloseMemHandle closes it"
            )));
        }
        Ok(info)
    }

    /// Frees memory that may be of a pool now.
    pub(in crate::memory) fn give_back_to_pool(&self, info: &AllocationInfo) -> DriverResult {
        self.tell(|| HostEvent::Free { info: *info, place: None });
        if free_to_pool(self.memory(), &self.pools, &self.frees, info.base) {
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
        if let Some(capture) = self.capture_of(&stream)? {
            if address == 0 {
                return Ok(());
            }
            return self.capture(&capture, &stream, self.free_work(address)?).map(|_| ());
        }
        self.refuse_unsafe_in_capture()?;
        if address == 0 {
            return Ok(());
        }
        if let Some(memory) = self.graph_memory.free(address) {
            // Work that the stream holds already may use it.
            stream.stream.run(Weight::Light, move || drop(memory));
            return Ok(());
        }
        let info = self.freeable_at(address, "cuMemFreeAsync")?;
        if info.kind == MemoryKind::Managed && pool_of(&info).is_null() {
            let reason = format!("cuMemFreeAsync is for what pools have, and device memory, not for {info}");
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        if stream.stream.is_idle() {
            return self.give_back_to_pool(&info);
        }
        let number = self.frees.enter(self.memory(), &info, &stream.stream)?;
        self.pools.was_freed(&info);
        let (memory, pools, frees) = (Arc::clone(self.memory()), Arc::clone(&self.pools), Arc::clone(&self.frees));
        let pending = PendingFree { memory, pools, frees, number };
        // Dropped where the stream drops its work too: after a fault, and at the end of its context.
        let observer = stream.stream.observer().cloned();
        stream.stream.run(Weight::Light, move || {
            observer.iter().for_each(|it| it.host(&HostEvent::Gone(info)));
            drop(pending);
        });
        self.tell(|| HostEvent::Free { info, place: Some(stream.stream.last()) });
        Ok(())
    }
}
