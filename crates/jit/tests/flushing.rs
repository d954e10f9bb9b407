//! Arithmetic with `.ftz` in compiled code gives what the interpreter gives, where the processor flushes and where code does: of subnormal numbers, of what becomes one, and of what
//! rounding lifts out of them.

mod device;

use std::sync::Arc;

use device::{Device, Nobody};
use warploom_exec::kernel::LoadedKernel;
use warploom_interp::Processor;
use warploom_jit::{Form, Made, Mode, Options as Jit, Origin, Style, Target, emit, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};

/// Numbers of all kinds, those around the least normal one above all.
fn numbers() -> Vec<u32> {
    let mut all = vec![0, 1, 2, 0x7f_ffff, 0x40_0000, 0x40_0001, 0x0080_0000, 0x0080_0001, 0x0080_0002, 0x00ff_ffff];
    all.extend([0x0100_0000, 0x0100_0001, 0x0180_0003, 0x017f_ffff, 0x2000_0000, 0x1fff_ffff, 0x2012_3456]);
    all.extend(
        [1.0f32, 0.5, 2.0, 4.0, 0.25, 3.0, 1.0 / 3.0, 1.000_000_1, 0.999_999_94, 1e-20, 1e20, 1e38].map(f32::to_bits),
    );
    all.extend([0x7e80_0000, 0x7e80_0001, 0x7f00_0000, 0x7f7f_ffff, f32::INFINITY.to_bits(), 0x7fc0_0000]);
    let negative: Vec<u32> = all.iter().map(|bits| bits | 0x8000_0000).collect();
    all.extend(negative);
    all
}

/// A kernel that does something with the numbers `%f1` to `%f3` of each thread, of which `%f4`, `%r4` or `%p1` comes.
fn text(line: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{\n.reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>;\n\
         .reg .b16 %h<4>; .reg .f64 %x<4>; .reg .b64 %q<4>;\n\
         ld.param.u64 %d1, [data]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3; mul.wide.u32 %d2, %r1, 16;\n\
         add.u64 %d1, %d1, %d2; ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+4]; ld.global.f32 %f3, [%d1+8];\n\
         mov.f32 %f4, 0f00000000; mov.u32 %r4, 0; setp.ne.u32 %p1, %r4, 0;\n{line}\n\
         mov.b32 %r5, %f4; xor.b32 %r4, %r4, %r5; @%p1 not.b32 %r4, %r4;\nst.global.u32 [%d1+12], %r4;\nret;\n}}\n"
    )
}

/// What it leaves of all threads.
fn left(what: &str, module: &Arc<VerifiedModule>, kernel: Arc<dyn LoadedKernel>) -> Vec<u32> {
    let device = Device::new();
    let numbers = numbers();
    let count = numbers.len();
    let mut data: Vec<u32> = Vec::new();
    for at in 0..(count * count).next_multiple_of(128) {
        let pick = |at: usize| numbers[at % count];
        data.extend([pick(at), pick(at / count), pick(7 * at + at / count + 3), 0]);
    }
    let buffer = device.buffer(&data);
    device.run(module, kernel, [(data.len() / 4 / 128) as u32, 1, 1], [128, 1, 1], &[&buffer.to_le_bytes()]);
    assert_eq!(device.engine.fault().map(|fault| fault.to_string()), None, "{what}");
    device.words(buffer, data.len()).into_iter().skip(3).step_by(4).collect()
}

