//! Vectors of sixteen words, as far as products of matrices need them: the same operations for every processor.
//!
//! Loops over arrays are left to the compiler where it makes vectors of them; where it does not, the processor's instructions stand here.

use crate::Rounding;
use crate::format::{self, F16};

/// Sixteen words of 32 bits, and what is computed with them.
pub trait Vectors: Copy {
    /// Sixteen words.
    type Words: Copy;

    /// Calls a function, compiled for the processor.
    fn run<R>(self, function: impl FnOnce() -> R) -> R;
    /// From memory.
    fn load(self, from: &[u32; 16]) -> Self::Words;
    /// To memory.
    fn store(self, words: Self::Words) -> [u32; 16];
    /// The same word sixteen times.
    fn splat(self, word: u32) -> Self::Words;
    /// Sums that wrap.
    fn add(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Differences that wrap.
    fn sub(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `a & b`
    fn and(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `a | b`
    fn or(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `a ^ b`
    fn xor(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Shifted left.
    fn shl<const BY: u32>(self, a: Self::Words) -> Self::Words;
    /// Shifted right, zeros from above.
    fn shr<const BY: u32>(self, a: Self::Words) -> Self::Words;
    /// The larger ones as `.s32`.
    fn max(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `yes` where `a` is larger than `b` as `.s32`, else `no`.
    fn if_greater(self, a: Self::Words, b: Self::Words, yes: Self::Words, no: Self::Words) -> Self::Words;
    /// Whether any bit is set.
    fn any(self, a: Self::Words) -> bool;
    /// Sums of the bytes, which wrap.
    fn add_bytes(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The larger bytes, which have no sign.
    fn max_bytes(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The low bytes of the words.
    fn pack_bytes(self, a: Self::Words) -> [u32; 4];
    /// Products of `.f32`.
    fn mul(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Sums of `.f32`.
    fn add_floats(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `.f32` to `.s32`, towards zero, of numbers below 2^31; of others anything.
    fn truncate(self, a: Self::Words) -> Self::Words;
    /// `.f32` as `.f16`, to nearest even, in low and high halves.
    fn narrow(self, low: Self::Words, high: Self::Words) -> Self::Words;
    /// `.f32` rounded to `.f16`, to nearest even, and what that is as `.f32`.
    fn round_to_half(self, a: Self::Words) -> Self::Words;
    /// `.s32` to `.f32`, towards zero.
    fn towards_zero(self, a: Self::Words) -> Self::Words;
    /// The low and the high halves, which are `.f16`, as `.f32`. A NaN stays one.
    fn widen(self, a: Self::Words) -> [Self::Words; 2];
    /// Of each four words `r[0]`, `r[1]`, `r[2]`, `r[3]`, four rows: rows and columns exchanged.
    fn transpose(self, rows: [Self::Words; 4]) -> [Self::Words; 4];
}

/// Plain arrays.
#[derive(Clone, Copy, Debug)]
pub struct Arrays;

/// An array whose elements are computed of those of others.
macro_rules! each {
    ($($a:ident),+ => $value:expr) => {{
        let mut out = [0; 16];
        for lane in 0..16 {
            $(let $a = $a[lane];)+
            out[lane] = $value;
        }
        out
    }};
}

/// The same of the bytes of words.
macro_rules! each_byte {
    ($($a:ident),+ => $value:expr) => {{
        let mut out = [0u32; 16];
        for lane in 0..16 {
            $(let $a = $a[lane].to_le_bytes();)+
            let mut bytes = [0u8; 4];
            for byte in 0..4 {
                $(let $a = $a[byte];)+
                bytes[byte] = $value;
            }
            out[lane] = u32::from_le_bytes(bytes);
        }
        out
    }};
}

impl Vectors for Arrays {
    type Words = [u32; 16];

    #[inline(always)]
    fn run<R>(self, function: impl FnOnce() -> R) -> R {
        function()
    }

    #[inline(always)]
    fn load(self, from: &[u32; 16]) -> [u32; 16] {
        *from
    }

    #[inline(always)]
    fn store(self, words: [u32; 16]) -> [u32; 16] {
        words
    }

    #[inline(always)]
    fn splat(self, word: u32) -> [u32; 16] {
        [word; 16]
    }

    #[inline(always)]
    fn add(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a.wrapping_add(b))
    }

    #[inline(always)]
    fn sub(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a.wrapping_sub(b))
    }

    #[inline(always)]
    fn and(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a & b)
    }

    #[inline(always)]
    fn or(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a | b)
    }

    #[inline(always)]
    fn xor(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => a ^ b)
    }

    #[inline(always)]
    fn shl<const BY: u32>(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => a << BY)
    }

    #[inline(always)]
    fn shr<const BY: u32>(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => a >> BY)
    }

    #[inline(always)]
    fn max(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => (a as i32).max(b as i32) as u32)
    }

    #[inline(always)]
    fn if_greater(self, a: [u32; 16], b: [u32; 16], yes: [u32; 16], no: [u32; 16]) -> [u32; 16] {
        each!(a, b, yes, no => if a as i32 > b as i32 { yes } else { no })
    }

    #[inline(always)]
    fn any(self, a: [u32; 16]) -> bool {
        a.iter().fold(0, |any, word| any | word) != 0
    }

    #[inline(always)]
    fn add_bytes(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each_byte!(a, b => a.wrapping_add(b))
    }

    #[inline(always)]
    fn max_bytes(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each_byte!(a, b => a.max(b))
    }

    #[inline(always)]
    fn pack_bytes(self, a: [u32; 16]) -> [u32; 4] {
        let mut out = [0; 4];
        for lane in 0..16 {
            out[lane / 4] |= (a[lane] & 0xff) << (8 * (lane % 4));
        }
        out
    }

    #[inline(always)]
    fn mul(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => (f32::from_bits(a) * f32::from_bits(b)).to_bits())
    }

    #[inline(always)]
    fn add_floats(self, a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
        each!(a, b => (f32::from_bits(a) + f32::from_bits(b)).to_bits())
    }

    #[inline(always)]
    fn truncate(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => f32::from_bits(a) as i32 as u32)
    }

