//! Memory pools: where stream-ordered memory comes from, and what a program can ask and set of one.
//!
//! Memory is given back when the stream gets to its freeing. Before that only the same stream may have it again, whose work comes
//! later in any case; so every program that orders its accesses as documented finds its bytes. A large allocation keeps its pages until the next synchronisation, or for as long
//! as the release threshold allows; it may come back in parts.
mod order;
mod pending;
mod sharing;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use warploom_exec::memory::{
    AllocError, AllocSpec, AllocationInfo, Kept, MAP_GRANULARITY, MapAccess, Memory, MemoryKind,
};

use super::{HandleTypes, Location, host_flags, location_kind};
use crate::device::{Device, attribute};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};

pub(crate) use pending::Frees;
pub use sharing::SharedAllocation;
use sharing::Sharing;
pub(crate) use tables::Pools;

/// What a pool is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolPlace {
    /// Whether its memory is managed.
    pub managed: bool,
    /// Where its memory is.
    pub location: Location,
}

impl PoolPlace {
    /// Whether pools there can be exported.
    fn is_shared(self) -> bool {
        !self.managed && matches!(self.location.kind, location_kind::DEVICE | location_kind::HOST_NUMA)
    }
}

/// What is wrong with a place, where that it is no device counts as a wrong value.
pub(super) fn as_value(error: DriverError) -> DriverError {
    if error.code() == ErrorCode::InvalidDevice {
        DriverError::invalid_value(error.reason().into_owned())
    } else {
        error
    }
}

/// What a program may say of how memory is reused (`CU_MEMPOOL_ATTR_REUSE_*`), by its number in `CUmemPool_attribute`.
/// Memory is reused in its own stream, or after that has got to the freeing, which all of them allow: they are only kept.
pub const REUSE_ATTRIBUTES: std::ops::RangeInclusive<u32> = 1..=3;

/// What a pool holds, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Allocated, or kept for allocations to come.
    pub reserved: u64,
    /// The most that ever was reserved, since it was last reset.
    pub reserved_high: u64,
    /// Allocated.
    pub used: u64,
    /// The most that ever was allocated, since it was last reset.
    pub used_high: u64,
}

/// A high-water mark that can be reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HighMark {
    /// [`PoolUse::reserved_high`].
    Reserved,
    /// [`PoolUse::used_high`].
    Used,
}

/// One memory pool.
pub struct MemoryPool {
    handle: Handle,
    place: PoolPlace,
    is_default: bool,
    max_size: u64,
    sharing: Sharing,
    reuse: [AtomicBool; 3],
    release_threshold: AtomicU64,
    store: Mutex<Store>,
    /// Access of devices other than its own, by ordinal.
    access: Mutex<BTreeMap<i32, MapAccess>>,
}

#[derive(Default)]
struct Store {
    figures: PoolUse,
    kept: Vec<Kept>,
    /// The program has destroyed the pool: what comes back is not kept.
    closed: bool,
}

impl Store {
    fn take(&mut self, bytes: u64) {
        let figures = &mut self.figures;
        figures.reserved += bytes;
        figures.reserved_high = figures.reserved_high.max(figures.reserved);
    }

    fn enter(&mut self, bytes: u64) {
        let figures = &mut self.figures;
        figures.used += bytes;
        figures.used_high = figures.used_high.max(figures.used);
    }

    /// Gives kept memory back until no more than `bytes` are reserved, the memory that was kept longest first.
    fn shrink(&mut self, memory: &Memory, bytes: u64) {
        while self.figures.reserved > bytes && !self.kept.is_empty() {
            let kept = self.kept.remove(0);
            self.figures.reserved -= kept.size();
            memory.give_back_kept(kept);
        }
    }

    /// The smallest kept memory that holds `size` bytes.
    fn reuse(&mut self, size: u64) -> Option<Kept> {
        let fitting = self.kept.iter().enumerate().filter(|(_, kept)| kept.holds(size));
        let (index, _) = fitting.min_by_key(|(_, kept)| kept.size())?;
        Some(self.kept.remove(index))
    }

