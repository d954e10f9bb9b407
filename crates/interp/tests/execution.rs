//! Whole kernels through parser, lowering, decoding and execution: scheduling, calls, memory, faults.

use warploom_interp_testing::{Device, Shape, entry};

#[test]
fn every_thread_runs_once() {
    let device = Device::default();
    let words = device.run(&entry("mad.lo.u32 %r1, %r0, 3, 7;"), Shape::new(7, 100));
    assert_eq!(words, (0..700).map(|i| i * 3 + 7).collect::<Vec<_>>());
}

#[test]
fn divergent_lanes_meet_again() {
    let device = Device::default();
    let body = "and.b32 %r2, %r0, 3; setp.eq.u32 %p1, %r2, 0; @%p1 bra A; setp.eq.u32 %p2, %r2, 1; @%p2 bra B;
        mov.u32 %r1, 30; bra E; A: mov.u32 %r1, 10; bra E; B: mov.u32 %r1, 20;
        E: activemask.b32 %r3; setp.eq.u32 %p3, %r3, -1; selp.u32 %r4, 1, 0, %p3; add.u32 %r1, %r1, %r4;";
    let words = device.run(&entry(body), Shape::new(1, 64));
    assert_eq!(words, (0..64).map(|i| [11, 21, 31, 31][i % 4]).collect::<Vec<_>>());
}

#[test]
fn loops_of_different_length_converge() {
    let device = Device::default();
    let body = "and.b32 %r2, %r0, 31; mov.u32 %r1, 0; L: setp.eq.u32 %p1, %r2, 0; @%p1 bra E; add.u32 %r1, %r1, %r2;
        sub.u32 %r2, %r2, 1; bra L; E: activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r1, %r1, 100, %r3;";
    let words = device.run(&entry(body), Shape::new(1, 32));
    assert_eq!(words, (0..32).map(|i| i * (i + 1) / 2 * 100 + 32).collect::<Vec<_>>());
}

#[test]
fn a_lane_that_spins_does_not_starve_the_one_it_waits_for() {
    let device = Device::default();
    let body =
        ".shared .u32 flag; mov.u32 %r2, %laneid; mov.u32 %r5, 0; st.volatile.shared.u32 [flag], %r5; bar.warp.sync -1;
        setp.eq.u32 %p1, %r2, 31; @%p1 bra SET;
        WAIT: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT; bra E;
        SET: mov.u32 %r3, 7; st.volatile.shared.u32 [flag], %r3; E: add.u32 %r1, %r3, %r2;";
    let words = device.run(&entry(body), Shape::new(1, 32));
    assert_eq!(words, (0..32).map(|i| i + 7).collect::<Vec<_>>());
}

#[test]
fn a_spin_lock_is_taken_in_turn_by_all_threads_of_all_ctas() {
    let device = Device::default();
    let ptx = ".visible .entry kernel(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<3>;
        ld.param.u64 %d1, [out];
        L: atom.acquire.gpu.global.cas.b32 %r1, [%d1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;
        ld.volatile.global.u32 %r2, [%d1+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%d1+4], %r2; membar.gl;
        atom.release.gpu.global.exch.b32 %r3, [%d1], 0; ret; }";
    let kernel = device.kernel(ptx).unwrap();
    let out = device.alloc(8);
    device.launch(&kernel, Shape::new(4, 64), &[out]).unwrap();
    assert_eq!(device.words(out, 2), [0, 256]);
}

#[test]
fn a_cta_waits_for_another_one() {
    let device = Device::with_threads(1);
    let ptx = ".visible .entry kernel(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<3>;
        ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 3; @%p1 bra SET;
        W: ld.acquire.gpu.global.u32 %r2, [%d1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra W; red.global.add.u32 [%d1+4], %r2; ret;
        SET: mov.u32 %r2, 5; st.release.gpu.global.u32 [%d1], %r2; ret; }";
    let kernel = device.kernel(ptx).unwrap();
    let out = device.alloc(8);
    device.launch(&kernel, Shape::new(4, 32), &[out]).unwrap();
    assert_eq!(device.words(out, 2), [5, 3 * 32 * 5]);
}

