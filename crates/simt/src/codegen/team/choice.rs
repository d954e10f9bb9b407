//! Which gangs run as a team, and whether they stay together.

use std::collections::BTreeSet;

use warploom_ptx::ir::{BarrierOp, Inst, Loop, Op, Operand, Space, SpecialReg, TerminatorKind};

use super::super::plan::Plan;
use crate::access::{AccessKind, Pattern};
use crate::affine::Affine;
use crate::pressure::weight;
use crate::shape::Shape;
use crate::values::{ValueId, paired};

/// Whether gangs run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::codegen) enum Teams {
    Never,
    WherePaid,
    /// Wherever they can, for tests.
    Always,
}

/// How many gangs run together: as many as make loops better, and registers and the length of the code allow, or as there can be with `always`. 0 if none do. And
/// how many of them compute at a time.
pub(in crate::codegen) fn preferred_team(plan: &Plan<'_>, always: bool) -> (u32, u32) {
    /// Instructions that are written for each gang, of all gangs, with which compiling takes as long as it may.
    const LONG: u32 = 1800;
    /// Fewer gain too little.
    const FEW: u32 = 4;
    let (info, body) = (plan.info, plan.body);
    let gangs = &info.gangs;
    let count = gangs.count();
    let apart = |inst: &Inst| {
        matches!(inst.op, Op::Barrier(BarrierOp::Reduce { .. }) | Op::Call { .. } | Op::Brkpt | Op::Multicast(_))
            || matches!(inst.op.membermask(), Some(Operand::Reg(_)))
    };
    if !gangs.are_full() || count < 2 || body.insts.iter().any(apart) || !plan.has_full() {
        return (0, 0);
    }
    let alike = |team: u32| team == count || plan.all_go_on() || info.barriers.all.is_empty();
    if always {
        let team = (2..=count).rev().find(|team| count.is_multiple_of(*team) && alike(*team)).unwrap_or(0);
        return (team, if team.is_multiple_of(2) { team / 2 } else { team });
    }
    // A team is left where a guess does not hold, which nearly never is so of lanes that meet, but often of a row that ends.
    if info.has_guessed_edges() {
        return (0, 0);
    }
    let long = written_for_each(plan);
    if count >= FEW && goes_by_steps(plan, long) && count * long <= LONG {
        return (count, count);
    }
    let most = |goes: &dyn Fn(u32) -> bool| {
        let halves = std::iter::successors(Some(count), |team| Some(team / 2)).take_while(|team| *team >= FEW);
        halves.into_iter().find(|team| count.is_multiple_of(*team) && goes(*team))
    };
    if body.loops.is_empty() {
        // The looks at what is guessed are as many, and take more registers than one gang's: a sum of two of numba's vectors is 0.7 times as fast as a team.
        if info.accesses.iter().any(|access| info.is_guessed(access)) {
            return (0, 0);
        }
        let limit = without_loops(plan, long).map(|limit| limit.min(LONG));
        let team = limit.and_then(|limit| most(&|team| alike(team) && team * long <= limit));
        return team.map_or((0, 0), |team| (team, team));
    }
    // Lanes that leave a loop in different trips leave the team as well.
    let stays = |branch: u32| is_by_bound(plan, branch) || is_guessed_alike(plan, branch);
    if info.divergence.splits.iter().any(|(branch, split)| !split.loops.is_empty() && !stays(*branch)) {
        return (0, 0);
    }
    let row = gangs.cta[0] == gangs.threads();
    if row && !body.loops.iter().any(|inner| goes_through_memory(plan, inner)) {
        return (0, 0);
    }
    let vector = if plan.has_wide_vectors() { 16 } else { 8 };
    let carried = body
        .loops
        .iter()
        .map(|inner| weight(&info.values, &info.shapes, info.values.live_in(inner.blocks.start)).varying);
    let carried = carried.max().unwrap_or(0) * (gangs.width / vector).max(1);
    let registers = if plan.has_wide_vectors() { 26 } else { 12 };
    // What is spilled is no loss where memory is what takes the time.
    let fits = |team: u32| team * long <= LONG && (row || team * carried <= registers);
    // All are one team where barriers would part them, though only a few compute at a time.
    if !row
        && !info.barriers.all.is_empty()
        && count * long <= LONG
        && let Some(few) = most(&fits)
    {
        return (count, few);
    }
    most(&|team| fits(team) && alike(team)).map_or((0, 0), |team| (team, team))
}

