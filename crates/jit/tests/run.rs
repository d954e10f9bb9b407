//! Compiled kernels run, and give what they should: behind each stands an executor that must not be asked.
//!
//! More of what they compute is tested with every executor: the filetests run with `WARPLOOM_JIT=always` too.

mod device;

use std::sync::Arc;
use std::time::{Duration, Instant};

use device::{Device, Nobody};
use warploom_exec::fault::{FaultKind, Refusal};
use warploom_exec::pool::PoolOptions;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Target, tiered};
use warploom_ptx::ir::{FunctionId, FunctionKind};
use warploom_ptx::{Options, load};

/// Runs the first kernel of a filetest of analysis, compiled.
fn run(device: &Device, target: Target, file: &str, grid: [u32; 3], cta: [u32; 3], params: &[&[u8]]) {
    let path = format!("{}/../../tests/filetests/analyze/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
    run_text(device, target, &std::fs::read_to_string(path).expect("file"), grid, cta, params);
}

/// Runs the first kernel of a text.
fn run_text(device: &Device, target: Target, text: &str, grid: [u32; 3], cta: [u32; 3], params: &[&[u8]]) {
    start_text(device, target, text, grid, cta, params);
    device.stream.synchronize();
}

/// Starts it.
fn start_text(device: &Device, target: Target, text: &str, grid: [u32; 3], cta: [u32; 3], params: &[&[u8]]) {
    let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let first = module.functions.iter().position(|function| function.kind == FunctionKind::Kernel).expect("kernel");
    let id = FunctionId(first as u32);
    let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
    let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style: warploom_jit::Style::Chosen, report };
    device.start(&module.functions[first], tiered(jit, &module, id, Arc::new(Nobody)), grid, cta, params);
}

fn floats(numbers: impl IntoIterator<Item = f32>) -> Vec<u32> {
    numbers.into_iter().map(f32::to_bits).collect()
}

#[test]
fn lanes_in_a_row_and_a_last_gang_that_is_not_full() {
    for count in [1u32, 15, 16, 17, 255, 256, 257, 1000] {
        let device = Device::new();
        let xs = device.buffer(&floats((0..count).map(|at| at as f32)));
        let ys = device.buffer(&floats((0..count).map(|at| 0.5 * at as f32)));
        let params: [&[u8]; 4] = [&count.to_le_bytes(), &3f32.to_le_bytes(), &xs.to_le_bytes(), &ys.to_le_bytes()];
        run(&device, Target::Host, "saxpy", [count.div_ceil(250), 1, 1], [250, 1, 1], &params);
        assert!(device.engine.fault().is_none());
        assert_eq!(device.words(ys, count as usize), floats((0..count).map(|at| 3.5 * at as f32)), "{count}");
    }
}

/// What threads read from memory of the CTA before their own place, as far as there is something: the first ones' addresses wrap around, and they do not run it.
fn before(by: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u64 out)\n{{\n\
         .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .pred %p<4>; .shared .align 4 .b8 tile[512];\n\
         ld.param.u64 %d1, [data]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3;\n\
         mov.u64 %d5, tile; add.s64 %d6, %d5, %d3; ld.global.u32 %r2, [%d4]; st.shared.u32 [%d6], %r2; bar.sync 0;\n\
         setp.lt.u32 %p1, %r1, {by}; mov.u32 %r4, 7; @%p1 bra E;\n\
         sub.u32 %r3, %r1, {by}; mul.wide.u32 %d7, %r3, 4; add.s64 %d8, %d5, %d7; ld.shared.u32 %r5, [%d8];\n\
         add.s64 %d9, %d1, %d7; ld.global.u32 %r6, [%d9]; mad.lo.u32 %r4, %r5, 3, %r6;\n\
         E: add.s64 %d10, %d2, %d3; st.global.u32 [%d10], %r4; ret;\n}}\n"
    )
}

