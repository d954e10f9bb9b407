//! The same with AVX-512, and with AVX2.

use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_ZERO,
};

use bytemuck::must_cast;
use pulp::x86::{V3, V4};

use super::{Arrays, Vectors};

const TO_NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;
const TOWARDS_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

/// The places of four words' top bytes, each four times.
const TOP_BYTES: [u32; 4] = [0x0303_0303, 0x0707_0707, 0x0b0b_0b0b, 0x0f0f_0f0f];

/// Of four words, the places of bytes with words and bytes exchanged.
const EXCHANGED_BYTES: [u32; 4] = [0x0c08_0400, 0x0d09_0501, 0x0e0a_0602, 0x0f0b_0703];

struct Call<F>(F);

impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Call<F> {
    type Output = R;

    #[inline(always)]
    fn call(self) -> R {
        (self.0)()
    }
}

#[inline(always)]
fn float(words: __m512i) -> __m512 {
    must_cast(words)
}

#[inline(always)]
fn words(float: __m512) -> __m512i {
    must_cast(float)
}

/// AVX-512.
impl Vectors for V4 {
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
    fn add_bytes(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512bw._mm512_add_epi8(a, b)
    }

    #[inline(always)]
    fn max_bytes(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512bw._mm512_max_epu8(a, b)
    }

    #[inline(always)]
    fn spread_top_bytes(self, a: __m512i) -> __m512i {
        self.avx512bw._mm512_shuffle_epi8(a, must_cast([TOP_BYTES; 4]))
    }

    #[inline(always)]
    fn exchange_bytes(self, a: __m512i) -> __m512i {
        self.avx512bw._mm512_shuffle_epi8(a, must_cast([EXCHANGED_BYTES; 4]))
    }

    #[inline(always)]
    fn pack_bytes(self, a: __m512i) -> [u32; 4] {
        must_cast(self.avx512f._mm512_cvtepi32_epi8(a))
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
    fn narrow(self, low: __m512i, high: __m512i) -> __m512i {
        let low = self.avx512f._mm512_cvtepu16_epi32(self.avx512f._mm512_cvtps_ph::<TO_NEAREST>(float(low)));
        let high = self.avx512f._mm512_cvtepu16_epi32(self.avx512f._mm512_cvtps_ph::<TO_NEAREST>(float(high)));
        self.avx512f._mm512_or_epi32(low, self.avx512f._mm512_slli_epi32::<16>(high))
    }

    #[inline(always)]
    fn round_to_half(self, a: __m512i) -> __m512i {
        words(self.avx512f._mm512_cvtph_ps(self.avx512f._mm512_cvtps_ph::<TO_NEAREST>(float(a))))
    }

    #[inline(always)]
    fn towards_zero(self, a: __m512i) -> __m512i {
        words(self.avx512f._mm512_cvt_roundepi32_ps::<TOWARDS_ZERO>(a))
    }

    #[inline(always)]
    fn widen(self, a: __m512i) -> [__m512i; 2] {
        let low = self.avx512f._mm512_cvtepi32_epi16(a);
        let high = self.avx512f._mm512_cvtepi32_epi16(self.avx512f._mm512_srli_epi32::<16>(a));
        [words(self.avx512f._mm512_cvtph_ps(low)), words(self.avx512f._mm512_cvtph_ps(high))]
    }

    #[inline(always)]
    fn numbers_of_bytes(self, a: __m512i, signed: bool) -> [__m512i; 2] {
        let bw = self.avx512bw;
        let above = bw._mm512_slli_epi16::<8>(a);
        match signed {
            true => [bw._mm512_srai_epi16::<8>(above), bw._mm512_srai_epi16::<8>(a)],
            false => [bw._mm512_srli_epi16::<8>(above), bw._mm512_srli_epi16::<8>(a)],
        }
    }

    #[inline(always)]
    fn dot(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512bw._mm512_madd_epi16(a, b)
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

type Two = [__m256i; 2];

#[inline(always)]
fn float_half(words: __m256i) -> __m256 {
    must_cast(words)
}

#[inline(always)]
fn word_half(float: __m256) -> __m256i {
    must_cast(float)
}

/// Both halves.
macro_rules! both {
    ($($a:ident),+ => $value:expr) => {{
        let first = { $(let $a = $a[0];)+ $value };
        let second = { $(let $a = $a[1];)+ $value };
        [first, second]
    }};
}

/// AVX2.
impl Vectors for V3 {
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
        [self.avx._mm256_set1_epi32(word as i32); 2]
    }

    #[inline(always)]
    fn add(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_add_epi32(a, b))
    }

    #[inline(always)]
    fn sub(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_sub_epi32(a, b))
    }

