//! Clocks: what a thread knows to have happened before it.
//!
//! Each warp counts a time, which goes on whenever something of the warp is released to others. An access bears the time of its warp; a thread
//! that knows of a lane "up to t" comes behind all accesses of that lane up to time t. What is known of CTAs and warps as a whole is
//! one number: behind a barrier of the CTA nothing else is left. What is known of other CTAs of the grid is a tree whose unchanged parts
//! are shared, so that a chain of thousands of CTAs that learn from each other (decoupled look-back) costs each of them its own path only.

use std::sync::Arc;

use smallvec::SmallVec;

use super::actor::GridOrder;

/// What is known of the lanes of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// Of all the same.
    All(u32),
    /// Of each.
    Each(Box<[u32; 32]>),
}

impl Lanes {
    pub(crate) fn get(&self, lane: u32) -> u32 {
        match self {
            Lanes::All(time) => *time,
            Lanes::Each(times) => times[lane as usize],
        }
    }

    fn covers(&self, other: &Lanes) -> bool {
        match (self, other) {
            (Lanes::All(mine), Lanes::All(theirs)) => mine >= theirs,
            _ => (0..32).all(|lane| self.get(lane) >= other.get(lane)),
        }
    }

    fn join(&mut self, other: &Lanes) {
        if self.covers(other) {
            return;
        }
        *self = match (&*self, other) {
            (_, other) if other.covers(self) => other.clone(),
            _ => Lanes::Each(Box::new(std::array::from_fn(|lane| self.get(lane as u32).max(other.get(lane as u32))))),
        };
    }
}

/// What is known of a CTA. Warps have their numbers; those from [`COPIES`] and [`BULK`] on are the asynchronous copies of warps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Of all of its threads, but not of asynchronous copies.
    pub(crate) all: u32,
    /// More of some warps.
    warps: SmallVec<[(u8, Lanes); 2]>,
}

/// Added to the number of a warp: its `cp.async` copies.
pub(crate) const COPIES: u8 = 64;
/// Added to the number of a warp: its bulk and tensor copies.
pub(crate) const BULK: u8 = 128;

impl Known {
    pub(crate) fn warp(&self, warp: u8) -> Option<&Lanes> {
        self.warps.iter().find(|&&(other, _)| other == warp).map(|(_, lanes)| lanes)
    }

    /// Up to when `lane` of `warp` is known.
    pub(crate) fn get(&self, warp: u8, lane: u32) -> u32 {
        self.warp(warp).map_or(0, |lanes| lanes.get(lane)).max(self.all_of(warp))
    }

    /// Up to when all lanes of `warp` are known, whatever is known of it in particular.
    pub(crate) fn all_of(&self, warp: u8) -> u32 {
        if warp < COPIES { self.all } else { 0 }
    }

    pub(crate) fn covers(&self, other: &Known) -> bool {
        self.all >= other.all
            && other.warps.iter().all(|(warp, lanes)| match self.warp(*warp) {
                Some(mine) => mine.covers(lanes) || (0..32).all(|lane| lanes.get(lane) <= self.get(*warp, lane)),
                None => lanes.most() <= self.all_of(*warp),
            })
    }

    pub(crate) fn join(&mut self, other: &Known) {
        for (warp, lanes) in &other.warps {
            self.learn_lanes(*warp, lanes);
        }
        if other.all > self.all {
            self.learn_all(other.all);
        }
    }

    /// All threads, up to `time`.
    pub(crate) fn learn_all(&mut self, time: u32) {
        self.all = self.all.max(time);
        let all = self.all;
        self.warps.retain(|(warp, lanes)| *warp >= COPIES || lanes.most() > all);
    }

    /// The lanes in `mask` of `warp`, up to `time`.
    pub(crate) fn learn(&mut self, warp: u8, mask: u32, time: u32) {
        if mask == u32::MAX {
            self.learn_lanes(warp, &Lanes::All(time));
        } else {
            let times = std::array::from_fn(|lane| if mask >> lane & 1 != 0 { time } else { 0 });
            self.learn_lanes(warp, &Lanes::Each(Box::new(times)));
        }
    }

    fn learn_lanes(&mut self, warp: u8, lanes: &Lanes) {
        let all = self.all_of(warp);
        match self.warps.iter_mut().find(|(other, _)| *other == warp) {
            Some((_, mine)) => mine.join(lanes),
            None if lanes.most() > all => self.warps.push((warp, lanes.clone())),
            None => {}
        }
    }
}

impl Lanes {
    fn most(&self) -> u32 {
        match self {
            Lanes::All(time) => *time,
            Lanes::Each(times) => times.iter().copied().max().unwrap_or(0),
        }
    }
}

