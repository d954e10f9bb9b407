//! Calls of the driver: its functions are looked up with `cuGetProcAddress`, each with the version of the typedef that it is called
//! through, when it is first needed.
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use warploom_abi::runtime::cudaError;
use warploom_abi::{CUresult, EntryPoint};
use warploom_entrypoint::{Driver, LookupError};

use crate::context;
use crate::failure::{ApiResult, Failure};

/// The driver that the dynamic linker finds. Without one there is no device that this runtime could be too new for.
pub(crate) fn library() -> ApiResult<&'static Driver> {
    static LIBRARY: OnceLock<Result<Driver, Failure>> = OnceLock::new();
    let open = || {
        Driver::load().map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            Failure::new(cudaError::cudaErrorInsufficientDriver, format!("{error}{cause}"))
        })
    };
    LIBRARY.get_or_init(open).as_ref().map_err(Failure::clone)
}

/// The function of the typedef `E`, once it was looked up.
pub(crate) struct Function<E> {
    address: AtomicPtr<()>,
    entry: PhantomData<fn() -> E>,
}

impl<E: EntryPoint> Function<E> {
    pub(crate) const fn new() -> Self {
        Function { address: AtomicPtr::new(std::ptr::null_mut()), entry: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> ApiResult<E::Fn> {
        const { assert!(size_of::<E::Fn>() == size_of::<*mut ()>()) };
        let mut address = self.address.load(Ordering::Acquire);
        if address.is_null() {
            address = look_up::<E>()?;
            self.address.store(address, Ordering::Release);
        }
        // SAFETY: the driver answered the name and the version of the typedef with this function; the sizes were compared.
        Ok(unsafe { std::mem::transmute_copy::<*mut (), E::Fn>(&address) })
    }
}

#[cold]
#[inline(never)]
fn look_up<E: EntryPoint>() -> ApiResult<*mut ()> {
    use warploom_entrypoint::DefaultStream::{Legacy, PerThread};
    let stream = if E::PER_THREAD { PerThread } else { Legacy };
    let name = E::NAME.to_string_lossy();
    match library()?.look_up(&name, E::VERSION, stream) {
        Ok(symbol) => Ok(symbol.address().cast_mut()),
        Err(error @ (LookupError::NewerThanDriver { .. } | LookupError::SymbolNotFound { .. })) => {
            Err(Failure::new(cudaError::cudaErrorCallRequiresNewerDriver, error.to_string()))
        }
        Err(error) => Err(Failure::new(cudaError::cudaErrorUnknown, error.to_string())),
    }
}

/// Calls the driver; once more in a new context, if the thread's was the primary one and somebody has reset it by the driver API.
#[inline(always)]
pub(crate) fn call(mut function: impl FnMut() -> ApiResult<CUresult>) -> ApiResult {
    let mut result = function()?;
    if result == CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED && context::replaced() {
        result = function()?;
    }
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(Failure::of_driver(result)) }
}

/// `driver!(cuMemAlloc_v3020(place, size))?` calls the driver's function of the typedef `PFN_cuMemAlloc_v3020`.
macro_rules! driver {
    ($entry:ident($($argument:expr),* $(,)?)) => {{
        static FUNCTION: $crate::driver::Function<warploom_abi::entry::$entry> = $crate::driver::Function::new();
        FUNCTION.get().and_then(|function| {
            // SAFETY: outputs are ours; every other pointer is one that the C caller gave under the same contract.
            $crate::driver::call(|| Ok(unsafe { function($($argument),*) }))
        })
    }};
}

pub(crate) use driver;
