//! Sixteen rows by eight columns of a product at once, as [`super::real`] defines them, in vectors of `.f32` and `.s32`.
//!
//! The largest exponent is looked for among bytes: those of products in four columns lie in one word, moved so that the sum of two is above 127, and with a zero below.
//! Where factors are too far from 1 for that, words hold them.

use super::real::{Accumulation, Rounded};
use super::vector::Vectors;
use crate::format::{F32, Format};
use crate::vector::WordVectors;

/// Rows of a block.
pub const ROWS: usize = 16;
/// Columns of a block.
pub const COLUMNS: usize = 8;

/// Sixteen rows of `a` in each of four `k`: `.f32`.
pub type Rows = [[u32; ROWS]; 4];
/// Eight columns of `b`, of each the same four `k`: `.f32`.
pub type Columns = [u32; 4 * COLUMNS];
/// Eight columns of `d`: `.f32`.
pub type Sums<V> = [<V as WordVectors>::Words; COLUMNS];

/// How the sums of [`multiply_plain`] are rounded: to `.f32`.
pub const PLAIN: Rounded = Rounded::Truncated(23);

/// The most products of an element, in fours.
pub const QUADS: usize = 16;

/// The least and the largest exponent, as `.f32` has it, of factors whose sums of exponents fit into bytes, and of those whose products and scales stay normal numbers.
const NEAR: [u8; 2] = [127 - 31, 127 + 31];
const FAR: [u8; 2] = [127 - 50, 127 + 50];
/// What is taken from near exponents, of which 64 is the least then.
const OFF: u32 = NEAR[0] as u32 - 64;
/// The exponent of a zero, where words hold them.
const NONE: u32 = -1000i32 as u32;
/// Below the exponents of all products, and what stands for the largest where all are zero: of near factors and of others. What is made of it stays a normal number.
const BELOW_NEAR: u32 = 2 * NEAR[0] as u32 - 127 - 1;
const BELOW_FAR: u32 = 2 * FAR[0] as u32 - 127 - 1;
/// Where `.f32` has its exponent.
const EXPONENT: u32 = 0xff << 23;
/// The columns whose exponents lie in one word.
const TOGETHER: usize = 4;
/// The columns that one loop sums: rows are loaded once for them.
const AT_ONCE: usize = 2;

/// Rows of `a` with what each of their products needs to know of them. It can be kept for as long as the elements stay what they are.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Left<const N: usize> {
    /// In fours of `k`.
    pub elements: [Rows; N],
    /// The exponents of each `k` in all bytes of a word, where they are near.
    exponents: [Rows; N],
    near: bool,
}

/// The same of columns of `b`.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Right<const N: usize> {
    /// In fours of `k`.
    pub elements: [Columns; N],
    /// The exponents of columns in the bytes of words, of four `k` for the first four columns, and for the others.
    exponents: [[[u32; 4]; COLUMNS / TOGETHER]; N],
    near: bool,
}

impl<const N: usize> Default for Left<N> {
    fn default() -> Self {
        Self { elements: [[[0; ROWS]; 4]; N], exponents: [[[0; ROWS]; 4]; N], near: false }
    }
}

impl<const N: usize> Default for Right<N> {
    fn default() -> Self {
        Self { elements: [[0; 4 * COLUMNS]; N], exponents: [[[0; 4]; COLUMNS / TOGETHER]; N], near: false }
    }
}

/// What is taken from the exponents in bytes.
#[inline(always)]
fn off<V: Vectors>(v: V) -> V::Words {
    v.splat(u32::from_le_bytes([OFF as u8; 4]))
}

/// Exponents in bytes, but those that are smaller than the least one: 0 is of no number, and stays.
#[inline(always)]
fn raised<V: Vectors>(v: V, exponents: V::Words, least: i32) -> V::Words {
    let bytes = |byte: u8| v.splat(u32::from_le_bytes([byte; 4]));
    match u8::try_from(F32::BIAS + least) {
        // Before 0 comes the largest byte.
        Ok(least @ 2..) => v.add_bytes(v.max_bytes(v.add_bytes(exponents, bytes(u8::MAX)), bytes(least - 1)), bytes(1)),
        _ => exponents,
    }
}

