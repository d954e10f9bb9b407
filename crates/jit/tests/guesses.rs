//! Rows that are guessed: lanes are where they would be had they never parted, or somewhere else, and give the same in either case.

mod device;

use std::sync::{Arc, Mutex};

use device::{Device, Nobody};
use warploom_exec::fault::{FaultKind, Refusal};
use warploom_exec::kernel::LoadedKernel;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Style, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};
use warploom_simt::{Gangs, analyze, codegen};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 trips, .param .u64 in, .param .u64 out, .param .u32 n)\n{\n\
     .reg .b32 %r<32>; .reg .b16 %h<9>; .reg .b64 %d<32>; .reg .pred %p<9>;\n\
     ld.param.u64 %d1, [trips]; ld.param.u64 %d2, [in]; ld.param.u64 %d3, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n";

/// A kernel some of whose accesses are guessed to go to a row.
struct Kernel {
    module: Arc<VerifiedModule>,
    loaded: Arc<dyn LoadedKernel>,
    made: Arc<Mutex<Vec<Result<Origin, String>>>>,
    threads: u32,
}

impl Kernel {
    fn new(target: Target, text: &str, threads: u32) -> Kernel {
        let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
        let gangs = Gangs::new([threads, 1, 1], 16).expect("gangs");
        let info = analyze(&module, FunctionId(0), gangs).expect("a kernel");
        assert!(info.accesses.iter().any(|access| info.is_guessed(access)), "{info}");
        let made = Arc::new(Mutex::new(Vec::new()));
        let said = made.clone();
        let report =
            Arc::new(move |made: &Made<'_>| said.lock().expect("no panic").push(made.code.map_err(str::to_owned)));
        let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style: Style::Chosen, report };
        let loaded = tiered(jit, &module, FunctionId(0), Arc::new(Nobody));
        Kernel { module, loaded, made, threads }
    }

    /// Runs one CTA.
    fn run(&self, device: &Device, params: &[&[u8]]) {
        device.run(&self.module, self.loaded.clone(), [1, 1, 1], [self.threads, 1, 1], params);
        // What runs where a team is left is made there.
        let made = self.made.lock().expect("no panic");
        assert!(!made.is_empty() && made.iter().all(|made| *made == Ok(Origin::Compiler)), "{made:?}");
    }
}

/// A type, with what makes twice the number and one of it.
struct Element {
    bytes: u32,
    load: &'static str,
    store: &'static str,
}

const ELEMENTS: [Element; 4] = [
    Element { bytes: 1, load: "ld.global.u8 %r20, ADDRESS;", store: "st.global.u8 ADDRESS, %r20;" },
    Element {
        bytes: 2,
        load: "ld.global.u16 %h1, ADDRESS; cvt.u32.u16 %r20, %h1;",
        store: "cvt.u16.u32 %h1, %r20; st.global.u16 ADDRESS, %h1;",
    },
    Element { bytes: 4, load: "ld.global.u32 %r20, ADDRESS;", store: "st.global.u32 ADDRESS, %r20;" },
    Element {
        bytes: 8,
        load: "ld.global.u64 %d20, ADDRESS; cvt.u32.u64 %r20, %d20;",
        store: "cvt.u64.u32 %d20, %r20; st.global.u64 ADDRESS, %d20;",
    },
];

impl Element {
    fn step(&self, from: &str, to: &str) -> String {
        let (load, store) = (self.load.replace("ADDRESS", from), self.store.replace("ADDRESS", to));
        format!("{load} mad.lo.u32 %r20, %r20, 2, 1; {store}\n")
    }

    fn words(&self, numbers: &[u64]) -> Vec<u32> {
        let bytes: Vec<u8> =
            numbers.iter().flat_map(|number| number.to_le_bytes()[..self.bytes as usize].to_vec()).collect();
        bytes.chunks(4).map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte))).collect()
    }

    /// Three trips over elements that are as many bytes apart as a parameter says, in 32 bits, as CuPy writes what works on each element.
    fn strided(&self) -> String {
        format!(
            "{HEAD}cvt.s64.s32 %d4, %r1; cvt.u64.u32 %d5, %r2; mul.lo.s64 %d6, %d4, %d5; shl.b64 %d7, %d6, 32;\n\
             mul.lo.s64 %d8, %d4, 96; shl.b64 %d9, %d8, 32; mov.u32 %r5, 0;\n\
             L: shr.s64 %d10, %d7, 32; add.s64 %d11, %d2, %d10; add.s64 %d12, %d3, %d10;\n{}\
             add.s64 %d7, %d7, %d9; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra L;\n\
             ret;\n}}\n",
            self.step("[%d11]", "[%d12]"),
        )
    }

    /// The element of each thread's number and one that all have, which counts from the end if it is negative, as numba writes `array[i]`.
    fn counted_from_either_end(&self) -> String {
        format!(
            "{HEAD}cvt.s64.s32 %d4, %r1; cvt.u64.u32 %d5, %r2; add.s64 %d6, %d4, %d5; shr.s64 %d7, %d6, 63; and.b64 %d8, %d7, %d1;\n\
             add.s64 %d9, %d8, %d6; shl.b64 %d10, %d9, {}; add.s64 %d11, %d2, %d10; add.s64 %d12, %d3, %d10;\n{}ret;\n}}\n",
            self.bytes.trailing_zeros(),
            self.step("[%d11]", "[%d12]"),
        )
    }

    /// A loop over all elements, a CTA apart, whose trips are worked out by a division and counted down, the index of the next one being 0 where there is none, as numba writes
    /// `for i in range(first, count, step)`.
    fn counted_down(&self) -> String {
        format!(
            "{HEAD}cvt.s64.s32 %d4, %r1; cvt.u64.u32 %d5, %r2; sub.s64 %d6, %d4, %d5; setp.lt.s64 %p1, %d6, 1; @%p1 bra END;\n\
             div.s64 %d7, %d6, %d1; mul.lo.s64 %d8, %d7, %d1; sub.s64 %d8, %d6, %d8;\n\
             neg.s64 %d9, %d8; setp.gt.s64 %p2, %d6, 0; selp.b64 %d8, %d8, %d9, %p2; setp.gt.s64 %p3, %d8, 0; selp.u64 %d8, 1, 0, %p3;\n\
             add.s64 %d7, %d7, %d8; add.s64 %d7, %d7, -1; add.s64 %d10, %d5, %d1; mov.u64 %d13, %d4;\n\
             L: shr.s64 %d14, %d5, 63; and.b64 %d14, %d14, %d13; add.s64 %d14, %d14, %d5; shl.b64 %d14, %d14, {};\n\
             add.s64 %d11, %d2, %d14; add.s64 %d12, %d3, %d14;\n{}\
             setp.gt.s64 %p4, %d7, 0; selp.b64 %d15, -1, 0, %p4; add.s64 %d7, %d7, %d15; selp.b64 %d5, %d10, 0, %p4; add.s64 %d10, %d10, %d1;\n\
             @%p4 bra L;\n\
             END: ret;\n}}\n",
            self.bytes.trailing_zeros(),
            self.step("[%d11]", "[%d12]"),
        )
    }

    /// A loop over all elements, a CTA apart, unrolled as compilers do it: one to three trips that are left over, and then four at a time.
    fn unrolled(&self, carried: bool) -> String {
        let (bytes, apart) = (self.bytes, |times: u32| times * self.bytes * 96);
        let addresses = format!("mul.wide.u32 %d4, %r5, {bytes}; add.s64 %d5, %d2, %d4; add.s64 %d6, %d3, %d4;\n");
        let four: String =
            (0..4).map(|at| self.step(&format!("[%d5+{}]", apart(at)), &format!("[%d6+{}]", apart(at)))).collect();
        let (once, each) = if carried { (addresses.as_str(), "") } else { ("", addresses.as_str()) };
        format!(
            "{HEAD}setp.ge.u32 %p1, %r2, %r1; @%p1 bra END;\n\
             not.b32 %r6, %r2; add.u32 %r6, %r6, %r1; div.u32 %r7, %r6, 96; add.u32 %r8, %r7, 1; and.b32 %r9, %r8, 3; mov.u32 %r5, %r2;\n\
             setp.eq.u32 %p2, %r9, 0; @%p2 bra FOUR;\n\
             ONE: {addresses}{}add.u32 %r5, %r5, 96; add.s32 %r9, %r9, -1; setp.ne.u32 %p3, %r9, 0; @%p3 bra ONE;\n\
             FOUR: setp.lt.u32 %p4, %r7, 3; @%p4 bra END;\n{once}\
             L: {each}{four}add.s64 %d5, %d5, {step}; add.s64 %d6, %d6, {step}; add.u32 %r5, %r5, 384; setp.lt.u32 %p5, %r5, %r1; @%p5 bra L;\n\
             END: ret;\n}}\n",
            self.step("[%d5]", "[%d6]"),
            step = apart(4),
        )
    }
}

