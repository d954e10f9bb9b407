//! Vector operands, and what their elements may be.

use super::body::{BodyLowering, Lower, Reported};
use super::constant;
use super::scope::Symbol;
use crate::diagnostic::Code;
use crate::ir::{Operand, Operands, Reg, Regs, ScalarType, TypeClass};
use crate::syntax::Span;
use crate::syntax::ast::{self, List, OperandKind};

/// What an element of a vector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A register without a type but its width.
    Bits,
    /// A register, signed or not, or a constant.
    Integer,
    /// A register of this type, or a constant.
    Float(Option<ScalarType>),
}

impl Kind {
    /// Whether the two can stand side by side.
    fn goes_with(self, other: Kind) -> bool {
        match (self, other) {
            (Kind::Float(Some(one)), Kind::Float(Some(other))) => one == other,
            (Kind::Float(_), Kind::Integer) | (Kind::Integer, Kind::Float(_)) => false,
            _ => true,
        }
    }
}

impl BodyLowering<'_, '_> {
    /// The elements of a vector register, if an operand names one.
    pub(in crate::lower) fn vector_register(&mut self, operand: &ast::Operand) -> Option<Regs> {
        let OperandKind::Name(name) = operand.kind else { return None };
        match self.symbol(name)? {
            Symbol::Vector { first, count } => Some((0..u32::from(count)).map(|at| Reg(first.0 + at)).collect()),
            _ => None,
        }
    }

    /// All of some registers, if they are of a type.
    pub(in crate::lower) fn all_of(&mut self, regs: &Regs, ty: ScalarType, relaxed: bool, span: Span) -> Lower<Regs> {
        regs.iter().map(|reg| self.check_register(*reg, ty, relaxed, span)).collect()
    }

    /// `{a, b}`, or a vector register, or (for one element) a plain register.
    pub(super) fn destinations(
        &mut self,
        operand: &ast::Operand,
        ty: ScalarType,
        count: usize,
        relaxed: bool,
    ) -> Lower<Regs> {
        match operand.kind {
            OperandKind::Vector(list) if list.len() == count => {
                self.elements(list, operand.span, ty, |body, element, ty| body.destination(element, ty, relaxed))
            }
            OperandKind::Vector(list) => self.vector_size(operand.span, list.len(), count),
            OperandKind::Name(_) if count > 1 => match self.vector_register(operand) {
                Some(regs) if regs.len() == count => {
                    self.all_of(&regs, self.type_beside(regs[0], ty), relaxed, operand.span)
                }
                _ => self.vector_size(operand.span, 1, count),
            },
            // Of `atom` one `_` leaves out all elements; of others none stands for a vector.
            OperandKind::Sink if count > 1 && self.opcode() == "atom" => {
                Ok((0..count).map(|_| self.fresh(ty)).collect())
            }
            _ if count > 1 => self.vector_size(operand.span, 1, count),
            _ => {
                self.check_discard(operand)?;
                Ok(Regs::from_slice(&[self.destination(operand, ty, relaxed)?]))
            }
        }
    }

    /// The elements of a vector of `ty`, each as `lower` makes it of the type that it is to have. They are of one width, also where wider ones may stand, and a
    /// floating-point one and an integer do not stand side by side (PTX ISA 6.4.3: its elements have one type). A vector that is not all floating-point
    /// has no type but its width, and neither has one of pairs of halves in an instruction for integers, as NVIDIA's assembler (13.5) has it: `.v2.u32` takes a `.f32` beside a `.b32`, and `.v2.f32` two of `.u32`.
    pub(super) fn elements<T, C: FromIterator<T>>(
        &mut self,
        elements: List<ast::Operand>,
        span: Span,
        ty: ScalarType,
        lower: impl Fn(&mut Self, &ast::Operand, ScalarType) -> Lower<T>,
    ) -> Lower<C> {
        let ast = self.l.ast;
        let known: Vec<Kind> = ast[elements].iter().filter_map(|element| self.kind(element)).collect();
        if ast[elements].iter().all(|element| element.kind == OperandKind::Sink) {
            return self.refuse(Code::Operand, span, "Unable to infer type of vector elements");
        }
        let mut width = None;
        for element in &ast[elements] {
            let Some(reg) = self.named_register(element) else { continue };
            let bits = self.body.regs[reg.0 as usize].ty.bits();
            if *width.get_or_insert(bits) != bits {
                return self.refuse(Code::Operand, span, "Incompatible elements of vector expression");
            }
        }
        if known.windows(2).any(|pair| !pair[0].goes_with(pair[1])) {
            let message =
                format!("Vector with elements of different types are not allowed in {} instruction", self.opcode());
            return self.refuse(Code::Operand, span, message);
        }
        let packed = |kind: &Kind| matches!(kind, Kind::Float(Some(ScalarType::F16x2 | ScalarType::Bf16x2)));
        let floating = known.iter().all(|kind| matches!(kind, Kind::Float(_)))
            && (ty.class() == TypeClass::Float || !known.iter().any(packed));
        ast[elements]
            .iter()
            .map(|element| {
                let is_register = self.named_register(element).is_some();
                let ty = if is_register && !floating { ty.to_bits() } else { ty };
                lower(self, element, ty)
            })
            .collect()
    }