    /// Keeps memory, as one with what is kept already on either side of it.
    fn keep(&mut self, memory: &Memory, mut kept: Kept) {
        while let Some(index) = self.kept.iter().position(|other| other.touches(&kept)) {
            kept = memory.join_kept(kept, self.kept.remove(index));
        }
        self.kept.push(kept);
    }
}

impl MemoryPool {
    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// What it was made for.
    pub fn place(&self) -> PoolPlace {
        self.place
    }

    /// Most bytes that it may hold; 0 for as many as there are.
    pub fn max_size(&self) -> u64 {
        self.max_size
    }

    /// How many bytes it may hold: as recorded, a bound is one of whole pieces of memory.
    fn most(&self) -> u64 {
        match self.max_size {
            0 => u64::MAX,
            bound => bound.checked_next_multiple_of(MAP_GRANULARITY).unwrap_or(u64::MAX),
        }
    }

    /// One of [`REUSE_ATTRIBUTES`].
    ///
    /// # Errors
    /// `InvalidValue` for other attributes.
    pub fn reuse(&self, attribute: u32) -> DriverResult<bool> {
        Ok(self.reuse_flag(attribute)?.load(Ordering::Relaxed))
    }

    /// Sets one of [`REUSE_ATTRIBUTES`].
    ///
    /// # Errors
    /// `InvalidValue` for other attributes.
    pub fn set_reuse(&self, attribute: u32, allowed: bool) -> DriverResult {
        self.reuse_flag(attribute)?.store(allowed, Ordering::Relaxed);
        Ok(())
    }

    fn reuse_flag(&self, attribute: u32) -> DriverResult<&AtomicBool> {
        let index = attribute.checked_sub(*REUSE_ATTRIBUTES.start()).and_then(|index| usize::try_from(index).ok());
        index
            .and_then(|index| self.reuse.get(index))
            .ok_or_else(|| DriverError::invalid_value(format!("{attribute} says nothing of reuse")))
    }

    /// So many bytes stay reserved at synchronisations.
    pub fn release_threshold(&self) -> u64 {
        self.release_threshold.load(Ordering::Relaxed)
    }

    /// Sets how many bytes stay reserved at synchronisations.
    pub fn set_release_threshold(&self, bytes: u64) {
        self.release_threshold.store(bytes, Ordering::Relaxed);
    }

    /// What it holds.
    pub fn figures(&self) -> PoolUse {
        self.store.lock().figures
    }

    /// Sets a high-water mark to what holds now.
    pub fn reset_high(&self, mark: HighMark) {
        let figures = &mut self.store.lock().figures;
        match mark {
            HighMark::Reserved => figures.reserved_high = figures.reserved,
            HighMark::Used => figures.used_high = figures.used,
        }
    }

    /// What a device may do with its memory: its own device everything, others nothing until they are told to.
    pub fn access(&self, location: Location) -> MapAccess {
        if self.is_home(location) {
            return MapAccess::ReadWrite;
        }
        if location.kind != location_kind::DEVICE {
            let is_of_host = !self.place.managed && !self.is_of_device();
            return if is_of_host { MapAccess::ReadWrite } else { MapAccess::None };
        }
        self.access.lock().get(&location.id).copied().unwrap_or(MapAccess::None)
    }

    fn is_of_device(&self) -> bool {
        !self.place.managed && self.place.location.kind == location_kind::DEVICE
    }

    fn is_home(&self, location: Location) -> bool {
        !self.place.managed && self.place.location == location
    }

    fn kind(&self) -> MemoryKind {
        match self.place {
            PoolPlace { managed: true, .. } => MemoryKind::Managed,
            PoolPlace { location: Location { kind: location_kind::DEVICE, .. }, .. } => MemoryKind::Device,
            _ => MemoryKind::PinnedHost,
        }
    }

    /// What lookups of its memory give back: the handle, and in the bits that handles leave free the flags of the kind.
    fn tag(&self) -> u64 {
        let flags = match self.kind() {
            MemoryKind::Managed => super::ATTACH_GLOBAL,
            MemoryKind::PinnedHost => host_flags::PORTABLE | host_flags::DEVICE_MAP,
            _ => 0,
        };
        self.handle.raw() as u64 | u64::from(flags)
    }

