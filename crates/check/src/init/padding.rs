//! Bytes that nobody writes because no member of a structure has them: they lie in front of one that must be aligned, or at the structure's end.

use std::ops::Range;

/// What a gap in what was written is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// An odd number of bytes in such a place, which no array of halves or words leaves out.
    Padding,
    /// An even number of bytes in such a place, or one: it may be an element or a member that was forgotten.
    Unclear,
    Hole,
}

/// What a gap is. Padding lies up to an address where aligned bytes may follow, beside as many of them that were written.
pub(super) fn gap(gap: &Range<u64>, within: &Range<u64>, is_written: impl Fn(Range<u64>) -> bool) -> Gap {
    let len = gap.end - gap.start;
    let aligned = |align: u64| {
        let unit = gap.end - align;
        let neighbours = [unit.checked_sub(align).map(|before| before..unit), Some(gap.end..gap.end + align)];
        len < align
            && gap.end.is_multiple_of(align)
            && neighbours
                .into_iter()
                .flatten()
                .any(|beside| within.start <= beside.start && beside.end <= within.end && is_written(beside))
    };
    match len {
        3 | 5 | 7 if aligned(4) || aligned(8) => Gap::Padding,
        _ if [2, 4, 8, 16].into_iter().any(aligned) => Gap::Unclear,
        _ => Gap::Hole,
    }
}

#[cfg(test)]
mod tests {
    use super::{Gap, gap};

    #[test]
    fn gaps_behind_short_members_are_padding() {
        let within = 64..128;
        let beside = |hole: std::ops::Range<u64>| {
            gap(&hole, &within, |range| range.end <= hole.start || hole.end <= range.start)
        };
        // Behind a byte: in front of a word, in front of eight bytes; behind three; the last bytes of all.
        for padding in [69..72, 73..80, 75..80, 125..128] {
            assert_eq!(beside(padding.clone()), Gap::Padding, "{padding:?}");
        }
        // A byte, a half, a word, two words.
        for unclear in [71..72, 70..72, 68..72, 72..80] {
            assert_eq!(beside(unclear.clone()), Gap::Unclear, "{unclear:?}");
        }
        // What ends nowhere, and what begins where something aligned may.
        for hole in [70..73, 64..96, 72..76] {
            assert_eq!(beside(hole.clone()), Gap::Hole, "{hole:?}");
        }
        // Nothing beside it was written.
        assert_eq!(gap(&(69..72), &within, |_| false), Gap::Hole);
    }
}
