//! Loads, stores, cache hints (PTX ISA 9.7.9.8 to 9.7.9.18) and atomics (9.7.13.5 to 9.7.13.7).

use warploom_exec::memory::Order;
use warploom_ptx::ir::{self, Address, FunctionKind, Op as Ir, Operand, ScalarType, Semantics, Space};

use super::{Decoded, Decoder, Home, Refused, Variable};
use crate::frame::Word;
use crate::isa::Op;
use crate::memory::{Access, Base, Extend, Slot, StateSpace};
use crate::ops::atomic::{self, AtomicSite, Shared32};
use crate::ops::global::{
    LoadGlobal, LoadGlobalVector, LoadNarrow, LoadParam, LoadVariable, StoreGlobal, StoreGlobalVector, StoreNarrow,
};
use crate::ops::load_store;
use crate::ops::shared::{LoadShared, StoreShared};

/// A resolved address.
struct Place {
    space: StateSpace,
    base: Base,
    offset: i64,
}

impl Decoder<'_> {
    pub(super) fn memory(&mut self, op: &Ir) -> Decoded {
        match op {
            // Every thread of the machine sees what any thread sees, whatever the scope; caches have no say.
            Ir::Ld { space, ty, to, semantics, dst, addr, scope: _, nc: _, cache: _, unified: _ } => {
                let place = self.address(*space, addr)?;
                let slots = dst.iter().map(|&reg| self.slot(reg)).collect::<Decoded<Vec<_>>>()?;
                let extend = match (ty.is_signed(), to.bits()) {
                    (true, 16) => Extend::Sign16,
                    (true, _) => Extend::Sign,
                    (false, _) => Extend::Zero,
                };
                self.load(place, *ty, *semantics, slots, extend);
            }
            Ir::St { space, ty, from: _, semantics, src, addr, scope: _, cache: _ } => {
                let place = self.address(*space, addr)?;
                let slots = src.iter().map(|&value| self.value(*ty, value)).collect::<Decoded<Vec<_>>>()?;
                self.store(place, *ty, *semantics, slots);
            }
            // Hints have no effect on results: nothing is left of them. `discard` leaves bytes undefined, so also as they were.
            Ir::CacheHint { .. } => {}
            // Halves never flush, and have no form without `.noftz`.
            Ir::Atom { op, space, ty, semantics, dst, addr, b, c, scope: _, noftz: _ } => {
                let Place { space, base, offset } = self.address(*space, addr)?;
                // A result that nobody reads makes it a reduction, which need not put the old values together.
                let results = match dst {
                    Some(regs) if regs.iter().any(|reg| self.counts.reads[reg.0 as usize] != 0) => {
                        regs.iter().map(|&reg| self.slot(reg)).collect::<Decoded<Vec<_>>>()?
                    }
                    _ => Vec::new(),
                };
                let operands = b.iter().map(|&value| self.value(*ty, value)).collect::<Decoded<Vec<_>>>()?;
                let replacement = c.map(|value| self.value(*ty, value)).transpose()?;
                let order = order(*semantics);
                let words = results.iter().chain(&operands).all(|slot| matches!(slot, Slot::Word(_)));
                let simple = ty.bytes() == 4 && operands.len() == 1 && words && replacement.is_none();
                let run = match space {
                    StateSpace::Shared if simple && *op == ir::AtomicOp::Add && !ty.is_float() => {
                        Op::lanes::<Shared32<true>>()
                    }
                    StateSpace::Shared if simple => Op::lanes::<Shared32<false>>(),
                    StateSpace::Global if simple && !ty.is_float() => Op::scalar(atomic::global32),
                    _ => Op::scalar(atomic::atomic),
                };
                let site = self.function.atomics.len() as u32;
                self.function.atomics.push(AtomicSite {
                    op: *op,
                    ty: *ty,
                    order,
                    space,
                    base,
                    offset,
                    results,
                    operands,
                    replacement,
                });
                self.emit(run, 0, [0; 3], site);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    /// A stored value: constants become rows.
    pub(super) fn value(&mut self, ty: ScalarType, operand: Operand) -> Decoded<Slot> {
        match operand {
            Operand::Reg(reg) => match self.home(reg) {
                Home::Predicate(_) => Err(Refused::Unsupported),
                _ => self.slot(reg),
            },
            Operand::Imm(value) if ty.bits() > 64 => {
                let low = self.temporary64();
                let high = self.temporary64();
                self.function.layout.constants64.push((low, value));
                self.function.layout.constants64.push((high, 0));
                Ok(Slot::Quad(low))
            }
            Operand::Imm(value) if ty.bits() > 32 => Ok(Slot::Double(self.constant64(value))),
            Operand::Imm(value) => Ok(Slot::Word(self.constant32(value as u32))),
        }
    }

    fn address(&mut self, space: Space, address: &Address) -> Decoded<Place> {
        let kernel = self.source.kind == FunctionKind::Kernel;
        let mut offset = address.offset;
        let mut space = match space {
            Space::Generic => StateSpace::Generic,
            Space::Global | Space::Const => StateSpace::Global,
            Space::Shared | Space::SharedCluster => StateSpace::Shared,
            Space::Local => StateSpace::Local,
            Space::Param if kernel => StateSpace::Param,
            Space::Param => StateSpace::Local,
        };
        let base = match address.base {
            ir::Base::Absolute => Base::None,
            ir::Base::Reg(reg) => match self.home(reg) {
                Home::Word(slot) => Base::Word(slot),
                Home::Double(slot) | Home::Quad(slot) => Base::Double(slot),
                Home::Predicate(_) => return Err(Refused::Unsupported),
            },
            // The variable's own space decides: `ld [variable]` is written without one too.
            ir::Base::Global(id) => match self.variable(id)? {
                Variable::Shared(start) => {
                    offset = offset.wrapping_add(i64::from(start));
                    space = StateSpace::Shared;
                    Base::None
                }
                Variable::Placed(number) => {
                    space = StateSpace::Global;
                    Base::Variable(number)
                }
            },
            ir::Base::LocalFrame => {
                space = StateSpace::Local;
                Base::Frame
            }
            ir::Base::ParamFrame if kernel && offset < i64::from(self.source.param_buffer_size) => {
                space = StateSpace::Param;
                Base::None
            }
            ir::Base::ParamFrame => {
                space = StateSpace::Local;
                offset += i64::from(self.param_base() as i32);
                Base::Frame
            }
        };
        Ok(Place { space, base, offset })
    }

    fn access(&mut self, place: &Place, ty: ScalarType, semantics: Semantics, slots: Vec<Slot>, extend: Extend) -> u32 {
        let index = self.function.accesses.len() as u32;
        let Place { space, base, offset } = *place;
        let strong = semantics != Semantics::Weak;
        self.function.accesses.push(Access { space, base, offset, size: ty.bytes(), slots, extend, strong });
        index
    }

    /// Emits an access at `offset` from row `a`, of which is remembered how its addresses lie.
    fn emit_remembered(&mut self, op: Op, d: u32, (base, a): (Base, u32), access: u32, bytes: u32, offset: i32) {
        let spread = self.remembered(base, bytes);
        self.emit(op, d, [a, access, spread], offset as u32);
    }

    fn load(&mut self, place: Place, ty: ScalarType, semantics: Semantics, slots: Vec<Slot>, extend: Extend) {
        let words = slots.iter().all(|slot| matches!(slot, Slot::Word(_)));
        let doubles = slots.iter().all(|slot| matches!(slot, Slot::Double(_)));
        let fits = (words && ty.bytes() == 4) || (doubles && ty.bytes() == 8);
        let whole = ty.bytes() >= 4 && slots.iter().all(|slot| width(*slot) == ty.bytes());
        let count = slots.len();
        let first = slots.first().copied();
        let bytes = ty.bytes() * count as u32;
        let access = self.access(&place, ty, semantics, slots, extend);
        if semantics != Semantics::Weak {
            self.emit(Op::scalar(load_store::load_strong), 0, [0; 3], access);
            return;
        }
        let generic = place.space == StateSpace::Generic;
        match (place.space, place.base, i32::try_from(place.offset), count, first) {
            (StateSpace::Param, Base::None, Ok(offset), 1, Some(Slot::Word(d))) if fits => {
                self.emit(Op::lanes::<LoadParam<u32>>(), d, [offset as u32, 0, 0], access);
            }
            (StateSpace::Param, Base::None, Ok(offset), 1, Some(Slot::Double(d))) if fits => {
                self.emit(Op::lanes::<LoadParam<u64>>(), d, [offset as u32, 0, 0], access);
            }
            (StateSpace::Global, Base::None | Base::Variable(_), _, 1, Some(Slot::Word(d))) if fits => {
                self.emit(Op::lanes::<LoadVariable<u32>>(), d, [0; 3], access);
            }
            (StateSpace::Global, Base::None | Base::Variable(_), _, 1, Some(Slot::Double(d))) if fits => {
                self.emit(Op::lanes::<LoadVariable<u64>>(), d, [0; 3], access);
            }
            (StateSpace::Param | StateSpace::Global, Base::None | Base::Variable(_), ..) => {
                self.emit(Op::scalar(load_store::load_uniform), 0, [0; 3], access);
            }
            (StateSpace::Local, Base::None | Base::Frame, ..) if whole => {
                self.emit(Op::scalar(load_store::load_local_rows), 0, [0; 3], access);
            }
            (StateSpace::Global | StateSpace::Generic, Base::Double(a), Ok(offset), 1, Some(slot)) if fits => {
                let op = match (slot, generic) {
                    (Slot::Word(_), false) => Op::lanes::<LoadGlobal<u32, false>>(),
                    (Slot::Word(_), true) => Op::lanes::<LoadGlobal<u32, true>>(),
                    (_, false) => Op::lanes::<LoadGlobal<u64, false>>(),
                    (_, true) => Op::lanes::<LoadGlobal<u64, true>>(),
                };
                let (Slot::Word(d) | Slot::Double(d) | Slot::Quad(d)) = slot;
                self.emit_remembered(op, d, (place.base, a), access, bytes, offset);
            }
            (StateSpace::Global | StateSpace::Generic, Base::Double(a), Ok(offset), 2 | 4, _) if fits => {
                let op = match (words, count, generic) {
                    (true, 2, false) => Op::lanes::<LoadGlobalVector<u32, 2, false>>(),
                    (true, 2, true) => Op::lanes::<LoadGlobalVector<u32, 2, true>>(),
                    (true, _, false) => Op::lanes::<LoadGlobalVector<u32, 4, false>>(),
                    (true, _, true) => Op::lanes::<LoadGlobalVector<u32, 4, true>>(),
                    (false, 2, false) => Op::lanes::<LoadGlobalVector<u64, 2, false>>(),
                    (false, 2, true) => Op::lanes::<LoadGlobalVector<u64, 2, true>>(),
                    (false, _, false) => Op::lanes::<LoadGlobalVector<u64, 4, false>>(),
                    (false, _, true) => Op::lanes::<LoadGlobalVector<u64, 4, true>>(),
                };
                self.emit_remembered(op, 0, (place.base, a), access, bytes, offset);
            }
            (StateSpace::Global | StateSpace::Generic, Base::Double(a), Ok(offset), 1, Some(Slot::Word(d)))
                if ty.bytes() < 4 && extend == Extend::Zero =>
            {
                let op = match (ty.bytes(), generic) {
                    (1, false) => Op::lanes::<LoadNarrow<u8, false>>(),
                    (1, true) => Op::lanes::<LoadNarrow<u8, true>>(),
                    (_, false) => Op::lanes::<LoadNarrow<u16, false>>(),
                    (_, true) => Op::lanes::<LoadNarrow<u16, true>>(),
                };
                self.emit_remembered(op, d, (place.base, a), access, bytes, offset);
            }
            (StateSpace::Shared, Base::Word(a) | Base::Double(a), Ok(offset), 1 | 2 | 4, Some(first)) if fits => {
                let (Slot::Word(d) | Slot::Double(d) | Slot::Quad(d)) = first;
                let op = match place.base {
                    Base::Word(_) => load_shared::<u32>(words, count),
                    _ => load_shared::<u64>(words, count),
                };
                self.emit_remembered(op, d, (place.base, a), access, bytes, offset);
            }
            _ => self.emit(Op::scalar(load_store::load_any), 0, [0; 3], access),
        }
    }

    fn store(&mut self, place: Place, ty: ScalarType, semantics: Semantics, slots: Vec<Slot>) {
        let words = slots.iter().all(|slot| matches!(slot, Slot::Word(_)));
        let doubles = slots.iter().all(|slot| matches!(slot, Slot::Double(_)));
        let fits = (words && ty.bytes() == 4) || (doubles && ty.bytes() == 8);
        let whole = ty.bytes() >= 4 && slots.iter().all(|slot| width(*slot) == ty.bytes());
        let count = slots.len();
        let first = slots.first().copied();
        let bytes = ty.bytes() * count as u32;
        let access = self.access(&place, ty, semantics, slots, Extend::Zero);
        if semantics != Semantics::Weak {
            self.emit(Op::scalar(load_store::store_strong), 0, [0; 3], access);
            return;
        }
        let generic = place.space == StateSpace::Generic;
        match (place.space, place.base, i32::try_from(place.offset), count, first) {
            (StateSpace::Local, Base::None | Base::Frame, ..) if whole => {
                self.emit(Op::scalar(load_store::store_local_rows), 0, [0; 3], access);
            }
            (StateSpace::Global | StateSpace::Generic, Base::Double(a), Ok(offset), 1, Some(slot)) if fits => {
                let op = match (slot, generic) {
                    (Slot::Word(_), false) => Op::lanes::<StoreGlobal<u32, false>>(),
                    (Slot::Word(_), true) => Op::lanes::<StoreGlobal<u32, true>>(),
                    (_, false) => Op::lanes::<StoreGlobal<u64, false>>(),
                    (_, true) => Op::lanes::<StoreGlobal<u64, true>>(),
                };
                let (Slot::Word(d) | Slot::Double(d) | Slot::Quad(d)) = slot;
                self.emit_remembered(op, d, (place.base, a), access, bytes, offset);
            }
            (StateSpace::Global | StateSpace::Generic, Base::Double(a), Ok(offset), 2 | 4, _) if fits => {
                let op = match (words, count, generic) {
                    (true, 2, false) => Op::lanes::<StoreGlobalVector<u32, 2, false>>(),
                    (true, 2, true) => Op::lanes::<StoreGlobalVector<u32, 2, true>>(),
                    (true, _, false) => Op::lanes::<StoreGlobalVector<u32, 4, false>>(),
                    (true, _, true) => Op::lanes::<StoreGlobalVector<u32, 4, true>>(),
                    (false, 2, false) => Op::lanes::<StoreGlobalVector<u64, 2, false>>(),
                    (false, 2, true) => Op::lanes::<StoreGlobalVector<u64, 2, true>>(),
                    (false, _, false) => Op::lanes::<StoreGlobalVector<u64, 4, false>>(),
                    (false, _, true) => Op::lanes::<StoreGlobalVector<u64, 4, true>>(),
                };
                self.emit_remembered(op, 0, (place.base, a), access, bytes, offset);
            }
            (StateSpace::Global | StateSpace::Generic, Base::Double(a), Ok(offset), 1, Some(Slot::Word(d)))
                if ty.bytes() < 4 =>
            {
                let op = match (ty.bytes(), generic) {
                    (1, false) => Op::lanes::<StoreNarrow<u8, false>>(),
                    (1, true) => Op::lanes::<StoreNarrow<u8, true>>(),
                    (_, false) => Op::lanes::<StoreNarrow<u16, false>>(),
                    (_, true) => Op::lanes::<StoreNarrow<u16, true>>(),
                };
                self.emit_remembered(op, d, (place.base, a), access, bytes, offset);
            }
            (StateSpace::Shared, Base::Word(a) | Base::Double(a), Ok(offset), 1 | 2 | 4, Some(first)) if fits => {
                let (Slot::Word(d) | Slot::Double(d) | Slot::Quad(d)) = first;
                let op = match place.base {
                    Base::Word(_) => store_shared::<u32>(words, count),
                    _ => store_shared::<u64>(words, count),
                };
                self.emit_remembered(op, d, (place.base, a), access, bytes, offset);
            }
            _ => self.emit(Op::scalar(load_store::store_any), 0, [0; 3], access),
        }
    }
}

fn load_shared<B: Word + Into<u64>>(words: bool, count: usize) -> Op {
    match (words, count) {
        (true, 1) => Op::lanes::<LoadShared<B, u32, 1>>(),
        (true, 2) => Op::lanes::<LoadShared<B, u32, 2>>(),
        (true, _) => Op::lanes::<LoadShared<B, u32, 4>>(),
        (false, 1) => Op::lanes::<LoadShared<B, u64, 1>>(),
        (false, 2) => Op::lanes::<LoadShared<B, u64, 2>>(),
        (false, _) => Op::lanes::<LoadShared<B, u64, 4>>(),
    }
}

fn store_shared<B: Word + Into<u64>>(words: bool, count: usize) -> Op {
    match (words, count) {
        (true, 1) => Op::lanes::<StoreShared<B, u32, 1>>(),
        (true, 2) => Op::lanes::<StoreShared<B, u32, 2>>(),
        (true, _) => Op::lanes::<StoreShared<B, u32, 4>>(),
        (false, 1) => Op::lanes::<StoreShared<B, u64, 1>>(),
        (false, 2) => Op::lanes::<StoreShared<B, u64, 2>>(),
        (false, _) => Op::lanes::<StoreShared<B, u64, 4>>(),
    }
}

/// Bytes of a register.
fn width(slot: Slot) -> u32 {
    match slot {
        Slot::Word(_) => 4,
        Slot::Double(_) => 8,
        Slot::Quad(_) => 16,
    }
}

fn order(semantics: Semantics) -> Order {
    match semantics {
        Semantics::Acquire => Order::Acquire,
        Semantics::Release => Order::Release,
        Semantics::AcqRel => Order::AcqRel,
        Semantics::Sc => Order::SeqCst,
        Semantics::Weak | Semantics::Volatile | Semantics::Relaxed | Semantics::Mmio => Order::Relaxed,
    }
}
