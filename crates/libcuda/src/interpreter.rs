//! The driver's executor: the warp interpreter, and compiled code where `WARPLOOM_JIT` asks for it.
use std::sync::Arc;

use warploom_driver::executor::{Executor, LoadError};
use warploom_exec::kernel::LoadedKernel;
use warploom_interp::Processor;
use warploom_jit::{Mode, Target, tiered};
use warploom_ptx::ir::{FunctionId, GlobalId, Module};

use warploom_border::say;

use crate::settings::Settings;

fn report_declined(kernel: &str, why: &str) {
    say(&format!("kernel {kernel} is not compiled: {why}"));
}

/// Makes every kernel runnable in the interpreter, and lets launches take compiled code.
pub(crate) struct Interpreter {
    pub(crate) jit: Mode,
}

impl Executor for Interpreter {
    fn load(
        &self,
        module: &Module,
        kernel: FunctionId,
        is_placed: &dyn Fn(GlobalId) -> bool,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError> {
        let processor = Settings::get().processor;
        let interpreted = warploom_interp::load(module, kernel, is_placed, processor);
        let interpreted = interpreted.map_err(|error| LoadError(error.to_string()))?;
        let declined = if self.jit == Mode::Always { report_declined } else { |_: &str, _: &str| {} };
        Ok(match processor {
            Processor::V4 => tiered(self.jit, Target::Host, module, kernel, interpreted, declined),
            Processor::V3 => tiered(self.jit, Target::V3, module, kernel, interpreted, declined),
            // Vectors of four lanes and no fused products: nothing that would be worth it.
            Processor::Baseline => interpreted,
        })
    }

    fn function_address(&self, function: FunctionId) -> u64 {
        warploom_interp::function_address(function)
    }
}
