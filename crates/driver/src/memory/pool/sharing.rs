//! Pools whose memory other processes can use: an exporter allocates, importers map what it tells them of.
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::memory::{ALIGNMENT, AllocSpec, AllocationInfo, MAP_GRANULARITY, Memory, SharedMemory};
use warploom_exec::observe::HostEvent;

use super::pending::Frees;
use super::{MemoryPool, PoolPlace};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::memory::HandleTypes;
use crate::memory::virtual_memory::{location_in, not_shared, note_of};
use crate::{DriverError, DriverResult, ErrorCode};

/// How a pool's memory is shared.
pub(super) enum Sharing {
    /// It is this process's alone.
    No,
    /// Others may import it, as which kinds of handles.
    Exports(HandleTypes, Arc<SharedMemory>),
    /// Another pool's, perhaps of another process.
    Imports(Arc<SharedMemory>, Mutex<Imported>),
}

/// Address and number of what was imported, by what the exporter says of it.
type Imported = HashMap<SharedAllocation, (u64, u64)>;

/// What an exporter says of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedAllocation {
    /// Which memory file of the machine it is in.
    pub file: u64,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
}

/// What tells the export of a pool from other memory, behind the place in the note.
const OF_A_POOL: u8 = b'p';

impl Sharing {
    /// As a new pool for a place is asked for.
    pub(super) fn new(memory: &Memory, types: HandleTypes) -> DriverResult<Sharing> {
        if types == HandleTypes::NONE {
            return Ok(Sharing::No);
        }
        let shared = memory.create_shared().map_err(|error| {
            DriverError::new(ErrorCode::OperatingSystem, format!("the host has no memory file for the pool: {error}"))
        })?;
        Ok(Sharing::Exports(types, Arc::new(shared)))
    }
}

impl MemoryPool {
    /// As which kinds of handles it can be exported.
    pub fn handle_types(&self) -> HandleTypes {
        match self.sharing {
            Sharing::Exports(types, _) => types,
            Sharing::No | Sharing::Imports(..) => HandleTypes::NONE,
        }
    }

    /// Fails for a pool that was imported: nothing is allocated from it, and it has no attributes.
    ///
    /// # Errors
    /// `InvalidValue`, as recorded.
    pub fn require_own(&self) -> DriverResult {
        match self.sharing {
            Sharing::Imports(..) => Err(DriverError::invalid_value("the pool was imported from another process")),
            Sharing::No | Sharing::Exports(..) => Ok(()),
        }
    }

    /// Allocates memory that can be exported.
    pub(super) fn alloc_shared(
        &self,
        memory: &Memory,
        frees: &Frees,
        shared: &Arc<SharedMemory>,
        size: u64,
    ) -> DriverResult<u64> {
        let full = |held: u64| {
            let reason = format!("{size} bytes are not free in a pool that holds {held} bytes");
            DriverError::new(ErrorCode::OutOfMemory, reason)
        };
        let mut store = self.store.lock();
        let held = store.figures.reserved;
        let bytes = size.checked_next_multiple_of(MAP_GRANULARITY).ok_or_else(|| full(held))?;
        if held.saturating_add(bytes) > self.most() {
            return Err(full(held));
        }
        let spec = AllocSpec { size: bytes, ..self.spec(size) };
        let info = memory.alloc_shared(shared, spec).map_err(|_| full(held))?;
        store.take(bytes);
        store.enter(size);
        drop(store);
        frees.divide(&info, (info.base, size, info.id), Arc::clone(shared));
        Ok(info.base)
    }

    /// Counts shared memory less that is gone as a whole.
    pub(super) fn gave_back(&self, bytes: u64) {
        let figures = &mut self.store.lock().figures;
        figures.reserved = figures.reserved.saturating_sub(bytes);
    }
}

impl Driver {
    /// A descriptor through which a pool can be imported (`cuMemPoolExportToShareableHandle`).
    ///
    /// # Errors
    /// `InvalidValue` for unknown pools, and those that were not created for that; `OperatingSystem` if no descriptor is left.
    pub fn export_pool(&self, handle: Handle, types: HandleTypes) -> DriverResult<OwnedFd> {
        let pool = self.pool(handle)?;
        match &pool.sharing {
            Sharing::Exports(known, shared) if *known == types => {
                let mut note = note_of(pool.place.location).to_vec();
                note.push(OF_A_POOL);
                self.memory().export_shared(shared, &note).map_err(not_shared)
            }
            _ => {
                let reason = format!("the pool {handle:?} was not created with handle type {:#x}", types.bits());
                Err(DriverError::invalid_value(reason))
            }
        }
    }

