//! Gangs of a CTA that run together: they part wherever something does not hold for all of them, and give what each would have given alone.

mod device;

use std::sync::{Arc, Mutex};

use device::{Device, Nobody};
use tempfile::TempDir;
use warploom_exec::fault::{FaultKind, Refusal};
use warploom_jit::{Cache, CacheSettings, Made, Mode, Options as Jit, Origin, Style, Target, assembly, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};
use warploom_simt::{Gangs, analyze, codegen};

fn run(device: &Device, target: Target, text: &str, grid: [u32; 3], cta: [u32; 3], params: &[&[u8]]) {
    run_as(Style::Chosen, device, target, text, grid, cta, params);
}

thread_local! {
    /// What a test has compiled: it asks for one kernel many times, of other counts.
    static COMPILED: (TempDir, Arc<Cache>) = {
        let folder = TempDir::new().expect("a folder");
        let settings = CacheSettings { folder: folder.path().to_owned(), limit: 1 << 28 };
        (folder, Arc::new(Cache::new(settings, |what| panic!("{what}"))))
    };
}

fn run_as(style: Style, device: &Device, target: Target, text: &str, grid: [u32; 3], cta: [u32; 3], params: &[&[u8]]) {
    let cache = COMPILED.with(|(_, cache)| cache.clone());
    let made = made(style, Some(cache), device, target, text, (grid, cta), params);
    let whole = made.iter().map(|(apart, _)| *apart).eq([false, true].into_iter().take(made.len()));
    assert!(!made.is_empty() && whole && made.iter().all(|(_, code)| code.is_ok()), "{made:?}");
}

