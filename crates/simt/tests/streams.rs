//! What kernels that go through memory become: how wide their gangs are, in which order gangs of a team load and store, and what stands
//! behind the branches that decide without looking at each lane.

use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};
use warploom_simt::codegen::{self, preferred_width};
use warploom_simt::{Gangs, VectorUnits, analyze};

/// `y[i] += x[i]`, with a grid's step.
const STREAM: &str = "
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
    mov.u32 %r6, %nctaid.x; mul.lo.s32 %r7, %r6, %r3;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
LOOP:
    mul.wide.s32 %rd5, %r5, 4;
    add.s64 %rd6, %rd1, %rd5;
    ld.global.f32 %f2, [%rd6];
    add.s64 %rd7, %rd2, %rd5;
    ld.global.f32 %f3, [%rd7];
    add.f32 %f4, %f2, %f3;
    st.global.f32 [%rd7], %f4;
    add.s32 %r5, %r5, %r7;
    setp.lt.s32 %p2, %r5, %r1;
    @%p2 bra LOOP;
DONE:
    ret;";

/// `y[i] = i == 0 || i == n ? x[i] : x[i] + x[i]`
const BORDER: &str = "
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd1, %rd5;
    add.s64 %rd7, %rd2, %rd5;
    setp.eq.s32 %p1, %r5, 0;
    setp.eq.s32 %p2, %r5, %r1;
    or.pred %p3, %p1, %p2;
    ld.global.f32 %f2, [%rd6];
    @%p3 bra STORE;
    add.f32 %f2, %f2, %f2;
STORE:
    st.global.f32 [%rd7], %f2;
    ret;";

/// A sum of `x[column]` for as many columns as each thread has.
const ROWS: &str = "
    mov.u32 %r4, %tid.x; mul.wide.u32 %rd5, %r4, 4;
    add.s64 %rd6, %rd1, %rd5;
    ld.global.u32 %r2, [%rd6]; ld.global.u32 %r3, [%rd6+4];
    mov.f32 %f4, 0f00000000;
    setp.ge.s32 %p1, %r2, %r3;
    @%p1 bra DONE;
LOOP:
    mul.wide.s32 %rd7, %r2, 4;
    add.s64 %rd8, %rd1, %rd7;
    ld.global.u32 %r5, [%rd8];
    mul.wide.s32 %rd9, %r5, 4;
    add.s64 %rd3, %rd1, %rd9;
    ld.global.f32 %f2, [%rd3];
    add.f32 %f4, %f4, %f2;
    add.s32 %r2, %r2, 1;
    setp.lt.s32 %p2, %r2, %r3;
    @%p2 bra LOOP;
DONE:
    add.s64 %rd4, %rd2, %rd5;
    st.global.f32 [%rd4], %f4;
    ret;";

fn module(body: &str) -> VerifiedModule {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n, .param .u64 x, .param .u64 y)\n{{\n\
         .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<10>; .reg .pred %p<9>;\n\
         ld.param.u32 %r1, [n]; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n{body}\n}}\n"
    );
    load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads")
}

fn width(body: &str, units: VectorUnits, slow_gathers: bool) -> u32 {
    width_in([256, 1, 1], body, units, slow_gathers)
}

fn width_in(cta: [u32; 3], body: &str, units: VectorUnits, slow_gathers: bool) -> u32 {
    let module = module(body);
    let gangs = Gangs::new(cta, units.lanes()).expect("gangs");
    preferred_width(&analyze(&module, FunctionId(0), gangs).expect("a kernel"), units, slow_gathers)
}

fn compile(body: &str) -> String {
    let module = module(body);
    let info = analyze(&module, FunctionId(0), Gangs::new([256, 1, 1], 32).expect("gangs")).expect("a kernel");
    let compiled = codegen::compile(&info, "x86-64-v3", "+avx2,+fma").expect("covered");
    compiled.text + &compiled.apart.unwrap_or_default()
}

/// From a part of a text on, up to another.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let rest = &text[text.find(from).unwrap_or_else(|| panic!("no {from} in {text}"))..];
    &rest[..rest[from.len()..].find(to).map_or(rest.len(), |at| at + from.len())]
}

