//! Approximations against the bounds that the manual gives (PTX ISA 9.7.3.15, 9.7.3.20).

use warploom_numerics::approx;

#[test]
fn reciprocal_roots_keep_within_the_bound() {
    // Two octaves: further ones differ in the exponent only.
    let mut most = 0f64;
    for bits in 1f32.to_bits()..4f32.to_bits() {
        let a = f32::from_bits(bits);
        let error = f64::from(approx::rsqrt(a, false)) * f64::from(a).sqrt() - 1.0;
        most = most.max(error.abs());
    }
    assert!(most < 2f64.powf(-23.2), "2^{}", most.log2());
    for (a, root) in [(1.0, 1.0), (f32::MIN_POSITIVE, 2f32.powi(63)), (2f32.powi(126), 2f32.powi(-63))] {
        assert_eq!(approx::rsqrt(a, false), root);
    }
    // Below the normal numbers.
    let (small, root) = (f32::from_bits(1 << 13), 2f32.powi(68));
    assert_eq!([false, true].map(|ftz| approx::rsqrt(small, ftz)), [root, f32::INFINITY]);
}

#[test]
fn powers_of_two_keep_within_the_bound() {
    let mut most = 0f64;
    for number in -(1 << 20)..=1 << 20 {
        for a in [number as f32 / (1 << 20) as f32, number as f32 / (1 << 13) as f32] {
            let (value, exact) = (approx::ex2(a, false), f64::from(a).exp2());
            if (f64::from(f32::MIN_POSITIVE)..f64::from(f32::MAX)).contains(&exact) {
                let place = 2f64.powi(exact.log2().floor() as i32 - 23);
                most = most.max((f64::from(value) - exact).abs() / place);
                assert_eq!(value, approx::ex2(a, true), "{a}");
            } else if exact < 2f64.powi(-126) {
                assert!((f64::from(value) - exact).abs() <= 2f64.powi(-149), "{a}");
                assert_eq!(approx::ex2(a, true), 0.0, "{a}");
            }
        }
    }
    assert!(most < 1.0, "{most} in the last place");
    // So near to zero that 1 is as near as any.
    assert_eq!([-1e-45, -1e-20, 1e-45, 1e-20].map(|a| approx::ex2(a, true)), [1.0; 4]);
}