#[test]
fn lanes_that_run_go_to_a_row_though_others_wrap_around() {
    for target in [Target::Host, Target::V3] {
        for by in [1u32, 4, 16, 31, 33, 100, 127] {
            let device = Device::new();
            let data: Vec<u32> = (0..128).map(|at| at * at + 5).collect();
            let (d, o) = (device.buffer(&data), device.buffer(&[0; 128]));
            let params: [&[u8]; 2] = [&d.to_le_bytes(), &o.to_le_bytes()];
            run_text(&device, target, &before(&by.to_string()), [1, 1, 1], [128, 1, 1], &params);
            assert!(device.engine.fault().is_none());
            let expected: Vec<u32> =
                (0..128).map(|at| if at < by { 7 } else { 4 * data[(at - by) as usize] }).collect();
            assert_eq!(device.words(o, 128), expected, "{by}, {target:?}");
        }
    }
}

/// More than the caches of two workers hold several times over: rows of whole lines go past them.
#[test]
fn results_of_large_grids_are_all_there() {
    const COUNT: u32 = 16 << 20;
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
                .reg .b32 %r<9>; .reg .b64 %d<9>; ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;\n\
                mad.lo.u32 %r3, %r1, 256, %r2; mul.wide.u32 %d2, %r3, 4; add.s64 %d3, %d1, %d2; mul.lo.u32 %r4, %r3, 3;\n\
                st.global.u32 [%d3], %r4;\nret;\n}\n";
    for target in [Target::Host, Target::V3] {
        // At the beginning of a line, and in the middle of one.
        for skipped in [0, 1] {
            let device = Device::new();
            let out = device.buffer(&vec![0; COUNT as usize + 1]);
            let from = out + 4 * skipped;
            run_text(&device, target, text, [COUNT / 256, 1, 1], [256, 1, 1], &[&from.to_le_bytes()]);
            assert!(device.engine.fault().is_none());
            let words = device.words(from, COUNT as usize);
            let wrong = words.iter().zip(0u32..).position(|(word, at)| *word != at.wrapping_mul(3));
            assert_eq!(wrong, None, "{target:?}, {skipped}");
        }
    }
}

/// Each thread adds 3 and its own number to the places that its key names, by an index and by an address; the first of them stands in line 9.
const KEYS: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 keys, .param .u64 one, .param .u64 other)
{
.reg .b32 %r<9>; .reg .b64 %d<9>; ld.param.u64 %d1, [keys]; ld.param.u64 %d2, [one]; ld.param.u64 %d3, [other];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 128, %r2; mul.wide.u32 %d4, %r3, 4; add.s64 %d5, %d1, %d4;
ld.global.u32 %r4, [%d5]; mul.wide.u32 %d6, %r4, 4; add.s64 %d7, %d2, %d6;
red.global.add.u32 [%d7], 3;
cvt.u64.u32 %d6, %r4; shl.b64 %d6, %d6, 2; sub.s64 %d8, %d3, %d6; red.global.add.u32 [%d8], %r3;
ret;
}
";

/// Sums are kept by word of small memory, and by place of large one: a row's most words, and one more.
#[test]
fn sums_are_all_there_whatever_the_memory() {
    const THREADS: u32 = 128 * 300;
    // Memory that is come to first has what is kept.
    let by_index = "red.global.add.u32 [%d7], 3;\n";
    let texts = [KEYS.to_owned(), KEYS.replace(by_index, "").replace("ret;", &format!("{by_index}ret;"))];
    for (target, text) in
        [Target::Host, Target::V3].into_iter().flat_map(|target| texts.each_ref().map(|text| (target, text)))
    {
        for count in [5, 1 << 15, (1 << 15) + 1, 1 << 20] {
            let device = Device::new();
            let key = |thread: u32| thread.wrapping_mul(2_654_435_761) % count;
            let keys = device.buffer(&(0..THREADS).map(key).collect::<Vec<_>>());
            let (one, other) = (device.buffer(&vec![1; count as usize]), device.buffer(&vec![7; count as usize]));
            let last = other + 4 * u64::from(count - 1);
            let params: [&[u8]; 3] = [&keys.to_le_bytes(), &one.to_le_bytes(), &last.to_le_bytes()];
            run_text(&device, target, text, [300, 1, 1], [128, 1, 1], &params);
            assert!(device.engine.fault().is_none());
            let (mut threes, mut threads) = (vec![1; count as usize], vec![7u32; count as usize]);
            for thread in 0..THREADS {
                threes[key(thread) as usize] += 3;
                threads[(count - 1 - key(thread)) as usize] += thread;
            }
            assert!(device.words(one, count as usize) == threes, "{target:?}, {count}");
            assert!(device.words(other, count as usize) == threads, "{target:?}, {count}");
        }
    }
}

