//! Barriers of a CTA and fences (PTX ISA 9.7.13.1 to 9.7.13.4).

use std::sync::atomic::{Ordering, fence};

use warploom_exec::fault::FaultKind;
use warploom_numerics::exchange::Vote;

use crate::barriers::{Arrival, BARRIERS};
use crate::machine::{Flow, Machine};
use crate::program::Inst;
use crate::warp::Wait;

/// The operands of a barrier instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierSite {
    /// 32-bit row of the barrier number.
    pub(crate) id: u32,
    /// The number, where it is a constant.
    pub(crate) fixed: Option<u32>,
    /// 32-bit row of the thread count.
    pub(crate) count: Option<u32>,
    pub(crate) kind: BarrierKind,
    /// What an observer is told of the predicates, by its number in the function.
    pub(crate) told: Option<u32>,
}

/// What a barrier instruction does beyond arriving.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BarrierKind {
    /// Nothing.
    Arrive,
    /// Waits.
    Sync,
    /// Waits, and counts the predicate operand into a 32-bit row.
    Popc { source: u32, d: u32 },
    /// Waits; the predicate slot gets whether all hold.
    And { source: u32, d: u32 },
    /// Waits; the predicate slot gets whether any holds.
    Or { source: u32, d: u32 },
}

/// `bar`, `barrier`: site `imm`.
pub(crate) fn barrier(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.barriers[inst.imm as usize];
    if let BarrierSite { fixed: Some(id), count: None, kind: BarrierKind::Sync, .. } = *site
        && mask == machine.active
        && (id as usize) < BARRIERS
    {
        // `bar.sync` of a number, what `__syncthreads` is.
        let ticket = machine.cta.barriers.arrive(Arrival::plain(id, machine.warp.index, mask));
        let alone = machine.warp.groups.is_empty();
        if machine.cta.barriers.passed(id, ticket) {
            return if alone { Flow::Next } else { go_on_with_others(machine, mask) };
        }
        machine.warp.park(machine.activation, machine.pc, mask, Wait::Barrier { id, ticket, reduces: false });
        return if alone { Flow::Leave } else { Flow::Switch };
    }
    let set = match site.kind {
        BarrierKind::Popc { source, .. } | BarrierKind::And { source, .. } | BarrierKind::Or { source, .. } => {
            machine.predicate(source)
        }
        BarrierKind::Arrive | BarrierKind::Sync => 0,
    };
    let waits = !matches!(site.kind, BarrierKind::Arrive);
    let reduces = waits && !matches!(site.kind, BarrierKind::Sync);
    let mut left = mask;
    let mut waiting = false;
    let mut passed = machine.active & !mask;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let (id, same) = match site.fixed {
            Some(id) => (id, left),
            None => {
                let ids = &machine.frame.r32[site.id as usize];
                let mut same = 0;
                for (lane, &other) in ids.iter().enumerate() {
                    same |= u32::from(other == ids[first]) << lane;
                }
                (ids[first], same & left)
            }
        };
        left &= !same;
        if id as usize >= BARRIERS {
            return machine.fail(same, FaultKind::IllegalInstruction(format!("barrier {id}: there are {BARRIERS}")));
        }
        // "Operand b specifies the number of threads participating in the barrier"; it "must be a multiple of warp size", and "a non-zero
        // thread count is required for barrier.arrive": for the others, 0 is all threads, as without it.
        let expected = match site.count.map(|row| machine.frame.r32[row as usize][first]) {
            Some(0) if waits => None,
            Some(count) if count == 0 || !count.is_multiple_of(32) => {
                let text = format!(
                    "barrier {id} for {count} threads: the number must be a multiple of 32, and not 0 to arrive"
                );
                return machine.fail(same, FaultKind::IllegalInstruction(text));
            }
            expected => expected,
        };
        machine.tell_given(site.told, (id, machine.cta.barriers.phase(id)), same, set);
        let warp = machine.warp.index;
        let ticket = machine.cta.barriers.arrive(Arrival { id, warp, mask: same, set, expected, reduces });
        if !waits {
            passed |= same;
        } else if machine.cta.barriers.passed(id, ticket) {
            if reduces {
                let reduction = machine.cta.barriers.take_outcome(id, ticket);
                machine.tell_taken(site.told, (id, ticket), same);
                finish(machine, site.kind, same, reduction);
            }
            passed |= same;
        } else {
            machine.warp.park(machine.activation, machine.pc, same, Wait::Barrier { id, ticket, reduces });
            waiting = true;
        }
    }
    if !waiting && (!waits || machine.warp.groups.is_empty()) {
        return Flow::Next;
    }
    if passed != 0 { go_on_with_others(machine, passed) } else { Flow::Switch }
}

/// Lets lanes that have passed a barrier go on with the groups of their warp that may have waited for them: the places where those stand are
/// to be met.
fn go_on_with_others(machine: &mut Machine<'_>, lanes: u32) -> Flow {
    machine.warp.park(machine.activation, machine.pc + 1, lanes, Wait::Ready);
    Flow::Switch
}

/// Writes the result of `barrier.red`. The activation that waits is the running one.
fn finish(machine: &mut Machine<'_>, kind: BarrierKind, mask: u32, vote: Vote) {
    let all = |holds: bool| if holds { u32::MAX } else { 0 };
    match kind {
        BarrierKind::Arrive | BarrierKind::Sync => {}
        BarrierKind::Popc { d, .. } => machine.put(d, mask, &[vote.ayes; 32]),
        BarrierKind::And { d, .. } => machine.put_predicate(d, mask, all(vote.all())),
        BarrierKind::Or { d, .. } => machine.put_predicate(d, mask, all(vote.any())),
    }
}

impl Machine<'_> {
    /// Lets the groups go on whose barriers have completed meanwhile.
    pub(crate) fn complete_barriers(&mut self) {
        for index in 0..self.warp.groups.len() {
            let group = self.warp.groups[index];
            if let Wait::Cluster { phase } = group.wait
                && self.cta.cluster.as_ref().is_none_or(|cluster| cluster.phases() > phase)
            {
                let group = &mut self.warp.groups[index];
                group.wait = Wait::Ready;
                group.pc += 1;
                continue;
            }
            let Wait::Barrier { id, ticket, reduces } = group.wait else { continue };
            if !self.cta.barriers.passed(id, ticket) {
                continue;
            }
            if reduces {
                let reduction = self.cta.barriers.take_outcome(id, ticket);
                self.switch_to(group.activation);
                let function = self.function;
                let site = function.barriers[function.code[group.pc as usize].imm as usize];
                self.tell_taken(site.told, (id, ticket), group.mask);
                finish(self, site.kind, group.mask, reduction);
            }
            let group = &mut self.warp.groups[index];
            group.wait = Wait::Ready;
            group.pc += 1;
        }
    }
}

/// `membar`, `fence`: CTAs run on several host threads, and the host's fence is what orders them.
pub(crate) fn fence_all(_: &mut Machine<'_>, _: &Inst, _: u32) -> Flow {
    fence(Ordering::SeqCst);
    Flow::Next
}
