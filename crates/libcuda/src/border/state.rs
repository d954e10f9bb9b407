//! The state of the process as the driver sees it, packed so that a call reads one byte.
//!
//! `cuInit` moves it forward. A child forked after that, and a process that runs its exit handlers, are told so by the hooks
//! that `cuInit` registers: no call has to ask for the process id.
use std::sync::Once;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use warploom_driver::{DriverError, DriverResult, ErrorCode};

use crate::process;

/// What a call may assume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Nothing happened yet, the environment was not read.
    Fresh = 0,
    /// The environment was read and asks for no trace; `cuInit` did not succeed yet.
    Quiet = 1,
    /// `cuInit` succeeded, nothing is traced.
    Ready = 2,
    /// As `Quiet`, with a trace.
    TracedQuiet = 3,
    /// As `Ready`, with a trace.
    TracedReady = 4,
    /// The process runs its exit handlers.
    Exiting = 5,
    /// The process was forked from one in which `cuInit` had succeeded.
    ForkedChild = 6,
}

impl Phase {
    const ALL: [Phase; 7] = [
        Phase::Fresh,
        Phase::Quiet,
        Phase::Ready,
        Phase::TracedQuiet,
        Phase::TracedReady,
        Phase::Exiting,
        Phase::ForkedChild,
    ];

    /// Whether `cuInit` succeeded in this process, which is not exiting.
    pub(crate) fn is_initialized(self) -> bool {
        matches!(self, Phase::Ready | Phase::TracedReady)
    }

    /// Whether the driver cannot be initialised any more.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Phase::Exiting | Phase::ForkedChild)
    }

    /// What a call that needs an initialised driver answers.
    pub(crate) fn require_initialized(self) -> DriverResult {
        match self {
            Phase::Ready | Phase::TracedReady => Ok(()),
            Phase::Exiting => Err(DriverError::new(ErrorCode::Deinitialized, "the process is exiting")),
            Phase::ForkedChild => Err(DriverError::new(
                ErrorCode::NotInitialized,
                "this process was forked from one that had called cuInit, which a CUDA driver does not survive",
            )),
            Phase::Fresh | Phase::Quiet | Phase::TracedQuiet => {
                Err(DriverError::new(ErrorCode::NotInitialized, "cuInit was not called"))
            }
        }
    }
}

/// One line of memory that every call reads.
#[repr(align(64))]
struct Process {
    phase: AtomicU8,
    callbacks_running: AtomicU32,
}

static PROCESS: Process = Process { phase: AtomicU8::new(Phase::Fresh as u8), callbacks_running: AtomicU32::new(0) };

/// Whether a call can go on without looking further: initialised, untraced, and no user callback runs anywhere.
#[inline(always)]
pub(super) fn is_ready() -> bool {
    PROCESS.phase.load(Ordering::Acquire) == Phase::Ready as u8
        && PROCESS.callbacks_running.load(Ordering::Relaxed) == 0
}

/// The same for a call that works before `cuInit`.
#[inline(always)]
pub(super) fn is_quiet() -> bool {
    matches!(PROCESS.phase.load(Ordering::Acquire), 1 | 2) && PROCESS.callbacks_running.load(Ordering::Relaxed) == 0
}

/// The phase now.
pub(crate) fn phase() -> Phase {
    Phase::ALL[usize::from(PROCESS.phase.load(Ordering::Acquire))]
}

/// Leaves [`Phase::Fresh`]; later calls change nothing.
pub(super) fn settle(traced: bool) {
    let settled = if traced { Phase::TracedQuiet } else { Phase::Quiet };
    // Whoever loses this race found the phase settled by another thread that read the same environment.
    let _ = PROCESS.phase.compare_exchange(Phase::Fresh as u8, settled as u8, Ordering::AcqRel, Ordering::Acquire);
}

/// Records that `cuInit` succeeded, and has the C library tell of forks and of the end.
pub(crate) fn initialized() {
    static HOOKS: Once = Once::new();
    HOOKS.call_once(|| {
        // SAFETY: the first hook only stores to an atomic, which is allowed in a forked child; the library is linked
        // with `-z nodelete`, so the functions stay where they are for the life of the process.
        unsafe {
            libc::pthread_atfork(None, None, Some(on_forked_child));
            libc::atexit(on_exit);
        }
    });
    for (from, to) in [(Phase::Quiet, Phase::Ready), (Phase::TracedQuiet, Phase::TracedReady)] {
        // Only the phase that holds moves; an initialised process stays as it is.
        let _ = PROCESS.phase.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire);
    }
}

extern "C" fn on_exit() {
    if phase().is_initialized() {
        PROCESS.phase.store(Phase::Exiting as u8, Ordering::Release);
        process::end();
    }
}

unsafe extern "C" fn on_forked_child() {
    if phase().is_initialized() {
        PROCESS.phase.store(Phase::ForkedChild as u8, Ordering::Release);
    }
}

std::thread_local! {
    static IN_CALLBACK: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs a user's callback on this thread. Calls that it makes into the driver answer `CUDA_ERROR_NOT_PERMITTED`.
pub(crate) fn during_callback(callback: impl FnOnce()) {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            IN_CALLBACK.set(false);
            PROCESS.callbacks_running.fetch_sub(1, Ordering::Relaxed);
        }
    }
    PROCESS.callbacks_running.fetch_add(1, Ordering::Relaxed);
    IN_CALLBACK.set(true);
    let _leave = Leave;
    callback();
}

/// What a call from inside a user's callback answers.
pub(super) fn require_outside_callback() -> DriverResult {
    if IN_CALLBACK.get() {
        return Err(DriverError::new(ErrorCode::NotPermitted, "a stream callback may not call the driver"));
    }
    Ok(())
}
