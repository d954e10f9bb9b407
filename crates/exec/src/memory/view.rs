//! Checked reads and writes of kernels, one address at a time and a warp at a time.
//!
//! A view remembers for each site (an instruction, mostly) the extent that its last access hit, so that the check of a
//! further access in it is a comparison and a look at the table's epoch. The forms for a warp check two ranges where the
//! addresses of both halves of the warp are consecutive or the same (CTAs are often 16 threads wide), all lanes against one
//! extent otherwise, and lane by lane only if that fails.

use super::Memory;
use super::checked::Run;
use super::lanes::{HALF, LANES, Lanes, Spread, are_inside, consecutive, in_lane, lanes};
use super::scalar::{Raw, Scalar};
use super::table::Extent;
use super::walk::Walk;
use crate::fault::{AccessFault, AccessKind, Refusal};

/// Extents that a view remembers, a power of two.
const SITES: usize = 16;

/// The extents that a view has met: kept between views of one thread, it saves looking them up again.
#[derive(Clone, Debug)]
pub struct Recent {
    /// [`Memory::number`] of the memory whose extents they are.
    memory: u64,
    extents: [Extent; SITES],
    walks: [Walk; SITES],
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { memory: 0, extents: [Extent::NONE; SITES], walks: [Walk::default(); SITES] }
    }
}

/// One executor thread's access to memory. Make one for each run of a CTA: [`Memory::view`].
pub struct View<'m> {
    memory: &'m Memory,
    /// Views are made for each round over the warps of a CTA and move about: what they know stays where it is.
    recent: Box<Recent>,
}

impl<'m> View<'m> {
    #[inline]
    pub(super) fn new(memory: &'m Memory, recent: Option<Box<Recent>>) -> View<'m> {
        let recent = match recent {
            Some(recent) if recent.memory == memory.number => recent,
            _ => View::nothing_met(memory),
        };
        View { memory, recent }
    }

    #[cold]
    fn nothing_met(memory: &Memory) -> Box<Recent> {
        Box::new(Recent { memory: memory.number, ..Recent::default() })
    }

    /// The memory seen.
    pub fn memory(&self) -> &'m Memory {
        self.memory
    }

    /// What the view has met, for the next one.
    #[inline]
    pub fn into_recent(self) -> Box<Recent> {
        self.recent
    }

    /// Checks that `len` bytes at `address` may be accessed now, without alignment.
    #[inline(always)]
    pub fn check(&mut self, address: u64, len: u64, kind: AccessKind) -> Result<(), Box<AccessFault>> {
        self.find(0, address, len, kind).map(|_| ())
    }

    /// The extent that holds an access.
    #[inline(always)]
    fn find(&mut self, site: u32, address: u64, len: u64, kind: AccessKind) -> Result<Extent, Box<AccessFault>> {
        if self.knows(site, address, len, kind) {
            return Ok(self.recent.extents[site as usize % SITES]);
        }
        self.look_up(site, address, len, kind)
    }

    #[inline(never)]
    fn look_up(&mut self, site: u32, address: u64, len: u64, kind: AccessKind) -> Result<Extent, Box<AccessFault>> {
        let extent = self.memory.extent(address, len, kind)?;
        self.recent.extents[site as usize % SITES] = extent;
        Ok(extent)
    }

    /// Whether one extent holds the accesses of all active lanes, aligned: the check for most warps whose addresses have no
    /// pattern. If not, each lane is to be checked on its own.
    #[inline(always)]
    fn one_extent(&mut self, at: &Lanes<'_>, size: u64, kind: AccessKind) -> bool {
        let first = at.address(at.mask.trailing_zeros() as usize % LANES);
        if !self.knows(at.site, first, size, kind) && self.look_up(at.site, first, size, kind).is_err() {
            return false;
        }
        let extent = &self.recent.extents[at.site as usize % SITES];
        are_inside(at.bases, at.offset, at.mask, [extent.start, extent.span], size)
    }

    /// Whether the extent that the site has hit last holds an access, and is still what it was.
    #[inline(always)]
    fn knows(&self, site: u32, address: u64, len: u64, kind: AccessKind) -> bool {
        let extent = &self.recent.extents[site as usize % SITES];
        let allowed = extent.epoch == self.memory.table.epoch() && (kind == AccessKind::Load || !extent.read_only);
        allowed && extent.holds(address, len)
    }

    /// Whether the `len` bytes from each half warp's first address on may be accessed, and are aligned to `size`.
    #[inline(always)]
    fn both_halves(&mut self, at: &Lanes<'_>, len: u64, size: u64, kind: AccessKind) -> bool {
        self.halves(at.site, [at.address(0), at.address(HALF)], len, size, kind)
    }

