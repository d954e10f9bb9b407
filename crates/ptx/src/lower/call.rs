//! `call`: what is called, with what (PTX ISA 7.1, 9.7.12.5).

use super::body::{BodyLowering, Lower, ParamRole, Reported};
use super::scope::{Symbol, element};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{
    CallArg, CallTarget, FunctionId, FunctionKind, Op, Operand, Param, Prototype, PrototypeId, Reg, ScalarType, Storage,
};
use crate::isa::Modifiers;
use crate::syntax::Span;
use crate::syntax::ast::{self, Instruction, OperandKind};

impl BodyLowering<'_, '_> {
    pub(super) fn call(&mut self, modifiers: &Modifiers, instruction: &Instruction) -> Lower<()> {
        let ast = self.l.ast;
        let mut operands = ast[instruction.operands].iter().peekable();
        let list = |operands: &mut std::iter::Peekable<std::slice::Iter<'_, ast::Operand>>| {
            let next = operands.next_if(|operand| matches!(operand.kind, OperandKind::Arguments(_)));
            next.map_or(&[] as &[ast::Operand], |operand| match operand.kind {
                OperandKind::Arguments(list) => &ast[list],
                _ => &[],
            })
        };
        let written_returns = list(&mut operands);
        let Some(callee) = operands.next() else {
            return self.refuse(
                Code::Call,
                instruction.span,
                "Function name or address expected in instruction 'call'",
            );
        };
        let written_args = list(&mut operands);
        let shape = operands.next();
        if let Some(extra) = operands.next() {
            return self.refuse(Code::Call, extra.span, "Too many operands of instruction 'call'");
        }
        let (target, prototype) = self.callee(callee, shape)?;
        let args = self.pass(written_args, &prototype.params, instruction.span, false)?;
        let returns = self.pass(written_returns, &prototype.returns, instruction.span, true)?;
        let uniform = modifiers.has("uni");
        self.emit(Op::Call { target: Box::new(target), uniform, returns, args });
        Ok(())
    }

    fn callee(&mut self, callee: &ast::Operand, shape: Option<&ast::Operand>) -> Lower<(CallTarget, Prototype)> {
        let OperandKind::Name(name) = callee.kind else {
            return self.refuse(Code::Call, callee.span, "Function name or address expected in instruction 'call'");
        };
        let text = self.l.text(name);
        match self.symbol(name) {
            Some(Symbol::Function(id)) if self.is_later(id, callee.span) => {
                self.refuse(Code::Call, callee.span, format!("Call to '{text}' requires call prototype"))
            }
            Some(Symbol::Function(id)) => {
                let function = &self.l.module.functions[id.0 as usize];
                if function.kind == FunctionKind::Kernel {
                    let message = "Illegal call target, device function expected";
                    return self.refuse(Code::Call, callee.span, message);
                }
                let prototype = shape_of(function);
                Ok((CallTarget::Direct(self.use_function(id)), prototype))
            }
            Some(Symbol::Reg(address)) => {
                let ty = self.body.regs[address.0 as usize].ty;
                if ty.bits() != 64 || ty.is_float() {
                    let message = format!("Call address '{text}' is .{ty}, expected .u64");
                    return self.refuse(Code::Call, callee.span, message);
                }
                let (prototype, candidates) = self.indirect_shape(callee.span, shape)?;
                let shape = self.l.module.prototypes[prototype.0 as usize].clone();
                Ok((CallTarget::Indirect { address, prototype, candidates }, shape))
            }
            Some(_) => self.refuse(Code::Call, callee.span, format!("'{text}' cannot be called")),
            None => {
                let message = format!("Call to '{text}' requires call prototype");
                self.l.error(Code::Call, callee.span, message);
                self.refuse(Code::Undeclared, callee.span, format!("Unknown symbol '{text}'"))
            }
        }
    }

    /// Whether the function is declared only behind the place.
    fn is_later(&self, function: FunctionId, place: Span) -> bool {
        self.l.first_declared[function.0 as usize].start > place.start
    }

    fn indirect_shape(&mut self, span: Span, shape: Option<&ast::Operand>) -> Lower<(PrototypeId, Vec<FunctionId>)> {
        let Some(OperandKind::Name(name)) = shape.map(|operand| operand.kind) else {
            return self.refuse(Code::Call, span, "Indirect call requires a .callprototype or a .calltargets list");
        };
        match self.symbol(name) {
            Some(Symbol::Prototype(prototype)) => Ok((prototype, Vec::new())),
            Some(Symbol::CallTargets(list)) => {
                let candidates = self.call_targets[list as usize].clone();
                let Some(first) = candidates.first() else {
                    return self.refuse(Code::Call, span, "The .calltargets list is empty");
                };
                let prototype = shape_of(&self.l.module.functions[first.0 as usize]);
                for other in &candidates {
                    let function = &self.l.module.functions[other.0 as usize];
                    if !same_shape(&prototype, &shape_of(function)) {
                        let message =
                            format!("'{}' differs from the other .calltargets in its parameters", function.name);
                        return self.refuse(Code::Call, span, message);
                    }
                }
                self.l.module.prototypes.push(prototype);
                Ok((PrototypeId(self.l.module.prototypes.len() as u32 - 1), candidates))
            }
            // A function with the same shape may stand for the prototype.
            Some(Symbol::Function(id)) => {
                let prototype = shape_of(&self.l.module.functions[id.0 as usize]);
                self.l.module.prototypes.push(prototype);
                Ok((PrototypeId(self.l.module.prototypes.len() as u32 - 1), Vec::new()))
            }
            _ => {
                let text = self.l.text(name);
                self.refuse(Code::Undeclared, span, format!("Unknown symbol '{text}'"))
            }
        }
    }

    /// Checks arguments (or, with `out`, the places of results) against the formal parameters.
    fn pass(&mut self, written: &[ast::Operand], formals: &[Param], span: Span, out: bool) -> Lower<Vec<CallArg>> {
        let groups: Vec<&[Param]> = formals.chunk_by(of_one_vector).collect();
        if written.len() != groups.len() {
            let what = if out { "return values" } else { "parameters" };
            let message =
                format!("Call has wrong number of {what}: {} given, {} expected", written.len(), groups.len());
            return self.refuse(Code::Call, span, message);
        }
        let mut passed = Vec::with_capacity(formals.len());
        for (index, (operand, group)) in written.iter().zip(groups).enumerate() {
            self.argument = index;
            match group {
                [formal] => passed.push(self.pass_one(operand, formal, out)?),
                elements => self.pass_vector(operand, elements, out, &mut passed)?,
            }
        }
        Ok(passed)
    }

    /// Passes a vector register, element by element.
    fn pass_vector(
        &mut self,
        operand: &ast::Operand,
        formals: &[Param],
        out: bool,
        passed: &mut Vec<CallArg>,
    ) -> Lower<()> {
        if out && operand.kind == OperandKind::Sink {
            for Param { ty, .. } in formals {
                passed.push(CallArg::Value { ty: *ty, value: Operand::Reg(self.fresh(*ty)) });
            }
            return Ok(());
        }
        let regs = self.vector_register(operand).unwrap_or_default();
        let of_size = |reg: &Reg| self.body.regs[reg.0 as usize].ty.bits() == formals[0].ty.bits();
        if regs.len() != formals.len() || !regs.iter().all(of_size) {
            let vector = formals[0].name.rsplit_once('.').map_or("", |(vector, _)| vector);
            return self.formal_mismatch(
                operand.span,
                "Type",
                &Param { name: vector.to_owned(), ..formals[0].clone() },
            );
        }
        let values = regs.into_iter().zip(formals);
        passed.extend(values.map(|(reg, Param { ty, .. })| CallArg::Value { ty: *ty, value: Operand::Reg(reg) }));
        Ok(())
    }

    fn pass_one(&mut self, operand: &ast::Operand, formal: &Param, out: bool) -> Lower<CallArg> {
        if let OperandKind::Name(name) = operand.kind
            && let Some(Symbol::Param(index)) = self.symbol(name)
        {
            let actual = self.params[index as usize];
            let formal_aggregate = formal.size != formal.ty.bytes();
            let same_class = compatible(actual.ty, formal.ty) || formal_aggregate && actual.aggregate;
            if actual.size != formal.size || actual.aggregate != formal_aggregate || !same_class {
                return self.formal_mismatch(operand.span, "Type", formal);
            }
            if actual.align < formal.align {
                return self.formal_mismatch(operand.span, "Alignment", formal);
            }
            if out && actual.role == ParamRole::Input {
                let text = self.l.text(name);
                let message = format!("Illegal to write to function input parameter '{text}'");
                return self.refuse(Code::Call, operand.span, message);
            }
            return Ok(CallArg::Param { offset: actual.offset, size: actual.size });
        }
        if formal.size != formal.ty.bytes() {
            return self.formal_mismatch(operand.span, "Type", formal);
        }
        // An 8-bit parameter is passed in any wider register.
        let relaxed =
            formal.ty.bits() < 16 || matches!(formal.storage, Storage::Memory { .. }) && formal.ty.bits() < 32;
        let value = if out {
            let reg = self.destination(operand, formal.ty, relaxed)?;
            Operand::Reg(self.narrow_destination(formal.ty, reg))
        } else {
            let value = self.source(operand, formal.ty, relaxed)?;
            self.narrow_source(formal.ty, value)
        };
        Ok(CallArg::Value { ty: formal.ty, value })
    }

    fn formal_mismatch<T>(&mut self, span: Span, what: &str, formal: &Param) -> Lower<T> {
        let message = format!("{what} of argument does not match formal parameter '{}'", formal.name);
        let note = format!("the parameter is .{}, {} bytes, aligned to {}", formal.ty, formal.size, formal.align);
        self.l.report(Diagnostic::error(Code::Call, span, message).note(note));
        Err(Reported)
    }
}

