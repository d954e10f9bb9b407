//! The libraries export what NVIDIA's do, under the same names and versions of names.
#[path = "support/library.rs"]
mod library;

use std::collections::BTreeSet;
use std::process::Command;

/// The names of the registry, which are those that NVIDIA's libraries export.
const NAMES: [(u32, &str); 2] = [
    (12, include_str!("../../cudart12/src/generated/symbols.txt")),
    (13, include_str!("../../cudart13/src/generated/symbols.txt")),
];

fn output(program: &str, arguments: &[&str], major: u32) -> String {
    let library = library::folder().join(format!("libcudart.so.{major}"));
    let output = Command::new(program).args(arguments).arg(library).output().expect("the binary utilities are there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("names are ASCII")
}

#[test]
fn exported_names_and_their_versions_are_nvidias() {
    for (major, names) in NAMES {
        let node = format!("libcudart.so.{major}");
        let expected = names.lines().filter(|line| !line.starts_with('#')).map(|name| format!("{name}@@{node}"));
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
        assert!(text.contains(&format!("Library soname: [libcudart.so.{major}]")), "{text}");
    }
}

/// The dynamic linker tells of every lookup. The driver's own start looks each of its names up once; what the runtime looks up beside that is what tells
/// of the driver, and the function that looks up all others.
#[test]
fn the_driver_is_reached_through_its_own_lookup() {
    for (major, _) in NAMES {
        let folder = library::folder();
        let script = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).cudaFree(None))";
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", script]).arg(folder.join(format!("libcudart.so.{major}")));
        let output = command.env("LD_LIBRARY_PATH", folder).env("LD_DEBUG", "symbols").output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n", "{told}");
        let mut once = BTreeSet::new();
        let mut again = BTreeSet::new();
        for line in told.lines().filter(|line| line.contains("symbol=") && line.contains("libcuda.so.1 [0]")) {
            let name = line.split("symbol=").nth(1).and_then(|rest| rest.split(';').next()).expect("a name");
            if name.starts_with("cu") && !once.insert(name) {
                again.insert(name);
            }
        }
        assert!(once.contains("cuMemAlloc_v2"), "{told}");
        assert_eq!(again, BTreeSet::from(["cuDriverGetVersion", "cuGetExportTable", "cuGetProcAddress_v2"]), "{major}");
    }
}
