//! Contexts: who owns modules, memory and streams, and which one a thread works in.
mod context_ref;
mod lifetime;
mod limits;
mod ordering;
mod peers;
mod primary;
mod stack;

pub use context_ref::ContextRef;
pub use limits::Limit;
pub use primary::PrimaryState;

pub(crate) use primary::Primary;

use context_ref::GreenStreams;
use limits::Limits;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use warploom_exec::grid::Environment;
use warploom_exec::memory::Reservation;

use crate::coredump::CoredumpSettings;
use crate::device::DeviceState;
use crate::handle::Handle;
use crate::stream::Streams;
use crate::{DriverError, DriverResult, ErrorCode};

/// The flags of `cuCtxCreate` and `cuDevicePrimaryCtxSetFlags` (`CUctx_flags`).
#[expect(missing_docs, reason = "the names of CUctx_flags say it")]
pub mod context_flags {
    pub const SCHEDULE_MASK: u32 = 0x07;
    pub const MAP_HOST: u32 = 0x08;
    pub const COREDUMP_ENABLE: u32 = 0x20;
    pub const USER_COREDUMP_ENABLE: u32 = 0x40;
    pub const SYNC_MEMOPS: u32 = 0x80;
    pub const KNOWN: u32 = 0xff;
}

/// The API version that contexts answer: that of the newest `cuCtxCreate` that changed what a context is, as recorded.
const API_VERSION: u32 = 3020;

/// One context, from its creation to its destruction. A primary context that comes to life again is a new one under the
/// same handle.
pub struct Context {
    handle: Handle,
    id: u64,
    ordinal: u32,
    device: Arc<DeviceState>,
    primary: bool,
    flags: AtomicU32,
    /// `cuCtxAttach` and `cuCtxDetach`; `cuCtxDestroy` does not ask.
    usage: AtomicU32,
    destroyed: AtomicBool,
    /// Held for reading while something is added that the context takes with it, and for writing when its end begins.
    additions: RwLock<()>,
    limits: Limits,
    /// Held by who changes a limit, and what goes by it.
    limiting: Mutex<()>,
    streams: Streams,
    green: GreenStreams,
    environment: Arc<Environment>,
    /// What the local memory of its kernels is counted as, while some hold it.
    local_memory: Mutex<Weak<Reservation>>,
    cache_config: AtomicU32,
    coredump: Arc<Mutex<CoredumpSettings>>,
    /// Ids of contexts that it may reach.
    peers: Mutex<Vec<u64>>,
}

impl Context {
    /// Its settings of coredumps.
    pub fn coredump(&self) -> &Mutex<CoredumpSettings> {
        &self.coredump
    }

    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// A number that no other context of the process has or had.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The ordinal of its device.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// What it shares with all contexts of its device.
    pub(crate) fn device(&self) -> &Arc<DeviceState> {
        &self.device
    }

    /// Fails once a kernel of its device has faulted.
    ///
    /// # Errors
    /// The sticky error.
    #[inline]
    pub(crate) fn check(&self) -> DriverResult {
        self.device.check()
    }

    /// Whether it is a device's primary context.
    pub fn is_primary(&self) -> bool {
        self.primary
    }

    /// `CUctx_flags`. Primary contexts map host memory, as recorded.
    pub fn flags(&self) -> u32 {
        if self.primary { self.own_flags() | context_flags::MAP_HOST } else { self.own_flags() }
    }

    /// The flags that were set.
    fn own_flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Changes the flags, but for those that a context is made with, as recorded.
    ///
    /// # Errors
    /// `InvalidValue` for flags that do not exist.
    pub fn set_flags(&self, flags: u32) -> DriverResult {
        use context_flags::{COREDUMP_ENABLE, MAP_HOST, USER_COREDUMP_ENABLE};
        const MADE_WITH: u32 = MAP_HOST | COREDUMP_ENABLE | USER_COREDUMP_ENABLE;
        let flags = check_flags(flags)?;
        self.flags.store(self.own_flags() & MADE_WITH | flags & !MADE_WITH, Ordering::Relaxed);
        Ok(())
    }

    /// What `cuCtxGetApiVersion` answers.
    pub fn api_version(&self) -> u32 {
        API_VERSION
    }

    /// Whether it has been destroyed, perhaps while it is current somewhere.
    #[inline]
    pub fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }

    /// Adds something that the context will take with it. `add` must not wait for anything.
    ///
    /// # Errors
    /// `ContextIsDestroyed` if another thread has destroyed it since the call began.
    pub(crate) fn while_alive<T>(&self, add: impl FnOnce() -> DriverResult<T>) -> DriverResult<T> {
        let _alive = self.additions.read();
        if self.is_destroyed() {
            let reason = "another thread has just destroyed the context";
            return Err(DriverError::new(ErrorCode::ContextIsDestroyed, reason));
        }
        add()
    }

    /// From here on nothing is added.
    fn begin_end(&self) {
        let _nobody_adds = self.additions.write();
        self.destroyed.store(true, Ordering::Release);
    }

    /// The preferred split of cache and shared memory (`CUfunc_cache`): kept, without effect on a CPU.
    pub fn cache_config(&self) -> u32 {
        self.cache_config.load(Ordering::Relaxed)
    }

    /// Keeps a preferred split of cache and shared memory.
    ///
    /// # Errors
    /// `InvalidValue` for anything but the four values of `CUfunc_cache`.
    pub fn set_cache_config(&self, config: u32) -> DriverResult {
        if config > 3 {
            return Err(DriverError::invalid_value(format!("{config} is no cache configuration")));
        }
        self.cache_config.store(config, Ordering::Relaxed);
        Ok(())
    }

    /// The width of shared memory banks (`CUsharedconfig`): `CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE`, whatever was asked for, as
    /// recorded.
    pub fn shared_config(&self) -> u32 {
        1
    }

    /// Looks at a wish for a width of shared memory banks, which changes nothing since compute capability 5.0.
    ///
    /// # Errors
    /// `InvalidValue` for anything but the three values of `CUsharedconfig`.
    pub fn set_shared_config(&self, config: u32) -> DriverResult {
        if config > 2 {
            return Err(DriverError::invalid_value(format!("{config} is no shared memory configuration")));
        }
        Ok(())
    }

    /// A limit of its kernels.
    pub fn limit(&self, limit: Limit) -> u64 {
        self.limits.get(limit)
    }

    /// Changes a limit of its kernels. What holds may be a little more; read it back.
    ///
    /// # Errors
    /// `InvalidValue` for a value out of range, `NotPermitted` for a limit that cannot be set.
    pub fn set_limit(&self, limit: Limit, value: u64) -> DriverResult {
        let _limiting = self.limiting.lock();
        self.limits.set(limit, value)?;
        self.environment.heap.set_limit(self.limit(Limit::MallocHeapSize));
        self.environment.pending.set_limit(self.limit(Limit::DevRuntimePendingLaunchCount));
        Ok(())
    }

    /// Its streams, without those of its green contexts.
    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// What the local memory of its kernels is counted as.
    pub(crate) fn local_memory(&self) -> &Mutex<Weak<Reservation>> {
        &self.local_memory
    }

    /// What its kernels share.
    pub(crate) fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }
}

/// The flags, if they exist and name at most one way of waiting.
///
/// # Errors
/// `InvalidValue` otherwise.
pub fn check_flags(flags: u32) -> DriverResult<u32> {
    if flags & !context_flags::KNOWN != 0 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has bits that are no context flags")));
    }
    if !matches!(flags & context_flags::SCHEDULE_MASK, 0 | 1 | 2 | 4) {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} names several ways of waiting")));
    }
    Ok(flags)
}
