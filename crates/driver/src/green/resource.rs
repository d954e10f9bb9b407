//! Resources of devices: sets of multiprocessors, and how they are split (driver API manual, "Green Contexts").
//!
//! A multiprocessor is a worker of the device's pool. Workers share nothing that others do not, so a part may have any number of them, and
//! clusters run in parts of any size: the least part and the alignment are 1.
use std::borrow::Cow;
use std::num::NonZeroU64;

use warploom_exec::grid::WorkerSet;

use crate::{DriverError, DriverResult, ErrorCode};

/// Bytes of a resource that are the driver's own.
pub const HIDDEN: usize = 92;
/// Multiprocessors that a resource can name; those beyond belong to whole devices only.
const MOST: u32 = (WORDS * 64) as u32;
const WORDS: usize = 10;

/// What a split is asked for.
pub mod split_flags {
    /// `CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING`.
    pub const IGNORE_COSCHEDULING: u32 = 1;
    /// `CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE`.
    pub const LARGEST_CLUSTERS: u32 = 2;
}

/// What a group of a split is asked for.
pub mod group_flags {
    /// `CU_DEV_SM_RESOURCE_GROUP_BACKFILL`.
    pub const BACKFILL: u32 = 1;
    /// `CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID`.
    pub const LOCALITY_DOMAIN: u32 = 2;
    /// `CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_SUPPLEMENTAL_SMS`.
    pub const SUPPLEMENTAL: u32 = 4;
}

/// Some multiprocessors of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    ordinal: u32,
    /// The call that split it off; none for what a device or a context has.
    split: Option<NonZeroU64>,
    multiprocessors: [u64; WORDS],
}

/// A group that is wanted of a split: so many multiprocessors, or as many as are left where that is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// How many; 0 for all that are left.
    pub count: u32,
    /// Of how many that are scheduled together a group is a multiple; 0 for any number.
    pub together: u32,
    /// `CUdevSmResourceGroup_flags`.
    pub flags: u32,
}

/// What remains of a group's wishes, and its part: none where a group of nothing was found out.
pub type Found = (Group, Option<Part>);

impl Part {
    /// All of a device.
    pub(super) fn whole(ordinal: u32, count: u32) -> Part {
        Part::of(ordinal, None, 0..count.min(MOST))
    }

    fn of(ordinal: u32, split: Option<NonZeroU64>, numbers: impl IntoIterator<Item = u32>) -> Part {
        let mut multiprocessors = [0; WORDS];
        for number in numbers {
            multiprocessors[number as usize / 64] |= 1 << (number % 64);
        }
        Part { ordinal, split, multiprocessors }
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        let set = self.multiprocessors;
        (0..MOST).filter(move |number| set[*number as usize / 64] >> (number % 64) & 1 != 0)
    }

    /// The ordinal of the device.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// How many multiprocessors it has.
    pub fn count(&self) -> u32 {
        self.multiprocessors.iter().map(|word| word.count_ones()).sum()
    }

    /// Those of so many workers that are its multiprocessors, of a device that shows `all`: there are as many of both unless the device was told what to
    /// show, and then one is several of the other, counted around the smaller number.
    pub(super) fn workers(&self, all: u32, workers: u32) -> WorkerSet {
        let around = all.min(workers).max(1);
        let own: Vec<u32> = self.numbers().map(|number| number % around).collect();
        WorkerSet::of((0..workers).filter(|worker| own.contains(&(worker % around))))
    }

    /// The same multiprocessors, as a context has them.
    pub(super) fn owned(self) -> Part {
        Part { split: None, ..self }
    }

