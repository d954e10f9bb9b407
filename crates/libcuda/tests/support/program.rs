//! Programs of `tests/c`, compiled against our headers and run against our library.
#[path = "../../../../tests/settings.rs"]
mod settings;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::library::library;

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A compiled program, in a folder of its own with the library under the names that programs are linked with and look for.
pub(crate) struct Program {
    folder: PathBuf,
}

/// Compiles `source`, a path in `tests/c`. `variant` tells apart programs that differ in their arguments or files only.
pub(crate) fn build(source: &str, variant: &str, arguments: &[&str]) -> Program {
    let name = format!("{}_{variant}", source.replace('/', "_"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the scratch folder takes folders");
    for link in ["libcuda.so", "libcuda.so.1"] {
        let link = folder.join(link);
        if link.symlink_metadata().is_ok() {
            std::fs::remove_file(&link).expect("an old link can be removed");
        }
        symlink(library(), &link).expect("the scratch folder takes links");
    }
    let (compiler, standard) = if source.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let output = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root().join("include"))
        .arg("-I")
        .arg(root().join("tests/c"))
        .arg(root().join("tests/c").join(source))
        .arg("-o")
        .arg(folder.join("program"))
        .arg("-L")
        .arg(&folder)
        .args(arguments)
        .args(["-lcuda", "-ldl", "-lm", "-lpthread"])
        .output()
        .expect("a C compiler starts");
    assert!(output.status.success(), "{source}:\n{}", String::from_utf8_lossy(&output.stderr));
    Program { folder }
}

impl Program {
    /// The folder in which it is and runs, for the files that it reads.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it prints with success. `prepare` adds arguments and settings.
    pub(crate) fn run(&self, prepare: impl FnOnce(&mut Command)) -> String {
        self.run_and_report(prepare).0
    }

    /// What it prints with success, and what stands on standard error.
    pub(crate) fn run_and_report(&self, prepare: impl FnOnce(&mut Command)) -> (String, String) {
        let mut command = Command::new(self.folder().join("program"));
        settings::take_out(&mut command).current_dir(&self.folder).env("LD_LIBRARY_PATH", &self.folder);
        prepare(&mut command);
        let Output { status, stdout, stderr } = command.output().expect("the program starts");
        let (printed, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{command:?}: {status}\n{printed}\n{errors}");
        (printed.into_owned(), errors.into_owned())
    }
}
