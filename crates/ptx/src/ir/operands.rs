//! What an instruction reads and writes: the one list of operands that every pass goes by.
//!
//! [`Inst::operands`] and [`Terminator::operands`] give every register and constant with its role and the type that the instruction
//! takes it as, the guard included; nothing that an instruction reads or writes is missing from it. [`Inst::operands_mut`] gives the
//! same places for renaming, [`Inst::symbols`] what of the module an instruction refers to. No pass matches on [`Op`] to learn what is alive.

mod families;
mod walk;

use super::{Address, FunctionId, GlobalId, Inst, Operand, PrototypeId, Reg, ScalarType, Terminator};
use smallvec::SmallVec;
use walk::{Seen, SeenMut};

/// What an instruction does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Writes it, in the lanes for which the guard holds.
    Def,
    /// Reads it as a value.
    Use,
    /// Reads the predicate that decides which lanes take part.
    Guard,
    /// Reads the base of an address: a register of 64 bits, or one of 32 bits, which is zero-extended.
    Address,
    /// Reads the address of the function that is called.
    Callee,
    /// Reads the handle of a texture, surface or sampler.
    Opaque,
}

impl Role {
    /// Whether the operand is read.
    pub const fn reads(self) -> bool {
        !matches!(self, Role::Def)
    }
}

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandRef {
    /// What is done with it.
    pub role: Role,
    /// As what it is read or written.
    pub ty: ScalarType,
    /// The register or constant; always a register unless `role` is [`Role::Use`].
    pub value: Operand,
}

impl OperandRef {
    /// The register that is written, if one is.
    pub fn def(&self) -> Option<Reg> {
        self.value.reg().filter(|_| self.role == Role::Def)
    }

    /// The register that is read, if one is.
    pub fn read(&self) -> Option<Reg> {
        self.value.reg().filter(|_| self.role.reads())
    }
}

/// The place of an operand in an instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct OperandMut<'i> {
    /// What is done with it.
    pub role: Role,
    /// As what it is read or written.
    pub ty: ScalarType,
    /// Where it stands.
    pub place: PlaceMut<'i>,
}

/// What can stand at the place of an operand.
#[derive(Debug, PartialEq, Eq)]
pub enum PlaceMut<'i> {
    /// Only a register.
    Reg(&'i mut Reg),
    /// A register or a constant.
    Value(&'i mut Operand),
}

impl OperandMut<'_> {
    /// The register, if one stands there.
    pub fn reg(&mut self) -> Option<&mut Reg> {
        match &mut self.place {
            PlaceMut::Reg(reg) => Some(reg),
            PlaceMut::Value(Operand::Reg(reg)) => Some(reg),
            PlaceMut::Value(Operand::Imm(_)) => None,
        }
    }
}

/// A part of the module that an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Symbol {
    Global(GlobalId),
    Function(FunctionId),
    Prototype(PrototypeId),
}

/// The place of such a reference.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SymbolMut<'i> {
    Global(&'i mut GlobalId),
    Function(&'i mut FunctionId),
    Prototype(&'i mut PrototypeId),
}

/// The operands of one instruction.
pub type OperandRefs = SmallVec<[OperandRef; 6]>;

impl Inst {
    /// Every operand: the guard, then those of the operation, results first.
    pub fn operands(&self) -> OperandRefs {
        let mut seen = Seen::default();
        seen.guard(&self.guard);
        seen.op(&self.op);
        seen.operands
    }

    /// The places of the same operands, in the same order.
    pub fn operands_mut(&mut self) -> SmallVec<[OperandMut<'_>; 6]> {
        let mut seen = SeenMut::default();
        seen.guard(&mut self.guard);
        seen.op(&mut self.op);
        seen.operands
    }

    /// The addresses in brackets, whatever they are relative to.
    pub fn addresses(&self) -> SmallVec<[Address; 2]> {
        let mut seen = Seen::default();
        seen.op(&self.op);
        seen.addresses
    }

    /// The variables, functions and prototypes that the instruction names.
    pub fn symbols(&self) -> SmallVec<[Symbol; 2]> {
        let mut seen = Seen::default();
        seen.op(&self.op);
        seen.symbols
    }

    /// The places of the same references.
    pub fn symbols_mut(&mut self) -> SmallVec<[SymbolMut<'_>; 2]> {
        let mut seen = SeenMut::default();
        seen.op(&mut self.op);
        seen.symbols
    }
}

impl Terminator {
    /// Every operand: the guard, then the index of a `brx.idx`.
    pub fn operands(&self) -> OperandRefs {
        let mut seen = Seen::default();
        seen.guard(&self.guard);
        seen.terminator(&self.kind);
        seen.operands
    }

    /// The places of the same operands, in the same order.
    pub fn operands_mut(&mut self) -> SmallVec<[OperandMut<'_>; 6]> {
        let mut seen = SeenMut::default();
        seen.guard(&mut self.guard);
        seen.terminator(&mut self.kind);
        seen.operands
    }
}
