//! The syntax tree of a PTX module (PTX ISA 4 to 6, 8 and 11): what was written, not what it means.
//!
//! Nodes live in flat arrays of the [`Module`] and refer to each other by [`Id`] and [`List`], so that a file of
//! megabytes costs a few allocations. Both index the module: `module[id]`, `module[list]` (a slice).
//! Names are interned ([`Name`]); nothing here knows an instruction or checks a type.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Index;
use std::sync::Arc;

use super::names::{Name, Names};
use super::span::Span;

/// One node in the array of its kind.
pub struct Id<T> {
    index: u32,
    kind: PhantomData<fn() -> T>,
}

/// A run of nodes in the array of their kind.
pub struct List<T> {
    start: u32,
    len: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// The index in the array of its kind: unique among nodes of that kind in a module.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl<T> List<T> {
    /// The list of nothing.
    pub const EMPTY: Self = Self { start: 0, len: 0, kind: PhantomData };

    /// How many nodes it holds.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether it holds nothing.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The ids of its nodes, in order.
    pub fn ids(self) -> impl DoubleEndedIterator<Item = Id<T>> + ExactSizeIterator {
        (self.start..self.start + self.len).map(|index| Id { index, kind: PhantomData })
    }
}

macro_rules! plain_handle {
    ($handle:ident, $($field:ident),+) => {
        impl<T> Clone for $handle<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $handle<T> {}
        impl<T> PartialEq for $handle<T> {
            fn eq(&self, other: &Self) -> bool {
                ($(self.$field),+) == ($(other.$field),+)
            }
        }
        impl<T> Eq for $handle<T> {}
        impl<T> Hash for $handle<T> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                ($(self.$field),+).hash(state);
            }
        }
        impl<T> fmt::Debug for $handle<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($handle), "{:?}"), ($(self.$field),+))
            }
        }
    };
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

plain_handle!(Id, index);
plain_handle!(List, start, len);

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

/// The arrays behind [`Id`] and [`List`].
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    pub(super) idents: Vec<Ident>,
    pub(super) variables: Vec<Variable>,
    pub(super) functions: Vec<Function>,
    pub(super) directives: Vec<FunctionDirective>,
    pub(super) statements: Vec<Statement>,
    pub(super) operands: Vec<Operand>,
    pub(super) addresses: Vec<Address>,
    pub(super) exprs: Vec<Expr>,
    pub(super) dims: Vec<Option<u64>>,
    pub(super) locs: Vec<Loc>,
    pub(super) prototypes: Vec<Prototype>,
    pub(super) section_lines: Vec<SectionLine>,
    pub(super) strings: Vec<StringLiteral>,
}

macro_rules! arenas {
    ($($field:ident: $node:ty),+ $(,)?) => {$(
        impl Index<Id<$node>> for Module {
            type Output = $node;
            fn index(&self, id: Id<$node>) -> &$node {
                &self.nodes.$field[id.index()]
            }
        }
        impl Index<List<$node>> for Module {
            type Output = [$node];
            fn index(&self, list: List<$node>) -> &[$node] {
                &self.nodes.$field[list.start as usize..][..list.len as usize]
            }
        }
        impl Arena<$node> for Nodes {
            fn arena(&mut self) -> &mut Vec<$node> {
                &mut self.$field
            }
        }
    )+};
}
arenas! {
    idents: Ident, variables: Variable, functions: Function, directives: FunctionDirective,
    statements: Statement, operands: Operand, addresses: Address, exprs: Expr, dims: Option<u64>,
    locs: Loc, prototypes: Prototype, section_lines: SectionLine, strings: StringLiteral,
}

/// Which array of [`Nodes`] holds the nodes of a kind.
pub(super) trait Arena<T> {
    fn arena(&mut self) -> &mut Vec<T>;
}

impl Nodes {
    /// Adds one node.
    pub(super) fn push<T>(&mut self, node: T) -> Id<T>
    where
        Self: Arena<T>,
    {
        let arena = self.arena();
        arena.push(node);
        Id { index: arena.len() as u32 - 1, kind: PhantomData }
    }

    /// How many nodes of a kind there are: where a list begins whose nodes are pushed one by one.
    pub(super) fn mark<T>(&mut self) -> u32
    where
        Self: Arena<T>,
    {
        self.arena().len() as u32
    }

    /// The nodes pushed since `start`, which came from [`Self::mark`].
    pub(super) fn since<T>(&mut self, start: u32) -> List<T>
    where
        Self: Arena<T>,
    {
        List { start, len: self.arena().len() as u32 - start, kind: PhantomData }
    }

    /// Adds nodes next to each other.
    pub(super) fn extend<T>(&mut self, nodes: impl IntoIterator<Item = T>) -> List<T>
    where
        Self: Arena<T>,
    {
        let arena = self.arena();
        let start = arena.len() as u32;
        arena.extend(nodes);
        List { start, len: arena.len() as u32 - start, kind: PhantomData }
    }
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

/// A statement of a function body (4.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statement {
    /// `name:`
    Label(Ident),
    /// An instruction.
    Instruction(Instruction),
    /// A variable of this scope.
    Variable(Id<Variable>),
    /// `{ ... }`: a scope.
    Block(Body),
    /// `name: .branchtargets a, b;` (11.3)
    BranchTargets {
        /// What `brx.idx` names.
        name: Ident,
        /// The labels.
        targets: List<Ident>,
    },
    /// `name: .calltargets f, g;`
    CallTargets {
        /// What an indirect `call` names.
        name: Ident,
        /// The functions.
        targets: List<Ident>,
    },
    /// `name: .callprototype (ret) _ (params) ...;`
    CallPrototype(Id<Prototype>),
    /// `.loc`
    Loc(Id<Loc>),
    /// `.pragma`
    Pragma(List<StringLiteral>),
}