#[test]
fn loops_unrolled_by_compilers_are_done_to_their_end() {
    for (element, carried) in ELEMENTS.iter().flat_map(|element| [(element, true), (element, false)]) {
        for target in [Target::Host, Target::V3] {
            let kernel = Kernel::new(target, &element.unrolled(carried), 96);
            for count in [1u32, 95, 96, 97, 384, 385, 400, 415, 416, 479, 500, 768, 1000, 2999] {
                let device = Device::new();
                let before: Vec<u64> = (0..u64::from(count)).map(|at| at * 5 % 127).collect();
                let (i, o) = (device.buffer(&element.words(&before)), device.buffer(&vec![0; count as usize * 2]));
                let params: [&[u8]; 4] = [&i.to_le_bytes(), &i.to_le_bytes(), &o.to_le_bytes(), &count.to_le_bytes()];
                kernel.run(&device, &params);
                assert!(device.engine.fault().is_none());
                let expected = element.words(&before.iter().map(|number| 2 * number + 1).collect::<Vec<_>>());
                let got = device.words(o, expected.len());
                assert_eq!(got, expected, "{count} of {} bytes, {carried}, {target:?}", element.bytes);
            }
        }
    }
}

#[test]
fn elements_are_as_far_apart_as_a_parameter_says() {
    const MIDDLE: i64 = 1024;
    for (element, target) in ELEMENTS.iter().flat_map(|element| [(element, Target::Host), (element, Target::V3)]) {
        let kernel = Kernel::new(target, &element.strided(), 96);
        for stride in [1, 2, 3, 0, -1, -2] {
            let device = Device::new();
            let before: Vec<u64> = (0..2 * MIDDLE as u64).map(|at| at * 5 % 127).collect();
            let (i, o) = (device.buffer(&element.words(&before)), device.buffer(&vec![0; before.len() * 2]));
            let bytes = i64::from(element.bytes);
            let [from, to] = [i, o].map(|buffer| buffer + (MIDDLE * bytes) as u64);
            let apart = (stride * bytes) as i32;
            kernel.run(&device, &[&i.to_le_bytes(), &from.to_le_bytes(), &to.to_le_bytes(), &apart.to_le_bytes()]);
            assert!(device.engine.fault().is_none());
            let mut expected = vec![0; before.len()];
            for at in (0..3 * 96).map(|number| (MIDDLE + stride * number) as usize) {
                expected[at] = 2 * before[at] + 1;
            }
            let expected = element.words(&expected);
            assert_eq!(device.words(o, expected.len()), expected, "{stride} of {bytes} bytes, {target:?}");
        }
    }
}

