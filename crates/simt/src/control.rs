//! Which branches of a loop decide whether a block of it runs in a trip: its control dependences (Ferrante, Ottenstein and Warren, The Program Dependence Graph and Its Use in
//! Optimization, TOPLAS 1987), in the graph of one trip, which ends where the loop is left or goes around.

use std::collections::BTreeMap;
use std::ops::Range;

use warploom_ptx::ir::Body;

use crate::divergence::successors;

/// One trip of a loop.
pub(crate) struct Trip {
    /// The loop's blocks; the first one is where it is entered.
    blocks: Range<u32>,
    /// By block, from the first on: where it leads to within the trip; none stands for the end.
    successors: Vec<Vec<Option<u32>>>,
    /// By block that was asked for: the branches.
    known: BTreeMap<u32, Vec<u32>>,
}

impl Trip {
    pub(crate) fn new(body: &Body, blocks: Range<u32>) -> Trip {
        let within = |to: u32| (to != blocks.start && blocks.contains(&to)).then_some(to);
        let next = |block: u32| successors(body, block).into_iter().map(within).collect();
        Trip { successors: blocks.clone().map(next).collect(), blocks, known: BTreeMap::new() }
    }

    /// The blocks whose ends decide whether `block` runs: those that lead to it for certain on one way, and not on another.
    pub(crate) fn deciding(&mut self, block: u32) -> &[u32] {
        let (blocks, successors) = (&self.blocks, &self.successors);
        self.known.entry(block).or_insert_with(|| {
            let avoids = avoiding(blocks, successors, block);
            let misses = |to: &Option<u32>| to.is_none_or(|to| avoids[(to - blocks.start) as usize]);
            let parts = |from: &u32| {
                let ways = &successors[(from - blocks.start) as usize];
                ways.iter().any(misses) && !ways.iter().all(misses)
            };
            blocks.clone().filter(parts).collect()
        })
    }
}

/// By block: whether a trip can come from there to its end without `block`.
fn avoiding(blocks: &Range<u32>, successors: &[Vec<Option<u32>>], block: u32) -> Vec<bool> {
    let mut out = vec![false; successors.len()];
    let mut from: Vec<Vec<u32>> = vec![Vec::new(); successors.len()];
    let mut pending = Vec::new();
    for (block, ways) in blocks.clone().zip(successors) {
        for way in ways {
            match way {
                Some(to) => from[(to - blocks.start) as usize].push(block),
                None => pending.push(block),
            }
        }
        if ways.is_empty() {
            // A thread ends here.
            pending.push(block);
        }
    }
    while let Some(at) = pending.pop() {
        let seen = &mut out[(at - blocks.start) as usize];
        if at != block && !std::mem::replace(seen, true) {
            pending.extend(&from[(at - blocks.start) as usize]);
        }
    }
    out
}