#[test]
fn barriers_order_shared_memory() {
    let device = Device::default();
    let body =
        ".shared .align 4 .b8 s[1024]; mov.u32 %r3, s; mov.u32 %r2, %tid.x; shl.b32 %r4, %r2, 2; add.u32 %r4, %r4, %r3;
        st.shared.u32 [%r4], %r0; bar.sync 0; xor.b32 %r5, %r2, 255; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r3;
        ld.shared.u32 %r1, [%r5];";
    let words = device.run(&entry(body), Shape::new(2, 256));
    assert_eq!(words, (0..512).map(|i| i / 256 * 256 + (255 - i % 256)).collect::<Vec<_>>());
}

#[test]
fn exited_threads_do_not_hold_up_a_barrier() {
    let device = Device::default();
    let body = "mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, 40; @%p1 exit; setp.lt.u32 %p2, %r2, 40; bar.red.popc.u32 %r1, 0, %p2;";
    let words = device.run(&entry(body), Shape::new(1, 96));
    assert_eq!(words, (0..96).map(|i| if i < 40 { 40 } else { 0 }).collect::<Vec<_>>());
}

#[test]
fn a_barrier_that_cannot_complete_is_reported() {
    let device = Device::default();
    let body = "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 32; @%p1 bra A; bar.sync 1; bra E; A: bar.sync 2; E: mov.u32 %r1, 1;";
    let kernel = device.kernel(&entry(body)).unwrap();
    let out = device.alloc(256);
    let fault = device.launch(&kernel, Shape::new(1, 64), &[out]).unwrap_err();
    let text = fault.to_string();
    assert!(text.contains("barrier 1") && text.contains("barrier 2"), "{text}");
}

#[test]
fn shuffles_in_both_branches_of_a_condition_meet() {
    let device = Device::default();
    let body =
        "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 16; @%p1 bra A; shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1; bra E;
        A: shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1; E: add.u32 %r1, %r1, 100;";
    let words = device.run(&entry(body), Shape::new(1, 32));
    assert_eq!(words, (0..32).map(|i| (i ^ 16) + 100).collect::<Vec<_>>());
}

#[test]
fn lanes_of_one_instruction_may_have_different_member_masks() {
    let device = Device::default();
    let body = "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 16; selp.u32 %r3, 0xffff, 0xffff0000, %p1;
        redux.sync.add.u32 %r1, %r2, %r3;";
    let words = device.run(&entry(body), Shape::new(1, 32));
    assert_eq!(words, (0..32).map(|i| if i < 16 { 120 } else { 376 }).collect::<Vec<_>>());
}

const FUNCTIONS: &str = "
    .func (.param .b32 r) fib(.param .b32 n) { .reg .b32 %n, %a, %b; .reg .pred %p; ld.param.b32 %n, [n]; mov.u32 %a, %n;
        setp.lt.u32 %p, %n, 2; @%p bra E; sub.u32 %b, %n, 1; { .param .b32 x; .param .b32 y; st.param.b32 [x], %b;
        call (y), fib, (x); ld.param.b32 %a, [y]; } sub.u32 %b, %n, 2; { .param .b32 x; .param .b32 y; st.param.b32 [x], %b;
        call (y), fib, (x); ld.param.b32 %b, [y]; } add.u32 %a, %a, %b; E: st.param.b32 [r], %a; ret; }
    .func (.param .b32 r) twice(.param .b32 n) { .reg .b32 %n; ld.param.b32 %n, [n]; add.u32 %n, %n, %n; st.param.b32 [r], %n; ret; }
    .func endless(.param .b32 n) { .reg .b32 %n; ld.param.b32 %n, [n]; add.u32 %n, %n, 1; { .param .b32 x; st.param.b32 [x], %n;
        call endless, (x); } ret; }";

#[test]
fn recursion_with_a_depth_of_its_own_in_each_lane() {
    let device = Device::default();
    let body = "and.b32 %r2, %r0, 7; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call (y), fib, (x); ld.param.b32 %r1, [y]; }";
    let words = device.run(&format!("{FUNCTIONS}{}", entry(body)), Shape::new(1, 32));
    assert_eq!(words, (0..32).map(|i| [0, 1, 1, 2, 3, 5, 8, 13][i % 8]).collect::<Vec<_>>());
}

