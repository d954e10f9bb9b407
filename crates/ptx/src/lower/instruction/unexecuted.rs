//! Instructions that the IR has no operation for: what they read and write is kept all the same.

use super::super::body::BodyLowering;
use super::super::operand::{Value, Values};
use crate::ir::{Operand, Unexecuted};
use crate::isa::Opcode;
use crate::syntax::ast::{self, OperandKind};

impl BodyLowering<'_, '_> {
    /// The operands of an instruction, by what the form says about them and, where it leaves that open, by the instruction.
    pub(in crate::lower) fn unexecuted(&mut self, opcode: Opcode, words: &[&str], values: &Values) -> Unexecuted {
        let mut found = Unexecuted::default();
        for (index, value) in values.iter().enumerate() {
            match value {
                Value::Missing | Value::Const(_) => {}
                Value::Dst(reg) => found.defs.push((self.declared(*reg), *reg)),
                Value::Pair(first, second) => {
                    found
                        .defs
                        .extend([Some(*first), *second].into_iter().flatten().map(|reg| (self.declared(reg), reg)));
                }
                Value::Dsts(regs) => found.defs.extend(regs.iter().map(|reg| (self.declared(*reg), *reg))),
                Value::Src(operand) => self.value_used(*operand, &mut found),
                Value::Srcs(operands) => operands.iter().for_each(|operand| self.value_used(*operand, &mut found)),
                Value::Pred(predicate) => self.value_used(Operand::Reg(predicate.reg), &mut found),
                Value::Place(place) => {
                    found.addresses.push(place.address);
                    let ast = self.l.ast;
                    ast[place.rest].iter().for_each(|operand| self.operand_used(operand, &mut found));
                }
                Value::Raw(operand) => {
                    let first = found.uses.len();
                    self.operand_used(operand, &mut found);
                    if index == 0 && writes_first(opcode, words) {
                        let written = found.uses[first..].iter().filter_map(|(ty, value)| Some((*ty, value.reg()?)));
                        found.defs.extend(written);
                        found.uses.truncate(first);
                    }
                }
            }
        }
        found
    }

    fn declared(&self, reg: crate::ir::Reg) -> crate::ir::ScalarType {
        self.body.regs[reg.0 as usize].ty
    }

    fn value_used(&self, operand: Operand, found: &mut Unexecuted) {
        if let Operand::Reg(reg) = operand {
            found.uses.push((self.declared(reg), operand));
        }
    }

    /// The registers that an operand names anywhere, and its variables.
    fn operand_used(&mut self, operand: &ast::Operand, found: &mut Unexecuted) {
        let ast = self.l.ast;
        if let Some(reg) = self.named_register(operand) {
            return self.value_used(Operand::Reg(reg), found);
        }
        match operand.kind {
            OperandKind::Vector(list) | OperandKind::Arguments(list) => {
                ast[list].iter().for_each(|element| self.operand_used(element, found));
            }
            OperandKind::Address(_) => {
                // What is no address has been reported.
                if let Ok(place) = self.place(operand) {
                    found.addresses.push(place.address);
                    ast[place.rest].iter().for_each(|element| self.operand_used(element, found));
                }
            }
            OperandKind::Not(inner) | OperandKind::Minus(inner) => self.operand_used(&ast[inner], found),
            OperandKind::Pair(first, second) => {
                self.operand_used(&ast[first], found);
                self.operand_used(&ast[second], found);
            }
            _ => {}
        }
    }
}

/// Whether the first of the operands that the form leaves open is written.
fn writes_first(opcode: Opcode, words: &[&str]) -> bool {
    match opcode {
        Opcode::Mma | Opcode::Ldmatrix => true,
        Opcode::Multimem => words.contains(&"ld_reduce"),
        Opcode::Tcgen05 => words.contains(&"ld"),
        _ => false,
    }
}
