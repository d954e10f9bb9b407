//! Checked reads and writes of kernels, one address at a time and a warp at a time.
//!
//! A view remembers the extents that its last accesses hit, so that the check of a further access in one of them is a
//! comparison and a look at the table's epoch. The forms for a warp check one range where the lanes' addresses are
//! consecutive, all lanes against one extent otherwise, and lane by lane only if that fails.

use super::Memory;
use super::scalar::{Raw, Scalar};
use super::table::Extent;
use crate::fault::{AccessFault, AccessKind, Refusal};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// Extents that a view remembers: kernels mostly walk through two inputs and an output.
const REMEMBERED: usize = 4;

/// One executor thread's access to memory. Make one for each run of a CTA: [`Memory::view`].
pub struct View<'m> {
    memory: &'m Memory,
    recent: [Extent; REMEMBERED],
    next: usize,
}

impl<'m> View<'m> {
    pub(super) fn new(memory: &'m Memory) -> View<'m> {
        View { memory, recent: [Extent::NONE; REMEMBERED], next: 0 }
    }

    /// The memory seen.
    pub fn memory(&self) -> &'m Memory {
        self.memory
    }

    /// Checks that `len` bytes at `address` may be accessed now, without alignment.
    #[inline(always)]
    pub fn check(&mut self, address: u64, len: u64, kind: AccessKind) -> Result<(), Box<AccessFault>> {
        self.find(address, len, kind).map(|_| ())
    }

    /// The extent that holds an access.
    #[inline(always)]
    fn find(&mut self, address: u64, len: u64, kind: AccessKind) -> Result<Extent, Box<AccessFault>> {
        let epoch = self.memory.table.epoch();
        for extent in &self.recent {
            if extent.holds(address, len) && extent.epoch == epoch && (kind == AccessKind::Load || !extent.read_only) {
                return Ok(*extent);
            }
        }
        self.look_up(address, len, kind)
    }

    #[inline(never)]
    fn look_up(&mut self, address: u64, len: u64, kind: AccessKind) -> Result<Extent, Box<AccessFault>> {
        let extent = self.memory.extent(address, len, kind)?;
        self.recent[self.next] = extent;
        self.next = (self.next + 1) % REMEMBERED;
        Ok(extent)
    }

    /// Whether one extent holds the accesses of all active lanes, aligned: the check for most warps whose addresses are
    /// not consecutive. If not, each lane is to be checked on its own.
    #[inline(always)]
    fn one_extent(&mut self, addresses: &[u64; LANES], mask: u32, size: u64, kind: AccessKind) -> bool {
        let first = addresses[mask.trailing_zeros() as usize % LANES];
        let Ok(extent) = self.find(first, size, kind) else { return false };
        let last = extent.span - size;
        let mut outside = 0;
        for (lane, address) in addresses.iter().enumerate() {
            let active = u64::from(mask >> lane & 1).wrapping_neg();
            let beyond = u64::from(address.wrapping_sub(extent.start) > last);
            outside |= (beyond | address & (size - 1)) & active;
        }
        outside == 0
    }

    #[inline(always)]
    pub(super) fn check_aligned(&mut self, address: u64, size: u64, kind: AccessKind) -> Result<(), Box<AccessFault>> {
        if address & (size - 1) != 0 {
            return Err(self.memory.refuse(address, size, kind, Refusal::Misaligned));
        }
        self.check(address, size, kind)
    }

    /// Loads one value, at a multiple of its size.
    #[inline(always)]
    pub fn load<T: Scalar>(&mut self, address: u64) -> Result<T, Box<AccessFault>> {
        self.check_aligned(address, T::SIZE, AccessKind::Load)?;
        // SAFETY: checked; memory that was valid at the check stays mapped (see `window`), or is promised (`HostRange`).
        Ok(unsafe { T::read(address) })
    }

    /// Stores one value, at a multiple of its size.
    #[inline(always)]
    pub fn store<T: Scalar>(&mut self, address: u64, value: T) -> Result<(), Box<AccessFault>> {
        self.check_aligned(address, T::SIZE, AccessKind::Store)?;
        // SAFETY: as in `load`, and writable.
        unsafe { T::write(address, value) };
        Ok(())
    }