#[test]
fn indices_count_from_either_end() {
    const COUNT: i64 = 300;
    for (element, target) in ELEMENTS.iter().flat_map(|element| [(element, Target::Host), (element, Target::V3)]) {
        let kernel = Kernel::new(target, &element.counted_from_either_end(), 96);
        // In the last ones some lanes of a gang are on either side.
        for first in [0i64, 7, -96, -200, -32, -5, -17, -49] {
            let device = Device::new();
            let before: Vec<u64> = (0..COUNT as u64).map(|at| at * 5 % 127).collect();
            let (i, o) = (device.buffer(&element.words(&before)), device.buffer(&vec![0; before.len() * 2]));
            let first_index = (first as i32).to_le_bytes();
            kernel.run(&device, &[&COUNT.to_le_bytes(), &i.to_le_bytes(), &o.to_le_bytes(), &first_index]);
            assert!(device.engine.fault().is_none());
            let mut expected = vec![0; before.len()];
            for at in (first..first + 96).map(|index| index.rem_euclid(COUNT) as usize) {
                expected[at] = 2 * before[at] + 1;
            }
            let expected = element.words(&expected);
            assert_eq!(device.words(o, expected.len()), expected, "from {first}, {} bytes, {target:?}", element.bytes);
        }
    }
}

