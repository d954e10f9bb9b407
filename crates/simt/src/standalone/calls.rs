//! What stands for a call: the way into a copy of what it calls, or a call of what stays a function, a chain of tests for an indirect one, and parameters that are handed over.

use warploom_ptx::ir::{
    Address, AddressTarget, Base, BlockId, Builtin, CallArg, CallTarget, Compare, FunctionId, FunctionKind, Inst,
    Module, Op, Operand, Param, Predicate, Prototype, Reg, RelocationTarget, ScalarType, Scope, Semantics, Space,
    Storage, Terminator, TerminatorKind,
};

use super::called::Frame;
use super::{Copy, Inliner, nowhere, untyped};

impl Inliner<'_> {
    /// Replaces a call at the end of a block; the block that follows it.
    pub(super) fn call(
        &mut self,
        copy: &Copy,
        at: u32,
        inst: &Inst,
        target: &CallTarget,
        returns: &[CallArg],
        args: &[CallArg],
    ) -> Result<u32, String> {
        if let CallTarget::Direct(id) = target
            && let Some(builtin) = self.module.functions[id.0 as usize].builtin
        {
            // Launches are not many, and one of these waits: that is for the interpreter.
            if matches!(builtin, Builtin::Runtime(_)) {
                let name = &self.module.functions[id.0 as usize].name;
                return Err(format!("line {}: {name} is a function of the device's runtime library", inst.line));
            }
            self.provided(copy, at, inst, target, returns, args)?;
            return Ok(at);
        }
        let (line, loc) = (inst.line, inst.loc);
        let end = std::mem::replace(&mut self.drafts[at as usize].end, nowhere(line, loc));
        let behind = self.draft(end);
        let mut from = at;
        if let Some(guard) = inst.guard {
            let inside = self.draft(nowhere(line, loc));
            let past = Predicate { negated: !guard.negated, ..guard };
            let around = TerminatorKind::Bra { target: BlockId(behind), uniform: false };
            let end = Terminator { guard: Some(past), kind: around, next: Some(BlockId(inside)), line, loc };
            self.drafts[at as usize].end = end;
            from = inside;
        }
        match target {
            CallTarget::Direct(id) => self.enter(copy, from, behind, inst, *id, returns, args)?,
            CallTarget::Indirect { address, .. } => {
                for id in callees(self.module, self.kernel, target) {
                    let (function, is) = (self.register(ScalarType::U64), self.register(ScalarType::Pred));
                    let target = AddressTarget::Function(id);
                    let ops = [
                        Op::AddressOf { ty: ScalarType::U64, dst: function, target, offset: 0 },
                        Op::Setp {
                            cmp: Compare::Eq,
                            ftz: false,
                            ty: ScalarType::U64,
                            combine: None,
                            dst_p: is,
                            dst_q: None,
                            a: Operand::Reg(*address),
                            b: Operand::Reg(function),
                        },
                    ];
                    for op in ops {
                        self.push(from, inst, op);
                    }
                    let (inside, other) = (self.draft(nowhere(line, loc)), self.draft(nowhere(line, loc)));
                    self.drafts[from as usize].end = Terminator {
                        guard: Some(Predicate { reg: is, negated: true }),
                        kind: TerminatorKind::Bra { target: BlockId(other), uniform: false },
                        next: Some(BlockId(inside)),
                        line,
                        loc,
                    };
                    self.enter(copy, inside, behind, inst, id, returns, args)?;
                    from = other;
                }
                // Nobody comes back from there.
                self.push(from, inst, inst.op.clone());
                self.drafts[from as usize].end = Terminator { kind: TerminatorKind::Trap, ..nowhere(line, loc) };
            }
        }
        Ok(behind)
    }

    /// A call of what the system provides: with registers in place of parameters.
    fn provided(
        &mut self,
        copy: &Copy,
        at: u32,
        inst: &Inst,
        target: &CallTarget,
        returns: &[CallArg],
        args: &[CallArg],
    ) -> Result<(), String> {
        let refused = || format!("line {}: {}", inst.line, self.module.mnemonic(inst.mnemonic));
        let in_memory = |arg: &CallArg| match *arg {
            CallArg::Value { .. } => Ok(None),
            CallArg::Param { offset, size } => {
                let place = copy.param(i64::from(offset)).ok_or_else(refused)?;
                let ty = untyped(size).ok_or_else(refused)?;
                Ok(Some((place, ty)))
            }
        };
        let places = |all: &[CallArg]| all.iter().map(in_memory).collect::<Result<Vec<_>, String>>();
        let (into, out) = (places(args)?, places(returns)?);
        let (mut args, mut returns) = (args.to_vec(), returns.to_vec());
        let passed = |ty, reg| CallArg::Value { ty, value: Operand::Reg(reg) };
        for (arg, (place, ty)) in args.iter_mut().zip(into).filter_map(|(arg, place)| Some((arg, place?))) {
            let held = self.register(ty);
            self.load(at, inst, ty, held, place);
            *arg = passed(ty, held);
        }
        let mut results = Vec::new();
        for (result, (place, ty)) in returns.iter_mut().zip(out).filter_map(|(result, place)| Some((result, place?))) {
            let held = self.register(ty);
            *result = passed(ty, held);
            results.push((ty, held, place));
        }
        let op = Op::Call { target: Box::new(target.clone()), uniform: false, returns, args };
        self.drafts[at as usize].insts.push(Inst { op, ..inst.clone() });
        for (ty, held, place) in results {
            self.store(at, inst, ty, Operand::Reg(held), place);
            // Where it is not called nothing comes of it.
            if let Some(stored) = self.drafts[at as usize].insts.last_mut() {
                stored.guard = inst.guard;
            }
        }
        Ok(())
    }

    /// From a block into a copy of a function, or into the function, with its arguments, and behind it to another block, with its results.
    #[expect(clippy::too_many_arguments, reason = "all of a call")]
    fn enter(
        &mut self,
        caller: &Copy,
        at: u32,
        behind: u32,
        inst: &Inst,
        id: FunctionId,
        returns: &[CallArg],
        args: &[CallArg],
    ) -> Result<(), String> {
        let function = &self.module.functions[id.0 as usize];
        let Some(body) = &function.body else {
            return Err(format!("line {}: {} has no code", inst.line, function.name));
        };
        self.drafts[at as usize].end.kind = TerminatorKind::Next;
        if let Some(frame) = self.called.frame(self.module, id) {
            self.hand_over(caller, at, inst, id, frame, args, true)?;
            let target = Box::new(CallTarget::Direct(id));
            self.push(at, inst, Op::Call { target, uniform: false, returns: Vec::new(), args: Vec::new() });
            self.hand_over(caller, at, inst, id, frame, returns, false)?;
            self.drafts[at as usize].end.next = Some(BlockId(behind));
            return Ok(());
        }
        let leave = self.draft(Terminator { next: Some(BlockId(behind)), ..nowhere(inst.line, inst.loc) });
        let (first, callee) = self.copy(id, body, caller.end, Some(leave))?;
        let place = |param: &Param| match param.storage {
            Storage::Memory { offset } => callee.param(i64::from(offset)).ok_or(Reg(0)),
            Storage::Register(reg) => Err(callee.reg(reg)),
        };
        for (arg, param) in args.iter().zip(&function.params) {
            self.transfer(caller, place(param), at, inst, *arg, param, true)?;
        }
        for (arg, param) in returns.iter().zip(&function.returns) {
            self.transfer(caller, place(param), leave, inst, *arg, param, false)?;
        }
        self.drafts[at as usize].end.next = Some(BlockId(first));
        Ok(())
    }

    /// Arguments of a function that stays into its frame, or its results out of it.
    #[expect(clippy::too_many_arguments, reason = "both sides of a call")]
    fn hand_over(
        &mut self,
        caller: &Copy,
        at: u32,
        inst: &Inst,
        id: FunctionId,
        frame: Frame,
        passed: &[CallArg],
        into: bool,
    ) -> Result<(), String> {
        let function = &self.module.functions[id.0 as usize];
        let (params, first) = if into { (&function.params, 0) } else { (&function.returns, function.params.len()) };
        for (number, (arg, param)) in passed.iter().zip(params).enumerate() {
            let offset = match param.storage {
                Storage::Memory { offset } => i64::from(offset) + frame.params,
                Storage::Register(_) => frame.slot(first + number),
            };
            let place = Address { base: Base::LocalFrame, offset };
            self.transfer(caller, Ok(place), at, inst, *arg, param, into)?;
        }
        Ok(())
    }

    /// What a function that stays does first, and last: its registers get what was handed over, and hand over what comes of it.
    pub(super) fn take_over(
        &mut self,
        copy: &Copy,
        id: FunctionId,
        frame: Frame,
        enter: u32,
        leave: u32,
    ) -> Result<(), String> {
        let function = &self.module.functions[id.0 as usize];
        // Nothing of these stands in the text: they are known by where the function begins.
        let Some(first) = function.body.iter().flat_map(|body| &body.insts).next() else { return Ok(()) };
        let inst = Inst { guard: None, line: function.line, loc: None, ..first.clone() };
        for (number, param) in function.params.iter().chain(&function.returns).enumerate() {
            let Storage::Register(reg) = param.storage else { continue };
            let passed = CallArg::Value { ty: param.ty, value: Operand::Reg(copy.reg(reg)) };
            let place = Address { base: Base::LocalFrame, offset: frame.slot(number) };
            let (at, into) = if number < function.params.len() { (enter, false) } else { (leave, true) };
            self.transfer(copy, Ok(place), at, &inst, passed, param, into)?;
        }
        Ok(())
    }

    /// An argument into the callee, or a result out of it.
    #[expect(clippy::too_many_arguments, reason = "both sides of a call")]
    fn transfer(
        &mut self,
        caller: &Copy,
        inside: Result<Address, Reg>,
        at: u32,
        inst: &Inst,
        arg: CallArg,
        param: &Param,
        into: bool,
    ) -> Result<(), String> {
        let refused = || Err(format!("line {}: {}", inst.line, self.module.mnemonic(inst.mnemonic)));
        let ty = param.ty.to_bits();
        let outside = match arg {
            CallArg::Param { offset, .. } => caller.param(i64::from(offset)),
            CallArg::Value { .. } => None,
        };
        let value = match arg {
            CallArg::Value { value, .. } => Some(value),
            CallArg::Param { .. } => None,
        };
        let alike = |reg: Reg| self.body.regs[reg.0 as usize].ty.bits() == ty.bits();
        match (value, outside, inside) {
            (Some(value), _, Err(reg)) => {
                if !alike(reg) || !value.reg().is_none_or(alike) {
                    return refused();
                }
                let (dst, src) = match (into, value) {
                    (true, value) => (reg, value),
                    (false, Operand::Reg(to)) => (to, Operand::Reg(reg)),
                    (false, Operand::Imm(_)) => return refused(),
                };
                self.push(at, inst, Op::Mov { ty, dst, src });
            }
            (Some(value), _, Ok(place)) => {
                if !value.reg().is_none_or(alike) {
                    return refused();
                }
                match (into, value) {
                    (true, value) => self.store(at, inst, ty, value, place),
                    (false, Operand::Reg(to)) => self.load(at, inst, ty, to, place),
                    (false, Operand::Imm(_)) => return refused(),
                }
            }
            (None, Some(place), Err(reg)) => {
                if !alike(reg) {
                    return refused();
                }
                if into {
                    self.load(at, inst, ty, reg, place);
                } else {
                    self.store(at, inst, ty, Operand::Reg(reg), place);
                }
            }
            (None, Some(outside), Ok(inside)) => {
                let (from, to) = if into { (outside, inside) } else { (inside, outside) };
                self.bytes(at, inst, from, to, param.size);
            }
            // A parameter of the launch as the argument itself.
            (None, None, _) => return refused(),
        }
        Ok(())
    }

    /// Copies bytes of local memory, in as large steps as both places allow.
    fn bytes(&mut self, at: u32, inst: &Inst, from: Address, to: Address, size: u32) {
        let mut done = 0;
        while done < i64::from(size) {
            let places = (from.offset + done) | (to.offset + done) | 8;
            let mut step = 1i64 << places.trailing_zeros();
            while step > i64::from(size) - done {
                step /= 2;
            }
            let ty = untyped(step as u32).unwrap_or(ScalarType::B64);
            let held = self.register(ty);
            self.load(at, inst, ty, held, Address { offset: from.offset + done, ..from });
            self.store(at, inst, ty, Operand::Reg(held), Address { offset: to.offset + done, ..to });
            done += step;
        }
    }

    fn load(&mut self, at: u32, inst: &Inst, ty: ScalarType, to: Reg, addr: Address) {
        let op = Op::Ld {
            space: Space::Local,
            ty,
            to: ty,
            semantics: Semantics::Weak,
            scope: Scope::Sys,
            nc: false,
            cache: None,
            unified: false,
            dst: [to].into_iter().collect(),
            addr,
        };
        self.push(at, inst, op);
    }

    fn store(&mut self, at: u32, inst: &Inst, ty: ScalarType, value: Operand, addr: Address) {
        let op = Op::St {
            space: Space::Local,
            ty,
            from: ty,
            semantics: Semantics::Weak,
            scope: Scope::Sys,
            cache: None,
            src: [value].into_iter().collect(),
            addr,
        };
        self.push(at, inst, op);
    }

    /// An instruction that a call consists of.
    fn push(&mut self, at: u32, call: &Inst, op: Op) {
        let inst = Inst { guard: None, op, mnemonic: call.mnemonic, line: call.line, loc: call.loc };
        self.drafts[at as usize].insts.push(inst);
    }
}