    /// Reads bytes at any alignment.
    #[inline]
    pub fn read_bytes(&mut self, address: u64, out: &mut [u8]) -> Result<(), Box<AccessFault>> {
        self.check(address, out.len() as u64, AccessKind::Load)?;
        // SAFETY: checked, mapped as in `load`.
        unsafe { copy_out(address, out) };
        Ok(())
    }

    /// Writes bytes at any alignment.
    #[inline]
    pub fn write_bytes(&mut self, address: u64, bytes: &[u8]) -> Result<(), Box<AccessFault>> {
        self.check(address, bytes.len() as u64, AccessKind::Store)?;
        // SAFETY: checked, mapped as in `load`, writable.
        unsafe { copy_in(address, bytes) };
        Ok(())
    }

    /// Reads 32 consecutive values, lane 0's at `address`: the form for addresses known to be consecutive.
    #[inline]
    pub fn load_run<T: Scalar>(&mut self, address: u64, out: &mut [T; LANES]) -> Result<(), Box<AccessFault>> {
        let whole = T::SIZE * LANES as u64;
        if address & (T::SIZE - 1) == 0 && self.check(address, whole, AccessKind::Load).is_ok() {
            // SAFETY: checked for all lanes, mapped as in `load`.
            unsafe { copy_out(address, as_bytes_mut(out)) };
            return Ok(());
        }
        self.gather(&consecutive(address, T::SIZE), u32::MAX, out)
    }

    /// Writes 32 consecutive values, lane 0's at `address`.
    #[inline]
    pub fn store_run<T: Scalar>(&mut self, address: u64, values: &[T; LANES]) -> Result<(), Box<AccessFault>> {
        let whole = T::SIZE * LANES as u64;
        if address & (T::SIZE - 1) == 0 && self.check(address, whole, AccessKind::Store).is_ok() {
            // SAFETY: checked for all lanes, mapped as in `load`, writable.
            unsafe { copy_in(address, as_bytes(values)) };
            return Ok(());
        }
        self.scatter(&consecutive(address, T::SIZE), u32::MAX, values)
    }

    /// Loads one value for each lane in `mask`; other lanes of `out` keep theirs. On a fault nothing is promised about
    /// `out`, and the fault names the lane.
    #[inline(always)]
    pub fn gather<T: Scalar>(
        &mut self,
        addresses: &[u64; LANES],
        mask: u32,
        out: &mut [T; LANES],
    ) -> Result<(), Box<AccessFault>> {
        if mask == u32::MAX {
            let first = addresses[0];
            match spread(addresses, T::SIZE) {
                Spread::Consecutive
                    if first & (T::SIZE - 1) == 0
                        && self.check(first, T::SIZE * LANES as u64, AccessKind::Load).is_ok() =>
                {
                    // SAFETY: checked for all lanes, mapped as in `load`.
                    unsafe { copy_out(first, as_bytes_mut(out)) };
                    return Ok(());
                }
                Spread::Same => {
                    *out = [self.load(first)?; LANES];
                    return Ok(());
                }
                _ => {}
            }
        }
        if self.one_extent(addresses, mask, T::SIZE, AccessKind::Load) {
            for lane in lanes(mask) {
                // SAFETY: checked for all active lanes, mapped as in `load`.
                out[lane] = unsafe { T::read(addresses[lane]) };
            }
            return Ok(());
        }
        for lane in lanes(mask) {
            out[lane] = self.load(addresses[lane]).map_err(|fault| in_lane(fault, lane))?;
        }
        Ok(())
    }

    /// Stores one value for each lane in `mask`, in ascending order: where lanes name the same address, the last wins.
    #[inline(always)]
    pub fn scatter<T: Scalar>(
        &mut self,
        addresses: &[u64; LANES],
        mask: u32,
        values: &[T; LANES],
    ) -> Result<(), Box<AccessFault>> {
        if mask == u32::MAX && spread(addresses, T::SIZE) == Spread::Consecutive {
            let first = addresses[0];
            if first & (T::SIZE - 1) == 0 && self.check(first, T::SIZE * LANES as u64, AccessKind::Store).is_ok() {
                // SAFETY: checked for all lanes, mapped as in `load`, writable.
                unsafe { copy_in(first, as_bytes(values)) };
                return Ok(());
            }
        }
        if self.one_extent(addresses, mask, T::SIZE, AccessKind::Store) {
            for lane in lanes(mask) {
                // SAFETY: checked for all active lanes, mapped as in `load`, writable.
                unsafe { T::write(addresses[lane], values[lane]) };
            }
            return Ok(());
        }
        for lane in lanes(mask) {
            self.store(addresses[lane], values[lane]).map_err(|fault| in_lane(fault, lane))?;
        }
        Ok(())
    }

