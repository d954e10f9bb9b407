//! Groups of blocks that lanes come to apart.

use std::collections::BTreeSet;

use super::Plan;
use crate::barrier::Region;

/// Blocks that run for the lanes of their masks, one behind the other.
#[derive(Clone, Debug, Default)]
pub(in crate::codegen) struct Group {
    pub(in crate::codegen) members: BTreeSet<u32>,
    /// Where all lanes that are left are together again.
    pub(in crate::codegen) converges: Option<u32>,
}

impl Plan<'_> {
    /// Blocks of branches that overlap belong together.
    pub(super) fn find_groups(&mut self) -> Result<(), String> {
        let mut sets: Vec<BTreeSet<u32>> = Vec::new();
        for split in self.info.divergence.splits.values().filter(|split| !split.partial.is_empty()) {
            let mut all = split.partial.clone();
            sets.retain(|other| {
                let apart = other.is_disjoint(&all);
                if !apart {
                    all.extend(other);
                }
                apart
            });
            sets.push(all);
        }
        for (number, members) in sets.into_iter().enumerate() {
            let splits = self.info.divergence.splits.iter();
            let own = splits.filter(|(branch, split)| members.contains(branch) || !split.partial.is_disjoint(&members));
            let ways: BTreeSet<Option<u32>> =
                own.map(|(_, split)| split.converges).filter(|to| to.is_none_or(|to| !members.contains(&to))).collect();
            let converges = match ways.into_iter().collect::<Vec<_>>()[..] {
                [] => None,
                [one] => one,
                // Where some never meet the others have ended.
                [None, one] => one,
                _ => return Err("lanes that part meet in several places".to_owned()),
            };
            for member in &members {
                self.group_of[*member as usize] = Some(number as u32);
            }
            self.groups.push(Group { members, converges });
        }
        for (group, number) in self.groups.iter().zip(0u32..) {
            // Loops lie in a group as a whole, or around it.
            for inner in &self.body.loops {
                let inside = inner.blocks.clone().filter(|block| group.members.contains(block)).count();
                let header = group.members.contains(&inner.blocks.start);
                if header && inside != inner.blocks.len() {
                    return Err(format!("lanes part in a part of the loop at block {}", inner.blocks.start));
                }
            }
            for member in &group.members {
                for to in crate::divergence::successors(self.body, *member) {
                    let known = self.group_of[to as usize] == Some(number)
                        || group.converges == Some(to)
                        || crate::divergence::only_ends(self.body, to)
                        || crate::divergence::stops(self.body, to);
                    if !known {
                        return Err(format!("lanes that have parted come to block {to} alone"));
                    }
                }
            }
        }
        Ok(())
    }

    /// The blocks that a region may come to, with the groups that they are of.
    pub(in crate::codegen) fn blocks_of(&self, region: &Region) -> BTreeSet<u32> {
        self.blocks_from(region.blocks.iter().copied().collect())
    }

    /// The blocks that gangs may come to from some of them, before the next barrier, with the groups that they are of.
    pub(in crate::codegen) fn blocks_from(&self, mut pending: Vec<u32>) -> BTreeSet<u32> {
        let mut all = BTreeSet::new();
        while let Some(block) = pending.pop() {
            if !all.insert(block) {
                continue;
            }
            if let Some(group) = self.group_of(block) {
                pending.extend(&self.groups[group as usize].members);
                pending.extend(self.groups[group as usize].converges);
            }
            let insts = self.body.blocks[block as usize].insts.clone();
            if !insts.into_iter().any(|inst| self.barrier(inst).is_some()) {
                pending.extend(crate::divergence::successors(self.body, block));
                let meet = self.info.divergence.splits.get(&block).and_then(|split| split.converges);
                pending.extend(meet);
            }
        }
        all.retain(|block| !crate::divergence::only_ends(self.body, *block) || *block == 0);
        all
    }

    pub(in crate::codegen) fn group_of(&self, block: u32) -> Option<u32> {
        self.group_of[block as usize]
    }

    /// All blocks of groups.
    pub(in crate::codegen) fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.groups.iter().flat_map(|group| group.members.iter().copied())
    }

    pub(in crate::codegen) fn next_in_group(&self, block: u32) -> Option<u32> {
        let group = &self.groups[self.group_of(block)? as usize];
        group.members.range(block + 1..).next().copied()
    }

    /// Where lanes that part at the end of a block meet.
    pub(in crate::codegen) fn converges(&self, branch: u32) -> Result<Option<u32>, String> {
        if let Some(split) = self.info.divergence.splits.get(&branch) {
            return Ok(split.converges);
        }
        // Some end, and the others go on where there is only one way.
        match crate::divergence::successors(self.body, branch)[..] {
            [] => Ok(None),
            [one] => Ok(Some(one).filter(|one| !crate::divergence::only_ends(self.body, *one))),
            _ => Err("lanes part where they should not".to_owned()),
        }
    }
}
