//! The driver's executors: the warp interpreter, and compiled code unless `WARPLOOM_JIT` says otherwise.
use std::sync::Arc;

use warploom_check::Checker;
use warploom_driver::executor::{Executor, LoadError};
use warploom_exec::kernel::LoadedKernel;
use warploom_exec::observe::Observer;
use warploom_interp::Processor;
use warploom_jit::{Cache, Made, Mode, Options, Origin, Style, Target, tiered};
use warploom_ptx::VerifiedModule;
use warploom_ptx::ir::{FunctionId, GlobalId};

use warploom_border::say;

use crate::checks;
use crate::settings::Settings;

/// Says which kernels are left to the interpreter because something is wrong with the compiler.
fn report_defects(made: &Made<'_>) {
    if made.defect {
        report_declined(made);
    }
}

/// Says which kernels are left to the interpreter, and why.
fn report_declined(made: &Made<'_>) {
    let Err(why) = made.code else { return };
    let kernel = made.kernel;
    match made.defect {
        true => say(&format!(
            "kernel {kernel} is not compiled, because of a defect of the compiler: {why}\n  \
             the interpreter runs it; WARPLOOM_JIT=off compiles nothing"
        )),
        false => say(&format!("kernel {kernel} is not compiled: {why}")),
    }
}

/// Says what has become of every kernel that was to be compiled.
fn report_all(made: &Made<'_>) {
    let ([x, y, z], ms) = (made.cta, made.took.as_secs_f64() * 1e3);
    let what = match made.code {
        Ok(Origin::Compiler) => format!("compiled in {ms:.1} ms"),
        Ok(Origin::Cache) => format!("compiled before, loaded in {ms:.2} ms"),
        Err(why) => return report_declined(&Made { code: Err(why), ..made.clone() }),
    };
    let part = if made.apart { ", what threads that part go on with" } else { "" };
    say(&format!("explain: kernel {} for CTAs of {x}x{y}x{z}{part}: {what}", made.kernel));
}

/// Makes every kernel runnable in the interpreter, and lets launches take compiled code.
pub(crate) struct Kernels {
    processor: Processor,
    /// None where nothing is compiled.
    compiled: Option<Options>,
    checker: Option<Arc<Checker>>,
}

impl Kernels {
    pub(crate) fn new(settings: &Settings) -> Kernels {
        let target = match settings.processor {
            Processor::V4 => Some(Target::Host),
            Processor::V3 => Some(Target::V3),
            // Vectors of four lanes and no fused products: nothing that would be worth it.
            Processor::Baseline => None,
        };
        let report: Arc<dyn Fn(&Made<'_>) + Send + Sync> = match () {
            () if settings.explain => Arc::new(report_all),
            () if settings.jit == Mode::Always => Arc::new(report_declined),
            () => Arc::new(report_defects),
        };
        // Checks see what the interpreter does.
        let checker = checks::begin(&settings.check);
        let compiles = settings.jit != Mode::Off && checker.is_none();
        let compiled = target.filter(|_| compiles).map(|target| Options {
            mode: settings.jit,
            target,
            cache: settings.cache.clone().map(|settings| Arc::new(Cache::new(settings, say))),
            style: Style::Chosen,
            dump: settings.dump.as_deref().map(Arc::from),
            report,
        });
        Kernels { processor: settings.processor, compiled, checker }
    }
}

impl Executor for Kernels {
    fn load(
        &self,
        module: &Arc<VerifiedModule>,
        kernel: FunctionId,
        is_placed: &dyn Fn(GlobalId) -> bool,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError> {
        let interpreted = match &self.checker {
            Some(checker) => warploom_interp::load_observed(module, kernel, is_placed, self.processor, checker.wants()),
            None => warploom_interp::load(module, kernel, is_placed, self.processor),
        };
        let interpreted = interpreted.map_err(|error| LoadError(error.to_string()))?;
        Ok(match &self.compiled {
            Some(options) => tiered(options.clone(), module, kernel, interpreted),
            None => interpreted,
        })
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.checker.clone().map(|checker| checker as Arc<dyn Observer>)
    }

    fn function_address(&self, function: FunctionId) -> u64 {
        warploom_interp::function_address(function)
    }
}
