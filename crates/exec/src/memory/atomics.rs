//! Atomics on the memory window (PTX ISA 9.7.13.3 to 9.7.13.6): real atomics of the host, 8 to 128 bits wide.
//!
//! Integer operations of 32 and 64 bits are here; what needs arithmetic of its own (floating point, packed halves) is
//! built by the executor on [`View::update`].

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use super::lanes::LANES;
#[cfg(target_arch = "x86_64")]
use super::lanes::lanes;
use super::scalar::Atomic;
use super::view::View;
use crate::fault::{AccessFault, AccessKind};

/// Memory order of an atomic operation, PTX's names. `Weak` and `Volatile` accesses are `Relaxed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// `.relaxed`.
    #[default]
    Relaxed,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
    /// `.acq_rel`.
    AcqRel,
    /// `.sc`, for fences and for what the host should order fully.
    SeqCst,
}

impl Order {
    #[inline(always)]
    fn host(self) -> Ordering {
        match self {
            Order::Relaxed => Ordering::Relaxed,
            Order::Acquire => Ordering::Acquire,
            Order::Release => Ordering::Release,
            Order::AcqRel => Ordering::AcqRel,
            Order::SeqCst => Ordering::SeqCst,
        }
    }

    /// A fence of this order; `Relaxed` is none.
    #[inline(always)]
    pub fn fence(self) {
        if self != Order::Relaxed {
            std::sync::atomic::fence(self.host());
        }
    }
}

/// Has the lines brought here that the lanes of `mask` are about to update: an atomic of the host waits for its line alone, and what follows it for the atomic. Lines that are far away, or others'
/// just now, come side by side so. Any address will do.
#[inline(always)]
pub fn claim(addresses: &[u64; LANES], mask: u32) {
    #[cfg(target_arch = "x86_64")]
    for lane in lanes(mask) {
        // SAFETY: it never faults, reads nothing into the program, and does nothing on processors that lack it (Intel SDM, PREFETCHW).
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) addresses[lane], options(nostack, preserves_flags));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (addresses, mask);
}

/// Integer read-modify-write operations (PTX ISA 9.7.13.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    /// Wrapping addition.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Exchange.
    Exch,
    /// Unsigned minimum.
    MinU,
    /// Unsigned maximum.
    MaxU,
    /// Signed minimum.
    MinS,
    /// Signed maximum.
    MaxS,
    /// `old >= operand ? 0 : old + 1`.
    Inc,
    /// `old == 0 || old > operand ? operand : old - 1`.
    Dec,
}

macro_rules! integer {
    ($name:ident, $int:ty, $atomic:ty, $signed:ty, $signed_atomic:ty, $bits:literal) => {
        #[doc = concat!("A ", $bits, "-bit integer operation; the value before it. For `site` see [`Lanes::site`](super::Lanes::site).")]
        #[inline]
        pub fn $name(
            &mut self,
            site: u32,
            address: u64,
            op: AtomicOp,
            operand: $int,
            order: Order,
        ) -> Result<$int, Box<AccessFault>> {
            self.check_aligned(site, address, size_of::<$int>() as u64, AccessKind::Atomic)?;
            // SAFETY: checked for size, alignment and writing; the memory stays mapped (see `window`).
            let cell = unsafe { <$atomic>::from_ptr(address as *mut $int) };
            // SAFETY: the same cell, of the same size.
            let signed = unsafe { <$signed_atomic>::from_ptr(address as *mut $signed) };
            let order = order.host();
            let load = match order {
                Ordering::Release => Ordering::Relaxed,
                Ordering::AcqRel => Ordering::Acquire,
                order => order,
            };
            let update =
                |f: &dyn Fn($int) -> $int| cell.fetch_update(order, load, |old| Some(f(old))).unwrap_or_else(|old| old);
            Ok(match op {
                AtomicOp::Add => cell.fetch_add(operand, order),
                AtomicOp::And => cell.fetch_and(operand, order),
                AtomicOp::Or => cell.fetch_or(operand, order),
                AtomicOp::Xor => cell.fetch_xor(operand, order),
                AtomicOp::Exch => cell.swap(operand, order),
                AtomicOp::MinU => cell.fetch_min(operand, order),
                AtomicOp::MaxU => cell.fetch_max(operand, order),
                AtomicOp::MinS => signed.fetch_min(operand as $signed, order) as $int,
                AtomicOp::MaxS => signed.fetch_max(operand as $signed, order) as $int,
                AtomicOp::Inc => update(&|old| warploom_numerics::atomic::inc(old, operand)),
                AtomicOp::Dec => update(&|old| warploom_numerics::atomic::dec(old, operand)),
            })
        }
    };
}

impl View<'_> {
    integer!(atomic_u32, u32, AtomicU32, i32, AtomicI32, "32");
    integer!(atomic_u64, u64, AtomicU64, i64, AtomicI64, "64");

    /// An atomic load (`ld.relaxed`, `ld.acquire`).
    #[inline]
    pub fn load_atomic<T: Atomic>(&mut self, address: u64, order: Order) -> Result<T, Box<AccessFault>> {
        // A 16-byte load may be a compare and exchange on the host, which needs a writable page.
        let kind = if T::SIZE == 16 { AccessKind::Atomic } else { AccessKind::Load };
        self.check_aligned(0, address, T::SIZE, kind)?;
        // SAFETY: checked; mapped as in `View::load`.
        Ok(unsafe { T::load(address, order.host()) })
    }

    /// An atomic store (`st.relaxed`, `st.release`).
    #[inline]
    pub fn store_atomic<T: Atomic>(&mut self, address: u64, value: T, order: Order) -> Result<(), Box<AccessFault>> {
        self.check_aligned(0, address, T::SIZE, AccessKind::Store)?;
        // SAFETY: checked, writable, mapped as in `View::load`.
        unsafe { T::store(address, value, order.host()) };
        Ok(())
    }

    /// `atom.exch` of any width; the old value.
    #[inline]
    pub fn exchange<T: Atomic>(&mut self, address: u64, value: T, order: Order) -> Result<T, Box<AccessFault>> {
        self.check_aligned(0, address, T::SIZE, AccessKind::Atomic)?;
        // SAFETY: checked, writable, mapped as in `View::load`.
        Ok(unsafe { T::swap(address, value, order.host()) })
    }

    /// `atom.cas` of any width; the old value, replaced by `new` if it equalled `expected`.
    #[inline]
    pub fn compare_exchange<T: Atomic>(
        &mut self,
        address: u64,
        expected: T,
        new: T,
        order: Order,
    ) -> Result<T, Box<AccessFault>> {
        self.check_aligned(0, address, T::SIZE, AccessKind::Atomic)?;
        // SAFETY: checked, writable, mapped as in `View::load`.
        Ok(unsafe { T::compare_exchange(address, expected, new, order.host()) })
    }

    /// Replaces a value by a function of it, atomically; the old value. The function may run several times.
    #[inline]
    pub fn update<T: Atomic>(
        &mut self,
        address: u64,
        order: Order,
        mut f: impl FnMut(T) -> T,
    ) -> Result<T, Box<AccessFault>> {
        self.check_aligned(0, address, T::SIZE, AccessKind::Atomic)?;
        // SAFETY: checked, writable, mapped as in `View::load`.
        let mut old = unsafe { T::load(address, Ordering::Relaxed) };
        loop {
            let new = f(old);
            // SAFETY: as above.
            let seen = unsafe { T::compare_exchange(address, old, new, order.host()) };
            if seen == old {
                return Ok(old);
            }
            old = seen;
        }
    }
}
