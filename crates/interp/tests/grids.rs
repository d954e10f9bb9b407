//! What a grid promises its kernels: the order of issue, the memory of a CTA and of a thread, waiting across CTAs; and how each kind of
//! fault ends it. The result codes are the recorded ones (`tests/c/answers/answers.golden`).

use warploom_interp_testing::{Device, Shape, entry};

/// Stores, by CTA, the number of CTAs that began before.
const TICKETS: &str = ".global .u32 next;
    .visible .entry kernel(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
    atom.global.add.u32 %r2, [next], 1; st.global.u32 [%d1], %r2; ret; }";

#[test]
fn one_worker_runs_the_ctas_in_ascending_order() {
    let device = Device::with_threads(1);
    let out = device.alloc(4 * 500);
    let kernel = device.kernel(TICKETS).unwrap();
    device.launch(&kernel, Shape::new(500, 1), &[out]).unwrap();
    assert_eq!(device.words(out, 500), (0..500).collect::<Vec<_>>());
}

#[test]
fn a_cta_finds_all_issued_before_it_begun_or_about_to_begin() {
    // Each CTA waits for the one before it: with few workers this ends only if earlier CTAs never wait for later ones to be issued.
    let device = Device::with_threads(3);
    let kernel = ".global .u32 turn;
        .visible .entry kernel(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
        ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
        L: ld.acquire.gpu.global.u32 %r2, [turn]; setp.ne.u32 %p, %r2, %r1; @%p bra L;
        st.global.u32 [%d1], %r2; add.u32 %r2, %r2, 1; st.release.gpu.global.u32 [turn], %r2; ret; }";
    let kernel = device.kernel(kernel).unwrap();
    let out = device.alloc(4 * 300);
    device.launch(&kernel, Shape::new(300, 1), &[out]).unwrap();
    assert_eq!(device.words(out, 300), (0..300).collect::<Vec<_>>());
}

#[test]
fn dynamic_shared_memory_follows_the_static_part_and_ends_where_the_launch_says() {
    let device = Device::default();
    let body = |last: &str| {
        format!(
            ".extern .shared .align 16 .b8 dynamic[];\n{}",
            entry(&format!(
                ".shared .align 4 .b8 fixed[64]; mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 2; mov.u32 %r5, fixed; mov.u32 %r6, dynamic;
                add.u32 %r6, %r6, %r4; st.shared.u32 [%r6], %r3; bar.sync 0; xor.b32 %r4, %r4, 124; mov.u32 %r6, dynamic;
                add.u32 %r6, %r6, %r4; ld.shared.u32 %r1, [%r6]; mov.u32 %r7, %dynamic_smem_size; mad.lo.u32 %r1, %r7, 1000, %r1; {last}"
            ))
        )
    };
    let shape = Shape { dynamic_shared: 128, ..Shape::new(2, 32) };
    assert_eq!(device.run(&body(""), shape), (0..64).map(|i| 128_000 + ((i % 32) ^ 31)).collect::<Vec<_>>());
    // 64 static and 128 dynamic bytes: hardware gives shared memory in pieces of 128 bytes.
    let beyond = device.kernel(&body("st.shared.u32 [dynamic+192], %r3;")).unwrap();
    let out = device.alloc(256);
    let fault = device.launch(&beyond, shape, &[out]).unwrap_err();
    assert_eq!(fault.code_name(), "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert!(fault.to_string().contains("of .shared memory"), "{fault}");
}

#[test]
fn local_memory_belongs_to_its_thread() {
    let device = Device::default();
    let body = ".local .align 8 .b8 l[64]; mov.u32 %r3, 0; mov.u64 %d3, l; mul.lo.u32 %r4, %r0, 10;
        W: mul.wide.u32 %d4, %r3, 4; add.u64 %d4, %d3, %d4; add.u32 %r5, %r4, %r3; st.local.u32 [%d4], %r5; add.u32 %r3, %r3, 1;
        setp.lt.u32 %p1, %r3, 16; @%p1 bra W; rem.u32 %r6, %r0, 16; mul.wide.u32 %d4, %r6, 4; add.u64 %d4, %d3, %d4; bar.sync 0;
        ld.local.u32 %r1, [%d4];";
    assert_eq!(device.run(&entry(body), Shape::new(3, 96)), (0..288).map(|i| i * 10 + i % 16).collect::<Vec<_>>());
}

/// A function that calls itself `n` times, with 64 bytes of variables in each call.
const NESTED: &str = ".func (.param .b32 result) nested(.param .b32 n) { .reg .b32 %r<4>; .reg .b64 %d<2>; .reg .pred %p; .local .align 4 .b8 l[64];
    ld.param.b32 %r1, [n]; st.local.u32 [l+60], %r1; setp.eq.u32 %p, %r1, 0; mov.u32 %r2, 0; @%p bra END; sub.u32 %r1, %r1, 1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), nested, (a); ld.param.b32 %r2, [b]; }
    END: ld.local.u32 %r3, [l+60]; add.u32 %r2, %r2, %r3; st.param.b32 [result], %r2; ret; }\n";

