//! Grids that take no longer than to hand them over: the thread that brings one runs it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::toy::{FLAG, Toy, engine, environment, launch, stream, waiting_for};
use warploom_exec::fault::{Fault, FaultKind, Trap};
use warploom_exec::grid::{Grid, Launch};
use warploom_exec::interprocess::activity::{self, Activity};
use warploom_exec::kernel::{Cta, CtaExit, LoadedKernel, Worker};
use warploom_exec::pool::{Pool, PoolOptions};
use warploom_exec::stream::Engine;

/// A kernel that says how long it takes.
struct Timed(Arc<Toy>, Option<u64>);

impl LoadedKernel for Timed {
    fn name(&self) -> &str {
        "timed"
    }

    fn ends_within(&self, _: &Launch) -> Option<u64> {
        self.1
    }

    fn run_cta(&self, grid: &Grid, cta: &mut Cta, worker: &mut Worker) -> CtaExit {
        self.0.run_cta(grid, cta, worker)
    }
}

/// Nanoseconds of a brief one.
const BRIEF: Option<u64> = Some(100);

fn brief(body: impl Fn(&Grid, &mut Cta, &mut Worker) -> CtaExit + Send + Sync + 'static) -> Arc<Timed> {
    Arc::new(Timed(Toy::new(body), BRIEF))
}

/// A brief kernel that notes which threads run it.
fn noting(threads: &Arc<Mutex<Vec<ThreadId>>>) -> Arc<Timed> {
    let threads = threads.clone();
    brief(move |_, _, _| {
        threads.lock().unwrap().push(std::thread::current().id());
        CtaExit::Finished
    })
}

#[test]
fn who_brings_a_brief_grid_runs_it() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let threads = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..50 {
        stream.launch(launch(noting(&threads), 2, &environment));
        assert!(stream.has_ended());
    }
    assert_eq!(*threads.lock().unwrap(), vec![std::thread::current().id(); 100]);
}

#[test]
fn what_may_take_longer_is_left_to_workers() {
    for time in [None, Some(1_000_000)] {
        let engine = engine(2);
        let (stream, environment) = (stream(&engine), environment());
        let open = Arc::new(AtomicBool::new(false));
        // It waits for what its program does behind the launch.
        stream.launch(launch(Arc::new(Timed(waiting_for(&open), time)), 1, &environment));
        open.store(true, Ordering::Release);
        stream.synchronize();
    }
}

#[test]
fn a_brief_grid_comes_behind_what_is_in_its_stream() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let open = Arc::new(AtomicBool::new(false));
    let gate = open.clone();
    stream.wait_until(FLAG, move || gate.load(Ordering::Acquire));
    let threads = Arc::new(Mutex::new(Vec::new()));
    stream.launch(launch(noting(&threads), 1, &environment));
    assert!(threads.lock().unwrap().is_empty() && !stream.has_ended());
    open.store(true, Ordering::Release);
    stream.synchronize();
    assert_eq!(threads.lock().unwrap().len(), 1);
}

#[test]
fn the_end_of_a_brief_grid_does_not_run_the_next_inside_of_it() {
    const GRIDS: u32 = 20_000;
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let open = Arc::new(AtomicBool::new(false));
    let gate = open.clone();
    // The thread that calls back starts the first grid, and is no worker.
    stream.callback(Box::new(move |_| {
        while !gate.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }));
    let ran = Arc::new(AtomicU32::new(0));
    for number in 0..GRIDS {
        let ran = ran.clone();
        let kernel = brief(move |_, _, _| {
            assert_eq!(ran.fetch_add(1, Ordering::AcqRel), number);
            CtaExit::Finished
        });
        stream.launch(launch(kernel, 1, &environment));
    }
    open.store(true, Ordering::Release);
    stream.synchronize();
    assert_eq!(ran.load(Ordering::Acquire), GRIDS);
    assert!(engine.fault().is_none());
}