impl<const N: usize> Left<N> {
    /// To be called when the elements of the first `quads` fours have changed, and before they are multiplied. `subnormal` says whether they can be so, as `.f32`, and `least` is of
    /// [`Accumulation`].
    #[inline(always)]
    pub fn ready<V: Vectors>(&mut self, v: V, subnormal: bool, quads: usize, least: i32) {
        let (mut odd, off) = (Odd::new(v), off(v));
        for (elements, place) in self.elements.iter().zip(&mut self.exponents).take(quads) {
            for (factors, place) in elements.iter().zip(place) {
                let factors = v.load(factors);
                let exponents = v.spread_top_bytes(v.shl::<1>(factors));
                odd.meet_exponents(exponents);
                let exponents = raised(v, exponents, least);
                *place = v.store(v.sub(v.max_bytes(exponents, off), off));
                if subnormal {
                    odd.meet_factors(factors);
                }
            }
        }
        self.near = odd.factors_are_none(NEAR);
    }
}

impl<const N: usize> Right<N> {
    /// As [`Left::ready`].
    #[inline(always)]
    pub fn ready<V: Vectors>(&mut self, v: V, subnormal: bool, quads: usize, least: i32) {
        let (mut odd, off) = (Odd::new(v), off(v));
        for (elements, place) in self.elements.iter().zip(&mut self.exponents).take(quads) {
            let halves: [[u32; 16]; 2] = bytemuck::must_cast(*elements);
            let [lower, upper] = [v.load(&halves[0]), v.load(&halves[1])];
            let (low, high) = (v.pack_bytes(v.shr::<23>(lower)), v.pack_bytes(v.shr::<23>(upper)));
            // A word for a column becomes one for a `k`.
            let exponents = v.exchange_bytes(v.load(&bytemuck::must_cast([low, high, low, high])));
            odd.meet_exponents(exponents);
            let exponents = raised(v, exponents, least);
            let kept: [[[u32; 4]; COLUMNS / TOGETHER]; 2] =
                bytemuck::must_cast(v.store(v.sub(v.max_bytes(exponents, off), off)));
            *place = kept[0];
            if subnormal {
                odd.meet_factors(lower);
                odd.meet_factors(upper);
            }
        }
        self.near = odd.factors_are_none(NEAR);
    }
}

/// `a * b + d`, of all products of the first `quads` fours of `k` and the summand at once. `subnormal` says whether factors can be subnormal as `.f32`. None where
/// vectors cannot tell.
#[inline(always)]
pub fn multiply<V: Vectors, const N: usize>(
    v: V,
    how: Accumulation,
    subnormal: bool,
    quads: usize,
    a: &Left<N>,
    b: &Right<N>,
    d: &Sums<V>,
) -> Option<Sums<V>> {
    let quads = quads.min(N);
    let done = if a.near && b.near { near(v, how, quads, a, b, d) } else { None };
    match done {
        None => far_away(v, how, subnormal, &a.elements[..quads], &b.elements[..quads], d),
        done => done,
    }
}

/// The same where there is nothing special: factors are near 1, each element has products, and sums are rounded as [`PLAIN`] says. None where factors are not so.
#[inline(always)]
pub fn multiply_plain<V: Vectors, const N: usize>(
    v: V,
    how: Accumulation,
    quads: usize,
    a: &Left<N>,
    b: &Right<N>,
    d: &Sums<V>,
) -> Option<Sums<V>> {
    if !(a.near && b.near) {
        return None;
    }
    let how = Accumulation { rounded: PLAIN, ..how };
    let products = Products { how, a: &a.elements[..quads], b: &b.elements[..quads], below: BELOW_NEAR };
    let largest = largest_near(v, quads, a, b);
    match lacks_products(v, largest) {
        false => near_sums::<V, true>(v, &products, largest, d),
        true => None,
    }
}

