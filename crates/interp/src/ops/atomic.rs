//! Atomics and reductions (PTX ISA 9.7.13.5 to 9.7.13.7): `atom`, `red`.
//!
//! Global ones are atomics of the host. Shared and local ones are plain updates: a CTA runs on one OS thread.

use warploom_exec::fault::FaultKind;
use warploom_exec::memory::{AtomicOp as HostOp, Order, RunMut, claim};
use warploom_numerics::atomic::{self, Update};
use warploom_ptx::ir::{AtomicOp, ScalarType};

use crate::frame::Row64;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine, lanes};
use crate::memory::{Base, Slot, StateSpace, is_global};
use crate::program::Inst;
use crate::waiting::{Look, mix};

/// The operands of an atomic.
#[derive(Clone, Debug)]
pub(crate) struct AtomicSite {
    pub(crate) op: AtomicOp,
    pub(crate) ty: ScalarType,
    pub(crate) order: Order,
    /// Without `.noftz`: see [`atomic::add_f32`].
    pub(crate) flushes: bool,
    pub(crate) space: StateSpace,
    pub(crate) base: Base,
    pub(crate) offset: i64,
    /// Where the old values go; empty for `red`.
    pub(crate) results: Vec<Slot>,
    /// One operand for each element.
    pub(crate) operands: Vec<Slot>,
    /// The new value of `cas`.
    pub(crate) replacement: Option<Slot>,
}

/// `atom`, `red`: site `imm`.
pub(crate) fn atomic(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.atomics[inst.imm as usize];
    let addresses = machine.addresses(site.base, site.offset);
    let size = site.ty.bytes();
    if matches!(site.space, StateSpace::Global | StateSpace::Generic) {
        claim(&addresses, mask);
    }
    let mut found = [0; 32];
    let mut changed = false;
    for lane in lanes(mask) {
        for (index, &operand) in site.operands.iter().enumerate() {
            let address = addresses[lane].wrapping_add(index as u64 * u64::from(size));
            let b = machine.lane(operand, lane);
            let c = site.replacement.map_or(0, |slot| machine.lane(slot, lane));
            let old = match machine.update(site, address, lane, b, c) {
                Ok(old) => old,
                Err(kind) => return machine.fail(1 << lane, kind),
            };
            let width = width_mask(size);
            let flushes = site.flushes && is_global(site.space, address);
            changed |= updated(site.op, site.ty, flushes, old, b, c) & width != old & width;
            found[lane] = mix(mix(found[lane], old as u64), (old >> 64) as u64);
            if let Some(&slot) = site.results.get(index) {
                machine.set_lane(slot, lane, old);
            }
        }
    }
    machine.note_atomic(inst.imm, mask, changed, &addresses, || found);
    Flow::Next
}

/// An integer operation of 32 bits other than `cas` on global memory: site `imm`. Operands that the host's atomics take as they are.
pub(crate) fn global32(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.atomics[inst.imm as usize];
    let (Some(host), [Slot::Word(operand)]) = (host_op(site.op, site.ty), site.operands.as_slice()) else {
        return atomic(machine, inst, mask);
    };
    let result = match site.results.as_slice() {
        [Slot::Word(slot)] => Some(*slot),
        _ => None,
    };
    let addresses = machine.addresses(site.base, site.offset);
    let operand = machine.frame.r32[*operand as usize];
    let mut old = [0; 32];
    claim(&addresses, mask);
    for lane in lanes(mask) {
        match machine.view.atomic_u32(inst.imm, addresses[lane], host, operand[lane], site.order) {
            Ok(value) => old[lane] = value,
            Err(fault) => return machine.fail(1 << lane, FaultKind::Access(*fault)),
        }
    }
    let (op, ty) = (site.op, site.ty);
    let changes = |lane: usize| updated(op, ty, true, old[lane].into(), operand[lane].into(), 0) as u32 != old[lane];
    let changed = lanes(mask).any(changes);
    if let Some(slot) = result {
        machine.put(slot, mask, &old);
    }
    machine.note_atomic(inst.imm, mask, changed, &addresses, || old.map(u64::from));
    Flow::Next
}

/// An operation of 32 bits other than `cas` on shared memory: site `imm`. `ADD`: the operation is addition of integers.
pub(crate) struct Shared32<const ADD: bool>;

impl<const ADD: bool> LaneOp for Shared32<ADD> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let function = machine.function;
        let site = &function.atomics[inst.imm as usize];
        let (op, ty) = (site.op, site.ty);
        let [Slot::Word(operand)] = site.operands.as_slice() else { return atomic(machine, inst, mask) };
        let result = match site.results.as_slice() {
            [Slot::Word(slot)] => Some(*slot),
            _ => None,
        };
        let addresses = machine.addresses(site.base, site.offset);
        let operand = machine.frame.r32[*operand as usize];
        let mut old = [0; 32];
        let mut changed = false;
        // Other addresses than the own ones are far from here.
        let places = match machine.cta.base {
            0 => addresses,
            base => addresses.map(|address| address.wrapping_sub(u64::from(base))),
        };
        let done = RunMut::of(&mut machine.cta.shared).update(
            &places,
            mask,
            #[inline(always)]
            |lane, before: u32| {
                let b = operand[lane];
                let new = match ADD {
                    true => before.wrapping_add(b),
                    false => updated(op, ty, false, before.into(), b.into(), 0) as u32,
                };
                old[lane] = before;
                changed |= new != before;
                new
            },
        );
        if !done {
            return atomic(machine, inst, mask);
        }
        if let Some(slot) = result {
            machine.put(slot, mask, &old);
        }
        machine.note_atomic(inst.imm, mask, changed, &addresses, || old.map(u64::from));
        Flow::Next
    }
}