/// One worker comes to so many places that a table of them pays no more: from some CTA on it adds at once.
#[test]
fn sums_are_all_there_where_keeping_them_does_not_pay() {
    const CTAS: u32 = 1200;
    const COUNT: u32 = 1 << 20;
    for target in [Target::Host, Target::V3] {
        let device = Device::with_pool(PoolOptions { threads: 1, ..PoolOptions::default() });
        let key = |thread: u32| thread.wrapping_mul(2_654_435_761) % COUNT;
        let keys = device.buffer(&(0..128 * CTAS).map(key).collect::<Vec<_>>());
        let (one, other) = (device.buffer(&vec![1; COUNT as usize]), device.buffer(&vec![7; COUNT as usize]));
        let last = other + 4 * u64::from(COUNT - 1);
        let params: [&[u8]; 3] = [&keys.to_le_bytes(), &one.to_le_bytes(), &last.to_le_bytes()];
        run_text(&device, target, KEYS, [CTAS, 1, 1], [128, 1, 1], &params);
        assert!(device.engine.fault().is_none());
        let (mut threes, mut threads) = (vec![1; COUNT as usize], vec![7u32; COUNT as usize]);
        for thread in 0..128 * CTAS {
            threes[key(thread) as usize] += 3;
            let there = &mut threads[(COUNT - 1 - key(thread)) as usize];
            *there = there.wrapping_add(thread);
        }
        assert!(device.words(one, COUNT as usize) == threes, "{target:?}");
        assert!(device.words(other, COUNT as usize) == threads, "{target:?}");
    }
}

#[test]
fn sums_beside_a_row_are_refused() {
    for target in [Target::Host, Target::V3] {
        let device = Device::new();
        let keys: Vec<u32> = (0..1280).map(|thread| if thread == 1000 { 64 } else { thread % 64 }).collect();
        let keys = device.buffer(&keys);
        let (one, other) = (device.buffer(&[0; 64]), device.buffer(&[0; 65]));
        let last = other + 4 * 64;
        let params: [&[u8]; 3] = [&keys.to_le_bytes(), &one.to_le_bytes(), &last.to_le_bytes()];
        run_text(&device, target, KEYS, [10, 1, 1], [128, 1, 1], &params);
        let fault = device.engine.fault().expect("a fault");
        let FaultKind::Access(access) = &fault.kind else { panic!("{fault}") };
        assert_eq!((access.refusal, access.address), (Refusal::Unmapped, one + 256));
        assert_eq!((fault.place.ptx_line, fault.thread, fault.cta), (Some(9), Some([104, 0, 0]), Some([7, 0, 0])));
    }
}

#[test]
fn lanes_leave_a_loop_in_different_trips() {
    [Target::Host, Target::V3].into_iter().for_each(lanes_leave_a_loop);
}

fn lanes_leave_a_loop(target: Target) {
    let device = Device::new();
    let inputs: Vec<f32> = (0..128).map(|at| at as f32 / 64.0 - 0.25).collect();
    let data = device.buffer(&floats(inputs.iter().copied()));
    let out = device.buffer(&[0; 128]);
    run(&device, target, "divergent_loop", [1, 1, 1], [128, 1, 1], &[&data.to_le_bytes(), &out.to_le_bytes()]);
    let trips = inputs.iter().map(|input| {
        let (mut trips, mut sum) = (0u32, 0f32);
        loop {
            trips += 1;
            sum = input.mul_add(2.0 * trips as f32, sum);
            if sum > 100.0 || 2 * trips >= 1000 {
                return trips;
            }
        }
    });
    assert_eq!(device.words(out, 128), trips.collect::<Vec<_>>());
}

