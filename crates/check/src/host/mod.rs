//! What the host does wrong beside its kernels: calls that fail and whose result nobody looks at (`calls`), and copies from memory of the host that was
//! changed, or is gone, before they ran.
//!
//! A copy that waits for its turn in a stream reads pinned memory only then. What it would have read in the call is held against what it reads. Memory
//! may change by right: where a kernel, another copy, or a function of the program that a stream called has written it, or might have, the copy
//! is not held against anything.

pub(crate) mod calls;
mod results;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use warploom_exec::fault::AccessKind;
use warploom_exec::observe::{
    Access, At, CtaObserver, GridFacts, GridObserver, HostEvent, Observer, Source, Space, Wants,
};

use crate::origin::Origin;
use crate::registry::Check;
use crate::report::{Note, Report};
use crate::sink::Sink;
use crate::span::{self, overlap};

/// The check of what the host does.
pub struct HostCheck {
    waiting: Arc<Waiting>,
    sink: Arc<Sink>,
}

/// Copies that wait for their turn.
#[derive(Default)]
struct Waiting {
    number: AtomicUsize,
    copies: Mutex<HashMap<u64, Copy>>,
}

struct Copy {
    source: Range<u64>,
    origin: Origin,
    /// Somebody may have changed the source by right.
    excused: bool,
}

impl Waiting {
    fn excuse(&self, which: impl Fn(&Range<u64>) -> bool) {
        if self.number.load(Ordering::Acquire) != 0 {
            let mut copies = self.copies.lock();
            copies.values_mut().filter(|copy| which(&copy.source)).for_each(|copy| copy.excused = true);
        }
    }
}

impl HostCheck {
    /// Reports to `sink`.
    pub fn new(sink: &Arc<Sink>) -> HostCheck {
        HostCheck { waiting: Arc::default(), sink: Arc::clone(sink) }
    }

    fn reads(&self, copy: &Copy, source: &Source) {
        let (kind, what) = match source {
            Source::Same => return,
            Source::Changed(_) if copy.excused => return,
            Source::Changed(_) => ("source-changed", "changed"),
            Source::Gone => ("source-freed", "freed"),
        };
        let message = format!(
            "an asynchronous copy reads memory of the host that was {what} after the call and before the copy ran"
        );
        let mut notes = vec![Note { frames: copy.origin.frames(), ..Note::new("the copy was asked for here") }];
        if let Source::Changed(part) = source {
            let (start, bytes) = (part.start - copy.source.start, part.end - part.start);
            notes.push(Note::new(format!(
                "the first change is in the {bytes} bytes from byte {start} of its source on"
            )));
        }
        self.sink.report(Report { check: Check::Host, kind, message, thread: None, notes });
    }
}

impl Observer for HostCheck {
    fn wants(&self) -> Wants {
        Wants { accesses: true, sources: true, ..Wants::default() }
    }

    fn begin_grid(&self, _: &GridFacts<'_>) -> Box<dyn GridObserver> {
        Box::new(GridWrites(Arc::clone(&self.waiting)))
    }

    fn host(&self, event: &HostEvent) {
        match event {
            HostEvent::CopyWaits { copy, source } => {
                let waits = Copy { source: source.clone(), origin: Origin::here(), excused: false };
                self.waiting.copies.lock().insert(*copy, waits);
                self.waiting.number.fetch_add(1, Ordering::AcqRel);
            }
            HostEvent::CopyReads { copy, source } => {
                if let Some(copy) = self.waiting.copies.lock().remove(copy) {
                    self.waiting.number.fetch_sub(1, Ordering::AcqRel);
                    self.reads(&copy, source);
                }
            }
            HostEvent::Touches { written: Some(written), .. } => {
                self.waiting.excuse(|source| overlap(source, &written.range));
            }
            HostEvent::Turn => self.waiting.excuse(|_| true),
            _ => {}
        }
    }
}

/// What kernels write.
struct GridWrites(Arc<Waiting>);

impl GridObserver for GridWrites {
    fn begin(&self, _: &[[u32; 3]]) -> Box<dyn CtaObserver> {
        Box::new(GridWrites(Arc::clone(&self.0)))
    }
}

impl CtaObserver for GridWrites {
    fn reads(&mut self, _: &At, _: &Access<'_>) -> bool {
        true
    }

    fn access(&mut self, at: &At, access: &Access<'_>) {
        if access.kind == AccessKind::Load || access.space != Space::Global {
            return;
        }
        let writes = |source: &Range<u64>, lane: u32| {
            overlap(source, &span::from(access.addresses[lane as usize], access.bytes.into()))
        };
        self.0.excuse(|source| at.lanes().any(|lane| writes(source, lane)));
    }
}
