//! Addresses of the caller's memory.
use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use crate::{Border, FromC, GivenDescriptor, Refusal};

/// An address that goes out, or is handed back later. It is only a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct HostAddress(pub usize);

/// An address of the host's memory that a C caller gave: what is there may be read and written as the manual says. Only C arguments become one, so what holds
/// one may use it.
#[derive(Debug)]
#[repr(transparent)]
pub struct HostPtr<B> {
    address: usize,
    border: PhantomData<fn() -> B>,
}

impl<B> Clone for HostPtr<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for HostPtr<B> {}

impl<B> HostPtr<B> {
    /// The address.
    #[inline]
    pub const fn addr(self) -> usize {
        self.address
    }

    /// Whether it is NULL.
    #[inline]
    pub const fn is_null(self) -> bool {
        self.address == 0
    }
}

impl<B: Border> HostPtr<B> {
    /// The address, which must not be NULL.
    #[inline]
    pub fn required(self, name: &'static str) -> Result<usize, B::Error> {
        if self.is_null() { Err(B::refuse(Refusal::Null(name))) } else { Ok(self.address) }
    }

    /// A copy of the file descriptor that a program has passed as a pointer.
    pub fn descriptor(self, name: &'static str) -> Result<OwnedFd, B::Error> {
        match i32::try_from(self.address) {
            Ok(number) => GivenDescriptor::<B>::new(number).copy(name),
            Err(_) => Err(B::refuse(Refusal::NoDescriptor(name, self.address))),
        }
    }

    /// Writes a value here, which the C caller promised to be a place for one.
    pub fn write<T: Copy>(self, name: &'static str, value: T) -> Result<(), B::Error> {
        self.write_at(name, 0, value)
    }

    /// Writes element `index` of the values for which the C caller promised places here.
    pub fn write_at<T: Copy>(self, name: &'static str, index: usize, value: T) -> Result<(), B::Error> {
        let start = std::ptr::with_exposed_provenance_mut::<T>(self.required(name)?);
        // SAFETY: not NULL; the C caller promised places for as many values of this type, at any alignment.
        unsafe { start.add(index).write_unaligned(value) }
        Ok(())
    }

    /// The number or structure that is here, which the C caller promised to be readable.
    pub fn read<T: Copy>(self, name: &'static str) -> Result<T, B::Error> {
        let address = self.required(name)?;
        // SAFETY: not NULL; the C caller promised a value of this type, at any alignment.
        Ok(unsafe { std::ptr::with_exposed_provenance::<T>(address).read_unaligned() })
    }

    /// Writes bytes here, for which the C caller promised room.
    pub fn write_bytes(self, name: &'static str, bytes: &[u8]) -> Result<(), B::Error> {
        let address = self.required(name)?;
        // SAFETY: not NULL; the C caller promised room for so many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), std::ptr::with_exposed_provenance_mut(address), bytes.len());
        }
        Ok(())
    }

    /// A copy of `len` bytes from here, which the C caller promised to be readable.
    pub fn read_bytes(self, name: &'static str, len: usize) -> Result<Vec<u8>, B::Error> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|error| B::refuse(Refusal::TooLarge(name, len, error)))?;
        bytes.resize(len, 0);
        self.read_into(name, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills `place` with what lies here, which the C caller promised to be readable.
    #[inline]
    pub fn read_into(self, name: &'static str, place: &mut [u8]) -> Result<(), B::Error> {
        if place.is_empty() {
            return Ok(());
        }
        let source = std::ptr::with_exposed_provenance::<u8>(self.required(name)?);
        // SAFETY: `from_c` of the pointer was told that the range is readable during the call; the place is our own.
        unsafe { std::ptr::copy_nonoverlapping(source, place.as_mut_ptr(), place.len()) };
        Ok(())
    }
}

macro_rules! host_pointer_from {
    ($($pointer:ty),*) => {$(
        impl<B> FromC<$pointer> for HostPtr<B> {
            #[inline(always)]
            unsafe fn from_c(pointer: $pointer) -> Self {
                HostPtr { address: pointer.expose_provenance(), border: PhantomData }
            }
        }
    )*};
}
host_pointer_from!(*mut c_void, *const c_void);

impl FromC<*mut c_void> for HostAddress {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut c_void) -> Self {
        HostAddress(pointer.expose_provenance())
    }
}

/// The number of a descriptor that becomes the program's, and that of programs that it becomes (`execve`).
pub fn inherited(descriptor: OwnedFd) -> io::Result<i32> {
    // SAFETY: sets a flag of a descriptor that is ours.
    if unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(descriptor.into_raw_fd())
}
