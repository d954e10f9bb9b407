//! Every lookup that was recorded on a CUDA 13.0 driver, against ours as a driver of 13.0.
#[path = "support/driver.rs"]
mod driver;
#[path = "support/library.rs"]
mod library;
#[path = "support/process.rs"]
mod process;

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use serde::Deserialize;
use warploom_abi::{CUdriverProcAddressQueryResult, CUresult};
use warploom_entrypoint::Driver;

type GetProcAddress = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64) -> CUresult;
type GetProcAddressV2 =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut CUdriverProcAddressQueryResult) -> CUresult;

/// What stands in the outputs before a call, and in the recording where a call left them alone.
const UNTOUCHED_STATUS: u32 = 77;
const UNTOUCHED: &str = "untouched";

/// First version, result, status, symbol.
type Run = (i32, u32, u32, Option<String>);
/// Result, status, symbol.
type Answer = (u32, u32, Option<String>);

#[derive(Deserialize)]
struct Recording {
    versions: Vec<i32>,
    table: BTreeMap<String, BTreeMap<String, Vec<Run>>>,
    odd: BTreeMap<String, Answer>,
    v1: BTreeMap<String, (u32, Option<String>)>,
    before_init: BTreeMap<String, Answer>,
    nulls: BTreeMap<String, serde_json::Value>,
}

fn recording() -> Recording {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/goldens/entry_points.json");
    let text = std::fs::read_to_string(path).expect("the recording is part of the repository");
    serde_json::from_str(&text).expect("the recording has the shape that this test knows")
}

/// Runs `body` as a driver of 13.0, which the recorded one was.
fn as_13_0(test: &str, body: impl FnOnce(&Lookups)) {
    process::with_settings(test, &[("WARPLOOM_CUDA_VERSION", "13.0")], || body(&Lookups::new(driver::driver())));
}

struct Lookups {
    driver: Driver,
    first: GetProcAddress,
    second: GetProcAddressV2,
}

impl Lookups {
    fn new(driver: Driver) -> Lookups {
        let address = |symbol| driver.symbol(symbol).expect("both versions are exported").address();
        // SAFETY: the prototypes are those of the manual for these symbols.
        let (first, second) = unsafe {
            (
                std::mem::transmute::<*const (), GetProcAddress>(address("cuGetProcAddress")),
                std::mem::transmute::<*const (), GetProcAddressV2>(address("cuGetProcAddress_v2")),
            )
        };
        Lookups { driver, first, second }
    }

    /// The name of what a lookup wrote, as the recording has it.
    fn name(&self, address: *mut c_void) -> Option<String> {
        if address.is_null() {
            None
        } else if ptr::eq(address, mark()) {
            Some(UNTOUCHED.to_owned())
        } else {
            let symbol = warploom_entrypoint::Symbol::from_address(address.cast_const().cast());
            let name = symbol.name().unwrap_or_else(|| format!("{address:p}"));
            assert_eq!(self.driver.symbol(&name), Some(symbol), "{name} is not a symbol of the library");
            Some(name)
        }
    }

    fn second(&self, name: &str, version: i32, flags: u64) -> Answer {
        let name = CString::new(name).expect("no recorded name holds a NUL");
        let mut address = mark();
        let mut status = CUdriverProcAddressQueryResult(UNTOUCHED_STATUS);
        // SAFETY: the name ends in NUL and the outputs are ours.
        let result = unsafe { (self.second)(name.as_ptr(), &mut address, version, flags, &mut status) };
        (result.0, status.0, self.name(address))
    }

    fn first(&self, name: &str, version: i32, flags: u64) -> (u32, Option<String>) {
        let name = CString::new(name).expect("no recorded name holds a NUL");
        let mut address = mark();
        // SAFETY: the name ends in NUL and the output is ours.
        let result = unsafe { (self.first)(name.as_ptr(), &mut address, version, flags) };
        (result.0, self.name(address))
    }
}

