//! Allocation and freeing in the order of a stream.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use warploom_exec::memory::{AllocationInfo, Memory, MemoryKind};
use warploom_exec::stream::{Stream, Weight};

use super::{Location, PoolPlace, Pools, pool_of};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::memory::location_kind;
use crate::stream::StreamName;
use crate::{DriverError, DriverResult, ErrorCode};

/// Memory that streams will free when they get there: a program may not free it again. What comes later in the same stream may have
/// it at once.
#[derive(Default)]
pub(crate) struct Frees {
    count: AtomicUsize,
    state: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    /// By address.
    frees: HashMap<u64, Free>,
    /// Addresses that an allocation of the same stream from the same pool may have, by size.
    reusable: HashMap<Owner, BTreeMap<u64, Vec<u64>>>,
    next: u64,
}

/// One free that a stream has not got to.
struct Free {
    /// Which of all frees it is: the address may have been allocated and freed again since.
    number: u64,
    stream: Stream,
    owner: Owner,
    size: u64,
}

/// What allocations have to agree in for one to take the other's place while the stream still holds the free.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Owner {
    stream: usize,
    tag: u64,
}

impl Pending {
    /// Takes a free out of both tables.
    fn remove(&mut self, address: u64) -> Option<Free> {
        let free = self.frees.remove(&address)?;
        if let Some(sizes) = self.reusable.get_mut(&free.owner) {
            if let Some(places) = sizes.get_mut(&free.size) {
                places.retain(|place| *place != address);
                if places.is_empty() {
                    sizes.remove(&free.size);
                }
            }
            if sizes.is_empty() {
                self.reusable.remove(&free.owner);
            }
        }
        Some(free)
    }
}

impl Frees {
    /// Fails if a stream will free the allocation at `address`.
    #[inline]
    pub(in crate::memory) fn check(&self, address: u64) -> DriverResult {
        if self.count.load(Ordering::Acquire) != 0 && self.state.lock().frees.contains_key(&address) {
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

    /// Notes that `stream` will free an allocation; the number of the free.
    fn enter(&self, info: &AllocationInfo, stream: &Stream) -> DriverResult<u64> {
        let mut state = self.state.lock();
        if state.frees.contains_key(&info.base) {
            return Err(freed_already(info.base));
        }
        let number = state.next;
        state.next += 1;
        let (owner, size) = (Owner { stream: stream.identity(), tag: info.tag }, info.size);
        state.frees.insert(info.base, Free { number, stream: stream.clone(), owner, size });
        state.reusable.entry(owner).or_default().entry(size).or_default().push(info.base);
        self.count.fetch_add(1, Ordering::AcqRel);
        Ok(number)
    }

    /// Whether the stream that has got to a free shall do it: nothing took the memory since.
    fn leave(&self, address: u64, number: u64) -> bool {
        let mut state = self.state.lock();
        if state.frees.get(&address).is_none_or(|free| free.number != number) {
            return false;
        }
        let free = state.remove(address);
        self.count.fetch_sub(1, Ordering::AcqRel);
        drop(state);
        // A stream may go with it: not under the lock.
        drop(free);
        true
    }

    /// Address and size of memory of a pool that `stream` will free, for an allocation in the same stream that needs `size` bytes: the
    /// smallest that has them, if it is not more than twice as large. It is not freed then, and keeps its size, as work of the stream may
    /// still use all of it.
    fn take(&self, stream: &Stream, tag: u64, size: u64) -> Option<(u64, u64)> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let owner = Owner { stream: stream.identity(), tag };
        let mut state = self.state.lock();
        let mut fitting = state.reusable.get(&owner)?.range(size..=size.saturating_mul(2));
        let (known, address) = fitting.find_map(|(size, places)| Some((*size, *places.last()?)))?;
        let free = state.remove(address);
        self.count.fetch_sub(1, Ordering::AcqRel);
        drop(state);
        drop(free);
        Some((address, known))
    }

    /// A stream that will free something.
    fn stream(&self) -> Option<Stream> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.state.lock().frees.values().next().map(|free| free.stream.clone())
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
        if size == 0 {
            return Ok(0);
        }
        if let Some((address, known)) = self.frees.take(&stream.stream, pool.tag(), size) {
            // What the stream does with it from now on comes after all that it did with it before.
            pool.was_taken_again(known);
            return Ok(address);
        }
        self.with_freed_memory(size, || pool.alloc(self.memory(), size))
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
                    self.sticky.check()?;
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
        if let Some(memory) = self.graph_memory.free(address) {
            // Work that the stream holds already may use it.
            stream.stream.run(Weight::Light, move || drop(memory));
            return Ok(());
        }
        let info = self.freeable_at(address, "cuMemFreeAsync")?;
        if stream.stream.is_idle() {
            return self.give_back_to_pool(&info);
        }
        let number = self.frees.enter(&info, &stream.stream)?;
        self.pools.was_freed(&info);
        let (memory, pools, frees) = (Arc::clone(self.memory()), Arc::clone(&self.pools), Arc::clone(&self.frees));
        stream.stream.run(Weight::Light, move || {
            if frees.leave(address, number) {
                free_to_pool(&memory, &pools, address);
            }
        });
        Ok(())
    }
}
