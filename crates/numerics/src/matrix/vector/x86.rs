//! The same with AVX-512, and with AVX2.

use std::arch::x86_64::{__m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_ZERO};

use bytemuck::must_cast;
use pulp::x86::{V3, V4};

use super::Vectors;
use crate::vector::Arrays;
use crate::vector::x86::{Two, both, float, words};

const TO_NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;
const TOWARDS_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

/// The places of four words' top bytes, each four times.
const TOP_BYTES: [u32; 4] = [0x0303_0303, 0x0707_0707, 0x0b0b_0b0b, 0x0f0f_0f0f];

/// Of four words, the places of bytes with words and bytes exchanged.
const EXCHANGED_BYTES: [u32; 4] = [0x0c08_0400, 0x0d09_0501, 0x0e0a_0602, 0x0f0b_0703];

/// AVX-512.
impl Vectors for V4 {
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
}

/// AVX2.
impl Vectors for V3 {
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
}
