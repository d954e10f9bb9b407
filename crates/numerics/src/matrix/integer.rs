//! Sums of products of integers of up to 8 bits, and of single bits.

use super::Sizes;

/// `d = a * b + d` of integers of up to 8 bits, given as numbers: panels of `sizes`, of which `d` holds the patterns of `.s32`. With `saturate` a sum that `.s32` does not hold becomes its largest or
/// smallest number, without it wraps (PTX ISA 9.7.14.4.14, 9.7.14.5.14).
///
/// # Panics
/// A panel is shorter than `sizes` says.
#[inline(always)]
pub fn multiply(Sizes { m, n, k }: Sizes, saturate: bool, [a, b]: [&[f32]; 2], d: &mut [u32]) {
    const ROWS: usize = 8;
    for row in (0..m).step_by(ROWS) {
        for column in 0..n {
            // Sums of up to 256 products of 8 bits are below 2^24: exact.
            let mut sums = [0.0f32; ROWS];
            for k in 0..k {
                let factor = b[k * n + column];
                let a = &a[k * m + row..][..ROWS];
                for lane in 0..ROWS {
                    sums[lane] += a[lane] * factor;
                }
            }
            for (d, sum) in d[column * m + row..][..ROWS].iter_mut().zip(sums) {
                *d = add(*d, sum as i32, saturate);
            }
        }
    }
}

/// A bit operation between the factors of a product of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// `.and.popc`
    And,
    /// `.xor.popc`
    Xor,
}

/// `d` plus the number of bits that are set in `a op b`: panels of `sizes`, of which `k` counts words of 32 bits.
///
/// # Panics
/// A panel is shorter than `sizes` says.
pub fn multiply_bits(Sizes { m, n, k }: Sizes, op: Bits, [a, b]: [&[u32]; 2], d: &mut [u32]) {
    for (column, d) in d.chunks_exact_mut(m).enumerate().take(n) {
        for k in 0..k {
            let factor = b[k * n + column];
            for (d, a) in d.iter_mut().zip(&a[k * m..][..m]) {
                let bits = match op {
                    Bits::And => a & factor,
                    Bits::Xor => a ^ factor,
                };
                *d = d.wrapping_add(bits.count_ones());
            }
        }
    }
}

#[inline(always)]
fn add(d: u32, sum: i32, saturate: bool) -> u32 {
    if saturate { (d as i32).saturating_add(sum) as u32 } else { d.wrapping_add_signed(sum) }
}
