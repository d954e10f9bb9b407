//! Which memory an allocation of a graph gets: what an earlier node of the same graph has freed, if that node comes before it
//! whichever way the graph runs. So a graph needs what is allocated at once, and not the sum of its allocations.
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::dependency::Dependency;
use super::memory::GraphAllocation;
use super::{AllocWork, Node};

/// The memory of one graph's nodes.
#[derive(Default)]
pub(super) struct Blocks {
    /// Addresses that its nodes allocate.
    own: HashSet<u64>,
    /// What is free behind a node of the graph, by the number of that node.
    free: BTreeMap<u32, Arc<GraphAllocation>>,
    /// The addresses of these.
    free_addresses: HashSet<u64>,
}

impl Blocks {
    /// Notes a node that allocates.
    pub(super) fn allocated(&mut self, allocation: &GraphAllocation) {
        self.own.insert(allocation.address());
    }

    /// Whether a node has freed memory of this graph's, and none has got it since.
    pub(super) fn is_free(&self, address: u64) -> bool {
        self.free_addresses.contains(&address)
    }

    /// Notes that node `local` frees memory. What other graphs allocate is theirs.
    pub(super) fn freed(&mut self, local: u32, allocation: &Arc<GraphAllocation>) {
        if self.own.contains(&allocation.address()) {
            self.free.insert(local, Arc::clone(allocation));
            self.free_addresses.insert(allocation.address());
        }
    }

    /// Takes memory for a node that comes after `dependencies`, if a node before it has freed some that fits.
    pub(super) fn take(
        &mut self,
        nodes: &BTreeMap<u32, Node>,
        dependencies: &[Dependency],
        wanted: &AllocWork,
    ) -> Option<Arc<GraphAllocation>> {
        let fitting = |(local, block): (&u32, &Arc<GraphAllocation>)| block.fits(wanted).then_some(*local);
        let candidates: HashSet<u32> = self.free.iter().filter_map(fitting).collect();
        // Nodes are mostly made after those that they come after: nothing is looked for before the first candidate.
        let first = *candidates.iter().min()?;
        let mut open: Vec<u32> = dependencies.iter().map(|dependency| dependency.node).collect();
        let mut seen: HashSet<u32> = open.iter().copied().collect();
        while let Some(local) = open.pop() {
            if candidates.contains(&local) {
                let block = self.free.remove(&local)?;
                self.free_addresses.remove(&block.address());
                return Some(block);
            }
            let before = nodes.get(&local).into_iter().flat_map(|node| &node.dependencies);
            open.extend(before.map(|dependency| dependency.node).filter(|node| *node >= first && seen.insert(*node)));
        }
        None
    }
}
