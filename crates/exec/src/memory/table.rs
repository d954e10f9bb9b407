//! From an address to its allocation, without a lock.
//!
//! One entry for each chunk of the window points to a [`Head`]: a slab of equal slots, or a run of chunks that is one
//! allocation. Heads are never freed while the table lives, only reused; a reader notices reuse by the epoch, which
//! every free advances (a sequence lock: what was read counts only if the epoch has not moved meanwhile).

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex};

use super::lock;
use super::pages::ZeroPages;
use super::window::CHUNK;
use super::{FreeError, GRANULE};

/// `Head::class` of a run.
const RUN: u32 = u32::MAX;

/// What one or more chunks hold.
pub(super) struct Head {
    base: AtomicU64,
    stride: u64,
    /// Size of the allocation in each slot, 0 where there is none.
    sizes: Box<[AtomicU64]>,
    class: u32,
    number: u32,
    read_only: AtomicBool,
}

impl Head {
    pub(super) fn slots(&self) -> u32 {
        self.sizes.len() as u32
    }

    pub(super) fn slot_base(&self, slot: u32) -> u64 {
        self.base.load(Ordering::Relaxed) + u64::from(slot) * self.stride
    }

    pub(super) fn size(&self, slot: u32) -> u64 {
        self.sizes[slot as usize].load(Ordering::Acquire)
    }

    pub(super) fn publish(&self, slot: u32, size: u64) {
        self.sizes[slot as usize].store(size, Ordering::Release);
    }
}

/// A range that may be accessed, as of `epoch`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) span: u64,
    pub(super) epoch: u64,
    pub(super) read_only: bool,
}

impl Extent {
    pub(super) const NONE: Extent = Extent { start: 0, span: 0, epoch: 0, read_only: true };

    #[inline(always)]
    pub(super) fn holds(&self, address: u64, len: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset < self.span && len <= self.span - offset
    }
}

/// The chunk table.
pub(super) struct Table {
    base: u64,
    entries: ZeroPages<AtomicPtr<Head>>,
    epoch: AtomicU64,
    heads: Mutex<Heads>,
}

/// Owners of all heads that the entries can point to.
#[derive(Default)]
struct Heads {
    all: Vec<Arc<Head>>,
    spare_runs: Vec<Arc<Head>>,
}

impl Table {
    /// Error: the host has no addresses for the table.
    pub(super) fn new(base: u64, chunks: u64) -> std::io::Result<Table> {
        let entries = ZeroPages::new(chunks as usize)?;
        Ok(Table { base, entries, epoch: AtomicU64::new(1), heads: Mutex::default() })
    }

    #[inline(always)]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The word that holds it.
    pub(super) fn epoch_word(&self) -> &AtomicU64 {
        &self.epoch
    }

