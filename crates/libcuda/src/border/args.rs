//! Argument objects: what a raw C argument may be used for, decided by the type that a handler asks for.
//!
//! This is the only file that turns a caller's pointers into values. An output is written when the handler says so, which is on
//! success; nothing is assumed about alignment, as x86 callers of the real driver get away with none.
use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use warploom_driver::{DriverError, DriverResult, ErrorCode};

/// Makes the argument object `Self` of the C argument `C`.
pub(crate) trait FromC<C>: Sized {
    /// # Safety
    /// `c` is as the prototype in the manual has it: a pointer is NULL, or stays good for its use during the call.
    unsafe fn from_c(c: C) -> Self;
}

/// Converts one argument of an export; the handler's parameter type chooses how.
///
/// # Safety
/// As for [`FromC::from_c`].
#[inline(always)]
pub(crate) unsafe fn arg<C, A: FromC<C>>(c: C) -> A {
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

/// What `name` being NULL answers.
#[cold]
#[inline(never)]
fn null(name: &'static str) -> DriverError {
    DriverError::invalid_value(format!("{name} is NULL"))
}

/// Refuses flags of a function that has none.
pub(crate) fn no_flags(flags: u64) -> DriverResult {
    if flags == 0 { Ok(()) } else { Err(DriverError::invalid_value(format!("flags is {flags:#x}, must be 0"))) }
}

/// Whether a function with per-thread variants was called as one: which stream its stream 0 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultStream {
    /// The stream of the context that synchronises with all blocking streams.
    Legacy,
    /// The calling thread's own.
    PerThread,
}

macro_rules! pointer_argument {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub(crate) struct $name<'a, T> {
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
also_from_const!(In);
also_from_const!(InArray);

impl<'a, T> Out<'a, T> {
    /// The place that a caller did not give.
    pub(crate) fn none() -> Self {
        Out { pointer: std::ptr::null_mut(), lifetime: PhantomData }
    }

    /// The place, which must be there.
    #[inline]
    pub(crate) fn required(self, name: &'static str) -> DriverResult<Place<'a, T>> {
        self.optional().ok_or_else(|| null(name))
    }

    /// The place, if the caller gave one.
    #[inline]
    pub(crate) fn optional(self) -> Option<Place<'a, T>> {
        (!self.pointer.is_null()).then_some(Place { pointer: self.pointer, lifetime: PhantomData })
    }

    /// Whether the caller gave none.
    #[inline]
    pub(crate) fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
}

/// A place for one result that is there.
pub(crate) struct Place<'a, T> {
    pointer: *mut T,
    lifetime: PhantomData<&'a mut T>,
}

impl<T> Place<'_, T> {
    /// Writes the result.
    #[inline]
    pub(crate) fn set(self, value: T) {
        // SAFETY: not NULL, and by `FromC` good for a write of T during the call, at any alignment.
        unsafe { self.pointer.write_unaligned(value) }
    }
}

impl<T: Copy> InOut<'_, T> {
    /// The value on entry; the pointer must be there.
    #[inline]
    pub(crate) fn get(&self, name: &'static str) -> DriverResult<T> {
        if self.pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL, and by `FromC` good for a read of T during the call, at any alignment.
        Ok(unsafe { self.pointer.read_unaligned() })
    }

    /// Whether the caller gave none.
    #[inline]
    pub(crate) fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Writes the new value; does nothing without a pointer.
    #[inline]
    pub(crate) fn set(&self, value: T) {
        if !self.pointer.is_null() {
            // SAFETY: not NULL, and by `FromC` good for a write of T during the call, at any alignment.
            unsafe { self.pointer.write_unaligned(value) }
        }
    }
}

impl<T: Copy> OutArray<'_, T> {
    /// Whether the caller gave none.
    #[inline]
    pub(crate) fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Writes `values` from the start on, at most `capacity` of them: the number that the caller said would fit.
    pub(crate) fn write(&self, name: &'static str, capacity: usize, values: &[T]) -> DriverResult {
        let count = values.len().min(capacity);
        if count == 0 {
            return Ok(());
        }
        if self.pointer.is_null() {
            return Err(null(name));
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

    /// Writes the element `index`, which the caller said would fit; does nothing without a pointer.
    pub(crate) fn set(&self, index: usize, value: T) {
        if !self.pointer.is_null() {
            // SAFETY: not NULL, and by `FromC` and the caller's count the element is there, at any alignment.
            unsafe { self.pointer.add(index).write_unaligned(value) }
        }
    }
}

impl<T: Copy> In<'_, T> {
    /// A copy of the structure, which must be there.
    #[inline]
    pub(crate) fn required(&self, name: &'static str) -> DriverResult<T> {
        self.optional().ok_or_else(|| null(name))
    }

    /// A copy of the structure, if the caller gave one.
    #[inline]
    pub(crate) fn optional(&self) -> Option<T> {
        // SAFETY: not NULL, and by `FromC` good for a read of T during the call, at any alignment.
        (!self.pointer.is_null()).then(|| unsafe { self.pointer.read_unaligned() })
    }
}

