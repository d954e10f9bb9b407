//! Bytes of memory as ranges of addresses.

use std::ops::Range;

use warploom_exec::memory::AllocationInfo;

/// Whether two ranges have a byte in common.
pub(crate) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// So many bytes from an address on.
pub(crate) fn from(address: u64, bytes: u64) -> Range<u64> {
    address..address.saturating_add(bytes)
}

/// The bytes of an allocation.
pub(crate) fn of(info: &AllocationInfo) -> Range<u64> {
    from(info.base, info.size)
}
