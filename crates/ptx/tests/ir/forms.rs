//! Every form of the instruction registry through the whole front end.

use std::collections::BTreeSet;

use warploom_ptx::ir::{Module, PlaceMut};
use warploom_ptx::isa::instances::{DECLARATIONS, all_instances};
use warploom_ptx::{Options, isa, load};

/// The operands of every instruction, as values and as places, are the same.
fn check_operands(module: &Module) {
    for inst in module.functions.iter().filter_map(|function| function.body.as_ref()).flat_map(|body| &body.insts) {
        let mut copy = inst.clone();
        let places: Vec<_> = copy
            .operands_mut()
            .into_iter()
            .map(|operand| {
                let value = match operand.place {
                    PlaceMut::Reg(reg) => warploom_ptx::ir::Operand::Reg(*reg),
                    PlaceMut::Value(value) => *value,
                };
                (operand.role, operand.ty, value)
            })
            .collect();
        let values: Vec<_> = inst.operands().iter().map(|operand| (operand.role, operand.ty, operand.value)).collect();
        assert_eq!(values, places, "{inst:?}");
    }
}

/// No form makes the lowering panic, and each whose operands the tables describe has an instance that loads.
#[test]
fn every_form_lowers() {
    let mut failed = Vec::new();
    let mut unread = BTreeSet::new();
    for (opcode, form) in isa::all_forms() {
        let texts = all_instances(opcode, form);
        let mut messages = Vec::new();
        let mut loads = texts.is_empty();
        // Without `.sync`, warp instructions are gone from PTX ISA 6.4 on.
        for (version, target, sm) in
            [("9.5", "sm_90a", 90), ("9.5", "sm_100a", 100), ("9.5", "sm_120a", 120), ("6.3", "sm_60", 60)]
        {
            // 128-bit registers came later than the oldest of them.
            let wide = " .reg .b128 %b128x<8>;";
            let declarations = if sm < 70 { DECLARATIONS.replace(wide, "") } else { DECLARATIONS.to_owned() };
            for text in &texts {
                let module = format!(
                    ".version {version}\n.target {target}\n.address_size 64\n.entry k()\n{{{declarations}\n{text}\nret;\n}}\n"
                );
                match load(module.as_bytes(), &Options { driver_version: 13050, sm }) {
                    Ok(module) => {
                        check_operands(&module);
                        let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
                        for word in bodies.flat_map(|body| &body.unsupported).filter_map(|used| used.unread.as_ref()) {
                            unread.insert(format!("{text} of {}: .{word}", form.text));
                        }
                        loads = true;
                    }
                    Err(failure) => messages.push(format!("{text}: {}", failure.diagnostics[0].message)),
                }
            }
        }
        if !loads {
            failed.push(format!("{}\n    {}", form.text, messages.join("\n    ")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    // Nor does a modifier go unread of which `lower/instruction/hints.rs` does not say that nothing hangs on it.
    let unread: Vec<String> = unread.into_iter().collect();
    assert!(unread.is_empty(), "{} modifiers that nobody reads:\n{}", unread.len(), unread.join("\n"));
}
