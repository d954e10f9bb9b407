//! What a worker has done so far, in a file that its supervisor maps too: it survives any end of the worker.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::generated::FUNCTIONS;

/// Threads of a worker that call the driver.
pub(crate) const MOST_THREADS: usize = 4;

/// Counters, all starting at zero.
#[repr(C)]
pub(crate) struct Progress {
    pub(crate) calls: AtomicU64,
    /// By thread: the index of the function that it calls, plus one; zero between calls.
    pub(crate) current: [AtomicU32; MOST_THREADS],
    pub(crate) by_function: [Counts; FUNCTIONS.len()],
}

/// What became of the calls of one function.
#[repr(C)]
pub(crate) struct Counts {
    pub(crate) calls: AtomicU32,
    pub(crate) successes: AtomicU32,
    /// Calls that were answered with `CUDA_ERROR_NOT_SUPPORTED`.
    pub(crate) unsupported: AtomicU32,
}

/// Maps the file, which becomes large enough.
pub(crate) fn map(file: &File) -> io::Result<&'static Progress> {
    let size = size_of::<Progress>();
    file.set_len(size as u64)?;
    // SAFETY: the mapping is fresh, stays for the life of the process, is as large as the file, and holds atomics only.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let start = libc::mmap(ptr::null_mut(), size, access, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(NonNull::new_unchecked(start.cast::<Progress>()).as_ref())
    }
}
