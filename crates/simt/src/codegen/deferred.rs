//! Predicates that differ by lane and are only for the branch at the end of their block: full code nearly always knows from the first and the last lane
//! which way all of them go, and writes the comparison of all lanes only behind that, and wherever it is left.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{Body, Inst, LogicOp, Op, ScalarType};

use super::function::Writer;
use super::lazy::is_flagged;
use crate::info::KernelInfo;
use crate::range::is_integer;
use crate::shape::Shape;
use crate::values::{ValueId, paired};

/// Who reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Inst(u32),
    End(u32),
}

/// Instructions whose results are read by such others of their block and its branch only, and that give the same at the block's end.
pub(super) fn deferrable(info: &KernelInfo<'_>, body: &Body) -> BTreeSet<u32> {
    let readers = readers(info, body);
    let mut out = BTreeSet::new();
    for (number, block) in (0u32..).zip(&body.blocks) {
        let mut written: BTreeSet<ValueId> = BTreeSet::new();
        for at in block.insts.clone().rev() {
            let inst = &body.insts[at as usize];
            if matches!(inst.op, Op::Barrier(_)) {
                break;
            }
            let operands = inst.operands();
            let values = || paired(&operands, info.values.of_inst(at));
            let reads = || values().filter(|(o, _)| o.read().is_some()).filter_map(|(_, value)| value);
            let for_the_branch = |value: ValueId| {
                let known = info.values.get(value);
                let here = |reader: &Reader| match reader {
                    Reader::Inst(reader) => out.contains(reader) && block.insts.contains(reader),
                    Reader::End(end) => *end == number,
                };
                matches!(info.shape(value), Shape::Varying(_))
                    && known.defs.len() == 1
                    && !known.undefined
                    && readers.get(&value).is_some_and(|readers| readers.iter().all(here))
            };
            // What is computed again from others would be so from what they hold by then.
            let stays = |value: ValueId| !written.contains(&value) && !is_flagged(info, value);
            let result = info.values.written(body, at);
            if is_predicate(inst) && result.is_some_and(for_the_branch) && reads().all(stays) {
                out.insert(at);
            }
            written.extend(values().filter(|(o, _)| o.def().is_some()).filter_map(|(_, value)| value));
        }
    }
    out
}

fn is_predicate(inst: &Inst) -> bool {
    let written = match &inst.op {
        Op::Setp { ty, dst_q: None, .. } => is_integer(*ty),
        Op::Logic { op: LogicOp::And | LogicOp::Or, ty: ScalarType::Pred, .. } => true,
        _ => false,
    };
    written && inst.guard.is_none()
}

fn readers(info: &KernelInfo<'_>, body: &Body) -> BTreeMap<ValueId, Vec<Reader>> {
    let mut out: BTreeMap<ValueId, Vec<Reader>> = BTreeMap::new();
    for (number, inst) in (0u32..).zip(&body.insts) {
        let operands = inst.operands();
        let read = paired(&operands, info.values.of_inst(number)).filter(|(operand, _)| operand.read().is_some());
        read.filter_map(|(_, value)| value).for_each(|value| out.entry(value).or_default().push(Reader::Inst(number)));
    }
    for block in 0..body.blocks.len() as u32 {
        let read = info.values.of_end(block).iter().flatten();
        read.for_each(|value| out.entry(*value).or_default().push(Reader::End(block)));
    }
    out
}

impl Writer<'_> {
    /// Whether an instruction is left for later, which is noted.
    pub(super) fn defers(&mut self, inst: u32) -> bool {
        let later = self.full && self.plan.is_deferrable(inst);
        if later {
            self.deferred.push(inst);
        }
        later
    }

    /// Writes what has been left for later, for all gangs. It stays noted, for the other ways on from here.
    pub(super) fn write_deferred(&mut self) -> Result<(), String> {
        let before = (self.inst, self.values, self.member);
        let all = self.constant(self.mask_type(), 1).text;
        let mask = std::mem::replace(&mut self.mask, all);
        for inst in self.deferred.clone() {
            let inst = self.turn_to(inst);
            for member in 0..self.team.max(1) {
                self.member = member;
                self.instruction(inst)?;
            }
        }
        (self.inst, self.values, self.member) = before;
        self.mask = mask;
        Ok(())
    }
}
