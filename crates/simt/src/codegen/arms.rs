//! Blocks that only some threads come to, and where they meet the others again: *arms*.
//!
//! Of some branches it is known for each thread of a CTA what it does: steps of scans and reductions, what the first or the last thread does for all. A team of
//! all gangs runs the arm for those gangs that come there, with a mask where a gang comes in part, and goes on where all meet. In shared memory the addresses of
//! such threads are known too, and looked at when the code is made.
//!
//! Of others, such as those at a matrix's edge, the condition tells. Where all threads do the same their team goes on as ever, and where they part it runs the arm
//! with masks, so that it need not be left.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{Base, Inst, Op, Semantics, SharedLayout, Space, TerminatorKind};

use super::exchange::is_exchange;
use super::function::{Val, Writer};
use super::plan::Plan;
use crate::access::{Access, Pattern};
use crate::divergence::{only_ends, successors};
use crate::shape::Shape;
use crate::threads::Threads;
use crate::values::{ValueId, paired};

/// A block that only some threads of the CTA come to.
pub(super) struct Arm {
    pub(super) block: u32,
    /// Where they meet the others, if they go on at all.
    pub(super) meets: Option<u32>,
    /// The others have ended.
    pub(super) ends: bool,
    /// By thread, whether it runs the block, if that is known: the condition tells otherwise.
    pub(super) runs: Option<Vec<bool>>,
    /// It is run where the branch is taken.
    pub(super) taken: bool,
    /// By access to shared memory, and by gang: the address of the first lane, as if it ran.
    firsts: BTreeMap<u32, Vec<i64>>,
}

/// What is known of branches.
#[derive(Default)]
pub(super) struct Arms {
    /// By the block that branches: what some threads do behind it.
    pub(super) all: BTreeMap<u32, Arm>,
    /// Blocks at whose end threads of each CTA part otherwise.
    pub(super) parting: BTreeSet<u32>,
}

impl Arms {
    /// Looks at all branches of a kernel whose gangs are full.
    pub(super) fn new(plan: &Plan<'_>, threads: &Threads, layout: &SharedLayout) -> Arms {
        let mut arms = Arms::default();
        for branch in 0..plan.body.blocks.len() as u32 {
            let Some(guard) = plan.guard_of(branch) else { continue };
            let condition = threads.of(guard);
            if let Some(arm) = arm(plan, threads, layout, branch, condition) {
                arms.all.insert(branch, arm);
            } else if condition.is_some_and(|condition| condition.iter().any(|holds| *holds != condition[0])) {
                arms.parting.insert(branch);
            }
        }
        arms
    }
}