/// Four words of each thread behind each other, loaded and stored in several orders, with what must come between them.
const QUADS: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out)
{
  .reg .b32 %r<16>; .reg .b64 %d<16>; .shared .align 16 .b8 tile[1024];
  ld.param.u64 %d1, [data]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x;
  mul.wide.u32 %d3, %r1, 16; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
  ld.global.u32 %r4, [%d4+8]; ld.global.u32 %r2, [%d4]; add.u32 %r4, %r4, 1; ld.global.u32 %r5, [%d4+12]; ld.global.u32 %r3, [%d4+4];
  // Downwards, in another order.
  mov.u64 %d6, tile; xor.b32 %r6, %r1, 63; mul.wide.u32 %d7, %r6, 16; add.s64 %d7, %d6, %d7; sub.u32 %r7, 63, %r1; mul.wide.u32 %d8, %r7, 16; add.s64 %d8, %d6, %d8;
  st.shared.u32 [%d8+12], %r5; st.shared.u32 [%d8], %r2; st.shared.u32 [%d8+4], %r3; st.shared.u32 [%d8+8], %r4;
  bar.sync 0;
  // A store between loads.
  add.s64 %d9, %d6, %d3;
  ld.shared.u32 %r8, [%d9]; ld.shared.u32 %r9, [%d9+4]; st.shared.u32 [%d9+8], %r1; ld.shared.u32 %r10, [%d9+8]; ld.shared.u32 %r11, [%d9+12];
  st.global.u32 [%d5], %r8; st.global.u32 [%d5+4], %r9; st.global.u32 [%d5+8], %r10; st.global.u32 [%d5+12], %r11;
  bar.sync 0;
  // A base that changes between loads.
  ld.shared.u32 %r12, [%d9]; ld.shared.u32 %r13, [%d9+4]; mov.u64 %d10, %d9; and.b32 %r6, %r1, 31; mul.wide.u32 %d9, %r6, 16; add.s64 %d9, %d6, %d9;
  ld.shared.u32 %r14, [%d9+8]; ld.shared.u32 %r15, [%d9+12];
  // One word twice: the last one stays.
  st.global.u32 [%d5+1024], %r12; st.global.u32 [%d5+1028], %r13; st.global.u32 [%d5+1032], %r14; st.global.u32 [%d5+1032], %r15; st.global.u32 [%d5+1036], %r14;
  // Vectors.
  ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%d10];
  st.global.v4.u32 [%d5+2048], {%r5, %r4, %r3, %r2};
  ret;
}
";

#[test]
fn four_words_of_each_thread_go_where_they_belong() {
    for target in [Target::Host, Target::V3] {
        let device = Device::new();
        let numbers: Vec<u32> = (0..256u32).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
        let (data, out) = (device.buffer(&numbers), device.buffer(&[0; 768]));
        run_text(&device, target, QUADS, [1, 1, 1], [64, 1, 1], &[&data.to_le_bytes(), &out.to_le_bytes()]);
        let quad = |thread: usize| {
            let from = 4 * (63 - thread);
            [numbers[from], numbers[from + 1], thread as u32, numbers[from + 3]]
        };
        let mut expected = vec![0; 768];
        for thread in 0..64 {
            let ([a, b, c, d], [_, _, third, fourth]) = (quad(thread), quad(thread % 32));
            expected[4 * thread..][..4].copy_from_slice(&[a, b, c, d]);
            expected[256 + 4 * thread..][..4].copy_from_slice(&[a, b, fourth, third]);
            expected[512 + 4 * thread..][..4].copy_from_slice(&[d, c, b, a]);
        }
        assert_eq!(device.words(out, 768), expected);
        assert!(device.engine.fault().is_none());
    }
}

#[test]
fn gangs_meet_at_barriers() {
    [Target::Host, Target::V3].into_iter().for_each(meet_at_barriers);
}

fn meet_at_barriers(target: Target) {
    let device = Device::new();
    let width = 48u32;
    let numbers: Vec<f32> = (0..16 * width).map(|at| (at * 7 % 31) as f32).collect();
    let data = device.buffer(&floats(numbers.iter().copied()));
    let out = device.buffer(&vec![0; (16 * width) as usize]);
    let params: [&[u8]; 3] = [&width.to_le_bytes(), &data.to_le_bytes(), &out.to_le_bytes()];
    run(&device, target, "tile", [1, 1, 1], [16, 16, 1], &params);
    let mut expected = vec![0f32; (16 * width) as usize];
    for (x, y) in (0..16).flat_map(|x| (0..16).map(move |y| (x, y))) {
        let at = |column: usize| numbers[y * width as usize + column];
        let sum = (0..width as usize).step_by(16).fold(0f32, |sum, tile| at(tile + 1).mul_add(at(tile + x), sum));
        expected[x * width as usize + y] = sum;
    }
    assert_eq!(device.words(out, expected.len()), floats(expected));
}

