//! Products of floats of 8 bits, from registers to registers: those of fragments here, and what those of warpgroups need of it.
//!
//! A word has four elements that follow each other in `k`. As the hardware does it, a product of fragments is two: of the lower two elements of all words, from zero, and of the
//! upper two, from the first one's sums; the summand is added last.

use warploom_numerics::matrix::block::{self, COLUMNS, Left, Right, Sums as Block};
use warploom_numerics::matrix::{Accumulation, Rounded, Vectors};
use warploom_ptx::ir::ScalarType;

use super::fragments::{exchanged, halves, is_in_blocks, of_block, read, write};
use super::product::{ProductSite, Sums};
use crate::frame::Row32;

/// Elements of a word.
pub(super) const OF_A_WORD: usize = 4;
/// Elements of a word that are in the same product.
const TOGETHER: usize = 2;
/// Elements of `k` in fours of one of the two products, at most.
const QUADS: usize = 4;

/// Whether elements are floats of 8 bits.
#[inline(always)]
pub(super) fn is_short(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::E4m3 | ScalarType::E5m2)
}

/// How each of the two sums of a site is made, if it is one block of such floats.
pub(super) fn accumulation(site: &ProductSite) -> Option<Accumulation> {
    let Sums::Real(scheme) = site.sums else { return None };
    let k = site.sizes.k;
    let halved = scheme.alternating == Some(TOGETHER) && scheme.summand_last && 2 * scheme.accumulation.group == k;
    let whole = k.is_multiple_of(4 * OF_A_WORD) && k <= 2 * 4 * QUADS && is_in_blocks(site);
    (halved && whole && is_short(site.a_ty) && is_short(site.b_ty)).then_some(scheme.accumulation)
}

/// The elements of words as `.f32`.
#[inline(always)]
pub(super) fn numbers<V: Vectors>(v: V, ty: ScalarType, words: V::Words) -> [V::Words; OF_A_WORD] {
    let [even, odd] = v.numbers_of_bytes(words, false);
    let ([first, third], [second, fourth]) = (pairs(v, ty, even), pairs(v, ty, odd));
    [first, second, third, fourth]
}

/// The floats in the low bytes of halves: `.e5m2` is the upper half of an `.f16`, `.e4m3` has the places of one a bit lower, and an exponent that is eight less.
#[inline(always)]
fn pairs<V: Vectors>(v: V, ty: ScalarType, bytes: V::Words) -> [V::Words; 2] {
    if ty == ScalarType::E5m2 {
        return v.widen(v.shl::<8>(bytes));
    }
    let (signs, magnitudes) = (v.and(bytes, v.splat(0x0080_0080)), v.and(bytes, v.splat(0x007f_007f)));
    let mut pair = v.widen(v.or(v.shl::<8>(signs), v.shl::<7>(magnitudes)));
    for number in &mut pair {
        let scaled = v.mul(*number, v.splat(256f32.to_bits()));
        // What would be above the largest number is the NaN.
        let magnitude = v.and(scaled, v.splat(u32::MAX >> 1));
        *number = v.if_greater(magnitude, v.splat(448f32.to_bits()), v.splat(f32::NAN.to_bits()), scaled);
    }
    pair
}

/// Rows of `a` from registers, or tiles, in pairs: elements that follow each other go to parts that do.
#[inline(always)]
pub(super) fn rows<'t, V: Vectors, const N: usize>(
    v: V,
    ty: ScalarType,
    pairs: impl Iterator<Item = [&'t Row32; 2]>,
    parts: &mut [Left<N>],
) {
    let each = OF_A_WORD / parts.len();
    for (number, pair) in pairs.enumerate() {
        for (k, words) in exchanged(v, pair).into_iter().enumerate() {
            for (at, element) in numbers(v, ty, words).into_iter().enumerate() {
                parts[at / each].elements[each * number + at % each][k] = v.store(element);
            }
        }
    }
}

/// Columns of `b`, likewise.
#[inline(always)]
pub(super) fn columns<'t, V: Vectors, const N: usize>(
    v: V,
    ty: ScalarType,
    tiles: impl Iterator<Item = &'t Row32>,
    parts: &mut [Right<N>],
) {
    let each = OF_A_WORD / parts.len();
    for (number, tile) in tiles.enumerate() {
        let [lower, upper] = halves(tile);
        let (lower, upper) = (numbers(v, ty, v.load(lower)), numbers(v, ty, v.load(upper)));
        for (at, (lower, upper)) in lower.into_iter().zip(upper).enumerate() {
            parts[at / each].elements[each * number + at % each] =
                bytemuck::must_cast([v.store(lower), v.store(upper)]);
        }
    }
}

/// Computes the product of a site, with sums that are made so; `false` if its operands are not for this: then nothing has changed.
#[inline(always)]
pub(super) fn multiply<V: Vectors>(v: V, how: Accumulation, site: &ProductSite, registers: &mut [Row32]) -> bool {
    v.run(
        #[inline(always)]
        || {
            let (mut left, mut right) = <([Left<QUADS>; 2], [Right<QUADS>; 2])>::default();
            let quads = site.sizes.k / 8;
            let pairs =
                site.a.rows.chunks_exact(2).map(|pair| [&registers[pair[0] as usize], &registers[pair[1] as usize]]);
            rows(v, site.a_ty, pairs, &mut left);
            columns(v, site.b_ty, site.b.rows.iter().map(|row| &registers[*row as usize]), &mut right);
            let mut sums = [v.splat(0); COLUMNS];
            for (left, right) in left.iter_mut().zip(&mut right) {
                left.ready(v, false, quads, how.least[0]);
                right.ready(v, false, quads, how.least[1]);
                match block::multiply(v, how, false, quads, left, right, &sums) {
                    Some(both) => sums = both,
                    None => return false,
                }
            }
            let summands = read(v, site.c_ty, of_block(site.c_ty, &site.c.rows, 0), registers);
            let Some(results) = added(v, how.rounded, &sums, &summands) else { return false };
            write(v, site.d_ty, of_block(site.d_ty, &site.d.rows, 0), registers, &results);
            true
        },
    )
}

/// The sums with the summands, or none where one of these is no number.
#[inline(always)]
fn added<V: Vectors>(v: V, rounded: Rounded, sums: &Block<V>, summands: &Block<V>) -> Option<Block<V>> {
    let infinity = v.splat(f32::INFINITY.to_bits());
    let mut odd = v.splat(0);
    for summand in summands {
        // An exponent of which all bits are set.
        odd = v.or(odd, v.add(v.and(*summand, infinity), v.splat(1 << 23)));
    }
    let mut results = *sums;
    for (result, summand) in results.iter_mut().zip(summands) {
        let sum = v.add_floats(*result, *summand);
        *result = match rounded {
            Rounded::Truncated(_) => sum,
            // Of two numbers of 11 bits a sum of 24 is rounded as the exact one would be. A zero is positive.
            Rounded::Half => v.add_floats(v.round_to_half(sum), v.splat(0)),
        };
    }
    (!v.any(v.shr::<31>(odd))).then_some(results)
}
