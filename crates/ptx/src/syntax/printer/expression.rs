//! Expressions and operands.

use std::fmt;

use super::Printer;
use crate::syntax::ast::{Address, BinaryOp, Expr, ExprKind, Literal, Operand, OperandKind, UnaryOp};

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
                self.out.write_str(match op {
                    UnaryOp::Minus => "-",
                    UnaryOp::Plus => "+",
                    UnaryOp::Not => "!",
                    UnaryOp::Complement => "~",
                })?;
                self.inner(&module[inner])
            }
            ExprKind::Binary(op, left, right) => {
                self.inner(&module[left])?;
                write!(self.out, " {} ", symbol(op))?;
                self.inner(&module[right])
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.inner(&module[condition])?;
                self.out.write_str(" ? ")?;
                self.inner(&module[yes])?;
                self.out.write_str(" : ")?;
                self.inner(&module[no])
            }
            ExprKind::Cast(ty, inner) => {
                write!(self.out, "(.{}) ", ty.name())?;
                self.inner(&module[inner])
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

    /// An operand of an operator, in parentheses unless it is one token or brings its own.
    fn inner(&mut self, expr: &Expr) -> fmt::Result {
        let bare = match expr.kind {
            ExprKind::Literal(Literal::Int(value)) => value >= 0,
            ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Generic(_) | ExprKind::Mask(..) => true,
            _ => false,
        };
        if bare {
            return self.expr(expr);
        }
        self.out.write_str("(")?;
        self.expr(expr)?;
        self.out.write_str(")")
    }

    pub(super) fn operand(&mut self, operand: &Operand) -> fmt::Result {
        let module = self.module;
        match operand.kind {
            OperandKind::Name(name) => self.out.write_str(self.name(name)),
            OperandKind::Member(base, member) => write!(self.out, "{}.{}", self.name(base), self.name(member)),
            OperandKind::Literal(literal) => self.literal(literal),
            // Behind a name and outside of parentheses `|` ties a pair.
            OperandKind::Expr(id) if matches!(module[id].kind, ExprKind::Binary(BinaryOp::Or, ..)) => {
                self.inner(&module[id])
            }
            OperandKind::Expr(id) => self.expr(&module[id]),
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
        self.operand(&self.module[address.base])?;
        if let Some(offset) = address.offset {
            self.out.write_str("+")?;
            self.expr(&self.module[offset])?;
        }
        Ok(())
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::And => "&",
        BinaryOp::Xor => "^",
        BinaryOp::Or => "|",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
    }
}
