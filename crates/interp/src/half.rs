//! Value types whose order is not that of a host type: halves, and floats whose subnormals count as zero.

use std::cmp::Ordering;

use warploom_numerics::{float, format, half};

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
