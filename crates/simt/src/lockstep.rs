//! Kernels that were written for warps in lockstep: their lanes read what other lanes have stored to shared memory, and nothing makes them wait for each other. The manual
//! leaves open what they read; hardware, whose lanes mostly run together, gives them what they ask for.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{BarrierOp, Body, Op, Semantics, Space};

use crate::divergence::successors;
use crate::range::{Interval, Ranges};
use crate::values::{ValueId, Values, paired};

/// Why lanes of a warp are taken to run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lockstep {
    /// Shared memory is accessed as volatile, and the lanes of a warp never wait for each other.
    Volatile,
    /// An instruction loads from shared memory what may be another lane's of what was stored before, with no barrier on the way.
    ReadBack {
        /// What stores.
        store: u32,
        /// What loads.
        load: u32,
    },
}

/// Whether a kernel takes for granted that warps run in lockstep.
pub(crate) fn lockstep(body: &Body, values: &Values, ranges: &Ranges) -> Option<Lockstep> {
    let volatile = |op: &Op| match op {
        Op::Ld { space, semantics, .. } | Op::St { space, semantics, .. } => {
            *space == Space::Shared && *semantics == Semantics::Volatile
        }
        _ => false,
    };
    let joined = |op: &Op| matches!(op, Op::Barrier(BarrierOp::Warp { .. }));
    let has = |which: &dyn Fn(&Op) -> bool| body.insts.iter().any(|inst| which(&inst.op));
    if has(&volatile) && !has(&joined) {
        return Some(Lockstep::Volatile);
    }
    Exchange { body, values, ranges }.read_back()
}

/// A place that is a lane's own: an address in a register that has not been written since, and what is added to it.
type Place = (ValueId, i64);

/// Stores since the last barrier: by the place that they go to, and those that may have gone anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pending {
    own: BTreeMap<Place, BTreeSet<u32>>,
    anywhere: BTreeSet<u32>,
}

impl Pending {
    /// What other ways here have stored.
    fn join(&mut self, other: Self) {
        for (place, stores) in other.own {
            self.own.entry(place).or_default().extend(stores);
        }
        self.anywhere.extend(other.anywhere);
    }

    /// A register is written: what it held before is no more a place that can be named.
    fn forget(&mut self, written: ValueId) {
        let lost = self.own.extract_if((written, i64::MIN)..=(written, i64::MAX), |_, _| true);
        self.anywhere.extend(lost.flat_map(|(_, stores)| stores));
    }

    /// The stores that did not go to one place of a lane's own.
    fn elsewhere(&self, place: Option<Place>) -> impl Iterator<Item = u32> {
        let other = self.own.iter().filter(move |(stored, _)| Some(**stored) != place);
        self.anywhere.iter().chain(other.flat_map(|(_, stores)| stores)).copied()
    }
}

/// The stores and loads of a body.
struct Exchange<'k> {
    body: &'k Body,
    values: &'k Values,
    ranges: &'k Ranges,
}

impl Exchange<'_> {
    /// The first load that may see another lane's store.
    fn read_back(&self) -> Option<Lockstep> {
        let loads = |op: &Op| matches!(op, Op::Ld { space: Space::Shared, .. });
        if !self.body.insts.iter().any(|inst| loads(&inst.op)) {
            return None;
        }
        let mut before: Vec<Option<Pending>> = vec![None; self.body.blocks.len()];
        let mut changed = vec![0];
        before[0] = Some(Pending::default());
        while let Some(block) = changed.pop() {
            let mut pending = before[block as usize].clone().unwrap_or_default();
            for number in self.body.blocks[block as usize].insts.clone() {
                if let Some(store) = self.step(number, &mut pending) {
                    return Some(Lockstep::ReadBack { store, load: number });
                }
            }
            for next in successors(self.body, block) {
                let known = &mut before[next as usize];
                let mut joined = known.clone().unwrap_or_default();
                joined.join(pending.clone());
                if known.as_ref() != Some(&joined) {
                    *known = Some(joined);
                    changed.push(next);
                }
            }
        }
        None
    }

    /// Which store an instruction may read another lane's value of, if it does not add to what is pending.
    fn step(&self, number: u32, pending: &mut Pending) -> Option<u32> {
        match &self.body.insts[number as usize].op {
            Op::Ld { space: Space::Shared, .. } => {
                let found = pending.elsewhere(self.place(number)).find(|store| self.may_meet(*store, number));
                if found.is_some() {
                    return found;
                }
            }
            Op::St { space: Space::Shared, .. } => {
                let stores = match self.place(number) {
                    Some(place) => pending.own.entry(place).or_default(),
                    None => &mut pending.anywhere,
                };
                stores.insert(number);
            }
            Op::Barrier(BarrierOp::Arrive { .. } | BarrierOp::Yield) => {}
            Op::Barrier(_) | Op::Call { .. } => *pending = Pending::default(),
            _ => {}
        }
        let operands = self.body.insts[number as usize].operands();
        let written = paired(&operands, self.values.of_inst(number)).filter(|(operand, _)| operand.def().is_some());
        written.filter_map(|(_, value)| value).for_each(|value| pending.forget(value));
        None
    }

    /// What is added to the address, and how many bytes are accessed.
    fn extent(&self, number: u32) -> Option<(i64, u32)> {
        match &self.body.insts[number as usize].op {
            Op::Ld { addr, ty, dst, .. } => Some((addr.offset, ty.bytes() * dst.len() as u32)),
            Op::St { addr, ty, src, .. } => Some((addr.offset, ty.bytes() * src.len() as u32)),
            _ => None,
        }
    }

    /// Where an access goes, if a register says it: a constant address is every lane's.
    fn place(&self, number: u32) -> Option<Place> {
        let (offset, _) = self.extent(number)?;
        Some((self.values.address(self.body, number)?, offset))
    }

    /// Whether two accesses may go to the same bytes.
    fn may_meet(&self, store: u32, load: u32) -> bool {
        let reach = |number: u32| {
            let (register, offset) = self.place(number)?;
            let start = self.ranges.of(register)?.plus(Interval::single(offset.into()));
            Some((start.low, start.high + i128::from(self.extent(number)?.1)))
        };
        match (reach(store), reach(load)) {
            (Some(stored), Some(loaded)) => stored.0 < loaded.1 && loaded.0 < stored.1,
            _ => true,
        }
    }
}
