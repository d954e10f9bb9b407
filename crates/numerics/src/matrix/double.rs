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
            let factors = |k: usize| (&a[k * m..][..m].as_chunks().0[group], b[k * n + column]);
            if rounding == Rounding::Nearest {
                // In one vector till the last product: put into `d` after each, the next one would wait for that.
                let mut sums: [f64; ROWS] = *d;
                for k in 0..k {
                    let (a, b): (&[f64; ROWS], f64) = factors(k);
                    sums = std::array::from_fn(|row| a[row].mul_add(b, sums[row]));
                }
                // A sum that is no number stays none. Of operands that are none one is the result, which is chosen below.
                if !sums.iter().fold(false, |any, sum| any | sum.is_nan()) {
                    *d = sums;
                    continue;
                }
            }
            for k in 0..k {
                let (a, b) = factors(k);
                *d = one_by_one(a, b, d, rounding);
            }
        }
    }
}

/// Some rows of a column, with one more product each.
#[inline(never)]
fn one_by_one(a: &[f64; ROWS], b: f64, c: &[f64; ROWS], rounding: Rounding) -> [f64; ROWS] {
    std::array::from_fn(|row| double::fma(a[row], b, c[row], rounding))
}
