//! Misuse of what synchronises threads: barriers of the CTA and of the cluster (PTX ISA 9.7.13.1 to 9.7.13.3), warp-wide operations, mbarriers
//! (9.7.13.15).
//!
//! What PTX leaves to exited threads is no misuse: barriers for all threads do not wait for them (9.7.12.8 `exit`), and the `.sync` operations wait
//! for "all non-exited threads" of their masks (9.7.9.6).

mod barrier;
mod mbarrier;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::address::{SHARED_PER_CTA, split_shared};
use warploom_exec::fault::{AccessKind, Fault};
use warploom_exec::observe::{Access, At, GridFacts, GridObserver, Observer, Space, SyncEvent};

use crate::grid::GridNames;
use crate::registry::Check;
use crate::report::{Note, Report};
use crate::sink::Sink;
use barrier::Barriers;
use mbarrier::Objects;

/// What was found about the place of an event.
pub(crate) struct Finding {
    kind: &'static str,
    text: String,
    at: At,
    other: Option<(At, &'static str)>,
}

impl Finding {
    pub(crate) fn new(kind: &'static str, at: &At, text: String) -> Finding {
        Finding { kind, text, at: *at, other: None }
    }

    pub(crate) fn with(self, other: At, what: &'static str) -> Finding {
        Finding { other: Some((other, what)), ..self }
    }
}

/// The check of synchronisation.
pub struct SyncCheck {
    sink: Arc<Sink>,
}

impl SyncCheck {
    /// Reports to `sink`.
    pub fn new(sink: &Arc<Sink>) -> SyncCheck {
        SyncCheck { sink: Arc::clone(sink) }
    }
}

impl Observer for SyncCheck {
    fn begin_grid(&self, facts: &GridFacts<'_>) -> Box<dyn GridObserver> {
        Box::new(GridSync {
            sink: self.sink.clone(),
            names: GridNames::new(facts),
            threads: facts.launch.cta.iter().product(),
            ctas: Mutex::default(),
        })
    }
}

/// A CTA that runs.
#[derive(Default)]
struct Cta {
    barriers: Barriers,
    objects: Objects,
}

struct GridSync {
    sink: Arc<Sink>,
    names: GridNames,
    /// Of a CTA.
    threads: u32,
    ctas: Mutex<HashMap<[u32; 3], Arc<Mutex<Cta>>>>,
}

impl GridSync {
    fn cta(&self, cta: [u32; 3]) -> Arc<Mutex<Cta>> {
        self.ctas.lock().entry(cta).or_default().clone()
    }

    fn report(&self, findings: Vec<Finding>) {
        let named = |at: &At| self.names.thread(at, at.mask.trailing_zeros());
        for Finding { kind, text, at, other } in findings {
            let notes = other.iter().map(|(other, what)| Note::by(named(other), *what)).collect();
            self.sink.report(Report { check: Check::Sync, kind, message: text, thread: Some(named(&at)), notes });
        }
    }

    /// The CTA of the cluster that a `.shared` address belongs to, as far as it is the own one: those of others are not looked at.
    fn is_own(at: &At, address: u64) -> bool {
        split_shared(address as u32).0 == at.rank
    }
}

impl GridObserver for GridSync {
    fn access(&self, at: &At, access: &Access<'_>) {
        if access.space != Space::Shared || access.kind == AccessKind::Load {
            return;
        }
        let cta = self.cta(at.cta);
        let cta = cta.lock();
        if !cta.objects.any() {
            return;
        }
        let overwritten = at.lanes().find_map(|lane| {
            let address = access.addresses[lane as usize];
            let found = cta.objects.at(address, access.bytes.into()).filter(|_| Self::is_own(at, address));
            found.map(|(object, made)| (lane, object, made))
        });
        drop(cta);
        if let Some((lane, object, made)) = overwritten {
            let text =
                format!("a write to the mbarrier object at {:#x} of shared memory", u64::from(object) % SHARED_PER_CTA);
            self.report(vec![
                Finding::new("mbarrier-overwritten", &At { mask: 1 << lane, ..*at }, text)
                    .with(made, "the object was made here"),
            ]);
        }
    }

    fn sync(&self, at: &At, event: &SyncEvent<'_>) {
        let cta = self.cta(at.cta);
        let mut findings = Vec::new();
        match *event {
            SyncEvent::Mbarrier { addresses, ref op, .. } => {
                let mut cta = cta.lock();
                for lane in at.lanes().filter(|&lane| Self::is_own(at, addresses[lane as usize])) {
                    let at = At { mask: 1 << lane, ..*at };
                    findings.extend(cta.objects.operate(&at, addresses[lane as usize] as u32, op, lane as usize));
                }
            }
            ref event => cta.lock().barriers.sync(at, event, self.threads, &mut findings),
        }
        if !findings.is_empty() {
            self.report(findings);
        }
    }

    fn end_cta(&self, cta: [u32; 3]) {
        self.ctas.lock().remove(&cta);
    }

    fn end(&self, fault: Option<&Fault>) {
        // What still waits when a grid was stopped waits for somebody who did not come.
        if fault.is_some() {
            let ctas: Vec<_> = self.ctas.lock().drain().collect();
            self.report(ctas.iter().flat_map(|(_, cta)| cta.lock().barriers.left()).collect());
        }
    }
}