/// How many instructions are written for each gang of a team: what is uniform, or a pattern, is mostly known of all gangs as soon as of the first ones.
fn written_for_each(plan: &Plan<'_>) -> u32 {
    let each = |inst: &u32| {
        let written = plan.info.values.written(plan.body, *inst);
        plan.access(*inst).is_some() || written.is_none_or(|value| matches!(plan.info.shape(value), Shape::Varying(_)))
    };
    (0..plan.body.insts.len() as u32).filter(each).count() as u32
}

/// How many instructions, of all gangs of a team, a kernel without loops gains by; none if it gains nothing. `long` are written for each gang.
fn without_loops(plan: &Plan<'_>, long: u32) -> Option<u32> {
    /// So many loads of what all threads load alike, such as a filter's weights, and looks at their addresses are a gain. Measured on a Xeon of the fifth generation: a
    /// convolution with 49 weights is 1.24 to 1.40 times as fast with AVX-512.
    const MANY: usize = 8;
    /// What follows each place where gangs part is written once more. Not more of them than the end of the data, where threads beyond it are sent home.
    const ONCE: usize = 1;
    /// Of what is that short, such as a sum of two vectors, beginning a gang is a good part: 1.1 times as fast there.
    const BRIEF: u32 = 8;
    /// Then so many instructions are as good as more.
    const ENOUGH: u32 = 128;
    let parts = parts(plan);
    if parts <= ONCE && loads_for_all(plan) >= MANY {
        return Some(u32::MAX);
    }
    let gangs = &plan.info.gangs;
    let row = gangs.cta[0] == gangs.threads();
    (row && long <= BRIEF && parts == 0 && goes_side_by_side(plan)).then_some(ENOUGH)
}

/// How many instructions load what is the same for all threads.
fn loads_for_all(plan: &Plan<'_>) -> usize {
    let alike = |inst: u32| {
        let written = plan.info.values.written(plan.body, inst);
        written.is_some_and(|value| plan.info.shape(value).is_cta_uniform())
    };
    let accesses = plan.info.accesses.iter();
    accesses
        .filter(|access| access.kind == AccessKind::Load && access.space != Space::Param && alike(access.inst))
        .count()
}

/// Whether a kernel goes through memory, all lanes side by side.
fn goes_side_by_side(plan: &Plan<'_>) -> bool {
    let mut accesses = plan.info.accesses.iter().filter(|access| access.space != Space::Param).peekable();
    accesses.peek().is_some()
        && accesses.all(|access| {
            matches!(access.kind, AccessKind::Load | AccessKind::Store) && access.pattern == Pattern::Contiguous
        })
}

/// Whether a kernel goes on from barrier to barrier in short steps, all that threads do apart being known, or at the end only. `long` instructions are written for
/// each gang.
fn goes_by_steps(plan: &Plan<'_>, long: u32) -> bool {
    /// Fewer barriers cost nothing.
    const MANY: usize = 3;
    /// Longer steps gain nothing: of a row's softmax, with 106 instructions for a barrier, gangs by themselves are 1.15 to 1.3 times as fast, and made in half the time. A
    /// Fourier transform's steps have 15.
    const STEP: usize = 32;
    let barriers = plan.info.barriers.all.len();
    let mut blocks = 0..plan.body.blocks.len() as u32;
    barriers >= MANY && long as usize <= STEP * barriers && !blocks.any(|block| comes_apart(plan, block))
}

/// Whether gangs come apart at the end of a grid at most, for all that is known.
pub(in crate::codegen) fn is_seldom_apart(plan: &Plan<'_>) -> bool {
    parts(plan) == 0
}

/// At the ends of how many blocks gangs come apart, for all that is known, other than at the end of a grid.
fn parts(plan: &Plan<'_>) -> usize {
    let blocks = 0..plan.body.blocks.len() as u32;
    blocks.filter(|block| comes_apart(plan, *block) || parts_in_each_cta(plan, *block)).count()
}

