//! The built libraries, in a folder under the names that programs look for, and the command that leads programs to them.
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What cargo calls the libraries, and what programs do.
const LIBRARIES: [(&str, &str); 5] = [
    ("libcuda.so", "libcuda.so.1"),
    ("libcudart11.so", "libcudart.so.11.0"),
    ("libcudart12.so", "libcudart.so.12"),
    ("libcudart13.so", "libcudart.so.13"),
    ("warploom", "warploom"),
];

/// A folder with the driver, the runtimes, and the command.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // `make unit` has built them, with the features of the whole workspace; building a part of it means other features.
        if std::env::var_os("LIBRARIES_ARE_BUILT").is_none() {
            build(scratch.parent().expect("the scratch folder is in the target folder"));
        }
        let test = std::env::current_exe().expect("a test knows its executable");
        let profile = test.ancestors().nth(2).expect("tests are in a folder of the profile's");
        // Each test program has links of its own.
        let program = test.file_stem().expect("a test has a name").to_string_lossy();
        let folder = scratch.join(format!("libraries_{program}"));
        std::fs::create_dir_all(&folder).expect("the scratch folder takes folders");
        for (built, wanted) in LIBRARIES {
            let link = folder.join(wanted);
            if link.symlink_metadata().is_ok() {
                std::fs::remove_file(&link).expect("an old link can be removed");
            }
            symlink(profile.join(built), &link).expect("the scratch folder takes links");
        }
        folder
    })
}

/// Builds the libraries into the target folder that this test came from.
fn build(target: &Path) {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--profile", profile, "--target-dir"])
        .arg(target)
        .args([
            "--package",
            "warploom-libcuda",
            "--package",
            "warploom-cudart11",
            "--package",
            "warploom-cudart12",
            "--package",
            "warploom-cudart13",
        ])
        .args(["--package", "warploom-cli", "--package", "warploom-audit"])
        .status();
    assert!(built.expect("cargo runs").success(), "the libraries build");
}
