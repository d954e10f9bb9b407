//! The same for as many lanes at once as a processor has, for axes without a border and without offsets: what [`Axis`] and [`blend`](super::blend) say of one.

use super::axis::{Axis, Outside, step_bits};
use super::channel::{Numbers, SRGB_BITS, SRGB_LINE, srgb_term};
use super::filter::{F32_FRACTION, F64_FRACTION, KEPT, SHORT, UNIT, WEIGHT_BITS, blend_square};
use super::vector::SamplingVectors;

/// An axis as lanes are placed along it: what follows from its size and mode, found once.
#[derive(Clone, Copy, Debug)]
pub struct Ruler {
    way: Way,
    /// The last texel.
    last: u32,
    /// Where coordinates of [`Way::Ends`] are cut: `.f32`.
    end: f32,
    /// From a coordinate, cut or in its period, to units of 2^-[`POSITION_BITS`] texels, or first to steps, which are then told apart.
    units: f32,
    /// Of steps of a normalised coordinate.
    steps: Option<Steps>,
}

/// What becomes of coordinates outside.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// They are cut.
    Ends,
    /// The axis begins again.
    Again,
    /// It goes back, and begins again. With it, the steps of its length.
    Back(f32),
}

/// How steps become units, where they do not by a power of 2.
#[derive(Clone, Copy, Debug)]
struct Steps {
    size: u32,
    /// Steps are units by the size, less this power of 2.
    below: u32,
}

/// Coordinates that are normal numbers, or 0.
#[inline(always)]
fn normal<V: SamplingVectors>(v: V, coordinates: V::Words) -> V::Words {
    let size = v.and(coordinates, v.splat(i32::MAX as u32));
    v.if_greater(size, v.splat(f32::MIN_POSITIVE.to_bits() - 1), coordinates, v.splat(0))
}

impl Ruler {
    /// Of an axis without a border.
    pub fn new(axis: &Axis) -> Ruler {
        let &Axis { size, normalized, .. } = axis;
        let bits = step_bits(size);
        let (steps, texels) = ((1u32 << bits) as f32, (1 << POSITION_BITS) as f32);
        let way = match axis.outside() {
            Outside::Clamp | Outside::Border => Way::Ends,
            Outside::Wrap => Way::Again,
            Outside::Mirror => Way::Back(steps),
        };
        let below = bits - POSITION_BITS;
        // Cut downward to steps, and again to units, is cut downward at once where a unit is a number of steps.
        let plain = !normalized || size.is_power_of_two() && size <= 1 << below;
        let (end, units) = match (normalized, plain) {
            (false, _) => (size as f32, texels),
            (true, true) => (1.0, size as f32 * texels),
            (true, false) => (1.0, steps),
        };
        // A period is two lengths.
        let units = if matches!(way, Way::Back(_)) { 2.0 * units } else { units };
        Ruler { way, last: size - 1, end, units, steps: (!plain).then_some(Steps { size, below }) }
    }

    /// Where coordinates lie in units of 2^-[`POSITION_BITS`] texels, cut downward: in the first period of an axis that has one, and else between its ends.
    #[inline(always)]
    fn position<V: SamplingVectors>(&self, v: V, coordinates: V::Words) -> V::Words {
        let inside = match self.way {
            // Of NaN and before the beginning there is nothing above 0.
            Way::Ends => v.smaller(float(v, self.end), coordinates),
            Way::Again => v.fraction(normal(v, coordinates)),
            Way::Back(steps) => {
                // Halves of the smallest numbers would be lost.
                let step = v.floor(v.mul(normal(v, coordinates), float(v, steps)));
                v.fraction(v.mul(step, float(v, 0.5 / steps)))
            }
        };
        // By powers of 2.
        let units = v.truncate(v.mul(inside, float(v, self.units)));
        let units = if self.way == Way::Ends { v.max(units, v.splat(0)) } else { units };
        let Some(Steps { size, below }) = self.steps else { return units };
        // A step has up to 24 bits, and a size 18: the product is found in two parts.
        let size = v.splat(size);
        let low = v.mul_words(v.and(units, v.splat((1 << below) - 1)), size);
        v.add(v.mul_words(v.shr_by(units, below), size), v.shr_by(low, below))
    }

