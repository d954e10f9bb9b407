//! What processor instructions become of PTX instructions, so that an update of LLVM cannot silently undo it: how often a mnemonic stands in the code of a
//! kernel with one such instruction, for AVX2 and for AVX-512, and that no function is called for it.

use std::cmp::Reverse;

use warploom_jit::assembly;
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};
use warploom_simt::codegen::{Compiled, Declined, Processor, Style};
use warploom_simt::{Gangs, KernelInfo, analyze, codegen, standalone};

/// Names of processors and what they have, with the width of a register.
const AVX2: (&str, &str, u32) = ("x86-64-v3", "+avx2,+fma,+f16c", 8);
const AVX512: (&str, &str, u32) =
    ("x86-64-v4", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl", 16);

/// One that gathers slowly.
const ZEN3: (&str, &str, u32) = ("znver3", "+avx2,+fma,+f16c", 8);

/// One that computes in `.f16`.
const HALVES: (&str, &str, u32) =
    ("sapphirerapids", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx512fp16", 16);

/// The code of a kernel whose gangs go one by one: what an instruction becomes stands in it once for all lanes that run, and not once for each gang of a team.
fn by_gangs(info: &KernelInfo<'_>, cpu: &str, features: &str) -> Result<Compiled, Declined> {
    codegen::compile_as(
        Style::Gangs,
        info,
        &Processor { name: cpu, features, fetches_rows: false, loads_gathers: cpu == ZEN3.0 },
    )
}

/// The assembly of a kernel whose threads each compute `%r2` of one word, and `%r3` of another.
fn code(line: &str, processor: (&str, &str, u32)) -> String {
    let (text, steps) = code_and_steps(line, processor);
    assert_eq!(steps, 0, "{line} is left to the interpreter");
    text
}

/// The same, and how many of its instructions the interpreter may be asked to do.
fn code_and_steps(line: &str, (cpu, features, width): (&str, &str, u32)) -> (String, usize) {
    let text = format!(
        ".version 9.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .shared .b32 tile[64];\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n\
         ld.global.u32 %r2, [%rd3]; ld.global.u32 %r3, [%rd3+256]; mov.b32 %f1, %r2; mov.b32 %f2, %r3;\n{line}\n\
         st.global.u32 [%rd3], %r2; st.global.f32 [%rd3+512], %f1;\nret;\n}}\n"
    );
    let module = load(text.as_bytes(), &Options { driver_version: 13030, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new([64, 1, 1], width).expect("gangs")).expect("a kernel");
    let compiled = by_gangs(&info, cpu, features).expect("covered");
    (assembly(&compiled.text).expect("LLVM takes it"), compiled.steps.len())
}

/// Instructions of the assembly, but directives and labels.
fn instructions(assembly: &str) -> impl Iterator<Item = &str> {
    assembly.lines().map(str::trim).filter(|line| !line.starts_with(['.', '#']) && !line.ends_with(':'))
}

fn count(assembly: &str, mnemonic: &str) -> usize {
    instructions(assembly).filter(|line| line.split_whitespace().next() == Some(mnemonic)).count()
}

/// Calls of anything but the executor, which are indirect or through functions that keep registers.
fn calls(assembly: &str) -> Vec<&str> {
    let own = |line: &&str| line.contains("lanes") || line.contains('*') || asks(line);
    instructions(assembly).filter(|line| line.starts_with("call") && !own(line)).collect()
}

/// Whether an instruction calls a function that asks the executor.
fn asks(line: &str) -> bool {
    let callee = line.strip_prefix("callq\t").unwrap_or_default();
    ["find", "poll", "stop", "check"].contains(&callee) || callee.starts_with("check_row")
}

/// The instructions of one function of the assembly.
fn function<'a>(assembly: &'a str, name: &str) -> Vec<&'a str> {
    let label = format!("{name}:");
    let from = assembly.lines().skip_while(|line| !line.starts_with(&label));
    let lines = from.take_while(|line| !line.starts_with(".Lfunc_end")).map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with(['.', '#']) && !line.ends_with(':')).collect()
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
        ("xor.b32 %r2, %r2, %r3;", "vxorps", "vxorps"),
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

/// A bound that is a number needs no look at zeros' signs, nor at what is no number.
#[test]
fn bounds_by_constants_are_single_instructions() {
    for (line, mnemonic) in [
        ("max.f32 %f1, %f1, 0f00000000;", "vmaxps"),
        ("max.f32 %f1, 0f00000000, %f1;", "vmaxps"),
        ("min.f32 %f1, %f1, 0f40C00000;", "vminps"),
        ("max.f32 %f1, %f1, 0fFF800000;", "vmaxps"),
    ] {
        for processor in [AVX2, AVX512] {
            let text = code(line, processor);
            assert!(count(&text, mnemonic) >= 1, "{line}\n{text}");
            assert_eq!(count(&text, "vcmp") + count(&text, "vblend") + count(&text, "vand"), 0, "{line}\n{text}");
        }
    }
}

/// Three words and a table are one instruction of AVX-512 for each register, whatever the table: a choice by bits, a majority, what LLVM finds no short form of.
#[test]
fn logic_of_three_words_is_an_instruction_of_its_own() {
    for lut in ["0xca", "0xe8", "0x96", "0x1b", "0x69"] {
        let line = format!("ld.global.u32 %r4, [%rd3+1024]; lop3.b32 %r2, %r2, %r3, %r4, {lut};");
        let text = code(&line, AVX512);
        let logic = ["vpternlog", "vpand", "vpor", "vpxor", "vand", "vor"];
        let found: Vec<&str> = instructions(&text)
            .filter(|line| line.contains("%zmm") && logic.iter().any(|name| line.starts_with(name)))
            .collect();
        // Once for gangs all of whose lanes run, and once for the others.
        assert!((1..=2).contains(&found.len()), "{line}: {found:?}\n{text}");
        assert!(found.iter().all(|line| line.starts_with("vpternlogd")), "{line}: {found:?}");
        assert_eq!(calls(&text), [""; 0], "{line}");
    }
}

/// Two products without carries are an instruction of each pair of elements, two for each register, and of processors without one no function is called.
#[test]
fn products_without_carries_are_instructions_of_pairs() {
    let line = "clmad.hi.u64 %rd4, %rd3, %rd2, %rd1; cvt.u32.u64 %r2, %rd4;";
    for ((cpu, features, _), instruction, elements) in
        [(AVX2, "+vpclmulqdq", 4), (AVX2, "+pclmul", 2), (AVX512, "+vpclmulqdq", 8), (AVX512, "", 1)]
    {
        let text = code(line, (cpu, &format!("{features},{instruction}"), 32));
        let products = instructions(&text).filter(|line| line.contains("clmul")).count();
        // Once for gangs all of whose lanes run, and once for the others.
        let each = if elements == 1 { 0 } else { 2 * 32 / elements };
        assert!(products == each || products == 2 * each, "{instruction}: {products}\n{text}");
        assert_eq!(calls(&text), [""; 0], "{instruction}");
    }
}

/// In registers from one product to the next, without the executor, which only does what a part of a warp is not to do.
#[test]
fn products_of_doubles_are_multiplied_in_vectors() {
    let product = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3, %d4}, {%d1}, {%d2}, {%d3, %d4};";
    let line = format!(
        ".reg .f64 %d<5>; cvt.f64.f32 %d1, %f1; cvt.f64.f32 %d2, %f2; mov.f64 %d3, %d1; mov.f64 %d4, %d2; {product} {product} cvt.rn.f32.f64 %f1, %d3;"
    );
    for ((cpu, features, _), lanes, registers) in [(AVX2, 4, "%ymm"), (AVX512, 8, "%zmm")] {
        let (text, steps) = code_and_steps(&line, (cpu, features, 32));
        let fused = |line: &&str| line.starts_with("vfmadd") && line.contains("pd") && line.contains(registers);
        // Two products, for each of which every lane has two sums of four.
        assert_eq!(instructions(&text).filter(fused).count(), 2 * 2 * 4 * 32 / lanes, "{text}");
        assert_eq!((calls(&text), steps), (Vec::new(), 2), "{text}");
    }
}

