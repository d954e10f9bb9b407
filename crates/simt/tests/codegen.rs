//! What the text of kernels is made of: vectors where lanes differ, scalars where not, and reasons where nothing is written.

use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};
use warploom_simt::codegen::{Processor, Style};
use warploom_simt::{AccessKind, Gangs, analyze, codegen};

fn compile(text: &str, cta: [u32; 3]) -> Result<String, String> {
    compile_as(Style::Chosen, text, cta)
}

fn compile_as(style: Style, text: &str, cta: [u32; 3]) -> Result<String, String> {
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new(cta, 16).expect("gangs")).expect("a kernel");
    let processor = Processor { name: "x86-64-v4", features: "+avx512f", fetches_rows: false, loads_gathers: false };
    codegen::compile_as(style, &info, &processor)
        .map(|compiled| compiled.text + &compiled.apart.unwrap_or_default())
        .map_err(|declined| declined.0)
}

/// Bytes of the frames of a kernel of so many values, one behind the other, each of which is alive where lanes may stop.
fn frames(values: usize) -> u32 {
    let each = "ld.global.u32 %r2, [%rd3]; bar.warp.sync 0xffffffff; st.global.u32 [%rd3+4], %r2;\n".repeat(values);
    let module = load(kernel(&each).as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new([32, 1, 1], 32).expect("gangs")).expect("a kernel");
    let processor = Processor { name: "x86-64-v4", features: "+avx512f", fetches_rows: false, loads_gathers: false };
    codegen::compile_as(Style::Apart, &info, &processor).expect("covered").frames
}

#[test]
fn values_of_which_no_lane_has_two_share_a_row_of_the_frame() {
    assert_eq!(frames(40), frames(1));
}

fn file(name: &str) -> String {
    let path = format!("{}/../../tests/filetests/analyze/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("file")
}

/// A kernel of one line between a load and a store of each thread's word.
fn kernel(line: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .local .b32 mine;\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n\
         ld.global.u32 %r2, [%rd3]; mov.b32 %f1, %r2;\n{line}\nst.global.u32 [%rd3], %r2;\nret;\n}}\n"
    )
}

#[test]
fn rows_are_vectors() {
    let text = compile_as(Style::Gangs, &file("saxpy"), [256, 1, 1]).expect("covered");
    let count = |part: &str| text.matches(part).count();
    // For gangs all of whose lanes run, and for the others.
    assert_eq!(count("call <16 x float> @llvm.fma.v16f32("), 2);
    assert_eq!(count("call <16 x i32> @llvm.masked.load.v16i32.p0("), 4);
    assert_eq!(count("call void @llvm.masked.store.v16i32.p0("), 2);
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
    let count = |text: &str, name: &str| text.matches(&format!("define internal i32 @{name}")).count();
    let functions = |name: &str, cta| {
        let text = compile(&file(name), cta).expect("covered");
        ["region", "team", "resumed"].map(|function| count(&text, function))
    };
    // Gangs that are not all full go one by one.
    assert_eq!(functions("tile", [10, 10, 1]), [3, 0, 0]);
    assert_eq!(functions("saxpy", [250, 1, 1]), [1, 0, 0]);
    // All gangs of a CTA run what is before, between and behind barriers, and one function what follows where they have come apart.
    assert_eq!(functions("tile", [16, 16, 1]), [0, 1, 1]);
    // Of what only goes through memory, beginning a gang is a good part.
    assert_eq!(functions("saxpy", [256, 1, 1]), [0, 1, 1]);
    // Else nothing is gained where there are no loops.
    assert_eq!(functions("sides", [256, 1, 1]), [1, 0, 0]);
}

#[test]
fn what_a_region_leaves_as_it_was_is_not_stored_again() {
    let kernel = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
                  .reg .b32 %r<9>; .reg .b64 %rd<9>; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n\
                  add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r2, [%rd3]; ld.global.u32 %r3, [%rd3+4]; bar.sync 0;\n\
                  add.u32 %r2, %r2, 1; bar.sync 0;\n\
                  st.global.u32 [%rd3], %r2; st.global.u32 [%rd3+4], %r3;\nret;\n}\n";
    let text = compile(kernel, [60, 1, 1]).expect("covered");
    let region = text.split("@region1(").nth(1).and_then(|rest| rest.split("\n}").next()).expect("a region");
    let stored = region.lines().filter(|line| line.contains("store <16 x i32>") && line.contains("!tbaa !9"));
    // `%r2`, where all lanes run and where some do; not `%r3`.
    assert_eq!(stored.count(), 2, "{region}");
}

