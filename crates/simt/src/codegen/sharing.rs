//! Which values of a kernel whose lanes go their own ways share a row of a warp's frame: those of which no lane has two at once. A kernel with hundreds of them
//! would otherwise have a frame that no cache holds.

use std::collections::BTreeMap;

use super::plan::{Plan, size_of};
use crate::pressure::scan;
use crate::values::{ValueId, paired};

/// A set of candidates, a bit for each.
type Set = Vec<u64>;

fn insert(set: &mut Set, at: usize) {
    set[at / 64] |= 1 << (at % 64);
}

fn has(set: &Set, at: usize) -> bool {
    set[at / 64] >> (at % 64) & 1 != 0
}

/// Rows that are taken so far.
struct Row {
    bytes: u32,
    offset: u32,
    /// Who cannot be in it.
    others: Set,
}

/// The rows of a frame that values may share.
pub(super) struct Sharing {
    /// By value: its number among the candidates.
    candidates: BTreeMap<ValueId, usize>,
    /// By candidate: those that are alive where it is written, or read there.
    apart: Vec<Set>,
    rows: Vec<Row>,
}

impl Sharing {
    /// Of the values that are in a frame.
    ///
    /// A value is a candidate if each lane has its own of it, written for the lanes that run alone, and none is read that was never written. Two of them are apart if one is written where the
    /// other is alive: then a lane has both. What an instruction reads and what it writes are apart too, as it may write before it has read all.
    pub(super) fn new(plan: &Plan<'_>, values: impl IntoIterator<Item = ValueId>) -> Sharing {
        let is_candidate = |value: &ValueId| {
            let places = plan.places(*value, 0);
            places.len() == 1 && places[0].1.lanes != 0 && !plan.info.values.get(*value).undefined
        };
        let candidates: BTreeMap<ValueId, usize> = values.into_iter().filter(is_candidate).zip(0..).collect();
        let none = vec![0; candidates.len().div_ceil(64)];
        let mut apart = vec![none; candidates.len()];
        let known = &plan.info.values;
        for block in 0..plan.body.blocks.len() as u32 {
            scan(plan.body, known, block, |inst, live| {
                let Some(inst) = inst else { return };
                let operands = plan.body.insts[inst as usize].operands();
                let written = paired(&operands, known.of_inst(inst)).filter(|(operand, _)| operand.def().is_some());
                let written: Vec<usize> = written.filter_map(|(_, value)| candidates.get(&value?).copied()).collect();
                if written.is_empty() {
                    return;
                }
                let involved = live.iter().chain(known.of_inst(inst).iter().flatten());
                let involved: Vec<usize> = involved.filter_map(|value| candidates.get(value).copied()).collect();
                for value in written {
                    for other in &involved {
                        insert(&mut apart[value], *other);
                        insert(&mut apart[*other], value);
                    }
                }
            });
        }
        Sharing { candidates, apart, rows: Vec::new() }
    }

    /// Where a value is that can be where others are; None if it has a place of its own, or takes this one, which later ones may share.
    pub(super) fn shared(&mut self, plan: &Plan<'_>, value: ValueId, next: u32) -> Option<u32> {
        let at = *self.candidates.get(&value)?;
        let bytes = size_of(plan.places(value, 0)[0].1);
        let fits = |row: &&mut Row| row.bytes == bytes && !has(&row.others, at);
        if let Some(row) = self.rows.iter_mut().find(fits) {
            row.others.iter_mut().zip(&self.apart[at]).for_each(|(all, more)| *all |= more);
            return Some(row.offset);
        }
        self.rows.push(Row { bytes, offset: next, others: self.apart[at].clone() });
        None
    }
}