#[test]
fn gangs_are_one_thread_where_vectors_gain_nothing() {
    assert_eq!(width(ROWS, VectorUnits::Avx2, true), 1);
    assert_eq!(width(ROWS, VectorUnits::Avx512, true), 1);
    assert_eq!(width(ROWS, VectorUnits::Avx512, false), 32);
    // All lanes leave that loop together but at the end.
    assert_eq!(width(STREAM, VectorUnits::Avx2, true), 32);
    // Lanes leave it in different trips, but it does not go to memory.
    let waits = ROWS.replace("ld.global.f32 %f2, [%rd3]", "mov.b32 %f2, %r5");
    let waits = waits.replace("ld.global.u32 %r5, [%rd8]", "add.s32 %r5, %r5, %r2");
    assert!(width(&waits, VectorUnits::Avx2, true) >= 8);
}

#[test]
fn loops_that_only_compute_have_two_registers_of_lanes() {
    // Of a CTA of 16 by 16, a gang is a row otherwise.
    let goes = "mov.u32 %r2, %tid.y; mad.lo.s32 %r2, %r2, 3, %r1;
    mul.wide.u32 %rd5, %r2, 4;
    add.s64 %rd4, %rd2, %rd5;
LOOP: add.s32 %r2, %r2, 1; xor.b32 %r1, %r1, %r2; setp.lt.s32 %p1, %r1, %r2; @%p1 bra LOOP;
    st.global.u32 [%rd4], %r1;
    ret;";
    let loads = goes.replace("LOOP: ", "LOOP: ld.global.u32 %r1, [%rd4]; ");
    for (body, avx512) in [(goes, 32), (&loads, 16)] {
        assert_eq!(width_in([16, 16, 1], body, VectorUnits::Avx512, true), avx512);
        assert_eq!(width_in([16, 16, 1], body, VectorUnits::Avx2, true), 16);
    }
}

#[test]
fn gangs_have_one_register_of_lanes_that_are_divided_into_rows() {
    // `y[i] = x[3 * (i / n) + i % n]`
    let rows = "
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
    div.s32 %r6, %r5, %r1; mul.lo.s32 %r7, %r6, %r1; sub.s32 %r7, %r5, %r7; mad.lo.s32 %r7, %r6, 3, %r7;
    mul.wide.s32 %rd5, %r7, 4;
    add.s64 %rd6, %rd1, %rd5;
    ld.global.f32 %f2, [%rd6];
    mul.wide.s32 %rd7, %r5, 4;
    add.s64 %rd8, %rd2, %rd7;
    st.global.f32 [%rd8], %f2;
    ret;";
    // The same of rows that end at a border, as few do.
    let border = rows.replace("div.s32 %r6, %r5, %r1;", "min.s32 %r6, %r5, %r1;");
    for units in [VectorUnits::Avx2, VectorUnits::Avx512] {
        assert_eq!(width(rows, units, true), units.lanes());
        assert!(width(&border, units, true) > units.lanes());
    }
}

#[test]
fn gangs_of_a_team_go_through_memory_one_after_the_other() {
    let text = compile(STREAM);
    let team = between(&text, "define internal i32 @team0", "\n}");
    let calls = team.lines().filter_map(|line| match line {
        line if line.contains("call <32 x i32> @llvm.masked.load") => Some('L'),
        line if line.contains("call void @llvm.masked.store") => Some('S'),
        _ => None,
    });
    assert_eq!(calls.collect::<String>(), "LLS".repeat(8));
    // All is looked at before the first of them, with the two rows that are fetched ahead.
    let first = team.find("@llvm.masked.load").expect("loads");
    assert_eq!(team[..first].matches("lshr").count() + team[..first].matches("@llvm.fshr.i64(").count(), 3 + 2);
}

#[test]
fn lanes_are_compared_where_the_first_and_the_last_do_not_tell() {
    let text = compile(STREAM);
    let team = between(&text, "define internal i32 @team0", "\n}");
    let behind = &team[team.rfind("@llvm.masked.store").expect("stores")..];
    let branch = between(behind, "@llvm.masked.store", "br i1");
    assert!(!branch.contains("icmp slt <32 x i32>"), "{branch}");
    assert!(behind.contains("icmp slt <32 x i32>"));
    // A border is where the first lane's number up to the last one's reaches it.
    let text = compile(BORDER);
    let branch = between(&text, "\nF0:", "br i1");
    assert_eq!(branch.matches("icmp ugt i32").count(), 2, "{branch}");
    assert!(!branch.contains("icmp eq <32 x i32>"), "{branch}");
    assert!(text.contains("icmp eq <32 x i32>"));
}

