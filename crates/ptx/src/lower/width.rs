//! Registers that are wider than what an instruction writes or reads (PTX ISA 9.4.1): how the value fills them is said here once, so
//! that behind lowering every register has the width that its instruction gives it.

use super::body::BodyLowering;
use crate::ir::{Op, Operand, Operands, Reg, Regs, ScalarType};

impl BodyLowering<'_, '_> {
    /// As what a register holds a value of `ty` that is written to it: extended by the class of `ty` if it is wider.
    pub(super) fn extended(&self, ty: ScalarType, reg: Reg) -> ScalarType {
        let held = self.body.regs[reg.0 as usize].ty.bits();
        if held <= ty.bits() { ty } else { ScalarType::integer(held, ty.is_signed()) }
    }

    /// As what an operand is read of which the low bits are a value of `ty`.
    pub(super) fn containing(&self, ty: ScalarType, operand: Operand) -> ScalarType {
        match operand {
            Operand::Reg(reg) if self.body.regs[reg.0 as usize].ty.bits() > ty.bits() => {
                ScalarType::integer(self.body.regs[reg.0 as usize].ty.bits(), false)
            }
            _ => ty,
        }
    }

    /// A register for the `ty` that an instruction writes, which then goes into `reg` extended.
    pub(super) fn narrow_destination(&mut self, ty: ScalarType, reg: Reg) -> Reg {
        let to = self.extended(ty, reg);
        if to == ty {
            return reg;
        }
        let narrow = self.fresh(ty.to_bits());
        let from = ScalarType::integer(ty.bits(), ty.is_signed());
        self.after.push(Op::resize(to, from, to, from, reg, Operand::Reg(narrow)));
        narrow
    }

    /// The low bits of an operand in a register of their own.
    pub(super) fn narrow_source(&mut self, ty: ScalarType, operand: Operand) -> Operand {
        let from = self.containing(ty, operand);
        if from == ty {
            return operand;
        }
        let narrow = self.fresh(ty.to_bits());
        let low = ScalarType::integer(ty.bits(), false);
        self.emit(Op::resize(low, low, low, from, narrow, operand));
        Operand::Reg(narrow)
    }

    /// The registers of a load, all of the one type that the elements are extended to.
    pub(super) fn loaded(&mut self, ty: ScalarType, regs: Regs) -> (ScalarType, Regs) {
        let held = regs.first().map_or(ty, |reg| self.extended(ty, *reg));
        if regs.iter().all(|reg| self.extended(ty, *reg) == held) {
            return (held, regs);
        }
        (ty, regs.into_iter().map(|reg| self.narrow_destination(ty, reg)).collect())
    }

    /// The values of a store, all of the one type whose low bits are stored.
    pub(super) fn stored(&mut self, ty: ScalarType, values: Operands) -> (ScalarType, Operands) {
        let held = values.iter().find(|value| value.reg().is_some()).map_or(ty, |value| self.containing(ty, *value));
        if values.iter().all(|value| value.reg().is_none() || self.containing(ty, *value) == held) {
            return (held, values);
        }
        (ty, values.into_iter().map(|value| self.narrow_source(ty, value)).collect())
    }
}
