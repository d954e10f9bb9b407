//! Which executor runs a launch, and when code is made for it.
//!
//! A kernel has one [`Shape`] for each shape of CTAs that it is launched with. As long as there is no code, a shape hands each batch of CTAs to the
//! interpreter and adds up what that costs; when it comes to as much as compiling, or is bound to, code is asked for, and from the batch on
//! behind which it is there, it runs: CTAs do not know of each other who runs them.

use std::any::TypeId;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use warploom_exec::fault::{Site, SiteInfo};
use warploom_exec::grid::{Grid, Launch, Poll};
use warploom_exec::kernel::{Batch, Cta, CtaExit, LoadedKernel, Worker};
use warploom_ptx::VerifiedModule;
use warploom_ptx::ir::FunctionId;
use warploom_simt::codegen::Style;
use warploom_simt::standalone;

use crate::apart::Make;
use crate::background::{self, Job};
use crate::cache::Cache;
use crate::compile::{Origin, Refusal, Target, Task};
use crate::estimate::{LOADING, Weight, left};
use crate::kernel::{CompiledKernel, State};
use crate::object::{self, Code};

/// When kernels are compiled (`WARPLOOM_JIT`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    Off,
    /// When it is worth it.
    #[default]
    Auto,
    /// At the first launch of each shape, which waits for it.
    Always,
}

/// What has become of a kernel for CTAs of one shape.
#[derive(Clone, Debug)]
pub struct Made<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The CTAs' shape.
    pub cta: [u32; 3],
    /// Whether it is only what follows where gangs leave their team; then a launch has come there and waits for it.
    pub apart: bool,
    /// How long it took.
    pub took: Duration,
    /// Where the code comes from, or why there is none: the interpreter goes on.
    pub code: Result<Origin, &'a str>,
    /// Whether there is none because of a defect of the compiler.
    pub defect: bool,
}

/// How kernels are to be compiled.
#[derive(Clone)]
pub struct Options {
    /// When.
    pub mode: Mode,
    /// For which processor.
    pub target: Target,
    /// Where code is kept.
    pub cache: Option<Arc<Cache>>,
    /// The folder that LLVM's text of kernels goes to; then all are compiled, whatever is kept.
    pub dump: Option<Arc<Path>>,
    /// In which style, where it is not to be chosen.
    pub style: Style,
    /// Hears what has become of each shape.
    pub report: Arc<dyn Fn(&Made<'_>) + Send + Sync>,
}

/// A kernel that `interpreted` runs, and compiled code where that is covered and worth it.
pub fn tiered(
    options: Options,
    module: &Arc<VerifiedModule>,
    kernel: FunctionId,
    interpreted: Arc<dyn LoadedKernel>,
) -> Arc<dyn LoadedKernel> {
    if options.mode == Mode::Off {
        return interpreted;
    }
    let weight = Weight::new(module, kernel);
    let source = Source { options, module: module.clone(), kernel, interpreted, weight };
    Arc::new(Tiered { source: Arc::new(source), shapes: Shapes::default() })
}

/// What code is made of.
struct Source {
    options: Options,
    module: Arc<VerifiedModule>,
    kernel: FunctionId,
    interpreted: Arc<dyn LoadedKernel>,
    weight: Weight,
}

impl Source {
    /// What is done with the task of compiling for CTAs of one shape, and where code is kept.
    fn with_task<T, E: From<String>>(
        &self,
        cta: [u32; 3],
        run: impl FnOnce(&Task<'_>, Option<&Cache>) -> Result<T, E>,
    ) -> Result<T, E> {
        let Source { options, module, kernel, .. } = self;
        let Options { target, style, dump, cache, .. } = options;
        let module = &standalone(module, *kernel, cta, *style)?;
        let task = Task { module, kernel: *kernel, cta, target: *target, style: *style, dump: dump.as_deref() };
        run(&task, cache.as_deref())
    }

    /// The code of what follows where a team is left, of the kernel whose text has this digest.
    fn make_apart(self: &Arc<Self>, cta: [u32; 3], of: [u8; 32]) -> Result<Code, String> {
        let (start, source) = (Instant::now(), self.clone());
        let made = background::call(move || source.with_task(cta, |task, cache| task.run_apart(cache, of)));
        let made = made.and_then(|(object, origin)| Ok((object::load(&object)?, origin)));
        if let Ok((_, origin)) = &made {
            self.report(cta, true, start, Ok(*origin), false);
        }
        made.map(|(code, _)| code)
    }

    fn report(&self, cta: [u32; 3], apart: bool, start: Instant, code: Result<Origin, &str>, defect: bool) {
        let Source { options, interpreted, .. } = self;
        (options.report)(&Made { kernel: interpreted.name(), cta, apart, took: start.elapsed(), code, defect });
    }
}

struct Tiered {
    source: Arc<Source>,
    shapes: Shapes,
}

/// A list that is only ever added to, so that launches find what is in it without a lock. Few kernels are launched with many shapes.
#[derive(Default)]
struct Shapes(OnceLock<Box<Link>>);

struct Link {
    shape: Arc<Shape>,
    next: Shapes,
}

impl Shapes {
    fn of(&self, source: &Arc<Source>, cta: [u32; 3]) -> &Arc<Shape> {
        let new = || Box::new(Link { shape: Shape::new(source.clone(), cta), next: Shapes::default() });
        let mut at = self;
        loop {
            let link = at.0.get_or_init(new);
            if link.shape.cta == cta {
                return &link.shape;
            }
            at = &link.next;
        }
    }
}

impl Tiered {
    fn covers(&self, launch: &Launch) -> bool {
        let small = (0..3).all(|axis| u64::from(launch.grid[axis]) * u64::from(launch.cta[axis]) < 1 << 31);
        small && launch.cluster == [1; 3]
    }
}

impl LoadedKernel for Tiered {
    fn name(&self) -> &str {
        self.source.interpreted.name()
    }

