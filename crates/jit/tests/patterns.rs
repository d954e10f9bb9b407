//! What processor instructions become of PTX instructions, so that an update of LLVM cannot silently undo it: how often a mnemonic stands in the code of a
//! kernel with one such instruction, for AVX2 and for AVX-512, and that no function is called for it.

use warploom_jit::assembly;
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};
use warploom_simt::{Gangs, analyze, codegen};

/// Names of processors and what they have, with the width of a register.
const AVX2: (&str, &str, u32) = ("x86-64-v3", "+avx2,+fma,+f16c", 8);
const AVX512: (&str, &str, u32) =
    ("x86-64-v4", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl", 16);

/// The assembly of a kernel whose threads each compute `%r2` of one word, and `%r3` of another.
fn code(line: &str, (cpu, features, width): (&str, &str, u32)) -> String {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .shared .b32 tile[64];\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n\
         ld.global.u32 %r2, [%rd3]; ld.global.u32 %r3, [%rd3+256]; mov.b32 %f1, %r2; mov.b32 %f2, %r3;\n{line}\n\
         st.global.u32 [%rd3], %r2; st.global.f32 [%rd3+512], %f1;\nret;\n}}\n"
    );
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new([64, 1, 1], width).expect("gangs")).expect("a kernel");
    let compiled = codegen::compile(&info, cpu, features).expect("covered");
    assert!(compiled.steps.is_empty(), "{line} is left to the interpreter");
    assembly(&compiled.text).expect("LLVM takes it")
}

/// Instructions of the assembly, but directives and labels.
fn instructions(assembly: &str) -> impl Iterator<Item = &str> {
    assembly.lines().map(str::trim).filter(|line| !line.starts_with(['.', '#']) && !line.ends_with(':'))
}

fn count(assembly: &str, mnemonic: &str) -> usize {
    instructions(assembly).filter(|line| line.split_whitespace().next() == Some(mnemonic)).count()
}

/// Calls of anything but the executor, which are indirect.
fn calls(assembly: &str) -> Vec<&str> {
    let own = |line: &&str| line.contains("lanes") || line.contains('*');
    instructions(assembly).filter(|line| line.starts_with("call") && !own(line)).collect()
}

#[test]
fn operations_are_single_instructions() {
    for (line, avx2, avx512) in [
        ("add.f32 %f1, %f1, %f2;", "vaddps", "vaddps"),
        ("mul.f32 %f1, %f1, %f2;", "vmulps", "vmulps"),
        ("div.rn.f32 %f1, %f1, %f2;", "vdivps", "vdivps"),
        ("sqrt.rn.f32 %f1, %f1;", "vsqrtps", "vsqrtps"),
        ("fma.rn.f32 %f1, %f1, %f2, %f1;", "vfmadd213ps", "vfmadd213ps"),
        ("mul.lo.s32 %r2, %r2, %r3;", "vpmulld", "vpmulld"),
        ("min.s32 %r2, %r2, %r3;", "vpminsd", "vpminsd"),
        ("max.u32 %r2, %r2, %r3;", "vpmaxud", "vpmaxud"),
        ("xor.b32 %r2, %r2, %r3;", "vpxor", "vpxor"),
        ("cvt.rn.f32.s32 %f1, %r2;", "vcvtdq2ps", "vcvtdq2ps"),
        ("cvt.rmi.f32.f32 %f1, %f1;", "vroundps", "vrndscaleps"),
    ] {
        for (processor, mnemonic) in [(AVX2, avx2), (AVX512, avx512)] {
            let text = code(line, processor);
            let family = mnemonic.trim_end_matches(['q', 'd']);
            let found = instructions(&text).filter(|line| line.starts_with(family)).count();
            assert!(found >= 1, "{line}: no {mnemonic}\n{text}");
            // Once for gangs all of whose lanes run, and once for the others.
            assert!(found <= 4, "{line}: {found} times {mnemonic}\n{text}");
            assert_eq!(calls(&text), [""; 0], "{line}");
        }
    }
}

