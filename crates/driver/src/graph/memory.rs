//! Memory that graphs allocate and free: an address that is known when the node is made, and memory that a program may use from
//! the launch of the allocation to that of the free.
//!
//! The memory is there as long as a graph, an instance, a launch that has not ended or the program may use it; what counts as
//! allocated follows the launches.
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use warploom_exec::memory::{AllocSpec, Memory, MemoryKind};

use super::capture::Capture;
use super::{AllocWork, Driver, DriverError, DriverResult, FreeWork, Work};
use crate::ErrorCode;
use crate::memory::ATTACH_GLOBAL;
use crate::stream::StreamRef;

/// What belongs to the graphs of a device, in bytes (`CUgraphMem_attribute`): as recorded, all that a launch ever allocated,
/// until it is trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphMemoryUse {
    /// Now.
    pub bytes: u64,
    /// The most that ever belonged to graphs, since the mark for used memory was last reset.
    pub used_high: u64,
    /// The most that ever belonged to graphs, since the mark for reserved memory was last reset.
    pub reserved_high: u64,
    /// Of memory that is gone already, and only still counted.
    gone: u64,
}

/// The memory of all graphs.
#[derive(Default)]
pub struct GraphMemory {
    /// How many allocations there are.
    count: AtomicUsize,
    /// How many of them the program may free.
    live: AtomicUsize,
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    /// All allocations, by address; with a reference of their own while they are the program's.
    known: BTreeMap<u64, (Weak<GraphAllocation>, Option<Arc<GraphAllocation>>)>,
    /// By device.
    figures: BTreeMap<u32, GraphMemoryUse>,
}

/// Memory that nodes of a graph allocate, one after the other.
pub(super) struct GraphAllocation {
    memory: Arc<Memory>,
    registry: Arc<GraphMemory>,
    address: u64,
    size: u64,
    ordinal: u32,
    managed: bool,
    /// Whether it counts as memory of graphs.
    counted: AtomicBool,
}

impl GraphAllocation {
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// Whether a node that comes later can have it: it is large enough, and not much too large.
    pub(super) fn fits(&self, wanted: &AllocWork) -> bool {
        (self.ordinal, self.managed) == (wanted.ordinal, wanted.managed)
            && (wanted.size..=wanted.size.saturating_mul(2)).contains(&self.size)
    }
}

impl Drop for GraphAllocation {
    fn drop(&mut self) {
        let mut state = self.registry.state.lock();
        state.known.remove(&self.address);
        self.registry.count.fetch_sub(1, Ordering::AcqRel);
        if self.counted.load(Ordering::Acquire) {
            state.figures.entry(self.ordinal).or_default().gone += self.size;
        }
        drop(state);
        // It is ours alone: nobody else frees it.
        let _ = self.memory.free(self.address);
    }
}

impl GraphMemory {
    fn is_live(&self, allocation: &GraphAllocation) -> bool {
        let state = self.state.lock();
        state.known.get(&allocation.address).is_some_and(|(_, live)| live.is_some())
    }