#[test]
fn steps_whose_threads_are_known_need_no_branches() {
    let path = format!("{}/../../tests/filetests/run/control-flow/steps.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = compile(&std::fs::read_to_string(path).expect("file"), [64, 1, 1]).expect("covered");
    let count = |name: &str| text.matches(&format!("define internal i32 @{name}")).count();
    // Gangs that have left their team go on in the function that has masks, behind barriers too.
    assert_eq!(["region", "team", "resumed"].map(count), [0, 1, 1]);
    let team = text.split("@through0").next().expect("a team");
    // Of global memory, by each gang. Those of what lies before the bound stand once more, for those of the lanes that do.
    assert_eq!(team.matches("@llvm.masked.load.v16i32.p0(").count(), 2 * 4 + 4, "{team}");
    // What threads add comes from what others have stored: in the first four steps of two gangs each, the first one of itself alone.
    for apart in [1, 2, 4, 8] {
        let order = format!("<16 x i32> <i32 {}, i32 {}, ", 16 - apart, 17 - apart);
        assert_eq!(team.matches(&order).count(), 4, "{team}");
    }
    // They leave for four accesses to global memory, of which those before the bound are looked at twice, but not for the bound.
    assert_eq!(team.matches("call i32 @apart(").count(), 6, "{team}");
}

#[test]
fn teams_stay_together_when_the_executor_is_asked() {
    let text = compile(&file("tile"), [16, 16, 1]).expect("covered");
    let team = text.split("@team0(").nth(1).and_then(|rest| rest.split("\n}").next()).expect("a team");
    // At the loop's only way back it is asked whether to give the CTA up, and all go on if not.
    assert_eq!(team.matches("ret i32 -3").count(), 1, "{team}");
    let asked = team.split("ret i32 -3").next().expect("what stands before");
    let go_on = asked.lines().rev().find(|line| line.contains("br i1")).expect("a branch");
    assert!(go_on.contains("label %T"), "{go_on}");
}

#[test]
fn teams_keep_nothing_of_an_address_that_is_computed_again() {
    let kernel = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{\n\
                  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<2>; .shared .b32 table[256];\n\
                  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u64 %rd2, table;\n\
                  L: mul.wide.s32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; ld.global.u32 %r3, [%rd4]; bfe.u32 %r4, %r3, 8, 8;\n\
                  mul.wide.u32 %rd5, %r4, 4; add.s64 %rd6, %rd2, %rd5; atom.shared.add.u32 %r5, [%rd6], 1;\n\
                  add.s32 %r2, %r2, 256; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\nret;\n}\n";
    let text = compile(kernel, [256, 1, 1]).expect("covered");
    let team = text.split("@team0(").nth(1).and_then(|rest| rest.split("\n}").next()).expect("a team");
    assert!(team.contains("call i32 @apart("), "{team}");
    // A pattern is kept as its first lane; nothing else is alive where the team may be left.
    assert_eq!(
        team.lines().filter(|line| line.contains("store <16 x i32>") && line.contains("!tbaa !9")).count(),
        0,
        "{team}"
    );
}

/// For gangs of a warp.
fn compile_warp(text: &str) -> Result<String, String> {
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let info = analyze(&module, FunctionId(0), Gangs::new([64, 1, 1], 32).expect("gangs")).expect("a kernel");
    codegen::compile(&info, "x86-64-v4", "+avx512f")
        .map(|compiled| compiled.text + &compiled.apart.unwrap_or_default())
        .map_err(|declined| declined.0)
}

#[test]
fn warps_exchange_in_registers() {
    let text = compile_warp(&kernel("shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;")).expect("covered");
    assert!(text.contains("<32 x i32> <i32 1, i32 0, i32 3, i32 2,"), "{text}");
    let text = compile_warp(&kernel("redux.sync.add.s32 %r2, %r2, -1;")).expect("covered");
    assert!(text.contains("@llvm.vector.reduce.add.v32i32("), "{text}");
}

#[test]
fn shared_memory_is_updated_without_atomics() {
    let shared = "{ .shared .b32 counter[64]; atom.shared.add.u32 %r2, [counter], %r2; }";
    let text = compile(&kernel(shared), [64, 1, 1]).expect("covered");
    assert!(text.contains("@add_u32_one_alone_old(") && !text.contains("atomicrmw"), "{text}");
    let text = compile(&entry("and.b32 %r3, %r2, 255;"), [64, 1, 1]).expect("covered");
    assert!(text.contains("@add_u32_alone(") && !text.contains("atomicrmw"), "{text}");
    let text = compile(&kernel("atom.global.add.u32 %r2, [%rd3], %r2;"), [64, 1, 1]).expect("covered");
    assert!(text.contains("atomicrmw add"), "{text}");
}

/// A number of a word that leads to an entry of a table of 256 in shared memory.
fn entry(number: &str) -> String {
    kernel(&format!(
        "{{ .shared .b32 table[256]; {number} mul.wide.u32 %rd4, %r3, 4; mov.u64 %rd5, table; add.s64 %rd6, %rd5, %rd4;\n\
         atom.shared.add.u32 %r4, [%rd6], 1; }}"
    ))
}

#[test]
fn bytes_of_words_are_known_to_stay_in_their_table() {
    let is_proven = |number: &str| {
        let module = load(entry(number).as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
        let info = analyze(&module, FunctionId(0), Gangs::new([64, 1, 1], 16).expect("gangs")).expect("a kernel");
        let update = info.accesses.iter().find(|access| access.kind == AccessKind::Atomic).expect("an update");
        update.proven
    };
    for number in [
        "and.b32 %r3, %r2, 255;",
        "bfe.u32 %r3, %r2, 8, 8;",
        "mov.u32 %r5, 0x108; bfe.u32 %r3, %r2, 30, %r5;",
        "shr.u32 %r3, %r2, 24;",
        "shr.b32 %r3, %r2, 24;",
        "cvt.u32.u8 %r3, %r2;",
    ] {
        assert!(is_proven(number), "{number}");
    }
    for number in [
        "bfe.u32 %r3, %r2, 8, 9;",
        "bfe.u32 %r3, %r2, 8, %r1;",
        "bfe.s32 %r3, %r2, 8, 8;",
        "shr.u32 %r3, %r2, 23;",
        "shr.s32 %r3, %r2, 24;",
        "cvt.s32.s8 %r3, %r2;",
        "cvt.u32.u16 %r3, %r2;",
    ] {
        assert!(!is_proven(number), "{number}");
    }
}

#[test]
fn updates_of_one_place_come_together() {
    let text = compile(&kernel("red.global.add.u32 [%rd1], %r2;"), [64, 1, 1]).expect("covered");
    assert!(text.contains("@llvm.vector.reduce.add.v16i32(") && text.matches("atomicrmw").count() == 2, "{text}");
    // The order of sums shows in a result, and in floating point.
    let text = compile(&kernel("red.global.add.f32 [%rd1], %f1;"), [64, 1, 1]).expect("covered");
    assert!(!text.contains("@llvm.vector.reduce"), "{text}");
}

#[test]
fn what_has_no_code_is_run_by_the_executor() {
    for line in [
        "isspacep.shared %p1, %rd3; selp.u32 %r2, 1, 0, %p1;",
        "fns.b32 %r2, %r2, 0, 3;",
        "vadd.u32.u32.u32 %r2, %r2, %r2;",
    ] {
        let text = compile(&kernel(line), [64, 1, 1]).expect("covered");
        assert!(text.contains("ptr %steps, i32"), "{line}: {text}");
    }
    for line in [
        "div.u32 %r2, %r2, %r2;",
        "add.rz.ftz.f32 %f1, %f1, %f1;",
        "ex2.approx.f32 %f1, %f1;",
        "fma.rn.f16x2 %r2, %r2, %r2, %r2;",
    ] {
        let text = compile(&kernel(line), [64, 1, 1]).expect("covered");
        assert!(!text.contains("%steps"), "{line}: {text}");
    }
}

#[test]
fn accesses_with_one_base_are_looked_at_together() {
    let line = "ld.global.u32 %r3, [%rd3+4]; ld.global.u32 %r4, [%rd3+8]; ld.global.u32 %r5, [%rd3+12];";
    let text = compile_as(Style::Gangs, &kernel(line), [64, 1, 1]).expect("covered");
    // One place tells of all four loads.
    assert_eq!(text.matches(" = alloca i1\n").count(), 1 + usize::from(text.contains("%w")), "{text}");
    assert!(text.contains("%h5 = alloca i1"), "{text}");
}

#[test]
fn rows_of_tiles_are_fetched_for_later_ctas() {
    // What is added to the places of lines that are fetched, by 16 lanes.
    let ahead = |line: &str, cta| {
        let text = compile(&kernel(line), cta).expect("covered");
        let places = text.lines().filter_map(|line| line.trim().strip_prefix("call void @llvm.prefetch.p0(ptr "));
        let at = |place: &str| {
            let def = format!("{} = getelementptr i8, ptr ", place.split(',').next().expect("a place"));
            let line = text.lines().find(|line| line.trim().starts_with(&def)).expect("a place");
            line.rsplit(' ').next().expect("a number").parse::<u32>().expect("a number")
        };
        places.map(at).collect::<Vec<_>>()
    };
    assert_eq!(ahead("", [32, 8, 1]), [512]);
    // Loads with one base are one row.
    assert_eq!(ahead("ld.global.u32 %r3, [%rd3+4];", [32, 8, 1]), [512]);
    let rows = "add.s64 %rd3, %rd3, %rd1; ld.global.u32 %r5, [%rd3];\n".repeat(4);
    // Larger tiles are near.
    assert_eq!(ahead(&rows, [32, 8, 1]), [256; 5]);
    // The processor foresees what goes straight on.
    assert_eq!(ahead("", [256, 1, 1]), []);
    assert_eq!(ahead("", [256, 4, 1]), []);
}

#[test]
fn words_behind_each_other_are_loaded_at_once_wherever_lanes_go() {
    let place = "mul.wide.u32 %rd4, %r2, 16; add.s64 %rd4, %rd1, %rd4;";
    let sum = "add.u32 %r2, %r3, %r4; add.u32 %r5, %r5, %r6; add.u32 %r2, %r2, %r5;";
    let loads = |words: [(u32, u32); 4], between: &str| {
        let [first, rest @ ..] = words.map(|(reg, at)| format!("ld.global.u32 %r{reg}, [%rd4+{at}];"));
        kernel(&format!("{place} {first} {between} {} {sum}", rest.join(" ")))
    };
    let count = |text: &str| {
        let text = compile(text, [64, 1, 1]).expect("covered");
        (text.matches("load <4 x i32>").count(), text.matches("load volatile ptr").count())
    };
    let in_order = [(3, 0), (4, 4), (5, 8), (6, 12)];
    assert_eq!(count(&loads(in_order, "")), (16, 16));
    assert_eq!(count(&loads([(5, 12), (3, 4), (4, 16), (6, 8)], "")), (16, 16));
    assert_eq!(count(&kernel(&format!("{place} ld.global.v4.u32 {{%r3, %r4, %r5, %r6}}, [%rd4]; {sum}"))), (16, 16));
    // Not all behind each other, or not all as they were when the first is loaded.
    assert_eq!(count(&loads([(3, 0), (4, 4), (5, 8), (6, 16)], "")), (0, 0));
    assert_eq!(count(&loads(in_order, "st.global.u32 [%rd3], %r1;")), (0, 0));
    assert_eq!(count(&loads(in_order, "bar.sync 0;")), (0, 0));
}

#[test]
fn threads_one_by_one_compare_an_index_with_the_room_behind_a_parameter() {
    let path =
        format!("{}/../../tests/filetests/run/data-movement-and-conversion/room.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("file");
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let text = |width: u32| {
        let info = analyze(&module, FunctionId(0), Gangs::new([64, 1, 1], width).expect("gangs")).expect("a kernel");
        codegen::compile(&info, "x86-64-v3", "+avx2,+fma").expect("covered").text
    };
    // A load and a store of words and of numbers of 64 bits, where all lanes run and where some do. An index of bytes is not multiplied.
    let alone = text(1);
    assert_eq!(["room4(", "room8("].map(|name| alone.matches(&format!("call void @{name}")).count()), [4, 4]);
    assert_eq!(text(8).matches("@room").count(), 0);
}

#[test]
fn what_is_not_covered_is_declined_with_its_line() {
    let fence = "fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;";
    let reason = "line 9: fence.proxy.tensormap::generic.acquire.gpu";
    for line in [fence, &format!("@%p1 bra A; bar.sync 1, 32; {fence} A:")] {
        let text = kernel(line).replace(".version 8.0\n.target sm_80", ".version 8.3\n.target sm_90");
        assert_eq!(compile(&text, [64, 1, 1]).expect_err(line), reason, "{line}");
    }
}

#[test]
fn lanes_go_their_own_ways_where_they_are_not_known_to_keep_step() {
    let turns = |text: &str| {
        let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
        let info = analyze(&module, FunctionId(0), Gangs::new([64, 1, 1], 16).expect("gangs")).expect("a kernel");
        codegen::compile(&info, "x86-64-v4", "+avx512f").expect("covered").turns
    };
    for name in ["irreducible", "waits"] {
        assert!(turns(&file(name)).is_some(), "{name}");
    }
    for (line, meetings) in [
        ("bar.sync 1, 32;", 1),
        ("setp.eq.u32 %p1, %r2, 0; @%p1 bra A; vote.sync.ballot.b32 %r2, %p1, 7; bar.warp.sync 7; A:", 2),
        ("setp.eq.u32 %p1, %r2, 0; @%p1 bar.sync 1;", 1),
    ] {
        assert_eq!(turns(&kernel(line)).map(|turns| turns.meetings.len()), Some(meetings), "{line}");
    }
    for line in ["bar.sync 0;", "bar.sync 1, 64;", "ld.volatile.global.u32 %r2, [%rd3];"] {
        assert_eq!(turns(&kernel(line)), None, "{line}");
    }
}
