//! Descriptors that calls are given: semaphores of the host, memory files, and what is neither.
//!
//! What an import takes is the driver's from then on, so each call gets a descriptor of its own. All of them stand for the same few
//! objects, whose semaphores this process signals again and again: a wait that nobody ends would hold a stream for ever, as documented.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;

/// Bytes of each memory file.
pub(crate) const FILE: u64 = 256 << 10;

/// What the number of a memory file is in turn: the signal of a binary semaphore, and of a timeline every value.
const SIGNALS: [u64; 2] = [1, u64::MAX];

/// Signals that the counter is given at once, each for one wait: where many processes share the cores, this one has its turn rarely.
const MANY: u64 = 1000;

/// See the head of the file.
pub(crate) struct Descriptors {
    counter: File,
    files: [MemoryFile; 2],
    other: File,
}

/// A memory file, whose first bytes are a semaphore's number.
struct MemoryFile {
    file: File,
    number: NonNull<AtomicU64>,
}

// SAFETY: the number is at an address that nobody takes back, and is atomic.
unsafe impl Send for MemoryFile {}
// SAFETY: as above.
unsafe impl Sync for MemoryFile {}

fn owned(descriptor: i32) -> io::Result<File> {
    match descriptor {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: callers pass what they have just made, which nobody else owns.
        descriptor => Ok(unsafe { File::from_raw_fd(descriptor) }),
    }
}

impl MemoryFile {
    fn new() -> io::Result<MemoryFile> {
        // SAFETY: the name is a string.
        let file =
            owned(unsafe { libc::memfd_create(c"api-fuzz".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) })?;
        file.set_len(FILE)?;
        // SAFETY: a new mapping of a file that is large enough, never taken back.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), FILE as usize, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let number = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(MemoryFile { file, number })
    }

    fn signal(&self, value: u64) {
        // SAFETY: aligned, and there for the life of the process; the call wakes who sleeps on the low half, and looks at nothing else.
        unsafe {
            self.number.as_ref().store(value, Ordering::SeqCst);
            libc::syscall(libc::SYS_futex, self.number.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
        }
    }
}

impl Descriptors {
    pub(crate) fn new() -> io::Result<Descriptors> {
        // SAFETY: takes numbers.
        let counter = owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK | libc::EFD_SEMAPHORE) })?;
        let files = [MemoryFile::new()?, MemoryFile::new()?];
        Ok(Descriptors { counter, files, other: File::open("/dev/null")? })
    }

    /// One that the callee may take; None where it gets the number of none.
    pub(crate) fn any(&self, rng: &mut Rng) -> Option<OwnedFd> {
        match rng.u8(..16) {
            0 => None,
            1 => copy(&self.other),
            2..8 => self.counter(),
            _ => self.memory(),
        }
    }

    /// One of an event counter.
    pub(crate) fn counter(&self) -> Option<OwnedFd> {
        copy(&self.counter)
    }

    /// One of a memory file that serves as memory and as a semaphore.
    pub(crate) fn memory(&self) -> Option<OwnedFd> {
        copy(&self.files[0].file)
    }

    /// One of a memory file that serves as a timeline.
    pub(crate) fn timeline(&self) -> Option<OwnedFd> {
        copy(&self.files[1].file)
    }

    /// Signals all semaphores.
    pub(crate) fn signal(&self, turn: usize) {
        // A counter that is full is signalled already.
        let _ = (&self.counter).write(&MANY.to_ne_bytes());
        self.files[0].signal(SIGNALS[turn % SIGNALS.len()]);
        self.files[1].signal(u64::MAX);
    }
}

/// Without room for more descriptors there is none.
fn copy(file: &File) -> Option<OwnedFd> {
    file.try_clone().ok().map(OwnedFd::from)
}