/// Rows of sixteen bytes, and halves by shuffles of vectors, without the executor, which only does what is refused.
#[test]
fn tiles_are_moved_by_rows() {
    let load = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r2, %r3, %r4, %r5}, [%r6];";
    let line =
        format!("mov.u32 %r6, tile; {load} xor.b32 %r2, %r2, %r3; xor.b32 %r4, %r4, %r5; xor.b32 %r2, %r2, %r4;");
    for ((cpu, features, _), shuffle, most) in [(AVX2, "vpshufb", 64), (AVX512, "vpermt2w", 8)] {
        let (text, steps) = code_and_steps(&line, (cpu, features, 32));
        let (_, function) = text.split_once("load_4_tiles_transposed:").expect("a function for it");
        let (function, _) = function.split_once(".Lfunc_end").expect("an end");
        let found = count(function, shuffle);
        assert!(0 < found && found <= most, "{found} times {shuffle}\n{function}");
        assert_eq!((count(function, "pextrw"), count(function, "vpinsrw")), (0, 0), "{function}");
        assert_eq!(steps, 1, "{text}");
    }
}

/// Rows of sixteen bytes or of 32, which are joined and exchanged as vectors: their number of instructions is that of rows and registers, not of elements.
#[test]
fn fragments_are_moved_by_runs() {
    let line = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r1}, [%rd1], 40;\n\
                wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [tile], 40;\n\
                wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1+64], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 40;";
    for ((cpu, features, _), most) in [(AVX2, [120, 220, 210]), (AVX512, [110, 130, 150])] {
        let (text, _) = code_and_steps(line, (cpu, features, 32));
        let names = ["load_a_row_16x16x16_16_8", "load_c_row_16x16x16_32_8", "store_c_row_16x16x16_32_8"];
        for (name, most) in names.into_iter().zip(most) {
            let function = function(&text, name);
            assert!((32..=most).contains(&function.len()), "{cpu}: {}\n{}", function.len(), function.join("\n"));
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
        "prmt.b32 %r2, %r2, %r3, %r2;",
        "bfind.s32 %r2, %r2;",
        "add.cc.u32 %r2, %r2, %r3; addc.u32 %r2, %r2, %r3;",
        "cvt.sat.s16.s32 %h1, %r2; cvt.u32.u16 %r2, %h1;",
        "cvt.rz.f32.s32 %f1, %r2;",
        "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; cvt.rn.f16x2.e4m3x2 %r2, %h1;",
        "cvt.rna.tf32.f32 %r2, %f1;",
        "max.NaN.xorsign.abs.f32 %f1, %f1, %f2;",
        "lop3.or.b32 %r2|%p1, %r2, %r3, %r2, 0x96, %p2; selp.u32 %r2, %r2, 1, %p1;",
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
fn powers_of_two_are_few_operations() {
    for (processor, most) in [(AVX2, 90), (AVX512, 80)] {
        let own = |line| instructions(&code(line, processor)).filter(|line| line.starts_with('v')).count();
        // In full code and in masked code; operands and bounds are loaded.
        let more = own("ex2.approx.ftz.f32 %f1, %f1;") - own("neg.f32 %f1, %f1;");
        assert!(more <= most, "{more}");
    }
}

#[test]
fn powers_of_whole_numbers_need_no_polynomial() {
    for rounded in ["cvt.rmi.f32.f32 %f1, %f1;", "cvt.rzi.ftz.f32.f32 %f1, %f1;", "cvt.rn.f32.s32 %f1, %r2;"] {
        for processor in [AVX2, AVX512] {
            let products =
                |line: &str| instructions(&code(line, processor)).filter(|line| line.starts_with("vfmadd")).count();
            assert_eq!(products(&format!("{rounded} ex2.approx.ftz.f32 %f1, %f1;")), 0, "{rounded}");
            assert!(products("cvt.sat.f32.f32 %f1, %f1; ex2.approx.ftz.f32 %f1, %f1;") > 0);
        }
    }
}

#[test]
fn updates_at_bytes_of_a_word_are_not_looked_at() {
    for processor in [AVX2, AVX512] {
        let compared = |number: &str| {
            let line = format!(
                "{{ .shared .b32 table[256]; {number} mul.wide.u32 %rd4, %r4, 4; mov.u64 %rd5, table; add.s64 %rd6, %rd5, %rd4;\n\
                 atom.shared.add.u32 %r5, [%rd6], 1; }}"
            );
            instructions(&code(&line, processor)).filter(|line| line.starts_with("vpcmp")).count()
        };
        let known = compared("and.b32 %r4, %r2, 255;");
        assert_eq!(["bfe.u32 %r4, %r2, 8, 8;", "shr.u32 %r4, %r2, 24;"].map(compared), [known; 2]);
        assert!(compared("mov.b32 %r4, %r2;") > known);
    }
}

#[test]
fn columns_are_gathered_by_distances_of_32_bits() {
    for processor in [AVX2, AVX512] {
        let text = code("mul.wide.u32 %rd4, %r1, 132; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r2, [%rd5];", processor);
        // In full code and in masked code.
        assert_eq!(count(&text, "vpgatherdd"), 2, "{text}");
        assert_eq!(count(&text, "vpgatherqd") + count(&text, "vpgatherqq"), 0, "{text}");
    }
}

#[test]
fn lanes_are_loaded_one_by_one_where_that_is_faster_and_all_run() {
    let column = "mul.wide.u32 %rd4, %r1, 132; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r2, [%rd5];";
    let anywhere = "mul.wide.u32 %rd4, %r2, 4; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r2, [%rd5];";
    for line in [column, anywhere] {
        let text = code(line, ZEN3);
        // In masked code.
        assert_eq!(count(&text, "vpgatherdd") + count(&text, "vpgatherqd"), 1, "{text}");
        assert_eq!(count(&text, "vpinsrd"), 6, "{text}");
    }
    // Two indices at a time leave a register.
    assert_eq!(count(&code(anywhere, ZEN3), "vpextrd"), 0);
}

#[test]
fn four_products_of_bytes_are_two_instructions() {
    for processor in [AVX2, AVX512] {
        for types in ["s32.s32", "u32.s32", "s32.u32", "u32.u32"] {
            let text = code(&format!("dp4a.{types} %r2, %r2, %r3, %r2;"), processor);
            // In full code and in masked code.
            assert_eq!((count(&text, "vpmaddwd"), count(&text, "vpmulld")), (4, 0), "{text}");
        }
    }
}

#[test]
fn what_some_lanes_store_into_shared_memory_is_blended() {
    let line =
        "mov.u32 %r4, tile; mad.lo.s32 %r4, %r1, 4, %r4; setp.gt.s32 %p1, %r2, %r3; @%p1 st.shared.u32 [%r4], %r2;";
    let blends = |text: &str| instructions(text).filter(|line| line.contains("blendv")).count();
    assert_ne!(blends(&code(line, AVX2)), 0);
    // They are one instruction there.
    assert_eq!(blends(&code(line, AVX512)), 0);
}

#[test]
fn bytes_and_halves_from_anywhere_are_gathered_as_words() {
    for processor in [AVX2, AVX512] {
        for (ty, scale) in [("u8", 0), ("s8", 0), ("u16", 1)] {
            let line = format!(
                "shl.b32 %r4, %r2, {scale}; cvt.u64.u32 %rd4, %r4; add.s64 %rd5, %rd1, %rd4; ld.global.{ty} %r2, [%rd5];"
            );
            let text = code(&line, processor);
            assert!(instructions(&text).any(|line| line.starts_with("vpgather")), "{text}");
            let one_by_one = |line: &str| ["vpinsrb", "vpinsrw"].iter().any(|name| line.starts_with(name));
            assert!(!instructions(&text).any(one_by_one), "{text}");
        }
    }
}

#[test]
fn every_second_element_is_taken_out_of_what_lies_between_where_some_lanes_run_too() {
    for processor in [AVX2, AVX512] {
        let line = "shl.b32 %r4, %r1, 3; cvt.u64.u32 %rd4, %r4; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r2, [%rd5+4];";
        let text = code(line, processor);
        assert_eq!(count(&text, "vpgatherdd") + count(&text, "vpgatherqd"), 0, "{text}");
        assert_eq!(calls(&text).iter().filter(|call| !asks(call)).count(), 0, "{text}");
    }
}

#[test]
fn what_later_gangs_load_is_fetched_once_for_each_row() {
    for processor in [AVX2, AVX512] {
        // Two loads of one base, and one of another.
        assert_eq!(count(&code("", processor), "prefetcht0"), 1);
        let line = "ld.param.u64 %rd4, [p+8]; add.s64 %rd4, %rd4, %rd2; ld.global.u32 %r3, [%rd4];";
        assert_eq!(count(&code(line, processor), "prefetcht0"), 2);
        // Not what is gathered.
        let line = "mul.wide.u32 %rd4, %r1, 132; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r2, [%rd5];";
        assert_eq!(count(&code(line, processor), "prefetcht0"), 1);
    }
}

#[test]
fn four_columns_of_each_thread_are_exchanged_once_for_all_four_loads_or_stores() {
    let columns = "and.b32 %r4, %r1, 15; mul.wide.u32 %rd4, %r4, 16; mov.u64 %rd5, tile; add.s64 %rd5, %rd5, %rd4;";
    let loads = format!(
        "{columns} ld.shared.u32 %r5, [%rd5]; ld.shared.u32 %r6, [%rd5+4]; ld.shared.u32 %r7, [%rd5+8]; ld.shared.u32 %r8, [%rd5+12];\n\
         mul.lo.u32 %r2, %r5, %r6; mad.lo.u32 %r2, %r2, %r7, %r8;"
    );
    let stores = format!(
        "{columns} add.u32 %r4, %r2, 1; add.u32 %r5, %r2, 2; add.u32 %r6, %r2, 3;\n\
         st.shared.u32 [%rd5], %r2; st.shared.u32 [%rd5+4], %r4; st.shared.u32 [%rd5+8], %r5; st.shared.u32 [%rd5+12], %r6;\n\
         bar.sync 0; ld.shared.u32 %r2, [tile];"
    );
    let vector = format!(
        "{columns} ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%rd5]; mul.lo.u32 %r2, %r5, %r6; mad.lo.u32 %r2, %r2, %r7, %r8;"
    );
    // Of vectors as they lie: eight shuffles for four registers. Each word by itself would be twelve shuffles, or a scatter; the rows of a vector
    // are taken apart so where some lanes run.
    for (line, most) in [(&loads, 8), (&vector, 8 + 12), (&stores, 8)] {
        let text = code(line, AVX512);
        let shuffles = ["vpermt2d", "vpermi2d", "vpermt2q", "vpermi2q", "vshufi64x2", "valignq", "vinserti64x4"];
        let shuffles: usize = shuffles.iter().map(|mnemonic| count(&text, mnemonic)).sum();
        assert!((4..=most).contains(&shuffles), "{shuffles} shuffles: {text}");
    }
    // By quarters of registers.
    let text = code(&loads, AVX2);
    let count_of = |start: &str| instructions(&text).filter(|line| line.starts_with(start)).count();
    assert_eq!((count_of("vpunpck") + count_of("vunpck"), count_of("vinsert")), (8, 4), "{text}");
}

/// How many lines a kernel prefetches whose threads go from plane to plane, and store a cell of each that comes of so many rows.
fn fetched_by_plane(rows: usize, fetches_rows: bool) -> usize {
    let loads: String = (0..rows)
        .map(|row| format!("mad.wide.s32 %rd4, %r3, {row}, %rd3; ld.global.f32 %f2, [%rd4]; add.f32 %f1, %f1, %f2;\n"))
        .collect();
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{{\n\
         .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %rd<9>; .reg .pred %p<2>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r3, [n];\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mad.lo.s32 %r1, %r2, %r3, %r1; mul.wide.s32 %rd5, %r1, 4; mov.u32 %r4, 0;\n\
         again: add.s64 %rd3, %rd1, %rd5; mov.f32 %f1, 0f00000000;\n{loads}add.s64 %rd6, %rd2, %rd5; st.global.f32 [%rd6], %f1;\n\
         mad.wide.s32 %rd5, %r3, 40, %rd5; add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %r3; @%p1 bra again;\nret;\n}}\n"
    );
    let (cpu, features, _) = ZEN3;
    prefetched(&text, [32, 8, 1], &Processor { name: cpu, features, fetches_rows, loads_gathers: true })
}

/// How many lines a kernel prefetches whose gangs of 32 go one by one.
fn prefetched(text: &str, cta: [u32; 3], processor: &Processor<'_>) -> usize {
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new(cta, 32).expect("gangs")).expect("a kernel");
    let compiled = codegen::compile_as(Style::Gangs, &info, processor).expect("covered");
    let text = assembly(&compiled.text).expect("LLVM takes it");
    instructions(&text).filter(|line| line.starts_with("prefetcht0")).count()
}

