//! What each kernel needs, in lines as programs read them off NVIDIA's assembler: with its option `-v`, and with `CU_JIT_LOG_VERBOSE` in the
//! driver's log.
use std::fmt::Write as _;

use super::{KernelResources, ModuleFacts};
use crate::ir::{BarrierOp, FunctionId, FunctionKind, Module, Op, Operand, Space};

/// Who says it: the lines differ a little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The driver, in a JIT log.
    Log,
    /// The assembler, on standard error.
    Assembler,
}

/// Barriers of a CTA (PTX ISA 9.7.13.1).
const BARRIERS: u32 = 16;

/// A line for the module's memory, and some for each kernel that is `wanted` by its name. `capability` is what the code is for,
/// `10 * major + minor`.
pub fn notes(
    module: &Module,
    capability: u32,
    most_registers: Option<u32>,
    shape: Shape,
    wanted: impl Fn(&str) -> bool,
) -> String {
    let bytes = |space: Space| -> u64 {
        module.globals.iter().filter(|global| global.space == space).map(|global| global.size).sum()
    };
    let mut text = format!("ptxas info    : {} bytes gmem", bytes(Space::Global));
    if bytes(Space::Const) > 0 {
        // Writing to a string cannot fail, here and below.
        let _ = write!(text, ", {} bytes cmem[3]", bytes(Space::Const));
    }
    let indent = match shape {
        Shape::Log => "ptxas         .     ",
        Shape::Assembler => "    ",
    };
    let facts = ModuleFacts::new(module);
    for (id, function) in (0..).map(FunctionId).zip(&module.functions) {
        if function.kind != FunctionKind::Kernel || !wanted(&function.name) {
            continue;
        }
        let KernelResources { registers, local, shared, .. } = KernelResources::of(module, id, &facts, most_registers);
        let (name, barriers) = (&function.name, barriers(module, &facts.calls.reachable(module, id)));
        let _ = write!(
            text,
            "\nptxas info    : Compiling entry function '{name}' for 'sm_{capability}'\n\
             ptxas info    : Function properties for {name}\n\
             {indent}{local} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
             ptxas info    : Used {registers} registers, used {barriers} barriers"
        );
        if shared > 0 {
            let _ = write!(text, ", {shared} bytes smem");
        }
    }
    text
}

/// Barriers that these functions name, a kernel and those that it may call: all, if one is named by a register.
fn barriers(module: &Module, reachable: &[FunctionId]) -> u32 {
    let bodies = reachable.iter().filter_map(|id| module.functions.get(id.0 as usize)?.body.as_ref());
    let named = bodies.flat_map(|body| &body.insts).filter_map(|inst| match &inst.op {
        Op::Barrier(BarrierOp::Sync { id, .. } | BarrierOp::Arrive { id, .. } | BarrierOp::Reduce { id, .. }) => {
            Some(match id {
                Operand::Imm(number) => u32::try_from(*number).unwrap_or(BARRIERS).saturating_add(1),
                Operand::Reg(_) => BARRIERS,
            })
        }
        _ => None,
    });
    named.max().unwrap_or(0).min(BARRIERS)
}
