//! Asking the host early for what a kernel will load next.

/// Where a site has loaded from, to ask the host for what it will load next: a warp in a grid-stride loop walks in steps that are too
/// long for the host to see a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walk {
    last: u64,
    step: u64,
}

/// Steps in which the host prefetches by itself, in bytes.
const SHORT: u64 = 2048;
/// How many steps ahead memory is asked for.
const AHEAD: u64 = 2;
/// Bytes of a cache line.
const LINE: u64 = 64;

impl Walk {
    /// Notes a load of `len` bytes.
    #[inline(always)]
    pub(super) fn note(&mut self, address: u64, len: u64) {
        let step = address.wrapping_sub(self.last);
        if step == self.step && step.wrapping_add(SHORT) > 2 * SHORT {
            let next = address.wrapping_add(step.wrapping_mul(AHEAD));
            prefetch(next);
            if len > LINE {
                prefetch(next.wrapping_add(LINE));
            }
        }
        *self = Walk { last: address, step };
    }
}

/// Asks the host for a line of memory that will be read soon. Any address will do.
#[inline(always)]
fn prefetch(address: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching never faults and reads nothing into the program (Intel SDM, PREFETCHh).
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
