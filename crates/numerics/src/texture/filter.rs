//! Weights of the texels around a point, and their sums.
//!
//! Weights are whole 256ths, and their sum is always [`UNIT`]. They are found by splitting what there is once for each dimension: between two
//! mip levels or slices, then along x, then along y. Each part is rounded to a whole 256th, so that the order is seen in the result.

use super::channel::{Numbers, SRGB_BITS, SRGB_LINE};

/// Bits of the fraction in a position: weights are fixed-point numbers of 1.8 bits.
pub(super) const WEIGHT_BITS: u32 = 8;

/// All the weight there is.
pub const UNIT: u32 = 1 << WEIGHT_BITS;

/// A product of two numbers in 256ths, in 256ths: halves go up.
#[inline(always)]
fn scaled(weight: u32, part: u32) -> u32 {
    (weight * part + UNIT / 2) >> WEIGHT_BITS
}

/// Splits `weight` between two columns at `at` 256ths of the way to the second: the second's part is rounded, halves up.
#[inline(always)]
fn split(weight: u32, at: u32) -> [u32; 2] {
    let second = scaled(weight, at);
    [weight - second, second]
}

/// Splits `weight` between two slices at `at` 256ths of the way to the second: the first's part is rounded, halves up.
#[inline(always)]
pub fn split_slices(weight: u32, at: u32) -> [u32; 2] {
    let first = scaled(weight, UNIT - at);
    [first, weight - first]
}

/// Splits `weight` between four texels, x first; between the first two, where `y` is 0. Of each half along x, the texel at the outer corner of the square is rounded, halves up, and the
/// other one gets what is left.
#[inline(always)]
pub fn square_weights(weight: u32, x: u32, y: u32) -> [u32; 4] {
    let [left, right] = split(weight, x);
    let first = scaled(left, UNIT - y);
    let last = scaled(right, y);
    [first, right - last, left - first, last]
}

/// The weighted sum of texels of one channel: four of one slice and level, or several times that. What texels mean, their type says; they are bits of
/// `.f32` for [`Numbers::Float`] and [`Numbers::Half`], what [`srgb_term`](super::srgb_term) says for [`Numbers::Srgb`], raw integers with their sign otherwise. The result is bits of `.f32`, or for [`Numbers::Whole`] one such
/// integer.
///
/// Sums of floats over two slices or levels are not always the hardware's last bit: of random floats, one sum in 15000 that lies between two
/// results is rounded to the other one, and of sRGB over two slices one in 8000; and halves that are -0 have the mean 0 where a negative one beside them has no weight. All other sums
/// are the hardware's.
pub fn blend(numbers: Numbers, texels: &[u32], weights: &[u32]) -> u32 {
    let fours = || texels.as_chunks().0.iter().zip(weights.as_chunks().0);
    match numbers {
        Numbers::Float => of_float::<0>(fours().fold(-0.0, |sum, (texels, weights)| sum + four::<0>(texels, weights))),
        Numbers::Half => of_half(fours().fold(-0.0, |sum, (texels, weights)| sum + four::<SHORT>(texels, weights))),
        Numbers::Srgb => of_float::<SHORT>(fours().map(|(texels, weights)| colours(texels, weights)).sum()),
        Numbers::Whole { bits, signed } => {
            mean(bits, fours().map(|(texels, weights)| wide(signed, texels, weights)).sum())
        }
        _ => of_whole(numbers, fours().map(|(texels, weights)| whole(texels, weights)).sum()),
    }
}

/// [`blend`] of four, for loops over lanes: there is nothing in it that a compiler may leave outside of them.
#[inline(always)]
pub(super) fn blend_square(numbers: Numbers, texels: &[u32; 4], weights: &[u32; 4]) -> u32 {
    match numbers {
        Numbers::Float => of_float::<0>(four::<0>(texels, weights)),
        Numbers::Half => of_half(four::<SHORT>(texels, weights)),
        Numbers::Srgb => of_float::<SHORT>(colours(texels, weights)),
        Numbers::Whole { bits, signed } => mean(bits, wide(signed, texels, weights)),
        _ => of_whole(numbers, whole(texels, weights)),
    }
}

/// The sum of four whole numbers in 256ths.
#[inline(always)]
fn whole(texels: &[u32; 4], weights: &[u32; 4]) -> i32 {
    let mut sum = 0;
    for corner in 0..4 {
        // Of 16 bits with a sign times 256, and of 17 times 258, there is room.
        sum += texels[corner] as i32 * weights[corner] as i32;
    }
    sum
}

