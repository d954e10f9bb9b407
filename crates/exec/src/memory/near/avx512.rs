//! The same with AVX-512: windows of 32 elements, which one permutation takes apart, and gathers.

use std::arch::x86_64::{__m256i, __m512i};

use bytemuck::must_cast;
use pulp::x86::V4;
use warploom_numerics::vector::WordVectors;

use super::{Gathers, Room, Rows, Words, fours, one_by_one, vector};

/// With gathers, or neighbours' bytes together.
// SAFETY: each block, row, place and word is gone through, but where the answer is no.
unsafe impl Gathers for V4 {
    const WINDOW: Option<u32> = Some(WINDOW_512);

    #[inline(always)]
    unsafe fn near<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
        self,
        rows: [Rows<'_, Self, WIDTH, N, R>; B],
        numbers: &[[__m512i; P]; B],
        room: &mut Room<[u32; 16], N, P, R, B>,
    ) -> bool {
        // SAFETY: the caller's.
        unsafe { near_512::<WIDTH, N, P, R, B>(self, rows, numbers, room) }
    }

    #[inline(always)]
    unsafe fn apart<const N: usize, const P: usize>(
        self,
        start: u64,
        offsets: &[__m512i; P],
        out: &mut Words<[u32; 16], N, P>,
    ) {
        let isa = self.avx512f;
        for (out, offsets) in out.iter_mut().zip(offsets) {
            match &mut out[..] {
                // SAFETY: the caller's; loads of aligned elements are not torn.
                [out] => *out = must_cast(unsafe { isa._mm512_i32gather_ps::<1>(*offsets, start as *const f32) }),
                [low, high] => {
                    let [first, second]: [__m256i; 2] = must_cast(*offsets);
                    // SAFETY: as above.
                    let pairs = unsafe {
                        let base = start as *const f64;
                        [isa._mm512_i32gather_pd::<1>(first, base), isa._mm512_i32gather_pd::<1>(second, base)]
                    };
                    split(&must_cast(pairs), low, high);
                }
                // SAFETY: the caller's.
                [a, b, c, d] => unsafe { fours::<_, 4>(self, start, &self.store(*offsets), must_cast, [a, b, c, d]) },
                // SAFETY: the caller's.
                out => unsafe { one_by_one(start, &self.store(*offsets), out) },
            }
        }
    }
}

/// The low and the high words of pairs.
#[inline(always)]
fn split(pairs: &[u64; 16], low: &mut [u32; 16], high: &mut [u32; 16]) {
    for ((low, high), pair) in low.iter_mut().zip(high).zip(pairs) {
        (*low, *high) = (*pair as u32, (*pair >> 32) as u32);
    }
}

/// Elements of a window.
const WINDOW_512: u32 = 32;

/// Half of them, as many as there are lanes.
const BLOCK: usize = 16;

