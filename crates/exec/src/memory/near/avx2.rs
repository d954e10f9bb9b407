//! The same with AVX2: windows of 16 elements for 8 lanes, and a load for each lane where they lie elsewhere.

use std::arch::x86_64::__m256i;

use bytemuck::must_cast;
use pulp::x86::V3;
use warploom_numerics::vector::{Eight, WordVectors};

use super::{Gathers, Room, Rows, Words, fours, one_by_one, vector};

/// With one load for each, or neighbours' bytes together with what AVX2 has to take them apart.
// SAFETY: each block, row, place and word is gone through, but where the answer is no.
unsafe impl Gathers for Eight {
    const WINDOW: Option<u32> = Some(WINDOW_256);

    #[inline(always)]
    unsafe fn near<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
        self,
        rows: [Rows<'_, Self, WIDTH, N, R>; B],
        numbers: &[[__m256i; P]; B],
        room: &mut Room<[u32; 8], N, P, R, B>,
    ) -> bool {
        // SAFETY: the caller's.
        unsafe { near_256::<WIDTH, N, P, R, B>(self.0, rows, numbers, room) }
    }

    #[inline(always)]
    unsafe fn apart<const N: usize, const P: usize>(
        self,
        start: u64,
        offsets: &[__m256i; P],
        out: &mut Words<[u32; 8], N, P>,
    ) {
        for (out, offsets) in out.iter_mut().zip(offsets) {
            let offsets = self.store(*offsets);
            match &mut out[..] {
                // SAFETY: the caller's.
                [a, b, c, d] => unsafe { fours::<_, 2>(self, start, &offsets, must_cast, [a, b, c, d]) },
                // SAFETY: the caller's.
                out => unsafe { one_by_one(start, &offsets, out) },
            }
        }
    }
}

/// Elements of a window.
const WINDOW_256: u32 = 16;

/// Half of them.
const HALF_256: u32 = WINDOW_256 / 2;

/// Words of the elements of half a window that begins here, in order: those of one place in an element in a vector.
///
/// # Safety
/// As for [`Raw::read`](super::Raw), of [`HALF_256`] elements, each of which is aligned to all its bytes or to 8.
#[inline(always)]
unsafe fn half_256<const WIDTH: usize, const N: usize>(token: V3, from: u64) -> [__m256i; N] {
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    const MIDDLE_EXCHANGED: i32 = 0b11_01_10_00;
    let (isa, floats) = (token.avx2, token.avx);
    let mut words = [floats._mm256_setzero_si256(); N];
    // SAFETY: the caller's.
    unsafe {
        match &mut words[..] {
            [word] if WIDTH == 1 => *word = isa._mm256_cvtepu8_epi32(must_cast([vector::<u64>(from), 0])),
            [word] if WIDTH == 2 => *word = isa._mm256_cvtepu16_epi32(vector(from)),
            [word] => *word = vector(from),
            [low, high] => {
                let [a, b] = [vector(from), vector(from + 32)];
                let [even, odd] = [floats._mm256_shuffle_ps::<EVEN>(a, b), floats._mm256_shuffle_ps::<ODD>(a, b)];
                *low = isa._mm256_permute4x64_epi64::<MIDDLE_EXCHANGED>(must_cast(even));
                *high = isa._mm256_permute4x64_epi64::<MIDDLE_EXCHANGED>(must_cast(odd));
            }
            [x, y, z, w] => {
                // Of each the element behind the four.
                let pair = |at: u64| floats._mm256_set_m128i(vector(from + 64 + 16 * at), vector(from + 16 * at));
                let [a, b, c, d] = [pair(0), pair(1), pair(2), pair(3)];
                let [low, high] = [isa._mm256_unpacklo_epi32(a, c), isa._mm256_unpackhi_epi32(a, c)];
                let [lower, higher] = [isa._mm256_unpacklo_epi32(b, d), isa._mm256_unpackhi_epi32(b, d)];
                *x = isa._mm256_unpacklo_epi32(low, lower);
                *y = isa._mm256_unpackhi_epi32(low, lower);
                *z = isa._mm256_unpacklo_epi32(high, higher);
                *w = isa._mm256_unpackhi_epi32(high, higher);
            }
            _ => {}
        }
    }
    words
}