/// The result of a sum of whole numbers in 256ths.
#[inline(always)]
fn of_whole(numbers: Numbers, sum: i32) -> u32 {
    let half = (UNIT / 2) as i32;
    let (sum, range) = match numbers {
        // Channels of 8 bits are stretched to 16.
        Numbers::Unsigned8 => ((sum * 257 + half) >> WEIGHT_BITS, 65535.0),
        Numbers::Signed8 => (((sum * 258 + ((sum >> 12) << 5) + half) >> WEIGHT_BITS).max(-32767), 32767.0),
        Numbers::Signed16 => (((sum + half) >> WEIGHT_BITS).max(-32767), 32767.0),
        _ => ((sum + half) >> WEIGHT_BITS, 65535.0),
    };
    (sum as f32 / range).to_bits()
}

/// The sum of four whole numbers of up to 32 bits in 256ths.
#[inline(always)]
fn wide(signed: bool, texels: &[u32; 4], weights: &[u32; 4]) -> i64 {
    let mut sum = 0;
    for corner in 0..4 {
        let texel = if signed { i64::from(texels[corner] as i32) } else { i64::from(texels[corner]) };
        sum += texel * i64::from(weights[corner]);
    }
    sum
}

/// What a sum of whole numbers of so many bits in 256ths is as one of them: hardware rounds it, halves up, but cuts one of 32 bits.
#[inline(always)]
fn mean(bits: u32, sum: i64) -> u32 {
    let half = if bits == 32 { 0 } else { i64::from(UNIT / 2) };
    ((sum + half) >> WEIGHT_BITS) as u32
}

/// The result of a sum of floats in 256ths, whose fractions lack the last `SHORT` bits of an `.f32`'s: rounded with halves away from 0.
#[inline(always)]
fn of_float<const SHORT: u32>(sum: f64) -> u32 {
    rounded(sum / f64::from(UNIT), F64_FRACTION - F32_FRACTION + SHORT)
}

/// The result of a sum of halves in 256ths. Below the smallest normal half it is a whole number of the smallest half of all, unlike one of colours.
#[inline(always)]
fn of_half(sum: f64) -> u32 {
    let units = sum.abs() / f64::from(UNIT) * f64::from(1 << SMALLEST_HALF);
    if units < f64::from(1 << F16_FRACTION) {
        let whole = (units + 0.5) as u32 as f32 / (1 << SMALLEST_HALF) as f32;
        return whole.copysign(sum as f32).to_bits();
    }
    of_float::<SHORT>(sum)
}

pub(super) const F32_FRACTION: u32 = 23;
const F16_FRACTION: u32 = 10;
pub(super) const F64_FRACTION: u32 = 52;

/// The smallest half, a denormal, is this power of 2 below 1.
const SMALLEST_HALF: u32 = 24;

/// Bits of a fraction of an `.f32` that one of `.f16` lacks.
pub(super) const SHORT: u32 = F32_FRACTION - F16_FRACTION;

/// Bits that sums of floats keep below the fraction of the largest term.
pub(super) const KEPT: u32 = 4;

/// The exponent of an `.f32`.
#[inline(always)]
fn exponent(bits: u32) -> u32 {
    bits >> F32_FRACTION & 0xff
}

/// The sum of four floats in 256ths: the terms are put in line with the largest, [`KEPT`] bits more than a fraction has, and cut there. Without branches, for
/// loops over lanes.
#[inline(always)]
fn four<const SHORT: u32>(texels: &[u32; 4], weights: &[u32; 4]) -> f64 {
    const SIGN: u32 = 1 << 31;
    let mut largest = 0;
    for corner in 0..4 {
        let own = if weights[corner] == 0 { 0 } else { exponent(texels[corner]) };
        largest = if own > largest { own } else { largest };
    }
    let mut sum = -0.0;
    for corner in 0..4 {
        let (bits, weight) = (texels[corner], weights[corner]);
        let own = exponent(bits);
        let lost = largest.wrapping_sub(own).wrapping_sub(KEPT) as i32;
        let lost = if lost < 0 { SHORT } else { lost as u32 + SHORT };
        let cut = if lost > F32_FRACTION { bits & SIGN } else { bits & (u32::MAX << (lost & 31)) };
        // Denormals count as 0; infinity and NaN are themselves. What has no weight leaves the sum as it is.
        let cut = if own == 0 { bits & SIGN } else { cut };
        let cut = if own == 0xff { bits } else { cut };
        let cut = if weight == 0 { SIGN } else { cut };
        sum += f64::from(f32::from_bits(cut)) * f64::from(weight);
    }
    sum
}

