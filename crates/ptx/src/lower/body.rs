//! Function bodies: scopes, declarations, instructions in order.

use super::flow::ProtoBlock;
use super::scope::{ELEMENTS, Symbol};
use super::{Lowering, scalar_type};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{
    Body, FunctionId, GlobalId, Inst, LocId, MnemonicId, Op, Predicate, Reg, RegDecl, ScalarType, SourceLoc, Storage,
    UnsupportedUse,
};
use crate::isa::Opcode;
use crate::syntax::ast::{self, Instruction, StateSpace, Statement};
use crate::syntax::{Name, Span};
use std::collections::HashSet;

/// Something was reported; the instruction is left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported;

pub(super) type Lower<T> = Result<T, Reported>;

/// What a variable of the parameter frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParamRole {
    /// A parameter of this function.
    Input,
    /// A return value of this function.
    Output,
    /// For calls.
    Local,
}

/// A variable of the parameter frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParamVariable {
    pub(super) offset: u32,
    pub(super) size: u32,
    pub(super) align: u32,
    pub(super) ty: ScalarType,
    /// Not a scalar.
    pub(super) aggregate: bool,
    pub(super) role: ParamRole,
}

/// Lowering of one function's body.
pub(super) struct BodyLowering<'l, 'a> {
    pub(super) l: &'l mut Lowering<'a>,
    pub(super) function: FunctionId,
    pub(super) body: Body,
    pub(super) blocks: Vec<ProtoBlock>,
    /// By label: its block.
    pub(super) labels: Vec<u32>,
    pub(super) params: Vec<ParamVariable>,
    pub(super) branch_targets: Vec<Vec<Name>>,
    pub(super) call_targets: Vec<Vec<FunctionId>>,
    pub(super) guard: Option<Predicate>,
    pub(super) mnemonic: MnemonicId,
    pub(super) line: u32,
    pub(super) loc: Option<LocId>,
    /// What is to follow the instruction being lowered, under the same guard.
    pub(super) after: Vec<Op>,
    /// Elements of a vector to be stored that are left out, a bit for each.
    pub(super) left_out: u8,
    /// CC.CF, once an instruction has used it.
    pub(super) carry: Option<Reg>,
    /// Index of the operand being converted, for messages.
    pub(super) argument: usize,
    instruction: Name,
    callee_set: HashSet<FunctionId>,
    global_set: HashSet<GlobalId>,
}

impl<'a> Lowering<'a> {
    /// Lowers the definition of a function into the module.
    pub(super) fn lower_body(&mut self, function: FunctionId, definition: ast::Id<ast::Function>) {
        let ast = self.ast;
        let written = &ast[definition];
        let Some(code) = written.body else { return };
        self.scopes.open();
        let mut lowering = BodyLowering {
            l: self,
            function,
            body: Body { local_align: 1, ..Body::default() },
            blocks: vec![ProtoBlock::default()],
            labels: Vec::new(),
            params: Vec::new(),
            branch_targets: Vec::new(),
            call_targets: Vec::new(),
            guard: None,
            mnemonic: MnemonicId::NONE,
            line: 0,
            loc: None,
            after: Vec::new(),
            left_out: 0,
            carry: None,
            argument: 0,
            instruction: written.name.name,
            callee_set: HashSet::new(),
            global_set: HashSet::new(),
        };
        lowering.declare_own_variables(written.kind);
        lowering.l.scopes.open();
        lowering.declare_params(written);
        lowering.scope(code.statements);
        lowering.seal();
        let body = lowering.body;
        self.scopes.close();
        self.scopes.close();
        self.module.functions[function.0 as usize].body = Some(body);
    }
}

