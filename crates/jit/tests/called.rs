//! Functions that stay functions in compiled code: called for some lanes, from several places, in each other, with what is handed over in registers and in memory; and what
//! faults in one is told with its place.

mod device;

use std::fmt::Write;
use std::sync::Arc;

use device::{Device, Nobody, line_of};
use warploom_exec::kernel::LoadedKernel;
use warploom_interp::Processor;
use warploom_jit::{Form, Made, Mode, Options as Jit, Origin, Style, Target, emit, tiered};
use warploom_ptx::ir::{FunctionId, FunctionKind};
use warploom_ptx::{Options, VerifiedModule, load};

const THREADS: u32 = 100;

fn module(text: &str) -> (Arc<VerifiedModule>, FunctionId) {
    let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
    let kernel = module.functions.iter().position(|function| function.kind == FunctionKind::Kernel).expect("a kernel");
    (module, FunctionId(kernel as u32))
}

fn compiled(style: Style, target: Target, module: &Arc<VerifiedModule>, kernel: FunctionId) -> Arc<dyn LoadedKernel> {
    let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
    let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style, report };
    tiered(jit, module, kernel, Arc::new(Nobody))
}

/// What the kernel leaves of three CTAs, and what it ends with.
fn left(module: &Arc<VerifiedModule>, name: FunctionId, kernel: Arc<dyn LoadedKernel>) -> (Vec<u32>, Option<String>) {
    let device = Device::new();
    let count = 3 * THREADS as usize;
    let data = device.buffer(&(0..count as u32).map(|at| at.wrapping_mul(0x9e37_79b1) ^ at).collect::<Vec<_>>());
    let function = &module.functions[name.0 as usize];
    device.start(function, kernel, [3, 1, 1], [THREADS, 1, 1], &[&data.to_le_bytes()]);
    device.stream.synchronize();
    let fault = device.engine.fault().map(|fault| fault.to_string());
    (if fault.is_none() { device.words(data, count) } else { Vec::new() }, fault)
}

/// That it is the same as the interpreter's where whatever can stay does.
fn same(text: &str) {
    let (module, kernel) = module(text);
    let interpreted = warploom_interp::load(&module, kernel, &|_| true, Processor::V4).expect("covered");
    let expected = left(&module, kernel, interpreted);
    assert_eq!(expected.1, None);
    for (style, target) in [(Style::Called, Target::Host), (Style::Called, Target::V3), (Style::Chosen, Target::Host)] {
        assert_eq!(left(&module, kernel, compiled(style, target, &module, kernel)), expected, "{style:?} {target:?}");
    }
}

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
const BEGIN: &str = ".visible .entry k(.param .u64 data)\n{\n.reg .b32 %r<20>; .reg .b64 %d<9>; .reg .pred %p<9>; .reg .f32 %f<9>;\n\
     ld.param.u64 %d1, [data]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n\
     mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; ld.global.u32 %r4, [%d1];\n";
const END: &str = "st.global.u32 [%d1], %r5;\nret;\n}\n";

/// A function that makes another number of one, with a loop that each lane leaves when it will.
const STIR: &str = ".func (.param .b32 out) stir(.param .b32 in)\n{\n.reg .b32 %r<9>; .reg .pred %p<3>;\nld.param.b32 %r1, [in]; and.b32 %r2, %r1, 15;\n\
     L: mad.lo.u32 %r1, %r1, 1664525, 1013904223; sub.u32 %r2, %r2, 1; setp.gt.s32 %p1, %r2, 0; @%p1 bra L;\n\
     and.b32 %r3, %r1, 4; setp.eq.u32 %p2, %r3, 0; @%p2 bra E; st.param.b32 [out], %r1; ret;\nE: not.b32 %r1, %r1; st.param.b32 [out], %r1; ret;\n}\n";

/// `to = name(from)`
fn call(name: &str, to: &str, from: &str) -> String {
    format!(
        "{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {from}; call (b), {name}, (a); ld.param.b32 {to}, [b]; }}\n"
    )
}

