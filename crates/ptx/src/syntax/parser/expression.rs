//! Constant expressions (PTX ISA 4.5.5) and initialisers (5.4.4).

use super::{MAX_DEPTH, Parse, Parser};
use crate::diagnostic::Code;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Id, Literal, ScalarType, UnaryOp};
use crate::syntax::lexer::TokenKind;
use crate::syntax::number;
use crate::syntax::span::Span;

/// The operator that a token is.
fn operator(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        TokenKind::Star => BinaryOp::Mul,
        TokenKind::Slash => BinaryOp::Div,
        TokenKind::Percent => BinaryOp::Rem,
        TokenKind::Plus => BinaryOp::Add,
        TokenKind::Minus => BinaryOp::Sub,
        TokenKind::LessLess => BinaryOp::Shl,
        TokenKind::GreaterGreater => BinaryOp::Shr,
        TokenKind::Less => BinaryOp::Lt,
        TokenKind::LessEqual => BinaryOp::Le,
        TokenKind::Greater => BinaryOp::Gt,
        TokenKind::GreaterEqual => BinaryOp::Ge,
        TokenKind::EqualEqual => BinaryOp::Eq,
        TokenKind::BangEqual => BinaryOp::Ne,
        TokenKind::Amp => BinaryOp::And,
        TokenKind::Caret => BinaryOp::Xor,
        TokenKind::Pipe => BinaryOp::Or,
        TokenKind::AmpAmp => BinaryOp::LogicalAnd,
        TokenKind::PipePipe => BinaryOp::LogicalOr,
        _ => return None,
    })
}

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        let mut budget = MAX_DEPTH;
        self.conditional(&mut budget)
    }

    pub(super) fn expr_id(&mut self) -> Parse<Id<Expr>> {
        let expr = self.expr()?;
        Ok(self.nodes.push(expr))
    }

    fn conditional(&mut self, budget: &mut u32) -> Parse<Expr> {
        self.nested(|parser| {
            let condition = parser.binary(0, budget)?;
            if !parser.eat(TokenKind::Question) {
                return Ok(condition);
            }
            let yes = parser.conditional(budget)?;
            parser.expect(TokenKind::Colon, "':'")?;
            let no = parser.conditional(budget)?;
            let span = condition.span.to(no.span);
            let [condition, yes, no] = [condition, yes, no].map(|expr| parser.nodes.push(expr));
            Ok(Expr { kind: ExprKind::Conditional(condition, yes, no), span })
        })
    }

    /// Operators that bind tighter than `floor`. `budget` bounds how many an expression has, and so how deep it is.
    fn binary(&mut self, floor: u8, budget: &mut u32) -> Parse<Expr> {
        let mut left = self.unary(budget)?;
        while let Some(op) = operator(self.token.kind) {
            if op.binding() <= floor {
                break;
            }
            if *budget == 0 {
                let message = format!("an expression of more than {MAX_DEPTH} operators");
                return Err(self.error(Code::Limit, self.token.span, message));
            }
            *budget -= 1;
            self.bump();
            let right = self.binary(op.binding(), budget)?;
            let span = left.span.to(right.span);
            let [a, b] = [left, right].map(|expr| self.nodes.push(expr));
            left = Expr { kind: ExprKind::Binary(op, a, b), span };
        }
        Ok(left)
    }

    fn unary(&mut self, budget: &mut u32) -> Parse<Expr> {
        let op = match self.token.kind {
            TokenKind::Minus => UnaryOp::Minus,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::Bang => UnaryOp::Not,
            TokenKind::Tilde => UnaryOp::Complement,
            _ => return self.primary(budget),
        };
        let start = self.bump().span;
        let inner = self.nested(|parser| parser.unary(budget))?;
        let span = start.to(inner.span);
        let kind = match (op, inner.kind) {
            (UnaryOp::Minus, ExprKind::Literal(literal)) => ExprKind::Literal(number::negate(literal)),
            _ => ExprKind::Unary(op, self.nodes.push(inner)),
        };
        Ok(Expr { kind, span })
    }

    fn primary(&mut self, budget: &mut u32) -> Parse<Expr> {
        let start = self.token.span;
        match self.token.kind {
            TokenKind::Number => {
                let literal = self.literal()?;
                let mask = match literal {
                    Literal::Int(mask) => mask as u64,
                    Literal::Uint(mask) => mask,
                    _ => return Ok(Expr { kind: ExprKind::Literal(literal), span: start }),
                };
                if !self.eat(TokenKind::LeftParen) {
                    return Ok(Expr { kind: ExprKind::Literal(literal), span: start });
                }
                let inner = self.parenthesized(budget)?;
                let kind = ExprKind::Mask(mask, self.nodes.push(inner));
                Ok(Expr { kind, span: self.span_from(start.start) })
            }
            TokenKind::Ident => {
                let token = self.bump();
                if self.at(TokenKind::LeftParen) && self.text(token.span) == "generic" {
                    self.bump();
                    let inner = self.parenthesized(budget)?;
                    let kind = ExprKind::Generic(self.nodes.push(inner));
                    return Ok(Expr { kind, span: self.span_from(start.start) });
                }
                let ident = self.ident_of(token);
                Ok(Expr { kind: ExprKind::Name(ident.name), span: ident.span })
            }
            TokenKind::LeftParen => {
                self.bump();
                let cast = match self.dot_word() {
                    Some("s64") => ScalarType::S64,
                    Some("u64") => ScalarType::U64,
                    _ => {
                        let inner = self.parenthesized(budget)?;
                        return Ok(Expr { kind: inner.kind, span: self.span_from(start.start) });
                    }
                };
                self.bump();
                self.expect(TokenKind::RightParen, "')'")?;
                let inner = self.nested(|parser| parser.unary(budget))?;
                let span = start.to(inner.span);
                Ok(Expr { kind: ExprKind::Cast(cast, self.nodes.push(inner)), span })
            }
            _ => Err(self.unexpected("a constant expression")),
        }
    }

    fn parenthesized(&mut self, budget: &mut u32) -> Parse<Expr> {
        let inner = self.conditional(budget)?;
        self.expect(TokenKind::RightParen, "')'")?;
        Ok(inner)
    }

    pub(super) fn literal(&mut self) -> Parse<Literal> {
        let token = self.expect(TokenKind::Number, "a number")?;
        match number::read(self.text(token.span)) {
            Ok(literal) => Ok(literal),
            Err(problem) => Err(self.error(Code::Syntax, token.span, problem)),
        }
    }

    /// What stands behind `=` of a variable.
    pub(super) fn initialiser(&mut self) -> Parse<Expr> {
        match self.token.kind {
            TokenKind::LeftBrace => self.nested(Self::braces),
            TokenKind::String => {
                let string = self.string()?;
                Ok(Expr { kind: ExprKind::String(self.nodes.push(string)), span: string.span })
            }
            _ => self.expr(),
        }
    }

    fn braces(&mut self) -> Parse<Expr> {
        let start = self.bump().span.start;
        self.open_braces += 1;
        let mark = self.exprs.len();
        while !self.at(TokenKind::RightBrace) {
            let expr = self.element()?;
            self.exprs.push(expr);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightBrace, "',' or '}'")?;
        self.open_braces -= 1;
        let kind = ExprKind::Braces(self.nodes.extend(self.exprs.drain(mark..)));
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// An element of a brace list, or `field = value`.
    fn element(&mut self) -> Parse<Expr> {
        let value = self.initialiser()?;
        let ExprKind::Name(field) = value.kind else {
            return Ok(value);
        };
        if !self.eat(TokenKind::Equal) {
            return Ok(value);
        }
        let inner = self.expr()?;
        let span: Span = value.span.to(inner.span);
        Ok(Expr { kind: ExprKind::Field(field, self.nodes.push(inner)), span })
    }
}
