//! Integer arithmetic (PTX ISA 9.7.1), without the extended-precision forms (see `extended`).

use warploom_numerics::integer;

use crate::lane::lane_ops;

macro_rules! integers {
    ($(#[$doc:meta])* $module:ident, $signed:ty, $unsigned:ty, $bits:expr) => {
        $(#[$doc])*
        pub(crate) mod $module {
            use super::*;

            lane_ops! {
                Add(a: $unsigned, b: $unsigned) -> $unsigned { a.wrapping_add(b) }
                Sub(a: $unsigned, b: $unsigned) -> $unsigned { a.wrapping_sub(b) }
                MulLo(a: $unsigned, b: $unsigned) -> $unsigned { a.wrapping_mul(b) }
                MadLo(a: $unsigned, b: $unsigned, c: $unsigned) -> $unsigned { a.wrapping_mul(b).wrapping_add(c) }
                MulHiU(a: $unsigned, b: $unsigned) -> $unsigned { integer::mul_high(a, b) }
                MulHiS(a: $signed, b: $signed) -> $signed { integer::mul_high(a, b) }
                MadHiU(a: $unsigned, b: $unsigned, c: $unsigned) -> $unsigned { integer::mul_high(a, b).wrapping_add(c) }
                MadHiS(a: $signed, b: $signed, c: $signed) -> $signed { integer::mul_high(a, b).wrapping_add(c) }
                SadU(a: $unsigned, b: $unsigned, c: $unsigned) -> $unsigned { integer::sad(a, b, c) }
                SadS(a: $signed, b: $signed, c: $signed) -> $signed { integer::sad(a, b, c) }
                DivU(a: $unsigned, b: $unsigned) -> $unsigned { integer::div(a, b) }
                DivS(a: $signed, b: $signed) -> $signed { integer::div(a, b) }
                RemU(a: $unsigned, b: $unsigned) -> $unsigned { integer::rem(a, b) }
                RemS(a: $signed, b: $signed) -> $signed { integer::rem(a, b) }
                Abs(a: $signed) -> $signed { a.wrapping_abs() }
                Neg(a: $signed) -> $signed { a.wrapping_neg() }
                MinU(a: $unsigned, b: $unsigned) -> $unsigned { a.min(b) }
                MinS(a: $signed, b: $signed) -> $signed { a.min(b) }
                MaxU(a: $unsigned, b: $unsigned) -> $unsigned { a.max(b) }
                MaxS(a: $signed, b: $signed) -> $signed { a.max(b) }
                Popc(a: $unsigned) -> u32 { a.count_ones() }
                Clz(a: $unsigned) -> u32 { a.leading_zeros() }
                BfindU(a: $unsigned) -> u32 { integer::bfind(a, false) }
                BfindShiftU(a: $unsigned) -> u32 { integer::bfind(a, true) }
                BfindS(a: $signed) -> u32 { integer::bfind(a, false) }
                BfindShiftS(a: $signed) -> u32 { integer::bfind(a, true) }
                Brev(a: $unsigned) -> $unsigned { a.reverse_bits() }
            }
        }
    };
}

integers!(
    /// 16-bit types.
    w16, i16, u16, 16
);
integers!(
    /// 32-bit types.
    w32, i32, u32, 32
);
integers!(
    /// 64-bit types.
    w64, i64, u64, 64
);

lane_ops! {
    MulWideU16(a: u16, b: u16) -> u32 { u32::from(a) * u32::from(b) }
    MulWideS16(a: i16, b: i16) -> i32 { i32::from(a) * i32::from(b) }
    MulWideU32(a: u32, b: u32) -> u64 { u64::from(a) * u64::from(b) }
    MulWideS32(a: i32, b: i32) -> i64 { i64::from(a) * i64::from(b) }
    MadWideU16(a: u16, b: u16, c: u32) -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }
    MadWideS16(a: i16, b: i16, c: i32) -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) }
    MadWideU32(a: u32, b: u32, c: u64) -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) }
    MadWideS32(a: i32, b: i32, c: i64) -> i64 { (i64::from(a) * i64::from(b)).wrapping_add(c) }

    MinReluS32(a: i32, b: i32) -> i32 { a.min(b).max(0) }
    MaxReluS32(a: i32, b: i32) -> i32 { a.max(b).max(0) }
    AddSatS32(a: i32, b: i32) -> i32 { integer::add_sat(a, b) }
    SubSatS32(a: i32, b: i32) -> i32 { integer::sub_sat(a, b) }
    AddSatU32(a: u32, b: u32) -> u32 { integer::add_sat(a, b) }
    MadHiSatS32(a: i32, b: i32, c: i32) -> i32 { integer::mad_high_sat(a, b, c) }

    ClmadLo(a: u64, b: u64, c: u64) -> u64 { integer::carryless(a, b) as u64 ^ c }
    ClmadHi(a: u64, b: u64, c: u64) -> u64 { (integer::carryless(a, b) >> 64) as u64 ^ c }

    Mul24LoU(a: u32, b: u32) -> u32 { integer::mul24(a, b, false, false) }
    Mul24LoS(a: u32, b: u32) -> u32 { integer::mul24(a, b, true, false) }
    Mul24HiU(a: u32, b: u32) -> u32 { integer::mul24(a, b, false, true) }
    Mul24HiS(a: u32, b: u32) -> u32 { integer::mul24(a, b, true, true) }
    Mad24LoU(a: u32, b: u32, c: u32) -> u32 { integer::mul24(a, b, false, false).wrapping_add(c) }
    Mad24LoS(a: u32, b: u32, c: u32) -> u32 { integer::mul24(a, b, true, false).wrapping_add(c) }
    Mad24HiU(a: u32, b: u32, c: u32) -> u32 { integer::mul24(a, b, false, true).wrapping_add(c) }
    Mad24HiS(a: u32, b: u32, c: u32) -> u32 { integer::mul24(a, b, true, true).wrapping_add(c) }
    Mad24HiSatS(a: u32, b: u32, c: i32) -> i32 { integer::mad24_high_sat(a, b, c) }

    AddX2(a: u32, b: u32) -> u32 { integer::halves(a, b, u16::wrapping_add) }
    AddSatU16x2(a: u32, b: u32) -> u32 { integer::halves(a, b, integer::add_sat) }
    AddSatS16x2(a: u32, b: u32) -> u32 { integer::halves(a, b, |a, b| integer::add_sat(a as i16, b as i16) as u16) }
    MinU16x2(a: u32, b: u32) -> u32 { integer::halves(a, b, u16::min) }
    MaxU16x2(a: u32, b: u32) -> u32 { integer::halves(a, b, u16::max) }
    MinS16x2(a: u32, b: u32) -> u32 { integer::halves(a, b, |a, b| (a as i16).min(b as i16) as u16) }
    MaxS16x2(a: u32, b: u32) -> u32 { integer::halves(a, b, |a, b| (a as i16).max(b as i16) as u16) }
    MinReluS16x2(a: u32, b: u32) -> u32 { integer::halves(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16) }
    MaxReluS16x2(a: u32, b: u32) -> u32 { integer::halves(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16) }

    AddX4(a: u32, b: u32) -> u32 { integer::bytes(a, b, u8::wrapping_add) }
    SubX4(a: u32, b: u32) -> u32 { integer::bytes(a, b, u8::wrapping_sub) }
    AddSatU8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, u8::saturating_add) }
    AddSatS8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, |a, b| (a as i8).saturating_add(b as i8) as u8) }
    SubSatU8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, u8::saturating_sub) }
    SubSatS8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, |a, b| (a as i8).saturating_sub(b as i8) as u8) }
    MinU8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, u8::min) }
    MaxU8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, u8::max) }
    MinS8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, |a, b| (a as i8).min(b as i8) as u8) }
    MaxS8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, |a, b| (a as i8).max(b as i8) as u8) }
    MinReluS8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, |a, b| (a as i8).min(b as i8).max(0) as u8) }
    MaxReluS8x4(a: u32, b: u32) -> u32 { integer::bytes(a, b, |a, b| (a as i8).max(b as i8).max(0) as u8) }

    Fns(a: u32, b: u32, c: i32) -> u32 { integer::fns(a, b, c) }
    BfeU32(a: u32, b: u32, c: u32) -> u32 { integer::bfe(a, b, c) }
    BfeS32(a: i32, b: u32, c: u32) -> i32 { integer::bfe(a, b, c) }
    BfeU64(a: u64, b: u32, c: u32) -> u64 { integer::bfe(a, b, c) }
    BfeS64(a: i64, b: u32, c: u32) -> i64 { integer::bfe(a, b, c) }
    Bfi32(a: u32, b: u32, c: u32, x: u32) -> u32 { integer::bfi32(a, b, c, x) }
    Bfi64(a: u64, b: u64, c: u32, x: u32) -> u64 { integer::bfi64(a, b, c, x) }
    SzextClampU(a: u32, b: u32) -> u32 { integer::szext(a, b, false, false) }
    SzextWrapU(a: u32, b: u32) -> u32 { integer::szext(a, b, false, true) }
    SzextClampS(a: u32, b: u32) -> u32 { integer::szext(a, b, true, false) }
    SzextWrapS(a: u32, b: u32) -> u32 { integer::szext(a, b, true, true) }
    BmskClamp(a: u32, b: u32) -> u32 { integer::bmsk(a, b, false) }
    BmskWrap(a: u32, b: u32) -> u32 { integer::bmsk(a, b, true) }

    Dp4aUU(a: u32, b: u32, c: u32) -> u32 { integer::dp4a(a, b, c, false, false) }
    Dp4aUS(a: u32, b: u32, c: u32) -> u32 { integer::dp4a(a, b, c, false, true) }
    Dp4aSU(a: u32, b: u32, c: u32) -> u32 { integer::dp4a(a, b, c, true, false) }
    Dp4aSS(a: u32, b: u32, c: u32) -> u32 { integer::dp4a(a, b, c, true, true) }
    Dp2aLoUU(a: u32, b: u32, c: u32) -> u32 { integer::dp2a(a, b, c, false, false, false) }
    Dp2aLoUS(a: u32, b: u32, c: u32) -> u32 { integer::dp2a(a, b, c, false, true, false) }
    Dp2aLoSU(a: u32, b: u32, c: u32) -> u32 { integer::dp2a(a, b, c, true, false, false) }
    Dp2aLoSS(a: u32, b: u32, c: u32) -> u32 { integer::dp2a(a, b, c, true, true, false) }
    Dp2aHiUU(a: u32, b: u32, c: u32) -> u32 { integer::dp2a(a, b, c, false, false, true) }
    Dp2aHiUS(a: u32, b: u32, c: u32) -> u32 { integer::dp2a(a, b, c, false, true, true) }
    Dp2aHiSU(a: u32, b: u32, c: u32) -> u32 { integer::dp2a(a, b, c, true, false, true) }
    Dp2aHiSS(a: u32, b: u32, c: u32) -> u32 { integer::dp2a(a, b, c, true, true, true) }
}