impl<T> InArray<'_, T> {
    /// The list that a caller did not give.
    pub(crate) fn none() -> Self {
        InArray { pointer: std::ptr::null_mut(), lifetime: PhantomData }
    }
}

/// A list that the documentation lets the program keep alive beyond the call, because the driver comes back to it.
pub(crate) struct Kept<T> {
    address: usize,
    values: PhantomData<fn(T) -> T>,
}

impl<T> Kept<T> {
    /// The list again.
    pub(crate) fn list(&self) -> InArray<'_, T> {
        InArray { pointer: std::ptr::with_exposed_provenance_mut(self.address), lifetime: PhantomData }
    }
}

impl<T> InArray<'_, T> {
    /// Keeps the list beyond the call.
    pub(crate) fn keep(&self) -> Kept<T> {
        Kept { address: self.pointer.expose_provenance(), values: PhantomData }
    }
}

impl<T: Copy> InArray<'_, T> {
    /// Whether the caller gave none.
    #[inline]
    pub(crate) fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Copies of the first `count` values; without values the pointer does not matter.
    pub(crate) fn read(&self, name: &'static str, count: usize) -> DriverResult<Vec<T>> {
        if count > 0 && self.pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL if count > 0, and by `FromC` good for reads of `count` values, at any alignment.
        Ok((0..count).map(|index| unsafe { self.pointer.add(index).read_unaligned() }).collect())
    }

    /// A copy of the value `index`, which the caller of the C function said is there.
    #[inline]
    pub(crate) fn at(&self, name: &'static str, index: usize) -> DriverResult<T> {
        if self.pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL, and by `FromC` good for a read of the element `index`, at any alignment.
        Ok(unsafe { self.pointer.add(index).read_unaligned() })
    }

    /// Writes back the value `index`: some functions return results in their inputs (the option values of the JIT).
    pub(crate) fn write_back(&self, index: usize, value: T) {
        if !self.pointer.is_null() {
            // SAFETY: not NULL, and by `FromC` good for the element `index`, at any alignment.
            unsafe { self.pointer.add(index).write_unaligned(value) }
        }
    }
}

/// An address of the host's memory that the driver reads, writes or hands back, and that is not looked at here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct HostPtr(usize);

/// The number of a descriptor that becomes the program's, and that of programs that it becomes (`execve`).
pub(crate) fn inherited(descriptor: OwnedFd) -> DriverResult<i32> {
    // SAFETY: sets a flag of a descriptor that is ours.
    if unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) } != 0 {
        let reason = format!("a descriptor cannot be inherited: {}", std::io::Error::last_os_error());
        return Err(DriverError::new(ErrorCode::OperatingSystem, reason));
    }
    Ok(descriptor.into_raw_fd())
}

impl HostPtr {
    /// The pointer to `address`.
    #[inline]
    pub(crate) const fn new(address: usize) -> Self {
        HostPtr(address)
    }

    /// The address.
    #[inline]
    pub(crate) const fn addr(self) -> usize {
        self.0
    }

    /// Whether it is NULL.
    #[inline]
    pub(crate) const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address, which must not be NULL.
    #[inline]
    pub(crate) fn required(self, name: &'static str) -> DriverResult<usize> {
        if self.is_null() { Err(null(name)) } else { Ok(self.0) }
    }

    /// A copy of the file descriptor that a program has passed as a pointer.
    pub(crate) fn descriptor(self, name: &'static str) -> DriverResult<OwnedFd> {
        let copy = i32::try_from(self.0).ok().map(|number| {
            // SAFETY: asks the kernel for a copy of a descriptor, which it refuses for a number that is none.
            unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) }
        });
        match copy {
            // SAFETY: the copy is new and owned by nobody else.
            Some(copy @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(copy) }),
            Some(_) if std::io::Error::last_os_error().raw_os_error() != Some(libc::EBADF) => {
                let reason = format!("{name}: {}", std::io::Error::last_os_error());
                Err(DriverError::new(ErrorCode::OperatingSystem, reason))
            }
            _ => Err(DriverError::invalid_value(format!("{name} is {:#x}, which is no file descriptor", self.0))),
        }
    }

    /// Writes a value here, which the C caller promised to be a place for one.
    pub(crate) fn write<T: Copy>(self, name: &'static str, value: T) -> DriverResult {
        let address = self.required(name)?;
        // SAFETY: not NULL; the C caller promised a place for a value of this type, at any alignment.
        unsafe { std::ptr::with_exposed_provenance_mut::<T>(address).write_unaligned(value) }
        Ok(())
    }

    /// The number or structure that is here, which the C caller promised to be readable.
    pub(crate) fn read<T: Copy>(self, name: &'static str) -> DriverResult<T> {
        let address = self.required(name)?;
        // SAFETY: not NULL; the C caller promised a value of this type, at any alignment.
        Ok(unsafe { std::ptr::with_exposed_provenance::<T>(address).read_unaligned() })
    }

    /// Writes bytes here, for which the C caller promised room.
    pub(crate) fn write_bytes(self, name: &'static str, bytes: &[u8]) -> DriverResult {
        let address = self.required(name)?;
        // SAFETY: not NULL; the C caller promised room for so many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), std::ptr::with_exposed_provenance_mut(address), bytes.len());
        }
        Ok(())
    }

    /// A copy of `len` bytes from here, which the C caller promised to be readable.
    pub(crate) fn read_bytes(self, name: &'static str, len: usize) -> DriverResult<Vec<u8>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|error| {
            DriverError::new(ErrorCode::OutOfMemory, format!("no room for the {len} bytes of {name}: {error}"))
        })?;
        bytes.resize(len, 0);
        self.read_into(name, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills `place` with what lies here, which the C caller promised to be readable.
    #[inline]
    pub(crate) fn read_into(self, name: &'static str, place: &mut [u8]) -> DriverResult {
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
        impl FromC<$pointer> for HostPtr {
            #[inline(always)]
            unsafe fn from_c(pointer: $pointer) -> Self {
                HostPtr(pointer.expose_provenance())
            }
        }
    )*};
}
host_pointer_from!(*mut c_void, *const c_void);

