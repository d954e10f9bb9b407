//! Who gets the workers: grids next to grids, urgent streams before others, those who wait for a stream beside its next operation.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::toy::{FLAG, Toy, engine, engine_beside, environment, launch, stream, waiting_for};
use warploom_exec::grid::{Grid, Poll};
use warploom_exec::kernel::{Batch, Cta, CtaExit, LoadedKernel, Worker};
use warploom_exec::stream::{Group, Stream, StreamKind, Weight};

/// Works for `time` as an executor does: comes back when it is told to.
fn busy(time: Duration, mut told: impl FnMut() -> Poll) -> Poll {
    let start = Instant::now();
    while start.elapsed() < time {
        match told() {
            Poll::Continue => std::hint::spin_loop(),
            poll => return poll,
        }
    }
    Poll::Continue
}

#[test]
fn devices_wait_for_each_other_and_where_there_are_no_workers_those_who_wait_work_for_all() {
    for (threads, others) in [(2, 1), (0, 0), (1, 0), (0, 1)] {
        let engine = engine(threads);
        let (first, second) = (stream(&engine), stream(&engine_beside(&engine, others)));
        let environment = environment();
        let turns = Arc::new(Mutex::new(Vec::new()));
        for turn in 0..20 {
            let (this, next) = if turn % 2 == 0 { (&first, &second) } else { (&second, &first) };
            let noted = turns.clone();
            this.launch(launch(
                Toy::new(move |_, cta, _| {
                    if cta.linear == 9 {
                        noted.lock().unwrap().push(turn);
                    }
                    CtaExit::Finished
                }),
                10,
                &environment,
            ));
            next.wait_for(&this.record());
        }
        second.synchronize();
        first.synchronize();
        assert_eq!(*turns.lock().unwrap(), (0..20).collect::<Vec<_>>(), "{threads} and {others} workers");
    }
}

#[test]
fn a_lone_grid_is_not_preempted_by_itself() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let yields = Arc::new(AtomicU32::new(0));
    let counted = yields.clone();
    let kernel = Toy::new(move |grid, _, worker| match busy(Duration::from_millis(8), || grid.poll(worker)) {
        Poll::Continue => CtaExit::Finished,
        _ => {
            counted.fetch_add(1, Ordering::Relaxed);
            CtaExit::Yielded { progressed: true }
        }
    });
    stream.launch(launch(kernel, 24, &environment));
    let end = stream.record();
    while !end.is_done() {
        std::thread::yield_now();
    }
    // A thread that the host does not let run for long looks like one that spins.
    let yields = yields.load(Ordering::Relaxed);
    assert!(yields < 4, "{yields} times in 192 ms of work");
}

#[test]
fn a_cta_that_spins_on_one_that_was_not_issued_gives_way() {
    let engine = engine(1);
    let (stream, environment) = (stream(&engine), environment());
    let next = Arc::new(AtomicU64::new(8));
    let kernel = Toy::new(move |grid, cta, worker| {
        // The last CTA goes first, and the executor takes spinning for progress.
        loop {
            if next.compare_exchange(cta.linear + 1, cta.linear, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return CtaExit::Finished;
            }
            match grid.poll(worker) {
                Poll::Continue => std::hint::spin_loop(),
                Poll::Yield => return CtaExit::Yielded { progressed: true },
                Poll::Cancel => return CtaExit::Cancelled,
            }
        }
    });
    stream.launch(launch(kernel, 8, &environment));
    stream.synchronize();
    assert!(engine.fault().is_none());
}

#[test]
fn who_waits_for_a_stream_starts_beside_its_next_copy() {
    let engine = engine(2);
    let environment = environment();
    let (copies, kernels) = (stream(&engine), stream(&engine));
    let open = Arc::new(AtomicBool::new(false));
    let gate = open.clone();
    copies.wait_until(FLAG, move || gate.load(Ordering::Acquire));
    let ran = Arc::new(AtomicU32::new(0));
    let beside = Arc::new(Mutex::new(Vec::new()));
    for round in 0..4u32 {
        let kernel = counter(&ran);
        let (ran, beside) = (ran.clone(), beside.clone());
        copies.run(Weight::Heavy, move || {
            // The kernel that waits for the copy before this one needs nothing but a worker.
            let start = Instant::now();
            while ran.load(Ordering::Acquire) < round && start.elapsed() < Duration::from_secs(2) {
                std::thread::yield_now();
            }
            beside.lock().unwrap().push(ran.load(Ordering::Acquire) >= round);
        });
        kernels.wait_for(&copies.record());
        kernels.launch(launch(kernel, 1, &environment));
    }
    open.store(true, Ordering::Release);
    kernels.synchronize();
    assert_eq!(*beside.lock().unwrap(), [true; 4]);
}

