//! Calls that fail and whose result nobody looks at.

use std::cell::RefCell;

use super::results::is_dropped;
use crate::origin::Origin;
use crate::registry::Check;
use crate::report::{Note, Report};
use crate::sink::Sink;

/// Failed calls of a thread that are remembered until one succeeds.
const REMEMBERED: usize = 16;

struct Failed {
    function: &'static str,
    error: &'static str,
    origin: Origin,
}

thread_local! {
    /// Calls whose results were dropped, since the last that succeeded.
    static DROPPED: RefCell<Vec<Failed>> = const { RefCell::new(Vec::new()) };
}

/// A call of the calling thread fails.
pub(crate) fn failed(function: &'static str, error: &'static str) {
    let origin = Origin::here();
    if is_dropped(&origin.returns()) {
        let _ = DROPPED.try_with(|dropped| {
            let mut dropped = dropped.borrow_mut();
            if dropped.len() < REMEMBERED {
                dropped.push(Failed { function, error, origin });
            }
        });
    }
}

/// A call of the calling thread succeeds: nobody looks any more at what failed before it.
pub(crate) fn succeeded(function: &'static str, sink: &Sink) {
    let dropped = DROPPED.try_with(|dropped| std::mem::take(&mut *dropped.borrow_mut())).unwrap_or_default();
    for Failed { function: failed, error, origin } in dropped {
        let message = format!("{failed} fails with {error}, and nobody looks at that before {function} succeeds");
        let notes = vec![Note { frames: origin.frames(), ..Note::new("called here") }];
        sink.report(Report { check: Check::Host, kind: "result-dropped", message, thread: None, notes });
    }
}