#[test]
fn lanes_that_part_in_each_cta_go_on_without_masks() {
    let text = compile(STREAM);
    let resumed = between(&text, "define internal i32 @resumed", "\n}");
    // Gangs of a grid part at its end.
    assert!(!resumed.contains("\nF0:"), "{resumed}");
    let rows = STREAM.replace("mad.lo.s32 %r5, %r2, %r3, %r4;", "mov.u32 %r5, %r4;");
    assert_ne!(rows, STREAM);
    let text = compile(&rows);
    let resumed = between(&text, "define internal i32 @resumed", "\n}");
    assert!(resumed.contains("\nF0:"), "{resumed}");
}

#[test]
fn predicates_of_other_blocks_are_known_by_what_was_compared() {
    // One is of the thread's own number, and compared before the loop.
    let both = "LOOP: setp.lt.s32 %p5, %r5, %r1; and.pred %p6, %p3, %p5; @!%p6 bra NEXT;";
    let both = STREAM.replace("LOOP:", &format!("setp.lt.s32 %p3, %r4, %r1;\n{both}"));
    let both = both.replace("add.s32 %r5, %r5, %r7;", "NEXT: add.s32 %r5, %r5, %r7;");
    let text = compile(&both);
    let team = between(&text, "define internal i32 @team0", "\n}");
    let branch = between(team, "\nT2:", "br i1");
    assert_eq!(branch.matches("icmp slt i64").count(), 2, "{branch}");
    assert!(!branch.contains("<32 x"), "{branch}");
}

#[test]
fn that_no_lane_is_at_a_border_is_known_too() {
    // Inside of a row no lane is before its first element nor behind its last one.
    let inside = BORDER
        .replace("setp.eq.s32 %p1, %r5, 0", "setp.lt.s32 %p1, %r5, 1")
        .replace("setp.eq.s32 %p2", "setp.gt.s32 %p2");
    let text = compile(&inside);
    let behind = between(&text, "\nF0:", "\nF1:");
    let branches = between(behind, "@llvm.masked.load", "icmp slt <32 x i32>");
    assert_eq!(branches.matches("br i1").count(), 2, "{branches}");
    // Numbers of 64 bits are compared so as well.
    let words = [
        "cvt.u64.u32 %rd5, %r4; mul.wide.u32 %rd6, %r2, %r3; add.s64 %rd5, %rd5, %rd6; cvt.u64.u32 %rd3, %r1;",
        "%rd5, %rd3",
    ];
    let wide = STREAM.replace("setp.ge.s32 %p1, %r5, %r1;", &format!("{} setp.ge.u64 %p1, {};", words[0], words[1]));
    let text = compile(&wide);
    let branches = between(&text, "\nT0:", "icmp uge <32 x i64>");
    assert_eq!(branches.matches("icmp uge i64").count(), 1, "{branches}");
    assert_eq!(branches.matches("br i1").count(), 2, "{branches}");
}

#[test]
fn of_clamped_indices_the_first_lane_and_the_last_tell() {
    // The element before, and at the row's beginning the first one.
    let clamped = "max.s32 %r6, %r5, 1; add.s32 %r6, %r6, -1; min.s32 %r6, %r6, %r1; mul.wide.s32 %rd5, %r6, 4;";
    let clamped = BORDER.replacen("mul.wide.u32 %rd5, %r5, 4;", clamped, 1);
    assert_ne!(clamped, BORDER);
    let text = compile(&clamped);
    let look = between(&text, "\nF0:", "@llvm.masked.load");
    assert_eq!(look.matches("icmp sge i32").count(), 1, "{look}");
    assert!(!look.contains("= sub <32 x i32>"), "{look}");
    // In masked code lanes are held against each other.
    assert!(text.contains("= sub <32 x i32>"));
}
