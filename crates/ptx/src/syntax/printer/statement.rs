//! Statements of function bodies.

use std::fmt;

use super::Printer;
use crate::syntax::ast::{Ident, Instruction, List, Loc, Statement};

impl Printer<'_, '_> {
    pub(super) fn statements(&mut self, statements: List<Statement>, depth: usize) -> fmt::Result {
        for statement in &self.module[statements] {
            if !matches!(statement, Statement::Label(_)) {
                write!(self.out, "{:1$}", "", 4 * depth)?;
            }
            self.statement(statement, depth)?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement, depth: usize) -> fmt::Result {
        let module = self.module;
        match *statement {
            Statement::Label(label) => write!(self.out, "{}:", self.name(label.name)),
            Statement::Instruction(instruction) => self.instruction(&instruction),
            Statement::Variable(id) => {
                self.variable(&module[id])?;
                self.out.write_str(";")
            }
            Statement::Block(body) => {
                writeln!(self.out, "{{")?;
                self.statements(body.statements, depth + 1)?;
                write!(self.out, "{:1$}}}", "", 4 * depth)
            }
            Statement::BranchTargets { name, targets } => self.targets(name, ".branchtargets", targets),
            Statement::CallTargets { name, targets } => self.targets(name, ".calltargets", targets),
            Statement::CallPrototype(id) => {
                let prototype = &module[id];
                write!(self.out, "{}: .callprototype ", self.name(prototype.name.name))?;
                if !prototype.returns.is_empty() {
                    self.parameters(prototype.returns)?;
                    self.out.write_str(" ")?;
                }
                self.out.write_str("_ ")?;
                self.parameters(prototype.params)?;
                self.directives(prototype.directives)?;
                self.out.write_str(";")
            }
            Statement::Loc(id) => self.loc(&module[id]),
            Statement::Pragma(strings) => self.pragma(strings),
        }
    }

    fn targets(&mut self, name: Ident, directive: &str, targets: List<Ident>) -> fmt::Result {
        write!(self.out, "{}: {directive} ", self.name(name.name))?;
        self.separated(&self.module[targets], ", ", |printer, target| {
            let name = printer.name(target.name);
            printer.out.write_str(name)
        })?;
        self.out.write_str(";")
    }

    pub(super) fn loc(&mut self, loc: &Loc) -> fmt::Result {
        write!(self.out, ".loc {} {} {}", loc.at.file, loc.at.line, loc.at.column)?;
        if let Some((label, offset)) = loc.function {
            write!(self.out, ", function_name {}", self.name(label.name))?;
            if offset != 0 {
                write!(self.out, " + {offset}")?;
            }
        }
        if let Some(at) = loc.inlined_at {
            write!(self.out, ", inlined_at {} {} {}", at.file, at.line, at.column)?;
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction) -> fmt::Result {
        if let Some(guard) = instruction.guard {
            let not = if guard.negated { "!" } else { "" };
            write!(self.out, "@{not}{} ", self.name(guard.predicate.name))?;
        }
        self.out.write_str(self.name(instruction.opcode.name))?;
        for modifier in &self.module[instruction.modifiers] {
            write!(self.out, ".{}", self.name(modifier.name))?;
        }
        for (at, operand) in self.module[instruction.operands].iter().enumerate() {
            self.out.write_str(if at == 0 { " " } else { ", " })?;
            self.operand(operand)?;
        }
        self.out.write_str(";")
    }
}
