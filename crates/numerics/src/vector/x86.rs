//! The same with AVX-512, and with AVX2.

use std::arch::x86_64::{__m256, __m256i, __m512, __m512i};

use bytemuck::must_cast;
use pulp::x86::{V3, V4};

use super::{WordVectors, widened};

struct Call<F>(F);

impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Call<F> {
    type Output = R;

    #[inline(always)]
    fn call(self) -> R {
        (self.0)()
    }
}

#[inline(always)]
pub(crate) fn float(words: __m512i) -> __m512 {
    must_cast(words)
}

#[inline(always)]
pub(crate) fn words(float: __m512) -> __m512i {
    must_cast(float)
}

/// AVX-512.
impl WordVectors for V4 {
    type Lanes = [u32; 16];
    type Words = __m512i;

    #[inline(always)]
    fn run<R>(self, function: impl FnOnce() -> R) -> R {
        self.vectorize(Call(function))
    }

    #[inline(always)]
    fn load(self, from: &[u32; 16]) -> __m512i {
        must_cast(*from)
    }

    #[inline(always)]
    fn store(self, words: __m512i) -> [u32; 16] {
        must_cast(words)
    }

    #[inline(always)]
    fn splat(self, word: u32) -> __m512i {
        self.avx512f._mm512_set1_epi32(word as i32)
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_add_epi32(a, b)
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_sub_epi32(a, b)
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_and_epi32(a, b)
    }

    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_or_epi32(a, b)
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_xor_epi32(a, b)
    }

    #[inline(always)]
    fn shl<const BY: u32>(self, a: __m512i) -> __m512i {
        self.avx512f._mm512_slli_epi32::<BY>(a)
    }

    #[inline(always)]
    fn shr<const BY: u32>(self, a: __m512i) -> __m512i {
        self.avx512f._mm512_srli_epi32::<BY>(a)
    }

    #[inline(always)]
    fn max(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_max_epi32(a, b)
    }

    #[inline(always)]
    fn if_greater(self, a: __m512i, b: __m512i, yes: __m512i, no: __m512i) -> __m512i {
        let greater = self.avx512f._mm512_cmpgt_epi32_mask(a, b);
        self.avx512f._mm512_mask_blend_epi32(greater, no, yes)
    }

    #[inline(always)]
    fn any(self, a: __m512i) -> bool {
        self.avx512f._mm512_test_epi32_mask(a, a) != 0
    }

    #[inline(always)]
    fn mul(self, a: __m512i, b: __m512i) -> __m512i {
        words(self.avx512f._mm512_mul_ps(float(a), float(b)))
    }

    #[inline(always)]
    fn add_floats(self, a: __m512i, b: __m512i) -> __m512i {
        words(self.avx512f._mm512_add_ps(float(a), float(b)))
    }

    #[inline(always)]
    fn truncate(self, a: __m512i) -> __m512i {
        self.avx512f._mm512_cvttps_epi32(float(a))
    }

    #[inline(always)]
    fn widen(self, a: __m512i) -> [__m512i; 2] {
        let low = self.avx512f._mm512_cvtepi32_epi16(a);
        let high = self.avx512f._mm512_cvtepi32_epi16(self.avx512f._mm512_srli_epi32::<16>(a));
        [words(self.avx512f._mm512_cvtph_ps(low)), words(self.avx512f._mm512_cvtph_ps(high))]
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
        let f = self.avx512f;
        let (low, high) = (f._mm512_unpacklo_epi32(a, b), f._mm512_unpackhi_epi32(a, b));
        let (low_on, high_on) = (f._mm512_unpacklo_epi32(c, d), f._mm512_unpackhi_epi32(c, d));
        [
            f._mm512_unpacklo_epi64(low, low_on),
            f._mm512_unpackhi_epi64(low, low_on),
            f._mm512_unpacklo_epi64(high, high_on),
            f._mm512_unpackhi_epi64(high, high_on),
        ]
    }
}

/// AVX2, a register at a time: where much is alive, sixteen lanes have no room.
#[derive(Clone, Copy, Debug)]
pub struct Eight(pub V3);

#[inline(always)]
pub(crate) fn eight_floats(words: __m256i) -> __m256 {
    must_cast(words)
}

#[inline(always)]
pub(crate) fn eight_words(float: __m256) -> __m256i {
    must_cast(float)
}

/// AVX2.
impl WordVectors for Eight {
    type Lanes = [u32; 8];
    type Words = __m256i;

    #[inline(always)]
    fn run<R>(self, function: impl FnOnce() -> R) -> R {
        self.0.vectorize(Call(function))
    }

    #[inline(always)]
    fn load(self, from: &[u32; 8]) -> __m256i {
        must_cast(*from)
    }

    #[inline(always)]
    fn store(self, words: __m256i) -> [u32; 8] {
        must_cast(words)
    }

    #[inline(always)]
    fn splat(self, word: u32) -> __m256i {
        self.0.avx._mm256_set1_epi32(word as i32)
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_add_epi32(a, b)
    }

    #[inline(always)]
    fn sub(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_sub_epi32(a, b)
    }

    #[inline(always)]
    fn and(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_and_si256(a, b)
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_or_si256(a, b)
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_xor_si256(a, b)
    }

    #[inline(always)]
    fn shl<const BY: u32>(self, a: __m256i) -> __m256i {
        self.0.avx2._mm256_sll_epi32(a, must_cast([BY, 0, 0, 0]))
    }

