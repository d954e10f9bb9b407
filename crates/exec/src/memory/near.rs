//! What a block of lanes loads from one area that has been checked: mostly neighbours, as consecutive threads ask for consecutive texels. Their bytes are loaded
//! together, and taken apart in registers; a gather takes a load for each lane.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, __m512i};
use std::mem::MaybeUninit;

#[cfg(target_arch = "x86_64")]
use bytemuck::must_cast;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};
#[cfg(target_arch = "x86_64")]
use warploom_numerics::matrix::Vectors;

use super::gather::Gather;
use super::scalar::Raw;

/// Lanes that are loaded for at once.
pub const BLOCK: usize = 16;

/// What is loaded: of each place, word by word, each lane's.
pub(super) type Words<const N: usize, const P: usize> = [[[u32; BLOCK]; N]; P];

/// Elements that a window holds: as many as there are words in two vectors, so that one permutation takes a word of any of them.
const WINDOW: u32 = 32;

/// What is loaded of some blocks, by row, place and word.
pub type Blocks<const N: usize, const P: usize, const R: usize, const B: usize> = [[Words<N, P>; R]; B];

/// Room for that, of which nothing is written before it is loaded: zeros that nobody reads take as long to store as what replaces them.
#[derive(Debug)]
pub struct Room<const N: usize, const P: usize, const R: usize, const B: usize>(MaybeUninit<Blocks<N, P, R, B>>);

impl<const N: usize, const P: usize, const R: usize, const B: usize> Default for Room<N, P, R, B> {
    #[inline(always)]
    fn default() -> Self {
        Room(MaybeUninit::uninit())
    }
}

impl<const N: usize, const P: usize, const R: usize, const B: usize> Room<N, P, R, B> {
    /// Part `part` of a block's words, in as many as `T` makes them.
    ///
    /// # Safety
    /// There are such a block, row, place, word and part.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn put<T: Copy>(&mut self, [block, row, place, word]: [usize; 4], part: usize, words: T) {
        let words_before = ((block * R + row) * P + place) * N + word;
        // SAFETY: the caller's; words have no padding, and lie as in arrays.
        unsafe {
            self.0.as_mut_ptr().cast::<[u32; BLOCK]>().add(words_before).cast::<T>().add(part).write_unaligned(words);
        }
    }

    /// What is there.
    ///
    /// # Safety
    /// All of it has been put there.
    #[inline(always)]
    pub(super) unsafe fn filled(&self) -> &Blocks<N, P, R, B> {
        // SAFETY: the caller's.
        unsafe { self.0.assume_init_ref() }
    }
}

/// Loads elements for every lane of `B` blocks from each of `P` places in each of `R` rows, which begin `rows` bytes behind `start`: those of these numbers in a row, if all of a
/// block lie near to each other, in a window among `bytes` from `start` on. An element is `N` words, or one whose low `WIDTH` bytes are in memory. None where they do not lie so,
/// and where the processor has nothing for this.
///
/// # Safety
/// As for [`Raw::read`], of all `bytes` from `start` on, which is a multiple of an element's bytes, or of 8 if that is less; so are all `rows`.
#[inline(always)]
pub(super) unsafe fn together<
    'r,
    const WIDTH: usize,
    const N: usize,
    const P: usize,
    const R: usize,
    const B: usize,
>(
    how: Gather,
    (start, bytes): (u64, u32),
    rows: [[u32; R]; B],
    numbers: &[[[u32; BLOCK]; P]; B],
    room: &'r mut Room<N, P, R, B>,
) -> Option<&'r Blocks<N, P, R, B>> {
    const { assert!(WIDTH == 4 || WIDTH < 4 && N == 1) };
    let size = (WIDTH * N) as u32;
    let mut last = 0;
    for row in rows.as_flattened() {
        last = last.max(*row);
    }
    let most = bytes.checked_sub(last)?.checked_sub(window_of(how) * size)? / size;
    let mut addresses = [[start; R]; B];
    for (address, row) in addresses.as_flattened_mut().iter_mut().zip(rows.as_flattened()) {
        *address += u64::from(*row);
    }
    let near = match how {
        // SAFETY: the caller's.
        #[cfg(target_arch = "x86_64")]
        Gather::Avx512(token) => unsafe { near_512::<WIDTH, N, P, R, B>(token, addresses, most, numbers, room) },
        // SAFETY: the caller's.
        #[cfg(target_arch = "x86_64")]
        Gather::Avx2(token) => unsafe { near_256::<WIDTH, N, P, R, B>(token, addresses, most, numbers, room) },
        Gather::OneByOne => false,
    };
    // SAFETY: all words of what is near have been put there.
    near.then(|| unsafe { room.filled() })
}