/// Runs a kernel; what has been made: whether it is only what follows where a team is left, and where it comes from.
fn made(
    style: Style,
    cache: Option<Arc<Cache>>,
    device: &Device,
    target: Target,
    text: &str,
    (grid, cta): ([u32; 3], [u32; 3]),
    params: &[&[u8]],
) -> Vec<(bool, Result<Origin, String>)> {
    let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let said = Arc::new(Mutex::new(Vec::new()));
    let all = said.clone();
    let report = Arc::new(move |made: &Made<'_>| {
        all.lock().expect("no panic").push((made.apart, made.code.map_err(str::to_owned)));
    });
    let jit = Jit { mode: Mode::Always, target, cache, dump: None, style, report };
    device.run(&module, tiered(jit, &module, FunctionId(0), Arc::new(Nobody)), grid, cta, params);
    std::mem::take(&mut *said.lock().expect("no panic"))
}

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 keys, .param .u64 data, .param .u64 out, .param .u32 n)\n{\n\
     .reg .b32 %r<32>; .reg .f32 %f<9>; .reg .b64 %d<32>; .reg .pred %p<9>; .shared .b32 tile[256];\n\
     ld.param.u64 %d1, [keys]; ld.param.u64 %d2, [data]; ld.param.u64 %d3, [out]; ld.param.u32 %r1, [n];\n\
     mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x; mad.lo.s32 %r5, %r2, 256, %r3; shl.b32 %r6, %r4, 8;\n";

/// Each thread looks its keys up, a grid apart, but those that are 0, and adds what it finds to what is there.
fn look_up() -> String {
    HEAD.to_owned()
        + "setp.ge.s32 %p1, %r5, %r1; @%p1 bra D;\n\
           L: mul.wide.s32 %d4, %r5, 4; add.s64 %d5, %d1, %d4; add.s64 %d6, %d3, %d4; ld.global.u32 %r7, [%d5];\n\
           setp.ne.u32 %p2, %r7, 0; mul.wide.u32 %d7, %r7, 4; add.s64 %d8, %d2, %d7; mov.u32 %r8, 5;\n\
           @%p2 ld.global.u32 %r8, [%d8];\n\
           ld.global.u32 %r9, [%d6]; add.u32 %r9, %r9, %r8; st.global.u32 [%d6], %r9;\n\
           add.s32 %r5, %r5, %r6; setp.lt.s32 %p3, %r5, %r1; @%p3 bra L;\nD: ret;\n}\n"
}

#[test]
fn loops_end_for_some_gangs_and_lanes_before_others() {
    for target in [Target::Host, Target::V3] {
        for count in [1u32, 31, 32, 33, 255, 256, 257, 512, 800, 1024, 1025, 3000] {
            let device = Device::new();
            let keys: Vec<u32> = (0..count).map(|at| if at % 7 == 3 { 0 } else { at * 5 % 97 }).collect();
            let data: Vec<u32> = (0..97).map(|at| 1000 + at * at).collect();
            let before: Vec<u32> = (0..count).map(|at| 3 * at).collect();
            let (k, d, o) = (device.buffer(&keys), device.buffer(&data), device.buffer(&before));
            let params: [&[u8]; 4] = [&k.to_le_bytes(), &d.to_le_bytes(), &o.to_le_bytes(), &count.to_le_bytes()];
            run(&device, target, &look_up(), [2, 1, 1], [256, 1, 1], &params);
            assert!(device.engine.fault().is_none());
            let found = |key: u32| if key == 0 { 5 } else { data[key as usize] };
            let expected: Vec<u32> = keys.iter().zip(&before).map(|(key, before)| before + found(*key)).collect();
            assert_eq!(device.words(o, count as usize), expected, "{count}, {target:?}");
        }
    }
}

#[test]
fn what_follows_where_a_team_is_left_is_made_where_one_is() {
    let folder = TempDir::new().expect("a folder");
    let settings = CacheSettings { folder: folder.path().to_owned(), limit: 1 << 20 };
    let made_for = |count: u32| {
        let device = Device::new();
        let keys = vec![1u32; count as usize];
        let (k, d, o) = (device.buffer(&keys), device.buffer(&[7; 64]), device.buffer(&keys));
        let params: [&[u8]; 4] = [&k.to_le_bytes(), &d.to_le_bytes(), &o.to_le_bytes(), &count.to_le_bytes()];
        let cache = Arc::new(Cache::new(settings.clone(), |what| panic!("{what}")));
        let shape = ([2, 1, 1], [256, 1, 1]);
        let made = made(Style::Chosen, Some(cache), &device, Target::Host, &look_up(), shape, &params);
        assert!(device.words(o, count as usize).iter().all(|word| *word == 8));
        made
    };
    let (compiled, kept) = (Ok(Origin::Compiler), Ok(Origin::Cache));
    assert_eq!(made_for(1024), [(false, compiled.clone())]);
    assert_eq!(made_for(1000), [(false, kept.clone()), (true, compiled)]);
    assert_eq!(made_for(1000), [(false, kept.clone()), (true, kept.clone())]);
    assert_eq!(made_for(1024), [(false, kept)]);
}

#[test]
fn one_warp_adds_up_for_all_without_leaving_its_team() {
    // Sums of rows: of a warp's lanes by shuffles, of the warps' sums by the first warp alone.
    let down = |by: u32| format!("shfl.sync.down.b32 %r9, %r8, {by}, 31, -1; add.s32 %r8, %r8, %r9;\n");
    let sum = [16, 8, 4, 2, 1].map(down).concat();
    let text = HEAD.to_owned()
        + "mov.u32 %r8, 0; mov.u32 %r10, %r3; mul.lo.s32 %r11, %r2, %r1;\n\
           L: add.s32 %r12, %r11, %r10; mul.wide.s32 %d4, %r12, 4; add.s64 %d5, %d2, %d4; ld.global.u32 %r7, [%d5];\n\
           add.s32 %r8, %r8, %r7; add.s32 %r10, %r10, 256; setp.lt.s32 %p1, %r10, %r1; @%p1 bra L;\n"
        + &sum
        + "and.b32 %r13, %r3, 31; shr.u32 %r14, %r3, 5; setp.ne.s32 %p2, %r13, 0; mov.u64 %d7, tile; @%p2 bra W;\n\
           mul.wide.u32 %d8, %r14, 4; add.s64 %d9, %d7, %d8; st.shared.u32 [%d9], %r8;\n\
           W: bar.sync 0; mov.u32 %r8, 0; setp.gt.u32 %p3, %r3, 7; @%p3 bra S;\n\
           mul.wide.u32 %d10, %r13, 4; add.s64 %d11, %d7, %d10; ld.shared.u32 %r8, [%d11];\n\
           S: setp.ne.s32 %p4, %r14, 0; @%p4 bra T;\n"
        + &sum
        + "T: setp.ne.s32 %p5, %r3, 0; @%p5 bra D;\n\
           mul.wide.u32 %d12, %r2, 4; add.s64 %d13, %d3, %d12; st.global.u32 [%d13], %r8;\nD: ret;\n}\n";
    for (style, target) in [(Style::Chosen, Target::Host), (Style::Chosen, Target::V3), (Style::Teams, Target::Host)] {
        let (rows, cols) = (5u32, 768u32);
        let device = Device::new();
        let data: Vec<u32> = (0..rows * cols).map(|at| at * at % 1013).collect();
        let (d, o) = (device.buffer(&data), device.buffer(&[0; 5]));
        let params: [&[u8]; 4] = [&d.to_le_bytes(), &d.to_le_bytes(), &o.to_le_bytes(), &cols.to_le_bytes()];
        let made = made(style, None, &device, target, &text, ([rows, 1, 1], [256, 1, 1]), &params);
        assert_eq!(made, [(false, Ok(Origin::Compiler))], "{style:?}, {target:?}");
        let sums: Vec<u32> = data.chunks(cols as usize).map(|row| row.iter().sum()).collect();
        assert_eq!(device.words(o, rows as usize), sums, "{style:?}, {target:?}");
    }
}

#[test]
fn gangs_read_what_others_write_over_first() {
    const SUMS: &str = include_str!(
        "../../../tests/filetests/run/parallel-synchronization-and-communication/shfl_before_shared_store.ptx"
    );
    for style in [Style::Chosen, Style::Gangs, Style::Teams] {
        for target in [Target::Host, Target::V3] {
            let device = Device::new();
            let out = device.buffer(&[0; 256]);
            let made = made(style, None, &device, target, SUMS, ([1; 3], [256, 1, 1]), &[&out.to_le_bytes()]);
            assert_eq!(made, [(false, Ok(Origin::Compiler))], "{style:?}, {target:?}");
            assert_eq!(device.words(out, 256), [0x21990; 256], "{style:?}, {target:?}");
        }
    }
}

#[test]
fn one_lane_of_one_gang_is_refused() {
    let device = Device::new();
    let mut keys = vec![1u32; 1024];
    keys[512 + 77] = 4096;
    let (k, d, o) = (device.buffer(&keys), device.buffer(&[7; 64]), device.buffer(&[0; 1024]));
    let params: [&[u8]; 4] = [&k.to_le_bytes(), &d.to_le_bytes(), &o.to_le_bytes(), &1024u32.to_le_bytes()];
    run(&device, Target::Host, &look_up(), [1, 1, 1], [256, 1, 1], &params);
    let fault = device.engine.fault().expect("a fault");
    let FaultKind::Access(access) = &fault.kind else { panic!("{fault}") };
    assert_eq!((access.refusal, access.address), (Refusal::Unmapped, d + 4 * 4096));
    assert_eq!((fault.thread, fault.cta), (Some([77, 0, 0]), Some([0; 3])));
    // The two trips before are done for this thread.
    assert_eq!([77, 256 + 77, 512 + 77].map(|at| device.words(o + 4 * at, 1)[0]), [7, 7, 0]);
}

/// What a team has looked at before it is refused a place further on is not done twice, however far which of its gangs were.
#[test]
fn a_row_of_which_a_part_is_refused_is_added_to_once() {
    let text = look_up().replace("@%p2 ld.global.u32 %r8, [%d8];", "");
    for target in [Target::Host, Target::V3] {
        let device = Device::new();
        let before: Vec<u32> = (0..600).collect();
        let (k, d, o) = (device.buffer(&[1u32; 4096]), device.buffer(&[7; 64]), device.buffer(&before));
        let params: [&[u8]; 4] = [&k.to_le_bytes(), &d.to_le_bytes(), &o.to_le_bytes(), &4096u32.to_le_bytes()];
        run(&device, target, &text, [1, 1, 1], [256, 1, 1], &params);
        let fault = device.engine.fault().expect("a fault");
        let FaultKind::Access(access) = &fault.kind else { panic!("{fault}") };
        assert!(access.address >= o + 4 * 600, "{fault}");
        let found = device.words(o, 600);
        let added = |at: u32| found[at as usize] - before[at as usize];
        assert!((0..600).all(|at| [0, 5].contains(&added(at))), "{found:?}");
        let thread = fault.thread.expect("a thread's access")[0];
        // The thread that was refused has done both of its trips before.
        assert_eq!([thread, 256 + thread].map(added), [5, 5], "{found:?}");
    }
}

/// Sums of a CTA: each thread adds up a grid's step apart, and halves of the threads add to the others' sums behind barriers. Then all add the CTA's sum to theirs.
fn sums() -> String {
    HEAD.to_owned()
        + "mov.u32 %r10, 0; setp.ge.s32 %p1, %r5, %r1; @%p1 bra E;\n\
           L: mul.wide.s32 %d4, %r5, 4; add.s64 %d5, %d1, %d4; ld.global.u32 %r7, [%d5]; add.u32 %r10, %r10, %r7;\n\
           add.s32 %r5, %r5, %r6; setp.lt.s32 %p3, %r5, %r1; @%p3 bra L;\n\
           E: mov.u32 %r11, tile; shl.b32 %r12, %r3, 2; add.u32 %r13, %r11, %r12; st.shared.u32 [%r13], %r10; bar.sync 0;\n\
           mov.u32 %r14, 128;\n\
           T: setp.ge.u32 %p4, %r3, %r14; @%p4 bra N;\n\
           shl.b32 %r15, %r14, 2; add.u32 %r16, %r13, %r15; ld.shared.u32 %r17, [%r16]; ld.shared.u32 %r18, [%r13]; add.u32 %r18, %r18, %r17;\n\
           st.shared.u32 [%r13], %r18;\n\
           N: bar.sync 0; shr.u32 %r14, %r14, 1; setp.ne.u32 %p5, %r14, 0; @%p5 bra T;\n\
           ld.shared.u32 %r19, [tile]; mad.lo.u32 %r20, %r10, 3, %r19;\n\
           mad.lo.u32 %r21, %r2, 256, %r3; mul.wide.u32 %d9, %r21, 4; add.s64 %d10, %d3, %d9; st.global.u32 [%d10], %r20; ret;\n}\n"
}

#[test]
fn teams_come_apart_between_barriers() {
    for target in [Target::Host, Target::V3] {
        for count in [1u32, 100, 256, 1000, 1024, 5000] {
            let device = Device::new();
            let numbers: Vec<u32> = (0..count).map(|at| at * at % 1009).collect();
            let (k, o) = (device.buffer(&numbers), device.buffer(&[0; 512]));
            let params: [&[u8]; 4] = [&k.to_le_bytes(), &k.to_le_bytes(), &o.to_le_bytes(), &count.to_le_bytes()];
            run(&device, target, &sums(), [2, 1, 1], [256, 1, 1], &params);
            let own: Vec<u32> = (0..512).map(|at| numbers.iter().skip(at).step_by(512).sum::<u32>()).collect();
            let expected: Vec<u32> =
                (0..512).map(|at| 3 * own[at] + own[at / 256 * 256..][..256].iter().sum::<u32>()).collect();
            assert_eq!(device.words(o, 512), expected, "{count}, {target:?}");
        }
    }
}

/// Bins of the CTA for the bytes of its numbers, a grid apart, which are added to those of all at the end.
fn bins() -> String {
    let byte = |at: u32| {
        format!(
            "bfe.u32 %r8, %r7, {}, 8; shl.b32 %r8, %r8, 2; add.u32 %r8, %r11, %r8; red.shared.add.u32 [%r8], 1;\n",
            8 * at
        )
    };
    HEAD.to_owned()
        + "mov.u32 %r11, tile; shl.b32 %r12, %r3, 2; add.u32 %r13, %r11, %r12; mov.u32 %r10, 0; st.shared.u32 [%r13], %r10; bar.sync 0;\n\
           setp.ge.s32 %p1, %r5, %r1; @%p1 bra E;\n\
           L: mul.wide.s32 %d4, %r5, 4; add.s64 %d5, %d1, %d4; ld.global.u32 %r7, [%d5];\n"
        + &(0..4).map(byte).collect::<String>()
        + "add.s32 %r5, %r5, %r6; setp.lt.s32 %p3, %r5, %r1; @%p3 bra L;\n\
           E: bar.sync 0; ld.shared.u32 %r18, [%r13]; mul.wide.u32 %d9, %r3, 4; add.s64 %d10, %d3, %d9; red.global.add.u32 [%d10], %r18; ret;\n}\n"
}

#[test]
fn updates_of_shared_memory_are_all_done() {
    for target in [Target::Host, Target::V3] {
        for count in [1u32, 256, 511, 1024, 5000] {
            let device = Device::new();
            // Many bytes are alike, beside each other and a gang apart.
            let numbers: Vec<u32> = (0..count).map(|at| (at / 5 % 7) * 0x0101_0001 + ((at * at % 251) << 8)).collect();
            let (k, o) = (device.buffer(&numbers), device.buffer(&[0; 256]));
            let params: [&[u8]; 4] = [&k.to_le_bytes(), &k.to_le_bytes(), &o.to_le_bytes(), &count.to_le_bytes()];
            run(&device, target, &bins(), [2, 1, 1], [256, 1, 1], &params);
            let mut expected = vec![0u32; 256];
            numbers.iter().flat_map(|number| number.to_le_bytes()).for_each(|byte| expected[usize::from(byte)] += 1);
            assert_eq!(device.words(o, 256), expected, "{count}, {target:?}");
        }
    }
}

/// A row of a tile that all threads of a column share, and a column that those of a row share.
const TILE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n\
     .reg .b32 %r<32>; .reg .f32 %f<9>; .reg .b64 %d<32>; .reg .pred %p<9>; .shared .align 4 .b8 as[1024]; .shared .align 4 .b8 bs[1024];\n\
     ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u32 %r1, [n];\n\
     mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, as; mov.u32 %r5, bs; shl.b32 %r6, %r3, 6; shl.b32 %r7, %r2, 2;\n\
     add.u32 %r8, %r4, %r6; add.u32 %r9, %r8, %r7; add.u32 %r10, %r5, %r7; add.u32 %r11, %r10, %r6;\n\
     mad.lo.s32 %r12, %r3, %r1, %r2; mul.wide.s32 %d4, %r12, 4; add.s64 %d5, %d1, %d4; mad.lo.s32 %r13, %r3, 16, %r2; mul.wide.s32 %d6, %r13, 4;\n\
     add.s64 %d7, %d2, %d6; add.s64 %d8, %d3, %d6; mov.f32 %f1, 0f00000000; mov.u32 %r14, 0;\n\
     L: add.u32 %r15, %r14, %r2; add.u32 %r16, %r14, %r3; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;\n\
     setp.ge.s32 %p1, %r15, %r1; @%p1 bra M; ld.global.f32 %f2, [%d5];\nM: st.shared.f32 [%r9], %f2;\n\
     setp.ge.s32 %p2, %r16, %r1; @%p2 bra N; ld.global.f32 %f3, [%d7];\nN: st.shared.f32 [%r11], %f3; bar.sync 0;\n\
     ld.shared.f32 %f4, [%r8]; ld.shared.f32 %f5, [%r10]; fma.rn.f32 %f1, %f4, %f5, %f1;\n\
     ld.shared.f32 %f4, [%r8+4]; ld.shared.f32 %f5, [%r10+64]; fma.rn.f32 %f1, %f4, %f5, %f1;\n\
     ld.shared.f32 %f4, [%r8+8]; ld.shared.f32 %f5, [%r10+128]; fma.rn.f32 %f1, %f4, %f5, %f1;\n\
     ld.shared.f32 %f4, [%r8+60]; ld.shared.f32 %f5, [%r10+960]; fma.rn.f32 %f1, %f4, %f5, %f1; bar.sync 0;\n\
     add.s64 %d5, %d5, 64; add.s64 %d7, %d7, 1024; add.u32 %r14, %r14, 16; setp.lt.s32 %p3, %r14, %r1; @%p3 bra L;\n\
     st.global.f32 [%d8], %f1; ret;\n}\n";

