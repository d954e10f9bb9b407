//! The same with AVX-512, and with AVX2.

use std::arch::x86_64::{__m128, __m256, __m256d, __m256i, __m512d, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEG_INF};

use bytemuck::must_cast;
use pulp::x86::V4;

use super::{LAST_PART, SamplingVectors, beyond};
use crate::vector::WordVectors;
use crate::vector::x86::{Eight, eight_floats, eight_words, float, words};

const DOWN: i32 = 1;

/// `.f32` as `.f64`.
#[inline(always)]
fn doubles(v: V4, a: __m512i) -> [__m512d; 2] {
    let [low, high]: [__m256; 2] = must_cast(a);
    [v.avx512f._mm512_cvtps_pd(low), v.avx512f._mm512_cvtps_pd(high)]
}

/// AVX-512.
impl SamplingVectors for V4 {
    #[inline(always)]
    fn first(self, a: __m512i) -> u32 {
        self.avx512f._mm512_cvtsi512_si32(a) as u32
    }

    #[inline(always)]
    fn any_of(self, a: __m512i, bits: u32) -> bool {
        self.avx512f._mm512_test_epi32_mask(a, self.splat(bits)) != 0
    }

    #[inline(always)]
    fn mul_words(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_mullo_epi32(a, b)
    }

    #[inline(always)]
    fn shl_by(self, a: __m512i, by: u32) -> __m512i {
        self.avx512f._mm512_sll_epi32(a, must_cast([by, 0, 0, 0]))
    }

    #[inline(always)]
    fn shr_by(self, a: __m512i, by: u32) -> __m512i {
        self.avx512f._mm512_srl_epi32(a, must_cast([by, 0, 0, 0]))
    }

    #[inline(always)]
    fn shr_each(self, a: __m512i, by: __m512i) -> __m512i {
        self.avx512f._mm512_srlv_epi32(a, by)
    }

    #[inline(always)]
    fn sar<const BY: u32>(self, a: __m512i) -> __m512i {
        self.avx512f._mm512_srai_epi32::<BY>(a)
    }

    #[inline(always)]
    fn min(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_min_epi32(a, b)
    }

    #[inline(always)]
    fn most(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_max_epu32(a, b)
    }

    #[inline(always)]
    fn least(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_min_epu32(a, b)
    }

    #[inline(always)]
    fn most_halves(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512bw._mm512_max_epu16(a, b)
    }

    #[inline(always)]
    fn least_halves(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512bw._mm512_min_epu16(a, b)
    }

    #[inline(always)]
    fn sub_halves(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512bw._mm512_sub_epi16(a, b)
    }

    #[inline(always)]
    fn to_floats(self, a: __m512i) -> __m512i {
        words(self.avx512f._mm512_cvtepi32_ps(a))
    }

    #[inline(always)]
    fn sub_floats(self, a: __m512i, b: __m512i) -> __m512i {
        words(self.avx512f._mm512_sub_ps(float(a), float(b)))
    }

    #[inline(always)]
    fn floor(self, a: __m512i) -> __m512i {
        words(self.avx512f._mm512_roundscale_ps::<DOWN>(float(a)))
    }

    #[inline(always)]
    fn floor_parts(self, a: __m512i) -> __m512i {
        words(self.avx512f._mm512_roundscale_ps::<{ 8 << 4 | DOWN }>(float(a)))
    }

    #[inline(always)]
    fn fraction(self, a: __m512i) -> __m512i {
        let whole = self.avx512f._mm512_roundscale_ps::<DOWN>(float(a));
        // Before a whole number nothing may be rounded up to it.
        let fraction =
            self.avx512f._mm512_sub_round_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(float(a), whole);
        words(self.avx512f._mm512_max_ps(fraction, self.avx512f._mm512_setzero_ps()))
    }

    #[inline(always)]
    fn larger(self, a: __m512i, b: __m512i) -> __m512i {
        words(self.avx512f._mm512_max_ps(float(a), float(b)))
    }

    #[inline(always)]
    fn smaller(self, a: __m512i, b: __m512i) -> __m512i {
        words(self.avx512f._mm512_min_ps(float(a), float(b)))
    }

