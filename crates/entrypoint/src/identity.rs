//! Which driver this is.
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use libloading::os::unix::Library;
use warploom_abi::CUresult;

/// The name of the export table by which a warploom driver makes itself known: it answers `cuGetExportTable` for these bytes with
/// the table's size in bytes, and a C string with its version. Other drivers do not know it.
pub const WARPLOOM_IDENTITY_TABLE: [u8; 16] = *b"warploom:identit";

type GetExportTable = unsafe extern "C" fn(*mut *const c_void, *const [u8; 16]) -> c_int;

/// The table behind [`WARPLOOM_IDENTITY_TABLE`].
#[repr(C)]
struct IdentityTable {
    size: usize,
    version: *const c_char,
}

/// Who made a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// This project; `version` is that of the package.
    Warploom {
        /// For instance `0.1.0`.
        version: String,
    },
    /// NVIDIA; `version` is that of the driver package, from the file name, for instance `580.159.04`.
    Nvidia {
        /// None if the file name does not tell.
        version: Option<String>,
    },
    /// Neither, as far as can be seen.
    Unknown,
}

/// A driver's maker, version and file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Who made it.
    pub vendor: Vendor,
    /// The CUDA version, as `1000 * major + 10 * minor`.
    pub version: i32,
    /// The file, with links resolved; None if the dynamic linker does not tell.
    pub path: Option<PathBuf>,
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.vendor {
            Vendor::Warploom { version } => write!(formatter, "warploom {version}")?,
            Vendor::Nvidia { version: Some(version) } => write!(formatter, "NVIDIA {version}")?,
            Vendor::Nvidia { version: None } => formatter.write_str("NVIDIA")?,
            Vendor::Unknown => formatter.write_str("unknown maker")?,
        }
        write!(formatter, ", a driver of CUDA {}.{}", self.version / 1000, self.version % 1000 / 10)?;
        match &self.path {
            Some(path) => write!(formatter, ", from {}", path.display()),
            None => Ok(()),
        }
    }
}

pub(crate) fn find(library: &Library, inside: *const (), version: i32) -> Identity {
    let path = address_info(inside).filter(|info| !info.dli_fname.is_null()).map(|info| {
        // SAFETY: the dynamic linker's name of a loaded object ends in NUL and lives as long as the object.
        let name = unsafe { CStr::from_ptr(info.dli_fname) };
        let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
        path.canonicalize().unwrap_or(path)
    });
    let vendor = match warploom_version(library) {
        Some(version) => Vendor::Warploom { version },
        None => path.as_ref().map_or(Vendor::Unknown, |path| vendor_of_file(&path.to_string_lossy())),
    };
    Identity { vendor, version, path }
}

/// NVIDIA's driver is the file `libcuda.so.<version>`, in a folder of the system's or of the driver's package.
fn vendor_of_file(path: &str) -> Vendor {
    let file = path.rsplit('/').next().unwrap_or_default();
    let version = file.strip_prefix("libcuda.so.").filter(|version| {
        let mut parts = version.split('.');
        parts.clone().count() >= 2 && parts.all(|part| part.parse::<u32>().is_ok())
    });
    match version {
        Some(version) => Vendor::Nvidia { version: Some(version.to_owned()) },
        None if path.contains("/nvidia/") => Vendor::Nvidia { version: None },
        None => Vendor::Unknown,
    }
}

fn warploom_version(library: &Library) -> Option<String> {
    // SAFETY: the prototype is that of the manual.
    let get = unsafe { library.get::<GetExportTable>(b"cuGetExportTable\0") }.ok()?;
    let mut table: *const c_void = std::ptr::null();
    // SAFETY: both pointers are good; a driver that does not know the table answers with an error, before cuInit too.
    let result = unsafe { get(&mut table, &WARPLOOM_IDENTITY_TABLE) };
    let table = table.cast::<IdentityTable>();
    if result != CUresult::CUDA_SUCCESS.0 as c_int || table.is_null() {
        return None;
    }
    // SAFETY: only a warploom driver answers this name, with a table that is at least this large and lives for ever.
    unsafe {
        if (*table).size < size_of::<IdentityTable>() || (*table).version.is_null() {
            return None;
        }
        Some(CStr::from_ptr((*table).version).to_string_lossy().into_owned())
    }
}

/// What the dynamic linker knows of an address.
pub(crate) fn address_info(address: *const ()) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: dladdr takes any address, and fills the structure if it answers other than 0.
    unsafe { (libc::dladdr(address.cast(), info.as_mut_ptr()) != 0).then(|| info.assume_init()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_tell_who_made_them() {
        let nvidia = |version: &str| Vendor::Nvidia { version: Some(version.to_owned()) };
        assert_eq!(vendor_of_file("/usr/local/nvidia/lib64/libcuda.so.580.159.04"), nvidia("580.159.04"));
        assert_eq!(vendor_of_file("/usr/lib/x86_64-linux-gnu/libcuda.so.550.54"), nvidia("550.54"));
        assert_eq!(vendor_of_file("/usr/local/nvidia/lib64/libcuda.so.1"), Vendor::Nvidia { version: None });
        assert_eq!(vendor_of_file("/opt/other/libcuda.so.1"), Vendor::Unknown);
        assert_eq!(vendor_of_file("libcuda.so"), Vendor::Unknown);
    }

    #[test]
    fn an_identity_reads_as_a_sentence() {
        let identity = Identity {
            vendor: Vendor::Warploom { version: "0.1.0".to_owned() },
            version: 13_050,
            path: Some("/opt/lib/warploom/libcuda.so.1".into()),
        };
        assert_eq!(identity.to_string(), "warploom 0.1.0, a driver of CUDA 13.5, from /opt/lib/warploom/libcuda.so.1");
    }
}
