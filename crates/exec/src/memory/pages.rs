//! Tables of atomics on pages that the host has not had to fill yet: a table for all addresses of a large window costs neither time nor memory
//! until it is written to.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, AtomicU64};

/// # Safety
/// All bytes zero is a value, and the type needs no `drop`.
pub(super) unsafe trait FromZeroes {}

// SAFETY: zero is a number.
unsafe impl FromZeroes for AtomicU64 {}
// SAFETY: zero is the null pointer.
unsafe impl<T> FromZeroes for AtomicPtr<T> {}

/// A fixed number of elements, all zero at first.
pub(super) struct ZeroPages<T: FromZeroes> {
    start: *mut T,
    len: usize,
}

// SAFETY: it owns its elements, as a `Box<[T]>` does.
unsafe impl<T: FromZeroes + Send> Send for ZeroPages<T> {}
// SAFETY: as above.
unsafe impl<T: FromZeroes + Sync> Sync for ZeroPages<T> {}

impl<T: FromZeroes> ZeroPages<T> {
    /// Error: the host has no addresses for the table.
    pub(super) fn new(len: usize) -> io::Result<ZeroPages<T>> {
        assert!(len != 0);
        let bytes = len.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice, and advice for it: huge pages would fill the table.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let start = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE);
            Ok(ZeroPages { start: start.cast(), len })
        }
    }
}

impl<T: FromZeroes> Deref for ZeroPages<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: mapped for `len` elements, aligned to a page, initialised with zeroes, which `FromZeroes` allows.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T: FromZeroes> Drop for ZeroPages<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `new`, whose elements need no drop.
        unsafe { libc::munmap(self.start.cast(), self.len * size_of::<T>()) };
    }
}