    #[inline(always)]
    fn add_exact_product(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        words(self.avx512f._mm512_fmadd_ps(float(a), float(b), float(c)))
    }

    #[inline(always)]
    fn fractions<const RANGE: u32>(self, a: __m512i) -> __m512i {
        let [power, beyond] = beyond(RANGE);
        let [power, beyond] = [self.avx512f._mm512_set1_ps(power), self.avx512f._mm512_set1_ps(beyond)];
        let small = self.avx512f._mm512_mul_ps(float(a), beyond);
        words(self.avx512f._mm512_fmadd_ps(float(a), power, small))
    }

    #[inline(always)]
    fn exact_sums<const CUT: u32>(self, terms: [__m512i; 4], weights: &[__m512i; 4]) -> __m512i {
        let isa = self.avx512f;
        let [a, b, c, d] = terms;
        let [a, b, c, d] = [doubles(self, a), doubles(self, b), doubles(self, c), doubles(self, d)];
        let &[e, f, g, h] = weights;
        let weights = [doubles(self, e), doubles(self, f), doubles(self, g), doubles(self, h)];
        let mut out: [__m256; 2] = must_cast(isa._mm512_setzero_si512());
        for half in 0..2 {
            let sum = isa._mm512_mul_pd(a[half], weights[0][half]);
            let sum = isa._mm512_fmadd_pd(b[half], weights[1][half], sum);
            let sum = isa._mm512_fmadd_pd(c[half], weights[2][half], sum);
            let sum = isa._mm512_fmadd_pd(d[half], weights[3][half], sum);
            let half_up = isa._mm512_add_epi64(must_cast(sum), isa._mm512_set1_epi64(1 << (CUT - 1)));
            let kept = isa._mm512_and_si512(half_up, isa._mm512_set1_epi64(-1 << CUT));
            out[half] = isa._mm512_cvtpd_ps(must_cast(kept));
        }
        must_cast(out)
    }
}

/// `.f32` as `.f64`.
#[inline(always)]
fn doubles_of_eight(Eight(v): Eight, a: __m256i) -> [__m256d; 2] {
    let [low, high]: [__m128; 2] = must_cast(a);
    [v.avx._mm256_cvtps_pd(low), v.avx._mm256_cvtps_pd(high)]
}

/// AVX2.
impl SamplingVectors for Eight {
    #[inline(always)]
    fn first(self, a: __m256i) -> u32 {
        self.0.avx2._mm256_cvtsi256_si32(a) as u32
    }

    #[inline(always)]
    fn any_of(self, a: __m256i, bits: u32) -> bool {
        self.0.avx._mm256_testz_si256(a, self.splat(bits)) == 0
    }

    #[inline(always)]
    fn mul_words(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_mullo_epi32(a, b)
    }

    #[inline(always)]
    fn shl_by(self, a: __m256i, by: u32) -> __m256i {
        self.0.avx2._mm256_sll_epi32(a, must_cast([by, 0, 0, 0]))
    }

    #[inline(always)]
    fn shr_by(self, a: __m256i, by: u32) -> __m256i {
        self.0.avx2._mm256_srl_epi32(a, must_cast([by, 0, 0, 0]))
    }

    #[inline(always)]
    fn shr_each(self, a: __m256i, by: __m256i) -> __m256i {
        self.0.avx2._mm256_srlv_epi32(a, by)
    }

    #[inline(always)]
    fn sar<const BY: u32>(self, a: __m256i) -> __m256i {
        self.0.avx2._mm256_sra_epi32(a, must_cast([BY, 0, 0, 0]))
    }

    #[inline(always)]
    fn min(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_min_epi32(a, b)
    }

    #[inline(always)]
    fn most(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_max_epu32(a, b)
    }

    #[inline(always)]
    fn least(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_min_epu32(a, b)
    }

    #[inline(always)]
    fn most_halves(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_max_epu16(a, b)
    }

    #[inline(always)]
    fn least_halves(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_min_epu16(a, b)
    }

    #[inline(always)]
    fn sub_halves(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_sub_epi16(a, b)
    }

    #[inline(always)]
    fn to_floats(self, a: __m256i) -> __m256i {
        eight_words(self.0.avx._mm256_cvtepi32_ps(a))
    }