/// Words of the elements of half a window that begins here, in order: those of one place in an element in a vector.
///
/// # Safety
/// As for [`Raw::read`], of [`BLOCK`] elements, each of which is aligned to all its bytes or to 8.
#[inline(always)]
unsafe fn half_512<const WIDTH: usize, const N: usize>(token: V4, from: u64) -> [__m512i; N] {
    const EVEN: [u32; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
    const ODD: [u32; 16] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
    const FIRST_TWO: [u32; 16] = [0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29];
    const LAST_TWO: [u32; 16] = [2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31];
    const LOW_HALVES: i32 = 0x44;
    const HIGH_HALVES: i32 = 0xee;
    let isa = token.avx512f;
    let mut words = [isa._mm512_setzero_si512(); N];
    // SAFETY: the caller's.
    unsafe {
        match &mut words[..] {
            [word] if WIDTH == 1 => *word = isa._mm512_cvtepu8_epi32(vector(from)),
            [word] if WIDTH == 2 => *word = isa._mm512_cvtepu16_epi32(vector(from)),
            [word] => *word = vector(from),
            [low, high] => {
                let [a, b] = [vector(from), vector(from + 64)];
                *low = isa._mm512_permutex2var_epi32(a, must_cast(EVEN), b);
                *high = isa._mm512_permutex2var_epi32(a, must_cast(ODD), b);
            }
            [x, y, z, w] => {
                let [a, b] = [vector(from), vector(from + 64)];
                let [c, d] = [vector(from + 128), vector(from + 192)];
                let one = isa._mm512_permutex2var_epi32(a, must_cast(FIRST_TWO), b);
                let other = isa._mm512_permutex2var_epi32(c, must_cast(FIRST_TWO), d);
                *x = isa._mm512_shuffle_i64x2::<LOW_HALVES>(one, other);
                *y = isa._mm512_shuffle_i64x2::<HIGH_HALVES>(one, other);
                let one = isa._mm512_permutex2var_epi32(a, must_cast(LAST_TWO), b);
                let other = isa._mm512_permutex2var_epi32(c, must_cast(LAST_TWO), d);
                *z = isa._mm512_shuffle_i64x2::<LOW_HALVES>(one, other);
                *w = isa._mm512_shuffle_i64x2::<HIGH_HALVES>(one, other);
            }
            _ => {}
        }
    }
    words
}

/// Elements of four words in a vector.
const FEW: u32 = 4;

/// [`half_512`] of [`FEW`] elements of four words: what is in other lanes means nothing.
///
/// # Safety
/// As for [`half_512`], of so many elements.
#[inline(always)]
unsafe fn few_512<const N: usize>(token: V4, from: u64) -> [__m512i; N] {
    const EACH_FIRST: [u32; 16] = [0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12];
    let isa = token.avx512f;
    // SAFETY: the caller's.
    let elements = unsafe { vector(from) };
    let mut words = [elements; N];
    for (at, word) in words.iter_mut().enumerate() {
        let places = isa._mm512_add_epi32(must_cast(EACH_FIRST), isa._mm512_set1_epi32(at as i32));
        *word = isa._mm512_permutexvar_epi32(places, elements);
    }
    words
}

/// Words of the elements of a window that begins here, in order: those of one place in an element in two vectors. Of a `short` one nothing is asked behind the first [`BLOCK`] elements
/// and [`FEW`].
///
/// # Safety
/// As for [`Raw::read`], of [`WINDOW_512`] elements, each of which is aligned to all its bytes or to 8.
#[inline(always)]
unsafe fn window_512<const WIDTH: usize, const N: usize>(token: V4, from: u64, short: bool) -> [[__m512i; 2]; N] {
    let second = from + (BLOCK * WIDTH * N) as u64;
    // Not in a loop, which would have each vector go through memory.
    // SAFETY: the caller's.
    let low = unsafe { half_512::<WIDTH, N>(token, from) };
    // SAFETY: the caller's.
    let high = unsafe { if N == 4 && short { few_512(token, second) } else { half_512::<WIDTH, N>(token, second) } };
    let mut words = [[low[0]; 2]; N];
    for ((words, low), high) in words.iter_mut().zip(low).zip(high) {
        *words = [low, high];
    }
    words
}

/// [`Gathers::near`]
///
/// # Safety
/// As for [`Gathers::near`], of all windows that begin no further.
#[inline(always)]
unsafe fn near_512<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
    token: V4,
    rows: [Rows<'_, V4, WIDTH, N, R>; B],
    numbers: &[[__m512i; P]; B],
    room: &mut Room<[u32; 16], N, P, R, B>,
) -> bool {
    let isa = token.avx512f;
    let beyond = isa._mm512_set1_epi32(!(WINDOW_512 as i32 - 1));
    let mut firsts = [0; B];
    let mut within = [[isa._mm512_setzero_si512(); P]; B];
    let mut outside = [false; B];
    let mut short = [false; B];
    // Lanes that follow each other texel by texel ask for one more than there are of them, and begin somewhere in a line.
    let most_of_short = isa._mm512_set1_epi32((BLOCK as u32 + FEW) as i32);
    let of_blocks = firsts.iter_mut().zip(&mut within).zip(&mut outside).zip(&mut short).zip(rows);
    for (((((first, within), outside), short), rows), numbers) in of_blocks.zip(numbers) {
        // Lanes that follow each other go up: others are for two windows.
        let least = from_line_512::<WIDTH, N>(token, least_512(token, rows.most, numbers));
        let each = isa._mm512_broadcastd_epi32(isa._mm512_castsi512_si128(least));
        let (mut all, mut furthest) = (isa._mm512_setzero_si512(), isa._mm512_setzero_si512());
        for (within, numbers) in within.iter_mut().zip(numbers) {
            *within = isa._mm512_sub_epi32(*numbers, each);
            all = isa._mm512_or_si512(all, *within);
            furthest = isa._mm512_max_epu32(furthest, *within);
        }
        *outside = isa._mm512_test_epi32_mask(all, beyond) != 0;
        *short = N == 4 && isa._mm512_cmpge_epu32_mask(furthest, most_of_short) == 0;
        *first = isa._mm512_cvtsi512_si32(least) as u32;
    }
    // Written out, as are its rows: a loop would have each vector go through memory.
    macro_rules! load {
        ($($block:literal)+) => {
            $(if $block < B {
                let rows = rows[$block];
                if outside[$block] {
                    // SAFETY: the caller's.
                    if !unsafe { near_two_512::<WIDTH, N, P, R, B>(token, rows, &numbers[$block], $block, room) } {
                        return false;
                    }
                } else {
                    let first = u64::from(firsts[$block]) * (WIDTH * N) as u64;
                    // SAFETY: no window begins behind the last one, and there is this block.
                    unsafe {
                        rows_512::<WIDTH, N, P, R, B>(token, rows.starts, (first, short[$block]), within[$block], $block, room);
                    }
                }
            })+
        };
    }
    const { assert!(B <= 2) };
    load!(0 1);
    true
}

/// Puts words of a block's elements there, which lie so far within windows that begin `first` bytes behind the beginnings of rows, `short` ones or not.
///
/// # Safety
/// As for [`window_512`], and there is this block.
#[inline(always)]
unsafe fn rows_512<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
    token: V4,
    rows: [u64; R],
    (first, short): (u64, bool),
    within: [__m512i; P],
    block: usize,
    room: &mut Room<[u32; 16], N, P, R, B>,
) {
    macro_rules! load {
        ($($row:literal)+) => {
            $(if $row < R {
                // SAFETY: the caller's.
                let words = unsafe { window_512::<WIDTH, N>(token, rows[$row] + first, short) };
                for (place, within) in within.into_iter().enumerate() {
                    for (word, [low, high]) in words.into_iter().enumerate() {
                        let words = token.avx512f._mm512_permutex2var_epi32(low, within, high);
                        // SAFETY: these are counted, and the caller's.
                        unsafe { room.put([block, $row, place, word], must_cast(words)) };
                    }
                }
            })+
        };
    }
    const { assert!(R <= 2) };
    load!(0 1);
}

