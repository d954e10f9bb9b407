//! Device memory: one window of host addresses, its allocator, and checked access to it.
//!
//! Device, managed and pinned host memory, module variables and the kernels' heap are all allocated here, so that a
//! device pointer is a host address, copies are plain copies, and every access of a kernel can be held against the
//! table of allocations. Host pages that a program registers stand in a side table.
//!
//! - [`Memory`]: allocation, lookup, capacity.
//! - [`View`]: what executors read and write with. All of its functions are safe.
//! - `window`: the reservation. `table`: address to allocation without a lock. `slab`, `run`: small and large
//!   allocations, described in `allocation`. `access`: the rule. `virtual_memory`, `physical`: reserved addresses and what is mapped there. `shared`: what other
//!   processes can map of pools, `file_chunks`: of other allocations.
//!   `external`: memory files of the program. `registered`: host pages.
//!   `capacity`: how much there is.
//!
//! **Access rule.** An access is valid inside a live allocation, its size rounded up to [`GRANULE`]; everything else is
//! refused, unless the program is to run with the [bounds](Bounds) of hardware. Allocations never touch each other: at least one granule between any two belongs to nobody.
//!
//! **Freeing while a kernel runs.** A free makes the allocation invalid at once for every later check; an access that
//! was checked before it may still happen after it. It then meets memory that is mapped (see `window`): the kernel
//! reads or writes stale bytes, as on a GPU, and nothing crashes.

mod access;
mod allocation;
mod area;
mod atomics;
mod capacity;
mod checked;
mod external;
mod file_chunks;
mod gather;
mod kept;
mod lanes;
mod machine;
mod mapped_ranges;
mod near;
mod pages;
mod physical;
mod registered;
mod reserved;
mod run;
mod scalar;
mod shared;
mod slab;
mod space;
mod table;
mod valgrind;
mod view;
mod virtual_memory;
mod walk;
mod window;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock, RwLockReadGuard};

pub use allocation::{AllocError, AllocSpec, AllocationInfo, FreeError, MemoryKind};
pub use area::{Area, Readable};
pub use atomics::{AtomicOp, Order, claim};
pub use checked::{Run, RunMut};
pub use external::ExternalMemory;
pub(crate) use external::secure;
pub use file_chunks::FilePlace;
pub use gather::Gather;
pub use kept::Kept;
pub use lanes::{Lanes, Spread, spread};
pub use machine::{MachineExtent, find_extent};
pub use near::{Blocks, Gathers, Room, Rows, near_in_rows};
pub use physical::{ExportError, Physical};
pub use registered::{CallersMemory, HostRange, RegisterError};
pub use reserved::Reservation;
pub use scalar::{Atomic, Scalar};
pub(crate) use scalar::{racy_copy, racy_fill};
pub use shared::SharedMemory;
pub use view::{Recent, View};
pub use virtual_memory::{MAP_GRANULARITY, MapAccess, MapError};

use crate::address::MEMORY_WINDOW_SIZE;
use crate::interprocess::activity::{Activity, DeviceActivity};
use access::Neighbours;
use file_chunks::{FileChunks, FileRun};
use run::Zone;
use space::Space;
use table::Table;
use window::{CHUNK, Window};

/// Allocations start at multiples of this, and are accessible up to the next multiple of [`GRANULE`].
pub const ALIGNMENT: u64 = 512;
/// The unit to which an allocation's size is rounded up for the access rule, in bytes.
pub const GRANULE: u64 = 256;

/// How large the window and the memory are.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Addresses to reserve, in bytes.
    pub window: u64,
    /// Most bytes of each device that may be allocated at once.
    pub capacity: u64,
    /// What kernels may access.
    pub bounds: Bounds,
}

/// What kernels may access around an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// It, up to the next multiple of [`GRANULE`].
    #[default]
    Allocations,
    /// The pages that it, or others of its kind, are on, which are 2 MiB long, as hardware protects memory: what a program does beyond its allocations
    /// is its own business, and goes unnoticed.
    Pages,
}

impl Default for Options {
    /// 64 TiB of addresses, on valgrind four times the capacity; as capacity three quarters of the memory that the process may use (the host's, or its
    /// control group's limit).
    fn default() -> Options {
        let capacity = capacity::usable();
        // There the start would take minutes.
        let window = if valgrind::runs_here() { capacity.saturating_mul(4) } else { MEMORY_WINDOW_SIZE };
        Options { window, capacity, bounds: Bounds::default() }
    }
}

