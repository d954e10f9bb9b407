//! Where the warps of a CTA let each other go on, though nothing in the program asks them to.
//!
//! Two sums over a CTA often go through the same shared words, with a barrier in each between what warps write there and what they read, and none between one's
//! reads and the other's writes. By the memory model that is a race (PTX ISA 8), but no GPU loses it: warps leave a barrier together, and the shuffles behind a
//! load take longer than the loads of the others. Where warps run one after the other, each to its next barrier, the first would write what the others have yet
//! to read. So it lets them read first, where a shuffle stands between.

use std::collections::BTreeMap;

use crate::ir::{BarrierOp, Body, Cfg, Inst, Module, Op, Space};

/// Puts [`BarrierOp::Yield`] in front of shuffles, or of loops of them, that stand between loads from shared memory behind a barrier and stores to it in front of the
/// next one. Which words these access is not looked at.
pub fn insert_yields(module: &mut Module) {
    for body in module.functions.iter_mut().filter_map(|function| function.body.as_mut()) {
        while let Some(places) = Some(places(body)).filter(|places| !places.is_empty()) {
            body.insert(&places);
        }
    }
}

/// What has happened on a way to a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Before {
    #[default]
    Nothing,
    Barrier,
    /// A load behind a barrier.
    Load,
}

impl Before {
    fn behind(self, op: &Op) -> Before {
        match op {
            Op::Barrier(BarrierOp::Sync { .. } | BarrierOp::Reduce { .. }) => Before::Barrier,
            Op::Barrier(BarrierOp::Yield) => self.min(Before::Barrier),
            op if is_load(op) && self >= Before::Barrier => Before::Load,
            Op::Call { .. } => Before::Nothing,
            _ => self,
        }
    }
}

/// What may happen on a way from a place on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Later {
    #[default]
    Nothing,
    Barrier,
    /// A store in front of a barrier.
    Store,
}

impl Later {
    fn before(self, op: &Op) -> Later {
        match op {
            Op::Barrier(BarrierOp::Sync { .. } | BarrierOp::Reduce { .. }) => Later::Barrier,
            op if is_store(op) && self >= Later::Barrier => Later::Store,
            Op::Call { .. } => Later::Nothing,
            _ => self,
        }
    }
}

fn is_load(op: &Op) -> bool {
    matches!(op, Op::Ld { space: Space::Shared, .. })
}

fn is_store(op: &Op) -> bool {
    matches!(op, Op::St { space: Space::Shared, .. } | Op::Atom { space: Space::Shared, .. })
}

fn is_shuffle(op: &Op) -> bool {
    matches!(op, Op::Shfl { .. } | Op::Redux { .. })
}

/// A block, and the instruction in front of which it is, or the end of the block's.
type Place = (u32, u32);

/// What is to be put into a body: each stands for the shuffle that it is for.
fn places(body: &Body) -> BTreeMap<Place, Vec<Inst>> {
    let mut places = BTreeMap::new();
    let has = |is: fn(&Op) -> bool| body.insts.iter().any(|inst| is(&inst.op));
    if !has(is_load) || !has(is_store) || !has(is_shuffle) {
        return places;
    }
    let cfg = Cfg::new(body);
    let blocks = 0..body.blocks.len();
    let ops = |block: usize| body.blocks[block].insts.clone().map(|inst| (inst, &body.insts[inst as usize].op));
    let mut begins = vec![Before::default(); blocks.len()];
    let mut settled = false;
    while !std::mem::replace(&mut settled, true) {
        for block in blocks.clone() {
            let end = ops(block).fold(begins[block], |before, (_, op)| before.behind(op));
            for to in &cfg.successors[block] {
                let begin = &mut begins[to.0 as usize];
                settled &= *begin >= end;
                *begin = end.max(*begin);
            }
        }
    }
    let mut follows = vec![Later::default(); blocks.len()];
    let end = |follows: &[Later], block: usize| {
        cfg.successors[block].iter().map(|to| follows[to.0 as usize]).max().unwrap_or_default()
    };
    settled = false;
    while !std::mem::replace(&mut settled, true) {
        for block in blocks.clone().rev() {
            let begin = ops(block).rev().fold(end(&follows, block), |later, (_, op)| later.before(op));
            settled &= follows[block] >= begin;
            follows[block] = begin.max(follows[block]);
        }
    }
    let innermost = body.innermost_loops();
    for block in blocks {
        let later = ops(block).rev().scan(end(&follows, block), |later, (_, op)| {
            let behind = *later;
            *later = behind.before(op);
            Some(behind)
        });
        let mut later: Vec<Later> = later.collect();
        let mut before = begins[block];
        for (shuffle, op) in ops(block) {
            if later.pop() == Some(Later::Store) && is_shuffle(op) && before == Before::Load {
                let place = outside(body, &cfg, innermost[block]).unwrap_or((block as u32, shuffle));
                let op = Op::Barrier(BarrierOp::Yield);
                places.insert(place, vec![Inst { guard: None, op, ..body.insts[shuffle as usize].clone() }]);
                before = Before::Barrier;
            }
            before = before.behind(op);
        }
    }
    places
}

/// The end of the block that a loop is entered from, if nothing in the loop loads from shared memory: one turn is enough for all trips.
fn outside(body: &Body, cfg: &Cfg, innermost: Option<u32>) -> Option<Place> {
    let inner = &body.loops[innermost? as usize];
    let mut insts = inner.blocks.clone().flat_map(|block| body.blocks[block as usize].insts.clone());
    if inner.irreducible || insts.any(|inst| is_load(&body.insts[inst as usize].op)) {
        return None;
    }
    let before = &cfg.predecessors[inner.blocks.start as usize];
    let mut entered = before.iter().filter(|block| !inner.blocks.contains(&block.0));
    match (entered.next(), entered.next()) {
        (Some(block), None) => Some((block.0, body.blocks[block.0 as usize].insts.end)),
        _ => None,
    }
}
