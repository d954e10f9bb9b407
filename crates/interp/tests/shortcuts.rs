//! What decoding does ahead of a kernel, or in one instruction for many, gives what the plain instructions give.

use warploom_interp::{Processor, Steps};
use warploom_interp_testing::{Device, Shape};
use warploom_ptx::ir::{FunctionId, Step};
use warploom_ptx::{Options, load};

const PROCESSORS: [Processor; 3] = [Processor::Baseline, Processor::V3, Processor::V4];

const REGISTERS: &str = ".reg .b32 %r<20>; .reg .b64 %d<10>; .reg .pred %p<10>; .reg .f32 %f<40>;";

/// Global thread number in `%r0`, its word of `out` in `%d1`.
const PLACE: &str =
    "mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mov.u32 %r12, %tid.x; mad.lo.u32 %r0, %r10, %r11, %r12;
    ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d1, %d2;";

#[test]
fn what_is_computed_ahead_belongs_to_its_launch_and_cta() {
    for barrier in ["", "bar.sync 0;"] {
        // One worker, so that frames are used again and again.
        let device = Device::with_threads(1);
        let ptx = format!(
            ".const .u32 c = 7;
            .visible .entry kernel(.param .u64 out, .param .u64 a) {{ {REGISTERS} {PLACE}
            ld.param.u32 %r1, [a]; ld.const.u32 %r2, [c]; mul.lo.u32 %r3, %r1, %r2; mul.lo.u32 %r4, %r10, %r3;
            mul.lo.u32 %r5, %r12, %r3; setp.gt.u32 %p1, %r12, 40; setp.gt.u32 %p2, %r10, 1; {barrier}
            add.u32 %r6, %r4, %r5; selp.u32 %r7, 1000000, 0, %p1; selp.u32 %r8, 2000000, 0, %p2;
            add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r8; st.global.u32 [%d1], %r6; ret; }}"
        );
        let kernel = device.kernel(&ptx).unwrap();
        for (a, ctas, threads) in [(3, 4, 96), (5, 4, 96), (5, 2, 50), (11, 3, 128)] {
            let out = device.alloc(4 * u64::from(ctas * threads));
            device.launch(&kernel, Shape::new(ctas, threads), &[out, u64::from(a)]).unwrap();
            let expected: Vec<u32> = (0..ctas * threads)
                .map(|i| (i / threads, i % threads))
                .map(|(cta, tid)| {
                    (cta + tid) * 7 * a + u32::from(tid > 40) * 1_000_000 + u32::from(cta > 1) * 2_000_000
                })
                .collect();
            assert_eq!(device.words(out, expected.len()), expected, "{a} {ctas} {threads} {barrier}");
        }
    }
}

/// Loads and products as compilers unroll them: `count` factors from `first` (the same in all lanes) and from `second` (one for each
/// lane, `stride` bytes on each time), summed up from `%f0` to `%f0`.
fn unrolled(space: &str, first: &str, second: &str, stride: usize, count: usize) -> String {
    let mut text = String::new();
    for k in 0..count {
        let (a, b, from, to) =
            (2 * k + 4, 2 * k + 5, if k == 0 { 0 } else { k + 20 }, if k + 1 == count { 0 } else { k + 21 });
        let (at, place) = (4 * k, stride * k);
        text.push_str(&format!(
            "ld.{space}.f32 %f{a}, [{first}+{at}];\nld.{space}.f32 %f{b}, [{second}+{place}];\nfma.rn.f32 %f{to}, %f{a}, %f{b}, %f{from};\n"
        ));
    }
    text
}