/// What is the matter with operands or sums, in any place.
struct Odd<V: Vectors> {
    v: V,
    /// The largest exponents, and how far the least are below 255, by byte; both 0 for zeros.
    largest: V::Words,
    least: V::Words,
    /// The largest exponents of summands, where `.f32` has them.
    summands: V::Words,
    /// Words with the top bit set.
    signs: V::Words,
}

impl<V: Vectors> Odd<V> {
    #[inline(always)]
    fn new(v: V) -> Self {
        let none = v.splat(0);
        Self { v, largest: none, least: none, summands: none, signs: none }
    }

    /// Looks at exponents, one in each byte.
    #[inline(always)]
    fn meet_exponents(&mut self, exponents: V::Words) {
        let v = self.v;
        let below = v.xor(v.add_bytes(exponents, v.splat(u32::MAX)), v.splat(u32::MAX));
        self.largest = v.max_bytes(self.largest, exponents);
        self.least = v.max_bytes(self.least, below);
    }

    /// Looks for subnormal factors.
    #[inline(always)]
    fn meet_factors(&mut self, factors: V::Words) {
        let v = self.v;
        let magnitude = v.and(factors, v.splat(u32::MAX >> 1));
        let field = v.shr::<23>(v.sub(magnitude, v.splat(1)));
        self.signs = v.or(self.signs, v.sub(field, v.splat(1)));
    }

    /// The exponents of factors that may be far from 1.
    #[inline(always)]
    fn far_exponents(&mut self, subnormal: bool, factors: V::Words, least: i32) -> V::Words {
        let v = self.v;
        let exponents = v.and(v.shr::<23>(factors), v.splat(0xff));
        self.meet_exponents(exponents);
        if subnormal {
            self.meet_factors(factors);
        }
        let raised = v.max(exponents, v.splat((F32::BIAS + least).max(0) as u32));
        v.if_greater(exponents, v.splat(0), raised, v.splat(NONE))
    }

    /// Whether there was nothing with factors, with exponents in a range.
    #[inline(always)]
    fn factors_are_none(&self, [least, largest]: [u8; 2]) -> bool {
        let v = self.v;
        let beyond = v.or(beyond(v, self.largest, largest), beyond(v, self.least, u8::MAX - (least - 1)));
        !v.any(v.or(beyond, v.shr::<31>(self.signs)))
    }

    /// Whether there was nothing with sums: none too large, no infinity and no NaN.
    #[inline(always)]
    fn sums_are_none(&self) -> bool {
        let v = self.v;
        !v.any(v.shr::<31>(v.or(self.signs, v.add(self.summands, v.splat(1 << 23)))))
    }
}

/// Not zero where bytes are above a limit.
#[inline(always)]
fn beyond<V: Vectors>(v: V, bytes: V::Words, limit: u8) -> V::Words {
    let limit = v.splat(u32::from_le_bytes([limit; 4]));
    v.xor(v.max_bytes(bytes, limit), limit)
}

/// With exponents in bytes.
#[inline(always)]
fn near<V: Vectors, const N: usize>(
    v: V,
    how: Accumulation,
    quads: usize,
    a: &Left<N>,
    b: &Right<N>,
    d: &Sums<V>,
) -> Option<Sums<V>> {
    let products = Products { how, a: &a.elements[..quads], b: &b.elements[..quads], below: BELOW_NEAR };
    near_sums::<V, false>(v, &products, largest_near(v, quads, a, b), d)
}

