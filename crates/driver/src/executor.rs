//! The seam to who runs kernels.
use std::sync::Arc;

use warploom_exec::kernel::LoadedKernel;
use warploom_ptx::ir::{FunctionId, GlobalId, Module};

/// Makes kernels runnable.
pub trait Executor: Send + Sync {
    /// Makes a kernel of a module runnable, at its first launch.
    ///
    /// # Errors
    /// What in the kernel cannot be executed.
    fn load(
        &self,
        module: &Arc<Module>,
        kernel: FunctionId,
        image: &ModuleImage,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError>;
}

/// Where the variables of a module lie.
#[derive(Clone, Debug, Default)]
pub struct ModuleImage {
    /// The address of each `.global` and `.const` variable, by its id; None for those in other state spaces.
    pub addresses: Vec<Option<u64>>,
}

impl ModuleImage {
    /// The address of a variable.
    pub fn address(&self, global: GlobalId) -> Option<u64> {
        *self.addresses.get(global.0 as usize)?
    }
}

/// Why a kernel cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{instruction} in line {line} is not supported")]
pub struct LoadError {
    /// The first instruction that cannot be executed, as in the source.
    pub instruction: String,
    /// Its line in the PTX text, from 1.
    pub line: u32,
}
