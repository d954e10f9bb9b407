//! Ranges of reserved addresses: what of them can be accessed, and where pages of unmapped memory still lie.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::physical::Physical;
use super::table::Extent;
use super::virtual_memory::MapAccess;

/// Ranges of touching mappings with the same access: by first address, the address behind and whether they may only be read.
#[derive(Default)]
pub(super) struct Accessible(BTreeMap<u64, (u64, bool)>);

impl Accessible {
    /// Puts a range in, or takes it out, which has one access now.
    pub(super) fn set(&mut self, start: u64, end: u64, access: MapAccess) {
        // What overlaps keeps only what lies outside.
        while let Some((&from, &(to, read_only))) = self.0.range(..end).next_back()
            && to > start
        {
            self.0.remove(&from);
            if from < start {
                self.0.insert(from, (start, read_only));
            }
            if to > end {
                self.0.insert(end, (to, read_only));
            }
        }
        if access == MapAccess::None {
            return;
        }
        let read_only = access == MapAccess::Read;
        let (mut from, mut to) = (start, end);
        if let Some((&before, &(before_end, other))) = self.0.range(..start).next_back()
            && (before_end, other) == (start, read_only)
        {
            self.0.remove(&before);
            from = before;
        }
        if let Some(&(after_end, other)) = self.0.get(&end)
            && other == read_only
        {
            self.0.remove(&end);
            to = after_end;
        }
        self.0.insert(from, (to, read_only));
    }

    pub(super) fn extent(&self, address: u64, epoch: u64) -> Option<Extent> {
        let (&start, &(end, read_only)) = self.0.range(..=address).next_back()?;
        (address < end).then_some(Extent { start, span: end - start, epoch, read_only })
    }
}

/// Pages of physical memory that is not mapped any more, in the reservation where it was, by first address.
#[derive(Default)]
pub(super) struct LeftBehind(BTreeMap<u64, (u64, Weak<Physical>)>);

impl LeftBehind {
    /// Puts in all of this physical memory.
    pub(super) fn insert(&mut self, address: u64, physical: &Arc<Physical>) {
        self.0.insert(address, (physical.size(), Arc::downgrade(physical)));
    }

    /// Takes out what is there of this physical memory; whether there was anything.
    pub(super) fn remove_if_of(&mut self, address: u64, physical: &Physical) -> bool {
        let its = self.0.get(&address).is_some_and(|(_, owner)| std::ptr::eq(owner.as_ptr(), physical));
        if its {
            self.0.remove(&address);
        }
        its
    }

    /// Takes out what lies in or reaches into a range: address, size, owner.
    pub(super) fn take(&mut self, start: u64, end: u64) -> Option<(u64, u64, Weak<Physical>)> {
        let (&address, (size, _)) = self.0.range(..end).next_back()?;
        if address + size <= start {
            return None;
        }
        self.0.remove(&address).map(|(size, owner)| (address, size, owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_ranges_with_one_access_are_one() {
        let mut ranges = Accessible::default();
        let list = |ranges: &Accessible| ranges.0.iter().map(|(a, (b, r))| (*a, *b, *r)).collect::<Vec<_>>();
        for at in [2, 0, 4, 3, 1] {
            ranges.set(at, at + 1, MapAccess::ReadWrite);
        }
        assert_eq!(list(&ranges), [(0, 5, false)]);
        ranges.set(2, 3, MapAccess::Read);
        assert_eq!(list(&ranges), [(0, 2, false), (2, 3, true), (3, 5, false)]);
        ranges.set(3, 4, MapAccess::Read);
        assert_eq!(ranges.extent(3, 7).map(|extent| (extent.start, extent.span, extent.read_only)), Some((2, 2, true)));
        ranges.set(1, 4, MapAccess::None);
        assert_eq!(list(&ranges), [(0, 1, false), (4, 5, false)]);
        assert!(ranges.extent(1, 7).is_none());
    }
}
