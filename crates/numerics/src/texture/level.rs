//! Which mip levels a texture is read from (CUDA programming guide, "Texture Object API": mipmap filter, bias and clamp).

use super::filter::{UNIT, WEIGHT_BITS};

/// How a sampler chooses among the levels of a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelRange {
    /// Least and greatest level; the least wins.
    pub clamp: [f32; 2],
    /// Added to every level that a kernel gives or that follows from gradients.
    pub bias: f32,
    /// Whether neighbouring levels are interpolated.
    pub linear: bool,
    /// The last level that there is.
    pub last: u32,
}

/// A level, and the weight of the next one in 256ths. Without weight the next is not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// The first of both.
    pub first: u32,
    /// Of the next.
    pub weight: u32,
}

/// A level in 256ths, cut towards 0; NaN counts as 0.
#[inline]
fn fixed(level: f32) -> i64 {
    (f64::from(level) * f64::from(UNIT)) as i64
}

impl LevelRange {
    /// What is read for a level of detail, with the bias.
    #[inline]
    pub fn at(&self, level: f32) -> Levels {
        self.within(fixed(level).saturating_add(fixed(self.bias)))
    }

    /// What is read without a level of detail, `tex.base`: the bias does not count, but the clamp does.
    #[inline]
    pub fn base(&self) -> Levels {
        self.within(0)
    }

    #[inline]
    fn within(&self, level: i64) -> Levels {
        let [least, most] = self.clamp.map(fixed);
        let last = i64::from(self.last) << WEIGHT_BITS;
        let level = level.min(most).max(least).clamp(0, last);
        if self.linear {
            Levels { first: (level >> WEIGHT_BITS) as u32, weight: level as u32 & (UNIT - 1) }
        } else {
            Levels { first: ((level + i64::from(UNIT / 2)) >> WEIGHT_BITS) as u32, weight: 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: LevelRange = LevelRange { clamp: [0.0, 99.0], bias: 0.0, linear: true, last: 6 };

    fn levels(range: LevelRange, level: f32) -> (u32, u32) {
        let Levels { first, weight } = range.at(level);
        (first, weight)
    }

    #[test]
    fn levels_between() {
        assert_eq!(levels(ALL, 1.25), (1, 64));
        assert_eq!(levels(ALL, -3.0), (0, 0));
        assert_eq!(levels(ALL, 99.0), (6, 0));
        assert_eq!(levels(ALL, f32::NAN), (0, 0));
        assert_eq!([f32::INFINITY, f32::NEG_INFINITY].map(|level| levels(ALL, level)), [(6, 0), (0, 0)]);
        let nearest = LevelRange { linear: false, ..ALL };
        assert_eq!([0.49, 0.5, 2.498, 2.5].map(|level| levels(nearest, level).0), [0, 1, 2, 3]);
    }

    #[test]
    fn bias_and_clamp_are_cut() {
        // Recorded.
        assert_eq!(levels(LevelRange { bias: 0.3, ..ALL }, f32::NAN), (0, 76));
        assert_eq!(levels(LevelRange { bias: -1.7, ..ALL }, 3.0), (1, 333 - 256));
        let some = LevelRange { clamp: [1.2, 3.3], ..ALL };
        assert_eq!([0.0, 9.0].map(|level| levels(some, level)), [(1, 51), (3, 76)]);
        assert_eq!(levels(LevelRange { clamp: [4.0, 3.0], ..ALL }, 0.0), (4, 0));
        assert_eq!(LevelRange { bias: 100.0, ..some }.base(), Levels { first: 1, weight: 51 });
    }
}