    fn stack_need(&self) -> usize {
        self.source.interpreted.stack_need()
    }

    fn state_type(&self) -> TypeId {
        self.source.interpreted.state_type()
    }

    fn variant(&self, launch: &Launch) -> Option<Arc<dyn LoadedKernel>> {
        if !self.covers(launch) {
            return Some(self.source.interpreted.clone());
        }
        let shape = self.shapes.of(&self.source, launch.cta);
        match shape.code.get() {
            Some(Some(code)) if code.covers(launch) => Some(code.clone()),
            Some(_) => Some(self.source.interpreted.clone()),
            None => Some(shape.clone()),
        }
    }

    fn most_parts(&self, launch: &Launch) -> u32 {
        self.source.interpreted.most_parts(launch)
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        self.source.interpreted.run_ctas(grid, units, worker)
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        self.source.interpreted.run_cta(grid, cta, worker)
    }

    fn site(&self, site: Site) -> SiteInfo {
        self.source.interpreted.site(site)
    }

    fn describe(&self, cta: &Cta) -> String {
        self.source.interpreted.describe(cta)
    }
}

/// Sites of compiled code, among those of the interpreter.
const COMPILED: u64 = 1 << 63;
/// How often a worker that waits for code looks whether it is wanted elsewhere.
const LOOK: Duration = Duration::from_millis(1);

/// What was asked for: code from the cache; it has none; code, wherever it comes from.
const NOTHING: u8 = 0;
const KEPT: u8 = 1;
const MISSED: u8 = 2;
const ANY: u8 = 3;

/// A kernel for CTAs of one shape, before it is known who runs it in the long run.
struct Shape {
    me: Weak<Shape>,
    source: Arc<Source>,
    cta: [u32; 3],
    /// Of a CTA.
    threads: u64,
    /// None inside where there will be no code.
    code: OnceLock<Option<Arc<CompiledKernel>>>,
    /// [`NOTHING`] and what follows it.
    asked: AtomicU8,
    /// Nanoseconds that threads have spent on it in the interpreter.
    spent: AtomicU64,
    /// A worker waits for code that could run CTAs meanwhile.
    lent: AtomicBool,
    made: (Mutex<()>, Condvar),
}

impl Shape {
    fn new(source: Arc<Source>, cta: [u32; 3]) -> Arc<Shape> {
        let (asked, spent) = (AtomicU8::new(NOTHING), AtomicU64::new(0));
        let (code, lent, made) = Default::default();
        let threads = cta.iter().map(|&extent| u64::from(extent)).product();
        Arc::new_cyclic(|me| Shape { me: me.clone(), source, cta, threads, code, asked, spent, lent, made })
    }