fn arm(
    plan: &Plan<'_>,
    threads: &Threads,
    layout: &SharedLayout,
    branch: u32,
    condition: Option<&[u64]>,
) -> Option<Arm> {
    /// Instructions of an arm that is written twice, at most.
    const SHORT: u32 = 12;
    let (info, body) = (plan.info, plan.body);
    // Gangs that do not part in themselves are told apart by what is known of their threads only.
    let parts = info.divergence.splits.get(&branch);
    let whole = info.gang_splits.get(&branch).filter(|_| parts.is_none() && condition.is_some());
    let split = parts.or(whole)?;
    let end = &body.blocks[branch as usize].terminator;
    let TerminatorKind::Bra { target, .. } = &end.kind else { return None };
    let (guard, next) = (end.guard?, end.next?.0);
    let (block, ends) = match &split.partial.iter().copied().collect::<Vec<_>>()[..] {
        &[block] => (block, false),
        _ if whole.is_some() => return None,
        // The others end there, and are not waited for.
        [] if only_ends(body, target.0) => (next, true),
        [] if only_ends(body, next) => (target.0, true),
        _ => return None,
    };
    let alone = match plan.group_of(block) {
        Some(group) => plan.groups[group as usize].members.len() == 1,
        None => ends || (whole.is_some() && split.converges.is_some()),
    };
    let meets = split.converges.filter(|_| !ends);
    let behind = |to: u32| if meets.is_some() { Some(to) == meets } else { only_ends(body, to) };
    let taken = target.0 == block;
    let other = if taken { next } else { target.0 };
    if !alone || !split.loops.is_empty() || (!taken && next != block) || block <= branch || !behind(other) {
        return None;
    }
    let out = &body.blocks[block as usize].terminator;
    let goes_on = match &out.kind {
        TerminatorKind::Bra { .. } | TerminatorKind::Next => true,
        TerminatorKind::Ret { .. } | TerminatorKind::Exit => false,
        TerminatorKind::BrxIdx { .. } | TerminatorKind::Trap => return None,
    };
    let leads = match &successors(body, block)[..] {
        &[to] => goes_on && behind(to) && to > block,
        [] => !goes_on && meets.is_none(),
        _ => false,
    };
    let entered = (0..body.blocks.len() as u32).filter(|from| successors(body, *from).contains(&block)).count();
    if out.guard.is_some() || !leads || entered != 1 {
        return None;
    }
    let runs = |condition: &[u64]| condition.iter().map(|holds| ((*holds != 0) != guard.negated) == taken).collect();
    let runs: Option<Vec<bool>> = condition.map(runs);
    let insts = &body.blocks[block as usize].insts;
    if runs.is_none() && insts.len() as u32 > SHORT {
        return None;
    }
    // Lanes tell each other what they do alone where all of a gang run it, or none.
    let width = info.gangs.width as usize;
    let by_gangs = |runs: &Vec<bool>| runs.chunks(width).all(|gang| gang.iter().all(|runs| *runs == gang[0]));
    let by_gangs = runs.as_ref().is_some_and(by_gangs);
    let mut firsts = BTreeMap::new();
    for number in insts.clone() {
        let inst = &body.insts[number as usize];
        let plain = is_plain(inst) || (by_gangs && is_exchange(&inst.op));
        if inst.guard.is_some() || !plain || !writes_its_own(plan, number, inst) {
            return None;
        }
        if let Some((_, access)) = plan.access(number) {
            // Of one place or one after the other is not known that nothing is loaded where no lane runs.
            if runs.is_none() && access.pattern != Pattern::Contiguous {
                return None;
            }
            if let Some(runs) = runs.as_ref().filter(|_| access.space == Space::Shared && !access.is_always_allowed()) {
                firsts.insert(number, first_lanes(plan, threads, layout, access, runs)?);
            }
        }
    }
    Some(Arm { block, meets, ends, runs, taken, firsts })
}

/// What can be done for some lanes of a gang: nothing that they tell each other, and nothing that the executor does.
fn is_plain(inst: &Inst) -> bool {
    match &inst.op {
        Op::Ld { space, semantics, addr, .. } => {
            addr.base == Base::ParamFrame
                || (*semantics == Semantics::Weak && matches!(space, Space::Global | Space::Const | Space::Shared))
        }
        Op::St { space, semantics, .. } => {
            *semantics == Semantics::Weak && matches!(space, Space::Global | Space::Shared)
        }
        Op::IntBinary { .. }
        | Op::IntUnary { .. }
        | Op::Mul { .. }
        | Op::Mad { .. }
        | Op::FloatUnary { .. }
        | Op::FloatBinary { .. }
        | Op::Fma { .. }
        | Op::FloatMinMax { .. }
        | Op::Setp { .. }
        | Op::Selp { .. }
        | Op::Logic { .. }
        | Op::Lop3 { .. }
        | Op::Shift { .. }
        | Op::Mov { .. }
        | Op::Cvt { .. }
        | Op::Cvta { .. }
        | Op::AddressOf { .. }
        | Op::ReadSpecial { .. } => true,
        _ => false,
    }
}

