//! The checks of this process, if `WARPLOOM_CHECK` asks for any.
use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use warploom_border::say;
use warploom_check::{Checker, Settings};

static CHECKER: OnceLock<Arc<Checker>> = OnceLock::new();

/// Begins to check what the settings ask for; none where they ask for nothing.
pub(crate) fn begin(settings: &Settings) -> Option<Arc<Checker>> {
    if settings.checks.is_empty() {
        return None;
    }
    let checker = CHECKER.get_or_init(|| {
        Checker::new(settings.clone(), Arc::new(tell)).unwrap_or_else(|why| {
            say(&format!("nothing is suppressed: {why}"));
            let without = Settings { suppressions: None, ..settings.clone() };
            Checker::new(without, Arc::new(tell)).expect("only suppressions can be wrong")
        })
    });
    Some(Arc::clone(checker))
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
