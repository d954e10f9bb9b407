//! What a block of lanes loads from one area that has been checked: mostly neighbours, as consecutive threads ask for consecutive texels. Their bytes are loaded
//! together, and taken apart in registers; a gather takes a load for each lane.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, __m512i};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

#[cfg(target_arch = "x86_64")]
use bytemuck::must_cast;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};
#[cfg(target_arch = "x86_64")]
use warploom_numerics::vector::Eight;
use warploom_numerics::vector::{Arrays, Lanes, WordVectors};

use super::scalar::Raw;

/// What is loaded: of each place, word by word, each lane's.
pub(super) type Words<L, const N: usize, const P: usize> = [[L; N]; P];

/// What is loaded of some blocks of lanes, by row, place and word.
pub type Blocks<L, const N: usize, const P: usize, const R: usize, const B: usize> = [[Words<L, N, P>; R]; B];

/// Room for that, of which nothing is written before it is loaded: zeros that nobody reads take as long to store as what replaces them.
#[derive(Debug)]
pub struct Room<L, const N: usize, const P: usize, const R: usize, const B: usize>(MaybeUninit<Blocks<L, N, P, R, B>>);

impl<L, const N: usize, const P: usize, const R: usize, const B: usize> Default for Room<L, N, P, R, B> {
    #[inline(always)]
    fn default() -> Self {
        Room(MaybeUninit::uninit())
    }
}

impl<L: Lanes, const N: usize, const P: usize, const R: usize, const B: usize> Room<L, N, P, R, B> {
    /// A block's words.
    ///
    /// # Safety
    /// There are such a block, row, place and word.
    #[inline(always)]
    unsafe fn put(&mut self, [block, row, place, word]: [usize; 4], words: L) {
        let words_before = ((block * R + row) * P + place) * N + word;
        // SAFETY: the caller's; words have no padding, and lie as in arrays.
        unsafe {
            self.0.as_mut_ptr().cast::<L>().add(words_before).write(words);
        }
    }

    /// What is there.
    ///
    /// # Safety
    /// All of it has been put there.
    #[inline(always)]
    unsafe fn filled(&self) -> &Blocks<L, N, P, R, B> {
        // SAFETY: the caller's.
        unsafe { self.0.assume_init_ref() }
    }
}

/// Vectors whose lanes load from one area, as their processor does that.
pub trait Gathers: WordVectors {
    /// Elements that a window holds, if there is something to take one apart: as many as there are words in two vectors.
    const WINDOW: Option<u32>;

    /// [`near_in_rows`]: whether all words have been put there.
    ///
    /// # Safety
    /// All windows that begin no further than the rows say may be read, meanwhile written by others too.
    unsafe fn near<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
        self,
        rows: [Rows<'_, Self, WIDTH, N, R>; B],
        numbers: &[[Self::Words; P]; B],
        room: &mut Room<Self::Lanes, N, P, R, B>,
    ) -> bool;

    /// Loads `N` words for every lane from `P` places, so many bytes behind `start`.
    ///
    /// # Safety
    /// Each lane's words may be read, meanwhile written by others too, of which none lies 2^31 bytes behind `start` or further. They lie at multiples of all their bytes, or of 8 where these are more.
    unsafe fn apart<const N: usize, const P: usize>(
        self,
        start: u64,
        offsets: &[Self::Words; P],
        out: &mut Words<Self::Lanes, N, P>,
    );
}

/// Rows that elements are loaded from by windows, as they have been looked at.
#[derive(Debug)]
pub struct Rows<'m, V, const WIDTH: usize, const N: usize, const R: usize> {
    /// Where they begin.
    starts: [u64; R],
    /// The last element that a window begins with.
    most: u32,
    within: PhantomData<(&'m (), V)>,
}

impl<V, const WIDTH: usize, const N: usize, const R: usize> Clone for Rows<'_, V, WIDTH, N, R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, const WIDTH: usize, const N: usize, const R: usize> Copy for Rows<'_, V, WIDTH, N, R> {}

