//! Ranges of memory that have been checked once and are read many times.

use std::marker::PhantomData;

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
}
