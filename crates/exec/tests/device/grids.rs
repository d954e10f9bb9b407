//! Grids on the worker pool: every CTA runs once, waiting ones do not block others, faults end what must end.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::toy::{Toy, engine, engine_with, environment, launch, stream};
use warploom_exec::fault::{FaultKind, Trap};
use warploom_exec::grid::Poll;
use warploom_exec::kernel::CtaExit;
use warploom_exec::pool::{Pool, PoolOptions};
use warploom_exec::stream::{Engine, Group, Stream, StreamKind};
use warploom_exec::workspace::Workspace;

#[test]
fn every_cta_runs_exactly_once() {
    let engine = engine(4);
    let (stream, environment) = (stream(&engine), environment());
    for ctas in [1, 2, 31, 1000, 100_000] {
        let seen: Arc<Vec<AtomicU32>> = Arc::new((0..ctas).map(|_| AtomicU32::new(0)).collect());
        let counted = seen.clone();
        let kernel = Toy::new(move |_, cta, _| {
            counted[cta.id[0] as usize].fetch_add(1, Ordering::Relaxed);
            CtaExit::Finished
        });
        stream.launch(launch(kernel, ctas, &environment));
        stream.synchronize();
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn ctas_are_issued_in_ascending_order_with_clusters_and_three_axes() {
    let engine = engine(1);
    let (stream, environment) = (stream(&engine), environment());
    let ids = Arc::new(Mutex::new(Vec::new()));
    let noted = ids.clone();
    let kernel = Toy::new(move |_, cta, _| {
        noted.lock().unwrap().push((cta.linear, cta.id));
        CtaExit::Finished
    });
    // One thread takes part at a time: the worker; the host only waits.
    let grid = warploom_exec::grid::Launch { grid: [4, 3, 2], cluster: [2, 1, 1], ..launch(kernel, 1, &environment) };
    stream.launch(grid);
    let end = stream.record();
    while !end.is_done() {
        std::thread::yield_now();
    }
    let ids = ids.lock().unwrap();
    let expected: Vec<_> = (0..12u32).map(|n| (u64::from(n), [n % 2 * 2, n / 2 % 3, n / 6])).collect();
    assert_eq!(*ids, expected);
}

#[test]
fn the_state_of_a_finished_cta_is_lent_to_the_next() {
    let engine = engine(1);
    let (stream, environment) = (stream(&engine), environment());
    let made = Arc::new(AtomicUsize::new(0));
    let counted = made.clone();
    let kernel = Toy::new(move |_, cta, _| {
        assert!(!cta.started);
        if cta.state.is_none() {
            counted.fetch_add(1, Ordering::Relaxed);
            cta.state = Some(Box::new([0u8; 64]));
        }
        CtaExit::Finished
    });
    stream.launch(launch(kernel, 500, &environment));
    stream.synchronize();
    assert!(made.load(Ordering::Relaxed) <= 2, "one for the worker, one for the helping thread");
}

#[test]
fn a_cta_goes_on_with_the_state_it_left() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let total = Arc::new(AtomicU64::new(0));
    let sum = total.clone();
    let kernel = Toy::new(move |_, cta, _| {
        if !cta.started {
            cta.state = Some(Box::new(0u64));
        }
        let step = cta.state.as_mut().and_then(|state| state.downcast_mut::<u64>()).unwrap();
        *step += 1;
        if *step == 10 {
            sum.fetch_add(cta.linear, Ordering::Relaxed);
            return CtaExit::Finished;
        }
        CtaExit::Yielded { progressed: true }
    });
    stream.launch(launch(kernel, 300, &environment));
    stream.synchronize();
    assert_eq!(total.load(Ordering::Relaxed), 299 * 300 / 2);
}

#[test]
fn a_cooperative_grid_may_wait_for_all_of_its_ctas() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    let arrived = Arc::new(AtomicU32::new(0));
    let here = arrived.clone();
    let kernel = Toy::new(move |grid, cta, _| {
        if !cta.started {
            here.fetch_add(1, Ordering::SeqCst);
        }
        match here.load(Ordering::SeqCst) == grid.launch.grid[0] {
            true => CtaExit::Finished,
            false => CtaExit::Yielded { progressed: false },
        }
    });
    let grid = launch(kernel, 1000, &environment);
    let cooperative = Some(Workspace::new(&environment.memory, 0).unwrap());
    stream.launch(warploom_exec::grid::Launch { cooperative, ..grid });
    stream.synchronize();
    assert_eq!(arrived.load(Ordering::SeqCst), 1000);
}

