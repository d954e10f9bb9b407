//! Sums of products: what vectors of `f32` compute against exact arithmetic, and what becomes of numbers that have no room there.

use proptest::prelude::*;
use warploom_numerics::matrix::block::{Left, Right, multiply_plain};
use warploom_numerics::matrix::{
    Accumulation, FactorFormat, Rounded, Scale, Scales, Scheme, Sizes, Vectors, bytes, double, integer, real, scales,
};
use warploom_numerics::vector::Arrays;
use warploom_numerics::{Rounding, double as scalar};

const ROWS: usize = 8;

/// A significand of up to 11 bits, and an exponent.
fn factor(exponents: std::ops::Range<i32>) -> impl Strategy<Value = f32> {
    (-2047i32..=2047, exponents).prop_map(|(significand, exponent)| significand as f32 * 2f32.powi(exponent))
}

/// The sum of products and `c` by the definition: every summand cut off `fraction` bits below the largest exponent, in integers of 128 bits.
fn sum(how: Accumulation, factors: &[(f32, f32)], c: f32) -> f32 {
    // All numbers of the tests are multiples of 2^-70.
    let exponent = |value: f32| value.abs().log2().floor() as i32;
    let mut summands: Vec<(f64, i32)> = factors
        .iter()
        .filter(|(a, b)| a * b != 0.0)
        .map(|(a, b)| {
            let exponents = [exponent(*a).max(how.least[0]), exponent(*b).max(how.least[1])];
            (f64::from(*a) * f64::from(*b), exponents[0] + exponents[1])
        })
        .collect();
    summands.extend((c != 0.0).then(|| (f64::from(c), exponent(c))));
    let Some(largest) = summands.iter().map(|(_, exponent)| *exponent).max() else { return 0.0 };
    let place = 2f64.powi(largest - how.fraction as i32);
    let whole: i128 = summands.iter().map(|(value, _)| (value / place).trunc() as i128).sum();
    let value = whole as f64 * place;
    match how.rounded {
        Rounded::Truncated(fraction) => f64::from_bits(value.to_bits() & (u64::MAX << (52 - fraction))) as f32,
        Rounded::Half => unreachable!("not tested here"),
    }
}

fn check(factors: [FactorFormat; 2], pairs: &[(f32, f32)], c: f32) {
    let scheme = Scheme::warpgroup(factors, pairs.len(), false);
    let sizes = Sizes { m: ROWS, n: 1, k: pairs.len() };
    let a: Vec<f32> = pairs.iter().flat_map(|(a, _)| [*a; ROWS]).collect();
    let b: Vec<f32> = pairs.iter().map(|(_, b)| *b).collect();
    let mut d = [c; ROWS];
    real::multiply(Arrays, scheme.accumulation, sizes, [&a, &b], None, &mut d);
    let expected = sum(scheme.accumulation, pairs, c);
    assert_eq!(d.map(f32::to_bits), [expected.to_bits(); ROWS], "{pairs:?} and {c}: {} not {expected}", d[0]);
}

proptest! {
    #[test]
    fn sums_are_those_of_the_definition(
        pairs in prop::collection::vec((factor(-20..4), factor(-20..4)), 16),
        c in prop::num::f32::NORMAL.prop_filter("not far away", |c| (1e-12..1e12).contains(&c.abs())),
    ) {
        check([FactorFormat::Wide; 2], &pairs, c);
        check([FactorFormat::Half; 2], &pairs, c);
        check([FactorFormat::E5m2; 2], &pairs, c);
        check([FactorFormat::E4m3, FactorFormat::E5m2], &pairs, c);
    }

    /// Factors far from 1 go another way, to the same result.
    #[test]
    fn small_factors_are_summed_alike(pairs in prop::collection::vec((factor(-20..4), factor(-20..4)), 8)) {
        let scaled: Vec<(f32, f32)> = pairs.iter().map(|(a, b)| (a * 2f32.powi(-60), b * 2f32.powi(60))).collect();
        let result = |pairs: &[(f32, f32)]| {
            let scheme = Scheme::warp([FactorFormat::Wide; 2], pairs.len(), false, false);
            let a: Vec<f32> = pairs.iter().flat_map(|(a, _)| [*a; ROWS]).collect();
            let b: Vec<f32> = pairs.iter().map(|(_, b)| *b).collect();
            let mut d = [0.5; ROWS];
            real::multiply(Arrays, scheme.accumulation, Sizes { m: ROWS, n: 1, k: pairs.len() }, [&a, &b], None, &mut d);
            d.map(f32::to_bits)
        };
        prop_assert_eq!(result(&pairs), result(&scaled));
    }
}

