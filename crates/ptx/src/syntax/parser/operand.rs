//! Operands of instructions (PTX ISA 6).

use super::{Parse, Parser};
use crate::syntax::ast::{Address, Expr, ExprKind, Id, Operand, OperandKind, UnaryOp};
use crate::syntax::lexer::{Token, TokenKind};
use crate::syntax::number;

impl Parser<'_> {
    /// One operand with what may be tied to it by `|`. Behind a number `|` is an operator.
    #[inline]
    pub(super) fn operand(&mut self) -> Parse<Operand> {
        let first = self.single()?;
        if !self.at(TokenKind::Pipe) {
            return Ok(first);
        }
        self.bump();
        let second = self.single()?;
        let span = first.span.to(second.span);
        let kind = OperandKind::Pair(self.nodes.push(first), self.nodes.push(second));
        Ok(Operand { kind, span })
    }

    fn single(&mut self) -> Parse<Operand> {
        match self.token.kind {
            TokenKind::Ident => {
                let token = self.bump();
                self.named(token)
            }
            TokenKind::Number => {
                let span = self.token.span;
                let literal = self.literal()?;
                if self.continues_expression() || self.at(TokenKind::Pipe) {
                    let first = Expr { kind: ExprKind::Literal(literal), span };
                    return self.continued(first);
                }
                Ok(Operand { kind: OperandKind::Literal(literal), span })
            }
            TokenKind::LeftBracket => self.nested(Self::address),
            TokenKind::LeftBrace => self.nested(Self::vector),
            TokenKind::Minus => self.minus(),
            TokenKind::Bang => self.not(),
            TokenKind::LeftParen | TokenKind::Tilde | TokenKind::Plus => self.constant(),
            _ => Err(self.unexpected("an operand")),
        }
    }

    /// Whether the token goes on with an expression that may have begun with a name. `|` does not: it ties a pair.
    fn continues_expression(&self) -> bool {
        use TokenKind::*;
        matches!(
            self.token.kind,
            Plus | Minus
                | Star
                | Slash
                | Percent
                | LessLess
                | GreaterGreater
                | Less
                | LessEqual
                | Greater
                | GreaterEqual
                | EqualEqual
                | BangEqual
                | Amp
                | AmpAmp
                | Caret
                | PipePipe
                | Question
                | LeftParen
        )
    }

    /// Goes back to `first` and takes it as the beginning of an expression.
    fn continued(&mut self, first: Expr) -> Parse<Operand> {
        self.rewind(first.span.start);
        self.constant()
    }

    fn constant(&mut self) -> Parse<Operand> {
        let expr = self.expr()?;
        Ok(self.operand_of(expr))
    }

    /// An expression as an operand: what has a form of its own as operand, gets it.
    fn operand_of(&mut self, expr: Expr) -> Operand {
        let kind = match expr.kind {
            ExprKind::Literal(literal) => OperandKind::Literal(literal),
            ExprKind::Name(name) if self.names.get(name) == "_" => OperandKind::Sink,
            ExprKind::Name(name) => OperandKind::Name(name),
            ExprKind::Unary(op @ (UnaryOp::Minus | UnaryOp::Not), inner) if self.is_name(inner) => {
                let inner = self.nodes.exprs[inner.index()];
                let inner = self.operand_of(inner);
                let inner = self.nodes.push(inner);
                if op == UnaryOp::Minus { OperandKind::Minus(inner) } else { OperandKind::Not(inner) }
            }
            _ => OperandKind::Expr(self.nodes.push(expr)),
        };
        Operand { kind, span: expr.span }
    }

    fn is_name(&self, expr: Id<Expr>) -> bool {
        matches!(self.nodes.exprs[expr.index()].kind, ExprKind::Name(_))
    }

    /// An operand that begins with a name: `a`, `a.x`, `a[i]`, `a+4`, `_`.
    #[inline]
    fn named(&mut self, token: Token) -> Parse<Operand> {
        let ident = self.ident_of(token);
        match self.token.kind {
            TokenKind::Dot => {
                let dot = self.bump();
                let word = &self.text(dot.span)[1..];
                let kind = OperandKind::Member(ident.name, self.names.intern(word));
                Ok(Operand { kind, span: token.span.to(dot.span) })
            }
            TokenKind::LeftBracket => {
                self.bump();
                let index = self.nested(Self::base_and_offset)?;
                self.expect(TokenKind::RightBracket, "']'")?;
                let kind = OperandKind::Element(ident.name, self.nodes.push(index));
                Ok(Operand { kind, span: self.span_from(token.span.start) })
            }
            _ if self.continues_expression() => {
                self.continued(Expr { kind: ExprKind::Name(ident.name), span: ident.span })
            }
            _ if self.text(token.span) == "_" => Ok(Operand { kind: OperandKind::Sink, span: token.span }),
            _ => Ok(Operand { kind: OperandKind::Name(ident.name), span: token.span }),
        }
    }

    /// `-5`, `-(1+2)`, or `-a`, `-a.b0` of a video instruction.
    fn minus(&mut self) -> Parse<Operand> {
        let start = self.bump().span.start;
        if !self.at(TokenKind::Number) {
            return self.signed(start, OperandKind::Minus);
        }
        let literal = self.literal()?;
        if self.continues_expression() || self.at(TokenKind::Pipe) {
            self.rewind(start);
            return self.constant();
        }
        Ok(Operand { kind: OperandKind::Literal(number::negate(literal)), span: self.span_from(start) })
    }

    /// `!p`, or `!0` of an expression.
    fn not(&mut self) -> Parse<Operand> {
        let start = self.bump().span.start;
        self.signed(start, OperandKind::Not)
    }

    /// What follows `-` or `!` at byte `start`: a name, or the rest of a constant expression.
    fn signed(&mut self, start: u32, kind: fn(Id<Operand>) -> OperandKind) -> Parse<Operand> {
        if self.at(TokenKind::Ident) {
            let token = self.bump();
            if !self.continues_expression() {
                let inner = self.named(token)?;
                let inner = self.nodes.push(inner);
                return Ok(Operand { kind: kind(inner), span: self.span_from(start) });
            }
        }
        self.rewind(start);
        self.constant()
    }

    /// `{a, b}`
    fn vector(&mut self) -> Parse<Operand> {
        let start = self.bump().span.start;
        self.open_braces += 1;
        let mark = self.operands.len();
        self.operand_list(TokenKind::RightBrace, "',' or '}'")?;
        self.open_braces -= 1;
        let kind = OperandKind::Vector(self.nodes.extend(self.operands.drain(mark..)));
        Ok(Operand { kind, span: self.span_from(start) })
    }

    /// `(a, b)` of a call
    pub(super) fn arguments(&mut self) -> Parse<Operand> {
        let start = self.bump().span.start;
        let mark = self.operands.len();
        self.operand_list(TokenKind::RightParen, "',' or ')'")?;
        let kind = OperandKind::Arguments(self.nodes.extend(self.operands.drain(mark..)));
        Ok(Operand { kind, span: self.span_from(start) })
    }

    /// Operands up to `close`, which is taken, on top of the stack of operands.
    fn operand_list(&mut self, close: TokenKind, what: &str) -> Parse<()> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            let operand = self.operand()?;
            self.operands.push(operand);
            if !self.eat(TokenKind::Comma) {
                self.expect(close, what)?;
                return Ok(());
            }
        }
    }

    /// `[base + offset, more]` and `.unified`
    fn address(&mut self) -> Parse<Operand> {
        let start = self.bump().span.start;
        let mut address = self.base_and_offset()?;
        if self.eat(TokenKind::Comma) {
            let mark = self.operands.len();
            self.operand_list(TokenKind::RightBracket, "',' or ']'")?;
            address.rest = self.nodes.extend(self.operands.drain(mark..));
        } else {
            self.expect(TokenKind::RightBracket, "']'")?;
        }
        address.unified = self.eat_word("unified");
        let id = self.nodes.push(address);
        Ok(Operand { kind: OperandKind::Address(id), span: self.span_from(start) })
    }

    fn base_and_offset(&mut self) -> Parse<Address> {
        let base = match self.token.kind {
            TokenKind::Ident => {
                let token = self.bump();
                let ident = self.ident_of(token);
                match self.token.kind {
                    TokenKind::Dot | TokenKind::LeftBracket => self.named(token)?,
                    _ => Operand { kind: OperandKind::Name(ident.name), span: ident.span },
                }
            }
            _ => self.constant()?,
        };
        let offset = self.offset()?;
        let base = self.nodes.push(base);
        Ok(Address { base, offset, rest: super::List::EMPTY, unified: false })
    }

    /// `+4`, `-4`, `+-4`
    fn offset(&mut self) -> Parse<Option<Id<Expr>>> {
        match self.token.kind {
            TokenKind::Plus => {
                self.bump();
                self.expr_id().map(Some)
            }
            TokenKind::Minus => self.expr_id().map(Some),
            _ => Ok(None),
        }
    }
}
