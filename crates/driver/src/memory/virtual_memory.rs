//! Virtual memory management: address ranges, physical memory behind handles, and mappings of one in the other.
//!
//! None of this belongs to a context.
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use warploom_exec::fault::AccessKind;
use warploom_exec::memory::{
    AllocError, AllocSpec, AllocationInfo, ExportError, MAP_GRANULARITY, MapAccess, MapError, Memory, MemoryKind,
    Physical,
};
use warploom_exec::observe::{HostEvent, Observer};

use super::pool::{as_value, pool_of};
use super::{Location, location_kind};
use crate::driver::Driver;
use crate::handle::Handle;
use crate::{DriverError, DriverResult, ErrorCode};

/// Physical memory that a program created.
pub struct PhysicalMemory {
    name: Mutex<Name>,
    backing: Backing,
    location: Location,
    types: HandleTypes,
    /// It was mapped before.
    mapped: AtomicBool,
}

/// What the memory is for.
enum Backing {
    /// To be mapped at addresses.
    Addresses(Arc<Physical>),
    /// To be mapped into arrays (`CU_MEM_CREATE_USAGE_TILE_POOL`).
    Tiles(Arc<TilePool>),
}

/// Memory that is mapped into arrays. It has an address, of which no program is told.
pub(crate) struct TilePool {
    memory: Arc<Memory>,
    observer: Option<Arc<dyn Observer>>,
    info: AllocationInfo,
}

impl TilePool {
    /// Where it starts.
    pub(crate) fn address(&self) -> u64 {
        self.info.base
    }

    /// Its bytes.
    pub(crate) fn size(&self) -> u64 {
        self.info.size
    }
}

impl Drop for TilePool {
    fn drop(&mut self) {
        // Nobody else knows the address.
        let _ = self.memory.free(self.info.base);
        if let Some(observer) = &self.observer {
            observer.host(&HostEvent::Free { info: self.info, place: None });
        }
    }
}

/// In the tag of mapped memory, beside the bits of the kinds of handles as which it can be exported.
const MAPPED: u64 = 8;

/// The kinds of handles of mapped memory; None for other memory.
pub(super) fn mapped_types(info: &AllocationInfo) -> Option<HandleTypes> {
    let mapped = info.kind == MemoryKind::Device && info.tag & MAPPED != 0;
    mapped.then_some(HandleTypes((info.tag & 0x7) as u32))
}

/// The kinds of handles as which physical memory can be exported (`CUmemAllocationHandleType`, a set of bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleTypes(u32);

impl HandleTypes {
    /// For this process only.
    pub const NONE: HandleTypes = HandleTypes(0);
    /// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
    pub const POSIX_FILE_DESCRIPTOR: HandleTypes = HandleTypes(1);
    /// `CU_MEM_HANDLE_TYPE_WIN32`, `CU_MEM_HANDLE_TYPE_WIN32_KMT` and `CU_MEM_HANDLE_TYPE_FABRIC`.
    const ELSEWHERE: u32 = 2 | 4 | 8;

    /// What memory may have of these: file descriptors, and `CU_MEM_HANDLE_TYPE_FABRIC`.
    pub(crate) const OF_MEMORY: u32 = 1 | 8;

    /// From the C value, for physical memory in a place.
    ///
    /// # Errors
    /// As recorded, `InvalidValue` for what is no kind of memory, and memory of the host in no certain node; `NotSupported` for what needs a fabric.
    pub fn of_memory(bits: u32, location: Location) -> DriverResult<HandleTypes> {
        if bits & !HandleTypes::OF_MEMORY != 0 || bits != 0 && location.kind == location_kind::HOST {
            return Err(DriverError::invalid_value(format!("{bits:#x} names no kinds of handles of memory there")));
        }
        HandleTypes::new(bits)
    }

    /// From the C value.
    ///
    /// # Errors
    /// `NotSupported` for what belongs to another system or needs a fabric, as device attributes say; `InvalidValue` for what is no kind.
    pub fn new(bits: u32) -> DriverResult<HandleTypes> {
        let known = HandleTypes::POSIX_FILE_DESCRIPTOR.0 | HandleTypes::ELSEWHERE;
        if bits & !known != 0 {
            return Err(DriverError::invalid_value(format!("{bits:#x} names no kinds of handles")));
        }
        if bits & HandleTypes::ELSEWHERE != 0 {
            let reason = format!("handles of type {bits:#x}: only file descriptors are shared on this system");
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        Ok(HandleTypes(bits))
    }

    /// The C value.
    pub fn bits(self) -> u32 {
        self.0
    }
}

/// The handle, for as long as somebody counts on it.
struct Name {
    handle: Handle,
    references: u32,
}

impl PhysicalMemory {
    /// Where it was asked for.
    pub fn location(&self) -> Location {
        self.location
    }

