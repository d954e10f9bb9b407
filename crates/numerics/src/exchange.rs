//! What threads tell each other: which lane `shfl` reads (PTX ISA 9.7.9.6), how a vote ends (9.7.13.1, 9.7.13.8), and what `redux`
//! (9.7.13.11) makes of two values.
//!
//! Which threads take part, and that they wait for each other, is the executors' business.

use crate::float::{self, Extremum};

/// The modes of `shfl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// From so many lanes below.
    Up,
    /// From so many lanes above.
    Down,
    /// From the lane whose number differs in these bits.
    Bfly,
    /// From that lane of the segment.
    Idx,
}

/// The lane that `shfl` reads in `lane` of 32, and whether it is in range; if not, a lane reads itself. `b` is the distance, bits or number;
/// of `c` bits 0 to 4 are the clamp and 8 to 12 the mask that cuts the warp into segments. The pseudocode of PTX ISA 9.7.9.6.
#[inline(always)]
pub fn shuffle_source(mode: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let b = b & 0x1f;
    let clamp = c & 0x1f;
    let segment = c >> 8 & 0x1f;
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (source, inside) = match mode {
        Shuffle::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= max as i32),
        Shuffle::Down => (lane + b, lane + b <= max),
        Shuffle::Bfly => (lane ^ b, lane ^ b <= max),
        Shuffle::Idx => {
            let source = min | (b & !segment);
            (source, source <= max)
        }
    };
    if inside { (source & 31, true) } else { (lane, false) }
}

/// A vote: of lanes in `vote` (PTX ISA 9.7.13.8), of threads in `bar.red` (9.7.13.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vote {
    /// How many take part.
    pub voters: u32,
    /// For how many of them the predicate holds: what `.popc` gives.
    pub ayes: u32,
}

impl Vote {
    /// `.all`, `.and`
    #[inline(always)]
    pub fn all(self) -> bool {
        self.ayes == self.voters
    }

    /// `.any`, `.or`
    #[inline(always)]
    pub fn any(self) -> bool {
        self.ayes != 0
    }

    /// `.uni`: for all or for none.
    #[inline(always)]
    pub fn uniform(self) -> bool {
        self.all() | !self.any()
    }
}

/// What `redux` computes of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Wrapping addition.
    Add,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Two values of `redux` as one.
#[inline(always)]
pub fn reduce(reduction: Reduction, signed: bool, x: u32, y: u32) -> u32 {
    match reduction {
        Reduction::Add => x.wrapping_add(y),
        Reduction::And => x & y,
        Reduction::Or => x | y,
        Reduction::Xor => x ^ y,
        Reduction::Min if signed => (x as i32).min(y as i32) as u32,
        Reduction::Max if signed => (x as i32).max(y as i32) as u32,
        Reduction::Min => x.min(y),
        Reduction::Max => x.max(y),
    }
}

/// Two values of `redux.f32` as one: `min` or `max`, `.abs` of the magnitudes, `.NaN` makes a NaN the result.
/// A lane that is alone is reduced with itself: `.abs` and the canonical NaN count for it too.
#[inline(always)]
pub fn reduce_f32(x: f32, y: f32, max: bool, abs: bool, nan: bool) -> f32 {
    float::extremum(x, y, Extremum { max, abs, nan, ..Extremum::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_bound_shuffles() {
        // Segments of eight lanes: mask 0x18 in bits 8 to 12.
        let c = 0x1807;
        assert_eq!(shuffle_source(Shuffle::Down, 6, 1, c), (7, true));
        assert_eq!(shuffle_source(Shuffle::Down, 7, 1, c), (7, false));
        assert_eq!(shuffle_source(Shuffle::Up, 8, 1, 0x1800), (8, false));
        assert_eq!(shuffle_source(Shuffle::Up, 9, 1, 0x1800), (8, true));
        assert_eq!(shuffle_source(Shuffle::Idx, 13, 2, c), (10, true));
        assert_eq!(shuffle_source(Shuffle::Bfly, 3, 4, c), (7, true));
        assert_eq!(shuffle_source(Shuffle::Idx, 0, 0xffff_ffe1, 0x1f), (1, true));
    }

    #[test]
    fn reductions_of_floats_follow_min_and_max() {
        let nan = f32::NAN;
        assert_eq!(reduce_f32(nan, 2.0, false, false, false), 2.0);
        assert!(reduce_f32(nan, 2.0, false, false, true).is_nan());
        assert_eq!(reduce_f32(-3.0, 2.0, true, true, false), 3.0);
        assert_eq!(reduce_f32(-0.0, 0.0, false, false, false).to_bits(), 0x8000_0000);
        assert_eq!(reduce(Reduction::Min, true, 0xffff_ffff, 1), 0xffff_ffff);
    }
}