#[test]
fn a_large_grid_keeps_all_workers_at_work() {
    const WORKERS: u32 = 4;
    let engine = engine(WORKERS);
    let (stream, environment) = (stream(&engine), environment());
    let seen = Arc::new(AtomicU32::new(0));
    let noted = seen.clone();
    // Nobody goes on before all have come.
    let kernel = Toy::new(move |_, _, worker| {
        let start = Instant::now();
        noted.fetch_or(1 << worker.index, Ordering::SeqCst);
        while noted.load(Ordering::SeqCst).count_ones() < WORKERS && start.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        CtaExit::Finished
    });
    stream.launch(launch(kernel, 10_000, &environment));
    let end = stream.record();
    let start = Instant::now();
    while seen.load(Ordering::SeqCst).count_ones() < WORKERS && start.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(seen.load(Ordering::SeqCst).count_ones(), WORKERS);
    end.wait(|| false);
}

fn counter(count: &Arc<AtomicU32>) -> Arc<Toy> {
    let count = count.clone();
    Toy::new(move |_, _, _| {
        count.fetch_add(1, Ordering::Release);
        CtaExit::Finished
    })
}

#[test]
fn a_thread_that_waits_for_one_stream_does_not_copy_for_another() {
    let engine = engine(1);
    let environment = environment();
    let (kernels, copies) = (stream(&engine), stream(&engine));
    let seen: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    for _ in 0..200 {
        let count = Arc::new(AtomicU32::new(0));
        kernels.launch(launch(counter(&count), 64, &environment));
        copies.wait_for(&kernels.record());
        let seen = seen.clone();
        copies.run(Weight::Heavy, move || seen.lock().unwrap().push(std::thread::current().id()));
        kernels.synchronize();
    }
    copies.synchronize();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 200);
    assert!(!seen.contains(&std::thread::current().id()));
}

#[test]
fn urgent_streams_have_all_workers_until_they_are_done() {
    let engine = engine(2);
    let environment = environment();
    let group = Arc::new(Group::default());
    let urgent = Stream::new(&engine, &group, StreamKind::NonBlocking, true);
    let stop = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(AtomicU32::new(0));
    let others: Vec<Stream> = (0..3).map(|_| stream(&engine)).collect();
    for other in &others {
        let (stop, begun) = (stop.clone(), begun.clone());
        let kernel = Toy::new(move |grid, _, worker| {
            if !stop.load(Ordering::Relaxed) {
                begun.fetch_add(1, Ordering::Relaxed);
                busy(Duration::from_millis(1), || grid.poll(worker));
            }
            CtaExit::Finished
        });
        other.launch(launch(kernel, 50_000, &environment));
    }
    while begun.load(Ordering::Relaxed) < 4 {
        std::thread::yield_now();
    }
    let marks = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let (noted, seen) = (marks.clone(), begun.clone());
    let kernel = Toy::new(move |_, cta, _| {
        match cta.linear {
            10 => noted[0].store(seen.load(Ordering::Relaxed), Ordering::Relaxed),
            70 => noted[1].store(seen.load(Ordering::Relaxed), Ordering::Relaxed),
            _ => {}
        }
        busy(Duration::from_millis(1), || Poll::Continue);
        CtaExit::Finished
    });
    urgent.launch(launch(kernel, 80, &environment));
    let end = urgent.record();
    while !end.is_done() {
        std::thread::yield_now();
    }
    stop.store(true, Ordering::Relaxed);
    others.iter().for_each(Stream::synchronize);
    let between = marks[1].load(Ordering::Relaxed) - marks[0].load(Ordering::Relaxed);
    assert!(between < 5, "{between} CTAs of other streams began while urgent ones waited");
}