#[test]
fn the_stack_limit_is_the_launch_s() {
    let device = Device::default();
    let body = "mov.u32 %r3, 20; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), nested, (a); ld.param.b32 %r1, [b]; }";
    let kernel = device.kernel(&format!("{NESTED}{}", entry(body))).unwrap();
    let out = device.alloc(256);
    let enough = Shape { stack_limit: 4096, ..Shape::new(1, 64) };
    device.launch(&kernel, enough, &[out]).unwrap();
    assert_eq!(device.words(out, 64), [210; 64]);
    let fault = device.launch(&kernel, Shape { stack_limit: 1024, ..enough }, &[out]).unwrap_err();
    assert_eq!(fault.code_name(), "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert!(fault.to_string().contains("stack overflow: a thread needs more than its 1024 bytes"), "{fault}");
    assert_eq!(fault.place.function.as_deref(), Some("nested"));
}

#[test]
fn a_stack_that_the_code_tells_is_there_whatever_the_limit_says() {
    // Forty functions that call each other in a row, each with 200 bytes of variables; then one with 40,000 bytes.
    let mut text = String::from(
        ".func (.param .b32 result) f0(.param .b32 n) { .reg .b32 %r<3>; .local .align 4 .b8 l[40000]; ld.param.b32 %r1, [n];
        st.local.u32 [l+39996], %r1; ld.local.u32 %r2, [l+39996]; st.param.b32 [result], %r2; ret; }\n",
    );
    for index in 1..40 {
        let callee = index - 1;
        text += &format!(
            ".func (.param .b32 result) f{index}(.param .b32 n) {{ .reg .b32 %r<4>; .local .align 4 .b8 l[200]; ld.param.b32 %r1, [n];
            st.local.u32 [l+196], %r1; add.u32 %r1, %r1, 1; {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), f{callee}, (a);
            ld.param.b32 %r2, [b]; }} ld.local.u32 %r3, [l+196]; add.u32 %r2, %r2, %r3; st.param.b32 [result], %r2; ret; }}\n"
        );
    }
    let body = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], 0; call (b), f39, (a); ld.param.b32 %r1, [b]; }";
    let device = Device::default();
    let kernel = device.kernel(&format!("{text}{}", entry(body))).unwrap();
    let out = device.alloc(256);
    device.launch(&kernel, Shape { stack_limit: 1024, ..Shape::new(1, 64) }, &[out]).unwrap();
    assert_eq!(device.words(out, 64), [(0..40).sum::<u32>(); 64]);
}

