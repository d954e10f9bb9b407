//! Debugging directives (PTX ISA 11.5).

use super::{Parse, Parser};
use crate::syntax::ast::{Expr, ExprKind, Item, Loc, ScalarType, SectionLine, SourceLine};
use crate::syntax::lexer::TokenKind;

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
        loop {
            let value = if self.at(TokenKind::Dot) { self.section_reference()? } else { self.expr()? };
            self.exprs.push(value);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.eat(TokenKind::Semicolon);
        Ok(SectionLine::Data { ty, values: self.nodes.extend(self.exprs.drain(mark..)) })
    }

    /// `.debug_abbrev`: where another section begins
    fn section_reference(&mut self) -> Parse<Expr> {
        let token = self.bump();
        let ident = self.ident_of(token);
        Ok(Expr { kind: ExprKind::Name(ident.name), span: ident.span })
    }
}
