//! Sampling of textures (CUDA programming guide, "Texture Fetching"): from coordinates to texels and their weights, and what the
//! channels of a texel in memory mean (PTX ISA 9.7.10.1).
//!
//! Here lives arithmetic only. Where texels lie, and which texture a kernel names, is the executors' business.

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

/// Bits of the fraction in a position: weights are fixed-point numbers of 1.8 bits.
const WEIGHT_BITS: u32 = 8;

/// Steps of a normalised coordinate from 0 to 1.
const STEPS: f64 = (1u32 << 21) as f64;

impl Axis {
    /// The texel of an index, in units of texels whatever coordinates are in; `None` is the border.
    #[inline]
    pub fn texel(&self, index: i64) -> Option<u32> {
        let size = i64::from(self.size);
        let outside = match self.outside {
            Outside::Wrap | Outside::Mirror if !self.normalized => Outside::Clamp,
            outside => outside,
        };
        let inside = match outside {
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

    /// The texel that a coordinate lies in. NaN counts as 0.
    #[inline]
    pub fn nearest(&self, coordinate: f32) -> Option<u32> {
        self.texel(self.position(coordinate).floor() as i64)
    }

    /// The two texels whose centres a coordinate lies between, and the weight of the second in 256ths.
    #[inline]
    pub fn between(&self, coordinate: f32) -> ([Option<u32>; 2], u32) {
        let unit = 1i64 << WEIGHT_BITS;
        let fixed = ((self.position(coordinate) - 0.5) * unit as f64 + 0.5).floor() as i64;
        let first = fixed >> WEIGHT_BITS;
        ([self.texel(first), self.texel(first + 1)], (fixed & (unit - 1)) as u32)
    }

    /// A coordinate in units of texels. Normalised ones count in steps of 2^-21, cut downward, as recorded on hardware: a third of three texels
    /// lies in the first.
    #[inline]
    fn position(&self, coordinate: f32) -> f64 {
        let coordinate = f64::from(coordinate);
        if self.normalized { (coordinate * STEPS).floor() / STEPS * f64::from(self.size) } else { coordinate }
    }
}

/// The value between `first` and `second` at a weight of the second in 256ths.
#[inline]
pub fn blend(first: f64, second: f64, weight: u32) -> f64 {
    let unit = f64::from(1u32 << WEIGHT_BITS);
    let weight = f64::from(weight);
    (first * (unit - weight) + second * weight) / unit
}

/// The value between four texels at weights in 256ths of the second in x and in y; `corners` are x first. The weight of the last corner is the
/// product, rounded to 256ths with halves up, and the others are what is left of each side: so recorded, bit for bit.
#[inline]
pub fn blend_square(corners: [f64; 4], x: u32, y: u32) -> f64 {
    let unit = 1u32 << WEIGHT_BITS;
    let last = (x * y + unit / 2) / unit;
    let weights = [unit + last - x - y, x - last, y - last, last];
    let sum: f64 = corners.iter().zip(weights).map(|(corner, weight)| corner * f64::from(weight)).sum();
    sum / f64::from(unit)
}

/// Faces of a cube.
pub const CUBE_FACES: u32 = 6;

/// Where a direction from the middle of a cube meets its surface: the number of the face, and normalised coordinates there (CUDA programming
/// guide, "Cubemap Textures"). Of axes that are equally long, z comes before y and y before x.
pub fn cube_face(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let [x, y, z] = direction;
    let (face, long, s, t) = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z.is_sign_negative() { (5, z, -x, -y) } else { (4, z, x, -y) }
    } else if y.abs() >= x.abs() {
        if y.is_sign_negative() { (3, y, x, -z) } else { (2, y, x, z) }
    } else if x.is_sign_negative() {
        (1, x, z, -y)
    } else {
        (0, x, -z, -y)
    };
    (face, [s, t].map(|along| (along / long.abs() + 1.0) / 2.0))
}

/// An unsigned channel of `bits` (8 or 16) as a fraction of its range, 0 to 1.
pub fn unsigned_fraction(value: u32, bits: u32) -> f32 {
    value as f32 / ((1u32 << bits) - 1) as f32
}

/// A signed channel of `bits` (8 or 16) as a fraction of its range, -1 to 1: the least two values are both -1.
pub fn signed_fraction(value: i32, bits: u32) -> f32 {
    (value as f32 / ((1u32 << (bits - 1)) - 1) as f32).max(-1.0)
}

/// A channel of 8 bits in sRGB as a linear fraction (IEC 61966-2-1).
pub fn from_srgb(value: u8) -> f32 {
    SRGB[usize::from(value)]
}

static SRGB: [f32; 256] = srgb();

const fn srgb() -> [f32; 256] {
    let mut table = [0.0; 256];
    let mut value = 0;
    while value < 256 {
        let encoded = value as f64 / 255.0;
        let linear = if encoded <= 0.04045 { encoded / 12.92 } else { power_2_4((encoded + 0.055) / 1.055) };
        table[value] = linear as f32;
        value += 1;
    }
    table
}

/// `x` to the power of 2.4, for x from 0.09 to 1: x² by the fifth root squared, which Newton's method finds from above.
const fn power_2_4(x: f64) -> f64 {
    let mut root: f64 = 1.0;
    let mut step = 0;
    while step < 16 {
        let fourth = root * root * root * root;
        root -= (fourth * root - x) / (5.0 * fourth);
        step += 1;
    }
    x * x * root * root
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
        assert_eq!(axis(Outside::Clamp, false).nearest(2.999), Some(2));
        assert_eq!(axis(Outside::Border, false).nearest(-0.001), None);
        assert_eq!(axis(Outside::Border, true).nearest(1.0), None);
        assert_eq!(axis(Outside::Wrap, true).nearest(1.25), Some(1));
        assert_eq!(axis(Outside::Mirror, true).nearest(1.25), Some(2));
        assert_eq!(axis(Outside::Clamp, true).nearest(f32::INFINITY), Some(3));
        assert_eq!(axis(Outside::Clamp, true).nearest(f32::NEG_INFINITY), Some(0));
        assert_eq!(axis(Outside::Clamp, true).nearest(f32::NAN), Some(0));
        // Just above a third, but not by a step.
        let three = Axis { size: 3, ..axis(Outside::Wrap, true) };
        assert_eq!([0x3eaa_aaab, 0x3eaa_aab0].map(|bits| three.nearest(f32::from_bits(bits))), [Some(0), Some(1)]);
        assert_eq!(three.nearest(-0.333_333_3), Some(1));
    }

