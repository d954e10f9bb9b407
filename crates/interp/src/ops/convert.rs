//! Conversions (PTX ISA 9.7.9.21, 9.7.9.22). Results narrower than 32 bits are extended to 32 bits by their type.

use std::marker::PhantomData;

use warploom_numerics::Rounding;
use warploom_numerics::convert;
use warploom_numerics::float::flush;
use warploom_numerics::format::{Bf16, E2m1, E2m3, E3m2, E4m3, E5m2, F16, Format, widen};
use warploom_numerics::{random, scaled};

use crate::isa::LaneOp;
use crate::lane::{Lane, lane_ops};
use crate::machine::{Flow, Machine};
use crate::ops::modes::{Flags, How, functions};
use crate::program::Inst;

lane_ops! {
    ZeroExtend8(a: u8) -> u32 { u32::from(a) }
    SignExtend8(a: i8) -> i32 { i32::from(a) }
    SignExtend16(a: i16) -> i32 { i32::from(a) }

    F32FromF16(a: u16) -> f32 { widen::<F16>(u32::from(a)) }
    F32FromBf16(a: u16) -> f32 { widen::<Bf16>(u32::from(a)) }

    /// `cvt.pack`: `imm` is the width of an element, negative for signed ones.
    Pack(a: i32, b: i32, c: u32; imm) -> u32 {
        let bits = imm as i32;
        convert::pack(a, b, c, bits.unsigned_abs(), bits < 0)
    }

    /// The random bits of one pair of four numbers: `imm` is whether it is the upper one, above it the width of a number.
    RandomPart(bits: u32; imm) -> u32 { random::part(bits, imm >> 1, imm & 1 != 0) }
    /// Two halves, the upper one `imm` bits up.
    Join(upper: u32, lower: u32; imm) -> u32 { upper << imm | lower }

    Bf16x2FromUe8m0x2(a: u16) -> u32 {
        u32::from(convert::bf16_from_ue8m0((a >> 8) as u8)) << 16 | u32::from(convert::bf16_from_ue8m0(a as u8))
    }
}

/// An integer that a register holds as it is.
pub(crate) trait Number: convert::Integer + Lane {}

impl<T: convert::Integer + Lane> Number for T {}

/// An integer that is left in a register, extended to 32 bits by its type.
pub(crate) trait Whole: convert::Integer {
    type Register: Lane;

    fn extended(self) -> Self::Register;
}

macro_rules! whole {
    ($($integer:ty => $register:ty),*) => {$(
        impl Whole for $integer {
            type Register = $register;

            #[inline(always)]
            fn extended(self) -> $register {
                <$register>::from(self)
            }
        }
    )*};
}

whole! { u8 => u32, i8 => i32, u16 => u32, i16 => i32, u32 => u32, i32 => i32, u64 => u64, i64 => i64 }

/// An integer of 64 bits, from which all others are saturated.
pub(crate) trait Wide: Lane {
    fn saturated<T: convert::Integer>(self) -> T;
}

impl Wide for i64 {
    #[inline(always)]
    fn saturated<T: convert::Integer>(self) -> T {
        T::from_i64(self)
    }
}

impl Wide for u64 {
    #[inline(always)]
    fn saturated<T: convert::Integer>(self) -> T {
        T::from_u64(self)
    }
}

/// `.sat` between integers: from the value in 64 bits.
pub(crate) struct Saturate<T, S>(PhantomData<(T, S)>);

impl<T: Whole, S: Wide> LaneOp for Saturate<T, S> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        machine.map1(
            inst,
            mask,
            #[inline(always)]
            |value: S::Row| S::of(value).saturated::<T>().extended().row(),
        )
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
    let scale = |value| u32::from(convert::to_ue8m0(value, how.rounding == Rounding::Up, how.has(Flags::SATFINITE)));
    scale(high) << 8 | scale(low)
}

