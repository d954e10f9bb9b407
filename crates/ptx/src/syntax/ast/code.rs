//! Statements of function bodies: instructions, their operands, and expressions.

use super::{Body, FunctionDirective, Id, Ident, List, Name, ScalarType, Span, StringLiteral, Variable};

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
