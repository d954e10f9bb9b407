//! What lanes give each other, and what they compute together.

use warploom_interp_testing::Shape;

use super::Checked;

/// Lane 3 holds what nobody has written in `%r1`, all others what is there.
const ONE_LANE: &str = "mov.u32 %r1, 5; setp.eq.u32 %p2, %r0, 3; @%p2 ld.global.u32 %r1, [%d1];";

#[track_caller]
fn exchange(body: &str, found: bool) {
    let body = format!("{ONE_LANE}\n{body}");
    let said = Checked::new().run("", &format!("{body}\n@%p4 bra done;\ndone:"));
    assert_eq!(
        said.contains("uninitialised-condition") && said.contains("from global memory"),
        found,
        "{body}\n{said}"
    );
    assert_eq!(said.is_empty(), !found, "{body}\n{said}");
}

#[test]
fn lanes_get_what_the_lane_holds_that_gives_it() {
    let asks = |lanes: &str, which: &str| {
        format!(
            "shfl.sync.{which}, 0xffffffff;\nsetp.eq.u32 %p3, %r0, {lanes};\nselp.b32 %r3, %r2, 0, %p3;\n\
             setp.eq.u32 %p4, %r3, 9;"
        )
    };
    // Lane 2 gets what lane 3 holds, and lane 3 what lane 2 holds.
    exchange(&asks("2", "bfly.b32 %r2, %r1, 1, 31"), true);
    exchange(&asks("3", "bfly.b32 %r2, %r1, 1, 31"), false);
    exchange(&asks("2", "down.b32 %r2, %r1, 1, 31"), true);
    exchange(&asks("4", "down.b32 %r2, %r1, 1, 31"), false);
    // Where there is no lane to read it is the own one: lane 3 of four.
    exchange(&asks("3", "down.b32 %r2, %r1, 1, 7171"), true);
    exchange(&asks("3", "idx.b32 %r2, %r1, 0, 31"), false);
    exchange(&asks("0", "idx.b32 %r2, %r1, 3, 31"), true);
    // Which lane is asked is a value, too.
    exchange(&asks("3", "idx.b32 %r2, %r0, %r1, 31"), true);
    exchange(&asks("2", "idx.b32 %r2, %r0, %r1, 31"), false);
    // To the same register, and by lanes that come by different ways.
    exchange(
        "shfl.sync.bfly.b32 %r1, %r1, 1, 31, 0xffffffff;\n@%p2 setp.eq.u32 %p4, %r1, 9;\n@!%p2 setp.eq.u32 %p4, %r0, 9;",
        false,
    );
    let ways = "@%p2 bra other;\nshfl.sync.idx.b32 %r2, %r1, 3, 31, 0xffffffff;\nbra met;\n\
                other: shfl.sync.idx.b32 %r2, %r1, LANE, 31, 0xffffffff;\nmet: setp.eq.u32 %p3, %r0, LANE;\n\
                selp.b32 %r3, %r2, 0, %p3;\nsetp.eq.u32 %p4, %r3, 9;";
    exchange(&ways.replace("LANE", "2"), true);
    exchange(&ways.replace("LANE", "3"), true);
}

#[test]
fn what_lanes_find_together_hangs_on_each_that_decides() {
    let vote = |of: &str, then: &str| format!("setp.eq.u32 %p3, %r1, {of};\n{then}");
    exchange(&vote("6", "vote.sync.any.pred %p4, %p3, 0xffffffff;"), true);
    exchange(&vote("5", "vote.sync.any.pred %p4, %p3, 0xffffffff;"), false);
    exchange(&vote("5", "vote.sync.all.pred %p4, %p3, 0xffffffff;"), true);
    exchange(&vote("6", "vote.sync.all.pred %p4, %p3, 0xffffffff;"), false);
    let value = |get: &str| format!("{get};\nsetp.eq.u32 %p4, %r2, 9;");
    exchange(&vote("6", &value("vote.sync.ballot.b32 %r2, %p3, 0xffffffff")), true);
    exchange(&value("redux.sync.add.u32 %r2, %r1, 0xffffffff"), true);
    exchange(&value("redux.sync.add.u32 %r2, %r0, 0xffffffff"), false);
    exchange(&format!("@%p2 bra done;\n{}", value("redux.sync.add.u32 %r2, %r1, 0xfffffff7")), false);
    exchange(&value("match.any.sync.b32 %r2, %r1, 0xffffffff"), true);
}

#[test]
fn products_that_nothing_is_added_to_do_not_read_what_the_registers_held() {
    let product = |scale: u32| {
        format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 out) {{
            .reg .f32 %f<4>; .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %d<4>; .shared .align 128 .b8 s[4096];
            mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 5; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; mov.b64 %d0, 0;
            st.shared.v2.b64 [%r1], {{%d0, %d0}}; st.shared.v2.b64 [%r1+16], {{%d0, %d0}}; bar.sync 0;
            shr.u32 %r2, %r2, 4; cvt.u64.u32 %d1, %r2; or.b64 %d1, %d1, 0x0000000800080000;
            mov.u32 %r3, {scale}; setp.ne.b32 %p1, %r3, 0; wgmma.fence.sync.aligned;
            wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0,%f1,%f2,%f3}}, %d1, %d1, %p1, 1, 1, 0, 0;
            wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
            setp.eq.f32 %p2, %f3, 0f00000000; @%p2 bra done;\ndone: ret;\n}}"
        )
    };
    let said = |scale: u32| {
        let checked = Checked::new();
        let kernel = checked.device.kernel(&product(scale)).expect("a kernel");
        checked.device.launch(&kernel, Shape::new(1, 128), &[checked.out]).expect("it runs");
        std::mem::take(&mut *checked.said.lock().unwrap())
    };
    assert_eq!(said(0), "");
    assert!(said(1).contains("a register that was never written"));
}
