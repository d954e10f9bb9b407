//! The same for sixteen lanes at once, for axes without a border and without offsets: what [`Axis`] and [`blend`](super::blend) say of one.

use super::axis::{Axis, Outside, step_bits};
use super::channel::{Numbers, from_srgb};
use super::filter::{F32_FRACTION, F64_FRACTION, KEPT, SHORT, UNIT, WEIGHT_BITS, blend_square};
use super::vector::SamplingVectors;

/// The texels that lanes read between, along one dimension.
#[derive(Clone, Copy, Debug)]
pub struct Between<W> {
    /// Both.
    pub pair: [W; 2],
    /// Of the second, in 256ths: `.f32`.
    pub weight: W,
}

/// The weights of four texels of each lane, x first.
#[derive(Clone, Copy, Debug)]
pub struct Weights<V: SamplingVectors> {
    /// In 256ths: `.f32`.
    parts: [V::Words; 4],
    /// Of all.
    shares: [V::Doubles; 4],
}

/// Of each of four. The library's `map` of an array may stay a call, and with it the processor's instructions in what is mapped.
macro_rules! four {
    ($from:expr, $each:ident => $value:expr) => {{
        let [a, b, c, d] = $from;
        let a = {
            let $each = a;
            $value
        };
        let b = {
            let $each = b;
            $value
        };
        let c = {
            let $each = c;
            $value
        };
        let d = {
            let $each = d;
            $value
        };
        [a, b, c, d]
    }};
}

/// The same `.f32` sixteen times.
#[inline(always)]
fn float<V: SamplingVectors>(v: V, value: f32) -> V::Words {
    v.splat(value.to_bits())
}

/// A difference of `.f32`.
#[inline(always)]
fn less<V: SamplingVectors>(v: V, a: V::Words, b: V::Words) -> V::Words {
    v.add_floats(a, v.xor(b, float(v, -0.0)))
}

/// Positions are found in twice as many parts of a texel as weights have, cut downward.
const POSITION_BITS: u32 = WEIGHT_BITS + 1;

/// Where coordinates lie in units of 2^-[`POSITION_BITS`] texels, cut downward: in the first period of an axis that has one, and else between its ends.
#[inline(always)]
fn position<V: SamplingVectors>(v: V, axis: &Axis, coordinates: V::Words) -> V::Words {
    if !axis.normalized {
        let inside = v.smaller(v.larger(coordinates, float(v, 0.0)), float(v, axis.size as f32));
        return v.truncate(v.mul(inside, float(v, (1 << POSITION_BITS) as f32)));
    }
    let bits = step_bits(axis.size);
    let steps = (1u32 << bits) as f32;
    let step = v.floor(v.mul(coordinates, float(v, steps)));
    let step = match axis.outside() {
        // Where all beyond is the last texel, nothing is lost by going no further.
        Outside::Clamp | Outside::Border => v.smaller(v.larger(step, float(v, 0.0)), float(v, steps)),
        periodic => {
            // Powers of 2: all of this is exact. NaN is what becomes of infinities, too.
            let period = if periodic == Outside::Mirror { 2.0 * steps } else { steps };
            let periods = v.floor(v.mul(step, float(v, 1.0 / period)));
            v.larger(v.add_exact_product(periods, float(v, -period), step), float(v, 0.0))
        }
    };
    // A step has up to 24 bits, and a size 18: the product is found in two parts.
    let step = v.truncate(step);
    let below = bits - POSITION_BITS;
    let size = v.splat(axis.size);
    let low = v.mul_words(v.and(step, v.splat((1 << below) - 1)), size);
    v.add(v.mul_words(v.shr_by(step, below), size), v.shr_by(low, below))
}

/// The texels of indices, of which none lies more than one before the first period or behind it.
#[inline(always)]
fn inside<V: SamplingVectors>(v: V, axis: &Axis, index: V::Words) -> V::Words {
    let (first, last) = (v.splat(0), v.splat(axis.size - 1));
    match axis.outside() {
        Outside::Wrap => {
            let index = v.if_greater(first, index, last, index);
            v.if_greater(index, last, first, index)
        }
        Outside::Mirror => v.max(v.if_greater(index, last, v.sub(v.splat(2 * axis.size - 1), index), index), first),
        Outside::Clamp | Outside::Border => v.min(v.max(index, first), last),
    }
}