#[test]
fn sums_of_products_of_shared_memory() {
    let device = Device::default();
    let sum = unrolled("shared", "%r13", "%r14", 256, 4);
    // The first factors are 0, 1, 2, 3, the second ones 100 k + tid; three times, from tid on.
    let ptx = format!(
        ".visible .entry kernel(.param .u64 out) {{ {REGISTERS} .shared .align 4 .b8 a[256]; .shared .align 4 .b8 b[1024]; {PLACE}
        mov.u32 %r13, a; mov.u32 %r14, b; shl.b32 %r1, %r12, 2; add.u32 %r2, %r13, %r1; add.u32 %r14, %r14, %r1;
        cvt.rn.f32.u32 %f1, %r12; st.shared.f32 [%r2], %f1; st.shared.f32 [%r14], %f1; add.f32 %f2, %f1, 0f42C80000;
        st.shared.f32 [%r14+256], %f2; add.f32 %f2, %f2, 0f42C80000; st.shared.f32 [%r14+512], %f2; add.f32 %f2, %f2, 0f42C80000;
        st.shared.f32 [%r14+768], %f2; mov.f32 %f0, %f1; mov.u32 %r5, 0; bar.sync 0;
        L: {sum} add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra L;
        cvt.rzi.u32.f32 %r6, %f0; st.global.u32 [%d1], %r6; ret; }}"
    );
    // With 48 threads the second warp has 16 lanes.
    for (threads, processor) in
        [64, 48].into_iter().flat_map(|threads| PROCESSORS.map(|processor| (threads, processor)))
    {
        let kernel = device.kernel_for(&ptx, processor).unwrap();
        let out = device.alloc(4 * u64::from(threads));
        device.launch(&kernel, Shape::new(1, threads), &[out]).unwrap();
        let expected: Vec<u32> =
            (0..threads).map(|tid| tid + 3 * (0..4).map(|k| k * (100 * k + tid)).sum::<u32>()).collect();
        assert_eq!(device.words(out, expected.len()), expected, "{threads} {processor:?}");
    }
}

#[test]
fn sums_that_share_factors_and_addresses_between_them() {
    let device = Device::default();
    // Two sums of three products each, the addresses of the second factors computed as it goes.
    let ptx = format!(
        ".visible .entry kernel(.param .u64 out, .param .u64 a, .param .u64 b) {{ {REGISTERS} {PLACE}
        ld.param.u64 %d3, [a]; ld.param.u64 %d4, [b]; mul.wide.u32 %d5, %r12, 4; add.u64 %d5, %d4, %d5;
        mov.f32 %f0, 0f3F800000; mov.f32 %f1, 0f40000000;
        ld.global.f32 %f2, [%d3]; ld.global.f32 %f3, [%d5]; fma.rn.f32 %f4, %f2, %f3, %f0; fma.rn.f32 %f5, %f3, %f3, %f1;
        add.u64 %d6, %d5, 128; ld.global.f32 %f6, [%d3+4]; ld.global.f32 %f7, [%d6]; fma.rn.f32 %f8, %f6, %f7, %f4;
        fma.rn.f32 %f9, %f7, %f2, %f5; add.u64 %d7, %d6, 128; ld.global.f32 %f10, [%d3+8]; ld.global.f32 %f11, [%d7];
        fma.rn.f32 %f12, %f10, %f11, %f8; fma.rn.f32 %f13, %f11, %f6, %f9;
        mul.f32 %f14, %f13, 0f447A0000; add.f32 %f14, %f14, %f12;
        cvt.rzi.u32.f32 %r6, %f14; st.global.u32 [%d1], %r6; ret; }}"
    );
    let kernel = device.kernel(&ptx).unwrap();
    let a = device.buffer(&[2.0f32, 3.0, 5.0].map(f32::to_bits));
    let values: Vec<u32> = (0..96).map(|i| (i % 7) as f32).map(f32::to_bits).collect();
    let b = device.buffer(&values);
    let out = device.alloc(128);
    device.launch(&kernel, Shape::new(1, 32), &[out, a, b]).unwrap();
    let at = |i: u32| i % 7;
    let expected: Vec<u32> = (0..32)
        .map(|t| {
            let first = 1 + 2 * at(t) + 3 * at(t + 32) + 5 * at(t + 64);
            let second = 2 + at(t) * at(t) + 2 * at(t + 32) + 3 * at(t + 64);
            1000 * second + first
        })
        .collect();
    assert_eq!(device.words(out, 32), expected);
}

