//! Lanes that leave a loop at different times run what follows it once, together, whichever way round the branch is written.

use warploom_interp_testing::{Device, Shape, entry};

/// Lane `i` makes `i` trips and adds up; behind the loop it adds how many lanes are there.
fn sums(body: &str) -> Vec<u32> {
    let setup = "and.b32 %r2, %r0, 31; mov.u32 %r1, 0;";
    let count = "activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r1, %r1, 100, %r3;";
    Device::default().run(&entry(&format!("{setup} {}", body.replace("COUNT", count))), Shape::new(1, 32))
}

fn expected() -> Vec<u32> {
    (0..32).map(|i| i * (i + 1) / 2 * 100 + 32).collect()
}

#[test]
fn the_exit_falls_through() {
    let body = "HEAD: setp.ne.u32 %p1, %r2, 0; @%p1 bra BODY; COUNT bra END;
        BODY: add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1; bra HEAD; END:";
    assert_eq!(sums(body), expected());
}

#[test]
fn the_exit_is_a_branch_behind_the_one_to_the_body() {
    let body = "HEAD: setp.ne.u32 %p1, %r2, 0; @%p1 bra BODY; bra EXIT;
        BODY: add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1; bra HEAD; EXIT: COUNT";
    assert_eq!(sums(body), expected());
}

#[test]
fn the_exit_stands_before_the_loop() {
    let body = "bra HEAD; EXIT: COUNT bra END; BODY: add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1;
        HEAD: setp.ne.u32 %p1, %r2, 0; @%p1 bra BODY; bra EXIT; END:";
    assert_eq!(sums(body), expected());
}

#[test]
fn a_loop_is_left_at_two_places() {
    let body = "HEAD: setp.eq.u32 %p1, %r2, 0; @!%p1 bra BODY; bra EXIT;
        BODY: add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1; setp.eq.u32 %p2, %r2, 0; @!%p2 bra HEAD; EXIT: COUNT";
    assert_eq!(sums(body), expected());
}

#[test]
fn both_exits_of_nested_loops_fall_through() {
    // The inner loop adds one for each of its %r2 trips. Behind it, in trip %r6 of the outer loop, are the lanes from that number on.
    let body = "mov.u32 %r6, 0;
        HEAD: setp.ne.u32 %p1, %r2, 0; @%p1 bra BODY; COUNT bra END;
        BODY: add.u32 %r6, %r6, 1; mov.u32 %r4, %r2;
        INNER: setp.ne.u32 %p2, %r4, 0; @%p2 bra MORE; bra BEHIND;
        MORE: add.u32 %r1, %r1, 1; sub.u32 %r4, %r4, 1; bra INNER;
        BEHIND: activemask.b32 %r5; popc.b32 %r5, %r5; add.u32 %r5, %r5, %r6; setp.ne.u32 %p3, %r5, 32; @%p3 trap;
        sub.u32 %r2, %r2, 1; bra HEAD; END:";
    assert_eq!(sums(body), expected());
}

#[test]
fn a_loop_with_two_entries() {
    // Odd lanes enter in the middle.
    let body = "and.b32 %r4, %r2, 1; setp.eq.u32 %p3, %r4, 1; @%p3 bra MIDDLE;
        HEAD: setp.ne.u32 %p1, %r2, 0; @%p1 bra MIDDLE; bra EXIT;
        MIDDLE: add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1; bra HEAD; EXIT: COUNT";
    assert_eq!(sums(body), expected());
}

#[test]
fn lanes_that_complete_a_barrier_meet_those_that_waited() {
    // Each half has a barrier of its own; the second half completes it. What stands behind both is for all lanes at once.
    let body = "setp.lt.u32 %p1, %r2, 16; @%p1 bra LOW; bar.sync 0; add.u32 %r1, %r1, 1; bra BEHIND;
        LOW: bar.sync 0; add.u32 %r1, %r1, 2; BEHIND: COUNT";
    let expected: Vec<u32> = (0..32).map(|i| if i < 16 { 232 } else { 132 }).collect();
    assert_eq!(sums(body), expected);
    for barrier in ["barrier.red.popc.u32 %r4, 0, %p1;", "barrier.sync 0, 32;"] {
        assert_eq!(sums(&body.replace("bar.sync 0;", barrier)), expected, "{barrier}");
    }
}
