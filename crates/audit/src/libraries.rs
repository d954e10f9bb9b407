//! Which of our libraries stands for which name.
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::elf_file::ElfFile;

/// Major versions of the runtime library that there may be one of ours for.
const RUNTIMES: [u32; 3] = [11, 12, 13];

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Driver,
    /// The management library.
    Management,
    /// The runtime library of this major version.
    Runtime(u32),
    /// A runtime library whose name has no version (`libcudart.so`).
    AnyRuntime,
}

/// Reads the name of a file: `libcuda.so.1`, `libcudart.so.12`, `libcudart-5a077122.so.12.1.105` (as wheels rename what they bundle).
pub(crate) fn wanted(path: &Path) -> Option<Wanted> {
    let name = path.file_name()?.to_str()?;
    let (stem, version) = name.split_once(".so")?;
    let version = if version.is_empty() { version } else { version.strip_prefix('.')? };
    let base = match stem.split_once('-') {
        Some(("libnvidia", "ml")) => stem,
        Some((base, hash)) if !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => base,
        Some(_) => return None,
        None => stem,
    };
    if !version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    match base {
        "libcuda" => Some(Wanted::Driver),
        "libnvidia-ml" => Some(Wanted::Management),
        "libcudart" if version.is_empty() => Some(Wanted::AnyRuntime),
        "libcudart" => version.split('.').next()?.parse().ok().map(Wanted::Runtime),
        _ => None,
    }
}

/// Libraries of NVIDIA's that stay, with one of ours in front of them: how the names of their files begin, and those of their functions.
const COMPILERS: [(&str, &[&str]); 2] = [("libnvrtc", &["nvrtc"]), ("libnvJitLink", &["nvJitLink", "__nvJitLink"])];
/// The one of ours.
const COMPILERS_OF_OURS: &str = "libwarploom_compilers.so";

/// How the names of the functions begin that a compiler or linker of NVIDIA's has, if a file may be one by its name.
pub(crate) fn compiler(path: &Path) -> Option<&'static [&'static str]> {
    let name = path.file_name()?.to_str()?;
    let (_, functions) = COMPILERS.into_iter().find(|(start, _)| name.starts_with(start))?;
    name.contains(".so").then_some(functions)
}

/// Our libraries: those that lie beside this one.
#[derive(Debug)]
pub(crate) struct Libraries {
    folder: PathBuf,
    driver: Option<CString>,
    management: Option<CString>,
    /// What stands in front of NVIDIA's compilers.
    pub(crate) compilers: Option<CString>,
    runtimes: Vec<Runtime>,
}

/// A runtime library of ours.
#[derive(Debug)]
pub(crate) struct Runtime {
    pub(crate) major: u32,
    path: PathBuf,
    pub(crate) c_path: CString,
    names: OnceLock<Vec<Vec<u8>>>,
}

impl Runtime {
    /// The functions that it exports, in order; none if its file cannot be read.
    pub(crate) fn names(&self) -> &[Vec<u8>] {
        self.names.get_or_init(|| {
            let mut names =
                ElfFile::open(&self.path).and_then(|file| file.exported_functions()).unwrap_or_else(|reason| {
                    crate::explain::say(&self.path.to_string_lossy(), format_args!("{reason}"));
                    Vec::new()
                });
            names.sort_unstable();
            names
        })
    }
}

impl Libraries {
    /// Those in `folder`.
    pub(crate) fn find(folder: PathBuf) -> Libraries {
        let there = |name: &str| {
            let path = folder.join(name);
            let c_path = CString::new(path.as_os_str().as_bytes()).ok()?;
            path.exists().then_some((path, c_path))
        };
        let runtime = |major| {
            // Up to 11, the minor version of the first with its interface is in the name.
            let minor = if major < 12 { ".0" } else { "" };
            let (path, c_path) = there(&format!("libcudart.so.{major}{minor}"))?;
            Some(Runtime { major, path, c_path, names: OnceLock::new() })
        };
        Libraries {
            driver: there("libcuda.so.1").map(|(_, c_path)| c_path),
            management: there("libnvidia-ml.so.1").map(|(_, c_path)| c_path),
            compilers: there(COMPILERS_OF_OURS).map(|(_, c_path)| c_path),
            runtimes: RUNTIMES.into_iter().filter_map(runtime).collect(),
            folder,
        }
    }

    /// Whether this is one of our own files.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        path.parent() == Some(&self.folder)
    }

    /// Whether this is our driver.
    pub(crate) fn is_driver(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("libcuda.so")) && self.contain(path)
    }

    /// Our runtime of a major version.
    pub(crate) fn runtime(&self, major: u32) -> Option<&Runtime> {
        self.runtimes.iter().find(|runtime| runtime.major == major)
    }

    /// The library of ours to load where `path`, whose name says what is wanted, is asked for or was found; `None` leaves it alone.
    ///
    /// A name without a version is told by the file itself, so it is left alone until the dynamic linker has found one.
    pub(crate) fn instead_of(&self, path: &Path, wanted: Wanted) -> Option<&CString> {
        if self.contain(path) {
            return None;
        }
        let major = match wanted {
            Wanted::Driver => return self.driver.as_ref(),
            Wanted::Management => return self.management.as_ref(),
            Wanted::Runtime(major) => major,
            Wanted::AnyRuntime if path.components().count() == 1 => return None,
            Wanted::AnyRuntime => {
                let soname = ElfFile::open(path).and_then(|file| file.soname()).ok()??;
                match self::wanted(Path::new(&soname)) {
                    Some(Wanted::Runtime(major)) => major,
                    _ => return None,
                }
            }
        };
        Some(&self.runtime(major)?.c_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_library_and_its_major_version() {
        for (name, expected) in [
            ("libcudart.so.12", Some(Wanted::Runtime(12))),
            ("/opt/cuda/lib64/libcudart.so.13.5.37", Some(Wanted::Runtime(13))),
            ("a/libcudart-5a077122.so.12.1.105", Some(Wanted::Runtime(12))),
            ("libcudart.so.11.0", Some(Wanted::Runtime(11))),
            ("libcudart.so", Some(Wanted::AnyRuntime)),
            ("libcuda.so", Some(Wanted::Driver)),
            ("/usr/lib/libcuda.so.550.54.15", Some(Wanted::Driver)),
            ("libcudart_static.so.12", None),
            ("libcudart-tools.so.12", None),
            ("libcudart.so.12.bak", None),
            ("libcudart.sox", None),
            ("/usr/lib/libnvidia-ml.so.1", Some(Wanted::Management)),
            ("libnvidia-ml.so.550.54.15", Some(Wanted::Management)),
            ("libnvidia-mlx.so.1", None),
            ("libcudadebugger.so.1", None),
            ("libcuda", None),
            ("libcublas.so.12", None),
            ("", None),
        ] {
            assert_eq!(wanted(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn compilers_are_told_by_their_names() {
        for (name, expected) in [
            ("/a/libnvrtc.so.13", Some("nvrtc")),
            ("/a/libnvrtc.alt.so.12", Some("nvrtc")),
            ("/a/libnvrtc-b51b459d.so.12", Some("nvrtc")),
            ("/a/libnvJitLink.so.12", Some("nvJitLink")),
            ("/a/libnvvm.so.4", None),
            ("/a/libnvrtc_static.a", None),
        ] {
            assert_eq!(compiler(Path::new(name)).and_then(|names| names.first().copied()), expected, "{name}");
        }
    }
}
