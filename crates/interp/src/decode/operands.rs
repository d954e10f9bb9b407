//! Where the operands of instructions lie: rows for registers, constants and addresses, predicates, and what crosses calls.

use warploom_ptx::ir::{self, GlobalId, Operand, Predicate, Reg, ScalarType};

use super::{Decoded, Decoder, Refused, Variable, bump, outside_frame};
use crate::frame::Home;
use crate::isa::Op;
use crate::machine::{INVERT, NO_GUARD};
use crate::memory::Slot;
use crate::ops::logic as predicates;
use crate::ops::moves as rows;
use crate::program::ValuePlace;

impl Decoder<'_> {
    pub(super) fn home(&self, reg: Reg) -> Home {
        self.homes[reg.0 as usize]
    }

    pub(super) fn ty(&self, reg: Reg) -> ScalarType {
        self.body.regs[reg.0 as usize].ty
    }

    pub(super) fn temporary32(&mut self) -> u32 {
        bump(&mut self.function.layout.rows32, 1)
    }

    pub(super) fn temporary64(&mut self) -> u32 {
        bump(&mut self.function.layout.rows64, 1)
    }

    pub(super) fn constant32(&mut self, value: u32) -> u32 {
        let layout = &mut self.function.layout;
        *self.constants32.entry(value).or_insert_with(|| {
            let slot = bump(&mut layout.rows32, 1);
            layout.constants32.push((slot, value));
            slot
        })
    }

    pub(super) fn constant64(&mut self, value: u64) -> u32 {
        let layout = &mut self.function.layout;
        *self.constants64.entry(value).or_insert_with(|| {
            let slot = bump(&mut layout.rows64, 1);
            layout.constants64.push((slot, value));
            slot
        })
    }

    pub(super) fn constant_predicate(&mut self, value: bool) -> u32 {
        if let Some(slot) = self.constant_predicates[usize::from(value)] {
            return slot;
        }
        let slot = bump(&mut self.function.layout.predicates, 1);
        self.function.layout.constant_predicates.push((slot, if value { u32::MAX } else { 0 }));
        self.constant_predicates[usize::from(value)] = Some(slot);
        slot
    }

    /// The 32-bit row of a source operand.
    pub(super) fn word(&mut self, operand: Operand) -> u32 {
        match operand {
            Operand::Imm(value) => self.constant32(value as u32),
            Operand::Reg(reg) => match self.home(reg) {
                Home::Word(slot) => slot,
                Home::Double(slot) | Home::Quad(slot) => {
                    let narrow = self.temporary32();
                    self.emit(Op::lanes::<rows::Narrow>(), narrow, [slot, 0, 0], 0);
                    narrow
                }
                Home::Predicate(slot) => self.predicate_word(slot),
            },
        }
    }

    /// The 64-bit row of a source operand.
    pub(super) fn double(&mut self, operand: Operand) -> u32 {
        match operand {
            Operand::Imm(value) => self.constant64(value),
            Operand::Reg(reg) => match self.home(reg) {
                Home::Double(slot) | Home::Quad(slot) => slot,
                Home::Word(slot) => {
                    let wide = self.temporary64();
                    self.emit(Op::lanes::<rows::Widen>(), wide, [slot, 0, 0], 0);
                    wide
                }
                Home::Predicate(slot) => {
                    let word = self.predicate_word(slot);
                    let wide = self.temporary64();
                    self.emit(Op::lanes::<rows::Widen>(), wide, [word, 0, 0], 0);
                    wide
                }
            },
        }
    }

    /// A predicate as a number, 0 or 1.
    pub(super) fn predicate_word(&mut self, slot: u32) -> u32 {
        let (one, zero, out) = (self.constant32(1), self.constant32(0), self.temporary32());
        self.emit(Op::lanes::<rows::Selp<u32>>(), out, [one, zero, slot], 0);
        out
    }

    /// The row of a source operand of a type: its width chooses the file.
    pub(super) fn source(&mut self, ty: ScalarType, operand: Operand) -> u32 {
        if ty.bits() > 32 { self.double(operand) } else { self.word(operand) }
    }

    /// The 32-bit row that an instruction writes for `reg`.
    pub(super) fn word_out(&mut self, reg: Reg, signed: bool) -> u32 {
        match self.home(reg) {
            Home::Word(slot) => slot,
            Home::Double(slot) | Home::Quad(slot) => {
                let narrow = self.temporary32();
                let op = if signed { Op::lanes::<rows::WidenS32>() } else { Op::lanes::<rows::Widen>() };
                self.emit_after(op, slot, narrow);
                narrow
            }
            Home::Predicate(_) => self.temporary32(),
        }
    }

    /// The 64-bit row that an instruction writes for `reg`.
    pub(super) fn double_out(&mut self, reg: Reg) -> u32 {
        match self.home(reg) {
            Home::Double(slot) | Home::Quad(slot) => slot,
            Home::Word(slot) => {
                let wide = self.temporary64();
                self.emit_after(Op::lanes::<rows::Narrow>(), slot, wide);
                wide
            }
            Home::Predicate(_) => self.temporary64(),
        }
    }

    /// The row that an instruction of a type writes for `reg`.
    pub(super) fn out(&mut self, ty: ScalarType, reg: Reg) -> u32 {
        if ty.bits() > 32 { self.double_out(reg) } else { self.word_out(reg, ty.is_signed()) }
    }

    pub(super) fn predicate(&mut self, predicate: Predicate) -> u32 {
        match self.home(predicate.reg) {
            Home::Predicate(slot) if predicate.negated => slot | INVERT,
            Home::Predicate(slot) => slot,
            // The verifier lets nothing else through.
            _ => self.constant_predicate(predicate.negated),
        }
    }

    /// A predicate as it is now, for an expansion of one instruction that writes `written` before it reads the predicate again.
    pub(super) fn latched(&mut self, predicate: u32, written: u32) -> u32 {
        if predicate == NO_GUARD || predicate & !INVERT != written {
            return predicate;
        }
        let copy = bump(&mut self.function.layout.predicates, 1);
        let guard = std::mem::replace(&mut self.guard, NO_GUARD);
        self.emit(Op::scalar(predicates::predicate_table), copy, [written, written, 0], 0b1000);
        self.guard = guard;
        copy | predicate & INVERT
    }

    pub(super) fn predicate_out(&mut self, reg: Reg) -> u32 {
        match self.home(reg) {
            Home::Predicate(slot) => slot,
            _ => bump(&mut self.function.layout.predicates, 1),
        }
    }

    /// A register as memory instructions see it.
    pub(super) fn slot(&self, reg: Reg) -> Decoded<Slot> {
        Ok(match self.home(reg) {
            Home::Word(slot) => Slot::Word(slot),
            Home::Double(slot) => Slot::Double(slot),
            Home::Quad(slot) => Slot::Quad(slot),
            Home::Predicate(_) => return Err(Refused::Unsupported),
        })
    }

    /// Start of the `.param` variables in the activation's local memory, relative to what the IR counts from.
    pub(super) fn param_base(&self) -> u32 {
        self.body.local_size.next_multiple_of(16).wrapping_sub(outside_frame(self.source))
    }

    pub(super) fn formal(&mut self, param: &ir::Param) -> ValuePlace {
        match param.storage {
            ir::Storage::Memory { offset } => ValuePlace::Bytes(offset.wrapping_add(self.param_base()), param.size),
            ir::Storage::Register(reg) => self.register_place(reg),
        }
    }

    pub(super) fn register_place(&self, reg: Reg) -> ValuePlace {
        match self.home(reg) {
            Home::Predicate(slot) => ValuePlace::Predicate(slot),
            Home::Word(slot) => ValuePlace::Word(slot),
            Home::Double(slot) | Home::Quad(slot) => ValuePlace::Double(slot),
        }
    }

    /// Where a variable of the module is found.
    pub(super) fn variable(&self, id: GlobalId) -> Decoded<Variable> {
        let global = &self.context.module.globals[id.0 as usize];
        let found = match global.space {
            ir::Space::Shared | ir::Space::SharedCluster => {
                self.context.shared.offsets.get(&id).map(|&offset| Variable::Shared(offset))
            }
            _ => (self.context.is_placed)(id).then_some(Variable::Placed(id.0)),
        };
        found.ok_or_else(|| Refused::Unresolved(global.name.clone()))
    }

    /// A row that holds the address of a variable with `offset` added, in the variable's own space.
    pub(super) fn variable_row(&mut self, id: GlobalId, offset: i64) -> Decoded<u32> {
        Ok(match self.variable(id)? {
            Variable::Shared(start) => self.constant64(u64::from(start).wrapping_add(offset as u64)),
            Variable::Placed(number) => {
                let layout = &mut self.function.layout;
                *self.variables.entry((number, offset)).or_insert_with(|| {
                    let slot = bump(&mut layout.rows64, 1);
                    layout.variables.push((slot, number, offset));
                    slot
                })
            }
        })
    }
}
