//! Argument objects of the runtime API: those that all borders have, with its failures.
//!
//! Pointers that are only passed on to the driver stay raw pointers: it looks at them as it does at its own callers'.
use std::marker::PhantomData;

use warploom_abi::{CU_STREAM_PER_THREAD, CUstream};
use warploom_border::{Border, Refusal};

pub use warploom_border::{Destination, FromC, arg};

use crate::failure::Failure;

/// The border of the runtime API, by what it answers to arguments that cannot be used.
#[derive(Debug)]
pub enum Runtime {}

impl Border for Runtime {
    type Error = Failure;

    #[cold]
    #[inline(never)]
    fn refuse(refusal: Refusal) -> Failure {
        Failure::invalid_value(refusal.to_string())
    }
}

/// Where one result goes.
pub type Out<'a, T> = warploom_border::Out<'a, T, Runtime>;
/// A structure or value that is read and written.
pub type InOut<'a, T> = warploom_border::InOut<'a, T, Runtime>;
/// One structure that is read.
pub type In<'a, T> = warploom_border::In<'a, T, Runtime>;
/// Several values that are read.
pub type InArray<'a, T> = warploom_border::InArray<'a, T, Runtime>;
/// A string that ends in NUL.
pub type InStr<'a> = warploom_border::InStr<'a, Runtime>;

/// Whether a function with per-thread variants was called as one: which stream its stream 0 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultStream {
    /// The stream of the context that synchronises with all blocking streams.
    Legacy,
    /// The calling thread's own.
    PerThread,
}

impl DefaultStream {
    /// The stream that a caller means.
    #[inline]
    pub fn stream(self, stream: CUstream) -> CUstream {
        match self {
            DefaultStream::PerThread if stream == CUstream::NULL => CU_STREAM_PER_THREAD,
            _ => stream,
        }
    }
}

/// A pointer that is passed on to the driver, which looks at it as at its own callers'.
pub struct Passed<'a, T> {
    pointer: *mut T,
    lifetime: PhantomData<&'a mut T>,
}

impl<T> FromC<*mut T> for Passed<'_, T> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut T) -> Self {
        Passed { pointer, lifetime: PhantomData }
    }
}

impl<T> FromC<*const T> for Passed<'_, T> {
    #[inline(always)]
    unsafe fn from_c(pointer: *const T) -> Self {
        Passed { pointer: pointer.cast_mut(), lifetime: PhantomData }
    }
}

impl<'a, T> Passed<'a, T> {
    /// The pointer, NULL or not.
    #[inline]
    pub fn get(&self) -> *mut T {
        self.pointer
    }

    /// The same pointer to what the driver API has under another name.
    #[inline]
    pub fn cast<U>(&self) -> *mut U {
        self.pointer.cast()
    }

    /// A pointer in a structure of the caller's.
    pub(crate) fn of(pointer: *mut T) -> Self {
        Passed { pointer, lifetime: PhantomData }
    }

    /// A place in device memory.
    pub(crate) fn to_device(address: u64) -> Self {
        Passed { pointer: std::ptr::with_exposed_provenance_mut(address as usize), lifetime: PhantomData }
    }

    /// The place so many bytes behind it.
    pub(crate) fn behind(&self, bytes: usize) -> Self {
        Passed { pointer: self.pointer.wrapping_byte_add(bytes), lifetime: PhantomData }
    }

    /// The same pointer as the place for a result.
    pub(crate) fn result<U>(self) -> Out<'a, U> {
        // SAFETY: what holds for the pointer holds for it as a place for a result.
        unsafe { arg(self.pointer.cast::<U>()) }
    }

    /// What it points to, as a structure that is read.
    pub fn structure(&self) -> In<'a, T> {
        // SAFETY: what holds for the pointer holds for it as one to a structure.
        unsafe { arg(self.pointer.cast_const()) }
    }

    /// Its address, which may be one in device memory.
    #[inline]
    pub fn addr(&self) -> u64 {
        self.pointer.expose_provenance() as u64
    }
}
