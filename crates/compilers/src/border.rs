//! The C border: panics, and what callers hand over.
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use warploom_border::{internal_error, say};

/// A mistake of ours is reported and answered with `otherwise`; nothing unwinds into the caller.
pub(crate) fn guarded<T>(symbol: &str, otherwise: T, function: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|panic| {
        say(&internal_error(symbol, &*panic));
        otherwise
    })
}

/// The options of a call; `None` if they are not given as they should be, which is for the library behind to answer.
///
/// # Safety
/// `options` is NULL or points to `count` pointers that are NULL or strings.
pub(crate) unsafe fn options(count: c_int, options: *const *const c_char) -> Option<Vec<CString>> {
    let count = usize::try_from(count).ok()?;
    if options.is_null() {
        return (count == 0).then(Vec::new);
    }
    // SAFETY: as the caller promises.
    let words = unsafe { std::slice::from_raw_parts(options, count) };
    // SAFETY: as the caller promises.
    words.iter().map(|word| (!word.is_null()).then(|| unsafe { CStr::from_ptr(*word) }.to_owned())).collect()
}

/// Writes a value where a caller wants it; whether it could.
///
/// # Safety
/// `to` is NULL or can be written to.
pub(crate) unsafe fn give<T>(value: T, to: *mut T) -> bool {
    if !to.is_null() {
        // SAFETY: as the caller promises.
        unsafe { to.write(value) };
    }
    !to.is_null()
}

/// Copies bytes to where a caller wants them; whether it could.
///
/// # Safety
/// `to` is NULL or has room for all.
pub(crate) unsafe fn give_all(bytes: &[u8], to: *mut c_char) -> bool {
    if !to.is_null() {
        // SAFETY: as the caller promises.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
    }
    !to.is_null()
}

/// The text that a library gives in two calls: how long it is with its NUL, and the text. Empty where it has none.
pub(crate) fn text(size: impl FnOnce(&mut usize) -> c_int, copy: impl FnOnce(*mut c_char) -> c_int) -> String {
    let mut length = 0;
    if size(&mut length) != 0 || length == 0 {
        return String::new();
    }
    let mut bytes = vec![0_u8; length];
    if copy(bytes.as_mut_ptr().cast()) != 0 {
        return String::new();
    }
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
