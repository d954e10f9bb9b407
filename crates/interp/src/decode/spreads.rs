//! How addresses lie, as far as that is known when code is decoded: the fewer instructions look, the better.
//!
//! What is run ahead of a kernel (`hoist`) lies as it does for the whole launch or CTA, and is looked at then. Within a basic block the
//! first access through a register looks, for those behind it; registers that differ by the same in all lanes lie alike.

use std::collections::HashMap;

use warploom_ptx::ir::{Inst, IntBinaryOp, Op as Ir, Operand, Reg};

use super::hoist::{Hoisted, When};
use super::{Decoder, bump};
use crate::frame::Home;
use crate::isa::Op;
use crate::machine::NO_GUARD;
use crate::memory::{Base, FORGOTTEN, FRESH};
use crate::ops::spreads::Look;
use crate::program;

/// What is known at a place in the code.
#[derive(Default)]
pub(super) struct Spreads {
    /// Looked at in this basic block: the row, the bytes accessed, where it is remembered.
    seen: Vec<(Base, u32, u32)>,
    /// 64-bit rows written in this basic block, each with the row that it differs from by the same in all lanes. Longer distances than
    /// addresses are wide would not do: a 32-bit sum may wrap around in some lanes only.
    apart: Vec<(u32, u32)>,
    /// Rows that are run ahead.
    kept: Vec<(Base, When)>,
    /// Looked at ahead.
    ahead: HashMap<(Base, u32), u32>,
}

impl Spreads {
    pub(super) fn new(homes: &[Home], hoisted: &Hoisted) -> Self {
        let kept = hoisted.written_ahead().filter_map(|(reg, when)| Some((base(homes[reg.0 as usize])?, when)));
        Self { kept: kept.collect(), ..Self::default() }
    }

    /// Another basic block begins, or other lanes may come in.
    pub(super) fn forget_all(&mut self) {
        self.seen.clear();
        self.apart.clear();
    }
}

/// The row of a register, as an address.
fn base(home: Home) -> Option<Base> {
    match home {
        Home::Word(row) => Some(Base::Word(row)),
        Home::Double(row) => Some(Base::Double(row)),
        Home::Quad(_) | Home::Predicate(_) => None,
    }
}

impl Decoder<'_> {
    /// The slot in which instructions with the same addresses remember how these lie. An instruction that has a guard may not run: it
    /// looks, but nothing relies on it.
    pub(super) fn remembered(&mut self, row: Base, size: u32) -> u32 {
        if let Some(&(_, when)) = self.spreads.kept.iter().find(|(kept, _)| *kept == row) {
            let (a, op) = match row {
                Base::Word(a) => (a, Op::lanes::<Look<u32>>()),
                Base::Double(a) => (a, Op::lanes::<Look<u64>>()),
                Base::None | Base::Shared | Base::Frame | Base::Variable(_) => return FORGOTTEN,
            };
            let layout = &mut self.function.layout;
            return *self.spreads.ahead.entry((row, size)).or_insert_with(|| {
                let (slot, run) = (bump(&mut layout.spreads, 1), op.select(self.context.isa));
                let look = program::Inst { run, d: slot, a, b: 0, c: 0, imm: size, guard: NO_GUARD };
                self.looks_ahead.push((look, when));
                slot
            });
        }
        let row = match row {
            Base::Double(row) => Base::Double(self.origin(row)),
            other => other,
        };
        if let Some(&(.., slot)) = self.spreads.seen.iter().find(|&&(base, bytes, _)| base == row && bytes == size) {
            return slot;
        }
        if self.guard != NO_GUARD {
            return FORGOTTEN;
        }
        let slot = bump(&mut self.function.layout.spreads, 1);
        self.spreads.seen.push((row, size, slot));
        slot | FRESH
    }

    /// The row that a row of this basic block lies like.
    fn origin(&self, row: u32) -> u32 {
        self.spreads.apart.iter().find(|(other, _)| *other == row).map_or(row, |&(_, origin)| origin)
    }

    /// Notes what an instruction does to the registers that it writes.
    pub(super) fn note_written(&mut self, inst: &Inst) {
        if let Some((dst, src)) = self.shifted(inst) {
            let origin = self.origin(src);
            if dst != src {
                self.forget(dst);
                // Unless it was the origin that has been overwritten: then all that came from it lies as the new value does.
                if origin != dst {
                    self.spreads.apart.push((dst, origin));
                }
            }
            return;
        }
        for reg in inst.operands().iter().filter_map(|operand| operand.def()) {
            match self.home(reg) {
                Home::Double(row) => self.forget(row),
                Home::Quad(row) => [row, row + 1].into_iter().for_each(|row| self.forget(row)),
                Home::Word(row) => self.spreads.seen.retain(|&(base, ..)| base != Base::Word(row)),
                Home::Predicate(_) => {}
            }
        }
    }

    /// Forgets how the addresses in a 64-bit row lay.
    fn forget(&mut self, row: u32) {
        self.spreads.seen.retain(|&(base, ..)| base != Base::Double(row));
        self.spreads.apart.retain(|&(other, origin)| other != row && origin != row);
    }

    /// The 64-bit rows of an addition of the same in all lanes: result and source.
    fn shifted(&self, inst: &Inst) -> Option<(u32, u32)> {
        let Inst {
            guard: None,
            op: Ir::IntBinary { op: IntBinaryOp::Add, ty, sat: false, relu: false, dst, a, b },
            ..
        } = *inst
        else {
            return None;
        };
        let double = |reg: Reg| match self.home(reg) {
            Home::Double(row) if ty.bits() == 64 => Some(row),
            _ => None,
        };
        let same = |operand: Operand| match operand {
            Operand::Imm(_) => true,
            Operand::Reg(reg) => self.hoisted.uniform[reg.0 as usize],
        };
        let src = match (a, b) {
            (Operand::Reg(src), other) | (other, Operand::Reg(src)) if same(other) => src,
            (other, Operand::Reg(src)) if same(other) => src,
            _ => return None,
        };
        Some((double(dst)?, double(src)?))
    }
}
