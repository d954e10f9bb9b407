//! An opened driver library.
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use warploom_abi::{CUdriverProcAddressQueryResult, CUresult, EntryPoint};

use crate::identity::{self, Identity};
use crate::lookup::{DefaultStream, LookupError, Symbol};

/// The name under which CUDA programs ask the dynamic linker for the driver.
const SONAME: &str = "libcuda.so.1";

type GetProcAddressV1 = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64) -> CUresult;
type GetProcAddressV2 =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut CUdriverProcAddressQueryResult) -> CUresult;
type DriverGetVersion = unsafe extern "C" fn(*mut c_int) -> CUresult;

/// How this driver resolves entry points.
#[derive(Clone, Copy)]
enum Resolver {
    /// CUDA 12.0 and later.
    WithStatus(GetProcAddressV2),
    /// CUDA 11.3 to 11.8: no query result.
    WithoutStatus(GetProcAddressV1),
}

/// A CUDA driver in this process. It stays loaded: a driver's threads outlive a `dlclose`.
pub struct Driver {
    library: ManuallyDrop<Library>,
    resolver: Resolver,
    default_stream: DefaultStream,
    identity: Identity,
}

/// Why a driver library could not be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The dynamic linker did not load it.
    #[error("cannot load {library}")]
    NotLoaded {
        /// What was asked for.
        library: String,
        /// What the dynamic linker says.
        source: libloading::Error,
    },
    /// The library is no CUDA driver, or one from before CUDA 11.3.
    #[error("{library} has no {symbol}: it is not a CUDA driver of version 11.3 or later")]
    NotADriver {
        /// What was asked for.
        library: String,
        /// The symbol that it lacks.
        symbol: &'static str,
    },
    /// `cuDriverGetVersion` failed.
    #[error("cuDriverGetVersion of {library} answers {code}")]
    NoVersion {
        /// What was asked for.
        library: String,
        /// The result code.
        code: u32,
    },
}

impl Driver {
    /// Loads the driver that the dynamic linker finds as `libcuda.so.1`.
    pub fn load() -> Result<Driver, OpenError> {
        Driver::open(SONAME)
    }

    /// Loads the driver library `library`: a path if it holds a slash, else a name for the dynamic linker.
    pub fn open(library: impl AsRef<OsStr>) -> Result<Driver, OpenError> {
        let name = || library.as_ref().to_string_lossy().into_owned();
        // SAFETY: loading a CUDA driver runs its constructors, which is what the caller asks for.
        let handle = unsafe { Library::open(Some(library.as_ref()), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|source| OpenError::NotLoaded { library: name(), source })?;
        let resolver =
            resolver(&handle).ok_or_else(|| OpenError::NotADriver { library: name(), symbol: "cuGetProcAddress" })?;
        // SAFETY: the prototype is that of every CUDA driver.
        let get_version = unsafe { handle.get::<DriverGetVersion>(b"cuDriverGetVersion\0") }
            .map_err(|_| OpenError::NotADriver { library: name(), symbol: "cuDriverGetVersion" })?;
        let mut version = 0;
        // SAFETY: the output is ours.
        let result = unsafe { get_version(&mut version) };
        if result != CUresult::CUDA_SUCCESS {
            return Err(OpenError::NoVersion { library: name(), code: result.0 });
        }
        let identity = identity::find(&handle, *get_version as *const (), version);
        Ok(Driver { library: ManuallyDrop::new(handle), resolver, default_stream: DefaultStream::Legacy, identity })
    }

    /// The same driver for code compiled for the per-thread default stream: [`DefaultStream::AsCompiled`] then asks for the
    /// per-thread variants, as `CUDA_API_PER_THREAD_DEFAULT_STREAM` makes the C headers do.
    #[must_use]
    pub fn with_per_thread_default_stream(mut self) -> Driver {
        self.default_stream = DefaultStream::PerThread;
        self
    }

    /// Which driver this is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The CUDA version of the driver, as `1000 * major + 10 * minor`.
    pub fn version(&self) -> i32 {
        self.identity.version
    }

    /// Where the library was loaded from, if the dynamic linker says so.
    pub fn path(&self) -> Option<&PathBuf> {
        self.identity.path.as_ref()
    }

    /// The function of the typedef `E`: exactly its ABI version, exactly its stream variant.
    pub fn get<E: EntryPoint>(&self) -> Result<E::Fn, LookupError> {
        const { assert!(size_of::<E::Fn>() == size_of::<*const ()>()) };
        let stream = if E::PER_THREAD { DefaultStream::PerThread } else { DefaultStream::Legacy };
        let name = E::NAME.to_str().map_err(|_| LookupError::SymbolNotFound { name: format!("{:?}", E::NAME) })?;
        let symbol = self.look_up(name, E::VERSION, stream)?;
        // SAFETY: the driver answers a name and the version of one of its typedefs with the function of that typedef,
        // and the sizes were compared.
        Ok(unsafe { std::mem::transmute_copy::<*const (), E::Fn>(&symbol.address()) })
    }

    /// What the driver gives for `name` to a caller that knows CUDA `version`.
    pub fn look_up(&self, name: &str, version: i32, stream: DefaultStream) -> Result<Symbol, LookupError> {
        let c_name = std::ffi::CString::new(name).map_err(|_| LookupError::SymbolNotFound { name: name.to_owned() })?;
        let stream = if stream == DefaultStream::AsCompiled { self.default_stream } else { stream };
        let mut address: *mut c_void = std::ptr::null_mut();
        let mut status = CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
        // SAFETY: the name ends in NUL, the outputs are ours, and the prototypes are those of the manual.
        let result = unsafe {
            match self.resolver {
                Resolver::WithStatus(get) => get(c_name.as_ptr(), &mut address, version, stream.flags(), &mut status),
                Resolver::WithoutStatus(get) => get(c_name.as_ptr(), &mut address, version, stream.flags()),
            }
        };
        let name = name.to_owned();
        match (result, status) {
            (CUresult::CUDA_SUCCESS, CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS)
                if !address.is_null() =>
            {
                Ok(Symbol::from_address(address.cast_const().cast()))
            }
            (CUresult::CUDA_SUCCESS, CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT) => {
                Err(LookupError::VersionNotSufficient { name, version })
            }
            // The first ABI says no more than this.
            (CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_NOT_FOUND, _) => Err(LookupError::SymbolNotFound { name }),
            (CUresult::CUDA_ERROR_INVALID_VALUE, _) if version > self.identity.version => {
                Err(LookupError::NewerThanDriver { name, version, driver: self.identity.version })
            }
            (CUresult(code), _) => Err(LookupError::Failed { name, code }),
        }
    }

    /// The function of an ELF symbol, past all versioning: for tests of the library itself.
    pub fn symbol(&self, symbol: &str) -> Option<Symbol> {
        // SAFETY: nothing is called, only the address is taken.
        let found = unsafe { self.library.get::<*const ()>(symbol.as_bytes()) }.ok()?;
        Some(Symbol::from_address(found.into_raw().cast_const().cast()))
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Driver").field("identity", &self.identity).finish_non_exhaustive()
    }
}

fn resolver(library: &Library) -> Option<Resolver> {
    // SAFETY: the prototypes are those of the manual for these symbols.
    unsafe {
        if let Ok(get) = library.get::<GetProcAddressV2>(b"cuGetProcAddress_v2\0") {
            return Some(Resolver::WithStatus(*get));
        }
        library.get::<GetProcAddressV1>(b"cuGetProcAddress\0").ok().map(|get| Resolver::WithoutStatus(*get))
    }
}