/// The functions that a call can come to, for what the code of a kernel can have addresses of.
pub(super) fn callees(module: &Module, kernel: FunctionId, target: &CallTarget) -> Vec<FunctionId> {
    match target {
        CallTarget::Direct(id) => vec![*id],
        CallTarget::Indirect { candidates, .. } if !candidates.is_empty() => candidates.clone(),
        CallTarget::Indirect { prototype, .. } => candidates(module, kernel, &module.prototypes[prototype.0 as usize]),
    }
}

/// The functions that the code can have an address of, of one shape.
fn candidates(module: &Module, kernel: FunctionId, shape: &Prototype) -> Vec<FunctionId> {
    let alike = |given: &[Param], asked: &[Param]| {
        given.iter().map(|param| param.size).eq(asked.iter().map(|param| param.size))
    };
    let mut all: Vec<FunctionId> = module.reachable(kernel);
    all.extend(module.globals.iter().flat_map(|global| &global.relocations).filter_map(|relocation| {
        match relocation.target {
            RelocationTarget::Function(id) => Some(id),
            RelocationTarget::Global(_) => None,
        }
    }));
    all.sort_unstable();
    all.dedup();
    all.retain(|id| {
        let function = &module.functions[id.0 as usize];
        function.kind == FunctionKind::Device
            && function.body.is_some()
            && alike(&function.params, &shape.params)
            && alike(&function.returns, &shape.returns)
    });
    all
}
