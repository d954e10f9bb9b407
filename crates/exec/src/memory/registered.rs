//! Host pages that a program has registered for access by kernels.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use super::table::Extent;
use crate::texture::TILE_BYTES;

/// A range of host memory that its owner has promised to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRange {
    address: u64,
    len: u64,
}

/// The right to name host memory that a program has named in a call: only who knows of the call's promises can make one.
#[derive(Clone, Copy, Debug)]
pub struct CallersMemory(());

impl CallersMemory {
    /// States that what the arguments of the program's call name is as the documentation of the call demands.
    ///
    /// # Safety
    /// As for [`HostRange::new`], for all ranges that the arguments of the call name. Whoever gets the right asks for no others.
    pub unsafe fn vouched_for() -> CallersMemory {
        CallersMemory(())
    }

    /// `len` bytes at `address`, which an argument of the call names.
    pub fn range(self, address: u64, len: u64) -> HostRange {
        HostRange { address, len }
    }
}

impl HostRange {
    /// States that `len` bytes at `address` may be read, and written if the use made of the range writes.
    ///
    /// # Safety
    /// The bytes stay mapped and accessible until the last use of the range: until the copy that takes it has ended, or
    /// until it is unregistered and no kernel that may access it runs any more. Other threads may access them meanwhile
    /// as a C program's threads may.
    pub unsafe fn new(address: u64, len: u64) -> HostRange {
        HostRange { address, len }
    }

    /// What is read where a tile of an array has no memory: as many zeros as it has bytes.
    pub fn zeros() -> HostRange {
        // As nothing writes them, they take pages of nobody: constants would lie in the library's file.
        static ZEROS: [AtomicU64; TILE_BYTES as usize / 8] = [const { AtomicU64::new(0) }; TILE_BYTES as usize / 8];
        HostRange { address: (&raw const ZEROS).expose_provenance() as u64, len: TILE_BYTES }
    }

    /// First address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.len
    }

    /// Whether the range holds no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether all of the range lies in mappings of the process, if not with which access. The range is that of an address
    /// which a program gives without saying what it is, so no promise about it is to be had.
    pub fn is_mapped(&self) -> bool {
        is_mapped(self.address, self.len)
    }

    /// A copy of the bytes; None if they cannot be read, or are more than this process can hold: the range is one that data of
    /// doubtful origin speaks of.
    pub fn read_if_there(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let len = usize::try_from(self.len).ok().filter(|_| self.is_mapped())?;
        bytes.try_reserve_exact(len).ok()?;
        while bytes.len() < len {
            let rest = bytes.spare_capacity_mut();
            let to = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: len - bytes.len() };
            let start = std::ptr::without_provenance_mut(self.address as usize + bytes.len());
            let from = libc::iovec { iov_base: start, iov_len: len - bytes.len() };
            // SAFETY: the bytes go where the vector has room for as many; the kernel refuses to read what is not there. It has
            // written as many bytes as it says.
            let read = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
            let forbidden = || {
                let reason = std::io::Error::last_os_error().raw_os_error();
                matches!(reason, Some(libc::EPERM | libc::ENOSYS))
            };
            let read = match read {
                1.. => read as usize,
                -1 if forbidden() => {
                    // A sandbox may not know the call. SAFETY: the range is mapped, and `to` has room for as many bytes.
                    unsafe {
                        std::ptr::copy_nonoverlapping(from.iov_base.cast::<u8>(), to.iov_base.cast(), to.iov_len)
                    };
                    to.iov_len
                }
                _ => return None,
            };
            // SAFETY: so many bytes were written behind the vector's length, within its capacity.
            unsafe { bytes.set_len(bytes.len() + read) };
        }
        Some(bytes)
    }

    /// The part from `offset` with `len` bytes, if the range has it.
    pub fn part(&self, offset: u64, len: u64) -> Option<HostRange> {
        let end = offset.checked_add(len)?;
        (end <= self.len).then(|| HostRange { address: self.address + offset, len })
    }
}

/// Whether `len` bytes at `address` lie in mappings of the process.
pub(super) fn is_mapped(address: u64, len: u64) -> bool {
    const PAGE: u64 = 4096;
    let start = address & !(PAGE - 1);
    let Some(len) = address.checked_add(len).map(|end| (end - start) as usize) else { return false };
    // SAFETY: with MS_ASYNC the call looks whether the range is mapped, and does nothing else.
    unsafe { libc::msync(std::ptr::without_provenance_mut(start as usize), len, libc::MS_ASYNC) == 0 }
}