functions! {
    Ue8m0x2FromBf16x2(a: u32; how) -> u32 { ue8m0x2(bf16_high(a), bf16_low(a), how) }
    Ue8m0x2FromF32(a: f32, b: f32; how) -> u32 { ue8m0x2(a, b, how) }

    FromF32[T: Whole](a: f32; how) -> T::Register {
        convert::integer_from_f32::<T>(flush(a, how.ftz()), how.rounding).extended()
    }
    FromF64[T: Whole](a: f64; how) -> T::Register { convert::integer_from_f64::<T>(a, how.rounding).extended() }

    F32From[T: Number](a: T; how) -> f32 { convert::f32_from_integer(a, how.rounding, how.sat()) }
    F64From[T: Number](a: T; how) -> f64 { convert::f64_from_integer(a, how.rounding, how.sat()) }
    F16From[T: Number](a: T; how) -> u32 { convert::narrow_integer::<F16, _>(a, how.rounding, how.sat()) }
    Bf16From[T: Number](a: T; how) -> u32 { convert::narrow_integer::<Bf16, _>(a, how.rounding, how.sat()) }

    /// Between equal types, without rounding to an integer.
    F32FromF32(a: f32; how) -> f32 { convert::f32_from_f32(a, None, how.ftz(), how.sat()) }
    IntegralF32(a: f32; how) -> f32 { convert::f32_from_f32(a, Some(how.rounding), how.ftz(), how.sat()) }
    F64FromF64(a: f64; how) -> f64 { convert::f64_from_f64(a, None, how.sat()) }
    IntegralF64(a: f64; how) -> f64 { convert::f64_from_f64(a, Some(how.rounding), how.sat()) }
    F64FromF32(a: f32; how) -> f64 { convert::f64_from_f32(a, how.ftz(), how.sat()) }
    F32FromF64(a: f64; how) -> f32 { convert::f32_from_f64(a, how.rounding, how.ftz(), how.sat()) }
    F16FromF32(a: f32; how) -> u32 { from_f32::<F16>(a, how) }
    Bf16FromF32(a: f32; how) -> u32 { from_f32::<Bf16>(flush(a, how.ftz()), how) }
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
    E4m3x2FromF16x2(a: u32; how) -> u32 { pair_from::<F16, E4m3>(a, 8, how) }
    E5m2x2FromF16x2(a: u32; how) -> u32 { pair_from::<F16, E5m2>(a, 8, how) }
    E2m3x2FromF16x2(a: u32; how) -> u32 { pair_from::<F16, E2m3>(a, 8, how) }
    E3m2x2FromF16x2(a: u32; how) -> u32 { pair_from::<F16, E3m2>(a, 8, how) }
    E2m1x2FromF16x2(a: u32; how) -> u32 { pair_from::<F16, E2m1>(a, 4, how) }
    E4m3x2FromBf16x2(a: u32; how) -> u32 { pair_from::<Bf16, E4m3>(a, 8, how) }
    E5m2x2FromBf16x2(a: u32; how) -> u32 { pair_from::<Bf16, E5m2>(a, 8, how) }
    E2m3x2FromBf16x2(a: u32; how) -> u32 { pair_from::<Bf16, E2m3>(a, 8, how) }
    E3m2x2FromBf16x2(a: u32; how) -> u32 { pair_from::<Bf16, E3m2>(a, 8, how) }
    E2m1x2FromBf16x2(a: u32; how) -> u32 { pair_from::<Bf16, E2m1>(a, 4, how) }
    F16x2FromE4m3x2(a: u16; how) -> u32 { pair_to_f16::<E4m3>(a, 8, how) }
    F16x2FromE5m2x2(a: u16; how) -> u32 { pair_to_f16::<E5m2>(a, 8, how) }
    F16x2FromE2m3x2(a: u16; how) -> u32 { pair_to_f16::<E2m3>(a, 8, how) }
    F16x2FromE3m2x2(a: u16; how) -> u32 { pair_to_f16::<E3m2>(a, 8, how) }
    F16x2FromE2m1x2(a: u16; how) -> u32 { pair_to_f16::<E2m1>(a, 4, how) }

    Bf16x2FromE4m3x2(a: u16, scale: u16; how) -> u32 { pair_to_bf16::<E4m3>(a, 8, scale, how) }
    Bf16x2FromE5m2x2(a: u16, scale: u16; how) -> u32 { pair_to_bf16::<E5m2>(a, 8, scale, how) }
    Bf16x2FromE2m3x2(a: u16, scale: u16; how) -> u32 { pair_to_bf16::<E2m3>(a, 8, scale, how) }
    Bf16x2FromE3m2x2(a: u16, scale: u16; how) -> u32 { pair_to_bf16::<E3m2>(a, 8, scale, how) }
    Bf16x2FromE2m1x2(a: u16, scale: u16; how) -> u32 { pair_to_bf16::<E2m1>(a, 4, scale, how) }
    Bf16x2FromS2f6x2(a: u16, scale: u16; how) -> u32 {
        let part = |code: u16, scale: u16| scaled::bf16(scaled::from_s2f6(code as u8), scale as u8, how.narrowing());
        part(a >> 8, scale >> 8) << 16 | part(a, scale)
    }
    S2f6x2FromF32(a: f32, b: f32, scale: u16; how) -> u32 { s2f6x2(a, b, scale, how) }
    S2f6x2FromBf16x2(a: u32, scale: u16; how) -> u32 { s2f6x2(bf16_high(a), bf16_low(a), scale, how) }

    F16x2AtRandom(a: f32, b: f32, bits: u32; how) -> u32 {
        random::narrow::<F16>(a, bits >> 16, 13, how.narrowing()) << 16 | random::narrow::<F16>(b, bits, 13, how.narrowing())
    }
    Bf16x2AtRandom(a: f32, b: f32, bits: u32; how) -> u32 {
        random::narrow::<Bf16>(a, bits >> 16, 16, how.narrowing()) << 16 | random::narrow::<Bf16>(b, bits, 16, how.narrowing())
    }
    E4m3x2AtRandom(a: f32, b: f32, bits: u32; how) -> u32 { random::pair::<E4m3>(a, b, bits, 8, how.narrowing()) }
    E5m2x2AtRandom(a: f32, b: f32, bits: u32; how) -> u32 { random::pair::<E5m2>(a, b, bits, 8, how.narrowing()) }
    E2m3x2AtRandom(a: f32, b: f32, bits: u32; how) -> u32 { random::pair::<E2m3>(a, b, bits, 8, how.narrowing()) }
    E3m2x2AtRandom(a: f32, b: f32, bits: u32; how) -> u32 { random::pair::<E3m2>(a, b, bits, 8, how.narrowing()) }
    E2m1x2AtRandom(a: f32, b: f32, bits: u32; how) -> u32 { random::pair::<E2m1>(a, b, bits, 4, how.narrowing()) }
}