#[test]
fn what_is_refused_is_reported_with_line_and_thread() {
    let device = Device::new();
    let xs = device.buffer(&[0; 128]);
    let ys = device.buffer(&[0; 64]);
    let params: [&[u8]; 4] = [&128u32.to_le_bytes(), &1f32.to_le_bytes(), &xs.to_le_bytes(), &ys.to_le_bytes()];
    run(&device, Target::Host, "saxpy", [1, 1, 1], [128, 1, 1], &params);
    let fault = device.engine.fault().expect("a fault");
    let FaultKind::Access(access) = &fault.kind else { panic!("{fault}") };
    assert_eq!((access.refusal, access.address), (Refusal::Unmapped, ys + 256));
    assert_eq!((fault.place.ptx_line, fault.thread, fault.cta), (Some(29), Some([64, 0, 0]), Some([0; 3])));
}

/// A fragment of doubles from shared memory of 256 bytes, whose place and distance of rows are for the test to say.
fn fragment(place: &str, apart: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n.reg .b64 %p, %s, %t; .reg .b32 %r, %q;\n\
         .reg .f64 %f; .shared .align 8 .f64 all[32];\nld.param.u64 %p, [out]; mov.u32 %r, %tid.x; mul.wide.u32 %t, %r, 8; mov.u64 %s, all;\n\
         add.u64 %t, %t, %s; cvt.rn.f64.u32 %f, %r; st.shared.f64 [%t], %f; bar.sync 0; cvta.shared.u64 %t, %s; mov.u32 %q, 4;\n{place}\n\
         wmma.load.a.sync.aligned.row.m8n8k4.f64 {{%f}}, [%t], {apart};\n\
         mul.wide.u32 %t, %r, 4; add.u64 %p, %p, %t; cvt.rzi.u32.f64 %r, %f; st.global.u32 [%p], %r;\nret;\n}}\n"
    )
}

#[test]
fn fragments_of_doubles_are_refused_where_they_leave_shared_memory() {
    for target in [Target::Host, Target::V3] {
        let loads = |place: &str, apart: &str| {
            let device = Device::new();
            let out = device.buffer(&[99; 32]);
            run_text(&device, target, &fragment(place, apart), [1, 1, 1], [32, 1, 1], &[&out.to_le_bytes()]);
            device.engine.fault().map_or_else(|| Ok(device.words(out, 32)), |fault| Err(fault.to_string()))
        };
        let whole: Vec<u32> = (0..32).collect();
        assert_eq!(loads("", "4"), Ok(whole.clone()), "{target:?}");
        assert_eq!(loads("", "%q"), Ok(whole), "{target:?}");
        let near: Vec<u32> = (0..32).map(|lane| 3 * (lane / 4) + lane % 4 + 7).collect();
        assert_eq!(loads("add.u64 %t, %t, 56;", "3"), Ok(near), "{target:?}");
        for (place, apart, why) in [
            ("add.u64 %t, %t, 8;", "4", "load of 8 bytes at .shared address 0x100; there are 256 bytes"),
            ("", "5", "at .shared address 0x100; there are 256 bytes"),
            ("sub.u64 %t, %t, 8;", "3", "illegal address"),
            ("add.u64 %t, %t, 4;", "3", "misaligned"),
            ("mul.wide.u32 %s, %r, 8; add.u64 %t, %t, %s;", "0", "not the same in all threads"),
            ("and.b32 %q, %r, 1;", "%q", "not the same in all threads"),
        ] {
            let refused = loads(place, apart).expect_err(place);
            assert!(refused.contains(why), "{target:?} {place}: {refused}");
        }
    }
}

/// Two tiles from shared memory of 256 bytes, whose words are numbered, or into it, at the addresses `%s` that the test makes of each lane's own row; what the second register or
/// the upper half of the memory holds then.
fn tiles(place: &str, moves: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n.reg .b64 %p, %t; .reg .b32 %r, %s, %a, %b, %x; .reg .pred %q;\n\
         .shared .align 16 .b32 all[64];\nld.param.u64 %p, [out]; mov.u32 %r, %tid.x; mov.u32 %a, all; mad.lo.u32 %a, %r, 4, %a;\n\
         st.shared.u32 [%a], %r; add.u32 %b, %r, 32; st.shared.u32 [%a+128], %b; bar.sync 0; and.b32 %s, %r, 15; mul.lo.u32 %s, %s, 16;\n\
         mov.u32 %x, all; add.u32 %s, %s, %x; mov.u32 %a, 0; mov.u32 %b, %r;\n{place}\n{moves}\nbar.sync 0; mul.wide.u32 %t, %r, 4; add.u64 %p, %p, %t;\n\
         st.global.u32 [%p], %b;\nret;\n}}\n"
    )
}