/// The sum of four terms of sRGB in 256ths: they are put in line with the largest, and cut behind the last bit that one has there.
#[inline(always)]
fn colours(texels: &[u32; 4], weights: &[u32; 4]) -> f64 {
    let mut line = 0;
    for corner in 0..4 {
        let own = if weights[corner] == 0 { 0 } else { texels[corner] >> SRGB_LINE };
        line = if own > line { own } else { line };
    }
    let mut sum = 0;
    for corner in 0..4 {
        let first = texels[corner] & ((1 << SRGB_BITS) - 1);
        let lost = line.wrapping_sub(texels[corner] >> SRGB_BITS & 0xff);
        // What has no weight may lie above the line.
        sum += if lost < SRGB_BITS { (first >> lost) * weights[corner] } else { 0 };
    }
    // The last bit on the line.
    let unit = f64::from_bits(u64::from(line + 1023 - 127 - (SRGB_BITS - 1)) << F64_FRACTION);
    f64::from(sum) * unit
}

/// A sum without its last `cut` bits: bits of an `.f32`.
#[inline(always)]
fn rounded(sum: f64, cut: u32) -> u32 {
    let half_up = sum.to_bits().wrapping_add(1 << (cut - 1));
    let result = (f64::from_bits(half_up & !((1 << cut) - 1)) as f32).to_bits();
    let result = if result & 0x7f80_0000 == 0 { result & 1 << 31 } else { result };
    if sum.is_nan() { 0x7fff_ffff & !((1 << (cut + F32_FRACTION - F64_FRACTION)) - 1) } else { result }
}

#[cfg(test)]
mod tests {
    use super::super::channel::{from_srgb, srgb_term};
    use super::*;

    fn four_of([first, second]: [u32; 2]) -> [u32; 4] {
        [first, second, 0, 0]
    }

    #[test]
    fn weights_are_split_between_slices_then_along_x_then_along_y() {
        // Recorded: the eight weights at 121, 109 and 11 256ths, with x first.
        let [near, far] = split_slices(UNIT, 11);
        assert_eq!(square_weights(near, 121, 109), [74, 67, 55, 49]);
        assert_eq!(square_weights(far, 121, 109), [3, 3, 3, 2]);
        let [near, far] = split_slices(UNIT, 111);
        assert_eq!(square_weights(near, 128, 132), [35, 35, 37, 38]);
        assert_eq!(square_weights(far, 128, 132), [27, 27, 28, 29]);
    }

    #[test]
    fn sums_of_a_square_are_the_same_however_they_are_made() {
        let numbers = [
            Numbers::Unsigned8,
            Numbers::Signed8,
            Numbers::Unsigned16,
            Numbers::Signed16,
            Numbers::Half,
            Numbers::Float,
            Numbers::Srgb,
            Numbers::Whole { bits: 16, signed: true },
            Numbers::Whole { bits: 32, signed: false },
        ];
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        for case in 0..60_000 {
            let numbers = numbers[case % numbers.len()];
            let (near, around) = (random() % 3 != 0, [120, 1, 30, 248][(random() % 4) as usize]);
            let texels: [u32; 4] = std::array::from_fn(|_| match numbers {
                Numbers::Unsigned8 => random() & 0xff,
                Numbers::Srgb => srgb_term(random() as u8),
                Numbers::Unsigned16 => random() & 0xffff,
                Numbers::Signed8 => random() as i8 as u32,
                Numbers::Signed16 | Numbers::Whole { bits: 16, .. } => random() as i16 as u32,
                Numbers::Whole { .. } => random() << 16 ^ random(),
                Numbers::Half | Numbers::Float => {
                    let exponent = if near { around + random() % 6 } else { random() & 0xff };
                    if random() % 8 == 0 {
                        return [0, 1 << 31][(random() % 4 == 0) as usize];
                    }
                    let bits = random() << 31 | exponent << F32_FRACTION | random() & ((1 << F32_FRACTION) - 1);
                    if numbers == Numbers::Half { bits & (u32::MAX << SHORT) } else { bits }
                }
            });
            let weights = square_weights(UNIT, random() % UNIT, random() % UNIT);
            let sum = blend(numbers, &texels, &weights);
            assert_eq!(blend_square(numbers, &texels, &weights), sum, "{numbers:?} {texels:x?} {weights:?}");
        }
    }

    #[test]
    fn all_weight_is_given() {
        for weight in [1, 100, 255, 256] {
            for (x, y) in (0..=256).flat_map(|x| [(x, 0), (x, 77), (x, 128), (x, 255)]) {
                assert_eq!(square_weights(weight, x, y).iter().sum::<u32>(), weight);
            }
        }
    }

    #[test]
    fn sums_of_whole_numbers() {
        // Recorded: between 60 and 90 of 255 at three quarters; -128 counts for more than -127 as long as it is not alone.
        assert_eq!(f32::from_bits(blend(Numbers::Unsigned8, &[60, 90, 0, 0], &[64, 192, 0, 0])), 0.323_537_04);
        let signed = |texels: [i32; 2], weights: [u32; 2]| {
            (f32::from_bits(blend(Numbers::Signed8, &four_of(texels.map(|texel| texel as u32)), &four_of(weights)))
                * 32767.0)
                .round()
        };
        assert_eq!(signed([1, -128], [34, 222]), -28605.0);
        assert_eq!(signed([-127, 73], [220, 36]), -25511.0);
        assert_eq!(signed([-88, -111], [186, 70]), -24327.0);
        assert_eq!(signed([-128, 0], [256, 0]), -32767.0);
        let wide = blend(Numbers::Signed16, &four_of([-32768i32 as u32, 0]), &four_of([128, 128]));
        assert_eq!(f32::from_bits(wide), -16384.0 / 32767.0);
    }

