//! Sums of products of `.f64`: fused multiply-adds in ascending order of `k`, as recorded.

use super::Sizes;
use crate::Rounding;
use crate::double;

/// Rows that are computed together: fragments have a multiple of as many.
const ROWS: usize = 8;

/// `d = a * b + d`: panels of `sizes`, whose columns follow each other in `a` and `d`, and rows in `b`.
///
/// # Panics
/// A panel is shorter than `sizes` says.
#[inline(always)]
pub fn multiply(Sizes { m, n, k }: Sizes, rounding: Rounding, [a, b]: [&[f64]; 2], d: &mut [f64]) {
    for (column, d) in d.chunks_exact_mut(m).enumerate().take(n) {
        for (group, d) in d.as_chunks_mut().0.iter_mut().enumerate() {
            let factors = (0..k).map(|k| (&a[k * m..][..m].as_chunks().0[group], b[k * n + column]));
            *d = add_products(factors, d, rounding);
        }
    }
}

/// Some rows of a column, with all its products. The sums stay in one vector till the last: put into `d` after each product, the next one would wait for that.
#[inline(always)]
fn add_products<'a>(
    factors: impl Iterator<Item = (&'a [f64; ROWS], f64)> + Clone,
    c: &[f64; ROWS],
    rounding: Rounding,
) -> [f64; ROWS] {
    if rounding == Rounding::Nearest {
        let sums = factors.clone().fold(*c, |sums, (a, b)| std::array::from_fn(|row| a[row].mul_add(b, sums[row])));
        // A sum that is no number stays none. Of operands that are none one is the result, which is chosen below.
        if !sums.iter().fold(false, |any, sum| any | sum.is_nan()) {
            return sums;
        }
    }
    factors.fold(*c, |sums, (a, b)| one_by_one(a, b, &sums, rounding))
}

#[inline(never)]
fn one_by_one(a: &[f64; ROWS], b: f64, c: &[f64; ROWS], rounding: Rounding) -> [f64; ROWS] {
    std::array::from_fn(|row| double::fma(a[row], b, c[row], rounding))
}
