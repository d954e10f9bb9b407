//! The way that every exported function takes: one `catch_unwind`, the handler, the thread's last error.
use std::any::Any;
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering};

use warploom_abi::runtime::{cudaChannelFormatDesc, cudaError};
use warploom_border::{LogSettings, internal_error, say};

use super::results;
use crate::failure::{ApiResult, Failure};

/// The version of the runtime library, which its exports bring along with every call.
static VERSION: AtomicI32 = AtomicI32::new(0);

thread_local! {
    /// What `cudaGetLastError` returns.
    static LAST_ERROR: Cell<cudaError> = const { Cell::new(cudaError::cudaSuccess) };
}

/// The version of this runtime, `1000 * major + 10 * minor`.
pub(crate) fn version() -> i32 {
    VERSION.load(Ordering::Relaxed)
}

/// The thread's last error, which becomes `next`.
pub(crate) fn last_error(next: Option<cudaError>) -> cudaError {
    match next {
        Some(next) => LAST_ERROR.replace(next),
        None => LAST_ERROR.get(),
    }
}

/// What the border knows of an exported function.
pub struct Call {
    symbol: &'static str,
    version: i32,
}

impl Call {
    /// The function `symbol` of the runtime library of that version.
    pub const fn new(symbol: &'static str, version: i32) -> Self {
        Call { symbol, version }
    }

    #[inline(always)]
    fn begin(&self) {
        if VERSION.load(Ordering::Relaxed) != self.version {
            VERSION.store(self.version, Ordering::Relaxed);
        }
    }
}

/// Runs the handler `body` of a function that returns `cudaError_t`.
#[inline(always)]
pub fn enter(call: &'static Call, body: impl FnOnce() -> ApiResult) -> cudaError {
    call.begin();
    // Handlers lock nothing that a panic could leave half changed.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => {
            results::succeeded(call.symbol);
            cudaError::cudaSuccess
        }
        Ok(Err(failure)) => failed(call, &failure),
        Err(panic) => panicked(call, &*panic),
    }
}

/// Runs the handler `body` of a function that returns something else.
#[inline(always)]
pub fn answer<T: Answer>(call: &'static Call, body: impl FnOnce() -> T) -> T {
    call.begin();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        panicked(call, &*panic);
        T::FAILED
    })
}

/// An exported function without a handler.
#[cold]
#[inline(never)]
pub fn not_supported(call: &'static Call) -> cudaError {
    call.begin();
    let reason = format!("{} is not implemented", call.symbol);
    failed(call, &Failure::new(cudaError::cudaErrorNotSupported, reason))
}

#[cold]
#[inline(never)]
fn failed(call: &'static Call, failure: &Failure) -> cudaError {
    remember(call.symbol, failure);
    results::failed(call.symbol, failure);
    failure.code
}

/// Reports a failure and makes it the thread's last error.
pub(crate) fn remember(symbol: &str, failure: &Failure) {
    if let Some(reason) = &failure.reason
        && reports()
    {
        let code = failure.code;
        say(&format!("{symbol} returns {code:?}: {reason}"));
    }
    if failure.remembered {
        LAST_ERROR.set(failure.code);
    }
}

/// A defect of ours must not unwind into foreign frames: it is reported, and the process lives.
#[cold]
#[inline(never)]
fn panicked(call: &'static Call, panic: &(dyn Any + Send)) -> cudaError {
    say(&internal_error(call.symbol, panic));
    LAST_ERROR.set(cudaError::cudaErrorUnknown);
    cudaError::cudaErrorUnknown
}

/// Whether reasons are wanted on the error output: `WARPLOOM_LOG`, as for the driver, and as there read once. A value that cannot be understood asks for nothing; our
/// driver, which reads it too, says so.
fn reports() -> bool {
    static WANTED: LazyLock<bool> = LazyLock::new(|| {
        let value = std::env::var("WARPLOOM_LOG").unwrap_or_default();
        LogSettings::parse(value.trim()).is_ok_and(LogSettings::traces)
    });
    *WANTED
}

/// What a function returns that cannot return an error, when it fails.
pub trait Answer {
    /// The value that stands for nothing.
    const FAILED: Self;
}

impl Answer for () {
    const FAILED: Self = ();
}

impl Answer for u32 {
    /// As an error code: unknown.
    const FAILED: Self = cudaError::cudaErrorUnknown.0;
}

impl Answer for c_char {
    const FAILED: Self = 0;
}

impl Answer for *const c_char {
    const FAILED: Self = std::ptr::null();
}

impl Answer for *mut *mut c_void {
    const FAILED: Self = std::ptr::null_mut();
}

impl Answer for cudaChannelFormatDesc {
    const FAILED: Self = cudaChannelFormatDesc {
        x: 0,
        y: 0,
        z: 0,
        w: 0,
        f: warploom_abi::runtime::cudaChannelFormatKind::cudaChannelFormatKindNone,
    };
}
