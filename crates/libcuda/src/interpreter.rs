//! The warp interpreter as the driver's executor.
use std::sync::Arc;

use warploom_driver::executor::{Executor, LoadError};
use warploom_exec::kernel::LoadedKernel;
use warploom_ptx::ir::{FunctionId, GlobalId, Module};

use crate::settings::Settings;

/// Runs every kernel in the interpreter.
pub(crate) struct Interpreter;

impl Executor for Interpreter {
    fn load(
        &self,
        module: &Module,
        kernel: FunctionId,
        is_placed: &dyn Fn(GlobalId) -> bool,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError> {
        let processor = Settings::get().processor;
        warploom_interp::load(module, kernel, is_placed, processor).map_err(|error| LoadError(error.to_string()))
    }

    fn function_address(&self, function: FunctionId) -> u64 {
        warploom_interp::function_address(function)
    }
}
