//! The types are laid out as in C: as in our header, and as in NVIDIA's where there is one.
#[path = "generated/layout.rs"]
mod generated;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use generated::LAYOUTS;

/// The folder of NVIDIA's headers, for the test that compares with them.
const NVIDIA_HEADERS: &str = "WARPLOOM_NVIDIA_HEADERS";

/// What the C program prints when compiled against the headers of `include`.
fn in_c(include: &Path, name: &str) -> BTreeMap<String, String> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new("cc")
        .args(["-std=c11", "-D__CUDA_API_VERSION_INTERNAL", "-I"])
        .arg(include)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated/layout.c"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("cc starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let printed = Command::new(&program).output().expect("the program starts");
    let text = String::from_utf8(printed.stdout).expect("the program prints ASCII");
    text.lines().filter_map(|line| line.split_once(' ')).map(|(what, at)| (what.to_owned(), at.to_owned())).collect()
}

fn in_rust() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for (name, size, align, fields) in LAYOUTS {
        facts.insert((*name).to_owned(), format!("{size} {align}"));
        facts.extend(fields.iter().map(|(field, offset)| (format!("{name}.{field}"), offset.to_string())));
    }
    facts
}

/// Names what differs, not all that is the same.
fn assert_same(rust: &BTreeMap<String, String>, c: &BTreeMap<String, String>) {
    let differences: Vec<String> = rust
        .keys()
        .chain(c.keys())
        .filter(|what| rust.get(*what) != c.get(*what))
        .map(|what| format!("{what}: {:?} in Rust, {:?} in C", rust.get(what), c.get(what)))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(c.len() > 500, "only {} facts", c.len());
}

#[test]
fn rust_types_are_laid_out_as_in_our_header() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    assert_same(&in_rust(), &in_c(&include, "layout_of_ours"));
}

#[test]
fn our_header_is_laid_out_as_nvidias() {
    let Some(folder) = std::env::var_os(NVIDIA_HEADERS) else {
        let message = format!(
            "\nSKIPPED our_header_is_laid_out_as_nvidias: {NVIDIA_HEADERS} does not name the folder of NVIDIA's cuda.h (it is in PyPI's nvidia-cuda-runtime)\n"
        );
        // Around the test harness, which would keep it to itself.
        std::io::stderr().write_all(message.as_bytes()).expect("standard error is open");
        return;
    };
    assert_same(&in_rust(), &in_c(Path::new(&folder), "layout_of_nvidias"));
}
