//! Kernels with what they call as one body: sound IR without calls, or a reason.

use std::path::Path;

use warploom_ptx::ir::{FunctionId, FunctionKind, Op, Space, check_module};
use warploom_ptx::{Options, load};
use warploom_simt::standalone;

fn body_of(text: &str) -> Result<warploom_ptx::ir::Module, String> {
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let kernel = module.functions.iter().position(|function| function.kind == FunctionKind::Kernel).expect("a kernel");
    let alone = standalone(&module, FunctionId(kernel as u32))?;
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
