//! Where the lanes of a gang part, and where they meet again.
//!
//! For one branch that lanes take differently, the blocks behind it are walked in their order, each with a label that says which way led
//! there. A block that two labels come to is a *join*: there a register may hold what either way has written. As soon as a single block is left to
//! walk, all lanes come there, and the walk ends: they *converge*. A branch by which lanes leave a loop in different trips makes the whole loop
//! divergent: all blocks behind its exits start with labels of their own, and what the loop has computed differs outside by the trip.
//! The order of blocks (loops together, what follows them behind) is what makes one pass enough; see also Rosemann, Moll and Hack, An
//! Abstract Interpretation for SPMD Divergence on Reducible Control Flow Graphs, POPL 2021.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{Body, Op, TerminatorKind};

/// What follows from one divergent branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Where all lanes that are left are together again; none if they are not before they end.
    pub converges: Option<u32>,
    /// Blocks that lanes come to on different ways.
    pub joins: BTreeSet<u32>,
    /// Blocks that run with some of the lanes.
    pub partial: BTreeSet<u32>,
    /// Loops, by their index in [`Body::loops`], that lanes leave in different trips.
    pub loops: BTreeSet<u32>,
    /// It is in flow with loops that are entered in the middle, of which nothing is known.
    pub irreducible: bool,
}

/// Divergence of a whole body.
#[derive(Clone, Debug, Default)]
pub struct Divergence {
    /// By the block whose end branches differently by lane.
    pub splits: BTreeMap<u32, Split>,
    /// By block: the first branch because of which it may run with some of the lanes that have not ended.
    pub partial: Vec<Option<u32>>,
    /// By block: whether lanes may have ended before it while others have not.
    pub ended: Vec<bool>,
    /// Whether a thread may end while others of its CTA go on.
    pub some_end: bool,
}

/// The places that the end of a block leads to.
pub(crate) fn successors(body: &Body, block: u32) -> Vec<u32> {
    let end = &body.blocks[block as usize].terminator;
    let mut targets: Vec<u32> = match &end.kind {
        TerminatorKind::Bra { target, .. } => vec![target.0],
        TerminatorKind::BrxIdx { targets, .. } => targets.iter().map(|target| target.0).collect(),
        TerminatorKind::Next | TerminatorKind::Ret { .. } | TerminatorKind::Exit | TerminatorKind::Trap => Vec::new(),
    };
    targets.extend(end.next.map(|next| next.0));
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Whether a block does nothing but end the thread: coming to it is no way of going on.
pub(crate) fn only_ends(body: &Body, block: u32) -> bool {
    let block = &body.blocks[block as usize];
    let ends = matches!(block.terminator.kind, TerminatorKind::Ret { .. } | TerminatorKind::Exit);
    block.insts.is_empty() && ends && block.terminator.guard.is_none()
}

/// Whether a block does little but stop the grid: nobody waits for lanes that come to it.
pub(crate) fn stops(body: &Body, block: u32) -> bool {
    const MOST: u32 = 64;
    let block = &body.blocks[block as usize];
    let end = &block.terminator;
    let mut insts = body.insts[block.insts.start as usize..block.insts.end as usize].iter();
    matches!(end.kind, TerminatorKind::Trap)
        && end.guard.is_none()
        && block.insts.len() <= MOST as usize
        && !insts.any(|inst| matches!(inst.op, Op::Barrier(_)))
}

/// What follows from a divergent branch at the end of `branch`.
pub(crate) fn split(body: &Body, innermost: &[Option<u32>], branch: u32) -> Split {
    if body.loops.iter().any(|inner| inner.irreducible) {
        return everything(body);
    }
    let mut walk = Walk { body, pending: BTreeMap::new(), split: Split::default(), around: Vec::new() };
    let mut around = innermost[branch as usize];
    while let Some(index) = around {
        walk.around.push((index, BTreeSet::new()));
        around = body.loops[index as usize].parent;
    }
    for to in successors(body, branch) {
        if !only_ends(body, to) && !stops(body, to) {
            walk.go(branch, to, to);
        }
    }
    walk.run();
    walk.split
}

/// Nothing is known to be together: irreducible flow, and lanes that go their own ways.
pub(crate) fn everything(body: &Body) -> Split {
    let all: BTreeSet<u32> = (0..body.blocks.len() as u32).collect();
    let loops = (0..body.loops.len() as u32).collect();
    Split { converges: None, joins: all.clone(), partial: all, loops, irreducible: true }
}

struct Walk<'b> {
    body: &'b Body,
    /// Blocks that lanes are on the way to, with the label of their way.
    pending: BTreeMap<u32, u32>,
    split: Split,
    /// The loops around the branch that the walk has not left, from the innermost, with the labels that go around.
    around: Vec<(u32, BTreeSet<u32>)>,
}

