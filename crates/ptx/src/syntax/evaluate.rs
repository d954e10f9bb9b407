//! The value of constant expressions (PTX ISA 4.5.5, 4.5.6) and of addresses in initialisers (5.4.4).

use super::ast::{BinaryOp, Expr, ExprKind, Id, Literal, Module, ScalarType, UnaryOp};
use super::names::Name;
use super::number;
use super::span::Span;
use crate::diagnostic::{Code, Diagnostic};

/// What a constant expression comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number; floating-point arithmetic gives `F64`, a lone `0f...` stays `F32`.
    Number(Literal),
    /// A place that only loading decides.
    Address(SymbolAddress),
}

/// `variable + addend`, `generic(variable) + addend`, `mask(...)` of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolAddress {
    /// The variable, function or label.
    pub name: Name,
    /// Where it is named.
    pub span: Span,
    /// Whether `generic()` stands around it.
    pub generic: bool,
    /// Bytes to add, wrapping.
    pub addend: i64,
    /// Which byte of the address is meant, as a mask such as `0xff00`.
    pub mask: Option<u64>,
}

/// Evaluates an expression; symbols are not looked up.
///
/// # Errors
/// Division by zero, operators that the operands' types do not have, arithmetic on addresses other than adding to them.
pub fn evaluate(module: &Module, expr: Id<Expr>) -> Result<Value, Diagnostic> {
    let Expr { kind, span } = module[expr];
    let number = |id| evaluate(module, id).and_then(plain);
    let literal = match kind {
        ExprKind::Literal(literal) => literal,
        ExprKind::Name(name) if module.name(name) == "WARP_SZ" => Literal::Int(32),
        ExprKind::Name(name) => {
            return Ok(Value::Address(SymbolAddress { name, span, generic: false, addend: 0, mask: None }));
        }
        ExprKind::Generic(inner) => match evaluate(module, inner)? {
            Value::Address(address) if address.mask.is_none() && !address.generic => {
                return Ok(Value::Address(SymbolAddress { generic: true, ..address }));
            }
            _ => return Err(wrong(span, "generic() takes a variable")),
        },
        ExprKind::Mask(mask, inner) => match evaluate(module, inner)? {
            Value::Address(address) if address.mask.is_none() => {
                return Ok(Value::Address(SymbolAddress { mask: Some(mask), ..address }));
            }
            _ => return Err(wrong(span, "a mask takes an address")),
        },
        ExprKind::Unary(op, inner) => unary(op, number(inner)?, span)?,
        ExprKind::Binary(op, left, right) => {
            // Each side once: going through a side again would double the work on every level.
            match (op, evaluate(module, left)?, evaluate(module, right)?) {
                (BinaryOp::Add, Value::Address(address), Value::Number(addend))
                | (BinaryOp::Add, Value::Number(addend), Value::Address(address)) => {
                    return offset(address, addend, span);
                }
                (BinaryOp::Sub, Value::Address(address), Value::Number(addend)) => {
                    return offset(address, number::negate(addend), span);
                }
                (_, left, right) => binary(op, plain(left)?, plain(right)?, span)?,
            }
        }
        ExprKind::Conditional(condition, yes, no) => {
            let condition = truth(number(condition)?);
            let (yes, no) = (number(yes)?, number(no)?);
            match (yes, no) {
                (Literal::Int(_), Literal::Uint(_)) | (Literal::Uint(_), Literal::Int(_)) => {
                    Literal::Uint(bits(if condition { yes } else { no }))
                }
                _ if condition => yes,
                _ => no,
            }
        }
        ExprKind::Cast(ty, inner) => {
            let inner = number(inner)?;
            if is_float(inner) {
                return Err(wrong(span, "Integer constant expression expected"));
            }
            if ty == ScalarType::S64 { Literal::Int(bits(inner) as i64) } else { Literal::Uint(bits(inner)) }
        }
        ExprKind::Field(..) | ExprKind::Braces(_) | ExprKind::String(_) => {
            return Err(wrong(span, "a constant expression cannot be a list or a string"));
        }
    };
    Ok(Value::Number(literal))
}

