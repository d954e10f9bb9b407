//! Constant expressions (PTX ISA 4.5.5) and immediates.

use crate::ir::{ScalarType, TypeClass};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Id, Literal, Module, ScalarType as Declared, UnaryOp};
use crate::syntax::{Name, Span};

/// What a constant expression comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Folded {
    /// The name whose address the value is relative to.
    pub(super) symbol: Option<SymbolUse>,
    /// The value, or what is added to the address.
    pub(super) value: Literal,
}

/// A name in an initialiser or an address expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SymbolUse {
    /// The name.
    pub(super) name: Name,
    /// `generic(name)`
    pub(super) generic: bool,
    /// `mask(name)`: which bits of the address.
    pub(super) mask: Option<u64>,
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotConstant {
    pub(super) span: Span,
    pub(super) reason: &'static str,
}

fn plain(value: Literal) -> Folded {
    Folded { symbol: None, value }
}

/// Folds an expression.
pub(super) fn fold(module: &Module, id: Id<Expr>) -> Result<Folded, NotConstant> {
    let expr = module[id];
    let fail = |reason| NotConstant { span: expr.span, reason };
    let number = |id| -> Result<Literal, NotConstant> {
        let folded = fold(module, id)?;
        match folded.symbol {
            None => Ok(folded.value),
            Some(_) => Err(NotConstant { span: module[id].span, reason: "an address cannot stand in this expression" }),
        }
    };
    match expr.kind {
        ExprKind::Literal(literal) => Ok(plain(literal)),
        ExprKind::Name(name) if module.name(name) == "WARP_SZ" => Ok(plain(Literal::Int(32))),
        ExprKind::Name(name) => {
            let symbol = Some(SymbolUse { name, generic: false, mask: None });
            Ok(Folded { symbol, value: Literal::Int(0) })
        }
        ExprKind::Generic(inner) => {
            let folded = fold(module, inner)?;
            let symbol = folded.symbol.ok_or_else(|| fail("generic() needs the name of a variable"))?;
            Ok(Folded { symbol: Some(SymbolUse { generic: true, ..symbol }), ..folded })
        }
        ExprKind::Mask(mask, inner) => {
            let folded = fold(module, inner)?;
            match (folded.symbol, integer(folded.value)) {
                (Some(symbol), _) => Ok(Folded { symbol: Some(SymbolUse { mask: Some(mask), ..symbol }), ..folded }),
                (None, Some(value)) => Ok(plain(Literal::Uint((value & mask) >> mask.trailing_zeros().min(63)))),
                (None, None) => Err(fail("a mask needs an integer or an address")),
            }
        }
        ExprKind::Unary(op, inner) => unary(op, number(inner)?).ok_or_else(|| fail("the operator needs an integer")),
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (a, b) = (fold(module, a)?, fold(module, b)?);
            let symbol = match (a.symbol, b.symbol) {
                (symbol, None) => symbol,
                (None, symbol) if op == BinaryOp::Add => symbol,
                _ => return Err(fail("only one address can stand in an expression, and it cannot be subtracted")),
            };
            let value =
                binary(op, a.value, b.value).ok_or_else(|| fail("the operator needs two integers or two floats"))?;
            Ok(Folded { symbol, value })
        }
        ExprKind::Binary(op, a, b) => {
            let value = binary(op, number(a)?, number(b)?);
            value
                .map(plain)
                .ok_or_else(|| fail("the expression has no value: division by zero, or operands of the wrong kind"))
        }
        ExprKind::Conditional(condition, yes, no) => {
            let condition = integer(number(condition)?).ok_or_else(|| fail("the condition must be an integer"))?;
            Ok(plain(number(if condition != 0 { yes } else { no })?))
        }
        ExprKind::Cast(ty, inner) => {
            let value = number(inner)?;
            let bits = integer(value).ok_or_else(|| fail("only integers can be cast"))?;
            Ok(plain(if ty == Declared::U64 { Literal::Uint(bits) } else { Literal::Int(bits as i64) }))
        }
        ExprKind::Field(..) | ExprKind::Braces(_) | ExprKind::String(_) => Err(fail("a single value is expected here")),
    }
}

/// The 64 bits of an integer.
pub(super) fn integer(literal: Literal) -> Option<u64> {
    match literal {
        Literal::Int(value) => Some(value as u64),
        Literal::Uint(value) => Some(value),
        Literal::F32(_) | Literal::F64(_) => None,
    }
}

