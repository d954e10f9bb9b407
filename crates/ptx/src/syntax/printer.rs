//! The tree as PTX text again: one statement a line, numbers in one notation, expressions with every parenthesis that
//! keeps their shape. Parsing the text gives an equal tree (spans apart).

mod expression;
mod statement;

use std::fmt::{self, Display, Formatter};

use super::ast::{
    Attribute, DirectiveKind, Extent, Function, FunctionDirective, FunctionKind, Item, List, Module, Pointee,
    SectionLine, StringLiteral, Variable,
};
use super::names::Name;

/// The canonical text of a module.
impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer { module: self, out: f }.module()
    }
}

struct Printer<'a, 'f> {
    module: &'a Module,
    out: &'a mut Formatter<'f>,
}

impl<'a> Printer<'a, '_> {
    fn name(&self, name: Name) -> &'a str {
        self.module.name(name)
    }

    /// Prints with `separator` between.
    fn separated<T: Copy>(
        &mut self,
        list: &[T],
        separator: &str,
        print: fn(&mut Self, T) -> fmt::Result,
    ) -> fmt::Result {
        for (at, node) in list.iter().enumerate() {
            if at > 0 {
                self.out.write_str(separator)?;
            }
            print(self, *node)?;
        }
        Ok(())
    }

    fn module(&mut self) -> fmt::Result {
        let module = self.module;
        if let Some(version) = module.version {
            writeln!(self.out, ".version {}.{}", version.value.major, version.value.minor)?;
        }
        if !module.targets.is_empty() {
            self.out.write_str(".target ")?;
            self.separated(&module[module.targets], ", ", |printer, target| {
                let name = printer.name(target.name);
                printer.out.write_str(name)
            })?;
            writeln!(self.out)?;
        }
        if let Some(size) = module.address_size {
            writeln!(self.out, ".address_size {}", size.value)?;
        }
        for item in &module.items {
            self.item(item)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item) -> fmt::Result {
        let module = self.module;
        match *item {
            Item::Variable(id) => {
                self.variable(&module[id])?;
                writeln!(self.out, ";")
            }
            Item::Function(id) => self.function(&module[id]),
            Item::Alias { alias, target, .. } => {
                writeln!(self.out, ".alias {}, {};", self.name(alias.name), self.name(target.name))
            }
            Item::File { index, name, stamp, .. } => {
                write!(self.out, ".file {index} \"{}\"", self.name(module[name].text))?;
                if let Some((time, size)) = stamp {
                    write!(self.out, ", {time}, {size}")?;
                }
                writeln!(self.out)
            }
            Item::Section { name, lines, .. } => {
                writeln!(self.out, ".section {}\n{{", self.name(name.name))?;
                for line in &module[lines] {
                    self.section_line(line)?;
                }
                writeln!(self.out, "}}")
            }
            Item::Dwarf(line) => writeln!(self.out, "{}", self.name(line.name)),
            Item::Pragma(strings) => {
                self.pragma(strings)?;
                writeln!(self.out)
            }
            Item::Loc(id) => {
                self.loc(&module[id])?;
                writeln!(self.out)
            }
        }
    }

    fn section_line(&mut self, line: &SectionLine) -> fmt::Result {
        match *line {
            SectionLine::Label(label) => writeln!(self.out, "{}:", self.name(label.name)),
            SectionLine::Data { ty, values } => {
                write!(self.out, "    .{} ", ty.name())?;
                self.separated(&self.module[values], ", ", |printer, value| printer.expr(&value))?;
                writeln!(self.out)
            }
        }
    }

    fn pragma(&mut self, strings: List<StringLiteral>) -> fmt::Result {
        self.out.write_str(".pragma ")?;
        self.separated(&self.module[strings], ", ", |printer, string| {
            let text = printer.name(string.text);
            write!(printer.out, "\"{text}\"")
        })?;
        self.out.write_str(";")
    }

    fn attribute(&mut self, attribute: Attribute) -> fmt::Result {
        match attribute {
            Attribute::Managed => self.out.write_str(" .attribute(.managed)"),
            Attribute::Unified(low, high) => write!(self.out, " .attribute(.unified({low:#x}, {high:#x}))"),
        }
    }

    /// A declaration without its semicolon.
    fn variable(&mut self, variable: &Variable) -> fmt::Result {
        if let Some(linkage) = variable.linkage {
            write!(self.out, ".{} ", linkage.name())?;
        }
        write!(self.out, ".{}", variable.space.name())?;
        if let Some(bank) = variable.bank {
            write!(self.out, "[{bank}]")?;
        }
        if let Some(attribute) = variable.attribute {
            self.attribute(attribute)?;
        }
        if let Some(align) = variable.align {
            write!(self.out, " .align {}", align.value)?;
        }
        if let Some(vector) = variable.vector {
            write!(self.out, " .v{vector}")?;
        }
        write!(self.out, " .{}", variable.ty.value.name())?;
        if let Some(Pointee { space, align }) = variable.ptr {
            self.out.write_str(" .ptr")?;
            if let Some(space) = space {
                write!(self.out, " .{}", space.name())?;
            }
            if let Some(align) = align {
                write!(self.out, " .align {align}")?;
            }
        }
        write!(self.out, " {}", self.name(variable.name.name))?;
        if let Some(count) = variable.count {
            write!(self.out, "<{count}>")?;
        }
        for dim in &self.module[variable.dims] {
            match dim {
                Some(dim) => write!(self.out, "[{dim}]")?,
                None => write!(self.out, "[]")?,
            }
        }
        if let Some(init) = variable.init {
            self.out.write_str(" = ")?;
            self.expr(&self.module[init])?;
        }
        Ok(())
    }

    fn parameters(&mut self, params: List<Variable>) -> fmt::Result {
        self.out.write_str("(")?;
        self.separated(&self.module[params], ", ", |printer, param| printer.variable(&param))?;
        self.out.write_str(")")
    }

    fn function(&mut self, function: &Function) -> fmt::Result {
        if let Some(linkage) = function.linkage {
            write!(self.out, ".{} ", linkage.name())?;
        }
        self.out.write_str(match function.kind {
            FunctionKind::Entry => ".entry",
            FunctionKind::Func => ".func",
        })?;
        if let Some(attribute) = function.attribute {
            self.attribute(attribute)?;
        }
        self.out.write_str(" ")?;
        if !function.returns.is_empty() {
            self.parameters(function.returns)?;
            self.out.write_str(" ")?;
        }
        self.out.write_str(self.name(function.name.name))?;
        self.parameters(function.params)?;
        self.directives(function.directives)?;
        match function.body {
            Some(body) => {
                writeln!(self.out, "\n{{")?;
                self.statements(body.statements, 1)?;
                writeln!(self.out, "}}")
            }
            None => writeln!(self.out, ";"),
        }
    }

    fn directives(&mut self, directives: List<FunctionDirective>) -> fmt::Result {
        for directive in &self.module[directives] {
            self.out.write_str(" ")?;
            match directive.kind {
                DirectiveKind::MaxNReg(count) => write!(self.out, ".maxnreg {count}"),
                DirectiveKind::MaxNTid(extent) => self.extent("maxntid", extent),
                DirectiveKind::ReqNTid(extent) => self.extent("reqntid", extent),
                DirectiveKind::MinNCtaPerSm(count) => write!(self.out, ".minnctapersm {count}"),
                DirectiveKind::MaxNCtaPerSm(count) => write!(self.out, ".maxnctapersm {count}"),
                DirectiveKind::NoReturn => self.out.write_str(".noreturn"),
                DirectiveKind::Pragma(strings) => self.pragma(strings),
                DirectiveKind::ReqNCtaPerCluster(extent) => self.extent("reqnctapercluster", extent),
                DirectiveKind::ExplicitCluster => self.out.write_str(".explicitcluster"),
                DirectiveKind::MaxClusterRank(rank) => write!(self.out, ".maxclusterrank {rank}"),
                DirectiveKind::BlocksAreClusters => self.out.write_str(".blocksareclusters"),
                DirectiveKind::AbiPreserve(count) => write!(self.out, ".abi_preserve {count}"),
                DirectiveKind::AbiPreserveControl(count) => write!(self.out, ".abi_preserve_control {count}"),
            }?;
        }
        Ok(())
    }

    fn extent(&mut self, word: &str, extent: Extent) -> fmt::Result {
        let given = extent.size.iter().take(usize::from(extent.given)).map(u32::to_string);
        write!(self.out, ".{word} {}", given.collect::<Vec<_>>().join(", "))
    }
}
