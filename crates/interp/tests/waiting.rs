//! Threads that wait for each other get on, however they wait: between the lanes of a warp, the warps of a CTA, and the CTAs of a grid.
//! A thread that works is not taken for one that waits. What runs for ever is stopped.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use warploom_exec::fault::FaultKind;
use warploom_exec::pool::PoolOptions;
use warploom_interp_testing::{CLOCK_KHZ, Device, Shape, entry};

/// What a waiting thread looks at `[%d5]` with: leaves the value in `%r7`. `%r8` is the value that it waits for.
const LOOKS: [(&str, &str); 9] = [
    ("volatile", "ld.volatile.global.u32 %r7, [%d5];"),
    ("acquire", "ld.acquire.gpu.global.u32 %r7, [%d5];"),
    ("add of 0", "atom.global.add.u32 %r7, [%d5], 0;"),
    ("generic or of 0", "atom.or.b32 %r7, [%d5], 0;"),
    ("max of 0", "atom.global.max.u32 %r7, [%d5], 0;"),
    ("cas of the same", "atom.global.cas.b32 %r7, [%d5], %r8, %r8;"),
    ("cas that fails", "atom.global.cas.b32 %r7, [%d5], 77777, 1;"),
    ("sleep", "nanosleep.u32 100; atom.global.add.u32 %r7, [%d5], 0;"),
    (
        "several",
        "ld.volatile.global.u32 %r6, [%d5+4]; atom.global.add.u32 %r7, [%d5], 0; ld.acquire.gpu.global.u32 %r6, [%d5+4];",
    ),
];

/// How a loop goes back to `AGAIN` while `%p2` holds.
const BACK_EDGES: [(&str, &str); 2] = [
    ("bra", "@%p2 bra AGAIN;"),
    ("brx.idx", "selp.u32 %r9, 0, 1, %p2; T: .branchtargets AGAIN, BEHIND; brx.idx %r9, T; BEHIND:"),
];

#[test]
fn grid_barriers_of_every_form_cost_few_looks() {
    // More CTAs than workers, four times all wait for all. Each thread counts how often it looks.
    const CTAS: u32 = 24;
    const ROUNDS: u32 = 4;
    for (look_name, look) in LOOKS {
        for (back_name, back) in BACK_EDGES {
            let device = Device::with_threads(2);
            let body = format!(
                "mov.u64 %d5, arrived; mov.u32 %r1, 0; mov.u32 %r3, 0; mov.u32 %r8, 0;
                ROUND: add.u32 %r8, %r8, {CTAS}; membar.gl; red.global.add.u32 [%d5], 1;
                AGAIN: {look} add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r7, %r8; {back}
                add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, {ROUNDS}; @%p3 bra ROUND;"
            );
            let text = format!(".global .align 8 .b32 arrived[2];\n{}", entry(&body));
            let looks = device.run(&text, Shape { cooperative: true, ..Shape::new(CTAS, 1) });
            let most = looks.iter().max().copied().unwrap_or_default();
            // A thread that is not known to wait looks some hundred thousand times until another CTA gets its turn.
            assert!((ROUNDS..20_000).contains(&most), "{look_name}, {back_name}: {most} looks");
        }
    }
}

/// Adds 1 to a plain counter while it holds a lock; stores the counter's last value in the end.
fn lock(attempt: &str, back: &str, shape: Shape) -> (u32, u32) {
    let device = Device::with_threads(2);
    let body = format!(
        "mov.u64 %d5, lock; mov.u32 %r1, 0;
        AGAIN: {attempt} add.u32 %r1, %r1, 1; setp.ne.u32 %p2, %r7, 0; {back}
        membar.gl; ld.volatile.global.u32 %r4, [counter]; add.u32 %r4, %r4, 1; st.volatile.global.u32 [counter], %r4; membar.gl;
        atom.global.exch.b32 %r4, [%d5], 0; ld.param.u64 %d6, [out]; ld.volatile.global.u32 %r4, [counter];
        mov.u32 %r5, %ntid.x; mov.u32 %r6, %nctaid.x; mul.lo.u32 %r5, %r5, %r6; mul.wide.u32 %d7, %r5, 4; add.u64 %d6, %d6, %d7;
        red.global.max.u32 [%d6], %r4;"
    );
    let text = format!(".global .u32 lock; .global .u32 counter;\n{}", entry(&body));
    let kernel = device.kernel(&text).unwrap();
    let threads = (shape.grid[0] * shape.cta[0]) as usize;
    let out = device.alloc(threads as u64 * 4 + 4);
    device.launch(&kernel, shape, &[out]).unwrap();
    let words = device.words(out, threads + 1);
    (words[threads], words[..threads].iter().max().copied().unwrap_or_default())
}

