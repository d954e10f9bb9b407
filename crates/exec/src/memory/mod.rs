//! Device memory: one window of host addresses, its allocator, and checked access to it.
//!
//! Device, managed and pinned host memory, module variables and the kernels' heap are all allocated here, so that a
//! device pointer is a host address, copies are plain copies, and every access of a kernel can be held against the
//! table of allocations. Host pages that a program registers stand in a side table.
//!
//! - [`Memory`]: allocation, lookup, capacity.
//! - [`View`]: what executors read and write with. All of its functions are safe.
//! - `window`: the reservation. `table`: address to allocation without a lock. `slab`, `run`: small and large
//!   allocations. `registered`: host pages. `capacity`: how much there is.
//!
//! **Access rule.** An access is valid inside a live allocation, its size rounded up to [`GRANULE`]; everything else is
//! refused. Allocations never touch each other: at least one granule between any two belongs to nobody.
//!
//! **Freeing while a kernel runs.** A free makes the allocation invalid at once for every later check; an access that
//! was checked before it may still happen after it. It then meets memory that is mapped (see `window`): the kernel
//! reads or writes stale bytes, as on a GPU, and nothing crashes.

mod atomics;
mod capacity;
mod kept;
mod registered;
mod run;
mod scalar;
mod slab;
mod table;
mod view;
mod virtual_memory;
mod window;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub use atomics::{AtomicOp, Order};
pub use kept::Kept;
pub use registered::{HostRange, RegisterError};
pub use scalar::{Atomic, Scalar};
pub use view::{Lanes, Recent, Spread, View, spread};
pub use virtual_memory::{MAP_GRANULARITY, MapAccess, MapError, Physical};

use crate::fault::{AccessFault, AccessKind, Nearest, Refusal};
use table::{Extent, Table};
use window::{CHUNK, Window};

/// Allocations start at multiples of this, and are accessible up to the next multiple of [`GRANULE`].
pub const ALIGNMENT: u64 = 512;
/// The unit to which an allocation's size is rounded up for the access rule, in bytes.
pub const GRANULE: u64 = 256;

/// What kind of memory an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// `cuMemAlloc` and its like.
    Device,
    /// `cuMemAllocManaged` and `__managed__` variables.
    Managed,
    /// `cuMemHostAlloc`, `cuMemAllocHost`.
    PinnedHost,
    /// Module variables in `.global`.
    ModuleGlobal,
    /// Module variables in `.const`.
    ModuleConst,
    /// `malloc` in a kernel.
    DeviceHeap,
    /// Storage of arrays (textures and surfaces), not addressable by kernels.
    Array,
    /// What the driver itself needs in the window.
    Internal,
}

impl MemoryKind {
    fn describe(self) -> &'static str {
        match self {
            MemoryKind::Device => "device",
            MemoryKind::Managed => "managed",
            MemoryKind::PinnedHost => "pinned host",
            MemoryKind::ModuleGlobal => "global variable",
            MemoryKind::ModuleConst => "constant variable",
            MemoryKind::DeviceHeap => "device heap",
            MemoryKind::Array => "array",
            MemoryKind::Internal => "internal",
        }
    }
}

/// What to allocate, and what to remember about it.
#[derive(Clone, Copy, Debug)]
pub struct AllocSpec {
    /// Bytes; 0 is an error.
    pub size: u64,
    /// Kind of memory.
    pub kind: MemoryKind,
    /// Device ordinal.
    pub device: u32,
    /// The context that owns it, as the caller counts contexts.
    pub owner: u64,
    /// Anything else that the caller wants back from a lookup.
    pub tag: u64,
    /// Who allocated it, for reports: the entry point or "variable `name`" kind of origin.
    pub origin: &'static str,
}

/// A live or former allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationInfo {
    /// First address.
    pub base: u64,
    /// Bytes asked for.
    pub size: u64,
    /// Kind of memory.
    pub kind: MemoryKind,
    /// Device ordinal.
    pub device: u32,
    /// The owner given at allocation.
    pub owner: u64,
    /// The tag given at allocation.
    pub tag: u64,
    /// The origin given at allocation.
    pub origin: &'static str,
    /// A number that no other allocation of the process has (`CU_POINTER_ATTRIBUTE_BUFFER_ID`).
    pub id: u64,
}