impl Walk<'_> {
    /// Lanes with a label go from one block to another.
    fn go(&mut self, from: u32, to: u32, label: u32) {
        if to <= from {
            if let Some((_, labels)) =
                self.around.iter_mut().find(|(l, _)| self.body.loops[*l as usize].blocks.start == to)
            {
                labels.insert(label);
            }
            // Else it is the header of a loop that lies behind the branch: all lanes that go around it have one label.
            return;
        }
        match self.pending.get(&to) {
            Some(known) if *known != label => {
                self.split.joins.insert(to);
                self.pending.insert(to, to);
            }
            Some(_) => {}
            None => {
                self.pending.insert(to, label);
            }
        }
    }

    fn run(&mut self) {
        loop {
            self.leave_loops();
            let Some((block, label)) = self.pending.pop_first() else { return };
            let waiting = self.around.iter().any(|(_, labels)| !labels.is_empty());
            if self.pending.is_empty() && !waiting {
                self.split.converges = Some(block);
                return;
            }
            self.split.partial.insert(block);
            for to in successors(self.body, block) {
                if !only_ends(self.body, to) && !stops(self.body, to) {
                    self.go(block, to, label);
                }
            }
        }
    }

    /// Takes the loops whose end the walk has come to off the list.
    fn leave_loops(&mut self) {
        while let Some((index, labels)) = self.around.first() {
            let blocks = self.body.loops[*index as usize].blocks.clone();
            if self.pending.first_key_value().is_some_and(|(block, _)| blocks.contains(block)) {
                return;
            }
            let (index, labels) = (*index, labels.clone());
            self.around.remove(0);
            if labels.is_empty() {
                continue;
            }
            if labels.len() > 1 {
                self.split.joins.insert(blocks.start);
            }
            if self.pending.is_empty() {
                // All that are left begin the next trip together.
                self.split.converges = Some(blocks.start);
                self.around.clear();
                return;
            }
            // Some leave in this trip, others later, by any of the exits.
            self.split.loops.insert(index);
            self.split.partial.extend(blocks.clone());
            let exits: BTreeSet<u32> = blocks
                .clone()
                .flat_map(|block| successors(self.body, block))
                .filter(|to| !blocks.contains(to) && !only_ends(self.body, *to) && !stops(self.body, *to))
                .collect();
            let before = std::mem::take(&mut self.pending);
            for exit in exits.iter().chain(before.keys()) {
                // Exits that go back to the header of an outer loop go around that.
                if *exit < blocks.start {
                    self.go(blocks.start, *exit, *exit);
                } else {
                    self.pending.insert(*exit, *exit);
                }
            }
            if self.pending.is_empty() && self.around.iter().all(|(_, labels)| labels.is_empty()) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_ptx::{Options, load};

    /// The split at the end of the block with a label, blocks by their labels.
    fn split_of(code: &str, at: &str) -> (Option<String>, Vec<String>, usize) {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n{code}\n}}\n"
        );
        let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
        let body = module.functions[0].body.as_ref().expect("body");
        let name = |block: u32| body.blocks[block as usize].label.as_deref().unwrap_or("?").to_owned();
        let at = (0..body.blocks.len() as u32).find(|block| name(*block) == at).expect("block");
        let split = split(body, &body.innermost_loops(), at);
        (split.converges.map(name), split.joins.iter().map(|block| name(*block)).collect(), split.loops.len())
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn both_sides_of_a_branch_meet() {
        let code = "A: setp.eq.u32 %p1, %r1, 0; @%p1 bra C; B: mov.u32 %r2, 1; bra D; C: mov.u32 %r2, 2; D: mov.u32 %r3, %r2; ret;";
        assert_eq!(split_of(code, "A"), (some("D"), vec!["D".to_owned()], 0));
    }

    #[test]
    fn lanes_that_end_are_not_waited_for() {
        let code = "A: setp.eq.u32 %p1, %r1, 0; @%p1 bra C; B: mov.u32 %r2, 1; C: ret;";
        assert_eq!(split_of(code, "A"), (some("B"), vec![], 0));
    }

    #[test]
    fn a_loop_that_lanes_leave_in_different_trips() {
        let code = "A: mov.u32 %r1, 0; B: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r2; @%p1 bra B; C: mov.u32 %r3, %r1; ret;";
        assert_eq!(split_of(code, "B"), (some("C"), vec![], 1));
    }

    #[test]
    fn a_branch_inside_a_loop_does_not_make_the_loop_divergent() {
        let code = "A: mov.u32 %r1, 0; B: setp.eq.u32 %p2, %r3, 0; @%p2 bra D; C: mov.u32 %r4, 1; \
                    D: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra B; E: mov.u32 %r3, %r1; ret;";
        assert_eq!(split_of(code, "B"), (some("D"), vec!["D".to_owned()], 0));
    }

    #[test]
    fn a_break_makes_lanes_leave_by_different_exits() {
        let code = "A: mov.u32 %r1, 0; B: setp.ge.u32 %p1, %r1, 9; @%p1 bra F; C: setp.eq.u32 %p2, %r3, 0; @%p2 bra E; \
                    D: add.u32 %r1, %r1, 1; bra B; E: mov.u32 %r4, 1; F: mov.u32 %r3, %r1; ret;";
        let (converges, joins, loops) = split_of(code, "C");
        assert_eq!((converges, loops), (some("F"), 1));
        assert!(joins.contains(&"F".to_owned()), "{joins:?}");
    }
}
