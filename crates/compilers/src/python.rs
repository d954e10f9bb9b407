//! What Python modules with NVIDIA's runtime in them hand to other modules, led to ours.
//!
//! cuda-bindings' module around the runtime, which Cython made, puts each of its functions into a dictionary, under its name with an
//! underscore in front (`_cudaMalloc`), in a capsule that is named after the C signature (`cudaError_t (void **, size_t)`). Modules that
//! call it look there. The auditing library leads the module's calls of `PyDict_SetItemString` to the functions here, which change the
//! capsules of functions that our runtime has and then do what they were called for.
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::OnceLock;

/// The endings of functions whose NULL stream is the thread's own (`cuda_runtime_api.h`, under `CUDA_API_PER_THREAD_DEFAULT_STREAM`).
const OF_THE_THREAD: &[&str] = &["_ptds", "_ptsz", ""];

/// `PyObject *`.
type Object = *mut c_void;

type SetItem = unsafe extern "C" fn(Object, *const c_char, Object) -> c_int;
type TypeOf = unsafe extern "C" fn(Object) -> Object;
type Release = unsafe extern "C" fn(Object);
type Signature = unsafe extern "C" fn(Object) -> *const c_char;
type SetPointer = unsafe extern "C" fn(Object, *mut c_void) -> c_int;

/// Functions of Python's stable interface, and one of its types: looked up in the program, as this library is linked with no Python.
struct Python {
    /// `PyDict_SetItemString`.
    set_item: SetItem,
    /// `PyObject_Type`.
    type_of: TypeOf,
    /// `Py_DecRef`.
    release: Release,
    /// `PyCapsule_GetName`.
    signature: Signature,
    /// `PyCapsule_SetPointer`.
    set_pointer: SetPointer,
    /// `&PyCapsule_Type`.
    capsules: usize,
}

impl Python {
    /// None without a Python in the program.
    fn find() -> Option<&'static Python> {
        static PYTHON: OnceLock<Option<Python>> = OnceLock::new();
        let find = |name: &CStr| {
            // SAFETY: looking a name up has no condition.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        // SAFETY: Python declares its functions so.
        let found = || unsafe {
            Some(Python {
                set_item: std::mem::transmute::<*mut c_void, SetItem>(find(c"PyDict_SetItemString")?),
                type_of: std::mem::transmute::<*mut c_void, TypeOf>(find(c"PyObject_Type")?),
                release: std::mem::transmute::<*mut c_void, Release>(find(c"Py_DecRef")?),
                signature: std::mem::transmute::<*mut c_void, Signature>(find(c"PyCapsule_GetName")?),
                set_pointer: std::mem::transmute::<*mut c_void, SetPointer>(find(c"PyCapsule_SetPointer")?),
                capsules: find(c"PyCapsule_Type")?.addr(),
            })
        };
        PYTHON.get_or_init(found).as_ref()
    }

    /// The C signature of the function in `value`, if it is a capsule.
    ///
    /// # Safety
    /// `value` is an object of Python's, and the caller holds its lock.
    unsafe fn signature_of<'a>(&self, value: Object) -> Option<&'a CStr> {
        // SAFETY: as the caller promises; a type that was asked for is to be released.
        unsafe {
            let kind = (self.type_of)(value);
            (self.release)(kind);
            if kind.addr() != self.capsules {
                return None;
            }
            let signature = (self.signature)(value);
            (!signature.is_null()).then(|| CStr::from_ptr(signature))
        }
    }
}

/// The name of the runtime's function that a module hands out so, if it hands one out.
fn runtime_function<'a>(name: &'a [u8], signature: &[u8]) -> Option<&'a [u8]> {
    let name = name.strip_prefix(b"_").unwrap_or(name);
    let named = name.strip_prefix(b"cuda")?.first()?.is_ascii_uppercase();
    // Others are wrapped in functions that have objects of Python's as arguments, or answer them.
    let answers = [b"cudaError_t (".as_slice(), b"char const *("].iter().any(|start| signature.starts_with(start));
    (named && answers && !signature.windows(8).any(|part| part == b"PyObject")).then_some(name)
}

/// Our runtime of a major version, which lies beside this library.
struct Runtime {
    handle: *mut c_void,
    /// What the names of its functions end in that are wanted, the first that there is.
    endings: &'static [&'static str],
}

impl Runtime {
    /// That in the file of this name; none where it cannot be loaded.
    fn of(file: &str, endings: &'static [&'static str]) -> Option<Runtime> {
        // SAFETY: all zeros are a Dl_info.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: the address is one of this library's, and its name a string that lives as long.
        let own = unsafe {
            if libc::dladdr(Runtime::of as *const c_void, &mut found) == 0 {
                return None;
            }
            CStr::from_ptr(found.dli_fname)
        };
        let path = Path::new(OsStr::from_bytes(own.to_bytes())).with_file_name(file);
        let path = CString::new(path.into_os_string().into_vec()).ok()?;
        // Who hands functions out keeps them for good: so is the library kept.
        // SAFETY: our own library's constructors have no condition.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!handle.is_null()).then_some(Runtime { handle, endings })
    }

    /// Its function of this name.
    fn function(&self, name: &[u8]) -> Option<*mut c_void> {
        self.endings.iter().find_map(|ending| {
            let name = CString::new([name, ending.as_bytes()].concat()).ok()?;
            // SAFETY: the handle is one that is never closed.
            let found = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        })
    }
}

