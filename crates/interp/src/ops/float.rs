//! Floating-point arithmetic of `.f32` and `.f64` (PTX ISA 9.7.3), and `.f32x2`.

use std::marker::PhantomData;

use warploom_numerics::float::{Property, Tested};
use warploom_numerics::{approx, double, float};

use crate::isa::LaneOp;
use crate::lane::{Lane, lane_ops};
use crate::machine::{Flow, Machine};
use crate::ops::modes::{Flags, functions};
use crate::program::Inst;

functions! {
    Add32(a: f32, b: f32; how) -> f32 { float::add(a, b, how.rounding, how.ftz(), how.sat()) }
    Sub32(a: f32, b: f32; how) -> f32 { float::sub(a, b, how.rounding, how.ftz(), how.sat()) }
    Mul32(a: f32, b: f32; how) -> f32 { float::mul(a, b, how.rounding, how.ftz(), how.sat()) }
    Fma32(a: f32, b: f32, c: f32; how) -> f32 { float::fma(a, b, c, how.rounding, how.ftz(), how.sat()) }
    Div32(a: f32, b: f32; how) -> f32 { float::div(a, b, how.rounding, how.ftz()) }
    Rcp32(a: f32; how) -> f32 { float::rcp(a, how.rounding, how.ftz()) }
    Sqrt32(a: f32; how) -> f32 { float::sqrt(a, how.rounding, how.ftz()) }
    Abs32(a: f32; how) -> f32 { float::abs(a, how.ftz()) }
    Neg32(a: f32; how) -> f32 { float::neg(a, how.ftz()) }
    Extremum32(a: f32, b: f32; how) -> f32 { float::extremum(a, b, how.extremum()) }
    ExtremumOf3(a: f32, b: f32, c: f32; how) -> f32 { float::extremum_of_3(a, b, c, how.extremum()) }

    DivApprox(a: f32, b: f32; how) -> f32 { approx::div(a, b, how.ftz()) }
    DivFull(a: f32, b: f32; how) -> f32 { approx::div_full(a, b, how.ftz()) }
    RcpApprox(a: f32; how) -> f32 { approx::rcp(a, how.ftz()) }
    SqrtApprox(a: f32; how) -> f32 { approx::sqrt(a, how.ftz()) }
    RsqrtApprox(a: f32; how) -> f32 { approx::rsqrt(a, how.ftz()) }
    Sin(a: f32; how) -> f32 { approx::sin(a, how.ftz()) }
    Cos(a: f32; how) -> f32 { approx::cos(a, how.ftz()) }
    Sin2pi(a: f32; how) -> f32 { approx::sin_2pi(a) }
    Cos2pi(a: f32; how) -> f32 { approx::cos_2pi(a) }
    Lg2(a: f32; how) -> f32 { approx::lg2(a, how.ftz()) }
    Ex2(a: f32; how) -> f32 { approx::ex2(a, how.ftz()) }
    Tanh(a: f32; how) -> f32 { approx::tanh(a) }

    Add64(a: f64, b: f64; how) -> f64 { double::add(a, b, how.rounding) }
    Sub64(a: f64, b: f64; how) -> f64 { double::sub(a, b, how.rounding) }
    Mul64(a: f64, b: f64; how) -> f64 { double::mul(a, b, how.rounding) }
    Fma64(a: f64, b: f64, c: f64; how) -> f64 { double::fma(a, b, c, how.rounding) }
    Div64(a: f64, b: f64; how) -> f64 { double::div(a, b, how.rounding) }
    Rcp64(a: f64; how) -> f64 { double::rcp(a, how.rounding) }
    Sqrt64(a: f64; how) -> f64 { double::sqrt(a, how.rounding) }
    Abs64(a: f64; how) -> f64 { double::abs(a) }
    Neg64(a: f64; how) -> f64 { double::neg(a) }
    Extremum64(a: f64, b: f64; how) -> f64 { double::extremum(a, b, how.has(Flags::MAX)) }
    RcpApprox64(a: f64; how) -> f64 { approx::rcp_ftz_f64(a) }
    RsqrtApprox64(a: f64; how) -> f64 { if how.ftz() { approx::rsqrt_ftz_f64(a) } else { approx::rsqrt_f64(a) } }

    AddPair(a: u64, b: u64; how) -> u64 {
        pair([a, b, 0], |[a, b, _]| float::add(a, b, how.rounding, how.ftz(), how.sat()))
    }
    SubPair(a: u64, b: u64; how) -> u64 {
        pair([a, b, 0], |[a, b, _]| float::sub(a, b, how.rounding, how.ftz(), how.sat()))
    }
    MulPair(a: u64, b: u64; how) -> u64 {
        pair([a, b, 0], |[a, b, _]| float::mul(a, b, how.rounding, how.ftz(), how.sat()))
    }
    FmaPair(a: u64, b: u64, c: u64; how) -> u64 {
        pair([a, b, c], |[a, b, c]| float::fma(a, b, c, how.rounding, how.ftz(), how.sat()))
    }
}

lane_ops! {
    Copysign32(a: f32, b: f32) -> f32 { float::copysign(a, b) }
    Copysign64(a: f64, b: f64) -> f64 { double::copysign(a, b) }
}

/// The two numbers of `.f32x2` operands.
#[inline(always)]
fn pair(operands: [u64; 3], operation: impl Fn([f32; 3]) -> f32) -> u64 {
    let part = |shift: u32| u64::from(operation(operands.map(|row| f32::from_bits((row >> shift) as u32))).to_bits());
    part(0) | part(32) << 32
}

/// The properties by the number that `imm` holds.
pub(crate) const PROPERTIES: [Property; 6] = [
    Property::Finite,
    Property::Infinite,
    Property::Number,
    Property::NotANumber,
    Property::Normal,
    Property::Subnormal,
];

/// `testp`: predicate `d`, property `imm`; both sources are the operand.
pub(crate) struct Testp<T>(PhantomData<T>);

impl<T: Lane + Tested> LaneOp for Testp<T> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        let property = PROPERTIES[inst.imm as usize];
        let holds = machine.test2::<T::Row>(
            inst,
            #[inline(always)]
            |a, _| T::of(a).has(property),
        );
        machine.put_predicate(inst.d, mask, holds);
        Flow::Next
    }
}