#[test]
fn locks_between_lanes_warps_and_ctas_are_passed_on() {
    let attempts = [
        ("cas", "atom.global.cas.b32 %r7, [%d5], 0, 1;"),
        ("exch", "atom.global.exch.b32 %r7, [%d5], 1;"),
        (
            "test first",
            "ld.volatile.global.u32 %r7, [%d5]; setp.ne.u32 %p4, %r7, 0; @!%p4 atom.global.cas.b32 %r7, [%d5], 0, 1;",
        ),
        ("sleep", "atom.global.cas.b32 %r7, [%d5], 0, 1; setp.ne.u32 %p4, %r7, 0; @%p4 nanosleep.u32 50;"),
        ("two sleeps", "nanosleep.u32 20; atom.global.or.b32 %r7, [%d5], 1; nanosleep.u32 20;"),
    ];
    for (name, attempt) in attempts {
        for (back_name, back) in BACK_EDGES {
            for shape in [Shape::new(1, 32), Shape::new(1, 128), Shape::new(24, 1), Shape::new(12, 48)] {
                let (count, most) = lock(attempt, back, shape);
                let threads = shape.grid[0] * shape.cta[0];
                assert_eq!(count, threads, "{name}, {back_name}, {:?} x {:?}", shape.grid, shape.cta);
                assert!(most < 200_000, "{name}, {back_name}, {:?} x {:?}: {most} attempts", shape.grid, shape.cta);
            }
        }
    }
}

#[test]
fn a_sum_through_a_volatile_pointer_is_work() {
    // One worker: the first CTA takes its ticket first, unless it is taken for one that waits.
    let device = Device::with_threads(1);
    let body = "mov.u32 %r3, %ctaid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra DONE; mov.u64 %d5, data; mov.u32 %r4, 0; mov.u32 %r5, 0;
        SUM: ld.volatile.global.u32 %r6, [%d5]; add.u32 %r5, %r5, %r6; add.u64 %d5, %d5, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 300;
        @%p2 bra SUM; DONE: atom.global.add.u32 %r1, [next], 1;";
    let text = format!(".global .u32 next; .global .align 4 .b8 data[1200];\n{}", entry(body));
    assert_eq!(device.run(&text, Shape::new(4, 1)), [0, 1, 2, 3]);
}

#[test]
fn a_warp_sleeps_its_time_while_others_run() {
    let device = Device::with_threads(1);
    // The first CTA sleeps 20 times 1 ms, and the lanes of its second warp for times of their own; all others pass it.
    let body = "mov.u32 %r3, %ctaid.x; setp.ne.u32 %p1, %r3, 0; mov.u64 %d3, 0; mov.u64 %d4, 0; @%p1 bra DONE; mov.u64 %d3, %globaltimer;
        mov.u32 %r5, %tid.x; setp.lt.u32 %p3, %r5, 32; mad.lo.u32 %r6, %r5, 10000, 1; selp.u32 %r6, 1000000, %r6, %p3; mov.u32 %r4, 0;
        SLEEP: nanosleep.u32 %r6; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 20; @%p2 bra SLEEP; mov.u64 %d4, %globaltimer;
        DONE: sub.u64 %d4, %d4, %d3; cvt.u32.u64 %r7, %d4; mov.u32 %r8, 0; setp.ne.u32 %p4, %r5, 0; @!%p1 mov.u32 %r1, %r7;
        @%p1 atom.global.add.u32 %r1, [next], 1; @!%p1 ld.volatile.global.u32 %r8, [next]; @!%p1 st.global.u32 [seen], %r8;";
    let text = format!(".global .u32 next; .global .u32 seen;\n{}", entry(body));
    let words = device.run(&text, Shape::new(3, 64));
    // "The sleep duration is approximated, but guaranteed to be in the interval [0, 2*t]" (PTX ISA 9.7.19.3): never less than t here.
    assert!(words[..32].iter().all(|&slept| slept >= 20_000_000), "{:?}", &words[..32]);
    assert!(
        words[32..64].iter().enumerate().all(|(lane, &slept)| slept >= 20 * (lane as u32 + 32) * 10_000),
        "{words:?}"
    );
    // What the first CTA was busy with did not hold the others back.
    let mut tickets = words[64..].to_vec();
    tickets.sort_unstable();
    assert_eq!(tickets, (0..128).collect::<Vec<_>>());
}

/// A function that calls itself twice: a branching recursion without a loop.
const BRANCHING: &str = ".file 1 \"wait.cu\"
    .func (.param .b32 r) fib(.param .b32 n) { .reg .b32 %a<6>; .reg .pred %q; .loc 1 77 0
    ld.param.b32 %a1, [n]; setp.lt.u32 %q, %a1, 2;
    @%q bra END; sub.u32 %a2, %a1, 1; { .param .b32 x; .param .b32 y; st.param.b32 [x], %a2; call (y), fib, (x); ld.param.b32 %a3, [y]; }
    sub.u32 %a2, %a1, 2; { .param .b32 x; .param .b32 y; st.param.b32 [x], %a2; call (y), fib, (x); ld.param.b32 %a4, [y]; }
    add.u32 %a1, %a3, %a4; END: st.param.b32 [r], %a1; ret; }
    .global .u32 flag;\n";