#[test]
fn nothing_that_vectors_can_do_is_done_lane_by_lane() {
    for line in [
        "div.u32 %r2, %r2, %r3;",
        "rem.s32 %r2, %r2, %r3;",
        "bfe.u32 %r2, %r2, %r3, 5;",
        "ex2.approx.ftz.f32 %f1, %f1;",
        "lg2.approx.f32 %f1, %f1;",
        "sin.approx.f32 %f1, %f1;",
        "cvt.rzi.s32.f32 %r2, %f1;",
        "cvt.rzi.u32.f32 %r2, %f1;",
        "popc.b32 %r2, %r2;",
        "mul.hi.u32 %r2, %r2, %r3;",
        "shf.l.wrap.b32 %r2, %r2, %r3, 7;",
    ] {
        for processor in [AVX2, AVX512] {
            let text = code(line, processor);
            let lanes = ["vpextrd", "vpinsrd", "vextractps", "idivl", "divl", "vdivss"].map(|name| count(&text, name));
            assert_eq!(lanes, [0; 6], "{line}\n{text}");
            assert_eq!(calls(&text), [""; 0], "{line}");
        }
    }
}

#[test]
fn full_gangs_in_a_row_need_no_mask() {
    for processor in [AVX2, AVX512] {
        let text = code("add.f32 %f1, %f1, %f2;", processor);
        assert!(!text.contains("maskmov") && !text.contains("{%k"), "{text}");
    }
}

/// The assembly of a loop over rows, in which each thread adds to its own elements.
fn loop_code((cpu, features, width): (&str, &str, u32)) -> String {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n\
         .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n\
         ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x;\n\
         mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r2, 256, %r3; mov.u32 %r5, %nctaid.x; shl.b32 %r5, %r5, 8;\n\
         setp.ge.s32 %p1, %r4, %r1; @%p1 bra D;\n\
         L: mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n\
         ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd5]; fma.rn.f32 %f3, %f1, %f1, %f2; st.global.f32 [%rd5], %f3;\n\
         add.s32 %r4, %r4, %r5; setp.lt.s32 %p2, %r4, %r1; @%p2 bra L;\n\
         D: ret;\n}\n";
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new([256, 1, 1], width).expect("gangs")).expect("a kernel");
    let compiled = codegen::compile(&info, cpu, features).expect("covered");
    assembly(&compiled.text).expect("LLVM takes it")
}

/// The shortest loop of the code that has a mnemonic.
fn shortest_loop<'a>(assembly: &'a str, mnemonic: &str) -> Vec<&'a str> {
    let lines: Vec<&str> = assembly.lines().map(str::trim).filter(|line| !line.starts_with(['#'])).collect();
    let mut loops: Vec<Vec<&str>> = Vec::new();
    for (end, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with('j')) {
        let Some(target) = line.split_whitespace().nth(1) else { continue };
        let start = lines[..end].iter().rposition(|line| line.strip_suffix(':') == Some(target));
        let Some(start) = start else { continue };
        let body: Vec<&str> = instructions_of(&lines[start..=end]);
        if body.iter().any(|line| line.starts_with(mnemonic)) {
            loops.push(body);
        }
    }
    loops.into_iter().min_by_key(Vec::len).unwrap_or_default()
}

fn instructions_of<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().copied().filter(|line| !line.is_empty() && !line.starts_with('.') && !line.ends_with(':')).collect()
}

#[test]
fn loops_of_full_gangs_have_no_masks_and_one_comparison_for_an_access() {
    for processor in [AVX2, AVX512] {
        let text = loop_code(processor);
        let body = shortest_loop(&text, "vfmadd");
        let count = |part: &str| body.iter().filter(|line| line.contains(part)).count();
        assert!(!body.is_empty(), "{text}");
        assert_eq!([count("maskmov"), count("{%k"), count("call")], [0; 3], "{body:#?}");
        // A rotation belongs to each comparison with the table of sites.
        assert_eq!(count("ror"), 3, "{body:#?}");
        assert!(body.len() <= 48, "{} instructions: {body:#?}", body.len());
    }
}
