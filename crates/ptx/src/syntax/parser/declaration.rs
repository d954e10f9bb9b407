//! Variables and parameters (PTX ISA 5.1 to 5.4, 7.1).

use super::{Parse, Parser};
use crate::diagnostic::Code;
use crate::syntax::ast::{Attribute, Ident, Linkage, List, Pointee, ScalarType, Spanned, StateSpace, Variable};
use crate::syntax::lexer::TokenKind;

/// What the words before a variable's name say.
struct Head {
    start: u32,
    space: StateSpace,
    bank: Option<u32>,
    attribute: Option<Attribute>,
    align: Option<Spanned<u32>>,
    vector: Option<u8>,
    ty: Spanned<ScalarType>,
    ptr: Option<Pointee>,
}

impl Parser<'_> {
    /// `.space ... name, name = init;`, the semicolon included. `linkage` and where it begins stand before it.
    pub(super) fn variables(&mut self, linkage: Option<(Linkage, u32)>) -> Parse<()> {
        let head = self.head()?;
        let mut start = linkage.map_or(head.start, |(_, start)| start);
        loop {
            let name = self.ident("a name to declare")?;
            let variable = self.declarator(&head, linkage.map(|(linkage, _)| linkage), name, start)?;
            self.nodes.push(variable);
            if !self.eat(TokenKind::Comma) {
                return self.end_statement();
            }
            start = self.token.span.start;
        }
    }

    /// `(.param .b32 a, .reg .b32 b)`, or nothing.
    pub(super) fn parameters(&mut self) -> Parse<List<Variable>> {
        if !self.eat(TokenKind::LeftParen) || self.eat(TokenKind::RightParen) {
            return Ok(List::EMPTY);
        }
        let mark = self.nodes.mark::<Variable>();
        loop {
            let head = self.head()?;
            let name = self.ident("the parameter's name")?;
            let variable = self.declarator(&head, None, name, head.start)?;
            self.nodes.push(variable);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightParen, "',' or ')'")?;
        Ok(self.nodes.since(mark))
    }

    /// The words before the name: the space, an alignment and attributes around it, the type, and of parameters what they point to.
    fn head(&mut self) -> Parse<Head> {
        let start = self.token.span.start;
        let (mut attribute, mut align) = (None, None);
        self.layout_words(&mut attribute, &mut align)?;
        let Some(space) = self.dot_word().and_then(StateSpace::from_name) else {
            return Err(self.unexpected("a directive or a state space"));
        };
        self.bump();
        let bank = if self.eat(TokenKind::LeftBracket) {
            let bank = self.unsigned32("the bank")?.value;
            self.expect(TokenKind::RightBracket, "']'")?;
            Some(bank)
        } else {
            None
        };
        self.layout_words(&mut attribute, &mut align)?;
        let vector = match self.dot_word() {
            Some("v2") => Some(2),
            Some("v4") => Some(4),
            Some("v8") => Some(8),
            _ => None,
        };
        if vector.is_some() {
            self.bump();
        }
        let (word, span) = (self.dot_word(), self.token.span);
        let Some(word) = word else { return Err(self.unexpected("a type")) };
        let Some(value) = ScalarType::from_name(word) else {
            let message = format!("Unknown type '.{word}'");
            return Err(self.error(Code::Declaration, span, message));
        };
        self.bump();
        let mut ptr = None;
        loop {
            match self.dot_word() {
                Some("ptr") => ptr = Some(self.pointee()?),
                Some("align") if space == StateSpace::Param => {
                    self.bump();
                    align = Some(self.alignment()?);
                }
                _ => break,
            }
        }
        Ok(Head { start, space, bank, attribute, align, vector, ty: Spanned { value, span }, ptr })
    }

    /// `.align 16 .attribute(.managed)`, in any order, or nothing.
    fn layout_words(&mut self, attribute: &mut Option<Attribute>, align: &mut Option<Spanned<u32>>) -> Parse<()> {
        loop {
            match self.dot_word() {
                Some("align") => {
                    self.bump();
                    *align = Some(self.alignment()?);
                }
                Some("attribute") => *attribute = Some(self.attribute()?),
                _ => return Ok(()),
            }
        }
    }

    fn alignment(&mut self) -> Parse<Spanned<u32>> {
        let align = self.unsigned32("the alignment in bytes")?;
        if !align.value.is_power_of_two() {
            self.error(Code::Declaration, align.span, "an alignment is a power of two");
            return Ok(Spanned { value: 1, ..align });
        }
        Ok(align)
    }

    /// `.ptr .space .align n`
    fn pointee(&mut self) -> Parse<Pointee> {
        self.bump();
        let space = self.dot_word().and_then(StateSpace::from_name);
        if space.is_some() {
            self.bump();
        }
        let align = if self.eat_word("align") { Some(self.alignment()?.value) } else { None };
        Ok(Pointee { space, align })
    }

    /// `.attribute(.managed)`, `.attribute(.unified(low, high))`
    pub(super) fn attribute(&mut self) -> Parse<Attribute> {
        self.bump();
        self.expect(TokenKind::LeftParen, "'('")?;
        let attribute = match self.dot_word() {
            Some("managed") => {
                self.bump();
                Attribute::Managed
            }
            Some("unified") => {
                self.bump();
                self.expect(TokenKind::LeftParen, "'('")?;
                let low = self.unsigned("the low half of the id")?.value;
                self.expect(TokenKind::Comma, "','")?;
                let high = self.unsigned("the high half of the id")?.value;
                self.expect(TokenKind::RightParen, "')'")?;
                Attribute::Unified(low, high)
            }
            _ => return Err(self.unexpected("'.managed' or '.unified'")),
        };
        self.expect(TokenKind::RightParen, "')'")?;
        Ok(attribute)
    }

    /// What follows the name: `<n>`, `[d][d]`, `= init`.
    fn declarator(&mut self, head: &Head, linkage: Option<Linkage>, name: Ident, start: u32) -> Parse<Variable> {
        let count = if self.eat(TokenKind::Less) {
            let count = self.unsigned32("how many names to declare")?.value;
            self.expect(TokenKind::Greater, "'>'")?;
            Some(count)
        } else {
            None
        };
        let mark = self.nodes.mark::<Option<u64>>();
        while self.eat(TokenKind::LeftBracket) {
            let dim = if self.at(TokenKind::RightBracket) { None } else { Some(self.dimension()?) };
            self.expect(TokenKind::RightBracket, "']'")?;
            self.nodes.push(dim);
        }
        let dims = self.nodes.since(mark);
        let init = if self.eat(TokenKind::Equal) {
            let init = self.initialiser()?;
            Some(self.nodes.push(init))
        } else {
            None
        };
        let Head { space, bank, attribute, align, vector, ty, ptr, .. } = *head;
        let span = self.span_from(start);
        Ok(Variable { linkage, space, bank, attribute, align, vector, ty, ptr, name, count, dims, init, span })
    }

    fn dimension(&mut self) -> Parse<u64> {
        Ok(self.unsigned("an array dimension")?.value)
    }
}
