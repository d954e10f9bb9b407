//! Which accesses are allowed, and what a refused one probably meant.

use super::table::Extent;
use super::window::CHUNK;
use super::{AllocationInfo, Bounds, Memory, MemoryKind, lock, registered};
use crate::fault::{AccessFault, AccessKind, Nearest, Refusal};

impl Memory {
    /// Checks that `len` bytes at `address` may be accessed: inside one allocation or registered range.
    pub fn check(&self, address: u64, len: u64, kind: AccessKind) -> Result<(), Box<AccessFault>> {
        self.extent(address, len, kind).map(|_| ())
    }

    /// A number that changes when memory is freed, mapped or registered: what was found out under the same one still holds.
    pub fn state(&self) -> u64 {
        self.table.epoch()
    }

    /// As [`Memory::check`], against the size that was asked for: the rule for copies and fills of the host.
    pub fn check_exact(&self, address: u64, len: u64, kind: AccessKind) -> Result<(), Box<AccessFault>> {
        let own = self.table.find(address);
        if let Some((extent, size)) = own
            && (extent.holds(address, len) && (kind == AccessKind::Load || !extent.read_only))
            && address + len <= extent.start + size
        {
            return Ok(());
        }
        let refuse = |refusal| self.refuse(address, len, kind, refusal);
        let extent = self.of_allocation(address, len, kind).map_err(refuse)?;
        match own {
            // What it fits is no more than the granules of the allocation.
            Some((own, _)) if own.start == extent.start && own.span == extent.span => Err(refuse(Refusal::Unmapped)),
            _ => Ok(()),
        }
    }

    /// The valid extent around an access, or why it is refused.
    pub(super) fn extent(&self, address: u64, len: u64, kind: AccessKind) -> Result<Extent, Box<AccessFault>> {
        self.of_allocation(address, len, kind).or_else(|refusal| {
            let page = if self.bounds == Bounds::Pages { self.page(address, len, kind) } else { None };
            page.ok_or_else(|| self.refuse(address, len, kind, refusal))
        })
    }

    /// That of the allocation, the mapping or the registered range that an access lies in.
    fn of_allocation(&self, address: u64, len: u64, kind: AccessKind) -> Result<Extent, Refusal> {
        let found = match self.table.find(address) {
            Some((extent, _)) => Some(extent),
            None => self.registered.extent(address, self.table.epoch()),
        };
        let found = match found {
            // It may go on in the next mapping.
            Some(extent) if !extent.holds(address, len) && extent.span.is_multiple_of(CHUNK) => {
                lock(&self.space.virtual_memory).extent(address, extent.epoch).or(found)
            }
            found => found,
        };
        match found.filter(|extent| extent.holds(address, len)) {
            Some(extent) if extent.read_only && kind != AccessKind::Load => Err(Refusal::ReadOnly),
            Some(extent) => Ok(extent),
            None => Err(Refusal::Unmapped),
        }
    }

    /// Whether hardware, which protects pages, would allow an access.
    pub fn is_on_page(&self, address: u64, len: u64, kind: AccessKind) -> bool {
        self.page(address, len, kind).is_some()
    }

    /// The pages around an access that have memory of the program.
    #[cold]
    fn page(&self, address: u64, len: u64, kind: AccessKind) -> Option<Extent> {
        let page = self.table.pages(address)?;
        let internal = match self.table.slab_at(address) {
            Some((class, ..)) => self.slabs.is_internal(class),
            None => {
                let before = lock(&self.space.runs).neighbours(page.start + page.span - 1).before;
                before.is_none_or(|info| info.kind == MemoryKind::Internal)
            }
        };
        (!internal && page.holds(address, len) && (kind == AccessKind::Load || !page.read_only)).then_some(page)
    }

    #[cold]
    pub(super) fn refuse(&self, address: u64, size: u64, kind: AccessKind, refusal: Refusal) -> Box<AccessFault> {
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
            None => lock(&self.space.runs).neighbours(address),
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
            // More accesses run off an end than off a start.
            (Some(Nearest::After(d, a)), Some(Nearest::Before(e, b))) => {
                Some(if d / 4 <= e { Nearest::After(d, a) } else { Nearest::Before(e, b) })
            }
            (one, other) => one.or(other).or_else(|| self.nearest_of_all(address)),
        }
    }

    /// The live allocation with the least distance, if it is near: around a slab its neighbours are others.
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
            let least = best.as_ref().map_or(NEAR + 1, |(least, _)| *least);
            if info.kind != MemoryKind::Internal && distance < least {
                best = Some((distance, nearest));
            }
        });
        best.map(|(_, nearest)| nearest)
    }

    /// Calls `visit` for every live allocation; allocation waits meanwhile, so `visit` must not allocate here.
    pub fn each_allocation(&self, mut visit: impl FnMut(AllocationInfo)) {
        self.slabs.each_live(&mut visit);
        lock(&self.space.runs).each_live(&mut visit);
    }
}

/// What lies around an address.
#[derive(Default)]
pub(super) struct Neighbours {
    pub(super) before: Option<AllocationInfo>,
    pub(super) after: Option<AllocationInfo>,
    pub(super) freed: Option<AllocationInfo>,
}

/// An allocation farther away than this is not named as the one that an access missed.
const NEAR: u64 = 64 << 20;