fn wrong(span: Span, message: &str) -> Diagnostic {
    Diagnostic::error(Code::Declaration, span, message)
}

/// The number that a value has to be.
fn plain(value: Value) -> Result<Literal, Diagnostic> {
    match value {
        Value::Number(literal) => Ok(literal),
        Value::Address(address) => Err(wrong(address.span, "an address cannot take part in this expression")),
    }
}

fn offset(address: SymbolAddress, addend: Literal, span: Span) -> Result<Value, Diagnostic> {
    if is_float(addend) || address.mask.is_some() {
        return Err(wrong(span, "only an integer can be added to an address"));
    }
    Ok(Value::Address(SymbolAddress { addend: address.addend.wrapping_add(bits(addend) as i64), ..address }))
}

fn is_float(literal: Literal) -> bool {
    matches!(literal, Literal::F32(_) | Literal::F64(_))
}

/// The 64 bits of an integer.
fn bits(literal: Literal) -> u64 {
    match literal {
        Literal::Int(value) => value as u64,
        Literal::Uint(value) | Literal::F64(value) => value,
        Literal::F32(value) => u64::from(value),
    }
}

fn truth(literal: Literal) -> bool {
    if is_float(literal) { float(literal) != 0.0 } else { bits(literal) != 0 }
}

fn float(literal: Literal) -> f64 {
    match literal {
        Literal::F32(bits) => f64::from(f32::from_bits(bits)),
        Literal::F64(bits) => f64::from_bits(bits),
        Literal::Int(value) => value as f64,
        Literal::Uint(value) => value as f64,
    }
}

fn unary(op: UnaryOp, inner: Literal, span: Span) -> Result<Literal, Diagnostic> {
    Ok(match op {
        UnaryOp::Minus => number::negate(inner),
        UnaryOp::Plus => inner,
        _ if is_float(inner) => return Err(wrong(span, "Integer constant expression expected")),
        UnaryOp::Not => Literal::Int(i64::from(!truth(inner))),
        UnaryOp::Complement => Literal::Uint(!bits(inner)),
    })
}

