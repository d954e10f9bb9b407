//! Misuse of barriers, member masks and mbarriers is reported, with the thread, the line and the other place; what PTX allows is not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use warploom_check::{Check, Checker, Settings};
use warploom_exec::pool::PoolOptions;
use warploom_interp_testing::{Device, Shape};

const PROLOGUE: &str = ".visible .entry kernel(.param .u64 out) {
    .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .pred %p<9>; .shared .align 16 .b32 s[256];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; mov.u32 %r2, s; shr.u32 %r3, %r0, 5;
    setp.lt.u32 %p0, %r1, 16; setp.eq.u32 %p1, %r0, 0;
";

/// What is said of a launch of one CTA, which may not end well.
fn said(threads: u32, body: &str) -> String {
    let said = Arc::new(Mutex::new(String::new()));
    let out = Arc::clone(&said);
    let say = Arc::new(move |text: &str| out.lock().unwrap().push_str(text));
    let settings = Settings { checks: vec![Check::Sync], ..Settings::default() };
    let checker = Checker::new(settings, say).expect("no suppressions");
    let device = Device::with_pool(PoolOptions {
        threads: 2,
        launch_timeout: Some(Duration::from_millis(300)),
        observer: Some(checker),
        ..PoolOptions::default()
    });
    let kernel =
        device.kernel(&format!("{PROLOGUE}{body}\nret;\n}}")).unwrap_or_else(|error| panic!("{error}\n{body}"));
    let _ = device.launch(&kernel, Shape::new(1, threads), &[0]);
    std::mem::take(&mut *said.lock().unwrap())
}