#[test]
fn loops_whose_trips_are_divided_out_are_done_to_their_end() {
    for (element, target) in ELEMENTS.iter().flat_map(|element| [(element, Target::Host), (element, Target::V3)]) {
        let kernel = Kernel::new(target, &element.counted_down(), 128);
        let (cpu, features, width) = match target {
            Target::V3 => ("x86-64-v3", "+avx2,+fma", 16),
            Target::Host => ("x86-64-v4", "+avx512f", 32),
        };
        let gangs = Gangs::new([128, 1, 1], width).expect("gangs");
        let info = analyze(&kernel.module, FunctionId(0), gangs).expect("a kernel");
        let text = codegen::compile(&info, cpu, features).expect("covered").text;
        assert!(text.contains("@team0("), "gangs go by themselves: {cpu}");
        for count in [1u32, 127, 128, 129, 512, 513, 640, 650, 767, 1000, 2999] {
            let device = Device::new();
            let before: Vec<u64> = (0..u64::from(count)).map(|at| at * 5 % 127).collect();
            let (i, o) = (device.buffer(&element.words(&before)), device.buffer(&vec![0; count as usize * 2]));
            kernel.run(&device, &[&128u64.to_le_bytes(), &i.to_le_bytes(), &o.to_le_bytes(), &count.to_le_bytes()]);
            assert!(device.engine.fault().is_none());
            let expected = element.words(&before.iter().map(|number| 2 * number + 1).collect::<Vec<_>>());
            assert_eq!(device.words(o, expected.len()), expected, "{count} of {} bytes, {target:?}", element.bytes);
        }
    }
}

/// Each thread makes as many trips as it is told, which are a distance apart, and then three more with a load and a store each, to a state space: what is in shared memory then
/// is copied to the output.
fn told(space: &str, distance: u32, carried: bool) -> String {
    let addresses = "mul.wide.u32 %d4, %r5, 4; add.s64 %d5, %d2, %d4; add.s64 %d6, %d3, %d4;\n";
    let (once, each) = if carried { (addresses, "") } else { ("", addresses) };
    let words = |label: &str, access: &str| {
        format!(
            "mov.u32 %r11, %r2;\n{label}: mul.wide.u32 %d8, %r11, 4; add.s64 %d9, %d3, %d8; {access} add.u32 %r11, %r11, 32; setp.lt.u32 %p6, %r11, 2048; @%p6 bra {label};\n\
             bar.sync 0;\n"
        )
    };
    let (begin, end) = if space == "shared" {
        let clear = words("CLEAR", "st.shared.u32 [%d9], 0;");
        let copy = words("COPY", "ld.shared.u32 %r12, [%d9]; add.s64 %d8, %d10, %d8; st.global.u32 [%d8], %r12;");
        let tile = ".shared .align 4 .b32 tile[2048]; mov.u64 %d10, %d3; mov.u64 %d3, tile;\n";
        (format!("{tile}{clear}"), format!("bar.sync 0;\n{copy}"))
    } else {
        (String::new(), String::new())
    };
    format!(
        "{HEAD}{begin}mul.wide.u32 %d7, %r2, 4; add.s64 %d7, %d1, %d7; ld.global.u32 %r9, [%d7]; mov.u32 %r5, %r2; setp.eq.u32 %p2, %r9, 0; @%p2 bra ON;\n\
         ONE: add.u32 %r5, %r5, {distance}; add.s32 %r9, %r9, -1; setp.ne.u32 %p3, %r9, 0; @%p3 bra ONE;\n\
         ON: mov.u32 %r10, 0;\n{once}\
         L: {each}ld.global.u32 %r20, [%d5]; mad.lo.u32 %r20, %r20, 64, %r2; st.{space}.u32 [%d6], %r20;\n\
         add.s64 %d5, %d5, 2048; add.s64 %d6, %d6, 2048; add.u32 %r5, %r5, 512; add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, 3; @%p5 bra L;\n\
         {end}ret;\n}}\n"
    )
}

