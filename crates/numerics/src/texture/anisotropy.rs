//! Samples along the longer axis of a footprint (CUDA driver API, `CUDA_TEXTURE_DESC::maxAnisotropy`).
//!
//! The manual says only what the field is called. The rest was read off an H200 (`tests/c/answers/anisotropy.c`): how many samples there are, where they lie, what
//! each weighs, and how levels are stretched. Along an axis of the texture, weights of texels are the recorded ones to 1/256. Of 120,000 levels, of gradients along axes and askew, and for three
//! values of `maxAnisotropy`, 75 % are the recorded ones, and none is more than 6/256 from it.

use super::axis::number;
use super::gradient::{logarithm, longer_axis};

/// The greatest ratios of axes that hardware has, and what it takes for each: two are none that it divides by exactly.
const RATIOS: [(u32, f64); 8] = [(1, 1.0), (2, 2.0), (4, 4.0), (6, 5.9), (8, 8.0), (10, 10.0), (12, 11.8), (16, 16.0)];

/// How a circle on the screen is sampled in a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// The level of detail.
    pub level: f32,
    /// From one sample to the next, along x and y, in texels of the base.
    pub step: [f32; 2],
    /// The longer axis by the shorter one, as far as it is sampled: 1 to 16.
    pub ratio: f32,
}

impl Footprint {
    /// The footprint for gradients along x and y of the screen in a texture with so many texels, of a sampler with this `maxAnisotropy`. None where that asks for one sample at each
    /// place: then the level follows from the longer axis alone, [`level_of_gradients`](super::level_of_gradients).
    pub fn new(x: [f32; 2], y: [f32; 2], texels: [u32; 2], most: u32) -> Option<Footprint> {
        let &(_, most) = RATIOS.iter().rev().find(|(ratio, _)| *ratio <= most)?;
        if most == 1.0 {
            return None;
        }
        let in_three = |[x, y]: [f32; 2]| [x, y, 0.0];
        let (long, towards) = longer_axis(in_three(x), in_three(y), [texels[0], texels[1], 1]);
        if !long.is_finite() {
            return None;
        }
        let in_texels = |step: [f32; 2], index: usize| number(step[index]) * f64::from(texels[index]);
        // What the axes span is what the gradients span.
        let spanned = (in_texels(x, 0) * in_texels(y, 1) - in_texels(x, 1) * in_texels(y, 0)).abs();
        let short = if long > 0.0 { spanned / long } else { 0.0 };
        let ratio_to = |short: f64| if long > short { (long / short).min(most) } else { 1.0 };
        let of_ratio = |ratio: f64| stretched(logarithm(long / ratio).into(), most);
        let level = of_ratio(ratio_to(short));
        // Nothing is sampled more finely than texels lie.
        let ratio = ratio_to(short.max(1.0));
        let apart = of_ratio(ratio).exp2() / towards[0].hypot(towards[1]);
        let step = [0, 1].map(|index| if long > 0.0 { (towards[index] * apart) as f32 } else { 0.0 });
        Some(Footprint { level: level as f32, step, ratio: ratio as f32 })
    }

    /// The samples: how many steps from the middle each lies, and what it weighs. All weights are 1 together.
    pub fn samples(&self) -> impl Iterator<Item = (f32, f32)> {
        let ratio = self.ratio;
        let pairs = (ratio / 2.0).ceil() as u32;
        (0..pairs).flat_map(move |pair| {
            let (at, weight) = if ratio <= 2.0 {
                // Two that come nearer to each other.
                (1.0 - 1.0 / ratio, 0.5)
            } else if pair + 1 < pairs {
                (pair as f32 + 0.5, 1.0 / ratio)
            } else {
                (pair as f32 + 0.5, (1.0 - 2.0 * pair as f32 / ratio) / 2.0)
            };
            [(-at, weight), (at, weight)]
        })
    }
}

/// Levels between two are drawn to the nearer one, the more the more samples there may be.
fn stretched(level: f64, most: f64) -> f64 {
    if level.is_infinite() {
        return level;
    }
    let by = if most >= 8.0 { 2.0 } else { 2.0 - 1.0 / most.min(4.0) };
    level.floor() + ((level - level.floor() - 0.5) * by + 0.5).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(long: f32, most: u32) -> Footprint {
        Footprint::new([long, 0.0], [0.0, 1.0], [1; 2], most).unwrap()
    }

    #[test]
    fn all_weight_is_given() {
        for long in [1.0, 1.125, 2.0, 2.25, 3.0, 5.0, 7.0, 8.0, 14.0, 16.0, 40.0] {
            for most in [2, 3, 4, 6, 7, 12, 17] {
                let sum: f32 = of(long, most).samples().map(|(_, weight)| weight).sum();
                assert!((sum - 1.0).abs() < 1e-6, "{long} of {most}: {sum}");
            }
        }
    }

    #[test]
    fn samples_fill_the_longer_axis() {
        let of_five: Vec<(f32, f32)> = of(5.0, 16).samples().collect();
        let places: Vec<f32> = of_five.iter().map(|(at, _)| *at).collect();
        assert_eq!(places, [-0.5, 0.5, -1.5, 1.5, -2.5, 2.5]);
        assert!(of_five.iter().zip([0.2, 0.2, 0.2, 0.2, 0.1, 0.1]).all(|((_, weight), is)| (weight - is).abs() < 1e-6));
        assert!(of(1.25, 16).samples().all(|(at, weight)| (at.abs() - 0.2).abs() < 1e-6 && weight == 0.5));
        assert_eq!(Footprint::new([0.0, 3.0], [1.0, 0.0], [1; 2], 16).unwrap().step, [0.0, 1.0]);
        let askew = Footprint::new([2.0, 2.0], [-1.0, 1.0], [1; 2], 16).unwrap();
        assert!((askew.step[0] - askew.step[1]).abs() < 1e-6 && askew.step[0] > 0.0, "{askew:?}");
    }

    #[test]
    fn levels_are_as_recorded() {
        // Of `tests/c/answers/anisotropy.golden`.
        for (long, most, level) in [
            (2.5, 2, 0.238_281_25),
            (3.0, 2, 0.632_812_5),
            (5.0, 4, 0.195_312_5),
            (6.0, 4, 0.656_25),
            (7.0, 4, 1.0),
            (8.0, 6, 0.394_531_25),
            (20.0, 16, 0.148_437_5),
            (10.0, 3, 2.238_281_3),
            (16.0, 16, 0.0),
            (32.0, 17, 1.0),
        ] {
            let found = of(long, most).level;
            assert!((found - level).abs() <= 2.0 / 256.0, "{long} of {most}: {found}");
        }
        assert_eq!(Footprint::new([8.0, 0.0], [0.0, 1.0], [1; 2], 1), None);
        assert_eq!(Footprint::new([f32::INFINITY, 0.0], [0.0, 1.0], [1; 2], 4), None);
        let nothing = Footprint::new([f32::NAN, 0.0], [0.0; 2], [8; 2], 4).unwrap();
        assert_eq!((nothing.level, nothing.step, nothing.ratio), (f32::NEG_INFINITY, [0.0; 2], 1.0));
        assert!(Footprint::new([0.25, 0.0], [0.0, 0.1], [1; 2], 4).unwrap().level <= 0.0);
    }
}