/// What lanes have in common, or a pattern of them, is of this instruction alone.
fn writes_its_own(plan: &Plan<'_>, number: u32, inst: &Inst) -> bool {
    let operands = inst.operands();
    let mut written =
        paired(&operands, plan.info.values.of_inst(number)).filter(|(operand, _)| operand.def().is_some());
    written.all(|(_, value)| {
        value.is_none_or(|value| {
            let known = plan.info.values.get(value);
            let one = known.defs.len() == 1 && !known.undefined;
            one || matches!(plan.info.shape(value), Shape::Varying(_))
        })
    })
}

/// By gang, the address of the first lane, if those threads that run are where the pattern says, and in the CTA's shared memory.
fn first_lanes(
    plan: &Plan<'_>,
    threads: &Threads,
    layout: &SharedLayout,
    access: &Access,
    runs: &[bool],
) -> Option<Vec<i64>> {
    let width = plan.info.gangs.width as usize;
    let addresses = threads.of(plan.address_of(access.inst)?)?;
    let offset = plan.offset_of(access.inst);
    let bytes = i64::from(access.bytes);
    let apart = |lane: usize| match &access.pattern {
        Pattern::Same(_) => Some(0),
        Pattern::Contiguous => Some(lane as i64 * bytes),
        Pattern::Strided(step) => Some(lane as i64 * step),
        Pattern::Known(lanes) => Some(lanes.get()[lane]),
        Pattern::Scaled { .. } | Pattern::Anywhere(_) => None,
    };
    let gangs = addresses.chunks(width).zip(runs.chunks(width));
    gangs
        .map(|(addresses, runs)| {
            let mut first = None;
            for (lane, (address, _)) in addresses.iter().zip(runs).enumerate().filter(|(_, (_, runs))| **runs) {
                let address = i64::try_from(*address).ok()?.checked_add(offset)?;
                let inside = address >= 0 && address + bytes <= i64::from(layout.size) && address % bytes == 0;
                let own = address - apart(lane)?;
                if !inside || *first.get_or_insert(own) != own {
                    return None;
                }
            }
            Some(first.unwrap_or(0))
        })
        .collect()
}

impl Arm {
    /// Whether it is known for each thread whether it runs it.
    pub(super) fn is_known(&self) -> bool {
        self.runs.is_some()
    }
}

