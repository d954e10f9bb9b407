//! Kernels with what they call as one body: sound IR without calls, or a reason.

use std::path::Path;

use warploom_ptx::ir::{FunctionId, FunctionKind, Op, Operand, Space, check_module};
use warploom_ptx::{Options, load};
use warploom_simt::codegen::Style;
use warploom_simt::standalone;

fn body_of(text: &str) -> Result<warploom_ptx::ir::Module, String> {
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let kernel = module.functions.iter().position(|function| function.kind == FunctionKind::Kernel).expect("a kernel");
    let alone = standalone(&module, FunctionId(kernel as u32), [128, 1, 1], Style::Chosen)?;
    check_module(&alone).map(|()| alone)
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run/control-flow").join(name);
    std::fs::read_to_string(path).expect("file")
}

fn calls(module: &warploom_ptx::ir::Module) -> usize {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    bodies.flat_map(|body| &body.insts).filter(|inst| matches!(inst.op, Op::Call { .. })).count()
}

#[test]
fn calls_become_part_of_the_kernel() {
    for name in ["call", "call_aggregates", "call_barrier", "call_narrow"] {
        let module = body_of(&file(&format!("{name}.ptx"))).expect("covered");
        assert_eq!(calls(&module), 0, "{name}");
    }
}

#[test]
fn of_an_indirect_call_what_is_no_function_is_left() {
    for name in ["call_divergent", "call_indirect", "call_from_memory"] {
        let module = body_of(&file(&format!("{name}.ptx"))).expect("covered");
        assert!(calls(&module) > 0, "{name}");
    }
}

#[test]
fn recursion_is_refused() {
    assert_eq!(body_of(&file("recursion.ptx")).expect_err("refused"), "line 9: fibonacci calls itself");
}

#[test]
fn asynchronous_copies_become_loads_and_stores() {
    let copies = |instruction: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 to[16];\n.visible .entry k(.param .u64 from, .param .u32 bytes) {{\n\
             .reg .b64 %a; .reg .b32 %n; .reg .pred %p, %i; ld.param.u64 %a, [from]; ld.param.u32 %n, [bytes];\n\
             setp.gt.u32 %p, %n, 3; setp.gt.u32 %i, %n, 5;\n{instruction}\nret;\n}}\n"
        );
        let module = body_of(&text).expect("covered");
        let insts = &module.functions[0].body.as_ref().expect("a body").insts;
        let count = |found: fn(&Op) -> bool| insts.iter().filter(|inst| found(&inst.op)).count();
        let global = |op: &Op| matches!(op, Op::Ld { space: Space::Global, .. });
        [count(global), count(|op| matches!(op, Op::St { .. })), count(|op| matches!(op, Op::Async(_)))]
    };
    assert_eq!(copies("cp.async.ca.shared.global [to], [%a], 4;"), [1, 1, 0]);
    assert_eq!(copies("@%p cp.async.cg.shared.global [to], [%a], 16;"), [1, 1, 0]);
    assert_eq!(copies("@!%p cp.async.ca.shared.global [to], [%a], 8, %i;"), [1, 1, 0]);
    assert_eq!(copies("cp.async.ca.shared.global [to], [%a], 8, 9;"), [1, 1, 0]);
    assert_eq!(copies("cp.async.ca.shared.global [to], [%a], 8, 0;"), [0, 1, 0]);
    assert_eq!(copies("cp.async.ca.shared.global [to], [%a], 8, 3;"), [0, 0, 1]);
    // What it does if it reads a part stands behind what it does if it reads all or nothing.
    assert_eq!(copies("@%p cp.async.ca.shared.global [to], [%a], 8, %n;"), [1, 1, 1]);
}

/// A kernel for CTAs of 128 threads as one body.
fn kernel(registers: &str, code: &str) -> warploom_ptx::ir::Body {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n{registers}\n{code}\n}}\n"
    );
    let module = body_of(&text).expect("covered");
    module.functions[0].body.clone().expect("a body")
}