impl<V: Gathers, const WIDTH: usize, const N: usize, const R: usize> Rows<'_, V, WIDTH, N, R> {
    /// Rows that begin `rows` bytes behind `start`, among `bytes` from there on. None where no window lies in all of them, or they are not aligned to all of an element, or 8 bytes.
    ///
    /// # Safety
    /// As for [`Raw::read`], of all these bytes, as long as the rows live.
    #[inline(always)]
    pub(super) unsafe fn new(start: u64, bytes: u32, rows: [u32; R]) -> Option<Self> {
        const { assert!(WIDTH == 4 || WIDTH < 4 && N == 1) };
        let size = WIDTH * N;
        let (mut last, mut all, mut starts) = (0, start, [start; R]);
        for (start, row) in starts.iter_mut().zip(rows) {
            last = last.max(row);
            all |= u64::from(row);
            *start += u64::from(row);
        }
        if all & unaligned_bits(size) != 0 {
            return None;
        }
        let most = bytes.checked_sub(last)?.checked_sub(V::WINDOW? * size as u32)? / size as u32;
        Some(Rows { starts, most, within: PhantomData })
    }
}

/// Loads elements for every lane of `B` blocks from each of `P` places in each of `R` rows: those of these numbers in a row. An element is `N` words, or one whose low `WIDTH` (1 or 2) bytes are
/// in memory, below zeros. None where elements do not lie near to each other in their row.
#[inline(always)]
pub fn near_in_rows<
    'r,
    V: Gathers,
    const WIDTH: usize,
    const N: usize,
    const P: usize,
    const R: usize,
    const B: usize,
>(
    v: V,
    rows: [Rows<'_, V, WIDTH, N, R>; B],
    numbers: &[[V::Words; P]; B],
    room: &'r mut Room<V::Lanes, N, P, R, B>,
) -> Option<&'r Blocks<V::Lanes, N, P, R, B>> {
    // SAFETY: windows that begin no further than the rows say lie in what may be read; all words of what is near have been put there.
    unsafe { v.near::<WIDTH, N, P, R, B>(rows, numbers, room).then(|| room.filled()) }
}

/// Bits that the address of so many bytes has not got where it is a multiple of all of them, or of 8 where these are more.
#[inline(always)]
pub(super) fn unaligned_bits(size: usize) -> u64 {
    (size as u64).min(8) - 1
}

/// [`Gathers::apart`] of one place, with a load for each lane.
///
/// # Safety
/// As for [`Gathers::apart`].
#[inline(always)]
unsafe fn one_by_one<L: Lanes>(start: u64, offsets: &mut L, out: &mut [L]) {
    let offsets = offsets.as_mut();
    if let [out] = out {
        for (out, &mut offset) in out.as_mut().iter_mut().zip(offsets) {
            // SAFETY: the caller's.
            *out = unsafe { u32::read(start + u64::from(offset)) };
        }
        return;
    }
    for (index, pair) in out.chunks_exact_mut(2).enumerate() {
        for (lane, &mut offset) in offsets.iter_mut().enumerate() {
            // SAFETY: the caller's.
            let value = unsafe { u64::read(start + u64::from(offset) + 8 * index as u64) };
            (pair[0][lane], pair[1][lane]) = (value as u32, (value >> 32) as u32);
        }
    }
}

/// Without vectors.
impl Gathers for Arrays {
    const WINDOW: Option<u32> = None;

