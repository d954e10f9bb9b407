//! Streams: order within one, the legacy stream's order among several, markers, callbacks, conditions.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::toy::{FLAG, Toy, engine, environment, launch, stream};
use warploom_exec::fault::{Fault, FaultKind, Trap};
use warploom_exec::kernel::CtaExit;
use warploom_exec::stream::{Group, Outcome, Stream, StreamKind, Weight};

/// A condition that the test opens.
fn gate() -> (Arc<AtomicBool>, impl FnMut() -> bool + Send + 'static) {
    let open = Arc::new(AtomicBool::new(false));
    let seen = open.clone();
    (open, move || seen.load(Ordering::Acquire))
}

fn fault_of(outcome: Outcome<'_>) -> Option<Arc<Fault>> {
    if let Outcome::Failed(fault) = outcome { Some(Arc::clone(fault)) } else { None }
}

#[test]
fn operations_run_in_order() {
    let engine = engine(3);
    let (stream, environment) = (stream(&engine), environment());
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut expected = Vec::new();
    let (open, condition) = gate();
    stream.wait_until(FLAG, condition);
    for n in 0..200u32 {
        let log = log.clone();
        expected.push(n);
        match n % 4 {
            0 => stream.run(Weight::Light, move || log.lock().unwrap().push(n)),
            1 => stream.run(Weight::Heavy, move || log.lock().unwrap().push(n)),
            2 => stream.callback(Box::new(move |outcome| {
                assert!(matches!(outcome, Outcome::Done));
                log.lock().unwrap().push(n);
            })),
            _ => {
                let kernel = Toy::new(move |_, cta, _| {
                    if cta.linear == 19 {
                        log.lock().unwrap().push(n);
                    }
                    CtaExit::Finished
                });
                stream.launch(launch(kernel, 20, &environment));
            }
        }
    }
    let end = stream.record();
    assert!(!end.is_done() && !stream.is_idle() && log.lock().unwrap().is_empty());
    open.store(true, Ordering::Release);
    end.wait(|| false);
    assert_eq!(*log.lock().unwrap(), expected);
    assert!(stream.is_idle());
}

#[test]
fn light_work_on_an_idle_stream_runs_on_the_caller() {
    let engine = engine(1);
    let stream = stream(&engine);
    let (tx, rx) = mpsc::channel();
    stream.run(Weight::Light, move || tx.send(std::thread::current().id()).unwrap());
    assert_eq!(rx.try_recv().unwrap(), std::thread::current().id());
    let marker = stream.record();
    assert!(marker.is_done());
    let later = stream.record();
    assert!(later.time().unwrap() >= marker.time().unwrap());
}

#[test]
fn a_stream_waits_for_a_marker_of_another() {
    let engine = engine(2);
    let (first, second) = (stream(&engine), stream(&engine));
    let (open, condition) = gate();
    first.wait_until(FLAG, condition);
    let marker = first.record();
    assert_eq!(marker.time(), None);
    second.wait_for(&marker);
    let done = Arc::new(AtomicBool::new(false));
    let set = done.clone();
    second.run(Weight::Light, move || set.store(true, Ordering::Release));
    std::thread::sleep(Duration::from_millis(5));
    assert!(!done.load(Ordering::Acquire));
    open.store(true, Ordering::Release);
    second.synchronize();
    assert!(done.load(Ordering::Acquire) && marker.is_done());
    // Reached already: nothing to wait for.
    second.wait_for(&marker);
    assert!(second.is_idle());
}

#[test]
fn the_legacy_stream_orders_blocking_streams() {
    let engine = engine(2);
    let group = Arc::new(Group::default());
    let legacy = Stream::new(&engine, &group, StreamKind::Legacy, false);
    let blocking = Stream::new(&engine, &group, StreamKind::Blocking, false);
    let other = Stream::new(&engine, &group, StreamKind::Blocking, false);
    let free = Stream::new(&engine, &group, StreamKind::NonBlocking, false);
    let (open, condition) = gate();
    blocking.wait_until(FLAG, condition);
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |stream: &Stream, name: &'static str| {
        let log = log.clone();
        stream.run(Weight::Light, move || log.lock().unwrap().push(name));
    };
    note(&other, "other before");
    note(&legacy, "legacy");
    note(&other, "other after");
    note(&free, "free");
    assert_eq!(*log.lock().unwrap(), ["other before", "free"]);
    assert!(!legacy.has_ended() && !other.has_ended() && free.has_ended());
    open.store(true, Ordering::Release);
    legacy.synchronize();
    assert_eq!(*log.lock().unwrap(), ["other before", "free", "legacy", "other after"]);
    assert!(legacy.has_ended() && other.is_idle() && blocking.is_idle());
}