    /// The texels of these indices in the first period, of which none lies further behind it.
    #[inline(always)]
    fn inside<V: SamplingVectors>(&self, v: V, index: V::Words) -> V::Words {
        let last = v.splat(self.last);
        match self.way {
            Way::Ends => v.min(index, last),
            Way::Again => v.if_greater(index, last, v.splat(0), index),
            // The first texel is the last one of the way back, too.
            Way::Back(_) => {
                v.max(v.if_greater(index, last, v.sub(v.splat(2 * self.last + 1), index), index), v.splat(0))
            }
        }
    }

    /// [`Axis::between`] of all lanes.
    #[inline(always)]
    pub fn between<V: SamplingVectors>(&self, v: V, coordinates: V::Words) -> Between<V::Words> {
        // From the centre of the texel before the first, halves up: 256ths are one bit further up.
        let up = v.add(self.position(v, coordinates), v.splat(UNIT + 1));
        let second = v.shr::<POSITION_BITS>(up);
        let first = v.sub(second, v.splat(1));
        // The fraction of a number from 1 to 2.
        let fraction =
            v.and(v.shl::<{ F32_FRACTION - POSITION_BITS }>(up), v.splat((UNIT - 1) << (F32_FRACTION - WEIGHT_BITS)));
        let weight = v.sub_floats(v.or(fraction, float(v, 1.0)), float(v, 1.0));
        let first = match self.way {
            Way::Ends => v.max(first, v.splat(0)),
            // Before the first is the largest number.
            Way::Again => v.least(first, v.splat(self.last)),
            Way::Back(_) => self.inside(v, first),
        };
        let second = self.inside(v, second);
        Between { pair: [first, second], weight }
    }

    /// [`Axis::nearest`] of all lanes.
    #[inline(always)]
    pub fn nearest<V: SamplingVectors>(&self, v: V, coordinates: V::Words) -> V::Words {
        self.inside(v, v.shr::<POSITION_BITS>(self.position(v, coordinates)))
    }
}

/// The texels that lanes read between, along one dimension.
#[derive(Clone, Copy, Debug)]
pub struct Between<W> {
    /// Both.
    pub pair: [W; 2],
    /// Of the second, a whole number of 256ths: `.f32`. Where both are one it may be any: with what [`Weights`] makes of it that texel has all the weight there is along this dimension.
    pub weight: W,
}

/// The weights of four texels of each lane, x first: whole numbers of 256ths, `.f32`.
#[derive(Clone, Copy, Debug)]
pub struct Weights<V: SamplingVectors>([V::Words; 4]);

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

/// The same `.f32` in all lanes.
#[inline(always)]
fn float<V: SamplingVectors>(v: V, value: f32) -> V::Words {
    v.splat(value.to_bits())
}

/// Positions are found in twice as many parts of a texel as weights have, cut downward.
const POSITION_BITS: u32 = WEIGHT_BITS + 1;

impl<V: SamplingVectors> Weights<V> {
    /// [`square_weights`](super::square_weights) of all the weight there is.
    #[inline(always)]
    pub fn new(v: V, x: V::Words, y: V::Words) -> Weights<V> {
        // Whole numbers of 256ths, and products of them: exact.
        let (one, half) = (float(v, 1.0), float(v, 0.5 / UNIT as f32));
        let (left, right) = (v.sub_floats(one, x), x);
        let (upper, lower) = (v.sub_floats(one, y), y);
        let first = v.floor_parts(v.add_exact_product(left, upper, half));
        let last = v.floor_parts(v.add_exact_product(right, lower, half));
        Weights([first, v.sub_floats(right, last), v.sub_floats(left, first), last])
    }

    /// Products of four and their weights, and what they are added to, where none of this needs rounding.
    #[inline(always)]
    fn sum(&self, v: V, [a, b, c, d]: [V::Words; 4], start: Option<V::Words>) -> V::Words {
        let Weights([first, second, third, last]) = *self;
        let upper = match start {
            Some(start) => v.add_exact_product(a, first, start),
            None => v.mul(a, first),
        };
        // In two parts, of which neither waits for the other.
        let lower = v.add_exact_product(d, last, v.mul(c, third));
        v.add_floats(v.add_exact_product(b, second, upper), lower)
    }
}

