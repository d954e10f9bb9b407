//! What a block of lanes loads from one area that has been checked: mostly neighbours, as consecutive threads ask for consecutive texels. Their bytes are loaded
//! together, and taken apart in registers; a gather takes a load for each lane.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, __m512i};

#[cfg(target_arch = "x86_64")]
use pulp::cast;
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

/// Loads `N` words (1, 2 or 4) for every lane from each of `P` places in each of `R` rows, which begin `rows` bytes behind `start`: from `offsets` bytes behind a row's beginning
/// on, if all of a row lie near to each other: in a window that vectors hold, among `bytes` from `start` on, and at multiples of all the words' bytes. False where they do
/// not, and where the processor has nothing for this; what is in `out` then means nothing.
///
/// # Safety
/// As for [`Raw::read`], of all `bytes` from `start` on, which is a multiple of 4, and of 8 for two words; so are all `rows`.
#[inline(always)]
pub(super) unsafe fn together<const N: usize, const P: usize, const R: usize>(
    how: Gather,
    (start, bytes): (u64, u32),
    rows: [u32; R],
    offsets: &[[u32; BLOCK]; P],
    out: &mut [Words<N, P>; R],
) -> bool {
    let last = rows.into_iter().fold(0, u32::max);
    let Some(bytes) = bytes.checked_sub(last) else { return false };
    let rows = rows.map(
        #[inline(always)]
        |row| start + u64::from(row),
    );
    match (how, N) {
        // SAFETY: the caller's.
        #[cfg(target_arch = "x86_64")]
        (Gather::Avx512(token), 1) => unsafe { words_512(token, rows, bytes, offsets, out) },
        // SAFETY: the caller's.
        #[cfg(target_arch = "x86_64")]
        (Gather::Avx512(token), 2) => unsafe { pairs_512(token, rows, bytes, offsets, out) },
        // SAFETY: the caller's.
        #[cfg(target_arch = "x86_64")]
        (Gather::Avx2(token), 1) => unsafe { words_256(token, rows, bytes, offsets, out) },
        _ => false,
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
                *out = cast(unsafe { isa._mm512_i32gather_ps::<1>(cast(*offsets), start as *const f32) });
            }
            #[cfg(target_arch = "x86_64")]
            (Gather::Avx512(token), [low, high]) => {
                let isa = token.avx512f;
                let halves: [__m256i; 2] = cast(*offsets);
                let pairs = halves.map(
                    #[inline(always)]
                    // SAFETY: as above.
                    |half| unsafe { isa._mm512_i32gather_pd::<1>(half, start as *const f64) },
                );
                split(&cast(pairs), low, high);
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

/// The offset from which on `window` bytes hold what lanes load that follow each other, the first and last of which are at these offsets: a multiple of `size`. None
/// where there are not as many bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn window_at<const P: usize>(bytes: u32, window: u32, size: u32, ends: [[u32; 2]; P]) -> Option<u32> {
    let mut first = bytes.checked_sub(window)?;
    for [one, other] in ends {
        first = first.min(one).min(other);
    }
    Some(first & !(size - 1))
}

/// Whether offsets all lie in a window, at multiples of `size` from its beginning.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn are_within<const P: usize>(offsets: &[[u32; BLOCK / 2]; P], first: u32, window: u32, size: u32) -> bool {
    let mut outside = 0;
    for offset in offsets.as_flattened() {
        // Both are powers of 2.
        outside |= offset.wrapping_sub(first) & !(window - size);
    }
    outside == 0
}

/// A half of the lanes' offsets.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn half_of<const P: usize>(offsets: &[[u32; BLOCK]; P], half: usize) -> [[u32; BLOCK / 2]; P] {
    let mut own = [[0; BLOCK / 2]; P];
    for (own, offsets) in own.iter_mut().zip(offsets) {
        *own = offsets.as_chunks().0[half];
    }
    own
}

/// The first and the last of each.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ends<const P: usize, const LANES: usize>(offsets: &[[u32; LANES]; P]) -> [[u32; 2]; P] {
    let mut ends = [[0; 2]; P];
    for (ends, offsets) in ends.iter_mut().zip(offsets) {
        *ends = [offsets[0], offsets[LANES - 1]];
    }
    ends
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

