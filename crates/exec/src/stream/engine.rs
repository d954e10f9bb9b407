//! Who runs streams, and what a fault ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use crate::callback::CallbackThreads;
use crate::fault::{Fault, FaultKind};
use crate::pool::Pool;
use crate::run::panic_text;

/// Runs the streams of one device, or those that are no device's: a fault ends the work of all of them, and of no others.
pub struct Engine {
    pub(super) pool: Arc<Pool>,
    pub(super) device: Option<u32>,
    pub(super) callbacks: CallbackThreads,
    pub(super) fault: OnceLock<Arc<Fault>>,
    on_fault: Box<dyn Fn(&Fault) + Send + Sync>,
}

impl Engine {
    /// An engine for the streams of the device with this ordinal. `on_fault` is called once, with the first fault of a kernel, before anybody who
    /// waits for that kernel is woken.
    pub fn new(pool: &Arc<Pool>, device: Option<u32>, on_fault: Box<dyn Fn(&Fault) + Send + Sync>) -> Arc<Engine> {
        Arc::new(Engine {
            pool: Arc::clone(pool),
            device,
            callbacks: CallbackThreads::default(),
            fault: OnceLock::new(),
            on_fault,
        })
    }

    /// The worker pool.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The fault that ended all work of its streams, if there was one. From then on operations are dropped, and only
    /// callbacks still run.
    pub fn fault(&self) -> Option<&Arc<Fault>> {
        self.fault.get()
    }

    /// Runs a part of the driver or of the program on a thread that must survive it: a panic becomes a fault.
    pub(super) fn guard<R>(&self, what: &str, part: impl FnOnce() -> R) -> Option<R> {
        let result = catch_unwind(AssertUnwindSafe(part));
        result.map_err(|panic| self.fail(Arc::new(Fault::new(FaultKind::Internal(panic_text(&*panic)), what)))).ok()
    }

    /// Ends all work as a fault of a kernel does.
    pub fn fail(&self, fault: Arc<Fault>) {
        let mut is_first = false;
        self.fault.get_or_init(|| {
            is_first = true;
            // Nobody sees the fault before it has been reported: who waits may end the process.
            (self.on_fault)(&fault);
            fault.clone()
        });
        if is_first {
            // Other kernels may wait for what the faulted one will never write.
            self.pool.cancel_all_of(self.device, &fault);
        }
    }
}
