//! Module scope (PTX ISA 4.1, 11.1, 11.6) and its recovery.

use super::{Parse, Parser, Reported};
use crate::diagnostic::Code;
use crate::syntax::ast::{Ident, Item, Linkage, List, Spanned, Variable, Version};
use crate::syntax::lexer::TokenKind;

/// The directives that open a module.
#[derive(Default)]
pub(super) struct Header {
    pub(super) version: Option<Spanned<Version>>,
    pub(super) targets: List<Ident>,
    pub(super) address_size: Option<Spanned<u32>>,
}

impl Parser<'_> {
    pub(super) fn module(&mut self) {
        if !self.at_word("version") {
            self.error(Code::Version, self.token.span, "Missing .version directive at start of file");
        }
        while !self.at(TokenKind::End) {
            let start = self.token.span.start;
            if let Err(Reported) = self.item() {
                self.recover_item(start);
            }
        }
        if self.header.targets.is_empty() && self.header.version.is_some() {
            let end = self.token.span;
            self.error(Code::Target, end, "Missing .target directive at start of file");
        }
    }

    fn item(&mut self) -> Parse<()> {
        let start = self.token.span.start;
        let item = match self.token.kind {
            TokenKind::Dwarf => {
                let token = self.bump();
                let name = self.names.intern(self.text(token.span).trim_end());
                Item::Dwarf(Ident { name, span: token.span })
            }
            TokenKind::Dot => match self.dot_word().unwrap_or_default() {
                "version" => return self.version(),
                "target" => return self.target(),
                "address_size" => return self.address_size(),
                "file" => self.file()?,
                "section" => self.section()?,
                "alias" => self.alias()?,
                "loc" => {
                    let loc = self.loc()?;
                    Item::Loc(self.nodes.push(loc))
                }
                "pragma" => {
                    let strings = self.pragma()?;
                    self.end_statement()?;
                    Item::Pragma(strings)
                }
                _ => {
                    let linkage = self.linkage();
                    if !matches!(self.dot_word(), Some("entry" | "func")) {
                        return self.module_variables(linkage, start);
                    }
                    if linkage == Some(Linkage::Common) {
                        return Err(self.unexpected("a variable"));
                    }
                    let function = self.function(linkage, start)?;
                    Item::Function(self.nodes.push(function))
                }
            },
            _ => return Err(self.unexpected("a directive")),
        };
        self.items.push(item);
        Ok(())
    }

    fn linkage(&mut self) -> Option<Linkage> {
        let linkage = match self.dot_word()? {
            "extern" => Linkage::Extern,
            "visible" => Linkage::Visible,
            "weak" => Linkage::Weak,
            "common" => Linkage::Common,
            _ => return None,
        };
        self.bump();
        Some(linkage)
    }

    fn module_variables(&mut self, linkage: Option<Linkage>, start: u32) -> Parse<()> {
        let mark = self.nodes.mark::<Variable>();
        let declared = self.variables(linkage.map(|linkage| (linkage, start)));
        let variables: List<Variable> = self.nodes.since(mark);
        self.items.extend(variables.ids().map(Item::Variable));
        declared
    }

    /// Skips to the next directive that stands at module scope, outside of braces; the item began at `start`.
    fn recover_item(&mut self, start: u32) {
        self.abandon();
        self.open_braces = 0;
        loop {
            match self.token.kind {
                TokenKind::End => return,
                TokenKind::Dwarf => return,
                TokenKind::LeftBrace => {
                    self.skip_braces();
                    continue;
                }
                TokenKind::Dot if self.token.span.start != start && self.opens_item() => return,
                _ => {}
            }
            self.bump();
        }
    }

    fn opens_item(&self) -> bool {
        const WORDS: [&str; 14] = [
            "version",
            "target",
            "address_size",
            "file",
            "section",
            "alias",
            "extern",
            "visible",
            "weak",
            "common",
            "entry",
            "func",
            "global",
            "const",
        ];
        self.dot_word().is_some_and(|word| WORDS.contains(&word))
    }

    /// `.version major.minor`
    fn version(&mut self) -> Parse<()> {
        let directive = self.bump();
        let token = self.expect(TokenKind::Number, "a version such as 8.0")?;
        let parts = self.text(token.span).split_once('.');
        let numbers = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let Some((major, minor)) = numbers else {
            return Err(self.error(Code::Version, token.span, "a version consists of two numbers, such as 8.0"));
        };
        if self.header.version.is_some() {
            return Err(self.error(Code::Version, directive.span, "a second .version directive"));
        }
        self.header.version = Some(Spanned { value: Version { major, minor }, span: token.span });
        Ok(())
    }

    /// `.target sm_90, option, ...`; several directives may list the same options again.
    fn target(&mut self) -> Parse<()> {
        let directive = self.bump();
        let targets = self.idents("a target such as sm_90")?;
        if !self.header.targets.is_empty() {
            return Err(self.error(Code::Target, directive.span, "a second .target directive"));
        }
        self.header.targets = targets;
        Ok(())
    }

    /// `.address_size 64`
    fn address_size(&mut self) -> Parse<()> {
        let directive = self.bump();
        let size = self.unsigned32("32 or 64")?;
        if self.header.address_size.is_some() {
            return Err(self.error(Code::AddressSize, directive.span, "a second .address_size directive"));
        }
        self.header.address_size = Some(size);
        Ok(())
    }

    /// `.alias alias, target;`
    fn alias(&mut self) -> Parse<Item> {
        let start = self.bump().span.start;
        let alias = self.ident("the alias")?;
        self.expect(TokenKind::Comma, "','")?;
        let target = self.ident("the function that it stands for")?;
        let span = self.span_from(start);
        self.end_statement()?;
        Ok(Item::Alias { alias, target, span })
    }
}