impl FromC<*mut *mut c_void> for Out<'_, HostPtr> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut *mut c_void) -> Self {
        Out { pointer: pointer.cast(), lifetime: PhantomData }
    }
}

impl FromC<*mut *const c_void> for Out<'_, HostPtr> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut *const c_void) -> Self {
        Out { pointer: pointer.cast(), lifetime: PhantomData }
    }
}

impl FromC<*mut *mut c_void> for InArray<'_, HostPtr> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut *mut c_void) -> Self {
        InArray { pointer: pointer.cast(), lifetime: PhantomData }
    }
}

/// A C string that goes in.
pub(crate) struct InStr<'a> {
    pointer: *const c_char,
    lifetime: PhantomData<&'a c_char>,
}

impl FromC<*const c_char> for InStr<'_> {
    #[inline(always)]
    unsafe fn from_c(pointer: *const c_char) -> Self {
        InStr { pointer, lifetime: PhantomData }
    }
}

impl<'a> InStr<'a> {
    /// The string, which must be there.
    pub(crate) fn required(&self, name: &'static str) -> DriverResult<&'a CStr> {
        self.optional().ok_or_else(|| null(name))
    }

    /// The string, if the caller gave one.
    pub(crate) fn optional(&self) -> Option<&'a CStr> {
        // SAFETY: not NULL, and by `FromC` a string that ends in NUL and lives as long as the call.
        (!self.pointer.is_null()).then(|| unsafe { CStr::from_ptr(self.pointer) })
    }

    /// The string up to its NUL, or None if it is NULL or longer than `longest` bytes: nothing behind that is read.
    #[inline]
    pub(crate) fn up_to(&self, longest: usize) -> Option<&'a [u8]> {
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
    pub(crate) fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
}

/// A buffer for text; its size says another argument.
pub(crate) struct OutStr<'a> {
    pointer: *mut c_char,
    lifetime: PhantomData<&'a mut c_char>,
}

impl FromC<*mut c_char> for OutStr<'_> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut c_char) -> Self {
        OutStr { pointer, lifetime: PhantomData }
    }
}

impl OutStr<'_> {
    /// Whether the caller gave none.
    pub(crate) fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Writes as much of `text` as fits `size` bytes, and a NUL always. Nothing behind the NUL is touched.
    pub(crate) fn write(&self, name: &'static str, size: usize, text: &[u8]) -> DriverResult {
        if self.pointer.is_null() {
            return Err(null(name));
        }
        let Some(room) = size.checked_sub(1) else {
            return Err(DriverError::invalid_value(format!("{name} has no room")));
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
pub(crate) struct OutCStr<'a> {
    pointer: *mut *const c_char,
    lifetime: PhantomData<&'a mut *const c_char>,
}

impl FromC<*mut *const c_char> for OutCStr<'_> {
    #[inline(always)]
    unsafe fn from_c(pointer: *mut *const c_char) -> Self {
        OutCStr { pointer, lifetime: PhantomData }
    }
}

impl OutCStr<'_> {
    /// Whether the caller gave none.
    pub(crate) fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Hands out `text`, or NULL. The text lives as long as the documentation promises: its owner sees to that.
    pub(crate) fn set(&self, name: &'static str, text: Option<&CStr>) -> DriverResult {
        if self.pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: not NULL, and by `FromC` good for a write of one pointer, at any alignment.
        unsafe { self.pointer.write_unaligned(text.map_or(std::ptr::null(), CStr::as_ptr)) }
        Ok(())
    }
}
