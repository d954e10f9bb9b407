//! What the lanes of a warp load from addresses that have no pattern, once these have been checked.

use super::lanes::{LANES, lanes};
use super::scalar::Raw;

/// How the processor loads from many addresses.
#[derive(Clone, Copy, Debug, Default)]
pub enum Gather {
    /// With one load for each.
    #[default]
    OneByOne,
    /// With the gathers of AVX-512, whose result is a whole vector: a vector put together in memory from single values could not be read
    /// before all of them have left for the cache.
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
}

/// Loads for the lanes of `mask` from the addresses in `bases` with `offset` added; other lanes of `out` keep what they hold.
///
/// # Safety
/// As for [`Raw::read`], for each of these addresses.
#[inline(always)]
pub(super) unsafe fn one_by_one<T: Raw>(bases: &[u64; LANES], offset: u64, mask: u32, out: &mut [T; LANES]) {
    if mask == u32::MAX {
        for (out, base) in out.iter_mut().zip(bases) {
            // SAFETY: the caller's.
            *out = unsafe { T::read(base.wrapping_add(offset)) };
        }
        return;
    }
    for lane in lanes(mask) {
        // SAFETY: the caller's.
        out[lane] = unsafe { T::read(bases[lane].wrapping_add(offset)) };
    }
}

/// [`one_by_one`] of 32-bit values, or the like.
///
/// # Safety
/// As for [`one_by_one`].
#[inline(always)]
pub(super) unsafe fn words(how: Gather, bases: &[u64; LANES], offset: u64, mask: u32, out: &mut [u32; LANES]) {
    match how {
        // SAFETY: the caller's.
        Gather::OneByOne => unsafe { one_by_one(bases, offset, mask, out) },
        #[cfg(target_arch = "x86_64")]
        Gather::Avx512(token) => {
            for (part, (bases, out)) in bases.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0).enumerate() {
                let taken = (mask >> (8 * part)) as u8;
                // SAFETY: only active lanes are loaded, each as by `Raw::read`: loads of aligned elements are not torn.
                let loaded = unsafe {
                    token.avx512f._mm512_mask_i64gather_ps::<1>(
                        bytemuck::must_cast(*out),
                        taken,
                        bytemuck::must_cast(*bases),
                        offset as *const f32,
                    )
                };
                *out = bytemuck::must_cast(loaded);
            }
        }
    }
}

/// [`one_by_one`] of 64-bit values, or the like.
///
/// # Safety
/// As for [`one_by_one`].
#[inline(always)]
pub(super) unsafe fn doubles(how: Gather, bases: &[u64; LANES], offset: u64, mask: u32, out: &mut [u64; LANES]) {
    match how {
        // SAFETY: the caller's.
        Gather::OneByOne => unsafe { one_by_one(bases, offset, mask, out) },
        #[cfg(target_arch = "x86_64")]
        Gather::Avx512(token) => {
            for (part, (bases, out)) in bases.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0).enumerate() {
                let taken = (mask >> (8 * part)) as u8;
                // SAFETY: as in `words`.
                let loaded = unsafe {
                    token.avx512f._mm512_mask_i64gather_pd::<1>(
                        bytemuck::must_cast(*out),
                        taken,
                        bytemuck::must_cast(*bases),
                        offset as *const f64,
                    )
                };
                *out = bytemuck::must_cast(loaded);
            }
        }
    }
}
