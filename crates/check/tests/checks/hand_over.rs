//! Grids of streams that nothing orders, and that hand over to each other by flags.

use warploom_check::Check;

use crate::support::Checked;

const WRITE: &str = ".visible .entry kernel(.param .u64 data, .param .u64 flag) {
    .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
    ld.param.u64 %d0, [data]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0;
    st.global.u32 [%d1], %r0; ret; }";

/// Lane 0 writes, and sets the flag.
const GIVE: &str =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 data, .param .u64 flag) {
    .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
    ld.param.u64 %d0, [data]; ld.param.u64 %d1, [flag]; mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra done;
    st.global.u32 [%d0+128], 7; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%d1], 1;
    done: ret; }";

/// All lanes wait for the flag, and read what there is at an offset.
fn take(fence: &str, offset: u32) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 data, .param .u64 flag) {{
        .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
        ld.param.u64 %d0, [data]; ld.param.u64 %d1, [flag];
        again: ld.relaxed.gpu.global.u32 %r1, [%d1]; setp.eq.u32 %p0, %r1, 0; @%p0 bra again;
        {fence}
        ld.global.u32 %r2, [%d0+{offset}]; ret; }}"
    )
}

/// What is said of a grid in a second stream that takes what two grids of a first one have written.
fn said(fence: &str, offset: u32) -> String {
    let checked = Checked::new(&[Check::Race]);
    let params = [("DATA", checked.device.alloc(256)), ("FLAG", checked.device.alloc(256))];
    let (first, second) = (checked.device.stream(), checked.device.stream());
    checked.launch_all(&[(&first, WRITE), (&first, GIVE), (&second, &take(fence, offset))], &params)
}

#[test]
fn what_was_written_before_a_flag_is_handed_over_by_it() {
    assert_eq!(said("fence.acq_rel.gpu;", 128), "");
    // A grid before the one that has set the flag comes before it, too.
    assert_eq!(said("fence.acq_rel.gpu;", 4), "");
}

#[test]
fn without_a_fence_behind_the_flag_nothing_is_handed_over() {
    for offset in [128, 4] {
        let said = said("", offset);
        let expected = ["error[race/global-race]", "a weak write by a grid that no stream order separates"];
        assert!(expected.iter().all(|part| said.contains(part)), "{offset}: {said}");
    }
}
