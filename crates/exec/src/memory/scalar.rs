//! The machine types in which memory is read and written.
//!
//! Kernels race with each other and with host threads as they please, so plain accesses of single values are relaxed atomic ones: on
//! every host they cost what a plain load or store costs. Ranges are copied by [`racy_copy`] and filled by [`racy_fill`], code that is not Rust; the rows
//! of a warp that lie side by side by the vector moves of `view`.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use portable_atomic::AtomicU128;

use super::gather::{self, Gather};
use super::lanes::LANES;

mod sealed {
    pub trait Raw: Copy + Default + Eq + Send + Sync + 'static {
        const SIZE: u64;

        /// Reads. Each byte is what some thread has written; values up to 8 bytes are not torn.
        ///
        /// # Safety
        /// `address` is mapped for `SIZE` bytes and a multiple of `SIZE`.
        unsafe fn read(address: u64) -> Self;

        /// Writes.
        ///
        /// # Safety
        /// As for `read`, and writable.
        unsafe fn write(address: u64, value: Self);

        /// Reads for the lanes of `mask`, each at its base with `offset` added; other lanes of `out` keep what they hold.
        ///
        /// # Safety
        /// As for `read`, for each of these addresses.
        unsafe fn gather(
            how: super::Gather,
            bases: &[u64; super::LANES],
            offset: u64,
            mask: u32,
            out: &mut [Self; super::LANES],
        );
    }

    pub trait RawAtomic: Raw {
        /// # Safety
        /// As for `Raw::write`.
        unsafe fn load(address: u64, order: super::Ordering) -> Self;
        /// # Safety
        /// As for `Raw::write`.
        unsafe fn store(address: u64, value: Self, order: super::Ordering);
        /// # Safety
        /// As for `Raw::write`.
        unsafe fn swap(address: u64, value: Self, order: super::Ordering) -> Self;
        /// The old value, whether or not it was replaced.
        ///
        /// # Safety
        /// As for `Raw::write`.
        unsafe fn compare_exchange(address: u64, expected: Self, new: Self, order: super::Ordering) -> Self;
    }
}

pub(super) use sealed::{Raw, RawAtomic};

/// A value of 1, 2, 4, 8 or 16 bytes: `u8`, `u16`, `u32`, `u64`, `u128`.
pub trait Scalar: sealed::Raw {}

/// A value that can be accessed atomically: `u8`, `u16`, `u32`, `u64`, `u128`.
pub trait Atomic: Scalar + sealed::RawAtomic {}

macro_rules! scalar {
    ($($int:ty, $atomic:ty;)*) => {$(
        impl Scalar for $int {}
        impl Atomic for $int {}

        impl RawAtomic for $int {
            #[inline(always)]
            unsafe fn load(address: u64, order: Ordering) -> $int {
                let order = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    order => order,
                };
                // SAFETY: the caller's.
                unsafe { <$atomic>::from_ptr(address as *mut $int) }.load(order)
            }

            #[inline(always)]
            unsafe fn store(address: u64, value: $int, order: Ordering) {
                let order = match order {
                    Ordering::Acquire => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Release,
                    order => order,
                };
                // SAFETY: the caller's.
                unsafe { <$atomic>::from_ptr(address as *mut $int) }.store(value, order)
            }

            #[inline(always)]
            unsafe fn swap(address: u64, value: $int, order: Ordering) -> $int {
                // SAFETY: the caller's.
                unsafe { <$atomic>::from_ptr(address as *mut $int) }.swap(value, order)
            }

            #[inline(always)]
            unsafe fn compare_exchange(address: u64, expected: $int, new: $int, order: Ordering) -> $int {
                let failure = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    order => order,
                };
                // SAFETY: the caller's.
                let cell = unsafe { <$atomic>::from_ptr(address as *mut $int) };
                cell.compare_exchange(expected, new, order, failure).unwrap_or_else(|old| old)
            }
        }
    )*};
}

scalar! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
    u128, AtomicU128;
}

macro_rules! plain {
    ($($int:ty, $atomic:ty, |$how:pat_param, $bases:ident, $offset:ident, $mask:ident, $out:ident| $gather:expr;)*) => {$(
        impl Raw for $int {
            const SIZE: u64 = size_of::<$int>() as u64;

            #[inline(always)]
            unsafe fn read(address: u64) -> $int {
                // SAFETY: the caller's.
                unsafe { <$atomic>::from_ptr(address as *mut $int) }.load(Ordering::Relaxed)
            }

            #[inline(always)]
            unsafe fn write(address: u64, value: $int) {
                // SAFETY: the caller's.
                unsafe { <$atomic>::from_ptr(address as *mut $int) }.store(value, Ordering::Relaxed)
            }

            #[inline(always)]
            unsafe fn gather(
                $how: Gather,
                $bases: &[u64; LANES],
                $offset: u64,
                $mask: u32,
                $out: &mut [$int; LANES],
            ) {
                // SAFETY: the caller's.
                unsafe { $gather }
            }
        }
    )*};
}

plain! {
    u8, AtomicU8, |_, bases, offset, mask, out| gather::one_by_one(bases, offset, mask, out);
    u16, AtomicU16, |_, bases, offset, mask, out| gather::one_by_one(bases, offset, mask, out);
    u32, AtomicU32, |how, bases, offset, mask, out| gather::words(how, bases, offset, mask, out);
    u64, AtomicU64, |how, bases, offset, mask, out| gather::doubles(how, bases, offset, mask, out);
}

/// A plain access of 16 bytes is two of 8: PTX promises no more for a weak one.
impl Raw for u128 {
    const SIZE: u64 = 16;

    #[inline(always)]
    unsafe fn read(address: u64) -> u128 {
        // SAFETY: the caller's.
        let (low, high) = unsafe { (u64::read(address), u64::read(address + 8)) };
        u128::from(low) | u128::from(high) << 64
    }

    #[inline(always)]
    unsafe fn write(address: u64, value: u128) {
        // SAFETY: the caller's.
        unsafe {
            u64::write(address, value as u64);
            u64::write(address + 8, (value >> 64) as u64);
        }
    }

    #[inline(always)]
    unsafe fn gather(_: Gather, bases: &[u64; LANES], offset: u64, mask: u32, out: &mut [u128; LANES]) {
        // SAFETY: the caller's.
        unsafe { gather::one_by_one(bases, offset, mask, out) }
    }
}

/// The C library's functions, called through pointers that the compiler does not see through: to it they are code of another language, which may meet
/// races as C programs do.
struct Foreign {
    memmove: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void,
    memset: unsafe extern "C" fn(*mut c_void, i32, usize) -> *mut c_void,
}

#[inline(always)]
fn foreign() -> Foreign {
    std::hint::black_box(Foreign { memmove: libc::memmove, memset: libc::memset })
}

/// Copies `len` bytes, which others may access meanwhile; the ranges may overlap. What is written during the copy arrives whole, in part or not at all.
///
/// # Safety
/// Both ranges are mapped for `len` bytes, the first writable.
pub(crate) unsafe fn racy_copy(to: u64, from: u64, len: u64) {
    // SAFETY: the caller's.
    unsafe { (foreign().memmove)(to as *mut c_void, from as *const c_void, len as usize) };
}

/// Sets `len` bytes, which others may access meanwhile.
///
/// # Safety
/// The range is mapped for `len` bytes and writable.
pub(crate) unsafe fn racy_fill(to: u64, byte: u8, len: u64) {
    // SAFETY: the caller's.
    unsafe { (foreign().memset)(to as *mut c_void, i32::from(byte), len as usize) };
}
