//! Ranges of memory that have been checked once and are accessed many times.

use std::marker::PhantomData;

use super::gather::Gather;
use super::lanes::{LANES, are_inside, lanes};
use super::scalar::Scalar;
use super::view::{as_bytes_mut, copy_out};

/// Memory that may be read while `'m` lasts.
#[derive(Clone, Copy, Debug)]
pub struct Run<'m> {
    start: u64,
    len: u64,
    memory: PhantomData<&'m ()>,
}

impl<'m> Run<'m> {
    /// Bytes of the executor's own, shared memory for instance.
    pub fn of(bytes: &'m [u8]) -> Run<'m> {
        Run { start: bytes.as_ptr() as u64, len: bytes.len() as u64, memory: PhantomData }
    }

    /// Memory of the device.
    ///
    /// # Safety
    /// `len` bytes from `start` on have been checked for reading, and what was checked stays mapped for `'m`.
    #[inline(always)]
    pub(super) unsafe fn checked(start: u64, len: u64) -> Run<'m> {
        Run { start, len, memory: PhantomData }
    }

    /// `len` bytes from byte `first` on, if they are in it.
    #[inline(always)]
    pub fn part(self, first: u64, len: u64) -> Option<Run<'m>> {
        let inside = first.checked_add(len).is_some_and(|end| end <= self.len);
        inside.then(|| Run { start: self.start + first, len, memory: PhantomData })
    }

    /// The value at byte `place`. None if it is not all in the run.
    #[inline(always)]
    pub fn read<T: Scalar>(self, place: u32) -> Option<T> {
        let mut value = [T::default()];
        self.read_all(place, &mut value).then_some(value[0])
    }

    /// Fills `out` from byte `place` on. False if not all of that is in the run.
    #[inline(always)]
    pub fn read_all<T: Scalar>(self, place: u32, out: &mut [T]) -> bool {
        let place = u64::from(place);
        let inside = place + size_of_val(out) as u64 <= self.len;
        if inside {
            // SAFETY: inside what `of` borrows, or `checked` was promised.
            unsafe { copy_out(self.start + place, as_bytes_mut(out)) };
        }
        inside
    }

    /// Loads `N` consecutive values for each lane in the mask, its first one at byte `places[lane]`: `out[i][lane]`. Other lanes keep
    /// theirs. False, and nothing is loaded, if one of them is not in the run, or not aligned in it to the size of all `N`; also if the run itself is not aligned to a value.
    #[inline(always)]
    pub fn gather<T: Scalar, const N: usize>(
        self,
        how: Gather,
        places: &[u64; LANES],
        mask: u32,
        out: [&mut [T; LANES]; N],
    ) -> bool {
        let inside =
            self.start.is_multiple_of(T::SIZE) && are_inside(places, 0, mask, [0, self.len], T::SIZE * N as u64);
        if inside {
            for (i, out) in out.into_iter().enumerate() {
                // SAFETY: inside for all lanes, as in `read_all`.
                unsafe { T::gather(how, places, self.start + i as u64 * T::SIZE, mask, out) };
            }
        }
        inside
    }
}

/// Places that are taken one by one are read from memory, which is quicker than taking a vector apart.
#[inline(always)]
fn in_memory(places: &[u64; LANES]) -> &[u64; LANES] {
    std::hint::black_box(places)
}

/// Memory that nobody else accesses while `'m` lasts.
#[derive(Debug)]
pub struct RunMut<'m> {
    start: u64,
    len: u64,
    memory: PhantomData<&'m mut ()>,
}

impl<'m> RunMut<'m> {
    /// Bytes of the executor's own, shared memory for instance.
    pub fn of(bytes: &'m mut [u8]) -> RunMut<'m> {
        RunMut { start: bytes.as_mut_ptr() as u64, len: bytes.len() as u64, memory: PhantomData }
    }

    /// Stores `N` consecutive values for each lane in the mask, in ascending order, its first one at byte `places[lane]`:
    /// `values[i][lane]`. False, and nothing is stored, if one of them is not in the run, or not aligned in it to the size of all `N`; also if the run itself is not aligned to a value.
    #[inline(always)]
    pub fn scatter<T: Scalar, const N: usize>(
        &mut self,
        places: &[u64; LANES],
        mask: u32,
        values: [&[T; LANES]; N],
    ) -> bool {
        let inside =
            self.start.is_multiple_of(T::SIZE) && are_inside(places, 0, mask, [0, self.len], T::SIZE * N as u64);
        if !inside {
            return false;
        }
        let places = in_memory(places);
        let store = |lane: usize| {
            for (i, values) in values.iter().enumerate() {
                // SAFETY: inside for all lanes of the mask, and `of` has borrowed it for writing.
                unsafe { T::write(self.start + places[lane] + i as u64 * T::SIZE, values[lane]) };
            }
        };
        if mask == u32::MAX {
            for lane in 0..LANES {
                store(lane);
            }
        } else {
            for lane in lanes(mask) {
                store(lane);
            }
        }
        true
    }

    /// Replaces the value at byte `places[lane]` for each lane in the mask, in ascending order, by what `update` makes of it. False, and
    /// nothing is changed, if one of them is not in the run, or not aligned in it; also if the run itself is not.
    #[inline(always)]
    pub fn update<T: Scalar>(
        &mut self,
        places: &[u64; LANES],
        mask: u32,
        mut update: impl FnMut(usize, T) -> T,
    ) -> bool {
        let inside = self.start.is_multiple_of(T::SIZE) && are_inside(places, 0, mask, [0, self.len], T::SIZE);
        if !inside {
            return false;
        }
        let places = in_memory(places);
        let mut replace = |lane: usize| {
            let address = self.start + places[lane];
            // SAFETY: as in `scatter`.
            unsafe { T::write(address, update(lane, T::read(address))) };
        };
        if mask == u32::MAX {
            for lane in 0..LANES {
                replace(lane);
            }
        } else {
            for lane in lanes(mask) {
                replace(lane);
            }
        }
        true
    }
}