/// The largest exponents of products, of four columns in the bytes of a word. They are 127 more than `.f32` has; 127 where there is no product, and more where there is one.
#[inline(always)]
fn largest_near<V: Vectors, const N: usize>(
    v: V,
    quads: usize,
    a: &Left<N>,
    b: &Right<N>,
) -> [V::Words; COLUMNS / TOGETHER] {
    let mut largest = [v.splat(u32::from_le_bytes([127; 4])); COLUMNS / TOGETHER];
    for (of_a, of_b) in a.exponents[..quads].iter().zip(&b.exponents[..quads]) {
        for k in 0..4 {
            let of_a = v.load(&of_a[k]);
            for four in 0..COLUMNS / TOGETHER {
                largest[four] = v.max_bytes(largest[four], v.add_bytes(of_a, v.splat(of_b[four][k])));
            }
        }
    }
    largest
}

/// Whether an element has no products.
#[inline(always)]
fn lacks_products<V: Vectors>(v: V, largest: [V::Words; COLUMNS / TOGETHER]) -> bool {
    let product = v.splat(u32::from_le_bytes([128; 4]));
    let mut lacks = v.splat(0);
    for four in &largest {
        lacks = v.or(lacks, v.xor(v.max_bytes(*four, product), *four));
    }
    v.any(lacks)
}

/// The sums of products of whose exponents the largest are known, in bytes. `ALL` says that there are products in each element.
#[inline(always)]
fn near_sums<V: Vectors, const ALL: bool>(
    v: V,
    products: &Products<'_>,
    largest: [V::Words; COLUMNS / TOGETHER],
    d: &Sums<V>,
) -> Option<Sums<V>> {
    let mut odd = Odd::new(v);
    let off = v.splat(u32::from_le_bytes([(127 - BELOW_NEAR) as u8; 4]));
    let (lower, upper) = (v.sub(largest[0], off), v.sub(largest[1], off));
    let exponent = v.splat(EXPONENT);
    let largest = [
        [v.shl::<23>(lower), v.shl::<15>(lower)],
        [v.shl::<7>(lower), v.shr::<1>(lower)],
        [v.shl::<23>(upper), v.shl::<15>(upper)],
        [v.shl::<7>(upper), v.shr::<1>(upper)],
    ];
    let mut sums = *d;
    for two in 0..COLUMNS / AT_ONCE {
        let first = AT_ONCE * two;
        let largest = [v.and(largest[two][0], exponent), v.and(largest[two][1], exponent)];
        let two = products.sums::<V, AT_ONCE, ALL>(first, largest, [d[first], d[first + 1]], &mut odd);
        [sums[first], sums[first + 1]] = two;
    }
    odd.sums_are_none().then_some(sums)
}

/// [`far`], once in a program.
#[cold]
#[inline(never)]
fn far_away<V: Vectors>(
    v: V,
    how: Accumulation,
    subnormal: bool,
    a: &[Rows],
    b: &[Columns],
    d: &Sums<V>,
) -> Option<Sums<V>> {
    v.run(
        #[inline(always)]
        || far(v, how, subnormal, a, b, d),
    )
}

/// With exponents in words.
#[inline(always)]
fn far<V: Vectors>(
    v: V,
    how: Accumulation,
    subnormal: bool,
    a: &[Rows],
    b: &[Columns],
    d: &Sums<V>,
) -> Option<Sums<V>> {
    let quads = a.len().min(b.len()).min(QUADS);
    let mut odd = Odd::new(v);
    let mut of_a = [[v.splat(0); 4]; QUADS];
    let mut of_b = [[0; 4 * COLUMNS]; QUADS];
    for quad in 0..quads {
        for k in 0..4 {
            of_a[quad][k] = odd.far_exponents(subnormal, v.load(&a[quad][k]), how.least[0]);
        }
        let halves: [[u32; 16]; 2] = bytemuck::must_cast(b[quad]);
        let lower = v.store(odd.far_exponents(subnormal, v.load(&halves[0]), how.least[1]));
        let upper = v.store(odd.far_exponents(subnormal, v.load(&halves[1]), how.least[1]));
        of_b[quad] = bytemuck::must_cast([lower, upper]);
    }
    let products = Products { how, a, b, below: BELOW_FAR };
    let mut sums = *d;
    for column in 0..COLUMNS {
        let mut largest = v.splat(BELOW_FAR);
        for quad in 0..quads {
            for k in 0..4 {
                let sum = v.add(of_a[quad][k], v.splat(of_b[quad][4 * column + k]));
                largest = v.max(largest, v.sub(sum, v.splat(127)));
            }
        }
        [sums[column]] = products.sums::<V, 1, false>(column, [v.shl::<23>(largest)], [d[column]], &mut odd);
    }
    (odd.factors_are_none(FAR) && odd.sums_are_none()).then_some(sums)
}

