//! The level of detail that follows from gradients (PTX ISA 9.7.10.3, `tex.grad`).
//!
//! The manual says only what a level is. That an H200 finds it with numbers of ten bits, and how, was read off its answers for 600,000 pairs of gradients, in one, two and three
//! dimensions, of sizes that are powers of 2 and others: all are as here, but for one of 15,000 in three dimensions, which differs by 1/256.

use super::axis::number;

/// Of the fraction of an `.f64`, behind its first bit, those that hardware has not.
const CUT: u32 = f64::MANTISSA_DIGITS - 1 - FRACTION;
/// Bits behind the first one of a number of ten.
const FRACTION: u32 = 9;

/// A number that is 0 or above, cut to ten bits.
fn cut(number: f64) -> f64 {
    f64::from_bits(number.to_bits() >> CUT << CUT)
}

/// The last of ten bits of a number; 0 of 0.
fn last_bit(number: f64) -> f64 {
    f64::from_bits(number.to_bits() >> (f64::MANTISSA_DIGITS - 1) << (f64::MANTISSA_DIGITS - 1))
        / f64::from(1 << FRACTION)
}

/// `number * by / 2^shift`, where a product has bits beyond the last of `number`: with `up` of them added to it.
fn part(number: f64, by: u32, shift: u32, up: u32) -> f64 {
    cut((number * f64::from(by) + last_bit(number) * f64::from(up)) / f64::from(1u32 << shift))
}

/// In texels: hardware leaves out what products of bits have in their last places, and adds what that is about.
fn in_texels(gradient: f64, size: u32) -> f64 {
    const LEFT_OUT: u32 = 6;
    const ABOUT: u32 = 7 << LEFT_OUT;
    let size = cut(f64::from(size));
    let units = [last_bit(gradient), last_bit(size)];
    if units.contains(&0.0) || !gradient.is_finite() {
        return gradient;
    }
    let [left, right] = [gradient / units[0], size / units[1]].map(|whole| whole as u32);
    let rows = (0..=FRACTION).filter(|bit| right >> bit & 1 != 0);
    let product: u32 = rows.map(|bit| left << bit >> LEFT_OUT << LEFT_OUT).sum();
    cut(f64::from(product + ABOUT) * units[0] * units[1])
}

/// The size of a sum, or of a difference: one bit more of the smaller number counts than the larger one has.
fn sum(one: f64, other: f64, opposite: bool) -> f64 {
    let (large, small) = if one >= other { (one, other) } else { (other, one) };
    if small == 0.0 || !large.is_finite() {
        return large;
    }
    let unit = last_bit(large) / 2.0;
    let small = (small / unit).floor() * unit;
    cut(if opposite { large - small } else { large + small })
}

/// The largest first.
fn ordered(mut sizes: [f64; 3]) -> [f64; 3] {
    sizes.sort_by(|one, other| other.total_cmp(one));
    sizes
}

/// About how long a vector is.
fn length(sizes: [f64; 3]) -> f64 {
    let [first, second, third] = ordered(sizes);
    first + part(second, 11, 5, 4) + third / 4.0
}

/// About how long it is by the root of 2.
fn length_by_root(sizes: [f64; 3]) -> f64 {
    let [first, second, third] = ordered(sizes);
    part(first, 11, 4, 4) + part(second, 121, 9, 32) + part(third, 11, 6, 4)
}

/// That longer axis, as of [`level_of_gradients`]: about how long it is, in texels, and where it points to. It is looked for in four directions: along both gradients, their sum and their difference.
pub(super) fn longer_axis(x: [f32; 3], y: [f32; 3], texels: [u32; 3]) -> (f64, [f64; 3]) {
    let sizes = |gradients: [f32; 3]| -> [f64; 3] {
        std::array::from_fn(|index| in_texels(cut(number(gradients[index]).abs()), texels[index]))
    };
    let (along_x, along_y) = (sizes(x), sizes(y));
    let between = |opposite: bool| -> [f64; 3] {
        std::array::from_fn(|index| {
            let differ = x[index].is_sign_negative() != y[index].is_sign_negative();
            sum(along_x[index], along_y[index], differ != opposite)
        })
    };
    let signed =
        |sizes: [f64; 3], signs: [f32; 3]| std::array::from_fn(|index| sizes[index].copysign(signs[index].into()));
    let [x, y]: [[f64; 3]; 2] = [signed(along_x, x), signed(along_y, y)];
    let combined = |by: f64| std::array::from_fn(|index| x[index] + by * y[index]);
    let candidates = [
        (length(along_x), x),
        (length(along_y), y),
        (length_by_root(between(false)), combined(1.0)),
        (length_by_root(between(true)), combined(-1.0)),
    ];
    candidates.into_iter().fold((0.0, [0.0; 3]), |longest, other| if other.0 > longest.0 { other } else { longest })
}

