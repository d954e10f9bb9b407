//! A hash index over the generated table, made by the compiler: no start-up cost, and one probe for almost every name.
use super::table::EntryPoint;

/// Longer names belong to no entry point.
pub(crate) const LONGEST_NAME: usize = 79;

/// Four times the entry points that there are, so that probes seldom collide. A power of two.
const SLOTS: usize = 2048;

/// Open addressing. A slot holds 0, or the entry's position plus one below [`POSITION_BITS`] and hash bits above.
pub(super) struct Index {
    slots: [u32; SLOTS],
}

const POSITION_BITS: u32 = 12;
const POSITION_MASK: u32 = (1 << POSITION_BITS) - 1;

/// The slot where a name's probe starts, and the hash bits that tell it from others there.
const fn place(name: &[u8]) -> (usize, u32) {
    let hash = hash(name);
    (hash as usize % SLOTS, (hash >> 32) as u32 & !POSITION_MASK)
}

/// Sixteen bytes a step, in two halves that do not wait for each other; the last step may overlap the one before.
const fn hash(name: &[u8]) -> u64 {
    let (mut even, mut odd) = (name.len() as u64, 0);
    let mut rest = name;
    while let Some((pair, tail)) = rest.split_first_chunk::<16>() {
        (even, odd) = mix_both(even, odd, u128::from_le_bytes(*pair));
        rest = tail;
    }
    if !rest.is_empty() {
        let pair = match (name.last_chunk::<16>(), name.first_chunk::<8>(), name.last_chunk::<8>()) {
            (Some(last), ..) => u128::from_le_bytes(*last),
            (None, Some(first), Some(last)) => {
                u64::from_le_bytes(*first) as u128 | (u64::from_le_bytes(*last) as u128) << 64
            }
            _ => {
                let mut word = 0;
                while let Some((byte, tail)) = rest.split_first() {
                    word = word << 8 | *byte as u128;
                    rest = tail;
                }
                word
            }
        };
        (even, odd) = mix_both(even, odd, pair);
    }
    let hash = even ^ odd.rotate_left(32);
    hash ^ hash >> 29
}

const fn mix_both(even: u64, odd: u64, pair: u128) -> (u64, u64) {
    (mix(even, pair as u64), mix(odd, (pair >> 64) as u64))
}

const fn mix(hash: u64, word: u64) -> u64 {
    // The multiplier is 2^64 divided by the golden ratio, made odd.
    let product = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ product >> 32
}

impl Index {
    /// The index of `entry_points`; compiling fails on a duplicate or overlong name.
    pub(super) const fn of(entry_points: &[EntryPoint]) -> Index {
        assert!(entry_points.len() < SLOTS / 2 && entry_points.len() < POSITION_MASK as usize);
        let mut slots = [0; SLOTS];
        let mut position = 0;
        while position < entry_points.len() {
            let name = entry_points[position].name.as_bytes();
            assert!(name.len() <= LONGEST_NAME);
            let (mut slot, tag) = place(name);
            while slots[slot] != 0 {
                // Equal tags in one probe run would cost a comparison only, equal names would be a defect of the table.
                assert!(slots[slot] & !POSITION_MASK != tag);
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = tag | (position as u32 + 1);
            position += 1;
        }
        Index { slots }
    }

    /// The entry point `name` of the table that the index was made of.
    #[inline]
    pub(super) fn get<'t>(&self, entry_points: &'t [EntryPoint], name: &[u8]) -> Option<&'t EntryPoint> {
        let (mut slot, tag) = place(name);
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                return None;
            }
            if entry & !POSITION_MASK == tag {
                let found = &entry_points[(entry & POSITION_MASK) as usize - 1];
                if found.name.as_bytes() == name {
                    return Some(found);
                }
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::entry_points::ENTRY_POINTS;

    static INDEX: Index = Index::of(&ENTRY_POINTS);

    #[test]
    fn every_name_is_found_and_no_neighbour_of_it() {
        for entry_point in &ENTRY_POINTS {
            let name = entry_point.name.as_bytes();
            assert_eq!(INDEX.get(&ENTRY_POINTS, name).map(|found| found.name), Some(entry_point.name));
            for len in 0..name.len() {
                let prefix = &name[..len];
                let known = ENTRY_POINTS.iter().any(|other| other.name.as_bytes() == prefix);
                assert_eq!(INDEX.get(&ENTRY_POINTS, prefix).is_some(), known, "{:?}", std::str::from_utf8(prefix));
            }
            let longer = [name, b"_v2"].concat();
            assert!(INDEX.get(&ENTRY_POINTS, &longer).is_none(), "{}_v2", entry_point.name);
        }
    }

    #[test]
    fn probes_are_short() {
        let used = INDEX.slots.iter().filter(|slot| **slot != 0).count();
        assert_eq!(used, ENTRY_POINTS.len());
        let home = ENTRY_POINTS.iter().enumerate().filter(|(position, entry_point)| {
            INDEX.slots[place(entry_point.name.as_bytes()).0] & POSITION_MASK == *position as u32 + 1
        });
        assert!(home.count() * 10 > used * 8, "fewer than 8 of 10 names are found at the first probe");
    }
}