    /// The kinds of handles as which it can be exported.
    pub fn handle_types(&self) -> HandleTypes {
        self.types
    }

    /// The memory, for addresses.
    fn physical(&self) -> DriverResult<&Arc<Physical>> {
        match &self.backing {
            Backing::Addresses(physical) => Ok(physical),
            Backing::Tiles(_) => Err(DriverError::invalid_value("the memory was created for the tiles of arrays")),
        }
    }

    /// The memory, for arrays of a device.
    ///
    /// # Errors
    /// `InvalidValue` for memory that was not created for them, or is another device's.
    pub(crate) fn tile_pool(&self, device: u32) -> DriverResult<Arc<TilePool>> {
        match &self.backing {
            Backing::Tiles(pool) if pool.info.device == device => Ok(Arc::clone(pool)),
            Backing::Tiles(_) => Err(DriverError::invalid_value("the memory is another device's")),
            Backing::Addresses(_) => {
                Err(DriverError::invalid_value("the memory was not created with CU_MEM_CREATE_USAGE_TILE_POOL"))
            }
        }
    }
}

/// What an export says to its importer: where the memory was asked for.
pub(super) fn note_of(location: Location) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (location.kind.to_le_bytes(), location.id.to_le_bytes());
    [a, b, c, d, e, f, g, h]
}

pub(super) fn location_in(note: &[u8]) -> Option<Location> {
    let (kind, id) = note.split_at_checked(4)?;
    Some(Location { kind: u32::from_le_bytes(kind.try_into().ok()?), id: i32::from_le_bytes(id.try_into().ok()?) })
}

pub(super) fn not_shared(error: ExportError) -> DriverError {
    let code = match error {
        ExportError::Host(_) => ErrorCode::OperatingSystem,
        ExportError::NotExported => ErrorCode::InvalidValue,
    };
    DriverError::new(code, error.to_string())
}

/// What is mapped, by first address.
#[derive(Default)]
pub(crate) struct Mappings(Mutex<BTreeMap<u64, (u64, Arc<PhysicalMemory>)>>);

fn refused(what: &str, address: u64, size: u64, error: MapError) -> DriverError {
    let code = if error == MapError::OutOfMemory { ErrorCode::OutOfMemory } else { ErrorCode::InvalidValue };
    DriverError::new(code, format!("{size} bytes at {address:#x} cannot be {what}: {error}"))
}

impl Driver {
    /// Sizes and addresses of virtual memory are multiples of this, in bytes.
    pub fn map_granularity(&self) -> u64 {
        MAP_GRANULARITY
    }

    /// Reserves addresses (`cuMemAddressReserve`).
    ///
    /// # Errors
    /// `InvalidValue` for a size or an alignment that cannot be, `OutOfMemory`.
    pub fn reserve_addresses(&self, size: u64, alignment: u64) -> DriverResult<u64> {
        self.memory().reserve(size, alignment).map_err(|error| refused("reserved", 0, size, error))
    }

    /// Gives a reservation back (`cuMemAddressFree`).
    ///
    /// # Errors
    /// `InvalidValue` if this is not a whole reservation in which nothing is mapped.
    pub fn release_addresses(&self, address: u64, size: u64) -> DriverResult {
        self.memory().release(address, size).map_err(|error| refused("given back", address, size, error))
    }

    /// Whether there can be physical memory of a size in a place, which is asked first of all.
    ///
    /// # Errors
    /// As recorded, `InvalidValue` for a size that is no multiple of the granularity and places without such memory; `InvalidDevice`.
    pub fn check_new_physical(&self, size: u64, location: Location) -> DriverResult {
        if size == 0 || !size.is_multiple_of(MAP_GRANULARITY) {
            return Err(DriverError::invalid_value(format!("{size} bytes are not a multiple of {MAP_GRANULARITY}")));
        }
        match location.kind {
            location_kind::DEVICE => self.device(location.id).map(drop),
            location_kind::HOST => Ok(()),
            location_kind::HOST_NUMA => self.check_host_node(location.id),
            _ => Err(DriverError::invalid_value(format!("no physical memory is in {location:?}"))),
        }
    }