#[test]
fn rows_of_later_planes_are_fetched_where_many_are_loaded_for_each_that_is_stored() {
    // Two lines of each row, where all lanes run and where some do.
    assert_eq!(fetched_by_plane(5, true), 2 * 2 * 5);
    assert_eq!(fetched_by_plane(3, true), 0);
    assert_eq!(fetched_by_plane(5, false), 0);
}

/// How many lines a kernel prefetches in which the threads of a CTA go through a row and count what is greater than a word, which takes gangs apart; `step` is what the loop
/// goes on by, and `until` where it ends.
fn fetched_by_counting(step: &str, until: &str, (cpu, features, _): (&str, &str, u32)) -> usize {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{{\n\
         .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .b64 %rd<9>; .reg .pred %p<4>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r9, [n];\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, 0; mov.u32 %r4, %r1; ld.global.f32 %f1, [%rd2];\n\
         again: mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3; ld.global.f32 %f2, [%rd4]; setp.gt.f32 %p1, %f2, %f1; @%p1 bra yes;\n\
         setp.gt.s32 %p2, %r4, %r3; @%p2 bra no;\nyes: add.s32 %r3, %r3, 1;\nno: add.s32 %r4, %r4, {step}; setp.lt.s32 %p3, %r4, {until}; @%p3 bra again;\n\
         mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd2, %rd5; st.global.u32 [%rd6], %r3;\nret;\n}}\n"
    );
    prefetched(&text, [256, 1, 1], &Processor { name: cpu, features, fetches_rows: false, loads_gathers: false })
}