    #[inline(always)]
    unsafe fn near<const WIDTH: usize, const N: usize, const P: usize, const R: usize, const B: usize>(
        self,
        _rows: [Rows<'_, Self, WIDTH, N, R>; B],
        _numbers: &[[[u32; 16]; P]; B],
        _room: &mut Room<[u32; 16], N, P, R, B>,
    ) -> bool {
        false
    }

    #[inline(always)]
    unsafe fn apart<const N: usize, const P: usize>(
        self,
        start: u64,
        offsets: &[[u32; 16]; P],
        out: &mut Words<[u32; 16], N, P>,
    ) {
        for (out, offsets) in out.iter_mut().zip(offsets) {
            // SAFETY: the caller's.
            unsafe { one_by_one(start, &mut { *offsets }, out) };
        }
    }
}

/// With one load for each, or neighbours' bytes together with what AVX2 has to take them apart.
#[cfg(target_arch = "x86_64")]
impl Gathers for Eight {
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
            let mut offsets = self.store(*offsets);
            match &mut out[..] {
                // SAFETY: the caller's.
                [a, b, c, d] => unsafe { fours::<_, 2>(self, start, &mut offsets, must_cast, [a, b, c, d]) },
                // SAFETY: the caller's.
                out => unsafe { one_by_one(start, &mut offsets, out) },
            }
        }
    }
}

/// With gathers, or neighbours' bytes together.
#[cfg(target_arch = "x86_64")]
impl Gathers for V4 {
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
                [a, b, c, d] => unsafe {
                    fours::<_, 4>(self, start, &mut self.store(*offsets), must_cast, [a, b, c, d])
                },
                // SAFETY: the caller's.
                out => unsafe { one_by_one(start, &mut self.store(*offsets), out) },
            }
        }
    }
}

/// The low and the high words of pairs.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn split(pairs: &[u64; 16], low: &mut [u32; 16], high: &mut [u32; 16]) {
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

/// Elements of a window.
#[cfg(target_arch = "x86_64")]
const WINDOW_512: u32 = 32;

/// Half of them, as many as there are lanes.
#[cfg(target_arch = "x86_64")]
const BLOCK: usize = 16;

/// Words of the elements of half a window that begins here, in order: those of one place in an element in a vector.
///
/// # Safety
/// As for [`Raw::read`], of [`BLOCK`] elements, each of which is aligned to all its bytes or to 8.
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
const FEW: u32 = 4;

/// [`half_512`] of [`FEW`] elements of four words: what is in other lanes means nothing.
///
/// # Safety
/// As for [`half_512`], of so many elements.
#[cfg(target_arch = "x86_64")]
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

/// [`Gathers::near`]
///
/// # Safety
/// As for [`Gathers::near`], of all windows that begin no further.
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
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

/// [`Gathers::apart`] of four words at one place, of four times `FOURS` lanes.
///
/// # Safety
/// As for [`Gathers::apart`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn fours<V: WordVectors, const FOURS: usize>(
    v: V,
    start: u64,
    offsets: &mut V::Lanes,
    lanes: impl Fn([[u32; 4]; FOURS]) -> V::Lanes,
    out: [&mut V::Lanes; 4],
) {
    let mut rows = [[[0u32; 4]; FOURS]; 4];
    for (row, texels) in rows.iter_mut().enumerate() {
        for (four, texel) in texels.iter_mut().enumerate() {
            // SAFETY: the caller's.
            *texel = unsafe { vector(start + u64::from(offsets[4 * four + row])) };
        }
    }
    let [a, b, c, d] = rows;
    let rows = v.transpose([v.load(&lanes(a)), v.load(&lanes(b)), v.load(&lanes(c)), v.load(&lanes(d))]);
    for (out, row) in out.into_iter().zip(rows) {
        *out = v.store(row);
    }
}

/// Elements of a window.
#[cfg(target_arch = "x86_64")]
const WINDOW_256: u32 = 16;

/// Half of them.
#[cfg(target_arch = "x86_64")]
const HALF_256: u32 = WINDOW_256 / 2;

/// [`half_512`] of half as many elements.
///
/// # Safety
/// As for [`half_512`].
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
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