/// Each lane's least number, and `most` at most.
#[inline(always)]
fn least_512<const P: usize>(token: V4, most: u32, numbers: &[__m512i; P]) -> __m512i {
    let mut least = token.avx512f._mm512_set1_epi32(most as i32);
    for numbers in numbers {
        least = token.avx512f._mm512_min_epu32(least, *numbers);
    }
    least
}

/// Numbers of the elements that lines of the processor's caches begin with, where rows begin with one. Vectors that lie across two lines take twice as long, and windows of elements
/// of several words are so large that they lose less by it.
#[inline(always)]
fn from_line_512<const WIDTH: usize, const N: usize>(token: V4, numbers: __m512i) -> __m512i {
    const LINE: usize = 64;
    match N {
        1 => numbers,
        _ => token.avx512f._mm512_and_si512(numbers, token.avx512f._mm512_set1_epi32(!(LINE / (WIDTH * N) - 1) as i32)),
    }
}

/// The first lane's number or the last one's, whichever is less, in the first lane.
#[inline(always)]
fn ends_512(token: V4, numbers: __m512i) -> __m512i {
    let isa = token.avx512f;
    isa._mm512_min_epu32(numbers, isa._mm512_alignr_epi32::<{ BLOCK as i32 - 1 }>(numbers, numbers))
}