#[test]
fn tiles_are_refused_where_they_leave_shared_memory() {
    let load = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%a, %b}, [%s];";
    let store = "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%s], {%a, %b}; bar.sync 0; mov.u32 %a, all; mad.lo.u32 %a, %r, 4, %a; ld.shared.u32 %b, [%a+128];";
    for target in [Target::Host, Target::V3] {
        let moved = |place: &str, moves: &str| {
            let device = Device::new();
            let out = device.buffer(&[99; 32]);
            run_text(&device, target, &tiles(place, moves), [1, 1, 1], [32, 1, 1], &[&out.to_le_bytes()]);
            device.engine.fault().map_or_else(|| Ok(device.words(out, 32)), |fault| Err(fault.to_string()))
        };
        assert_eq!(moved("", load), Ok((32..64).collect()), "{target:?}");
        assert_eq!(moved("", store), Ok((0..32).collect()), "{target:?}");
        // Lanes without a row may give any address, and rows may be anywhere.
        assert_eq!(moved("setp.gt.u32 %q, %r, 15; @%q mov.u32 %s, 7;", load), Ok((32..64).collect()), "{target:?}");
        let backwards: Vec<u32> = (0..32).map(|lane| 28 - lane / 4 * 4 + lane % 4).collect();
        assert_eq!(moved("sub.u32 %s, 240, %s;", load), Ok(backwards.clone()), "{target:?}");
        assert_eq!(moved("sub.u32 %s, 368, %s; and.b32 %s, %s, 255;", store), Ok(backwards), "{target:?}");
        for (place, moves, why) in [
            ("add.u32 %s, %s, 16;", load, "load of 16 bytes at .shared address 0x100; there are 256 bytes"),
            ("add.u32 %s, %s, 16;", store, "store of 16 bytes at .shared address 0x100; there are 256 bytes"),
            ("sub.u32 %s, %s, 16;", load, "illegal"),
            ("sub.u32 %s, %s, 16;", store, "illegal"),
            ("add.u32 %s, %s, 8;", load, "misaligned"),
            ("setp.eq.u32 %q, %r, 15; @%q add.u32 %s, %s, 2;", store, "misaligned"),
        ] {
            let refused = moved(place, moves).expect_err(place);
            assert!(refused.contains(why), "{target:?} {place}: {refused}");
        }
    }
}

/// Each thread adds up what it finds at indices of its own, of which a row of pairs says where they begin and end.
const CHOSEN: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 rows, .param .u64 indices, .param .u64 from, .param .u64 out)\n{\n\
     .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p; ld.param.u64 %d1, [rows]; ld.param.u64 %d2, [indices]; ld.param.u64 %d3, [from];\n\
     ld.param.u64 %d4, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d5, %r1, 4; add.s64 %d6, %d1, %d5; add.s64 %d4, %d4, %d5;\n\
     ld.global.u32 %r2, [%d6]; ld.global.u32 %r3, [%d6+4]; mov.u32 %r4, 0; setp.ge.u32 %p, %r2, %r3; @%p bra E;\n\
     mul.wide.u32 %d5, %r2, 4; add.s64 %d6, %d2, %d5;\n\
     L: ld.global.u32 %r5, [%d6]; mul.wide.s32 %d5, %r5, 4; add.s64 %d5, %d3, %d5;\n\
     ld.global.u32 %r5, [%d5];\n\
     add.u32 %r4, %r4, %r5; add.s64 %d6, %d6, 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r3; @%p bra L;\n\
     E: st.global.u32 [%d4], %r4; ret;\n}\n";