#[test]
fn a_sum_that_has_met_no_number_is_the_canonical_nan() {
    let device = Device::default();
    let sum = unrolled("global", "%d3", "%d5", 128, 4);
    let ptx = format!(
        ".visible .entry kernel(.param .u64 out, .param .u64 a, .param .u64 b) {{ {REGISTERS} {PLACE}
        ld.param.u64 %d3, [a]; ld.param.u64 %d4, [b]; mul.wide.u32 %d5, %r12, 4; add.u64 %d5, %d4, %d5; mov.f32 %f0, 0f3F800000;
        {sum} st.global.f32 [%d1], %f0; ret; }}"
    );
    let kernel = device.kernel(&ptx).unwrap();
    let a = device.buffer(&[1.0f32, f32::INFINITY, 1.0, 1.0].map(f32::to_bits));
    let mut values = vec![1.0f32.to_bits(); 128];
    values[32 + 5] = 0;
    values[64 + 9] = 0xffc1_2345;
    let b = device.buffer(&values);
    let out = device.alloc(128);
    device.launch(&kernel, Shape::new(1, 32), &[out, a, b]).unwrap();
    let expected: Vec<u32> =
        (0..32).map(|lane| if [5, 9].contains(&lane) { 0x7fff_ffff } else { f32::INFINITY.to_bits() }).collect();
    assert_eq!(device.words(out, 32), expected);
}

#[test]
fn a_factor_outside_memory_is_reported_where_it_is_loaded() {
    let device = Device::default();
    let sum = unrolled("global", "%d3", "%d5", 128, 4);
    let ptx = format!(
        ".visible .entry kernel(.param .u64 out, .param .u64 a, .param .u64 b) {{ {REGISTERS} {PLACE}
        ld.param.u64 %d3, [a]; ld.param.u64 %d4, [b]; mul.wide.u32 %d5, %r12, 4; add.u64 %d5, %d4, %d5; mov.f32 %f0, 0f3F800000;\n{sum}
        st.global.f32 [%d1], %f0; ret; }}"
    );
    let kernel = device.kernel(&ptx).unwrap();
    let (a, b, out) = (device.alloc(256), device.alloc(256), device.alloc(256));
    let fault = device.launch(&kernel, Shape::new(1, 32), &[out, a, b]).unwrap_err();
    assert_eq!(fault.code_name(), "CUDA_ERROR_ILLEGAL_ADDRESS");
    let whole = ptx.lines().position(|line| line.contains("[%d5+256]")).unwrap() as u32 + 1;
    assert_eq!(fault.place.ptx_line, Some(whole + 3), "{fault}");
}

#[test]
fn masked_lanes_keep_their_registers_on_every_processor() {
    let device = Device::default();
    // The body of each lane runs as often as its number says.
    let ptx = format!(
        ".visible .entry kernel(.param .u64 out) {{ {REGISTERS} {PLACE} and.b32 %r5, %r12, 31; mov.u32 %r6, 0; mov.u64 %d5, 5;
        L: setp.eq.u32 %p1, %r5, 0; @%p1 bra E; mad.lo.u32 %r6, %r6, 3, %r5; mad.lo.u64 %d5, %d5, 7, 1; add.u32 %r5, %r5, -1; bra L;
        E: cvt.u32.u64 %r7, %d5; shr.u64 %d6, %d5, 32; cvt.u32.u64 %r8, %d6; xor.b32 %r7, %r7, %r8; xor.b32 %r6, %r6, %r7;
        st.global.u32 [%d1], %r6; ret; }}"
    );
    let expected: Vec<u32> = (0..32u32)
        .map(|lane| {
            let (mut word, mut double) = (0u32, 5u64);
            for left in (1..=lane).rev() {
                word = word.wrapping_mul(3).wrapping_add(left);
                double = double.wrapping_mul(7).wrapping_add(1);
            }
            word ^ double as u32 ^ (double >> 32) as u32
        })
        .collect();
    for processor in PROCESSORS {
        let kernel = device.kernel_for(&ptx, processor).unwrap();
        let out = device.alloc(128);
        device.launch(&kernel, Shape::new(1, 32), &[out]).unwrap();
        assert_eq!(device.words(out, 32), expected, "{processor:?}");
    }
}

