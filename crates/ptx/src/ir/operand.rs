//! What instructions read and write.

use smallvec::SmallVec;

/// A virtual register of one function: index into [`super::Body::regs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A module variable: index into [`super::Module::globals`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalId(pub u32);

/// A kernel or device function: index into [`super::Module::functions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A basic block: index into [`super::Body::blocks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// The registers of a vector operand, or of a scalar one.
pub type Regs = SmallVec<[Reg; 4]>;

/// The values of a vector operand, or of a scalar one.
pub type Operands = SmallVec<[Operand; 1]>;

/// A source operand.
///
/// Special registers and addresses of variables never stand here: lowering puts a [`super::Op::ReadSpecial`] or
/// [`super::Op::AddressOf`] into a fresh register in front of the instruction, under the same guard.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A constant: the bit pattern of the operand's type, zero-extended to 64 bits.
    Imm(u64),
}

impl Operand {
    /// The register, if the operand is one.
    pub const fn reg(self) -> Option<Reg> {
        match self {
            Operand::Reg(reg) => Some(reg),
            Operand::Imm(_) => None,
        }
    }
}

/// A predicate operand `p` or `!p`, or a guard `@p` or `@!p`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// A register of type `.pred`.
    pub reg: Reg,
    /// Whether its complement is meant.
    pub negated: bool,
}

/// What an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The offset is the whole address.
    Absolute,
    /// A 32-bit (zero-extended) or 64-bit register.
    Reg(Reg),
    /// A module variable, in the variable's own space.
    Global(GlobalId),
    /// The local-memory frame of this activation of the function ([`super::Body::local_size`] bytes).
    LocalFrame,
    /// The parameter frame of this activation ([`super::Body::param_size`] bytes): the parameters first, at the offsets in
    /// [`super::Param`]; for a kernel they are the launch's parameter buffer.
    ParamFrame,
}

/// The operand of a memory instruction: `base + offset`, wrapping in the width of the address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// What the offset is added to.
    pub base: Base,
    /// In bytes; includes the place of the variable for the frame bases.
    pub offset: i64,
}

/// Something that [`super::Op::AddressOf`] takes the address of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressTarget {
    /// A module variable.
    Global(GlobalId),
    /// A function, for indirect calls.
    Function(FunctionId),
    /// A `.local` variable of this function, by its offset in the frame.
    LocalFrame,
    /// A `.param` variable of this function, by its offset in the frame.
    ParamFrame,
}

/// An argument, or the place of a result, at a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallArg {
    /// A value (arguments only) or register, passed as the parameter's type.
    Value {
        /// Of the parameter.
        ty: super::ScalarType,
        /// As what it is passed.
        value: Operand,
    },
    /// A `.param` variable of the caller.
    Param {
        /// Offset in the caller's parameter frame, in bytes.
        offset: u32,
        /// Size in bytes.
        size: u32,
    },
}

/// What is called.
#[derive(Clone, PartialEq, Eq)]
pub enum CallTarget {
    /// A function of the module, or an external one that the executor provides ([`super::Function::builtin`]).
    Direct(FunctionId),
    /// The function whose address is in a register.
    Indirect {
        /// 64-bit register holding what [`super::Op::AddressOf`] gave for the function.
        address: Reg,
        /// The shape of the callee, from `.callprototype` or from the first of the candidates.
        prototype: super::PrototypeId,
        /// From `.calltargets`: the only functions that can be meant; empty if a prototype was given.
        candidates: Vec<FunctionId>,
    },
}