/// [`Axis::between`] of sixteen.
#[inline(always)]
pub fn between<V: SamplingVectors>(v: V, axis: &Axis, coordinates: V::Words) -> Between<V::Words> {
    // From the centre of the first texel, in 256ths, halves up.
    let fixed = v.sar::<1>(v.sub(position(v, axis, coordinates), v.splat(UNIT - 1)));
    let first = v.sar::<WEIGHT_BITS>(fixed);
    let weight = v.to_floats(v.and(fixed, v.splat(UNIT - 1)));
    let pair = [inside(v, axis, first), inside(v, axis, v.add(first, v.splat(1)))];
    let weight = match axis.outside() {
        Outside::Clamp | Outside::Border => v.if_greater(pair[1], pair[0], weight, v.splat(0)),
        _ => weight,
    };
    Between { pair, weight }
}

/// [`Axis::nearest`] of sixteen.
#[inline(always)]
pub fn nearest<V: SamplingVectors>(v: V, axis: &Axis, coordinates: V::Words) -> V::Words {
    inside(v, axis, v.sar::<POSITION_BITS>(position(v, axis, coordinates)))
}

impl<V: SamplingVectors> Weights<V> {
    /// [`square_weights`](super::square_weights) of all the weight there is.
    #[inline(always)]
    pub fn new(v: V, x: V::Words, y: V::Words) -> Weights<V> {
        // Whole numbers of less than 24 bits, in parts of powers of 2: exact.
        let part = float(v, 1.0 / UNIT as f32);
        let second = v.mul(y, part);
        let (left, right) = (less(v, float(v, UNIT as f32), x), x);
        let upper = less(v, float(v, 1.0), second);
        let first = v.floor(v.add_exact_product(left, upper, float(v, 0.5)));
        let last = v.floor(v.add_exact_product(right, second, float(v, 0.5)));
        let parts = [first, less(v, right, last), less(v, left, first), last];
        let shares = four!(parts, weight => v.doubles(v.mul(weight, part)));
        Weights { parts, shares }
    }

    /// [`blend`](super::blend) of four texels, of which the channel lies `shift` bits up in these words. `srgb` says of [`Numbers::Half`] that they are 8 bits that stand for halves.
    #[inline(always)]
    pub fn blend(&self, v: V, numbers: Numbers, srgb: bool, corners: [V::Words; 4], shift: u32) -> V::Words {
        match numbers {
            Numbers::Float => self.of_floats::<0>(v, numbers, corners),
            Numbers::Half if srgb => {
                let terms = four!(corners, words => {
                    let mut words = v.store(words);
                    for word in &mut words {
                        *word = from_srgb((*word >> shift) as u8).to_bits();
                    }
                    v.load(&words)
                });
                self.of_floats::<SHORT>(v, numbers, terms)
            }
            Numbers::Half => {
                let terms = four!(corners, words => v.widen(v.shr_by(words, shift))[0]);
                self.of_floats::<SHORT>(v, numbers, terms)
            }
            Numbers::Unsigned8 => {
                let terms = four!(corners, words => v.and(v.shr_by(words, shift), v.splat(0xff)));
                self.of_whole(v, numbers, terms)
            }
            Numbers::Unsigned16 => {
                let terms = four!(corners, words => v.and(v.shr_by(words, shift), v.splat(0xffff)));
                self.of_whole(v, numbers, terms)
            }
            Numbers::Signed8 => {
                let terms = four!(corners, words => v.sar::<24>(v.shl::<24>(v.shr_by(words, shift))));
                self.of_whole(v, numbers, terms)
            }
            Numbers::Signed16 => {
                let least = v.splat(-32767i32 as u32);
                let terms = four!(corners, words => v.max(v.sar::<16>(v.shl::<16>(v.shr_by(words, shift))), least));
                self.of_whole(v, numbers, terms)
            }
        }
    }