#[test]
fn indirect_calls_of_different_functions() {
    let device = Device::default();
    let body = "mov.u64 %d3, fib; mov.u64 %d4, twice; and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; selp.b64 %d5, %d3, %d4, %p1;
        P: .callprototype (.param .b32 _) _ (.param .b32 _);
        mov.u32 %r3, 10; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; call (y), %d5, (x), P; ld.param.b32 %r1, [y]; }
        activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r1, %r1, 100, %r4;";
    let words = device.run(&format!("{FUNCTIONS}{}", entry(body)), Shape::new(1, 32));
    assert_eq!(words, (0..32).map(|i| if i % 2 == 0 { 5532 } else { 2032 }).collect::<Vec<_>>());
}

#[test]
fn endless_recursion_is_a_fault() {
    let device = Device::default();
    let body = "{ .param .b32 x; st.param.b32 [x], %r0; call endless, (x); }";
    let kernel = device.kernel(&format!("{FUNCTIONS}{}", entry(body))).unwrap();
    let out = device.alloc(256);
    let fault = device.launch(&kernel, Shape::new(1, 32), &[out]).unwrap_err();
    assert!(fault.to_string().contains("stack overflow"), "{fault}");
    assert_eq!(fault.place.function.as_deref(), Some("endless"));
}

#[test]
fn faults_name_thread_and_line() {
    let device = Device::default();
    let body = "setp.eq.u32 %p1, %r0, 37;\n@%p1 trap;\nmov.u32 %r1, 1;";
    let ptx = entry(body);
    let kernel = device.kernel(&ptx).unwrap();
    let out = device.alloc(256);
    let fault = device.launch(&kernel, Shape::new(1, 64), &[out]).unwrap_err();
    assert_eq!(fault.code_name(), "CUDA_ERROR_LAUNCH_FAILED");
    assert_eq!(fault.thread, Some([37, 0, 0]));
    let line = ptx.lines().position(|line| line.contains("trap")).unwrap() + 1 + 3;
    assert_eq!(fault.place.ptx_line, Some(line as u32));
}