/// The products of a block.
struct Products<'a> {
    how: Accumulation,
    a: &'a [Rows],
    b: &'a [Columns],
    /// Below the exponents of all of them.
    below: u32,
}

impl Products<'_> {
    /// Some columns of sums, from the first on, of whose products `largest` are the largest exponents, where `.f32` has them, and `below` if there are none; `ALL` says that there
    /// are some in each element.
    #[inline(always)]
    fn sums<V: Vectors, const W: usize, const ALL: bool>(
        &self,
        first: usize,
        largest: [V::Words; W],
        summands: [V::Words; W],
        odd: &mut Odd<V>,
    ) -> [V::Words; W] {
        let v = odd.v;
        let how = self.how;
        let (mut scales, mut units) = ([v.splat(0); W], [v.splat(0); W]);
        for at in 0..W {
            let of_summand = v.and(summands[at], v.splat(EXPONENT));
            let raised = match how.rounded {
                Rounded::Truncated(_) => of_summand,
                Rounded::Half => {
                    let least = v.splat(((F32::BIAS + how.rounded.least()) as u32) << 23);
                    v.if_greater(of_summand, v.splat(0), v.max(of_summand, least), of_summand)
                }
            };
            let exponent = v.max(largest[at], raised);
            odd.summands = v.max(odd.summands, of_summand);
            // The power of two that brings the last place that is kept to 1, and its reciprocal.
            scales[at] = v.sub(v.splat((254 + how.fraction) << 23), exponent);
            units[at] = v.sub(exponent, v.splat(how.fraction << 23));
        }
        // Each is below 2^27, of at most 16 that are not zero.
        let mut totals = [v.splat(0); W];
        for (a, b) in self.a.iter().zip(self.b) {
            for k in 0..4 {
                let factors = v.load(&a[k]);
                for at in 0..W {
                    // Exact: factors have 11 bits at most.
                    let product = v.mul(factors, v.splat(b[4 * (first + at) + k]));
                    totals[at] = v.add(totals[at], v.truncate(v.mul(product, scales[at])));
                }
            }
        }
        let mut sums = totals;
        for at in 0..W {
            let kept = v.truncate(v.mul(summands[at], scales[at]));
            let sum = v.add(totals[at], kept);
            odd.signs = v.or(odd.signs, v.and(v.xor(sum, totals[at]), v.xor(sum, kept)));
            let rounded = v.towards_zero(sum);
            sums[at] = match how.rounded {
                Rounded::Truncated(23) => v.mul(rounded, units[at]),
                Rounded::Truncated(fraction) => v.and(v.mul(rounded, units[at]), v.splat(u32::MAX << (23 - fraction))),
                Rounded::Half => {
                    // An odd last place tells what is cut off.
                    let cut = v.xor(sum, v.truncate(rounded));
                    let rounded = v.if_greater(cut, v.splat(0), v.or(rounded, v.splat(1)), rounded);
                    // A zero is positive.
                    v.add_floats(v.round_to_half(v.mul(rounded, units[at])), v.splat(0))
                }
            };
            if !ALL {
                // Without products, the summand, of which a zero is positive.
                let alone = match how.rounded {
                    Rounded::Truncated(fraction) => v.and(summands[at], v.splat(u32::MAX << (23 - fraction))),
                    Rounded::Half => summands[at],
                };
                let alone = v.add_floats(alone, v.splat(0));
                sums[at] = v.if_greater(largest[at], v.splat(self.below << 23), sums[at], alone);
            }
        }
        sums
    }
}