fn unary(op: UnaryOp, value: Literal) -> Option<Folded> {
    let result = match (op, value) {
        (UnaryOp::Plus, value) => value,
        (UnaryOp::Minus, Literal::Int(value)) => Literal::Int(value.wrapping_neg()),
        (UnaryOp::Minus, Literal::Uint(value)) => Literal::Uint(value.wrapping_neg()),
        (UnaryOp::Minus, Literal::F32(bits)) => Literal::F32(bits ^ 1 << 31),
        (UnaryOp::Minus, Literal::F64(bits)) => Literal::F64(bits ^ 1 << 63),
        (UnaryOp::Not, value) => Literal::Int(i64::from(integer(value)? == 0)),
        (UnaryOp::Complement, Literal::Int(value)) => Literal::Int(!value),
        (UnaryOp::Complement, Literal::Uint(value)) => Literal::Uint(!value),
        (UnaryOp::Complement, Literal::F32(_) | Literal::F64(_)) => return None,
    };
    Some(plain(result))
}

fn float(literal: Literal) -> Option<f64> {
    match literal {
        Literal::F64(bits) => Some(f64::from_bits(bits)),
        Literal::F32(bits) => Some(f64::from(f32::from_bits(bits))),
        Literal::Int(_) | Literal::Uint(_) => None,
    }
}

/// Integers are 64 bits wide and unsigned if either operand is; shifts take the left operand's sign (PTX ISA 4.5.6).
fn binary(op: BinaryOp, left: Literal, right: Literal) -> Option<Literal> {
    if let (Some(a), Some(b)) = (float(left), float(right)) {
        let value = match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            _ => return None,
        };
        return Some(Literal::F64(value.to_bits()));
    }
    let (a, b) = (integer(left)?, integer(right)?);
    let (sa, sb) = (a as i64, b as i64);
    let left_signed = matches!(left, Literal::Int(_));
    let signed = left_signed && matches!(right, Literal::Int(_));
    let wrap = |bits: u64| if signed { Literal::Int(bits as i64) } else { Literal::Uint(bits) };
    let truth = |value: bool| Literal::Int(i64::from(value));
    Some(match op {
        BinaryOp::Add => wrap(a.wrapping_add(b)),
        BinaryOp::Sub => wrap(a.wrapping_sub(b)),
        BinaryOp::Mul => wrap(a.wrapping_mul(b)),
        BinaryOp::Div if signed => Literal::Int(sa.checked_div(sb)?),
        BinaryOp::Div => Literal::Uint(a.checked_div(b)?),
        BinaryOp::Rem if signed => Literal::Int(sa.checked_rem(sb)?),
        BinaryOp::Rem => Literal::Uint(a.checked_rem(b)?),
        BinaryOp::Shl if left_signed => Literal::Int(sa.checked_shl(u32::try_from(b).ok()?).unwrap_or(0)),
        BinaryOp::Shl => Literal::Uint(a.checked_shl(u32::try_from(b).ok()?).unwrap_or(0)),
        BinaryOp::Shr if left_signed => Literal::Int(sa >> b.min(63)),
        BinaryOp::Shr => Literal::Uint(a.checked_shr(u32::try_from(b).ok()?).unwrap_or(0)),
        BinaryOp::Lt => truth(if signed { sa < sb } else { a < b }),
        BinaryOp::Le => truth(if signed { sa <= sb } else { a <= b }),
        BinaryOp::Gt => truth(if signed { sa > sb } else { a > b }),
        BinaryOp::Ge => truth(if signed { sa >= sb } else { a >= b }),
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        BinaryOp::And => wrap(a & b),
        BinaryOp::Xor => wrap(a ^ b),
        BinaryOp::Or => wrap(a | b),
        BinaryOp::LogicalAnd => truth(a != 0 && b != 0),
        BinaryOp::LogicalOr => truth(a != 0 || b != 0),
    })
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

fn float_immediate(ty: ScalarType, literal: Literal) -> Option<u64> {
    match (ty, literal) {
        (ScalarType::F32, Literal::F32(bits)) => Some(u64::from(bits)),
        (ScalarType::F32, Literal::F64(bits)) => Some(u64::from((f64::from_bits(bits) as f32).to_bits())),
        (ScalarType::F64, Literal::F64(bits)) => Some(bits),
        (ScalarType::F64, Literal::F32(bits)) => Some(f64::from(f32::from_bits(bits)).to_bits()),
        _ => None,
    }
}