#[track_caller]
fn finds(threads: u32, body: &str, expected: &[&str]) {
    let text = said(threads, body);
    for part in expected {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[track_caller]
fn clean(threads: u32, body: &str) {
    assert_eq!(said(threads, body), "", "{body}");
}

#[test]
fn barriers_that_a_part_of_a_warp_executes() {
    finds(
        64,
        "@%p0 bar.sync 0;\nbar.sync 1;",
        &[
            "error[sync/divergent-barrier]",
            "PTX line 9, CTA (0, 0, 0), thread (16, 0, 0)",
            "others of the warp wait here",
        ],
    );
    // Halves of two warps are as many as the barrier waits for.
    finds(
        64,
        "@%p0 bra spin;\nbar.sync 1, 32;\nmov.u32 %r5, 1;\nst.volatile.shared.u32 [%r2], %r5;
        spin:\nld.volatile.shared.u32 %r4, [%r2];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra spin;",
        &["divergent barrier 1: lanes 0 to 15 of the warp are not there"],
    );
    clean(64, "@%p1 bra out;\nmov.u32 %r4, 1;\nout:\nbar.sync 0;");
    // Those of other warps need not come by the same instruction; and a barrier that is not aligned can be executed by a part.
    clean(64, "setp.eq.u32 %p2, %r3, 0;\n@%p2 bra other;\nbar.sync 0;\nbra done;\nother:\nbar.sync 0;\ndone:");
    clean(32, "@%p0 bra other;\nbarrier.sync 0;\nbra done;\nother:\nbarrier.sync 0;\ndone:");
    // "If the exiting threads are holding up the barrier, the barrier is released."
    clean(64, "setp.eq.u32 %p2, %r3, 0;\n@%p2 exit;\nbar.sync 0;");
}

#[test]
fn barriers_for_different_numbers_of_threads() {
    finds(
        64,
        "setp.eq.u32 %p2, %r3, 0;\n@%p2 bra other;\nbar.sync 1, 64;\nbra done;\nother:\nbar.sync 1, 96;\ndone:",
        &[
            "error[sync/barrier-count]",
            "barrier 1 is for 64 threads here, and for 96 threads where others are",
            "the first to arrive",
        ],
    );
    finds(64, "bar.sync 1, 96;", &["barrier 1 waits for 96 threads, and the CTA has 64"]);
    clean(64, "bar.sync 1, 64;\nbar.sync 1;");
    clean(48, "bar.sync 1, 64;");
}

#[test]
fn member_masks_without_the_lanes_that_execute() {
    finds(
        32,
        "shfl.sync.idx.b32 %r4, %r0, 0, 31, 0xffff;",
        &["error[sync/member-mask]: member mask 0x0000ffff does not have lanes 16 to 31", "thread (16, 0, 0)"],
    );
    finds(32, "@!%p0 bar.warp.sync 0xffff;", &["does not have lanes 16 to 31, which execute it"]);
    clean(32, "shfl.sync.idx.b32 %r4, %r0, 0, 31, 0xffffffff;\nbar.warp.sync 0xffffffff;");
    clean(32, "@%p0 bar.warp.sync 0xffff;\n@!%p0 bar.warp.sync 0xffff0000;");
    // "until all non-exited threads": lanes that are not there, and that have exited, may be named.
    clean(16, "bar.warp.sync 0xffffffff;");
    clean(32, "@%p0 exit;\nvote.sync.any.pred %p3, %p1, 0xffffffff;");
}

#[test]
fn lanes_that_wait_for_each_other_in_different_operations() {
    finds(
        32,
        "@%p0 bra other;\nbar.warp.sync 0xffffffff;\nbra done;\nother:\nbar.warp.sync 0x1ffff;\ndone:",
        &["error[sync/member-mask]: lanes", "wait here for", "note: they wait here"],
    );
    clean(
        32,
        "@%p0 bra other;\nbar.warp.sync 0xffffffff;\nbra done;\nother:\nbar.warp.sync 0xffff;\nbar.warp.sync 0xffffffff;\ndone:",
    );
}

#[test]
fn mbarriers_that_are_none() {
    finds(
        32,
        "@%p1 mbarrier.arrive.shared.b64 %d1, [%r2];",
        &[
            "error[sync/mbarrier]: use of the mbarrier object at 0x0 of shared memory, where none was made",
            "PTX line 8",
        ],
    );
    finds(
        32,
        "mov.u32 %r4, 1;\n@%p1 mbarrier.init.shared.b64 [%r2], %r4;\n@%p1 mbarrier.init.shared.b64 [%r2], %r4;",
        &[
            "mbarrier.init of the mbarrier object at 0x0 of shared memory, which is in use",
            "note: it was made here",
            "PTX line 9",
        ],
    );
    finds(
        32,
        "mov.u32 %r4, 1;\n@%p1 mbarrier.init.shared.b64 [%r2], %r4;\n@%p1 mbarrier.inval.shared.b64 [%r2];\n@%p1 mbarrier.arrive.shared.b64 %d1, [%r2];",
        &["which is no more", "it was made invalid here"],
    );
    finds(32, "mov.u32 %r4, 0;\n@%p1 mbarrier.init.shared.b64 [%r2], %r4;", &["is made for 0 arrivals"]);
    finds(
        32,
        "mov.u32 %r4, 1;\n@%p1 mbarrier.init.shared.b64 [%r2], %r4;\n@%p1 st.shared.u32 [%r2+4], %r4;",
        &["error[sync/mbarrier-overwritten]", "the object was made here"],
    );
    clean(
        32,
        "mov.u32 %r4, 1;\n@!%p1 bra done;\nmbarrier.init.shared.b64 [%r2], %r4;\nmbarrier.arrive.shared.b64 %d1, [%r2];
        mbarrier.test_wait.shared.b64 %p2, [%r2], %d1;\nmbarrier.inval.shared.b64 [%r2];\nst.shared.u32 [%r2], %r4;
        mbarrier.init.shared.b64 [%r2], %r4;\ndone:",
    );
}

#[test]
fn arrivals_that_an_mbarrier_does_not_wait_for() {
    finds(
        64,
        "@%p1 mbarrier.init.shared.b64 [%r2], 33;\nbar.sync 0;\nmbarrier.arrive.shared.b64 %d1, [%r2];",
        &[
            "error[sync/mbarrier-arrivals]: the lanes that arrive at the mbarrier object at 0x0 of shared memory are more than its phase waits for",
            "PTX line 10, CTA (0, 0, 0)",
            "note: the last arrival",
        ],
    );
    finds(
        32,
        "@!%p1 bra done;\nmbarrier.init.shared.b64 [%r2], 3;\nmbarrier.arrive.shared.b64 %d1, [%r2], 2;
        mbarrier.arrive.shared.b64 %d1, [%r2], 2;\ndone:",
        &[
            "error[sync/mbarrier-arrivals]: 2 arrivals at the mbarrier object at 0x0 of shared memory, whose phase waits for 1 more",
            "PTX line 10",
        ],
    );
    // Who drops out is waited for no more.
    finds(
        32,
        "@!%p1 bra done;\nmbarrier.init.shared.b64 [%r2], 2;\nmbarrier.arrive_drop.shared.b64 %d1, [%r2];
        mbarrier.arrive.shared.b64 %d1, [%r2];\nmbarrier.arrive.shared.b64 %d1, [%r2], 2;\ndone:",
        &["2 arrivals at", "whose phase waits for 1 more"],
    );
    clean(
        32,
        "@!%p1 bra done;\nmbarrier.init.shared.b64 [%r2], 2;\nmbarrier.arrive_drop.shared.b64 %d1, [%r2];
        mbarrier.arrive.shared.b64 %d1, [%r2];\nmbarrier.arrive.shared.b64 %d1, [%r2];\ndone:",
    );
    // Two phases, between which everybody waits.
    clean(
        64,
        "@%p1 mbarrier.init.shared.b64 [%r2], 64;\nbar.sync 0;\nmov.u32 %r5, 0;
        round:\nmbarrier.arrive.shared.b64 %d1, [%r2];\nagain:\nmbarrier.test_wait.shared.b64 %p2, [%r2], %d1;\n@!%p2 bra again;
        add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 3;\n@%p2 bra round;",
    );
    // An arrival that copies bring along, and one that counts itself.
    clean(
        32,
        "@!%p1 bra done;\nmbarrier.init.shared.b64 [%r2], 2;\ncp.async.mbarrier.arrive.shared.b64 [%r2];
        cp.async.mbarrier.arrive.noinc.shared.b64 [%r2];\nmbarrier.arrive.shared.b64 %d1, [%r2];
        again:\nmbarrier.test_wait.shared.b64 %p2, [%r2], %d1;\n@!%p2 bra again;\ndone:",
    );
}

#[test]
fn bytes_that_an_mbarrier_does_not_expect() {
    let bulk = |expected: u32| {
        format!(
            "@!%p1 bra done;\nmbarrier.init.shared.b64 [%r2], 1;\nmbarrier.arrive.expect_tx.shared.b64 %d1, [%r2], {expected};
            add.u32 %r4, %r2, 64;\nadd.u32 %r5, %r2, 128;\nfence.proxy.async.shared::cta;
            cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r5], 32, [%r2];
            again:\nmbarrier.try_wait.shared.b64 %p2, [%r2], %d1;\n@!%p2 bra again;\nmbarrier.inval.shared.b64 [%r2];\ndone:"
        )
    };
    clean(32, &bulk(32));
    finds(
        32,
        &bulk(48),
        &["error[sync/mbarrier-wait]: lanes 0 wait", "in phase 0, 0 of 1 arrivals and 16 bytes are missing"],
    );
    // The phase is over with the first 16 bytes: the rest counts for the next one, in which nobody expects them.
    let copies =
        "@!%p1 bra done;\nmbarrier.init.shared.b64 [%r2], 1;\nmbarrier.arrive.expect_tx.shared.b64 %d1, [%r2], 16;
        add.u32 %r4, %r2, 64;\nadd.u32 %r5, %r2, 128;\nfence.proxy.async.shared::cta;
        cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r5], 16, [%r2];
        cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r5], 16, [%r2];\ndone:";
    finds(
        32,
        copies,
        &[
            "error[sync/mbarrier-bytes]: 16 bytes have come for the mbarrier object at 0x0 of shared memory that nobody has expected up to its end",
            "PTX line 15",
            "it was made here",
        ],
    );
    let most = |bytes: u32| {
        format!(
            "@!%p1 bra done;\nmbarrier.init.shared.b64 [%r2], 1;\nmbarrier.expect_tx.shared.b64 [%r2], {bytes};\ndone:"
        )
    };
    clean(32, &most((1 << 20) - 1));
    finds(32, &most(1 << 20), &["is to expect 1048576 bytes more, 1048576 together: 1048575 can be counted"]);
}