/// [`blend`](super::blend) of four texels for each lane of some blocks, of which the channel lies `shift` bits up in these words, which are zeros behind their first `WIDTH` bytes. `known` is what
/// [`terms_of`] says of them.
#[inline(always)]
pub fn blend<V: SamplingVectors, const WIDTH: usize, const B: usize>(
    v: V,
    numbers: Numbers,
    known: Terms,
    weights: &[Weights<V>; B],
    corners: &[[V::Words; 4]; B],
    shift: u32,
) -> [V::Words; B] {
    let mut terms = *corners;
    for terms in &mut terms {
        *terms = four!(*terms, words => match numbers {
            Numbers::Float => words,
            Numbers::Srgb => {
                let mut words = v.store(words);
                for word in words.as_mut() {
                    *word = srgb_term((*word >> shift) as u8);
                }
                v.load(&words)
            }
            Numbers::Half if known != Terms::Any => raised(v, words, shift),
            Numbers::Half => v.widen(v.shr_by(words, shift))[0],
            Numbers::Unsigned8 if WIDTH == 1 => words,
            Numbers::Unsigned8 => v.and(v.shr_by(words, shift), v.splat(0xff)),
            Numbers::Unsigned16 if WIDTH == 2 => words,
            Numbers::Unsigned16 => v.and(v.shr_by(words, shift), v.splat(0xffff)),
            Numbers::Signed8 => v.sar::<24>(v.shl::<24>(v.shr_by(words, shift))),
            Numbers::Whole { bits: 8, signed: false } => v.and(v.shr_by(words, shift), v.splat(0xff)),
            Numbers::Whole { bits: 8, .. } => v.sar::<24>(v.shl::<24>(v.shr_by(words, shift))),
            Numbers::Whole { bits: 16, signed: false } => v.and(v.shr_by(words, shift), v.splat(0xffff)),
            Numbers::Signed16 | Numbers::Whole { bits: 16, .. } => v.sar::<16>(v.shl::<16>(v.shr_by(words, shift))),
            Numbers::Whole { .. } => words,
        });
    }
    if let Numbers::Half | Numbers::Float = numbers {
        return of_floats(v, numbers, known, weights, &terms);
    }
    let mut out = [v.splat(0); B];
    for ((out, weights), terms) in out.iter_mut().zip(weights).zip(terms) {
        *out = match numbers {
            Numbers::Srgb => of_colours(v, weights, terms),
            Numbers::Whole { bits: 32, signed } => mean_of_words(v, signed, weights, terms),
            _ => of_whole(v, numbers, weights, terms),
        };
    }
    out
}

/// Of whole numbers: all sums have at most 24 bits, so that floats are as good, and processors multiply them faster.
#[inline(always)]
fn of_whole<V: SamplingVectors>(v: V, numbers: Numbers, weights: &Weights<V>, terms: [V::Words; 4]) -> V::Words {
    let terms = four!(terms, term => v.to_floats(term));
    let half = float(v, 0.5);
    match numbers {
        // Channels of 8 bits are stretched to 16.
        Numbers::Unsigned8 => {
            let stretched = v.add_exact_product(weights.sum(v, terms, None), float(v, 257.0), half);
            v.fractions::<65535>(v.floor(stretched))
        }
        Numbers::Signed8 => {
            let sum = weights.sum(v, terms, None);
            let stretched = v.add_exact_product(sum, float(v, 258.0), half);
            let more = v.mul(v.floor(v.mul(sum, float(v, 1.0 / 16.0))), float(v, 1.0 / 8.0));
            let stretched = v.floor(v.add_floats(stretched, more));
            v.fractions::<32767>(v.larger(stretched, float(v, -32767.0)))
        }
        // A mean and a half have no more bits than the largest number has.
        Numbers::Whole { .. } => v.truncate(v.floor(weights.sum(v, terms, Some(half)))),
        Numbers::Signed16 => {
            v.fractions::<32767>(v.larger(v.floor(weights.sum(v, terms, Some(half))), float(v, -32767.0)))
        }
        _ => v.fractions::<65535>(v.floor(weights.sum(v, terms, Some(half)))),
    }
}

/// Of whole numbers of 32 bits, in two halves: sums of either have 24 bits, and the high one is a whole number of 256ths.
#[inline(always)]
fn mean_of_words<V: SamplingVectors>(v: V, signed: bool, weights: &Weights<V>, terms: [V::Words; 4]) -> V::Words {
    let high = four!(terms, term => v.to_floats(if signed { v.sar::<16>(term) } else { v.shr::<16>(term) }));
    let low = four!(terms, term => v.to_floats(v.and(term, v.splat(0xffff))));
    let parts = v.truncate(v.mul(weights.sum(v, high, None), float(v, UNIT as f32)));
    v.add(v.shl::<{ 16 - WEIGHT_BITS }>(parts), v.truncate(weights.sum(v, low, None)))
}

