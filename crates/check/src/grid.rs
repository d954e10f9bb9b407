//! A grid's names: its kernel, its threads, its places.

use std::sync::Arc;

use warploom_exec::kernel::LoadedKernel;
use warploom_exec::observe::{At, GridFacts};

use crate::report::Thread;

/// What reports need of a grid.
pub(crate) struct GridNames {
    id: u64,
    kernel: Arc<dyn LoadedKernel>,
    cta: [u32; 3],
}

impl GridNames {
    pub(crate) fn new(grid: &GridFacts<'_>) -> GridNames {
        GridNames { id: grid.id, kernel: Arc::clone(&grid.launch.kernel), cta: grid.launch.cta }
    }

    /// A lane of a warp at an instruction.
    pub(crate) fn thread(&self, at: &At, lane: u32) -> Thread {
        Thread {
            kernel: self.kernel.name().to_owned(),
            grid: self.id,
            cta: at.cta,
            thread: at.thread(lane, self.cta),
            place: self.kernel.site(at.site).place.into(),
        }
    }
}
