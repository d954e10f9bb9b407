//! The seam to who runs kernels.
use std::sync::Arc;

use warploom_exec::kernel::LoadedKernel;
use warploom_exec::observe::Observer;
use warploom_ptx::VerifiedModule;
use warploom_ptx::ir::{FunctionId, GlobalId};

/// Makes kernels runnable.
pub trait Executor: Send + Sync {
    /// Makes a kernel of a module runnable, at its first launch in any context. `is_placed` knows which of the module's variables a
    /// launch will have addresses for: [`Launch::variables`](warploom_exec::grid::Launch::variables) holds them by [`GlobalId`]. What
    /// comes back may keep the module, to go on making code of it later.
    ///
    /// # Errors
    /// What in the kernel cannot be executed.
    fn load(
        &self,
        module: &Arc<VerifiedModule>,
        kernel: FunctionId,
        is_placed: &dyn Fn(GlobalId) -> bool,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError>;

    /// Who is told of what kernels and streams do, if anybody is: kernels are made runnable for it.
    fn observer(&self) -> Option<Arc<dyn Observer>> {
        None
    }

    /// What the address of a device function reads as in kernels: initial values of variables must hold it.
    fn function_address(&self, function: FunctionId) -> u64;
}

/// Why a kernel cannot run: one sentence that names the instruction and its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub String);