/// How far numbers lie behind the first lane's least one, and whether that is out of its window.
#[inline(always)]
fn within_256<const P: usize>(token: V3, least: __m256i, numbers: &[__m256i; P]) -> ([__m256i; P], bool) {
    let (isa, floats) = (token.avx2, token.avx);
    let first = isa._mm256_broadcastd_epi32(floats._mm256_castsi256_si128(least));
    let mut within = [first; P];
    let mut all = floats._mm256_setzero_si256();
    for (within, numbers) in within.iter_mut().zip(numbers) {
        *within = isa._mm256_sub_epi32(*numbers, first);
        all = isa._mm256_or_si256(all, *within);
    }
    (within, floats._mm256_testz_si256(all, floats._mm256_set1_epi32(!(WINDOW_256 as i32 - 1))) == 0)
}

/// [`Gathers::near`]
///
/// # Safety
/// As for [`Gathers::near`].
#[inline(always)]
unsafe fn near_256<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
    token: V3,
    rows: [Rows<'_, Eight, WIDTH, N, R>; B],
    numbers: &[[__m256i; P]; B],
    room: &mut Room<[u32; 8], N, P, R, B>,
) -> bool {
    let (isa, floats) = (token.avx2, token.avx);
    let last = floats._mm256_set1_epi32(HALF_256 as i32 - 1);
    for (block, (rows, numbers)) in rows.into_iter().zip(numbers).enumerate() {
        let mut least = floats._mm256_set1_epi32(rows.most as i32);
        for numbers in numbers {
            least = isa._mm256_min_epu32(least, *numbers);
        }
        // Lanes that follow each other mostly go up.
        let (mut within, mut outside) = within_256(token, least, numbers);
        if outside {
            least = isa._mm256_min_epu32(least, isa._mm256_permutevar8x32_epi32(least, last));
            (within, outside) = within_256(token, least, numbers);
            if outside {
                return false;
            }
        }
        let from = u64::from(isa._mm256_cvtsi256_si32(least) as u32) * (WIDTH * N) as u64;
        // Mostly each place lies behind the one before: then half a window holds what all lanes have there.
        let mut others = isa._mm256_and_si256(within[0], floats._mm256_set1_epi32(!(HALF_256 as i32 - 1)));
        for (place, at) in within.iter().enumerate() {
            let behind = isa._mm256_sub_epi32(*at, floats._mm256_set1_epi32(place as i32));
            others = isa._mm256_or_si256(others, isa._mm256_xor_si256(behind, within[0]));
        }
        let follow = floats._mm256_testz_si256(others, others) != 0;
        // Written out: a loop would have each vector go through memory.
        macro_rules! load {
            ($($row:literal)+) => {
                $(if $row < R {
                    let from = rows.starts[$row] + from;
                    if follow {
                        for place in 0..P {
                            // SAFETY: no window begins behind the last one, and this half of one begins no further than there are places in it.
                            let words = unsafe { half_256::<WIDTH, N>(token, from + (place * WIDTH * N) as u64) };
                            for (word, words) in words.into_iter().enumerate() {
                                let words = isa._mm256_permutevar8x32_epi32(words, within[0]);
                                // SAFETY: these are counted.
                                unsafe { room.put([block, $row, place, word], must_cast(words)) };
                            }
                        }
                    } else {
                        // SAFETY: no window begins behind the last one.
                        let low = unsafe { half_256::<WIDTH, N>(token, from) };
                        // SAFETY: as above.
                        let high = unsafe { half_256::<WIDTH, N>(token, from + u64::from(HALF_256) * (WIDTH * N) as u64) };
                        for (place, within) in within.into_iter().enumerate() {
                            // The bit that tells the second half from the first goes where blends look.
                            let second = must_cast(isa._mm256_slli_epi32::<28>(within));
                            for (word, (low, high)) in low.into_iter().zip(high).enumerate() {
                                let low = isa._mm256_permutevar8x32_epi32(low, within);
                                let high = isa._mm256_permutevar8x32_epi32(high, within);
                                let words = floats._mm256_blendv_ps(must_cast(low), must_cast(high), second);
                                // SAFETY: these are counted.
                                unsafe { room.put([block, $row, place, word], must_cast(words)) };
                            }
                        }
                    }
                })+
            };
        }
        const { assert!(R <= 2 && P <= HALF_256 as usize) };
        load!(0 1);
    }
    true
}
