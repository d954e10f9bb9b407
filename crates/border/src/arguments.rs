//! Argument objects: what a raw C argument may be used for, decided by the type that a handler asks for.
//!
//! Only this crate turns a caller's pointers into values. An output is written when the handler says so, which is on
//! success; nothing is assumed about alignment, as x86 callers of the real driver get away with none.
use std::ffi::c_void;
use std::marker::PhantomData;

use crate::{Border, HostAddress, HostPtr, Refusal};

/// What an argument object holds of the caller, and for which border.
pub(crate) type Borrowed<T, B> = PhantomData<(T, fn() -> B)>;

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

/// Numbers, handles and structures by value go through as they are.
impl<T> FromC<T> for T {
    #[inline(always)]
    unsafe fn from_c(c: T) -> T {
        c
    }
}

macro_rules! pointer_argument {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<'a, T, B> {
            pointer: *mut T,
            lifetime: Borrowed<&'a mut T, B>,
        }

        impl<T, B> FromC<*mut T> for $name<'_, T, B> {
            #[inline(always)]
            unsafe fn from_c(pointer: *mut T) -> Self {
                $name { pointer, lifetime: PhantomData }
            }
        }
    };
}

macro_rules! also_from_const {
    ($name:ident) => {
        impl<T, B> FromC<*const T> for $name<'_, T, B> {
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
    /// Where several results go; how many fit says another argument.
    OutArray
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
    /// Several values that are read and written; how many says another argument.
    InOutArray
}
also_from_const!(In);
also_from_const!(InOut);
also_from_const!(InArray);

impl<'a, T, B: Border> Out<'a, T, B> {
    /// The place that a caller did not give.
    pub fn none() -> Self {
        Out { pointer: std::ptr::null_mut(), lifetime: PhantomData }
    }

    /// The place, which must be there.
    #[inline]
    pub fn required(self, name: &'static str) -> Result<Destination<'a, T>, B::Error> {
        self.optional().ok_or_else(|| B::refuse(Refusal::Null(name)))
    }

    /// The place, if the caller gave one.
    #[inline]
    pub fn optional(self) -> Option<Destination<'a, T>> {
        (!self.pointer.is_null()).then_some(Destination { pointer: self.pointer, lifetime: PhantomData })
    }

    /// Whether the caller gave none.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
}

/// A place for one result that is there.
pub struct Destination<'a, T> {
    pointer: *mut T,
    lifetime: PhantomData<&'a mut T>,
}

impl<T> Destination<'_, T> {
    /// Writes the result.
    #[inline]
    pub fn set(self, value: T) {
        // SAFETY: not NULL, and by `FromC` good for a write of T during the call, at any alignment.
        unsafe { self.pointer.write_unaligned(value) }
    }
}

impl<T: Copy> Destination<'_, T> {
    /// Writes the first bytes of the result: for structures that were shorter once.
    pub fn set_start<const BYTES: usize>(self, value: &T) {
        const { assert!(BYTES <= size_of::<T>()) };
        // SAFETY: not NULL, and by `FromC` good for a write of as many bytes; the source is longer, and both are bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), self.pointer.cast::<u8>(), BYTES)
        }
    }
}

impl<T: Copy, B: Border> InOut<'_, T, B> {
    /// The value on entry; the pointer must be there.
    #[inline]
    pub fn get(&self, name: &'static str) -> Result<T, B::Error> {
        if self.pointer.is_null() {
            return Err(B::refuse(Refusal::Null(name)));
        }
        // SAFETY: not NULL, and by `FromC` good for a read of T during the call, at any alignment.
        Ok(unsafe { self.pointer.read_unaligned() })
    }

    /// Whether the caller gave none.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
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

impl<T: Copy, B: Border> OutArray<'_, T, B> {
    /// Whether the caller gave none.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Writes `values` from the start on, at most `capacity` of them: the number that the caller said would fit.
    pub fn write(&self, name: &'static str, capacity: usize, values: &[T]) -> Result<(), B::Error> {
        let count = values.len().min(capacity);
        if count == 0 {
            return Ok(());
        }
        if self.pointer.is_null() {
            return Err(B::refuse(Refusal::Null(name)));
        }
        // SAFETY: not NULL, by `FromC` good for `capacity` values, and copied as bytes, so alignment does not matter.
        unsafe {
            std::ptr::copy_nonoverlapping(
                values.as_ptr().cast::<u8>(),
                self.pointer.cast::<u8>(),
                count * size_of::<T>(),
            );
        }
        Ok(())
    }

    /// What stands in element `index`, which the caller said is there: some functions are asked in the places for their results.
    pub fn at(&self, name: &'static str, index: usize) -> Result<T, B::Error> {
        if self.pointer.is_null() {
            return Err(B::refuse(Refusal::Null(name)));
        }
        // SAFETY: not NULL, and by `FromC` and the caller's count the element is there, at any alignment.
        Ok(unsafe { self.pointer.add(index).read_unaligned() })
    }

    /// Writes the element `index`, which the caller said would fit; does nothing without a pointer.
    pub fn set(&self, index: usize, value: T) {
        if !self.pointer.is_null() {
            // SAFETY: not NULL, and by `FromC` and the caller's count the element is there, at any alignment.
            unsafe { self.pointer.add(index).write_unaligned(value) }
        }
    }
}