fn count(body: &warploom_ptx::ir::Body, found: fn(&Op) -> bool) -> usize {
    body.insts.iter().filter(|inst| found(&inst.op)).count()
}

#[test]
fn steps_whose_number_follows_from_the_shape_are_written_one_behind_the_other() {
    let steps = |first: &str, next: &str, more: &str| {
        let body = kernel(
            ".reg .b32 %s, %t, %n; .reg .pred %p, %q;",
            &format!(
                "ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; {first}\nSTEP: setp.ge.u32 %q, %t, %s; @%q bra ON; add.u32 %t, %t, 1;\n\
                 ON: bar.sync 0; {next} setp.{more}; @%p bra STEP;\nOUT: ret;"
            ),
        );
        (body.loops.len(), count(&body, |op| matches!(op, Op::Barrier(_))))
    };
    let half = "mov.u32 %s, %ntid.x; shr.u32 %s, %s, 1;";
    // 64, 32, 16, 8, 4, 2, 1.
    assert_eq!(steps(half, "shr.u32 %s, %s, 1;", "ne.u32 %p, %s, 0"), (0, 7));
    assert_eq!(steps("mov.u32 %s, 1;", "shl.b32 %s, %s, 1;", "lt.u32 %p, %s, 100"), (0, 7));
    // Some may leave before.
    assert_eq!(steps(half, "setp.eq.u32 %q, %n, %s; @%q bra OUT; shr.u32 %s, %s, 1;", "ne.u32 %p, %s, 0"), (0, 7));
    // Too many, and an unknown number.
    assert_eq!(steps(half, "sub.u32 %s, %s, 1;", "ne.u32 %p, %s, 0"), (1, 1));
    assert_eq!(steps("mov.u32 %s, %n;", "shr.u32 %s, %s, 1;", "ne.u32 %p, %s, 0"), (1, 1));
}

#[test]
fn what_an_outer_loop_changes_is_not_taken_for_known() {
    let body = kernel(
        ".reg .b32 %s, %i, %n; .reg .pred %p;",
        "ld.param.u32 %n, [n]; mov.u32 %s, 8; mov.u32 %i, 0;\nOUTER: add.u32 %n, %n, 1;\nSTEP: bar.sync 0; shr.u32 %s, %s, 1; setp.ne.u32 %p, %s, 0; @%p bra STEP;\n\
         mov.u32 %s, 16; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra OUTER;\nret;",
    );
    assert_eq!((body.loops.len(), count(&body, |op| matches!(op, Op::Barrier(_)))), (2, 1));
}

#[test]
fn a_register_that_is_written_again_is_told_apart() {
    let copies = |code: &str| {
        let body = kernel(".reg .b32 %t, %w, %x; .reg .b64 %d; .reg .pred %p;", code);
        count(&body, |op| matches!(op, Op::Mov { src: Operand::Reg(_), .. }))
    };
    let counts = "LOOP: add.u32 %t, %t, 32; setp.lt.u32 %p, %t, 200; @%p bra LOOP;\nret;";
    // The number of the warp is read of the first write alone.
    assert_eq!(copies(&format!("mov.u32 %t, %laneid; shr.u32 %w, %t, 5; {counts}")), 1);
    // There is nothing else to be read, or nobody reads it alone.
    assert_eq!(copies("mov.u32 %t, %laneid; shr.u32 %w, %t, 5; mov.u32 %t, 7; add.u32 %w, %t, %w;\nret;"), 0);
    assert_eq!(copies(&format!("mov.u32 %t, %laneid; {counts}")), 0);
    // One instruction may write two.
    let both = "mov.u64 %d, 5; mov.b64 {%t, %x}, %d; add.u32 %w, %t, %x; LOOP: add.u32 %t, %t, 1; add.u32 %x, %x, 2; setp.lt.u32 %p, %x, %t; @%p bra LOOP;\nret;";
    assert_eq!(copies(both), 2);
}