/// [`together`] of one word, of rows that begin at these addresses, from each of which on there are so many bytes.
///
/// # Safety
/// As for [`together`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn words_512<const N: usize, const P: usize, const R: usize>(
    token: V4,
    rows: [u64; R],
    bytes: u32,
    offsets: &[[u32; BLOCK]; P],
    out: &mut [Words<N, P>; R],
) -> bool {
    const WINDOW: u32 = 128;
    let isa = token.avx512f;
    let Some(first) = window_at(bytes, WINDOW, 4, ends(offsets)) else { return false };
    let from = isa._mm512_set1_epi32(first as i32);
    let beyond = isa._mm512_set1_epi32(!(WINDOW - 4) as i32);
    let mut within = [from; P];
    let mut all = isa._mm512_setzero_si512();
    for (within, offsets) in within.iter_mut().zip(offsets) {
        *within = isa._mm512_sub_epi32(cast(*offsets), from);
        all = isa._mm512_or_si512(all, *within);
    }
    if isa._mm512_test_epi32_mask(all, beyond) != 0 {
        // SAFETY: the caller's.
        return unsafe { words_of_two_512(token, rows, bytes, (first, WINDOW), offsets, out) };
    }
    for within in &mut within {
        *within = isa._mm512_srli_epi32::<2>(*within);
    }
    for (out, row) in out.iter_mut().zip(rows) {
        let from = row + u64::from(first);
        // SAFETY: the window is among the bytes.
        let (low, high): (__m512i, __m512i) = unsafe { (vector(from), vector(from + 64)) };
        for (out, within) in out.iter_mut().zip(within) {
            out[0] = cast(isa._mm512_permutex2var_epi32(low, within, high));
        }
    }
    true
}

/// Offsets from `first` on.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn from_512(token: V4, offsets: &[u32; BLOCK], first: u32) -> __m512i {
    token.avx512f._mm512_sub_epi32(cast(*offsets), token.avx512f._mm512_set1_epi32(first as i32))
}

/// [`words_512`] where lanes lie beyond the window that begins at `first`: another one may hold these, as where a texture begins again, whose two ends are apart in memory.
///
/// # Safety
/// As for [`together`]; the first window is among the bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn words_of_two_512<const N: usize, const P: usize, const R: usize>(
    token: V4,
    rows: [u64; R],
    bytes: u32,
    (first, window): (u32, u32),
    offsets: &[[u32; BLOCK]; P],
    out: &mut [Words<N, P>; R],
) -> bool {
    let isa = token.avx512f;
    let beyond = isa._mm512_set1_epi32(!(window - 4) as i32);
    let mut others = [0; P];
    let mut second = bytes - window;
    for (others, offsets) in others.iter_mut().zip(offsets) {
        *others = isa._mm512_test_epi32_mask(from_512(token, offsets, first), beyond);
        if *others != 0 {
            second = second.min(offsets[others.trailing_zeros() as usize]);
        }
    }
    let second = second & !3;
    for (others, offsets) in others.iter().zip(offsets) {
        if isa._mm512_mask_test_epi32_mask(*others, from_512(token, offsets, second), beyond) != 0 {
            return false;
        }
    }
    for (out, row) in out.iter_mut().zip(rows) {
        let from = [first, second].map(|window| row + u64::from(window));
        // SAFETY: both windows are among the bytes.
        let [one, other]: [[__m512i; 2]; 2] =
            unsafe { [[vector(from[0]), vector(from[0] + 64)], [vector(from[1]), vector(from[1] + 64)]] };
        for ((out, offsets), others) in out.iter_mut().zip(offsets).zip(others) {
            let near = isa._mm512_srli_epi32::<2>(from_512(token, offsets, first));
            let near = isa._mm512_permutex2var_epi32(one[0], near, one[1]);
            let far = isa._mm512_srli_epi32::<2>(from_512(token, offsets, second));
            let far = isa._mm512_permutex2var_epi32(other[0], far, other[1]);
            out[0] = cast(isa._mm512_mask_blend_epi32(others, near, far));
        }
    }
    true
}