#[test]
fn a_cooperative_grid_meets_at_barriers_of_its_own() {
    // Sixteen rounds: each CTA adds what its neighbour wrote in the round before, then all wait for all.
    let device = Device::with_threads(2);
    let kernel = ".global .u32 arrived; .global .align 4 .b8 cells[1024];
        .visible .entry kernel(.param .u64 out) { .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .pred %p<3>;
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; mov.u32 %r4, 0; mov.u64 %d1, cells;
        mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2; add.u32 %r5, %r1, 1; rem.u32 %r5, %r5, %r2; mul.wide.u32 %d3, %r5, 4;
        add.u64 %d3, %d1, %d3; mov.u32 %r9, 0;
        ROUND: @%p1 bra MET; ld.volatile.global.u32 %r6, [%d3]; call_barrier:
        membar.gl; atom.global.add.u32 %r7, [arrived], 1; mul.lo.u32 %r8, %r2, 2; mul.lo.u32 %r8, %r8, %r4; add.u32 %r8, %r8, %r2;
        A: ld.acquire.gpu.global.u32 %r7, [arrived]; setp.lt.u32 %p2, %r7, %r8; @%p2 bra A;
        add.u32 %r6, %r6, 1; st.global.u32 [%d2], %r6; membar.gl; atom.global.add.u32 %r7, [arrived], 1; add.u32 %r8, %r8, %r2;
        B: ld.acquire.gpu.global.u32 %r7, [arrived]; setp.lt.u32 %p2, %r7, %r8; @%p2 bra B;
        MET: bar.sync 0; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 16; @%p2 bra ROUND;
        ld.param.u64 %d4, [out]; mul.wide.u32 %d5, %r1, 4; add.u64 %d4, %d4, %d5; ld.volatile.global.u32 %r10, [%d2]; st.global.u32 [%d4], %r10; ret; }";
    let kernel = device.kernel(kernel).unwrap();
    let out = device.alloc(4 * 40);
    device.launch(&kernel, Shape { cooperative: true, ..Shape::new(40, 96) }, &[out]).unwrap();
    assert_eq!(device.words(out, 40), [16; 40]);
}

#[test]
fn a_barrier_for_no_threads_is_one_for_all() {
    // Each warp reads what the next one has written before the barrier.
    let body = ".shared .align 4 .b8 s[384]; mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 2; mov.u32 %r5, s; add.u32 %r4, %r4, %r5;
        st.shared.u32 [%r4], %r3; mov.u32 %r6, 0; bar.sync 2, %r6; add.u32 %r3, %r3, 32; rem.u32 %r3, %r3, 96; shl.b32 %r4, %r3, 2;
        add.u32 %r4, %r4, %r5; ld.shared.u32 %r1, [%r4];";
    let words = Device::default().run(&entry(body), Shape::new(1, 96));
    assert_eq!(words, (0..96).map(|thread| (thread + 32) % 96).collect::<Vec<_>>());
}

/// What an H100 answers to barriers for every kind of thread count (`tests/goldens/barrier_counts.py`).
#[test]
fn thread_counts_of_barriers_are_answered_as_recorded() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/goldens/barrier_counts.json");
    let golden: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let device = Device::default();
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() > 80);
    for case in cases {
        let number = |name: &str| case[name].as_u64().unwrap() as u32;
        let count = if case["constant"] == true { number("count").to_string() } else { "%r3".to_owned() };
        let barrier = match case["form"].as_str().unwrap() {
            "bar.sync" => format!("bar.sync 1, {count};"),
            "barrier.sync" => format!("barrier.sync 1, {count};"),
            "bar.red.popc.u32" => format!("bar.red.popc.u32 %r5, 1, {count}, %p1;"),
            "bar.arrive" => format!("@%p2 bar.arrive 1, {count}; @!%p2 bar.sync 1, 64;"),
            form => panic!("{form}"),
        };
        let prepare = format!("mov.u32 %r3, {}; setp.ge.u32 %p1, %r0, 0; setp.lt.u32 %p2, %r0, 32;", number("count"));
        let text = entry(&format!("{prepare} {barrier} mov.u32 %r1, 1;"));
        let whole = format!(".version 8.0\n.target sm_90\n.address_size 64\n{text}");
        let loaded = warploom_ptx::load(whole.as_bytes(), &warploom_ptx::Options { driver_version: 13000, sm: 90 });
        // CUDA_ERROR_INVALID_PTX is 218, CUDA_ERROR_ILLEGAL_INSTRUCTION 715.
        match (number("load"), &loaded) {
            (0, Ok(_)) => {}
            (218, Err(failure)) if failure.class == warploom_ptx::FailureClass::InvalidPtx => continue,
            (expected, loaded) => panic!("{case}: {loaded:?}, recorded {expected}"),
        }
        let kernel = device.kernel(&text).unwrap();
        let threads = number("threads");
        let out = device.alloc(u64::from(threads) * 4);
        match (number("run"), device.launch(&kernel, Shape::new(1, threads), &[out])) {
            (0, Ok(())) => {
                let behind = device.words(out, threads as usize).iter().sum::<u32>();
                assert_eq!(behind, number("behind"), "{case}");
            }
            (715, Err(fault)) => assert_eq!(fault.code_name(), "CUDA_ERROR_ILLEGAL_INSTRUCTION", "{case}"),
            (expected, ran) => panic!("{case}: {ran:?}, recorded {expected}"),
        }
    }
}

