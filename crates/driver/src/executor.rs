//! The seam to who runs kernels.
use std::sync::Arc;

use warploom_exec::kernel::LoadedKernel;
use warploom_ptx::ir::{FunctionId, GlobalId, Module};

/// Makes kernels runnable.
pub trait Executor: Send + Sync {
    /// Makes a kernel of a module runnable, at its first launch. `addresses` knows where the module's `.global` and `.const`
    /// variables are.
    ///
    /// # Errors
    /// What in the kernel cannot be executed.
    fn load(
        &self,
        module: &Module,
        kernel: FunctionId,
        addresses: &dyn Fn(GlobalId) -> Option<u64>,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError>;

    /// What the address of a device function reads as in kernels: initial values of variables must hold it.
    fn function_address(&self, function: FunctionId) -> u64;
}

/// Why a kernel cannot run: one sentence that names the instruction and its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub String);
