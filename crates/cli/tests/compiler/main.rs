//! The library with the compiler, as `make` links it: what it needs and shows, and that it stands another LLVM in the process.
#[path = "../../../cudart/tests/support/pypi.rs"]
#[allow(dead_code, reason = "other tests install whole toolkits")]
mod pypi;
#[path = "../support/mod.rs"]
mod support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use object::elf;
use object::read::elf::{Dyn, ElfFile64};
use object::{LittleEndian, Object, ObjectSymbol};

/// The folder with the command and its libraries.
fn folder() -> PathBuf {
    let command = support::warploom();
    Path::new(command.get_program()).parent().expect("a folder").to_owned()
}

/// The library, linked beside the others.
fn compiler() -> &'static Path {
    static LINKED: OnceLock<PathBuf> = OnceLock::new();
    LINKED.get_or_init(|| {
        let library = folder().join("libwarploom-simt.so");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = folder();
        let target = target.parent().expect("a target folder");
        let mut make = Command::new("make");
        make.arg("--silent").arg("-C").arg(&root).env("CARGO_TARGET_DIR", target).arg(&library);
        assert!(make.status().expect("make runs").success(), "the compiler's library is linked");
        library
    })
}

fn needed(library: &Path) -> Vec<String> {
    let bytes = std::fs::read(library).expect("a library");
    let file: ElfFile64<'_, LittleEndian> = ElfFile64::parse(&*bytes).expect("ELF");
    let (dynamic, strings) = file
        .elf_section_table()
        .dynamic(LittleEndian, &*bytes)
        .expect("sections")
        .map(|(entries, link)| {
            (entries, file.elf_section_table().strings(LittleEndian, &*bytes, link).expect("strings"))
        })
        .expect("a dynamic section");
    let names = dynamic.iter().filter(|entry| entry.d_tag(LittleEndian) == u64::from(elf::DT_NEEDED));
    let text =
        |entry: &elf::Dyn64<LittleEndian>| strings.get(entry.d_val(LittleEndian) as u32).expect("a name").to_vec();
    names.map(|entry| String::from_utf8(text(entry)).expect("a name")).collect()
}

#[test]
fn everything_needs_the_c_library_and_libgcc_alone() {
    const FINE: [&str; 6] =
        ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];
    compiler();
    for name in
        ["warploom", "libcuda.so", "libcudart12.so", "libcudart13.so", "libwarploom_audit.so", "libwarploom-simt.so"]
    {
        let others: Vec<String> =
            needed(&folder().join(name)).into_iter().filter(|name| !FINE.contains(&name.as_str())).collect();
        assert_eq!(others, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn it_shows_its_few_functions_and_nothing_else() {
    let bytes = std::fs::read(compiler()).expect("the library");
    let file: ElfFile64<'_, LittleEndian> = ElfFile64::parse(&*bytes).expect("ELF");
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let names: Vec<&str> = defined.map(|symbol| symbol.name().expect("a name")).collect();
    assert!((20..60).contains(&names.len()), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("LLVM") && !name.contains("4llvm")), "{names:?}");
}

#[test]
fn it_is_found_and_named() {
    let library = compiler();
    let output = support::warploom().arg("info").output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.lines().any(|line| line.starts_with("compiler LLVM 19.") && line.ends_with("libwarploom-simt.so")),
        "{text}"
    );
    assert!(library.exists());
}

#[test]
fn another_llvm_in_the_process_is_not_in_the_way() {
    compiler();
    let package = ["llvmlite==0.44.*".to_owned()];
    let installed = match pypi::install("llvmlite", &package) {
        Ok(folder) => folder,
        Err(why) => {
            // Not what the test harness captures.
            let _ = writeln!(std::io::stderr(), "SKIPPED: a program with llvmlite, which cannot be installed: {why}");
            return;
        }
    };
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compiler/other_llvm.py");
    let mut command = support::warploom();
    command.args(["run", "--explain", "--", "/usr/bin/python3"]).arg(program);
    let output = command.env("PYTHONPATH", installed).env("WARPLOOM_JIT", "always").output().expect("runs");
    let [printed, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(printed, "both\n", "{said}");
    assert_eq!(said.matches(": compiled in ").count(), 2, "{said}");
}

#[test]
fn where_it_is_missing_is_said_as_it_would_be_installed() {
    // As `make install WITHOUT_COMPILER=1` leaves it.
    let installed = folder().join(format!("without-compiler-{}", std::process::id()));
    let [bin, lib] = ["bin", "lib/warploom"].map(|name| installed.join(name));
    for (name, to) in [("warploom", bin.join("warploom")), ("libcuda.so", lib.join("libcuda.so.1"))] {
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        std::fs::hard_link(folder().join(name), to).expect("linked");
    }
    let output = Command::new(bin.join("warploom")).arg("info").output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let place = lib.canonicalize().expect("it is there").join("libwarploom-simt.so");
    let line = text.lines().find(|line| line.starts_with("compiler ")).expect("a line");
    std::fs::remove_dir_all(&installed).expect("removed");
    assert!(line.ends_with(&format!("installed without a compiler: there is no {}", place.display())), "{line}");
}