/// Children of an inner node.
const FAN: usize = 16;

#[derive(Debug)]
enum Tree {
    Leaf(Known),
    Inner([Option<Arc<Tree>>; FAN]),
}

impl Tree {
    fn join(mine: &Arc<Tree>, theirs: &Arc<Tree>) -> Arc<Tree> {
        if Arc::ptr_eq(mine, theirs) {
            return mine.clone();
        }
        match (&**mine, &**theirs) {
            (Tree::Leaf(a), Tree::Leaf(b)) => {
                if a.covers(b) {
                    return mine.clone();
                }
                if b.covers(a) {
                    return theirs.clone();
                }
                let mut both = a.clone();
                both.join(b);
                Arc::new(Tree::Leaf(both))
            }
            (Tree::Inner(a), Tree::Inner(b)) => {
                let (mut is_mine, mut is_theirs) = (true, true);
                let both = std::array::from_fn(|index| {
                    let (a, b) = (&a[index], &b[index]);
                    let joined = match (a, b) {
                        (Some(a), Some(b)) => Some(Tree::join(a, b)),
                        (one, None) | (None, one) => one.clone(),
                    };
                    is_mine &= same(&joined, a);
                    is_theirs &= same(&joined, b);
                    joined
                });
                match () {
                    () if is_mine => mine.clone(),
                    () if is_theirs => theirs.clone(),
                    () => Arc::new(Tree::Inner(both)),
                }
            }
            // Trees of one grid have one depth.
            _ => mine.clone(),
        }
    }

    fn with(tree: Option<&Arc<Tree>>, levels: u32, cta: u32, known: Known) -> Arc<Tree> {
        if levels == 0 {
            let leaf = Arc::new(Tree::Leaf(known));
            return tree.map_or(leaf.clone(), |old| Tree::join(old, &leaf));
        }
        let mut children = match tree.map(|tree| &**tree) {
            Some(Tree::Inner(children)) => children.clone(),
            _ => Default::default(),
        };
        let child = &mut children[place(levels, cta)];
        *child = Some(Tree::with(child.as_ref(), levels - 1, cta, known));
        Arc::new(Tree::Inner(children))
    }
}

fn place(levels: u32, cta: u32) -> usize {
    (cta >> (4 * (levels - 1))) as usize % FAN
}

fn same(a: &Option<Arc<Tree>>, b: &Option<Arc<Tree>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// What is known of the CTAs of grids, by their numbers in the process: nearly always of those of one grid; of others where grids that run at the
/// same time hand over to each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    /// Ascending.
    grids: SmallVec<[(Arc<GridOrder>, Arc<Tree>); 1]>,
}

/// How deep the trees of a grid of so many CTAs are.
pub(crate) fn levels_for(ctas: u64) -> u32 {
    (1..=16).find(|levels| 1u64 << (4 * levels).min(63) >= ctas).unwrap_or(16)
}

impl Clocks {
    /// What is known of a CTA.
    pub(crate) fn get(&self, cta: u32) -> Option<&Known> {
        let (grid, tree) = self.grids.iter().find(|(grid, _)| grid.ctas.contains(&cta))?;
        let (mut tree, mut level) = (&**tree, grid.levels);
        loop {
            match tree {
                Tree::Leaf(known) => return Some(known),
                Tree::Inner(children) => tree = children[place(level, cta - grid.ctas.start)].as_deref()?,
            }
            level -= 1;
        }
    }

    /// Whether all of the grid of a CTA comes before a grid of which something is known.
    pub(crate) fn knows_grid_of(&self, cta: u32) -> bool {
        self.grids.iter().any(|(grid, _)| grid.knows_grid_of(cta))
    }

    /// Adds what is known of a CTA of a grid.
    pub(crate) fn learn(&mut self, grid: &Arc<GridOrder>, cta: u32, known: Known) {
        let at = self.grids.partition_point(|(other, _)| other.ctas.start < grid.ctas.start);
        let old = self.grids.get(at).filter(|(other, _)| other.ctas.start == grid.ctas.start);
        let tree = Tree::with(old.map(|(_, tree)| tree), grid.levels, cta - grid.ctas.start, known);
        match old {
            Some(_) => self.grids[at].1 = tree,
            None => self.grids.insert(at, (grid.clone(), tree)),
        }
    }

