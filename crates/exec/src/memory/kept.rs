//! Freed memory that keeps its pages for the next allocation: what memory pools hold between uses.

use std::sync::atomic::Ordering;

use super::window::CHUNK;
use super::{AllocSpec, AllocationInfo, FreeError, GRANULE, Memory, MemoryKind, chunks_for, lock, zone_of};

/// The chunks of a freed allocation, still backed by pages and still counted as used. They are no allocation: every
/// access is refused. Give it back with [`Memory::give_back_kept`] or use it with [`Memory::alloc_kept`].
#[derive(Debug)]
#[must_use = "the chunks are lost unless they are given back"]
pub struct Kept {
    first: u64,
    chunks: u64,
    size: u64,
    kind: MemoryKind,
    device: u32,
}

impl Kept {
    /// Bytes that it holds.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the other begins where this ends, or ends where this begins.
    pub fn touches(&self, other: &Kept) -> bool {
        let meets = |a: &Kept, b: &Kept| a.first + a.chunks == b.first;
        (self.kind, self.device) == (other.kind, other.device) && (meets(self, other) || meets(other, self))
    }

    /// Whether an allocation of `size` bytes fits: it has the pages, and the addresses for a granule behind it that belongs to nobody.
    pub fn holds(&self, size: u64) -> bool {
        size > 0 && size <= self.size && chunks_for(size).is_some_and(|chunks| chunks <= self.chunks)
    }
}

impl Memory {
    /// Frees the allocation that starts at `base`, as [`Memory::free`], and keeps the pages of a large one.
    pub fn free_keeping(&self, base: u64) -> Result<(AllocationInfo, Option<Kept>), FreeError> {
        let in_file = |base| self.space.file_chunks.chunks_from(self.space.window.chunk_of(base)).is_some();
        if self.table.slab_at(base).is_some() || (self.in_window(base) && in_file(base)) {
            return Ok((self.free(base)?, None));
        }
        let (info, first, chunks, _) = self.end_run(base)?;
        let size = backed(info.size);
        // It was counted without the rest of the last chunk; what it is too much then is refused at the next allocation.
        let (used, _) = self.account(info.kind, info.device);
        used.fetch_add(size - info.size.next_multiple_of(GRANULE), Ordering::Relaxed);
        Ok((info, Some(Kept { first, chunks, size, kind: info.kind, device: info.device })))
    }

    /// Whether an allocation of `size` bytes is large enough to be kept, and how many bytes it then takes at least.
    pub fn kept_size(&self, spec: &AllocSpec) -> Option<u64> {
        let rounded = spec.size.checked_next_multiple_of(GRANULE)?;
        if spec.size == 0 || self.slabs.class_of(rounded, spec.kind).is_some() {
            return None;
        }
        chunks_for(spec.size)?.checked_mul(CHUNK)?;
        Some(backed(spec.size))
    }

    /// Allocates in kept memory, which holds what was there, from its start. What is left of it is kept as before.
    ///
    /// # Errors
    /// The kept memory, if `spec` does not fit it.
    pub fn alloc_kept(&self, spec: AllocSpec, kept: Kept) -> Result<(AllocationInfo, Option<Kept>), Kept> {
        let right = kept.holds(spec.size) && zone_of(spec.kind) == zone_of(kept.kind) && spec.device == kept.device;
        let Some(chunks) = chunks_for(spec.size).filter(|_| right) else { return Err(kept) };
        let taken = backed(spec.size);
        let base = self.space.address_of(kept.first);
        let info = self.describe(spec, base);
        // The granule behind it may be in a chunk that held something.
        self.space.window.discard(kept.first + taken / CHUNK, chunks - taken / CHUNK);
        let left = kept.chunks - chunks;
        let rest = Kept {
            first: kept.first + chunks,
            chunks: left,
            size: (kept.size - taken).min(left * CHUNK),
            kind: kept.kind,
            device: kept.device,
        };
        let mut runs = lock(&self.space.runs);
        runs.record(info, self.table.add_run(kept.first, chunks, base, info.size, false));
        drop(runs);
        let too_much = kept.size - rest.size - info.size.next_multiple_of(GRANULE);
        self.discharge(spec.kind, spec.device, too_much);
        if rest.size != 0 {
            return Ok((info, Some(self.hold_only_its_size(rest))));
        }
        if left != 0 {
            self.space.give_back(rest.first, left);
        }
        Ok((info, None))
    }

    /// Makes one of two that touch.
    pub fn join_kept(&self, one: Kept, other: Kept) -> Kept {
        assert!(one.touches(&other));
        let (chunks, size) = (one.chunks + other.chunks, one.size + other.size);
        let Kept { kind, device, .. } = one;
        self.hold_only_its_size(Kept { first: one.first.min(other.first), chunks, size, kind, device })
    }