/// Elements of a window.
#[inline(always)]
fn window_of(how: Gather) -> u32 {
    match how {
        // Two vectors are half as much.
        #[cfg(target_arch = "x86_64")]
        Gather::Avx2(_) => WINDOW / 2,
        _ => WINDOW,
    }
}

/// The same of words anywhere.
///
/// # Safety
/// As for [`Raw::read`], of each lane's words, of which none lies 2^31 bytes behind `start` or further. They lie at multiples of all their bytes, or of 8 where these are more.
#[inline(always)]
pub(super) unsafe fn apart<const N: usize, const P: usize>(
    how: Gather,
    start: u64,
    offsets: &[[u32; BLOCK]; P],
    out: &mut Words<N, P>,
) {
    for (out, offsets) in out.iter_mut().zip(offsets) {
        match (how, &mut out[..]) {
            #[cfg(target_arch = "x86_64")]
            (Gather::Avx512(token), [out]) => {
                let isa = token.avx512f;
                // SAFETY: the caller's; loads of aligned elements are not torn.
                *out = must_cast(unsafe { isa._mm512_i32gather_ps::<1>(must_cast(*offsets), start as *const f32) });
            }
            #[cfg(target_arch = "x86_64")]
            (Gather::Avx512(token), [low, high]) => {
                let isa = token.avx512f;
                let halves: [__m256i; 2] = must_cast(*offsets);
                let pairs = halves.map(
                    #[inline(always)]
                    // SAFETY: as above.
                    |half| unsafe { isa._mm512_i32gather_pd::<1>(half, start as *const f64) },
                );
                split(&must_cast(pairs), low, high);
            }
            // SAFETY: the caller's.
            #[cfg(target_arch = "x86_64")]
            (Gather::Avx512(token), [a, b, c, d]) => unsafe { fours(token, start, offsets, [a, b, c, d]) },
            // SAFETY: the caller's.
            #[cfg(target_arch = "x86_64")]
            (Gather::Avx2(token), [a, b, c, d]) => unsafe { fours(token, start, offsets, [a, b, c, d]) },
            (_, [out]) => {
                for (out, &offset) in out.iter_mut().zip(offsets) {
                    // SAFETY: the caller's.
                    *out = unsafe { u32::read(start + u64::from(offset)) };
                }
            }
            (_, out) => {
                for (index, pair) in out.chunks_exact_mut(2).enumerate() {
                    for (lane, &offset) in offsets.iter().enumerate() {
                        // SAFETY: the caller's.
                        let value = unsafe { u64::read(start + u64::from(offset) + 8 * index as u64) };
                        (pair[0][lane], pair[1][lane]) = (value as u32, (value >> 32) as u32);
                    }
                }
            }
        }
    }
}

/// The low and the high words of pairs.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn split(pairs: &[u64; BLOCK], low: &mut [u32; BLOCK], high: &mut [u32; BLOCK]) {
    for ((low, high), pair) in low.iter_mut().zip(high).zip(pairs) {
        (*low, *high) = (*pair as u32, (*pair >> 32) as u32);
    }
}

/// A vector from memory that others may write meanwhile.
///
/// # Safety
/// As for [`Raw::read`], of the words of `T` from `address` on, each of which is aligned.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn vector<T: Copy>(address: u64) -> T {
    // SAFETY: the caller's; loads of vectors do not tear aligned elements.
    unsafe { (address as *const T).read_unaligned() }
}