/// That compiled code gives the same, in each style and for both instruction sets; whether the processor flushes there.
fn flushes(line: &str) -> bool {
    let module = Arc::new(load(text(line).as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect(line));
    let interpreted = warploom_interp::load(&module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
    let expected = left(line, &module, interpreted);
    for (target, style) in [(Target::Host, Style::Chosen), (Target::V3, Style::Gangs), (Target::Host, Style::Apart)] {
        let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
        let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style, report };
        let what = format!("{line} ({target:?}, {style:?})");
        let given = left(&what, &module, tiered(jit, &module, FunctionId(0), Arc::new(Nobody)));
        let nan = |bits: u32| bits & 0x7fff_ffff > 0x7f80_0000;
        for (at, (given, expected)) in given.iter().zip(&expected).enumerate() {
            let same = given == expected || (nan(*given) && nan(*expected));
            let count = numbers().len();
            let of = [at % count, at / count % count, (7 * at + at / count + 3) % count].map(|at| numbers()[at]);
            assert!(same, "{what}: {given:08x} in place of {expected:08x} of {of:08x?}");
        }
    }
    let llvm = emit(&module, FunctionId(0), [128, 1, 1], Target::Host, Form::Llvm).expect("covered");
    llvm.contains("ldmxcsr")
}

#[test]
fn the_processor_flushes_where_all_arithmetic_does() {
    for line in [
        "add.ftz.f32 %f4, %f1, %f2;",
        "sub.ftz.f32 %f4, %f1, %f2;",
        "mul.ftz.f32 %f4, %f1, %f2;",
        "mul.ftz.sat.f32 %f4, %f1, %f2;",
        "fma.rn.ftz.f32 %f4, %f1, %f2, %f3;",
        "fma.rn.ftz.f32 %f4, %f1, %f2, %f3; fma.rn.ftz.f32 %f4, %f4, %f1, %f2;",
        "div.rn.ftz.f32 %f4, %f1, %f2;",
        "sqrt.rn.ftz.f32 %f4, %f1;",
        "rcp.rn.ftz.f32 %f4, %f1;",
        // A number that nothing is done to.
        "mul.ftz.f32 %f4, %f1, 0f3f800000;",
        "mul.ftz.f32 %f4, %f1, 0fbf800000;",
        "div.rn.ftz.f32 %f4, %f1, 0f3f800000;",
        "sub.ftz.f32 %f4, %f1, 0f00000000;",
        "add.ftz.f32 %f4, %f1, 0f80000000;",
        "mov.f32 %f5, 0f3f800000; mul.ftz.f32 %f4, %f5, %f1;",
        "setp.gt.s32 %p2, %r1, 40; selp.f32 %f5, 0f3f800000, %f2, %p2; mul.ftz.f32 %f4, %f5, %f1;",
        "mov.f32 %f5, 0f3f800000; mov.u32 %r6, 0; L: mul.ftz.f32 %f5, %f5, %f1; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 1; @%p2 bra L; mov.f32 %f4, %f5;",
        "fma.rn.ftz.f32 %f4, %f1, 0f3f800000, 0f80000000;",
        "fma.rn.ftz.f32 %f4, %f1, 0f3f800000, %f2;",
        "fma.rn.ftz.f32 %f4, %f1, 0f00000000, %f2;",
        // Directions, beside what the processor flushes.
        "add.ftz.f32 %f5, %f1, %f2; mul.rz.ftz.f32 %f4, %f5, %f3;",
        "add.ftz.f32 %f5, %f1, %f2; fma.rp.ftz.f32 %f4, %f1, %f5, %f3;",
        "add.ftz.f32 %f5, %f1, %f2; div.rm.ftz.f32 %f4, %f5, %f3;",
        "add.ftz.f32 %f5, %f1, %f2; add.rp.ftz.f32 %f4, %f5, %f3;",
        // What is no arithmetic is as before.
        "add.ftz.f32 %f5, %f1, %f2; min.ftz.f32 %f4, %f1, %f5;",
        "add.ftz.f32 %f5, %f1, %f2; max.ftz.f32 %f4, %f3, %f1; sub.ftz.f32 %f4, %f4, %f5;",
        "mul.ftz.f32 %f5, %f1, %f2; setp.lt.ftz.f32 %p1, %f5, %f3;",
        "mul.ftz.f32 %f5, %f1, %f2; setp.eq.ftz.f32 %p1, %f1, %f2; mov.f32 %f4, %f5;",
        "mul.ftz.f32 %f5, %f1, %f2; set.ge.ftz.f32.f32 %f4, %f1, 0f00000000;",
        "mul.ftz.f32 %f5, %f1, %f2; slct.ftz.f32.f32 %f4, %f5, %f2, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; mov.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; neg.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; abs.ftz.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; copysign.f32 %f4, %f1, %f2;",
        "mul.ftz.f32 %f5, %f1, %f2; testp.finite.f32 %p1, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rzi.s32.f32 %r4, %f5;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rpi.ftz.s32.f32 %r4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rmi.ftz.f32.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rni.f32.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rzi.f32.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f4, %h1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rn.bf16.f32 %h1, %f1; cvt.f32.bf16 %f4, %h1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rn.f16.f32 %h1, %f1; cvt.rn.f16.f32 %h2, %f2; fma.rn.f16 %h1, %h1, %h2, %h1; cvt.f32.f16 %f4, %h1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rn.f32.s32 %f4, %r1; mul.ftz.f32 %f4, %f4, %f5;",
        "mul.ftz.f32 %f5, %f1, %f2; div.u32 %r4, %r1, 7;",
        "mul.ftz.f32 %f5, %f1, %f2; red.global.add.f32 [%d1], %f2; ld.global.f32 %f4, [%d1];",
        // Approximate ones.
        "mul.ftz.f32 %f5, %f1, %f2; rsqrt.approx.ftz.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; rcp.approx.ftz.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; sqrt.approx.ftz.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; ex2.approx.ftz.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; lg2.approx.ftz.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; sin.approx.ftz.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cos.approx.ftz.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; div.approx.ftz.f32 %f4, %f1, %f2;",
        "mul.ftz.f32 %f5, %f1, %f2; div.full.ftz.f32 %f4, %f1, %f2;",
        "mul.ftz.f32 %f5, %f1, %f2; div.full.ftz.f32 %f4, %f5, %f2;",
    ] {
        assert!(flushes(line), "{line}");
    }
}

#[test]
fn a_few_operations_leave_the_mode() {
    let flushed = "fma.rn.ftz.f32 %f5, %f5, %f2, %f3; add.ftz.f32 %f6, %f6, %f5;";
    for line in [
        "add.f32 %f4, %f1, %f2;",
        "sub.f32 %f4, %f1, %f2;",
        "mul.f32 %f4, %f1, %f2;",
        "div.rn.f32 %f4, %f1, %f2;",
        "div.full.f32 %f4, %f1, %f2;",
        "div.approx.f32 %f4, %f1, %f2;",
        "fma.rn.f32 %f4, %f1, %f2, %f3;",
        "sqrt.rn.f32 %f4, %f1;",
        "rcp.rn.f32 %f4, %f1;",
    ] {
        let lines =
            format!("mov.f32 %f5, %f1; mov.f32 %f6, %f2; {} {line} setp.gt.ftz.f32 %p1, %f6, %f1;", flushed.repeat(5));
        assert!(flushes(&lines), "{line}");
    }
}

#[test]
fn code_flushes_where_others_compute_with_subnormal_numbers() {
    for line in [
        "mul.ftz.f32 %f5, %f1, %f2; add.f32 %f4, %f5, %f3;",
        "mul.ftz.f32 %f5, %f1, %f2; mul.f32 %f4, %f1, %f3; fma.rn.ftz.f32 %f4, %f4, %f5, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; div.rn.f32 %f4, %f1, %f3; max.ftz.f32 %f4, %f4, %f5;",
        "mul.ftz.f32 %f5, %f1, %f2; fma.rn.sat.f32 %f4, %f1, %f2, %f3;",
        "mul.ftz.f32 %f5, %f1, %f2; setp.lt.f32 %p1, %f1, %f2;",
        "mul.ftz.f32 %f5, %f1, %f2; min.f32 %f4, %f1, %f2;",
        "mul.ftz.f32 %f5, %f1, %f2; testp.subnormal.f32 %p1, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; slct.f32.f32 %f4, %f5, %f2, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rpi.s32.f32 %r4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rmi.f32.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.rni.sat.f32.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; cvt.f64.f32 %x1, %f1; mul.f64 %x1, %x1, 0d3ff8000000000000; cvt.rn.f32.f64 %f4, %x1;",
        "mul.ftz.f32 %f5, %f1, %f2; sqrt.rn.f32 %f4, %f1;",
        "mul.ftz.f32 %f5, %f1, %f2; rsqrt.approx.f32 %f4, %f1;",
        "div.full.ftz.f32 %f4, %f1, %f2; add.f32 %f4, %f4, %f1;",
        "div.approx.ftz.f32 %f4, %f1, %f2; add.f32 %f4, %f4, %f1;",
        "add.f32 %f5, %f1, %f2; mul.ftz.f32 %f4, %f5, %f3; sub.ftz.f32 %f4, %f4, %f5; max.ftz.f32 %f4, %f4, %f1;",
    ] {
        assert!(!flushes(line), "{line}");
    }
}
