//! Recursive descent over the tokens, with recovery: a statement that makes no sense is reported and skipped, and the
//! rest is still parsed. This file holds the parser's state and the tools its parts share.

mod debug;
mod declaration;
mod expression;
mod function;
mod module;
mod operand;
mod statement;

use std::borrow::Cow;
use std::sync::Arc;

use super::ast::{Expr, Ident, List, Module, Nodes, Operand, Spanned, Statement, StringLiteral};
use super::lexer::{Lexer, Token, TokenKind};
use super::names::Names;
use super::number;
use super::span::Span;
use crate::diagnostic::{Code, Diagnostic};

/// How deep expressions, vectors and initialisers may nest, and how many operators one expression may have. Whoever
/// walks the tree by recursion relies on it.
const MAX_DEPTH: u32 = 64;
/// How deep `{ }` scopes may nest.
const MAX_SCOPES: usize = 256;
/// After so many problems no more are kept: they are either all alike or the input is no PTX.
const MAX_DIAGNOSTICS: usize = 256;

/// What [`parse`] gives: always a tree, and what was wrong with the text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The tree of everything that could be understood.
    pub module: Module,
    /// Problems in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether the text is no valid PTX.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Parses PTX text up to its end or the first NUL. Never fails: what is wrong stands in [`Parsed::diagnostics`].
///
/// ```
/// let parsed = warploom_ptx::syntax::parse(b".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret }");
/// assert_eq!(parsed.diagnostics.len(), 1);
/// assert_eq!(parsed.module.functions().count(), 1);
/// ```
pub fn parse(text: &[u8]) -> Parsed {
    let text = &text[..text.iter().position(|byte| *byte == 0).unwrap_or(text.len())];
    let mut diagnostics = Vec::new();
    // The node arrays have 32-bit indices, and no text has more nodes of a kind than bytes.
    let text = if text.len() < u32::MAX as usize {
        // Checking is faster than looking for what to replace, and nearly all text is valid.
        std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::from)
    } else {
        diagnostics.push(Diagnostic::fatal(Code::Limit, Span::default(), "PTX text larger than 4 GiB"));
        Cow::from("")
    };
    let source: Arc<str> = Arc::from(text);
    let mut parser = Parser::new(&source);
    parser.diagnostics = diagnostics;
    parser.module();
    let Parser { names, nodes, items, header, diagnostics, .. } = parser;
    let module::Header { version, targets, address_size, .. } = header;
    Parsed { module: Module { source, names, version, targets, address_size, items, nodes }, diagnostics }
}

/// A problem was reported; the caller recovers or passes it on.
struct Reported;

type Parse<T> = Result<T, Reported>;

struct Parser<'a> {
    source: &'a str,
    lexer: Lexer<'a>,
    /// The token to look at.
    token: Token,
    /// End of the token before it.
    last_end: u32,
    names: Names,
    nodes: Nodes,
    items: Vec<super::ast::Item>,
    header: module::Header,
    diagnostics: Vec<Diagnostic>,
    /// Nesting of expressions, vectors and initialisers.
    depth: u32,
    /// Braces of vectors that are open: recovery has to skip them before a `}` ends a scope.
    open_braces: u32,
    /// Nodes of lists that are not finished yet; their children are already in their arrays.
    statements: Vec<Statement>,
    operands: Vec<Operand>,
    exprs: Vec<Expr>,
}

impl<'a> Parser<'a> {
    fn new(source: &'a str) -> Self {
        let mut lexer = Lexer::new(source);
        let token = lexer.next_token();
        Self {
            source,
            lexer,
            token,
            last_end: 0,
            names: Names::default(),
            nodes: Nodes::default(),
            items: Vec::new(),
            header: module::Header::default(),
            diagnostics: Vec::new(),
            depth: 0,
            open_braces: 0,
            statements: Vec::new(),
            operands: Vec::new(),
            exprs: Vec::new(),
        }
    }

    fn bump(&mut self) -> Token {
        let token = self.token;
        self.last_end = token.span.end;
        self.token = self.lexer.next_token();
        token
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind, what: &str) -> Parse<Token> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.unexpected(what)) }
    }

    fn text(&self, span: Span) -> &'a str {
        &self.source[span.range()]
    }

    /// The word behind the dot if the token is `.word`.
    fn dot_word(&self) -> Option<&'a str> {
        self.at(TokenKind::Dot).then(|| &self.text(self.token.span)[1..])
    }

    fn at_word(&self, word: &str) -> bool {
        self.dot_word() == Some(word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// From `start` to the end of the last token taken.
    fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.last_end.max(start))
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        let repeated = self.diagnostics.last().is_some_and(|last| last.span() == diagnostic.span());
        if !repeated && self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
        Reported
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> Reported {
        self.report(Diagnostic::fatal(code, span, message))
    }

    /// The token does not fit; `what` would have.
    fn unexpected(&mut self, what: &str) -> Reported {
        let span = self.token.span;
        let text = self.text(span);
        let message = match self.token.kind {
            TokenKind::Unterminated if text.starts_with('"') => "Parsing error: this string does not end".to_owned(),
            TokenKind::Unterminated => "Parsing error near '': unexpected EOF while scanning a comment".to_owned(),
            _ => format!("Parsing error near '{text}': expected {what}"),
        };
        self.error(Code::Syntax, span, message)
    }

    fn ident_of(&mut self, token: Token) -> Ident {
        Ident { name: self.names.intern(self.text(token.span)), span: token.span }
    }

    fn ident(&mut self, what: &str) -> Parse<Ident> {
        let token = self.expect(TokenKind::Ident, what)?;
        Ok(self.ident_of(token))
    }

    /// `a, b, c`, at least one.
    fn idents(&mut self, what: &str) -> Parse<List<Ident>> {
        let start = self.nodes.mark::<Ident>();
        loop {
            let ident = self.ident(what)?;
            self.nodes.push(ident);
            if !self.eat(TokenKind::Comma) {
                return Ok(self.nodes.since(start));
            }
        }
    }

    fn string(&mut self) -> Parse<StringLiteral> {
        let token = self.expect(TokenKind::String, "a string")?;
        let quoted = self.text(token.span);
        Ok(StringLiteral { text: self.names.intern(&quoted[1..quoted.len() - 1]), span: token.span })
    }

    /// A number without sign.
    fn unsigned(&mut self, what: &str) -> Parse<Spanned<u64>> {
        let token = self.expect(TokenKind::Number, what)?;
        use super::ast::Literal;
        match number::read(self.text(token.span)) {
            Ok(Literal::Int(value)) => Ok(Spanned { value: value as u64, span: token.span }),
            Ok(Literal::Uint(value)) => Ok(Spanned { value, span: token.span }),
            Ok(_) => Err(self.error(Code::Syntax, token.span, format!("expected {what}, which is an integer"))),
            Err(problem) => Err(self.error(Code::Syntax, token.span, problem)),
        }
    }

    /// A number without sign that fits 32 bits.
    fn unsigned32(&mut self, what: &str) -> Parse<Spanned<u32>> {
        let Spanned { value, span } = self.unsigned(what)?;
        match u32::try_from(value) {
            Ok(value) => Ok(Spanned { value, span }),
            Err(_) => Err(self.error(Code::Limit, span, format!("{what} does not fit 32 bits"))),
        }
    }

    /// Runs `inner` one level deeper, or reports that the text nests too deeply.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(Code::Limit, self.token.span, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Puts the state that an abandoned construct leaves behind in order.
    fn abandon(&mut self) {
        self.depth = 0;
        self.operands.clear();
        self.exprs.clear();
    }
}
