//! The notes that a program gets with `CU_JIT_LOG_VERBOSE`: for each kernel what it needs, in lines as programs read them off the
//! assembler's.
use std::fmt::Write as _;

use warploom_ptx::ir::{BarrierOp, FunctionId, FunctionKind, Module, Op, Operand, Space};

use super::KernelResources;

/// Barriers of a CTA (PTX ISA 9.7.13.1).
const BARRIERS: u32 = 16;

/// A line for the module's memory, and some for each kernel. `capability` is what the code is for, `10 * major + minor`.
pub(super) fn notes(module: &Module, capability: u32, most_registers: Option<u32>) -> String {
    let bytes = |space: Space| -> u64 {
        module.globals.iter().filter(|global| global.space == space).map(|global| global.size).sum()
    };
    let mut text = format!("ptxas info    : {} bytes gmem", bytes(Space::Global));
    if bytes(Space::Const) > 0 {
        // Writing to a string cannot fail, here and below.
        let _ = write!(text, ", {} bytes cmem[3]", bytes(Space::Const));
    }
    for (id, function) in (0..).map(FunctionId).zip(&module.functions) {
        if function.kind != FunctionKind::Kernel {
            continue;
        }
        let KernelResources { registers, local, shared, .. } = KernelResources::of(module, id, most_registers);
        let (name, barriers) = (&function.name, barriers(module, id));
        let _ = write!(
            text,
            "\nptxas info    : Compiling entry function '{name}' for 'sm_{capability}'\n\
             ptxas info    : Function properties for {name}\n\
             ptxas         .     {local} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
             ptxas info    : Used {registers} registers, used {barriers} barriers"
        );
        if shared > 0 {
            let _ = write!(text, ", {shared} bytes smem");
        }
    }
    text
}

/// Barriers that a kernel and the functions that it may call name: all, if one is named by a register.
fn barriers(module: &Module, kernel: FunctionId) -> u32 {
    let reachable = module.reachable(kernel);
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
