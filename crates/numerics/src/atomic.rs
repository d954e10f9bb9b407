//! What `atom` and `red` leave in memory (PTX ISA 9.7.13.5, 9.7.13.6).
//!
//! One update of one value, as a function of the old value and the operands. That it happens at once, and in which order updates of several
//! threads happen, is the memory's business.

use crate::float::Extremum;
use crate::format::{Bf16, F16, Format};
use crate::half::{self, Modifiers};
use crate::{Rounding, double, float};

/// `inc`: counts up and starts again at zero above `limit`.
#[inline(always)]
pub fn inc<T: Into<u64> + TryFrom<u64> + Default>(old: T, limit: T) -> T {
    let (old, limit) = (old.into(), limit.into());
    T::try_from(if old >= limit { 0 } else { old + 1 }).unwrap_or_default()
}

/// `dec`: counts down and starts again at `limit` from zero or from above it.
#[inline(always)]
pub fn dec<T: Into<u64> + TryFrom<u64> + Default>(old: T, limit: T) -> T {
    let (old, limit) = (old.into(), limit.into());
    T::try_from(if old == 0 || old > limit { limit } else { old - 1 }).unwrap_or_default()
}

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Update {
    /// Wrapping, or floating-point, addition.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The operand, whatever was there.
    Exch,
    /// The second operand, if what was there equals the first.
    Cas,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// See [`inc`].
    Inc,
    /// See [`dec`].
    Dec,
}

/// An update of an integer, or of untyped bits, of `bits` (8 to 128) in the low bits of `old`, `b` and `c`. Bits above do not count and are
/// zero in the result.
#[inline(always)]
pub fn integer(update: Update, bits: u32, signed: bool, old: u128, b: u128, c: u128) -> u128 {
    let unused = 128 - bits;
    let value = |bits: u128| bits << unused >> unused;
    let number = |bits: u128| (bits << unused) as i128 >> unused;
    let (old, b) = (value(old), value(b));
    let below = if signed { number(old) < number(b) } else { old < b };
    let narrow = |counted: u64| u128::from(counted);
    value(match update {
        Update::Add => old.wrapping_add(b),
        Update::And => old & b,
        Update::Or => old | b,
        Update::Xor => old ^ b,
        Update::Exch => b,
        Update::Cas if old == b => c,
        Update::Cas => old,
        Update::Min => {
            if below {
                old
            } else {
                b
            }
        }
        Update::Max => {
            if below {
                b
            } else {
                old
            }
        }
        Update::Inc => narrow(inc(old as u64, b as u64)),
        Update::Dec => narrow(dec(old as u64, b as u64)),
    })
}

/// `add.f32`. On global memory the hardware flushes subnormal operands and results to zeros of their sign; on shared memory it does not. So
/// recorded, and so the manual says; the instruction has no `.ftz` to ask for it, but `.noftz` since PTX ISA 9.4.
#[inline(always)]
pub fn add_f32(old: u32, b: u32, flushes: bool) -> u32 {
    float::add(f32::from_bits(old), f32::from_bits(b), Rounding::Nearest, flushes, false).to_bits()
}

/// `add.f64`: subnormal numbers stay.
#[inline(always)]
pub fn add_f64(old: u64, b: u64) -> u64 {
    double::add(f64::from_bits(old), f64::from_bits(b), Rounding::Nearest).to_bits()
}

/// `add.noftz`, `min.noftz` and `max.noftz` of `.f16` and `.f16x2`; of a single one the upper half is zero on both sides, and stays so.
#[inline(always)]
pub fn f16x2(update: Update, old: u32, b: u32) -> u32 {
    halves::<F16>(update, old, b)
}

/// As [`f16x2`], of `.bf16` and `.bf16x2`.
#[inline(always)]
pub fn bf16x2(update: Update, old: u32, b: u32) -> u32 {
    halves::<Bf16>(update, old, b)
}

#[inline(always)]
fn halves<F: Format>(update: Update, old: u32, b: u32) -> u32 {
    let how = Extremum { max: update == Update::Max, ..Extremum::default() };
    half::pair2(old, b, |old, b| match update {
        Update::Add => half::add::<F>(old, b, Modifiers::default()),
        _ => half::extremum::<F>(old, b, how),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_start_again() {
        assert_eq!([0u32, 4, 5, 9].map(|old| inc(old, 5)), [1, 5, 0, 0]);
        assert_eq!([0u32, 4, 5, 9].map(|old| dec(old, 5)), [5, 3, 4, 5]);
        assert_eq!((inc(u64::MAX, u64::MAX), dec(0, u64::MAX)), (0, u64::MAX));
    }

    #[test]
    fn bits_above_the_type_do_not_count() {
        let high = 7u128 << 32;
        assert_eq!(integer(Update::Add, 32, false, high | 0xffff_ffff, high | 1, 0), 0);
        assert_eq!(integer(Update::Cas, 16, false, high | 0x1_0005, 5, 0x2_0006), 6);
        assert_eq!(integer(Update::Min, 32, true, 0xffff_ffff, 1, 0), 0xffff_ffff);
        assert_eq!(integer(Update::Min, 32, false, 0xffff_ffff, 1, 0), 1);
        assert_eq!(integer(Update::Max, 64, true, 0x8000_0000_0000_0000, 3, 0), 3);
    }

    #[test]
    fn only_global_addition_flushes() {
        let (tiny, normal) = (0x0000_0001, 0x0080_0000);
        assert_eq!(add_f32(tiny, tiny, true), 0);
        assert_eq!(add_f32(tiny, tiny, false), 2);
        assert_eq!(add_f32(0x8000_0001, 0x8000_0000, true), 0x8000_0000);
        assert_eq!(add_f32(normal, 0x8080_0001, true), 0x8000_0000);
        assert_eq!(f16x2(Update::Add, 0x0001_0001, 0x0001_0002), 0x0002_0003);
    }
}