    fn spec(&self, size: u64) -> AllocSpec {
        let device = u32::try_from(self.place.location.ordinal()).unwrap_or(0);
        // Memory of pools belongs to no context.
        AllocSpec { size, kind: self.kind(), device, owner: 0, tag: self.tag(), origin: "cuMemAllocAsync" }
    }

    /// Whether an allocation of `size` bytes may be a part of a larger one.
    fn is_divisible(&self, memory: &Memory, size: u64) -> bool {
        matches!(self.sharing, Sharing::Exports(..)) || memory.kept_size(&self.spec(size)).is_some()
    }

    fn alloc(&self, memory: &Memory, size: u64) -> DriverResult<u64> {
        let spec = self.spec(size);
        let full = |held: u64| {
            let reason = format!("{size} bytes are not free in a pool that holds {held} bytes");
            DriverError::new(ErrorCode::OutOfMemory, reason)
        };
        let mut store = self.store.lock();
        let least = memory.kept_size(&spec);
        if let Some(kept) = least.and_then(|_| store.reuse(size)) {
            let held = kept.size();
            match memory.alloc_kept(spec, kept) {
                Ok((info, rest)) => {
                    store.figures.reserved -= held;
                    store.take(least.unwrap_or(info.size) + rest.as_ref().map_or(0, Kept::size));
                    store.enter(info.size);
                    store.kept.extend(rest);
                    return Ok(info.base);
                }
                Err(kept) => store.kept.push(kept),
            }
        }
        let bytes = least.unwrap_or(size);
        let most = self.most();
        if store.figures.reserved.saturating_add(bytes) > most {
            store.shrink(memory, most.saturating_sub(bytes));
            if store.figures.reserved.saturating_add(bytes) > most {
                return Err(full(store.figures.reserved));
            }
        }
        let mut placed = memory.alloc(spec);
        if placed == Err(AllocError::OutOfMemory) && !store.kept.is_empty() {
            store.shrink(memory, 0);
            placed = memory.alloc(spec);
        }
        let info = placed.map_err(|_| full(store.figures.reserved))?;
        store.take(bytes);
        store.enter(size);
        Ok(info.base)
    }

    /// Counts memory that the program has freed, as recorded: before the stream gets there.
    fn was_freed(&self, info: &AllocationInfo) {
        let figures = &mut self.store.lock().figures;
        figures.used = figures.used.saturating_sub(info.size);
    }

    /// Counts memory that the program has allocated again before the stream got to its freeing.
    fn was_taken_again(&self, size: u64) {
        self.store.lock().enter(size);
    }

    /// Takes memory back that no stream uses any more, and keeps its pages.
    fn came_back(&self, memory: &Memory, info: &AllocationInfo, kept: Option<Kept>) {
        let mut store = self.store.lock();
        match kept {
            None => store.figures.reserved = store.figures.reserved.saturating_sub(info.size),
            Some(kept) if store.closed => memory.give_back_kept(kept),
            Some(kept) => store.keep(memory, kept),
        }
    }

    /// Gives kept memory back, as far as more than `least` bytes are reserved.
    fn trim(&self, memory: &Memory, least: u64) {
        self.store.lock().shrink(memory, least);
    }

    fn keeps_too_much(&self) -> bool {
        let store = self.store.lock();
        !store.kept.is_empty() && store.figures.reserved > self.release_threshold()
    }
}

/// The pool that memory came from; NULL for other memory.
pub(super) fn pool_of(info: &AllocationInfo) -> Handle {
    match info.kind {
        MemoryKind::Device | MemoryKind::Managed | MemoryKind::PinnedHost => {
            Handle::from_raw(usize::try_from(info.tag).unwrap_or(0) & !0xf)
        }
        _ => Handle::NULL,
    }
}

impl Driver {
    /// A pool by its handle.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles.
    pub fn pool(&self, handle: Handle) -> DriverResult<Arc<MemoryPool>> {
        self.pools.table.lookup(handle)
    }

