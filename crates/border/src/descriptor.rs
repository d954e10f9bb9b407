//! File descriptors that a program hands over.
use std::io;
use std::marker::PhantomData;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::{Border, Refusal};

/// A descriptor of the program, by its number.
#[derive(Debug)]
pub struct GivenDescriptor<B> {
    number: i32,
    border: PhantomData<fn() -> B>,
}

impl<B: Border> GivenDescriptor<B> {
    /// What an argument says is one.
    pub fn new(number: i32) -> Self {
        GivenDescriptor { number, border: PhantomData }
    }

    /// A copy of it.
    pub fn copy(&self, name: &'static str) -> Result<OwnedFd, B::Error> {
        // SAFETY: asks the kernel for a copy of a descriptor, which it refuses for a number that is none.
        let copy = unsafe { libc::fcntl(self.number, libc::F_DUPFD_CLOEXEC, 0) };
        if copy >= 0 {
            // SAFETY: the copy is new and owned by nobody else.
            return Ok(unsafe { OwnedFd::from_raw_fd(copy) });
        }
        let error = io::Error::last_os_error();
        Err(B::refuse(match error.raw_os_error() {
            Some(libc::EBADF) => Refusal::NoDescriptor(name, self.number as usize),
            _ => Refusal::Host(name, error),
        }))
    }

    /// Closes it, where the manual says that the call takes it over.
    pub fn close(self) {
        // SAFETY: the program gave the descriptor away, and it was one when it was copied.
        unsafe { libc::close(self.number) };
    }
}
