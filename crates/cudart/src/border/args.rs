//! Argument objects: what a raw C argument may be used for, decided by the type that a handler asks for.
//!
//! Pointers that are only passed on to the driver stay raw pointers: it looks at them as it does at its own callers'.
use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use warploom_abi::{CU_STREAM_PER_THREAD, CUstream};

use crate::failure::{ApiResult, Failure};

/// Makes the argument object `Self` of the C argument `C`.
pub trait FromC<C>: Sized {
    /// # Safety
    /// `c` is as the prototype in the manual has it: a pointer is NULL, or stays good for its use during the call.
    unsafe fn from_c(c: C) -> Self;
}

/// Converts one argument of an export; the handler's parameter type chooses how.
///
/// # Safety
/// As for [`FromC::from_c`].
#[inline(always)]
pub unsafe fn arg<C, A: FromC<C>>(c: C) -> A {
    // SAFETY: the caller vouches for `c`.
    unsafe { A::from_c(c) }
}

/// Numbers, handles, structures by value and pointers that are passed on go through as they are.
impl<T> FromC<T> for T {
    #[inline(always)]
    unsafe fn from_c(c: T) -> T {
        c
    }
}

/// What `name` being NULL answers.
#[cold]
#[inline(never)]
fn null(name: &'static str) -> Failure {
    Failure::invalid_value(format!("{name} is NULL"))
}

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

macro_rules! pointer_argument {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<'a, T> {
            pointer: *mut T,
            lifetime: PhantomData<&'a mut T>,
        }

        impl<T> FromC<*mut T> for $name<'_, T> {
            #[inline(always)]
            unsafe fn from_c(pointer: *mut T) -> Self {
                $name { pointer, lifetime: PhantomData }
            }
        }
    };
}

macro_rules! also_from_const {
    ($name:ident) => {
        impl<T> FromC<*const T> for $name<'_, T> {
            #[inline(always)]
            unsafe fn from_c(pointer: *const T) -> Self {
                $name { pointer: pointer.cast_mut(), lifetime: PhantomData }
            }
        }
    };
}

pointer_argument! {
    /// Where one result goes. May be NULL until [`Out::required`] or [`Out::optional`] looked.
    Out
}
pointer_argument! {
    /// A structure or value that is read and written.
    InOut
}
pointer_argument! {
    /// One structure that is read.
    In
}
pointer_argument! {
    /// Several values that are read; how many says another argument.
    InArray
}
pointer_argument! {
    /// A pointer that is passed on to the driver, which looks at it as at its own callers'.
    Passed
}
also_from_const!(Passed);
also_from_const!(In);
also_from_const!(InArray);

impl<'a, T> Out<'a, T> {
    /// The place, which must be there.
    #[inline]
    pub fn required(self, name: &'static str) -> ApiResult<Place<'a, T>> {
        self.optional().ok_or_else(|| null(name))
    }

    /// The place, if the caller gave one.
    #[inline]
    pub fn optional(self) -> Option<Place<'a, T>> {
        (!self.pointer.is_null()).then_some(Place { pointer: self.pointer, lifetime: PhantomData })
    }
}

/// A place for one result that is there.
pub struct Place<'a, T> {
    pointer: *mut T,
    lifetime: PhantomData<&'a mut T>,
}

impl<T> Place<'_, T> {
    /// Writes the result.
    #[inline]
    pub fn set(self, value: T) {
        // SAFETY: not NULL, and by `FromC` good for a write of T during the call, at any alignment.
        unsafe { self.pointer.write_unaligned(value) }
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
        Out { pointer: self.pointer.cast(), lifetime: PhantomData }
    }

    /// Its address, which may be one in device memory.
    #[inline]
    pub fn addr(&self) -> u64 {
        self.pointer.expose_provenance() as u64
    }
}

impl<T: Copy> Place<'_, T> {
    /// Writes the first bytes of the result: for structures that were shorter once.
    pub fn set_start<const BYTES: usize>(self, value: &T) {
        const { assert!(BYTES <= size_of::<T>()) };
        // SAFETY: not NULL, and by `FromC` good for a write of as many bytes; the source is longer, and both are bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), self.pointer.cast::<u8>(), BYTES)
        }
    }
}

impl<T: Copy> InOut<'_, T> {
    /// The value on entry; the pointer must be there.
    #[inline]
    pub fn get(&self, name: &'static str) -> ApiResult<T> {
        if self.pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL, and by `FromC` good for a read of T during the call, at any alignment.
        Ok(unsafe { self.pointer.read_unaligned() })
    }

    /// Writes the new value; does nothing without a pointer.
    #[inline]
    pub fn set(&self, value: T) {
        if !self.pointer.is_null() {
            // SAFETY: not NULL, and by `FromC` good for a write of T during the call, at any alignment.
            unsafe { self.pointer.write_unaligned(value) }
        }
    }
}

impl<T: Copy> In<'_, T> {
    /// The value; the pointer must be there.
    #[inline]
    pub fn get(&self, name: &'static str) -> ApiResult<T> {
        self.optional().ok_or_else(|| null(name))
    }

    /// The value, if the caller gave one.
    #[inline]
    pub fn optional(&self) -> Option<T> {
        // SAFETY: not NULL, and by `FromC` good for a read of T during the call, at any alignment.
        (!self.pointer.is_null()).then(|| unsafe { self.pointer.read_unaligned() })
    }
}

impl<T: Copy + Default> In<'_, T> {
    /// The value of a structure that was shorter once, of which the caller has the first bytes; the pointer must be there.
    pub fn start<const BYTES: usize>(&self, name: &'static str) -> ApiResult<T> {
        const { assert!(BYTES <= size_of::<T>()) };
        if self.pointer.is_null() {
            return Err(null(name));
        }
        let mut value = T::default();
        // SAFETY: not NULL, and by `FromC` good for a read of as many bytes; the target is longer, and both are bytes.
        unsafe { std::ptr::copy_nonoverlapping(self.pointer.cast::<u8>(), (&raw mut value).cast::<u8>(), BYTES) };
        Ok(value)
    }

    /// Whether the caller gave none.
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
}

impl<T: Copy> InArray<'_, T> {
    /// The first `count` values; without any, the pointer may be NULL.
    pub fn get(&self, count: usize, name: &'static str) -> ApiResult<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL, and by `FromC` good for reads of as many T as the other argument says, at any alignment.
        Ok((0..count).map(|index| unsafe { self.pointer.add(index).read_unaligned() }).collect())
    }
}

/// A string that ends in NUL.
pub struct InStr<'a> {
    text: Option<&'a CStr>,
}

impl FromC<*const c_char> for InStr<'_> {
    #[inline]
    unsafe fn from_c(pointer: *const c_char) -> Self {
        // SAFETY: not NULL, and by `FromC` a string that ends in NUL and lives through the call.
        InStr { text: (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }) }
    }
}

impl<'a> InStr<'a> {
    /// The string, which must be there.
    pub fn get(&self, name: &'static str) -> ApiResult<&'a CStr> {
        self.text.ok_or_else(|| null(name))
    }
}
