//! Addresses in brackets, and their state spaces (PTX ISA 6.4.1).

use super::array::Element;
use super::body::{BodyLowering, Lower, Reported};
use super::constant;
use super::scope::Symbol;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{Address, Base, Op, Operand, ScalarType, Space};
use crate::syntax::Span;
use crate::syntax::ast::{self, List, OperandKind};

/// `[...]`
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) address: Address,
    /// The space of the variable that stands in it.
    pub(super) space: Option<Space>,
    pub(super) unified: bool,
    /// What follows the first comma.
    pub(super) rest: List<ast::Operand>,
    pub(super) span: Span,
    /// The operand that names the base.
    pub(super) base: ast::Operand,
}

impl BodyLowering<'_, '_> {
    /// `[...]`
    pub(super) fn place(&mut self, operand: &ast::Operand) -> Lower<Place> {
        if let OperandKind::Element(name, index) = operand.kind
            && matches!(self.opcode(), "ld" | "ldu" | "st")
        {
            return self.element_place(name, index, operand);
        }
        let OperandKind::Address(id) = operand.kind else {
            let argument = self.argument;
            return self.mismatch(operand.span, format_args!("argument {argument} must be an address in brackets"));
        };
        let written = self.l.ast[id];
        let base = self.l.ast[written.base];
        let mut offset = 0i64;
        if let Some(expr) = written.offset {
            let folded = self.fold(expr)?;
            match (folded.symbol, constant::integer(folded.value)) {
                (None, Some(value)) => offset = value as i64,
                _ => return self.mismatch(self.l.ast[expr].span, "an address offset must be an integer constant"),
            }
        }
        let (address_base, place, space) = self.place_base(&base)?;
        let address = Address { base: address_base, offset: offset.wrapping_add(place) };
        Ok(Place { address, space, unified: written.unified, rest: written.rest, span: operand.span, base })
    }

    pub(super) fn place_base(&mut self, base: &ast::Operand) -> Lower<(Base, i64, Option<Space>)> {
        if let Some(reg) = self.named_register(base) {
            let ty = self.body.regs[reg.0 as usize].ty;
            if matches!(ty.bits(), 32 | 64) && !ty.is_float() {
                return Ok((Base::Reg(reg), 0, None));
            }
            // Shorter ones are extended with zeros (PTX ISA 6.4.1).
            if ty.bits() == 16 && !ty.is_float() {
                let (from, to) = (ScalarType::U16, ScalarType::U32);
                let wide = self.fresh(to);
                self.emit(Op::resize(to, from, to, from, wide, Operand::Reg(reg)));
                return Ok((Base::Reg(wide), 0, None));
            }
            let name = self.body.regs[reg.0 as usize].name.clone();
            return self.mismatch(base.span, format_args!("address register '{name}' is .{ty}, expected .u64 or .u32"));
        }
        let (name, offset) = match base.kind {
            OperandKind::Literal(literal) => {
                let value = constant::integer(literal).unwrap_or(0);
                return Ok((Base::Absolute, value as i64, None));
            }
            OperandKind::Name(name) => (name, 0),
            OperandKind::Element(name, index) => match self.element(name, index, base.span)? {
                Element::Offset(offset) => (name, offset),
                Element::Computed(_) => return self.mismatch(base.span, "an array index must be an integer constant"),
            },
            OperandKind::Expr(expr) => {
                let folded = self.fold(expr)?;
                let offset = constant::integer(folded.value).unwrap_or(0) as i64;
                match folded.symbol {
                    Some(symbol) => (symbol.name, offset),
                    None => return Ok((Base::Absolute, offset, None)),
                }
            }
            _ => return self.mismatch(base.span, "an address is a register, a variable or a constant"),
        };
        match self.symbol(name) {
            Some(Symbol::Global(id)) => {
                let space = self.l.module.globals[id.0 as usize].space;
                Ok((Base::Global(self.use_global(id)), offset, Some(space)))
            }
            Some(Symbol::Local { offset: place, .. }) => {
                Ok((Base::LocalFrame, offset.wrapping_add(i64::from(place)), Some(Space::Local)))
            }
            Some(Symbol::Param(index)) => {
                let place = i64::from(self.params[index as usize].offset);
                Ok((Base::ParamFrame, offset.wrapping_add(place), Some(Space::Param)))
            }
            Some(_) => self.mismatch(base.span, "an address is a register, a variable or a constant"),
            None => {
                let text = self.l.text(name);
                self.unknown(base.span, text)
            }
        }
    }

    /// Checks that the space of an instruction is that of the variable it addresses, and gives the one that holds.
    pub(super) fn agree(&mut self, space: Space, place: &Place) -> Lower<Space> {
        match place.space {
            None => {
                if place.address.base == Base::Absolute && !matches!(space, Space::Local | Space::Param) {
                    let message = "Immediate addresses allowed only for .local state space";
                    self.l.error(Code::Operand, place.span, message);
                    return Err(Reported);
                }
                Ok(space)
            }
            Some(own) if own == space || (own == Space::Shared && space == Space::SharedCluster) => Ok(space),
            // Generic addressing of a variable by its name reaches the variable.
            Some(own) if space == Space::Generic && own != Space::Param => Ok(own),
            Some(own) => {
                let message =
                    format!("State space mismatch between instruction and address in instruction '{}'", self.opcode());
                let note = format!("the variable is in .{own}");
                self.l.report(Diagnostic::error(Code::Operand, place.span, message).note(note));
                Err(Reported)
            }
        }
    }
}