    pub(crate) fn join(&mut self, other: &Clocks) {
        for (grid, theirs) in &other.grids {
            let at = self.grids.partition_point(|(mine, _)| mine.ctas.start < grid.ctas.start);
            match self.grids.get_mut(at) {
                Some((mine, tree)) if mine.ctas.start == grid.ctas.start => *tree = Tree::join(tree, theirs),
                _ => self.grids.insert(at, (grid.clone(), theirs.clone())),
            }
        }
        // Who knows of a grid comes behind all that this one comes behind.
        if self.grids.len() > 1 {
            let grids: SmallVec<[Arc<GridOrder>; 4]> = self.grids.iter().map(|(grid, _)| grid.clone()).collect();
            self.grids.retain(|(grid, _)| !grids.iter().any(|other| other.knows_grid_of(grid.ctas.start)));
        }
    }

    pub(crate) fn is_same(&self, other: &Clocks) -> bool {
        let same = |((_, mine), (_, theirs)): (&(_, Arc<Tree>), &(_, Arc<Tree>))| Arc::ptr_eq(mine, theirs);
        self.grids.len() == other.grids.len() && self.grids.iter().zip(&other.grids).all(same)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::{COPIES, Clocks, GridOrder, Known, levels_for};

    /// Plain clocks: the time of each thread.
    type Plain = HashMap<(u32, u8, u32), u32>;

    fn facts() -> impl Strategy<Value = Vec<(u32, u8, u32, u32)>> {
        let mask = prop_oneof![Just(u32::MAX), (0u32..32).prop_map(|lane| 1 << lane), any::<u32>()];
        prop::collection::vec((0u32..40, 0u8..4, mask, 1u32..9), 0..12)
    }

    fn grid(ctas: std::ops::Range<u32>, concurrent: Option<std::ops::Range<u32>>) -> Arc<GridOrder> {
        let levels = levels_for((ctas.end - ctas.start).into());
        Arc::new(GridOrder { ctas, levels, concurrent: concurrent.into_iter().collect(), ..GridOrder::default() })
    }

    fn build(facts: &[(u32, u8, u32, u32)]) -> (Clocks, Plain) {
        let (mut clocks, mut plain) = (Clocks::default(), Plain::new());
        let grids = [grid(0..20, None), grid(20..40, Some(0..20))];
        for &(cta, warp, mask, time) in facts {
            let mut known = Known::default();
            known.learn(warp, mask, time);
            clocks.learn(&grids[cta as usize / 20], cta, known);
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                let old = plain.entry((cta, warp, lane)).or_default();
                *old = time.max(*old);
            }
        }
        (clocks, plain)
    }

    proptest! {
        #[test]
        fn joins_are_those_of_plain_clocks(a in facts(), b in facts()) {
            let ((mut clocks, mut plain), (others, more)) = (build(&a), build(&b));
            clocks.join(&others);
            for (thread, time) in more {
                let old = plain.entry(thread).or_default();
                *old = time.max(*old);
            }
            for cta in 0..40 {
                for warp in 0..4 {
                    for lane in 0..32 {
                        let expected = plain.get(&(cta, warp, lane)).copied().unwrap_or(0);
                        let found = clocks.get(cta).map_or(0, |known| known.get(warp, lane));
                        prop_assert_eq!(found, expected);
                    }
                }
            }
            // What adds nothing changes nothing.
            let before = clocks.clone();
            clocks.join(&others);
            prop_assert!(clocks.is_same(&before));
        }
    }

    #[test]
    fn who_knows_of_a_grid_knows_of_those_before_it() {
        let known = || Known { all: 3, ..Known::default() };
        let (first, beside) = (grid(0..8, None), grid(8..16, Some(0..8)));
        let behind = grid(16..24, Some(8..16));
        let mut clocks = Clocks::default();
        clocks.learn(&first, 1, known());
        clocks.learn(&beside, 9, known());
        assert!(clocks.get(1).is_some() && clocks.get(9).is_some() && clocks.get(2).is_none());
        assert!(!clocks.knows_grid_of(0));
        let mut more = Clocks::default();
        more.learn(&behind, 20, known());
        clocks.join(&more);
        assert!(clocks.knows_grid_of(2) && !clocks.knows_grid_of(10));
        assert!(clocks.get(9).is_some() && clocks.get(20).is_some());
    }

    #[test]
    fn what_is_known_of_all_replaces_what_is_known_of_warps() {
        let mut known = Known::default();
        known.learn(3, 1, 7);
        known.learn(3 + COPIES, 1, 8);
        known.learn_all(7);
        assert_eq!((known.get(0, 0), known.get(3, 31), known.warps.len()), (7, 7, 1));
        assert_eq!((known.get(3 + COPIES, 0), known.get(3 + COPIES, 1)), (8, 0));
        assert!(known.covers(&Known { all: 7, ..Known::default() }));
    }
}