    #[inline(always)]
    fn narrow(self, low: [u32; 16], high: [u32; 16]) -> [u32; 16] {
        let half = |bits| format::narrow::<F16>(f64::from(f32::from_bits(bits)), Rounding::Nearest, false);
        each!(low, high => half(low) | half(high) << 16)
    }

    #[inline(always)]
    fn round_to_half(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => {
            let half = format::narrow::<F16>(f64::from(f32::from_bits(a)), Rounding::Nearest, false);
            format::widen::<F16>(half).to_bits()
        })
    }

    #[inline(always)]
    fn towards_zero(self, a: [u32; 16]) -> [u32; 16] {
        each!(a => {
            let exact = f64::from(a as i32).to_bits();
            (f64::from_bits(exact & u64::MAX << 29) as f32).to_bits()
        })
    }

    #[inline(always)]
    fn widen(self, a: [u32; 16]) -> [[u32; 16]; 2] {
        // The exponent at its place, and as far off as the two types' are apart; but for infinities and NaNs.
        let high = each!(a => {
            let bits = ((a as i32) >> 3) as u32 & 0x8fff_e000;
            let beyond = if a & 0x7c00_0000 == 0x7c00_0000 { 0x7f80_0000 } else { 0 };
            (f32::from_bits(bits) * f32::from_bits((127 + 112) << 23)).to_bits() | beyond
        });
        let low = each!(a => {
            let bits = ((a << 16) as i32 >> 3) as u32 & 0x8fff_e000;
            let beyond = if a & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
            (f32::from_bits(bits) * f32::from_bits((127 + 112) << 23)).to_bits() | beyond
        });
        [low, high]
    }

    #[inline(always)]
    fn transpose(self, rows: [[u32; 16]; 4]) -> [[u32; 16]; 4] {
        let mut out = [[0; 16]; 4];
        for lane in 0..16 {
            for column in 0..4 {
                out[column][lane] = rows[lane % 4][lane / 4 * 4 + column];
            }
        }
        out
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m256i, __m512, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_ZERO,
    };

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{Arrays, Vectors};

    const TO_NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;
    const TOWARDS_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

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
        cast(words)
    }

    #[inline(always)]
    fn words(float: __m512) -> __m512i {
        cast(float)
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
            cast(*from)
        }

        #[inline(always)]
        fn store(self, words: __m512i) -> [u32; 16] {
            cast(words)
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
        fn pack_bytes(self, a: __m512i) -> [u32; 4] {
            cast(self.avx512f._mm512_cvtepi32_epi8(a))
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
        cast(words)
    }

    #[inline(always)]
    fn word_half(float: __m256) -> __m256i {
        cast(float)
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
            cast(*from)
        }

        #[inline(always)]
        fn store(self, words: Two) -> [u32; 16] {
            cast(words)
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
            cast(Arrays.shl::<BY>(cast(a)))
        }

        #[inline(always)]
        fn shr<const BY: u32>(self, a: Two) -> Two {
            cast(Arrays.shr::<BY>(cast(a)))
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
        fn pack_bytes(self, a: Two) -> [u32; 4] {
            Arrays.pack_bytes(cast(a))
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
            cast(Arrays.narrow(cast(low), cast(high)))
        }

        #[inline(always)]
        fn round_to_half(self, a: Two) -> Two {
            cast(Arrays.round_to_half(cast(a)))
        }

        #[inline(always)]
        fn towards_zero(self, a: Two) -> Two {
            cast(Arrays.towards_zero(cast(a)))
        }

        #[inline(always)]
        fn widen(self, a: Two) -> [Two; 2] {
            let [low, high] = Arrays.widen(cast(a));
            [cast(low), cast(high)]
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
}
