//! Loads, stores, cache hints (PTX ISA 9.7.9.8 to 9.7.9.18) and atomics (9.7.13.5 to 9.7.13.7).

use warploom_exec::memory::Order;
use warploom_ptx::ir::{self, Address, FunctionKind, Op as Ir, Operand, ScalarType, Semantics, Space};

use super::access::Location;
use super::{Decoded, Decoder, Home, Refused, Variable, enter};
use crate::isa::Op;
use crate::memory::{Base, Extend, Slot, StateSpace};
use crate::ops::atomic::{self, AtomicSite, Shared32};

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
            Ir::Atom { op, space, ty, semantics, dst, addr, b, c, scope: _, noftz } => {
                let Location { space, base, offset } = self.address(*space, addr)?;
                // A result that nobody reads makes it a reduction, which need not put the old values together.
                let results = match dst {
                    // What a `cas` has found tells an observer whether it wrote.
                    Some(regs)
                        if self.context.observed.is_some()
                            || regs.iter().any(|reg| self.counts.reads[reg.0 as usize] != 0) =>
                    {
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
                let (op, ty, flushes) = (*op, *ty, !noftz);
                let site = AtomicSite { op, ty, order, flushes, space, base, offset, results, operands, replacement };
                let site = enter(&mut self.function.atomics, site);
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

    pub(super) fn address(&mut self, space: Space, address: &Address) -> Decoded<Location> {
        let kernel = self.source.kind == FunctionKind::Kernel;
        let mut offset = address.offset;
        let mut space = match space {
            Space::Generic => StateSpace::Generic,
            Space::Global | Space::Const => StateSpace::Global,
            Space::Shared => StateSpace::Shared,
            Space::SharedCluster => StateSpace::Cluster,
            Space::Local => StateSpace::Local,
            Space::Param if kernel => StateSpace::Param,
            Space::Param => StateSpace::Local,
        };
        let base = match address.base {
            ir::Base::Absolute if space == StateSpace::Shared => Base::Shared,
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
                    Base::Shared
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
        Ok(Location { space, base, offset })
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
