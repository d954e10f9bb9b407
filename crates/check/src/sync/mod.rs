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
use warploom_exec::fault::{AccessKind, Fault, FaultKind};
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

/// CTAs that run together: one, or those of a cluster.
struct Cluster {
    /// By rank.
    barriers: Vec<Barriers>,
    objects: Objects,
}

impl Cluster {
    /// What still waits.
    fn left(&self) -> Vec<Finding> {
        self.barriers.iter().flat_map(Barriers::left).chain(self.objects.left()).collect()
    }
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
type Running = Mutex<HashMap<[u32; 3], Arc<Mutex<Cluster>>>>;

struct GridSync {
    reporter: Arc<Reporter>,
    /// Of a CTA.
    threads: u32,
    running: Arc<Running>,
}

impl GridObserver for GridSync {
    fn begin(&self, ctas: &[[u32; 3]]) -> Box<dyn CtaObserver> {
        let first = ctas.first().copied().unwrap_or_default();
        let barriers = ctas.iter().map(|_| Barriers::default()).collect();
        let cluster = Arc::new(Mutex::new(Cluster { barriers, objects: Objects::default() }));
        self.running.lock().insert(first, cluster.clone());
        let (reporter, running) = (self.reporter.clone(), self.running.clone());
        Box::new(ClusterSync { reporter, threads: self.threads, first, running, cluster })
    }

    fn end(&self, fault: Option<&Fault>) {
        let clusters: Vec<_> = self.running.lock().drain().map(|(_, cluster)| cluster).collect();
        // What still waits when nothing went on waits for somebody who did not come. Another fault may have stopped who was on the way.
        let stuck = |fault: &Fault| matches!(fault.kind, FaultKind::Stuck(_) | FaultKind::LaunchTimeout { .. });
        if fault.is_some_and(stuck) {
            self.reporter.report(clusters.iter().flat_map(|cluster| cluster.lock().left()).collect());
        }
    }
}

struct ClusterSync {
    reporter: Arc<Reporter>,
    threads: u32,
    first: [u32; 3],
    running: Arc<Running>,
    cluster: Arc<Mutex<Cluster>>,
}

impl CtaObserver for ClusterSync {
    fn access(&mut self, at: &At, access: &Access<'_>) {
        if access.space != Space::Shared || access.kind == AccessKind::Load {
            return;
        }
        let cluster = self.cluster.lock();
        if !cluster.objects.any() {
            return;
        }
        let overwritten = at.lanes().find_map(|lane| {
            let (name, made) = cluster.objects.at(at, access.addresses[lane as usize], access.bytes.into())?;
            Some((lane, name, made))
        });
        drop(cluster);
        if let Some((lane, name, made)) = overwritten {
            let at = At { mask: 1 << lane, ..*at };
            let finding = Finding::new("mbarrier-overwritten", &at, format!("a write to {name}"));
            self.reporter.report(vec![finding.with(made, "the object was made here")]);
        }
    }

    fn reads(&mut self, _: &At, _: &Access<'_>) -> bool {
        true
    }

    fn sync(&mut self, at: &At, event: &SyncEvent<'_>) {
        let mut cluster = self.cluster.lock();
        let Cluster { barriers, objects } = &mut *cluster;
        let Some(barriers) = barriers.get_mut(at.rank as usize) else { return };
        let mut findings = Vec::new();
        objects.go_on(at);
        match *event {
            SyncEvent::Mbarrier { addresses, ref op, .. } => findings = objects.operate(at, addresses, op),
            ref event => barriers.sync(at, event, self.threads, &mut findings),
        }
        drop(cluster);
        if !findings.is_empty() {
            self.reporter.report(findings);
        }
    }

    fn finished(&mut self) {
        self.running.lock().remove(&self.first);
        let findings = self.cluster.lock().objects.ended();
        if !findings.is_empty() {
            self.reporter.report(findings);
        }
    }
}
