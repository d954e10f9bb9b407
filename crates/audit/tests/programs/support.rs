//! Stand-ins for libraries, compiled by the C compiler, and programs run under the auditing library.
#[path = "../../../../tests/settings.rs"]
mod settings;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A scratch folder with the auditing library and stand-ins for our libraries in `ours`.
pub(crate) struct Scene {
    folder: PathBuf,
}

impl Scene {
    /// An empty folder for the test of this name, but for `ours`.
    pub(crate) fn new(test: &str) -> Scene {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).expect("an old scratch folder can be removed");
        }
        std::fs::create_dir_all(folder.join("ours")).expect("the scratch folder takes folders");
        let scene = Scene { folder };
        std::fs::copy(auditor(), scene.path("ours/libwarploom_audit.so")).expect("the library can be copied");
        for (major, ending) in [(11, "11.0"), (12, "12"), (13, "13")] {
            let (soname, define) = (format!("libcudart.so.{ending}"), format!("-DMAJOR={major}"));
            scene.library("runtime.c", &format!("ours/{soname}"), &[&define, &format!("-Wl,-soname,{soname}")]);
        }
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Compiles a file of `tests/c` to a library.
    pub(crate) fn library(&self, source: &str, name: &str, arguments: &[&str]) {
        self.compile(&[source], name, &[&["-shared", "-fPIC"], arguments].concat());
    }

    /// Compiles files of `tests/c`. Arguments can name what is in the folder.
    pub(crate) fn compile(&self, sources: &[&str], name: &str, arguments: &[&str]) {
        let output = self.path(name);
        std::fs::create_dir_all(output.parent().expect("a folder")).expect("the scratch folder takes folders");
        let sources = sources.iter().map(|source| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source));
        let mut command = Command::new("cc");
        command.current_dir(&self.folder).args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-o"]).arg(output);
        succeeds(command.args(sources).args(arguments).args(["-ldl", "-lpthread"]));
    }

    /// A program with a runtime library of this version in it.
    pub(crate) fn embedding_program(&self, name: &str, version: u32, arguments: &[&str]) {
        let version = format!("-DVERSION={version}");
        self.compile(&["embedded.c", "uses.c"], name, &[&[version.as_str(), "-DENTRY=main"], arguments].concat());
    }

    /// A library with a runtime library of this version in it.
    pub(crate) fn embedding_library(&self, name: &str, version: u32, arguments: &[&str]) {
        let version = format!("-DVERSION={version}");
        let library = [version.as_str(), "-shared", "-fPIC", "-DENTRY=entry", "-Wl,-Bsymbolic"];
        self.compile(&["embedded.c", "uses.c"], name, &[&library, arguments].concat());
    }

    /// A program of the folder, to run under the auditing library, which explains what it does.
    pub(crate) fn audited(&self, program: impl AsRef<Path>) -> Command {
        let mut command = self.plain(program);
        command.env("LD_AUDIT", self.path("ours/libwarploom_audit.so")).env("WARPLOOM_EXPLAIN", "1");
        command
    }

    /// A program of the folder.
    pub(crate) fn plain(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(self.folder.join(program));
        settings::take_out(&mut command).current_dir(&self.folder);
        for name in ["LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"] {
            command.env_remove(name);
        }
        command
    }
}

/// The library that cargo built along with the test.
fn auditor() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its executable");
    let folders = test.ancestors().skip(1).take(2);
    let mut candidates = folders.map(|folder| folder.join("libwarploom_audit.so"));
    candidates.find(|candidate| candidate.exists()).expect("cargo builds the library before its tests")
}

/// What a command prints, and what stands on its standard error; it succeeds.
pub(crate) fn succeeds(command: &mut Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (printed, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{printed}\n{errors}");
    (printed.into_owned(), errors.into_owned())
}
