//! Conversions (PTX ISA 9.7.9.21, 9.7.9.22). Results narrower than 32 bits are extended to 32 bits by their type.

use warploom_numerics::Rounding;
use warploom_numerics::convert;
use warploom_numerics::float::flush;
use warploom_numerics::format::{Bf16, E2m1, E2m3, E3m2, E4m3, E5m2, F16, Format, widen};

use crate::lane::lane_ops;
use crate::ops::modes::{How, functions};

lane_ops! {
    ZeroExtend8(a: u8) -> u32 { u32::from(a) }
    SignExtend8(a: i8) -> i32 { i32::from(a) }
    SignExtend16(a: i16) -> i32 { i32::from(a) }

    F32FromF16(a: u16) -> f32 { widen::<F16>(u32::from(a)) }
    F32FromBf16(a: u16) -> f32 { widen::<Bf16>(u32::from(a)) }

    // `.sat` between integers: from the value in 64 bits.
    SaturateU8FromS64(a: i64) -> u32 { u32::from(<u8 as convert::Integer>::from_i64(a)) }
    SaturateS8FromS64(a: i64) -> i32 { i32::from(<i8 as convert::Integer>::from_i64(a)) }
    SaturateU16FromS64(a: i64) -> u32 { u32::from(<u16 as convert::Integer>::from_i64(a)) }
    SaturateS16FromS64(a: i64) -> i32 { i32::from(<i16 as convert::Integer>::from_i64(a)) }
    SaturateU32FromS64(a: i64) -> u32 { convert::Integer::from_i64(a) }
    SaturateS32FromS64(a: i64) -> i32 { convert::Integer::from_i64(a) }
    SaturateU64FromS64(a: i64) -> u64 { convert::Integer::from_i64(a) }
    SaturateU8FromU64(a: u64) -> u32 { u32::from(<u8 as convert::Integer>::from_u64(a)) }
    SaturateS8FromU64(a: u64) -> i32 { i32::from(<i8 as convert::Integer>::from_u64(a)) }
    SaturateU16FromU64(a: u64) -> u32 { u32::from(<u16 as convert::Integer>::from_u64(a)) }
    SaturateS16FromU64(a: u64) -> i32 { i32::from(<i16 as convert::Integer>::from_u64(a)) }
    SaturateU32FromU64(a: u64) -> u32 { convert::Integer::from_u64(a) }
    SaturateS32FromU64(a: u64) -> i32 { convert::Integer::from_u64(a) }
    SaturateS64FromU64(a: u64) -> i64 { convert::Integer::from_u64(a) }

    /// `cvt.pack`: `imm` is the width of an element, negative for signed ones.
    Pack(a: i32, b: i32, c: u32; imm) -> u32 {
        let bits = imm as i32;
        convert::pack(a, b, c, bits.unsigned_abs(), bits < 0)
    }

    Bf16x2FromUe8m0x2(a: u16) -> u32 {
        u32::from(convert::bf16_from_ue8m0((a >> 8) as u8)) << 16 | u32::from(convert::bf16_from_ue8m0(a as u8))
    }
}

#[inline(always)]
fn bf16_high(pair: u32) -> f32 {
    f32::from_bits(pair & 0xffff_0000)
}

#[inline(always)]
fn bf16_low(pair: u32) -> f32 {
    f32::from_bits(pair << 16)
}

/// A pair of scales.
#[inline(always)]
fn ue8m0x2(high: f32, low: f32, how: How) -> u32 {
    let scale = |value| u32::from(convert::to_ue8m0(value, how.rounding == Rounding::Up, how.satfinite));
    scale(high) << 8 | scale(low)
}