impl fmt::Display for AllocationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AllocationInfo { base, size, kind, origin, .. } = self;
        write!(f, "the {size}-byte {} allocation at {base:#x}, made by {origin}", kind.describe())
    }
}

/// Why an allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocError {
    /// A size of 0.
    Empty,
    /// More than the capacity leaves.
    OutOfMemory,
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AllocError::Empty => "an allocation of 0 bytes",
            AllocError::OutOfMemory => "out of device memory",
        })
    }
}

impl std::error::Error for AllocError {}

/// Why a free failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeError {
    /// Nothing was ever allocated there.
    NotAllocated,
    /// The address lies inside this allocation, not at its start.
    NotTheStart(AllocationInfo),
    /// This allocation has been freed already.
    AlreadyFreed(AllocationInfo),
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeError::NotAllocated => f.write_str("nothing is allocated there"),
            FreeError::NotTheStart(a) => write!(f, "the address lies inside {a}, not at its start"),
            FreeError::AlreadyFreed(a) => write!(f, "already freed: {a}"),
        }
    }
}

impl std::error::Error for FreeError {}

/// How large the window and the memory are.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Addresses to reserve, in bytes.
    pub window: u64,
    /// Most bytes that may be allocated at once.
    pub capacity: u64,
}

impl Default for Options {
    /// 1 TiB of addresses, or four times the capacity; as capacity three quarters of the memory that the process may use (the host's, or its
    /// control group's limit), or what `WARPLOOM_MEMORY` says.
    fn default() -> Options {
        let capacity = capacity::usable();
        Options { window: capacity.saturating_mul(4).clamp(1 << 40, 1 << 45), capacity }
    }
}

/// The device memory of a process.
pub struct Memory {
    /// Tells memories apart, from 1.
    number: u64,
    table: Table,
    slabs: slab::Slabs,
    runs: Mutex<run::Runs>,
    registered: registered::Registered,
    /// Locked after `runs` where both are.
    virtual_memory: Mutex<virtual_memory::Virtual>,
    capacity: u64,
    used: Arc<AtomicU64>,
    next_id: AtomicU64,
    window: Window,
}