    /// [`View::both_halves`] of these addresses.
    #[inline(always)]
    fn halves(&mut self, site: u32, [low, high]: [u64; 2], len: u64, size: u64, kind: AccessKind) -> bool {
        if (low | high) & (size - 1) != 0 {
            return false;
        }
        if self.knows(site, low, len, kind) {
            return self.recent.extents[site as usize % SITES].holds(high, len);
        }
        self.look_up_halves(site, [low, high], len, kind)
    }

    #[inline(never)]
    fn look_up_halves(&mut self, site: u32, [low, high]: [u64; 2], len: u64, kind: AccessKind) -> bool {
        self.look_up(site, low, len, kind).is_ok_and(|extent| extent.holds(high, len))
    }

    #[inline(always)]
    pub(super) fn check_aligned(
        &mut self,
        site: u32,
        address: u64,
        size: u64,
        kind: AccessKind,
    ) -> Result<(), Box<AccessFault>> {
        if address & (size - 1) != 0 {
            return Err(self.memory.refuse(address, size, kind, Refusal::Misaligned));
        }
        self.find(site, address, size, kind).map(|_| ())
    }

    /// Loads one value, at a multiple of its size.
    #[inline(always)]
    pub fn load<T: Scalar>(&mut self, address: u64) -> Result<T, Box<AccessFault>> {
        self.load_at(0, address)
    }

    /// [`View::load`] from a site of its own (see [`Lanes::site`]).
    #[inline(always)]
    pub fn load_at<T: Scalar>(&mut self, site: u32, address: u64) -> Result<T, Box<AccessFault>> {
        self.check_aligned(site, address, T::SIZE, AccessKind::Load)?;
        // SAFETY: checked; memory that was valid at the check stays mapped (see `window`), or is promised (`HostRange`).
        Ok(unsafe { T::read(address) })
    }

    /// Stores one value, at a multiple of its size.
    #[inline(always)]
    pub fn store<T: Scalar>(&mut self, address: u64, value: T) -> Result<(), Box<AccessFault>> {
        self.check_aligned(0, address, T::SIZE, AccessKind::Store)?;
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
        self.gather(Lanes::new(&consecutive(address, T::SIZE), u32::MAX, T::SIZE), out)
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
        self.scatter(Lanes::new(&consecutive(address, T::SIZE), u32::MAX, T::SIZE), values)
    }