#[test]
fn rows_of_a_cta_that_gangs_go_through_one_by_one_are_fetched_for_the_next_gang() {
    for processor in [AVX2, AVX512] {
        for (step, until) in [("%r2", "%r9"), ("256", "100000")] {
            assert_ne!(fetched_by_counting(step, until, processor), 0, "{step} {until}");
        }
        // What goes straight on the processor foresees, and short rows are there by then.
        for (step, until) in [("32", "%r9"), ("%r2", "1024")] {
            assert_eq!(fetched_by_counting(step, until, processor), 0, "{step} {until}");
        }
    }
}

/// The assembly of a kernel that adds a word of `b` to one of `a`, and stores it to `to`.
fn sums_to(to: &str, (cpu, features, _): (&str, &str, u32), width: u32) -> String {
    let text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<9>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [{to}];\n\
         mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;\n\
         ld.global.u32 %r2, [%rd5]; ld.global.u32 %r3, [%rd6]; add.u32 %r4, %r2, %r3; st.global.u32 [%rd7], %r4;\nret;\n}}\n"
    );
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new([64, 1, 1], width).expect("gangs")).expect("a kernel");
    assembly(&by_gangs(&info, cpu, features).expect("covered").text).expect("LLVM takes it")
}

#[test]
fn only_results_that_fill_lines_go_past_the_caches() {
    for (processor, lanes) in [(AVX2, 8), (AVX512, 16)] {
        let past = |to: &str, what: &str| {
            let text = sums_to(to, processor, 32);
            instructions(&text).filter(|line| line.starts_with(what)).count() as u32
        };
        assert_eq!(past("c", "vmovnt"), 32 / lanes);
        // Two lines of each of two rows that are loaded; where results do not fill lines, those of one of the next CTAs.
        assert_eq!(past("c", "prefetch"), 4 + 2);
        // What is loaded too is in a cache.
        assert_eq!([past("b", "vmovnt"), past("b", "prefetch")], [0, 4]);
    }
    assert!(!sums_to("c", AVX2, 8).contains("vmovnt"), "half a line");
}