    /// Whether a launch does not begin before there is code, if so many of its CTAs run side by side.
    fn waits(&self, launch: &Launch, side_by_side: u64) -> bool {
        let Source { options, weight, .. } = &*self.source;
        let interpreting = || weight.interpreting(launch.ctas(), self.threads);
        options.mode == Mode::Always || weight.is_worth_waiting(interpreting(), side_by_side)
    }

    /// Whether a grid that runs does not begin before there is code: those that are divided into more than CTAs never will have any.
    fn holds_back(&self, grid: &Grid) -> bool {
        grid.parts == 1 && self.waits(&grid.launch, side_by_side(grid))
    }

    /// Asks for what `spent` nanoseconds of the interpreter are worth.
    fn consider(&self, spent: u64) {
        let asked = self.asked.load(Ordering::Relaxed);
        if asked != ANY && spent >= self.source.weight.cost {
            self.ask(ANY, false);
        } else if asked == NOTHING && spent >= LOADING && self.source.options.cache.is_some() {
            self.ask(KEPT, false);
        }
    }

    /// Asks for code, once for each kind.
    fn ask(&self, what: u8, awaited: bool) {
        if self.asked.fetch_max(what, Ordering::SeqCst) >= what {
            return;
        }
        let Some(shape) = self.me.upgrade() else { return };
        let (ticket, start) = (Ticket(shape.clone(), what), Instant::now());
        let run = Box::new(move || ticket.0.make(what));
        let lost = Box::new(move |why: &str| {
            shape.report(start, Err(why), true);
            shape.decide(None);
        });
        background::submit(Job { run, lost }, awaited);
    }