#[test]
fn tiles_have_ends_inside() {
    for target in [Target::Host, Target::V3] {
        for n in [16usize, 64, 3, 37, 50] {
            let device = Device::new();
            let number = |at: usize| ((at * 37 % 64) as f32 - 20.0) / 8.0;
            let a: Vec<f32> = (0..16 * n).map(number).collect();
            let b: Vec<f32> = (0..16 * n).map(|at| number(at + 11)).collect();
            let words = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<u32>>();
            let (x, y, out) = (device.buffer(&words(&a)), device.buffer(&words(&b)), device.buffer(&[0; 256]));
            let n32 = n as u32;
            let params: [&[u8]; 4] = [&x.to_le_bytes(), &y.to_le_bytes(), &out.to_le_bytes(), &n32.to_le_bytes()];
            run(&device, target, TILE, [1, 1, 1], [16, 16, 1], &params);
            assert!(device.engine.fault().is_none());
            let mut expected = Vec::new();
            for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
                let terms = (0..n.next_multiple_of(16)).filter(|at| [0, 1, 2, 15].contains(&(at % 16)));
                let sum = terms.fold(0f32, |sum, at| match at < n {
                    true => a[row * n + at].mul_add(b[at * 16 + column], sum),
                    false => 0f32.mul_add(0f32, sum),
                });
                expected.push(sum.to_bits());
            }
            assert_eq!(device.words(out, 256), expected, "{n}, {target:?}");
        }
    }
}

