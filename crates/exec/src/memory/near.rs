//! What a block of lanes loads from one area that has been checked: mostly neighbours, as consecutive threads ask for consecutive texels. Their bytes are loaded
//! together, and taken apart in registers; a gather takes a load for each lane.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use warploom_numerics::vector::{Arrays, Lanes, WordVectors};

use super::scalar::Raw;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

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
///
/// # Safety
/// Where [`Gathers::near`] is true, all words of its room have been put there.
pub unsafe trait Gathers: WordVectors {
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
unsafe fn one_by_one<L: Lanes>(start: u64, offsets: &L, out: &mut [L]) {
    let offsets = offsets.as_ref();
    if let [out] = out {
        for (out, &offset) in out.as_mut().iter_mut().zip(offsets) {
            // SAFETY: the caller's.
            *out = unsafe { u32::read(start + u64::from(offset)) };
        }
        return;
    }
    for (index, pair) in out.chunks_exact_mut(2).enumerate() {
        for (lane, &offset) in offsets.iter().enumerate() {
            // SAFETY: the caller's.
            let value = unsafe { u64::read(start + u64::from(offset) + 8 * index as u64) };
            (pair[0][lane], pair[1][lane]) = (value as u32, (value >> 32) as u32);
        }
    }
}

/// Without vectors.
// SAFETY: nothing is near.
unsafe impl Gathers for Arrays {
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
            unsafe { one_by_one(start, offsets, out) };
        }
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

/// [`Gathers::apart`] of four words at one place, of four times `FOURS` lanes.
///
/// # Safety
/// As for [`Gathers::apart`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn fours<V: WordVectors, const FOURS: usize>(
    v: V,
    start: u64,
    offsets: &V::Lanes,
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

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "x86_64")]
    use pulp::x86::{V3, V4};
    #[cfg(target_arch = "x86_64")]
    use warploom_numerics::vector::Eight;

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
