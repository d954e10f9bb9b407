//! Memory that a module declares, against what a device has.

use super::Options;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{FunctionId, FunctionKind, Module, Space};
use crate::lower::Lowered;
use crate::syntax::Span;

/// Bytes of constant memory that a module can declare (PTX ISA 5.1.3: 64 KiB per bank).
const MAX_CONST: u64 = 64 * 1024;

/// Most bytes of shared memory that a CTA can have, dynamic included (CUDA programming guide, table "Technical
/// Specifications per Compute Capability"; 1 KiB of it is the system's from sm_80 on).
const fn max_shared(sm: u32) -> u32 {
    match sm {
        0..=69 => 48 * 1024,
        70..=74 => 96 * 1024,
        75..=79 => 64 * 1024,
        80 | 87 => 163 * 1024,
        81..=89 | 120..=129 => 99 * 1024,
        _ => 227 * 1024,
    }
}

pub(super) fn check(lowered: &mut Lowered, options: &Options) {
    let mut found = Vec::new();
    let module = &lowered.module;
    let total: u64 = used_constants(module);
    if total > MAX_CONST {
        let message = format!("File uses too much global constant data ({total:#x} bytes, {MAX_CONST:#x} max)");
        found.push(Diagnostic::error(Code::Limit, Span::new(0, 0), message));
    }
    let max = max_shared(options.sm);
    for (index, function) in module.functions.iter().enumerate() {
        if function.kind != FunctionKind::Kernel {
            continue;
        }
        let size = module.shared_layout(FunctionId(index as u32)).size;
        if size > max {
            let message =
                format!("Entry function '{}' uses too much shared data ({size:#x} bytes, {max:#x} max)", function.name);
            found.push(Diagnostic::error(Code::Limit, lowered.function_spans[index], message));
        }
    }
    lowered.diagnostics.append(&mut found);
}

fn used_constants(module: &Module) -> u64 {
    let constants = module.globals.iter().filter(|global| global.space == Space::Const);
    constants.fold(0u64, |end, global| end.next_multiple_of(u64::from(global.align.max(1))).saturating_add(global.size))
}
