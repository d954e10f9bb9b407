//! The syntax tree of a PTX module (PTX ISA 4 to 6, 8 and 11): what was written, not what it means.
//!
//! Nodes live in flat arrays of the [`Module`] and refer to each other by [`Id`] and [`List`], so that a file of
//! megabytes costs a few allocations. Both index the module: `module[id]`, `module[list]` (a slice).
//! Names are interned ([`Name`]); nothing here knows an instruction or checks a type.

mod arena;
mod code;

#[cfg(test)]
pub(super) use arena::Arena;
pub(super) use arena::Nodes;
pub use arena::{Id, List};
pub use code::*;

use std::sync::Arc;

use super::names::{Name, Names};
use super::span::Span;

/// A name where it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident {
    /// Its interned text.
    pub name: Name,
    /// Where it stands.
    pub span: Span,
}

/// A value where it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

/// A parsed module: the text it came from, its names, and its tree.
#[derive(Clone, Debug)]
pub struct Module {
    pub(super) source: Arc<str>,
    pub(super) names: Names,
    /// `.version`, if the module has one.
    pub version: Option<Spanned<Version>>,
    /// What `.target` lists: architectures and options, in order.
    pub targets: List<Ident>,
    /// `.address_size` in bits. Real drivers take its absence for 64.
    pub address_size: Option<Spanned<u32>>,
    /// Everything else at module scope, in order.
    pub items: Vec<Item>,
    pub(super) nodes: Nodes,
}

impl Module {
    /// The text that was parsed, without the NUL that may have ended it. Bytes that are not UTF-8 were replaced.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// The part of the text at `span`.
    pub fn text(&self, span: Span) -> &str {
        self.source.get(span.range()).unwrap_or("")
    }

    /// All names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The text of a name.
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name)
    }

    /// The functions and kernels, with and without body, in order.
    pub fn functions(&self) -> impl Iterator<Item = (Id<Function>, &Function)> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(id) => Some((*id, &self[*id])),
            _ => None,
        })
    }
}

/// A PTX ISA version, ordered as versions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Before the point.
    pub major: u32,
    /// Behind the point.
    pub minor: u32,
}

/// What stands at module scope (PTX ISA 4.1).
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// A variable (5.4).
    Variable(Id<Variable>),
    /// `.entry` or `.func`, declared or defined (11.2).
    Function(Id<Function>),
    /// `.alias alias, target;` (11.7.2)
    Alias {
        /// The new name.
        alias: Ident,
        /// The function that it stands for.
        target: Ident,
        /// The whole directive.
        span: Span,
    },
    /// `.file index "name" {, timestamp, size}` (11.5.3)
    File {
        /// Number that `.loc` uses.
        index: u32,
        /// File name.
        name: Id<StringLiteral>,
        /// Time stamp and size in bytes.
        stamp: Option<(u64, u64)>,
        /// The whole directive.
        span: Span,
    },
    /// `.section name { ... }` with debug data (11.5.2)
    Section {
        /// Section name with its leading dot.
        name: Ident,
        /// Data and labels.
        lines: List<SectionLine>,
        /// The whole directive.
        span: Span,
    },
    /// `@@DWARF ...`, the deprecated form of debug data (11.5.1): the line as it stands in the text.
    Dwarf(Ident),
    /// `.pragma` (11.4.1)
    Pragma(List<StringLiteral>),
    /// `.loc` at module scope
    Loc(Id<Loc>),
}

/// A line of a `.section`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SectionLine {
    /// `label:`
    Label(Ident),
    /// `.b8 1, 2` and the like; or, of `.b32` and `.b64`, one of `label`, `.section`, `label+offset`, `.section+offset`,
    /// `label1-label2`.
    Data {
        /// One of `.b8`, `.b16`, `.b32`, `.b64`.
        ty: ScalarType,
        /// The values.
        values: List<Expr>,
    },
}

/// A quoted string; its text stands between the quotes of the span, escapes unresolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringLiteral {
    /// What stands between the quotes.
    pub text: Name,
    /// Where, quotes included.
    pub span: Span,
}