/// The same of two words.
///
/// # Safety
/// As for [`together`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn pairs_512<const N: usize, const P: usize, const R: usize>(
    token: V4,
    rows: [u64; R],
    bytes: u32,
    offsets: &[[u32; BLOCK]; P],
    out: &mut [Words<N, P>; R],
) -> bool {
    const WINDOW: u32 = 128;
    const HALF: usize = BLOCK / 2;
    let isa = token.avx512f;
    let mut pairs = [[[[0u64; HALF]; 2]; P]; R];
    for half in 0..2 {
        let own = half_of(offsets, half);
        let Some(first) = window_at(bytes, WINDOW, 8, ends(&own)) else { return false };
        if !are_within(&own, first, WINDOW, 8) {
            return false;
        }
        let mut indices = [[0; HALF]; P];
        for (index, at) in indices.as_flattened_mut().iter_mut().zip(own.as_flattened()) {
            *index = u64::from(at.wrapping_sub(first) / 8);
        }
        for (pairs, row) in pairs.iter_mut().zip(rows) {
            let from = row + u64::from(first);
            // SAFETY: the window is among the bytes.
            let (low, high): (__m512i, __m512i) = unsafe { (vector(from), vector(from + 64)) };
            for (pairs, index) in pairs.iter_mut().zip(indices) {
                pairs[half] = cast(isa._mm512_permutex2var_epi64(low, cast(index), high));
            }
        }
    }
    for (out, pairs) in out.as_flattened_mut().iter_mut().zip(pairs.as_flattened()) {
        if let [low, high] = &mut out[..] {
            split(&cast(*pairs), low, high);
        }
    }
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
    let rows = v.transpose([v.load(&cast(a)), v.load(&cast(b)), v.load(&cast(c)), v.load(&cast(d))]);
    for (out, row) in out.into_iter().zip(rows) {
        *out = v.store(row);
    }
}

