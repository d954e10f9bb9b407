//! The libraries under test, and their functions by name.
#![allow(dead_code, unused_imports, reason = "each test uses a part")]

#[path = "../../../../tests/settings.rs"]
mod settings;

pub(crate) use settings::take_out;

use std::ffi::{CStr, c_char, c_uint};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;
use warploom_abi::nvml::{nvmlDevice_t, nvmlReturn_t};

/// The folder where cargo puts libraries.
pub(crate) fn folder() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("a test knows its executable");
        let folder = test.ancestors().nth(2).expect("tests are in a folder of the build's").to_owned();
        // `make unit` has built them, with the features of the whole workspace; building a part of it means other features.
        if std::env::var_os("LIBRARIES_ARE_BUILT").is_none() {
            let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
            let built = Command::new(env!("CARGO"))
                .args(["build", "--quiet", "--package", "warploom-libcuda", "--package", "warploom-nvml"])
                .args(["--profile", profile, "--target-dir"])
                .arg(folder.parent().expect("a profile has a target folder"))
                .status();
            assert!(built.expect("cargo runs").success(), "the libraries build");
        }
        folder
    });
    folder.clone()
}

/// A folder with the management library under the name that programs ask for.
pub(crate) fn named() -> PathBuf {
    let named = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libnvidia-ml");
    std::fs::create_dir_all(&named).expect("the scratch folder takes folders");
    match symlink(folder().join("libwarploom_nvml.so"), named.join("libnvidia-ml.so.1")) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => panic!("{error}"),
        _ => named,
    }
}

/// The management library.
pub(crate) struct Nvml(Library);

impl Nvml {
    pub(crate) fn open() -> Nvml {
        // SAFETY: our own library, whose initialisers do nothing.
        Nvml(unsafe { Library::new(folder().join("libwarploom_nvml.so")) }.expect("our own library loads"))
    }

    pub(crate) fn initialized() -> Nvml {
        let nvml = Nvml::open();
        assert_eq!(nvml.call0("nvmlInit_v2"), nvmlReturn_t::NVML_SUCCESS);
        nvml
    }

    /// A function, as the type that the caller knows it to have.
    pub(crate) fn get<F: Copy>(&self, name: &str) -> F {
        // SAFETY: callers name the type of the function's prototype.
        *unsafe { self.0.get::<F>(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn call0(&self, name: &str) -> nvmlReturn_t {
        // SAFETY: a function without parameters.
        unsafe { self.get::<unsafe extern "C" fn() -> nvmlReturn_t>(name)() }
    }

    /// What a function writes that has a place for its only result.
    pub(crate) fn result<T: Default>(&self, name: &str) -> (nvmlReturn_t, T) {
        let mut result = T::default();
        // SAFETY: a function with this parameter; the place is ours.
        let code = unsafe { self.get::<unsafe extern "C" fn(*mut T) -> nvmlReturn_t>(name)(&mut result) };
        (code, result)
    }

    pub(crate) fn device(&self, index: c_uint) -> nvmlDevice_t {
        let mut device = nvmlDevice_t::NULL;
        let get: unsafe extern "C" fn(c_uint, *mut nvmlDevice_t) -> nvmlReturn_t =
            self.get("nvmlDeviceGetHandleByIndex_v2");
        // SAFETY: the place is ours.
        assert_eq!(unsafe { get(index, &mut device) }, nvmlReturn_t::NVML_SUCCESS);
        device
    }

    /// What a function writes that takes a device and has a place for its only result.
    pub(crate) fn of<T: Default>(&self, name: &str, device: nvmlDevice_t) -> (nvmlReturn_t, T) {
        let mut result = T::default();
        let get: unsafe extern "C" fn(nvmlDevice_t, *mut T) -> nvmlReturn_t = self.get(name);
        // SAFETY: a function with these parameters; the place is ours.
        let code = unsafe { get(device, &mut result) };
        (code, result)
    }

    /// A text about a device.
    pub(crate) fn text(&self, name: &str, device: nvmlDevice_t) -> String {
        let mut text: [c_char; 96] = [0; 96];
        let get: unsafe extern "C" fn(nvmlDevice_t, *mut c_char, c_uint) -> nvmlReturn_t = self.get(name);
        // SAFETY: a function with these parameters; the room is as large as said.
        assert_eq!(unsafe { get(device, text.as_mut_ptr(), 96) }, nvmlReturn_t::NVML_SUCCESS);
        c_text(&text)
    }
}

/// The text up to its NUL.
pub(crate) fn c_text(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|byte| *byte as u8).collect();
    CStr::from_bytes_until_nul(&bytes).expect("it ends in NUL").to_string_lossy().into_owned()
}

/// The mark by which a test knows that it is the process that it has started.
pub(crate) const CHILD: &str = "WARPLOOM_TEST_CHILD";

/// A command that runs a test alone, in a process of its own with these settings.
pub(crate) fn again(test: &str, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its executable"));
    settings::take_out(&mut command).args([test, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, test);
    command.envs(settings.iter().copied());
    command
}
