//! The interpreter has every instruction that has an operation in the IR: what it lacks, lowering leaves without one, and docs/generated/ptx-coverage.md says.

use warploom_interp::{Processor, load};
use warploom_ptx::ir::{FunctionId, Op};
use warploom_ptx::isa::all_forms;
use warploom_ptx::isa::instances::{DECLARATIONS, all_instances};
use warploom_ptx::{Options, VerifiedModule};

/// A kernel with an instruction, for the first target that takes it.
fn module(instruction: &str) -> Option<VerifiedModule> {
    [("sm_90a", 90), ("sm_100a", 100), ("sm_120a", 120)].iter().find_map(|(target, sm)| {
        let text = format!(
            ".version 9.2\n.target {target}\n.address_size 64\n.entry k()\n{{{DECLARATIONS}\n{instruction}\nret;\n}}\n"
        );
        warploom_ptx::load(text.as_bytes(), &Options { driver_version: 13020, sm: *sm }).ok()
    })
}

#[test]
fn what_has_an_operation_is_decoded_and_what_has_none_is_not() {
    let mut wrong = Vec::new();
    for (opcode, form) in all_forms() {
        for instruction in all_instances(opcode, form) {
            let Some(module) = module(&instruction) else { continue };
            let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
            let lacks = bodies.flat_map(|body| &body.insts).any(|inst| matches!(inst.op, Op::Unexecuted(_)));
            let loaded = load(&module, FunctionId(0), &|_| true, Processor::default());
            if loaded.is_err() != lacks {
                wrong.push(format!(
                    "{instruction}: {}",
                    loaded.err().map_or("is decoded".to_owned(), |e| e.to_string())
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
