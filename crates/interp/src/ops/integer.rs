//! Integer arithmetic (PTX ISA 9.7.1), without the extended-precision forms (see `extended`).

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
                MulHiU(a: $unsigned, b: $unsigned) -> $unsigned { a.widening_high(b) }
                MulHiS(a: $signed, b: $signed) -> $signed { a.widening_high(b) }
                MadHiU(a: $unsigned, b: $unsigned, c: $unsigned) -> $unsigned { a.widening_high(b).wrapping_add(c) }
                MadHiS(a: $signed, b: $signed, c: $signed) -> $signed { a.widening_high(b).wrapping_add(c) }
                SadU(a: $unsigned, b: $unsigned, c: $unsigned) -> $unsigned { c.wrapping_add(a.abs_diff(b)) }
                SadS(a: $signed, b: $signed, c: $unsigned) -> $unsigned { c.wrapping_add(a.abs_diff(b)) }
                /// By zero: all ones, as recorded on hardware (the manual leaves it open).
                DivU(a: $unsigned, b: $unsigned) -> $unsigned { a.checked_div(b).unwrap_or(<$unsigned>::MAX) }
                DivS(a: $signed, b: $signed) -> $signed { if b == 0 { -1 } else { a.wrapping_div(b) } }
                RemU(a: $unsigned, b: $unsigned) -> $unsigned { a.checked_rem(b).unwrap_or(a) }
                RemS(a: $signed, b: $signed) -> $signed { if b == 0 { a } else { a.wrapping_rem(b) } }
                Abs(a: $signed) -> $signed { a.wrapping_abs() }
                Neg(a: $signed) -> $signed { a.wrapping_neg() }
                MinU(a: $unsigned, b: $unsigned) -> $unsigned { a.min(b) }
                MinS(a: $signed, b: $signed) -> $signed { a.min(b) }
                MaxU(a: $unsigned, b: $unsigned) -> $unsigned { a.max(b) }
                MaxS(a: $signed, b: $signed) -> $signed { a.max(b) }
                MinReluS(a: $signed, b: $signed) -> $signed { a.min(b).max(0) }
                MaxReluS(a: $signed, b: $signed) -> $signed { a.max(b).max(0) }
                Popc(a: $unsigned) -> u32 { a.count_ones() }
                Clz(a: $unsigned) -> u32 { a.leading_zeros() }
                BfindU(a: $unsigned) -> u32 { if a == 0 { u32::MAX } else { $bits - 1 - a.leading_zeros() } }
                BfindShiftU(a: $unsigned) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
                BfindS(a: $signed) -> u32 { find_signed((if a < 0 { !a } else { a }).leading_zeros(), $bits, false) }
                BfindShiftS(a: $signed) -> u32 { find_signed((if a < 0 { !a } else { a }).leading_zeros(), $bits, true) }
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

/// The high half of a product.
trait WideningHigh {
    fn widening_high(self, other: Self) -> Self;
}

macro_rules! widening_high {
    ($($narrow:ty, $wide:ty;)*) => {$(
        impl WideningHigh for $narrow {
            #[inline(always)]
            fn widening_high(self, other: Self) -> Self {
                ((<$wide>::from(self) * <$wide>::from(other)) >> <$narrow>::BITS) as $narrow
            }
        }
    )*};
}

widening_high! { u16, u32; i16, i32; u32, u64; i32, i64; u64, u128; i64, i128; }

