//! One dimension: from a coordinate to texels.

use super::filter::{UNIT, WEIGHT_BITS};

/// What a coordinate outside the texture means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The texture is repeated; without normalised coordinates it is as [`Outside::Clamp`].
    Wrap,
    /// The nearest texel inside.
    Clamp,
    /// The texture is repeated back and forth; without normalised coordinates it is as [`Outside::Clamp`].
    Mirror,
    /// No texel: the border colour.
    Border,
}

/// One dimension of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Texels, at least 1.
    pub size: u32,
    /// What coordinates outside mean.
    pub outside: Outside,
    /// Whether coordinates run from 0 to 1 rather than to `size`.
    pub normalized: bool,
}

/// Steps of a normalised coordinate from 0 to 1, as a power of 2: more where a texture is so wide that there were few of them for a texel.
#[inline(always)]
pub(super) fn step_bits(size: u32) -> u32 {
    match size {
        0..=8192 => 21,
        8193..=32768 => 22,
        _ => 23,
    }
}

/// The offset in texels that an instruction's operand means: hardware looks at 4 bits, -8 to 7 (PTX ISA 9.7.10.3).
#[inline]
pub fn offset(operand: u32) -> i32 {
    (operand << 28) as i32 >> 28
}

/// NaN counts as 0, and so do subnormal numbers: one below 0 is not outside (recorded on an H200).
#[inline]
pub(super) fn number(value: f32) -> f64 {
    f64::from(if value.is_nan() { 0.0 } else { normal(value) })
}

/// A number that is normal, or 0.
#[inline(always)]
pub(super) fn normal(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE { 0.0 } else { value }
}

/// The step of a normalised coordinate, in the first of periods of so many steps, a power of 2: all of this is exact.
#[inline]
fn first_period(coordinate: f32, steps: f32, period: f32) -> f64 {
    let step = (normal(coordinate) * steps).floor();
    number(step - (step * (1.0 / period)).floor() * period)
}

impl Axis {
    /// What coordinates outside mean, without normalised coordinates too.
    #[inline]
    pub fn outside(&self) -> Outside {
        match self.outside {
            Outside::Wrap | Outside::Mirror if !self.normalized => Outside::Clamp,
            outside => outside,
        }
    }

    /// The texel of an index, in units of texels whatever coordinates are in; `None` is the border.
    #[inline]
    pub fn texel(&self, index: i64) -> Option<u32> {
        let size = i64::from(self.size);
        let inside = match self.outside() {
            Outside::Wrap => index.rem_euclid(size),
            Outside::Clamp => index.clamp(0, size - 1),
            Outside::Mirror => {
                let there_and_back = index.rem_euclid(2 * size);
                there_and_back.min(2 * size - 1 - there_and_back)
            }
            Outside::Border if (0..size).contains(&index) => index,
            Outside::Border => return None,
        };
        u32::try_from(inside).ok()
    }

    /// The texel that a coordinate lies in, `offset` texels on. NaN counts as 0.
    #[inline]
    pub fn nearest(&self, coordinate: f32, offset: i32) -> Option<u32> {
        self.texel((self.position(coordinate).floor() as i64).saturating_add(i64::from(offset)))
    }

    /// Where a coordinate lies from the centre of the first texel, in 256ths of a texel.
    #[inline]
    pub fn fixed(&self, coordinate: f32) -> i64 {
        let unit = f64::from(UNIT);
        ((self.position(coordinate) - 0.5) * unit + 0.5).floor() as i64
    }

    /// The two texels whose centres a coordinate lies between, `offset` texels on, and the weight of the second in 256ths. Where clamping makes
    /// both the same texel, the first has all the weight.
    #[inline]
    pub fn between(&self, coordinate: f32, offset: i32) -> ([Option<u32>; 2], u32) {
        let fixed = self.fixed(coordinate);
        let first = (fixed >> WEIGHT_BITS).saturating_add(i64::from(offset));
        let pair = [self.texel(first), self.texel(first.saturating_add(1))];
        let weight = (fixed & i64::from(UNIT - 1)) as u32;
        let same = self.outside() == Outside::Clamp && pair[0] == pair[1];
        (pair, if same { 0 } else { weight })
    }