#[test]
fn a_brief_grid_that_waits_all_the_same_goes_on_with_workers() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let open = Arc::new(AtomicBool::new(false));
    stream.launch(launch(Arc::new(Timed(waiting_for(&open), BRIEF)), 3, &environment));
    open.store(true, Ordering::Release);
    let end = stream.record();
    while !end.is_done() {
        std::thread::yield_now();
    }
}

#[test]
fn a_fault_of_a_brief_grid_is_the_devices() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let kernel = brief(|_, _, _| CtaExit::Fault(Box::new(Trap::new(FaultKind::Trap))));
    stream.launch(launch(kernel, 2, &environment));
    stream.synchronize();
    assert!(engine.fault().is_some_and(|fault| fault.kind == FaultKind::Trap));
    let threads = Arc::new(Mutex::new(Vec::new()));
    stream.launch(launch(noting(&threads), 1, &environment));
    stream.synchronize();
    assert!(threads.lock().unwrap().is_empty());
}

#[test]
fn behind_a_fault_nothing_of_a_brief_grid_is_begun() {
    for panics in [false, true] {
        let engine = engine(2);
        let (stream, environment) = (stream(&engine), environment());
        let begun = Arc::new(AtomicU32::new(0));
        let count = begun.clone();
        let kernel = brief(move |_, cta, _| {
            count.fetch_add(1, Ordering::AcqRel);
            match cta.id[0] {
                1 if panics => panic!("on purpose"),
                1 => CtaExit::Fault(Box::new(Trap::new(FaultKind::Trap))),
                _ => CtaExit::Finished,
            }
        });
        stream.launch(launch(kernel, 3, &environment));
        stream.synchronize();
        let fault = engine.fault().expect("the second CTA faults");
        assert_eq!((fault.cta, begun.load(Ordering::Acquire)), (Some([1, 0, 0]), 2));
        assert_eq!(matches!(&fault.kind, FaultKind::Internal(what) if what == "on purpose"), panics);
    }
}

#[test]
fn a_brief_grid_that_waits_ends_with_its_device() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let never = Arc::new(AtomicBool::new(false));
    stream.launch(launch(Arc::new(Timed(waiting_for(&never), BRIEF)), 3, &environment));
    assert!(!stream.has_ended());
    engine.fail(Arc::new(Fault::new(FaultKind::Trap, "another")));
    stream.synchronize();
}

#[test]
fn brief_grids_make_a_device_busy() {
    const EACH: Duration = Duration::from_micros(50);
    let activity = Activity::shown(&[0]).unwrap();
    let options = PoolOptions { threads: 1, activity: Some(activity.device(0)), ..PoolOptions::default() };
    let engine = Engine::new(&Pool::new(options), Some(0), Box::new(|_| {}));
    let (stream, environment) = (stream(&engine), environment());
    let kernel = brief(|_, _, _| {
        let start = Instant::now();
        while start.elapsed() < EACH {}
        CtaExit::Finished
    });
    let from = activity::now();
    for _ in 0..1000 {
        stream.launch(launch(kernel.clone(), 1, &environment));
    }
    let seen = activity::all().into_iter().filter(|activity| activity.process == std::process::id());
    // Others of this process show devices that do nothing.
    let busy = seen.map(|activity| activity.devices[&0].busy(from, activity::now())).max().unwrap();
    assert!(busy >= 900 * EACH, "{busy:?}");
}

#[test]
fn threads_with_little_stack_leave_brief_grids_to_workers() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let threads = Arc::new(Mutex::new(Vec::new()));
    let noted = threads.clone();
    let small = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        stream.launch(launch(noting(&noted), 1, &environment));
        let end = stream.record();
        while !end.is_done() {
            std::thread::yield_now();
        }
        std::thread::current().id()
    });
    let small = small.unwrap().join().unwrap();
    let threads = threads.lock().unwrap();
    assert!(threads.len() == 1 && threads[0] != small, "{threads:?}");
}
