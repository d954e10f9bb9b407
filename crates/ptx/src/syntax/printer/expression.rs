//! Expressions and operands.

use std::fmt;

use super::Printer;
use crate::syntax::ast::{Address, BinaryOp, Expr, ExprKind, Literal, Operand, OperandKind, UnaryOp};

/// How tightly `? :` binds, and operators of one operand; [`BinaryOp::binding`] lies between.
const CONDITIONAL: u8 = 0;
const UNARY: u8 = 11;

fn binding(expr: &Expr) -> u8 {
    match expr.kind {
        ExprKind::Conditional(..) => CONDITIONAL,
        ExprKind::Binary(op, ..) => op.binding(),
        _ => UNARY,
    }
}

impl Printer<'_, '_> {
    fn literal(&mut self, literal: Literal) -> fmt::Result {
        match literal {
            Literal::Int(value) => write!(self.out, "{value}"),
            Literal::Uint(value) => write!(self.out, "{value}U"),
            Literal::F32(bits) => write!(self.out, "0f{bits:08X}"),
            Literal::F64(bits) => write!(self.out, "0d{bits:016X}"),
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> fmt::Result {
        let module = self.module;
        match expr.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Name(name) => self.out.write_str(self.name(name)),
            ExprKind::Generic(inner) => {
                self.out.write_str("generic(")?;
                self.expr(&module[inner])?;
                self.out.write_str(")")
            }
            ExprKind::Mask(mask, inner) => {
                write!(self.out, "{mask:#x}(")?;
                self.expr(&module[inner])?;
                self.out.write_str(")")
            }
            ExprKind::Unary(op, inner) => {
                self.out.write_str(op.symbol())?;
                self.inner(&module[inner], UNARY)
            }
            ExprKind::Binary(op, left, right) => {
                self.inner(&module[left], op.binding())?;
                write!(self.out, " {} ", op.symbol())?;
                self.inner(&module[right], op.binding() + 1)
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.inner(&module[condition], CONDITIONAL + 1)?;
                self.out.write_str(" ? ")?;
                self.inner(&module[yes], CONDITIONAL)?;
                self.out.write_str(" : ")?;
                self.inner(&module[no], CONDITIONAL)
            }
            ExprKind::Cast(ty, inner) => {
                write!(self.out, "(.{}) ", ty.name())?;
                self.inner(&module[inner], UNARY)
            }
            ExprKind::Field(name, inner) => {
                write!(self.out, "{} = ", self.name(name))?;
                self.expr(&module[inner])
            }
            ExprKind::Braces(list) => {
                self.out.write_str("{")?;
                self.separated(&module[list], ", ", |printer, expr| printer.expr(&expr))?;
                self.out.write_str("}")
            }
            ExprKind::String(id) => write!(self.out, "\"{}\"", self.name(module[id].text)),
        }
    }

    /// An operand of an operator, in parentheses if it binds looser than `floor`. No other parentheses are printed:
    /// they would nest deeper than those of the text, and the parser has a limit.
    fn inner(&mut self, expr: &Expr, floor: u8) -> fmt::Result {
        if binding(expr) >= floor { self.expr(expr) } else { self.parenthesized(expr) }
    }

    fn parenthesized(&mut self, expr: &Expr) -> fmt::Result {
        self.out.write_str("(")?;
        self.expr(expr)?;
        self.out.write_str(")")
    }

    /// Whether the text of an expression begins with a name, so that it could be taken for another operand: in front of
    /// an operator that `wanted` accepts, maybe with `-` or `!` before it if `signed`.
    fn begins_with_name(&self, expr: &Expr, signed: bool, wanted: fn(Option<BinaryOp>) -> bool) -> bool {
        let mut expr = expr;
        let mut follows = None;
        loop {
            let left = match expr.kind {
                ExprKind::Binary(op, left, _) => {
                    if binding(&self.module[left]) < op.binding() {
                        return false;
                    }
                    follows = Some(op);
                    left
                }
                ExprKind::Conditional(condition, ..) => {
                    follows = None;
                    if binding(&self.module[condition]) == CONDITIONAL {
                        return false;
                    }
                    condition
                }
                ExprKind::Unary(UnaryOp::Minus | UnaryOp::Not, inner) if signed => {
                    let ExprKind::Name(_) = self.module[inner].kind else { return false };
                    inner
                }
                ExprKind::Name(_) => return wanted(follows),
                _ => return false,
            };
            expr = &self.module[left];
        }
    }

    pub(super) fn operand(&mut self, operand: &Operand) -> fmt::Result {
        let module = self.module;
        match operand.kind {
            OperandKind::Name(name) => self.out.write_str(self.name(name)),
            OperandKind::Member(base, member) => write!(self.out, "{}.{}", self.name(base), self.name(member)),
            OperandKind::Literal(literal) => self.literal(literal),
            OperandKind::Expr(id) => {
                // Behind a name and outside of parentheses `|` ties a pair.
                if self.begins_with_name(&module[id], true, |op| op == Some(BinaryOp::Or)) {
                    return self.parenthesized(&module[id]);
                }
                self.expr(&module[id])
            }
            OperandKind::Address(id) => {
                let address = &module[id];
                self.out.write_str("[")?;
                self.base(address)?;
                for operand in &module[address.rest] {
                    self.out.write_str(", ")?;
                    self.operand(operand)?;
                }
                self.out.write_str(if address.unified { "].unified" } else { "]" })
            }
            OperandKind::Element(name, id) => {
                write!(self.out, "{}[", self.name(name))?;
                self.base(&module[id])?;
                self.out.write_str("]")
            }
            OperandKind::Vector(list) => {
                self.out.write_str("{")?;
                self.separated(&module[list], ", ", |printer, operand| printer.operand(&operand))?;
                self.out.write_str("}")
            }
            OperandKind::Arguments(list) => {
                self.out.write_str("(")?;
                self.separated(&module[list], ", ", |printer, operand| printer.operand(&operand))?;
                self.out.write_str(")")
            }
            OperandKind::Pair(first, second) => {
                self.operand(&module[first])?;
                self.out.write_str("|")?;
                self.operand(&module[second])
            }
            OperandKind::Not(inner) => {
                self.out.write_str("!")?;
                self.operand(&module[inner])
            }
            OperandKind::Minus(inner) => {
                self.out.write_str("-")?;
                self.operand(&module[inner])
            }
            OperandKind::Sink => self.out.write_str("_"),
        }
    }

    fn base(&mut self, address: &Address) -> fmt::Result {
        let module = self.module;
        let base = &module[address.base];
        match base.kind {
            // Behind a name an operator begins the offset.
            OperandKind::Expr(id) if self.begins_with_name(&module[id], false, |_| true) => {
                self.parenthesized(&module[id])?;
            }
            OperandKind::Expr(id) => self.expr(&module[id])?,
            _ => self.operand(base)?,
        }
        if let Some(offset) = address.offset {
            self.out.write_str("+")?;
            self.expr(&module[offset])?;
        }
        Ok(())
    }
}