fn width_mask(size: u32) -> u128 {
    if size >= 16 { u128::MAX } else { (1 << (8 * size)) - 1 }
}

impl Machine<'_> {
    /// Notes what site `index` has done: an atomic that leaves memory as it was is a load.
    #[inline(always)]
    fn note_atomic(&mut self, index: u32, mask: u32, changed: bool, addresses: &Row64, old: impl FnOnce() -> Row64) {
        if changed {
            self.stores += 1;
            self.looks += 1;
        } else if !self.function.atomics[index as usize].results.is_empty() {
            self.note_look(Look::Atomic(index), mask, addresses, &old());
        }
    }

    /// Carries out one update and returns the value before it.
    fn update(&mut self, site: &AtomicSite, address: u64, lane: usize, b: u128, c: u128) -> Result<u128, FaultKind> {
        let size = site.ty.bytes();
        if is_global(site.space, address) {
            return self
                .update_global((site.op, site.ty, site.flushes), site.order, address, b, c)
                .map_err(|fault| FaultKind::Access(*fault));
        }
        let old = self.load(site.space, address, size, lane)?;
        let new = updated(site.op, site.ty, false, old, b, c);
        self.store(site.space, address, size, lane, new)?;
        Ok(old)
    }

    /// Carries out one update of global memory and returns the value before it.
    pub(crate) fn update_global(
        &mut self,
        (op, ty, flushes): (AtomicOp, ScalarType, bool),
        order: Order,
        address: u64,
        b: u128,
        c: u128,
    ) -> Result<u128, Box<warploom_exec::fault::AccessFault>> {
        let host = if ty.is_float() { None } else { host_op(op, ty) };
        Ok(match (ty.bytes(), host, op) {
            (4, Some(host), _) => u128::from(self.view.atomic_u32(0, address, host, b as u32, order)?),
            (8, Some(host), _) => u128::from(self.view.atomic_u64(0, address, host, b as u64, order)?),
            (1, _, AtomicOp::Cas) => u128::from(self.view.compare_exchange(address, b as u8, c as u8, order)?),
            (2, _, AtomicOp::Cas) => u128::from(self.view.compare_exchange(address, b as u16, c as u16, order)?),
            (4, _, AtomicOp::Cas) => u128::from(self.view.compare_exchange(address, b as u32, c as u32, order)?),
            (8, _, AtomicOp::Cas) => u128::from(self.view.compare_exchange(address, b as u64, c as u64, order)?),
            (_, _, AtomicOp::Cas) => self.view.compare_exchange(address, b, c, order)?,
            (2, ..) => u128::from(
                self.view.update(address, order, |old: u16| updated(op, ty, flushes, old.into(), b, c) as u16)?,
            ),
            (4, ..) => u128::from(
                self.view.update(address, order, |old: u32| updated(op, ty, flushes, old.into(), b, c) as u32)?,
            ),
            (8, ..) => u128::from(
                self.view.update(address, order, |old: u64| updated(op, ty, flushes, old.into(), b, c) as u64)?,
            ),
            _ => self.view.exchange(address, b, order)?,
        })
    }
}

fn host_op(op: AtomicOp, ty: ScalarType) -> Option<HostOp> {
    Some(match op {
        AtomicOp::Add => HostOp::Add,
        AtomicOp::And => HostOp::And,
        AtomicOp::Or => HostOp::Or,
        AtomicOp::Xor => HostOp::Xor,
        AtomicOp::Exch => HostOp::Exch,
        AtomicOp::Min if ty.is_signed() => HostOp::MinS,
        AtomicOp::Max if ty.is_signed() => HostOp::MaxS,
        AtomicOp::Min => HostOp::MinU,
        AtomicOp::Max => HostOp::MaxU,
        AtomicOp::Inc => HostOp::Inc,
        AtomicOp::Dec => HostOp::Dec,
        AtomicOp::Cas => return None,
    })
}

/// What an atomic leaves, that `flushes` subnormal numbers of `.f32` or does not. Bits above the type's width do not count.
pub(crate) fn updated(op: AtomicOp, ty: ScalarType, flushes: bool, old: u128, b: u128, c: u128) -> u128 {
    let update = match op {
        AtomicOp::Add => Update::Add,
        AtomicOp::And => Update::And,
        AtomicOp::Or => Update::Or,
        AtomicOp::Xor => Update::Xor,
        AtomicOp::Exch => Update::Exch,
        AtomicOp::Cas => Update::Cas,
        AtomicOp::Inc => Update::Inc,
        AtomicOp::Dec => Update::Dec,
        AtomicOp::Min => Update::Min,
        AtomicOp::Max => Update::Max,
    };
    match (ty, update) {
        (ScalarType::F32, Update::Add) => u128::from(atomic::add_f32(old as u32, b as u32, flushes)),
        (ScalarType::F64, Update::Add) => u128::from(atomic::add_f64(old as u64, b as u64)),
        (ScalarType::F16 | ScalarType::F16x2, _) => u128::from(atomic::f16x2(update, old as u32, b as u32)),
        (ScalarType::Bf16 | ScalarType::Bf16x2, _) => u128::from(atomic::bf16x2(update, old as u32, b as u32)),
        _ => atomic::integer(update, ty.bits(), ty.is_signed(), old, b, c),
    }
}