    #[test]
    fn weights_count_from_texel_centres() {
        let clamp = axis(Outside::Clamp, false);
        assert_eq!(clamp.between(1.5), ([Some(1), Some(2)], 0));
        assert_eq!(clamp.between(1.75), ([Some(1), Some(2)], 64));
        assert_eq!(clamp.between(0.0), ([Some(0), Some(0)], 128));
        assert_eq!(axis(Outside::Border, false).between(0.25), ([None, Some(0)], 192));
        assert_eq!(axis(Outside::Wrap, true).between(0.0), ([Some(3), Some(0)], 128));
        assert_eq!(clamp.between(f32::INFINITY).0, [Some(3), Some(3)]);
        assert_eq!(blend(2.0, 4.0, 64), 2.5);
        // An edge is as in one dimension; 127 * 128 is 63.5 in 256ths, which is 64.
        assert_eq!(blend_square([2.0, 4.0, 9.0, 9.0], 64, 0), 2.5);
        assert_eq!(blend_square([1000.0, 1000.0, 1000.0, 0.0], 127, 128), 750.0);
    }

    #[test]
    fn directions_meet_the_faces_of_a_cube() {
        assert_eq!(cube_face([2.0, 1.0, 0.5]), (0, [0.375, 0.25]));
        assert_eq!(cube_face([-2.0, 1.0, 0.5]), (1, [0.625, 0.25]));
        assert_eq!(cube_face([0.5, 4.0, 1.0]), (2, [0.5625, 0.625]));
        assert_eq!(cube_face([0.5, -4.0, 1.0]), (3, [0.5625, 0.375]));
        assert_eq!(cube_face([1.0, 1.0, 4.0]), (4, [0.625, 0.375]));
        assert_eq!(cube_face([1.0, 1.0, -4.0]), (5, [0.375, 0.375]));
        assert_eq!([[1.0; 3], [1.0, 1.0, 0.0]].map(|direction| cube_face(direction).0), [4, 2]);
    }

    #[test]
    fn channels_become_fractions() {
        assert_eq!([0, 51, 255].map(|value| unsigned_fraction(value, 8)), [0.0, 0.2, 1.0]);
        assert_eq!(unsigned_fraction(0xffff, 16), 1.0);
        assert_eq!([-128, -127, 0, 127].map(|value| signed_fraction(value, 8)), [-1.0, -1.0, 0.0, 1.0]);
        assert_eq!(signed_fraction(-0x8000, 16), -1.0);
    }

    #[test]
    fn srgb_is_the_curve_of_the_standard() {
        for value in 0..=255u8 {
            let encoded = f64::from(value) / 255.0;
            let linear = if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) };
            assert!((f64::from(from_srgb(value)) - linear).abs() < 1e-7, "{value}");
        }
        assert_eq!([from_srgb(0), from_srgb(255)], [0.0, 1.0]);
    }
}