#[test]
fn a_chain_through_all_ctas_ends_whichever_way_it_runs() {
    for ascending in [true, false] {
        let engine = engine(2);
        let (stream, environment) = (stream(&engine), environment());
        let token = Arc::new(AtomicU64::new(0));
        // As many as are resident at once without a cooperative launch: 32 for each worker.
        let ctas = 64;
        let kernel = Toy::new(move |_, cta, _| {
            let turn = if ascending { cta.linear } else { ctas - 1 - cta.linear };
            match token.compare_exchange(turn, turn + 1, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => CtaExit::Finished,
                Err(_) => CtaExit::Yielded { progressed: false },
            }
        });
        stream.launch(launch(kernel, ctas as u32, &environment));
        stream.synchronize();
    }
}

#[test]
fn a_kernel_that_polls_a_flag_sees_the_host_set_it() {
    for threads in [1, 3] {
        let engine = engine(threads);
        let environment = environment();
        let (waiting, other) = (stream(&engine), stream(&engine));
        let flag = Arc::new(AtomicBool::new(false));
        let polled = flag.clone();
        let poller = Toy::new(move |_, _, _| match polled.load(Ordering::Acquire) {
            true => CtaExit::Finished,
            false => CtaExit::Yielded { progressed: false },
        });
        waiting.launch(launch(poller, 200, &environment));
        assert!(!waiting.has_ended());
        // Another stream gets through meanwhile.
        for _ in 0..20 {
            other.launch(launch(Toy::new(|_, _, _| CtaExit::Finished), 50, &environment));
        }
        other.synchronize();
        assert!(!waiting.has_ended());
        flag.store(true, Ordering::Release);
        waiting.synchronize();
        assert!(waiting.has_ended());
    }
}

#[test]
fn a_long_kernel_shares_its_worker_when_it_polls() {
    let engine = engine(1);
    let environment = environment();
    let (long, short) = (stream(&engine), stream(&engine));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let kernel = Toy::new(move |grid, _, worker| {
        loop {
            if stopped.load(Ordering::Relaxed) {
                return CtaExit::Finished;
            }
            match grid.poll(worker) {
                Poll::Continue => std::hint::spin_loop(),
                Poll::Yield => return CtaExit::Yielded { progressed: true },
                Poll::Cancel => return CtaExit::Cancelled,
            }
        }
    });
    long.launch(launch(kernel, 3, &environment));
    short.launch(launch(Toy::new(|_, _, _| CtaExit::Finished), 3, &environment));
    let end = short.record();
    while !end.is_done() {
        std::thread::yield_now();
    }
    assert!(!long.has_ended());
    stop.store(true, Ordering::Relaxed);
    long.synchronize();
}

#[test]
fn the_first_fault_counts_and_ends_all_work() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let faults = told.clone();
    let engine = engine_with(2, move |fault| faults.lock().unwrap().push(fault.clone()));
    let environment = environment();
    let (faulty, endless) = (stream(&engine), stream(&engine));
    endless.launch(launch(Toy::new(|_, _, _| CtaExit::Yielded { progressed: false }), 10, &environment));
    let ran = Arc::new(AtomicU32::new(0));
    let counted = ran.clone();
    let kernel = Toy::new(move |_, cta, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        if cta.linear >= 500 {
            return CtaExit::Fault(Box::new(Trap::new(FaultKind::Trap)));
        }
        CtaExit::Finished
    });
    faulty.launch(launch(kernel, 1_000_000, &environment));
    let dropped = Arc::new(AtomicBool::new(true));
    let not_run = dropped.clone();
    faulty.launch(launch(
        Toy::new(move |_, _, _| {
            not_run.store(false, Ordering::Relaxed);
            CtaExit::Finished
        }),
        1,
        &environment,
    ));
    faulty.synchronize();
    endless.synchronize();
    assert!(ran.load(Ordering::Relaxed) < 100_000, "the rest of the grid is not issued");
    assert!(dropped.load(Ordering::Relaxed), "what is queued behind a fault does not run");
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, FaultKind::Trap);
    assert_eq!(engine.fault().map(|fault| fault.code_name()), Some("CUDA_ERROR_LAUNCH_FAILED"));
}

#[test]
fn a_panic_in_an_executor_is_a_fault() {
    let engine = engine(2);
    let (stream, environment) = (stream(&engine), environment());
    stream.launch(launch(Toy::new(|_, _, _| panic!("a defect")), 3, &environment));
    stream.synchronize();
    let fault = engine.fault().expect("the panic is reported");
    assert_eq!(fault.kind, FaultKind::Internal("a defect".to_owned()));
    assert!(fault.to_string().contains("in kernel toy, CTA ("));
}