/// A product of matrices by tiles, whose sizes need not be whole tiles: rows and columns that there are not are 0.
const EDGES: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 m, .param .u32 n, .param .u32 k)\n{\n\
     .reg .b32 %r<40>; .reg .f32 %f<9>; .reg .b64 %d<32>; .reg .pred %p<9>; .shared .align 4 .b8 as[1024]; .shared .align 4 .b8 bs[1024];\n\
     ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u32 %r30, [m]; ld.param.u32 %r31, [n]; ld.param.u32 %r1, [k];\n\
     mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r20, %ctaid.x; mov.u32 %r21, %ctaid.y; mad.lo.s32 %r22, %r20, 16, %r2; mad.lo.s32 %r23, %r21, 16, %r3;\n\
     mov.u32 %r4, as; mov.u32 %r5, bs; shl.b32 %r6, %r3, 6; shl.b32 %r7, %r2, 2;\n\
     add.u32 %r8, %r4, %r6; add.u32 %r9, %r8, %r7; add.u32 %r10, %r5, %r7; add.u32 %r11, %r10, %r6;\n\
     setp.lt.s32 %p4, %r23, %r30; setp.ge.s32 %p5, %r22, %r31; mov.f32 %f1, 0f00000000; mov.u32 %r14, 0;\n\
     L: add.u32 %r15, %r14, %r2; add.u32 %r16, %r14, %r3; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;\n\
     setp.lt.s32 %p1, %r15, %r1; and.pred %p1, %p1, %p4; @!%p1 bra M; bra.uni A;\n\
     A: mad.lo.s32 %r12, %r23, %r1, %r15; mul.wide.s32 %d4, %r12, 4; add.s64 %d5, %d1, %d4; ld.global.f32 %f2, [%d5];\nM: st.shared.f32 [%r9], %f2;\n\
     setp.ge.s32 %p2, %r16, %r1; or.pred %p2, %p2, %p5; @%p2 bra N;\n\
     mad.lo.s32 %r13, %r16, %r31, %r22; mul.wide.s32 %d6, %r13, 4; add.s64 %d7, %d2, %d6; ld.global.f32 %f3, [%d7];\nN: st.shared.f32 [%r11], %f3; bar.sync 0;\n\
     ld.shared.f32 %f4, [%r8]; ld.shared.f32 %f5, [%r10]; fma.rn.f32 %f1, %f4, %f5, %f1;\n\
     ld.shared.f32 %f4, [%r8+4]; ld.shared.f32 %f5, [%r10+64]; fma.rn.f32 %f1, %f4, %f5, %f1;\n\
     ld.shared.f32 %f4, [%r8+8]; ld.shared.f32 %f5, [%r10+128]; fma.rn.f32 %f1, %f4, %f5, %f1;\n\
     ld.shared.f32 %f4, [%r8+60]; ld.shared.f32 %f5, [%r10+960]; fma.rn.f32 %f1, %f4, %f5, %f1; bar.sync 0;\n\
     add.u32 %r14, %r14, 16; setp.lt.s32 %p3, %r14, %r1; @%p3 bra L;\n\
     setp.lt.s32 %p6, %r22, %r31; and.pred %p6, %p6, %p4; @%p6 bra S; bra.uni E;\n\
     S: mad.lo.s32 %r24, %r23, %r31, %r22; mul.wide.s32 %d8, %r24, 4; add.s64 %d9, %d3, %d8; st.global.f32 [%d9], %f1;\nE: ret;\n}\n";