/// The exponent by which others are put in line with a term of sRGB, if it has weight.
#[inline(always)]
fn line_of<V: SamplingVectors>(v: V, term: V::Words, weight: V::Words) -> V::Words {
    v.if_greater(weight, v.splat(0), v.shr::<SRGB_LINE>(term), v.splat(0))
}

/// Of sRGB: what is left of terms has 8 bits, so that sums are exact.
#[inline(always)]
fn of_colours<V: SamplingVectors>(v: V, weights: &Weights<V>, terms: [V::Words; 4]) -> V::Words {
    let Weights([first, second, third, last]) = *weights;
    let [a, b, c, d] = terms;
    let line =
        v.max(v.max(line_of(v, a, first), line_of(v, b, second)), v.max(line_of(v, c, third), line_of(v, d, last)));
    let cut = four!(terms, term => {
        let lost = v.sub(line, v.and(v.shr::<SRGB_BITS>(term), v.splat(0xff)));
        // What has no weight may lie above the line: so much is lost of it as well.
        v.to_floats(v.shr_each(v.and(term, v.splat((1 << SRGB_BITS) - 1)), v.least(lost, v.splat(SRGB_BITS))))
    });
    // The power of 2 of the last bit on the line; where all is 0, any.
    let unit = v.shl::<F32_FRACTION>(v.sub(v.max(line, v.splat(SRGB_BITS)), v.splat(SRGB_BITS - 1)));
    v.mul(of_halves(v, weights, cut), unit)
}

/// How near the terms of sums are to each other. As floats are in pictures, none is much larger than its neighbours, and then there is less to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// So near that nothing is cut, without a sign, and neither are they special nor is what comes out.
    Near,
    /// The same, but that some are 0.
    NearOrZero,
    /// Any.
    Any,
}

/// What is known of the terms of all channels of these words, four of each of `N` words of texels. Asked once for all channels: what is computed behind a question waits for the answer.
#[inline(always)]
pub fn terms_of<V: SamplingVectors, const N: usize, const B: usize>(
    v: V,
    numbers: Numbers,
    corners: &[[[V::Words; 4]; N]; B],
) -> Terms {
    // Of all of them, by the bits that say no.
    macro_rules! are {
        ($wrong:expr, $signs:expr) => {{
            let mut wrong = v.splat(0);
            for words in corners {
                for four in words {
                    wrong = v.or(wrong, $wrong(v, *four));
                }
            }
            !v.any_of(wrong, $signs)
        }};
    }
    match numbers {
        Numbers::Float if are!(not_near, SIGN) => Terms::Near,
        Numbers::Float if are!(not_near_or_zero, SIGN) => Terms::NearOrZero,
        Numbers::Half if are!(halves_not_near, HALF_SIGNS) => Terms::NearOrZero,
        Numbers::Float | Numbers::Half => Terms::Any,
        _ => Terms::NearOrZero,
    }
}

/// Of floats.
#[inline(always)]
fn of_floats<V: SamplingVectors, const B: usize>(
    v: V,
    numbers: Numbers,
    known: Terms,
    weights: &[Weights<V>; B],
    terms: &[[V::Words; 4]; B],
) -> [V::Words; B] {
    let mut out = [v.splat(0); B];
    for ((out, weights), terms) in out.iter_mut().zip(weights).zip(terms) {
        *out = match numbers {
            _ if known == Terms::Any => {
                // Copies: what is lent lies in memory from the first.
                let (terms, parts) = (four!(*terms, term => v.store(term)), four!(weights.0, part => v.store(part)));
                v.load(&of_any(v, numbers, &terms, &parts))
            }
            Numbers::Half => {
                of_halves(v, &Weights(four!(weights.0, weight => v.mul(weight, float(v, RAISED)))), *terms)
            }
            _ => of_near(v, weights, *terms, known),
        };
    }
    out
}

/// How much larger a half is than an `.f32` with its exponent: what is left of it where its bits are moved to their places.
const RAISED: f32 = (1u128 << 112) as f32;

/// Halves that lie `shift` bits up (0 or 16) as `.f32`, too small by [`RAISED`]. Not of infinities and NaN, and of what has a sign.
#[inline(always)]
fn raised<V: SamplingVectors>(v: V, words: V::Words, shift: u32) -> V::Words {
    match shift {
        0 => v.shl::<SHORT>(v.and(words, v.splat(0xffff))),
        _ => v.and(v.shr::<{ 16 - SHORT }>(words), v.splat(0xffff << SHORT)),
    }
}

