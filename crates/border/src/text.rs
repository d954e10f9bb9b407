//! Strings that go in and out.
use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use crate::arguments::Borrowed;
use crate::{Border, FromC, Refusal};

/// A C string that goes in.
pub struct InStr<'a, B> {
    pointer: *const c_char,
    lifetime: Borrowed<&'a c_char, B>,
}

impl<B> FromC<*const c_char> for InStr<'_, B> {
    #[inline(always)]
    unsafe fn from_c(pointer: *const c_char) -> Self {
        InStr { pointer, lifetime: PhantomData }
    }
}

impl<'a, B: Border> InStr<'a, B> {
    /// The string, which must be there.
    pub fn get(&self, name: &'static str) -> Result<&'a CStr, B::Error> {
        self.optional().ok_or_else(|| B::refuse(Refusal::Null(name)))
    }

    /// The string, if the caller gave one.
    pub fn optional(&self) -> Option<&'a CStr> {
        // SAFETY: not NULL, and by `FromC` a string that ends in NUL and lives as long as the call.
        (!self.pointer.is_null()).then(|| unsafe { CStr::from_ptr(self.pointer) })
    }

    /// The string up to its NUL, or None if it is NULL or longer than `longest` bytes: nothing behind that is read.
    #[inline]
    pub fn up_to(&self, longest: usize) -> Option<&'a [u8]> {
        if self.pointer.is_null() {
            return None;
        }
        // SAFETY: not NULL; strnlen reads up to the NUL or `longest + 1` bytes, whatever comes first; the bytes up to there
        // were just read.
        unsafe {
            let len = libc::strnlen(self.pointer, longest + 1);
            (len <= longest).then(|| std::slice::from_raw_parts(self.pointer.cast(), len))
        }
    }

    /// Whether the caller gave none.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
}

/// A buffer for text; its size says another argument.
pub struct OutStr<'a, B> {
    pointer: *mut c_char,
    lifetime: Borrowed<&'a mut c_char, B>,
}

impl<B> FromC<*mut c_char> for OutStr<'_, B> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut c_char) -> Self {
        OutStr { pointer, lifetime: PhantomData }
    }
}

impl<B: Border> OutStr<'_, B> {
    /// Whether the caller gave none.
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Writes as much of `text` as fits `size` bytes, and a NUL always. Nothing behind the NUL is touched.
    pub fn write(&self, name: &'static str, size: usize, text: &[u8]) -> Result<(), B::Error> {
        if self.pointer.is_null() {
            return Err(B::refuse(Refusal::Null(name)));
        }
        let Some(room) = size.checked_sub(1) else {
            return Err(B::refuse(Refusal::NoRoom(name)));
        };
        let len = text.len().min(room);
        // SAFETY: not NULL, and by `FromC` good for `size` bytes; len + 1 <= size.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.pointer.cast(), len);
            self.pointer.add(len).write(0);
        }
        Ok(())
    }
}

/// Where a pointer to a string goes that the driver keeps.
pub struct OutCStr<'a, B> {
    pointer: *mut *const c_char,
    lifetime: Borrowed<&'a mut *const c_char, B>,
}

impl<B> FromC<*mut *const c_char> for OutCStr<'_, B> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut *const c_char) -> Self {
        OutCStr { pointer, lifetime: PhantomData }
    }
}

impl<B: Border> OutCStr<'_, B> {
    /// Whether the caller gave none.
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Hands out `text`, or NULL. The text lives as long as the documentation promises: its owner sees to that.
    pub fn set(&self, name: &'static str, text: Option<&CStr>) -> Result<(), B::Error> {
        if self.pointer.is_null() {
            return Err(B::refuse(Refusal::Null(name)));
        }
        // SAFETY: not NULL, and by `FromC` good for a write of one pointer, at any alignment.
        unsafe { self.pointer.write_unaligned(text.map_or(std::ptr::null(), CStr::as_ptr)) }
        Ok(())
    }
}
