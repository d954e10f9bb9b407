//! Patterns of which only the first lane is kept: the others are computed where somebody needs them.
//!
//! The lanes of a pattern are its first lane plus constants, so that nothing else need be stored. Where that may not hold, as a value that is widened has
//! wrapped around in some lane, the lanes are what the instruction computes from its operands' lanes, once more. That is possible wherever the
//! operands still hold what they held then.

use std::collections::BTreeSet;

use warploom_ptx::ir::{Body, Op};

use crate::info::KernelInfo;
use crate::pressure::scan;
use crate::shape::Shape;
use crate::values::{ValueId, paired};

/// By value: whether only its first lane is kept.
pub(super) fn lazy(info: &KernelInfo<'_>, body: &Body, block_of: &[u32]) -> Vec<bool> {
    let uses = uses(info, body);
    let across = across_barriers(info, body, block_of);
    let mut known: Vec<Option<Recipe>> = vec![None; info.values.len()];
    // Operands come before their results, but around loops, where a value has several writes.
    for inst in 0..body.insts.len() as u32 {
        let Some(value) = info.values.written(body, inst) else { continue };
        // Behind a barrier the operands are there no more.
        let again = !across.contains(&value) || !is_flagged(info, value);
        let recipe = again.then(|| recipe(info, body, block_of, &uses, &known, value)).flatten();
        known[value.0 as usize] = recipe;
    }
    known.into_iter().map(|recipe| recipe.is_some()).collect()
}

/// The values that are alive at a barrier.
fn across_barriers(info: &KernelInfo<'_>, body: &Body, block_of: &[u32]) -> BTreeSet<ValueId> {
    let mut across = BTreeSet::new();
    for (barrier, _) in &info.barriers.all {
        scan(body, &info.values, block_of[*barrier as usize], |inst, live| {
            if inst == Some(*barrier) {
                across.extend(live.iter().copied());
            }
        });
    }
    across
}

/// Whether the pattern of a value may fail to hold.
pub(super) fn is_flagged(info: &KernelInfo<'_>, value: ValueId) -> bool {
    matches!(info.shape(value), Shape::Affine(affine) if !affine.told_by.is_empty())
}

/// How the lanes of a value are had again.
#[derive(Clone, Debug, Default)]
struct Recipe {
    /// Values with several writes that it is computed from.
    leaves: BTreeSet<ValueId>,
    /// The first instruction of the computation, if there are leaves.
    start: u32,
}

/// Where values are read: by instruction, or at the end of a block.
struct Uses {
    insts: Vec<Vec<u32>>,
    ends: Vec<bool>,
}

fn uses(info: &KernelInfo<'_>, body: &Body) -> Uses {
    let mut uses = Uses { insts: vec![Vec::new(); info.values.len()], ends: vec![false; info.values.len()] };
    for (number, inst) in body.insts.iter().enumerate() {
        let number = number as u32;
        let operands = inst.operands();
        for (operand, value) in paired(&operands, info.values.of_inst(number)) {
            if let Some(value) = value.filter(|_| operand.read().is_some()) {
                uses.insts[value.0 as usize].push(number);
            }
        }
    }
    for block in 0..body.blocks.len() as u32 {
        info.values.of_end(block).iter().flatten().for_each(|value| uses.ends[value.0 as usize] = true);
    }
    uses
}

fn recipe(
    info: &KernelInfo<'_>,
    body: &Body,
    block_of: &[u32],
    uses: &Uses,
    known: &[Option<Recipe>],
    id: ValueId,
) -> Option<Recipe> {
    let Shape::Affine(affine) = info.shape(id) else { return None };
    if !affine.is_constant() {
        return None;
    }
    if affine.told_by.is_empty() {
        return Some(Recipe::default());
    }
    let value = info.values.get(id);
    let (&[def], false) = (&value.defs[..], value.undefined) else { return None };
    let inst = &body.insts[def as usize];
    if inst.guard.is_some() || !again(&inst.op) {
        return None;
    }
    let mut recipe = Recipe { leaves: BTreeSet::new(), start: def };
    let operands = inst.operands();
    for (operand, value) in paired(&operands, info.values.of_inst(def)) {
        let Some(value) = value.filter(|_| operand.read().is_some()) else { continue };
        if is_flagged(info, value) {
            let of = known[value.0 as usize].as_ref()?;
            recipe.leaves.extend(&of.leaves);
            recipe.start = recipe.start.min(of.start);
            continue;
        }
        match info.shape(value) {
            Shape::Uniform(_) | Shape::Unwritten | Shape::Affine(_) => {}
            Shape::Varying(_) => return None,
        }
        let operand = info.values.get(value);
        if operand.defs.len() != 1 || operand.undefined {
            recipe.leaves.insert(value);
        }
    }
    // With one write each that reach all reads nothing changes meanwhile. Else all must stand in one block, before the next write.
    if recipe.leaves.is_empty() {
        return Some(recipe);
    }
    let block = block_of[def as usize];
    let last = uses.insts[id.0 as usize].iter().copied().max().unwrap_or(def);
    let near = |inst: u32| block_of[inst as usize] == block;
    let all_near = uses.insts[id.0 as usize].iter().all(|inst| near(*inst) && *inst > def) && near(recipe.start);
    let rewritten = recipe
        .leaves
        .iter()
        .any(|leaf| info.values.get(*leaf).defs.iter().any(|write| (recipe.start..last).contains(write)));
    (all_near && !uses.ends[id.0 as usize] && !rewritten).then_some(recipe)
}

/// Whether an instruction is one of those whose patterns are followed over a widening, and that can be written once more.
fn again(op: &Op) -> bool {
    matches!(
        op,
        Op::IntBinary { .. }
            | Op::IntUnary { .. }
            | Op::Mul { .. }
            | Op::Mad { .. }
            | Op::Shift { .. }
            | Op::Logic { .. }
            | Op::Cvt { .. }
            | Op::Mov { .. }
            | Op::Cvta { .. }
    )
}