/// Freed memory that may keep its pages for the next allocation of the same size, in bytes and as a part of the capacity.
const CACHE: u64 = 256 << 20;
const CACHE_PART: u64 = 16;

/// The device memory of a process: one range of addresses, in which the memory of each device is counted by itself.
pub struct Memory {
    /// Tells memories apart, from 1.
    number: u64,
    table: Table,
    slabs: slab::Slabs,
    registered: registered::Registered,
    capacity: u64,
    bounds: Bounds,
    /// Most bytes of pinned host memory: what the host has.
    host_capacity: u64,
    /// By device.
    used: Box<[DeviceActivity]>,
    host_used: AtomicU64,
    room: capacity::Room,
    next_id: AtomicU64,
    space: Arc<Space>,
    crew: OnceLock<Box<dyn Crew>>,
}

/// The threads that work for a memory: they help with large copies, and pause while pages move.
pub trait Crew: Send + Sync {
    /// How many there are.
    fn threads(&self) -> u32;
    /// Runs a task on one of them, some time.
    fn spawn(&self, task: Box<dyn FnOnce() + Send>);
    /// Calls `action` while no kernel and no copy runs.
    fn pause(&self, action: &mut dyn FnMut());
}

/// Chunks that an allocation of `size` bytes takes, with the granule behind it that belongs to nobody; None for a size that no memory has.
///
/// An allocation of whole chunks takes one more, of which nothing is ever touched: it costs addresses, of which there are plenty, and no memory.
fn chunks_for(size: u64) -> Option<u64> {
    Some((size.checked_next_multiple_of(GRANULE)?.checked_add(GRANULE)?).div_ceil(CHUNK))
}

/// The part of the window for a kind of memory: a program may go on with its pinned memory in a forked process, as it may on hardware; device
/// memory is not there.
fn zone_of(kind: MemoryKind) -> Zone {
    if kind == MemoryKind::PinnedHost { Zone::Inherited } else { Zone::Own }
}

impl Memory {
    /// The memory of one device. Reserves the window: the size asked for, or half of it, and so on down to 1 GiB, where the host refuses more.
    /// Error: the host does not give any address range of a useful size.
    pub fn new(options: Options) -> std::io::Result<Memory> {
        Memory::of_devices(options, 1)
    }

    /// As [`Memory::new`], for so many devices of equal capacity.
    pub fn of_devices(options: Options, devices: u32) -> std::io::Result<Memory> {
        let activity = Activity::hidden(devices.max(1))?;
        let accounts = (0..devices.max(1)).map(|device| activity.device(device));
        Memory::counted(options, accounts.collect())
    }