functions! {
    Ue8m0x2FromBf16x2(a: u32; how) -> u32 { ue8m0x2(bf16_high(a), bf16_low(a), how) }
    Ue8m0x2FromF32(a: f32, b: f32; how) -> u32 { ue8m0x2(a, b, how) }

    U8FromF32(a: f32; how) -> u32 { u32::from(convert::integer_from_f32::<u8>(flush(a, how.ftz), how.rounding)) }
    S8FromF32(a: f32; how) -> i32 { i32::from(convert::integer_from_f32::<i8>(flush(a, how.ftz), how.rounding)) }
    U16FromF32(a: f32; how) -> u32 { u32::from(convert::integer_from_f32::<u16>(flush(a, how.ftz), how.rounding)) }
    S16FromF32(a: f32; how) -> i32 { i32::from(convert::integer_from_f32::<i16>(flush(a, how.ftz), how.rounding)) }
    U32FromF32(a: f32; how) -> u32 { convert::integer_from_f32(flush(a, how.ftz), how.rounding) }
    S32FromF32(a: f32; how) -> i32 { convert::integer_from_f32(flush(a, how.ftz), how.rounding) }
    U64FromF32(a: f32; how) -> u64 { convert::integer_from_f32(flush(a, how.ftz), how.rounding) }
    S64FromF32(a: f32; how) -> i64 { convert::integer_from_f32(flush(a, how.ftz), how.rounding) }

    U8FromF64(a: f64; how) -> u32 { u32::from(convert::integer_from_f64::<u8>(a, how.rounding)) }
    S8FromF64(a: f64; how) -> i32 { i32::from(convert::integer_from_f64::<i8>(a, how.rounding)) }
    U16FromF64(a: f64; how) -> u32 { u32::from(convert::integer_from_f64::<u16>(a, how.rounding)) }
    S16FromF64(a: f64; how) -> i32 { i32::from(convert::integer_from_f64::<i16>(a, how.rounding)) }
    U32FromF64(a: f64; how) -> u32 { convert::integer_from_f64(a, how.rounding) }
    S32FromF64(a: f64; how) -> i32 { convert::integer_from_f64(a, how.rounding) }
    U64FromF64(a: f64; how) -> u64 { convert::integer_from_f64(a, how.rounding) }
    S64FromF64(a: f64; how) -> i64 { convert::integer_from_f64(a, how.rounding) }

    F32FromU32(a: u32; how) -> f32 { convert::f32_from_integer(a, how.rounding, how.sat) }
    F32FromS32(a: i32; how) -> f32 { convert::f32_from_integer(a, how.rounding, how.sat) }
    F32FromU64(a: u64; how) -> f32 { convert::f32_from_integer(a, how.rounding, how.sat) }
    F32FromS64(a: i64; how) -> f32 { convert::f32_from_integer(a, how.rounding, how.sat) }
    F64FromU32(a: u32; how) -> f64 { convert::f64_from_integer(a, how.rounding, how.sat) }
    F64FromS32(a: i32; how) -> f64 { convert::f64_from_integer(a, how.rounding, how.sat) }
    F64FromU64(a: u64; how) -> f64 { convert::f64_from_integer(a, how.rounding, how.sat) }
    F64FromS64(a: i64; how) -> f64 { convert::f64_from_integer(a, how.rounding, how.sat) }
    F16FromU32(a: u32; how) -> u32 { convert::narrow_integer::<F16, _>(a, how.rounding, how.sat) }
    F16FromS32(a: i32; how) -> u32 { convert::narrow_integer::<F16, _>(a, how.rounding, how.sat) }
    F16FromU64(a: u64; how) -> u32 { convert::narrow_integer::<F16, _>(a, how.rounding, how.sat) }
    F16FromS64(a: i64; how) -> u32 { convert::narrow_integer::<F16, _>(a, how.rounding, how.sat) }
    Bf16FromU32(a: u32; how) -> u32 { convert::narrow_integer::<Bf16, _>(a, how.rounding, how.sat) }
    Bf16FromS32(a: i32; how) -> u32 { convert::narrow_integer::<Bf16, _>(a, how.rounding, how.sat) }
    Bf16FromU64(a: u64; how) -> u32 { convert::narrow_integer::<Bf16, _>(a, how.rounding, how.sat) }
    Bf16FromS64(a: i64; how) -> u32 { convert::narrow_integer::<Bf16, _>(a, how.rounding, how.sat) }

    /// Between equal types, without rounding to an integer.
    F32FromF32(a: f32; how) -> f32 { convert::f32_from_f32(a, None, how.ftz, how.sat) }
    IntegralF32(a: f32; how) -> f32 { convert::f32_from_f32(a, Some(how.rounding), how.ftz, how.sat) }
    F64FromF64(a: f64; how) -> f64 { convert::f64_from_f64(a, None, how.sat) }
    IntegralF64(a: f64; how) -> f64 { convert::f64_from_f64(a, Some(how.rounding), how.sat) }
    F64FromF32(a: f32; how) -> f64 { convert::f64_from_f32(a, how.ftz, how.sat) }
    F32FromF64(a: f64; how) -> f32 { convert::f32_from_f64(a, how.rounding, how.ftz, how.sat) }
    F16FromF32(a: f32; how) -> u32 { from_f32::<F16>(a, how) }
    Bf16FromF32(a: f32; how) -> u32 { from_f32::<Bf16>(flush(a, how.ftz), how) }
    F16FromF64(a: f64; how) -> u32 { convert::from_f64::<F16>(a, how.narrowing()) }
    Bf16FromF64(a: f64; how) -> u32 { convert::from_f64::<Bf16>(a, how.narrowing()) }
    Tf32FromF32(a: f32; how) -> u32 { convert::to_tf32(a, how.narrowing()) }

    F16x2FromF32(a: f32, b: f32; how) -> u32 { from_f32::<F16>(a, how) << 16 | from_f32::<F16>(b, how) }
    Bf16x2FromF32(a: f32, b: f32; how) -> u32 { from_f32::<Bf16>(a, how) << 16 | from_f32::<Bf16>(b, how) }
    E4m3x2FromF32(a: f32, b: f32; how) -> u32 { from_f32::<E4m3>(a, how) << 8 | from_f32::<E4m3>(b, how) }
    E5m2x2FromF32(a: f32, b: f32; how) -> u32 { from_f32::<E5m2>(a, how) << 8 | from_f32::<E5m2>(b, how) }
    E2m3x2FromF32(a: f32, b: f32; how) -> u32 { from_f32::<E2m3>(a, how) << 8 | from_f32::<E2m3>(b, how) }
    E3m2x2FromF32(a: f32, b: f32; how) -> u32 { from_f32::<E3m2>(a, how) << 8 | from_f32::<E3m2>(b, how) }
    E2m1x2FromF32(a: f32, b: f32; how) -> u32 { from_f32::<E2m1>(a, how) << 4 | from_f32::<E2m1>(b, how) }
    E4m3x2FromF16x2(a: u32; how) -> u32 { pair_from_f16::<E4m3>(a, how) }
    E5m2x2FromF16x2(a: u32; how) -> u32 { pair_from_f16::<E5m2>(a, how) }
    F16x2FromE4m3x2(a: u16; how) -> u32 { pair_to_f16::<E4m3>(a, 8, how) }
    F16x2FromE5m2x2(a: u16; how) -> u32 { pair_to_f16::<E5m2>(a, 8, how) }
    F16x2FromE2m3x2(a: u16; how) -> u32 { pair_to_f16::<E2m3>(a, 8, how) }
    F16x2FromE3m2x2(a: u16; how) -> u32 { pair_to_f16::<E3m2>(a, 8, how) }
    F16x2FromE2m1x2(a: u16; how) -> u32 { pair_to_f16::<E2m1>(a, 4, how) }
}

/// `.ftz` only has an effect on `.bf16`: for `.f16` the hardware rounds subnormal sources as any other.
#[inline(always)]
fn from_f32<F: Format>(value: f32, how: How) -> u32 {
    convert::to_format::<F>(f64::from(value), how.narrowing())
}

#[inline(always)]
fn pair_from_f16<F: Format>(pair: u32, how: How) -> u32 {
    let part = |bits: u32| from_f32::<F>(widen::<F16>(bits & 0xffff), how);
    part(pair >> 16) << 8 | part(pair)
}

#[inline(always)]
fn pair_to_f16<F: Format>(pair: u16, bits: u32, how: How) -> u32 {
    let mask = (1 << bits) - 1;
    let part = |value: u32| from_f32::<F16>(widen::<F>(value & mask), how);
    part(u32::from(pair) >> bits) << 16 | part(u32::from(pair))
}
