//! Half precision arithmetic (PTX ISA 9.7.4), scalar and packed.

use warploom_numerics::format::{Bf16, F16};
use warploom_numerics::half;

use crate::ops::modes::functions;

macro_rules! halves {
    ($(#[$doc:meta])* $single:ident, $(#[$doc2:meta])* $packed:ident, $format:ty) => {
        $(#[$doc])*
        pub(crate) mod $single {
            use super::*;

            functions! {
                Add(a: u16, b: u16; how) -> u16 { half::add::<$format>(a, b, how.half()) }
                Sub(a: u16, b: u16; how) -> u16 { half::sub::<$format>(a, b, how.half()) }
                Mul(a: u16, b: u16; how) -> u16 { half::mul::<$format>(a, b, how.half()) }
                Fma(a: u16, b: u16, c: u16; how) -> u16 { half::fma::<$format>(a, b, c, how.half()) }
                FmaOob(a: u16, b: u16, c: u16; how) -> u16 { half::fma_oob::<$format>(a, b, c, how.half()) }
                Abs(a: u16; how) -> u16 { half::abs::<$format>(a, how.ftz()) }
                Neg(a: u16; how) -> u16 { half::neg::<$format>(a, how.ftz()) }
                Extremum(a: u16, b: u16; how) -> u16 { half::extremum::<$format>(a, b, how.extremum()) }
                Ex2(a: u16; how) -> u16 { half::ex2::<$format>(a, how.ftz()) }
                Tanh(a: u16; how) -> u16 { half::tanh::<$format>(a) }
            }
        }

        $(#[$doc2])*
        pub(crate) mod $packed {
            use super::*;

            functions! {
                Add(a: u32, b: u32; how) -> u32 { half::pair2(a, b, |a, b| half::add::<$format>(a, b, how.half())) }
                Sub(a: u32, b: u32; how) -> u32 { half::pair2(a, b, |a, b| half::sub::<$format>(a, b, how.half())) }
                Mul(a: u32, b: u32; how) -> u32 { half::pair2(a, b, |a, b| half::mul::<$format>(a, b, how.half())) }
                Fma(a: u32, b: u32, c: u32; how) -> u32 {
                    half::pair3(a, b, c, |a, b, c| half::fma::<$format>(a, b, c, how.half()))
                }
                FmaOob(a: u32, b: u32, c: u32; how) -> u32 {
                    half::pair3(a, b, c, |a, b, c| half::fma_oob::<$format>(a, b, c, how.half()))
                }
                Abs(a: u32; how) -> u32 { half::pair1(a, |a| half::abs::<$format>(a, how.ftz())) }
                Neg(a: u32; how) -> u32 { half::pair1(a, |a| half::neg::<$format>(a, how.ftz())) }
                Extremum(a: u32, b: u32; how) -> u32 {
                    half::pair2(a, b, |a, b| half::extremum::<$format>(a, b, how.extremum()))
                }
                Ex2(a: u32; how) -> u32 { half::pair1(a, |a| half::ex2::<$format>(a, how.ftz())) }
                Tanh(a: u32; how) -> u32 { half::pair1(a, |a| half::tanh::<$format>(a)) }
            }
        }
    };
}

halves!(
    /// `.f16`
    f16,
    /// `.f16x2`
    f16x2,
    F16
);
halves!(
    /// `.bf16`
    bf16,
    /// `.bf16x2`
    bf16x2,
    Bf16
);
