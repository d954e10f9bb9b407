//! Matrix instructions of warps and warpgroups whose threads come apart, or that are used as they must not be.

use warploom_exec::fault::FaultKind;
use warploom_interp_testing::{Device, Shape};

/// A kernel for `sm_90a` with a tile of 16-bit ones in shared memory, that ends with a store of `%d0` by each thread.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 out)\n{{
        .reg .b32 %t, %lane, %a<4>, %b<2>, %s, %x; .reg .f32 %c<4>, %d<4>; .reg .b64 %o, %p, %da, %db; .reg .pred %q, %r;
        .shared .align 1024 .b8 tile[4096]; .shared .align 4 .b32 flag;
        mov.u32 %t, %tid.x; and.b32 %lane, %t, 31; ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o;
        mov.b32 %x, 0x3c003c00; mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
        mov.b32 %a0, %x; mov.b32 %a1, %x; mov.b32 %a2, %x; mov.b32 %a3, %x; mov.b32 %b0, %x; mov.b32 %b1, %x;
        mov.b32 %c0, 0; mov.b32 %c1, 0; mov.b32 %c2, 0; mov.b32 %c3, 0; mov.b32 %d0, 0;
        mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0;
        {body}
        st.global.f32 [%o], %d0; ret;\n}}\n"
    )
}

const MMA: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};";

fn fault(body: &str, threads: u32) -> FaultKind {
    let device = Device::with_threads(1);
    let kernel = device.kernel(&kernel(body)).unwrap();
    let out = device.alloc(4096);
    device.launch(&kernel, Shape::new(1, threads), &[out]).unwrap_err().kind.clone()
}

fn results(body: &str, threads: u32) -> Vec<f32> {
    let device = Device::with_threads(1);
    let kernel = device.kernel(&kernel(body)).unwrap();
    let out = device.alloc(4096);
    device.launch(&kernel, Shape::new(1, threads), &[out]).unwrap();
    device.words(out, threads as usize).into_iter().map(f32::from_bits).collect()
}

fn is_illegal(kind: &FaultKind, word: &str) -> bool {
    matches!(kind, FaultKind::IllegalInstruction(why) if why.contains(word))
}

#[test]
fn a_product_needs_all_threads_of_the_warp() {
    let exited = fault(&format!("setp.eq.u32 %q, %lane, 3; @%q ret; {MMA}"), 32);
    assert!(is_illegal(&exited, "0x8 do not exist or have exited"), "{exited}");
    let missing = fault(MMA, 16);
    assert!(is_illegal(&missing, "0xffff0000 do not exist"), "{missing}");
    let guarded = fault(&format!("setp.lt.u32 %q, %lane, 30; @%q {MMA}"), 32);
    assert!(is_illegal(&guarded, "0xc0000000"), "{guarded}");
}

/// Lanes that wait for each other come to the product one after another.
#[test]
fn lanes_wait_for_the_others_of_their_warp() {
    let body = format!(
        "mov.u32 %s, flag; setp.ge.u32 %q, %lane, 16; @%q bra SET;
        WAIT: ld.volatile.shared.u32 %x, [%s]; setp.eq.u32 %r, %x, 0; @%r bra WAIT; bra PRODUCT;
        SET: mov.u32 %x, 1; st.volatile.shared.u32 [%s], %x;
        PRODUCT: {MMA}"
    );
    assert_eq!(results(&body, 32), [16.0; 32]);
}

#[test]
fn rows_of_tiles_are_aligned_and_in_shared_memory() {
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%a0}, [%s];";
    let misaligned = fault(&format!("mov.u32 %s, tile; mad.lo.u32 %s, %lane, 8, %s; {load}"), 32);
    assert!(matches!(misaligned, FaultKind::MisalignedInSpace { size: 16, .. }), "{misaligned}");
    let outside = fault(&format!("mov.u32 %s, 0x100000; {load}"), 32);
    assert!(matches!(outside, FaultKind::OutsideSpace { .. }), "{outside}");
    let elsewhere = fault("ldmatrix.sync.aligned.m8n8.x1.b16 {%a0}, [%o];", 32);
    assert!(matches!(elsewhere, FaultKind::InvalidAddressSpace(_)), "{elsewhere}");
    // Only the first eight lanes give addresses of one tile.
    let others = format!("mov.u32 %s, tile; setp.ge.u32 %q, %lane, 8; @%q mov.u32 %s, 3; {load}");
    assert_eq!(results(&others, 32), [0.0; 32]);
}

#[test]
fn a_matrix_is_at_one_address() {
    let body = "add.u64 %p, %o, 0; wmma.load.c.sync.aligned.row.m8n8k32.global.s32 {%a0, %a1}, [%p], 8;";
    let kind = fault(body, 32);
    assert!(is_illegal(&kind, "not the same in all threads"), "{kind}");
}

/// `wgmma` of ones: the first 2 KiB of the tile are `a`, what follows is `b`, without swizzling.
fn warpgroup(before: &str, after: &str) -> String {
    format!(
        "st.shared.b32 [%s], %x; st.shared.b32 [%s+512], %x; st.shared.b32 [%s+1024], %x; st.shared.b32 [%s+1536], %x; st.shared.b32 [%s+2048], %x;
        bar.sync 0;
        {before}
        mov.u32 %s, tile; cvt.u64.u32 %p, %s; shr.u64 %p, %p, 4; or.b64 %da, %p, 0x1000080000; add.u64 %db, %da, 128;
        setp.eq.u32 %q, %t, %t;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%d0, %d1, %d2, %d3}}, %da, %db, %q, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 0;
        {after}"
    )
}

#[test]
fn a_warpgroup_has_four_warps() {
    let kind = fault(&warpgroup("", ""), 96);
    assert!(is_illegal(&kind, "four warps"), "{kind}");
    assert_eq!(results(&warpgroup("", ""), 128), [16.0; 128]);
}

/// Who has waited may write the memory that was read, however far behind another warp is.
#[test]
fn who_has_waited_has_the_products_of_all_warps_behind() {
    let slow = "setp.ge.u32 %q, %t, 32; @%q bra FAST; mov.u32 %x, 0; SLOW: add.u32 %x, %x, 1; setp.lt.u32 %r, %x, 300000; @%r bra SLOW; FAST:";
    let overwrite = "mov.u32 %x, 0; mov.u32 %s, tile; mad.lo.u32 %s, %lane, 4, %s; st.shared.b32 [%s+2048], %x; st.shared.b32 [%s+2176], %x;";
    assert_eq!(results(&warpgroup(slow, overwrite), 128), [16.0; 128]);
}