    /// A coordinate in units of texels, in the first period of an axis that has one, where infinities count as 0 (recorded on an H200,
    /// `tests/c/answers/nowhere.golden`). Normalised ones count in steps, cut downward: a third of three texels lies in the first.
    #[inline]
    fn position(&self, coordinate: f32) -> f64 {
        if !self.normalized {
            return number(coordinate);
        }
        let steps = f64::from(1u32 << step_bits(self.size));
        let step = match self.outside {
            // An offset may lead back from any place beyond.
            Outside::Clamp | Outside::Border => (number(coordinate) * steps).floor(),
            Outside::Wrap => first_period(coordinate, steps as f32, steps as f32),
            Outside::Mirror => first_period(coordinate, steps as f32, 2.0 * steps as f32),
        };
        step / steps * f64::from(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(outside: Outside, normalized: bool) -> Axis {
        Axis { size: 4, outside, normalized }
    }

    fn texels(axis: Axis) -> Vec<Option<u32>> {
        (-5..9).map(|index| axis.texel(index)).collect()
    }

    #[test]
    fn indices_outside() {
        let some = |indices: [u32; 14]| indices.map(Some).to_vec();
        assert_eq!(texels(axis(Outside::Wrap, true)), some([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]));
        assert_eq!(texels(axis(Outside::Mirror, true)), some([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0]));
        let clamped = some([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]);
        assert_eq!(texels(axis(Outside::Clamp, true)), clamped);
        assert_eq!(texels(axis(Outside::Wrap, false)), clamped);
        assert_eq!(texels(axis(Outside::Mirror, false)), clamped);
        let inside = texels(axis(Outside::Border, false));
        assert_eq!(inside[5..9], [Some(0), Some(1), Some(2), Some(3)]);
        assert!(inside[..5].iter().chain(&inside[9..]).all(Option::is_none));
    }

    #[test]
    fn nearest_is_the_texel_around_the_coordinate() {
        assert_eq!(axis(Outside::Clamp, false).nearest(2.999, 0), Some(2));
        assert_eq!(axis(Outside::Border, false).nearest(-0.001, 0), None);
        assert_eq!(axis(Outside::Border, false).nearest(-0.001, 2), Some(1));
        assert_eq!(axis(Outside::Border, true).nearest(1.0, 0), None);
        assert_eq!(axis(Outside::Wrap, true).nearest(1.25, 0), Some(1));
        assert_eq!(axis(Outside::Mirror, true).nearest(1.25, 0), Some(2));
        assert_eq!(axis(Outside::Clamp, true).nearest(f32::INFINITY, 1), Some(3));
        assert_eq!(axis(Outside::Clamp, true).nearest(f32::NEG_INFINITY, -1), Some(0));
        assert_eq!(axis(Outside::Clamp, true).nearest(f32::NAN, 0), Some(0));
        // Just above a third, but not by a step.
        let three = Axis { size: 3, ..axis(Outside::Wrap, true) };
        assert_eq!([0x3eaa_aaab, 0x3eaa_aab0].map(|bits| three.nearest(f32::from_bits(bits), 0)), [Some(0), Some(1)]);
        assert_eq!(three.nearest(-0.333_333_3, 0), Some(1));
        for (outside, normalized, texel) in
            [(Outside::Border, false, None), (Outside::Border, true, None), (Outside::Wrap, true, Some(3))]
        {
            let least = f32::MIN_POSITIVE;
            let found = [-least, -least / 2.0].map(|at| axis(outside, normalized).nearest(at, 0));
            assert_eq!(found, [texel, Some(0)], "{outside:?}");
        }
    }

    #[test]
    fn weights_count_from_texel_centres() {
        let clamp = axis(Outside::Clamp, false);
        assert_eq!(clamp.between(1.5, 0), ([Some(1), Some(2)], 0));
        assert_eq!(clamp.between(1.75, 0), ([Some(1), Some(2)], 64));
        assert_eq!(clamp.between(1.75, 1), ([Some(2), Some(3)], 64));
        assert_eq!(clamp.between(0.0, 0), ([Some(0), Some(0)], 0));
        assert_eq!(axis(Outside::Border, false).between(0.25, 0), ([None, Some(0)], 192));
        assert_eq!(axis(Outside::Wrap, true).between(0.0, 0), ([Some(3), Some(0)], 128));
        assert_eq!(clamp.between(f32::INFINITY, 7).0, [Some(3), Some(3)]);
        // A texture so wide that weights are finer than 2^-21 of it.
        let wide = Axis { size: 16384, ..axis(Outside::Clamp, true) };
        assert_eq!(wide.between(0.5 + 1.0 / 4_194_304.0, 0), ([Some(8191), Some(8192)], 129));
    }

    #[test]
    fn offsets_have_four_bits() {
        assert_eq!([0, 7, 8, 15, 17, u32::MAX].map(offset), [0, 7, -8, -1, 1, -1]);
    }
}