/// Words of the elements of half a window that begins here, in order: those of one place in an element in a vector.
///
/// # Safety
/// As for [`Raw::read`], of [`BLOCK`] elements, each of which is aligned to all its bytes or to 8.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn half_512<const WIDTH: usize, const N: usize>(token: V4, from: u64) -> [__m512i; N] {
    const EVEN: [u32; BLOCK] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
    const ODD: [u32; BLOCK] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
    const FIRST_TWO: [u32; BLOCK] = [0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29];
    const LAST_TWO: [u32; BLOCK] = [2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31];
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
#[cfg(target_arch = "x86_64")]
const FEW: u32 = 4;

/// [`half_512`] of [`FEW`] elements of four words: what is in other lanes means nothing.
///
/// # Safety
/// As for [`half_512`], of so many elements.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn few_512<const N: usize>(token: V4, from: u64) -> [__m512i; N] {
    const EACH_FIRST: [u32; BLOCK] = [0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12];
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
/// As for [`Raw::read`], of [`WINDOW`] elements, each of which is aligned to all its bytes or to 8.
#[cfg(target_arch = "x86_64")]
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

/// [`together`] of rows that begin at these addresses, where no window begins behind element `most`.
///
/// # Safety
/// As for [`together`], of all windows that begin no further.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn near_512<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
    token: V4,
    rows: [[u64; R]; B],
    most: u32,
    numbers: &[[[u32; BLOCK]; P]; B],
    room: &mut Room<N, P, R, B>,
) -> bool {
    let isa = token.avx512f;
    let beyond = isa._mm512_set1_epi32(!(WINDOW as i32 - 1));
    let mut firsts = [0; B];
    let mut within = [[isa._mm512_setzero_si512(); P]; B];
    let mut outside = [false; B];
    let mut short = [false; B];
    // Lanes that follow each other texel by texel ask for one more than there are of them, and begin somewhere in a line.
    let most_of_short = isa._mm512_set1_epi32((BLOCK as u32 + FEW) as i32);
    let of_blocks = firsts.iter_mut().zip(&mut within).zip(&mut outside).zip(&mut short);
    for ((((first, within), outside), short), numbers) in of_blocks.zip(numbers) {
        // Lanes that follow each other go up: others are for two windows.
        let least = from_line_512::<WIDTH, N>(token, least_512(token, most, numbers));
        let each = isa._mm512_broadcastd_epi32(isa._mm512_castsi512_si128(least));
        let (mut all, mut furthest) = (isa._mm512_setzero_si512(), isa._mm512_setzero_si512());
        for (within, numbers) in within.iter_mut().zip(numbers) {
            *within = isa._mm512_sub_epi32(must_cast(*numbers), each);
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
                    if !unsafe { near_two_512::<WIDTH, N, P, R, B>(token, rows, most, &numbers[$block], $block, room) } {
                        return false;
                    }
                } else {
                    let first = u64::from(firsts[$block]) * (WIDTH * N) as u64;
                    // SAFETY: no window begins behind the last one, and there is this block.
                    unsafe {
                        rows_512::<WIDTH, N, P, R, B>(token, rows, (first, short[$block]), within[$block], $block, room);
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
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn rows_512<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
    token: V4,
    rows: [u64; R],
    (first, short): (u64, bool),
    within: [__m512i; P],
    block: usize,
    room: &mut Room<N, P, R, B>,
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
                        unsafe { room.put([block, $row, place, word], 0, words) };
                    }
                }
            })+
        };
    }
    const { assert!(R <= 2) };
    load!(0 1);
}

/// Each lane's least number, and `most` at most.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn least_512<const P: usize>(token: V4, most: u32, numbers: &[[u32; BLOCK]; P]) -> __m512i {
    let mut least = token.avx512f._mm512_set1_epi32(most as i32);
    for numbers in numbers {
        least = token.avx512f._mm512_min_epu32(least, must_cast(*numbers));
    }
    least
}

/// Numbers of the elements that lines of the processor's caches begin with, where rows begin with one. Vectors that lie across two lines take twice as long, and windows of elements
/// of several words are so large that they lose less by it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn from_line_512<const WIDTH: usize, const N: usize>(token: V4, numbers: __m512i) -> __m512i {
    const LINE: usize = 64;
    match N {
        1 => numbers,
        _ => token.avx512f._mm512_and_si512(numbers, token.avx512f._mm512_set1_epi32(!(LINE / (WIDTH * N) - 1) as i32)),
    }
}

