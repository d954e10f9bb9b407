//! The generic address space, as kernels see it (PTX ISA 5.1, 5.2, 9.7.9.20 `cvta`, 9.7.9.19 `isspacep`).
//!
//! A generic address is 64 bits wide. Device, managed and pinned memory, module variables and constants live in the
//! memory window (see [`crate::memory`]) and their generic address is their host address. The shared, local and
//! parameter windows are ranges where no memory is mapped: executors translate them to storage of their own. No
//! storage is owned here.

/// Start of the shared window. A `.shared` address is the offset in it: see [`shared_address`].
pub const SHARED_WINDOW: u64 = 0x1080_0000_0000;
/// Size of the shared window: 256 CTAs of a cluster with [`SHARED_PER_CTA`] each.
pub const SHARED_WINDOW_SIZE: u64 = 1 << 32;
/// The part of the shared window that belongs to one CTA of a cluster. A `.shared` address carries the rank of the CTA
/// in its cluster in bits 24 and up, as on hardware with clusters.
pub const SHARED_PER_CTA: u64 = 1 << 24;
/// Start of the local window. Each thread sees its own local memory there, at the same addresses.
pub const LOCAL_WINDOW: u64 = 0x1081_0000_0000;
/// Size of the local window.
pub const LOCAL_WINDOW_SIZE: u64 = 1 << 32;
/// Start of the window of kernel parameters (`cvta.param`, PTX ISA 7.7).
pub const PARAM_WINDOW: u64 = 0x1082_0000_0000;
/// Size of the parameter window.
pub const PARAM_WINDOW_SIZE: u64 = 1 << 32;

/// Where the windows above lie. The memory window never lies there.
pub(crate) const EXECUTOR_WINDOWS: std::ops::Range<u64> = SHARED_WINDOW..SHARED_WINDOW + (4 << 32);

/// The address that the memory window asks the host for; it goes elsewhere where this one is taken. With the windows of executors it is chosen so that
/// [`MEMORY_WINDOW_SIZE`] fits between what address sanitizers use below (shadow memory up to 16 TiB) and the program above (85 TiB, where a
/// position-independent program is loaded on x86-64).
pub(crate) const MEMORY_WINDOW_HINT: u64 = 0x1100_0000_0000;
/// Bytes of addresses that the memory window asks for. Programs reserve more addresses than there is memory: one range the size of the whole device for
/// each stream and size of block (PyTorch's expandable segments).
pub(crate) const MEMORY_WINDOW_SIZE: u64 = 64 << 40;

/// What a generic address points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Memory window or registered host pages, or nothing: the access check of [`crate::memory`] decides.
    Global,
    /// Shared memory; the value is the `.shared` address ([`split_shared`] gives CTA rank and offset).
    Shared(u32),
    /// Local memory of the accessing thread, with the offset in it.
    Local(u32),
    /// Kernel parameters, with the offset in them.
    Param(u32),
}

/// Which window a generic address lies in.
#[inline(always)]
pub fn classify(address: u64) -> Space {
    if address >> 34 != SHARED_WINDOW >> 34 {
        return Space::Global;
    }
    match address >> 32 {
        w if w == SHARED_WINDOW >> 32 => Space::Shared(address as u32),
        w if w == LOCAL_WINDOW >> 32 => Space::Local(address as u32),
        w if w == PARAM_WINDOW >> 32 => Space::Param(address as u32),
        _ => Space::Global,
    }
}

/// The `.shared` address of `offset` in the shared memory of the CTA with `rank` in its cluster.
#[inline(always)]
pub fn shared_address(rank: u32, offset: u32) -> u32 {
    (rank << 24) | offset
}

/// Splits a `.shared` address into the rank of the CTA in its cluster and the offset in its shared memory.
#[inline(always)]
pub fn split_shared(address: u32) -> (u32, u32) {
    (address >> 24, address & (SHARED_PER_CTA as u32 - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_told_apart() {
        assert_eq!(classify(SHARED_WINDOW), Space::Shared(0));
        assert_eq!(classify(SHARED_WINDOW + SHARED_WINDOW_SIZE - 1), Space::Shared(u32::MAX));
        assert_eq!(classify(LOCAL_WINDOW + 16), Space::Local(16));
        assert_eq!(classify(PARAM_WINDOW + 8), Space::Param(8));
        assert_eq!(classify(SHARED_WINDOW - 1), Space::Global);
        assert_eq!(classify(PARAM_WINDOW + PARAM_WINDOW_SIZE), Space::Global);
        assert_eq!(classify(MEMORY_WINDOW_HINT), Space::Global);
        assert!(
            !EXECUTOR_WINDOWS.contains(&MEMORY_WINDOW_HINT) && EXECUTOR_WINDOWS.contains(&(EXECUTOR_WINDOWS.end - 1))
        );
        assert_ne!(classify(EXECUTOR_WINDOWS.start), Space::Global);
        assert_eq!(classify(0), Space::Global);
        assert_eq!(classify(u64::MAX), Space::Global);
    }

    #[test]
    fn shared_addresses_carry_the_rank() {
        assert_eq!(split_shared(shared_address(3, 0x400)), (3, 0x400));
    }
}