    #[inline(always)]
    fn and(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_and_si256(a, b))
    }

    #[inline(always)]
    fn or(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_or_si256(a, b))
    }

    #[inline(always)]
    fn xor(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_xor_si256(a, b))
    }

    #[inline(always)]
    fn shl<const BY: u32>(self, a: Two) -> Two {
        must_cast(Arrays.shl::<BY>(must_cast(a)))
    }

    #[inline(always)]
    fn shr<const BY: u32>(self, a: Two) -> Two {
        must_cast(Arrays.shr::<BY>(must_cast(a)))
    }

    #[inline(always)]
    fn max(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_max_epi32(a, b))
    }

    #[inline(always)]
    fn if_greater(self, a: Two, b: Two, yes: Two, no: Two) -> Two {
        both!(a, b, yes, no => self.avx2._mm256_blendv_epi8(no, yes, self.avx2._mm256_cmpgt_epi32(a, b)))
    }

    #[inline(always)]
    fn any(self, [a, b]: Two) -> bool {
        let both = self.avx2._mm256_or_si256(a, b);
        self.avx._mm256_testz_si256(both, both) == 0
    }

    #[inline(always)]
    fn add_bytes(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_add_epi8(a, b))
    }

    #[inline(always)]
    fn max_bytes(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_max_epu8(a, b))
    }

    #[inline(always)]
    fn spread_top_bytes(self, a: Two) -> Two {
        both!(a => self.avx2._mm256_shuffle_epi8(a, must_cast([TOP_BYTES; 2])))
    }

    #[inline(always)]
    fn exchange_bytes(self, a: Two) -> Two {
        both!(a => self.avx2._mm256_shuffle_epi8(a, must_cast([EXCHANGED_BYTES; 2])))
    }

    #[inline(always)]
    fn pack_bytes(self, a: Two) -> [u32; 4] {
        Arrays.pack_bytes(must_cast(a))
    }

    #[inline(always)]
    fn mul(self, a: Two, b: Two) -> Two {
        both!(a, b => word_half(self.avx._mm256_mul_ps(float_half(a), float_half(b))))
    }

    #[inline(always)]
    fn add_floats(self, a: Two, b: Two) -> Two {
        both!(a, b => word_half(self.avx._mm256_add_ps(float_half(a), float_half(b))))
    }

    #[inline(always)]
    fn truncate(self, a: Two) -> Two {
        both!(a => self.avx._mm256_cvttps_epi32(float_half(a)))
    }

    #[inline(always)]
    fn narrow(self, low: Two, high: Two) -> Two {
        must_cast(Arrays.narrow(must_cast(low), must_cast(high)))
    }

    #[inline(always)]
    fn round_to_half(self, a: Two) -> Two {
        must_cast(Arrays.round_to_half(must_cast(a)))
    }

    #[inline(always)]
    fn towards_zero(self, a: Two) -> Two {
        must_cast(Arrays.towards_zero(must_cast(a)))
    }

    #[inline(always)]
    fn widen(self, a: Two) -> [Two; 2] {
        let [low, high] = Arrays.widen(must_cast(a));
        [must_cast(low), must_cast(high)]
    }

    #[inline(always)]
    fn numbers_of_bytes(self, a: Two, signed: bool) -> [Two; 2] {
        let avx2 = self.avx2;
        let above = both!(a => avx2._mm256_slli_epi16::<8>(a));
        match signed {
            true => [both!(above => avx2._mm256_srai_epi16::<8>(above)), both!(a => avx2._mm256_srai_epi16::<8>(a))],
            false => [both!(above => avx2._mm256_srli_epi16::<8>(above)), both!(a => avx2._mm256_srli_epi16::<8>(a))],
        }
    }

    #[inline(always)]
    fn dot(self, a: Two, b: Two) -> Two {
        both!(a, b => self.avx2._mm256_madd_epi16(a, b))
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [Two; 4]) -> [Two; 4] {
        let avx2 = self.avx2;
        let low = both!(a, b => avx2._mm256_unpacklo_epi32(a, b));
        let high = both!(a, b => avx2._mm256_unpackhi_epi32(a, b));
        let low_on = both!(c, d => avx2._mm256_unpacklo_epi32(c, d));
        let high_on = both!(c, d => avx2._mm256_unpackhi_epi32(c, d));
        [
            both!(low, low_on => avx2._mm256_unpacklo_epi64(low, low_on)),
            both!(low, low_on => avx2._mm256_unpackhi_epi64(low, low_on)),
            both!(high, high_on => avx2._mm256_unpacklo_epi64(high, high_on)),
            both!(high, high_on => avx2._mm256_unpackhi_epi64(high, high_on)),
        ]
    }
}