#[test]
fn tiles_lie_across_the_edges_of_matrices() {
    for target in [Target::Host, Target::V3] {
        for (m, n, k) in [(32usize, 32usize, 32usize), (17, 31, 5), (1, 1, 1), (24, 40, 50), (16, 33, 16), (40, 16, 30)]
        {
            let device = Device::new();
            let number = |at: usize| ((at * 37 % 64) as f32 - 20.0) / 8.0;
            let a: Vec<f32> = (0..m * k).map(number).collect();
            let b: Vec<f32> = (0..k * n).map(|at| number(at + 11)).collect();
            let words = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<u32>>();
            // What lies behind the result stays as it is.
            let before = vec![0xdead_beef; m * n + 32];
            let (x, y, out) = (device.buffer(&words(&a)), device.buffer(&words(&b)), device.buffer(&before));
            let sizes = [m, n, k].map(|size| (size as u32).to_le_bytes());
            let places = [x, y, out].map(u64::to_le_bytes);
            let params: Vec<&[u8]> =
                places.iter().map(|at| &at[..]).chain(sizes.iter().map(|size| &size[..])).collect();
            let grid = [n.div_ceil(16) as u32, m.div_ceil(16) as u32, 1];
            run(&device, target, EDGES, grid, [16, 16, 1], &params);
            assert!(device.engine.fault().is_none(), "{:?}", device.engine.fault());
            let mut expected = Vec::new();
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let terms = (0..k.next_multiple_of(16)).filter(|at| [0, 1, 2, 15].contains(&(at % 16)));
                let sum = terms.fold(0f32, |sum, at| match at < k {
                    true => a[row * k + at].mul_add(b[at * n + column], sum),
                    false => 0f32.mul_add(0f32, sum),
                });
                expected.push(sum.to_bits());
            }
            expected.extend(&before[m * n..]);
            assert_eq!(device.words(out, m * n + 32), expected, "{m} {n} {k}, {target:?}");
        }
    }
}

/// Of threads that have gone on to an arm by themselves one is refused, in a gang of which some lanes do not run.
#[test]
fn a_lane_at_an_edge_is_refused() {
    for target in [Target::Host, Target::V3] {
        let device = Device::new();
        // Rows of 20 numbers are said to be there, of which the last one is cut short by far.
        let (x, y, out) = (device.buffer(&[0; 15 * 20 + 2]), device.buffer(&[0; 4096]), device.buffer(&[0; 1024]));
        let sizes = [16u32, 32, 4096].map(u32::to_le_bytes);
        let places = [x, y, out].map(u64::to_le_bytes);
        let params: Vec<&[u8]> = places.iter().map(|at| &at[..]).chain(sizes.iter().map(|size| &size[..])).collect();
        run(&device, target, EDGES, [2, 1, 1], [16, 16, 1], &params);
        let fault = device.engine.fault().expect("a fault");
        assert!(matches!(&fault.kind, FaultKind::Access(access) if access.refusal == Refusal::Unmapped), "{fault}");
    }
}

