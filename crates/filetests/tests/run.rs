//! Every file of `tests/filetests/run`, interpreted and compiled, on our `libcuda.so`, or on the driver that `WARPLOOM_TEST_LIBCUDA` names; one process
//! for each, because a fault is sticky.
//!
//! What the vector compiler leaves to the interpreter stands in `tests/filetests/declined.txt`, with the reason: a kernel that is declined and not listed
//! fails, and so does one that is listed and compiled.
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(!files.is_empty(), "no filetests under {}", root.display());
    let libcuda = std::env::var_os("WARPLOOM_TEST_LIBCUDA").map_or_else(built_library, PathBuf::from);
    let trials = files
        .into_iter()
        .flat_map(|file| {
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            // A second time with code that is compiled where that is covered; another driver does not know the setting.
            [("", "off"), ("compiled/", "always")].map(|(prefix, jit)| {
                let (libcuda, file) = (libcuda.clone(), file.clone());
                Trial::test(format!("{prefix}{name}"), move || run(&libcuda, &file, jit))
            })
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The library that `cargo build --package warploom-libcuda` leaves beside the test binaries' folder.
fn built_library() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_filetests"));
    let library = binary.with_file_name("libcuda.so");
    assert!(library.exists(), "{} is missing: run cargo build --package warploom-libcuda first", library.display());
    library
}

fn run(libcuda: &Path, file: &Path, jit: &str) -> Result<(), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_filetests"));
    let output = command
        .env("WARPLOOM_JIT", jit)
        .env("CUDA_CACHE_DISABLE", "1")
        .arg("--libcuda")
        .arg(libcuda)
        .arg(file)
        .output()?;
    if output.status.success() {
        return if jit == "always" { is_listed(file, &String::from_utf8_lossy(&output.stderr)) } else { Ok(()) };
    }
    Err(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)).into())
}

/// Compares what was declined with the list.
fn is_listed(file: &Path, said: &str) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests");
    let name = file.strip_prefix(root.join("run")).unwrap_or(file).display().to_string();
    let list = std::fs::read_to_string(root.join("declined.txt"))?;
    let mut listed: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix(&*name)?.strip_prefix(": ")).collect();
    let mut found: Vec<&str> =
        said.lines().filter_map(|line| line.split_once(" is not compiled: ")).map(|(_, reason)| reason).collect();
    for reasons in [&mut listed, &mut found] {
        reasons.sort_unstable();
        reasons.dedup();
    }
    if listed == found {
        return Ok(());
    }
    Err(format!("{name}: declined.txt lists {listed:?}, and declined was {found:?}").into())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
    files.sort();
}