    /// Creates physical memory near a place (`cuMemCreate`).
    ///
    /// # Errors
    /// `InvalidValue` for a size that is not a multiple of the granularity, `InvalidDevice`, `OutOfMemory`.
    pub fn create_physical(&self, size: u64, location: Location, types: HandleTypes) -> DriverResult<Handle> {
        self.check_location(location)?;
        // What is the host's is counted as the first device's.
        let device = u32::try_from(location.ordinal()).unwrap_or(0);
        let physical = self.memory().create_physical(device, size).map_err(|error| match error {
            AllocError::Empty => {
                DriverError::invalid_value(format!("{size} bytes are not a multiple of {MAP_GRANULARITY}"))
            }
            AllocError::OutOfMemory => DriverError::new(ErrorCode::OutOfMemory, format!("{size} bytes are not free")),
        })?;
        self.name_physical(Backing::Addresses(physical), location, types)
    }

    /// Creates memory to be mapped into arrays (`cuMemCreate` with `CU_MEM_CREATE_USAGE_TILE_POOL`).
    ///
    /// # Errors
    /// `InvalidValue` as [`Driver::create_physical`], for memory of the host, and for memory that could be exported, as recorded; `InvalidDevice`,
    /// `OutOfMemory`.
    pub fn create_tile_pool(&self, size: u64, location: Location, types: HandleTypes) -> DriverResult<Handle> {
        self.check_location(location)?;
        if types != HandleTypes::NONE || location.kind != location_kind::DEVICE || !size.is_multiple_of(MAP_GRANULARITY)
        {
            let reason = format!("{size} bytes for tiles of {location:?}, exported as {:#x}", types.0);
            return Err(DriverError::invalid_value(reason));
        }
        let device = u32::try_from(location.ordinal()).unwrap_or(0);
        let spec = AllocSpec { size, kind: MemoryKind::Array, device, owner: 0, tag: 0, origin: "cuMemCreate" };
        let info = self.memory().alloc(spec).map_err(|error| match error {
            AllocError::Empty => DriverError::invalid_value("0 bytes for tiles"),
            AllocError::OutOfMemory => DriverError::new(ErrorCode::OutOfMemory, format!("{size} bytes are not free")),
        })?;
        self.fill_fresh(&info);
        self.tell(|| HostEvent::Alloc { info, place: None });
        let pool = TilePool { memory: Arc::clone(self.memory()), observer: self.observer().cloned(), info };
        self.name_physical(Backing::Tiles(Arc::new(pool)), location, types)
    }

    fn name_physical(&self, backing: Backing, location: Location, types: HandleTypes) -> DriverResult<Handle> {
        let name = |handle| Mutex::new(Name { handle, references: 1 });
        let mapped = AtomicBool::new(false);
        let memory =
            self.physical.insert(|handle| PhysicalMemory { name: name(handle), backing, location, types, mapped })?;
        let handle = memory.name.lock().handle;
        Ok(handle)
    }

    /// A descriptor through which other processes can import physical memory (`cuMemExportToShareableHandle`). The memory lives as long as one of its
    /// descriptors is open anywhere.
    ///
    /// # Errors
    /// `InvalidValue` for memory that was not created to be shared so, and unknown handles; `OperatingSystem` if no descriptor is left.
    pub fn export_physical(&self, handle: Handle, types: HandleTypes) -> DriverResult<OwnedFd> {
        let memory = self.physical.lookup(handle)?;
        if types != HandleTypes::POSIX_FILE_DESCRIPTOR || memory.types != types {
            let reason =
                format!("memory created with handle types {:#x} has none of type {:#x}", memory.types.0, types.0);
            return Err(DriverError::invalid_value(reason));
        }
        self.memory().export(memory.physical()?, &note_of(memory.location)).map_err(not_shared)
    }

    /// A handle of the physical memory that a descriptor stands for, which this or another process has exported (`cuMemImportFromShareableHandle`).
    ///
    /// # Errors
    /// `NotSupported` for a memory pool, as recorded; `InvalidValue` for anything else; `InvalidDevice` for memory of a device that this process does not have.
    pub fn import_physical(&self, descriptor: OwnedFd) -> DriverResult<Handle> {
        let (physical, note) = self.memory().import(descriptor).map_err(not_shared)?;
        let location = location_in(&note).ok_or_else(|| {
            DriverError::new(ErrorCode::NotSupported, "the descriptor is that of a memory pool, not of physical memory")
        })?;
        self.check_location(location)?;
        self.name_physical(Backing::Addresses(physical), location, HandleTypes::POSIX_FILE_DESCRIPTOR)
    }