    /// Loads one value for each lane in the mask; other lanes of `out` keep theirs. On a fault nothing is promised about
    /// `out`, and the fault names the lane.
    #[inline(always)]
    pub fn gather<T: Scalar>(&mut self, at: Lanes<'_>, out: &mut [T; LANES]) -> Result<(), Box<AccessFault>> {
        if at.mask == u32::MAX {
            match at.spread {
                Spread::Consecutive if self.both_halves(&at, T::SIZE * HALF as u64, T::SIZE, AccessKind::Load) => {
                    self.recent.walks[at.site as usize % SITES].note(at.address(0), T::SIZE * LANES as u64);
                    let (low, high) = out.split_at_mut(HALF);
                    // SAFETY: checked for all lanes, mapped as in `load`.
                    unsafe {
                        copy_out(at.address(0), as_bytes_mut(low));
                        copy_out(at.address(HALF), as_bytes_mut(high));
                    }
                    return Ok(());
                }
                Spread::Same if self.both_halves(&at, T::SIZE, T::SIZE, AccessKind::Load) => {
                    let (low, high) = out.split_at_mut(HALF);
                    // SAFETY: checked for all lanes, mapped as in `load`.
                    unsafe {
                        low.fill(T::read(at.address(0)));
                        high.fill(T::read(at.address(HALF)));
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        self.gather_any(at, [out])
    }

    /// Loads for a full warp whose `bases` lie as `spread` says, if that is a pattern and all of it may be accessed: false leaves `out`
    /// as it was, and then [`View::gather_any`] does it or says why not. `first` are the addresses of the two halves' first lanes.
    #[inline(always)]
    pub fn load_halves<T: Scalar>(&mut self, site: u32, spread: Spread, first: [u64; 2], out: &mut [T; LANES]) -> bool {
        let len = match spread {
            Spread::Consecutive => T::SIZE * HALF as u64,
            Spread::Same => T::SIZE,
            Spread::Other => return false,
        };
        if !self.halves(site, first, len, T::SIZE, AccessKind::Load) {
            return false;
        }
        let (low, high) = out.split_at_mut(HALF);
        // SAFETY: checked for all lanes, mapped as in `load`.
        unsafe {
            if spread == Spread::Consecutive {
                self.recent.walks[site as usize % SITES].note(first[0], T::SIZE * LANES as u64);
                copy_out(first[0], as_bytes_mut(low));
                copy_out(first[1], as_bytes_mut(high));
            } else {
                low.fill(T::read(first[0]));
                high.fill(T::read(first[1]));
            }
        }
        true
    }

    /// The `len` bytes from each of two addresses on, if they may be read and lie in one allocation.
    #[inline(always)]
    pub fn runs(&mut self, site: u32, [low, high]: [u64; 2], len: u64) -> Option<[Run<'m>; 2]> {
        if !self.halves(site, [low, high], len, 1, AccessKind::Load) {
            return None;
        }
        // SAFETY: checked; memory that was valid at the check stays mapped (see `window`), or is promised (`HostRange`).
        Some(unsafe { [Run::checked(low, len), Run::checked(high, len)] })
    }

    /// Stores one value for each lane in the mask, in ascending order: where lanes name the same address, the last wins.
    #[inline(always)]
    pub fn scatter<T: Scalar>(&mut self, at: Lanes<'_>, values: &[T; LANES]) -> Result<(), Box<AccessFault>> {
        if at.mask == u32::MAX
            && at.spread == Spread::Consecutive
            && self.both_halves(&at, T::SIZE * HALF as u64, T::SIZE, AccessKind::Store)
        {
            let (low, high) = values.split_at(HALF);
            // SAFETY: checked for all lanes, mapped as in `load`, writable.
            unsafe {
                copy_in(at.address(0), as_bytes(low));
                copy_in(at.address(HALF), as_bytes(high));
            }
            return Ok(());
        }
        let whole = self.one_extent(&at, T::SIZE, AccessKind::Store);
        for lane in lanes(at.mask) {
            let address = at.address(lane);
            if !whole {
                self.check_aligned(at.site, address, T::SIZE, AccessKind::Store)
                    .map_err(|fault| in_lane(fault, lane))?;
            }
            // SAFETY: checked for the lane or for all, mapped as in `load`, writable.
            unsafe { T::write(address, values[lane]) };
        }
        Ok(())
    }

    /// Loads `N` consecutive values for each lane in the mask (`ld.v2`, `ld.v4`, `ld.v8`): `out[i][lane]`. Addresses are
    /// multiples of the whole vector's size.
    #[inline(always)]
    pub fn gather_vector<T: Scalar, const N: usize>(
        &mut self,
        at: Lanes<'_>,
        out: [&mut [T; LANES]; N],
    ) -> Result<(), Box<AccessFault>> {
        let size = T::SIZE * N as u64;
        if at.mask == u32::MAX && at.spread == Spread::Same && self.both_halves(&at, size, size, AccessKind::Load) {
            for (i, out) in out.into_iter().enumerate() {
                let (low, high) = out.split_at_mut(HALF);
                // SAFETY: checked for all lanes, mapped as in `load`.
                unsafe {
                    low.fill(T::read(at.address(0) + i as u64 * T::SIZE));
                    high.fill(T::read(at.address(HALF) + i as u64 * T::SIZE));
                }
            }
            return Ok(());
        }
        self.gather_any(at, out)
    }

    /// [`View::gather_vector`] of addresses that have no pattern, or not one that helps.
    #[inline(always)]
    pub fn gather_any<T: Scalar, const N: usize>(
        &mut self,
        at: Lanes<'_>,
        out: [&mut [T; LANES]; N],
    ) -> Result<(), Box<AccessFault>> {
        let size = T::SIZE * N as u64;
        if !self.one_extent(&at, size, AccessKind::Load) {
            for lane in lanes(at.mask) {
                self.check_aligned(at.site, at.address(lane), size, AccessKind::Load)
                    .map_err(|fault| in_lane(fault, lane))?;
            }
        }
        for (i, out) in out.into_iter().enumerate() {
            let offset = at.offset.wrapping_add(i as u64 * T::SIZE);
            // SAFETY: checked for all lanes, mapped as in `load`.
            unsafe { T::gather(at.gather, at.bases, offset, at.mask, out) };
        }
        Ok(())
    }

    /// Stores `N` consecutive values for each lane in the mask (`st.v2`, `st.v4`, `st.v8`): `values[i][lane]`.
    #[inline(always)]
    pub fn scatter_vector<T: Scalar, const N: usize>(
        &mut self,
        at: Lanes<'_>,
        values: &[[T; LANES]; N],
    ) -> Result<(), Box<AccessFault>> {
        let size = T::SIZE * N as u64;
        let whole = self.one_extent(&at, size, AccessKind::Store);
        for lane in lanes(at.mask) {
            let address = at.address(lane);
            if !whole {
                self.check_aligned(at.site, address, size, AccessKind::Store).map_err(|fault| in_lane(fault, lane))?;
            }
            for (i, values) in values.iter().enumerate() {
                // SAFETY: checked for the lane or for all, mapped as in `load`, writable.
                unsafe { T::write(address + i as u64 * T::SIZE, values[lane]) };
            }
        }
        Ok(())
    }
}

fn as_bytes<T: Raw>(values: &[T]) -> &[u8] {
    // SAFETY: `Raw` is implemented for unsigned integers only: no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

pub(super) fn as_bytes_mut<T: Raw>(values: &mut [T]) -> &mut [u8] {
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