/// Why pages cannot be registered or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// The range is empty, wraps around the address space, or is not host memory that can be accessed as asked.
    Invalid,
    /// It lies in the memory window: device, managed or pinned memory already.
    InWindow,
    /// It overlaps a registered range.
    AlreadyRegistered,
    /// Nothing is registered at that address.
    NotRegistered,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegisterError::Invalid => "the range is empty, or not accessible host memory",
            RegisterError::InWindow => "the range is device memory",
            RegisterError::AlreadyRegistered => "the range overlaps one that is registered",
            RegisterError::NotRegistered => "nothing is registered there",
        })
    }
}

impl std::error::Error for RegisterError {}

/// The side table: ranges by first address, with whether they are read-only.
#[derive(Default)]
pub(super) struct Registered {
    ranges: RwLock<BTreeMap<u64, (HostRange, bool)>>,
    count: AtomicUsize,
}

impl Registered {
    pub(super) fn add(&self, range: HostRange, read_only: bool) -> Result<(), RegisterError> {
        let end = range.address.checked_add(range.len).filter(|_| range.len > 0).ok_or(RegisterError::Invalid)?;
        // A kernel must not bring the process down by what a program registered by mistake.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        if !maps.is_empty() && !accessible(&maps, range.address, end, !read_only) {
            return Err(RegisterError::Invalid);
        }
        let mut ranges = self.ranges.write().unwrap_or_else(PoisonError::into_inner);
        let overlaps = ranges.range(..end).next_back().is_some_and(|(_, (r, _))| r.address + r.len > range.address);
        if overlaps {
            return Err(RegisterError::AlreadyRegistered);
        }
        ranges.insert(range.address, (range, read_only));
        self.count.store(ranges.len(), Ordering::Release);
        Ok(())
    }

    pub(super) fn remove(&self, address: u64) -> Result<HostRange, RegisterError> {
        let mut ranges = self.ranges.write().unwrap_or_else(PoisonError::into_inner);
        let (range, _) = ranges.remove(&address).ok_or(RegisterError::NotRegistered)?;
        self.count.store(ranges.len(), Ordering::Release);
        Ok(range)
    }

    pub(super) fn at(&self, address: u64) -> Option<(HostRange, bool)> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        let (_, (range, read_only)) = ranges.range(..=address).next_back()?;
        (address - range.address < range.len).then_some((*range, *read_only))
    }

    /// `epoch` must have been read before the call, so that a later removal makes the extent invalid.
    pub(super) fn extent(&self, address: u64, epoch: u64) -> Option<Extent> {
        let (range, read_only) = self.at(address)?;
        Some(Extent { start: range.address, span: range.len, epoch, read_only })
    }
}

/// Whether mappings, in the form of `/proc/self/maps`, cover a range and allow reading, and writing if asked.
fn accessible(maps: &str, start: u64, end: u64, write: bool) -> bool {
    let mut covered = start;
    for line in maps.lines() {
        let Some((range, rest)) = line.split_once(' ') else { continue };
        let Some((low, high)) = range.split_once('-') else { continue };
        let (Ok(low), Ok(high)) = (u64::from_str_radix(low, 16), u64::from_str_radix(high, 16)) else { continue };
        if low <= covered && covered < high && rest.starts_with('r') && (!write || rest[1..].starts_with('w')) {
            covered = high;
            if covered >= end {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ranges_that_are_there_are_mapped() {
        let bytes = [0_u8; 5000];
        let address = bytes.as_ptr().addr() as u64;
        // SAFETY: none of the ranges is ever used for more than to ask.
        let mapped = |address, len| unsafe { HostRange::new(address, len) }.is_mapped();
        assert!(mapped(address, 5000) && mapped(address + 4999, 1));
        // SAFETY: as above.
        let read = |address, len| unsafe { HostRange::new(address, len) }.read_if_there();
        assert_eq!(read(address, 5000), Some(bytes.to_vec()));
        assert_eq!((read(12, 4), read(address, 1 << 46), read(address, 0)), (None, None, Some(Vec::new())));
        assert!(!mapped(12, 4) && !mapped(address, 1 << 46));
        assert!(!mapped(u64::MAX - 2, 2) && !mapped(u64::MAX, 2) && !mapped(0xdead_beef_dead_beef, 1));
    }

    #[test]
    fn mappings_must_cover_the_range_with_the_access_asked_for() {
        let maps = "1000-2000 rw-p 0 00:00 0\n2000-3000 r--p 0 00:00 0 /lib\n4000-5000 rw-s 0 00:00 0\n";
        assert!(accessible(maps, 0x1800, 0x3000, false));
        assert!(!accessible(maps, 0x1800, 0x3000, true));
        assert!(accessible(maps, 0x1000, 0x2000, true));
        assert!(!accessible(maps, 0x2800, 0x4800, false));
        assert!(!accessible(maps, 0x6000, 0x6001, false));
    }
}