    /// Takes the pages of the last chunks away, which are not counted.
    fn hold_only_its_size(&self, kept: Kept) -> Kept {
        let counted = kept.size / CHUNK;
        self.space.window.discard(kept.first + counted, kept.chunks - counted);
        kept
    }

    /// Gives kept memory back to the host.
    pub fn give_back_kept(&self, kept: Kept) {
        self.space.give_back(kept.first, kept.chunks);
        self.discharge(kept.kind, kept.device, kept.size);
    }
}

/// Bytes of the chunks that an allocation of `size` bytes touches: one that ends with a chunk has another behind it that stays without memory.
fn backed(size: u64) -> u64 {
    size.next_multiple_of(CHUNK)
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryKind, Options};
    use super::*;
    use crate::fault::AccessKind;

    fn spec(size: u64) -> AllocSpec {
        AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 1, tag: 0, origin: "test" }
    }

    #[test]
    fn large_memory_is_kept_with_its_contents_and_refused_meanwhile() {
        let memory = Memory::new(Options { window: 1 << 30, capacity: 1 << 28, ..Options::default() }).unwrap();
        let info = memory.alloc(spec(5 << 20)).unwrap();
        memory.view().store(info.base + 8, 7_u32).unwrap();
        let (freed, kept) = memory.free_keeping(info.base).unwrap();
        assert_eq!(freed, info);
        let kept = kept.unwrap();
        assert_eq!(memory.used(), kept.size());
        assert!(memory.check(info.base, 4, AccessKind::Load).is_err());
        assert_eq!(memory.kept_size(&spec(5 << 20)), Some(kept.size()));
        assert_eq!(memory.kept_size(&spec(u64::MAX - 511)), None);

        let kept = memory.alloc_kept(spec(9 << 20), kept).unwrap_err();
        let (again, rest) = memory.alloc_kept(spec(3 << 20), kept).unwrap();
        assert!(rest.is_some_and(|rest| rest.size() == 2 << 20));
        assert_eq!((again.base, memory.used()), (info.base, 5 << 20));
        assert_eq!(memory.view().load::<u32>(again.base + 8).unwrap(), 7);
        assert_ne!(again.id, info.id);
        memory.free(again.base).unwrap();
        assert_eq!(memory.used(), 2 << 20);
    }

    #[test]
    fn kept_memory_is_divided_and_joined() {
        let memory = Memory::new(Options { window: 1 << 30, capacity: 1 << 28, ..Options::default() }).unwrap();
        let keep = |base| memory.free_keeping(base).unwrap().1.unwrap();
        let whole = memory.alloc(spec(64 << 20)).unwrap();
        let (first, rest) = memory.alloc_kept(spec(16 << 20), keep(whole.base)).unwrap();
        let (second, rest) = memory.alloc_kept(spec(5 << 20), rest.unwrap()).unwrap();
        let rest = rest.unwrap();
        // Between them a chunk belongs to nobody.
        assert_eq!((first.base, second.base), (whole.base, whole.base + (18 << 20)));
        assert!(memory.check(first.base + (16 << 20), 1, AccessKind::Load).is_err());
        memory.view().store(second.base + (5 << 20) - 4, 7_u32).unwrap();
        assert_eq!(memory.used(), (16 << 20) + (5 << 20) + rest.size());
        let first = keep(first.base);
        assert!(!first.touches(&rest));
        let joined = memory.join_kept(memory.join_kept(keep(second.base), rest), first);
        assert_eq!(memory.used(), joined.size());
        let (again, rest) = memory.alloc_kept(spec(60 << 20), joined).unwrap();
        assert_eq!(again.base, whole.base);
        memory.view().store(again.base + (60 << 20) - 4, 7_u32).unwrap();
        rest.into_iter().for_each(|rest| memory.give_back_kept(rest));
        memory.free(again.base).unwrap();
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn what_is_given_back_is_free_for_all_and_small_memory_is_not_kept() {
        let memory = Memory::new(Options { window: 1 << 30, capacity: 1 << 28, ..Options::default() }).unwrap();
        let info = memory.alloc(spec(200 << 20)).unwrap();
        let kept = memory.free_keeping(info.base).unwrap().1.unwrap();
        assert!(memory.alloc(spec(200 << 20)).is_err());
        memory.give_back_kept(kept);
        assert_eq!(memory.used(), 0);
        memory.alloc(spec(200 << 20)).unwrap();
        let small = memory.alloc(spec(1000)).unwrap();
        assert_eq!(memory.kept_size(&spec(1000)), None);
        assert!(memory.free_keeping(small.base).unwrap().1.is_none());
        assert!(memory.free_keeping(small.base).is_err());
    }
}
