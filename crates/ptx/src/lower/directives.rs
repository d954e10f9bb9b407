//! Directives behind the heads of functions: performance (PTX ISA 11.4) and clusters (11.7).

use super::Lowering;
use crate::diagnostic::Code;
use crate::ir::Directives;
use crate::syntax::Span;
use crate::syntax::ast::{self, DirectiveKind, FunctionDirective};

impl Lowering<'_> {
    /// Reads and checks the directives of a function.
    pub(super) fn directives(&mut self, written: &ast::Function) -> Directives {
        let ast = self.ast;
        let mut out = Directives::default();
        for directive in &ast[written.directives] {
            match directive.kind {
                DirectiveKind::MaxNReg(n) => out.maxnreg = Some(n),
                DirectiveKind::MaxNTid(extent) => out.maxntid = Some(extent.size),
                DirectiveKind::ReqNTid(extent) => out.reqntid = Some(extent.size),
                DirectiveKind::MinNCtaPerSm(n) => out.minnctapersm = Some(n),
                DirectiveKind::MaxNCtaPerSm(n) => out.maxnctapersm = Some(n),
                DirectiveKind::NoReturn => out.noreturn = true,
                DirectiveKind::Pragma(strings) => {
                    out.pragmas.extend(ast[strings].iter().map(|s| ast.name(s.text).to_owned()));
                }
                DirectiveKind::ReqNCtaPerCluster(extent) => out.reqnctapercluster = Some(extent.size),
                DirectiveKind::ExplicitCluster => out.explicitcluster = true,
                DirectiveKind::MaxClusterRank(n) => out.maxclusterrank = Some(n),
                DirectiveKind::BlocksAreClusters => out.blocksareclusters = true,
                DirectiveKind::AbiPreserve(_) | DirectiveKind::AbiPreserveControl(_) => {}
            }
            self.check_value(directive);
        }
        self.check_together(&out, written);
        out
    }

    fn check_value(&mut self, directive: &FunctionDirective) {
        let positive =
            |name: &str, value: u32| (value == 0).then(|| format!("Positive non-zero value expected for {name}"));
        let message = match directive.kind {
            DirectiveKind::MaxNTid(extent) | DirectiveKind::ReqNTid(extent) if extent.size.contains(&0) => {
                Some("Number of threads must be positive".to_owned())
            }
            DirectiveKind::MaxNReg(value) => positive("maxnreg", value),
            DirectiveKind::MinNCtaPerSm(value) => positive("minnctapersm", value),
            DirectiveKind::MaxNCtaPerSm(_) if self.module.version >= (2, 1) => {
                Some("Deprecated feature: '.maxnctapersm directive' not supported as of PTX version 2.1".to_owned())
            }
            _ => None,
        };
        if let Some(message) = message {
            self.error(Code::Declaration, directive.span, message);
        }
        self.check_needs(directive);
    }

    /// Reports a directive that the module's version or target does not have yet.
    fn check_needs(&mut self, directive: &FunctionDirective) {
        let (name, version, sm) = match directive.kind {
            DirectiveKind::NoReturn => (".noreturn", (6, 4), 30),
            DirectiveKind::ReqNCtaPerCluster(_) => (".reqnctapercluster", (7, 8), 90),
            DirectiveKind::ExplicitCluster => (".explicitcluster", (7, 8), 90),
            DirectiveKind::MaxClusterRank(_) => (".maxclusterrank", (7, 8), 90),
            DirectiveKind::BlocksAreClusters => (".blocksareclusters", (9, 0), 90),
            DirectiveKind::AbiPreserve(_) => (".abi_preserve", (9, 0), 80),
            DirectiveKind::AbiPreserveControl(_) => (".abi_preserve_control", (9, 0), 80),
            _ => return,
        };
        if self.module.version < version {
            let (major, minor) = version;
            let message = format!("Feature '{name}' requires PTX ISA .version {major}.{minor} or later");
            self.error(Code::Requirement, directive.span, message);
        }
        if self.module.target.sm < sm {
            let message = format!("Feature '{name}' requires .target sm_{sm} or higher");
            self.error(Code::Requirement, directive.span, message);
        }
    }

    fn check_together(&mut self, directives: &Directives, written: &ast::Function) {
        let conflict = |a: &str, b: &str| Some(format!("Conflicting directives: {a} and {b} cannot both be specified"));
        let message = if directives.maxntid.is_some() && directives.reqntid.is_some() {
            conflict(".maxntid", ".reqntid")
        } else if directives.reqnctapercluster.is_some() && directives.maxclusterrank.is_some() {
            conflict(".reqnctapercluster", ".maxclusterrank")
        } else if directives.blocksareclusters
            && (directives.reqntid.is_none() || directives.reqnctapercluster.is_none())
        {
            let needed = ".reqntid and .reqnctapercluster directive(s) required for directive '.blocksareclusters'";
            Some(needed.to_owned())
        } else if directives.noreturn && !written.returns.is_empty() {
            let name = self.text(written.name.name);
            Some(format!("Invalid directive '.noreturn' for function '{name}'"))
        } else {
            None
        };
        if let Some(message) = message {
            let spans = self.ast[written.directives].iter().map(|directive| directive.span);
            self.error(Code::Declaration, spans.reduce(Span::to).unwrap_or(written.name.span), message);
        }
    }
}
