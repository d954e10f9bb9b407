//! The way through the border that every exported function takes: [`enter`].
//!
//! In order: the state of the process, one `catch_unwind`, the handler, the error's code, the call trace and the log. An
//! untraced call of an initialised process costs two loads and two branches more than the handler.
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use warploom_abi::CUresult;
use warploom_driver::{DriverError, DriverResult, ErrorCode};

use super::given::Given;
use super::trace::Trace;
use super::{log, state};
use crate::checks;
use crate::process::driver;
use crate::settings::Settings;

/// What every handler gives: nothing, or why not. Results leave through the argument objects.
pub(crate) type ApiResult = DriverResult<()>;

/// What the border knows of an exported function.
pub(crate) struct Call {
    symbol: &'static str,
    before_init: bool,
    /// Whether a current context is asked for before anything that may be wrong with the arguments.
    context_first: bool,
    in_callbacks: InCallbacks,
}

/// Whether a user's callback may make the call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InCallbacks {
    Never,
    /// If it names a stream, other than the default ones.
    WithStream,
    Always,
}

impl Call {
    /// A function that needs `cuInit` to have succeeded.
    pub(crate) const fn new(symbol: &'static str) -> Self {
        Call { symbol, before_init: false, context_first: false, in_callbacks: InCallbacks::Never }
    }

    /// One of the few functions that work in any state of the process.
    pub(crate) const fn before_init(symbol: &'static str) -> Self {
        Call { before_init: true, ..Call::new(symbol).in_callbacks() }
    }

    /// One that asks for a current context before it looks at its arguments.
    pub(crate) const fn context_first(self) -> Self {
        Call { context_first: true, ..self }
    }

    /// One that callbacks may make.
    pub(crate) const fn in_callbacks(self) -> Self {
        Call { in_callbacks: InCallbacks::Always, ..self }
    }

    /// One that callbacks may make if it names a stream.
    pub(crate) const fn in_callbacks_with_stream(self) -> Self {
        Call { in_callbacks: InCallbacks::WithStream, ..self }
    }
}

/// Runs the handler `body` on behalf of a C caller; `given` tells what is asked of the arguments of a call that fails,
/// `arguments` prints them into a trace.
#[inline(always)]
pub(crate) fn enter(
    call: &'static Call,
    body: impl FnOnce() -> ApiResult,
    given: impl Fn(&mut Given),
    arguments: impl Fn(&mut Trace<'_>),
) -> CUresult {
    let direct = if call.before_init { state::is_quiet() } else { state::is_ready() };
    if direct {
        // Handlers lock nothing that a panic could leave half changed: driver objects recover or answer with an error.
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(())) => CUresult::CUDA_SUCCESS,
            Ok(Err(error)) => failed(call, error, &given).0,
            Err(panic) => panicked(call, panic),
        }
    } else {
        let mut body = Some(body);
        enter_slowly(call, &mut || body.take().map_or(Ok(()), |body| body()), &given, &arguments)
    }
}

/// An exported function without a handler; `before` is what refuses the call whatever it is for.
pub(crate) fn not_supported(
    call: &'static Call,
    before: impl FnOnce() -> ApiResult,
    given: impl Fn(&mut Given),
    arguments: impl Fn(&mut Trace<'_>),
) -> CUresult {
    let refuse = || {
        before()?;
        Err(DriverError::new(ErrorCode::NotSupported, format!("{} is not implemented", call.symbol)))
    };
    enter(call, refuse, given, arguments)
}

/// The first calls of a process, and those with a trace, in a wrong state, or while user callbacks run.
#[cold]
fn enter_slowly(
    call: &'static Call,
    body: &mut dyn FnMut() -> ApiResult,
    given: &dyn Fn(&mut Given),
    arguments: &dyn Fn(&mut Trace<'_>),
) -> CUresult {
    let (traces, checks) = (Settings::get().log.traces(), checks::want_calls());
    state::settle(traces || checks);
    let start = std::time::Instant::now();
    let (result, error) = match admitted(call, given).map(|()| catch_unwind(AssertUnwindSafe(body))) {
        Ok(Ok(Ok(()))) => (CUresult::CUDA_SUCCESS, None),
        Ok(Ok(Err(error))) | Err(error) => {
            let (result, error) = failed(call, error, given);
            (result, Some(error))
        }
        Ok(Err(panic)) => (panicked(call, panic), None),
    };
    if checks {
        let code = error.as_ref().map(DriverError::code);
        checks::called(call.symbol, code.or_else(|| ErrorCode::from_value(result.0)));
    }
    if traces {
        let reason = error.as_ref().map(DriverError::reason);
        Trace::write(call.symbol, arguments, result, reason.as_deref(), start.elapsed());
    }
    result
}

/// Whether the process, and the callback if this is one, may make the call.
fn admitted(call: &'static Call, given: &dyn Fn(&mut Given)) -> ApiResult {
    if call.before_init {
        return Ok(());
    }
    state::phase().require_initialized()?;
    let with_stream = || {
        let mut known = Given::default();
        given(&mut known);
        known.names_stream()
    };
    match call.in_callbacks {
        InCallbacks::Always => Ok(()),
        InCallbacks::WithStream if with_stream() => Ok(()),
        InCallbacks::Never | InCallbacks::WithStream => state::require_outside_callback(),
    }
}

/// Logs why a call fails: for `error`, unless NVIDIA's driver finds something else before it. The answer, and why.
#[cold]
#[inline(never)]
fn failed(call: &'static Call, error: DriverError, given: &dyn Fn(&mut Given)) -> (CUresult, DriverError) {
    let error = earlier(call, &error, given).unwrap_or(error);
    log::record(call.symbol, &error);
    (CUresult(error.code() as u32), error)
}

/// What is wrong with a call that is looked at before whatever gave `error`.
fn earlier(call: &'static Call, error: &DriverError, given: &dyn Fn(&mut Given)) -> Option<DriverError> {
    let mut known = Given::default();
    given(&mut known);
    if let Some(refused) = known.refused_first() {
        return Some(refused);
    }
    if matches!(error.code(), ErrorCode::NotInitialized | ErrorCode::Deinitialized | ErrorCode::NotPermitted) {
        return None;
    }
    // A stream that is named brings its context along.
    let asks = call.context_first && !known.names_stream();
    let no_context = || driver().and_then(|driver| driver.current()).err();
    let no_context = asks.then(no_context).flatten().filter(|error| error.code() == ErrorCode::InvalidContext);
    no_context.or_else(|| known.refused_then())
}

/// A defect of ours must not unwind into foreign frames: it is reported, and the process lives.
#[cold]
#[inline(never)]
fn panicked(call: &'static Call, panic: Box<dyn Any + Send>) -> CUresult {
    let report = warploom_border::internal_error(call.symbol, &*panic);
    warploom_border::say(&report);
    failed(call, DriverError::new(ErrorCode::Unknown, report), &|_| {}).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_unknown_error_and_a_log_line() {
        static CALL: Call = Call::before_init("cuGetErrorName");
        let before = log::end();
        let result = enter(&CALL, || panic!("a defect"), |_| {}, |_| {});
        assert_eq!(result, CUresult::CUDA_ERROR_UNKNOWN);
        let lines = log::text_since(Some(before)).concat();
        assert!(lines.contains("internal error in cuGetErrorName: a defect"), "{lines}");
    }

    #[test]
    fn callbacks_may_not_call_the_driver_and_others_may() {
        static CALL: Call = Call::new("cuCtxSynchronize");
        let call = || enter(&CALL, || Ok(()), |_| {}, |_| {});
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