fn binary(op: BinaryOp, left: Literal, right: Literal, span: Span) -> Result<Literal, Diagnostic> {
    let flag = |value: bool| Ok(Literal::Int(i64::from(value)));
    if is_float(left) || is_float(right) {
        let (a, b) = (float(left), float(right));
        let value = match op {
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Lt => return flag(a < b),
            BinaryOp::Le => return flag(a <= b),
            BinaryOp::Gt => return flag(a > b),
            BinaryOp::Ge => return flag(a >= b),
            BinaryOp::Eq => return flag(a == b),
            BinaryOp::Ne => return flag(a != b),
            _ => return Err(wrong(span, "Integer constant expression expected")),
        };
        return Ok(Literal::F64(value.to_bits()));
    }
    // The usual conversions: unsigned as soon as one side is.
    let signed = matches!((left, right), (Literal::Int(_), Literal::Int(_)));
    let (a, b) = (bits(left), bits(right));
    let (sa, sb) = (a as i64, b as i64);
    let converted = |value: u64| Ok(if signed { Literal::Int(value as i64) } else { Literal::Uint(value) });
    if b == 0 && matches!(op, BinaryOp::Div | BinaryOp::Rem) {
        return Err(wrong(span, "Division by zero in constant expression"));
    }
    match op {
        BinaryOp::Mul => converted(a.wrapping_mul(b)),
        BinaryOp::Div if signed => Ok(Literal::Int(sa.wrapping_div(sb))),
        BinaryOp::Div => Ok(Literal::Uint(a / b)),
        BinaryOp::Rem => Ok(Literal::Int((a % b) as i64)),
        BinaryOp::Add => converted(a.wrapping_add(b)),
        BinaryOp::Sub => converted(a.wrapping_sub(b)),
        // The type of the first operand decides; a shift by the width or more leaves only copies of the sign.
        BinaryOp::Shl => {
            let value = if b < 64 { a << b } else { 0 };
            Ok(if matches!(left, Literal::Int(_)) { Literal::Int(value as i64) } else { Literal::Uint(value) })
        }
        BinaryOp::Shr if matches!(left, Literal::Int(_)) => Ok(Literal::Int(sa >> b.min(63))),
        BinaryOp::Shr => Ok(Literal::Uint(if b < 64 { a >> b } else { 0 })),
        BinaryOp::Lt => flag(if signed { sa < sb } else { a < b }),
        BinaryOp::Le => flag(if signed { sa <= sb } else { a <= b }),
        BinaryOp::Gt => flag(if signed { sa > sb } else { a > b }),
        BinaryOp::Ge => flag(if signed { sa >= sb } else { a >= b }),
        BinaryOp::Eq => flag(a == b),
        BinaryOp::Ne => flag(a != b),
        BinaryOp::And => Ok(Literal::Uint(a & b)),
        BinaryOp::Xor => Ok(Literal::Uint(a ^ b)),
        BinaryOp::Or => Ok(Literal::Uint(a | b)),
        BinaryOp::LogicalAnd => flag(truth(left) && truth(right)),
        BinaryOp::LogicalOr => flag(truth(left) || truth(right)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::Item;
    use super::*;

    fn value(text: &str) -> Result<Value, Diagnostic> {
        let text = format!(".version 8.0\n.target sm_90\n.global .b64 x = {text};");
        let parsed = super::super::parse(text.as_bytes());
        assert_eq!(parsed.diagnostics, [], "{text}");
        let Item::Variable(variable) = parsed.module.items[0] else { panic!("no variable in {text}") };
        let init = parsed.module[variable].init.expect("an initialiser");
        evaluate(&parsed.module, init)
    }

    #[test]
    fn expressions_follow_the_manuals_table() {
        for (text, expected) in [
            ("1+2*3", Literal::Int(7)),
            ("(1+2)*3", Literal::Int(9)),
            ("1<<4>>2", Literal::Int(4)),
            ("-8>>1", Literal::Int(-4)),
            ("-1 < 0U", Literal::Int(0)),
            ("-1 < 0", Literal::Int(1)),
            ("~0", Literal::Uint(u64::MAX)),
            ("!3", Literal::Int(0)),
            ("3 ? 4 : 5", Literal::Int(4)),
            ("0 ? 4 : 5U", Literal::Uint(5)),
            ("(.s64) 0xffffffffffffffff", Literal::Int(-1)),
            ("-7 / 2", Literal::Int(-3)),
            ("WARP_SZ - 1", Literal::Int(31)),
            ("1.5 + 1", Literal::F64(2.5f64.to_bits())),
            ("0f3F800000", Literal::F32(0x3f80_0000)),
            ("1.0 == 1 && 2 != 3 || 0", Literal::Int(1)),
            ("6 & 3 | 8 ^ 1", Literal::Uint(11)),
            ("-9223372036854775808 / -1", Literal::Int(i64::MIN)),
            ("7 % 4", Literal::Int(3)),
        ] {
            assert_eq!(value(text), Ok(Value::Number(expected)), "{text}");
        }
        for text in ["1/0", "1 % 0", "~1.0", "1.0 << 2", "x*2", "x+x", "generic(4)", "0xff(1)", "x+1.0", "(.s64) 1.0"] {
            assert!(value(text).is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_collect_what_is_added() {
        let Ok(Value::Address(address)) = value("0xff00(generic(y)+8-2*2)") else { panic!("no address") };
        assert_eq!((address.generic, address.addend, address.mask), (true, 4, Some(0xff00)));
        let Ok(Value::Address(address)) = value("8+y") else { panic!("no address") };
        assert_eq!((address.generic, address.addend, address.mask), (false, 8, None));
    }
}
