//! Sixteen rows by eight columns of a product of bytes at once, which wraps: sums of [`super::integer`] in vectors of words of four `k` each.

use super::block::{COLUMNS, Sums};
use super::vector::Vectors;

/// Words of `k`, at most.
pub const WORDS: usize = 8;
/// Words of `k` of each column in a register of `b`.
const TOGETHER: usize = 4;
/// The columns that one loop sums.
const AT_ONCE: usize = 2;

/// `a * b + d`, of bytes that are `signed` on the left and on the right: sixteen rows of `a` for each word of `k`, and the columns of `b`, of each four words of `k` behind each other.
#[inline(always)]
pub fn multiply<V: Vectors>(
    v: V,
    signed: [bool; 2],
    a: &[V::Words],
    b: &[[u32; TOGETHER * COLUMNS]],
    d: &Sums<V>,
) -> Sums<V> {
    let mut left = [[v.splat(0); 2]; WORDS];
    for (left, a) in left.iter_mut().zip(a) {
        *left = v.numbers_of_bytes(*a, signed[0]);
    }
    let mut right = [[[0; TOGETHER * COLUMNS]; 2]; WORDS / TOGETHER];
    for (right, b) in right.iter_mut().zip(b) {
        let halves: [[u32; 16]; 2] = bytemuck::must_cast(*b);
        let lower = v.numbers_of_bytes(v.load(&halves[0]), signed[1]);
        let upper = v.numbers_of_bytes(v.load(&halves[1]), signed[1]);
        for odd in 0..2 {
            right[odd] = bytemuck::must_cast([v.store(lower[odd]), v.store(upper[odd])]);
        }
    }
    let mut sums = *d;
    for two in 0..COLUMNS / AT_ONCE {
        let first = AT_ONCE * two;
        let mut totals = [sums[first], sums[first + 1]];
        for (left, right) in left.as_chunks::<TOGETHER>().0.iter().zip(&right).take(b.len()) {
            for (k, [even, odd]) in left.iter().enumerate() {
                for (at, total) in totals.iter_mut().enumerate() {
                    let place = TOGETHER * (first + at) + k;
                    let even = v.dot(*even, v.splat(right[0][place]));
                    let odd = v.dot(*odd, v.splat(right[1][place]));
                    *total = v.add(*total, v.add(even, odd));
                }
            }
        }
        [sums[first], sums[first + 1]] = totals;
    }
    sums
}
