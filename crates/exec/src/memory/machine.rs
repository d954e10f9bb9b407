//! Memory as compiled code checks it.
//!
//! Code keeps a [`MachineExtent`] for each of its sites, or a few, and the address of the [epoch](Memory::epoch_word). An access is
//! allowed if it lies in the extent, the extent's epoch is the present one, and, for stores and atomics, the extent is writable: three
//! comparisons without a call. Otherwise the code calls [`find_extent`], which finds the extent or says no; then it comes back with a
//! [`Trap`](crate::fault::Trap), and [`Memory::explain`] makes the report.

use std::sync::atomic::AtomicU64;

use super::Memory;
use crate::fault::{AccessFault, AccessKind, Refusal};

/// A range that may be accessed as long as the epoch is `epoch`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineExtent {
    /// Its first address.
    pub start: u64,
    /// Its size in bytes; 0 in an extent that holds nothing.
    pub span: u64,
    /// The epoch in which it was found.
    pub epoch: u64,
    /// [`MachineExtent::WRITABLE`] or 0.
    pub flags: u64,
}

impl MachineExtent {
    /// Stores and atomics are allowed.
    pub const WRITABLE: u64 = 1;
}

impl Memory {
    /// The word that every free changes. It stays where it is while the memory lives.
    pub fn epoch_word(&self) -> &AtomicU64 {
        self.table.epoch_word()
    }

    /// Why an access is refused; `None` if it is allowed now. Accesses of 1 to 16 bytes must be aligned to their size.
    pub fn explain(&self, address: u64, len: u64, kind: AccessKind) -> Option<Box<AccessFault>> {
        if len.is_power_of_two() && len <= 16 && !address.is_multiple_of(len) {
            return Some(self.refuse(address, len, kind, Refusal::Misaligned));
        }
        self.extent(address, len, kind).err()
    }
}

/// Finds the extent of an access and writes it to `extent`; 1 if the access is allowed, 0 if not, with `extent` as it was. `kind` is 0
/// for loads, 1 for stores and 2 for atomics.
///
/// # Safety
/// `memory` lives, and `extent` may be written.
pub unsafe extern "C" fn find_extent(
    memory: *const Memory,
    address: u64,
    len: u64,
    kind: u32,
    extent: *mut MachineExtent,
) -> u32 {
    let kind = match kind {
        0 => AccessKind::Load,
        1 => AccessKind::Store,
        _ => AccessKind::Atomic,
    };
    // SAFETY: the caller vouches for it.
    let memory = unsafe { &*memory };
    match memory.extent(address, len, kind) {
        Ok(found) => {
            let flags = if found.read_only { 0 } else { MachineExtent::WRITABLE };
            let found = MachineExtent { start: found.start, span: found.span, epoch: found.epoch, flags };
            // SAFETY: the caller vouches for it.
            unsafe { extent.write(found) };
            1
        }
        Err(_) => 0,
    }
}