/// The level of detail for gradients along x and y of the screen in a texture with so many texels (1 where gradients count texels already): about how long the longer axis of the ellipse is
/// that a circle on the screen becomes, as a power of 2.
pub fn level_of_gradients(x: [f32; 3], y: [f32; 3], texels: [u32; 3]) -> f32 {
    logarithm(longer_axis(x, y, texels).0)
}

/// A power of 2, in 256ths, by the first nine bits of a number alone.
pub(super) fn logarithm(number: f64) -> f32 {
    if number == 0.0 || number.is_infinite() {
        return if number == 0.0 { f32::NEG_INFINITY } else { f32::INFINITY };
    }
    let bits = (number.to_bits() >> (f64::MANTISSA_DIGITS - 1 - 8)) as i32 - (1023 << 8);
    let beyond = BEYOND[(bits & 0xff) as usize];
    (bits + i32::from(beyond)) as f32 / 256.0
}

/// By how many 256ths the logarithm of `1 + index / 256` is above `index / 256`.
static BEYOND: [u8; 256] = [
    0, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11, 12, 12, 12, 12, 13,
    13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 18, 18, 18, 18, 18, 18, 19, 19,
    19, 19, 19, 19, 20, 20, 20, 20, 20, 20, 20, 20, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 22, 22, 22, 22, 22, 22,
    22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 23, 23, 23, 22, 22, 22, 22, 22, 22, 22,
    22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21,
    21, 21, 20, 20, 20, 20, 20, 20, 20, 20, 20, 19, 19, 19, 19, 19, 19, 19, 19, 18, 18, 18, 18, 18, 18, 18, 18, 17, 17,
    17, 17, 17, 17, 16, 16, 16, 16, 16, 16, 15, 15, 15, 15, 15, 15, 14, 14, 14, 14, 14, 13, 13, 13, 13, 13, 12, 12, 12,
    12, 12, 11, 11, 11, 11, 11, 10, 10, 10, 10, 9, 9, 9, 9, 9, 8, 8, 8, 8, 7, 7, 7, 7, 6, 6, 6, 6, 5, 5, 5, 5, 4, 4, 4,
    4, 3, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_give_levels() {
        let level = |x, y| level_of_gradients(x, y, [1; 3]);
        assert_eq!(level([4.0, 0.0, 0.0], [0.0, 4.0, 0.0]), 2.0);
        assert_eq!(level([0.0, 0.5, 0.0], [0.0; 3]), -1.0);
        assert_eq!(level([0.0; 3], [0.0; 3]), f32::NEG_INFINITY);
        assert_eq!(level([2.0, 0.0, 0.0], [2.0, 0.0, 0.0]), 1.460_937_5);
    }

    #[test]
    fn levels_are_as_recorded() {
        for (bits, texels, level) in [
            ([0x3c0c_ed8c, 0xbd33_3d73, 0, 0x3b91_2900, 0x3cd7_701d, 0], [3000, 1001, 1], 1463),
            ([0x3c2a_9f2c, 0x3c0d_7c5d, 0, 0xbc47_3a3b, 0x3d23_ae69, 0], [3000, 1001, 1], 1473),
            ([0xbb9e_0ecc, 0xbb6e_9cbd, 0, 0x3bf7_092f, 0xbc85_ee79, 0], [3000, 1001, 1], 1237),
            ([0x3c14_a90e, 0x3d25_d53c, 0xbe8a_c57d, 0x3cd2_fb7f, 0x3dd8_02be, 0x3bbb_6a9b], [256; 3], 1588),
            ([0xbd49_55c0, 0x3ddf_3a8c, 0xbd03_2b9e, 0x3c51_b60c, 0x3f04_eb02, 0xbe7b_0187], [256; 3], 1863),
        ] {
            let [x, y] = [0, 3].map(|first| std::array::from_fn(|index| f32::from_bits(bits[first + index])));
            assert_eq!(level_of_gradients(x, y, texels) * 256.0, level as f32, "{bits:x?}");
        }
    }

    #[test]
    fn what_is_no_number_counts_as_nothing() {
        let least = f32::MIN_POSITIVE / 2.0;
        assert_eq!(level_of_gradients([f32::NAN, 2.0, 0.0], [least, 0.0, 0.0], [4, 8, 1]), 4.0);
        assert_eq!(level_of_gradients([f32::NEG_INFINITY, 2.0, 0.0], [0.0; 3], [4, 8, 1]), f32::INFINITY);
        assert_eq!(level_of_gradients([f32::INFINITY; 3], [f32::NEG_INFINITY; 3], [3; 3]), f32::INFINITY);
    }
}