#[test]
fn full_gangs_in_a_row_need_no_mask() {
    for processor in [AVX2, AVX512] {
        let text = code("add.f32 %f1, %f1, %f2;", processor);
        assert!(!text.contains("maskmov") && !text.contains("{%k"), "{text}");
    }
}

/// The assembly of a loop over rows, in which each thread adds to its own elements.
fn loop_code(processor: (&str, &str, u32)) -> String {
    assembly(&loop_text(processor)).expect("LLVM takes it")
}

/// The same as it is written for LLVM.
fn loop_text((cpu, features, width): (&str, &str, u32)) -> String {
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
    codegen::compile(&info, cpu, features).expect("covered").text
}

/// The loop of the code that has a mnemonic most often, as that of all gangs does, and of several the shortest.
fn widest_loop<'a>(assembly: &'a str, mnemonic: &str) -> Vec<&'a str> {
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
    let times = |body: &Vec<&str>| body.iter().filter(|line| line.starts_with(mnemonic)).count();
    // Ways out of a loop stand behind it, and come back to its middle.
    let asking = |body: &Vec<&str>| body.iter().filter(|line| asks(line)).count();
    loops.into_iter().min_by_key(|body| (Reverse(times(body)), asking(body), body.len())).unwrap_or_default()
}

fn instructions_of<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().copied().filter(|line| !line.is_empty() && !line.starts_with('.') && !line.ends_with(':')).collect()
}