/// [`near_512`] with windows of half as many elements.
///
/// # Safety
/// As for [`near_512`].
#[cfg(target_arch = "x86_64")]
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
        // Written out, as in `near_512`.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes of a case: those of one vector, or of two.
    const LANES: usize = 16;

    fn lanes_of<V: Gathers>() -> usize {
        V::Lanes::default().as_mut().len()
    }

    /// Numbers of some lanes, as vectors.
    fn vectors<V: Gathers, const P: usize>(v: V, numbers: &[[u32; LANES]; P], first: usize) -> [V::Words; P] {
        numbers.map(|numbers| {
            let mut lanes = V::Lanes::default();
            lanes.as_mut().copy_from_slice(&numbers[first..first + lanes_of::<V>()]);
            v.load(&lanes)
        })
    }

    /// What a processor loads from `memory`, and whether windows held it: nothing else loads less than a word.
    fn loaded<V: Gathers, const WIDTH: usize, const N: usize>(
        v: V,
        memory: &[u64],
        numbers: &[[u32; LANES]; 2],
    ) -> (bool, Words<[u32; LANES], N, 2>) {
        let (start, bytes) = (memory.as_ptr() as u64, 8 * memory.len() as u32);
        let (mut together, mut all) = (true, [[[0; LANES]; N]; 2]);
        for first in (0..LANES).step_by(lanes_of::<V>()) {
            let mut room = Room::default();
            // SAFETY: the memory is initialised, lives longer than the call, and nobody writes it.
            let rows = unsafe { Rows::<V, WIDTH, N, 1>::new(start, bytes, [0]) };
            let near = rows.and_then(|rows| near_in_rows(v, [rows], &[vectors(v, numbers, first)], &mut room));
            together &= near.is_some();
            let mut out = near.map_or([[V::Lanes::default(); N]; 2], |[[near]]| *near);
            if near.is_none() && WIDTH == 4 {
                let offsets = numbers.map(|numbers| numbers.map(|number| number * (4 * N) as u32));
                // SAFETY: as above; the offsets of tests are aligned, and of words in it.
                unsafe { v.apart(start, &vectors(v, &offsets, first), &mut out) };
            }
            for (all, out) in all.as_flattened_mut().iter_mut().zip(out.as_flattened_mut()) {
                all[first..first + lanes_of::<V>()].copy_from_slice(out.as_mut());
            }
        }
        (together, all)
    }

    /// Words of an element.
    fn element(memory: &[u64], size: usize, row: usize, number: u32, word: usize) -> u32 {
        let bytes: Vec<u8> = memory.iter().flat_map(|pair| pair.to_le_bytes()).collect();
        let at = row + number as usize * size + 4 * word;
        (0..size.min(4)).fold(0, |value, byte| value | u32::from(bytes[at + byte]) << (8 * byte))
    }

    fn check<V: Gathers, const WIDTH: usize, const N: usize>(v: V) {
        let memory: Vec<u64> = (0..256u64).map(|at| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let most = 2048 / (WIDTH * N) as u32 - 1;
        let neighbours = |first: u32| -> [u32; LANES] { std::array::from_fn(|lane| (first + lane as u32).min(most)) };
        let scattered = |by: u32| -> [u32; LANES] { std::array::from_fn(|lane| (lane as u32 * by + by) % (most + 1)) };
        let back: [u32; LANES] = std::array::from_fn(|lane| (LANES - lane) as u32);
        // The first of the lanes at the other end.
        let mut wrapped: [u32; LANES] = std::array::from_fn(|lane| (lane as u32).wrapping_sub(1).min(most));
        let wrapped_within: [u32; LANES] = std::array::from_fn(|lane| (lane as u32).wrapping_sub(9) % (most + 1));
        let by_steps = |first: u32| std::array::from_fn(|lane| first + lane as u32 * 3 / 2);
        // In the middle, at both ends, behind which there is nothing, turned round, by more than one, and all over.
        let cases: [[[u32; LANES]; 2]; 11] = [
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
        let windows = V::WINDOW.is_some();
        // Two windows hold what is at two ends, and not what is in three places.
        let two = windows && lanes_of::<V>() == LANES;
        for numbers in &cases {
            let (together, got) = loaded::<V, WIDTH, N>(v, &memory, numbers);
            let expected: Words<[u32; LANES], N, 2> = numbers.map(|numbers| {
                std::array::from_fn(|word| numbers.map(|number| element(&memory, WIDTH * N, 0, number, word)))
            });
            assert!(got == expected || WIDTH < 4 && !together, "{windows} {two} {WIDTH} {N} {numbers:?}");
        }
        // Another window may hold one that lies beyond, but not all behind one that lies before.
        for (lane, number, held) in [(7, 0, false), (9, most, two)] {
            let mut numbers = cases[0];
            numbers[1][lane] = number;
            let together = loaded::<V, WIDTH, N>(v, &memory, &numbers).0;
            assert_eq!(together, held, "{windows} {two} {WIDTH} {N} {lane} {number}");
        }
        assert_eq!(loaded::<V, WIDTH, N>(v, &memory, &cases[0]).0, windows, "{windows} {two} {WIDTH} {N}");
        assert_eq!(loaded::<V, WIDTH, N>(v, &memory, &[wrapped, neighbours(0)]).0, two, "{windows} {two} {WIDTH} {N}");
        assert_eq!(
            loaded::<V, WIDTH, N>(v, &memory, &[wrapped_within, wrapped_within]).0,
            two,
            "{windows} {two} {WIDTH} {N}"
        );
        wrapped[1] = most / 2;
        assert!(!loaded::<V, WIDTH, N>(v, &memory, &[wrapped, neighbours(0)]).0, "{windows} {two} {WIDTH} {N}");
        if windows {
            rows::<V, WIDTH, N>(v, &memory);
        }
    }

    /// Two rows of two blocks are loaded as each is, and none that ends too early, and not both blocks where one lies elsewhere.
    fn rows<V: Gathers, const WIDTH: usize, const N: usize>(v: V, memory: &[u64]) {
        let neighbours = |first: u32| [0, 1].map(|by| std::array::from_fn(|lane| first + by + lane as u32));
        let mut numbers: [[[u32; LANES]; 2]; 2] = [neighbours(3), neighbours(1)];
        let address = memory.as_ptr() as u64;
        let load = |rows: [[u32; 2]; 2], numbers: &[[[u32; LANES]; 2]; 2]| {
            let mut room = Room::default();
            // SAFETY: as in `loaded`.
            let [one, other] = rows.map(|rows| unsafe { Rows::<V, WIDTH, N, 2>::new(address, 1024, rows) });
            let numbers = [vectors(v, &numbers[0], 0), vectors(v, &numbers[1], 0)];
            near_in_rows(v, [one?, other?], &numbers, &mut room).copied()
        };
        let starts = [[416, 96], [64, 160]];
        let out = load(starts, &numbers).expect("they are near");
        for ((out, starts), numbers) in out.iter().zip(starts).zip(&numbers) {
            for (out, row) in out.iter().zip(starts) {
                for (out, numbers) in out.iter().zip(numbers) {
                    for (word, lanes) in out.iter().enumerate() {
                        let of = |lane: usize| element(memory, WIDTH * N, row as usize, numbers[lane], word);
                        assert!((0..lanes_of::<V>()).all(|lane| lanes[lane] == of(lane)), "{WIDTH} {N} {row}");
                    }
                }
            }
        }
        for end in [1024 - lanes_of::<V>() as u32, 1016, 1024] {
            assert_eq!(load([[0, 64], [0, end]], &numbers), None, "{WIDTH} {N} {end}");
        }
        numbers[1][1][5] = 60;
        numbers[1][0][6] = 110;
        assert_eq!(load(starts, &numbers), None, "{WIDTH} {N}");
    }

    #[test]
    fn near_elements_are_those_of_memory() {
        of_all_sizes(Arrays);
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(v) = V3::try_new() {
                of_all_sizes(Eight(v));
            }
            if let Some(v) = V4::try_new() {
                of_all_sizes(v);
            }
        }
    }

    fn of_all_sizes<V: Gathers>(v: V) {
        check::<V, 1, 1>(v);
        check::<V, 2, 1>(v);
        check::<V, 4, 1>(v);
        check::<V, 4, 2>(v);
        check::<V, 4, 4>(v);
    }
}