/// Numbers of trips by lane: all alike, two rows, two rows in turns, three, one lane elsewhere, any.
fn trips(lane: u32) -> [u32; 8] {
    [
        0,
        2,
        u32::from(lane >= 8),
        1 + u32::from(lane < 5),
        u32::from((8..16).contains(&lane)),
        lane / 11,
        u32::from(lane == 17) * 3,
        lane * 7 % 5,
    ]
}

#[test]
fn lanes_go_where_their_trips_have_brought_them() {
    let distances = [(32, true), (32, false), (1, true), (1, false), (3, true)];
    let globals = distances.map(|(distance, carried)| ("global", distance, carried));
    let all = globals.into_iter().chain([("shared", 32, true), ("shared", 3, false)]);
    for (space, distance, carried) in all {
        for target in [Target::Host, Target::V3] {
            let kernel = Kernel::new(target, &told(space, distance, carried), 32);
            for case in 0..8 {
                let device = Device::new();
                let trips: Vec<u32> = (0..32).map(|lane| trips(lane)[case]).collect();
                let before: Vec<u32> = (0..2048).map(|at| at * 3 + 1).collect();
                let (t, i, o) = (device.buffer(&trips), device.buffer(&before), device.buffer(&[0; 2048]));
                let params: [&[u8]; 4] = [&t.to_le_bytes(), &i.to_le_bytes(), &o.to_le_bytes(), &0u32.to_le_bytes()];
                kernel.run(&device, &params);
                assert!(device.engine.fault().is_none());
                let mut expected = vec![0; 2048];
                for trip in 0..3 {
                    // Of lanes that store to one place the last one wins.
                    for (lane, trips) in trips.iter().enumerate() {
                        let at = lane + (trips * distance) as usize + 512 * trip;
                        expected[at] = before[at] * 64 + lane as u32;
                    }
                }
                assert_eq!(
                    device.words(o, 2048),
                    expected,
                    "case {case}, {space}, {distance} apart, {carried}, {target:?}"
                );
            }
        }
    }
}

#[test]
fn a_lane_that_is_elsewhere_is_refused_by_its_own_address() {
    for (target, carried) in [Target::Host, Target::V3].into_iter().flat_map(|target| [(target, true), (target, false)])
    {
        let kernel = Kernel::new(target, &told("global", 480, carried), 32);
        // All lanes but these stay inside; the first of these goes beyond the end with the store of this trip. Where they are the first or the last, they and the others make two rows.
        for (size, gone, trip) in
            [(512 * 2 + 32, 20..21, 2), (512 + 32, 3..4, 1), (512 * 2 + 32, 31..32, 2), (512 * 2 + 32, 0..7, 2)]
        {
            let device = Device::new();
            let trips: Vec<u32> = (0..32).map(|lane| u32::from(gone.contains(&lane))).collect();
            let (t, i, o) = (device.buffer(&trips), device.buffer(&[1; 4096]), device.buffer(&vec![0; size]));
            let params: [&[u8]; 4] = [&t.to_le_bytes(), &i.to_le_bytes(), &o.to_le_bytes(), &0u32.to_le_bytes()];
            kernel.run(&device, &params);
            let fault = device.engine.fault().expect("a fault");
            let FaultKind::Access(access) = &fault.kind else { panic!("{fault}") };
            let at = u64::from(gone.start + 480 + 512 * trip) * 4;
            assert_eq!((access.refusal, access.address), (Refusal::Unmapped, o + at), "{size} {carried} {target:?}");
            assert_eq!(fault.thread, Some([gone.start, 0, 0]));
        }
    }
}