/// `PyDict_SetItemString(dictionary, name, value)`, once the capsule `value` holds what `ours` finds of that name if it held NVIDIA's.
///
/// # Safety
/// As of that function.
unsafe fn export(
    python: &Python,
    dictionary: Object,
    name: *const c_char,
    value: Object,
    ours: impl Fn(&[u8]) -> Option<*mut c_void>,
) -> c_int {
    // SAFETY: as the caller promises, `name` is a string and `value` an object.
    unsafe {
        if let Some(signature) = python.signature_of(value)
            && let Some(function) = runtime_function(CStr::from_ptr(name).to_bytes(), signature.to_bytes())
            && let Some(ours) = ours(function)
            && (python.set_pointer)(value, ours) != 0
        {
            return -1;
        }
        (python.set_item)(dictionary, name, value)
    }
}

/// What modules call as `PyDict_SetItemString`, by the major version of the runtime that they have. It fails where there is no Python.
macro_rules! exports {
    ($($name:ident: $file:literal, $endings:expr;)*) => {$(
        /// # Safety
        /// As of `PyDict_SetItemString`.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(dictionary: Object, name: *const c_char, value: Object) -> c_int {
            let Some(python) = Python::find() else { return -1 };
            let ours = |function: &[u8]| Runtime::of($file, $endings)?.function(function);
            // SAFETY: as the caller promises.
            unsafe { export(python, dictionary, name, value, ours) }
        }
    )*};
}

exports! {
    warploom_python_11: "libcudart.so.11.0", &[""];
    warploom_python_12: "libcudart.so.12", &[""];
    warploom_python_13: "libcudart.so.13", &[""];
    warploom_python_11_ptds: "libcudart.so.11.0", OF_THE_THREAD;
    warploom_python_12_ptds: "libcudart.so.12", OF_THE_THREAD;
    warploom_python_13_ptds: "libcudart.so.13", OF_THE_THREAD;
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// An object, a capsule if its type is [`CAPSULES`].
    struct Value {
        kind: usize,
        signature: &'static CStr,
        pointer: Cell<usize>,
    }

    const CAPSULES: usize = 0x100;

    unsafe extern "C" fn set_item(dictionary: Object, _name: *const c_char, value: Object) -> c_int {
        // SAFETY: the test's own dictionary, which takes a value.
        unsafe { *dictionary.cast::<Object>() = value };
        0
    }

    unsafe extern "C" fn type_of(value: Object) -> Object {
        // SAFETY: a value of the test.
        std::ptr::without_provenance_mut(unsafe { &*value.cast::<Value>() }.kind)
    }

    unsafe extern "C" fn release(_kind: Object) {}

    unsafe extern "C" fn signature(value: Object) -> *const c_char {
        // SAFETY: as above.
        unsafe { &*value.cast::<Value>() }.signature.as_ptr()
    }

    unsafe extern "C" fn set_pointer(value: Object, pointer: *mut c_void) -> c_int {
        // SAFETY: as above.
        unsafe { &*value.cast::<Value>() }.pointer.set(pointer.addr());
        0
    }

    /// What a value of this type and signature holds that is handed out under `name`, where ours has `cudaFree` at 2.
    fn handed_out(kind: usize, signature_of_it: &'static CStr, name: &CStr) -> usize {
        let python = Python { set_item, type_of, release, signature, set_pointer, capsules: CAPSULES };
        let mut value = Value { kind, signature: signature_of_it, pointer: Cell::new(1) };
        let mut dictionary: Object = std::ptr::null_mut();
        let ours = |name: &[u8]| (name == b"cudaFree").then_some(std::ptr::without_provenance_mut(2));
        let (place, object) = ((&raw mut dictionary).cast(), (&raw mut value).cast());
        // SAFETY: both are as the functions above take them.
        assert_eq!(unsafe { export(&python, place, name.as_ptr(), object, ours) }, 0);
        assert_eq!(dictionary, object, "the value itself is handed out");
        value.pointer.get()
    }

    #[test]
    fn capsules_of_functions_that_are_ours_are_changed_and_no_other_value() {
        assert_eq!(handed_out(CAPSULES, c"cudaError_t (void *)", c"_cudaFree"), 2);
        assert_eq!(handed_out(CAPSULES, c"cudaError_t (void *)", c"_cudaOther"), 1);
        assert_eq!(handed_out(CAPSULES, c"PyObject *(void *)", c"_cudaFree"), 1);
        assert_eq!(handed_out(CAPSULES + 1, c"cudaError_t (void *)", c"_cudaFree"), 1);
    }

    #[test]
    fn the_first_ending_that_there_is_wins() {
        // SAFETY: the program itself.
        let handle = unsafe { libc::dlopen(std::ptr::null(), libc::RTLD_NOW) };
        let address = |name: &CStr| {
            // SAFETY: looking a name up has no condition.
            Some(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
        };
        let runtime = Runtime { handle, endings: &["nowhere", "len", "cmp"] };
        assert_eq!(runtime.function(b"str"), address(c"strlen"));
        assert_eq!(runtime.function(b"cuda"), None);
    }

    #[test]
    fn functions_of_the_runtime_are_told_by_name_and_signature() {
        assert_eq!(runtime_function(b"_cudaFree", b"cudaError_t (void *)"), Some(b"cudaFree".as_slice()));
        assert_eq!(
            runtime_function(b"cudaGetErrorName", b"char const *(cudaError_t)"),
            Some(b"cudaGetErrorName".as_slice())
        );
        for (name, signature) in [
            (b"_cudaFree".as_slice(), b"PyObject *(void *)".as_slice()),
            (b"_cudaFree", b"cudaError_t (PyObject *)"),
            (b"getDriverEglFrame", b"cudaError_t (void *)"),
            (b"_cudart", b"cudaError_t (void *)"),
            (b"_cuda", b"cudaError_t (void *)"),
        ] {
            assert_eq!(runtime_function(name, signature), None);
        }
    }
}