    #[inline(always)]
    fn sub_floats(self, a: __m256i, b: __m256i) -> __m256i {
        eight_words(self.0.avx._mm256_sub_ps(eight_floats(a), eight_floats(b)))
    }

    #[inline(always)]
    fn floor(self, a: __m256i) -> __m256i {
        eight_words(self.0.avx._mm256_floor_ps(eight_floats(a)))
    }

    #[inline(always)]
    fn floor_parts(self, a: __m256i) -> __m256i {
        let [units, parts] = [self.0.avx._mm256_set1_ps(256.0), self.0.avx._mm256_set1_ps(1.0 / 256.0)];
        let whole = self.0.avx._mm256_floor_ps(self.0.avx._mm256_mul_ps(eight_floats(a), units));
        eight_words(self.0.avx._mm256_mul_ps(whole, parts))
    }

    #[inline(always)]
    fn fraction(self, a: __m256i) -> __m256i {
        let avx = self.0.avx;
        let [parts, one] = [avx._mm256_set1_ps(LAST_PART), avx._mm256_set1_ps(1.0 / LAST_PART)];
        // Powers of 2: all of this is exact. NaN is what becomes of infinities, too.
        let part = avx._mm256_floor_ps(avx._mm256_mul_ps(eight_floats(a), parts));
        let whole = avx._mm256_floor_ps(avx._mm256_mul_ps(part, one));
        let inside = self.0.fma._mm256_fnmadd_ps(whole, parts, part);
        eight_words(avx._mm256_max_ps(avx._mm256_mul_ps(inside, one), avx._mm256_setzero_ps()))
    }

    #[inline(always)]
    fn larger(self, a: __m256i, b: __m256i) -> __m256i {
        eight_words(self.0.avx._mm256_max_ps(eight_floats(a), eight_floats(b)))
    }

    #[inline(always)]
    fn smaller(self, a: __m256i, b: __m256i) -> __m256i {
        eight_words(self.0.avx._mm256_min_ps(eight_floats(a), eight_floats(b)))
    }

    #[inline(always)]
    fn add_exact_product(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        eight_words(self.0.fma._mm256_fmadd_ps(eight_floats(a), eight_floats(b), eight_floats(c)))
    }

    #[inline(always)]
    fn fractions<const RANGE: u32>(self, a: __m256i) -> __m256i {
        let [power, beyond] = beyond(RANGE);
        let [power, beyond] = [self.0.avx._mm256_set1_ps(power), self.0.avx._mm256_set1_ps(beyond)];
        let small = self.0.avx._mm256_mul_ps(eight_floats(a), beyond);
        eight_words(self.0.fma._mm256_fmadd_ps(eight_floats(a), power, small))
    }

    #[inline(always)]
    fn exact_sums<const CUT: u32>(self, terms: [__m256i; 4], weights: &[__m256i; 4]) -> __m256i {
        let [a, b, c, d] = terms;
        let [a, b, c, d] = [
            doubles_of_eight(self, a),
            doubles_of_eight(self, b),
            doubles_of_eight(self, c),
            doubles_of_eight(self, d),
        ];
        let &[e, f, g, h] = weights;
        let weights = [
            doubles_of_eight(self, e),
            doubles_of_eight(self, f),
            doubles_of_eight(self, g),
            doubles_of_eight(self, h),
        ];
        let mut out: [__m128; 2] = must_cast(self.0.avx._mm256_setzero_si256());
        for half in 0..2 {
            let sum = self.0.avx._mm256_mul_pd(a[half], weights[0][half]);
            let sum = self.0.fma._mm256_fmadd_pd(b[half], weights[1][half], sum);
            let sum = self.0.fma._mm256_fmadd_pd(c[half], weights[2][half], sum);
            let sum = self.0.fma._mm256_fmadd_pd(d[half], weights[3][half], sum);
            let half_up = self.0.avx2._mm256_add_epi64(must_cast(sum), self.0.avx._mm256_set1_epi64x(1 << (CUT - 1)));
            let kept = self.0.avx2._mm256_and_si256(half_up, self.0.avx._mm256_set1_epi64x(-1 << CUT));
            out[half] = self.0.avx._mm256_cvtpd_ps(must_cast(kept));
        }
        must_cast(out)
    }
}
