//! What the text of kernels is made of: vectors where lanes differ, scalars where not, and reasons where nothing is written.

use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};
use warploom_simt::{Gangs, analyze, codegen};

fn compile(text: &str, cta: [u32; 3]) -> Result<String, String> {
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new(cta, 16).expect("gangs")).expect("a kernel");
    codegen::compile(&info, "x86-64-v4", "+avx512f").map(|compiled| compiled.text).map_err(|declined| declined.0)
}

fn file(name: &str) -> String {
    let path = format!("{}/../../tests/filetests/analyze/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("file")
}

/// A kernel of one line between a load and a store of each thread's word.
fn kernel(line: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .local .b32 mine;\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n\
         ld.global.u32 %r2, [%rd3]; mov.b32 %f1, %r2;\n{line}\nst.global.u32 [%rd3], %r2;\nret;\n}}\n"
    )
}

#[test]
fn rows_are_vectors() {
    let text = compile(&file("saxpy"), [256, 1, 1]).expect("covered");
    let count = |part: &str| text.matches(part).count();
    assert_eq!(count("call <16 x float> @llvm.fma.v16f32("), 1);
    assert_eq!(count("call <16 x i32> @llvm.masked.load.v16i32.p0("), 2);
    assert_eq!(count("call void @llvm.masked.store.v16i32.p0("), 1);
}

#[test]
fn what_lanes_have_in_common_is_scalar() {
    let text =
        compile(&kernel("ld.global.u32 %r3, [%rd1]; mul.lo.s32 %r4, %r3, 3; xor.b32 %r2, %r2, %r4;"), [64, 1, 1]);
    let text = text.expect("covered");
    assert!(text.contains("mul i32") && !text.contains("mul <16 x i32>"), "{text}");
    assert!(text.contains("xor <16 x i32>"));
}

#[test]
fn kernels_with_barriers_are_functions_between_them() {
    let text = compile(&file("tile"), [16, 16, 1]).expect("covered");
    assert_eq!(text.matches("define internal i32 @region").count(), 3);
    let text = compile(&file("saxpy"), [256, 1, 1]).expect("covered");
    assert_eq!(text.matches("define internal i32 @region").count(), 1);
}

#[test]
fn what_is_not_covered_is_declined_with_its_line() {
    for (line, reason) in [
        ("div.u32 %r2, %r2, 3;", "line 9: div.u32"),
        ("add.rz.f32 %f1, %f1, %f1;", "line 9: add.rz.f32"),
        ("add.ftz.f32 %f1, %f1, %f1;", "line 9: add.ftz.f32"),
        ("add.sat.s32 %r2, %r2, %r2;", "line 9: add.sat.s32"),
        ("sin.approx.f32 %f1, %f1;", "line 9: sin.approx.f32"),
        ("atom.global.add.u32 %r2, [%rd3], 1;", "line 9: atom.global.add.u32"),
        ("red.global.add.u32 [%rd3], 1;", "line 9: red.global.add.u32"),
        ("ld.volatile.global.u32 %r2, [%rd3];", "line 9: ld.volatile.global.u32"),
        ("ld.u32 %r2, [%rd3];", "line 9: generic memory"),
        ("ld.local.u32 %r2, [mine];", "line 9: local memory"),
        ("shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;", "line 9: shfl.sync.bfly.b32"),
        ("membar.gl;", "line 9: membar.gl"),
        ("bar.sync 1, 32;", "barriers that not all threads come to together"),
        ("trap;", "line 9: trap"),
    ] {
        assert_eq!(compile(&kernel(line), [64, 1, 1]).expect_err(line), reason, "{line}");
    }
    assert_eq!(
        compile(&file("irreducible"), [64, 1, 1]).expect_err("declined"),
        "a loop that is entered in the middle, at block 1"
    );
    assert_eq!(compile(&file("waits"), [64, 1, 1]).expect_err("declined"), "line 14: threads may wait for each other");
}