    #[inline(always)]
    fn shr<const BY: u32>(self, a: __m256i) -> __m256i {
        self.0.avx2._mm256_srl_epi32(a, must_cast([BY, 0, 0, 0]))
    }

    #[inline(always)]
    fn max(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.avx2._mm256_max_epi32(a, b)
    }

    #[inline(always)]
    fn if_greater(self, a: __m256i, b: __m256i, yes: __m256i, no: __m256i) -> __m256i {
        self.0.avx2._mm256_blendv_epi8(no, yes, self.0.avx2._mm256_cmpgt_epi32(a, b))
    }

    #[inline(always)]
    fn any(self, a: __m256i) -> bool {
        self.0.avx._mm256_testz_si256(a, a) == 0
    }

    #[inline(always)]
    fn mul(self, a: __m256i, b: __m256i) -> __m256i {
        eight_words(self.0.avx._mm256_mul_ps(eight_floats(a), eight_floats(b)))
    }

    #[inline(always)]
    fn add_floats(self, a: __m256i, b: __m256i) -> __m256i {
        eight_words(self.0.avx._mm256_add_ps(eight_floats(a), eight_floats(b)))
    }

    #[inline(always)]
    fn truncate(self, a: __m256i) -> __m256i {
        self.0.avx._mm256_cvttps_epi32(eight_floats(a))
    }

    #[inline(always)]
    fn widen(self, a: __m256i) -> [__m256i; 2] {
        let [low, high] = widened::<8>(must_cast(a));
        [must_cast(low), must_cast(high)]
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
        let avx2 = self.0.avx2;
        let low = avx2._mm256_unpacklo_epi32(a, b);
        let high = avx2._mm256_unpackhi_epi32(a, b);
        let low_on = avx2._mm256_unpacklo_epi32(c, d);
        let high_on = avx2._mm256_unpackhi_epi32(c, d);
        [
            avx2._mm256_unpacklo_epi64(low, low_on),
            avx2._mm256_unpackhi_epi64(low, low_on),
            avx2._mm256_unpacklo_epi64(high, high_on),
            avx2._mm256_unpackhi_epi64(high, high_on),
        ]
    }
}

pub(crate) type Two = [__m256i; 2];

/// Both halves.
macro_rules! both {
    ($($a:ident),+ => $value:expr) => {{
        let first = { $(let $a = $a[0];)+ $value };
        let second = { $(let $a = $a[1];)+ $value };
        [first, second]
    }};
}

pub(crate) use both;

/// AVX2, two registers at a time.
impl WordVectors for V3 {
    type Lanes = [u32; 16];
    type Words = Two;

    #[inline(always)]
    fn run<R>(self, function: impl FnOnce() -> R) -> R {
        self.vectorize(Call(function))
    }

    #[inline(always)]
    fn load(self, from: &[u32; 16]) -> Two {
        must_cast(*from)
    }

    #[inline(always)]
    fn store(self, words: Two) -> [u32; 16] {
        must_cast(words)
    }

    #[inline(always)]
    fn splat(self, word: u32) -> Two {
        [Eight(self).splat(word); 2]
    }

    #[inline(always)]
    fn add(self, a: Two, b: Two) -> Two {
        both!(a, b => Eight(self).add(a, b))
    }

    #[inline(always)]
    fn sub(self, a: Two, b: Two) -> Two {
        both!(a, b => Eight(self).sub(a, b))
    }

    #[inline(always)]
    fn and(self, a: Two, b: Two) -> Two {
        both!(a, b => Eight(self).and(a, b))
    }

    #[inline(always)]
    fn or(self, a: Two, b: Two) -> Two {
        both!(a, b => Eight(self).or(a, b))
    }

    #[inline(always)]
    fn xor(self, a: Two, b: Two) -> Two {
        both!(a, b => Eight(self).xor(a, b))
    }

    #[inline(always)]
    fn shl<const BY: u32>(self, a: Two) -> Two {
        both!(a => Eight(self).shl::<BY>(a))
    }

    #[inline(always)]
    fn shr<const BY: u32>(self, a: Two) -> Two {
        both!(a => Eight(self).shr::<BY>(a))
    }

    #[inline(always)]
    fn max(self, a: Two, b: Two) -> Two {
        both!(a, b => Eight(self).max(a, b))
    }

    #[inline(always)]
    fn if_greater(self, a: Two, b: Two, yes: Two, no: Two) -> Two {
        both!(a, b, yes, no => Eight(self).if_greater(a, b, yes, no))
    }

    #[inline(always)]
    fn any(self, [a, b]: Two) -> bool {
        let eight = Eight(self);
        eight.any(eight.or(a, b))
    }

    #[inline(always)]
    fn mul(self, a: Two, b: Two) -> Two {
        both!(a, b => Eight(self).mul(a, b))
    }

    #[inline(always)]
    fn add_floats(self, a: Two, b: Two) -> Two {
        both!(a, b => Eight(self).add_floats(a, b))
    }

    #[inline(always)]
    fn truncate(self, a: Two) -> Two {
        both!(a => Eight(self).truncate(a))
    }

    #[inline(always)]
    fn widen(self, a: Two) -> [Two; 2] {
        let [[a, b], [c, d]] = both!(a => Eight(self).widen(a));
        [[a, c], [b, d]]
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [Two; 4]) -> [Two; 4] {
        let [first, second] = both!(a, b, c, d => Eight(self).transpose([a, b, c, d]));
        [[first[0], second[0]], [first[1], second[1]], [first[2], second[2]], [first[3], second[3]]]
    }
}
