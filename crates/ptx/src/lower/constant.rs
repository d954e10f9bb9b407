//! Constant expressions and immediates as operands (PTX ISA 4.5.5).

use crate::diagnostic::Diagnostic;
use crate::ir::{ScalarType, TypeClass};
use crate::syntax::ast::{Expr, Id, Literal, Module};
use crate::syntax::{SymbolAddress, Value, evaluate};

/// What a constant expression comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Folded {
    /// What the value is relative to.
    pub(super) symbol: Option<SymbolAddress>,
    /// The value, or what is added to the address.
    pub(super) value: Literal,
}

/// Folds an expression.
pub(super) fn fold(module: &Module, id: Id<Expr>) -> Result<Folded, Diagnostic> {
    Ok(match evaluate(module, id)? {
        Value::Number(value) => Folded { symbol: None, value },
        Value::Address(address) => Folded { symbol: Some(address), value: Literal::Int(address.addend) },
    })
}

/// The 64 bits of an integer.
pub(super) fn integer(literal: Literal) -> Option<u64> {
    match literal {
        Literal::Int(value) => Some(value as u64),
        Literal::Uint(value) => Some(value),
        Literal::F32(_) | Literal::F64(_) => None,
    }
}

/// The bits of a constant as an operand of type `ty`; `None` if the type takes no such constant. Integers are cut to the width of
/// the type; half-precision types take no constants.
pub(super) fn immediate(ty: ScalarType, literal: Literal) -> Option<u64> {
    let width = ty.bits();
    match (ty.class(), literal) {
        (TypeClass::Predicate, _) => integer(literal).map(|value| u64::from(value != 0)),
        (TypeClass::Bits | TypeClass::Unsigned | TypeClass::Signed, Literal::Int(_) | Literal::Uint(_)) => {
            let value = integer(literal)?;
            Some(if width >= 64 { value } else { value & ((1 << width) - 1) })
        }
        (TypeClass::Bits, Literal::F32(bits)) if width == 32 => Some(u64::from(bits)),
        (TypeClass::Bits, Literal::F64(bits)) if width == 64 => Some(bits),
        _ => float_immediate(ty, literal),
    }
}

/// The bits of a floating-point constant as an element of a vector of 32 or 64 bits each, whose type is not `.f32`; `None` for others. As recorded on an H200, they are those that are written, a decimal's
/// being of double precision, cut to the width or made longer with zeros.
pub(super) fn element(ty: ScalarType, literal: Literal) -> Option<u64> {
    let bits = match literal {
        Literal::F32(bits) => u64::from(bits),
        Literal::F64(bits) => bits,
        Literal::Int(_) | Literal::Uint(_) => return None,
    };
    match (ty, ty.bits()) {
        (ScalarType::F32, _) => None,
        (_, 32) => Some(bits & u64::from(u32::MAX)),
        (_, 64) => Some(bits),
        _ => None,
    }
}

fn float_immediate(ty: ScalarType, literal: Literal) -> Option<u64> {
    match (ty, literal) {
        (ScalarType::F32, Literal::F32(bits)) => Some(u64::from(bits)),
        (ScalarType::F32, Literal::F64(bits)) => Some(u64::from((f64::from_bits(bits) as f32).to_bits())),
        (ScalarType::F64, Literal::F64(bits)) => Some(bits),
        (ScalarType::F64, Literal::F32(bits)) => Some(f64::from(f32::from_bits(bits)).to_bits()),
        _ => None,
    }
}
