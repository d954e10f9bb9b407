//! Limits of a context (`CUlimit`).
use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::OUTPUT_BUFFER;
use crate::{DriverError, DriverResult, ErrorCode};
use warploom_exec::grid::{DEFAULT_PENDING_LAUNCHES, DEFAULT_STACK};
use warploom_exec::heap::DEFAULT_LIMIT;

/// What can be limited, by its number in `CUlimit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of local memory and call frames of a thread.
    StackSize,
    /// Bytes of the `printf` buffer.
    PrintfFifoSize,
    /// Bytes of the heap of `malloc` in kernels.
    MallocHeapSize,
    /// Launches of kernels by kernels that may be pending.
    DevRuntimePendingLaunchCount,
    /// Granularity of fetches into the L2 cache: a hint, from 0 to 128.
    MaxL2FetchGranularity,
    /// Bytes of L2 cache for persisting accesses.
    PersistingL2CacheSize,
    /// Most shared memory of a CTA; cannot be set.
    SharedMemorySize,
    /// Whether compute in graphics is on; cannot be set.
    CigEnabled,
}

impl Limit {
    /// The limit with this number.
    ///
    /// # Errors
    /// `UnsupportedLimit` for those that the device does not have, `InvalidValue` for other numbers, as recorded.
    pub fn from_number(number: u32) -> DriverResult<Limit> {
        Ok(match number {
            0 => Limit::StackSize,
            1 => Limit::PrintfFifoSize,
            2 => Limit::MallocHeapSize,
            4 => Limit::DevRuntimePendingLaunchCount,
            5 => Limit::MaxL2FetchGranularity,
            6 => Limit::PersistingL2CacheSize,
            7 => Limit::SharedMemorySize,
            8 => Limit::CigEnabled,
            3 | 9 => {
                let reason = format!("the device does not have limit {number}");
                return Err(DriverError::new(ErrorCode::UnsupportedLimit, reason));
            }
            _ => return Err(DriverError::invalid_value(format!("{number} is no limit"))),
        })
    }
}

/// The limits of a context. The defaults are those recorded on real hardware. Each launch reads one, without a lock.
#[derive(Debug)]
pub(super) struct Limits {
    stack_size: AtomicU64,
    printf_fifo_size: AtomicU64,
    malloc_heap_size: AtomicU64,
    pending_launches: AtomicU64,
    l2_fetch_granularity: AtomicU64,
    persisting_l2: AtomicU64,
    shared_size: u64,
}

/// Most bytes of local memory that a thread can have (CUDA programming guide, "Compute Capabilities").
const MOST_LOCAL: u64 = 512 << 10;

/// Fewer bytes of the `printf` buffer are rounded up to this, as recorded.
const LEAST_PRINTF_FIFO: u64 = 512 << 10;
/// And more are cut to this.
const MOST_PRINTF_FIFO: u64 = 2 << 30;

/// The least heap, as recorded. The most is left to the memory that there is.
const LEAST_HEAP: u64 = 4 << 20;

/// Launches of kernels that may be pending, as recorded.
const LEAST_PENDING_LAUNCHES: u64 = 32;
const MOST_PENDING_LAUNCHES: u64 = 599_186;

/// The cache for persisting accesses at the start, and the most that it can be, which is an attribute of the device; as recorded.
const PERSISTING_L2: u64 = 11_796_480;
const MOST_PERSISTING_L2: u64 = 39_321_600;
/// It is given in parts of so many bytes.
const PERSISTING_L2_STEP: u64 = 3_932_160;

/// Rounded up; what has no room becomes 0, as recorded.
fn rounded(value: u64, to: u64) -> u64 {
    value.checked_next_multiple_of(to).unwrap_or(0)
}

impl Limits {
    /// The defaults on a device whose CTAs can have `shared_size` bytes of shared memory.
    pub(super) fn new(shared_size: u64) -> Limits {
        Limits {
            stack_size: AtomicU64::new(DEFAULT_STACK),
            printf_fifo_size: AtomicU64::new(OUTPUT_BUFFER as u64),
            malloc_heap_size: AtomicU64::new(DEFAULT_LIMIT),
            pending_launches: AtomicU64::new(DEFAULT_PENDING_LAUNCHES),
            l2_fetch_granularity: AtomicU64::new(64),
            persisting_l2: AtomicU64::new(PERSISTING_L2),
            shared_size,
        }
    }

    /// A limit's value.
    pub(super) fn get(&self, limit: Limit) -> u64 {
        let value = match limit {
            Limit::StackSize => &self.stack_size,
            Limit::PrintfFifoSize => &self.printf_fifo_size,
            Limit::MallocHeapSize => &self.malloc_heap_size,
            Limit::DevRuntimePendingLaunchCount => &self.pending_launches,
            Limit::MaxL2FetchGranularity => &self.l2_fetch_granularity,
            Limit::PersistingL2CacheSize => &self.persisting_l2,
            Limit::SharedMemorySize => return self.shared_size,
            Limit::CigEnabled => return 0,
        };
        value.load(Ordering::Relaxed)
    }

    /// Changes a limit. The driver may round up; a program reads back what holds.
    ///
    /// # Errors
    /// `InvalidValue` for a value out of range, as recorded, `NotPermitted` for a limit that cannot be set.
    pub(super) fn set(&self, limit: Limit, value: u64) -> DriverResult {
        let (place, value) = match limit {
            Limit::StackSize if value >= MOST_LOCAL => {
                return Err(DriverError::invalid_value(format!("a stack of {value} bytes is not below {MOST_LOCAL}")));
            }
            // What is less than before is kept as it is said.
            Limit::StackSize if value <= self.get(limit) => (&self.stack_size, value),
            Limit::StackSize => (&self.stack_size, value.next_multiple_of(16)),
            Limit::PrintfFifoSize => {
                (&self.printf_fifo_size, rounded(value.max(LEAST_PRINTF_FIFO), 256).min(MOST_PRINTF_FIFO))
            }
            Limit::MallocHeapSize => (&self.malloc_heap_size, rounded(value.max(LEAST_HEAP), 64 << 10)),
            Limit::DevRuntimePendingLaunchCount => {
                (&self.pending_launches, value.clamp(LEAST_PENDING_LAUNCHES, MOST_PENDING_LAUNCHES))
            }
            Limit::MaxL2FetchGranularity if value > 128 => {
                return Err(DriverError::invalid_value(format!("a fetch granularity of {value} is above 128")));
            }
            Limit::MaxL2FetchGranularity => (&self.l2_fetch_granularity, value),
            Limit::PersistingL2CacheSize if value > MOST_PERSISTING_L2 => {
                let reason = format!("{value} bytes of cache for persisting accesses are above {MOST_PERSISTING_L2}");
                return Err(DriverError::invalid_value(reason));
            }
            Limit::PersistingL2CacheSize => (&self.persisting_l2, value.next_multiple_of(PERSISTING_L2_STEP)),
            Limit::SharedMemorySize | Limit::CigEnabled => {
                return Err(DriverError::new(ErrorCode::NotPermitted, format!("{limit:?} cannot be set")));
            }
        };
        place.store(value, Ordering::Relaxed);
        Ok(())
    }
}