/// Whether gangs that part at the end of a block do so in each CTA alike: the condition has nothing of the CTA's number. Bounds that stand in the text are
/// mostly what all threads come to together.
fn parts_in_each_cta(plan: &Plan<'_>, block: u32) -> bool {
    let Some(guard) = plan.guard_of(block) else { return false };
    let fixed = plan.info.values.get(guard).defs.iter().any(|def| {
        matches!(
            plan.body.insts[*def as usize].op,
            Op::Setp { a: Operand::Imm(_), .. } | Op::Setp { b: Operand::Imm(_), .. }
        )
    });
    !plan.info.shape(guard).is_cta_uniform() && !plan.has_arm(block) && !fixed && !comes_of_cta(plan, guard)
}

/// Whether a value is computed of the CTA's number.
fn comes_of_cta(plan: &Plan<'_>, value: ValueId) -> bool {
    comes_of(plan, value, |reg| matches!(reg, SpecialReg::CtaidX | SpecialReg::CtaidY | SpecialReg::CtaidZ))
}

/// Whether a value is computed of a special register.
pub(in crate::codegen) fn comes_of(plan: &Plan<'_>, value: ValueId, is: impl Fn(SpecialReg) -> bool) -> bool {
    let (mut seen, mut pending) = (BTreeSet::from([value]), vec![value]);
    while let Some(value) = pending.pop() {
        for def in &plan.info.values.get(value).defs {
            let inst = &plan.body.insts[*def as usize];
            if let Op::ReadSpecial { reg, .. } = inst.op
                && is(reg)
            {
                return true;
            }
            let operands = inst.operands();
            let sources = paired(&operands, plan.info.values.of_inst(*def));
            let sources = sources.filter(|(operand, _)| operand.read().is_some()).filter_map(|(_, value)| value);
            pending.extend(sources.filter(|value| seen.insert(*value)));
        }
    }
    false
}

/// Whether gangs part at the end of a block more often than at the end of a grid, for all that is known.
fn comes_apart(plan: &Plan<'_>, block: u32) -> bool {
    let by_table = matches!(plan.body.blocks[block as usize].terminator.kind, TerminatorKind::BrxIdx { .. });
    let parts = plan.guard_of(block).is_some_and(|guard| {
        let alike = plan.info.shape(guard).is_cta_uniform() || plan.has_arm(block);
        !alike && (plan.always_parts(block) || !is_by_bound(plan, block))
    });
    by_table || parts
}

/// Whether the trips of a loop go through memory, all lanes side by side, and nobody waits in it.
pub(in crate::codegen) fn goes_through_memory(plan: &Plan<'_>, inner: &Loop) -> bool {
    let inside = |inst: u32| inner.blocks.contains(&plan.block_of[inst as usize]);
    let mut accesses = plan.info.accesses.iter().filter(|access| inside(access.inst));
    let rows = accesses.any(|access| {
        matches!(access.space, Space::Global | Space::Generic) && matches!(access.pattern, Pattern::Contiguous)
    });
    rows && !plan.info.barriers.all.iter().any(|(barrier, _)| inside(*barrier))
}

/// Whether lanes take a branch apart only because of a bound that patterns run into: all do the same but near the end.
fn is_by_bound(plan: &Plan<'_>, branch: u32) -> bool {
    let values = &plan.info.values;
    let Some(&[def]) = plan.guard_of(branch).map(|guard| &values.get(guard).defs[..]) else { return false };
    let operands = plan.body.insts[def as usize].operands();
    let mut read = paired(&operands, values.of_inst(def)).filter(|(operand, _)| operand.read().is_some());
    let known = |value: ValueId| !matches!(plan.info.shape(value), Shape::Varying(_));
    matches!(plan.body.insts[def as usize].op, Op::Setp { .. }) && read.all(|(_, value)| value.is_none_or(known))
}

/// Whether all lanes would take a branch alike if they had never parted.
fn is_guessed_alike(plan: &Plan<'_>, branch: u32) -> bool {
    plan.guard_of(branch).is_some_and(|guard| plan.info.guess(guard).is_some_and(Affine::is_uniform))
}