#[test]
fn whatever_runs_too_long_is_stopped_where_it_is() {
    for (name, body) in [
        ("loop", "L: add.u32 %r3, %r3, 1; bra L;"),
        (
            "recursion",
            "mov.u32 %r3, 50; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), fib, (a); ld.param.b32 %r1, [b]; }",
        ),
        ("sleep", "L: nanosleep.u32 1000; bra L;"),
        ("spin", "L: atom.global.add.u32 %r3, [flag], 0; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;"),
        ("barriers", "L: bar.sync 0; bra L;"),
        ("votes", "L: vote.sync.any.pred %p1, 1, 0xffffffff; @%p1 bra L;"),
    ] {
        let device = Device::with_pool(PoolOptions {
            threads: 1,
            launch_timeout: Some(Duration::from_millis(60)),
            ..PoolOptions::default()
        });
        let kernel = device.kernel(&format!("{BRANCHING}{}", entry(body))).unwrap();
        let out = device.alloc(4096);
        let shape = Shape { stack_limit: 1 << 16, ..Shape::new(4, 64) };
        let fault = device.launch(&kernel, shape, &[out]).unwrap_err();
        assert_eq!(fault.code_name(), "CUDA_ERROR_LAUNCH_TIMEOUT", "{name}: {fault}");
        assert!(matches!(fault.kind, FaultKind::LaunchTimeout { .. }), "{name}: {fault}");
        assert!(fault.to_string().contains("PTX line"), "{name}: {fault}");
    }
}

#[test]
fn clock64_counts_at_the_clock_rate() {
    // Both are read on both sides of 5 ms, so that what passes between two reads does not matter much.
    let body = "mov.u64 %d3, %clock64; mov.u64 %d4, %globaltimer; mov.u32 %r4, 0;
        SLEEP: nanosleep.u32 1000000; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 5; @%p2 bra SLEEP;
        mov.u64 %d5, %clock64; mov.u64 %d6, %globaltimer; sub.u64 %d5, %d5, %d3; sub.u64 %d6, %d6, %d4;
        mul.lo.u64 %d5, %d5, 1000; div.u64 %d5, %d5, %d6; cvt.u32.u64 %r1, %d5;";
    let per_microsecond = Device::with_threads(1).run(&entry(body), Shape::new(1, 1))[0];
    let expected = CLOCK_KHZ / 1000;
    assert!(per_microsecond.abs_diff(expected) < expected / 10, "{per_microsecond} clocks in a microsecond");
}

/// What is said about a kernel with this body, in 8 CTAs of 40 threads, until it is ended.
fn reports(body: &str) -> (Vec<String>, String) {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = reports.clone();
    let device = Device::with_pool(PoolOptions {
        threads: 2,
        report_stalled: Duration::from_millis(150),
        launch_timeout: Some(Duration::from_millis(600)),
        report: Arc::new(move |text: &str| told.lock().unwrap().push(text.to_owned())),
        ..PoolOptions::default()
    });
    let text = format!("{BRANCHING}{}", entry(&format!(".loc 1 77 0\n{body}")));
    let kernel = device.kernel(&text).unwrap();
    let out = device.alloc(4096);
    let fault = device.launch(&kernel, Shape { stack_limit: 1 << 16, ..Shape::new(8, 40) }, &[out]).unwrap_err();
    let reports = reports.lock().unwrap().clone();
    (reports, fault.to_string())
}

#[test]
fn kernels_that_do_not_end_are_reported_with_places() {
    for (name, body, says) in [
        ("loop", "L: add.u32 %r3, %r3, 1; bra L;", "still running"),
        ("recursion", "mov.u32 %r3, 50; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), fib, (a); ld.param.b32 %r1, [b]; }", "still running"),
        ("volatile", "L: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;", "stuck"),
        ("atomic", "L: atom.global.add.u32 %r3, [flag], 0; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;", "stuck"),
        ("atomic and sleep", "L: nanosleep.u32 1000; atom.global.or.b32 %r3, [flag], 0; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;", "stuck"),
        (
            "one thread for all",
            "mov.u32 %r4, %tid.x; setp.ne.u32 %p2, %r4, 0; @%p2 bra MEET; L: atom.global.cas.b32 %r3, [flag], 1, 2; setp.eq.u32 %p1, %r3, 0;
            @%p1 bra L; MEET: bar.sync 0;",
            "stuck",
        ),
        (
            "counts while it looks",
            "mov.u32 %r4, 0; L: ld.volatile.global.u32 %r3, [flag]; add.u32 %r4, %r4, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;",
            "still running",
        ),
    ] {
        let (reports, fault) = reports(body);
        assert_eq!(reports.len(), 1, "{name}: {reports:?}");
        let report = &reports[0];
        assert!(report.contains(&format!("kernel kernel is {says}")), "{name}: {report}");
        for text in [report, &fault] {
            for part in ["0 of 8 CTAs have ended", "thread (0, 0, 0)", "wait.cu:77", "PTX line"] {
                assert!(text.contains(part), "{name}: no {part} in {text}");
            }
            let lines = text.lines().filter(|line| line.contains("CTA (0, 0, 0)")).count();
            assert!(lines <= 1, "{name}: a CTA twice in {text}");
        }
    }
}
