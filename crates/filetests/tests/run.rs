//! Every file of `tests/filetests/run`, interpreted, compiled, and with all checks, on our `libcuda.so`, or on the driver that `WARPLOOM_TEST_LIBCUDA` names;
//! one process for each, because a fault is sticky.
//!
//! What the checks report, by right, stands in `tests/filetests/reported.txt`, with the reason: what is reported and not listed fails, and so does what is listed and not
//! reported.
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
            [("", Way::Interpreted), ("compiled/", Way::Compiled), ("checked/", Way::Checked)].map(|(prefix, way)| {
                let (libcuda, file) = (libcuda.clone(), file.clone());
                Trial::test(format!("{prefix}{name}"), move || run(&libcuda, &file, way))
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

/// How a file is run.
#[derive(Clone, Copy)]
enum Way {
    Interpreted,
    Compiled,
    Checked,
}

/// Not `leak`: the program that runs the files leaves it to its end to free what it has.
const CHECKS: &str = "memory,race,init,sync,host";

fn run(libcuda: &Path, file: &Path, way: Way) -> Result<(), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_filetests"));
    command.env("WARPLOOM_JIT", if matches!(way, Way::Compiled) { "always" } else { "off" });
    if matches!(way, Way::Checked) {
        command.env("WARPLOOM_CHECK", CHECKS);
    }
    let output = command.env("CUDA_CACHE_DISABLE", "1").arg("--libcuda").arg(libcuda).arg(file).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{}{said}", String::from_utf8_lossy(&output.stdout)).into());
    }
    match way {
        Way::Interpreted => Ok(()),
        Way::Compiled => {
            // Or "is not compiled, because of a defect of the compiler: ".
            let declined = said.lines().filter_map(|line| line.split_once(" is not compiled")?.1.split_once(": "));
            is_listed(file, "declined.txt", &declined.map(|(_, reason)| reason).collect::<Vec<_>>())
        }
        Way::Checked => {
            let reported = said.lines().filter_map(|line| line.split_once(": error[")?.1.split_once(']'));
            let reported = is_listed(file, "reported.txt", &reported.map(|(kind, _)| kind).collect::<Vec<_>>());
            reported.map_err(|why| format!("{}\n{said}", why.message().unwrap_or_default()).into())
        }
    }
}

/// Compares what was said of a file with a list.
fn is_listed(file: &Path, list: &str, found: &[&str]) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests");
    let name = file.strip_prefix(root.join("run")).unwrap_or(file).display().to_string();
    let text = std::fs::read_to_string(root.join(list))?;
    let mut found = found.to_vec();
    let mut listed: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&*name)?.strip_prefix(": ")).collect();
    for reasons in [&mut listed, &mut found] {
        reasons.sort_unstable();
        reasons.dedup();
    }
    if listed == found {
        return Ok(());
    }
    Err(format!("{name}: {list} lists {listed:?}, and found was {found:?}").into())
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