#[inline(always)]
fn s2f6x2(high: f32, low: f32, scale: u16, how: How) -> u32 {
    let part = |value, scale: u16| u32::from(scaled::to_s2f6(value, scale as u8, how.has(Flags::RELU)));
    part(high, scale >> 8) << 8 | part(low, scale)
}

#[inline(always)]
fn pair_to_bf16<F: Format>(pair: u16, bits: u32, scale: u16, how: How) -> u32 {
    let mask = (1 << bits) - 1;
    let part = |code: u32, scale: u16| scaled::bf16(widen::<F>(code & mask), scale as u8, how.narrowing());
    part(u32::from(pair) >> bits, scale >> 8) << 16 | part(u32::from(pair), scale)
}

/// `.ftz` only has an effect on `.bf16`: for `.f16` the hardware rounds subnormal sources as any other.
#[inline(always)]
fn from_f32<F: Format>(value: f32, how: How) -> u32 {
    convert::to_format::<F>(f64::from(value), how.narrowing())
}

#[inline(always)]
fn pair_from<S: Format, F: Format>(pair: u32, width: u32, how: How) -> u32 {
    let part = |bits: u32| from_f32::<F>(widen::<S>(bits & 0xffff), how);
    part(pair >> 16) << width | part(pair)
}

#[inline(always)]
fn pair_to_f16<F: Format>(pair: u16, bits: u32, how: How) -> u32 {
    let mask = (1 << bits) - 1;
    let part = |value: u32| from_f32::<F16>(widen::<F>(value & mask), how);
    part(u32::from(pair) >> bits) << 16 | part(u32::from(pair))
}