/// The first lane's number or the last one's, whichever is less, in the first lane.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ends_512(token: V4, numbers: __m512i) -> __m512i {
    let isa = token.avx512f;
    isa._mm512_min_epu32(numbers, isa._mm512_alignr_epi32::<{ BLOCK as i32 - 1 }>(numbers, numbers))
}

/// The least number of all lanes in each of them.
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn near_two_512<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
    token: V4,
    rows: [u64; R],
    most: u32,
    numbers: &[[u32; BLOCK]; P],
    block: usize,
    room: &mut Room<N, P, R, B>,
) -> bool {
    let isa = token.avx512f;
    let beyond = isa._mm512_set1_epi32(!(WINDOW as i32 - 1));
    let first = least_of_all_512(token, least_512(token, most, numbers));
    let mut others = [0; P];
    let mut second = isa._mm512_set1_epi32(most as i32);
    for (others, numbers) in others.iter_mut().zip(numbers) {
        *others = isa._mm512_test_epi32_mask(isa._mm512_sub_epi32(must_cast(*numbers), first), beyond);
        second = isa._mm512_mask_min_epu32(second, *others, second, must_cast(*numbers));
    }
    // The others are those before or behind some lane.
    let second = ends_512(token, second);
    let one = u64::from(isa._mm512_cvtsi512_si32(first) as u32) * (WIDTH * N) as u64;
    let other = u64::from(isa._mm512_cvtsi512_si32(second) as u32) * (WIDTH * N) as u64;
    let second = isa._mm512_broadcastd_epi32(isa._mm512_castsi512_si128(second));
    let mut within = [[first; 2]; P];
    for ((within, numbers), others) in within.iter_mut().zip(numbers).zip(others) {
        *within = [isa._mm512_sub_epi32(must_cast(*numbers), first), isa._mm512_sub_epi32(must_cast(*numbers), second)];
        if isa._mm512_mask_test_epi32_mask(others, within[1], beyond) != 0 {
            return false;
        }
    }
    // Written out, as in `near_512`.
    macro_rules! load {
        ($($row:literal)+) => {
            $(if $row < R {
                // SAFETY: neither window begins behind the last one.
                let one = unsafe { window_512::<WIDTH, N>(token, rows[$row] + one, false) };
                // SAFETY: the same.
                let other = unsafe { window_512::<WIDTH, N>(token, rows[$row] + other, false) };
                for (place, ([near, far], others)) in within.into_iter().zip(others).enumerate() {
                    for (word, (one, other)) in one.into_iter().zip(other).enumerate() {
                        let near = isa._mm512_permutex2var_epi32(one[0], near, one[1]);
                        let far = isa._mm512_permutex2var_epi32(other[0], far, other[1]);
                        let words = isa._mm512_mask_blend_epi32(others, near, far);
                        // SAFETY: these are counted, and the caller's.
                        unsafe { room.put([block, $row, place, word], 0, words) };
                    }
                }
            })+
        };
    }
    const { assert!(R <= 2) };
    load!(0 1);
    true
}

/// [`apart`] of four words.
///
/// # Safety
/// As for [`apart`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn fours<V: Vectors>(v: V, start: u64, offsets: &[u32; BLOCK], out: [&mut [u32; BLOCK]; 4]) {
    let mut rows = [[[0u32; 4]; 4]; 4];
    for (row, texels) in rows.iter_mut().enumerate() {
        for (four, texel) in texels.iter_mut().enumerate() {
            // SAFETY: the caller's.
            *texel = unsafe { vector(start + u64::from(offsets[4 * four + row])) };
        }
    }
    let [a, b, c, d] = rows;
    let rows =
        v.transpose([v.load(&must_cast(a)), v.load(&must_cast(b)), v.load(&must_cast(c)), v.load(&must_cast(d))]);
    for (out, row) in out.into_iter().zip(rows) {
        *out = v.store(row);
    }
}

