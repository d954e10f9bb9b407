//! Who calls a library, for reports.
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// `struct _Unwind_Context` of the C++ ABI's level for all languages.
#[repr(C)]
struct UnwindContext {
    _opaque: [u8; 0],
}

const NO_REASON: c_int = 0;
const END_OF_STACK: c_int = 5;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: unsafe extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
}

/// What to call the object whose code called this library: its file, as far as the stack and the dynamic linker know. Slow: for reports only.
pub fn calling_object() -> String {
    let mut found: Option<PathBuf> = None;
    // SAFETY: the function gets what it expects; nothing else uses the place meanwhile.
    unsafe { _Unwind_Backtrace(leave_library, (&raw mut found).cast()) };
    found.map_or_else(|| "this program".to_owned(), |path| path.display().to_string())
}

/// Stops at the first frame outside this library.
///
/// # Safety
/// As the unwinder calls it, with a place for the path.
unsafe extern "C" fn leave_library(context: *mut UnwindContext, found: *mut c_void) -> c_int {
    // SAFETY: the context is the unwinder's. The address is one behind the call.
    let address = unsafe { _Unwind_GetIP(context) }.wrapping_sub(1);
    match (object_of(address), object_of((calling_object as *const ()).addr())) {
        (Some((start, _)), Some((ours, _))) if start == ours => NO_REASON,
        (Some((_, path)), _) => {
            // SAFETY: as the caller promises.
            unsafe { *found.cast::<Option<PathBuf>>() = Some(path) };
            END_OF_STACK
        }
        (None, _) => END_OF_STACK,
    }
}

/// Where the object with this address starts, and its file.
fn object_of(address: usize) -> Option<(usize, PathBuf)> {
    // SAFETY: all zeros are a Dl_info.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for, and the place can be written to.
    if unsafe { libc::dladdr(std::ptr::without_provenance(address), &mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a string that lives as long as the object is loaded, which is on the stack.
    let path = unsafe { CStr::from_ptr(found.dli_fname) };
    Some((found.dli_fbase.addr(), PathBuf::from(OsStr::from_bytes(path.to_bytes()))))
}