#[test]
fn lanes_call_from_several_places() {
    let (first, second) = (call("stir", "%r5", "%r4"), call("stir", "%r6", "%r1"));
    let code = format!(
        "mov.u32 %r5, 0; and.b32 %r7, %r4, 3; setp.eq.u32 %p1, %r7, 0; @%p1 bra A; {first} setp.gt.s32 %p2, %r5, 0; @%p2 bra B;\n\
         A: {second} xor.b32 %r5, %r5, %r6;\nB: add.u32 %r5, %r5, %r7;\n"
    );
    same(&format!("{HEAD}{STIR}{BEGIN}{code}{END}"));
}

#[test]
fn functions_call_functions_in_loops() {
    let inner = call("stir", "%r1", "%r1");
    let twice = format!(
        ".func (.param .b32 out) twice(.param .b32 in)\n{{\n.reg .b32 %r<9>; .reg .pred %p<3>;\nld.param.b32 %r1, [in]; setp.lt.s32 %p1, %r1, 0; @%p1 bra E;\n\
         {inner}E: {inner}st.param.b32 [out], %r1; ret;\n}}\n"
    );
    let code = format!(
        "mov.u32 %r5, %r4; and.b32 %r6, %r1, 7;\nL: {}{}sub.u32 %r6, %r6, 1; setp.gt.s32 %p1, %r6, 0; @%p1 bra L;\n",
        call("twice", "%r5", "%r5"),
        call("stir", "%r5", "%r5")
    );
    same(&format!("{HEAD}{STIR}{twice}{BEGIN}{code}{END}"));
}

#[test]
fn structures_and_local_variables_are_each_threads_own() {
    let function = ".func (.param .align 8 .b8 out[16]) turn(.param .align 8 .b8 in[16], .param .b16 by)\n{\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<3>;\n\
         .local .align 8 .b32 own[4]; mov.u64 %d1, own; ld.param.b64 %d2, [in]; ld.param.b64 %d3, [in+8]; st.local.u64 [own], %d3; st.local.u64 [own+8], %d2;\n\
         ld.param.b16 %h1, [by]; cvt.u32.u16 %r1, %h1; and.b32 %r1, %r1, 3; mul.wide.u32 %d4, %r1, 4; add.u64 %d5, %d1, %d4; ld.local.u32 %r2, [%d5];\n\
         ld.local.u64 %d6, [own]; ld.local.u64 %d7, [own+8]; cvt.u64.u32 %d8, %r2; xor.b64 %d6, %d6, %d8; st.param.b64 [out], %d6; st.param.b64 [out+8], %d7; ret;\n}\n";
    let code = "setp.lt.u32 %p1, %r3, 50; mov.u32 %r5, 77; @%p1 bra E; cvt.u64.u32 %d3, %r4; cvt.u64.u32 %d4, %r1;\n\
         { .param .align 8 .b8 a[16]; .param .b16 c; .param .align 8 .b8 b[16]; .reg .b16 %h; cvt.u16.u32 %h, %r4; st.param.b64 [a], %d3; st.param.b64 [a+8], %d4; st.param.b16 [c], %h;\n\
         call (b), turn, (a, c); ld.param.b64 %d5, [b]; ld.param.b64 %d6, [b+8]; }\n\
         cvt.u32.u64 %r6, %d5; cvt.u32.u64 %r7, %d6; xor.b32 %r5, %r6, %r7;\nE:\n";
    same(&format!("{HEAD}{function}{BEGIN}{code}{END}"));
}

#[test]
fn a_call_of_a_table_comes_to_functions() {
    let other = STIR.replace("stir", "other").replace("1664525", "22695477");
    let table = ".global .align 8 .u64 table[2] = {stir, other};\n";
    let code = "and.b32 %r6, %r4, 1; mul.wide.u32 %d3, %r6, 8; mov.u64 %d4, table; add.u64 %d4, %d4, %d3; ld.global.u64 %d5, [%d4];\n\
         { .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; P: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %d5, (a), P; ld.param.b32 %r5, [b]; }\n";
    let (module, kernel) = module(&format!("{HEAD}{STIR}{other}{table}{BEGIN}{code}{END}"));
    let llvm = |style| {
        let module = &warploom_simt::standalone(&module, kernel, [THREADS, 1, 1], style).expect("covered");
        module.functions.iter().filter(|function| function.body.is_some()).count()
    };
    assert_eq!([llvm(Style::Chosen), llvm(Style::Called)], [1, 3]);
}

