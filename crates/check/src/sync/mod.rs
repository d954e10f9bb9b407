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
use warploom_exec::observe::{Access, At, CtaObserver, GridFacts, GridObserver, Observer, Space, SyncEvent, Wants};

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
    fn wants(&self) -> Wants {
        Wants { accesses: true, order: true, ..Wants::default() }
    }

    fn begin_grid(&self, facts: &GridFacts<'_>) -> Box<dyn GridObserver> {
        let reporter = Reporter { sink: self.sink.clone(), names: GridNames::new(facts) };
        let threads = facts.launch.cta.iter().product();
        Box::new(GridSync { reporter: Arc::new(reporter), threads, running: Arc::default() })
    }
}

/// A CTA that runs.
#[derive(Default)]
struct Cta {
    barriers: Barriers,
    objects: Objects,
}

/// Who tells of what is found in a grid.
struct Reporter {
    sink: Arc<Sink>,
    names: GridNames,
}

impl Reporter {
    fn report(&self, findings: Vec<Finding>) {
        let named = |at: &At| self.names.thread(at, at.mask.trailing_zeros());
        for Finding { kind, text, at, other } in findings {
            let notes = other.iter().map(|(other, what)| Note::by(named(other), *what)).collect();
            self.sink.report(Report { check: Check::Sync, kind, message: text, thread: Some(named(&at)), notes });
        }
    }
}

/// The CTAs of a grid that run, by cluster: who is asked, when it has been stopped, what still waits.
type Running = Mutex<HashMap<[u32; 3], Arc<Mutex<Vec<Cta>>>>>;

struct GridSync {
    reporter: Arc<Reporter>,
    /// Of a CTA.
    threads: u32,
    running: Arc<Running>,
}

impl GridObserver for GridSync {
    fn begin(&self, ctas: &[[u32; 3]]) -> Box<dyn CtaObserver> {
        let first = ctas.first().copied().unwrap_or_default();
        let states: Arc<Mutex<Vec<Cta>>> = Arc::new(Mutex::new(ctas.iter().map(|_| Cta::default()).collect()));
        self.running.lock().insert(first, states.clone());
        let (reporter, running) = (self.reporter.clone(), self.running.clone());
        Box::new(ClusterSync { reporter, threads: self.threads, first, running, ctas: states })
    }

    fn end(&self, fault: Option<&Fault>) {
        // What still waits when a grid was stopped waits for somebody who did not come.
        if fault.is_some() {
            let clusters: Vec<_> = self.running.lock().drain().map(|(_, ctas)| ctas).collect();
            let left = |ctas: &Arc<Mutex<Vec<Cta>>>| -> Vec<Finding> {
                ctas.lock().iter().flat_map(|cta| cta.barriers.left()).collect()
            };
            self.reporter.report(clusters.iter().flat_map(left).collect());
        }
    }
}

struct ClusterSync {
    reporter: Arc<Reporter>,
    threads: u32,
    first: [u32; 3],
    running: Arc<Running>,
    /// By rank.
    ctas: Arc<Mutex<Vec<Cta>>>,
}

/// Whether a `.shared` address belongs to the own CTA of the cluster: those of others are not looked at.
fn is_own(at: &At, address: u64) -> bool {
    split_shared(address as u32).0 == at.rank
}

impl CtaObserver for ClusterSync {
    fn access(&mut self, at: &At, access: &Access<'_>) {
        if access.space != Space::Shared || access.kind == AccessKind::Load {
            return;
        }
        let ctas = self.ctas.lock();
        let Some(cta) = ctas.get(at.rank as usize).filter(|cta| cta.objects.any()) else { return };
        let overwritten = at.lanes().find_map(|lane| {
            let address = access.addresses[lane as usize];
            let found = cta.objects.at(address, access.bytes.into()).filter(|_| is_own(at, address));
            found.map(|(object, made)| (lane, object, made))
        });
        drop(ctas);
        if let Some((lane, object, made)) = overwritten {
            let text =
                format!("a write to the mbarrier object at {:#x} of shared memory", u64::from(object) % SHARED_PER_CTA);
            self.reporter.report(vec![
                Finding::new("mbarrier-overwritten", &At { mask: 1 << lane, ..*at }, text)
                    .with(made, "the object was made here"),
            ]);
        }
    }

    fn reads(&mut self, _: &At, _: &Access<'_>) -> bool {
        true
    }

    fn sync(&mut self, at: &At, event: &SyncEvent<'_>) {
        let mut ctas = self.ctas.lock();
        let Some(cta) = ctas.get_mut(at.rank as usize) else { return };
        let mut findings = Vec::new();
        match *event {
            SyncEvent::Mbarrier { addresses, ref op, .. } => {
                for lane in at.lanes().filter(|&lane| is_own(at, addresses[lane as usize])) {
                    let at = At { mask: 1 << lane, ..*at };
                    findings.extend(cta.objects.operate(&at, addresses[lane as usize] as u32, op, lane as usize));
                }
            }
            ref event => cta.barriers.sync(at, event, self.threads, &mut findings),
        }
        drop(ctas);
        if !findings.is_empty() {
            self.reporter.report(findings);
        }
    }

    fn finished(&mut self) {
        self.running.lock().remove(&self.first);
    }
}