#[test]
fn shuffles_of_all_lanes_and_of_some() {
    let device = Device::default();
    for (mode, source) in [
        ("bfly.b32 %r6|%p2, %r5, 5, 31, -1;", (|lane| lane ^ 5) as fn(u32) -> u32),
        ("up.b32 %r6|%p2, %r5, 3, 0, -1;", |lane| if lane >= 3 { lane - 3 } else { lane }),
        ("down.b32 %r6|%p2, %r5, 3, 0x101f, -1;", |lane| if lane % 16 + 3 < 16 { lane + 3 } else { lane }),
        ("idx.b32 %r6|%p2, %r5, 7, 0x181f, -1;", |lane| lane / 8 * 8 + 7),
    ] {
        let ptx = format!(
            ".visible .entry kernel(.param .u64 out) {{ {REGISTERS} {PLACE} mad.lo.u32 %r5, %r12, 10, 1; mov.u32 %r6, 0;
            shfl.sync.{mode} selp.u32 %r7, 1000, 0, %p2; add.u32 %r6, %r6, %r7; st.global.u32 [%d1], %r6; ret; }}"
        );
        let words = device.run(&ptx, Shape::new(1, 32));
        let inside = |lane: u32| source(lane) != lane || mode.starts_with("idx");
        let expected: Vec<u32> =
            (0..32).map(|lane| source(lane) * 10 + 1 + if inside(lane) { 1000 } else { 0 }).collect();
        assert_eq!(words, expected, "{mode}");
    }
}

#[test]
fn how_addresses_lie_is_found_out_anew_where_that_changes() {
    let device = Device::default();
    let words: Vec<u32> = (0..256).map(|i| i * i + 1).collect();
    let a = device.buffer(&words);
    // With a barrier, what comes from `%tid` is computed ahead of the kernel.
    for (barrier, processor) in
        ["", "bar.sync 0;"].into_iter().flat_map(|barrier| PROCESSORS.map(|processor| (barrier, processor)))
    {
        let ptx = format!(
            ".visible .entry kernel(.param .u64 out, .param .u64 a) {{ {REGISTERS} {PLACE} {barrier} ld.param.u64 %d3, [a];
            mul.wide.u32 %d4, %r12, 4; add.u64 %d5, %d3, %d4; ld.global.u32 %r1, [%d5]; add.u64 %d5, %d5, 64; ld.global.u32 %r2, [%d5];
            mul.wide.u32 %d4, %r12, 8; add.u64 %d6, %d3, %d4; ld.global.u32 %r3, [%d6]; add.u64 %d7, %d4, %d3; ld.global.u32 %r4, [%d7+4];
            mul.wide.u32 %d8, %r12, 12; add.u64 %d9, %d3, %d8; ld.global.u32 %r5, [%d9]; ld.global.u32 %r6, [%d3];
            mad.lo.u32 %r1, %r2, 3, %r1; mad.lo.u32 %r1, %r3, 5, %r1; mad.lo.u32 %r1, %r4, 7, %r1; mad.lo.u32 %r1, %r5, 11, %r1;
            mad.lo.u32 %r1, %r6, 13, %r1; st.global.u32 [%d1], %r1; ret; }}"
        );
        let kernel = device.kernel_for(&ptx, processor).unwrap();
        let out = device.alloc(256);
        device.launch(&kernel, Shape::new(1, 64), &[out, a]).unwrap();
        let sum = |t: usize| {
            let parts =
                [(1, t), (3, t + 16), (5, 2 * t), (7, 2 * t + 1), (11, 3 * t), (13, 0)].map(|(f, at)| f * words[at]);
            parts.iter().sum::<u32>()
        };
        let expected: Vec<u32> = (0..64).map(sum).collect();
        assert_eq!(device.words(out, 64), expected, "{barrier} {processor:?}");
    }
}

#[test]
fn a_step_has_rows_for_its_own_registers_alone() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {\n\
                .reg .b32 %r<2000>; .reg .b64 %d<1000>;\n\
                wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1990, %r1991, %r1992, %r1993, %r1994, %r1995, %r1996, %r1997}, [%d990], %r1998;\n\
                ret;\n}\n";
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let body = module.functions[0].body.as_ref().expect("a kernel has code");
    let step = Step::of(FunctionId(0), 0, &body.insts[0]);
    let steps = Steps::new(&module, FunctionId(0), &[step], Processor::default()).expect("decodes");
    assert_eq!(steps.rows(), [9, 1]);
}