    /// The pool that a descriptor stands for (`cuMemPoolImportFromShareableHandle`).
    ///
    /// # Errors
    /// As recorded: `NotSupported` for other memory that was exported, `Unknown` for what nobody exported; `InvalidDevice` for a pool of a device that this
    /// process does not have.
    pub fn import_pool(&self, descriptor: OwnedFd) -> DriverResult<Handle> {
        let unknown = |what| DriverError::new(ErrorCode::Unknown, what);
        let (shared, note) = self.memory().import_shared(descriptor).map_err(|error| unknown(error.to_string()))?;
        let Some(place) = note.strip_suffix(&[OF_A_POOL]) else {
            return Err(DriverError::new(ErrorCode::NotSupported, "the descriptor is that of memory, not of a pool"));
        };
        let location = location_in(place).ok_or_else(|| unknown("the descriptor says no place".to_owned()))?;
        let place = PoolPlace { managed: false, location };
        self.check_pool_place(place)?;
        let sharing = Sharing::Imports(Arc::new(shared), Mutex::default());
        Ok(self.pools.make(place, 0, false, sharing)?.handle)
    }

    /// What to tell an importer of an allocation (`cuMemPoolExportPointer`).
    ///
    /// # Errors
    /// `InvalidValue` for an address at which no memory of a pool begins that can be exported.
    pub fn export_pool_pointer(&self, address: u64) -> DriverResult<SharedAllocation> {
        let refuse =
            || DriverError::about(ErrorCode::InvalidValue, address, "is no memory of a pool that can be exported");
        self.frees.check(address)?;
        let info = self.allocated_at(address).filter(|info| info.base == address).ok_or_else(refuse)?;
        let pool = self.pool(super::pool_of(&info)).map_err(|_| refuse())?;
        let Sharing::Exports(_, shared) = &pool.sharing else { return Err(refuse()) };
        let offset = shared.offset_of(address).ok_or_else(refuse)?;
        self.tell(|| HostEvent::Outside(info));
        Ok(SharedAllocation { file: shared.file(), offset, size: info.size })
    }

    /// The address of memory that an exporter told of (`cuMemPoolImportPointer`): the same until it is freed.
    ///
    /// # Errors
    /// `InvalidValue` for a pool that was not imported, and for what is not of it; `OutOfMemory`.
    pub fn import_pool_pointer(&self, handle: Handle, told: SharedAllocation) -> DriverResult<u64> {
        let pool = self.pool(handle)?;
        let Sharing::Imports(shared, known) = &pool.sharing else {
            return Err(DriverError::invalid_value(format!("the pool {handle:?} was not imported")));
        };
        let refuse = || DriverError::invalid_value("what is to be imported is no allocation of the pool");
        let mut known = known.lock();
        let lives = |(address, id): &(u64, u64)| {
            self.frees.check(*address).is_ok() && self.allocated_at(*address).is_some_and(|info| info.id == *id)
        };
        if let Some((address, _)) = known.get(&told).filter(|it| lives(it)) {
            return Ok(*address);
        }
        let SharedAllocation { file, offset, size } = told;
        let end = offset.checked_add(size).and_then(|end| end.checked_next_multiple_of(MAP_GRANULARITY));
        let end = end
            .filter(|_| file == shared.file() && size != 0 && offset.is_multiple_of(ALIGNMENT))
            .ok_or_else(refuse)?;
        let first = offset / MAP_GRANULARITY * MAP_GRANULARITY;
        if end > shared.size() {
            return Err(refuse());
        }
        let spec = AllocSpec { size: end - first, origin: "cuMemPoolImportPointer", ..pool.spec(size) };
        let info: AllocationInfo = self
            .memory()
            .import_part(shared, first, spec)
            .map_err(|error| DriverError::new(ErrorCode::OutOfMemory, error.to_string()))?;
        let address = info.base + (offset - first);
        self.frees.divide(&info, (address, size, info.id), Arc::clone(shared));
        known.insert(told, (address, info.id));
        Ok(address)
    }
}