/// The least number of all lanes in each of them.
#[inline(always)]
fn least_of_all_512(token: V4, numbers: __m512i) -> __m512i {
    const OTHER_HALF: i32 = 0b01_00_11_10;
    const NEXT: i32 = 0b10_11_00_01;
    let isa = token.avx512f;
    let numbers = isa._mm512_min_epu32(numbers, isa._mm512_shuffle_i64x2::<OTHER_HALF>(numbers, numbers));
    let numbers = isa._mm512_min_epu32(numbers, isa._mm512_shuffle_i64x2::<NEXT>(numbers, numbers));
    let numbers = isa._mm512_min_epu32(numbers, isa._mm512_shuffle_epi32::<OTHER_HALF>(numbers));
    isa._mm512_min_epu32(numbers, isa._mm512_shuffle_epi32::<NEXT>(numbers))
}

/// [`near_512`] of a block whose lanes no window holds: two may, as where a texture begins again, whose two ends are apart in memory.
///
/// # Safety
/// As for [`near_512`], and there is this block.
#[inline(always)]
unsafe fn near_two_512<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
    token: V4,
    rows: Rows<'_, V4, WIDTH, N, R>,
    numbers: &[__m512i; P],
    block: usize,
    room: &mut Room<[u32; 16], N, P, R, B>,
) -> bool {
    let isa = token.avx512f;
    let beyond = isa._mm512_set1_epi32(!(WINDOW_512 as i32 - 1));
    let first = least_of_all_512(token, least_512(token, rows.most, numbers));
    let mut others = [0; P];
    let mut second = isa._mm512_set1_epi32(rows.most as i32);
    for (others, numbers) in others.iter_mut().zip(numbers) {
        *others = isa._mm512_test_epi32_mask(isa._mm512_sub_epi32(*numbers, first), beyond);
        second = isa._mm512_mask_min_epu32(second, *others, second, *numbers);
    }
    // The others are those before or behind some lane.
    let second = ends_512(token, second);
    let one = u64::from(isa._mm512_cvtsi512_si32(first) as u32) * (WIDTH * N) as u64;
    let other = u64::from(isa._mm512_cvtsi512_si32(second) as u32) * (WIDTH * N) as u64;
    let second = isa._mm512_broadcastd_epi32(isa._mm512_castsi512_si128(second));
    let mut within = [[first; 2]; P];
    for ((within, numbers), others) in within.iter_mut().zip(numbers).zip(others) {
        *within = [isa._mm512_sub_epi32(*numbers, first), isa._mm512_sub_epi32(*numbers, second)];
        if isa._mm512_mask_test_epi32_mask(others, within[1], beyond) != 0 {
            return false;
        }
    }
    // Written out, as in `near_512`.
    macro_rules! load {
        ($($row:literal)+) => {
            $(if $row < R {
                // SAFETY: neither window begins behind the last one.
                let one = unsafe { window_512::<WIDTH, N>(token, rows.starts[$row] + one, false) };
                // SAFETY: the same.
                let other = unsafe { window_512::<WIDTH, N>(token, rows.starts[$row] + other, false) };
                for (place, ([near, far], others)) in within.into_iter().zip(others).enumerate() {
                    for (word, (one, other)) in one.into_iter().zip(other).enumerate() {
                        let near = isa._mm512_permutex2var_epi32(one[0], near, one[1]);
                        let far = isa._mm512_permutex2var_epi32(other[0], far, other[1]);
                        let words = isa._mm512_mask_blend_epi32(others, near, far);
                        // SAFETY: these are counted, and the caller's.
                        unsafe { room.put([block, $row, place, word], must_cast(words)) };
                    }
                }
            })+
        };
    }
    const { assert!(R <= 2) };
    load!(0 1);
    true
}
