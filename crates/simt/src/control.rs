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
    /// By block, likewise: what leads to it.
    predecessors: Vec<Vec<u32>>,
    /// By block that was asked for: the branches.
    known: BTreeMap<u32, Vec<u32>>,
}

impl Trip {
    pub(crate) fn new(body: &Body, blocks: Range<u32>) -> Trip {
        let within = |to: u32| (to != blocks.start && blocks.contains(&to)).then_some(to);
        let next = |block: u32| successors(body, block).into_iter().map(within).collect();
        let successors: Vec<Vec<Option<u32>>> = blocks.clone().map(next).collect();
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (block, ways) in blocks.clone().zip(&successors) {
            ways.iter().flatten().for_each(|to| predecessors[(to - blocks.start) as usize].push(block));
        }
        Trip { blocks, successors, predecessors, known: BTreeMap::new() }
    }

    /// The blocks whose ends decide whether `block` runs: those that lead to it for certain on one way, and not on another.
    pub(crate) fn deciding(&mut self, block: u32) -> &[u32] {
        if !self.known.contains_key(&block) {
            let avoids = self.avoiding(block);
            let misses = |to: &Option<u32>| to.is_none_or(|to| avoids[self.at(to)]);
            let parts = |from: &u32| {
                let ways = &self.successors[self.at(*from)];
                ways.iter().any(misses) && !ways.iter().all(misses)
            };
            let branches = self.blocks.clone().filter(parts).collect();
            self.known.insert(block, branches);
        }
        &self.known[&block]
    }

    fn at(&self, block: u32) -> usize {
        (block - self.blocks.start) as usize
    }

    /// By block: whether a trip can come from there to its end without `block`.
    fn avoiding(&self, block: u32) -> Vec<bool> {
        // A thread ends where nothing follows.
        let ends = |from: &u32| {
            let ways = &self.successors[self.at(*from)];
            ways.is_empty() || ways.contains(&None)
        };
        let mut out = vec![false; self.successors.len()];
        let mut pending: Vec<u32> = self.blocks.clone().filter(ends).collect();
        while let Some(from) = pending.pop() {
            if from != block && !std::mem::replace(&mut out[self.at(from)], true) {
                pending.extend(&self.predecessors[self.at(from)]);
            }
        }
        out
    }
}
