//! Debugging directives (PTX ISA 11.5).

use super::{Parse, Parser};
use crate::diagnostic::Code;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Item, Literal, Loc, ScalarType, SectionLine, SourceLine};
use crate::syntax::lexer::TokenKind;
use crate::syntax::number;

impl Parser<'_> {
    fn source_line(&mut self) -> Parse<SourceLine> {
        let file = self.unsigned32("the file's index")?.value;
        let line = self.unsigned32("the line")?.value;
        let column = self.unsigned32("the column")?.value;
        Ok(SourceLine { file, line, column })
    }

    /// `.loc file line column {, function_name label {+ offset}, inlined_at file line column}`
    pub(super) fn loc(&mut self) -> Parse<Loc> {
        let start = self.bump().span.start;
        let at = self.source_line()?;
        let (mut function, mut inlined_at) = (None, None);
        while self.eat(TokenKind::Comma) {
            let word = self.expect(TokenKind::Ident, "'function_name' or 'inlined_at'")?;
            match self.text(word.span) {
                "function_name" => {
                    let label = self.ident("a label of a debug section")?;
                    let offset = if self.eat(TokenKind::Plus) { self.unsigned("an offset")?.value } else { 0 };
                    function = Some((label, offset));
                }
                "inlined_at" => inlined_at = Some(self.source_line()?),
                _ => {
                    self.rewind(word.span.start);
                    return Err(self.unexpected("'function_name' or 'inlined_at'"));
                }
            }
        }
        Ok(Loc { at, function, inlined_at, span: self.span_from(start) })
    }

    /// `.file index "name" {, time, size}`
    pub(super) fn file(&mut self) -> Parse<Item> {
        let start = self.bump().span.start;
        let index = self.unsigned32("the file's index")?.value;
        let name = self.string()?;
        let stamp = if self.eat(TokenKind::Comma) {
            let time = self.unsigned("the time stamp")?.value;
            self.expect(TokenKind::Comma, "','")?;
            Some((time, self.unsigned("the size")?.value))
        } else {
            None
        };
        let name = self.nodes.push(name);
        Ok(Item::File { index, name, stamp, span: self.span_from(start) })
    }

    /// `.section .name { ... }`
    pub(super) fn section(&mut self) -> Parse<Item> {
        let start = self.bump().span.start;
        let name = match self.token.kind {
            TokenKind::Dot | TokenKind::Ident => self.bump(),
            _ => return Err(self.unexpected("the section's name")),
        };
        let name = self.ident_of(name);
        self.expect(TokenKind::LeftBrace, "'{'")?;
        self.open_braces += 1;
        let mark = self.nodes.mark::<SectionLine>();
        while !self.at(TokenKind::RightBrace) {
            let line = self.section_line()?;
            self.nodes.push(line);
        }
        self.bump();
        self.open_braces -= 1;
        // clang puts a semicolon behind nothing here, other compilers may.
        self.eat(TokenKind::Semicolon);
        Ok(Item::Section { name, lines: self.nodes.since(mark), span: self.span_from(start) })
    }

    fn section_line(&mut self) -> Parse<SectionLine> {
        if self.at(TokenKind::Ident) {
            let label = self.ident("a label")?;
            self.expect(TokenKind::Colon, "':'")?;
            return Ok(SectionLine::Label(label));
        }
        let ty = match self.dot_word() {
            Some("b8") => ScalarType::B8,
            Some("b16") => ScalarType::B16,
            Some("b32") => ScalarType::B32,
            Some("b64") => ScalarType::B64,
            _ => return Err(self.unexpected("a label or data of a section")),
        };
        self.bump();
        let mark = self.exprs.len();
        if matches!(self.token.kind, TokenKind::Dot | TokenKind::Ident) {
            let value = self.section_reference(ty)?;
            self.exprs.push(value);
        } else {
            loop {
                let value = self.section_number()?;
                self.exprs.push(value);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.eat(TokenKind::Semicolon);
        Ok(SectionLine::Data { ty, values: self.nodes.extend(self.exprs.drain(mark..)) })
    }

    /// `5`, `-5`: the only data that stand in lists.
    fn section_number(&mut self) -> Parse<Expr> {
        let start = self.token.span.start;
        let negative = self.eat(TokenKind::Minus);
        let literal = match self.literal()? {
            Literal::F32(_) | Literal::F64(_) => {
                self.rewind(start);
                return Err(self.unexpected("an integer or a label"));
            }
            literal if negative => number::negate(literal),
            literal => literal,
        };
        Ok(Expr { kind: ExprKind::Literal(literal), span: self.span_from(start) })
    }

    /// `.debug_abbrev`, `label`: where a section or a label lies; `.debug_loc+131`, `label+n`: so many bytes behind it; `label-label`:
    /// how far apart. Nothing else: a number before a label cannot be said, and a section is subtracted from nothing.
    fn section_reference(&mut self, ty: ScalarType) -> Parse<Expr> {
        let is_label = self.at(TokenKind::Ident);
        let token = self.bump();
        if matches!(ty, ScalarType::B8 | ScalarType::B16) {
            return Err(self.error(Code::Syntax, token.span, "Illegal type for dwarf data"));
        }
        let ident = self.ident_of(token);
        let place = Expr { kind: ExprKind::Name(ident.name), span: ident.span };
        let (op, other) = if self.eat(TokenKind::Plus) {
            if !self.at(TokenKind::Number) {
                return Err(self.unexpected("an offset in bytes"));
            }
            (BinaryOp::Add, self.section_number()?)
        } else if is_label && self.eat(TokenKind::Minus) {
            let label = self.ident("a label")?;
            (BinaryOp::Sub, Expr { kind: ExprKind::Name(label.name), span: label.span })
        } else {
            return Ok(place);
        };
        let span = place.span.to(other.span);
        let [a, b] = [place, other].map(|expr| self.nodes.push(expr));
        Ok(Expr { kind: ExprKind::Binary(op, a, b), span })
    }
}
