//! `.entry` and `.func` (PTX ISA 11.2) and the directives behind their heads (11.4).

use super::{Parse, Parser};
use crate::syntax::ast::{
    DirectiveKind, Extent, Function, FunctionDirective, FunctionKind, Linkage, List, StringLiteral,
};
use crate::syntax::lexer::TokenKind;

impl Parser<'_> {
    /// `.entry name (params) directives { body }` and the same of `.func`.
    pub(super) fn function(&mut self, linkage: Option<Linkage>, start: u32) -> Parse<Function> {
        let kind = if self.at_word("entry") { FunctionKind::Entry } else { FunctionKind::Func };
        self.bump();
        let attribute = if self.at_word("attribute") { Some(self.attribute()?) } else { None };
        let is_kernel = kind == FunctionKind::Entry;
        let returns = if is_kernel { List::EMPTY } else { self.parameters()? };
        let name = self.ident("the function's name")?;
        let params = self.parameters()?;
        let directives = self.function_directives(is_kernel)?;
        let span = self.span_from(start);
        let body = match self.token.kind {
            TokenKind::LeftBrace => Some(self.body()),
            TokenKind::Semicolon => {
                self.bump();
                None
            }
            _ if !is_kernel && (self.dot_word().is_some() || self.token.kind == TokenKind::End) => None,
            _ => return Err(self.unexpected("a directive, '{' or ';'")),
        };
        Ok(Function { linkage, kind, attribute, returns, name, params, directives, body, span })
    }

    /// What may stand between the head and the body of a kernel, or of a device function or prototype.
    pub(super) fn function_directives(&mut self, is_kernel: bool) -> Parse<List<FunctionDirective>> {
        let mark = self.nodes.mark::<FunctionDirective>();
        while let Some(word) = self.dot_word() {
            let start = self.token.span.start;
            if word == "pragma" && is_kernel {
                let strings = self.pragma()?;
                let span = self.span_from(start);
                self.end_statement()?;
                self.nodes.push(FunctionDirective { kind: DirectiveKind::Pragma(strings), span });
                continue;
            }
            let of_functions = matches!(word, "noreturn" | "abi_preserve" | "abi_preserve_control");
            if of_functions == is_kernel {
                // A prototype of a device function may end where the next directive of the module begins.
                if !is_kernel {
                    break;
                }
                return Err(self.unexpected("a directive of this kind of function, '{' or ';'"));
            }
            let kind = match word {
                "maxnreg" => DirectiveKind::MaxNReg(self.one()?),
                "maxntid" => DirectiveKind::MaxNTid(self.extent()?),
                "reqntid" => DirectiveKind::ReqNTid(self.extent()?),
                "minnctapersm" => DirectiveKind::MinNCtaPerSm(self.one()?),
                "maxnctapersm" => DirectiveKind::MaxNCtaPerSm(self.one()?),
                "reqnctapercluster" => DirectiveKind::ReqNCtaPerCluster(self.extent()?),
                "maxclusterrank" => DirectiveKind::MaxClusterRank(self.one()?),
                "abi_preserve" => DirectiveKind::AbiPreserve(self.one()?),
                "abi_preserve_control" => DirectiveKind::AbiPreserveControl(self.one()?),
                "noreturn" => self.flag(DirectiveKind::NoReturn),
                "explicitcluster" => self.flag(DirectiveKind::ExplicitCluster),
                "blocksareclusters" => self.flag(DirectiveKind::BlocksAreClusters),
                _ => return Err(self.unexpected("a directive of a function, '{' or ';'")),
            };
            let directive = FunctionDirective { kind, span: self.span_from(start) };
            self.nodes.push(directive);
        }
        Ok(self.nodes.since(mark))
    }

    fn flag(&mut self, kind: DirectiveKind) -> DirectiveKind {
        self.bump();
        kind
    }

    fn one(&mut self) -> Parse<u32> {
        self.bump();
        Ok(self.unsigned32("the directive's value")?.value)
    }

    fn extent(&mut self) -> Parse<Extent> {
        self.bump();
        let mut extent = Extent { size: [1; 3], given: 0 };
        for size in &mut extent.size {
            *size = self.unsigned32("a dimension")?.value;
            extent.given += 1;
            if extent.given == 3 || !self.eat(TokenKind::Comma) {
                break;
            }
        }
        Ok(extent)
    }

    /// `.pragma "a", "b"`, without the semicolon
    pub(super) fn pragma(&mut self) -> Parse<List<StringLiteral>> {
        self.bump();
        let mark = self.nodes.mark::<StringLiteral>();
        loop {
            let string = self.string()?;
            self.nodes.push(string);
            if !self.eat(TokenKind::Comma) {
                return Ok(self.nodes.since(mark));
            }
        }
    }
}