    #[test]
    fn sums_of_colours() {
        let sum = |colours: [u8; 4], weights: [u32; 4]| {
            f32::from_bits(blend(Numbers::Srgb, &colours.map(srgb_term), &weights))
        };
        // Recorded: what lies 8 bits below the first of the largest is cut.
        assert_eq!(sum([149, 60, 0, 0], [128, 128, 0, 0]), 0.172_851_56);
        assert_eq!(sum([28, 149, 0, 0], [159, 97, 0, 0]), 0.120_056_15);
        // 48, 67 and 254 are put in line as if they had one more.
        assert_eq!(sum([47, 48, 0, 0], [208, 48, 0, 0]), 0.028_549_194);
        assert_eq!(sum([88, 254, 0, 0], [120, 136, 0, 0]), 0.571_289_06);
        assert_eq!(sum([38, 48, 33, 67], [31, 116, 23, 86]), 0.035_797_12);
        // What has no weight counts for nothing.
        assert_eq!(sum([47, 48, 254, 254], [256, 0, 0, 0]), from_srgb(47));
        assert_eq!(sum([0; 4], [64; 4]).to_bits(), 0);
    }

    #[test]
    fn means_of_whole_numbers() {
        // Recorded.
        let mean = |bits, signed, texels: [u32; 4], weights: [u32; 4]| {
            blend(Numbers::Whole { bits, signed }, &texels, &weights)
        };
        assert_eq!(mean(8, false, [38, 48, 33, 67], [31, 116, 23, 86]), 52);
        assert_eq!(mean(32, false, [0x6800_717d, 0x2045_615f, 0, 0], [108, 148, 0, 0]), 0x3e88_4c2b);
        let negative = |size: u32| size.wrapping_neg();
        assert_eq!(mean(32, true, [negative(0xe47_81b2), 0x65da_b02b, 0, 0], [172, 84, 0, 0]), 0x17d3_b6aa);
        assert_eq!(mean(32, true, [negative(0x5dd1_bc09), negative(0x622e_a7e0), 0, 0], [184, 72, 0, 0]), 0xa0f4_21a2);
        // Halves go up, of what is cut none counts, and nothing is lost at the ends.
        assert_eq!([8, 16, 32].map(|bits| mean(bits, true, [3, 4, 0, 0], [128, 128, 0, 0])), [4, 4, 3]);
        assert_eq!(
            [8, 16, 32].map(|bits| mean(bits, true, [negative(3), negative(4), 0, 0], [128, 128, 0, 0])),
            [3, 3, 4].map(negative)
        );
        assert_eq!(mean(32, false, [u32::MAX; 4], [64; 4]), u32::MAX);
        assert_eq!(mean(8, true, [negative(128); 4], [64; 4]), negative(128));
        let eight = blend(Numbers::Whole { bits: 32, signed: true }, &[1 << 31; 8], &[32; 8]);
        assert_eq!(eight, 1 << 31);
    }

    #[test]
    fn sums_of_floats() {
        let float = |texels: [f32; 2], weights: [u32; 2]| {
            f32::from_bits(blend(Numbers::Float, &four_of(texels.map(f32::to_bits)), &four_of(weights)))
        };
        // Recorded: what lies 27 bits below the largest is cut, and halves go away from 0.
        assert_eq!(float([-1.395_705_7, -0.008_856_99], [4, 252]), -0.030_526_5);
        assert_eq!(float([f32::INFINITY, 1.0], [256, 0]), f32::INFINITY);
        assert_eq!(float([3e38, -3e38], [128, 128]).to_bits(), 0);
        assert_eq!(float([-1e-40, 1.0], [256, 0]).to_bits(), 1 << 31);
        assert_eq!(float([f32::INFINITY, f32::NEG_INFINITY], [128, 128]).to_bits(), 0x7fff_ffff);
        let half = |texels: [f32; 2], weights: [u32; 2]| {
            blend(Numbers::Half, &four_of(texels.map(f32::to_bits)), &four_of(weights))
        };
        assert_eq!(half([f32::NAN, 1.0], [128, 128]), 0x7fff_e000);
        // 1.208 and 1.336 as halves: their mean lies between two halves, and the larger one is it.
        assert_eq!(f32::from_bits(half([1.208_007_8, 1.335_937_5], [128, 128])), 1.272_460_9);
    }
}