/// [`together`] of one word, of rows that begin at these addresses, from each of which on there are so many bytes.
///
/// # Safety
/// As for [`together`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn words_256<const N: usize, const P: usize, const R: usize>(
    token: V3,
    rows: [u64; R],
    bytes: u32,
    offsets: &[[u32; BLOCK]; P],
    out: &mut [Words<N, P>; R],
) -> bool {
    const WINDOW: u32 = 64;
    const HALF: usize = BLOCK / 2;
    let (isa, floats) = (token.avx2, token.avx);
    for half in 0..2 {
        let own = half_of(offsets, half);
        let Some(first) = window_at(bytes, WINDOW, 4, ends(&own)) else { return false };
        if !are_within(&own, first, WINDOW, 4) {
            return false;
        }
        for (out, row) in out.iter_mut().zip(rows) {
            let from = row + u64::from(first);
            // SAFETY: the window is among the bytes.
            let [low, high]: [__m256i; 2] = unsafe { [vector(from), vector(from + 32)] };
            for (out, own) in out.iter_mut().zip(own) {
                let index = isa._mm256_sub_epi32(cast(own), floats._mm256_set1_epi32(first as i32));
                let index = isa._mm256_srli_epi32::<2>(index);
                let below = isa._mm256_permutevar8x32_epi32(low, index);
                let above = isa._mm256_permutevar8x32_epi32(high, index);
                // The bit that tells the second half from the first goes where blends look.
                let second = cast(isa._mm256_slli_epi32::<28>(index));
                out[0].as_chunks_mut::<HALF>().0[half] =
                    cast(floats._mm256_blendv_ps(cast(below), cast(above), second));
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a processor loads from `memory`, and whether a window held it.
    fn loaded<const N: usize, const P: usize>(
        how: Gather,
        memory: &[u64],
        offsets: &[[u32; BLOCK]; P],
    ) -> (bool, Words<N, P>) {
        let (start, bytes) = (memory.as_ptr() as u64, 8 * memory.len() as u32);
        let mut rows = [[[[0; BLOCK]; N]; P]];
        // SAFETY: the memory is initialised, lives longer than the call, and nobody writes it.
        let together = unsafe { together(how, (start, bytes), [0], offsets, &mut rows) };
        let [mut out] = rows;
        if !together {
            // SAFETY: as above; the offsets of tests are aligned, and of words in it.
            unsafe { apart(how, start, offsets, &mut out) };
        }
        (together, out)
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

    fn check<const N: usize>() {
        let memory: Vec<u64> = (0..128u64).map(|at| (2 * at + 1) << 32 | (2 * at)).collect();
        let size = 4 * N as u32;
        let most = 1024 / size - 1;
        let neighbours = |first: u32| std::array::from_fn(|lane| (first + lane as u32).min(most) * size);
        let scattered = |by: u32| std::array::from_fn(|lane| (lane as u32 * by + by) % (most + 1) * size);
        let back: [u32; BLOCK] = std::array::from_fn(|lane| (BLOCK - lane) as u32 * size);
        // In the middle, at both ends, behind which there is nothing, turned round, and all over.
        // The first of the lanes at the other end.
        let mut wrapped: [u32; BLOCK] = std::array::from_fn(|lane| (lane as u32).wrapping_sub(1).min(most) * size);
        let cases: [[[u32; BLOCK]; 2]; 9] = [
            [neighbours(20), neighbours(21)],
            [neighbours(0), neighbours(0)],
            [neighbours(most), neighbours(most - 3)],
            [back, neighbours(1)],
            [wrapped, neighbours(0)],
            [neighbours(0), wrapped],
            [neighbours(0), neighbours(most - 8)],
            [scattered(37), neighbours(5)],
            [scattered(11), scattered(53)],
        ];
        for how in all_ways() {
            for offsets in &cases {
                let expected: Words<N, 2> =
                    offsets.map(|offsets| std::array::from_fn(|word| offsets.map(|offset| offset / 4 + word as u32)));
                assert_eq!(loaded::<N, 2>(how, &memory, offsets).1, expected, "{how:?} {offsets:?}");
            }
            // What is no multiple is left to be looked at, and what lies beyond the window.
            let near = loaded::<N, 2>(how, &memory, &cases[0]).0;
            for (lane, offset) in [(3, 22 * size + 1), (7, 0), (9, most * size)] {
                let mut offsets = cases[0];
                offsets[1][lane] = offset;
                let mut out = [[[[0; BLOCK]; N]; 2]];
                // SAFETY: as above.
                let together = unsafe { together(how, (memory.as_ptr() as u64, 1024), [0], &offsets, &mut out) };
                // Another window may hold one that is aligned.
                let another = N == 1 && is_avx512(how) && offset % size == 0;
                assert_eq!(together, another, "{how:?} {lane} {offset}");
            }
            let windows = match how {
                Gather::OneByOne => false,
                #[cfg(target_arch = "x86_64")]
                Gather::Avx2(_) => N == 1,
                #[cfg(target_arch = "x86_64")]
                Gather::Avx512(_) => N < 4,
            };
            assert_eq!(near, windows, "{how:?} {N}");
            // Two windows hold what is at two ends, and not what is in three places.
            let two = N == 1 && is_avx512(how);
            assert_eq!(loaded::<N, 2>(how, &memory, &[wrapped, neighbours(0)]).0, two, "{how:?} {N}");
            wrapped[1] = most / 2 * size;
            assert!(!loaded::<N, 2>(how, &memory, &[wrapped, neighbours(0)]).0, "{how:?} {N}");
            wrapped[1] = 0;
            if windows {
                rows::<N>(how, &memory);
            }
        }
    }

    /// Two rows are loaded as each is, and none that ends too early.
    fn rows<const N: usize>(how: Gather, memory: &[u64]) {
        let size = 4 * N as u32;
        let offsets = [0, 1].map(|by| std::array::from_fn(|lane| (3 + by + lane as u32) * size));
        let mut out = [[[[0; BLOCK]; N]; 2]; 2];
        let address = memory.as_ptr() as u64;
        // SAFETY: as in `loaded`.
        assert!(unsafe { together(how, (address, 1024), [512, 96], &offsets, &mut out) }, "{how:?} {N}");
        for (out, row) in out.iter().zip([512, 96]) {
            let expected: Words<N, 2> = offsets
                .map(|offsets| std::array::from_fn(|word| offsets.map(|offset| (row + offset) / 4 + word as u32)));
            assert_eq!(*out, expected, "{how:?} {N} {row}");
        }
        for end in [1000, 1016, 1024] {
            // SAFETY: as above.
            assert!(!unsafe { together(how, (address, 1024), [0, end], &offsets, &mut out) }, "{how:?} {N} {end}");
        }
    }

    #[test]
    fn near_words_are_those_of_memory() {
        check::<1>();
        check::<2>();
        check::<4>();
    }
}