#[test]
fn a_kernel_that_copies_would_make_too_long_calls() {
    let mut text = HEAD.to_owned();
    let mut sums = String::new();
    for at in 0..120 {
        let _ =
            writeln!(sums, "mad.lo.u32 %r1, %r1, {}, %r2; shf.l.wrap.b32 %r2, %r1, %r2, {};", 2 * at + 3, at % 31 + 1);
    }
    let body = |name: &str, inside: &str| {
        format!(
            ".func (.param .b32 out) {name}(.param .b32 in)\n{{\n.reg .b32 %r<9>;\nld.param.b32 %r1, [in]; mov.u32 %r2, 9;\n{inside}\
             st.param.b32 [out], %r1; ret;\n}}\n"
        )
    };
    text += &body("one", &sums);
    text += &body("ten", &format!("{}{sums}", call("one", "%r1", "%r1").repeat(10)));
    text += &body("hundred", &format!("{}{sums}", call("ten", "%r1", "%r1").repeat(10)));
    let code = format!("mov.u32 %r5, %r4;\n{}", call("hundred", "%r5", "%r5").repeat(3));
    text += &format!("{BEGIN}{code}{END}");
    same(&text);
    let (module, kernel) = module(&text);
    let llvm = emit(&module, kernel, [THREADS, 1, 1], Target::Host, Form::Llvm).expect("covered");
    assert_eq!(llvm.matches("define internal i32 @called").count(), 3);
}

/// As mathematical functions of compilers are written: a way for usual numbers, and a call that most threads go around.
#[test]
fn what_is_called_seldom_is_written_once_where_copies_would_make_the_kernel_long() {
    let mut sums = String::new();
    for at in 0..100 {
        let _ = writeln!(sums, "mad.lo.u32 %r1, %r1, {}, {at};", 2 * at + 3);
    }
    let function = format!(
        ".func (.param .b32 out) slow(.param .b32 in)\n{{\n.reg .b32 %r<9>;\nld.param.b32 %r1, [in];\n{sums}st.param.b32 [out], %r1; ret;\n}}\n"
    );
    let written = |places: u32, seldom: bool| {
        let mut code = "mov.u32 %r5, %r4;\n".to_owned();
        for at in 0..places {
            let around = if seldom { format!("@%p1 bra L{at};\n") } else { String::new() };
            let slow = call("slow", "%r5", "%r5");
            let _ = writeln!(
                code,
                "shr.u32 %r6, %r5, {}; and.b32 %r6, %r6, 7; setp.ne.u32 %p1, %r6, 0;\n{around}{slow}L{at}: add.u32 %r5, %r5, {at};",
                at % 29
            );
        }
        let text = format!("{HEAD}{function}{BEGIN}{code}{END}");
        same(&text);
        let (module, kernel) = module(&text);
        let llvm = emit(&module, kernel, [THREADS, 1, 1], Target::Host, Form::Llvm).expect("covered");
        llvm.matches("define internal i32 @called").count()
    };
    assert_eq!([written(24, true), written(24, false), written(8, true)], [1, 0, 0]);
}

#[test]
fn what_ends_the_grid_in_a_function_is_told_with_its_line() {
    let far = STIR.replace(
        "st.param.b32 [out], %r1; ret;\nE:",
        "{ .reg .b64 %d; mov.u64 %d, 8; ld.global.u32 %r1, [%d]; } st.param.b32 [out], %r1; ret;\nE:",
    );
    let stopped = STIR.replace("st.param.b32 [out], %r1; ret;\nE:", "trap;\nE:");
    for function in [far, stopped] {
        let (module, kernel) = module(&format!("{HEAD}{function}{BEGIN}{}{END}", call("stir", "%r5", "%r4")));
        let interpreted = warploom_interp::load(&module, kernel, &|_| true, Processor::V4).expect("covered");
        let fault = |kernel| left(&module, FunctionId(1), kernel).1.expect("a fault");
        let (expected, given) = (fault(interpreted), fault(compiled(Style::Called, Target::Host, &module, kernel)));
        assert!(line_of(&expected).is_some(), "{expected}");
        assert_eq!(line_of(&given), line_of(&expected), "{given}");
    }
}
