//! The checks of this process, if `WARPLOOM_CHECK` asks for any.
use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use warploom_border::say;
use warploom_check::Checker;
use warploom_driver::ErrorCode;

use crate::settings::Settings;

static CHECKER: OnceLock<Arc<Checker>> = OnceLock::new();

/// Begins to check what the settings ask for; none where they ask for nothing.
pub(crate) fn begin(settings: &warploom_check::Settings) -> Option<Arc<Checker>> {
    if settings.checks.is_empty() {
        return None;
    }
    let checker = CHECKER.get_or_init(|| {
        Checker::new(settings.clone(), Arc::new(tell)).unwrap_or_else(|why| {
            say(&format!("the checks are not told what to leave out, and where to write: {why}"));
            let without =
                warploom_check::Settings { suppressions: None, log: None, kernels: Vec::new(), ..settings.clone() };
            Checker::new(without, Arc::new(tell)).expect("nothing else can be wrong")
        })
    });
    Some(Arc::clone(checker))
}

/// Whether calls are looked at.
pub(crate) fn want_calls() -> bool {
    Settings::get().check.checks.contains(&warploom_check::Check::Host)
}

/// A call is over, with this error if it failed. That something is not ready yet is no failure.
pub(crate) fn called(function: &'static str, error: Option<ErrorCode>) {
    match (CHECKER.get(), error) {
        (None, _) | (_, Some(ErrorCode::NotReady)) => {}
        (Some(checker), Some(error)) => checker.call_failed(function, error.name()),
        (Some(checker), None) => checker.call_succeeded(function),
    }
}

/// A runtime library tells of a call of its own.
pub(crate) fn runtime(tell: impl FnOnce(&Checker)) {
    if let Some(checker) = CHECKER.get() {
        tell(checker);
    }
}

/// A report, in one piece. A program may have closed standard error: then it is lost, and the program goes on.
fn tell(report: &str) {
    let _ = std::io::stderr().write_all(format!("warploom: {report}").as_bytes());
}

/// The process ends, and nothing of the driver runs any more. Where there were errors and a status is wanted for that, it ends here.
pub(crate) fn end() {
    if let Some(status) = CHECKER.get().and_then(|checker| checker.finish()) {
        // SAFETY: what the program has written goes out, as it would behind the exit handlers; nothing of Rust's is used after it.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(status);
        }
    }
}
