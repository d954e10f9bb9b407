//! What threads of a CTA find together at a barrier (`barrier.red`, PTX ISA 9.7.13.1), and which barrier they wait at.

use super::Checked;

/// Thread 40, in the second of three warps, holds in `%p2` what nobody has written; in all others it says whether their number is below `%r9`.
const ONE_THREAD: &str =
    "setp.eq.u32 %p3, %r0, 40; mov.u32 %r1, %r0; @%p3 ld.global.u32 %r1, [%d1]; setp.lt.u32 %p2, %r1, %r9;";

#[track_caller]
fn vote(below: u32, body: &str, found: bool) {
    let body = format!("mov.u32 %r9, {below};\n{ONE_THREAD}\n{body}");
    let said = Checked::new().run_threads(96, "", &body);
    assert_eq!(
        said.contains("uninitialised-condition") && said.contains("from global memory"),
        found,
        "{body}\n{said}"
    );
    assert_eq!(said.is_empty(), !found, "{body}\n{said}");
}

#[test]
fn what_a_barrier_finds_hangs_on_the_predicates_of_all_threads_unless_one_decides() {
    let then = |barrier: &str, tests: &str| format!("{barrier}\n@{tests} bra done;\ndone:");
    // All others are true, or some are false.
    vote(96, &then("barrier.red.and.pred %p4, 0, %p2;", "%p4"), true);
    vote(60, &then("barrier.red.and.pred %p4, 0, %p2;", "%p4"), false);
    vote(0, &then("barrier.red.or.pred %p4, 0, %p2;", "%p4"), true);
    vote(60, &then("barrier.red.or.pred %p4, 0, %p2;", "%p4"), false);
    // Negated.
    vote(0, &then("bar.red.and.pred %p4, 0, !%p2;", "%p4"), true);
    vote(60, &then("bar.red.and.pred %p4, 0, !%p2;", "%p4"), false);
    vote(96, &then("bar.red.or.pred %p4, 0, !%p2;", "%p4"), true);
    // A count hangs on each.
    vote(60, &then("bar.red.popc.u32 %r2, 0, %p2; setp.eq.u32 %p4, %r2, 7;", "%p4"), true);
    // To the predicate that is given.
    vote(0, &then("bar.red.or.pred %p2, 0, %p2;", "%p2"), true);
    vote(60, &then("bar.red.or.pred %p2, 0, %p2;", "%p2"), false);
}

#[test]
fn who_gives_a_barrier_nothing_decides_nothing() {
    let then = "@%p4 bra done;\ndone:";
    // Two warps of three, with the thread and without it.
    let two = |which: &str| format!("setp.{which}.u32 %p5, %r0, 32;\n@%p5 barrier.red.popc.u32 %r2, 1, 64, %p2;");
    let tests = "setp.eq.u32 %p4, %r2, 7;";
    let first = "setp.lt.u32 %p6, %r0, 32; setp.ge.u32 %p7, %r0, 64; or.pred %p5, %p6, %p7;";
    vote(60, &format!("{}\n@!%p5 bra done;\n{tests}{then}", two("ge")), true);
    let others = "@%p5 barrier.red.popc.u32 %r2, 1, 64, %p2;";
    vote(60, &format!("{first}\n{others}\n@!%p5 bra done;\n{tests}{then}"), false);
    // The phase before it, in which the thread gave what it holds, is another.
    let phases = |last: &str| {
        format!(
            "bar.red.popc.u32 %r3, 0, %p2;\nsetp.lt.u32 %p6, %r0, 9;\nbar.red.popc.u32 %r2, 0, {last};\n{tests}{then}"
        )
    };
    vote(60, &phases("%p6"), false);
    vote(60, &phases("%p2"), true);
}

#[test]
fn a_result_that_is_moved_is_not_reported() {
    vote(60, "bar.red.popc.u32 %r2, 0, %p2;\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%d1], %r2;", false);
    let reads = "st.global.u32 [%d1], %r2;\nld.global.u32 %r3, [%d1];\nsetp.eq.u32 %p4, %r3, 7;\n@%p4 bra done;\ndone:";
    let said = Checked::new().run_threads(
        96,
        "",
        &format!("mov.u32 %r9, 60;\n{ONE_THREAD}\nbar.red.popc.u32 %r2, 0, %p2;\n{reads}"),
    );
    assert!(said.contains("uninitialised-condition"), "{said}");
}

#[test]
fn a_predicate_that_was_never_written() {
    let said = Checked::new().run("", "bar.red.or.pred %p4, 0, %p2;\n@%p4 bra done;\ndone:");
    assert!(said.contains("a register that was never written"), "{said}");
}

#[test]
fn which_barrier_and_how_many_threads_decide() {
    for (barrier, written) in [
        ("barrier.sync %r1;", "mov.u32 %r1, 1;"),
        ("barrier.sync 1, %r1;", "mov.u32 %r1, 32;"),
        ("barrier.arrive 1, %r1;", "mov.u32 %r1, 32;"),
        ("barrier.red.popc.u32 %r2, %r1, %p1;", "mov.u32 %r1, 1;"),
        ("bar.warp.sync %r1;", "mov.u32 %r1, -1;"),
    ] {
        let said = Checked::new().run("", &format!("ld.global.u32 %r1, [%d1];\n{barrier}"));
        assert!(said.contains("uninitialised-condition") && said.contains("from global memory"), "{barrier}\n{said}");
        let said = Checked::new().run("", &format!("{written}\n{barrier}"));
        assert_eq!(said, "", "{barrier}");
    }
    // Where nobody waits it decides nothing.
    let guarded = "setp.gt.u32 %p2, %r0, 99;\nld.global.u32 %r1, [%d1];\n@%p2 barrier.sync %r1;";
    assert_eq!(Checked::new().run("", guarded), "");
}
