//! NVIDIA's compilers and runtime libraries, installed from PyPI into the build folder.
use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use crate::{of_12, pypi};

/// A folder as a toolkit has it: `bin`, `include`, `lib`, `nvvm`.
pub(crate) struct Toolkit {
    folder: PathBuf,
    version: &'static str,
}

impl Toolkit {
    /// The version of its runtime library.
    pub(crate) fn version(&self) -> &'static str {
        self.version
    }

    pub(crate) fn major(&self) -> &'static str {
        self.version.split('.').next().unwrap_or_default()
    }

    /// Where it is; programs may be put there.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The packages lack the name by which linkers look for the shared runtime library.
    fn name_library(&self) {
        let name = self.folder.join("lib/libcudart.so");
        if name.symlink_metadata().is_err() {
            symlink(format!("libcudart.so.{}", self.major()), name).expect("the build folder takes links");
        }
    }

    /// nvcc, which is to make this code.
    pub(crate) fn compiler(&self, code: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin/nvcc"));
        command.args(["-gencode", code, "-L"]).arg(self.folder.join("lib"));
        command
    }

    /// Compiles a source of this folder with the options that nvcc has by default, and these. Objects that several tests link are compiled
    /// once: it takes ten times as long as to link them.
    pub(crate) fn object(&self, code: &str, source: &str, options: &[&str]) -> PathBuf {
        type Objects = Mutex<HashMap<String, Arc<OnceLock<PathBuf>>>>;
        static OBJECTS: OnceLock<Objects> = OnceLock::new();
        let wanted = format!("{} {code} {source} {options:?}", self.folder.display());
        let mut objects = OBJECTS.get_or_init(Objects::default).lock().expect("nothing panics with it");
        let number = objects.len();
        let object = Arc::clone(objects.entry(wanted).or_default());
        drop(objects);
        let compiled = object.get_or_init(|| {
            let path = self.folder.join(format!("{source}.{number}.o"));
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvcc").join(source);
            let mut command = self.compiler(code);
            must_succeed(command.arg("-c").arg(source).arg("-o").arg(&path).args(options));
            path
        });
        compiled.clone()
    }

    /// Links objects into a program or library of this name.
    pub(crate) fn link(&self, code: &str, objects: &[PathBuf], name: &str, options: &[&str]) -> PathBuf {
        let program = self.folder.join(name);
        must_succeed(self.compiler(code).args(objects).arg("-o").arg(&program).args(options));
        program
    }
}

/// Runs a command that is to succeed.
pub(crate) fn must_succeed(command: &mut Command) {
    pypi::run(command).unwrap_or_else(|why| panic!("{why}"));
}

/// All that could be installed; says so where that is not all.
pub(crate) fn toolkits() -> &'static [Toolkit] {
    static TOOLKITS: OnceLock<Vec<Toolkit>> = OnceLock::new();
    TOOLKITS.get_or_init(|| {
        let newest = install("13.5", &pypi::of_13("13.5"), "nvidia/cu13");
        let older = install("13.0", &pypi::of_13("13.0"), "nvidia/cu13");
        let parts = or_said("12.9", of_12::install()).map(|folder| folder.join("nvidia"));
        let mixed = newest.as_ref().zip(parts).map(|(newest, parts)| mix(newest, &parts));
        let all: Vec<Toolkit> = [newest, older, mixed].into_iter().flatten().collect();
        all.iter().for_each(Toolkit::name_library);
        all
    })
}

/// The newest of each major version, for what is another matter in no two versions of one: all three take half as long again.
pub(crate) fn one_of_each_major_version() -> impl Iterator<Item = &'static Toolkit> {
    let newer = |toolkit: &Toolkit| toolkits().iter().find(|other| other.major() == toolkit.major());
    toolkits().iter().filter(move |toolkit| newer(toolkit).is_some_and(|newer| newer.version == toolkit.version))
}

/// A toolkit of packages, whose files lie in `folder`.
fn install(version: &'static str, packages: &[String], folder: &str) -> Option<Toolkit> {
    let target = or_said(version, pypi::install(&format!("cuda-{version}"), packages))?;
    Some(Toolkit { folder: target.join(folder), version })
}

/// What was installed; says so if nothing could be.
fn or_said(version: &str, installed: Result<PathBuf, String>) -> Option<PathBuf> {
    if let Err(why) = &installed {
        // Not what the test harness captures.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: programs of NVIDIA's compiler {version}, which cannot be installed: {why}"
        );
    }
    installed.ok()
}

/// The compiler of one toolkit with headers and libraries of version 12.
fn mix(compiler: &Toolkit, parts: &Path) -> Toolkit {
    let folder = parts.join("toolkit");
    if !folder.exists() {
        // Made beside, and then given its name: a test that is interrupted leaves no half of it.
        let new = parts.join("new-toolkit");
        let _ = fs::remove_dir_all(&new);
        // The compiler looks for its parts where it is itself, past links.
        hard_link_all(&compiler.folder.join("bin"), &new.join("bin"));
        hard_link_all(&parts.join("cuda_runtime/include"), &new.join("include"));
        hard_link_all(&parts.join("cuda_nvcc/include"), &new.join("include"));
        symlink(compiler.folder.join("nvvm"), new.join("nvvm")).expect("the build folder takes links");
        symlink(parts.join("cuda_runtime/lib"), new.join("lib")).expect("the build folder takes links");
        fs::rename(new, &folder).expect("the build folder takes folders");
    }
    Toolkit { folder, version: "12.9" }
}

fn hard_link_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the build folder takes folders");
    for entry in fs::read_dir(from).expect("a package has its folders") {
        let from = entry.expect("a folder lists").path();
        let to = to.join(from.file_name().expect("a name"));
        if from.is_dir() {
            hard_link_all(&from, &to);
        } else if !to.exists() {
            fs::hard_link(&from, &to).expect("the build folder takes files");
        }
    }
}
