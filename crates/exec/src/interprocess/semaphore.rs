//! Semaphores that come from outside as descriptors (`cuImportExternalSemaphore`): an event counter of the host, or a number in a memory file.
//!
//! A number is the first 8 bytes of its file. Whoever changes it wakes those who sleep on its low half (`futex(2)`, not private); who sleeps looks now and
//! then in any case, as others may not wake.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::memory::secure;
use crate::signal::{Reach, futex_wait, futex_wake};

/// How often a sleeper looks by itself.
const LOOK: Duration = Duration::from_millis(100);
const PAGE: usize = 4096;

/// How signals and waits of a semaphore belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemaphoreKind {
    /// A wait takes a signal away.
    Binary,
    /// A signal sets a number, which only grows; waits are for a number at least as large.
    Timeline,
}

/// A semaphore of the host.
pub struct ExternalSemaphore {
    kind: SemaphoreKind,
    state: State,
}

enum State {
    Counter(File),
    Number(Number),
}

/// The first page of a memory file, mapped.
struct Number(*mut AtomicU64);

// SAFETY: the address of an atomic.
unsafe impl Send for Number {}
// SAFETY: as above.
unsafe impl Sync for Number {}

impl Number {
    fn get(&self) -> &AtomicU64 {
        // SAFETY: the start of a mapping that lives as long as this; all bytes are values.
        unsafe { &*self.0 }
    }

    /// The half of it that sleepers wait on: the low one, on machines of the only byte order that there is a driver for.
    fn low(&self) -> &AtomicU32 {
        // SAFETY: as above; the half is aligned.
        unsafe { &*self.0.cast::<AtomicU32>() }
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `open`.
        unsafe { libc::munmap(self.0.cast(), PAGE) };
    }
}

impl ExternalSemaphore {
    /// What a descriptor stands for, as a semaphore of a kind.
    ///
    /// # Errors
    /// Why it is none, in words.
    pub fn open(descriptor: OwnedFd, kind: SemaphoreKind) -> Result<ExternalSemaphore, &'static str> {
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        let is_counter = std::fs::read_link(path).is_ok_and(|name| name.as_os_str() == "anon_inode:[eventfd]");
        let file = File::from(descriptor);
        if is_counter {
            return match kind {
                SemaphoreKind::Binary => Ok(ExternalSemaphore { kind, state: State::Counter(file) }),
                SemaphoreKind::Timeline => Err("an event counter of the host has no numbers to wait for"),
            };
        }
        if secure(&file).is_none_or(|length| length < size_of::<u64>() as u64) {
            return Err("the descriptor is neither an event counter of the host nor a memory file of at least 8 bytes");
        }
        // SAFETY: a new shared mapping of the first page of a file that has one.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), PAGE, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err("the memory file cannot be mapped for reading and writing");
        }
        Ok(ExternalSemaphore { kind, state: State::Number(Number(start.cast())) })
    }

    /// Signals; the value is for timelines.
    pub fn signal(&self, value: u64) {
        match &self.state {
            // It can fail only where others have set it to its largest value: that is a signal.
            State::Counter(file) => drop((&*file).write(&1_u64.to_ne_bytes())),
            State::Number(number) => {
                match self.kind {
                    SemaphoreKind::Binary => number.get().store(1, Ordering::SeqCst),
                    SemaphoreKind::Timeline => drop(number.get().fetch_max(value, Ordering::SeqCst)),
                }
                futex_wake(number.low(), i32::MAX as u32, Reach::Machine);
            }
        }
    }

    /// Waits for a signal, or a value of a timeline; gives up when it is time to, which is asked now and then.
    pub fn wait(&self, value: u64, give_up: impl Fn() -> bool) {
        while !give_up() {
            match &self.state {
                State::Counter(file) => {
                    let mut watched = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                    // SAFETY: one entry, which outlives the call.
                    let there = unsafe { libc::poll(&raw mut watched, 1, LOOK.as_millis() as libc::c_int) } == 1;
                    // Somebody else may have been faster; then it is waited for again, or here.
                    if there && (&*file).read(&mut [0; 8]).is_ok_and(|read| read == 8) {
                        return;
                    }
                }
                State::Number(number) => {
                    let seen = number.get().load(Ordering::SeqCst);
                    let come = match self.kind {
                        SemaphoreKind::Binary => {
                            let taken = number.get().compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst);
                            taken.is_ok()
                        }
                        SemaphoreKind::Timeline => seen >= value,
                    };
                    if come {
                        return;
                    }
                    futex_wait(number.low(), seen as u32, Some(LOOK), Reach::Machine);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::FromRawFd;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    use super::*;

    fn memory_file(size: u64) -> File {
        // SAFETY: a new descriptor, owned by nobody else.
        let file = unsafe { File::from_raw_fd(libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC)) };
        file.set_len(size).unwrap();
        file
    }

    fn waits(semaphore: &Arc<ExternalSemaphore>, value: u64) -> std::thread::JoinHandle<()> {
        let semaphore = Arc::clone(semaphore);
        let thread = std::thread::spawn(move || semaphore.wait(value, || false));
        std::thread::sleep(Duration::from_millis(10));
        assert!(!thread.is_finished());
        thread
    }

    #[test]
    fn timelines_wait_for_values_that_anybody_sets() {
        let file = memory_file(64);
        let semaphore = ExternalSemaphore::open(file.try_clone().unwrap().into(), SemaphoreKind::Timeline);
        let semaphore = Arc::new(semaphore.unwrap_or_else(|why| panic!("{why}")));
        semaphore.wait(0, || false);
        let first = waits(&semaphore, 5);
        semaphore.signal(4);
        semaphore.signal(7);
        first.join().unwrap();
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 7);
        let second = waits(&semaphore, 8);
        // Whoever writes the file need not wake anybody.
        file.write_all_at(&9_u64.to_ne_bytes(), 0).unwrap();
        second.join().unwrap();
        semaphore.wait(100, || true);
    }

    #[test]
    fn binary_ones_take_the_signal_away() {
        // SAFETY: a new descriptor, owned by nobody else.
        let counter = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) };
        for descriptor in [counter, memory_file(8).into()] {
            let semaphore = ExternalSemaphore::open(descriptor, SemaphoreKind::Binary);
            let semaphore = Arc::new(semaphore.unwrap_or_else(|why| panic!("{why}")));
            for _ in 0..2 {
                let thread = waits(&semaphore, 0);
                semaphore.signal(0);
                thread.join().unwrap();
            }
        }
    }

    #[test]
    fn other_descriptors_are_refused() {
        let open = |file: File, kind| ExternalSemaphore::open(file.into(), kind).is_ok();
        assert!(!open(memory_file(4), SemaphoreKind::Timeline));
        assert!(!open(File::open("/dev/null").unwrap(), SemaphoreKind::Binary));
        // SAFETY: a new descriptor, owned by nobody else.
        let counter = unsafe { File::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) };
        assert!(!open(counter, SemaphoreKind::Timeline));
    }
}