    /// Makes an allocation the program's.
    fn begin(&self, allocation: &Arc<GraphAllocation>) {
        let mut state = self.state.lock();
        let MemoryState { known, figures } = &mut *state;
        let figures = figures.entry(allocation.ordinal).or_default();
        if !allocation.counted.swap(true, Ordering::AcqRel) {
            figures.bytes += allocation.size;
            figures.used_high = figures.used_high.max(figures.bytes);
            figures.reserved_high = figures.reserved_high.max(figures.bytes);
        }
        if let Some((_, live @ None)) = known.get_mut(&allocation.address) {
            *live = Some(Arc::clone(allocation));
            self.live.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Takes the allocation at `address` from the program. What comes back may be the last reference, whose end takes the lock.
    fn finish(&self, address: u64) -> Option<Arc<GraphAllocation>> {
        let mut state = self.state.lock();
        let allocation = state.known.get_mut(&address)?.1.take()?;
        self.live.fetch_sub(1, Ordering::AcqRel);
        Some(allocation)
    }

    /// Whether the allocation at `address` belongs to graphs.
    #[inline]
    pub(crate) fn has(&self, address: u64) -> bool {
        self.count.load(Ordering::Acquire) != 0 && self.state.lock().known.contains_key(&address)
    }

    /// Whether a graph has allocated memory at `address` that the program may free.
    #[inline]
    pub(crate) fn is_freeable(&self, address: u64) -> bool {
        self.live.load(Ordering::Acquire) != 0
            && self.state.lock().known.get(&address).is_some_and(|(_, live)| live.is_some())
    }

    /// Frees the allocation at `address` for the program, if a graph has allocated it: the memory is there as long as what comes
    /// back.
    #[inline]
    pub(crate) fn free(&self, address: u64) -> Option<impl Send + 'static> {
        if self.live.load(Ordering::Acquire) == 0 { None } else { self.finish(address) }
    }

    fn find(&self, address: u64) -> Option<Arc<GraphAllocation>> {
        self.state.lock().known.get(&address)?.0.upgrade()
    }
}

/// What a node does to the memory of graphs.
enum Effect {
    Allocate(Arc<GraphAllocation>),
    Free(FreeWork),
}

/// What a launch does to the memory of graphs, in an order that keeps all dependencies.
pub(super) struct MemoryEffects(Vec<Effect>);

impl MemoryEffects {
    pub(super) fn of<'a>(works: impl Iterator<Item = &'a Work>) -> MemoryEffects {
        let effect = |work: &Work| match work {
            Work::Alloc(alloc) => alloc.allocation.get().cloned().map(Effect::Allocate),
            Work::Free(free) => Some(Effect::Free(free.clone())),
            _ => None,
        };
        MemoryEffects(works.filter_map(effect).collect())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fails if memory would be allocated twice, or freed that is not allocated. With `free_first`, what is left of the last
    /// launch is freed.
    pub(super) fn check(&self, driver: &Driver, free_first: bool) -> DriverResult {
        let memory = &driver.graph_memory;
        // What the launch has done to an address so far.
        let mut now: BTreeMap<u64, bool> = BTreeMap::new();
        for effect in &self.0 {
            let (address, live) = match effect {
                Effect::Allocate(allocation) => {
                    let address = allocation.address;
                    let live = now.get(&address).copied().unwrap_or_else(|| !free_first && memory.is_live(allocation));
                    if live {
                        let reason = format!("the memory at {address:#x} of the last launch has not been freed");
                        return Err(DriverError::invalid_value(reason));
                    }
                    (address, true)
                }
                Effect::Free(FreeWork { address, allocation }) => {
                    let before = || allocation.as_ref().is_some_and(|allocation| memory.is_live(allocation));
                    if !now.get(address).copied().unwrap_or_else(before) {
                        let reason = format!("the memory at {address:#x} is not allocated");
                        return Err(DriverError::invalid_value(reason));
                    }
                    (*address, false)
                }
            };
            now.insert(address, live);
        }
        Ok(())
    }

    /// Counts what the launch allocates and frees.
    pub(super) fn apply(&self, driver: &Driver) {
        for effect in &self.0 {
            match effect {
                Effect::Allocate(allocation) => driver.graph_memory.begin(allocation),
                // The node of the launch holds the memory too.
                Effect::Free(free) => drop(driver.graph_memory.finish(free.address)),
            }
        }
    }
}

impl Driver {
    /// The work of a node that allocates `size` bytes on a device. `given` is how the program described it.
    ///
    /// # Errors
    /// `InvalidValue` for 0 bytes, `InvalidDevice`.
    pub fn alloc_work(
        &self,
        ordinal: i32,
        size: u64,
        managed: bool,
        given: Box<dyn Any + Send + Sync>,
    ) -> DriverResult<Work> {
        let ordinal = self.device(ordinal)?.ordinal();
        if size == 0 {
            return Err(DriverError::invalid_value("an allocation of 0 bytes"));
        }
        Ok(Work::Alloc(Arc::new(AllocWork { allocation: OnceLock::new(), size, ordinal, managed, given })))
    }

