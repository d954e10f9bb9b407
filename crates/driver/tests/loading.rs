//! When kernels are made runnable, counted by an executor that does nothing else, and that others can take their place.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use warploom_driver::device::Machine;
use warploom_driver::executor::{Executor, LoadError};
use warploom_driver::launch::LaunchShape;
use warploom_driver::module::Code;
use warploom_driver::stream::StreamName;
use warploom_driver::{Driver, DriverOptions, Handle};
use warploom_exec::grid::{Grid, Launch};
use warploom_exec::kernel::{Cta, CtaExit, LoadedKernel, Worker};
use warploom_exec::memory::Bounds;
use warploom_ptx::ir::{FunctionId, GlobalId};
use warploom_ptx::{Options, VerifiedModule, load};

const KERNELS: usize = 5000;

#[derive(Default)]
struct Counter(AtomicUsize);

impl Executor for Counter {
    fn load(
        &self,
        module: &Arc<VerifiedModule>,
        kernel: FunctionId,
        _is_placed: &dyn Fn(GlobalId) -> bool,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(LoadError(module.functions[kernel.0 as usize].name.clone()))
    }

    fn function_address(&self, _function: FunctionId) -> u64 {
        0
    }
}

/// A driver with a module of [`KERNELS`] kernels, and who counts.
fn driver(eager_loading: bool) -> (Arc<Driver>, Arc<Counter>, Arc<warploom_driver::module::Module>) {
    let counter = Arc::new(Counter::default());
    let options = DriverOptions {
        machine: Machine {
            cuda_version: 13_000,
            compute_capability: 90,
            device_count: 1,
            threads: Some(1),
            multiprocessors: None,
            memory: None,
        },
        devices: vec![0],
        fresh_memory: None,
        bounds: Bounds::default(),
        report_stalled: None,
        launch_timeout: None,
        eager_loading,
        blocking_launches: false,
        runtime_error_texts: |_| (c"", c""),
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
fn what_one_context_has_made_runnable_runs_in_others() {
    let (driver, counter, module) = driver(false);
    let load_in = |module: &Arc<warploom_driver::module::Module>| {
        let function = driver.function_named(module, "kernel_7").expect("a kernel");
        let function = driver.function(function).expect("its handle");
        assert!(!function.is_loaded());
        driver.load_function(&function).expect_err("this executor runs nothing");
    };
    load_in(&module);
    driver.create_context(0, 0).expect("another context");
    let other = driver.load_module(module.code()).expect("a module");
    load_in(&driver.module(other).expect("its handle"));
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
}

#[test]
fn eager_loading_makes_all_kernels_runnable() {
    let (_driver, counter, _module) = driver(true);
    assert_eq!(counter.0.load(Ordering::Relaxed), KERNELS);
}

/// A kernel that says which one it is, and what launches get in its place once there is one: the next.
struct Says(Arc<Mutex<Vec<u32>>>, u32, Arc<AtomicBool>);

impl LoadedKernel for Says {
    fn name(&self) -> &str {
        "says"
    }

    fn variant(&self, _: &Launch) -> Option<Arc<dyn LoadedKernel>> {
        let Says(said, number, replaced) = self;
        let next = || Arc::new(Says(Arc::clone(said), number + 1, Arc::clone(replaced))) as Arc<dyn LoadedKernel>;
        replaced.load(Ordering::Relaxed).then(next)
    }

    fn run_cta(&self, _: &Grid, _: &mut Cta, _: &mut Worker) -> CtaExit {
        self.0.lock().expect("nobody panics").push(self.1);
        CtaExit::Finished
    }
}

impl Executor for Says {
    fn load(
        &self,
        _module: &Arc<VerifiedModule>,
        _kernel: FunctionId,
        _is_placed: &dyn Fn(GlobalId) -> bool,
    ) -> Result<Arc<dyn LoadedKernel>, LoadError> {
        Ok(Arc::new(Says(Arc::clone(&self.0), self.1, Arc::clone(&self.2))))
    }

    fn function_address(&self, _function: FunctionId) -> u64 {
        0
    }
}

#[test]
fn another_kernel_takes_the_place_of_one_that_is_loaded() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let replaced = Arc::new(AtomicBool::new(false));
    let options = DriverOptions {
        machine: Machine {
            cuda_version: 13_000,
            compute_capability: 90,
            device_count: 1,
            threads: Some(1),
            multiprocessors: None,
            memory: None,
        },
        devices: vec![0],
        fresh_memory: None,
        bounds: Bounds::default(),
        report_stalled: None,
        launch_timeout: None,
        eager_loading: false,
        blocking_launches: false,
        runtime_error_texts: |_| (c"", c""),
    };
    let executor = Arc::new(Says(Arc::clone(&said), 1, Arc::clone(&replaced)));
    let driver = Driver::new(options, executor).expect("a driver");
    driver.create_context(0, 0).expect("a context");
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    let code = load(text.as_bytes(), &Options { driver_version: 13_000, sm: 90 }).expect("valid PTX");
    let module = driver.load_module(&Code::new(code, None)).expect("a module");
    let module = driver.module(module).expect("its handle");
    let function = driver.function_named(&module, "k").expect("a kernel");
    let function = driver.function(function).expect("its handle");
    let shape = LaunchShape { grid: [1; 3], cta: [32, 1, 1], cluster: None, dynamic_shared: 0, cooperative: false };
    let work = driver.kernel_work(&function, Handle::NULL, shape, Box::default(), BTreeMap::new(), None);
    let graph = driver.create_graph(0).expect("a graph");
    driver.add_node(graph, &[], work.expect("a launch")).expect("a node");
    let exec = driver.instantiate(graph, 0).expect("an instance");
    let launch = || {
        driver.launch(&function, &shape, StreamName::Legacy, Box::default(), &BTreeMap::new()).expect("a launch");
        driver.launch_graph(exec, StreamName::Legacy).expect("a launch");
        driver.synchronize(&driver.current_place().expect("a context")).expect("no fault");
    };
    launch();
    replaced.store(true, Ordering::Relaxed);
    launch();
    assert_eq!(*said.lock().expect("nobody panics"), [1, 1, 2, 2]);
}
