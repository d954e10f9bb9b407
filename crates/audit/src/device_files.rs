//! The files of NVIDIA's kernel module, `/dev/nvidiactl` and `/dev/nvidia0`, which some programs look for before they load a driver (JAX does). Who asks the C library
//! whether one of them is there gets the answer of a machine with as many devices as the driver shows. Nobody but NVIDIA's driver opens them: opening fails
//! as before.
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::elf_file::Reason;
use crate::explain;
use crate::exports::{self, Lead};
use crate::loaded::{LinkMap, NewObject};

/// The character devices of NVIDIA's kernel module.
const MAJOR: u32 = 195;
/// The file that is for all devices, and its number.
const CONTROL: (&[u8], u32) = (b"ctl", 255);

/// A function of the C library that tells whether a file is there, and ours, which asks it first.
struct Led {
    name: &'static CStr,
    ours: usize,
    theirs: &'static AtomicUsize,
}

static STAT: AtomicUsize = AtomicUsize::new(0);
static STAT64: AtomicUsize = AtomicUsize::new(0);
static XSTAT: AtomicUsize = AtomicUsize::new(0);
static XSTAT64: AtomicUsize = AtomicUsize::new(0);
static ACCESS: AtomicUsize = AtomicUsize::new(0);
/// Where the program's C library tells where `errno` is: ours has another.
static ERRNO: AtomicUsize = AtomicUsize::new(0);

/// What programs are linked with: those with an `x` are what `stat` was up to glibc 2.32.
fn led() -> [Led; 5] {
    [
        Led { name: c"stat", ours: stat as *const () as usize, theirs: &STAT },
        Led { name: c"stat64", ours: stat64 as *const () as usize, theirs: &STAT64 },
        Led { name: c"__xstat", ours: xstat as *const () as usize, theirs: &XSTAT },
        Led { name: c"__xstat64", ours: xstat64 as *const () as usize, theirs: &XSTAT64 },
        Led { name: c"access", ours: access as *const () as usize, theirs: &ACCESS },
    ]
}

/// Puts ours in front of the functions of the program's C library, which has just been mapped.
pub(crate) fn show(map: &LinkMap, library: &NewObject) {
    if devices() == 0 {
        return;
    }
    if let Err(reason) = lead(map, library) {
        explain::say(&library.display_name(), format_args!("shows no files of devices: {reason}"));
    }
}

fn lead(map: &LinkMap, library: &NewObject) -> Result<(), Reason> {
    let [(_, errno)] = map.exported(c"__errno_location")[..] else {
        return Err("is no C library: it has no errno".to_owned());
    };
    ERRNO.store(errno, Ordering::Relaxed);
    let mut leads = Vec::new();
    for Led { name, ours, theirs } in led() {
        for (entry, address) in map.exported(name) {
            theirs.store(address, Ordering::Relaxed);
            leads.push(Lead { entry, to: ours });
        }
    }
    let entries = || leads.iter().map(|lead| lead.entry);
    let (Some(first), Some(last)) = (entries().min(), entries().max()) else { return Ok(()) };
    let segment = map.segment_of(first..last + size_of::<usize>());
    let segment = segment.ok_or_else(|| "is damaged: its symbol table is not loaded".to_owned())?;
    exports::write(library, segment, &leads).map_err(|error| format!("its symbol table cannot be written to: {error}"))
}

/// How many the driver shows, as it reads it (`WARPLOOM_DEVICE_COUNT`).
fn devices() -> u32 {
    static DEVICES: OnceLock<u32> = OnceLock::new();
    *DEVICES.get_or_init(|| {
        let count = std::env::var("WARPLOOM_DEVICE_COUNT").ok();
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(1)
    })
}

/// The number of the device whose file has this path, on a machine with so many.
fn minor(path: &[u8], devices: u32) -> Option<u32> {
    let rest = path.strip_prefix(b"/dev/nvidia")?;
    if rest == CONTROL.0 {
        return Some(CONTROL.1);
    }
    let number: u32 = std::str::from_utf8(rest).ok()?.parse().ok()?;
    (number < devices && rest == number.to_string().as_bytes()).then_some(number)
}

/// The same for a path as the program gives it.
///
/// # Safety
/// `path` is a string: the C library has looked for a file of that name, and found none.
unsafe fn minor_of(path: *const c_char) -> Option<u32> {
    // SAFETY: as the caller promises.
    minor(unsafe { CStr::from_ptr(path) }.to_bytes(), devices())
}

