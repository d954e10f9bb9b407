//! Sums of products of `.f64`: fused multiply-adds in ascending order of `k`, as recorded.

use super::Sizes;
use crate::Rounding;
use crate::double;

/// `d = a * b + d`: panels of `sizes`.
///
/// # Panics
/// A panel is shorter than `sizes` says.
#[inline(always)]
pub fn multiply(Sizes { m, n, k }: Sizes, rounding: Rounding, [a, b]: [&[f64]; 2], d: &mut [f64]) {
    for (column, d) in d.chunks_exact_mut(m).enumerate().take(n) {
        for k in 0..k {
            let factor = b[k * n + column];
            for (d, a) in d.iter_mut().zip(&a[k * m..][..m]) {
                *d = double::fma(*a, factor, *d, rounding);
            }
        }
    }
}