/// [`window_512`] of half as many elements.
///
/// # Safety
/// As for [`window_512`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn window_256<const WIDTH: usize, const N: usize>(token: V3, from: u64) -> [[__m256i; 2]; N] {
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    const MIDDLE_EXCHANGED: i32 = 0b11_01_10_00;
    let (isa, floats) = (token.avx2, token.avx);
    let mut words = [[floats._mm256_setzero_si256(); 2]; N];
    for half in 0..2 {
        let from = from + (half * BLOCK / 2 * WIDTH * N) as u64;
        // SAFETY: the caller's.
        unsafe {
            match &mut words[..] {
                [word] if WIDTH == 1 => word[half] = isa._mm256_cvtepu8_epi32(must_cast([vector::<u64>(from), 0])),
                [word] if WIDTH == 2 => word[half] = isa._mm256_cvtepu16_epi32(vector(from)),
                [word] => word[half] = vector(from),
                [low, high] => {
                    let [a, b] = [vector(from), vector(from + 32)];
                    let [even, odd] = [floats._mm256_shuffle_ps::<EVEN>(a, b), floats._mm256_shuffle_ps::<ODD>(a, b)];
                    low[half] = isa._mm256_permute4x64_epi64::<MIDDLE_EXCHANGED>(must_cast(even));
                    high[half] = isa._mm256_permute4x64_epi64::<MIDDLE_EXCHANGED>(must_cast(odd));
                }
                [x, y, z, w] => {
                    // Of each the element behind the four.
                    let pair = |at: u64| floats._mm256_set_m128i(vector(from + 64 + 16 * at), vector(from + 16 * at));
                    let [a, b, c, d] = [pair(0), pair(1), pair(2), pair(3)];
                    let [low, high] = [isa._mm256_unpacklo_epi32(a, c), isa._mm256_unpackhi_epi32(a, c)];
                    let [lower, higher] = [isa._mm256_unpacklo_epi32(b, d), isa._mm256_unpackhi_epi32(b, d)];
                    x[half] = isa._mm256_unpacklo_epi32(low, lower);
                    y[half] = isa._mm256_unpackhi_epi32(low, lower);
                    z[half] = isa._mm256_unpacklo_epi32(high, higher);
                    w[half] = isa._mm256_unpackhi_epi32(high, higher);
                }
                _ => {}
            }
        }
    }
    words
}

