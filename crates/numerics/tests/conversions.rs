//! Conversions to integers against the language's own, which saturate as PTX does (PTX ISA 9.7.9.21).

use warploom_numerics::Rounding;
use warploom_numerics::convert::{integer_from_f32, integer_from_f64};

/// Numbers around all powers of two, with both signs, and a spread of all others.
fn numbers() -> impl Iterator<Item = f64> {
    let powers = (-8..70).flat_map(|exponent| {
        let power = 2.0_f64.powi(exponent);
        [
            power,
            power.next_up(),
            power.next_down(),
            power + 1.0,
            power - 1.0,
            power + 0.5,
            f64::from((power as f32).next_down()),
        ]
    });
    let mut state = 1_u64;
    let spread = std::iter::repeat_with(move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let exponent = 1023 - 4 + (state >> 32) % 72;
        f64::from_bits(exponent << 52 | state >> 12)
    });
    let special = [0.0, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE];
    powers.chain(spread.take(200_000)).chain(special).flat_map(|number| [number, -number])
}

macro_rules! agree {
    ($($ty:ty),*) => {$(
        for number in numbers() {
            assert_eq!(integer_from_f64::<$ty>(number, Rounding::Zero), number.trunc() as $ty, "{number:?} to {}", stringify!($ty));
            let single = number as f32;
            assert_eq!(integer_from_f32::<$ty>(single, Rounding::Zero), single.trunc() as $ty, "{single:?} to {}", stringify!($ty));
            let nearest = single.round_ties_even() as $ty;
            assert_eq!(integer_from_f32::<$ty>(single, Rounding::Nearest), nearest, "{single:?} to {}", stringify!($ty));
        }
    )*};
}

#[test]
fn floats_become_the_integers_that_the_language_makes_of_them() {
    agree!(u8, i8, u16, i16, u32, i32, u64, i64);
}

#[test]
fn nan_becomes_zero_or_the_top_bit() {
    for nan in [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)] {
        assert_eq!(integer_from_f32::<i32>(nan, Rounding::Zero), 0);
        assert_eq!(integer_from_f32::<u8>(nan, Rounding::Zero), 0);
        assert_eq!(integer_from_f32::<i64>(nan, Rounding::Zero), i64::MIN);
        assert_eq!(integer_from_f64::<i32>(nan.into(), Rounding::Zero), i32::MIN);
        assert_eq!(integer_from_f64::<u16>(nan.into(), Rounding::Zero), 1 << 15);
    }
}