#[test]
fn an_urgent_kernel_that_waits_for_another_stream_lets_it_run() {
    let engine = engine(1);
    let environment = environment();
    let urgent = Stream::new(&engine, &Arc::new(Group::default()), StreamKind::NonBlocking, true);
    let other = stream(&engine);
    let flag = Arc::new(AtomicBool::new(false));
    urgent.launch(launch(waiting_for(&flag), 4, &environment));
    other.launch(launch(
        Toy::new(move |_, _, _| {
            flag.store(true, Ordering::Release);
            CtaExit::Finished
        }),
        1,
        &environment,
    ));
    let end = urgent.record();
    while !end.is_done() {
        std::thread::yield_now();
    }
}

#[test]
fn asking_for_a_marker_gets_on_where_no_worker_can_start() {
    let engine = engine(0);
    let (stream, environment) = (stream(&engine), environment());
    let count = Arc::new(AtomicU32::new(0));
    stream.launch(launch(counter(&count), 100, &environment));
    let marker = stream.record();
    let start = Instant::now();
    while !marker.has_been_reached() {
        assert!(start.elapsed() < Duration::from_secs(20), "{} of 100 CTAs", count.load(Ordering::Relaxed));
    }
    assert_eq!(count.load(Ordering::Relaxed), 100);
}

/// Notes how many CTAs it is given at once; each takes `time`, and is put aside once if it `waits`.
struct Batches {
    time: Duration,
    waits: bool,
    seen: Mutex<Vec<u64>>,
}

impl LoadedKernel for Batches {
    fn name(&self) -> &str {
        "batches"
    }

    fn run_ctas(&self, grid: &Grid, units: Range<u64>, _: &mut Worker) -> Batch {
        let count = units.end - units.start;
        self.seen.lock().unwrap().push(count);
        let start = Instant::now();
        while start.elapsed() < self.time * count as u32 {
            std::hint::spin_loop();
        }
        if self.waits {
            let cta = Cta { id: grid.unit_start(units.start), linear: units.start, ..Cta::default() };
            return Batch { done: 0, stopped: Some((cta, CtaExit::Yielded { progressed: false })) };
        }
        Batch { done: count, stopped: None }
    }

    fn run_cta(&self, _: &Grid, _: &mut Cta, _: &mut Worker) -> CtaExit {
        CtaExit::Finished
    }
}

#[test]
fn many_short_ctas_are_taken_at_once_and_ones_that_are_long_or_wait_one_by_one() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let largest = |time, waits, ctas| {
        let kernel = Arc::new(Batches { time, waits, seen: Mutex::default() });
        stream.launch(launch(kernel.clone(), ctas, &environment));
        stream.synchronize();
        let seen = kernel.seen.lock().unwrap();
        assert_eq!(if waits { seen.len() as u64 } else { seen.iter().sum() }, u64::from(ctas));
        seen.iter().copied().max()
    };
    assert_eq!(largest(Duration::from_millis(1), false, 64), Some(1));
    assert_eq!(largest(Duration::ZERO, false, 100_000), Some(1024));
    // Where CTAs wait, all workers begin those that come first.
    assert_eq!(largest(Duration::ZERO, true, 10_000), Some(1));
}

#[test]
fn grids_that_the_program_has_run_are_forgotten_while_the_workers_are_at_work() {
    let engine = engine(1);
    let environment = environment();
    let (other, stream) = (stream(&engine), stream(&engine));
    let [open, begun] = [false; 2].map(|is| Arc::new(AtomicBool::new(is)));
    let (gate, begins) = (open.clone(), begun.clone());
    other.run(Weight::Heavy, move || {
        begins.store(true, Ordering::Release);
        while !gate.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    });
    while !begun.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    let kernel = Toy::new(|_, _, _| CtaExit::Finished);
    for _ in 0..100 {
        stream.launch(launch(kernel.clone(), 1, &environment));
        stream.synchronize();
    }
    let held = Arc::strong_count(&kernel);
    open.store(true, Ordering::Release);
    other.synchronize();
    assert!(held <= 2, "{held} of 100 grids are still there");
}