    /// Makes every extent found so far invalid.
    pub(super) fn forget(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    fn head(&self, address: u64) -> Option<&Head> {
        let entry = self.entries.get((address.wrapping_sub(self.base) / CHUNK) as usize)?;
        let head = entry.load(Ordering::Acquire);
        // SAFETY: entries hold null or a pointer from an `Arc` in `self.heads.all`, which only grows while `self` lives.
        unsafe { head.as_ref() }
    }

    /// What `read` finds in the head of the chunk of an address, and the epoch in which all of it held.
    #[inline(always)]
    fn read<R>(&self, address: u64, read: impl Fn(&Head) -> R) -> Option<(R, u64)> {
        loop {
            let epoch = self.epoch();
            let found = read(self.head(address)?);
            fence(Ordering::Acquire);
            if self.epoch.load(Ordering::Relaxed) == epoch {
                return Some((found, epoch));
            }
        }
    }

    /// The extent of the allocation in whose slot `address` lies, and its size as asked for; it need not hold the address.
    pub(super) fn find(&self, address: u64) -> Option<(Extent, u64)> {
        let ((start, size, read_only), epoch) = self.read(address, |head| {
            let base = head.base.load(Ordering::Acquire);
            let slot = address.wrapping_sub(base) / head.stride;
            let read_only = head.read_only.load(Ordering::Acquire);
            let size = head.sizes.get(slot as usize).map_or(0, |size| size.load(Ordering::Acquire));
            (base.wrapping_add(slot.wrapping_mul(head.stride)), size, read_only)
        })?;
        let extent = Extent { start, span: size.next_multiple_of(GRANULE), epoch, read_only };
        (size != 0).then_some((extent, size))
    }

    /// The chunks of the slab or the allocation around an address.
    pub(super) fn pages(&self, address: u64) -> Option<Extent> {
        let ((base, size, read_only), epoch) = self.read(address, |head| {
            let base = head.base.load(Ordering::Acquire);
            match head.class {
                RUN => (base, head.size(0), head.read_only.load(Ordering::Acquire)),
                _ => (base, CHUNK, false),
            }
        })?;
        let (start, end) = (base / CHUNK * CHUNK, (base + size).next_multiple_of(CHUNK));
        (size != 0).then_some(Extent { start, span: end - start, epoch, read_only })
    }

    /// Size class, number and slot of the slab slot in which `address` lies.
    pub(super) fn slab_at(&self, address: u64) -> Option<(u32, u32, u32)> {
        let head = self.head(address).filter(|head| head.class != RUN)?;
        let slot = (address - head.base.load(Ordering::Relaxed)) / head.stride;
        Some((head.class, head.number, slot as u32))
    }

    /// What a slab needs of the host's memory to be entered; None if that has no more.
    pub(super) fn sizes_of_slab(&self, stride: u64) -> Option<Box<[AtomicU64]>> {
        let slots = (CHUNK / stride) as usize;
        let mut sizes = Vec::new();
        sizes.try_reserve_exact(slots).ok()?;
        sizes.resize_with(slots, || AtomicU64::new(0));
        lock(&self.heads).all.try_reserve(1).ok()?;
        Some(sizes.into_boxed_slice())
    }

    /// Enters a slab: the chunk, the distance of its slots with [`Table::sizes_of_slab`], and where it stands in its class.
    pub(super) fn add_slab(
        &self,
        chunk: u64,
        (stride, sizes): (u64, Box<[AtomicU64]>),
        class: u32,
        number: u32,
    ) -> Arc<Head> {
        let head = Arc::new(Head {
            base: AtomicU64::new(self.base + chunk * CHUNK),
            stride,
            sizes,
            class,
            number,
            read_only: AtomicBool::new(false),
        });
        lock(&self.heads).all.push(head.clone());
        self.entries[chunk as usize].store(Arc::as_ptr(&head).cast_mut(), Ordering::Release);
        head
    }

    /// Enters a run of chunks as one allocation.
    pub(super) fn add_run(&self, first: u64, chunks: u64, base: u64, size: u64, read_only: bool) -> Arc<Head> {
        let mut heads = lock(&self.heads);
        let head = heads.spare_runs.pop().unwrap_or_else(|| {
            let head = Arc::new(Head {
                base: AtomicU64::new(0),
                stride: u64::MAX,
                sizes: Box::new([AtomicU64::new(0)]),
                class: RUN,
                number: 0,
                read_only: AtomicBool::new(false),
            });
            heads.all.push(head.clone());
            head
        });
        head.base.store(base, Ordering::Release);
        head.read_only.store(read_only, Ordering::Release);
        head.publish(0, size);
        for entry in &self.entries[first as usize..(first + chunks) as usize] {
            entry.store(Arc::as_ptr(&head).cast_mut(), Ordering::Release);
        }
        head
    }

    /// Takes a run out again.
    pub(super) fn remove_run(&self, first: u64, chunks: u64, head: Arc<Head>) {
        head.publish(0, 0);
        for entry in &self.entries[first as usize..(first + chunks) as usize] {
            entry.store(std::ptr::null_mut(), Ordering::Release);
        }
        self.forget();
        lock(&self.heads).spare_runs.push(head);
    }

    /// Takes the allocation out of a slab slot.
    pub(super) fn clear_slot(&self, head: &Head, slot: u32) {
        head.publish(slot, 0);
        self.forget();
    }
}

/// What a free of an address in a slab that is not the start of a live allocation answers.
pub(super) fn free_error(
    base: u64,
    live: Option<super::AllocationInfo>,
    last: Option<super::AllocationInfo>,
) -> FreeError {
    match (live, last) {
        (Some(live), _) if base - live.base < live.size => FreeError::NotTheStart(live),
        (None, Some(last)) if last.base == base => FreeError::AlreadyFreed(last),
        _ => FreeError::NotAllocated,
    }
}
