//! Where reports go: each kind of report at a place once, with how often it came.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::registry::Check;
use crate::render::render;
use crate::report::{At, Report, Severity, count};
use crate::selection::Selection;
use crate::suppression::Suppressions;

/// Takes a text for people.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// A report, and how often it came.
#[derive(Clone, Debug, Serialize)]
pub struct Counted {
    /// The first one.
    #[serde(flatten)]
    pub report: Report,
    /// What it weighs.
    pub severity: Severity,
    /// How many like it.
    pub count: u64,
}

/// Takes reports.
pub struct Sink {
    say: Say,
    suppressions: Suppressions,
    selection: Selection,
    level: Severity,
    /// How many are printed at most.
    limit: Option<usize>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    reports: Vec<Counted>,
    places: HashMap<Key, Option<usize>>,
    suppressed: u64,
}

impl Found {
    fn of(&self, severity: Severity) -> impl Iterator<Item = &Counted> {
        self.reports.iter().filter(move |counted| counted.severity == severity)
    }
}

/// Reports with the same one are equal.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    check: Check,
    kind: &'static str,
    places: Vec<(String, At)>,
    /// Of reports that have no place: what they say, and of which calls.
    host: Option<(String, Vec<String>)>,
}

impl Key {
    fn of(report: &Report) -> Key {
        let threads = report.thread.iter().chain(report.notes.iter().filter_map(|note| note.thread.as_ref()));
        let places: Vec<_> = threads.map(|thread| (thread.kernel.clone(), thread.place.clone())).collect();
        let frames = || report.notes.iter().flat_map(|note| note.frames.clone()).collect();
        let host = report.thread.is_none().then(|| (report.message.clone(), frames()));
        Key { check: report.check, kind: report.kind, places, host }
    }
}

impl Sink {
    pub(crate) fn new(
        say: Say,
        suppressions: Suppressions,
        selection: Selection,
        level: Severity,
        limit: Option<usize>,
    ) -> Sink {
        Sink { say, suppressions, selection, level, limit, found: Mutex::default() }
    }

    /// Whether reports that weigh so much are taken at all.
    pub fn takes(&self, severity: Severity) -> bool {
        severity >= self.level
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a report: prints it if it is the first of its kind at its place.
    pub fn report(&self, report: Report) {
        debug_assert!(report.check.kinds().contains(&report.kind), "{}/{} is listed", report.check.name(), report.kind);
        if !self.takes(report.severity()) || !self.selection.holds(&report) {
            return;
        }
        let mut found = self.found();
        let Found { reports, places, suppressed } = &mut *found;
        match places.entry(Key::of(&report)) {
            Entry::Occupied(known) => match *known.get() {
                Some(index) => reports[index].count += 1,
                None => *suppressed += 1,
            },
            Entry::Vacant(fresh) if self.suppressions.hold(&report) => {
                fresh.insert(None);
                *suppressed += 1;
            }
            Entry::Vacant(fresh) => {
                fresh.insert(Some(reports.len()));
                let text = match self.limit {
                    Some(limit) if reports.len() > limit => None,
                    Some(limit) if reports.len() == limit => {
                        Some(format!("{} have been printed, and no more are\n", count(limit as u64, "report")))
                    }
                    _ => Some(render(&report)),
                };
                reports.push(Counted { severity: report.severity(), report, count: 1 });
                drop(found);
                if let Some(text) = text {
                    (self.say)(&text);
                }
            }
        }
    }

    /// What was reported so far.
    pub fn reports(&self) -> Vec<Counted> {
        self.found().reports.clone()
    }

    /// How many errors there were, counted as they came.
    pub fn errors(&self) -> u64 {
        self.found().of(Severity::Error).map(|counted| counted.count).sum()
    }

    /// One sentence about all of them.
    pub fn summary(&self) -> String {
        let found = self.found();
        let of = |severity: Severity, what: &str| {
            let (number, places) =
                found.of(severity).fold((0, 0), |(number, places), counted| (number + counted.count, places + 1));
            let mut text = count(number, what);
            if places != number {
                text.push_str(&format!(" at {}", count(places, "place")));
            }
            text
        };
        let mut text = of(Severity::Error, "error");
        if found.of(Severity::Info).next().is_some() {
            text.push_str(&format!(", {}", of(Severity::Info, "note")));
        }
        if found.suppressed != 0 {
            text.push_str(&format!(", {} suppressed", found.suppressed));
        }
        text
    }
}