/// What is read and written at once: strong scalars (PTX ISA 8.2.2, 8.5), of 16 bytes too, and vectors of up to 16 bytes, as hardware does
/// it. Some CTAs write all zeros and all ones by turns, others look for a mixture.
#[test]
fn strong_accesses_do_not_tear() {
    let device = Device::with_threads(4);
    let split128 = "mov.b128 {%d6, %d7}, %wide;";
    let split64 = "mov.b64 {%r6, %r7}, %d6; cvt.u64.u32 %d6, %r6; cvt.u64.u32 %d7, %r7;";
    for (load, split, zeros, ones) in [
        (
            "ld.relaxed.gpu.global.b128 %wide, [%d3];",
            split128,
            "st.relaxed.gpu.global.b128 [%d3], %none;",
            "st.relaxed.gpu.global.b128 [%d3], %all;",
        ),
        (
            "ld.acquire.sys.b128 %wide, [%d3];",
            split128,
            "atom.global.exch.b128 %wide, [%d3], %none;",
            "st.release.gpu.global.b128 [%d3], %all;",
        ),
        (
            "ld.volatile.global.u64 %d6, [%d3];",
            split64,
            "st.volatile.global.u64 [%d3], 0;",
            "st.relaxed.gpu.u64 [%d3], -1;",
        ),
        ("ld.relaxed.gpu.global.u64 %d6, [%d3];", split64, "st.global.u64 [%d3], 0;", "st.global.u64 [%d3], -1;"),
        (
            "ld.relaxed.gpu.global.v2.u64 {%d6, %d7}, [%d3];",
            "",
            "st.relaxed.gpu.global.v2.u64 [%d3], {%d4, %d4};",
            "st.release.gpu.global.v2.u64 [%d3], {%d5, %d5};",
        ),
        (
            "ld.volatile.v2.u32 {%r6, %r7}, [%d3];",
            "cvt.u64.u32 %d6, %r6; cvt.u64.u32 %d7, %r7;",
            "st.relaxed.gpu.v2.u32 [%d3], {0, 0};",
            "st.volatile.global.v2.u32 [%d3], {-1, -1};",
        ),
    ] {
        let body = format!(
            ".reg .b128 %wide, %none, %all;
            ld.param.u64 %d3, [out]; add.u64 %d3, %d3, 256; mov.u64 %d4, 0; mov.u64 %d5, -1;
            mov.b128 %none, {{%d4, %d4}}; mov.b128 %all, {{%d5, %d5}};
            atom.global.add.u32 %r3, [%d3+64], 1;
            MEET: ld.relaxed.gpu.global.u32 %r3, [%d3+64]; setp.lt.u32 %p1, %r3, 8; @%p1 bra MEET;
            mov.u32 %r1, 0; mov.u32 %r4, 0; and.b32 %r5, %r0, 1; setp.eq.u32 %p2, %r5, 0; @%p2 bra WRITE;
            READ: {load} {split} setp.ne.u64 %p3, %d6, %d7; @%p3 add.u32 %r1, %r1, 1;
            add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 60000; @%p1 bra READ; bra DONE;
            WRITE: {zeros} {ones} add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 60000; @%p1 bra WRITE;
            DONE:"
        );
        let kernel =
            device.kernel(&format!(".version 8.4\n.target sm_90\n.address_size 64\n{}", entry(&body))).unwrap();
        let out = device.buffer(&[0; 128]);
        device.launch(&kernel, Shape::new(8, 1), &[out]).unwrap_or_else(|fault| panic!("{load} {fault}"));
        assert_eq!(device.words(out, 8), [0; 8], "{load}");
    }
}