    /// Physical memory by its handle.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles.
    pub fn physical_memory(&self, handle: Handle) -> DriverResult<Arc<PhysicalMemory>> {
        self.physical.lookup(handle)
    }

    /// Counts one user of a handle less; the last ends it. What is mapped stays until it is unmapped.
    ///
    /// # Errors
    /// As [`Driver::physical_memory`].
    pub fn release_physical(&self, handle: Handle) -> DriverResult {
        let memory = self.physical.lookup(handle)?;
        let mut name = memory.name.lock();
        name.references = name.references.saturating_sub(1);
        if name.references == 0 {
            self.physical.remove(handle)?;
        }
        Ok(())
    }

    /// The handle of what is mapped at an address, with one user more (`cuMemRetainAllocationHandle`).
    ///
    /// # Errors
    /// `InvalidValue` if nothing is mapped there.
    pub fn retain_mapped(&self, address: u64) -> DriverResult<Handle> {
        let mappings = self.mappings.0.lock();
        let mapping = mappings.range(..=address).next_back().filter(|(base, (size, _))| address - **base < *size);
        let (_, (_, memory)) =
            mapping.ok_or_else(|| DriverError::invalid_value(format!("nothing is mapped at {address:#x}")))?;
        let mut name = memory.name.lock();
        if name.references == 0 {
            // Nobody had a handle any more: it gets a new one.
            name.handle = self.physical.reserve()?;
            self.physical.restore(name.handle, Arc::clone(memory));
        }
        name.references += 1;
        Ok(name.handle)
    }