#[test]
fn phases_that_do_not_end() {
    finds(
        64,
        "@%p1 mbarrier.init.shared.b64 [%r2], 64;\nbar.sync 0;\nsetp.eq.u32 %p2, %r0, 40;\n@%p2 bra done;
        mbarrier.arrive.shared.b64 %d1, [%r2];\nagain:\nmbarrier.try_wait.shared.b64 %p2, [%r2], %d1;\n@!%p2 bra again;\ndone:",
        &[
            "error[sync/mbarrier-wait]: lanes 0 to 31 wait for the end of a phase of the mbarrier object at 0x0 of shared memory, which does not come",
            "in phase 0, 1 of 64 arrivals and 0 bytes are missing",
            "the last arrival",
        ],
    );
    // Nobody waits any more who has given up.
    clean(
        64,
        "@%p1 mbarrier.init.shared.b64 [%r2], 64;\nbar.sync 0;\nmbarrier.test_wait.parity.shared.b64 %p2, [%r2], 0;
        @%p1 bra done;\nspin:\nld.volatile.shared.u32 %r4, [%r2+16];\nbar.sync 1, 64;\nbra spin;\ndone:",
    );
}

#[test]
fn barriers_at_which_nobody_waits() {
    clean(
        64,
        "setp.eq.u32 %p2, %r3, 0;\n@%p2 bra other;\nbar.sync 1, 64;\nbra done;\nother:\nbar.arrive 1, 64;\ndone:\nbar.sync 0;",
    );
    finds(64, "@%p0 bar.arrive 1, 96;\nbar.sync 0;", &["error[sync/divergent-barrier]"]);
    // Another fault has stopped the lanes that were on the way.
    clean(32, "@%p0 trap;\nbar.sync 0;");
}