impl<T: Copy, B: Border> In<'_, T, B> {
    /// A copy of the structure, which must be there.
    #[inline]
    pub fn get(&self, name: &'static str) -> Result<T, B::Error> {
        self.optional().ok_or_else(|| B::refuse(Refusal::Null(name)))
    }

    /// A copy of the structure, if the caller gave one.
    #[inline]
    pub fn optional(&self) -> Option<T> {
        // SAFETY: not NULL, and by `FromC` good for a read of T during the call, at any alignment.
        (!self.pointer.is_null()).then(|| unsafe { self.pointer.read_unaligned() })
    }
}

impl<T, B> In<'_, T, B> {
    /// Whether the caller gave none.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
}

impl<T: Copy + Default, B: Border> In<'_, T, B> {
    /// The value of a structure that was shorter once, of which the caller has the first bytes; the pointer must be there.
    pub fn start<const BYTES: usize>(&self, name: &'static str) -> Result<T, B::Error> {
        const { assert!(BYTES <= size_of::<T>()) };
        if self.pointer.is_null() {
            return Err(B::refuse(Refusal::Null(name)));
        }
        let mut value = T::default();
        // SAFETY: not NULL, and by `FromC` good for a read of as many bytes; the target is longer, and both are bytes.
        unsafe { std::ptr::copy_nonoverlapping(self.pointer.cast::<u8>(), (&raw mut value).cast::<u8>(), BYTES) };
        Ok(value)
    }
}

impl<T, B> InArray<'_, T, B> {
    /// The list that a caller did not give.
    pub fn none() -> Self {
        InArray { pointer: std::ptr::null_mut(), lifetime: PhantomData }
    }
}

/// A list that the documentation lets the program keep alive beyond the call, because the driver comes back to it.
pub struct Kept<T, B> {
    address: usize,
    values: PhantomData<fn(T) -> (T, B)>,
}

impl<T, B> Kept<T, B> {
    /// The list again.
    pub fn list(&self) -> InArray<'_, T, B> {
        InArray { pointer: std::ptr::with_exposed_provenance_mut(self.address), lifetime: PhantomData }
    }
}

impl<T, B> InArray<'_, T, B> {
    /// Keeps the list beyond the call.
    pub fn keep(&self) -> Kept<T, B> {
        Kept { address: self.pointer.expose_provenance(), values: PhantomData }
    }
}

impl<T: Copy, B: Border> InArray<'_, T, B> {
    /// Whether the caller gave none.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Copies of the first `count` values; without values the pointer does not matter.
    pub fn get(&self, count: usize, name: &'static str) -> Result<Vec<T>, B::Error> {
        if count > 0 && self.pointer.is_null() {
            return Err(B::refuse(Refusal::Null(name)));
        }
        // SAFETY: not NULL if count > 0, and by `FromC` good for reads of `count` values, at any alignment.
        Ok((0..count).map(|index| unsafe { self.pointer.add(index).read_unaligned() }).collect())
    }

    /// A copy of the value `index`, which the caller of the C function said is there.
    #[inline]
    pub fn at(&self, name: &'static str, index: usize) -> Result<T, B::Error> {
        if self.pointer.is_null() {
            return Err(B::refuse(Refusal::Null(name)));
        }
        // SAFETY: not NULL, and by `FromC` good for a read of the element `index`, at any alignment.
        Ok(unsafe { self.pointer.add(index).read_unaligned() })
    }
}

impl<T: Copy, B: Border> InOutArray<'_, T, B> {
    /// Copies of the first `count` values; without values the pointer does not matter.
    pub fn get(&self, count: usize, name: &'static str) -> Result<Vec<T>, B::Error> {
        InArray { pointer: self.pointer, lifetime: self.lifetime }.get(count, name)
    }

    /// Writes the element `index`, which the caller said is there.
    pub fn set(&self, index: usize, value: T) {
        OutArray { pointer: self.pointer, lifetime: self.lifetime }.set(index, value);
    }
}

impl<B> InArray<'_, HostPtr<B>, B> {
    /// Writes a number back as the value `index`: some functions return results in their inputs (the option values of the JIT).
    pub fn write_back_number(&self, index: usize, value: usize) {
        if !self.pointer.is_null() {
            // SAFETY: not NULL, and by `FromC` good for the element `index`, which is as large as an address, at any alignment.
            unsafe { self.pointer.cast::<HostAddress>().add(index).write_unaligned(HostAddress(value)) }
        }
    }
}

impl<B> FromC<*mut *mut c_void> for Out<'_, HostAddress, B> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut *mut c_void) -> Self {
        Out { pointer: pointer.cast(), lifetime: PhantomData }
    }
}

impl<B> FromC<*mut *const c_void> for Out<'_, HostAddress, B> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut *const c_void) -> Self {
        Out { pointer: pointer.cast(), lifetime: PhantomData }
    }
}

impl<B> FromC<*mut *mut c_void> for InArray<'_, HostPtr<B>, B> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut *mut c_void) -> Self {
        InArray { pointer: pointer.cast(), lifetime: PhantomData }
    }
}