#[test]
fn loops_of_full_gangs_have_no_masks_and_one_comparison_for_an_access() {
    for processor in [AVX2, AVX512] {
        let text = loop_code(processor);
        let body = widest_loop(&text, "vfmadd");
        let count = |part: &str| body.iter().filter(|line| line.contains(part)).count();
        assert!(!body.is_empty(), "{text}");
        assert_eq!([count("maskmov"), count("{%k"), count("call")], [0; 3], "{body:#?}");
        // A rotation belongs to each comparison with the table of sites; two rows are fetched ahead, if they may be loaded, one of which is stored to.
        let fetched = count("prefetch");
        let ahead = 2;
        assert_eq!([count("ror"), fetched], [3 + ahead, 16 * ahead], "{body:#?}");
        // A load, a product and a store for each vector behind the first.
        let most = 48 + 12 * ahead + fetched + 3 * (count("vfmadd") - 1);
        assert!(body.len() <= most, "{} instructions: {body:#?}", body.len());
    }
}

#[test]
fn who_asks_the_executor_keeps_its_registers() {
    for (processor, register, count) in [(AVX2, "%ymm", 16), (AVX512, "%zmm", 32)] {
        let text = loop_code(processor);
        let find = function(&text, "find");
        let called = find.iter().position(|line| line.starts_with("callq\t*")).expect("it asks");
        let (before, behind) = find.split_at(called);
        for number in 0..count {
            let name = format!("{register}{number}");
            let [stores, loads] = [format!("{name}, "), format!(", {name} ")];
            let moves = |lines: &[&str], what: &str| {
                lines.iter().filter(|line| line.starts_with("vmovup") && format!("{line} ").contains(what)).count()
            };
            assert_eq!([moves(before, &stores), moves(behind, &loads)], [1, 1], "{name}: {find:#?}");
        }
        // The upper parts of registers are cleared for what is called, and not behind it: there they are the caller's.
        let clears = |lines: &[&str]| lines.iter().filter(|line| **line == "vzeroupper").count();
        assert_eq!([clears(before), clears(behind)], [1, 0], "{find:#?}");
        // A part of a register as an argument would be taken for all of it on one side, and not on the other.
        let written = loop_text(processor);
        let keeping: Vec<&str> =
            written.lines().filter(|line| line.starts_with("define") && line.contains(" #5 ")).collect();
        assert!(keeping.iter().any(|line| line.contains("@find(")), "{written}");
        assert!(!keeping.iter().any(|line| line.contains("(i32 ") || line.contains(", i32 ")), "{keeping:#?}");
        let cta = function(&text, "cta");
        assert!(cta.iter().any(|line| asks(line)), "{cta:#?}");
        for (at, _) in cta.iter().enumerate().filter(|(_, line)| **line == "vzeroupper") {
            // A team that is left ends with that.
            assert!(cta.get(at + 1).is_some_and(|next| next.starts_with("ret") || next.ends_with("apart")), "{cta:#?}");
        }
    }
}

