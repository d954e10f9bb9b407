//! The loop that runs decoded instructions.
//!
//! Code is cut into *stretches*: instructions that go on with the next one or fail, up to one that may do something else, or up to a
//! place where other lanes may come in. Groups of lanes only ever meet at the start of a stretch, and the active lanes do not change
//! within one, so both are looked at once for a stretch and not for each instruction.

use crate::frame::FULL;
use crate::machine::{Flow, Machine, NO_GUARD};
use crate::program::Inst;

/// Where the stretch that an instruction belongs to ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End(u32);

impl End {
    const JOIN: u32 = 1 << 31;
    const BRANCH: u32 = 1 << 30;

    /// At instruction `at`, which may change the control flow.
    pub(crate) fn control(at: u32) -> Self {
        Self(at)
    }

    /// At the branch `at`.
    pub(crate) fn branch(at: u32) -> Self {
        Self(at | Self::BRANCH)
    }

    /// Before instruction `at`, where a block starts.
    pub(crate) fn join(at: u32) -> Self {
        Self(at | Self::JOIN)
    }

    #[inline(always)]
    fn at(self) -> u32 {
        self.0 & !(Self::JOIN | Self::BRANCH)
    }

    #[inline(always)]
    fn is_join(self) -> bool {
        self.0 & Self::JOIN != 0
    }

    #[inline(always)]
    fn is_branch(self) -> bool {
        self.0 & Self::BRANCH != 0
    }
}

/// The end of the stretch of each instruction: `straight` tells which ones neither wait nor branch, `branches` which ones do nothing but
/// branch, `starts` where blocks start, in ascending order.
pub(crate) fn stretches(straight: &[bool], branches: &[bool], starts: &[u32]) -> Vec<End> {
    let mut ends = Vec::with_capacity(straight.len());
    let mut starts = starts.iter().rev().copied().peekable();
    let mut end = End::join(straight.len() as u32);
    for (at, &straight) in straight.iter().enumerate().rev() {
        let at = at as u32;
        while starts.next_if(|&start| start > at + 1).is_some() {}
        if starts.next_if_eq(&(at + 1)).is_some() {
            end = End::join(at + 1);
        }
        if !straight {
            end = if branches[at as usize] { End::branch(at) } else { End::control(at) };
        }
        ends.push(end);
    }
    ends.reverse();
    ends
}

impl Machine<'_> {
    /// Fills the rows of a frame that has just been taken whose values are the same for the whole launch or CTA.
    pub(crate) fn fill_ahead(&mut self) {
        let function = self.function;
        if self.frame.launch != self.grid.id {
            self.frame.launch = self.grid.id;
            self.frame.cta = 0;
            function.before_launch.iter().for_each(|inst| self.run_ahead(inst));
        }
        if self.frame.cta != self.cta.serial {
            self.frame.cta = self.cta.serial;
            function.before_cta.iter().for_each(|inst| self.run_ahead(inst));
        }
    }

    fn run_ahead(&mut self, inst: &Inst) {
        let flow = (inst.run)(self, inst, FULL);
        debug_assert_eq!(flow, Flow::Next, "what runs ahead cannot fail");
    }

    /// Runs the chosen group until it stops.
    pub(crate) fn steps(&mut self) -> Flow {
        loop {
            if self.pc >= self.limit && !self.meet() {
                return Flow::Switch;
            }
            let function = self.function;
            let end = function.ends[self.pc as usize];
            let active = self.active;
            let mut stretch = function.code[self.pc as usize..end.at() as usize].iter();
            while let Some(inst) = stretch.next() {
                let mask = if inst.guard == NO_GUARD { active } else { active & self.predicate(inst.guard) };
                if mask != 0 && (inst.run)(self, inst, mask) != Flow::Next {
                    self.pc = end.at() - stretch.len() as u32 - 1;
                    return Flow::Fault;
                }
            }
            self.pc = end.at();
            if end.is_join() {
                continue;
            }
            let inst = &function.code[end.at() as usize];
            let mask = if inst.guard == NO_GUARD { active } else { active & self.predicate(inst.guard) };
            if mask == 0 {
                self.pc += 1;
                continue;
            }
            let flow = if end.is_branch() { self.branch(mask, inst.imm) } else { (inst.run)(self, inst, mask) };
            match flow {
                Flow::Next => self.pc += 1,
                Flow::Jump => {}
                flow => return flow,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{End, stretches};

    #[test]
    fn stretches_end_at_control_flow_and_at_blocks() {
        let straight = [true, true, false, true, true, true, false];
        let branches = [false, false, true, false, false, false, false];
        let ends = stretches(&straight, &branches, &[0, 4, 4, 7]);
        let expected = [
            End::branch(2),
            End::branch(2),
            End::branch(2),
            End::join(4),
            End::control(6),
            End::control(6),
            End::control(6),
        ];
        assert_eq!(ends, expected);
    }
}