    /// The type that a register is to have as an element of a vector of `ty`: one that is not for floats only its width.
    pub(in crate::lower) fn type_beside(&self, reg: Reg, ty: ScalarType) -> ScalarType {
        if self.body.regs[reg.0 as usize].ty.class() == TypeClass::Float { ty } else { ty.to_bits() }
    }

    /// What an element is; `None` for those of which that does not matter.
    fn kind(&mut self, element: &ast::Operand) -> Option<Kind> {
        if let Some(reg) = self.named_register(element) {
            let ty = self.body.regs[reg.0 as usize].ty;
            return match ty.class() {
                TypeClass::Bits => Some(Kind::Bits),
                TypeClass::Unsigned | TypeClass::Signed => Some(Kind::Integer),
                TypeClass::Float => Some(Kind::Float(Some(ty))),
                _ => None,
            };
        }
        match element.kind {
            OperandKind::Literal(ast::Literal::Int(_)) => Some(Kind::Integer),
            OperandKind::Literal(_) => Some(Kind::Float(None)),
            _ => None,
        }
    }

    /// A source that is an element of what is stored or packed: floating-point constants are bits.
    pub(super) fn element_source(&mut self, element: &ast::Operand, ty: ScalarType, relaxed: bool) -> Lower<Operand> {
        let bits = match element.kind {
            OperandKind::Literal(literal) => constant::element(ty, literal),
            _ => None,
        };
        bits.map_or_else(|| self.source(element, ty, relaxed), |bits| Ok(Operand::Imm(bits)))
    }

    fn vector_size<T>(&mut self, span: Span, given: usize, expected: usize) -> Lower<T> {
        let message = format!(
            "Argument vector size mismatch for instruction '{}': {given} given, {expected} expected",
            self.opcode()
        );
        self.l.error(Code::Operand, span, message);
        Err(Reported)
    }

    /// As [`Self::destinations`], for values.
    pub(super) fn sources(
        &mut self,
        operand: &ast::Operand,
        ty: ScalarType,
        count: usize,
        relaxed: bool,
    ) -> Lower<Operands> {
        match operand.kind {
            OperandKind::Vector(list) if list.len() == count => {
                let stored = self.opcode() == "st";
                // Of 256 bits, elements may be left out (PTX ISA 9.7.9.11).
                let wide = stored && count * ty.bytes() as usize == 32;
                if wide {
                    let elements = self.l.ast[list].iter().zip(0..);
                    let left_out = elements.filter(|(element, _)| element.kind == OperandKind::Sink);
                    self.left_out = left_out.map(|(_, index)| 1 << index).sum();
                }
                self.elements(list, operand.span, ty, |body, element, ty| match stored {
                    _ if element.kind == OperandKind::Sink && wide => Ok(Operand::Imm(0)),
                    _ if element.kind == OperandKind::Sink => {
                        body.refuse(Code::Operand, element.span, "Sink '_' not allowed as a source operand")
                    }
                    true => body.element_source(element, ty, relaxed),
                    false => body.source(element, ty, relaxed),
                })
            }
            OperandKind::Name(_) if count > 1 => {
                let regs = self.destinations(operand, ty, count, relaxed)?;
                Ok(regs.into_iter().map(Operand::Reg).collect())
            }
            OperandKind::Vector(list) => self.vector_size(operand.span, list.len(), count),
            _ if count > 1 => self.vector_size(operand.span, 1, count),
            _ => Ok(Operands::from_slice(&[self.source(operand, ty, relaxed)?])),
        }
    }
}
