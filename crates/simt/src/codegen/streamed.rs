//! Loads and stores of a team, each gang's in a place of its own in global memory, with what is computed between them: all looked at first, then written for one
//! gang after the other, not instruction by instruction for all. What is loaded is used at once then, and does not wait in registers, or out of them, for
//! all the others.
//!
//! Threads of different gangs may run in any order between barriers. The team is left before the first of these instructions, if one of them is not
//! allowed: none has done anything by then but what does the same when it is done again.

use std::collections::BTreeSet;
use std::ops::Range;

use warploom_ptx::ir::{Address, Base, Inst, Op, Semantics, Space};

use super::exchange::is_exchange;
use super::function::Writer;
use super::how::{How, how};
use super::span::Across;
use crate::values::{ValueId, paired};

/// Instructions of one block.
pub(super) struct Stream {
    insts: Range<u32>,
    /// Those that each gang runs, in their order.
    own: Vec<u32>,
}

impl Stream {
    /// The instruction behind it.
    pub(super) fn end(&self) -> u32 {
        self.insts.end
    }
}

impl<'p> Writer<'p> {
    /// The stream that begins at the first of some instructions of a block, if there is one.
    pub(super) fn stream(&self, insts: Range<u32>) -> Option<Stream> {
        let plan = self.plan;
        let mut stream = Stream { insts: insts.start..insts.start, own: Vec::new() };
        let (mut read, mut written): (BTreeSet<ValueId>, BTreeSet<ValueId>) = Default::default();
        for at in insts {
            let inst = &self.body().insts[at as usize];
            let access = streams(&inst.op).filter(|_| self.goes_its_own_way(at));
            let plain = how(&inst.op) == How::Vector && !is_exchange(&inst.op) && plan.access(at).is_none();
            if inst.guard.is_some() || plan.is_deferrable(at) || !(access.is_some() || plain) {
                break;
            }
            if stream.own.is_empty() && access.is_none() {
                return None;
            }
            let operands = inst.operands();
            let values = || paired(&operands, plan.info.values.of_inst(at)).filter_map(|(o, value)| Some((o, value?)));
            let led = self.is_led(at);
            let mut results = values().filter(|(operand, _)| operand.def().is_some()).map(|(_, value)| value);
            let fits = results.all(|value| self.is_in_any_order(value, led, &read));
            let needed = match access {
                // The look comes before all that gangs do on their own.
                Some(_) => plan.address_of(at).into_iter().collect(),
                None if led => values().filter(|(o, _)| o.read().is_some()).map(|(_, value)| value).collect(),
                None => Vec::new(),
            };
            if !fits || needed.iter().any(|value| written.contains(value)) {
                break;
            }
            for (operand, value) in values() {
                if operand.read().is_some() {
                    read.insert(value);
                }
                if operand.def().is_some() && !led {
                    written.insert(value);
                }
            }
            if !led {
                stream.own.push(at);
            }
            stream.insts.end = at + 1;
        }
        (stream.own.len() > 1).then_some(stream)
    }

    /// Whether others find what they would of a value, in whichever order gangs come to the instruction that writes it; `read` have been read before.
    pub(super) fn is_in_any_order(&self, value: ValueId, led: bool, read: &BTreeSet<ValueId>) -> bool {
        let known = self.plan.info.values.get(value);
        let settled = known.defs.len() == 1 && !known.undefined && !read.contains(&value);
        settled || (!led && self.plan.across(value) == &Across::Apart)
    }

    /// Whether an access leads each gang of the team to places of its own, and one look tells for all.
    fn goes_its_own_way(&self, inst: u32) -> bool {
        let Some(address) = self.plan.address_of(inst) else { return false };
        let Across::Steps(steps) = self.plan.across(address) else { return false };
        let apart = steps.windows(2).all(|pair| pair[0] < pair[1]);
        apart && self.plan.hull(inst).is_none() && self.plan.span(inst).is_some()
    }

    pub(super) fn write_stream(&mut self, stream: &Stream) -> Result<(), String> {
        self.leaves_at = Some(stream.insts.start);
        for at in stream.insts.clone() {
            let inst = self.turn_to(at);
            if stream.own.contains(&at) {
                self.look_at_all(inst, self.team)?;
            } else {
                for member in 0..self.leaders(at) {
                    self.member = member;
                    self.instruction(inst)?;
                }
                self.member = 0;
            }
        }
        self.leaves_at = None;
        self.checked = true;
        for member in 0..self.team {
            self.member = member;
            for at in &stream.own {
                let inst = self.turn_to(*at);
                self.instruction(inst)?;
            }
        }
        self.checked = false;
        self.member = 0;
        self.whole = true;
        for at in stream.insts.clone() {
            let inst = self.turn_to(at);
            self.note_sides(inst);
        }
        self.whole = false;
        Ok(())
    }

    /// Goes to an instruction.
    pub(super) fn turn_to(&mut self, at: u32) -> &'p Inst {
        (self.inst, self.values) = (at, self.plan.info.values.of_inst(at));
        &self.plan.body.insts[at as usize]
    }
}

/// The address of a load or store of global memory that nobody else looks at meanwhile.
fn streams(op: &Op) -> Option<Address> {
    match op {
        Op::Ld { space: Space::Global, semantics: Semantics::Weak, addr, .. }
        | Op::St { space: Space::Global, semantics: Semantics::Weak, addr, .. }
            if matches!(addr.base, Base::Reg(_)) =>
        {
            Some(*addr)
        }
        _ => None,
    }
}
