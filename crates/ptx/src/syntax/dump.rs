//! The tree as indented text, names resolved and spans left out: for people, for snapshots, and to compare trees.

use std::fmt::Write;

use super::ast::*;
use super::names::Name;

/// The whole tree of a module.
pub fn dump(module: &Module) -> String {
    let mut out = Out { module, text: String::new(), depth: 0 };
    out.field("version", &module.version);
    out.field("targets", &module.targets);
    out.field("address_size", &module.address_size);
    for item in &module.items {
        item.dump(&mut out);
        out.line();
    }
    out.text
}

struct Out<'a> {
    module: &'a Module,
    text: String,
    depth: usize,
}

impl Out<'_> {
    /// Ends a line, unless one has just ended.
    fn line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.text.push('\n');
        }
    }

    fn word(&mut self, word: impl std::fmt::Display) {
        if self.text.is_empty() || self.text.ends_with('\n') {
            let _ = write!(self.text, "{:1$}", "", 2 * self.depth);
        }
        let _ = write!(self.text, "{word}");
    }

    /// A field on a line of its own; one that holds nothing leaves no line.
    fn field(&mut self, name: &str, value: &dyn Dump) {
        if value.absent() {
            return;
        }
        self.line();
        self.word(format_args!("{name}: "));
        value.dump(self);
        self.line();
    }

    fn indented(&mut self, inner: impl FnOnce(&mut Self)) {
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }
}

/// A node, or something that a node holds.
trait Dump {
    fn dump(&self, out: &mut Out<'_>);

    fn absent(&self) -> bool {
        false
    }
}

impl<T: Dump> Dump for Option<T> {
    fn dump(&self, out: &mut Out<'_>) {
        match self {
            Some(value) => value.dump(out),
            None => out.word("none"),
        }
    }

    fn absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Dump> Dump for Spanned<T> {
    fn dump(&self, out: &mut Out<'_>) {
        self.value.dump(out);
    }
}

impl<T: Dump, U: Dump> Dump for (T, U) {
    fn dump(&self, out: &mut Out<'_>) {
        out.indented(|out| {
            out.field("0", &self.0);
            out.field("1", &self.1);
        });
    }
}

impl<T> Dump for Id<T>
where
    T: Dump,
    Module: std::ops::Index<Id<T>, Output = T>,
{
    fn dump(&self, out: &mut Out<'_>) {
        out.module[*self].dump(out);
    }
}

impl<T> Dump for List<T>
where
    T: Dump,
    Module: std::ops::Index<List<T>, Output = [T]>,
{
    fn dump(&self, out: &mut Out<'_>) {
        out.indented(|out| {
            for node in &out.module[*self] {
                out.line();
                out.word("- ");
                node.dump(out);
            }
        });
    }

    fn absent(&self) -> bool {
        self.is_empty()
    }
}

impl Dump for Name {
    fn dump(&self, out: &mut Out<'_>) {
        let name = out.module.name(*self);
        out.word(name);
    }
}

macro_rules! plain {
    ($($ty:ty),+) => {$(
        impl Dump for $ty {
            fn dump(&self, out: &mut Out<'_>) {
                out.word(format_args!("{self:?}"));
            }
        }
    )+};
}
plain!(
    u8,
    u32,
    u64,
    bool,
    Linkage,
    StateSpace,
    ScalarType,
    FunctionKind,
    UnaryOp,
    BinaryOp,
    Extent,
    Literal,
    Attribute
);
plain!(SourceLine, Version);

macro_rules! structs {
    ($($ty:ident { $($field:ident),* })+) => {$(
        impl Dump for $ty {
            fn dump(&self, out: &mut Out<'_>) {
                out.word(stringify!($ty));
                out.indented(|out| { $(out.field(stringify!($field), &self.$field);)* });
            }
        }
    )+};
}
structs! {
    Pointee { space, align }
    Variable { linkage, space, bank, attribute, align, vector, ty, ptr, name, count, dims, init }
    Function { linkage, kind, attribute, returns, name, params, directives, body }
    Body { statements }
    FunctionDirective { kind }
    Prototype { name, returns, params, directives }
    Loc { at, function, inlined_at }
    Instruction { guard, opcode, modifiers, operands }
    Guard { negated, predicate }
    Operand { kind }
    Address { base, offset, rest, unified }
    Expr { kind }
}

macro_rules! names {
    ($($ty:ident.$field:ident),+) => {$(
        impl Dump for $ty {
            fn dump(&self, out: &mut Out<'_>) {
                self.$field.dump(out);
            }
        }
    )+};
}
names!(Ident.name, StringLiteral.text);

/// Variants whose parts are positional, and those with named fields.
macro_rules! enums {
    ($($ty:ident { $($variant:ident $(($($part:ident),+))? $({$($field:ident),+})?),* $(,)? })+) => {$(
        impl Dump for $ty {
            fn dump(&self, out: &mut Out<'_>) {
                match self {
                    $(Self::$variant $(($($part),+))? $({$($field,)+ ..})? => {
                        out.word(concat!(stringify!($variant), " "));
                        $(out.indented(|out| { $($part.dump(out); out.line();)+ });)?
                        $(out.indented(|out| { $(out.field(stringify!($field), $field);)+ });)?
                    })*
                }
            }
        }
    )+};
}
enums! {
    Item {
        Variable(a), Function(a), Alias { alias, target }, File { index, name, stamp }, Section { name, lines },
        Dwarf(a), Pragma(a), Loc(a),
    }
    SectionLine { Label(a), Data { ty, values } }
    DirectiveKind {
        MaxNReg(a), MaxNTid(a), ReqNTid(a), MinNCtaPerSm(a), MaxNCtaPerSm(a), NoReturn, Pragma(a),
        ReqNCtaPerCluster(a), ExplicitCluster, MaxClusterRank(a), BlocksAreClusters, AbiPreserve(a),
        AbiPreserveControl(a),
    }
    Statement {
        Label(a), Instruction(a), Variable(a), Block(a), BranchTargets { name, targets },
        CallTargets { name, targets }, CallPrototype(a), Loc(a), Pragma(a),
    }
    OperandKind {
        Name(a), Member(a, b), Literal(a), Expr(a), Address(a), Element(a, b), Vector(a), Arguments(a), Pair(a, b),
        Not(a), Minus(a), Sink,
    }
    ExprKind {
        Literal(a), Name(a), Generic(a), Mask(a, b), Unary(a, b), Binary(a, b, c), Conditional(a, b, c), Cast(a, b),
        Field(a, b), Braces(a), String(a),
    }
}