    /// Of whole numbers: all sums have at most 24 bits, so that floats are as good, and processors multiply them faster.
    #[inline(always)]
    fn of_whole(&self, v: V, numbers: Numbers, terms: [V::Words; 4]) -> V::Words {
        let [a, b, c, d] = four!(terms, term => v.to_floats(term));
        let part = 1.0 / UNIT as f32;
        let sum = v.mul(a, self.parts[0]);
        let sum = v.add_exact_product(b, self.parts[1], sum);
        let sum = v.add_exact_product(c, self.parts[2], sum);
        let sum = v.add_exact_product(d, self.parts[3], sum);
        let stretch = match numbers {
            // Channels of 8 bits are stretched to 16.
            Numbers::Unsigned8 => 257.0,
            Numbers::Signed8 => 258.0,
            _ => 1.0,
        };
        let stretched = v.add_exact_product(sum, float(v, stretch * part), float(v, 0.5));
        match numbers {
            Numbers::Signed8 => {
                let more = v.mul(v.floor(v.mul(sum, float(v, 1.0 / 4096.0))), float(v, 32.0 * part));
                let stretched = v.floor(v.add_floats(stretched, more));
                v.fractions::<32767>(v.larger(stretched, float(v, -32767.0)))
            }
            Numbers::Signed16 => v.fractions::<32767>(v.floor(stretched)),
            _ => v.fractions::<65535>(v.floor(stretched)),
        }
    }

    /// Of floats: as they are in pictures, none is much larger than its neighbours, and then there is less to do.
    #[inline(always)]
    fn of_floats<const LESS: u32>(&self, v: V, numbers: Numbers, terms: [V::Words; 4]) -> V::Words {
        if !are_plainly_near(v, terms) && !are_plain(v, terms) {
            // Copies: what is lent lies in memory from the first.
            let (terms, parts) = (four!(terms, term => v.store(term)), four!(self.parts, part => v.store(part)));
            return v.load(&carefully(v, numbers, &terms, &parts));
        }
        // Products of 24 bits and 9, whose sum has six more: exact.
        match LESS {
            0 => v.exact_sums::<{ F64_FRACTION - F32_FRACTION }>(terms, &self.shares),
            _ => v.exact_sums::<{ F64_FRACTION - F32_FRACTION + SHORT }>(terms, &self.shares),
        }
    }
}

/// Sums of any floats, with their weights. A call: beside the code of the others it would take registers from them.
#[inline(never)]
fn carefully<V: SamplingVectors>(v: V, numbers: Numbers, terms: &[[u32; 16]; 4], parts: &[[u32; 16]; 4]) -> [u32; 16] {
    let mut out = [0; 16];
    v.run(
        #[inline(always)]
        || {
            for (lane, out) in out.iter_mut().enumerate() {
                let terms = four!(terms, term => term[lane]);
                let weights = four!(parts, part => f32::from_bits(part[lane]) as u32);
                *out = blend_square(numbers, &terms, &weights);
            }
        },
    );
    out
}

/// Of exponents: as near as it may be to the largest of all numbers, from where differences have room.
const NEAR_MOST: u32 = (0xfe - KEPT) << F32_FRACTION;

/// Of numbers of this exponent, what is left of differences is no denormal.
const LEAST: u32 = (1 + F32_FRACTION + WEIGHT_BITS) << F32_FRACTION;

/// What [`are_plain`] says, found sooner: of terms without a sign, as pictures have them, in which the order of floats is that of their bits.
#[inline(always)]
fn are_plainly_near<V: SamplingVectors>(v: V, [a, b, c, d]: [V::Words; 4]) -> bool {
    let one = v.splat(1);
    let most = v.most(v.most(a, b), v.most(c, d));
    // Before 0 comes the largest number.
    let least = v.least(v.least(v.sub(a, one), v.sub(b, one)), v.least(v.sub(c, one), v.sub(d, one)));
    let least = v.least(least, v.splat(NEAR_MOST));
    // What has a sign says no.
    let near = v.sub(v.splat(KEPT << F32_FRACTION), v.sub(most, least));
    let finite = v.sub(v.splat((0xff << F32_FRACTION) - 1), most);
    let large = v.sub(least, v.splat(LEAST));
    let wrong = v.or(v.or(near, finite), v.or(large, most));
    !v.any(v.and(wrong, v.splat(1 << 31)))
}

