//! Elements of 8 and 16 bits, and volatile ones, mean the same however the addresses of a warp lie and whatever register they are loaded into.

use warploom_exec::fault::FaultKind;
use warploom_interp::Processor;
use warploom_interp_testing::{Device, Shape};

const PROCESSORS: [Processor; 3] = [Processor::Baseline, Processor::V3, Processor::V4];
/// Elements that are stored before they are loaded.
const ELEMENTS: u32 = 192;

/// How addresses lie: PTX that makes the number of an element in `%r5` of that of the thread in `%r1`, and the same here.
type Pattern = (&'static str, fn(u32) -> u32);

const PATTERNS: [Pattern; 5] = [
    ("mov.u32 %r5, %r1;", |tid| tid),
    ("add.u32 %r5, %r1, 3;", |tid| tid + 3),
    ("mov.u32 %r5, 77;", |_| 77),
    // The same in each half of a warp.
    ("shr.u32 %r5, %r1, 4;", |tid| tid >> 4),
    ("mul.lo.u32 %r5, %r1, 37; and.b32 %r5, %r5, 127;", |tid| (tid * 37) & 127),
];

fn element(number: u32, bits: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b9).rotate_left(9) & (u32::MAX >> (32 - bits))
}

/// What `%r6` holds after an element of a type was loaded into a register of 32 bits, or into one of 16 with nothing above it.
fn loaded(ty: &str, bits: u32, narrow_register: bool, value: u32) -> u32 {
    let extended = match ty.as_bytes()[0] {
        b's' => ((value << (32 - bits)) as i32 >> (32 - bits)) as u32,
        _ => value,
    };
    if narrow_register { extended & 0xffff } else { extended }
}

fn check(space: &str, volatile: &str, ty: &str, narrow_register: bool) {
    let device = Device::with_threads(1);
    let bits: u32 = ty[1..].parse().unwrap();
    let bytes = bits / 8;
    let unsigned = format!("u{bits}");
    // Shared memory through a row of 32 bits, global memory through one of 64.
    let (base, index, at) = match space {
        "shared" => ("mov.u32 %r2, buffer;", format!("mad.lo.u32 %r4, %r5, {bytes}, %r2;"), "%r4"),
        _ => ("ld.param.u64 %d2, [buffer_at];", format!("mad.wide.u32 %d4, %r5, {bytes}, %d2;"), "%d4"),
    };
    let load = match narrow_register {
        true => format!("ld{volatile}.{space}.{ty} %h1, [{at}]; mov.b32 %r6, {{%h1, %h2}};"),
        false => format!("ld{volatile}.{space}.{ty} %r6, [{at}];"),
    };
    for (pattern, of) in PATTERNS {
        let ptx = format!(
            ".visible .entry kernel(.param .u64 out, .param .u64 buffer_at) {{
            .reg .b16 %h<4>; .reg .b32 %r<12>; .reg .b64 %d<6>; .reg .pred %p<2>; .shared .align 8 .b8 buffer[1024];
            mov.u32 %r1, %tid.x; mov.u32 %r9, %ntid.x; mov.u16 %h2, 0; {base}
            mov.u32 %r5, %r1;
            FILL: mul.lo.u32 %r7, %r5, 0x9e3779b9; shf.l.wrap.b32 %r7, %r7, %r7, 9; {index}
            st{volatile}.{space}.{unsigned} [{at}], %r7;
            add.u32 %r5, %r5, %r9; setp.lt.u32 %p1, %r5, {ELEMENTS}; @%p1 bra FILL;
            bar.sync 0;
            {pattern} {index} {load}
            ld.param.u64 %d1, [out]; mad.wide.u32 %d1, %r1, 4, %d1; st.global.u32 [%d1], %r6; ret; }}"
        );
        // With 48 threads the second warp has 16 lanes.
        for (threads, processor) in
            [64, 48].into_iter().flat_map(|threads| PROCESSORS.map(|processor| (threads, processor)))
        {
            let kernel = device.kernel_for(&ptx, processor).unwrap();
            let (out, buffer) = (device.alloc(4 * u64::from(threads)), device.alloc(1024));
            device.launch(&kernel, Shape::new(1, threads), &[out, buffer]).unwrap();
            let expected: Vec<u32> =
                (0..threads).map(|tid| loaded(ty, bits, narrow_register, element(of(tid), bits))).collect();
            let got = device.words(out, expected.len());
            assert_eq!(got, expected, "{space} {volatile} {ty} {narrow_register} {pattern} {threads} {processor:?}");
        }
    }
}

#[test]
fn of_shared_memory() {
    for volatile in ["", ".volatile"] {
        for ty in ["u8", "s8", "b8", "u16", "s16"] {
            check("shared", volatile, ty, false);
            check("shared", volatile, ty, true);
        }
        check("shared", volatile, "u32", false);
    }
}

#[test]
fn of_global_memory() {
    for volatile in ["", ".volatile"] {
        for ty in ["u8", "s8", "b8", "u16", "s16"] {
            check("global", volatile, ty, false);
            check("global", volatile, ty, true);
        }
    }
}

/// The address of a volatile load is gone once its register is written.
#[test]
fn a_volatile_load_may_overwrite_its_address() {
    let device = Device::with_threads(1);
    let ptx = ".visible .entry kernel(.param .u64 out) {
        .reg .b32 %r<6>; .reg .b64 %d<4>; .shared .align 8 .b8 buffer[256];
        mov.u32 %r1, %tid.x; mov.u32 %r2, buffer; mad.lo.u32 %r3, %r1, 4, %r2; xor.b32 %r4, %r1, 0x5555;
        st.volatile.shared.u32 [%r3], %r4; ld.volatile.shared.u32 %r3, [%r3];
        ld.param.u64 %d1, [out]; mad.wide.u32 %d1, %r1, 4, %d1; st.global.u32 [%d1], %r3; ret; }";
    let kernel = device.kernel(ptx).unwrap();
    let out = device.alloc(256);
    device.launch(&kernel, Shape::new(1, 64), &[out]).unwrap();
    assert_eq!(device.words(out, 64), (0..64).map(|tid| tid ^ 0x5555).collect::<Vec<u32>>());
}

/// What is out of bounds or misaligned is refused as before, with the place.
#[test]
fn what_does_not_lie_in_shared_memory_is_refused() {
    for (ty, offset) in [("u8", 256), ("s8", 256), ("u16", 256), ("s16", 255), ("u16", 1)] {
        let device = Device::with_threads(1);
        for volatile in ["", ".volatile"] {
            let ptx = format!(
                ".visible .entry kernel(.param .u64 out) {{
                .reg .b32 %r<6>; .shared .align 8 .b8 buffer[256];
                mov.u32 %r1, buffer; add.u32 %r1, %r1, {offset};
                ld{volatile}.shared.{ty} %r2, [%r1]; st.shared.u32 [buffer], %r2; ret; }}"
            );
            let kernel = device.kernel(&ptx).unwrap();
            let fault = device.launch(&kernel, Shape::new(1, 64), &[0]).unwrap_err();
            assert_eq!(fault.thread, Some([0, 0, 0]), "{ty} {offset}");
            let misaligned = offset % 2 == 1 && ty.ends_with("16");
            let as_expected = match &fault.kind {
                FaultKind::MisalignedInSpace { space: ".shared", .. } => misaligned,
                FaultKind::OutsideSpace { space: ".shared", limit: 256, .. } => !misaligned,
                _ => false,
            };
            assert!(as_expected, "{ty} {offset}: {fault}");
        }
    }
}