lane_ops! {
    MulWideU16(a: u16, b: u16) -> u32 { u32::from(a) * u32::from(b) }
    MulWideS16(a: i16, b: i16) -> i32 { i32::from(a) * i32::from(b) }
    MulWideU32(a: u32, b: u32) -> u64 { u64::from(a) * u64::from(b) }
    MulWideS32(a: i32, b: i32) -> i64 { i64::from(a) * i64::from(b) }
    MadWideU16(a: u16, b: u16, c: u32) -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }
    MadWideS16(a: i16, b: i16, c: i32) -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) }
    MadWideU32(a: u32, b: u32, c: u64) -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) }
    MadWideS32(a: i32, b: i32, c: i64) -> i64 { (i64::from(a) * i64::from(b)).wrapping_add(c) }

    AddSatS32(a: i32, b: i32) -> i32 { a.saturating_add(b) }
    SubSatS32(a: i32, b: i32) -> i32 { a.saturating_sub(b) }
    MadHiSatS32(a: i32, b: i32, c: i32) -> i32 { a.widening_high(b).saturating_add(c) }

    Mul24LoU(a: u32, b: u32) -> u32 { low24(a).wrapping_mul(low24(b)) as u32 }
    Mul24LoS(a: u32, b: u32) -> u32 { low24s(a).wrapping_mul(low24s(b)) as u32 }
    Mul24HiU(a: u32, b: u32) -> u32 { ((low24(a) * low24(b)) >> 16) as u32 }
    Mul24HiS(a: u32, b: u32) -> u32 { ((low24s(a) * low24s(b)) >> 16) as u32 }
    Mad24LoU(a: u32, b: u32, c: u32) -> u32 { (low24(a).wrapping_mul(low24(b)) as u32).wrapping_add(c) }
    Mad24LoS(a: u32, b: u32, c: u32) -> u32 { (low24s(a).wrapping_mul(low24s(b)) as u32).wrapping_add(c) }
    Mad24HiU(a: u32, b: u32, c: u32) -> u32 { (((low24(a) * low24(b)) >> 16) as u32).wrapping_add(c) }
    Mad24HiS(a: u32, b: u32, c: u32) -> u32 { (((low24s(a) * low24s(b)) >> 16) as u32).wrapping_add(c) }
    Mad24HiSatS(a: u32, b: u32, c: i32) -> i32 { (((low24s(a) * low24s(b)) >> 16) as i32).saturating_add(c) }

    AddX2(a: u32, b: u32) -> u32 { each_half(a, b, u16::wrapping_add) }
    MinU16x2(a: u32, b: u32) -> u32 { each_half(a, b, u16::min) }
    MaxU16x2(a: u32, b: u32) -> u32 { each_half(a, b, u16::max) }
    MinS16x2(a: u32, b: u32) -> u32 { each_half(a, b, |a, b| (a as i16).min(b as i16) as u16) }
    MaxS16x2(a: u32, b: u32) -> u32 { each_half(a, b, |a, b| (a as i16).max(b as i16) as u16) }
    MinReluS16x2(a: u32, b: u32) -> u32 { each_half(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16) }
    MaxReluS16x2(a: u32, b: u32) -> u32 { each_half(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16) }

    /// The position of the `c`-th set bit from position `b` (PTX ISA 9.7.1.17).
    Fns(a: u32, b: u32, c: i32) -> u32 { find_nth_set(a, b, c) }
    BfeU32(a: u32, b: u32, c: u32) -> u32 { extract(u64::from(a), b, c, 32) as u32 }
    BfeS32(a: i32, b: u32, c: u32) -> i32 { extract_signed(i64::from(a), b, c, 32) as i32 }
    BfeU64(a: u64, b: u32, c: u32) -> u64 { extract(a, b, c, 64) }
    BfeS64(a: i64, b: u32, c: u32) -> i64 { extract_signed(a, b, c, 64) }
    Bfi32(a: u32, b: u32, c: u32, x: u32) -> u32 { insert(u64::from(a), u64::from(b), c & 0xff, x & 0xff, 32) as u32 }
    Bfi64(a: u64, b: u64, c: u32, x: u32) -> u64 { insert(a, b, c, x, 64) }
    SzextClampU(a: u32, b: u32) -> u32 { if b >= 32 { a } else { a & low_bits(b) } }
    SzextWrapU(a: u32, b: u32) -> u32 { a & low_bits(b % 32) }
    SzextClampS(a: u32, b: u32) -> u32 { sign_extend(a, b) }
    SzextWrapS(a: u32, b: u32) -> u32 { sign_extend(a, b % 32) }
    BmskClamp(a: u32, b: u32) -> u32 { if a >= 32 { 0 } else { low_bits(b.min(32)) << a } }
    BmskWrap(a: u32, b: u32) -> u32 { low_bits(b % 32) << (a % 32) }

    Dp4aUU(a: u32, b: u32, c: u32) -> u32 { dot4(a, b, c, false, false) }
    Dp4aUS(a: u32, b: u32, c: u32) -> u32 { dot4(a, b, c, false, true) }
    Dp4aSU(a: u32, b: u32, c: u32) -> u32 { dot4(a, b, c, true, false) }
    Dp4aSS(a: u32, b: u32, c: u32) -> u32 { dot4(a, b, c, true, true) }
    Dp2aLoUU(a: u32, b: u32, c: u32) -> u32 { dot2(a, b, c, false, false) }
    Dp2aLoUS(a: u32, b: u32, c: u32) -> u32 { dot2(a, b, c, false, true) }
    Dp2aLoSU(a: u32, b: u32, c: u32) -> u32 { dot2(a, b, c, true, false) }
    Dp2aLoSS(a: u32, b: u32, c: u32) -> u32 { dot2(a, b, c, true, true) }
    Dp2aHiUU(a: u32, b: u32, c: u32) -> u32 { dot2(a, b >> 16, c, false, false) }
    Dp2aHiUS(a: u32, b: u32, c: u32) -> u32 { dot2(a, b >> 16, c, false, true) }
    Dp2aHiSU(a: u32, b: u32, c: u32) -> u32 { dot2(a, b >> 16, c, true, false) }
    Dp2aHiSS(a: u32, b: u32, c: u32) -> u32 { dot2(a, b >> 16, c, true, true) }
}

