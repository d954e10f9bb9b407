//! Arrays as operands: `name[index]`, the address of an element (PTX ISA 6.4.2).
//!
//! The index counts elements of the variable's scalar type: of `.v4 .u32` and of an array of arrays it counts `.u32`. The offset has 32 bits
//! and is added without sign, so recorded on hardware: element -1 of an array of `.u64` lies 4294967288 bytes behind its start.

use super::address::Place;
use super::body::{BodyLowering, Lower};
use super::constant;
use super::scope::Symbol;
use crate::diagnostic::Code;
use crate::ir::{Address, Base, IntBinaryOp, MulMode, Op, Operand, Reg, ScalarType, TypeClass};
use crate::syntax::ast::{self, OperandKind};
use crate::syntax::{Name, Span};

/// Where an element lies, from the start of its array.
pub(super) enum Element {
    /// At a constant offset.
    Offset(i64),
    /// At the offset in a `.u64` register.
    Computed(Reg),
}

impl BodyLowering<'_, '_> {
    /// Bytes of the scalar type that the elements of the array `name` consist of.
    fn element_size(&mut self, name: Name, span: Span) -> Lower<u32> {
        let element = match self.symbol(name) {
            Some(Symbol::Global(id)) if self.l.global_arrays[id.0 as usize] => {
                Some(self.l.module.globals[id.0 as usize].ty)
            }
            Some(Symbol::Param(index)) if self.params[index as usize].aggregate => Some(self.params[index as usize].ty),
            Some(Symbol::Local { ty, is_array: true, .. }) => Some(ty),
            Some(_) => None,
            None => {
                let text = self.l.text(name);
                return self.unknown(span, text);
            }
        };
        match element {
            Some(ty) => Ok(ty.bytes()),
            None => self.refuse(Code::Operand, span, "Array indexing on non-array"),
        }
    }

    /// What `name[index]` adds to the address of `name`. The index is an integer constant, or a register of integers or bits that is cut or
    /// extended to 32 bits by its type, and a constant.
    pub(super) fn element(&mut self, name: Name, index: ast::Id<ast::Address>, span: Span) -> Lower<Element> {
        let size = self.element_size(name, span)?;
        let index = self.l.ast[index];
        let base = self.l.ast[index.base];
        let mut constant = 0u32;
        if let Some(expr) = index.offset {
            let folded = self.fold(expr)?;
            match (folded.symbol, constant::integer(folded.value)) {
                (None, Some(value)) => constant = value as u32,
                _ => return self.mismatch(span, "an array index must be an integer register or constant"),
            }
        }
        let Some(reg) = self.named_register(&base) else {
            let value = self.integer(&base)? as u32;
            return Ok(Element::Offset(i64::from(value.wrapping_add(constant).wrapping_mul(size))));
        };
        let ty = self.body.regs[reg.0 as usize].ty;
        if matches!(ty.class(), TypeClass::Float | TypeClass::Predicate) || !matches!(ty.bits(), 16 | 32 | 64) {
            let name = self.body.regs[reg.0 as usize].name.clone();
            let message =
                format!("Illegal to use symbol '{name}' of type .{ty} as array index. Use integer or bit only.");
            return self.refuse(Code::Operand, base.span, message);
        }
        let mut word = reg;
        if ty.bits() != 32 {
            let src_ty = match (ty.bits(), ty.is_signed()) {
                (16, true) => ScalarType::S16,
                (16, false) => ScalarType::U16,
                _ => ScalarType::U64,
            };
            word = self.converted(ScalarType::U32, src_ty, reg);
        }
        if constant != 0 {
            let sum = self.fresh(ScalarType::U32);
            let (a, b) = (Operand::Reg(word), Operand::Imm(u64::from(constant)));
            let op = IntBinaryOp::Add;
            self.emit(Op::IntBinary { op, ty: ScalarType::U32, sat: false, relu: false, dst: sum, a, b });
            word = sum;
        }
        let offset = self.fresh(ScalarType::U32);
        let (a, b) = (Operand::Reg(word), Operand::Imm(u64::from(size)));
        self.emit(Op::Mul { mode: MulMode::Lo, ty: ScalarType::U32, dst: offset, a, b });
        Ok(Element::Computed(self.converted(ScalarType::U64, ScalarType::U32, offset)))
    }

    fn converted(&mut self, dst_ty: ScalarType, src_ty: ScalarType, src: Reg) -> Reg {
        let dst = self.fresh(dst_ty);
        let a = Operand::Reg(src);
        let (rnd, ftz, sat, satfinite, relu) = (None, false, false, false, false);
        let (from, to) = (src_ty, dst_ty);
        self.emit(Op::Cvt { dst_ty, src_ty, from, to, rnd, ftz, sat, satfinite, relu, dst, a, b: None });
        dst
    }

    /// The address of an element in a register: that of its array and the offset in 64 bits.
    pub(super) fn element_address(&mut self, start: Operand, offset: Reg, ty: ScalarType) -> Reg {
        let sum = self.fresh(ScalarType::U64);
        let b = Operand::Reg(offset);
        let op = IntBinaryOp::Add;
        self.emit(Op::IntBinary { op, ty: ScalarType::U64, sat: false, relu: false, dst: sum, a: start, b });
        if ty.bits() == 64 { sum } else { self.converted(ScalarType::U32, ScalarType::U64, sum) }
    }

    /// `name[index]` as the address of a load or store.
    pub(super) fn element_place(
        &mut self,
        name: Name,
        index: ast::Id<ast::Address>,
        operand: &ast::Operand,
    ) -> Lower<Place> {
        let named = ast::Operand { kind: OperandKind::Name(name), span: operand.span };
        let (base, start, space) = self.place_base(&named)?;
        let address = match self.element(name, index, operand.span)? {
            Element::Offset(offset) => Address { base, offset: start.wrapping_add(offset) },
            Element::Computed(offset) => {
                let start = self.variable_address(name, ast::Literal::Int(0), ScalarType::U64, operand.span)?;
                let reg = self.element_address(start, offset, ScalarType::U64);
                Address { base: Base::Reg(reg), offset: 0 }
            }
        };
        Ok(Place { address, space, unified: false, rest: ast::List::EMPTY, span: operand.span, base: named })
    }
}