impl Memory {
    /// Reserves the window. Error: the host does not give any address range of a useful size.
    pub fn new(options: Options) -> std::io::Result<Memory> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let window = Window::reserve(options.window)?;
        Ok(Memory {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            table: Table::new(window.base(), window.chunks()),
            slabs: slab::Slabs::new(),
            runs: Mutex::new(run::Runs::new(window.chunks())),
            registered: registered::Registered::default(),
            virtual_memory: Mutex::default(),
            capacity: options.capacity.min(window.size()),
            used: Arc::new(AtomicU64::new(0)),
            next_id: AtomicU64::new(1),
            window,
        })
    }

    /// Most bytes that may be allocated at once.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes allocated now, sizes rounded up to [`GRANULE`].
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether an address lies in the window, allocated or not.
    pub fn in_window(&self, address: u64) -> bool {
        address.wrapping_sub(self.window.base()) < self.window.size()
    }

    /// The window's address range: base and size.
    pub fn window(&self) -> (u64, u64) {
        (self.window.base(), self.window.size())
    }

    /// Allocates. The memory holds zeroes, or bytes that this process freed earlier.
    pub fn alloc(&self, spec: AllocSpec) -> Result<AllocationInfo, AllocError> {
        if spec.size == 0 {
            return Err(AllocError::Empty);
        }
        let rounded = spec.size.checked_next_multiple_of(GRANULE).ok_or(AllocError::OutOfMemory)?;
        self.charge(rounded)?;
        let mut info = self.describe(spec, 0);
        let placed = match self.slabs.class_of(rounded, spec.kind) {
            Some(class) => self.slabs.alloc(class, &mut info, || self.new_slab_chunk(), &self.table),
            None => self.alloc_run(&mut info),
        };
        match placed {
            Ok(()) => Ok(info),
            Err(error) => {
                self.used.fetch_sub(rounded, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Counts bytes against the capacity.
    fn charge(&self, bytes: u64) -> Result<(), AllocError> {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.capacity);
        let charged = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        charged.map(|_| ()).map_err(|_| AllocError::OutOfMemory)
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
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn alloc_run(&self, info: &mut AllocationInfo) -> Result<(), AllocError> {
        let chunks = (info.size.next_multiple_of(GRANULE) + GRANULE).div_ceil(CHUNK);
        let mut runs = lock(&self.runs);
        let first = runs.take(chunks).ok_or(AllocError::OutOfMemory)?;
        let Ok(new) = self.window.commit(first, chunks) else {
            runs.give(first, chunks);
            return Err(AllocError::OutOfMemory);
        };
        if new && chunks >= HUGE_FROM {
            self.window.prefer_huge_pages(first, chunks);
        }
        info.base = self.window.base() + first * CHUNK;
        runs.record(*info, self.table.add_run(first, chunks, info.base, info.size, false));
        Ok(())
    }

    /// A committed chunk for small allocations: its number.
    fn new_slab_chunk(&self) -> Result<u64, AllocError> {
        let mut runs = lock(&self.runs);
        let first = runs.take(1).ok_or(AllocError::OutOfMemory)?;
        if self.window.commit(first, 1).is_err() {
            runs.give(first, 1);
            return Err(AllocError::OutOfMemory);
        }
        Ok(first)
    }

    /// Frees the allocation that starts at `base` and says what it was.
    pub fn free(&self, base: u64) -> Result<AllocationInfo, FreeError> {
        let info = match self.table.slab_at(base) {
            Some(place) => {
                let discard = |start| self.window.discard((start - self.window.base()) / CHUNK, 1);
                self.slabs.free(place, base, &self.table, discard)?
            }
            None => self.free_run(base)?,
        };
        self.used.fetch_sub(info.size.next_multiple_of(GRANULE), Ordering::Relaxed);
        Ok(info)
    }

    /// The live run that starts at `base`, no longer live.
    fn take_run(&self, runs: &mut run::Runs, base: u64) -> Result<(AllocationInfo, Arc<table::Head>), FreeError> {
        runs.remove(base).ok_or_else(|| match runs.containing(base) {
            Some(inside) => FreeError::NotTheStart(inside),
            None => runs.freed_at(base).map_or(FreeError::NotAllocated, FreeError::AlreadyFreed),
        })
    }

    fn free_run(&self, base: u64) -> Result<AllocationInfo, FreeError> {
        let mut runs = lock(&self.runs);
        let (info, head) = self.take_run(&mut runs, base)?;
        let first = (base - self.window.base()) / CHUNK;
        let chunks = (info.size.next_multiple_of(GRANULE) + GRANULE).div_ceil(CHUNK);
        self.table.remove_run(first, chunks, head);
        self.window.discard(first, chunks);
        runs.retire(info, first, chunks);
        Ok(info)
    }

    /// The live allocation that holds `address` (in its size as asked for).
    pub fn lookup(&self, address: u64) -> Option<AllocationInfo> {
        match self.table.slab_at(address) {
            Some(place) => self.slabs.live(place).filter(|info| address - info.base < info.size),
            None if self.in_window(address) => {
                let run = lock(&self.runs).containing(address);
                run.or_else(|| lock(&self.virtual_memory).containing(address))
            }
            None => None,
        }
    }

    /// Checks that `len` bytes at `address` may be accessed: inside one allocation or registered range.
    pub fn check(&self, address: u64, len: u64, kind: AccessKind) -> Result<(), Box<AccessFault>> {
        self.extent(address, len, kind).map(|_| ())
    }

    /// As [`Memory::check`], against the size that was asked for: the rule for copies and fills of the host.
    pub fn check_exact(&self, address: u64, len: u64, kind: AccessKind) -> Result<(), Box<AccessFault>> {
        let extent = self.extent(address, len, kind)?;
        let info = self.lookup(address).filter(|info| info.base == extent.start);
        // Only an allocation of the window has an extent that is longer than it, by less than a granule.
        let end = match info {
            Some(info) if info.size.next_multiple_of(GRANULE) == extent.span => info.base + info.size,
            _ => extent.start + extent.span,
        };
        if address + len > end { Err(self.refuse(address, len, kind, Refusal::Unmapped)) } else { Ok(()) }
    }

    /// The valid extent around an access, or why it is refused.
    fn extent(&self, address: u64, len: u64, kind: AccessKind) -> Result<Extent, Box<AccessFault>> {
        let found = match self.table.extent(address) {
            Some(extent) => Some(extent),
            None => self.registered.extent(address, self.table.epoch()),
        };
        let found = match found {
            // It may go on in the next mapping.
            Some(extent) if !extent.holds(address, len) && extent.span.is_multiple_of(CHUNK) => {
                lock(&self.virtual_memory).extent(address, extent.epoch).or(found)
            }
            found => found,
        };
        match found {
            Some(extent) if extent.holds(address, len) => {
                if extent.read_only && kind != AccessKind::Load {
                    return Err(self.refuse(address, len, kind, Refusal::ReadOnly));
                }
                Ok(extent)
            }
            _ => Err(self.refuse(address, len, kind, Refusal::Unmapped)),
        }
    }

    #[cold]
    fn refuse(&self, address: u64, size: u64, kind: AccessKind, refusal: Refusal) -> Box<AccessFault> {
        let nearest = match self.nearest(address) {
            Some(Nearest::Straddles(info)) if refusal != Refusal::Unmapped => {
                Some(Nearest::Inside(address - info.base, info))
            }
            nearest => nearest,
        };
        Box::new(AccessFault { address, size, kind, refusal, lane: 0, nearest })
    }

    /// The allocation that an address most probably means. For reports: takes locks.
    pub fn nearest(&self, address: u64) -> Option<Nearest> {
        if !self.in_window(address) {
            return registered::is_mapped(address, 1).then_some(Nearest::Host);
        }
        let Neighbours { before, after, freed } = match self.table.slab_at(address) {
            Some(place) => self.slabs.neighbours(place, address),
            None => lock(&self.runs).neighbours(address),
        };
        if let Some(freed) = freed {
            return Some(Nearest::Freed(address - freed.base, freed));
        }
        let after_end = before.and_then(|a| match address.checked_sub(a.base + a.size) {
            Some(distance) => (distance <= NEAR).then_some(Nearest::After(distance, a)),
            None => Some(Nearest::Straddles(a)),
        });
        let before_start = after.map(|a| (a.base - address, a)).filter(|(distance, _)| *distance <= NEAR);
        let before_start = before_start.map(|(distance, a)| Nearest::Before(distance, a));
        match (after_end, before_start) {
            (Some(Nearest::After(d, a)), Some(Nearest::Before(e, b))) => {
                Some(if d <= e { Nearest::After(d, a) } else { Nearest::Before(e, b) })
            }
            (Some(one), _) | (None, Some(one)) => Some(one),
            (None, None) => self.nearest_of_all(address),
        }
    }

    /// The live allocation with the least distance, however far that is.
    fn nearest_of_all(&self, address: u64) -> Option<Nearest> {
        let mut best: Option<(u64, Nearest)> = None;
        self.each_allocation(|info| {
            let end = info.base + info.size;
            let (distance, nearest) = if address >= end {
                (address - end, Nearest::After(address - end, info))
            } else {
                let before = info.base.saturating_sub(address);
                (before, Nearest::Before(before, info))
            };
            if info.kind != MemoryKind::Internal && best.as_ref().is_none_or(|(least, _)| distance < *least) {
                best = Some((distance, nearest));
            }
        });
        best.map(|(_, nearest)| nearest)
    }

    /// Calls `visit` for every live allocation; allocation waits meanwhile, so `visit` must not allocate here.
    pub fn each_allocation(&self, mut visit: impl FnMut(AllocationInfo)) {
        self.slabs.each_live(&mut visit);
        lock(&self.runs).each_live(&mut visit);
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
    pub fn view_with(&self, recent: Option<Box<Recent>>) -> View<'_> {
        View::new(self, recent)
    }
}

/// Allocations of so many chunks get huge pages: what the last one wastes is little of them.
const HUGE_FROM: u64 = 4;

/// What lies around an address.
#[derive(Default)]
struct Neighbours {
    before: Option<AllocationInfo>,
    after: Option<AllocationInfo>,
    freed: Option<AllocationInfo>,
}

/// An allocation farther away than this is not named as the one that an access missed.
const NEAR: u64 = 64 << 20;

/// Locks a mutex whose data stays valid whatever happens inside: a panic elsewhere does not spread.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
