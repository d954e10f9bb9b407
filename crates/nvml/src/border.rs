//! The way that every exported function takes: one `catch_unwind`, whether the library is initialised, the handler; and what its arguments become.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use warploom_abi::nvml::{nvmlDevice_t, nvmlReturn_t};
use warploom_border::{Border, LogSettings, Refusal, internal_error, say};

pub(crate) use warploom_border::arg;

use crate::library;

/// What every handler gives: nothing, or why not. Results leave through the argument objects.
pub(crate) type ApiResult<T = ()> = Result<T, Failure>;

/// Why a call failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    code: nvmlReturn_t,
    reason: Cow<'static, str>,
}

impl Failure {
    pub(crate) fn new(code: nvmlReturn_t, reason: impl Into<Cow<'static, str>>) -> Failure {
        Failure { code, reason: reason.into() }
    }

    pub(crate) fn invalid_argument(reason: impl Into<Cow<'static, str>>) -> Failure {
        Failure::new(nvmlReturn_t::NVML_ERROR_INVALID_ARGUMENT, reason)
    }

    pub(crate) fn not_supported(reason: impl Into<Cow<'static, str>>) -> Failure {
        Failure::new(nvmlReturn_t::NVML_ERROR_NOT_SUPPORTED, reason)
    }
}

/// The border of the management library, by what it answers to arguments that cannot be used.
#[derive(Debug)]
pub(crate) enum Nvml {}

impl Border for Nvml {
    type Error = Failure;

    #[cold]
    fn refuse(refusal: Refusal) -> Failure {
        match refusal {
            Refusal::NoRoom(_) => Failure::new(nvmlReturn_t::NVML_ERROR_INSUFFICIENT_SIZE, refusal.to_string()),
            _ => Failure::invalid_argument(refusal.to_string()),
        }
    }
}

pub(crate) type Out<'a, T> = warploom_border::Out<'a, T, Nvml>;
pub(crate) type InOut<'a, T> = warploom_border::InOut<'a, T, Nvml>;
pub(crate) type OutArray<'a, T> = warploom_border::OutArray<'a, T, Nvml>;
pub(crate) type In<'a, T> = warploom_border::In<'a, T, Nvml>;
pub(crate) type InStr<'a> = warploom_border::InStr<'a, Nvml>;
pub(crate) type OutStr<'a> = warploom_border::OutStr<'a, Nvml>;

/// Writes a text, which must fit with its NUL.
pub(crate) fn write(place: &OutStr<'_>, name: &'static str, length: u32, text: &str) -> ApiResult {
    if !place.is_null() && text.len() >= length as usize {
        let reason = format!("{name} has {length} bytes; {} are needed", text.len() + 1);
        return Err(Failure::new(nvmlReturn_t::NVML_ERROR_INSUFFICIENT_SIZE, reason));
    }
    place.write(name, length as usize, text.as_bytes())
}

/// Text in a field of a structure, cut off where the field ends.
pub(crate) fn characters<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    for (place, byte) in field[..N - 1].iter_mut().zip(text.bytes()) {
        *place = byte as c_char;
    }
    field
}

/// What the border knows of an exported function.
pub(crate) struct Call {
    symbol: &'static str,
}

impl Call {
    /// The function with a name.
    pub(crate) const fn new(symbol: &'static str) -> Call {
        Call { symbol }
    }
}

/// Runs the handler of a function that needs the library to be initialised.
pub(crate) fn enter(call: &'static Call, body: impl FnOnce() -> ApiResult) -> nvmlReturn_t {
    answer(call, || {
        library::monitor()?;
        body()
    })
}

/// Runs the handler of a function that does not.
pub(crate) fn answer(call: &'static Call, body: impl FnOnce() -> ApiResult) -> nvmlReturn_t {
    // Handlers lock nothing that a panic could leave half changed.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => nvmlReturn_t::NVML_SUCCESS,
        Ok(Err(failure)) => failed(call, &failure),
        Err(panic) => panicked(call, &*panic),
    }
}

/// An exported function without a handler: looks at what it is asked about, and whether its pointers are NULL.
#[cold]
pub(crate) fn not_supported(
    call: &'static Call,
    device: Option<nvmlDevice_t>,
    pointers: &[*const c_void],
) -> nvmlReturn_t {
    enter(call, || {
        if let Some(device) = device {
            library::device(device)?;
        }
        if pointers.iter().any(|pointer| pointer.is_null()) {
            return Err(Failure::invalid_argument("a pointer is NULL"));
        }
        Err(Failure::not_supported("a CPU has nothing of the kind"))
    })
}

#[cold]
fn failed(call: &'static Call, failure: &Failure) -> nvmlReturn_t {
    if reports() {
        say(&format!("{} returns {:?}: {}", call.symbol, failure.code, failure.reason));
    }
    failure.code
}

/// A defect of ours must not unwind into foreign frames: it is reported, and the process lives.
#[cold]
fn panicked(call: &'static Call, panic: &(dyn Any + Send)) -> nvmlReturn_t {
    say(&internal_error(call.symbol, panic));
    nvmlReturn_t::NVML_ERROR_UNKNOWN
}

/// Whether reasons are wanted on the error output: `WARPLOOM_LOG`, as for the driver, which says what is wrong with it.
fn reports() -> bool {
    static WANTED: LazyLock<bool> = LazyLock::new(|| {
        let value = std::env::var("WARPLOOM_LOG").unwrap_or_default();
        LogSettings::parse(value.trim()).is_ok_and(LogSettings::traces)
    });
    *WANTED
}