    /// Maps physical memory into a reservation (`cuMemMap`). It is not accessible yet.
    ///
    /// # Errors
    /// `InvalidValue` for ranges that are not granular, not reserved or mapped already, and for unknown handles.
    pub fn map(&self, address: u64, size: u64, offset: u64, handle: Handle) -> DriverResult {
        let memory = self.physical.lookup(handle)?;
        if size == 0 {
            return Err(DriverError::invalid_value("0 bytes to map"));
        }
        let whole = memory.physical()?.size();
        if offset != 0 || size != whole {
            let reason = format!("{size} bytes from byte {offset} on; memory of {whole} is mapped whole, as recorded");
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        let device = u32::try_from(memory.location.ordinal()).unwrap_or(0);
        let tag = MAPPED | u64::from(memory.types.bits());
        let spec = AllocSpec { size, kind: MemoryKind::Device, device, owner: 0, tag, origin: "cuMemMap" };
        let mut mappings = self.mappings.0.lock();
        self.memory()
            .map(address, memory.physical()?, offset, spec)
            .map_err(|error| refused("mapped", address, size, error))?;
        let again = memory.mapped.swap(true, Ordering::Relaxed);
        // What is there at two addresses an observer cannot follow by either. Nobody else has all mappings looked through.
        if again && self.observer().is_some() {
            for (base, _) in mappings.iter().filter(|(_, (_, other))| Arc::ptr_eq(other, &memory)) {
                if let Some(info) = self.memory().lookup(*base) {
                    self.tell(|| HostEvent::Outside(info));
                }
            }
        }
        let fresh = !again && memory.types == HandleTypes::NONE;
        let silent = memory.location.kind != location_kind::DEVICE;
        mappings.insert(address, (size, memory));
        drop(mappings);
        if let Some(info) = self.memory().lookup(address) {
            self.tell(|| HostEvent::Mapped { info, fresh, silent });
        }
        Ok(())
    }

    /// Fails for what a memory pool has mapped.
    fn refuse_memory_of_pools(&self, address: u64) -> DriverResult {
        match self.memory().lookup(address).filter(|info| !pool_of(info).is_null() && mapped_types(info).is_none()) {
            Some(_) => Err(DriverError::about(ErrorCode::InvalidValue, address, "is memory of a pool")),
            None => Ok(()),
        }
    }

    /// Takes mappings out (`cuMemUnmap`); a range in which nothing is mapped is fine, as recorded.
    ///
    /// # Errors
    /// `InvalidValue` for parts of mappings, and outside reservations.
    pub fn unmap(&self, address: u64, size: u64) -> DriverResult {
        self.refuse_memory_of_pools(address)?;
        let mut mappings = self.mappings.0.lock();
        let bases = mappings.range(address..address.saturating_add(size)).map(|(base, _)| *base);
        let infos: Vec<AllocationInfo> = bases.filter_map(|base| self.memory().lookup(base)).collect();
        if let Err(error) = self.memory().unmap(address, size) {
            // The host may have refused in the middle.
            mappings.retain(|base, _| self.memory().access_at(*base).is_some());
            return Err(refused("unmapped", address, size, error));
        }
        let inside: Vec<u64> = mappings.range(address..address + size).map(|(base, _)| *base).collect();
        let gone: Vec<_> = inside.iter().map(|base| mappings.remove(base)).collect();
        drop(mappings);
        // The last references to the memory may be among them.
        drop(gone);
        infos.into_iter().for_each(|info| self.tell(|| HostEvent::Unmapped(info)));
        Ok(())
    }

    /// Sets what kernels may do with mappings (`cuMemSetAccess`): nothing, read, or read and write.
    ///
    /// # Errors
    /// `InvalidValue` if not all of the range is mapped or part of a mapping is not in it; `InvalidDevice`.
    pub fn set_access(&self, address: u64, size: u64, location: Location, access: MapAccess) -> DriverResult {
        self.check_location(location).map_err(as_value)?;
        self.refuse_memory_of_pools(address)?;
        if location.kind != location_kind::DEVICE && self.is_of_device_at(address) {
            return match access {
                _ if !self.are_mapped(address, size) => Err(DriverError::invalid_value(format!(
                    "{size} bytes at {address:#x} are not what was mapped there"
                ))),
                MapAccess::None => Ok(()),
                MapAccess::Read | MapAccess::ReadWrite => {
                    let reason = "the host has no access to mapped memory of devices";
                    Err(DriverError::new(ErrorCode::NotSupported, reason))
                }
            };
        }
        self.memory()
            .set_access(address, size, access)
            .map_err(|error| refused("made accessible", address, size, error))
    }

    /// Whether a range is whole mappings, one behind the other.
    fn are_mapped(&self, address: u64, size: u64) -> bool {
        let (mappings, end) = (self.mappings.0.lock(), address.saturating_add(size));
        let mut next = address;
        while let Some((mapped, _)) = mappings.get(&next).filter(|_| next < end) {
            next = next.saturating_add(*mapped);
        }
        size != 0 && next == end
    }

    /// Whether memory of a device is mapped at an address.
    fn is_of_device_at(&self, address: u64) -> bool {
        let mappings = self.mappings.0.lock();
        let found = mappings.range(..=address).next_back();
        found.is_some_and(|(base, (size, memory))| {
            address - base < *size && memory.location.kind == location_kind::DEVICE
        })
    }

    /// What kernels may do at an address (`cuMemGetAccess`).
    ///
    /// # Errors
    /// `InvalidValue` if nothing is mapped there; `InvalidDevice`.
    pub fn access(&self, address: u64, location: Location) -> DriverResult<MapAccess> {
        if location.kind == location_kind::NONE {
            return Err(DriverError::new(ErrorCode::InvalidDevice, "no device and not the host"));
        }
        self.check_location(location)?;
        // As recorded, nodes of the host have none to memory of devices.
        let none = location.kind == location_kind::HOST_NUMA && self.is_of_device_at(address);
        let access = self.memory().access_at(address).map(|access| if none { MapAccess::None } else { access });
        access.ok_or_else(|| DriverError::invalid_value(format!("nothing is mapped at {address:#x}")))
    }

    /// Fails unless a range is whole pages of the host in one allocation of device memory, or in mappings that touch; what the host can access is none, as recorded.
    ///
    /// # Errors
    /// `InvalidValue`.
    pub fn check_pages(&self, address: u64, size: u64) -> DriverResult {
        const PAGE: u64 = 4096;
        if size == 0 || !size.is_multiple_of(PAGE) || !address.is_multiple_of(PAGE) {
            return Err(DriverError::invalid_value(format!("{size} bytes at {address:#x} are not whole pages")));
        }
        if self.pointer(address).is_some_and(|pointer| pointer.is_host_accessible()) {
            return Err(DriverError::invalid_value(format!("{address:#x} is not device memory")));
        }
        self.check_device(address, size, AccessKind::Load)
    }
}
