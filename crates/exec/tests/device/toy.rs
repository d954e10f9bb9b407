//! Kernels made of closures, and what is needed to run them.

use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use warploom_exec::fault::Fault;
use warploom_exec::grid::{Environment, Grid, Launch};
use warploom_exec::heap::DeviceHeap;
use warploom_exec::kernel::{Cta, CtaExit, LoadedKernel, Worker};
use warploom_exec::memory::{Memory, Options};
use warploom_exec::output::{Buffered, CStdout};
use warploom_exec::pool::{Pool, PoolOptions, Report};
use warploom_exec::stream::{Engine, Group, Stream, StreamKind};

type Body = dyn Fn(&Grid, &mut Cta, &mut Worker) -> CtaExit + Send + Sync;

/// The address of a value that streams wait for: only observers look at it.
pub(crate) const FLAG: u64 = 0x1000;

/// A kernel whose CTAs run a closure.
pub(crate) struct Toy {
    body: Box<Body>,
}

impl Toy {
    pub(crate) fn new(body: impl Fn(&Grid, &mut Cta, &mut Worker) -> CtaExit + Send + Sync + 'static) -> Arc<Toy> {
        Arc::new(Toy { body: Box::new(body) })
    }
}

/// A kernel whose CTAs wait until a flag is set.
pub(crate) fn waiting_for(flag: &Arc<AtomicBool>) -> Arc<Toy> {
    let flag = flag.clone();
    Toy::new(move |_, _, _| match flag.load(Ordering::Acquire) {
        true => CtaExit::Finished,
        false => CtaExit::Yielded { progressed: false },
    })
}

impl LoadedKernel for Toy {
    fn name(&self) -> &str {
        "toy"
    }

    fn state_type(&self) -> TypeId {
        TypeId::of::<[u8; 64]>()
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        (self.body)(grid, cta, worker)
    }

    fn describe(&self, _: &Cta) -> String {
        "warp 0 waits at line 7".to_owned()
    }
}

pub(crate) fn memory(capacity: u64) -> Arc<Memory> {
    Arc::new(
        Memory::new(Options { window: 1 << 36, capacity, ..Options::default() }).expect("the window can be reserved"),
    )
}

pub(crate) fn environment() -> Arc<Environment> {
    let memory = memory(1 << 30);
    let heap = DeviceHeap::new(memory.clone(), 0, 1);
    Arc::new(Environment {
        memory,
        heap,
        output: Arc::new(Buffered::new(1 << 20, CStdout)),
        clock_khz: 1_000_000,
        pending: Arc::default(),
    })
}

pub(crate) fn launch(kernel: Arc<dyn LoadedKernel>, ctas: u32, environment: &Arc<Environment>) -> Launch {
    Launch::new(kernel, [ctas, 1, 1], [32, 1, 1], environment)
}

pub(crate) fn engine(threads: u32) -> Arc<Engine> {
    engine_with(threads, |_| {})
}

pub(crate) fn engine_with(threads: u32, on_fault: impl Fn(&Fault) + Send + Sync + 'static) -> Arc<Engine> {
    engine_that_reports(threads, Arc::new(|text| panic!("unexpected report: {text}")), on_fault)
}

pub(crate) fn engine_that_reports(
    threads: u32,
    report: Report,
    on_fault: impl Fn(&Fault) + Send + Sync + 'static,
) -> Arc<Engine> {
    Engine::new(&Pool::new(pool_options(threads, report)), Some(0), Box::new(on_fault))
}

/// The engine of another device of the same process.
pub(crate) fn engine_beside(other: &Engine, threads: u32) -> Arc<Engine> {
    let options = pool_options(threads, Arc::new(|text| panic!("unexpected report: {text}")));
    Engine::new(&other.pool().beside(options), Some(1), Box::new(|_| {}))
}

fn pool_options(threads: u32, report: Report) -> PoolOptions {
    let defaults = PoolOptions::default();
    PoolOptions { threads, report_stalled: Duration::from_secs(30), launch_timeout: None, report, ..defaults }
}

/// A non-blocking stream of a group of its own.
pub(crate) fn stream(engine: &Arc<Engine>) -> Stream {
    Stream::new(engine, &Arc::new(Group::default()), StreamKind::NonBlocking, false)
}