    /// Loads `N` consecutive values for each lane in `mask` (`ld.v2`, `ld.v4`, `ld.v8`): `out[i][lane]`. Addresses are
    /// multiples of the whole vector's size.
    #[inline(always)]
    pub fn gather_vector<T: Scalar, const N: usize>(
        &mut self,
        addresses: &[u64; LANES],
        mask: u32,
        out: &mut [[T; LANES]; N],
    ) -> Result<(), Box<AccessFault>> {
        let size = T::SIZE * N as u64;
        let whole = self.one_extent(addresses, mask, size, AccessKind::Load);
        for lane in lanes(mask) {
            let address = addresses[lane];
            if !whole {
                self.check_aligned(address, size, AccessKind::Load).map_err(|fault| in_lane(fault, lane))?;
            }
            for (i, out) in out.iter_mut().enumerate() {
                // SAFETY: checked for the lane or for all, mapped as in `load`.
                out[lane] = unsafe { T::read(address + i as u64 * T::SIZE) };
            }
        }
        Ok(())
    }

    /// Stores `N` consecutive values for each lane in `mask` (`st.v2`, `st.v4`, `st.v8`): `values[i][lane]`.
    #[inline(always)]
    pub fn scatter_vector<T: Scalar, const N: usize>(
        &mut self,
        addresses: &[u64; LANES],
        mask: u32,
        values: &[[T; LANES]; N],
    ) -> Result<(), Box<AccessFault>> {
        let size = T::SIZE * N as u64;
        let whole = self.one_extent(addresses, mask, size, AccessKind::Store);
        for lane in lanes(mask) {
            let address = addresses[lane];
            if !whole {
                self.check_aligned(address, size, AccessKind::Store).map_err(|fault| in_lane(fault, lane))?;
            }
            for (i, values) in values.iter().enumerate() {
                // SAFETY: checked for the lane or for all, mapped as in `load`, writable.
                unsafe { T::write(address + i as u64 * T::SIZE, values[lane]) };
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spread {
    Consecutive,
    Same,
    Other,
}

/// How a full warp's addresses lie.
#[inline(always)]
fn spread(addresses: &[u64; LANES], size: u64) -> Spread {
    let first = addresses[0];
    let step = addresses[1].wrapping_sub(first);
    if step != size && step != 0 {
        return Spread::Other;
    }
    let mut different = 0;
    for (lane, address) in addresses.iter().enumerate() {
        different |= address ^ first.wrapping_add(step.wrapping_mul(lane as u64));
    }
    match (different, step) {
        (0, 0) => Spread::Same,
        (0, _) => Spread::Consecutive,
        _ => Spread::Other,
    }
}

fn consecutive(first: u64, size: u64) -> [u64; LANES] {
    std::array::from_fn(|lane| first.wrapping_add(lane as u64 * size))
}

/// The set bits of a mask, ascending.
#[inline(always)]
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        lane
    })
}

#[cold]
pub(super) fn in_lane(mut fault: Box<AccessFault>, lane: usize) -> Box<AccessFault> {
    fault.lane = lane as u32;
    fault
}

fn as_bytes<T: Raw>(values: &[T]) -> &[u8] {
    // SAFETY: `Raw` is implemented for unsigned integers only: no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn as_bytes_mut<T: Raw>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`, and every byte pattern is a value.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Copies from memory that others may write meanwhile.
///
/// # Safety
/// `address` is mapped for as many bytes. A racing write makes the bytes copied unspecified, as it does for the kernel's
/// own code on a GPU: they are plain bytes, and the copy is a call of the C library's or vector moves, as for any memory
/// shared with code that is not Rust.
#[inline(always)]
pub(super) unsafe fn copy_out(address: u64, out: &mut [u8]) {
    // SAFETY: the caller's; `out` is ordinary memory outside the window, so the ranges do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, out.as_mut_ptr(), out.len()) }
}

/// Copies to memory that others may access meanwhile.
///
/// # Safety
/// As for `copy_out`, and writable.
#[inline(always)]
pub(super) unsafe fn copy_in(address: u64, bytes: &[u8]) {
    // SAFETY: the caller's, as in `copy_out`.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) }
}