/// `.callprototype`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prototype {
    /// What an indirect `call` names.
    pub name: Ident,
    /// Return parameters.
    pub returns: List<Variable>,
    /// Parameters.
    pub params: List<Variable>,
    /// `.noreturn`, `.abi_preserve`, `.abi_preserve_control`.
    pub directives: List<FunctionDirective>,
    /// The whole directive.
    pub span: Span,
}

/// File, line and column of a source program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Index given by `.file`.
    pub file: u32,
    /// Line, from one.
    pub line: u32,
    /// Column, from one; zero is unknown.
    pub column: u32,
}

/// `.loc` (11.5.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loc {
    /// Where the following instructions come from.
    pub at: SourceLine,
    /// `function_name label {+ offset}`: the inlined function's name in a debug section.
    pub function: Option<(Ident, u64)>,
    /// `inlined_at`: where it was inlined.
    pub inlined_at: Option<SourceLine>,
    /// The whole directive.
    pub span: Span,
}

/// An instruction (4.3.2): `@p opcode.modifier... operands;`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instruction {
    /// Guard predicate.
    pub guard: Option<Guard>,
    /// Opcode without its modifiers: `cp` of `cp.async.bulk`.
    pub opcode: Ident,
    /// What follows the opcode, without the leading dot: `L2::128B`, `shared::cta`, `v4`, `f32`. The span starts at the dot.
    pub modifiers: List<Ident>,
    /// Operands in order.
    pub operands: List<Operand>,
    /// From the guard to the semicolon.
    pub span: Span,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Whether `!` stands before it.
    pub negated: bool,
    /// The predicate register.
    pub predicate: Ident,
}

/// An operand where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of operands (6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperandKind {
    /// A register, special register, variable, function, or label.
    Name(Name),
    /// `%tid.x`, `%v.y`, `%r.b0`, `%r.h10`: component of a vector or selector of a video instruction.
    Member(Name, Name),
    /// A number; unary minus is already applied.
    Literal(Literal),
    /// Any other constant expression, or `variable+offset`.
    Expr(Id<Expr>),
    /// `[...]`
    Address(Id<Address>),
    /// `array[index]` without brackets around it: the element's address.
    Element(Name, Id<Address>),
    /// `{a, b, c, d}`
    Vector(List<Operand>),
    /// `(a, b)` of `call`
    Arguments(List<Operand>),
    /// `a|p`
    Pair(Id<Operand>, Id<Operand>),
    /// `!p`
    Not(Id<Operand>),
    /// `-a`, of video instructions
    Minus(Id<Operand>),
    /// `_`
    Sink,
}

/// `[base + offset, more...]`, or the inside of `array[index]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    /// Register, variable, number, or `array[index]`.
    pub base: Id<Operand>,
    /// What is added, in bytes: a constant expression.
    pub offset: Option<Id<Expr>>,
    /// What follows the first comma: coordinates, sampler, offsets (`[tex, smp, {x, y}]`, `[map, {c0, c1}, {o0}]`).
    pub rest: List<Operand>,
    /// `.unified` behind the bracket.
    pub unified: bool,
}

/// A number (4.5): 64 bits wide, signed where it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// An integer of type `.s64`
    Int(i64),
    /// An integer with `U`, or one too large for `.s64`
    Uint(u64),
    /// The bits of `0f...`
    F32(u32),
    /// The bits of `0d...`, or of a number written with a point or exponent
    F64(u64),
}

/// An expression where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// Constant expressions (4.5.5) and initialisers (5.4.4). Parentheses leave no trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExprKind {
    /// A number; unary minus is already applied.
    Literal(Literal),
    /// `WARP_SZ`, a variable, a function, or a label of a section.
    Name(Name),
    /// `generic(variable)`: its generic address.
    Generic(Id<Expr>),
    /// `0xff00(expression)`: bits of an address.
    Mask(u64, Id<Expr>),
    /// `-a`, `+a`, `!a`, `~a`
    Unary(UnaryOp, Id<Expr>),
    /// `a + b` and so on
    Binary(BinaryOp, Id<Expr>, Id<Expr>),
    /// `a ? b : c`
    Conditional(Id<Expr>, Id<Expr>, Id<Expr>),
    /// `(.s64) a`, `(.u64) a`
    Cast(ScalarType, Id<Expr>),
    /// `name = a`, in initialisers of samplers and textures only
    Field(Name, Id<Expr>),
    /// `{a, b, {c, d}}`, in initialisers only
    Braces(List<Expr>),
    /// `"text"`, in initialisers of byte arrays only
    String(Id<StringLiteral>),
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of C's operators")]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}