fn mark() -> *mut c_void {
    ptr::without_provenance_mut(0x5a5a_5a50)
}

/// `name|version|flags`.
fn parts(key: &str) -> (&str, i32, u64) {
    let mut parts = key.rsplitn(3, '|');
    let mut next = || parts.next().expect("a key has three parts");
    let (flags, version, name) = (next(), next(), next());
    (name, version.parse().expect("a version"), flags.parse().expect("flags"))
}

#[test]
fn every_name_version_and_stream() {
    as_13_0("every_name_version_and_stream", |lookups| {
        let recording = recording();
        let mut wrong = Vec::new();
        let mut walked = 0;
        for (name, streams) in &recording.table {
            for (flags, runs) in streams {
                for version in &recording.versions {
                    let (_, result, status, symbol) =
                        runs.iter().rev().find(|run| run.0 <= *version).expect("runs begin with the first version");
                    let expected = (*result, *status, symbol.clone());
                    let answer = lookups.second(name, *version, flags.parse().expect("flags are numbers"));
                    walked += 1;
                    if answer != expected {
                        wrong.push(format!("{name} {version} {flags}: {answer:?}, recorded {expected:?}"));
                    }
                }
            }
        }
        assert!(walked > 70_000, "only {walked} recorded lookups");
        assert!(wrong.is_empty(), "{} of {walked} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    });
}

#[test]
fn names_versions_and_flags_out_of_the_ordinary() {
    as_13_0("names_versions_and_flags_out_of_the_ordinary", |lookups| {
        for (key, expected) in &recording().odd {
            let (name, version, flags) = parts(key);
            assert_eq!(lookups.second(name, version, flags), *expected, "{key}");
        }
    });
}

#[test]
fn the_first_abi() {
    as_13_0("the_first_abi", |lookups| {
        for (key, expected) in &recording().v1 {
            let (name, version, flags) = parts(key);
            assert_eq!(lookups.first(name, version, flags), *expected, "{key}");
        }
    });
}

#[test]
fn lookups_work_before_init() {
    as_13_0("lookups_work_before_init", |lookups| {
        for (name, expected) in &recording().before_init {
            assert_eq!(lookups.second(name, 13_000, 0), *expected, "{name}");
        }
    });
}

#[test]
fn null_arguments() {
    as_13_0("null_arguments", |lookups| {
        let recorded = recording().nulls;
        let none = ptr::null_mut();
        // A recorded driver crashes on the first two; ours answers.
        for crash in ["null symbol", "null pfn"] {
            assert_eq!(recorded[crash], "crashed: signal 11");
        }
        let mut address = mark();
        let mut status = CUdriverProcAddressQueryResult(UNTOUCHED_STATUS);
        // SAFETY: NULL is what is tried; the rest is ours.
        unsafe {
            let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
            assert_eq!((lookups.second)(ptr::null(), &mut address, 12_000, 0, &mut status), invalid);
            assert_eq!((lookups.second)(c"cuInit".as_ptr(), ptr::null_mut(), 12_000, 0, &mut status), invalid);
            assert_eq!((address, status.0), (mark(), UNTOUCHED_STATUS));
            assert_eq!((lookups.first)(ptr::null(), &mut address, 12_000, 0), invalid);
            assert_eq!((lookups.first)(c"cuInit".as_ptr(), ptr::null_mut(), 12_000, 0), invalid);
            for (case, name, version) in [
                ("null status, found", c"cuInit", 12_000),
                ("null status, unknown", c"cuNope", 12_000),
                ("null status, too old", c"cuMemAllocAsync", 2_000),
            ] {
                let expected = &recorded[case];
                let result = (lookups.second)(name.as_ptr(), &mut address, version, 0, none);
                assert_eq!(serde_json::json!(result.0), expected[0], "{case}");
                assert_eq!(address.is_null(), expected[1].is_null(), "{case}");
            }
        }
    });
}
