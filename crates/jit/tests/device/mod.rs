//! A device without a driver, for kernels of any executor.
#![allow(dead_code, reason = "each test and benchmark uses a part of it")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use warploom_exec::grid::{Environment, Grid, Launch};
use warploom_exec::heap::DeviceHeap;
use warploom_exec::kernel::{Cta, CtaExit, LoadedKernel, Worker};
use warploom_exec::memory::{AllocSpec, Memory, MemoryKind, Options as MemoryOptions};
use warploom_exec::output::{Buffered, CStdout};
use warploom_exec::pool::{Pool, PoolOptions};
use warploom_exec::stream::{Engine, Group, Stream, StreamKind};
use warploom_exec::texture::{NoObjects, Objects};
use warploom_ptx::ir::{Function, Module, Storage};

/// The first line that a fault is told with, if it is with one.
pub(crate) fn line_of(fault: &str) -> Option<String> {
    fault.split("line ").nth(1).map(|rest| rest.chars().take_while(char::is_ascii_digit).collect())
}

/// What would run a kernel that is not compiled.
pub(crate) struct Nobody;

impl LoadedKernel for Nobody {
    fn name(&self) -> &str {
        "nobody"
    }

    fn run_cta(&self, _: &Grid, _: &mut Cta, _: &mut Worker) -> CtaExit {
        panic!("the kernel was not compiled")
    }
}

/// A device with two workers.
pub(crate) struct Device {
    environment: Arc<Environment>,
    /// What kernels find behind handles.
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) stream: Stream,
}

impl Device {
    pub(crate) fn new() -> Device {
        Device::with_pool(PoolOptions {
            threads: 2,
            report_stalled: Duration::from_secs(30),
            launch_timeout: None,
            report: Arc::new(|text| panic!("unexpected report: {text}")),
            ..PoolOptions::default()
        })
    }

    /// One that reports kernels after the first time, and ends them after the second; with what it reports.
    pub(crate) fn watched(
        report_stalled: Duration,
        launch_timeout: Option<Duration>,
    ) -> (Device, Arc<Mutex<Vec<String>>>) {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let said = reports.clone();
        let device = Device::with_pool(PoolOptions {
            threads: 2,
            report_stalled,
            launch_timeout,
            report: Arc::new(move |text| said.lock().expect("no panic").push(text.to_owned())),
            ..PoolOptions::default()
        });
        (device, reports)
    }

    pub(crate) fn with_pool(options: PoolOptions) -> Device {
        let memory = Memory::new(MemoryOptions { window: 1 << 36, capacity: 1 << 30, ..MemoryOptions::default() })
            .expect("the window can be reserved");
        let memory = Arc::new(memory);
        let heap = DeviceHeap::new(memory.clone(), 0, 1);
        let environment = Arc::new(Environment {
            memory,
            heap,
            output: Arc::new(Buffered::new(1 << 20, CStdout)),
            clock_khz: 1_000_000,
            pending: Arc::default(),
        });
        let engine = Engine::new(&Pool::new(options), Some(0), Box::new(|_| {}));
        let stream = Stream::new(&engine, &Arc::new(Group::default()), StreamKind::NonBlocking, false);
        Device { environment, objects: Arc::new(NoObjects), engine, stream }
    }

    pub(crate) fn buffer(&self, words: &[u32]) -> u64 {
        let size = 4 * words.len() as u64;
        let spec = AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 0, tag: 0, origin: "test" };
        let memory = &self.environment.memory;
        let base = memory.alloc(spec).expect("memory").base;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.view().write_bytes(base, &bytes).expect("write");
        base
    }

    pub(crate) fn words(&self, base: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.environment.memory.view().read_bytes(base, &mut bytes).expect("read");
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect()
    }

    /// Runs the first function of a module, which is a kernel, to its end.
    pub(crate) fn run(
        &self,
        module: &Module,
        kernel: Arc<dyn LoadedKernel>,
        grid: [u32; 3],
        cta: [u32; 3],
        params: &[&[u8]],
    ) {
        self.start(&module.functions[0], kernel, grid, cta, params);
        self.stream.synchronize();
    }

    /// Starts a kernel.
    pub(crate) fn start(
        &self,
        function: &Function,
        kernel: Arc<dyn LoadedKernel>,
        grid: [u32; 3],
        cta: [u32; 3],
        params: &[&[u8]],
    ) {
        let mut buffer = Vec::new();
        for (value, param) in params.iter().zip(&function.params) {
            let Storage::Memory { offset } = param.storage else { panic!("a parameter in a register") };
            buffer.resize(offset as usize, 0);
            buffer.extend_from_slice(value);
        }
        let objects = self.objects.clone();
        let launch = Launch { params: buffer.into(), objects, ..Launch::new(kernel, grid, cta, &self.environment) };
        self.stream.launch(launch);
    }
}