impl<'a> BodyLowering<'_, 'a> {
    /// Enters what each thread has of its own, but is declared outside of functions: kernels alone can be told of it, as what they call would have to share it.
    fn declare_own_variables(&mut self, kind: ast::FunctionKind) {
        if kind == ast::FunctionKind::Entry {
            for id in self.l.own_variables.clone() {
                let ast = self.l.ast;
                self.variable(&ast[id], id);
            }
        }
    }

    /// Enters the function's parameters and return values into its scope and its parameter frame.
    fn declare_params(&mut self, written: &ast::Function) {
        let ast = self.l.ast;
        let function = &self.l.module.functions[self.function.0 as usize];
        let (params, returns) = (function.params.clone(), function.returns.clone());
        let (mut params, mut returns) = (params.iter(), returns.iter());
        let written_params = ast[written.params].iter().map(|variable| (variable, ParamRole::Input));
        let written_returns = ast[written.returns].iter().map(|variable| (variable, ParamRole::Output));
        for (variable, role) in written_params.chain(written_returns) {
            let list = if role == ParamRole::Input { &mut params } else { &mut returns };
            // One that is wrong is not there.
            let Some(param) = list.next() else { continue };
            let symbol = match param.storage {
                Storage::Register(reg) => {
                    debug_assert_eq!(reg.0 as usize, self.body.regs.len());
                    let vector = variable.vector.unwrap_or(1);
                    list.by_ref().take(usize::from(vector) - 1).for_each(drop);
                    self.make_register(self.l.ast.name(variable.name.name), param.ty, vector)
                }
                Storage::Memory { offset } => {
                    self.body.param_size = self.body.param_size.max(offset + param.size);
                    self.params.push(ParamVariable {
                        offset,
                        size: param.size,
                        align: param.align,
                        ty: param.ty,
                        aggregate: param.size != param.ty.bytes(),
                        role,
                    });
                    Symbol::Param(self.params.len() as u32 - 1)
                }
            };
            self.l.declare(variable.name, symbol, "variable");
        }
        let buffer = self.l.module.functions[self.function.0 as usize].param_buffer_size;
        self.body.param_size = self.body.param_size.max(buffer);
    }

    /// Lowers the statements between two braces.
    fn scope(&mut self, statements: ast::List<Statement>) {
        let ast = self.l.ast;
        self.l.scopes.open();
        // Labels can be used before they stand, within their scope.
        for statement in &ast[statements] {
            if let Statement::Label(ident) = statement {
                let label = self.labels.len() as u32;
                self.labels.push(u32::MAX);
                self.l.declare(*ident, Symbol::Label(label), "label");
            } else if let Statement::BranchTargets { name, targets } = statement {
                let index = self.branch_targets.len() as u32;
                self.branch_targets.push(ast[*targets].iter().map(|target| target.name).collect());
                self.l.declare(*name, Symbol::BranchTargets(index), "label");
            }
        }
        for statement in &ast[statements] {
            self.statement(statement);
        }
        self.l.scopes.close();
    }

    fn statement(&mut self, statement: &'a Statement) {
        let ast = self.l.ast;
        match statement {
            Statement::Label(ident) => {
                if let Some(Symbol::Label(label)) = self.symbol(ident.name) {
                    self.place_label(label, self.l.text(ident.name));
                }
            }
            Statement::Instruction(instruction) => {
                // What is wrong has been reported, and the module will not load.
                let _: Lower<()> = self.instruction(instruction);
            }
            Statement::Variable(id) => self.variable(&ast[*id], *id),
            Statement::Block(inner) => self.scope(inner.statements),
            Statement::BranchTargets { .. } | Statement::Pragma(_) => {}
            Statement::CallTargets { name, targets } => {
                let mut functions = Vec::new();
                for target in &ast[*targets] {
                    match self.symbol(target.name) {
                        Some(Symbol::Function(id)) => functions.push(self.use_function(id)),
                        _ => {
                            let text = self.l.text(target.name);
                            self.l.error(Code::Undeclared, target.span, format!("Unknown symbol '{text}'"));
                        }
                    }
                }
                let index = self.call_targets.len() as u32;
                self.call_targets.push(functions);
                self.l.declare(*name, Symbol::CallTargets(index), "label");
            }
            Statement::CallPrototype(id) => {
                let prototype = self.l.prototype(&ast[*id]);
                self.l.declare(ast[*id].name, Symbol::Prototype(prototype), "label");
            }
            Statement::Loc(id) => self.location(&ast[*id]),
        }
    }

    fn location(&mut self, written: &ast::Loc) {
        let loc = SourceLoc {
            file: written.at.file,
            line: written.at.line,
            column: written.at.column,
            inlined_at: written.inlined_at.map(|at| (at.file, at.line, at.column)),
        };
        if self.body.locs.last() != Some(&loc) {
            self.body.locs.push(loc);
        }
        self.loc = Some(LocId::new(self.body.locs.len() - 1));
    }

    /// A declaration inside the function.
    fn variable(&mut self, variable: &ast::Variable, id: ast::Id<ast::Variable>) {
        let ty = scalar_type(variable.ty.value);
        match variable.space {
            StateSpace::Reg => self.register(variable, ty),
            StateSpace::Local => {
                let Some((size, align)) = self.l.frame_layout(variable) else { return };
                let offset = place(&mut self.body.local_size, size, align);
                self.body.local_align = self.body.local_align.max(align);
                let is_array = !variable.dims.is_empty();
                self.l.declare(variable.name, Symbol::Local { offset, ty, is_array }, "variable");
            }
            StateSpace::Param => {
                let Some((size, align)) = self.l.frame_layout(variable) else { return };
                let offset = place(&mut self.body.param_size, size, align);
                let aggregate = size != ty.bytes();
                self.params.push(ParamVariable { offset, size, align, ty, aggregate, role: ParamRole::Local });
                self.l.declare(variable.name, Symbol::Param(self.params.len() as u32 - 1), "variable");
            }
            StateSpace::Global | StateSpace::Const | StateSpace::Shared => {
                self.l.declare_static(self.function, variable, id);
            }
            StateSpace::Sreg | StateSpace::Tex => {
                let message = "Variables of this state space cannot be declared in a function";
                self.l.error(Code::Declaration, variable.span, message);
            }
        }
    }

    fn register(&mut self, variable: &ast::Variable, ty: ScalarType) {
        let vector = variable.vector.unwrap_or(1);
        let ast = self.l.ast;
        let name = variable.name;
        // The registers are declared all the same: their uses are not what is wrong.
        let _: Option<()> = self.l.check_type(variable);
        if !variable.dims.is_empty() {
            self.l.error(Code::Declaration, variable.span, "Registers cannot be declared as arrays");
            return;
        }
        let duplicate = |text: &str| format!("Duplicate definition of variable '{text}'");
        if let Some(count) = variable.count {
            if !self.l.scopes.declare_range(name.name, ty, vector, count) {
                let text = ast.name(name.name);
                self.l.error(Code::Redeclared, name.span, duplicate(text));
            }
            return;
        }
        if let Some((prefix, index)) = super::split_register(ast, name.name)
            && self.l.scopes.in_range_here(prefix, index)
        {
            let text = ast.name(name.name);
            self.l.error(Code::Redeclared, name.span, duplicate(text));
            return;
        }
        let symbol = self.make_register(ast.name(name.name), ty, vector);
        self.l.declare(name, symbol, "variable");
    }

    /// Makes a register, or as many as a vector has elements.
    pub(super) fn make_register(&mut self, name: &str, ty: ScalarType, vector: u8) -> Symbol {
        let first = Reg(self.body.regs.len() as u32);
        if vector == 1 {
            self.body.regs.push(RegDecl { name: name.into(), ty });
            return Symbol::Reg(first);
        }
        for element in ELEMENTS.iter().take(usize::from(vector)) {
            self.body.regs.push(RegDecl { name: format!("{name}.{element}").into(), ty });
        }
        Symbol::Vector { first, count: vector }
    }

    /// A register that the source does not name.
    pub(super) fn fresh(&mut self, ty: ScalarType) -> Reg {
        self.body.regs.push(RegDecl { name: "".into(), ty });
        Reg(self.body.regs.len() as u32 - 1)
    }

    /// Appends an instruction to the current block, under the current guard.
    pub(super) fn emit(&mut self, op: Op) {
        let inst = Inst { guard: self.guard, op, mnemonic: self.mnemonic, line: self.line, loc: self.loc };
        if let Some(block) = self.blocks.last_mut() {
            block.insts.push(inst);
        }
    }

    /// Notes that the body refers to a variable.
    pub(super) fn use_global(&mut self, id: GlobalId) -> GlobalId {
        if self.global_set.insert(id) {
            self.body.globals.push(id);
        }
        id
    }

    /// Notes that the body refers to a function.
    pub(super) fn use_function(&mut self, id: FunctionId) -> FunctionId {
        if self.callee_set.insert(id) {
            self.body.callees.push(id);
        }
        id
    }

    /// The opcode of the instruction being lowered, for messages.
    pub(super) fn opcode(&self) -> &'a str {
        self.l.text(self.instruction)
    }

    fn instruction(&mut self, instruction: &Instruction) -> Lower<()> {
        self.instruction = instruction.opcode.name;
        self.line = self.l.lines.line(instruction.span.start);
        self.guard = None;
        let guard = match instruction.guard {
            Some(guard) => Some(self.guard_predicate(&guard)?),
            None => None,
        };
        let Some(read) = self.l.mnemonic(instruction) else {
            self.report_undeclared(&self.l.ast[instruction.operands]);
            return Err(Reported);
        };
        let Ok(read) = &*read else { return Err(Reported) };
        self.mnemonic = read.id;
        let count = instruction.operands.len();
        let Some(chosen) = read.mnemonic.choose(count, |candidate| read.unmet[candidate].is_empty()) else {
            return self.wrong_arity(instruction, &read.mnemonic.candidates[0].form.arity());
        };
        self.l.report_unmet(instruction.opcode.span, read, chosen);
        let candidate = &read.mnemonic.candidates[chosen];
        candidate.modifiers.begin_reading();
        self.guard = guard;
        self.after.clear();
        self.left_out = 0;
        let values = self.values(&candidate.form.operands, &candidate.modifiers, instruction.operands)?;
        match read.mnemonic.opcode {
            Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap => {
                self.terminator(read.mnemonic.opcode, &candidate.modifiers, &values)
            }
            Opcode::Call => {
                self.call(&candidate.modifiers, instruction)?;
                self.emit_after();
                Ok(())
            }
            opcode => {
                let op = self.operation(opcode, &candidate.modifiers, &values, instruction.span)?;
                let executed = !matches!(op, Op::Unexecuted(_) | Op::Multicast(_));
                // What nobody has read, the operation does not say: rather nothing than something else.
                let unread = candidate.modifiers.unread().filter(|word| !super::instruction::is_hint(opcode, word));
                let unread = unread.collect::<Vec<_>>().join(".");
                let unread = executed.then_some(unread).filter(|words| !words.is_empty());
                let op = match unread {
                    Some(_) => {
                        let words = candidate.modifiers.words().collect::<Vec<_>>();
                        Op::Unexecuted(Box::new(self.unexecuted(opcode, &words, &values)))
                    }
                    None => op,
                };
                if matches!(op, Op::Unexecuted(_)) {
                    self.body.unsupported.push(UnsupportedUse { mnemonic: read.id, line: self.line, unread });
                }
                self.emit(op);
                self.emit_after();
                Ok(())
            }
        }
    }

    /// Appends what follows from the instruction just appended.
    fn emit_after(&mut self) {
        for op in std::mem::take(&mut self.after) {
            self.emit(op);
        }
    }

    /// The register of the condition code CC.CF (PTX ISA 9.7.2).
    pub(super) fn condition_code(&mut self) -> Reg {
        let carry = self.carry.unwrap_or_else(|| self.fresh(ScalarType::Pred));
        self.carry = Some(carry);
        carry
    }

    fn guard_predicate(&mut self, guard: &ast::Guard) -> Lower<Predicate> {
        match self.symbol(guard.predicate.name) {
            Some(Symbol::Reg(reg)) if self.body.regs[reg.0 as usize].ty == ScalarType::Pred => {
                Ok(Predicate { reg, negated: guard.negated })
            }
            Some(_) => {
                self.l.error(Code::Operand, guard.predicate.span, "Predicate expression expected");
                Err(Reported)
            }
            None => {
                let text = self.l.text(guard.predicate.name);
                self.l.error(Code::Undeclared, guard.predicate.span, format!("Unknown symbol '{text}'"));
                Err(Reported)
            }
        }
    }

    fn wrong_arity<T>(&mut self, instruction: &Instruction, arity: &(usize, usize)) -> Lower<T> {
        let given = instruction.operands.len();
        let expected = match *arity {
            (least, most) if least == most => format!("{least}"),
            (least, usize::MAX) => format!("{least} or more"),
            (least, most) => format!("{least} to {most}"),
        };
        let message =
            format!("Arguments mismatch for instruction '{}': {given} given, {expected} expected", self.opcode());
        let span = instruction.span;
        self.l.report(Diagnostic::error(Code::Operand, span, message));
        Err(Reported)
    }

    /// Reports a problem with the instruction as a whole.
    pub(super) fn refuse<T>(&mut self, code: Code, span: Span, message: impl Into<String>) -> Lower<T> {
        self.l.error(code, span, message);
        Err(Reported)
    }
}

/// Takes `size` bytes at an alignment from a frame that has grown to `end` bytes, and gives their offset.
pub(super) fn place(end: &mut u32, size: u32, align: u32) -> u32 {
    let offset = end.checked_next_multiple_of(align.max(1)).unwrap_or(u32::MAX);
    *end = offset.saturating_add(size);
    offset
}