    /// Creates a pool (`cuMemPoolCreate`) that holds at most `max_size` bytes, 0 for as many as there are, and can be exported as `types`, by their C value.
    ///
    /// # Errors
    /// As recorded: `InvalidValue` for a place that does not exist or has no such pools, one whose memory is not shared, a bound of managed memory, and types that pools do not have; then
    /// `NotSupported` for managed memory in another place than those of the host and devices, and for types that need a fabric.
    pub fn create_pool(&self, place: PoolPlace, max_size: u64, types: u32) -> DriverResult<Handle> {
        self.check_pool(place, max_size, types)?;
        if max_size.checked_next_multiple_of(MAP_GRANULARITY).is_none() {
            return Err(DriverError::new(ErrorCode::OutOfMemory, format!("a pool of {max_size} bytes")));
        }
        let sharing = Sharing::new(self.memory(), HandleTypes::new(types)?)?;
        Ok(self.pools.make(place, max_size, false, sharing)?.handle)
    }

    /// Whether there can be pools with these properties.
    ///
    /// # Errors
    /// As [`Driver::create_pool`].
    pub fn check_pool(&self, place: PoolPlace, max_size: u64, types: u32) -> DriverResult {
        if types & !HandleTypes::OF_MEMORY != 0 {
            return Err(DriverError::invalid_value(format!("{types:#x} names no kinds of handles of pools")));
        }
        if types != 0 && !place.is_shared() {
            let reason = "only memory of devices and of the host's nodes is shared with other processes";
            return Err(DriverError::invalid_value(reason));
        }
        if place.managed && max_size != 0 {
            return Err(DriverError::invalid_value("pools of managed memory have no bound"));
        }
        self.check_new_pool(place)
    }

    /// Where pools are made, as recorded; default ones are in more places.
    fn check_new_pool(&self, PoolPlace { managed, location }: PoolPlace) -> DriverResult {
        let exists = match location.kind {
            location_kind::DEVICE => self.device(location.id).is_ok(),
            location_kind::HOST => true,
            location_kind::HOST_NUMA => self.check_host_node(location.id).is_ok(),
            location_kind::NONE | location_kind::HOST_NUMA_CURRENT => managed,
            kind if managed => {
                let reason = format!("managed memory in a place of kind {kind}");
                return Err(DriverError::new(ErrorCode::NotSupported, reason));
            }
            _ => false,
        };
        if exists { Ok(()) } else { Err(DriverError::invalid_value(format!("no pools are made in {location:?}"))) }
    }

    /// Checks that memory of the host is said to lie in a node of this number (`CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID`).
    ///
    /// # Errors
    /// `InvalidValue`, as recorded.
    pub(super) fn check_host_node(&self, node: i32) -> DriverResult {
        let is_it = |device: &Device| u32::try_from(node) == Ok(device.limit(attribute::HOST_NUMA_ID));
        if self.devices().iter().any(is_it) {
            return Ok(());
        }
        Err(DriverError::invalid_value(format!("the host has no node {node}")))
    }

    /// Whether pools are in a place, as recorded.
    fn check_pool_place(&self, place: PoolPlace) -> DriverResult {
        // Managed memory need not prefer any place.
        if place.managed && place.location.kind == location_kind::NONE {
            Ok(())
        } else {
            self.check_named(place.location)
        }
    }

    /// Destroys a pool. Its memory stays until it is freed; where it was the current pool, the default one is again.
    ///
    /// # Errors
    /// `InvalidValue` for default pools, imported ones of which pointers are left, as recorded, and NULL, stale and foreign handles.
    pub fn destroy_pool(&self, handle: Handle) -> DriverResult {
        let pool = self.pool(handle)?;
        if pool.is_default {
            return Err(DriverError::invalid_value("a default memory pool cannot be destroyed"));
        }
        if pool.require_own().is_err() && self.frees.has_divided(pool.tag()) {
            return Err(DriverError::invalid_value("pointers that were imported with the pool have not been freed"));
        }
        let pool = self.pools.table.remove(handle)?;
        for slot in self.pools.slots.lock().iter_mut().filter(|slot| slot.current.handle == handle) {
            slot.current = Arc::clone(&slot.default);
        }
        let mut store = pool.store.lock();
        store.closed = true;
        store.shrink(self.memory(), 0);
        Ok(())
    }

    /// The pool that is always there for a place.
    ///
    /// # Errors
    /// `InvalidValue` for a place that does not exist.
    pub fn default_pool(&self, place: PoolPlace) -> DriverResult<Handle> {
        self.check_pool_place(place)?;
        self.pools.with_slot(place, |slot| slot.default.handle)
    }