/// What is known of the file of a device.
fn described(minor: u32) -> libc::stat {
    // SAFETY: all zeros are a stat.
    let mut described: libc::stat = unsafe { std::mem::zeroed() };
    described.st_mode = libc::S_IFCHR | 0o666;
    described.st_rdev = libc::makedev(MAJOR, minor);
    described.st_nlink = 1;
    described
}

/// Whether a call that came back with `result` has found no file: then its path could be read.
fn not_there(result: c_int) -> bool {
    // SAFETY: the program's own `__errno_location`, which nothing can go wrong in.
    let errno = || unsafe {
        let place: Errno = std::mem::transmute(std::ptr::with_exposed_provenance::<()>(ERRNO.load(Ordering::Relaxed)));
        *place()
    };
    result != 0 && errno() == libc::ENOENT
}

type Errno = unsafe extern "C" fn() -> *mut c_int;
type Stat = unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int;
type Xstat = unsafe extern "C" fn(c_int, *const c_char, *mut libc::stat) -> c_int;
type Access = unsafe extern "C" fn(*const c_char, c_int) -> c_int;

/// What the program's own function answers, and where it has found nothing, what is said of the file of a device.
///
/// # Safety
/// As of `stat(2)`.
unsafe fn stat_by(theirs: &AtomicUsize, path: *const c_char, place: *mut libc::stat) -> c_int {
    // SAFETY: the function that this one stands in front of, of this type.
    let result = unsafe {
        let theirs: Stat = std::mem::transmute(std::ptr::with_exposed_provenance::<()>(theirs.load(Ordering::Relaxed)));
        theirs(path, place)
    };
    // SAFETY: as the caller promises.
    unsafe { answer(result, path, place) }
}

/// # Safety
/// As of `stat(2)`, which has come back with `result`.
unsafe fn answer(result: c_int, path: *const c_char, place: *mut libc::stat) -> c_int {
    if !not_there(result) {
        return result;
    }
    // SAFETY: as the caller promises.
    match unsafe { minor_of(path) } {
        Some(minor) => {
            // SAFETY: as the caller promises.
            unsafe { place.write(described(minor)) };
            0
        }
        None => result,
    }
}

unsafe extern "C" fn stat(path: *const c_char, place: *mut libc::stat) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { stat_by(&STAT, path, place) }
}

unsafe extern "C" fn stat64(path: *const c_char, place: *mut libc::stat) -> c_int {
    // SAFETY: as the caller promises; one structure on 64-bit machines.
    unsafe { stat_by(&STAT64, path, place) }
}

/// # Safety
/// As of `stat(2)`.
unsafe fn xstat_by(theirs: &AtomicUsize, version: c_int, path: *const c_char, place: *mut libc::stat) -> c_int {
    // SAFETY: the function that this one stands in front of, of this type.
    let result = unsafe {
        let theirs: Xstat =
            std::mem::transmute(std::ptr::with_exposed_provenance::<()>(theirs.load(Ordering::Relaxed)));
        theirs(version, path, place)
    };
    // SAFETY: as the caller promises.
    unsafe { answer(result, path, place) }
}

unsafe extern "C" fn xstat(version: c_int, path: *const c_char, place: *mut libc::stat) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { xstat_by(&XSTAT, version, path, place) }
}

unsafe extern "C" fn xstat64(version: c_int, path: *const c_char, place: *mut libc::stat) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { xstat_by(&XSTAT64, version, path, place) }
}

unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the function that this one stands in front of, of this type.
    let result = unsafe {
        let theirs: Access =
            std::mem::transmute(std::ptr::with_exposed_provenance::<()>(ACCESS.load(Ordering::Relaxed)));
        theirs(path, mode)
    };
    // Anybody may read and write it.
    if !not_there(result) || mode & libc::X_OK != 0 {
        return result;
    }
    // SAFETY: as the caller promises.
    if unsafe { minor_of(path) }.is_some() { 0 } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_files_as_devices_and_one_for_all() {
        for (path, devices, expected) in [
            ("/dev/nvidiactl", 1, Some(255)),
            ("/dev/nvidia0", 1, Some(0)),
            ("/dev/nvidia1", 1, None),
            ("/dev/nvidia11", 12, Some(11)),
            ("/dev/nvidia01", 12, None),
            ("/dev/nvidia+1", 12, None),
            ("/dev/nvidia", 1, None),
            ("/dev/nvidia-uvm", 1, None),
            ("dev/nvidia0", 1, None),
            ("", 1, None),
        ] {
            assert_eq!(minor(path.as_bytes(), devices), expected, "{path}");
        }
    }
}
