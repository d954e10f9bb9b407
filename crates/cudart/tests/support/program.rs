//! CUDA C++ programs of `tests/cuda`, compiled with NVIDIA's compiler from PyPI, run on our libraries.
#[path = "../../../../tests/settings.rs"]
mod settings;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::library;
use crate::pypi::run;
use crate::runner;

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where what is made of a program goes.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the scratch folder takes folders");
    folder
}

/// Compiles the sources, paths in `tests/cuda`, into objects, which do not depend on the runtime that they are linked with.
pub(crate) fn compile(toolkit: &Path, name: &str, sources: &[&str], options: &[&str]) -> Vec<PathBuf> {
    let folder = scratch(&format!("{name}_objects"));
    let object = |source: &&str| {
        let source = root().join("tests/cuda").join(source);
        let object = folder.join(source.file_name().expect("a source has a name")).with_extension("o");
        let mut command = Command::new(toolkit.join("bin/nvcc"));
        command.args(["-std=c++17", "-w", "-gencode", "arch=compute_75,code=compute_75", "-c", "-o"]);
        run(command.arg(&object).args(options).arg(source)).unwrap_or_else(|why| panic!("{why}"));
        object
    };
    sources.iter().map(object).collect()
}

/// Links objects with the runtime of a major version; where the program is.
pub(crate) fn link(toolkit: &Path, name: &str, objects: &[PathBuf], major: u32, options: &[&str]) -> PathBuf {
    let folder = scratch(&format!("{name}_{major}"));
    let libraries = library::folder();
    for (built, linked) in [("libcuda.so.1", "libcuda.so"), (&*format!("libcudart.so.{major}"), "libcudart.so")] {
        let link = folder.join(linked);
        if link.symlink_metadata().is_ok() {
            std::fs::remove_file(&link).expect("an old link can be removed");
        }
        symlink(libraries.join(built), &link).expect("the scratch folder takes links");
    }
    let program = folder.join("program");
    let mut command = Command::new(toolkit.join("bin/nvcc"));
    command.args(["-w", "-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75", "-o"]);
    command.arg(&program).args(options).args(objects);
    command.arg("-L").arg(&folder).arg("-L").arg(toolkit.join("lib")).arg("-lcuda");
    run(&mut command).unwrap_or_else(|why| panic!("{why}"));
    program
}

/// What a program prints. `prepare` adds arguments and settings.
pub(crate) fn output(program: &Path, prepare: impl FnOnce(&mut Command)) -> String {
    let mut command = runner::runner(program, false);
    settings::take_out(&mut command);
    prepare(&mut command);
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let (printed, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{printed}\n{errors}");
    printed.into_owned()
}
