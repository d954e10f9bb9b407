//! Statements of function bodies (PTX ISA 4.3, 9) and their recovery.

use super::{MAX_SCOPES, Parse, Parser, Reported};
use crate::diagnostic::Code;
use crate::syntax::ast::{Body, Guard, Ident, Instruction, Prototype, Statement};
use crate::syntax::lexer::{Lexer, TokenKind};
use crate::syntax::span::Span;

impl Parser<'_> {
    /// `{ ... }` of a function. Scopes inside are kept on a list of their own, not on the call stack.
    pub(super) fn body(&mut self) -> Body {
        let mut scopes = vec![(self.token.span.start, self.statements.len())];
        self.bump();
        loop {
            match self.token.kind {
                TokenKind::RightBrace => {
                    self.bump();
                    let Some(body) = self.close_scope(&mut scopes) else { continue };
                    return body;
                }
                TokenKind::LeftBrace => {
                    if scopes.len() == MAX_SCOPES {
                        let message = format!("scopes nested deeper than {MAX_SCOPES} levels");
                        self.error(Code::Limit, self.token.span, message);
                        self.skip_braces();
                        continue;
                    }
                    scopes.push((self.token.span.start, self.statements.len()));
                    self.bump();
                }
                TokenKind::End => return self.unclosed(scopes),
                TokenKind::Dot if self.begins_item() => return self.unclosed(scopes),
                _ => {
                    if let Err(Reported) = self.statement() {
                        self.recover();
                    }
                }
            }
        }
    }

    /// Ends the innermost scope: the function's body if it was the outermost, else a statement of the next one.
    fn close_scope(&mut self, scopes: &mut Vec<(u32, usize)>) -> Option<Body> {
        let (start, mark) = scopes.pop()?;
        let statements = self.nodes.extend(self.statements.drain(mark..));
        let body = Body { statements, span: self.span_from(start) };
        if scopes.is_empty() {
            return Some(body);
        }
        self.statements.push(Statement::Block(body));
        None
    }

    fn unclosed(&mut self, mut scopes: Vec<(u32, usize)>) -> Body {
        self.unexpected("a statement or '}'");
        loop {
            if let Some(body) = self.close_scope(&mut scopes) {
                return body;
            }
        }
    }

    /// Whether the directive can only stand at module scope, so that a `}` before it was forgotten.
    fn begins_item(&self) -> bool {
        matches!(self.dot_word(), Some("entry" | "func" | "visible" | "weak" | "version" | "target" | "section"))
    }

    /// Skips the statement that was reported: to its semicolon, or to what cannot be part of it.
    fn recover(&mut self) {
        self.abandon();
        let mut open = std::mem::take(&mut self.open_braces);
        loop {
            match self.token.kind {
                TokenKind::Semicolon => {
                    self.bump();
                    return;
                }
                TokenKind::RightBrace if open == 0 => return,
                TokenKind::RightBrace => open -= 1,
                TokenKind::LeftBrace => open += 1,
                TokenKind::End => return,
                TokenKind::Dot if self.begins_item() => return,
                TokenKind::Ident | TokenKind::At if open == 0 && self.begins_line() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether a line break stands before the token: there a statement begins, if the one before it has no semicolon.
    fn begins_line(&self) -> bool {
        self.source[self.last_end as usize..self.token.span.start as usize].contains('\n')
    }

    /// Skips `{ ... }`.
    pub(super) fn skip_braces(&mut self) {
        let mut open = 0u32;
        loop {
            match self.token.kind {
                TokenKind::LeftBrace => open += 1,
                TokenKind::RightBrace => open -= 1,
                TokenKind::End => return,
                _ => {}
            }
            self.bump();
            if open == 0 {
                return;
            }
        }
    }

    /// Makes the token at `start` the next one again.
    pub(super) fn rewind(&mut self, start: u32) {
        self.lexer = Lexer::from(self.source, start);
        self.token = self.lexer.next_token();
        self.last_end = start;
    }

    fn statement(&mut self) -> Parse<()> {
        let token = self.token;
        match token.kind {
            TokenKind::Ident => {
                self.bump();
                if self.eat(TokenKind::Colon) {
                    let label = self.ident_of(token);
                    return self.labelled(label);
                }
                let opcode = self.ident_of(token);
                self.instruction(token.span.start, None, opcode)
            }
            TokenKind::At => {
                self.bump();
                let negated = self.eat(TokenKind::Bang);
                let predicate = self.ident("a predicate register")?;
                let opcode = self.ident("an instruction")?;
                self.instruction(token.span.start, Some(Guard { negated, predicate }), opcode)
            }
            TokenKind::Dot => self.directive(),
            _ => Err(self.unexpected("a statement")),
        }
    }

    /// What follows `label:` if it needs the label; else the label alone.
    fn labelled(&mut self, name: Ident) -> Parse<()> {
        let statement = match self.dot_word() {
            Some("branchtargets") => {
                self.bump();
                Statement::BranchTargets { name, targets: self.idents("a label")? }
            }
            Some("calltargets") => {
                self.bump();
                Statement::CallTargets { name, targets: self.idents("a function")? }
            }
            Some("callprototype") => {
                self.bump();
                let prototype = self.prototype(name)?;
                Statement::CallPrototype(self.nodes.push(prototype))
            }
            _ => {
                self.statements.push(Statement::Label(name));
                return Ok(());
            }
        };
        self.statements.push(statement);
        self.end_statement()
    }

    /// `(ret) _ (params) directives`
    fn prototype(&mut self, name: Ident) -> Parse<Prototype> {
        let returns = self.parameters()?;
        self.ident("'_'")?;
        let params = self.parameters()?;
        let directives = self.function_directives(false)?;
        Ok(Prototype { name, returns, params, directives, span: self.span_from(name.span.start) })
    }

    #[inline]
    fn instruction(&mut self, start: u32, guard: Option<Guard>, opcode: Ident) -> Parse<()> {
        let mark = self.nodes.mark::<Ident>();
        while self.at(TokenKind::Dot) {
            let token = self.bump();
            let name = self.names.intern(&self.source[token.span.start as usize + 1..token.span.end as usize]);
            self.nodes.push(Ident { name, span: token.span });
        }
        let modifiers = self.nodes.since(mark);
        let mark = self.operands.len();
        // At a closing brace the semicolon is missing, not an operand.
        if !matches!(self.token.kind, TokenKind::Semicolon | TokenKind::RightBrace) {
            // Only a call takes lists in parentheses; elsewhere they belong to an expression.
            let call = self.text(opcode.span) == "call";
            loop {
                let list = call && self.at(TokenKind::LeftParen);
                let operand = if list { self.arguments()? } else { self.operand()? };
                self.operands.push(operand);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        let operands = self.nodes.extend(self.operands.drain(mark..));
        let end = self.token.span.end;
        let ended = match operands.is_empty() {
            true => self.expect(TokenKind::Semicolon, "';'").map(drop),
            false => self.end_statement(),
        };
        let span = match ended {
            Ok(()) => Span::new(start, end),
            Err(Reported) => self.span_from(start),
        };
        self.statements.push(Statement::Instruction(Instruction { guard, opcode, modifiers, operands, span }));
        ended
    }

    pub(super) fn end_statement(&mut self) -> Parse<()> {
        self.expect(TokenKind::Semicolon, "',' or ';'").map(drop)
    }

    fn directive(&mut self) -> Parse<()> {
        match self.dot_word() {
            Some("loc") => {
                let loc = self.loc()?;
                let statement = Statement::Loc(self.nodes.push(loc));
                self.statements.push(statement);
                Ok(())
            }
            Some("pragma") => {
                let strings = self.pragma()?;
                self.statements.push(Statement::Pragma(strings));
                self.end_statement()
            }
            Some("branchtargets" | "calltargets" | "callprototype") => {
                Err(self.unexpected("a label before this directive"))
            }
            _ => {
                let first = self.nodes.mark::<crate::syntax::ast::Variable>();
                let declared = self.variables(None);
                let variables = self.nodes.since::<crate::syntax::ast::Variable>(first);
                self.statements.extend(variables.ids().map(Statement::Variable));
                declared
            }
        }
    }
}