/// Whether a parameter is of the same vector register as the one before: `v.x`, `v.y`.
fn of_one_vector(before: &Param, param: &Param) -> bool {
    let split = |param: &'_ Param| param.name.rsplit_once('.').map(|(vector, at)| (vector.to_owned(), element(at)));
    match (split(before), split(param)) {
        (Some((one, Some(index))), Some((other, Some(next)))) => one == other && index + 1 == next,
        _ => false,
    }
}

fn compatible(actual: ScalarType, formal: ScalarType) -> bool {
    use crate::ir::TypeClass::{Bits, Signed, Unsigned};
    let integer = |ty: ScalarType| matches!(ty.class(), Signed | Unsigned);
    actual == formal || actual.class() == Bits || formal.class() == Bits || integer(actual) && integer(formal)
}

fn shape_of(function: &crate::ir::Function) -> Prototype {
    let memory = function.params.iter().chain(&function.returns).filter_map(|param| match param.storage {
        Storage::Memory { offset } => Some(offset + param.size),
        Storage::Register(_) => None,
    });
    Prototype {
        returns: function.returns.clone(),
        params: function.params.clone(),
        noreturn: function.directives.noreturn,
        param_size: memory.max().unwrap_or(0),
    }
}

/// Whether a call by one shape reaches functions of the other.
fn same_shape(a: &Prototype, b: &Prototype) -> bool {
    let one = |a: &Param, b: &Param| {
        let in_memory = |param: &Param| matches!(param.storage, Storage::Memory { .. });
        a.size == b.size && compatible(a.ty, b.ty) && in_memory(a) == in_memory(b)
    };
    let all = |a: &[Param], b: &[Param]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| one(a, b));
    all(&a.params, &b.params) && all(&a.returns, &b.returns)
}
