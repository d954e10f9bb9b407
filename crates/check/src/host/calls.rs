//! Calls that fail and whose result nobody looks at.
//!
//! A result of the driver's is lost when its caller goes on without a look. One of the runtime API's is not: it is the thread's last error too, for which the
//! program can ask until another call fails. So these are reported later: when that happens, or at the end of the process.

use std::cell::RefCell;
use std::collections::HashMap;
use std::thread::{self, ThreadId};

use parking_lot::Mutex;

use super::results::is_dropped;
use crate::origin::Origin;
use crate::registry::Check;
use crate::report::{Note, Report};
use crate::sink::Sink;

/// Failed calls of a thread that are remembered until one succeeds.
const REMEMBERED: usize = 16;

/// A call whose result was dropped.
struct Failed {
    function: String,
    error: String,
    origin: Origin,
}

impl Failed {
    /// A call of the calling thread, if its result is dropped.
    fn here(function: &str, error: &str) -> Option<Failed> {
        let origin = Origin::here();
        is_dropped(&origin.returns()).then(|| Failed { function: function.to_owned(), error: error.to_owned(), origin })
    }

    fn report(&self, behind: &str, sink: &Sink) {
        let Failed { function, error, origin } = self;
        let message = format!("{function} fails with {error}, and nobody looks at that {behind}");
        let notes = vec![Note { frames: origin.frames(), ..Note::new("called here") }];
        sink.report(Report { check: Check::Host, kind: "result-dropped", message, thread: None, notes });
    }
}

thread_local! {
    /// Calls of the driver whose results were dropped, since the last that succeeded.
    static DROPPED: RefCell<Vec<Failed>> = const { RefCell::new(Vec::new()) };
}

/// A call of the driver by the calling thread fails.
pub(crate) fn failed(function: &str, error: &str) {
    if let Some(failed) = Failed::here(function, error) {
        let _ = DROPPED.try_with(|dropped| {
            let mut dropped = dropped.borrow_mut();
            if dropped.len() < REMEMBERED {
                dropped.push(failed);
            }
        });
    }
}

/// A call of the driver by the calling thread succeeds: nobody looks any more at what failed before it.
pub(crate) fn succeeded(function: &str, sink: &Sink) {
    let dropped = DROPPED.try_with(|dropped| std::mem::take(&mut *dropped.borrow_mut())).unwrap_or_default();
    dropped.iter().for_each(|failed| failed.report(&format!("before {function} succeeds"), sink));
}

/// Calls of the runtime API whose results were dropped, and for which the program may still ask.
#[derive(Default)]
pub(crate) struct RuntimeCalls(Mutex<HashMap<ThreadId, Vec<Dropped>>>);

struct Dropped {
    failed: Failed,
    /// The first call behind it that has succeeded.
    behind: Option<String>,
}

impl RuntimeCalls {
    /// A call by the calling thread fails: of what failed and was passed over before it the error is lost.
    pub(crate) fn failed(&self, function: &str, error: &str, sink: &Sink) {
        let failed = Failed::here(function, error);
        let mut threads = self.0.lock();
        let dropped = threads.entry(thread::current().id()).or_default();
        let lost: Vec<_> = dropped.extract_if(.., |dropped| dropped.behind.is_some()).collect();
        if let Some(failed) = failed.filter(|_| dropped.len() < REMEMBERED) {
            dropped.push(Dropped { failed, behind: None });
        }
        drop(threads);
        lost.iter().for_each(|lost| lost.report(sink));
    }

    /// A call by the calling thread succeeds.
    pub(crate) fn succeeded(&self, function: &str) {
        if let Some(dropped) = self.0.lock().get_mut(&thread::current().id()) {
            for dropped in dropped {
                dropped.behind.get_or_insert_with(|| function.to_owned());
            }
        }
    }

    /// The calling thread asks for its last error.
    pub(crate) fn asked(&self) {
        self.0.lock().remove(&thread::current().id());
    }

    /// The process ends: nobody asks any more.
    pub(crate) fn end(&self, sink: &Sink) {
        let left: Vec<_> = self.0.lock().drain().flat_map(|(_, dropped)| dropped).collect();
        left.iter().for_each(|left| left.report(sink));
    }
}

impl Dropped {
    fn report(&self, sink: &Sink) {
        if let Some(behind) = &self.behind {
            self.failed.report(&format!("before {behind} succeeds, nor asks for the last error later"), sink);
        }
    }
}
