//! Which checks there are, and those of a process as one observer.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Once};

use serde::Serialize;
use warploom_exec::fault::Fault;
use warploom_exec::observe::{
    Access, At, Crossing, CtaObserver, Exchange, GridFacts, GridObserver, HostEvent, Observer, Step, SyncEvent, Vote,
    Wants,
};

use crate::files;
use crate::host::HostCheck;
use crate::host::calls::{self, RuntimeCalls};
use crate::init::InitCheck;
use crate::leak::LeakCheck;
use crate::memory::MemoryCheck;
use crate::origin;
use crate::race::RaceCheck;
use crate::report::Severity;
use crate::selection::Selection;
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
    /// What the host does wrong beside its kernels.
    Host,
}

impl Check {
    /// All of them.
    pub const ALL: [Check; 6] = [Check::Memory, Check::Race, Check::Init, Check::Sync, Check::Leak, Check::Host];

    /// As it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Check::Memory => "memory",
            Check::Race => "race",
            Check::Init => "init",
            Check::Sync => "sync",
            Check::Leak => "leak",
            Check::Host => "host",
        }
    }

    /// The kinds of reports that it makes; docs/checkers.md says what each is.
    pub fn kinds(self) -> &'static [&'static str] {
        match self {
            Check::Memory => &[
                "out-of-bounds",
                "use-after-free",
                "misaligned",
                "other-cta",
                "host-pointer",
                "null-pointer",
                "wild-pointer",
                "write-to-constant",
                "write-to-read-only",
                "double-free",
                "foreign-free",
            ],
            Check::Race => &["shared-race", "global-race", "copy-race", "shared-same-value", "global-same-value"],
            Check::Init => &["uninitialised-condition", "uninitialised-address", "uninitialised-output"],
            Check::Sync => &[
                "divergent-barrier",
                "barrier-count",
                "member-mask",
                "mbarrier",
                "mbarrier-overwritten",
                "mbarrier-arrivals",
                "mbarrier-bytes",
                "mbarrier-wait",
                "cluster-barrier",
            ],
            Check::Leak => &["memory", "object"],
            Check::Host => &["result-dropped", "source-changed", "source-freed"],
        }
    }

    fn observer(self, sink: &Arc<Sink>, race: &mut Option<Arc<RaceCheck>>) -> Arc<dyn Observer> {
        match self {
            Check::Memory => Arc::new(MemoryCheck::new(sink)),
            Check::Race => race.insert(Arc::new(RaceCheck::new(sink))).clone(),
            Check::Init => Arc::new(InitCheck::new(sink)),
            Check::Sync => Arc::new(SyncCheck::new(sink)),
            Check::Leak => Arc::new(LeakCheck::new(sink)),
            Check::Host => Arc::new(HostCheck::new(sink)),
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
    /// Reports are written to the end of this file, and not said.
    pub log: Option<PathBuf>,
    /// Which kernels are reported on: words `kernel_name=NAME`, `kernel_substring=TEXT`, `kernel_regex=TEXT`, with a `!` for those that are left out.
    pub kernels: Vec<String>,
    /// How many reports are said at most; files have all.
    pub print_limit: Option<usize>,
    /// What reports weigh at least that are made.
    pub level: Severity,
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
    race: Option<Arc<RaceCheck>>,
    runtime: RuntimeCalls,
    finished: Once,
}

impl Checker {
    /// Begins to check. `say` gets reports, each a text of some lines.
    ///
    /// # Errors
    /// What is wrong with the file of suppressions, that for reports, or the words for kernels.
    pub fn new(settings: Settings, say: Say) -> Result<Arc<Checker>, String> {
        let suppressions = match &settings.suppressions {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                Suppressions::parse(&text).map_err(|why| format!("{}: {why}", path.display()))?
            }
            None => Suppressions::default(),
        };
        let selection = Selection::parse(&settings.kernels)?;
        let say = match &settings.log {
            Some(path) => to_file(path)?,
            None => say,
        };
        let sink = Arc::new(Sink::new(Arc::clone(&say), suppressions, selection, settings.level, settings.print_limit));
        let mut race = None;
        let observers = settings.checks.iter().map(|check| check.observer(&sink, &mut race)).collect();
        Ok(Arc::new(Checker {
            settings,
            sink,
            say,
            observers,
            race,
            runtime: RuntimeCalls::default(),
            finished: Once::new(),
        }))
    }

    /// What has been found.
    pub fn sink(&self) -> &Sink {
        &self.sink
    }

    /// Bytes of the host's memory in which the check for races remembers who has accessed global memory.
    pub fn shadow_bytes(&self) -> usize {
        self.race.as_ref().map_or(0, |race| race.shadow_bytes())
    }

    /// Whether [`Checker::call_failed`] and [`Checker::call_succeeded`] are to be told of calls.
    pub fn wants_calls(&self) -> bool {
        self.settings.checks.contains(&Check::Host)
    }

    /// A call of the driver API by the calling thread fails; told from within it.
    pub fn call_failed(&self, function: &str, error: &str) {
        calls::failed(function, error);
    }

    /// A call of the driver API by the calling thread succeeds.
    pub fn call_succeeded(&self, function: &str) {
        calls::succeeded(function, &self.sink);
    }

    /// A call of the runtime API by the calling thread fails, and its error is the thread's last one; told from within it.
    pub fn runtime_failed(&self, function: &str, error: &str) {
        self.runtime.failed(function, error, &self.sink);
    }

    /// A call of the runtime API by the calling thread succeeds.
    pub fn runtime_succeeded(&self, function: &str) {
        self.runtime.succeeded(function);
    }

    /// The calling thread asks for its last error of the runtime API.
    pub fn runtime_asked(&self) {
        self.runtime.asked();
    }

    /// The end of the process, once: says how many errors there were, and writes the file. The exit status that the process is to have, if it is to
    /// have another than its own.
    pub fn finish(&self) -> Option<i32> {
        self.finished.call_once(|| {
            self.host(&HostEvent::ProcessEnds);
            self.runtime.end(&self.sink);
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

/// Says what is said to the end of a file.
fn to_file(path: &Path) -> Result<Say, String> {
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let file = OpenOptions::new().create(true).append(true).open(path).map_err(cannot)?;
    // A full disk is no reason to end the program, which has its own report of errors.
    Ok(Arc::new(move |text: &str| drop((&file).write_all(text.as_bytes()))))
}

impl Observer for Checker {
    fn wants(&self) -> Wants {
        self.observers.iter().fold(Wants::default(), |all, one| all.and(one.wants()))
    }

    fn begin_grid(&self, grid: &GridFacts<'_>) -> Box<dyn GridObserver> {
        let several = self.observers.iter().filter(|observer| observer.wants().kernels());
        let mut several: Vec<_> = several.map(|observer| (observer.wants(), observer.begin_grid(grid))).collect();
        match several.as_slice() {
            [_] => several.remove(0).1,
            _ => Box::new(Together(several)),
        }
    }

    fn host(&self, event: &HostEvent) {
        origin::of_one_event(|| self.observers.iter().for_each(|observer| observer.host(event)));
    }
}

/// The observers of one grid, with what they want.
struct Together(Vec<(Wants, Box<dyn GridObserver>)>);

impl GridObserver for Together {
    fn begin(&self, ctas: &[[u32; 3]]) -> Box<dyn CtaObserver> {
        Box::new(CtaTogether(self.0.iter().map(|(wants, observer)| (*wants, observer.begin(ctas))).collect()))
    }

    fn end(&self, fault: Option<&Fault>) {
        self.0.iter().for_each(|(_, observer)| observer.end(fault));
    }
}

/// The observers of one CTA or cluster.
struct CtaTogether(Vec<(Wants, Box<dyn CtaObserver>)>);

impl CtaTogether {
    /// Those that want something.
    fn who(&mut self, wants: impl Fn(&Wants) -> bool) -> impl Iterator<Item = &mut Box<dyn CtaObserver>> {
        self.0.iter_mut().filter(move |(wanted, _)| wants(wanted)).map(|(_, observer)| observer)
    }
}

impl CtaObserver for CtaTogether {
    fn access(&mut self, at: &At, access: &Access<'_>) {
        self.who(|wants| wants.accesses).for_each(|observer| observer.access(at, access));
    }

    fn reads(&mut self, at: &At, access: &Access<'_>) -> bool {
        self.who(|wants| wants.accesses).all(|observer| observer.reads(at, access))
    }

    fn accessed(&mut self, at: &At, access: &Access<'_>, wrote: u32) {
        self.who(|wants| wants.order).for_each(|observer| observer.accessed(at, access, wrote));
    }

    fn sync(&mut self, at: &At, event: &SyncEvent<'_>) {
        self.who(|wants| wants.order).for_each(|observer| observer.sync(at, event));
    }

    fn step(&mut self, at: &At, step: &Step<'_>) {
        self.who(|wants| wants.steps).for_each(|observer| observer.step(at, step));
    }

    fn exchange(&mut self, at: &At, exchange: &Exchange<'_>) {
        self.who(|wants| wants.steps).for_each(|observer| observer.exchange(at, exchange));
    }

    fn vote(&mut self, at: &At, vote: &Vote) {
        self.who(|wants| wants.steps).for_each(|observer| observer.vote(at, vote));
    }

    fn stored(&mut self) {
        self.who(|wants| wants.stores).for_each(|observer| observer.stored());
    }

    fn steps(&mut self, at: &At, step: &Step<'_>) -> bool {
        self.who(|wants| wants.steps).all(|observer| observer.steps(at, step))
    }

    fn cross(&mut self, at: &At, crossing: &Crossing<'_>) {
        self.who(|wants| wants.steps).for_each(|observer| observer.cross(at, crossing));
    }

    fn malloc(&mut self, at: &At, address: u64, bytes: u64) {
        self.who(|wants| wants.accesses).for_each(|observer| observer.malloc(at, address, bytes));
    }

    fn free(&mut self, at: &At, address: u64) {
        self.who(|wants| wants.accesses).for_each(|observer| observer.free(at, address));
    }

    fn finished(&mut self) {
        self.0.iter_mut().for_each(|(_, observer)| observer.finished());
    }
}
