//! The libraries export what NVIDIA's do, under the same names and versions of names.
#[path = "support/library.rs"]
mod library;

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::process::Command;

use libloading::Library;

/// The names of the registry, which are those that NVIDIA's libraries export.
const NAMES: [(u32, &str); 3] = [
    (11, include_str!("../../cudart11/src/generated/symbols.txt")),
    (12, include_str!("../../cudart12/src/generated/symbols.txt")),
    (13, include_str!("../../cudart13/src/generated/symbols.txt")),
];

/// Those of them that have no implementation.
const NOT_SUPPORTED: [(u32, &str); 3] = [
    (11, include_str!("../../cudart11/src/generated/not_supported.txt")),
    (12, include_str!("../../cudart12/src/generated/not_supported.txt")),
    (13, include_str!("../../cudart13/src/generated/not_supported.txt")),
];

/// What users read about each function.
const COVERAGE: &str = include_str!("../../../docs/runtime-coverage.md");

/// The names of a generated list.
fn listed(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.starts_with('#'))
}

/// The name of the library of a major version: up to 11 it has the minor version of the first with its interface.
fn file(major: u32) -> String {
    format!("libcudart.so.{major}{}", if major < 12 { ".0" } else { "" })
}

fn output(program: &str, arguments: &[&str], major: u32) -> String {
    let library = library::folder().join(file(major));
    let output = Command::new(program).args(arguments).arg(library).output().expect("the binary utilities are there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("names are ASCII")
}

#[test]
fn exported_names_and_their_versions_are_nvidias() {
    for (major, names) in NAMES {
        let node = file(major);
        let expected = listed(names).map(|name| format!("{name}@@{node}"));
        // The version itself is an absolute symbol, as in NVIDIA's.
        let expected: BTreeSet<String> = expected.chain([node.clone()]).collect();
        let text = output("nm", &["-D", "--defined-only"], major);
        let exported: BTreeSet<String> =
            text.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect();
        let missing: Vec<&String> = expected.difference(&exported).collect();
        let extra: Vec<&String> = exported.difference(&expected).collect();
        assert!(missing.is_empty() && extra.is_empty(), "missing: {missing:?}\nnot in the registry: {extra:?}");
    }
}

#[test]
fn sonames_are_nvidias() {
    for (major, _) in NAMES {
        let text = output("readelf", &["-d"], major);
        assert!(text.contains(&format!("Library soname: [{}]", file(major))), "{text}");
    }
}

/// The dynamic linker tells of every lookup. What the runtime looks up is what tells of the driver, and the function that looks up all others; the driver's
/// own names are bound when it is linked.
#[test]
fn the_driver_is_reached_through_its_own_lookup() {
    for (major, _) in NAMES {
        let folder = library::folder();
        let script = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).cudaFree(None))";
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", script]).arg(folder.join(file(major)));
        let output = command.env("LD_LIBRARY_PATH", folder).env("LD_DEBUG", "symbols").output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n", "{told}");
        let mut names = BTreeSet::new();
        for line in told.lines().filter(|line| line.contains("symbol=") && line.contains("libcuda.so.1 [0]")) {
            let name = line.split("symbol=").nth(1).and_then(|rest| rest.split(';').next()).expect("a name");
            names.extend(name.starts_with("cu").then_some(name));
        }
        assert_eq!(names, BTreeSet::from(["cuDriverGetVersion", "cuGetExportTable", "cuGetProcAddress_v2"]), "{major}");
    }
}

/// Programs of any age are bound to every name: one without an implementation says so, whatever it is handed, and so does the coverage table, with the reason.
#[test]
fn a_function_without_an_implementation_says_so() {
    for (major, names) in NOT_SUPPORTED {
        // SAFETY: its constructors do nothing but set the library up.
        let library = unsafe { Library::new(library::folder().join(file(major))) };
        let library = library.expect("the library loads");
        let refusing = |name: &str| {
            // SAFETY: it looks at no argument, and returns a result code.
            let function = unsafe { library.get::<extern "C" fn() -> u32>(name.as_bytes()) };
            function.unwrap_or_else(|error| panic!("{name}: {error}"))()
        };
        // SAFETY: this is its type.
        let text = unsafe { library.get::<extern "C" fn(u32) -> *const c_char>(b"cudaGetErrorName") };
        let text = text.expect("it is exported");
        let name_of = |code| {
            // SAFETY: the library returns text that stays.
            unsafe { CStr::from_ptr(text(code)) }.to_str().expect("names are ASCII")
        };
        for name in listed(names) {
            assert_eq!(name_of(refusing(name)), "cudaErrorNotSupported", "{name} of {major}");
            let row = format!("| {} |", name.replace('_', "\\_"));
            let row = COVERAGE.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("{name}: no row"));
            let status = row.rsplit("| ").next().expect("a row has columns");
            assert!(status.starts_with("answers cudaErrorNotSupported: "), "no reason: {row}");
            assert!(row.contains(&major.to_string()), "{major}: {row}");
        }
    }
}

/// NVIDIA's own libraries ask for them, and answer with codes that tell nobody why.
#[test]
fn private_tables_are_never_served_and_who_asks_is_told_once() {
    for (major, _) in NAMES {
        let script = "import ctypes, sys; runtime = ctypes.CDLL(sys.argv[1]); table, name = ctypes.c_void_p(), bytes(16); \
                      print(*(runtime.cudaGetExportTable(ctypes.byref(table), name) for _ in range(2)), table.value, runtime.cudaPeekAtLastError())";
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", script]).arg(library::folder().join(file(major)));
        let output = command.env("LD_LIBRARY_PATH", library::folder()).output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "801 801 None 0\n", "{told}");
        assert_eq!(told.matches("asks the CUDA runtime for a private table").count(), 1, "{told}");
    }
}