#[test]
fn a_callback_may_block_and_hold_up_nobody_else() {
    let engine = engine(1);
    let environment = environment();
    let (first, second) = (stream(&engine), stream(&engine));
    let (tx, rx) = mpsc::channel::<()>();
    first.callback(Box::new(move |_| rx.recv().unwrap()));
    let ran = Arc::new(AtomicU32::new(0));
    let counted = ran.clone();
    second.callback(Box::new(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    second.launch(launch(Toy::new(|_, _, _| CtaExit::Finished), 10, &environment));
    second.synchronize();
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    assert!(!first.has_ended());
    tx.send(()).unwrap();
    first.synchronize();
}

#[test]
fn after_a_fault_only_callbacks_run() {
    let engine = engine(1);
    let environment = environment();
    let stream = stream(&engine);
    let (open, condition) = gate();
    stream.wait_until(FLAG, condition);
    stream.launch(launch(Toy::new(|_, _, _| CtaExit::Fault(Box::new(Trap::new(FaultKind::Trap)))), 1, &environment));
    stream.run(Weight::Light, || panic!("dropped work must not run"));
    let (tx, rx) = mpsc::channel();
    stream.callback(Box::new(move |outcome| tx.send(fault_of(outcome)).unwrap()));
    // A condition that nobody will make true any more does not hold anything up.
    stream.wait_until(FLAG, || false);
    open.store(true, Ordering::Release);
    stream.synchronize();
    assert_eq!(rx.recv().unwrap().unwrap().kind, FaultKind::Trap);
    let marker = stream.record();
    marker.wait(|| false);
}

#[test]
fn a_panic_in_a_task_is_a_fault_and_the_stream_goes_on() {
    for weight in [Weight::Light, Weight::Heavy] {
        let engine = engine(1);
        let stream = stream(&engine);
        stream.run(weight, || panic!("a defect"));
        stream.synchronize();
        assert_eq!(engine.fault().unwrap().kind, FaultKind::Internal("a defect".to_owned()));
        let (tx, rx) = mpsc::channel();
        stream.callback(Box::new(move |outcome| tx.send(fault_of(outcome).is_some()).unwrap()));
        assert!(rx.recv().unwrap());
        stream.synchronize();
    }
}

#[test]
fn without_workers_those_who_wait_do_the_work() {
    let engine = engine(0);
    let environment = environment();
    let (first, second) = (stream(&engine), stream(&engine));
    let count = Arc::new(AtomicU32::new(0));
    let counter = || {
        let count = count.clone();
        Toy::new(move |_, cta, _| {
            if !cta.started && cta.linear % 3 == 0 {
                return CtaExit::Yielded { progressed: false };
            }
            count.fetch_add(1, Ordering::Relaxed);
            CtaExit::Finished
        })
    };
    let (open, condition) = gate();
    first.wait_until(FLAG, condition);
    first.launch(launch(counter(), 100, &environment));
    let marker = first.record();
    second.wait_for(&marker);
    second.run(Weight::Heavy, || {});
    second.launch(launch(counter(), 50, &environment));
    assert!(!second.has_ended());
    open.store(true, Ordering::Release);
    second.synchronize();
    assert_eq!(count.load(Ordering::Relaxed), 150);
    first.launch(launch(counter(), 10, &environment));
    while !first.has_ended() {}
    assert_eq!(count.load(Ordering::Relaxed), 160);
}

#[test]
fn several_threads_put_work_into_one_stream() {
    let engine = engine(2);
    let stream = stream(&engine);
    let count = Arc::new(AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for n in 0..500 {
                    let count = count.clone();
                    let weight = if n % 10 == 0 { Weight::Heavy } else { Weight::Light };
                    stream.run(weight, move || {
                        // In order means never two at once.
                        let before = count.load(Ordering::Relaxed);
                        count.store(before + 1, Ordering::Relaxed);
                    });
                    if n % 50 == 0 {
                        stream.synchronize();
                    }
                }
            });
        }
    });
    stream.synchronize();
    assert_eq!(count.load(Ordering::Relaxed), 3000);
}