/// The sums of a whole block, as some vectors compute them.
fn block<V: Vectors>(v: V, format: FactorFormat, [a, b, c]: [&[f32]; 3]) -> Vec<u32> {
    let scheme = Scheme::warp([format; 2], 16, false, false);
    let mut d = c.to_vec();
    real::multiply(v, scheme.accumulation, Sizes { m: 16, n: 8, k: 16 }, [a, b], None, &mut d);
    d.into_iter().map(f32::to_bits).collect()
}

/// The same by the shorter way, where it is for them.
fn plain_block<V: Vectors>(v: V, format: FactorFormat, [a, b, c]: [&[f32]; 3]) -> Option<Vec<u32>> {
    let how = Scheme::warp([format; 2], 16, false, false).accumulation;
    let (mut left, mut right) = (Left::<4>::default(), Right::<4>::default());
    for k in 0..16 {
        for row in 0..16 {
            left.elements[k / 4][k % 4][row] = a[k * 16 + row].to_bits();
        }
        for column in 0..8 {
            right.elements[k / 4][4 * column + k % 4] = b[k * 8 + column].to_bits();
        }
    }
    left.ready(v, true, 4, how.least[0]);
    right.ready(v, true, 4, how.least[1]);
    let summands = std::array::from_fn(|column| v.load(&std::array::from_fn(|row| c[16 * column + row].to_bits())));
    let sums = multiply_plain(v, how, 4, &left, &right, &summands)?;
    Some(sums.iter().flat_map(|sums| v.store(*sums)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Each row and column has numbers of its own, among them zeros and some far from 1.
    #[test]
    fn processors_sum_each_element_of_a_block_alike(
        a in prop::collection::vec(factor(-20..4), 16 * 16),
        b in prop::collection::vec(factor(-20..4), 16 * 8),
        c in prop::collection::vec(factor(-40..20), 16 * 8),
        far in prop::sample::select(vec![0, 24]),
        format in prop::sample::select(vec![FactorFormat::Wide, FactorFormat::Half]),
    ) {
        let a: Vec<f32> = a.iter().map(|a| a * 2f32.powi(-far)).collect();
        let zeros = a.iter().chain(&b).any(|factor| *factor == 0.0);
        let panels = [&a[..], &b[..], &c[..]];
        let how = Scheme::warp([format; 2], 16, false, false).accumulation;
        let expected = (0..16 * 8).map(|at| {
            let (column, row) = (at / 16, at % 16);
            let factors: Vec<(f32, f32)> = (0..16).map(|k| (a[k * 16 + row], b[k * 8 + column])).collect();
            sum(how, &factors, c[at]).to_bits()
        });
        let expected: Vec<u32> = expected.collect();
        prop_assert_eq!(&block(Arrays, format, panels), &expected);
        let plain = plain_block(Arrays, format, panels);
        prop_assert!(far != 0 || zeros || plain.is_some());
        prop_assert!(plain.as_ref().is_none_or(|sums| *sums == expected));
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(v) = pulp::x86::V3::try_new() {
                prop_assert_eq!(&block(v, format, panels), &expected);
                prop_assert_eq!(&plain_block(v, format, panels), &plain);
            }
            if let Some(v) = pulp::x86::V4::try_new() {
                prop_assert_eq!(&block(v, format, panels), &expected);
                prop_assert_eq!(&plain_block(v, format, panels), &plain);
            }
        }
    }
}

/// Sums of 16 rows by 8 columns of bytes, of 32 `k`: by column.
fn bytes_summed<V: Vectors>(v: V, signed: [bool; 2], [a, b]: &[Vec<u8>; 2], c: &[u32]) -> Vec<u32> {
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let rows: Vec<_> = (0..8).map(|k| v.load(&std::array::from_fn(|row| word(&a[32 * row + 4 * k..])))).collect();
    let columns: Vec<[u32; 32]> =
        (0..2).map(|half| std::array::from_fn(|at| word(&b[32 * (at / 4) + 16 * half + 4 * (at % 4)..]))).collect();
    let summands = std::array::from_fn(|column| v.load(&std::array::from_fn(|row| c[16 * column + row])));
    bytes::multiply(v, signed, &rows, &columns, &summands).iter().flat_map(|sums| v.store(*sums)).collect()
}

proptest! {
    #[test]
    fn processors_sum_bytes_alike(
        a in prop::collection::vec(any::<u8>(), 512),
        b in prop::collection::vec(any::<u8>(), 256),
        c in prop::collection::vec(any::<u32>(), 128),
        signed in any::<[bool; 2]>(),
        extreme in any::<bool>(),
    ) {
        let far = |byte: u8| if byte & 1 == 0 { 0x80 } else { 0xff };
        let factors = [a, b].map(|bytes| if extreme { bytes.into_iter().map(far).collect() } else { bytes });
        let number = |byte: u8, signed: bool| if signed { i64::from(byte as i8) } else { i64::from(byte) };
        let sum = |at: usize| {
            let (row, column) = (at % 16, at / 16);
            let product = |k: usize| {
                number(factors[0][32 * row + k], signed[0]) * number(factors[1][32 * column + k], signed[1])
            };
            (i64::from(c[at]) + (0..32).map(product).sum::<i64>()) as u32
        };
        let expected: Vec<u32> = (0..128).map(sum).collect();
        prop_assert_eq!(&bytes_summed(Arrays, signed, &factors, &c), &expected);
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(v) = pulp::x86::V3::try_new() {
                prop_assert_eq!(&bytes_summed(v, signed, &factors, &c), &expected);
            }
            if let Some(v) = pulp::x86::V4::try_new() {
                prop_assert_eq!(&bytes_summed(v, signed, &factors, &c), &expected);
            }
        }
    }
}