#[test]
fn updates_of_halves_convert_with_instructions() {
    for line in ["red.global.add.noftz.f16x2 [%rd3], %r3;", "red.shared.add.noftz.f16x2 [tile], %r3;"] {
        for processor in [AVX2, AVX512] {
            let text = code(line, processor);
            assert!(count(&text, "vcvtph2ps") >= 1 && count(&text, "vcvtps2ph") >= 1, "{line}\n{text}");
            assert!(!text.contains("__extend") && !text.contains("__trunc"), "{line}: a function converts\n{text}");
        }
    }
}

/// All lines are asked for before the first of them is waited for, and of shared memory none.
#[test]
fn lines_of_scattered_updates_come_side_by_side() {
    let scattered = "mad.wide.u32 %rd4, %r2, 4, %rd1; ";
    for (update, name) in [
        ("red.global.max.s32 [%rd4], %r3;", "max_s32"),
        ("red.global.add.f32 [%rd4], %f2;", "add_f32"),
        ("atom.global.cas.b32 %r2, [%rd4], %r2, %r3;", "cas_b32_old"),
    ] {
        let text = code(&format!("{scattered}{update}"), ZEN3);
        let function = function(&text, name);
        let before = function.iter().take_while(|line| !line.starts_with("lock"));
        let lines = before.filter(|line| line.starts_with("prefetchw")).count();
        // Of all lanes, and in the loop over some.
        assert_eq!(lines, 9, "{update}\n{text}");
    }
    let text = code(
        "and.b32 %r3, %r2, 63; shl.b32 %r3, %r3, 2; mov.u32 %r4, tile; add.u32 %r3, %r3, %r4; red.shared.max.s32 [%r3], %r2;",
        ZEN3,
    );
    assert_eq!(count(&text, "prefetchw"), 0, "{text}");
}

#[test]
fn what_a_barrier_counts_is_counted_by_gangs() {
    for line in [
        "setp.lt.u32 %p1, %r2, %r3; bar.red.popc.u32 %r2, 0, %p1;",
        "setp.lt.u32 %p1, %r2, %r3; bar.red.or.pred %p2, 0, %p1; selp.u32 %r2, 1, 0, %p2;",
    ] {
        for processor in [AVX2, AVX512] {
            let text = code(line, processor);
            assert!(instructions(&text).any(|line| line.starts_with("popcnt")), "{line}\n{text}");
            assert_eq!(calls(&text), [""; 0], "{line}");
        }
    }
}