#[test]
fn a_register_that_nobody_wrote_is_zero_whatever_ran_before() {
    let body = "mov.u32 %r3, %ctaid.x; setp.eq.u32 %p1, %r3, 0; @%p1 mov.u32 %r4, 77; @%p1 mov.u64 %d5, 78; cvt.u32.u64 %r5, %d5;
        add.u32 %r1, %r4, %r5;";
    assert_eq!(Device::with_threads(1).run(&entry(body), Shape::new(4, 1)), [155, 0, 0, 0]);
}

#[test]
fn every_kind_of_fault_has_its_code_and_a_report() {
    let device = Device::default();
    let recursion = ".func endless(.param .b32 n) { .reg .b32 %r1; ld.param.b32 %r1, [n];
        { .param .b32 a; st.param.b32 [a], %r1; call endless, (a); } ret; }\n";
    let assertion =
        ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
        .global .align 1 .b8 text[2] = {120, 0};\n";
    let assert_call = "mov.u64 %d3, text; mov.u32 %r3, 7; mov.u64 %d4, 1; { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
        st.param.b64 [a], %d3; st.param.b64 [b], %d3; st.param.b32 [c], %r3; st.param.b64 [d], %d3; st.param.b64 [e], %d4;
        call __assertfail, (a, b, c, d, e); }";
    for (before, body, code, text) in [
        ("", "ld.global.u32 %r1, [%d1+4194304];", "CUDA_ERROR_ILLEGAL_ADDRESS", "which is not in device memory"),
        ("", "mov.u64 %d3, 0; ld.u32 %r1, [%d3];", "CUDA_ERROR_ILLEGAL_ADDRESS", "a null pointer"),
        ("", "atom.global.add.u32 %r1, [%d1+4194304], 1;", "CUDA_ERROR_ILLEGAL_ADDRESS", "atomic access of 4 bytes"),
        ("", "ld.global.u32 %r1, [%d1+1];", "CUDA_ERROR_MISALIGNED_ADDRESS", "not a multiple of 4"),
        (
            "",
            "mov.u32 %r3, 2; .shared .align 4 .b8 s[64]; ld.shared.u32 %r1, [%r3];",
            "CUDA_ERROR_MISALIGNED_ADDRESS",
            ".shared address 0x2",
        ),
        ("", "trap;", "CUDA_ERROR_LAUNCH_FAILED", "error: trap"),
        (
            "",
            "mov.u32 %r3, 48; bar.sync 1, %r3;",
            "CUDA_ERROR_ILLEGAL_INSTRUCTION",
            "barrier 1 for 48 threads: the number must be a multiple of 32",
        ),
        ("", "mov.u32 %r3, 0; bar.arrive 1, %r3;", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "barrier 1 for 0 threads"),
        (
            assertion,
            assert_call,
            "CUDA_ERROR_ASSERT",
            "assertion failed: x:7: x: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.",
        ),
        (
            recursion,
            "{ .param .b32 a; st.param.b32 [a], %r0; call endless, (a); }",
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "stack overflow",
        ),
        ("", "mov.u64 %d3, 64; P: .callprototype _ (); call %d3, (), P;", "CUDA_ERROR_INVALID_PC", "call of 0x40"),
    ] {
        let kernel =
            device.kernel(&format!("{before}{}", entry(body))).unwrap_or_else(|error| panic!("{body}: {error}"));
        let out = device.alloc(256);
        let fault = device.launch(&kernel, Shape::new(1, 32), &[out]).unwrap_err();
        assert_eq!(fault.code_name(), code, "{body}: {fault}");
        let report = fault.to_string();
        assert!(report.contains(text), "{body}: {report}");
        for part in ["kernel kernel", "CTA (0, 0, 0)", "thread (0, 0, 0)", "PTX line"] {
            assert!(report.contains(part), "{body}: no {part} in {report}");
        }
    }
}