/// One product and a summand.
fn single(a: f32, b: f32, c: f32) -> f32 {
    let how = Accumulation { group: 4, fraction: 25, rounded: Rounded::Truncated(23), least: [-126; 2] };
    let mut panels = ([0.0; 4 * ROWS], [0.0; 4], [c; ROWS]);
    panels.0[..ROWS].fill(a);
    panels.1[0] = b;
    real::multiply(Arrays, how, Sizes { m: ROWS, n: 1, k: 4 }, [&panels.0, &panels.1], None, &mut panels.2);
    panels.2[0]
}

#[test]
fn what_is_no_number_or_has_no_end() {
    assert_eq!(single(f32::INFINITY, 2.0, 1.0), f32::INFINITY);
    assert_eq!(single(f32::INFINITY, -2.0, 1.0), f32::NEG_INFINITY);
    assert_eq!(single(f32::INFINITY, 0.0, 1.0).to_bits(), 0x7fff_ffff);
    assert_eq!(single(f32::INFINITY, 1.0, f32::NEG_INFINITY).to_bits(), 0x7fff_ffff);
    assert_eq!(single(f32::NAN, 1.0, 1.0).to_bits(), 0x7fff_ffff);
    assert_eq!(single(1.0, 1.0, f32::NEG_INFINITY), f32::NEG_INFINITY);
    assert_eq!(single(2f32.powi(100), 2f32.powi(100), 0.0), f32::INFINITY);
    assert_eq!(single(2f32.powi(-80), 2f32.powi(-69), 0.0).to_bits(), 1);
    assert_eq!(single(2f32.powi(-80), 2f32.powi(-70), 0.0), 0.0);
    assert_eq!(single(0.0, 1.0, f32::from_bits(1)).to_bits(), 1);
    assert_eq!(single(0.0, 1.0, 3.5), 3.5);
}

#[test]
fn what_is_absent_is_no_factor() {
    let how = Accumulation { group: 4, fraction: 25, rounded: Rounded::Truncated(23), least: [-126; 2] };
    let (mut a, b) = ([0.0; 4 * ROWS], [f32::INFINITY, 3.0, 0.0, 0.0]);
    a[ROWS..2 * ROWS].fill(2.0);
    let mut absent = [false; 4 * ROWS];
    absent[..ROWS].fill(true);
    let mut d = [1.0; ROWS];
    real::multiply(Arrays, how, Sizes { m: ROWS, n: 1, k: 4 }, [&a, &b], Some(&absent), &mut d);
    assert_eq!(d, [7.0; ROWS]);
}

