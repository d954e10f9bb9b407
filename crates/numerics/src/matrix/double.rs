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
        for k in 0..k {
            let factor = b[k * n + column];
            let (rows, a) = (d.as_chunks_mut().0, a[k * m..][..m].as_chunks().0);
            for (d, a) in rows.iter_mut().zip(a) {
                *d = add_products(a, factor, d, rounding);
            }
        }
    }
}

/// Some rows of a column, with one more product each.
#[inline(always)]
fn add_products(a: &[f64; ROWS], b: f64, c: &[f64; ROWS], rounding: Rounding) -> [f64; ROWS] {
    if rounding == Rounding::Nearest {
        let sums: [f64; ROWS] = std::array::from_fn(|row| a[row].mul_add(b, c[row]));
        // Of operands that are no numbers one is the result, which is chosen below.
        if !sums.iter().fold(false, |any, sum| any | sum.is_nan()) {
            return sums;
        }
    }
    one_by_one(a, b, c, rounding)
}

#[inline(never)]
fn one_by_one(a: &[f64; ROWS], b: f64, c: &[f64; ROWS], rounding: Rounding) -> [f64; ROWS] {
    std::array::from_fn(|row| double::fma(a[row], b, c[row], rounding))
}