    fn make(&self, what: u8) {
        if self.code.get().is_some() {
            return;
        }
        let start = Instant::now();
        let make_apart = |of| -> Make {
            let (source, cta) = (self.source.clone(), self.cta);
            Box::new(move || source.make_apart(cta, of))
        };
        // A defect of the compiler costs speed, nothing else.
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            self.source.with_task(self.cta, |task, cache| task.run(cache, what == ANY, make_apart))
        }));
        match attempt.unwrap_or_else(|_| Err(Refusal::defect("an internal error of the compiler"))) {
            Ok(Some((code, origin))) => {
                self.report(start, Ok(origin), false);
                self.decide(Some(Arc::new(code)));
            }
            Ok(None) => {
                self.asked.fetch_max(MISSED, Ordering::SeqCst);
            }
            Err(Refusal { why, defect }) => {
                self.report(start, Err(&why), defect);
                self.decide(None);
            }
        }
    }

    fn report(&self, start: Instant, code: Result<Origin, &str>, defect: bool) {
        self.source.report(self.cta, false, start, code, defect);
    }

    /// The code that a CTA has begun in, if it was not in the interpreter.
    fn code_of(&self, cta: &Cta) -> Option<&CompiledKernel> {
        let begun = cta.started && cta.state.as_ref().is_some_and(|state| state.is::<State>());
        self.code.get().and_then(|code| code.as_deref()).filter(|_| begun)
    }

    /// The first word counts.
    fn decide(&self, code: Option<Arc<CompiledKernel>>) {
        let _ = self.code.set(code);
        let (lock, made) = &self.made;
        drop(lock.lock().unwrap_or_else(PoisonError::into_inner));
        made.notify_all();
    }

    /// Waits until it is known whether there will be code. False if the thread is wanted elsewhere before.
    fn wait(&self, grid: &Grid, worker: &Worker) -> bool {
        let (lock, made) = &self.made;
        let mut guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.code.get().is_none() {
            if grid.poll(worker) != Poll::Continue {
                return false;
            }
            guard = made.wait_timeout(guard, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// One worker after the other waits for code that is going to be worth it, and gives its core to the compiler meanwhile. The others go on.
    fn lend(&self, grid: &Grid, worker: &Worker) {
        if !self.lent.swap(true, Ordering::SeqCst) {
            self.ask(ANY, true);
            self.wait(grid, worker);
            self.lent.store(false, Ordering::SeqCst);
        }
    }

    /// Runs a batch in the interpreter, and adds up what it costs: so many nanoseconds.
    fn interpret(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> (Batch, u64) {
        let Source { interpreted, weight, .. } = &*self.source;
        let start = weight.has_loops.then(Instant::now);
        let batch = interpreted.run_ctas(grid, units, worker);
        let took = match start {
            Some(start) => start.elapsed().as_nanos() as u64,
            None if grid.parts == 1 => weight.interpreting(batch.done, self.threads),
            None => weight.interpreting(batch.done, self.threads / u64::from(grid.parts)),
        };
        // What others have added meanwhile may be lost: it is a guess, and a small launch pays for what is exact.
        self.spent.store(self.spent.load(Ordering::Relaxed).saturating_add(took), Ordering::Relaxed);
        (batch, took)
    }
}

/// How many CTAs of a grid run at the same time.
fn side_by_side(grid: &Grid) -> u64 {
    u64::from(grid.launch.workers.count(grid.sm_count)).min(grid.launch.ctas())
}

impl LoadedKernel for Shape {
    fn name(&self) -> &str {
        self.source.interpreted.name()
    }

    fn stack_need(&self) -> usize {
        self.source.interpreted.stack_need()
    }

    fn state_type(&self) -> TypeId {
        self.source.interpreted.state_type()
    }

    fn has_independent_ctas(&self) -> bool {
        self.source.interpreted.has_independent_ctas()
    }

    fn ends_within(&self, launch: &Launch) -> Option<u64> {
        // Not behind the compiler.
        let waits = self.waits(launch, launch.ctas());
        self.source.interpreted.ends_within(launch).filter(|_| !waits)
    }

    fn most_parts(&self, launch: &Launch) -> u32 {
        // Code runs whole CTAs.
        match self.source.interpreted.most_parts(launch) {
            parts if parts > 1 && self.waits(launch, launch.ctas()) => 1,
            parts => parts,
        }
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, worker: &mut Worker) -> Batch {
        match self.code.get() {
            // A thread of the program that helps may have stack for the interpreter only.
            Some(Some(code)) if grid.parts == 1 && code.covers(&grid.launch) && worker.has_stack(code.stack_need()) => {
                return mark(code.run_ctas(grid, units, worker));
            }
            Some(_) => return self.source.interpreted.run_ctas(grid, units, worker),
            None => {}
        }
        if self.holds_back(grid) {
            self.ask(ANY, true);
            let known = self.wait(grid, worker);
            return if known { self.run_ctas(grid, units, worker) } else { Batch { done: 0, stopped: None } };
        }
        let next = units.end;
        let (batch, took) = self.interpret(grid, units, worker);
        let left = left(grid, took, batch.done, next);
        self.consider(self.spent.load(Ordering::Relaxed).saturating_add(left));
        // A thread of the program that helps is no worker less when it waits.
        if worker.is_pools() && left / side_by_side(grid) > self.source.weight.cost {
            self.lend(grid, worker);
        }
        batch
    }

    fn awaits(&self, grid: &Grid) -> Option<&'static str> {
        let awaited = self.code.get().is_none() && self.holds_back(grid);
        awaited.then_some("its code from the compiler (WARPLOOM_JIT=off goes without)")
    }

    // It does not say that it keeps anything back: code then adds what it has kept at the end of each batch, before the interpreter may look at it.

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        // What has begun goes on where it was.
        match self.code_of(cta) {
            Some(code) if !worker.is_pools() && !worker.has_stack(code.stack_need()) => {
                CtaExit::Yielded { progressed: false }
            }
            Some(code) => marked(code.run_cta(grid, cta, worker)),
            None => self.source.interpreted.run_cta(grid, cta, worker),
        }
    }

    fn site(&self, Site(number): Site) -> SiteInfo {
        match self.code.get() {
            Some(Some(code)) if number & COMPILED != 0 => code.site(Site(number & !COMPILED)),
            _ => self.source.interpreted.site(Site(number)),
        }
    }

    fn describe(&self, cta: &Cta) -> String {
        match self.code_of(cta) {
            Some(code) => code.describe(cta),
            None => self.source.interpreted.describe(cta),
        }
    }
}

/// Tells sites of compiled code from the interpreter's.
fn mark(batch: Batch) -> Batch {
    Batch { stopped: batch.stopped.map(|(cta, exit)| (cta, marked(exit))), ..batch }
}

fn marked(mut exit: CtaExit) -> CtaExit {
    if let CtaExit::Fault(trap) = &mut exit {
        trap.site = trap.site.map(|Site(number)| Site(number | COMPILED));
    }
    exit
}

/// A question that is answered whatever becomes of it.
struct Ticket(Arc<Shape>, u8);

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.1 == ANY {
            self.0.decide(None);
        }
    }
}