    /// As [`Memory::new`], for devices of equal capacity, whose memory is counted in these accounts.
    pub fn counted(options: Options, used: Box<[DeviceActivity]>) -> std::io::Result<Memory> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let mut size = options.window;
        let (window, table) = loop {
            let reserved = Window::reserve(size).and_then(|window| {
                let table = Table::new(window.base(), window.chunks())?;
                Ok((window, table))
            });
            match reserved {
                Ok(reserved) => break reserved,
                Err(error) if size <= 1 << 30 => return Err(error),
                Err(_) => size /= 2,
            }
        };
        let capacity = options.capacity.min(window.size());
        let runs = run::Runs::new(window.chunks(), CACHE.min(capacity / CACHE_PART));
        Ok(Memory {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            table,
            slabs: slab::Slabs::new(),
            registered: registered::Registered::default(),
            capacity,
            bounds: options.bounds,
            host_capacity: capacity::host(),
            used,
            host_used: AtomicU64::new(0),
            room: capacity::Room::default(),
            next_id: AtomicU64::new(1),
            space: Arc::new(Space {
                runs: Mutex::new(runs),
                virtual_memory: Mutex::default(),
                still: RwLock::default(),
                file_chunks: FileChunks::default(),
                window,
            }),
            crew: OnceLock::new(),
        })
    }

    /// Says who works for it, once. Without a crew the caller of a copy does it alone, and no kernel may run while memory that is mapped is mapped again or exported.
    pub fn set_crew(&self, crew: Box<dyn Crew>) {
        assert!(self.crew.set(crew).is_ok(), "said once");
    }

    pub(crate) fn crew(&self) -> Option<&dyn Crew> {
        self.crew.get().map(|crew| &**crew)
    }

    /// Held by copies and fills of the host as long as they run: pages do not move meanwhile.
    pub(crate) fn keep_still(&self) -> RwLockReadGuard<'_, ()> {
        self.space.still.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Most bytes of each device that may be allocated at once.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes of device memory allocated now, of all devices, sizes rounded up to [`GRANULE`]. Pinned host memory is the host's.
    pub fn used(&self) -> u64 {
        self.used.iter().map(|used| used.load(Ordering::Relaxed)).sum()
    }

    /// As [`Memory::used`], of one device.
    pub fn used_of(&self, device: u32) -> u64 {
        self.device_account(device).load(Ordering::Relaxed)
    }

    /// Bytes of a device that can be allocated and used: what the capacity leaves, or what the machine leaves to this process where that is less,
    /// because other processes use the same memory. What is allocated but was never touched is taken off, as it may be touched any time.
    pub fn free_bytes(&self, device: u32) -> u64 {
        let left = self.capacity.saturating_sub(self.used_of(device));
        let used = self.used();
        self.room.get(used).map_or(left, |room| left.min(room.saturating_sub(used)))
    }

    /// Whether an address lies in the window, allocated or not.
    pub fn in_window(&self, address: u64) -> bool {
        address.wrapping_sub(self.space.window.base()) < self.space.window.size()
    }

    /// The window's address range: base and size.
    pub fn window(&self) -> (u64, u64) {
        (self.space.window.base(), self.space.window.size())
    }

    /// Allocates. The memory holds zeroes, or bytes that this process freed earlier.
    pub fn alloc(&self, spec: AllocSpec) -> Result<AllocationInfo, AllocError> {
        if spec.size == 0 {
            return Err(AllocError::Empty);
        }
        let rounded = spec.size.checked_next_multiple_of(GRANULE).ok_or(AllocError::OutOfMemory)?;
        self.charge(spec.kind, spec.device, rounded)?;
        let mut info = self.describe(spec, 0);
        let placed = match self.slabs.class_of(rounded, spec.kind) {
            Some(class) => self.slabs.alloc(class, &mut info, || self.new_slab_chunk(spec.kind), &self.table),
            None => self.alloc_run(&mut info),
        };
        match placed {
            Ok(()) => Ok(info),
            Err(error) => {
                self.discharge(spec.kind, spec.device, rounded);
                Err(error)
            }
        }
    }

    /// What memory of a kind is counted in, and the most that may be.
    fn account(&self, kind: MemoryKind, device: u32) -> (&AtomicU64, u64) {
        match kind {
            MemoryKind::PinnedHost => (&self.host_used, self.host_capacity),
            _ => (self.device_account(device), self.capacity),
        }
    }

    /// What the memory of a device is counted in.
    fn device_account(&self, device: u32) -> &DeviceActivity {
        let account = self.used.get(device as usize);
        account.unwrap_or_else(|| panic!("there is no device {device}, only {}", self.used.len()))
    }

    fn charge(&self, kind: MemoryKind, device: u32, bytes: u64) -> Result<(), AllocError> {
        let (used, most) = self.account(kind, device);
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= most);
        let charged = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        charged.map(|_| ()).map_err(|_| AllocError::OutOfMemory)
    }

    fn discharge(&self, kind: MemoryKind, device: u32, bytes: u64) {
        self.account(kind, device).0.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn describe(&self, spec: AllocSpec, base: u64) -> AllocationInfo {
        AllocationInfo {
            base,
            size: spec.size,
            kind: spec.kind,
            device: spec.device,
            owner: spec.owner,
            tag: spec.tag,
            origin: spec.origin,
            id: self.new_id(),
        }
    }

    /// A number that no allocation has, for a part of one.
    pub fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether an allocation that starts at `base` has chunks of its own.
    pub fn is_run(&self, base: u64) -> bool {
        self.in_window(base) && self.table.slab_at(base).is_none()
    }

    fn alloc_run(&self, info: &mut AllocationInfo) -> Result<(), AllocError> {
        let chunks = chunks_for(info.size).ok_or(AllocError::OutOfMemory)?;
        let zone = zone_of(info.kind);
        let mut runs = lock(&self.space.runs);
        let first = match runs.reuse(chunks, zone) {
            Some(first) => first,
            None => {
                let (first, new) = self.space.take_committed(&mut runs, chunks, zone)?;
                if new && chunks >= HUGE_FROM {
                    self.space.window.prefer_huge_pages(first, chunks);
                }
                first
            }
        };
        info.base = self.space.address_of(first);
        runs.record(*info, self.table.add_run(first, chunks, info.base, info.size, false));
        Ok(())
    }

    /// A committed chunk for small allocations: its number.
    fn new_slab_chunk(&self, kind: MemoryKind) -> Result<u64, AllocError> {
        let mut runs = lock(&self.space.runs);
        self.space.take_committed(&mut runs, 1, zone_of(kind)).map(|(first, _)| first)
    }

    /// Frees the allocation that starts at `base` and says what it was.
    pub fn free(&self, base: u64) -> Result<AllocationInfo, FreeError> {
        let Some(place) = self.table.slab_at(base) else { return self.free_run(base) };
        let discard = |start| self.space.empty_slab(self.space.window.chunk_of(start));
        let info = self.slabs.free(place, base, &self.table, discard)?;
        self.discharge(info.kind, info.device, info.size.next_multiple_of(GRANULE));
        Ok(info)
    }

    /// Ends the live run that starts at `base`: what it was, its chunks, and whether they may keep their pages.
    fn end_run(&self, base: u64) -> Result<(AllocationInfo, u64, u64, bool), FreeError> {
        let mut runs = lock(&self.space.runs);
        let (info, head) = runs.remove(base).ok_or_else(|| match runs.containing(base) {
            Some(inside) => FreeError::NotTheStart(inside),
            None => runs.freed_at(base).map_or(FreeError::NotAllocated, FreeError::AlreadyFreed),
        })?;
        let first = self.space.window.chunk_of(base);
        let in_file = self.space.file_chunks.chunks_from(first);
        let chunks = in_file.or_else(|| chunks_for(info.size)).expect("it was allocated");
        self.table.remove_run(first, chunks, head);
        runs.remember(info);
        let keep = in_file.is_none() && runs.keeps_pages(chunks);
        Ok((info, first, chunks, keep))
    }

    fn free_run(&self, base: u64) -> Result<AllocationInfo, FreeError> {
        let (info, first, chunks, keep) = self.end_run(base)?;
        let in_file = self.space.file_chunks.remove(first);
        if in_file.as_ref().is_none_or(FileRun::is_own) {
            self.discharge(info.kind, info.device, info.size.next_multiple_of(GRANULE));
        }
        if in_file.is_some() && self.space.window.map_own(self.space.address_of(first), chunks * CHUNK).is_err() {
            // The host refuses: others may still see these chunks, which nobody gets again.
            return Ok(info);
        }
        // Pages go while nobody waits for the lock: for many of them it takes a while.
        if !keep {
            self.space.window.discard(first, chunks);
        }
        lock(&self.space.runs).retire(first, chunks, keep);
        loop {
            let Some((first, chunks, resident)) = lock(&self.space.runs).overdue() else { return Ok(info) };
            if resident {
                self.space.window.discard(first, chunks);
            }
            lock(&self.space.runs).give(first, chunks);
        }
    }

    /// The live allocation that holds `address` (in its size as asked for).
    pub fn lookup(&self, address: u64) -> Option<AllocationInfo> {
        match self.table.slab_at(address) {
            Some(place) => self.slabs.live(place).filter(|info| address - info.base < info.size),
            None if self.in_window(address) => {
                let run = lock(&self.space.runs).containing(address);
                run.or_else(|| lock(&self.space.virtual_memory).containing(address))
            }
            None => None,
        }
    }

    /// Lets kernels access host pages (`cuMemHostRegister`).
    pub fn register_host(&self, range: HostRange, read_only: bool) -> Result<(), RegisterError> {
        if self.in_window(range.address()) {
            return Err(RegisterError::InWindow);
        }
        self.registered.add(range, read_only)
    }

    /// Takes registered pages back, by their first address.
    pub fn unregister_host(&self, address: u64) -> Result<HostRange, RegisterError> {
        let range = self.registered.remove(address)?;
        self.table.forget();
        Ok(range)
    }

    /// The registered range that holds `address`, and whether it is read-only.
    pub fn registered_at(&self, address: u64) -> Option<(HostRange, bool)> {
        self.registered.at(address)
    }

    /// A view for one executor thread.
    pub fn view(&self) -> View<'_> {
        self.view_with(None)
    }

    /// A view that begins with what an earlier one has met ([`View::into_recent`]), of this memory or another.
    #[inline]
    pub fn view_with(&self, recent: Option<Box<Recent>>) -> View<'_> {
        View::new(self, recent)
    }
}

/// Allocations of so many chunks get huge pages: what the last one wastes is little of them.
const HUGE_FROM: u64 = 4;

/// Locks a mutex whose data stays valid whatever happens inside: a panic elsewhere does not spread.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
