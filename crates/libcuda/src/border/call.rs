//! The way through the border that every exported function takes: [`enter`].
//!
//! In order: the state of the process, one `catch_unwind`, the handler, the error's code, the call trace and the log. An
//! untraced call of an initialised process costs two loads and two branches more than the handler.
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use warploom_abi::CUresult;
use warploom_driver::{DriverError, DriverResult, ErrorCode};

use super::trace::Trace;
use super::{log, state};
use crate::settings::Settings;

/// What every handler gives: nothing, or why not. Results leave through the argument objects.
pub(crate) type ApiResult = DriverResult<()>;

/// What the border knows of an exported function.
pub(crate) struct Call {
    symbol: &'static str,
    before_init: bool,
}

impl Call {
    /// A function that needs `cuInit` to have succeeded.
    pub(crate) const fn new(symbol: &'static str) -> Self {
        Call { symbol, before_init: false }
    }

    /// One of the few functions that work in any state of the process.
    pub(crate) const fn before_init(symbol: &'static str) -> Self {
        Call { symbol, before_init: true }
    }
}

/// Runs the handler `body` on behalf of a C caller; `arguments` prints the call's arguments into a trace.
#[inline(always)]
pub(crate) fn enter(
    call: &'static Call,
    body: impl FnOnce() -> ApiResult,
    arguments: impl Fn(&mut Trace<'_>),
) -> CUresult {
    let direct = if call.before_init { state::is_quiet() } else { state::is_ready() };
    if direct {
        // Handlers lock nothing that a panic could leave half changed: driver objects recover or answer with an error.
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(())) => CUresult::CUDA_SUCCESS,
            Ok(Err(error)) => failed(call, &error),
            Err(panic) => panicked(call, panic),
        }
    } else {
        let mut body = Some(body);
        enter_slowly(call, &mut || body.take().map_or(Ok(()), |body| body()), &arguments)
    }
}

/// An exported function without a handler.
pub(crate) fn not_supported(call: &'static Call, arguments: impl Fn(&mut Trace<'_>)) -> CUresult {
    enter(
        call,
        || Err(DriverError::new(ErrorCode::NotSupported, format!("{} is not implemented", call.symbol))),
        arguments,
    )
}

/// The first calls of a process, and those with a trace, in a wrong state, or while user callbacks run.
#[cold]
fn enter_slowly(
    call: &'static Call,
    body: &mut dyn FnMut() -> ApiResult,
    arguments: &dyn Fn(&mut Trace<'_>),
) -> CUresult {
    let traces = Settings::get().log.traces();
    state::settle(traces);
    let start = std::time::Instant::now();
    let admitted = if call.before_init { Ok(()) } else { state::phase().require_initialized() };
    let (result, reason) =
        match admitted.and_then(|()| if call.before_init { Ok(()) } else { state::require_outside_callback() }) {
            Err(error) => (failed(call, &error), Some(error.reason().to_owned())),
            Ok(()) => match catch_unwind(AssertUnwindSafe(body)) {
                Ok(Ok(())) => (CUresult::CUDA_SUCCESS, None),
                Ok(Err(error)) => (failed(call, &error), Some(error.reason().to_owned())),
                Err(panic) => (panicked(call, panic), Some("internal error".to_owned())),
            },
        };
    if traces {
        Trace::write(call.symbol, arguments, result, reason.as_deref(), start.elapsed());
    }
    result
}

#[cold]
#[inline(never)]
fn failed(call: &'static Call, error: &DriverError) -> CUresult {
    log::record(call.symbol, error);
    CUresult(error.code() as u32)
}

/// A defect of ours must not unwind into foreign frames: it is reported, and the process lives.
#[cold]
#[inline(never)]
fn panicked(call: &'static Call, panic: Box<dyn Any + Send>) -> CUresult {
    let what = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let report = format!("internal error in {}: {what}; please report it with the program that shows it", call.symbol);
    crate::settings::say(&report);
    failed(call, &DriverError::new(ErrorCode::Unknown, report))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_unknown_error_and_a_log_line() {
        static CALL: Call = Call::before_init("cuGetErrorName");
        let before = log::end();
        let result = enter(&CALL, || panic!("a defect"), |_| {});
        assert_eq!(result, CUresult::CUDA_ERROR_UNKNOWN);
        let lines = log::text_since(Some(before)).concat();
        assert!(lines.contains("internal error in cuGetErrorName: a defect"), "{lines}");
    }

    #[test]
    fn callbacks_may_not_call_the_driver_and_others_may() {
        static CALL: Call = Call::new("cuCtxSynchronize");
        let call = || enter(&CALL, || Ok(()), |_| {});
        state::settle(false);
        assert_eq!(call(), CUresult::CUDA_ERROR_NOT_INITIALIZED);
        state::initialized();
        assert_eq!(call(), CUresult::CUDA_SUCCESS);
        state::during_callback(|| {
            assert_eq!(call(), CUresult::CUDA_ERROR_NOT_PERMITTED);
            let elsewhere = std::thread::scope(|scope| scope.spawn(call).join());
            assert_eq!(elsewhere.ok(), Some(CUresult::CUDA_SUCCESS));
        });
        assert_eq!(call(), CUresult::CUDA_SUCCESS);
    }
}