/// Of halves that are plain. Products of 11 bits and 9, whose sum has four more: exact. Halves of the last place are cut off away from 0.
#[inline(always)]
fn of_halves<V: SamplingVectors>(v: V, weights: &Weights<V>, terms: [V::Words; 4]) -> V::Words {
    let half_up = v.add(weights.sum(v, terms, None), v.splat(1 << (SHORT - 1)));
    v.and(half_up, v.splat(u32::MAX << SHORT))
}

/// Of floats that are near. Each is taken apart, into 12 bits and 12: sums of either half have 8 bits more because of the weights, and 4 because of exponents, and are exact, and the low
/// one is smaller than the high one.
#[inline(always)]
fn of_near<V: SamplingVectors>(v: V, weights: &Weights<V>, terms: [V::Words; 4], known: Terms) -> V::Words {
    let high = four!(terms, term => v.and(term, v.splat(u32::MAX << (F32_FRACTION.div_ceil(2)))));
    let [a, b, c, d] = terms;
    let low = [v.sub_floats(a, high[0]), v.sub_floats(b, high[1]), v.sub_floats(c, high[2]), v.sub_floats(d, high[3])];
    let high = weights.sum(v, high, None);
    if known == Terms::Near {
        // The mean is not less than the least, so that its last place has more than that of the low sum, which begins with half a unit of it: halves of the result's go up, and nothing else
        // changes. Exponents that are 3 apart leave room for that.
        let least = v.and(ends(v, terms)[0], v.splat(EXPONENT));
        let half_unit = v.sub(least, v.splat((F32_FRACTION + WEIGHT_BITS + 1) << F32_FRACTION));
        return v.add_floats(high, weights.sum(v, low, Some(half_unit)));
    }
    let low = weights.sum(v, low, None);
    let sum = v.add_floats(high, low);
    // Exact, and a number of up to 2^11 units, of which so many are half of the sum's last place. A half that was cut off then makes up one, and nothing else does.
    let lost = v.larger(v.sub_floats(low, v.sub_floats(sum, high)), float(v, 0.0));
    v.add_exact_product(lost, float(v, 1.0 + 1.0 / 4096.0), sum)
}

/// Bits where a mean of halves is not 0 and smaller than they are normal: it has fewer bits than [`of_halves`] leaves it.
#[inline(always)]
fn below_normal_halves<V: SamplingVectors>(v: V, means: V::Words) -> V::Words {
    const NORMAL: u32 = 1f32.to_bits() - (14 << F32_FRACTION);
    // Before 0 comes the largest number.
    let one_less = v.shr::<1>(v.sub(v.shl::<1>(means), v.splat(1)));
    v.if_greater(v.splat(NORMAL - 1), one_less, v.splat(1), v.splat(0))
}

/// Sums of any floats, with their weights. A call: beside the code of the others it would take registers from them.
#[inline(never)]
fn of_any<V: SamplingVectors>(v: V, numbers: Numbers, terms: &[V::Lanes; 4], parts: &[V::Lanes; 4]) -> V::Lanes {
    v.run(
        #[inline(always)]
        || {
            let vectors = four!(terms, term => v.load(term));
            if are_plain(v, vectors) {
                let weights = Weights(four!(parts, part => v.load(part)));
                if numbers != Numbers::Half {
                    // Products of 24 bits and 9, whose sum has six more: exact.
                    return v.store(v.exact_sums::<{ F64_FRACTION - F32_FRACTION }>(vectors, &weights.0));
                }
                let means = of_halves(v, &weights, vectors);
                if !v.any(below_normal_halves(v, means)) {
                    return v.store(means);
                }
            }
            let mut out = V::Lanes::default();
            for (lane, out) in out.as_mut().iter_mut().enumerate() {
                let terms = four!(terms, term => term[lane]);
                let weights = four!(parts, part => (f32::from_bits(part[lane]) * UNIT as f32) as u32);
                *out = blend_square(numbers, &terms, &weights);
            }
            out
        },
    )
}

/// The exponent of an `.f32`.
const EXPONENT: u32 = 0xff << F32_FRACTION;

/// Of exponents: as near as it may be to the largest of all numbers, from where differences have room.
const NEAR_MOST: u32 = (0xfe - KEPT) << F32_FRACTION;

/// Of numbers of this exponent, what is left of differences is no denormal, nor is half a unit of that.
const LEAST: u32 = (2 + F32_FRACTION + WEIGHT_BITS) << F32_FRACTION;

