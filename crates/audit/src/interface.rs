//! The functions that the dynamic linker calls (rtld-audit(7)). It holds its lock while it does, but for `la_objclose` at the end of the
//! process, and cannot be called from here.
use std::ffi::{CStr, OsStr, c_char, c_long, c_uint};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::hide;
use crate::lead::{self, TELLING_IMPORT};
use crate::libraries::{self, Libraries};
use crate::loaded::{LinkMap, NewObject};
use crate::resolve::Destination;
use crate::{device_files, explain, front, python, tools};

/// The version of the interface that this is written for (`LAV_CURRENT` of glibc 2.35; 1 differs in the registers of calls, which are not
/// looked at here).
const VERSION: c_uint = 2;
/// `LA_ACT_CONSISTENT`: all objects of this start or `dlopen` are mapped; no constructor of theirs has run.
const CONSISTENT: c_uint = 0;
/// The namespace of the program and its libraries (`LM_ID_BASE`).
const OF_THE_PROGRAM: c_long = 0;

/// What is known of the objects of this process. An object is named by the address of its link map.
struct Objects {
    /// Loaded, and not looked at yet.
    new: Vec<(usize, NewObject)>,
    /// Whose functions lead to ours.
    led: Vec<Led>,
}

struct Led {
    object: usize,
    /// Closed objects keep their trampolines until another is loaded: at the end of a process all are closed while threads still run.
    closed: bool,
    #[expect(dead_code, reason = "kept for the trampolines, which know its address")]
    destination: Box<Destination>,
}

static OBJECTS: Mutex<Objects> = Mutex::new(Objects { new: Vec::new(), led: Vec::new() });

/// Our libraries, those beside this one.
fn libraries() -> &'static Libraries {
    static LIBRARIES: OnceLock<Libraries> = OnceLock::new();
    LIBRARIES.get_or_init(|| Libraries::find(own_folder().unwrap_or_default()))
}

/// Where this library is.
fn own_folder() -> Option<PathBuf> {
    // SAFETY: all zeros are a Dl_info.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is one of this library's code, and the place can be written to.
    if unsafe { libc::dladdr(la_version as *const _, &mut found) } == 0 {
        return None;
    }
    // SAFETY: what was found has a name, a string that lives as long as this library is loaded.
    let path = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(Path::new(OsStr::from_bytes(path.to_bytes())).parent()?.to_owned())
}

/// A mistake of ours must not end the program: `otherwise` is answered, and the panic has been reported.
fn guarded<T>(otherwise: T, function: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(function)).unwrap_or(otherwise)
}

/// The handshake.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn la_version(version: c_uint) -> c_uint {
    guarded(0, || {
        if explain::wanted() {
            let program = std::env::current_exe().unwrap_or_default();
            explain::say(&program.to_string_lossy(), format_args!("starts, as process {}", std::process::id()));
        }
        tools::take_the_place(&own_folder().unwrap_or_default());
        version.min(VERSION)
    })
}

/// A library is searched for: `name` is what was asked for, or one of the places where it may be.
///
/// # Safety
/// As the dynamic linker calls it: `name` is a string, `cookie` points to the link map's address of the object that wants the library.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn la_objsearch(
    name: *const c_char,
    cookie: *const usize,
    _flag: c_uint,
) -> *const c_char {
    guarded(name, || {
        if name.is_null() {
            return name;
        }
        // SAFETY: as the caller promises.
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
        let Some(wanted) = libraries::wanted(path) else { return name };
        let Some(ours) = libraries().instead_of(path, wanted) else { return name };
        if explain::wanted() {
            // SAFETY: the cookie of an object is its link map's address, as it was given to `la_objopen`, which leaves it.
            let by = unsafe { &*std::ptr::with_exposed_provenance::<LinkMap>(*cookie) };
            // SAFETY: no more than the name is asked for.
            let by = unsafe { NewObject::new(by, 0) }.display_name();
            let (path, ours) = (path.display(), ours.to_string_lossy());
            explain::say(&by, format_args!("asks for {path} and gets {ours}"));
        }
        ours.as_ptr()
    })
}

/// An object has been mapped. No function calls to or from it are to be audited.
///
/// # Safety
/// As the dynamic linker calls it: `map` points to the link map of an object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn la_objopen(map: *const LinkMap, namespace: c_long, _cookie: *mut usize) -> c_uint {
    guarded((), || {
        // SAFETY: as the caller promises.
        let map = unsafe { &*map };
        if let Some(names) = libraries::compiler(map.path()) {
            // SAFETY: the object has just been mapped.
            let object = unsafe { NewObject::new(map, namespace) };
            let destination = front::stand(&object, names, libraries());
            let led = destination.map(|destination| Led { object: map.key(), closed: false, destination });
            OBJECTS.lock().unwrap_or_else(PoisonError::into_inner).led.extend(led);
            return;
        }
        if let Some(version) = hide::version()
            && libraries().is_driver(map.path())
        {
            // SAFETY: the object has just been mapped.
            hide::newer_than(version, &unsafe { NewObject::new(map, namespace) });
            return;
        }
        if namespace == OF_THE_PROGRAM && map.is_c_library() {
            // SAFETY: the object has just been mapped.
            device_files::show(map, &unsafe { NewObject::new(map, namespace) });
            return;
        }
        if !map.may_contain_runtime(TELLING_IMPORT) {
            return;
        }
        // SAFETY: the object has just been mapped, and leaves the list before it is unmapped.
        let object = unsafe { NewObject::new(map, namespace) };
        if python::may_be(map)
            && let Some(destination) = python::lead(&object, libraries())
        {
            let led = Led { object: map.key(), closed: false, destination };
            OBJECTS.lock().unwrap_or_else(PoisonError::into_inner).led.push(led);
            return;
        }
        if !libraries().contain(object.path()) {
            OBJECTS.lock().unwrap_or_else(PoisonError::into_inner).new.push((map.key(), object));
        }
    });
    0
}

/// Objects come or go; or have all come.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn la_activity(_cookie: *const usize, flag: c_uint) {
    guarded((), || {
        if flag != CONSISTENT {
            return;
        }
        let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = &mut *objects;
        if objects.new.is_empty() {
            return;
        }
        objects.led.retain(|led| !led.closed);
        for (object, new) in objects.new.drain(..) {
            if let Some(destination) = lead::lead(&new, libraries()) {
                objects.led.push(Led { object, closed: false, destination });
            }
        }
    });
}

/// An object's destructors have run, and it will be unmapped; or the process ends.
///
/// # Safety
/// As the dynamic linker calls it: `cookie` points to the object's link map's address.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn la_objclose(cookie: *const usize) -> c_uint {
    guarded((), || {
        // SAFETY: as the caller promises.
        let closed = unsafe { *cookie };
        let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
        objects.new.retain(|(object, _)| *object != closed);
        for led in objects.led.iter_mut().filter(|led| led.object == closed) {
            led.closed = true;
        }
    });
    0
}