#[inline(always)]
fn low24(a: u32) -> u64 {
    u64::from(a & 0xff_ffff)
}

#[inline(always)]
fn low24s(a: u32) -> i64 {
    i64::from((a << 8) as i32 >> 8)
}

#[inline(always)]
fn each_half(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

#[inline(always)]
fn find_signed(leading: u32, bits: u32, shift: bool) -> u32 {
    if leading == bits {
        u32::MAX
    } else if shift {
        leading
    } else {
        bits - 1 - leading
    }
}

/// `width` ones.
#[inline(always)]
fn low_bits(width: u32) -> u32 {
    if width >= 32 { u32::MAX } else { (1 << width) - 1 }
}

#[inline(always)]
fn sign_extend(a: u32, width: u32) -> u32 {
    match width {
        0 => 0,
        32.. => a,
        _ => ((a << (32 - width)) as i32 >> (32 - width)) as u32,
    }
}

/// `bfe` on unsigned values (PTX ISA 9.7.1.19): position and length are the low 8 bits of their operands.
#[inline(always)]
fn extract(a: u64, position: u32, length: u32, bits: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let shifted = if position >= bits { 0 } else { a >> position };
    if length >= 64 { shifted } else { shifted & ((1 << length) - 1) }
}

/// `bfe` on signed values: bits above the field, or above the most significant one, repeat the field's sign.
#[inline(always)]
fn extract_signed(a: i64, position: u32, length: u32, bits: u32) -> i64 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let shifted = a >> position.min(bits - 1);
    let drop = 64 - length.min(64);
    if position + length >= bits { shifted } else { shifted << drop >> drop }
}

/// `bfi` (PTX ISA 9.7.1.20): the low `length` bits of `a` replace those of `b` from `position` on. The manual restricts both to 0..255
/// and hardware takes the low 8 bits of them for `.b32`, but all 32 bits for `.b64`, as recorded.
#[inline(always)]
fn insert(a: u64, b: u64, position: u32, length: u32, bits: u32) -> u64 {
    if position >= bits {
        return b;
    }
    let field = (if length >= 64 { u64::MAX } else { (1 << length) - 1 }) << position;
    a << position & field | b & !field
}

#[inline(always)]
fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if offset == 0 {
        return if mask >> base & 1 != 0 { base } else { u32::MAX };
    }
    let (step, mut left) = if offset > 0 { (1, offset) } else { (-1, offset.wrapping_neg()) };
    let mut position = base as i32;
    while (0..32).contains(&position) {
        if mask >> position & 1 != 0 {
            left = left.wrapping_sub(1);
            if left == 0 {
                return position as u32;
            }
        }
        position += step;
    }
    u32::MAX
}

#[inline(always)]
fn dot4(a: u32, b: u32, c: u32, signed_a: bool, signed_b: bool) -> u32 {
    (0..4).fold(c, |sum, index| {
        let (a, b) = ((a >> (8 * index)) as u8, (b >> (8 * index)) as u8);
        sum.wrapping_add(widen8(a, signed_a).wrapping_mul(widen8(b, signed_b)))
    })
}

#[inline(always)]
fn dot2(a: u32, b: u32, c: u32, signed_a: bool, signed_b: bool) -> u32 {
    (0..2).fold(c, |sum, index| {
        let half = (a >> (16 * index)) as u16;
        let half = if signed_a { half as i16 as u32 } else { u32::from(half) };
        sum.wrapping_add(half.wrapping_mul(widen8((b >> (8 * index)) as u8, signed_b)))
    })
}

#[inline(always)]
fn widen8(value: u8, signed: bool) -> u32 {
    if signed { value as i8 as u32 } else { u32::from(value) }
}
