//! Which checks there are, and those of a process as one observer.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Once};

use serde::Serialize;
use warploom_exec::fault::Fault;
use warploom_exec::observe::{
    Access, At, Crossing, GridFacts, GridObserver, HostEvent, Observer, Step, SyncEvent, Wants,
};

use crate::files;
use crate::init::InitCheck;
use crate::leak::LeakCheck;
use crate::memory::MemoryCheck;
use crate::race::RaceCheck;
use crate::sink::{Say, Sink};
use crate::suppression::Suppressions;
use crate::sync::SyncCheck;

/// A check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Accesses of what a thread may not access.
    Memory,
    /// Accesses that nothing orders.
    Race,
    /// Values that nobody has written.
    Init,
    /// Misuse of barriers and member masks.
    Sync,
    /// What is not freed or destroyed.
    Leak,
}

impl Check {
    /// All of them.
    pub const ALL: [Check; 5] = [Check::Memory, Check::Race, Check::Init, Check::Sync, Check::Leak];

    /// As it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Check::Memory => "memory",
            Check::Race => "race",
            Check::Init => "init",
            Check::Sync => "sync",
            Check::Leak => "leak",
        }
    }

    fn observer(self, sink: &Arc<Sink>) -> Arc<dyn Observer> {
        match self {
            Check::Memory => Arc::new(MemoryCheck::new(sink)),
            Check::Race => Arc::new(RaceCheck::new(sink)),
            Check::Init => Arc::new(InitCheck::new(sink)),
            Check::Sync => Arc::new(SyncCheck::new(sink)),
            Check::Leak => Arc::new(LeakCheck::new(sink)),
        }
    }
}

impl FromStr for Check {
    type Err = String;

    fn from_str(name: &str) -> Result<Check, String> {
        Check::ALL.into_iter().find(|check| check.name() == name).ok_or_else(|| {
            let known: Vec<_> = Check::ALL.into_iter().map(Check::name).collect();
            format!("'{name}' is no check: {} are", known.join(", "))
        })
    }
}

/// What is checked, and what becomes of reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which checks, each once.
    pub checks: Vec<Check>,
    /// A file with rules of what is not to be reported.
    pub suppressions: Option<PathBuf>,
    /// A file for the reports: JSON, or JUnit's XML if its name ends in `.xml`.
    pub report: Option<PathBuf>,
    /// The exit status of the process if there were errors.
    pub error_exit: Option<i32>,
}

impl Settings {
    /// The checks of a list with commas.
    ///
    /// # Errors
    /// What in it is no check.
    pub fn parse_checks(text: &str) -> Result<Vec<Check>, String> {
        let mut checks = text.split(',').map(|name| name.trim().parse()).collect::<Result<Vec<Check>, _>>()?;
        checks.sort_unstable();
        checks.dedup();
        Ok(checks)
    }
}

/// The checks of a process.
pub struct Checker {
    settings: Settings,
    sink: Arc<Sink>,
    say: Say,
    observers: Vec<Arc<dyn Observer>>,
    finished: Once,
}

impl Checker {
    /// Begins to check. `say` gets reports, each a text of some lines.
    ///
    /// # Errors
    /// What is wrong with the file of suppressions.
    pub fn new(settings: Settings, say: Say) -> Result<Arc<Checker>, String> {
        let suppressions = match &settings.suppressions {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                Suppressions::parse(&text).map_err(|why| format!("{}: {why}", path.display()))?
            }
            None => Suppressions::default(),
        };
        let sink = Arc::new(Sink::new(Arc::clone(&say), suppressions));
        let observers = settings.checks.iter().map(|check| check.observer(&sink)).collect();
        Ok(Arc::new(Checker { settings, sink, say, observers, finished: Once::new() }))
    }

    /// What has been found.
    pub fn sink(&self) -> &Sink {
        &self.sink
    }

    /// The end of the process, once: says how many errors there were, and writes the file. The exit status that the process is to have, if it is to
    /// have another than its own.
    pub fn finish(&self) -> Option<i32> {
        self.finished.call_once(|| {
            self.host(&HostEvent::ProcessEnds);
            let names: Vec<_> = self.settings.checks.iter().map(|check| check.name()).collect();
            (self.say)(&format!("checked {}: {}\n", names.join(", "), self.sink.summary()));
            if let Some(path) = &self.settings.report
                && let Err(why) = files::write(path, &self.settings.checks, &self.sink.reports())
            {
                (self.say)(&format!("{why}\n"));
            }
        });
        self.settings.error_exit.filter(|_| self.sink.errors() != 0)
    }
}

impl Observer for Checker {
    fn wants(&self) -> Wants {
        self.observers.iter().map(|observer| observer.wants()).fold(Wants::default(), |all, one| Wants {
            steps: all.steps || one.steps,
            serial: all.serial || one.serial,
        })
    }

    fn begin_grid(&self, grid: &GridFacts<'_>) -> Box<dyn GridObserver> {
        match self.observers.as_slice() {
            [one] => one.begin_grid(grid),
            several => Box::new(Together(several.iter().map(|observer| observer.begin_grid(grid)).collect())),
        }
    }

    fn host(&self, event: &HostEvent) {
        self.observers.iter().for_each(|observer| observer.host(event));
    }
}

/// The observers of one grid.
struct Together(Vec<Box<dyn GridObserver>>);

impl GridObserver for Together {
    fn access(&self, at: &At, access: &Access<'_>) {
        self.0.iter().for_each(|observer| observer.access(at, access));
    }

    fn accessed(&self, at: &At, access: &Access<'_>, wrote: u32) {
        self.0.iter().for_each(|observer| observer.accessed(at, access, wrote));
    }

    fn sync(&self, at: &At, event: &SyncEvent<'_>) {
        self.0.iter().for_each(|observer| observer.sync(at, event));
    }

    fn step(&self, at: &At, step: &Step<'_>) {
        self.0.iter().for_each(|observer| observer.step(at, step));
    }

    fn cross(&self, at: &At, crossing: &Crossing<'_>) {
        self.0.iter().for_each(|observer| observer.cross(at, crossing));
    }

    fn begin_cta(&self, cta: [u32; 3], rank: u32) {
        self.0.iter().for_each(|observer| observer.begin_cta(cta, rank));
    }

    fn end_cta(&self, cta: [u32; 3]) {
        self.0.iter().for_each(|observer| observer.end_cta(cta));
    }

    fn malloc(&self, at: &At, address: u64, bytes: u64) {
        self.0.iter().for_each(|observer| observer.malloc(at, address, bytes));
    }

    fn free(&self, at: &At, address: u64) {
        self.0.iter().for_each(|observer| observer.free(at, address));
    }

    fn end(&self, fault: Option<&Fault>) {
        self.0.iter().for_each(|observer| observer.end(fault));
    }
}