#[test]
fn what_was_known_behind_a_parameter_is_not_of_the_next_launch() {
    let module = Arc::new(load(CHOSEN.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    for target in [Target::Host, Target::V3] {
        let device = Device::new();
        let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
        let style = warploom_jit::Style::Chosen;
        let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style, report };
        let kernel = tiered(jit, &module, FunctionId(0), Arc::new(Nobody));
        let (long, short) = (device.buffer(&(0..1000).collect::<Vec<_>>()), device.buffer(&[7; 64]));
        let out = device.buffer(&[0; 64]);
        let rows: Vec<u32> = (0..65).map(|thread| thread * 3 / 2).collect();
        let launch = |indices: &[i32], from: u64| {
            let words: Vec<u32> = indices.iter().map(|index| index.cast_unsigned()).collect();
            let (rows, indices) = (device.buffer(&rows), device.buffer(&words));
            let params: [&[u8]; 4] =
                [&rows.to_le_bytes(), &indices.to_le_bytes(), &from.to_le_bytes(), &out.to_le_bytes()];
            device.run(&module, kernel.clone(), [1, 1, 1], [64, 1, 1], &params);
        };
        let sums = |indices: &[i32], from: i32| -> Vec<u32> {
            let row = |thread: usize| &indices[rows[thread] as usize..rows[thread + 1] as usize];
            (0..64).map(|thread| row(thread).iter().map(|index| (from + index).cast_unsigned()).sum()).collect()
        };
        let far: Vec<i32> = (0..96).map(|at| at * 71 % 1000).collect();
        launch(&far, long);
        assert_eq!(device.words(out, 64), sums(&far, 0), "{target:?}");
        // From the middle, both ways.
        let around: Vec<i32> = far.iter().map(|index| index - 500).collect();
        launch(&around, long + 4 * 500);
        assert_eq!(device.words(out, 64), sums(&around, 500), "{target:?}");
        assert!(device.engine.fault().is_none());
        // What was behind the first parameter is not behind this one.
        let near: Vec<i32> = (0..96).map(|at| if at == 77 { 64 } else { at % 64 }).collect();
        launch(&near, short);
        let fault = device.engine.fault().expect("a fault");
        let FaultKind::Access(access) = &fault.kind else { panic!("{fault}") };
        assert_eq!((access.refusal, access.address), (Refusal::Unmapped, short + 256));
        assert_eq!((fault.place.ptx_line, fault.thread), (Some(11), Some([51, 0, 0])));
    }
}

/// Kernels that go around until memory says otherwise, which it never does: loops that all lanes take alike, that each lane takes for itself, around
/// barriers, in a function, and where all lanes run unmasked.
const ENDLESS: [(&str, &str); 5] = [
    ("alike", "L: add.u32 %r3, %r3, 2; and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra L;"),
    (
        "by lane",
        "L: add.u32 %r3, %r3, %r1; add.u32 %r3, %r3, %r1; and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra L;",
    ),
    (
        "some",
        "setp.lt.u32 %p1, %r1, 3; @%p1 bra E; L: shl.b32 %r3, %r1, 1; and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra L; E:",
    ),
    (
        "barriers",
        "mov.u32 %r3, %nctaid.x; L: bar.sync 0; add.u32 %r3, %r3, 2; and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra L;",
    ),
    ("function", "{ .param .b32 out; call.uni (out), around, (); ld.param.b32 %r3, [out]; }"),
];

fn endless(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.func (.param .b32 out) around()\n{{\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\n\
         mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 2; and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 0; @%p1 bra L;\nst.param.b32 [out], %r3;\nret;\n}}\n\
         .visible .entry endless(.param .u64 out)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .pred %p<9>;\nld.param.u64 %d1, [out];\n\
         ld.global.u32 %r3, [%d1];\nmov.u32 %r1, %tid.x;\n{body}\nst.global.u32 [%d1], %r3;\nret;\n}}\n"
    )
}