/// Between two barriers: what replaces some of a row that all threads have stored. After them each loads what lies a few threads before it, if it runs then.
const REPLACED: [&str; 11] = [
    "",
    // Some threads that are known, by another instruction or with another width; one of them all alone.
    "setp.ge.u32 %p1, %r2, 20; @%p1 bra B; st.shared.u32 [%d5], %r2; B:",
    "setp.ge.u32 %p1, %r2, 20; @%p1 bra B; st.shared.u16 [%d5+2], %h1; B:",
    "setp.ne.u32 %p1, %r2, 37; @%p1 bra B; st.shared.u32 [row+100], %r2; B:",
    "setp.ge.u32 %p1, %r2, 32; @%p1 bra B; mul.wide.u32 %d6, %r2, 8; add.s64 %d6, %d6, %d4; st.shared.v2.u32 [%d6], {%r2, %r3}; B:",
    // Others, as the data tell.
    "and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 1; @%p1 st.shared.u32 [%d5], %r2;",
    "and.b32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 1; @%p1 bra B; st.shared.u32 [%d5], %r2; B:",
    // By addresses of which nothing is known, and by operations that are no stores.
    "cvta.shared.u64 %d6, %d5; st.u32 [%d6], %r2;",
    "xor.b32 %r4, %r2, %r1; mul.wide.u32 %d6, %r4, 4; add.s64 %d6, %d6, %d4; st.shared.u32 [%d6], %r2;",
    "red.shared.add.u32 [%d5], %r2;",
    // In a loop, the last trip's.
    "mov.u32 %r4, 0; B: ld.shared.u32 %r5, [%d5]; bar.sync 0; add.u32 %r5, %r5, %r2; st.shared.u32 [%d5], %r5; bar.sync 0;\n\
     add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r1; @%p1 bra B;",
];

#[test]
fn a_team_loads_what_others_have_stored_last() {
    for (replaced, apart) in REPLACED.iter().flat_map(|replaced| [1, 5, 16, 33].map(|apart| (replaced, apart))) {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 keys, .param .u64 out, .param .u32 n)\n{{\n\
             .reg .b16 %h1; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>; .shared .align 16 .b32 row[64];\n\
             ld.param.u64 %d1, [keys]; ld.param.u64 %d2, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; cvt.u16.u32 %h1, %r2;\n\
             mul.wide.u32 %d3, %r2, 4; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3; ld.global.u32 %r3, [%d1];\n\
             mov.u64 %d4, row; add.s64 %d5, %d4, %d3; st.shared.u32 [%d5], %r3;\n\
             bar.sync 0; {replaced}\nbar.sync 0; mov.u32 %r6, 0;\n\
             setp.lt.u32 %p2, %r2, {apart}; @%p2 bra C; ld.shared.u32 %r6, [%d5+-{}]; C: st.global.u32 [%d2], %r6; ret;\n}}\n",
            4 * apart
        );
        for target in [Target::Host, Target::V3] {
            let results = [Style::Gangs, Style::Teams].map(|style| {
                let device = Device::new();
                let keys: Vec<u32> = (0..64).map(|thread| 1000 + thread * 37 % 64).collect();
                let (keys, out) = (device.buffer(&keys), device.buffer(&[7; 64]));
                let params: [&[u8]; 3] = [&keys.to_le_bytes(), &out.to_le_bytes(), &3u32.to_le_bytes()];
                run_as(style, &device, target, &text, [1; 3], [64, 1, 1], &params);
                assert!(device.engine.fault().is_none());
                device.words(out, 64)
            });
            assert_eq!(results[0], results[1], "{apart}, {target:?}: {replaced}");
        }
    }
}

/// Each row of threads adds up the numbers of a row of memory, 16 at a time. Rows are a number apart that is a parameter in the last CTA, and 16 in those before, by which
/// workers learn what is allowed. `widened` puts into `%d5` where a thread's first number is, of its row `%r3`, its column `%r2` and that number, `%r1` or `%d4`.
fn rows(widened: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u64 out, .param .u64 apart)\n{{\n\
         .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .pred %p<9>;\n\
         ld.param.u64 %d1, [data]; ld.param.u64 %d2, [out]; ld.param.u32 %r1, [apart]; ld.param.u64 %d4, [apart];\n\
         mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mad.lo.u32 %r4, %r3, 16, %r2; mul.wide.u32 %d3, %r4, 4; add.s64 %d2, %d2, %d3;\n\
         mov.u32 %r9, %ctaid.x; setp.lt.u32 %p2, %r9, 299; selp.b64 %d3, 0, 1024, %p2; add.s64 %d2, %d2, %d3;\n\
         selp.b32 %r1, 16, %r1, %p2; selp.b64 %d4, 16, %d4, %p2; mov.u32 %r5, 0; mov.u32 %r6, 0;\n\
         L: {widened}\n\
         ld.global.u32 %r7, [%d5]; add.u32 %r5, %r5, %r7; add.u32 %r2, %r2, 16; add.u32 %r6, %r6, 1;\n\
         setp.lt.u32 %p1, %r6, 3; @%p1 bra L; st.global.u32 [%d2], %r5; ret;\n}}\n"
    )
}

const SIGNED: &str = "mad.lo.s32 %r8, %r3, %r1, %r2; mul.wide.s32 %d5, %r8, 4; add.s64 %d5, %d1, %d5;";
const UNSIGNED: &str = "mad.lo.u32 %r8, %r3, %r1, %r2; mul.wide.u32 %d5, %r8, 4; add.s64 %d5, %d1, %d5;";
/// From an index on that is 300 below the greatest, which is taken off again behind the widening.
const HIGH: &str = "mad.lo.s32 %r8, %r3, %r1, %r2; add.s32 %r8, %r8, 2147483348; mul.wide.s32 %d5, %r8, 4; add.s64 %d5, %d1, %d5; add.s64 %d5, %d5, -8589933392;";
/// In bytes, of 64 bits.
const LONG: &str = "cvt.u64.u32 %d6, %r3; mul.lo.u64 %d6, %d6, %d4; mul.wide.u32 %d7, %r2, 4; add.s64 %d5, %d1, %d6; add.s64 %d5, %d5, %d7;";

