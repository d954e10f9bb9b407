//! The reservation behind the memory window.
//!
//! One range of addresses is reserved at creation and given back when the window is dropped, never in between. Parts of
//! it become readable and writable on first use ("committed") and stay so: a kernel that races with `cuMemFree` reads
//! zeroes or old bytes, it cannot crash the process, and no fault handler is needed. What is freed is given back to the
//! host by discarding the pages, not by taking the mapping away.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::pages::ZeroPages;
use crate::address::{EXECUTOR_WINDOWS, MEMORY_WINDOW_HINT};

/// The unit of commitment and of large allocations; also the huge page size of x86-64 and of most AArch64 hosts.
pub(crate) const CHUNK: u64 = 2 << 20;

/// A reserved address range with committed parts.
pub(crate) struct Window {
    base: u64,
    chunks: u64,
    /// One bit per chunk: committed.
    committed: ZeroPages<AtomicU64>,
}

impl Window {
    /// Reserves `size` bytes, which processes forked from this one do not see (see [`Window::inherit`]). Error: the host's limits (`ulimit -v`,
    /// a small address space) do not allow so much.
    pub(crate) fn reserve(size: u64) -> io::Result<Window> {
        let size = size.next_multiple_of(CHUNK);
        let start = map(size + CHUNK)?;
        let base = start.next_multiple_of(CHUNK);
        trim(start, base, size);
        let chunks = size / CHUNK;
        let committed = ZeroPages::new(chunks.div_ceil(64) as usize);
        let window = Window { base, chunks, committed: committed.inspect_err(|_| unmap(base, size))? };
        if base < EXECUTOR_WINDOWS.end && EXECUTOR_WINDOWS.start < base + size {
            return Err(io::Error::from(io::ErrorKind::AddrInUse));
        }
        window.inherit(0, chunks, false);
        Ok(window)
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn size(&self) -> u64 {
        self.chunks * CHUNK
    }

    pub(crate) fn chunks(&self) -> u64 {
        self.chunks
    }

    pub(crate) fn chunk_of(&self, address: u64) -> u64 {
        (address - self.base) / CHUNK
    }

    /// Replaces the mapping of whole chunks by another readable and writable one, in one step: there is no moment at
    /// which the range is not mapped. The chunks count as committed afterwards; if the last is not replaced as a whole, it must have been before.
    pub(crate) fn replace(
        &self,
        address: u64,
        size: u64,
        flags: libc::c_int,
        file: libc::c_int,
        offset: i64,
    ) -> io::Result<()> {
        let (first, count) = (self.chunk_of(address), size.div_ceil(CHUNK));
        assert!(address >= self.base && address.is_multiple_of(CHUNK) && first + count <= self.chunks);
        // SAFETY: the range lies in the reservation, which this object owns; no Rust reference points into it.
        let start = unsafe {
            libc::mmap(
                address as *mut libc::c_void,
                size as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                flags | libc::MAP_FIXED,
                file,
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        self.note_committed(first, count);
        self.inherit(first, count, false);
        Ok(())
    }

    /// Whether processes that are forked from this one get chunks too. Device memory they do not, as with a GPU: a copy of it would double the
    /// memory of a process that forks its helpers after it has filled the device.
    pub(crate) fn inherit(&self, first: u64, count: u64, inherit: bool) {
        assert!(first + count <= self.chunks);
        let advice = if inherit { libc::MADV_DOFORK } else { libc::MADV_DONTFORK };
        // SAFETY: advice for a part of the reservation; the contents stay.
        unsafe { libc::madvise((self.base + first * CHUNK) as *mut libc::c_void, (count * CHUNK) as usize, advice) };
    }

    fn note_committed(&self, first: u64, count: u64) {
        for chunk in first..first + count {
            self.committed[(chunk / 64) as usize].fetch_or(1 << (chunk % 64), Ordering::Release);
        }
    }

    /// Makes `count` chunks from `first` readable and writable; whether any of them was not so before. Error: the host
    /// refuses (strict overcommit).
    pub(crate) fn commit(&self, first: u64, count: u64) -> io::Result<bool> {
        assert!(first + count <= self.chunks);
        let mut at = first;
        let mut new = false;
        while at < first + count {
            if self.is_committed(at) {
                at += 1;
                continue;
            }
            let mut end = at + 1;
            while end < first + count && !self.is_committed(end) {
                end += 1;
            }
            // SAFETY: the range lies in the reservation, which this object owns; making it accessible invalidates nothing.
            let failed = unsafe {
                libc::mprotect(
                    (self.base + at * CHUNK) as *mut libc::c_void,
                    ((end - at) * CHUNK) as usize,
                    libc::PROT_READ | libc::PROT_WRITE,
                )
            } != 0;
            if failed {
                return Err(io::Error::last_os_error());
            }
            self.note_committed(at, end - at);
            new = true;
            at = end;
        }
        Ok(new)
    }

    fn is_committed(&self, chunk: u64) -> bool {
        self.committed[(chunk / 64) as usize].load(Ordering::Acquire) >> (chunk % 64) & 1 != 0
    }

    /// Asks for huge pages behind committed chunks: fewer faults on first use, fewer misses in the host's tables.
    pub(crate) fn prefer_huge_pages(&self, first: u64, count: u64) {
        assert!(first + count <= self.chunks);
        // SAFETY: advice for a part of the reservation; the contents stay.
        unsafe {
            libc::madvise(
                (self.base + first * CHUNK) as *mut libc::c_void,
                (count * CHUNK) as usize,
                libc::MADV_HUGEPAGE,
            );
        }
    }

    /// Calls `visit` with address and length of each part of committed chunks that may have been written to, until it fails.
    pub(super) fn each_touched(
        &self,
        first: u64,
        count: u64,
        mut visit: impl FnMut(u64, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        const PAGE: u64 = 4096;
        assert!(first + count <= self.chunks);
        let zeroes = [0_u8; PAGE as usize];
        for chunk in first..first + count {
            let start = self.base + chunk * CHUNK;
            let mut from = start;
            for page in (start..start + CHUNK).step_by(PAGE as usize) {
                // SAFETY: the chunk is committed. Pages that nobody has written to read as zero, whether or not the host has any there.
                let touched = unsafe { libc::memcmp(page as *const _, zeroes.as_ptr().cast(), PAGE as usize) } != 0;
                if !touched {
                    if page > from {
                        visit(from, page - from)?;
                    }
                    from = page + PAGE;
                }
            }
            if start + CHUNK > from {
                visit(from, start + CHUNK - from)?;
            }
        }
        Ok(())
    }

    /// Gives the pages of committed chunks back to the host; they read as zero afterwards.
    pub(crate) fn discard(&self, first: u64, count: u64) {
        assert!(first + count <= self.chunks);
        // SAFETY: the range lies in the reservation and holds an anonymous private mapping of plain bytes.
        unsafe {
            libc::madvise(
                (self.base + first * CHUNK) as *mut libc::c_void,
                (count * CHUNK) as usize,
                libc::MADV_DONTNEED,
            );
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        unmap(self.base, self.size());
    }
}

/// Ends a reservation whose owner goes, and with it everything that could point into it.
fn unmap(base: u64, size: u64) {
    // SAFETY: the reservation is the caller's; `Memory`, the only owner of windows, hands out no references into it.
    unsafe { libc::munmap(base as *mut libc::c_void, size as usize) };
}

fn map(size: u64) -> io::Result<u64> {
    let size = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice (the hint is not MAP_FIXED).
    let start = unsafe {
        libc::mmap(
            MEMORY_WINDOW_HINT as *mut libc::c_void,
            size,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start as u64) }
}

/// Unmaps what alignment left over on both sides of `base .. base + size` in a mapping of `size + CHUNK` bytes.
fn trim(start: u64, base: u64, size: u64) {
    let (end, mapped_end) = (base + size, start + size + CHUNK);
    for (from, to) in [(start, base), (end, mapped_end)] {
        if to > from {
            // SAFETY: part of the mapping just made, which nobody else knows yet.
            unsafe { libc::munmap(from as *mut libc::c_void, (to - from) as usize) };
        }
    }
}