/// [`near_512`] with a window of half as many elements for each half of the lanes.
///
/// # Safety
/// As for [`near_512`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn near_256<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
    token: V3,
    rows: [[u64; R]; B],
    most: u32,
    numbers: &[[[u32; BLOCK]; P]; B],
    room: &mut Room<N, P, R, B>,
) -> bool {
    const HALF: usize = BLOCK / 2;
    let (isa, floats) = (token.avx2, token.avx);
    let beyond = floats._mm256_set1_epi32(!(WINDOW as i32 / 2 - 1));
    let last = floats._mm256_set1_epi32(HALF as i32 - 1);
    for (block, (rows, numbers)) in rows.into_iter().zip(numbers).enumerate() {
        for half in 0..2 {
            let mut own = [floats._mm256_setzero_si256(); P];
            let mut least = floats._mm256_set1_epi32(most as i32);
            for (own, numbers) in own.iter_mut().zip(numbers) {
                *own = must_cast(numbers.as_chunks::<HALF>().0[half]);
                least = isa._mm256_min_epu32(least, *own);
            }
            let least = isa._mm256_min_epu32(least, isa._mm256_permutevar8x32_epi32(least, last));
            let first = isa._mm256_broadcastd_epi32(floats._mm256_castsi256_si128(least));
            let mut all = floats._mm256_setzero_si256();
            for own in &mut own {
                *own = isa._mm256_sub_epi32(*own, first);
                all = isa._mm256_or_si256(all, *own);
            }
            if floats._mm256_testz_si256(all, beyond) == 0 {
                return false;
            }
            let first = isa._mm256_cvtsi256_si32(least) as u32;
            for (row, start) in rows.into_iter().enumerate() {
                // SAFETY: the window does not begin behind the last one.
                let words = unsafe { window_256::<WIDTH, N>(token, start + u64::from(first) * (WIDTH * N) as u64) };
                for (place, index) in own.into_iter().enumerate() {
                    // The bit that tells the second half from the first goes where blends look.
                    let second = must_cast(isa._mm256_slli_epi32::<28>(index));
                    for (word, [low, high]) in words.into_iter().enumerate() {
                        let below = isa._mm256_permutevar8x32_epi32(low, index);
                        let above = isa._mm256_permutevar8x32_epi32(high, index);
                        let words = floats._mm256_blendv_ps(must_cast(below), must_cast(above), second);
                        // SAFETY: these are counted.
                        unsafe { room.put([block, row, place, word], half, words) };
                    }
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a processor loads from `memory`, and whether a window held it: nothing else loads less than a word.
    fn loaded<const WIDTH: usize, const N: usize>(
        how: Gather,
        memory: &[u64],
        numbers: &[[u32; BLOCK]; 2],
    ) -> (bool, Words<N, 2>) {
        let (start, bytes) = (memory.as_ptr() as u64, 8 * memory.len() as u32);
        let mut room = Room::default();
        // SAFETY: the memory is initialised, lives longer than the call, and nobody writes it.
        let near = unsafe { together::<WIDTH, N, 2, 1, 1>(how, (start, bytes), [[0]], &[*numbers], &mut room) };
        let together = near.is_some();
        let [[mut out]] = near.copied().unwrap_or([[[[[0; BLOCK]; N]; 2]]]);
        if !together && WIDTH == 4 {
            let offsets = numbers.map(|numbers| numbers.map(|number| number * (4 * N) as u32));
            // SAFETY: as above; the offsets of tests are aligned, and of words in it.
            unsafe { apart(how, start, &offsets, &mut out) };
        }
        (together, out)
    }

    /// Words of an element.
    fn element(memory: &[u64], size: usize, row: usize, number: u32, word: usize) -> u32 {
        let bytes: Vec<u8> = memory.iter().flat_map(|pair| pair.to_le_bytes()).collect();
        let at = row + number as usize * size + 4 * word;
        (0..size.min(4)).fold(0, |value, byte| value | u32::from(bytes[at + byte]) << (8 * byte))
    }

    fn all_ways() -> Vec<Gather> {
        let mut ways = vec![Gather::OneByOne];
        #[cfg(target_arch = "x86_64")]
        {
            ways.extend(V3::try_new().map(Gather::Avx2));
            ways.extend(V4::try_new().map(Gather::Avx512));
        }
        ways
    }

    fn is_avx512(how: Gather) -> bool {
        match how {
            #[cfg(target_arch = "x86_64")]
            Gather::Avx512(_) => true,
            _ => false,
        }
    }

    fn check<const WIDTH: usize, const N: usize>() {
        let memory: Vec<u64> = (0..256u64).map(|at| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let most = 2048 / (WIDTH * N) as u32 - 1;
        let neighbours = |first: u32| -> [u32; BLOCK] { std::array::from_fn(|lane| (first + lane as u32).min(most)) };
        let scattered = |by: u32| -> [u32; BLOCK] { std::array::from_fn(|lane| (lane as u32 * by + by) % (most + 1)) };
        let back: [u32; BLOCK] = std::array::from_fn(|lane| (BLOCK - lane) as u32);
        // The first of the lanes at the other end.
        let mut wrapped: [u32; BLOCK] = std::array::from_fn(|lane| (lane as u32).wrapping_sub(1).min(most));
        let wrapped_within: [u32; BLOCK] = std::array::from_fn(|lane| (lane as u32).wrapping_sub(9) % (most + 1));
        let by_steps = |first: u32| std::array::from_fn(|lane| first + lane as u32 * 3 / 2);
        // In the middle, at both ends, behind which there is nothing, turned round, by more than one, and all over.
        let cases: [[[u32; BLOCK]; 2]; 11] = [
            [neighbours(20), neighbours(21)],
            [by_steps(20), by_steps(21)],
            [neighbours(0), neighbours(0)],
            [neighbours(most), neighbours(most - 3)],
            [back, neighbours(1)],
            [wrapped, neighbours(0)],
            [neighbours(0), wrapped],
            [wrapped_within, wrapped],
            [neighbours(0), neighbours(most - 8)],
            [scattered(37), neighbours(5)],
            [scattered(11), scattered(53)],
        ];
        for how in all_ways() {
            for numbers in &cases {
                let (together, got) = loaded::<WIDTH, N>(how, &memory, numbers);
                let expected: Words<N, 2> = numbers.map(|numbers| {
                    std::array::from_fn(|word| numbers.map(|number| element(&memory, WIDTH * N, 0, number, word)))
                });
                assert!(got == expected || WIDTH < 4 && !together, "{how:?} {WIDTH} {N} {numbers:?}");
            }
            // Another window may hold one that lies beyond, but not all behind one that lies before.
            let windows = !matches!(how, Gather::OneByOne);
            for (lane, number, two) in [(7, 0, false), (9, most, is_avx512(how))] {
                let mut numbers = cases[0];
                numbers[1][lane] = number;
                let together = loaded::<WIDTH, N>(how, &memory, &numbers).0;
                assert_eq!(together, two, "{how:?} {WIDTH} {N} {lane} {number}");
            }
            assert_eq!(loaded::<WIDTH, N>(how, &memory, &cases[0]).0, windows, "{how:?} {WIDTH} {N}");
            // Two windows hold what is at two ends, and not what is in three places.
            let two = is_avx512(how);
            assert_eq!(loaded::<WIDTH, N>(how, &memory, &[wrapped, neighbours(0)]).0, two, "{how:?} {WIDTH} {N}");
            assert_eq!(
                loaded::<WIDTH, N>(how, &memory, &[wrapped_within, wrapped_within]).0,
                two,
                "{how:?} {WIDTH} {N}"
            );
            wrapped[1] = most / 2;
            assert!(!loaded::<WIDTH, N>(how, &memory, &[wrapped, neighbours(0)]).0, "{how:?} {WIDTH} {N}");
            wrapped[1] = 0;
            if windows {
                rows::<WIDTH, N>(how, &memory);
            }
        }
    }

    /// Two rows of two blocks are loaded as each is, and none that ends too early, and not both blocks where one lies elsewhere.
    fn rows<const WIDTH: usize, const N: usize>(how: Gather, memory: &[u64]) {
        let neighbours = |first: u32| [0, 1].map(|by| std::array::from_fn(|lane| first + by + lane as u32));
        let mut numbers: [[[u32; BLOCK]; 2]; 2] = [neighbours(3), neighbours(1)];
        let address = memory.as_ptr() as u64;
        let load = |rows: [[u32; 2]; 2], numbers: &[[[u32; BLOCK]; 2]; 2]| {
            let mut room = Room::default();
            // SAFETY: as in `loaded`.
            unsafe { together::<WIDTH, N, 2, 2, 2>(how, (address, 1024), rows, numbers, &mut room) }.copied()
        };
        let starts = [[416, 96], [64, 160]];
        let out = load(starts, &numbers).expect("they are near");
        for ((out, starts), numbers) in out.iter().zip(starts).zip(&numbers) {
            for (out, row) in out.iter().zip(starts) {
                let expected: Words<N, 2> = numbers.map(|numbers: [u32; BLOCK]| {
                    std::array::from_fn(|word| {
                        numbers.map(|number| element(memory, WIDTH * N, row as usize, number, word))
                    })
                });
                assert_eq!(*out, expected, "{how:?} {WIDTH} {N} {row}");
            }
        }
        for end in [1008, 1016, 1024] {
            assert_eq!(load([[0, 64], [0, end]], &numbers), None, "{how:?} {WIDTH} {N} {end}");
        }
        numbers[1][1][5] = 60;
        numbers[1][0][6] = 110;
        assert_eq!(load(starts, &numbers), None, "{how:?} {WIDTH} {N}");
    }

    #[test]
    fn near_elements_are_those_of_memory() {
        check::<1, 1>();
        check::<2, 1>();
        check::<4, 1>();
        check::<4, 2>();
        check::<4, 4>();
    }
}