#[test]
fn a_grid_that_does_not_move_is_reported_and_ended() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = reports.clone();
    let options = PoolOptions {
        threads: 2,
        report_stalled: Duration::from_millis(50),
        launch_timeout: Some(Duration::from_millis(200)),
        report: Arc::new(move |text| told.lock().unwrap().push(text.to_owned())),
        ..PoolOptions::default()
    };
    let engine = Engine::new(&Pool::new(options), Some(0), Box::new(|_| {}));
    let (stream, environment) = (stream(&engine), environment());
    stream.launch(launch(Toy::new(|_, _, _| CtaExit::Yielded { progressed: false }), 6, &environment));
    stream.synchronize();
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len(), 1);
    assert!(reports[0].contains("kernel toy is stuck"), "{}", reports[0]);
    assert!(reports[0].contains("0 of 6 CTAs have ended"), "{}", reports[0]);
    assert!(reports[0].contains("warp 0 waits at line 7"), "{}", reports[0]);
    let fault = engine.fault().expect("the timeout is a fault");
    assert!(matches!(fault.kind, FaultKind::LaunchTimeout { after_ms: 200.., .. }));
    assert_eq!(fault.code_name(), "CUDA_ERROR_LAUNCH_TIMEOUT");
}

#[test]
fn grids_that_the_program_runs_itself_leave_nothing_behind() {
    let (engine, environment) = (engine(1), environment());
    let [begun, end] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (reached, ended) = (begun.clone(), end.clone());
    // The only worker is busy.
    let busy = stream(&engine);
    let waits = Toy::new(move |_, _, _| {
        reached.store(true, Ordering::Release);
        while !ended.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        CtaExit::Finished
    });
    busy.launch(launch(waits, 1, &environment));
    while !begun.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    let (mine, kernel) = (stream(&engine), Toy::new(|_, _, _| CtaExit::Finished));
    for _ in 0..200 {
        mine.launch(launch(kernel.clone(), 1, &environment));
    }
    mine.synchronize();
    let held = Arc::strong_count(&kernel);
    end.store(true, Ordering::Release);
    busy.synchronize();
    assert!(held < 10, "{held}");
}

#[test]
fn a_kernel_that_never_yields_ends_at_its_limit() {
    let options = PoolOptions { threads: 1, launch_timeout: Some(Duration::from_millis(30)), ..PoolOptions::default() };
    let engine = Engine::new(&Pool::new(options), Some(0), Box::new(|_| {}));
    let (stream, environment) = (stream(&engine), environment());
    let kernel = Toy::new(|grid, _, worker| {
        while grid.poll(worker) != Poll::Cancel {
            std::hint::spin_loop();
        }
        CtaExit::Cancelled
    });
    stream.launch(launch(kernel, 5, &environment));
    stream.synchronize();
    assert!(matches!(engine.fault().unwrap().kind, FaultKind::LaunchTimeout { after_ms: 30.., .. }));
}

#[test]
fn many_threads_with_many_streams() {
    let engine = engine(4);
    let group = Arc::new(Group::default());
    let legacy = Stream::new(&engine, &group, StreamKind::Legacy, false);
    let environment = environment();
    let total = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (engine, group, environment, total, legacy) = (&engine, &group, &environment, &total, &legacy);
            scope.spawn(move || {
                for round in 0..60u64 {
                    let kind = if round % 2 == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking };
                    let stream = Stream::new(engine, group, kind, thread == 0);
                    for _ in 0..3 {
                        let sum = total.clone();
                        let kernel = Toy::new(move |_, cta, _| {
                            if !cta.started && cta.linear % 7 == thread % 7 {
                                return CtaExit::Yielded { progressed: round % 3 == 0 };
                            }
                            sum.fetch_add(1, Ordering::Relaxed);
                            CtaExit::Finished
                        });
                        let target = if round % 5 == 0 { legacy } else { &stream };
                        target.launch(launch(kernel, 40, environment));
                    }
                    let marker = stream.record();
                    legacy.wait_for(&marker);
                    if round % 4 == 0 {
                        stream.synchronize();
                    }
                }
            });
        }
    });
    legacy.synchronize();
    while total.load(Ordering::Relaxed) < 8 * 60 * 3 * 40 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(total.load(Ordering::Relaxed), 8 * 60 * 3 * 40);
}