/// Whether four terms of floats are so near to each other in all lanes that [`blend`](super::blend) cuts none, and none is special, nor what comes out. 0 without a sign
/// is near to all.
#[inline(always)]
fn are_plain<V: SamplingVectors>(v: V, terms: [V::Words; 4]) -> bool {
    const EXPONENT: u32 = 0xff << F32_FRACTION;
    let exponent = v.splat(EXPONENT);
    let (mut most, mut least, mut before) = (v.splat(0), v.splat(NEAR_MOST), v.splat(0));
    for term in terms {
        // Before 0 comes a number with the largest exponent, and before the negative one the largest of all.
        let one_less = v.sub(term, v.splat(1));
        most = v.max(most, v.and(term, exponent));
        least = v.min(least, v.and(one_less, exponent));
        before = v.max(before, one_less);
    }
    // What has a sign says no.
    let near = v.sub(v.splat(KEPT << F32_FRACTION), v.sub(most, least));
    let finite = v.sub(v.splat(EXPONENT - 1), most);
    let large = v.sub(least, v.splat(LEAST));
    let unsigned = v.sub(v.splat(i32::MAX as u32 - 1), before);
    let wrong = v.or(v.or(near, finite), v.or(large, unsigned));
    !v.any(v.and(wrong, v.splat(1 << 31)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{blend, square_weights};
    use super::*;
    use crate::matrix::{Arrays, Vectors};

    /// Of all processors that this one is, the same.
    macro_rules! for_each {
        ($check:ident($($with:expr),*)) => {
            $check(Arrays, $($with),*)?;
            #[cfg(target_arch = "x86_64")]
            {
                pulp::x86::V3::try_new().map_or(Ok(()), |v| $check(v, $($with),*))?;
                pulp::x86::V4::try_new().map_or(Ok(()), |v| $check(v, $($with),*))?;
            }
        };
    }

    fn sampled_as_one_by_one<V: SamplingVectors>(v: V, axis: Axis, at: &[f32; 16]) -> Result<(), TestCaseError> {
        let coordinates = v.load(&at.map(f32::to_bits));
        let Between { pair, weight } = between(v, &axis, coordinates);
        let (pair, weight) = (pair.map(|texels| v.store(texels)), v.store(weight).map(f32::from_bits));
        let texels = v.store(nearest(v, &axis, coordinates));
        for (lane, at) in at.iter().enumerate() {
            let (expected, share) = axis.between(*at, 0);
            let got = (pair.map(|texels| Some(texels[lane])), weight[lane] as u32);
            prop_assert_eq!(got, (expected, share), "{:?} {}", axis, at);
            prop_assert_eq!(Some(texels[lane]), axis.nearest(*at, 0), "{:?} {}", axis, at);
        }
        Ok(())
    }

    fn coordinate() -> impl Strategy<Value = f32> {
        prop_oneof![
            6 => -2.0..3.0f32,
            2 => -300.0..3000.0f32,
            2 => (-3000..6000i32).prop_map(|at| at as f32 / 1024.0),
            1 => any::<f32>(),
            1 => prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, 1e20, -1e20, f32::MAX]),
        ]
    }

    fn axis() -> impl Strategy<Value = Axis> {
        let modes = vec![
            (Outside::Clamp, false),
            (Outside::Wrap, false),
            (Outside::Clamp, true),
            (Outside::Wrap, true),
            (Outside::Mirror, true),
        ];
        let sizes = prop_oneof![2 => 1..20u32, 2 => 20..5000u32, 1 => 5000..131_073u32];
        (sizes, prop::sample::select(modes)).prop_map(|(size, (outside, normalized))| Axis {
            size,
            outside,
            normalized,
        })
    }

    fn numbers() -> impl Strategy<Value = Numbers> {
        use Numbers::{Float, Half, Signed8, Signed16, Unsigned8, Unsigned16};
        prop::sample::select(vec![Unsigned8, Unsigned16, Signed8, Signed16, Half, Float])
    }

    /// What four texels of a lane may be: of any bits, around some number, or mostly nothing.
    fn words() -> impl Strategy<Value = [u32; 4]> {
        let float = (0..255u32, any::<[u32; 4]>())
            .prop_map(|(around, bits)| bits.map(|bits| bits & 0x807f_ffff | ((around + bits % 5).min(255)) << 23));
        let zero = prop::sample::select(vec![0u32, 0, 0, 1 << 31, 0x3f80_0000, 0x3c00]);
        prop_oneof![any::<[u32; 4]>(), float, prop::array::uniform4(zero)]
    }

    /// The words of four texels, and the weights along both axes.
    type Lane = ([u32; 4], u32, u32);

    fn blended_as_one_by_one<V: SamplingVectors>(
        v: V,
        numbers: Numbers,
        lanes: &[Lane; 16],
        shift: u32,
    ) -> Result<(), TestCaseError> {
        let row = |of: &dyn Fn(&Lane) -> u32| v.load(&lanes.each_ref().map(of));
        let weights = Weights::new(v, row(&|lane| (lane.1 as f32).to_bits()), row(&|lane| (lane.2 as f32).to_bits()));
        let corners = [0, 1, 2, 3].map(|corner| row(&|lane| lane.0[corner]));
        let shift = match numbers {
            Numbers::Float => 0,
            Numbers::Unsigned8 | Numbers::Signed8 => shift * 8,
            _ => shift / 2 * 16,
        };
        let got = v.store(weights.blend(v, numbers, false, corners, shift));
        for (lane, (words, x, y)) in lanes.iter().enumerate() {
            let terms = words.map(|word| match numbers {
                Numbers::Float => word,
                Numbers::Half => crate::format::widen::<crate::format::F16>(word >> shift & 0xffff).to_bits(),
                Numbers::Unsigned8 => word >> shift & 0xff,
                Numbers::Unsigned16 => word >> shift & 0xffff,
                Numbers::Signed8 => (word >> shift) as i8 as u32,
                Numbers::Signed16 => (word >> shift) as i16 as u32,
            });
            let weights = square_weights(UNIT, *x, *y);
            prop_assert_eq!(got[lane], blend(numbers, &terms, &weights), "{:?} {:x?} {:?}", numbers, terms, weights);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn blocks_are_sampled_as_lanes_are(axis in axis(), at in prop::array::uniform16(coordinate())) {
            for_each!(sampled_as_one_by_one(axis, &at));
        }

        #[test]
        fn blocks_are_blended_as_lanes_are(
            numbers in numbers(),
            near in words(),
            lanes in prop::array::uniform16((words(), 0..UNIT, 0..UNIT)),
            all_near in any::<bool>(),
            shift in 0..4u32,
        ) {
            let lanes = lanes.map(|(words, x, y)| (if all_near { near } else { words }, x, y));
            for_each!(blended_as_one_by_one(numbers, &lanes, shift));
        }
    }

    #[test]
    fn plain_floats() {
        let v = Arrays;
        let plain = |terms: [f32; 4]| {
            let terms = terms.map(|term| v.splat(term.to_bits()));
            let plain = are_plain(v, terms);
            assert!(plain || !are_plainly_near(v, terms));
            plain
        };
        assert!(plain([1.0, 1.5, 0.25, -3.0]) && plain([0.0; 4]) && plain([0.0, 0.0, 1e-20, 0.0]) && plain([-1.0; 4]));
        assert!(
            !plain([1.0, 1.0, 1.0, -0.0]) && !plain([1.0, 1.0, 1.0, f32::INFINITY]) && !plain([1.0, 40.0, 1.0, 1.0])
        );
        assert!(!plain([1e-40; 4]) && !plain([1e-30; 4]) && !plain([f32::NAN; 4]));
    }
}