#[test]
fn rows_are_looked_at_by_the_first_and_the_last() {
    // Where the last row is one of those that are there, but some before it are not: it is so far away that addresses, or indices, have gone around the end of numbers.
    let around = |bits: u32, bytes: u128| {
        let mut rest = (1..).map(|rest| (1u128 << bits) + bytes * rest);
        rest.find_map(|far| (far % (15 * bytes) == 0).then_some(far / 15)).expect("one of 15") as u64
    };
    let cases: [(&str, u32, u64); 16] = [
        (SIGNED, 16, 48),
        (SIGNED, 16, 50),
        (SIGNED, 16, 0),
        (SIGNED, 16, -20i64 as u64),
        (SIGNED, 16, 4096),
        (SIGNED, 16, around(32, 1)),
        // All rows would lie beside each other, if indices had more bits.
        (HIGH, 16, 17),
        (HIGH, 16, 48),
        (UNSIGNED, 16, 50),
        (UNSIGNED, 16, around(32, 1)),
        (UNSIGNED, 16, -20i64 as u64),
        (LONG, 16, 200),
        (LONG, 16, -80i64 as u64),
        (LONG, 16, around(64, 4)),
        // Rows that are not aligned, though the last one of five is.
        (LONG, 16, 202),
        (LONG, 5, 201),
    ];
    for (target, (widened, rows_of, apart)) in
        [Target::Host, Target::V3].into_iter().flat_map(|target| cases.map(|case| (target, case)))
    {
        let results = [Style::Gangs, Style::Teams].map(|style| {
            let device = Device::new();
            let data: Vec<u32> = (0..2048).map(|at| at * at % 1009).collect();
            let (data, out) = (device.buffer(&data), device.buffer(&[7; 512]));
            // In the middle, as rows may go up or down.
            let params: [&[u8]; 3] = [&(data + 4096).to_le_bytes(), &out.to_le_bytes(), &apart.to_le_bytes()];
            run_as(style, &device, target, &rows(widened), [300, 1, 1], [16, rows_of, 1], &params);
            let fault = device.engine.fault().map(|fault| match &fault.kind {
                FaultKind::Access(access) => (access.refusal, access.address.wrapping_sub(data), fault.thread),
                _ => panic!("{fault}"),
            });
            let sums = fault.is_none().then(|| device.words(out, 512));
            (fault, sums)
        });
        assert_eq!(results[0], results[1], "{apart}, {target:?}: {widened}");
    }
}

#[test]
fn two_looks_tell_for_all_rows_of_a_tile() {
    let text = code(&rows(SIGNED), [16, 16, 1]);
    let team = text.lines().map(str::trim).skip_while(|line| *line != "cta:").take_while(|line| *line != "apart:");
    let looks = team.filter(|line| line.starts_with("rorx")).count();
    // And one for what is stored, rows of 16 numbers.
    assert_eq!(looks, 2 + 1, "{text}");
}

/// Each thread adds up the numbers from an index of 16 bits on, 64 bytes apart, for as many trips as its number tells, or all alike; the index goes around the end of numbers
/// in some lane, where the others' addresses are no row.
fn carried(trips: &str, step: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u64 out, .param .u32 first)\n{{\n\
         .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .pred %p<9>;\n\
         ld.param.u64 %d1, [data]; ld.param.u64 %d2, [out]; ld.param.u32 %r1, [first];\n\
         mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mad.lo.u32 %r4, %r3, 32, %r2; mul.wide.u32 %d3, %r4, 4; add.s64 %d2, %d2, %d3;\n\
         mad.lo.u32 %r8, %r3, 100, %r2; add.u32 %r8, %r8, %r1; cvt.u16.u32 %h1, %r8; mul.wide.u16 %r9, %h1, 4; cvt.u64.u32 %d4, %r9; add.s64 %d5, %d1, %d4;\n\
         mov.u32 %r5, 0; mov.u32 %r6, 0; {trips}\n\
         L: ld.global.u32 %r7, [%d5]; mad.lo.u32 %r5, %r5, 3, %r7; {step} add.u32 %r6, %r6, 1;\n\
         setp.lt.u32 %p1, %r6, %r10; @%p1 bra L; st.global.u32 [%d2], %r5; ret;\n}}\n"
    )
}

#[test]
fn addresses_that_loops_carry_need_be_no_row() {
    let data: Vec<u32> = (0..65536 + 512).map(|at| at * 7 % 1009).collect();
    let trips = ["mov.u32 %r10, 3;", "and.b32 %r10, %r2, 3; add.u32 %r10, %r10, 1;"];
    let steps = [("add.s64 %d5, %d5, 64;", 16), ("sub.s64 %d5, %d5, 4;", -1)];
    for (target, style) in
        [Target::Host, Target::V3].into_iter().flat_map(|target| [(target, Style::Gangs), (target, Style::Teams)])
    {
        for (at, (trip, (step, words))) in trips.iter().flat_map(|trips| steps.map(|step| (trips, step))).enumerate() {
            for first in [70u32, 65530, 65536 - 16, 65536 - 105, 65536 - 700] {
                let device = Device::new();
                // A word in front, to which the last trips go back.
                let (data_at, out) = (device.buffer(&data) + 16, device.buffer(&[7; 256]));
                let params: [&[u8]; 3] = [&data_at.to_le_bytes(), &out.to_le_bytes(), &first.to_le_bytes()];
                run_as(style, &device, target, &carried(trip, step), [1; 3], [32, 8, 1], &params);
                assert!(device.engine.fault().is_none(), "{:?}", device.engine.fault());
                let expected: Vec<u32> = (0..256u32)
                    .map(|thread| {
                        let (x, y) = (thread % 32, thread / 32);
                        let start = 4 + i64::from((first + 100 * y + x) as u16);
                        let trips = if at < 2 { 3 } else { 1 + (x & 3) };
                        (0..i64::from(trips)).fold(0u32, |sum, trip| {
                            sum.wrapping_mul(3).wrapping_add(data[(start + trip * words) as usize])
                        })
                    })
                    .collect();
                assert_eq!(device.words(out, 256), expected, "{first}, {trip}, {step}, {target:?}");
            }
        }
    }
}

/// The assembly of a kernel for AVX-512.
fn code(text: &str, cta: [u32; 3]) -> String {
    code_for("x86-64-v4", text, cta)
}