    /// The pool that allocations in a place come from.
    ///
    /// # Errors
    /// As recorded, `InvalidValue` for a place that does not exist.
    pub fn current_pool(&self, place: PoolPlace) -> DriverResult<Handle> {
        self.check_pool_place(place)?;
        self.pools.with_slot(place, |slot| slot.current.handle)
    }

    /// Sets the pool that allocations in a place come from.
    ///
    /// # Errors
    /// As [`Driver::current_pool`]; `InvalidValue` for a pool that was made for another place.
    pub fn set_current_pool(&self, place: PoolPlace, handle: Handle) -> DriverResult {
        self.check_pool_place(place)?;
        let pool = self.pool(handle)?;
        pool.require_own()?;
        if pool.place != place {
            let reason = format!("the pool was made for {:?}, not for {place:?}", pool.place);
            return Err(DriverError::invalid_value(reason));
        }
        self.pools.with_slot(place, |slot| slot.current = pool)
    }

    /// Sets what a device may do with a pool's memory, None for what is no access. All devices share one memory, so it is only told back.
    ///
    /// # Errors
    /// All as recorded. `NotSupported` for reading alone, for places that are no device where the pool is a device's, and for taking access from the host where it is the host's; `InvalidDevice`
    /// for a device that is not there, and for taking access from the device that the pool was made for; `InvalidValue` for other places and what is no access.
    pub fn set_pool_access(&self, handle: Handle, location: Location, access: Option<MapAccess>) -> DriverResult {
        let pool = self.pool(handle)?;
        if access == Some(MapAccess::Read) {
            return Err(DriverError::new(ErrorCode::NotSupported, "pools cannot be read-only"));
        }
        if location.kind != location_kind::DEVICE && pool.is_of_device() {
            return Err(DriverError::new(ErrorCode::NotSupported, "the host's access to memory of devices is not set"));
        }
        match location.kind {
            location_kind::DEVICE => drop(self.device(location.id)?),
            location_kind::HOST | location_kind::HOST_NUMA => {}
            kind => return Err(DriverError::invalid_value(format!("access from a place of kind {kind}"))),
        }
        let access = access.ok_or_else(|| DriverError::invalid_value("flags are no access"))?;
        if location.kind != location_kind::DEVICE {
            if access == MapAccess::None && !pool.place.managed {
                return Err(DriverError::new(ErrorCode::NotSupported, "the host has full access to its own pools"));
            }
            return Ok(());
        }
        if pool.is_home(location) {
            if access == MapAccess::None {
                let reason = format!("device {} has full access to its own pool", location.id);
                return Err(DriverError::new(ErrorCode::InvalidDevice, reason));
            }
            return Ok(());
        }
        pool.access.lock().insert(location.id, access);
        Ok(())
    }

    /// What a device, or the host, may do with a pool's memory.
    ///
    /// # Errors
    /// As recorded, `InvalidValue` for unknown pools, places that do not exist and devices that are not there.
    pub fn pool_access(&self, handle: Handle, location: Location) -> DriverResult<MapAccess> {
        let pool = self.pool(handle)?;
        self.check_location(location).map_err(as_value)?;
        if location.kind == location_kind::HOST_NUMA_CURRENT {
            return Err(DriverError::invalid_value("the present node has no access of its own"));
        }
        Ok(pool.access(location))
    }

    /// Gives back what a pool keeps, as far as it holds more than `least` bytes.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles.
    pub fn trim_pool(&self, handle: Handle, least: u64) -> DriverResult {
        let pool = self.pool(handle)?;
        pool.require_own()?;
        pool.trim(self.memory(), least);
        Ok(())
    }

    /// Called where the program has waited for work: pools give back what is above their release threshold.
    #[inline]
    pub(crate) fn release_pools(&self) {
        if self.pools.keep.load(Ordering::Relaxed) {
            self.release_all_pools();
        }
    }

    #[cold]
    fn release_all_pools(&self) {
        self.pools.keep.store(false, Ordering::Relaxed);
        while let Some(pool) = self.pools.table.find(MemoryPool::keeps_too_much) {
            pool.trim(self.memory(), pool.release_threshold());
        }
    }
}