    /// Memory of its own for a node that allocates.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn allocate_for_node(&self, wanted: &AllocWork) -> DriverResult<Arc<GraphAllocation>> {
        let AllocWork { size, ordinal, managed, .. } = *wanted;
        let (kind, tag) =
            if managed { (MemoryKind::Managed, u64::from(ATTACH_GLOBAL)) } else { (MemoryKind::Device, 0) };
        let spec = AllocSpec { size, kind, device: ordinal, owner: 0, tag, origin: "a graph" };
        let info = self.with_freed_memory(size, || {
            self.memory()
                .alloc(spec)
                .map_err(|_| DriverError::new(ErrorCode::OutOfMemory, format!("{size} bytes for a graph are not free")))
        })?;
        self.fill_fresh(&info);
        let allocation = Arc::new(GraphAllocation {
            memory: Arc::clone(self.memory()),
            registry: Arc::clone(&self.graph_memory),
            address: info.base,
            size,
            ordinal,
            managed,
            counted: AtomicBool::new(false),
        });
        self.graph_memory.state.lock().known.insert(info.base, (Arc::downgrade(&allocation), None));
        self.graph_memory.count.fetch_add(1, Ordering::AcqRel);
        Ok(allocation)
    }

    /// The work of a node that frees memory which a node of this or another graph allocates.
    ///
    /// # Errors
    /// `InvalidValue` for any other address.
    pub fn free_work(&self, address: u64) -> DriverResult<Work> {
        let allocation = self.graph_memory.find(address);
        if allocation.is_none() {
            return Err(DriverError::invalid_value(format!("no graph allocates memory at {address:#x}")));
        }
        Ok(Work::Free(FreeWork { address, allocation }))
    }

    /// Makes an allocation in a captured stream a node, and gives the address. As in a stream, 0 bytes are at address 0.
    pub(crate) fn capture_alloc(&self, capture: &Arc<Capture>, stream: &StreamRef, size: u64) -> DriverResult<u64> {
        if size == 0 {
            return Ok(0);
        }
        let ordinal = i32::try_from(stream.context.ordinal()).unwrap_or(-1);
        let work = self.alloc_work(ordinal, size, false, Box::new(()))?;
        self.capture(capture, stream, work.clone())?;
        Ok(if let Work::Alloc(alloc) = &work { alloc.address() } else { 0 })
    }

    /// What the graphs of a device have.
    ///
    /// # Errors
    /// Those of [`Driver::device`].
    pub fn graph_memory_use(&self, ordinal: i32) -> DriverResult<GraphMemoryUse> {
        let ordinal = self.device(ordinal)?.ordinal();
        Ok(self.graph_memory.state.lock().figures.get(&ordinal).copied().unwrap_or_default())
    }

    /// Starts the high-water marks of a device's graphs again: of what is allocated, or of what is reserved.
    ///
    /// # Errors
    /// Those of [`Driver::device`].
    pub fn reset_graph_memory_high(&self, ordinal: i32, reserved: bool) -> DriverResult {
        let ordinal = self.device(ordinal)?.ordinal();
        let mut state = self.graph_memory.state.lock();
        let figures = state.figures.entry(ordinal).or_default();
        if reserved {
            figures.reserved_high = figures.bytes;
        } else {
            figures.used_high = figures.bytes;
        }
        Ok(())
    }

    /// Gives up what the graphs of a device only keep for launches to come.
    ///
    /// # Errors
    /// Those of [`Driver::device`].
    pub fn trim_graph_memory(&self, ordinal: i32) -> DriverResult {
        let ordinal = self.device(ordinal)?.ordinal();
        let mut state = self.graph_memory.state.lock();
        let MemoryState { known, figures } = &mut *state;
        let figures = figures.entry(ordinal).or_default();
        // Their last references may be ours now: they go when the lock is open again.
        let idle: Vec<_> =
            known.values().filter(|(_, live)| live.is_none()).filter_map(|(it, _)| it.upgrade()).collect();
        for allocation in idle.iter().filter(|allocation| allocation.ordinal == ordinal) {
            if allocation.counted.swap(false, Ordering::AcqRel) {
                figures.bytes -= allocation.size;
            }
        }
        figures.bytes -= std::mem::take(&mut figures.gone);
        drop(state);
        Ok(())
    }
}