fn code_for(cpu: &str, text: &str, cta: [u32; 3]) -> String {
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new(cta, 16).expect("gangs")).expect("a kernel");
    let wide = if cpu == "x86-64-v3" { "" } else { ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl" };
    let compiled = codegen::compile(&info, cpu, &format!("+avx2,+fma,+f16c{wide}")).expect("covered");
    assembly(&compiled.text).expect("LLVM takes it")
}

#[test]
fn what_gangs_share_is_loaded_once() {
    let text = code(TILE, [16, 16, 1]);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_product = |line: &&str| line.starts_with("vfmadd") && line.contains("{1to16}");
    let blocks: Vec<&[&str]> = lines.split(|line| line.ends_with(':')).collect();
    let block = blocks.iter().find(|block| block.iter().filter(|line| is_product(line)).count() >= 48);
    let block = block.expect("the products of all 16 gangs in one block");
    // For each of the second and the third term: one row of the tile for all gangs, and a number for each. Before the first one,
    // sums may come from the stack.
    let products: Vec<usize> = (0..block.len()).filter(|at| is_product(&block[*at])).collect();
    let others = products[47] - products[16] + 1 - 32;
    assert!(others <= 2, "{:#?}", &block[products[16]..=products[47]]);
}

#[test]
fn a_team_multiplies_for_as_many_gangs_as_registers_allow() {
    let text = code_for("x86-64-v3", TILE, [16, 16, 1]);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_product = |line: &&str| line.starts_with("vfmadd");
    let blocks: Vec<&[&str]> = lines.split(|line| line.ends_with(':')).collect();
    let products = |block: &[&str]| block.iter().filter(|line| is_product(line)).count();
    let block = blocks.iter().find(|block| products(block) == 128).expect("four products of 16 gangs of two registers");
    // Of 32 sums 8 are in registers at a time, until all four products are added: each comes from the stack once, and goes back once.
    let first = block.iter().position(&is_product).expect("a product");
    let last = block.iter().rposition(is_product).expect("a product");
    let stack = block[first..=last].iter().filter(|line| line.contains("(%rsp)")).count();
    assert!(stack <= 2 * 32, "{stack}: {:#?}", &block[first..=last]);
}

#[test]
fn a_team_goes_on_together_at_edges() {
    let module = load(EDGES.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new([16, 16, 1], 16).expect("gangs")).expect("a kernel");
    for (cpu, features) in [("x86-64-v4", "+avx512f"), ("x86-64-v3", "+avx2,+fma")] {
        let text = codegen::compile(&info, cpu, features).expect("covered").text;
        let team = text.split("@team0(").nth(1).and_then(|rest| rest.split("\n}").next()).expect("a team");
        // It is left for a load that is refused, where all lanes run and where some do, and for the matrix's last rows, but for no branch around a load.
        assert_eq!(team.matches("call i32 @apart(").count(), 6, "{cpu}: {team}");
    }
}

#[test]
fn updates_load_two_addresses_at_a_time() {
    let text = code(&bins(), [256, 1, 1]);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    // For each byte all gangs' addresses are written down, and updated from there.
    let calls = lines.iter().filter(|line| line.starts_with("call") && line.ends_with("\tadd_u32_near"));
    assert_eq!(calls.count(), 4 * 16);
    let update = lines.iter().skip_while(|line| !line.starts_with("add_u32_near:"));
    let update: Vec<&str> = update.take_while(|line| !line.starts_with("ret")).copied().collect();
    assert_eq!(update.iter().filter(|line| line.starts_with("movq") && line.contains("(%rsi)")).count(), 8);
    assert_eq!(update.iter().filter(|line| line.starts_with("addl") && line.contains("(%rdi,")).count(), 16);
}

#[test]
fn rows_a_grid_apart_are_fetched_trips_ahead() {
    let lines = |cpu: &str, text: &str| {
        let code = code_for(cpu, text, [256, 1, 1]);
        // But for what updates memory where no sums are kept, which asks for its own lines.
        let (before, update) = code.split_once("\nadd_u32:").unwrap_or((&code, ""));
        let behind = update.split_once(".Lfunc_end").unwrap_or_default().1;
        let lines = || before.lines().chain(behind.lines());
        ["prefetcht0", "prefetcht1"].map(|name| lines().filter(|line| line.contains(name)).count())
    };
    // The lines of 1,024 bytes, once for each row that is loaded: of AMD's processors some trips ahead, of all one where a trip takes long.
    let sum = bins().replace("red.shared.add.u32 [%r8], 1;", "add.u32 %r10, %r10, %r8;");
    assert_eq!([lines("znver4", &bins()), lines("znver4", &sum)], [[0, 16], [0, 16]]);
    // And of the others some trips where rows are only loaded.
    for cpu in ["x86-64-v4", "x86-64-v3"] {
        assert_eq!([lines(cpu, &bins()), lines(cpu, &sum)], [[16, 0], [0, 16]], "{cpu}");
    }
    // Not the lines of a tile, which are short.
    assert_eq!(lines("znver4", TILE), [0, 0]);
}

#[test]
fn rows_of_the_next_tile_are_fetched_among_multiplications() {
    let fetched = |cpu: &str, text: &str| {
        let code = code_for(cpu, text, [16, 16, 1]);
        code.lines().filter(|line| line.contains("prefetcht0")).count()
    };
    let again = "ld.shared.f32 %f4, [%r8+4]; ld.shared.f32 %f5, [%r10+64]; fma.rn.f32 %f1, %f4, %f5, %f1;\n";
    let longer = TILE.replace("bar.sync 0;\nadd.s64", &format!("{} bar.sync 0;\nadd.s64", again.repeat(6)));
    for cpu in ["x86-64-v3", "x86-64-v4"] {
        // A row of each gang, of those that are a parameter apart, if there are many multiplications.
        assert_eq!(fetched(cpu, &longer) - fetched(cpu, TILE), 16, "{cpu}");
    }
}
