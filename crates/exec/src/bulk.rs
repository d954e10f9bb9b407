//! Large copies and fills, in pieces that several threads do at once: one thread does not use all of the memory's bandwidth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::memory::{Memory, racy_copy, racy_fill};

/// From so many bytes on workers are asked to help. Measured from 256 KiB to 256 MiB: up to 1 MiB help costs more than it saves, from 4 MiB on copies and fills are
/// 1.8 times as fast with 2 threads or more, and 2.5 to 7 times with 8 from 8 MiB on; on a machine whose cores others keep busy, where a helper may be stopped in the
/// middle of its piece, it makes no difference up to 64 MiB.
const SHARED_FROM: u64 = 4 << 20;
/// Bytes of a piece.
const PIECE: u64 = 1 << 20;
/// Threads that are asked to help at most: a few use all of the bandwidth.
const MOST_HELPERS: u32 = 7;

/// What to do with a range of bytes.
#[derive(Clone, Copy)]
pub(crate) enum Bulk {
    /// Copy it, at any alignment; the ranges may overlap.
    Copy {
        /// First address of the target.
        to: u64,
        /// First address of the source.
        from: u64,
    },
    /// Set it to 4 bytes again and again, in the order in memory.
    Fill {
        /// First address.
        to: u64,
        /// The bytes.
        bytes: [u8; 4],
    },
}

impl Bulk {
    /// Does `len` bytes from `offset` on, which is a multiple of 4.
    ///
    /// # Safety
    /// All bytes of the range are mapped, and those of the target writable.
    unsafe fn run(&self, offset: u64, len: u64) {
        // SAFETY: the caller's.
        unsafe {
            match *self {
                Bulk::Copy { to, from } => racy_copy(to + offset, from + offset, len),
                // Equal bytes are what programs mostly set: the C library's fill is the fastest there is.
                Bulk::Fill { to, bytes: [a, b, c, d] } if a == b && b == c && c == d => racy_fill(to + offset, a, len),
                Bulk::Fill { to, bytes } => fill(to + offset, bytes, len),
            }
        }
    }

    /// Whether pieces of it may be done in any order.
    fn is_divisible(&self, len: u64) -> bool {
        match *self {
            Bulk::Copy { to, from } => to.abs_diff(from) >= len,
            Bulk::Fill { .. } => true,
        }
    }
}

/// # Safety
/// As for [`Bulk::run`].
unsafe fn fill(to: u64, bytes: [u8; 4], len: u64) {
    const ROW: usize = 4096;
    let mut row = [0_u8; ROW];
    let used = ROW.min(len.next_multiple_of(4) as usize);
    row[..used].chunks_exact_mut(4).for_each(|part| part.copy_from_slice(&bytes));
    for offset in (0..len).step_by(ROW) {
        // SAFETY: the caller's; the row has so many bytes.
        unsafe { racy_copy(to + offset, row.as_ptr() as u64, (len - offset).min(ROW as u64)) };
    }
}

/// A range that several threads work on.
struct Shared {
    bulk: Bulk,
    len: u64,
    /// Where the next piece starts.
    next: AtomicU64,
    /// Threads that may have a piece.
    busy: AtomicU32,
}

impl Shared {
    /// Does pieces until there are no more.
    fn work(&self) {
        // Counted before a piece is taken: who sees no piece left and nobody busy knows that all are done.
        self.busy.fetch_add(1, Ordering::AcqRel);
        loop {
            let offset = self.next.fetch_add(PIECE, Ordering::AcqRel);
            if offset >= self.len {
                break;
            }
            // SAFETY: `Memory::in_bulk` was promised that the range can be accessed, and does not come back while anybody has a piece of it.
            unsafe { self.bulk.run(offset, PIECE.min(self.len - offset)) };
        }
        self.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Memory {
    /// Does `len` bytes, with the help of workers if they are many.
    ///
    /// # Safety
    /// All bytes of the range are mapped until the call is back, and those of the target writable.
    pub(crate) unsafe fn in_bulk(&self, bulk: Bulk, len: u64) {
        let helpers = match self.crew() {
            Some(crew) if len >= SHARED_FROM && bulk.is_divisible(len) => crew.threads().saturating_sub(1),
            _ => 0,
        };
        if helpers == 0 {
            // SAFETY: the caller's.
            return unsafe { bulk.run(0, len) };
        }
        let shared = Arc::new(Shared { bulk, len, next: AtomicU64::new(0), busy: AtomicU32::new(0) });
        if let Some(crew) = self.crew() {
            for _ in 0..helpers.min(MOST_HELPERS) {
                let shared = shared.clone();
                crew.spawn(Box::new(move || shared.work()));
            }
        }
        shared.work();
        // Others finish the pieces that they have; who comes later finds none.
        while shared.busy.load(Ordering::Acquire) != 0 {
            std::thread::yield_now();
        }
    }
}
