//! Value types whose order is not that of a host type: halves, and floats whose subnormals count as zero.

use std::cmp::Ordering;

use warploom_numerics::float::Extremum;
use warploom_numerics::format::{self, Format};
use warploom_numerics::half::Modifiers;
use warploom_numerics::{Rounding, double, float, half};
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
    F16 |row| half::value::<format::F16>(row as u16, false);
    /// `.f16` under `.ftz`
    FlushedF16 |row| half::value::<format::F16>(row as u16, true);
    /// `.bf16`
    Bf16 |row| f32::from_bits(row << 16);
    /// `.f32` under `.ftz`
    FlushedF32 |row| float::flush(f32::from_bits(row), true);
}

/// `atom.add`, `.min`, `.max` on floating-point types (PTX ISA 9.7.13.5). Subnormals stay, except in `atom.add.f32` on global memory.
pub(crate) fn atomic_float(op: AtomicOp, ty: ScalarType, old: u128, b: u128) -> u128 {
    let (old64, b64) = (old as u64, b as u64);
    match ty {
        ScalarType::F64 => {
            u128::from(double::add(f64::from_bits(old64), f64::from_bits(b64), Rounding::Nearest).to_bits())
        }
        ScalarType::F32 => {
            let sum =
                float::add(f32::from_bits(old64 as u32), f32::from_bits(b64 as u32), Rounding::Nearest, false, false);
            u128::from(sum.to_bits())
        }
        ScalarType::Bf16 | ScalarType::Bf16x2 => halves::<format::Bf16>(op, old, b),
        _ => halves::<format::F16>(op, old, b),
    }
}

/// A half or a pair: the upper half of a single one is zero on both sides, and stays so.
fn halves<F: Format>(op: AtomicOp, old: u128, b: u128) -> u128 {
    let how = Extremum { max: op == AtomicOp::Max, ..Extremum::default() };
    u128::from(half::pair2(old as u32, b as u32, |old, b| match op {
        AtomicOp::Add => half::add::<F>(old, b, Modifiers::default()),
        _ => half::extremum::<F>(old, b, how),
    }))
}