/// The bit that says no.
const SIGN: u32 = 1 << 31;

/// The same for halves.
const HALF_SIGNS: u32 = 0x8000_8000;

/// The same half everywhere.
#[inline(always)]
fn both<V: SamplingVectors>(v: V, half: u32) -> V::Words {
    v.splat(half << 16 | half)
}

/// [`not_near_or_zero`] of the halves in words, by [`HALF_SIGNS`]: nor is one a denormal, or so small beside 0 that a mean may be one.
#[inline(always)]
fn halves_not_near<V: SamplingVectors>(v: V, [a, b, c, d]: [V::Words; 4]) -> V::Words {
    const F16_FRACTION: u32 = F32_FRACTION - SHORT;
    let one = both(v, 1);
    let most = v.most_halves(v.most_halves(a, b), v.most_halves(c, d));
    // Before 0 comes the largest number.
    let [a, b] = [v.sub_halves(a, one), v.sub_halves(b, one)];
    let [c, d] = [v.sub_halves(c, one), v.sub_halves(d, one)];
    let zero = v.or(v.or(a, b), v.or(c, d));
    let least = v.least_halves(v.least_halves(a, b), v.least_halves(c, d));
    let least = v.least_halves(least, both(v, (0x1e - KEPT) << F16_FRACTION));
    let near = v.sub_halves(both(v, KEPT << F16_FRACTION), v.sub_halves(most, least));
    let large = v.sub_halves(least, both(v, (1 << F16_FRACTION) - 1));
    // The least weight is 1 / UNIT.
    let large_beside_zero = v.sub_halves(least, both(v, ((1 + WEIGHT_BITS) << F16_FRACTION) - 1));
    let large = v.or(large, v.and(zero, large_beside_zero));
    v.or(v.or(near, large), most)
}

/// The least and the largest of floats without a sign, whose order is that of their bits.
#[inline(always)]
fn ends<V: SamplingVectors>(v: V, [a, b, c, d]: [V::Words; 4]) -> [V::Words; 2] {
    [v.least(v.least(a, b), v.least(c, d)), v.most(v.most(a, b), v.most(c, d))]
}

/// Whether floats are not [`Terms::Near`], by [`SIGN`].
#[inline(always)]
fn not_near<V: SamplingVectors>(v: V, terms: [V::Words; 4]) -> V::Words {
    are_apart(v, ends(v, terms), KEPT - 1)
}

/// Whether they are not [`Terms::NearOrZero`].
#[inline(always)]
fn not_near_or_zero<V: SamplingVectors>(v: V, terms: [V::Words; 4]) -> V::Words {
    let [_, most] = ends(v, terms);
    // Before 0 comes the largest number.
    let one_less = four!(terms, term => v.sub(term, v.splat(1)));
    are_apart(v, [ends(v, one_less)[0], most], KEPT)
}

/// Whether floats between these have exponents that are further apart than so much, or are not finite or not large enough.
#[inline(always)]
fn are_apart<V: SamplingVectors>(v: V, [least, most]: [V::Words; 2], apart: u32) -> V::Words {
    let least = v.least(least, v.splat(NEAR_MOST));
    // What is near to the least is finite.
    let near = v.sub(v.splat(apart << F32_FRACTION), v.sub(most, least));
    let large = v.sub(least, v.splat(LEAST));
    v.or(v.or(near, large), most)
}

