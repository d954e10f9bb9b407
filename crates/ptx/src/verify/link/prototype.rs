//! Functions that inputs declare in different ways.

use super::{Linker, SymbolId};
use crate::ir::{
    Body, CallArg, CallTarget, Function, FunctionId, FunctionKind, Linkage, Module, Op, Param, ScalarType, TypeClass,
};
use std::collections::HashSet;

/// What a linker compares of a parameter: a type of numbers where it has one, the width of its elements, and its size.
///
/// Signs, alignment, names, and whether it is a variable or a register do not count (nvlink 13.5 and an H200's driver, 580.159.04).
fn shape(param: &Param) -> (Option<ScalarType>, u32, u32) {
    let number = (param.ty.class() == TypeClass::Float).then_some(param.ty);
    (number, param.ty.bits(), param.size)
}

fn agree(one: &[Param], other: &[Param]) -> bool {
    one.iter().map(shape).eq(other.iter().map(shape))
}

/// A function's head as PTX writes it.
fn head(function: &Function) -> String {
    let list = |params: &[Param]| {
        let written = params.iter().map(|param| match param.size / param.ty.bytes().max(1) {
            0 | 1 => format!(".{}", param.ty),
            count => format!(".{}[{count}]", param.ty),
        });
        written.collect::<Vec<_>>().join(", ")
    };
    let returns = if function.returns.is_empty() { String::new() } else { format!("({}) ", list(&function.returns)) };
    format!("{returns}{}({})", function.name, list(&function.params))
}

/// The functions that code of a module calls, or takes the address of.
fn used(module: &Module) -> HashSet<FunctionId> {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    bodies.flat_map(|body| body.callees.iter().copied()).collect()
}

impl Linker {
    /// Whether a function of the link is there by more than a declaration that nobody uses.
    pub(super) fn has_part(&self, id: FunctionId) -> bool {
        self.module.functions[id.0 as usize].body.is_some() || self.users.contains_key(&id)
    }

    /// What of an input's functions is declared otherwise than what the link has. The first line of two is the one that an H200's driver (580.159.04) writes to
    /// the error log: it names the input of a definition twice where there were declarations only before. Declarations that nobody uses take no part.
    pub(super) fn prototype_mismatches(&self, input: &str, module: &Module) -> Vec<String> {
        let mut found = Vec::new();
        let used = used(module);
        for (index, function) in module.functions.iter().enumerate() {
            let Some(known) = self.symbols.get(&function.name).filter(|_| function.linkage != Linkage::Internal) else {
                continue;
            };
            let SymbolId::Function(id) = known.place else { continue };
            let old = &self.module.functions[id.0 as usize];
            let takes_part = function.body.is_some() || used.contains(&FunctionId(index as u32));
            let counts = function.builtin.is_none() && self.has_part(id) && takes_part;
            if !counts || function.kind == FunctionKind::Kernel && old.kind == FunctionKind::Kernel {
                continue;
            }
            let name = &function.name;
            if function.kind != old.kind {
                found.push(format!("Function '{name}' not declared __global__ in all source files"));
            } else if !agree(&old.params, &function.params) || !agree(&old.returns, &function.returns) {
                let before = &self.inputs[known.input];
                let first = if !known.defined && function.body.is_some() { input } else { before };
                found.push(format!("Prototype doesn't match for '{name}' in '{input}', first defined in '{first}'"));
                found.push(format!("'{before}' has it as {}, '{input}' as {}", head(old), head(function)));
            }
        }
        found
    }
}

/// Makes the calls of functions that are declared otherwise than they are defined fit the definitions.
///
/// Arguments that are too many are dropped, and so are results that the function does not have: their places keep what they hold.
///
/// # Errors
/// Messages on calls that lack an argument, or have one of another size: there is no value that the function could be given.
pub(super) fn fit_calls(module: &mut Module) -> Result<(), Vec<String>> {
    let mut problems = Vec::new();
    for index in 0..module.functions.len() {
        let Some(mut body) = module.functions[index].body.take() else { continue };
        for at in 0..body.insts.len() {
            if let Err(callee) = fit_call(module, &mut body, at) {
                let caller = &module.functions[index].name;
                problems.push(format!("'{caller}' calls '{callee}' without the arguments that it is defined with"));
            }
        }
        module.functions[index].body = Some(body);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Makes one call fit; else the name of the function that it calls.
fn fit_call<'m>(module: &'m Module, body: &mut Body, at: usize) -> Result<(), &'m str> {
    let Body { insts, param_size, .. } = body;
    let Op::Call { target, returns, args, .. } = &mut insts[at].op else { return Ok(()) };
    let CallTarget::Direct(id) = **target else { return Ok(()) };
    let function = &module.functions[id.0 as usize];
    // What the system provides is called as it was declared.
    if function.builtin.is_some() {
        return Ok(());
    }
    args.truncate(function.params.len());
    returns.truncate(function.returns.len());
    if args.len() < function.params.len() {
        return Err(&function.name);
    }
    for (arg, formal) in args.iter_mut().zip(&function.params) {
        if !fits(arg, formal) {
            return Err(&function.name);
        }
    }
    let mut place = |formal: &Param| {
        let offset = param_size.next_multiple_of(formal.align.max(1));
        *param_size = offset + formal.size;
        CallArg::Param { offset, size: formal.size }
    };
    for (at, formal) in function.returns.iter().enumerate() {
        match returns.get_mut(at) {
            Some(given) => {
                if !fits(given, formal) {
                    *given = place(formal);
                }
            }
            None => returns.push(place(formal)),
        }
    }
    Ok(())
}

/// Whether an argument, or the place of a result, has a parameter's size; a value is then passed as one of its type.
fn fits(given: &mut CallArg, formal: &Param) -> bool {
    match given {
        CallArg::Param { size, .. } => *size == formal.size,
        CallArg::Value { ty, .. } => {
            let same = ty.bytes() == formal.size;
            if same {
                *ty = formal.ty;
            }
            same
        }
    }
}
