//! When kernels are made runnable, counted by an executor that does nothing else.
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warploom_driver::executor::{Executor, LoadError};
use warploom_driver::module::Code;
use warploom_driver::{Driver, DriverOptions};
use warploom_exec::kernel::LoadedKernel;
use warploom_ptx::ir::{FunctionId, GlobalId, Module};
use warploom_ptx::{Options, load};

const KERNELS: usize = 5000;

#[derive(Default)]
struct Counter(AtomicUsize);

impl Executor for Counter {
    fn load(
        &self,
        module: &Module,
        kernel: FunctionId,
        _addresses: &dyn Fn(GlobalId) -> Option<u64>,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(LoadError(module.functions[kernel.0 as usize].name.clone()))
    }

    fn function_address(&self, _function: FunctionId) -> u64 {
        0
    }
}

/// A driver with a module of [`KERNELS`] kernels, and who counts.
fn driver(eager_loading: bool) -> (Driver, Arc<Counter>, Arc<warploom_driver::module::Module>) {
    let counter = Arc::new(Counter::default());
    let options = DriverOptions {
        cuda_version: 13_000,
        compute_capability: 90,
        device_count: 1,
        threads: Some(1),
        eager_loading,
    };
    let driver = Driver::new(options, Arc::clone(&counter) as Arc<dyn Executor>).expect("a driver");
    driver.create_context(0, 0).expect("a context");
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    for number in 0..KERNELS {
        writeln!(text, ".visible .entry kernel_{number}() {{ ret; }}").expect("text");
    }
    let code = load(text.as_bytes(), &Options { driver_version: 13_000, sm: 90 }).expect("valid PTX");
    let module = driver.load_module(&Code::new(code, None)).expect("a module");
    let module = driver.module(module).expect("its handle");
    (driver, counter, module)
}

#[test]
fn only_what_is_launched_is_made_runnable() {
    let (driver, counter, module) = driver(false);
    assert_eq!(driver.functions_of(&module, usize::MAX).expect("handles").len(), KERNELS);
    assert_eq!(counter.0.load(Ordering::Relaxed), 0);
    for _ in 0..3 {
        let function = driver.function_named(&module, "kernel_1234").expect("a kernel");
        let function = driver.function(function).expect("its handle");
        let error = driver.load_function(&function).expect_err("this executor runs nothing");
        assert!(error.to_string().contains("kernel_1234"), "{error}");
    }
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
}

#[test]
fn eager_loading_makes_all_kernels_runnable() {
    let (_driver, counter, _module) = driver(true);
    assert_eq!(counter.0.load(Ordering::Relaxed), KERNELS);
}