#[test]
fn accesses_outside_memory_are_faults() {
    let device = Device::default();
    for (body, code) in [
        ("ld.global.u32 %r1, [%d1+1048576];", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("ld.global.u32 %r1, [%d1+2];", "CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("mov.u64 %d2, 16; st.global.u32 [%d2], %r0;", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("mov.u32 %r2, 0x10000; st.shared.u32 [%r2], %r0;", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("mov.u32 %r2, 0x100000; ld.local.u32 %r1, [%r2];", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ] {
        let kernel = device.kernel(&entry(body)).unwrap();
        let out = device.alloc(256);
        let fault = device.launch(&kernel, Shape::new(1, 64), &[out]).unwrap_err();
        assert_eq!(fault.code_name(), code, "{body}: {fault}");
    }
}

#[test]
fn generic_addresses_reach_all_spaces() {
    let device = Device::default();
    let body = ".shared .align 4 .b8 s[64]; .local .align 4 .b8 l[64]; mov.u32 %r3, 111; st.shared.u32 [s+4], %r3; mov.u32 %r3, 222;
        st.local.u32 [l+8], %r3; st.global.u32 [%d1], 333; bar.sync 0; mov.u64 %d3, s; cvta.shared.u64 %d3, %d3; add.u64 %d3, %d3, 4;
        mov.u64 %d4, l; cvta.local.u64 %d4, %d4; add.u64 %d4, %d4, 8; rem.u32 %r2, %r0, 3; mov.u64 %d5, %d1; setp.eq.u32 %p1, %r2, 0;
        @%p1 mov.u64 %d5, %d3; setp.eq.u32 %p1, %r2, 1; @%p1 mov.u64 %d5, %d4; ld.u32 %r1, [%d5];";
    let words = device.run(&entry(body), Shape::new(1, 32));
    assert_eq!(words, (0..32).map(|i| [111, 222, 333][i % 3]).collect::<Vec<_>>());
}

#[test]
fn kernels_print() {
    let device = Device::default();
    let ptx = format!(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .align 1 .b8 fmt[12] = {{116, 32, 37, 100, 32, 37, 46, 50, 102, 10, 0}};{}",
        entry(
            ".local .align 8 .b8 b[16]; setp.ne.u32 %p1, %r0, 33; @%p1 bra E; mov.u64 %d3, fmt; cvta.global.u64 %d3, %d3;
            st.local.u32 [b], %r0; mov.u64 %d4, 0x3ff8000000000000; st.local.u64 [b+8], %d4; mov.u64 %d5, b; cvta.local.u64 %d5, %d5;
            { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d3; st.param.b64 [a], %d5; call (r), vprintf, (f, a);
            ld.param.b32 %r1, [r]; } E:"
        )
    );
    device.run(&ptx, Shape::new(1, 64));
    assert_eq!(device.printed(), "t 33 1.50\n");
}

#[test]
fn a_failing_assertion_says_what_cuda_says() {
    let device = Device::default();
    let ptx = format!(
        ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
        .global .align 1 .b8 m[4] = {{112, 0}}; .global .align 1 .b8 f[5] = {{97, 46, 99, 117, 0}}; .global .align 1 .b8 n[3] = {{107, 40, 0}};{}",
        entry(
            "setp.ne.u32 %p1, %r0, 5; @%p1 bra E; mov.u64 %d3, m; mov.u64 %d4, f; mov.u64 %d5, n;
            { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %d3; st.param.b64 [b], %d4;
            st.param.b32 [c], 12; st.param.b64 [d], %d5; st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); } E:"
        )
    );
    let kernel = device.kernel(&ptx).unwrap();
    let out = device.alloc(256);
    let fault = device.launch(&kernel, Shape::new(1, 32), &[out]).unwrap_err();
    assert_eq!(fault.code_name(), "CUDA_ERROR_ASSERT");
    assert!(
        fault.to_string().contains("a.cu:12: k(: block: [0,0,0], thread: [5,0,0] Assertion `p` failed."),
        "{fault}"
    );
}

#[test]
fn kernels_allocate() {
    let device = Device::default();
    let ptx = format!(
        ".extern .func (.param .b64 r) malloc(.param .b64 s); .extern .func free(.param .b64 p);{}",
        entry(
            "{ .param .b64 s; .param .b64 r; st.param.b64 [s], 64; call (r), malloc, (s); ld.param.b64 %d3, [r]; } st.u32 [%d3+60], %r0;
            ld.u32 %r1, [%d3+60]; { .param .b64 p; st.param.b64 [p], %d3; call free, (p); }"
        )
    );
    let words = device.run(&ptx, Shape::new(2, 32));
    assert_eq!(words, (0..64).collect::<Vec<_>>());
}

#[test]
fn an_instruction_that_is_missing_fails_the_load_with_its_line() {
    let device = Device::default();
    let body = "mov.u32 %r1, 0;\ntxq.array_size.b32 %r1, [%d1];";
    let ptx = format!(".version 8.3\n.target sm_90a\n.address_size 64\n{}", entry(body));
    let error = device.kernel(&ptx).err().expect("an error").to_string();
    let line = ptx.lines().position(|line| line.contains("txq")).unwrap() + 1;
    assert!(error.contains("txq") && error.contains(&format!("line {line}")), "{error}");
}

#[test]
fn copies_that_a_loop_reads_late_keep_their_value() {
    let device = Device::default();
    // %r5 and %r7 are copies made once in the text; what is read of them is from the round before.
    let body = "mov.u32 %r1, 0; mov.u32 %r3, 0; mov.u32 %r5, 0; mov.u32 %r7, 0; bra L;
        L: add.u32 %r1, %r1, %r5; mul.lo.u32 %r4, %r3, 10; add.u32 %r4, %r4, %r0; mov.u32 %r6, %r4; add.u32 %r1, %r1, %r7; mov.u32 %r5, %r4;
        mov.u32 %r7, %r6; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 5; @%p1 bra L;";
    let words = device.run(&entry(body), Shape::new(1, 32));
    // Rounds 1 to 4 add twice what the round before made: 10 * k + thread.
    assert_eq!(words, (0..32).map(|i| 2 * (10 * 6 + 4 * i)).collect::<Vec<_>>());
    let undefined_at_first = "mov.u32 %r1, 0; mov.u32 %r3, 0; bra L;
        L: setp.ne.u32 %p2, %r3, 0; mul.lo.u32 %r4, %r3, 10; @%p2 add.u32 %r1, %r1, %r5; mov.u32 %r5, %r4; add.u32 %r3, %r3, 1;
        setp.lt.u32 %p1, %r3, 5; @%p1 bra L;";
    assert_eq!(device.run(&entry(undefined_at_first), Shape::new(1, 32)), [60; 32]);
}

#[test]
fn products_are_of_what_their_operands_were() {
    let device = Device::default();
    let body = "mov.u32 %r3, %r0; mov.u32 %r6, 7; mul.lo.u32 %r4, %r3, %r6; mov.u32 %r3, 1000; add.u32 %r1, %r4, %r3;
        mul.wide.u32 %d3, %r1, %r6; mov.u32 %r6, 0; add.u64 %d4, %d3, 5; cvt.u32.u64 %r1, %d4; mul.lo.u32 %r8, %r0, 3; add.u32 %r9, %r8, %r8;
        add.u32 %r1, %r1, %r9;";
    let words = device.run(&entry(body), Shape::new(1, 64));
    assert_eq!(words, (0..64).map(|i| (7 * i + 1000) * 7 + 5 + 6 * i).collect::<Vec<_>>());
}

#[test]
fn registers_that_share_rows_do_not_meet() {
    let device = Device::default();
    // Two hundred registers of which three live at once, in both branches of a condition and around a loop.
    let chain =
        |start: u32| (start..start + 90).map(|r| format!("add.u32 %x{}, %x{r}, %r3;", r + 1)).collect::<String>();
    let body = format!(
        ".reg .b32 %x<200>; mov.u32 %r3, 1; mov.u32 %r4, 0; mov.u32 %r1, 0; and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 0; L: @%p1 bra EVEN;
        mov.u32 %x0, %r0; {} add.u32 %r1, %r1, %x90; bra MET; EVEN: mov.u32 %x100, 1000; {} add.u32 %r1, %r1, %x190;
        MET: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 3; @%p2 bra L;",
        chain(0),
        chain(100)
    );
    let words = device.run(&entry(&body), Shape::new(1, 64));
    assert_eq!(words, (0..64).map(|i| if i % 2 == 0 { 3 * 1090 } else { 3 * (i + 90) }).collect::<Vec<_>>());
}

#[test]
fn addresses_that_change_within_a_block_are_looked_at_again() {
    let device = Device::default();
    // The same register holds consecutive addresses, then others; the first access has a guard that may keep it from running.
    for space in ["global", "shared"] {
        for guard in ["", "setp.lt.u32 %p1, %r0, 40; @%p1", "setp.gt.u32 %p1, %r0, 1000; @%p1"] {
            let body = format!(
                ".{space} .align 4 .b8 data[1024]; mov.u32 %r1, 0; mov.u64 %d3, data; mul.wide.u32 %d4, %r0, 4; add.u64 %d4, %d3, %d4;
                st.{space}.u32 [%d4], %r0; bar.sync 0; {guard} ld.{space}.u32 %r1, [%d4]; ld.{space}.u32 %r3, [%d4+0]; xor.b32 %r4, %r0, 5;
                mul.wide.u32 %d4, %r4, 4; add.u64 %d4, %d3, %d4; ld.{space}.u32 %r5, [%d4]; ld.{space}.u32 %r6, [%d4+0]; mov.u64 %d4, %d3;
                ld.{space}.u32 %r7, [%d4+12]; ld.{space}.u32 %r8, [%d4+16]; mad.lo.u32 %r1, %r3, 1000, %r5; mad.lo.u32 %r1, %r7, 1000000, %r1;
                mad.lo.u32 %r1, %r8, 10000000, %r1; sub.u32 %r6, %r6, %r5; add.u32 %r1, %r1, %r6;"
            );
            let words = device.run(&entry(&body), Shape::new(1, 64));
            assert_eq!(words, (0..64).map(|i| 43_000_000 + i * 1000 + (i ^ 5)).collect::<Vec<_>>(), "{space} {guard}");
        }
    }
}