#[test]
fn calls_of_functions_leave_nothing_behind() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.func (.param .b32 out) twice(.param .b32 in)\n{\n.reg .b32 %r<3>;\n\
                ld.param.b32 %r1, [in]; shl.b32 %r2, %r1, 1; st.param.b32 [out], %r2; ret;\n}\n\
                .visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\n\
                ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1; ld.global.u32 %r2, [%rd2];\n\
                { .param .b32 in; .param .b32 out; st.param.b32 [in], %r2; call (out), twice, (in); ld.param.b32 %r3, [out]; }\n\
                st.global.u32 [%rd2], %r3;\nret;\n}\n";
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    for (cpu, features, width) in [AVX2, AVX512] {
        let alone = standalone(&module, FunctionId(1), [64, 1, 1], Style::Chosen).expect("no recursion");
        let gangs = Gangs::new([64, 1, 1], width).expect("gangs");
        let info = analyze(&alone, FunctionId(1), gangs).expect("a kernel");
        let text = assembly(&by_gangs(&info, cpu, features).expect("covered").text).expect("LLVM takes it");
        assert_eq!(calls(&text), [""; 0], "{text}");
        assert!(count(&text, "vpaddd") + count(&text, "vpslld") >= 1, "{text}");
    }
}

#[test]
fn halves_are_computed_in_vectors() {
    for (line, wide, own) in [
        ("add.f16x2 %r2, %r2, %r3;", "vaddps", "vaddph"),
        ("sub.rn.f16x2 %r2, %r2, %r3;", "vsubps", "vsubph"),
        ("mul.f16x2 %r2, %r2, %r3;", "vmulps", "vmulph"),
        ("fma.rn.f16x2 %r2, %r2, %r3, %r2;", "vmulps", "vfmadd213ph"),
        ("fma.rn.sat.f16x2 %r2, %r2, %r3, %r2;", "vmulps", "vfmadd213ph"),
        ("cvt.rn.f16x2.f32 %r2, %f1, %f2;", "vcvtps2ph", "vcvtps2phx"),
        ("mul.bf16x2 %r2, %r2, %r3;", "vmulps", "vmulps"),
        ("fma.rn.bf16x2 %r2, %r2, %r3, %r2;", "vmulpd", "vmulpd"),
    ] {
        for (processor, mnemonic) in [(AVX2, wide), (AVX512, wide), (HALVES, own)] {
            let text = code(line, processor);
            assert!(count(&text, mnemonic) >= 1, "{line}: no {mnemonic}\n{text}");
            let lanes = ["vpextrw", "vpinsrw", "vmulss", "vaddss", "vcvtss2sd"].map(|name| count(&text, name));
            assert_eq!(lanes, [0; 5], "{line}\n{text}");
            assert_eq!(calls(&text), [""; 0], "{line}");
        }
    }
}

#[test]
fn directions_are_in_the_instruction_or_in_the_mode() {
    for (line, mnemonic, direction) in [
        ("add.rz.f32 %f1, %f1, %f2;", "vaddps", "{rz-sae}"),
        ("mul.rm.f32 %f1, %f1, %f2;", "vmulps", "{rd-sae}"),
        ("fma.rp.f32 %f1, %f1, %f2, %f1;", "vfmadd", "{ru-sae}"),
        ("div.rz.f32 %f1, %f1, %f2;", "vdivps", "{rz-sae}"),
        ("sqrt.rm.f32 %f1, %f1;", "vsqrtps", "{rd-sae}"),
    ] {
        let text = code(line, AVX512);
        let named = instructions(&text).filter(|line| line.starts_with(mnemonic) && line.contains(direction)).count();
        assert!((1..=4).contains(&named), "{line}: {named}\n{text}");
        assert_eq!((calls(&text), text.contains("ldmxcsr")), (vec![], false), "{line}\n{text}");
        let text = code(line, AVX2);
        assert_eq!((count(&text, "vldmxcsr"), count(&text, "vstmxcsr")), (2, 1), "{line}\n{text}");
        assert!(instructions(&text).any(|line| line.starts_with(mnemonic)), "{line}\n{text}");
    }
}

#[test]
fn halves_are_compared_as_vectors_of_single_precision() {
    for line in
        ["setp.lt.f16 %p1, %h1, %h3;", "setp.geu.f16 %p1, %h1, %h3;", "max.f16 %h1, %h1, %h3; setp.eq.s16 %p1, %h1, 0;"]
    {
        let line = format!("mov.b32 {{%h1, %h2}}, %r2; mov.b32 {{%h3, %h4}}, %r3; {line} selp.b32 %r2, %r3, %r1, %p1;");
        for machine in [AVX2, AVX512, HALVES] {
            let text = code(&line, machine);
            let by_lane = ["vucomiss", "vcomiss", "vucomish", "vcmpph"];
            let found = instructions(&text).find(|line| {
                by_lane.iter().any(|name| line.starts_with(name)) || line.contains("ltph") || line.contains("gtph")
            });
            assert_eq!(found, None, "{line} for {}", machine.0);
            assert!(instructions(&text).any(|line| line.starts_with("vcvtph2ps")), "{line} for {}", machine.0);
        }
    }
}