impl Writer<'_> {
    /// Where the first lane of a gang goes in an arm, if that is known.
    pub(super) fn first_in_arm(&self) -> Option<Val> {
        if self.team == 0 {
            return None;
        }
        let arm = self.plan.arm_of(self.plan.block_of[self.inst as usize])?;
        let first = *arm.firsts.get(&self.inst)?.get(self.member as usize)?;
        Some(self.constant(super::names::Ty::int(64, 0), first))
    }

    /// Whether an arm is written for lanes that a condition tells.
    pub(super) fn is_in_asked_arm(&self) -> bool {
        let arm = || self.plan.arm_of(self.plan.block_of[self.inst as usize]);
        !self.arm_masks.is_empty() && arm().is_some_and(|arm| !arm.is_known())
    }

    /// By gang, which of its lanes run an arm of which that is known; none where no lane does.
    pub(super) fn known_masks(&self, runs: &[bool]) -> Vec<Option<String>> {
        let ty = self.mask_type();
        let mask = |lanes: &[bool]| ty.lanes(lanes.iter().map(|runs| i64::from(*runs)));
        let all = self.constant(ty, 1).text;
        let gangs = runs.chunks(self.lanes() as usize);
        gangs
            .map(|lanes| match (lanes.contains(&true), lanes.contains(&false)) {
                (false, _) => None,
                (true, false) => Some(all.clone()),
                (true, true) => Some(mask(lanes)),
            })
            .collect()
    }

    /// By gang, for which of its lanes the condition of a branch leads to an arm.
    pub(super) fn asked_masks(&mut self, condition: ValueId, negated: bool, arm: &Arm) -> Vec<Option<String>> {
        let ones = self.constant(self.mask_type(), 1);
        let mut masks = Vec::new();
        for member in 0..self.team {
            self.member = member;
            let holds = self.read(condition);
            let mut holds = self.splat(&holds);
            if negated == arm.taken {
                holds = self.binary("xor", &holds, &ones);
            }
            masks.push(Some(holds.text));
        }
        self.member = 0;
        masks
    }

    /// What some threads do behind a branch, for all gangs that have such, by their masks.
    pub(super) fn team_arm(&mut self, branch: u32, arm: &Arm, masks: Vec<Option<String>>) -> Result<(), String> {
        let all = self.constant(self.mask_type(), 1).text;
        self.arm_masks = masks;
        if self.arm_masks.iter().any(Option::is_some) {
            for number in self.body().blocks[arm.block as usize].insts.clone() {
                let inst = self.turn_to(number);
                let led = self.is_led(number);
                let leaders = if led { self.leaders(number) } else { self.leading(inst) };
                let comes: Vec<(u32, String)> = (0..self.team)
                    .filter_map(|member| {
                        // What the first gangs have tells what others have, also where these run nothing.
                        let mask = if led { None } else { self.arm_masks[member as usize].clone() };
                        let leads = member < leaders;
                        Some((member, mask.or_else(|| leads.then(|| all.clone()))?))
                    })
                    .collect();
                let mut fine: Option<Val> = None;
                for (member, mask) in &comes {
                    (self.member, self.mask) = (*member, mask.clone());
                    if let Some(holds) = self.allowed_in_arm(inst, arm)? {
                        fine = Some(match fine {
                            Some(fine) => self.joined("and", &fine, &holds),
                            None => holds,
                        });
                    }
                }
                self.member = 0;
                if let Some(fine) = fine {
                    self.or_leave(&fine);
                }
                self.checked = true;
                for (member, mask) in comes {
                    self.together = mask == all;
                    (self.member, self.mask) = (member, mask);
                    self.instruction(inst)?;
                }
                self.checked = false;
                self.together = true;
                (self.member, self.mask) = (0, all.clone());
            }
        }
        self.arm_masks.clear();
        match arm.meets {
            Some(to) => self.go_as_team(branch, to),
            None => self.line("br label %end"),
        }
        Ok(())
    }

    /// How many gangs, the first ones, have a part of what an instruction writes that tells what others have.
    fn leading(&self, inst: &Inst) -> u32 {
        let operands = inst.operands();
        let written = operands.iter().zip(self.values).filter(|(operand, _)| operand.def().is_some());
        let followed = written.filter_map(|(_, value)| *value).filter(|value| self.plan.is_followed(*value));
        followed.map(|value| self.holders(value, "%b")).max().unwrap_or(0)
    }

    /// What is to be looked at for an access of a gang in an arm, if there is anything.
    fn allowed_in_arm(&mut self, inst: &Inst, arm: &Arm) -> Result<Option<Val>, String> {
        let (space, address) = match &inst.op {
            Op::Ld { space, addr, .. } | Op::St { space, addr, .. } => (*space, *addr),
            _ => return Ok(None),
        };
        if address.base == Base::ParamFrame {
            return Ok(None);
        }
        let target = self.target(inst, space, address)?;
        let Some(holds) = self.fits_in_full(inst, &target)? else { return Ok(None) };
        if arm.is_known() {
            return Ok(Some(holds));
        }
        let mask = self.mask.clone();
        let runs = self.any(&mask);
        Ok(Some(self.if_runs(&holds, &runs)))
    }

    /// Where a team is left in an arm: which lanes of each gang run it, in the gangs' frames.
    pub(super) fn keep_lanes_of_arm(&mut self) {
        let ty = self.mask_type();
        let [all, none] = [1, 0].map(|bit| self.constant(ty, bit).text);
        for member in 0..self.team {
            let mask = match self.arm_masks.get(member as usize) {
                Some(mask) => mask.clone().unwrap_or_else(|| none.clone()),
                None => all.clone(),
            };
            let at = self.offset(&format!("%frame{member}"), Plan::ARM);
            self.line(format!("store {} {mask}, ptr {at}, align 4, !tbaa !9", ty.text()));
        }
    }
}
