//! What the gangs of a team have in common: values that are the same for all of them, or a known step apart from gang to gang, and accesses of which one
//! look tells for all.
//!
//! It is what the analysis finds for gangs as wide as a team.

use warploom_ptx::ir::{Op, Space};

use super::plan::Plan;
use crate::access::{AccessKind, Pattern};
use crate::affine::Affine;
use crate::info::KernelInfo;
use crate::lanes::Lanes;
use crate::shape::Shape;
use crate::values::{ValueId, paired};

/// By value: what is known of it for all gangs of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Across {
    /// Each gang has its own.
    Apart,
    /// All have the same.
    Same,
    /// What the first one has, and so much more by gang.
    Steps(Vec<i64>),
    /// What the second one has more than the first, each has more than the one before.
    Even,
}

/// Of fewer gangs the first two say nothing of others.
const FEW: u32 = 3;

/// What all gangs of a team access with one instruction, or with several that have one base.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The first instruction.
    pub(super) inst: u32,
    /// From the first lane's address, or the base's, to the first byte.
    pub(super) low: i64,
    /// Bytes from there on.
    pub(super) need: u64,
    /// Bytes of a lane.
    pub(super) bytes: u32,
    pub(super) kind: AccessKind,
    pub(super) space: Space,
}

/// What is known of all values.
pub(super) fn across(plan: &Plan<'_>, wide: &KernelInfo<'_>) -> Vec<Across> {
    let number = plan.info.values.len() as u32;
    let mut all: Vec<Across> = (0..number).map(|value| of(plan, wide, ValueId(value))).collect();
    // Whether a pattern holds for all gangs is told by what it comes from.
    loop {
        let unsound = |value: &ValueId| {
            matches!(all[value.0 as usize], Across::Steps(_) | Across::Even)
                && plan.is_flagged(*value)
                && !is_told(plan, wide, &all, *value)
        };
        let Some(value) = (0..number).map(ValueId).find(unsound) else { return all };
        all[value.0 as usize] = Across::Apart;
    }
}

fn of(plan: &Plan<'_>, wide: &KernelInfo<'_>, value: ValueId) -> Across {
    let width = plan.info.gangs.width as usize;
    let narrow = match plan.info.shape(value) {
        shape if shape.is_cta_uniform() => return Across::Same,
        shape if shape.is_uniform() && wide.shape(value).is_uniform() => return Across::Same,
        shape if shape.is_uniform() => Affine::new(Lanes::zero(width), 0),
        Shape::Affine(affine) if affine.is_constant() => affine.clone(),
        _ => return Across::Apart,
    };
    let Shape::Affine(affine) = wide.shape(value) else { return Across::Apart };
    let gangs: Vec<&[i64]> = affine.lanes.get().chunks(width).collect();
    let alike = gangs
        .iter()
        .all(|gang| gang.iter().zip(narrow.lanes.get()).all(|(lane, apart)| lane.wrapping_sub(gang[0]) == *apart));
    if affine.told_by != narrow.told_by || !alike {
        return Across::Apart;
    }
    let steps: Vec<i64> = gangs.iter().map(|gang| gang[0]).collect();
    if affine.is_constant() {
        return Across::Steps(steps);
    }
    let even = |direction: &Lanes| {
        let gangs: Vec<&[i64]> = direction.get().chunks(width).collect();
        let common = gangs.iter().all(|gang| gang.iter().all(|lane| *lane == gang[0]));
        common && is_even(&gangs.iter().map(|gang| gang[0]).collect::<Vec<_>>())
    };
    if plan.team() >= FEW && is_even(&steps) && affine.directions.iter().all(even) {
        Across::Even
    } else {
        Across::Apart
    }
}

/// Whether each has as much more than the one before.
fn is_even(steps: &[i64]) -> bool {
    steps.windows(3).all(|steps| steps[1].wrapping_sub(steps[0]) == steps[2].wrapping_sub(steps[1]))
}

/// Whether what is known of the operands of all instructions that write a value tells that its pattern holds for all gangs.
fn is_told(plan: &Plan<'_>, wide: &KernelInfo<'_>, all: &[Across], value: ValueId) -> bool {
    plan.info.values.get(value).defs.iter().all(|def| {
        // What a gang finds out is not so for others.
        if plan.info.guessed.contains_key(def) {
            return false;
        }
        let operands = plan.body.insts[*def as usize].operands();
        let mut read = paired(&operands, plan.info.values.of_inst(*def))
            .filter(|(operand, _)| operand.read().is_some())
            .filter_map(|(_, value)| value);
        read.all(|source| {
            if all[value.0 as usize] == Across::Even {
                return match &all[source.0 as usize] {
                    Across::Apart => false,
                    Across::Same | Across::Even => true,
                    Across::Steps(steps) => is_even(steps),
                };
            }
            let known = all[source.0 as usize] != Across::Apart || !plan.is_flagged(source);
            let constant = match (plan.info.shape(source), wide.shape(source)) {
                (Shape::Affine(_), Shape::Affine(affine)) => affine.is_constant(),
                (Shape::Affine(_), _) => false,
                _ => true,
            };
            known && constant
        })
    })
}

/// The accesses of which one look tells for all gangs.
pub(super) fn spans(plan: &Plan<'_>, wide: &KernelInfo<'_>) -> Vec<Span> {
    let lanes = i64::from(plan.info.gangs.width);
    let mut out = Vec::new();
    for (access, all) in plan.info.accesses.iter().zip(&wide.accesses) {
        let inst = access.inst;
        let known =
            matches!(all.pattern, Pattern::Same(_) | Pattern::Contiguous | Pattern::Strided(_) | Pattern::Known(_))
                && !matches!(access.pattern, Pattern::Scaled { .. } | Pattern::Anywhere(_));
        let plain = matches!(access.space, Space::Global | Space::Const | Space::Shared)
            && matches!(plan.body.insts[inst as usize].op, Op::Ld { .. } | Op::St { .. })
            && plan.body.insts[inst as usize].guard.is_none()
            && access.bytes.is_power_of_two();
        let base = plan.address_of(inst);
        let apart = base.is_some_and(|base| plan.across(base) == &Across::Apart);
        if !known || !plain || apart || access.proven {
            continue;
        }
        let (narrow, whole) = (access.reach(lanes), all.reach(i64::from(wide.gangs.width)));
        let (mut low, mut need) = (whole.0, (whole.1 - whole.0) as u64 + u64::from(access.bytes));
        if let Some((_, hull)) = plan.hull(inst) {
            if hull.first != inst {
                continue;
            }
            low = hull.low - narrow.0 + whole.0;
            need = hull.need + ((whole.1 - whole.0) - (narrow.1 - narrow.0)) as u64;
        }
        out.push(Span { inst, low, need, bytes: access.bytes, kind: access.kind, space: access.space });
    }
    out
}