/// As if each product were added on its own, wherever between the first and the last a sum stops being a number, and whose bits it gets then.
#[test]
fn doubles_are_added_in_order() {
    let quiet = |payload: u64| f64::from_bits(0x7ff8_0000_0000_0000 | payload);
    let special = [f64::INFINITY, f64::NEG_INFINITY, quiet(5), quiet(9), f64::MAX, -0.0];
    let (m, n, k) = (2 * ROWS, 3, 4);
    for at in 0..(m * k + k * n + m * n) {
        for value in special {
            let ordinary = |i: usize| (i as f64 - 20.0) / 3.0;
            let mut panels = [m * k, k * n, m * n].map(|len| (0..len).map(ordinary).collect::<Vec<f64>>());
            // The other operand of one product is no number either, or has no end.
            panels[1][n + 1] = quiet(3);
            panels[0][m + 2] = f64::INFINITY;
            let place = panels.iter_mut().flatten().nth(at).expect("a place in one of them");
            *place = value;
            let [a, b, c] = panels;
            for rounding in [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up] {
                let mut d = c.clone();
                double::multiply(Sizes { m, n, k }, rounding, [&a, &b], &mut d);
                for (i, (sum, c)) in d.iter().zip(&c).enumerate() {
                    let (column, row) = (i / m, i % m);
                    let expected =
                        (0..k).fold(*c, |sum, k| scalar::fma(a[k * m + row], b[k * n + column], sum, rounding));
                    assert_eq!(
                        sum.to_bits(),
                        expected.to_bits(),
                        "row {row}, column {column}, {value} at {at}, {rounding:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn integers_saturate_once() {
    let sizes = Sizes { m: ROWS, n: 1, k: 2 };
    let (a, b) = ([100.0; 2 * ROWS], [100.0, -100.0]);
    for saturate in [false, true] {
        let mut d = [i32::MAX as u32; ROWS];
        integer::multiply(sizes, saturate, [&a, &b], &mut d);
        assert_eq!(d, [i32::MAX as u32; ROWS]);
        integer::multiply(sizes, saturate, [&a, &[100.0, 0.0]], &mut d);
        let expected = if saturate { i32::MAX } else { i32::MAX.wrapping_add(10_000) };
        assert_eq!(d, [expected as u32; ROWS]);
    }
}

/// What makes a number smaller than any of its format's does not make it count for more: what is left of 1 and -1 is the last place that is kept.
#[test]
fn scaled_numbers_are_not_subnormal() {
    let how = Scheme::warp([FactorFormat::Wide; 2], 4, false, false).accumulation;
    let (mut a, b) = ([0.0; 4 * ROWS], [1.0, 1.0, 2f32.powi(-13), 0.0]);
    for (k, factor) in [1.0, -1.0, 2f32.powi(-12)].into_iter().enumerate() {
        a[k * ROWS..][..ROWS].fill(factor);
    }
    let scales = Scales { format: Scale::Ue8m0, a: &[0; ROWS], b: &[254] };
    let mut d = [0.0; ROWS];
    scales::multiply(how, Sizes { m: ROWS, n: 1, k: 4 }, [&a, &b], None, scales, &mut d);
    assert_eq!(d, [2f32.powi(-25); ROWS]);
}

/// A product of one element with scales of one block each, as the vectors compute it if they can, and an element at a time.
fn scaled(a: f32, b: f32, powers: [u8; 2], c: f32) -> [Option<f32>; 2] {
    let how = Accumulation { group: 4, fraction: 25, rounded: Rounded::Truncated(23), least: [-126; 2] };
    let sizes = Sizes { m: ROWS, n: 1, k: 4 };
    let (mut left, mut right) = ([0.0; 4 * ROWS], [0.0; 4]);
    left[..ROWS].fill(a);
    right[0] = b;
    let scales = Scales { format: Scale::Ue8m0, a: &[powers[0]; ROWS], b: &[powers[1]] };
    let mut alone = [c; ROWS];
    scales::multiply(how, sizes, [&left, &right], None, scales, &mut alone);
    let mut together = [c; ROWS];
    let near = scales::scale(sizes, [&mut left, &mut right], scales);
    if near {
        real::multiply(Arrays, how, sizes, [&left, &right], None, &mut together);
    }
    [near.then_some(together[0]), Some(alone[0])]
}

#[test]
fn scales_are_powers_of_two_that_only_their_product_must_fit() {
    assert_eq!(scaled(1.5, -3.0, [127, 127], 1.0), [Some(-3.5); 2]);
    assert_eq!(scaled(1.5, -3.0, [130, 125], 1.0), [Some(-8.0); 2]);
    // 2^127 times 448 is no number of f32, and 2^-127 is subnormal.
    assert_eq!(scaled(448.0, 2.0, [254, 0], 1.0), [None, Some(897.0)]);
    assert_eq!(scaled(448.0, 2.0, [254, 254], 1.0), [None, Some(f32::INFINITY)]);
    assert_eq!(scaled(1.0, 1.0, [0, 0], 1.0), [None, Some(1.0)]);
    assert_eq!(scaled(1.0, 1.0, [255, 127], 1.0)[1].map(f32::to_bits), Some(0x7fff_ffff));
}

/// 16 rows, a column and two groups of sixteen `.e2m1`, each of which has one element that is not zero; with the bytes of scales of the groups.
fn grouped(format: Scale, values: [f32; 2], scales: [u8; 2], c: f32) -> f32 {
    let (mut a, mut b) = ([0.0; 32 * ROWS], [0.0; 32]);
    for (group, value) in values.into_iter().enumerate() {
        a[(16 * group + 5) * ROWS..][..ROWS].fill(value);
        b[16 * group + 5] = 1.0;
    }
    let of_a: Vec<u8> = scales.into_iter().flat_map(|scale| [scale; ROWS]).collect();
    let one = if format == Scale::Ue8m0 { 127 } else { 7 << 3 };
    let mut d = [c; ROWS];
    let scales = Scales { format, a: &of_a, b: &[one; 2] };
    scales::multiply_groups(Sizes { m: ROWS, n: 1, k: 32 }, 16, [&a, &b], scales, &mut d);
    assert_eq!(d.map(f32::to_bits), [d[0].to_bits(); ROWS]);
    d[0]
}

#[test]
fn groups_are_scaled_and_then_added() {
    use Scale::{Ue4m3, Ue8m0};
    assert_eq!(grouped(Ue8m0, [0.5, -6.0], [127, 128], 1.0), -10.5);
    // 1.125, with a sign that has no say, and the least subnormal.
    assert_eq!(grouped(Ue4m3, [4.0, 2.0], [0x80 | 0x39, 1], 0.0), 4.5 + 2.0 / 512.0);
    assert_eq!(grouped(Ue4m3, [4.0, 2.0], [0, 0x7e], 0.0), 896.0);
    // What lies below 35 bits behind the exponent of the largest scale has no say; what cancels goes first.
    assert_eq!(grouped(Ue8m0, [1.0, 1.0], [127, 127 - 35], -1.0), 2f32.powi(-35));
    assert_eq!(grouped(Ue8m0, [1.0, 1.0], [127, 127 - 36], -1.0), 0.0);
    // The exponent of a group is that of its scales: six times as much has the same places.
    assert_eq!(grouped(Ue8m0, [6.0, -6.0], [127, 127], 2f32.powi(-35)), 2f32.powi(-35));
    assert_eq!(grouped(Ue4m3, [1.0, 1.0], [0x7f, 0], 1.0).to_bits(), 0x7fff_ffff);
    assert_eq!(grouped(Ue8m0, [1.0, 1.0], [127, 255], 1.0).to_bits(), 0x7fff_ffff);
    assert_eq!(grouped(Ue8m0, [1.0, 1.0], [127, 127], f32::NEG_INFINITY), f32::NEG_INFINITY);
    // Towards zero.
    assert_eq!(grouped(Ue8m0, [1.0, 1.0], [127, 127 - 24], 0.0), 1.0);
    assert_eq!(grouped(Ue8m0, [-1.0, 1.0], [127, 127 - 30], 0.0), -1.0 + 2f32.powi(-24));
}