    /// The hidden part of a resource.
    pub fn to_bytes(&self) -> [u8; HIDDEN] {
        let mut bytes = [0; HIDDEN];
        bytes[..4].copy_from_slice(&(self.ordinal + 1).to_ne_bytes());
        bytes[4..12].copy_from_slice(&self.split.map_or(0, NonZeroU64::get).to_ne_bytes());
        for (place, word) in bytes[12..].chunks_exact_mut(8).zip(self.multiprocessors) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The resource with this hidden part.
    ///
    /// # Errors
    /// `InvalidResourceConfiguration` for one that no call has made.
    pub fn from_bytes(bytes: &[u8; HIDDEN]) -> DriverResult<Part> {
        let word = |at: usize| bytes[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let ordinal = (word(0) as u32).checked_sub(1);
        let part = ordinal.map(|ordinal| Part {
            ordinal,
            split: NonZeroU64::new(word(4)),
            multiprocessors: std::array::from_fn(|index| word(12 + 8 * index)),
        });
        part.filter(|part| part.count() != 0).ok_or_else(|| refused("no call of the driver made the resource"))
    }

    /// Whether all of it is in another one.
    pub(super) fn is_in(&self, other: &Part) -> bool {
        let mut words = self.multiprocessors.iter().zip(other.multiprocessors);
        self.ordinal == other.ordinal && words.all(|(word, other)| word & !other == 0)
    }

    /// Groups of so many multiprocessors, `most` of them if that is possible, and what is left. `call` tells this split from others.
    ///
    /// # Errors
    /// `InvalidValue` for flags that do not exist or exclude each other; `InvalidResourceConfiguration` for a part that was split off and not given
    /// to a context, and for more multiprocessors than it has.
    pub fn split_by_count(
        &self,
        call: NonZeroU64,
        most: u32,
        flags: u32,
        least: u32,
    ) -> DriverResult<(Vec<Part>, Option<Part>)> {
        use split_flags::{IGNORE_COSCHEDULING, LARGEST_CLUSTERS};
        // As recorded, flags that do not exist are not looked at.
        if flags & IGNORE_COSCHEDULING != 0 && flags & LARGEST_CLUSTERS != 0 {
            return Err(DriverError::invalid_value("the flags want clusters, and no multiprocessors for them"));
        }
        self.refuse_split()?;
        let size = least.max(1);
        if size > self.count() {
            return Err(refused(format!("groups of {size} of {} multiprocessors", self.count())));
        }
        let count = most.min(self.count() / size);
        let mut numbers = self.numbers();
        let mut take = |count: u32| Part::of(self.ordinal, Some(call), numbers.by_ref().take(count as usize));
        let groups = (0..count).map(|_| take(size)).collect();
        let left = self.count() - count * size;
        Ok((groups, (left != 0).then(|| take(left))))
    }

    /// The groups that are wanted, one after another, and what is left. Without `keep` only their sizes are found out.
    ///
    /// # Errors
    /// `InvalidValue` for flags that do not exist; `InvalidResourceConfiguration` for groups that are not possible, or empty.
    pub fn split(&self, call: NonZeroU64, wanted: &[Group], keep: bool) -> DriverResult<(Vec<Found>, Option<Part>)> {
        self.refuse_split()?;
        let mut left = self.numbers().collect::<Vec<_>>();
        let mut found = Vec::new();
        for group in wanted {
            use group_flags::{BACKFILL, LOCALITY_DOMAIN, SUPPLEMENTAL};
            if group.flags & !(BACKFILL | LOCALITY_DOMAIN | SUPPLEMENTAL) != 0 {
                return Err(DriverError::invalid_value(format!("flags {:#x} has unknown bits", group.flags)));
            }
            if group.flags & (LOCALITY_DOMAIN | SUPPLEMENTAL) != 0 {
                return Err(refused("the device has no locality domains"));
            }
            let together = group.together.max(1);
            let have = left.len() as u32;
            let count = if group.count == 0 { have - have % together } else { group.count };
            if count > have || !count.is_multiple_of(together) && group.flags & BACKFILL == 0 {
                return Err(refused(format!("a group of {count} of {have} multiprocessors in {together}s")));
            }
            if keep && (count == 0 || count < group.together) {
                return Err(refused("a group would be empty"));
            }
            let part = (count != 0).then(|| Part::of(self.ordinal, Some(call), left.drain(..count as usize)));
            found.push((Group { count, ..*group }, part));
        }
        let rest = (!left.is_empty()).then(|| Part::of(self.ordinal, Some(call), left));
        Ok((found, rest))
    }

    /// As recorded, what was split off is split no further before a context has it.
    fn refuse_split(&self) -> DriverResult {
        match self.split {
            None => Ok(()),
            Some(_) => Err(refused("the resource was split off, and no context has it")),
        }
    }

    /// What several parts have together.
    ///
    /// # Errors
    /// `InvalidResourceConfiguration` for parts of several splits or devices, and for the same multiprocessor twice.
    pub(super) fn union(parts: &[Part]) -> DriverResult<Option<Part>> {
        let Some((first, others)) = parts.split_first() else { return Ok(None) };
        let mut all = *first;
        for part in others {
            if part.ordinal != first.ordinal || part.split.is_none() || part.split != first.split {
                return Err(refused("the resources come from several splits"));
            }
            let mut words = part.multiprocessors.iter().zip(&mut all.multiprocessors);
            if words.any(|(word, all)| std::mem::replace(all, *all | word) & word != 0) {
                return Err(refused("a resource is given twice"));
            }
        }
        Ok(Some(all))
    }
}

fn refused(reason: impl Into<Cow<'static, str>>) -> DriverError {
    DriverError::new(ErrorCode::InvalidResourceConfiguration, reason)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::{Group, Part, group_flags};

    const CALL: NonZeroU64 = NonZeroU64::MIN;

    fn numbers(part: &Part) -> Vec<u32> {
        part.numbers().collect()
    }

    #[test]
    fn groups_of_one_size_have_nothing_in_common() {
        let whole = Part::whole(0, 70);
        let (groups, rest) = whole.split_by_count(CALL, 2, 0, 33).expect("two groups");
        assert_eq!(groups.iter().map(Part::count).collect::<Vec<_>>(), [33, 33]);
        assert_eq!(numbers(&rest.expect("four are left")), [66, 67, 68, 69]);
        assert_eq!(numbers(&groups[1]), (33..66).collect::<Vec<_>>());
        assert!(groups[0].split_by_count(CALL, 1, 0, 1).is_err(), "split off already");
        assert!(groups[0].owned().split_by_count(CALL, 1, 0, 1).is_ok());
        assert!(whole.split_by_count(CALL, 1, 0, 71).is_err());
        assert!(whole.split_by_count(CALL, 1, 3, 1).is_err());
    }

    #[test]
    fn groups_of_several_sizes_come_one_after_another() {
        let whole = Part::whole(0, 11);
        let group = |count, together, flags| Group { count, together, flags };
        let wanted = [group(4, 2, 0), group(3, 2, group_flags::BACKFILL), group(0, 2, 0)];
        let (found, rest) = whole.split(CALL, &wanted, true).expect("three groups");
        assert_eq!(found.iter().map(|(group, _)| group.count).collect::<Vec<_>>(), [4, 3, 4]);
        assert_eq!(rest, None);
        assert!(whole.split(CALL, &[group(3, 2, 0)], true).is_err(), "not a multiple");
        let (found, rest) = whole.split(CALL, &[group(11, 0, 0), group(0, 0, 0)], false).expect("sizes");
        assert_eq!((found[1].0.count, found[1].1, rest), (0, None, None));
        assert!(whole.split(CALL, &[group(11, 0, 0), group(0, 0, 0)], true).is_err(), "an empty group");
    }

    #[test]
    fn every_part_has_workers() {
        let workers = |all: u32, workers: u32, part: std::ops::Range<u32>| {
            let set = Part::of(0, None, part).workers(all, workers);
            (0..workers).filter(|&worker| set.contains(worker)).collect::<Vec<_>>()
        };
        assert_eq!(workers(4, 4, 1..3), [1, 2]);
        assert_eq!(workers(16, 2, 15..16), [1]);
        assert_eq!(workers(16, 2, 3..5), [0, 1]);
        assert_eq!(workers(2, 5, 0..1), [0, 2, 4]);
        assert_eq!(workers(2, 5, 0..2), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_is_hidden_comes_back() {
        let (groups, rest) = Part::whole(3, 640).split_by_count(CALL, 1, 0, 639).expect("a group");
        for part in groups.into_iter().chain(rest) {
            assert_eq!(Part::from_bytes(&part.to_bytes()).expect("a part"), part);
        }
        assert!(Part::from_bytes(&[0; super::HIDDEN]).is_err());
    }

    #[test]
    fn parts_of_one_split_come_together() {
        let whole = Part::whole(0, 8);
        let (groups, _) = whole.split_by_count(CALL, 2, 0, 3).expect("two groups");
        let other = whole.split_by_count(CALL.saturating_add(1), 2, 0, 3).expect("two groups").0;
        assert_eq!(Part::union(&groups).expect("a union").expect("parts").count(), 6);
        assert!(Part::union(&[groups[0], groups[0]]).is_err());
        assert!(Part::union(&[groups[0], other[1]]).is_err());
        assert!(Part::union(&[whole, groups[0]]).is_err());
        assert_eq!(Part::union(&[]).expect("nothing"), None);
    }
}