/// Every way in which code refers to a variable: an access, an address with an offset, an access in a called function.
const VARIABLES: &str = ".version 8.0
.target sm_90
.address_size 64
.global .u32 counters[4];
.const .u32 step[2] = {1, 10};
.func bump() {
    .reg .b32 %r<2>; .reg .pred %p;
    ld.const.u32 %r0, [step+4];
    atom.global.add.u32 %r1, [counters+8], %r0;
    ret;
}
.visible .entry kernel(.param .u64 out) {
    .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .pred %p;
    ld.const.u32 %r0, [step];
    atom.global.add.u32 %r1, [counters], %r0;
    mov.u64 %d0, counters+4;
    atom.global.add.u32 %r2, [%d0], 2;
    call bump, ();
    ld.global.u32 %r3, [counters+8];
    mov.u64 %d1, step;
    cvta.const.u64 %d1, %d1;
    isspacep.const %p, %d1;
    selp.u32 %r4, 1, 0, %p;
    ld.param.u64 %d2, [out];
    st.global.u32 [%d2], %r1;
    st.global.u32 [%d2+4], %r2;
    st.global.u32 [%d2+8], %r3;
    st.global.u32 [%d2+12], %r4;
    ret;
}";

#[test]
fn one_code_serves_instances_with_variables_of_their_own() {
    let device = Device::with_threads(1);
    let first = device.kernel(VARIABLES).unwrap();
    let second = device.instance(&first);
    let out = device.alloc(16);
    for (kernel, expected) in [
        (&first, [0, 0, 10, 1]),
        (&first, [1, 2, 20, 1]),
        (&second, [0, 0, 10, 1]),
        (&first, [2, 4, 30, 1]),
        (&second, [1, 2, 20, 1]),
    ] {
        device.launch(kernel, Shape::new(1, 1), &[out]).unwrap();
        assert_eq!(device.words(out, 4), expected);
    }
}

#[test]
fn ctas_of_small_grids_are_divided_among_workers() {
    let device = Device::with_threads(2);
    for (grid, cta) in [(1, 1024), (1, 1000), (3, 640), (2, 129), (1, 31)] {
        let shape = Shape::new(grid, cta);
        let seen =
            device.run(&entry("mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r3, 10000, %r1;"), shape);
        let expected: Vec<u32> =
            (0..grid).flat_map(|block| (0..cta).map(move |thread| block * 10000 + thread)).collect();
        assert_eq!(seen, expected, "{grid} x {cta}");
    }
    // Threads of different warps that meet at a barrier: the CTA stays in one piece.
    let meet = "st.global.u32 [%d1], %r0; bar.sync 0; mov.u32 %r3, %ntid.x; sub.s32 %r3, %r3, 1; mov.u32 %r4, %tid.x;
        shl.b32 %r4, %r4, 1; sub.s32 %r3, %r3, %r4; mul.wide.s32 %d3, %r3, 4; add.s64 %d3, %d1, %d3;
        ld.global.u32 %r1, [%d3]; bar.sync 0;";
    assert_eq!(device.run(&entry(meet), Shape::new(1, 1024)), (0..1024).rev().collect::<Vec<_>>());
}

#[test]
fn kernels_that_take_turns_compute_with_their_own_parameters() {
    let device = Device::with_threads(1);
    let kernels: Vec<_> = (1..=6)
        .map(|factor| {
            let barrier = if factor % 2 == 0 { "bar.sync 0;" } else { "" };
            let text = format!(
                ".visible .entry kernel(.param .u64 out, .param .u32 a) {{ .reg .b32 %r<8>; .reg .b64 %d<4>; ld.param.u64 %d0, [out];
                ld.param.u32 %r0, [a]; mul.lo.u32 %r1, %r0, {factor}; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; {barrier}
                mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r2; mul.wide.u32 %d1, %r5, 4; add.u64 %d0, %d0, %d1;
                add.u32 %r6, %r1, %r5; st.global.u32 [%d0], %r6; ret; }}"
            );
            device.kernel(&text).unwrap()
        })
        .collect();
    for a in [10, 1000, 7] {
        for (kernel, factor) in kernels.iter().zip(1..) {
            let out = device.alloc(4 * 192);
            device.launch(kernel, Shape::new(3, 64), &[out, a]).unwrap();
            let expected: Vec<u32> = (0..192).map(|thread| a as u32 * factor + thread).collect();
            assert_eq!(device.words(out, 192), expected, "{a} {factor}");
        }
    }
}