#[test]
fn endless_kernels_are_reported_and_end_with_the_time_limit() {
    for (name, body) in ENDLESS {
        // Longer than it takes to make the code, unless much else runs; the kernel is said to wait for that then.
        let (device, reports) = Device::watched(Duration::from_millis(1200), Some(Duration::from_millis(2600)));
        let out = device.buffer(&[0; 64]);
        run_text(&device, Target::Host, &endless(body), [4, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
        let fault = device.engine.fault().expect("a fault");
        assert!(matches!(fault.kind, FaultKind::LaunchTimeout { .. }), "{name}: {fault}");
        assert!(fault.to_string().contains("runs compiled code"), "{name}: {fault}");
        let mut reports = reports.lock().expect("no panic");
        reports.retain(|report| !report.contains("waits for its code"));
        assert_eq!(reports.len(), 1, "{name}: {reports:?}");
        let expected =
            ["kernel nobody is still running: no CTA has ended for ", "0 of 4 CTAs have ended\n", "runs compiled code"];
        assert!(expected.iter().all(|part| reports[0].contains(part)), "{name}: {reports:?}");
    }
}

/// What happens at the end of a process: the pool closes while a kernel runs.
#[test]
fn endless_kernels_end_with_the_device() {
    for (name, body) in ENDLESS {
        let device = Device::new();
        let out = device.buffer(&[0; 64]);
        start_text(&device, Target::Host, &endless(body), [4, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
        std::thread::sleep(Duration::from_millis(300));
        assert!(!device.stream.is_idle(), "{name} has ended by itself");
        let (limit, start) = (Duration::from_secs(20), Instant::now());
        device.engine.pool().close(limit);
        assert!(start.elapsed() < limit, "{name} goes on");
    }
}

/// Strong vectors of up to 16 bytes are read and written at once, as hardware does: CTAs with an even number write all zeros and all ones by
/// turns, the others look for a mixture.
#[test]
fn strong_vectors_do_not_tear() {
    for (target, (kind, registers, zeros, ones)) in [Target::Host, Target::V3].into_iter().flat_map(|target| {
        [
            ("v2.u64", "%d4, %d5", "%d2, %d2", "%d3, %d3"),
            ("v2.u32", "%r4, %r5", "%r2, %r2", "%r3, %r3"),
            ("v4.u32", "%r4, %r6, %r7, %r5", "%r2, %r2, %r2, %r2", "%r3, %r3, %r3, %r3"),
            ("v4.u16", "%h4, %h6, %h7, %h5", "%h2, %h2, %h2, %h2", "%h3, %h3, %h3, %h3"),
        ]
        .map(|case| (target, case))
    }) {
        let (register, bits) = (&registers[..2], &kind[4..]);
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry vectors(.param .u64 out)\n{{\n.reg .b16 %h<9>;\n\
             .reg .b32 %r<9>;\n.reg .b32 %n<9>;\n.reg .b64 %d<9>;\n.reg .b64 %a<9>;\n.reg .pred %p<9>;\n\
             ld.param.u64 %a1, [out]; mov.u32 %n1, %ctaid.x; mov.u{bits} {register}2, 0; mov.u{bits} {register}3, -1;\n\
             mov.u32 %n2, 0; mov.u32 %n3, 0; and.b32 %n4, %n1, 1; setp.eq.u32 %p1, %n4, 0; @%p1 bra WRITE;\n\
             READ: ld.relaxed.gpu.global.{kind} {{{registers}}}, [%a1]; setp.ne.u{bits} %p2, {register}4, {register}5;\n\
             @%p2 add.u32 %n2, %n2, 1; ld.volatile.global.{kind} {{{registers}}}, [%a1];\n\
             setp.ne.u{bits} %p2, {register}4, {register}5; @%p2 add.u32 %n2, %n2, 1;\n\
             add.u32 %n3, %n3, 1; setp.lt.u32 %p3, %n3, 400000; @%p3 bra READ; bra DONE;\n\
             WRITE: st.relaxed.gpu.global.{kind} [%a1], {{{zeros}}}; st.volatile.global.{kind} [%a1], {{{ones}}};\n\
             add.u32 %n3, %n3, 1; setp.lt.u32 %p3, %n3, 1200000; @%p3 bra WRITE;\n\
             DONE: mul.wide.u32 %a2, %n1, 4; add.u64 %a2, %a1, %a2; st.global.u32 [%a2+64], %n2;\nret;\n}}\n"
        );
        let device = Device::new();
        let out = device.buffer(&[0; 64]);
        run_text(&device, target, &text, [8, 1, 1], [1, 1, 1], &[&out.to_le_bytes()]);
        assert!(device.engine.fault().is_none(), "{kind}");
        assert_eq!(device.words(out + 64, 8), [0; 8], "{kind} for {target:?}");
    }
}
