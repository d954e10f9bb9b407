//! Instructions of a team that read shared memory and compute, written for as many gangs at a time as have registers for what they carry through their loops,
//! not instruction by instruction for all. So all gangs of a CTA can be one team, whose barriers need no code and which has in common whatever they have, though
//! only a few of them multiply at a time.

use std::collections::BTreeSet;
use std::ops::Range;

use warploom_ptx::ir::{Base, Op, Semantics, Space};

use super::among::Among;
use super::exchange::is_exchange;
use super::function::Writer;
use super::how::{How, how};
use crate::values::{ValueId, paired};

/// Fewer instructions are not worth it.
const SHORT: u32 = 8;

impl Writer<'_> {
    /// The longest stretch that begins at the first of some instructions of a block.
    pub(super) fn stretch(&self, insts: Range<u32>) -> Option<Range<u32>> {
        if self.plan.at_a_time() >= self.team {
            return None;
        }
        let mut end = insts.start;
        let (mut read, mut written): (BTreeSet<ValueId>, BTreeSet<ValueId>) = Default::default();
        for at in insts.clone() {
            if !self.is_of_a_stretch(at, &mut read, &mut written) {
                break;
            }
            end = at + 1;
        }
        (end - insts.start >= SHORT).then_some(insts.start..end)
    }

    /// Whether an instruction does the same, however often and for whichever gangs first those before it in a stretch and itself are run.
    fn is_of_a_stretch(&self, at: u32, read: &mut BTreeSet<ValueId>, written: &mut BTreeSet<ValueId>) -> bool {
        let plan = self.plan;
        let inst = &self.body().insts[at as usize];
        let reads = match inst.op {
            Op::Ld { space: Space::Shared, semantics: Semantics::Weak, addr, .. } => {
                let allowed = plan.access(at).is_some_and(|(_, access)| access.is_always_allowed());
                matches!(addr.base, Base::Reg(_)) && (allowed || self.is_seen(at) || plan.span(at).is_some())
            }
            _ => how(&inst.op) == How::Vector && !is_exchange(&inst.op) && plan.access(at).is_none(),
        };
        if !reads || inst.guard.is_some() || plan.is_deferrable(at) {
            return false;
        }
        // Looks come before all that gangs do.
        if plan.span(at).is_some() && plan.address_of(at).is_none_or(|address| written.contains(&address)) {
            return false;
        }
        let operands = inst.operands();
        let values = || paired(&operands, plan.info.values.of_inst(at)).filter_map(|(o, value)| Some((o, value?)));
        read.extend(values().filter(|(operand, _)| operand.read().is_some()).map(|(_, value)| value));
        let results: Vec<ValueId> =
            values().filter(|(operand, _)| operand.def().is_some()).map(|(_, value)| value).collect();
        let led = self.is_led(at);
        let fits = results.iter().all(|value| self.is_in_any_order(*value, led, read));
        written.extend(results);
        fits
    }

    /// Writes one, and has rows fetched among its multiplications.
    pub(super) fn write_stretch(&mut self, stretch: &Range<u32>, mut among: Option<&mut Among>) -> Result<(), String> {
        self.leaves_at = Some(stretch.start);
        for at in stretch.clone() {
            let inst = self.turn_to(at);
            if self.plan.span(at).is_some() {
                self.look_at_all(inst, self.team)?;
            }
        }
        self.leaves_at = None;
        self.checked = true;
        let few = self.plan.at_a_time();
        for first in (0..self.team).step_by(few as usize) {
            // What LLVM has loaded for some gangs it is to load again for the next ones: there are no registers for it.
            if first > 0 {
                self.line("call void asm sideeffect \"\", \"~{memory}\"()");
            }
            for at in stretch.clone() {
                if let Some(among) = among.as_deref_mut().filter(|_| first == 0) {
                    self.fetch_among(among, at);
                }
                let inst = self.turn_to(at);
                let members = if self.is_led(at) { 0..self.leaders(at) } else { first..first + few };
                for member in members {
                    self.member = member;
                    self.instruction(inst)?;
                }
            }
        }
        self.checked = false;
        self.member = 0;
        for at in stretch.clone() {
            let inst = self.turn_to(at);
            self.note_for_all(inst);
        }
        Ok(())
    }
}