/// Linking directives (11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// State spaces of declarations (5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateSpace {
    /// `.reg`
    Reg,
    /// `.sreg`
    Sreg,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
    /// `.tex`, deprecated
    Tex,
}

/// Types of declarations (5.2, 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the type of that name")]
pub enum ScalarType {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
    Pred,
    Texref,
    Samplerref,
    Surfref,
}

/// `.attribute(...)` of a variable or function (5.4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `.managed`
    Managed,
    /// `.unified(low, high)`: the 128-bit id
    Unified(u64, u64),
}

/// `.ptr` of a kernel parameter (11.2... "Kernel Function Parameter Attribute: .ptr").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointee {
    /// The space pointed into; generic where absent.
    pub space: Option<StateSpace>,
    /// Alignment of what it points to, in bytes; 4 where absent.
    pub align: Option<u32>,
}

/// One declared name; `.reg .b32 a, b;` makes two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variable {
    /// Linking directive, at module scope.
    pub linkage: Option<Linkage>,
    /// State space.
    pub space: StateSpace,
    /// Bank of `.const[bank]` (deprecated).
    pub bank: Option<u32>,
    /// `.attribute(...)`
    pub attribute: Option<Attribute>,
    /// `.align`, in bytes.
    pub align: Option<Spanned<u32>>,
    /// 2, 4 or 8 for `.v2`, `.v4`, `.v8`.
    pub vector: Option<u8>,
    /// Element type.
    pub ty: Spanned<ScalarType>,
    /// `.ptr` and what follows it.
    pub ptr: Option<Pointee>,
    /// The name; of a parametrised declaration (`%r<100>`) the prefix. In a prototype it may be `_`.
    pub name: Ident,
    /// `n` of `%r<n>`: declares `%r0` to `%r(n-1)`.
    pub count: Option<u32>,
    /// Array dimensions, outermost first; `None` is `[]`.
    pub dims: List<Option<u64>>,
    /// Initialiser.
    pub init: Option<Id<Expr>>,
    /// The whole declaration; with several names, from the name on.
    pub span: Span,
}

/// Kernel or device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// `.entry` or `.func` (11.2).
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Linking directive.
    pub linkage: Option<Linkage>,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// `.attribute(...)`
    pub attribute: Option<Attribute>,
    /// Return parameters.
    pub returns: List<Variable>,
    /// The name.
    pub name: Ident,
    /// Parameters.
    pub params: List<Variable>,
    /// Performance-tuning, cluster and other directives, in order.
    pub directives: List<FunctionDirective>,
    /// The body of a definition.
    pub body: Option<Body>,
    /// From the linking directive to the end of the head.
    pub span: Span,
}

/// Statements between braces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// The statements.
    pub statements: List<Statement>,
    /// From brace to brace.
    pub span: Span,
}

/// One to three dimensions of a directive; those left out are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// x, y, z.
    pub size: [u32; 3],
    /// How many were written.
    pub given: u8,
}

/// A directive behind a function's head, where it stands (11.3, 11.4, 11.8, 11.9).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FunctionDirective {
    /// Which.
    pub kind: DirectiveKind,
    /// Where.
    pub span: Span,
}

/// The directives that a function's head may carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DirectiveKind {
    /// `.maxnreg`: registers per thread
    MaxNReg(u32),
    /// `.maxntid`: most threads per CTA
    MaxNTid(Extent),
    /// `.reqntid`: exact threads per CTA
    ReqNTid(Extent),
    /// `.minnctapersm`
    MinNCtaPerSm(u32),
    /// `.maxnctapersm`, deprecated
    MaxNCtaPerSm(u32),
    /// `.noreturn`
    NoReturn,
    /// `.pragma`
    Pragma(List<StringLiteral>),
    /// `.reqnctapercluster`: exact CTAs per cluster
    ReqNCtaPerCluster(Extent),
    /// `.explicitcluster`
    ExplicitCluster,
    /// `.maxclusterrank`
    MaxClusterRank(u32),
    /// `.blocksareclusters`
    BlocksAreClusters,
    /// `.abi_preserve`
    AbiPreserve(u32),
    /// `.abi_preserve_control`
    AbiPreserveControl(u32),
}