/// Whether four terms of floats are so near to each other in all lanes that [`blend`](super::blend) cuts none, and none is special, nor what comes out. 0 without a sign
/// is near to all.
#[inline(always)]
fn are_plain<V: SamplingVectors>(v: V, terms: [V::Words; 4]) -> bool {
    let exponent = v.splat(EXPONENT);
    let (mut most, mut least, mut before) = (v.splat(0), v.splat(NEAR_MOST), v.splat(0));
    for term in terms {
        // Before 0 comes a number with the largest exponent, and before the negative one the largest of all.
        let one_less = v.sub(term, v.splat(1));
        most = v.max(most, v.and(term, exponent));
        least = v.min(least, v.and(one_less, exponent));
        before = v.max(before, one_less);
    }
    let near = v.sub(v.splat(KEPT << F32_FRACTION), v.sub(most, least));
    let finite = v.sub(v.splat(EXPONENT - 1), most);
    let large = v.sub(least, v.splat(LEAST));
    let unsigned = v.sub(v.splat(i32::MAX as u32 - 1), before);
    let wrong = v.or(v.or(near, finite), v.or(large, unsigned));
    !v.any_of(wrong, SIGN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::vector::lanes_of;
    use super::super::{blend as blend_one, square_weights};
    use super::*;
    use crate::vector::{Arrays, WordVectors};

    /// Of all processors that this one is, the same.
    macro_rules! for_each {
        ($check:ident($($with:expr),*)) => {
            $check(Arrays, $($with),*)?;
            #[cfg(target_arch = "x86_64")]
            {
                pulp::x86::V3::try_new().map_or(Ok(()), |v| $check(crate::vector::Eight(v), $($with),*))?;
                pulp::x86::V4::try_new().map_or(Ok(()), |v| $check(v, $($with),*))?;
            }
        };
    }

    /// As many as a vector has, again and again.
    fn blocks<V: SamplingVectors, T>(all: &[T; 16]) -> std::slice::Chunks<'_, T> {
        all.chunks(V::Lanes::default().as_mut().len())
    }

    fn sampled_as_one_by_one<V: SamplingVectors>(v: V, axis: Axis, at: &[f32; 16]) -> Result<(), TestCaseError> {
        let ruler = Ruler::new(&axis);
        for at in blocks::<V, _>(at) {
            let coordinates = lanes_of(v, at, |at| at.to_bits());
            let Between { pair, weight } = ruler.between(v, coordinates);
            let (pair, weight) = (pair.map(|texels| v.store(texels)), v.store(weight));
            let texels = v.store(ruler.nearest(v, coordinates));
            for (lane, at) in at.iter().enumerate() {
                let (expected, share) = axis.between(*at, 0);
                prop_assert_eq!(pair.map(|texels| Some(texels[lane])), expected, "{:?} {}", axis, at);
                if expected[0] != expected[1] {
                    prop_assert_eq!((f32::from_bits(weight[lane]) * UNIT as f32) as u32, share, "{:?} {}", axis, at);
                }
                prop_assert_eq!(Some(texels[lane]), axis.nearest(*at, 0), "{:?} {}", axis, at);
            }
        }
        Ok(())
    }

    fn coordinate() -> impl Strategy<Value = f32> {
        prop_oneof![
            6 => -2.0..3.0f32,
            2 => -300.0..3000.0f32,
            2 => (-3000..6000i32).prop_map(|at| at as f32 / 1024.0),
            1 => any::<f32>(),
            1 => prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, -1e-40, 1e20, -1e20, f32::MAX]),
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
        use Numbers::{Float, Half, Signed8, Signed16, Srgb, Unsigned8, Unsigned16, Whole};
        let whole =
            (prop::sample::select(vec![8, 16, 32]), any::<bool>()).prop_map(|(bits, signed)| Whole { bits, signed });
        prop_oneof![
            2 => prop::sample::select(vec![Unsigned8, Unsigned16, Signed8, Signed16, Half, Float, Srgb]),
            1 => whole,
        ]
    }

    /// What four texels of a lane may be: of any bits, around some number, or mostly nothing.
    fn words() -> impl Strategy<Value = [u32; 4]> {
        let float = (0..255u32, any::<[u32; 4]>())
            .prop_map(|(around, bits)| bits.map(|bits| bits & 0x807f_ffff | ((around + bits % 5).min(255)) << 23));
        let zero = prop::sample::select(vec![0u32, 0, 0, 1 << 31, 0x3f80_0000, 0x3c00]);
        prop_oneof![any::<[u32; 4]>(), float, prop::array::uniform4(zero)]
    }

    /// Four numbers without a sign that are near to each other, some of few bits, so that sums lie in the middle between two results, and some 0.
    fn near_words() -> impl Strategy<Value = [u32; 4]> {
        let zeros = prop_oneof![4 => Just(0), 1 => 0..16u32];
        (32..252u32, any::<[u32; 4]>(), 0..24u32, zeros).prop_map(|(around, bits, short, zeros)| {
            let mut words = bits.map(|bits| bits & 0x7f_ffff & u32::MAX << short | (around + bits % 4) << 23);
            for (at, word) in words.iter_mut().enumerate() {
                if zeros >> at & 1 != 0 {
                    *word = 0;
                }
            }
            words
        })
    }

    /// The same of pairs of halves, from denormals to infinities.
    fn near_halves() -> impl Strategy<Value = [u32; 4]> {
        (0..29u32, any::<[u32; 4]>(), 0..40u32).prop_map(|(around, bits, zero)| {
            let half = |bits: u32| bits & 0x3ff | (around + (bits >> 10) % 4) << 10;
            let mut words = bits.map(|bits| half(bits) | half(bits >> 16) << 16);
            if let Some(word) = words.get_mut(zero as usize) {
                *word &= 0xffff;
            }
            words
        })
    }

    /// A weight, often the least or the largest.
    fn weight() -> impl Strategy<Value = u32> {
        prop_oneof![2 => 0..UNIT, 1 => prop::sample::select(vec![0, 1, UNIT - 1])]
    }

    fn any_lanes() -> impl Strategy<Value = [Lane; 16]> {
        let same = (words(), prop::array::uniform16((0..UNIT, 0..UNIT)))
            .prop_map(|(words, weights)| weights.map(|(x, y)| (words, x, y)));
        prop_oneof![
            prop::array::uniform16((words(), 0..UNIT, 0..UNIT)),
            same,
            prop::array::uniform16((near_words(), weight(), weight())),
            prop::array::uniform16((near_halves(), 0..UNIT, 0..UNIT)),
        ]
    }

    /// The words of four texels, and the weights along both axes.
    type Lane = ([u32; 4], u32, u32);

    fn blended_as_one_by_one<V: SamplingVectors>(
        v: V,
        numbers: Numbers,
        lanes: &[Lane; 16],
        shift: u32,
    ) -> Result<(), TestCaseError> {
        for lanes in blocks::<V, _>(lanes) {
            let row = |of: &dyn Fn(&Lane) -> u32| lanes_of(v, lanes, of);
            let part = |of: &dyn Fn(&Lane) -> u32| row(&|lane| (of(lane) as f32 / UNIT as f32).to_bits());
            let weights = Weights::new(v, part(&|lane| lane.1), part(&|lane| lane.2));
            let corners = [0, 1, 2, 3].map(|corner| row(&|lane| lane.0[corner]));
            let shift = match numbers.bits() {
                32 => 0,
                8 => shift * 8,
                _ => shift / 2 * 16,
            };
            let known = terms_of(v, numbers, &[[corners]]);
            let got = v.store(blend::<V, 4, 1>(v, numbers, known, &[weights], &[corners], shift)[0]);
            for (lane, (words, x, y)) in lanes.iter().enumerate() {
                let terms = words.map(|word| match numbers {
                    Numbers::Float | Numbers::Whole { bits: 32, .. } => word,
                    Numbers::Half => crate::format::widen::<crate::format::F16>(word >> shift & 0xffff).to_bits(),
                    Numbers::Srgb => srgb_term((word >> shift) as u8),
                    Numbers::Unsigned8 | Numbers::Whole { bits: 8, signed: false } => word >> shift & 0xff,
                    Numbers::Unsigned16 | Numbers::Whole { signed: false, .. } => word >> shift & 0xffff,
                    Numbers::Signed8 | Numbers::Whole { bits: 8, .. } => (word >> shift) as i8 as u32,
                    Numbers::Signed16 | Numbers::Whole { .. } => (word >> shift) as i16 as u32,
                });
                let weights = square_weights(UNIT, *x, *y);
                prop_assert_eq!(
                    got[lane],
                    blend_one(numbers, &terms, &weights),
                    "{:?} {:x?} {:?}",
                    numbers,
                    terms,
                    weights
                );
            }
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
        fn blocks_are_blended_as_lanes_are(numbers in numbers(), lanes in any_lanes(), shift in 0..4u32) {
            for_each!(blended_as_one_by_one(numbers, &lanes, shift));
        }
    }

    #[test]
    fn plain_floats() {
        let v = Arrays;
        let plain = |terms: [f32; 4]| {
            let terms = terms.map(|term| v.splat(term.to_bits()));
            let plain = are_plain(v, terms);
            assert!(plain || v.any_of(not_near_or_zero(v, terms), SIGN));
            plain
        };
        assert!(plain([1.0, 1.5, 0.25, -3.0]) && plain([0.0; 4]) && plain([0.0, 0.0, 1e-20, 0.0]) && plain([-1.0; 4]));
        assert!(
            !plain([1.0, 1.0, 1.0, -0.0]) && !plain([1.0, 1.0, 1.0, f32::INFINITY]) && !plain([1.0, 40.0, 1.0, 1.0])
        );
        assert!(!plain([1e-40; 4]) && !plain([1e-30; 4]) && !plain([f32::NAN; 4]));
    }
}
