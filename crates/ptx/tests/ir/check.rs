//! The checker of the IR takes what lowering gives, and says what is wrong with a body that a pass has broken.

use crate::texts;
use warploom_ptx::ir::{BlockId, Module, Op, Operand, Predicate, Reg, ScalarType, check_module};
use warploom_ptx::{Options, load};

fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 g;\n.entry k()\n{{ .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %d<3>;\n{body}\nret;\n}}\n"
    );
    (*load(text.as_bytes(), &Options { driver_version: 13000, sm: 80 }).expect("a module")).clone()
}

/// Breaks the body of a text and gives what the checker says.
fn broken(body: &str, breaks: impl FnOnce(&mut warploom_ptx::ir::Body)) -> String {
    let mut module = module(body);
    check_module(&module).expect("sound before");
    breaks(module.functions[0].body.as_mut().expect("a body"));
    check_module(&module).expect_err("broken")
}

const LOOP: &str =
    "mov.u32 %r0, 0; L: add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 9; @%p0 bra L; st.global.u32 [g], %r0;";

#[test]
fn every_text_and_every_form_is_sound() {
    for module in texts::modules(&texts::root().join("tests/filetests")).into_iter().chain(texts::forms()) {
        check_module(&module).unwrap_or_else(|broken| panic!("{broken}\n{}", *module));
    }
}

#[test]
fn registers_that_do_not_exist() {
    let message = broken("add.u32 %r0, %r1, 1;", |body| {
        for operand in &mut body.insts[0].operands_mut() {
            operand.reg().into_iter().for_each(|reg| *reg = Reg(77));
        }
    });
    assert!(message.contains("r77 is not declared"), "{message}");
}

#[test]
fn widths_and_classes() {
    let message = broken("add.u32 %r0, %r1, 1;", |body| body.regs[0].ty = ScalarType::B64);
    assert!(message.contains("is .b64, but Def of .u32"), "{message}");
    let message = broken("@%p0 add.u32 %r0, %r1, 1;", |body| {
        body.insts[0].guard = Some(Predicate { reg: Reg(1), negated: false });
    });
    assert!(message.contains("but Guard of .pred"), "{message}");
    let message = broken("@%p0 bra E; add.u32 %r0, %r1, 1; E:", |body| body.regs[0].ty = ScalarType::B32);
    assert!(message.contains("but Guard of .pred"), "{message}");
    let message = broken("ld.global.s8 %r0, [g];", |body| {
        let Op::Ld { to, .. } = &mut body.insts[0].op else { panic!("a load") };
        *to = ScalarType::S16;
    });
    assert!(message.contains("is .b32, but Def of .s16"), "{message}");
}

#[test]
fn ranges_of_blocks() {
    let message = broken(LOOP, |body| body.blocks[1].insts.start += 1);
    assert!(message.contains("b1 has instructions"), "{message}");
    let message = broken(LOOP, |body| drop(body.insts.pop()));
    assert!(message.contains("no block") || message.contains("instructions"), "{message}");
}

#[test]
fn branches() {
    let message = broken(LOOP, |body| body.blocks[0].terminator.next = Some(BlockId(9)));
    assert!(message.contains("b0 goes to a block that does not exist"), "{message}");
    let message = broken(LOOP, |body| body.blocks[1].terminator.next = None);
    assert!(message.contains("`next` does not go with"), "{message}");
    let message = broken(LOOP, |body| body.blocks[2].terminator.next = Some(BlockId(2)));
    assert!(message.contains("of no loop") || message.contains("`next` does not go with"), "{message}");
}

#[test]
fn loops() {
    let message = broken(LOOP, |body| body.loops.clear());
    assert!(message.contains("the edge from b1 back to b1 is of no loop"), "{message}");
    let message = broken(LOOP, |body| body.loops[0].blocks.end = 9);
    assert!(message.contains("not where it should be"), "{message}");
    let message = broken(LOOP, |body| body.loops[0].depth = 2);
    assert!(message.contains("not where it should be"), "{message}");
}

#[test]
fn lists_of_what_is_named() {
    let message = broken(LOOP, |body| body.globals.clear());
    assert!(message.contains("g0 is not in the list of variables"), "{message}");
}

#[test]
fn a_constant_where_a_register_must_stand_has_no_place() {
    // The type of a destination leaves no room for one; a value can be replaced.
    let mut module = module("add.u32 %r0, %r1, 1;");
    let body = module.functions[0].body.as_mut().expect("a body");
    let Op::IntBinary { a, .. } = &mut body.insts[0].op else { panic!("an addition") };
    *a = Operand::Imm(5);
    check_module(&module).expect("still sound");
}

#[test]
fn what_instructions_read_and_write() {
    // Instruction, target, names of the registers that it writes and reads.
    let cases: [(&str, &str, &[&str], &[&str]); 5] = [
        ("multimem.ld_reduce.relaxed.sys.global.add.u32 %r0, [%d0];", "sm_90a", &["%r0"], &["%d0"]),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d1, %p0, 1, 1, 0, 0;",
            "sm_90a",
            &["%f0", "%f1", "%f2", "%f3"],
            &["%d0", "%d1", "%f0", "%f1", "%f2", "%f3", "%p0"],
        ),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%r2];", "sm_100a", &["%r0", "%r1"], &["%r2"]),
        (
            "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%d0], [%d1, {%r0, %r1, %r2, %r3, %r4}], [%d2];",
            "sm_100a",
            &[],
            &["%d0", "%d1", "%d2", "%r0", "%r1", "%r2", "%r3", "%r4"],
        ),
        ("multimem.st.relaxed.sys.global.u32 [%d0], %r0;", "sm_90a", &[], &["%d0", "%r0"]),
    ];
    for (instruction, target, writes, reads) in cases {
        let text = format!(
            ".version 8.6\n.target {target}\n.address_size 64\n.entry k()\n{{ .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %d<3>; .reg .f32 %f<5>;\n@%p1 {instruction}\nret;\n}}\n"
        );
        let sm = if target == "sm_90a" { 90 } else { 100 };
        let module = load(text.as_bytes(), &Options { driver_version: 13000, sm })
            .unwrap_or_else(|failure| panic!("{instruction}: {:?}", failure.diagnostics));
        let body = module.functions[0].body.as_ref().expect("a body");
        let named = |regs: Vec<Reg>| {
            let mut names: Vec<&str> = regs.iter().map(|reg| &*body.regs[reg.0 as usize].name).collect();
            names.sort_unstable();
            names
        };
        let operands = body.insts[0].operands();
        assert_eq!(named(operands.iter().filter_map(|operand| operand.def()).collect()), writes, "{instruction}");
        let read = operands.iter().filter(|operand| operand.role != warploom_ptx::ir::Role::Guard);
        assert_eq!(named(read.filter_map(|operand| operand.read()).collect()), reads, "{instruction}");
    }
}
