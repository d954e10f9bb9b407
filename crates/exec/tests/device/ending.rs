//! The end of a context's streams: what it waits for, and what it gives up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::toy::{FLAG, Toy, engine, engine_that_reports, environment, launch, stream};
use warploom_exec::kernel::CtaExit;
use warploom_exec::stream::{Engine, Group, Outcome, Stream, StreamKind, Weight};

fn context(engine: &Arc<Engine>) -> (Arc<Group>, impl Fn() -> Stream) {
    let group = Arc::new(Group::default());
    let (engine, inner) = (Arc::clone(engine), Arc::clone(&group));
    (group, move || Stream::new(&engine, &inner, StreamKind::NonBlocking, false))
}

/// An engine, and what it reports.
fn reporting(threads: u32) -> (Arc<Engine>, Arc<Mutex<Vec<String>>>) {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&reports);
    let report = Arc::new(move |text: &str| kept.lock().unwrap().push(text.to_owned()));
    (engine_that_reports(threads, report, |_| {}), reports)
}

fn put_what_is_dropped(stream: &Stream) {
    stream.run(Weight::Light, || panic!("this comes behind a wait that is given up"));
    stream.launch(launch(Toy::new(|_, _, _| panic!("this too")), 3, &environment()));
}

#[test]
fn waits_that_nobody_ends_are_given_up_and_what_follows_is_dropped() {
    for threads in [0, 2] {
        let (engine, reports) = reporting(threads);
        let (group, new_stream) = context(&engine);
        let (first, second, third) = (new_stream(), new_stream(), new_stream());
        first.wait_until(FLAG, || false);
        put_what_is_dropped(&first);
        let (tx, rx) = mpsc::channel();
        first.callback(Box::new(move |outcome| tx.send(matches!(outcome, Outcome::GivenUp)).unwrap()));
        second.wait_outside(Box::new(|give_up| {
            while !give_up() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }));
        put_what_is_dropped(&second);
        third.wait_for(&first.record());
        put_what_is_dropped(&third);
        group.end();
        assert!(rx.recv().unwrap());
        assert!([first, second, third].iter().all(Stream::is_idle) && engine.fault().is_none());
        let reports = reports.lock().unwrap();
        assert!(reports.len() == 1 && reports[0].contains("3 of its streams wait"), "{reports:?}");
    }
}

#[test]
fn what_the_context_itself_brings_on_is_waited_for() {
    for turn in 0..20 {
        let engine = engine(2);
        let (group, new_stream) = context(&engine);
        let flags = Arc::new([const { AtomicBool::new(false) }; 2]);
        let log = Arc::new(Mutex::new(Vec::new()));
        let waits = |stream: &Stream, flag: usize| {
            let flags = Arc::clone(&flags);
            stream.wait_until(FLAG, move || flags[flag].load(Ordering::Acquire));
        };
        let sets = |stream: &Stream, flag: usize| {
            let (flags, log) = (Arc::clone(&flags), Arc::clone(&log));
            let kernel = Toy::new(move |_, _, _| {
                std::thread::sleep(Duration::from_millis(turn % 4));
                log.lock().unwrap().push(flag);
                flags[flag].store(true, Ordering::Release);
                CtaExit::Finished
            });
            stream.launch(launch(kernel, 1, &environment()));
        };
        let (first, second) = (new_stream(), new_stream());
        waits(&first, 0);
        sets(&first, 1);
        // Beside the other stream, which goes on when it has got there, as branches of graphs are.
        let beside = second.new_beside();
        sets(&beside, 0);
        waits(&beside, 1);
        second.wait_for(&beside.record());
        waits(&second, 1);
        group.end();
        assert_eq!(*log.lock().unwrap(), [0, 1]);
    }
}

#[test]
fn streams_beside_those_of_a_context_end_with_it_and_others_do_not() {
    let (engine, reports) = reporting(1);
    let (group, new_stream) = context(&engine);
    let other = stream(&engine);
    let open = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&open);
    other.wait_until(FLAG, move || seen.load(Ordering::Acquire));
    let (first, second) = (new_stream(), new_stream());
    first.wait_for(&other.record());
    put_what_is_dropped(&first);
    let beside = second.new_beside();
    beside.wait_until(FLAG, || false);
    put_what_is_dropped(&beside);
    second.wait_for(&beside.record());
    second.wait_for(&other.record());
    put_what_is_dropped(&second);
    group.end();
    assert!(first.is_idle() && second.is_idle() && beside.is_idle() && !other.is_idle());
    let (tx, rx) = mpsc::channel();
    other.run(Weight::Light, move || tx.send(()).unwrap());
    open.store(true, Ordering::Release);
    other.synchronize();
    rx.recv().unwrap();
    assert!(engine.fault().is_none() && reports.lock().unwrap().len() == 1);
}
