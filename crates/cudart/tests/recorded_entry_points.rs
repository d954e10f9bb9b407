//! `cudaGetDriverEntryPoint` and its siblings answer as NVIDIA's runtimes did.
#[path = "support/library.rs"]
mod library;

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use libloading::Library;
use serde_json::Value;

type Default = unsafe extern "C" fn(*const c_char, *mut *mut c_void, u64, *mut u32) -> c_int;
type ByVersion = unsafe extern "C" fn(*const c_char, *mut *mut c_void, u32, u64, *mut u32) -> c_int;
type LastError = unsafe extern "C" fn() -> c_int;

/// What stands in an output before the call.
const UNTOUCHED: usize = 1;
const STATUS_BEFORE: u32 = 77;

struct Runtime(Library);

impl Runtime {
    fn get<T: Copy>(&self, symbol: &str) -> T {
        // SAFETY: the types above are those of the functions that the tests name.
        unsafe { *self.0.get::<T>(symbol.as_bytes()).expect("the runtime exports it") }
    }

    /// Result, query result, symbol and last error, as recorded.
    fn look_up(&self, function: &str, name: &str, version: Option<u32>, flags: u64) -> Value {
        let name = CString::new(name).expect("no NUL in a name");
        let mut address = std::ptr::without_provenance_mut::<c_void>(UNTOUCHED);
        let mut status = STATUS_BEFORE;
        // SAFETY: the name ends in NUL, the outputs are there.
        let (result, last) = unsafe {
            let result = match version {
                None => self.get::<Default>(function)(name.as_ptr(), &mut address, flags, &mut status),
                Some(version) => {
                    self.get::<ByVersion>(function)(name.as_ptr(), &mut address, version, flags, &mut status)
                }
            };
            (result, self.get::<LastError>("cudaGetLastError")())
        };
        let symbol = match address.addr() {
            0 => Value::Null,
            UNTOUCHED => "untouched".into(),
            _ => symbol_of(address).into(),
        };
        serde_json::json!([result, status, symbol, last])
    }
}

/// The name of the driver's function at an address.
fn symbol_of(address: *mut c_void) -> String {
    // SAFETY: dladdr takes any address; a name of the symbol table ends in NUL.
    unsafe {
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        assert_ne!(libc::dladdr(address, &mut info), 0);
        CStr::from_ptr(info.dli_sname).to_string_lossy().into_owned()
    }
}

fn recording(file: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/goldens/runtime/");
    let text = std::fs::read_to_string(format!("{path}{file}")).expect("the recording is there");
    serde_json::from_str(&text).expect("the recording is JSON")
}

/// Holds every row of a recording, whose keys are made of fields between bars, against what `answer` gives for the fields.
fn compare(rows: &Value, answer: impl Fn(&[&str]) -> Option<Value>) {
    let rows = rows.as_object().expect("rows by key");
    let different: Vec<String> = rows
        .iter()
        .filter_map(|(key, recorded)| {
            let fields: Vec<&str> = key.split('|').collect();
            let answer = answer(&fields)?;
            (answer != *recorded).then(|| format!("{key}: {answer}, recorded {recorded}"))
        })
        .collect();
    assert!(different.is_empty(), "{} of {}:\n{}", different.len(), rows.len(), different.join("\n"));
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("a number")
}

/// In a process of its own, as the recordings are of a driver of CUDA 13.0.
#[test]
fn lookups_are_as_recorded() {
    // SAFETY: no other thread of this process reads the environment yet.
    unsafe { std::env::set_var("WARPLOOM_CUDA_VERSION", "13.0") };
    let open = |file: &str| {
        // SAFETY: our own libraries.
        unsafe { Library::new(library::folder().join(file)) }.expect("our own library loads")
    };
    // What the runtimes look for by its soname is this one then.
    let _driver = open("libcuda.so.1");
    for major in [12, 13] {
        let runtime = Runtime(open(&format!("libcudart.so.{major}")));
        let recorded = recording(&format!("entry_points_{major}.json"));
        compare(&recorded["byversion"], |fields| {
            let [name, version, flags] = fields else { panic!("{fields:?}") };
            Some(runtime.look_up("cudaGetDriverEntryPointByVersion", name, Some(number(version)), number(flags)))
        });
        compare(&recorded["old"], |fields| {
            let [name, flags] = fields else { panic!("{fields:?}") };
            // The recorded runtime 13 was one of CUDA 13.0; a newer one asks this driver for more than it has.
            let (function, version) = match major {
                13 => ("cudaGetDriverEntryPointByVersion", Some(13_000)),
                _ => ("cudaGetDriverEntryPoint", None),
            };
            Some(runtime.look_up(function, name, version, number(flags)))
        });
        compare(&recording(&format!("per_thread_entry_points_{major}.json")), |fields| match fields {
            ["by_ptsz", name, version, flags] => {
                let function = "cudaGetDriverEntryPointByVersion_ptsz";
                Some(runtime.look_up(function, name, Some(number(version)), number(flags)))
            }
            ["old_ptsz", name, flags] if major == 12 => {
                Some(runtime.look_up("cudaGetDriverEntryPoint_ptsz", name, None, number(flags)))
            }
            _ => None,
        });
        if major == 13 {
            // Recorded with runtime 13.5 on that driver.
            let newer = runtime.look_up("cudaGetDriverEntryPoint", "cuInit", None, 0);
            assert_eq!(newer, serde_json::json!([1, 77, "untouched", 1]));
        }
        null_arguments(&runtime);
    }
}

/// Where NVIDIA's runtimes crash, these answer.
fn null_arguments(runtime: &Runtime) {
    const INVALID_VALUE: c_int = 1;
    let mut address = std::ptr::null_mut();
    let mut status = 0;
    let function = runtime.get::<Default>("cudaGetDriverEntryPoint");
    let by_version = runtime.get::<ByVersion>("cudaGetDriverEntryPointByVersion");
    let name = c"cuInit".as_ptr();
    // SAFETY: what is not NULL is good.
    unsafe {
        assert_eq!(function(std::ptr::null(), &mut address, 0, &mut status), INVALID_VALUE);
        assert_eq!(function(name, std::ptr::null_mut(), 0, &mut status), INVALID_VALUE);
        assert_eq!(by_version(std::ptr::null(), &mut address, 12_000, 0, &mut status), INVALID_VALUE);
        assert_eq!(by_version(name, std::ptr::null_mut(), 12_000, 0, &mut status), INVALID_VALUE);
        assert_eq!(by_version(name, &mut address, 12_000, 0, std::ptr::null_mut()), 0);
    }
    assert_eq!(symbol_of(address), "cuInit");
}
