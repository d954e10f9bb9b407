//! A device for the interpreter's tests and benchmarks: kernels from PTX text, buffers, launches. What goes wrong in it is a broken
//! test, so it panics.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use warploom_exec::fault::Fault;
use warploom_exec::grid::{Environment, Launch};
use warploom_exec::heap::DeviceHeap;
use warploom_exec::kernel::LoadedKernel;
use warploom_exec::memory::{AllocSpec, Memory, MemoryKind, Options};
use warploom_exec::observe::Observer;
use warploom_exec::output::DeviceOutput;
use warploom_exec::pool::{Pool, PoolOptions};
use warploom_exec::stream::{Engine, Stream, StreamKind};
use warploom_exec::texture::{NoObjects, Objects};
use warploom_exec::workspace::Workspace;
use warploom_interp::{LoadError, Processor, function_address, load, load_observed};
use warploom_ptx::VerifiedModule;
use warploom_ptx::ir::{FunctionId, GlobalId, Module, RelocationTarget, Space};

#[derive(Default)]
struct Printed(Mutex<Vec<u8>>);

impl DeviceOutput for Printed {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }

    fn flush(&self) {}
}

/// Memory, a pool of two workers, and what kernels printed.
pub struct Device {
    memory: Arc<Memory>,
    environment: Arc<Environment>,
    objects: Arc<dyn Objects>,
    printed: Arc<Printed>,
    pool: Arc<Pool>,
    observer: Option<Arc<dyn Observer>>,
}

/// How fast the device's clock counts.
pub const CLOCK_KHZ: u32 = 1_700_000;

/// A kernel, and where the variables of its module are.
pub struct Kernel {
    loaded: Arc<dyn LoadedKernel>,
    module: Arc<VerifiedModule>,
    id: FunctionId,
    variables: Arc<[u64]>,
}

/// What a launch is started with beyond its parameters.
#[derive(Clone, Copy)]
pub struct Shape {
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub cta: [u32; 3],
    /// Dynamic shared memory of a CTA, in bytes.
    pub dynamic_shared: u32,
    /// Whether all CTAs are resident at once, so that they may wait for each other.
    pub cooperative: bool,
    /// Bytes of stack of a thread.
    pub stack_limit: u64,
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
}

impl Shape {
    /// A grid of one dimension.
    pub fn new(grid: u32, cta: u32) -> Shape {
        let (grid, cta, cluster) = ([grid, 1, 1], [cta, 1, 1], [1; 3]);
        Shape { grid, cta, dynamic_shared: 0, cooperative: false, stack_limit: 1024, cluster }
    }
}

impl Kernel {
    /// Has another executor run it, made of the module, the kernel in it, and the one that runs it now.
    pub fn run_by(
        &mut self,
        other: impl FnOnce(&Arc<VerifiedModule>, FunctionId, Arc<dyn LoadedKernel>) -> Arc<dyn LoadedKernel>,
    ) {
        self.loaded = other(&self.module, self.id, self.loaded.clone());
    }
}

impl Default for Device {
    /// Two workers.
    fn default() -> Device {
        Device::with_threads(2)
    }
}

impl Device {
    /// With that many workers.
    pub fn with_threads(threads: u32) -> Device {
        Device::with_pool(PoolOptions { threads, ..PoolOptions::default() })
    }

    /// With a pool of this kind.
    pub fn with_pool(options: PoolOptions) -> Device {
        Device::new(options, Arc::new(NoObjects))
    }

    /// With two workers, and somebody who is told of all that kernels do.
    pub fn observed(observer: Arc<dyn Observer>) -> Device {
        let threads = if observer.wants().serial { 1 } else { 2 };
        Device::with_pool(PoolOptions { threads, observer: Some(observer), ..PoolOptions::default() })
    }

    /// With two workers, and textures and surfaces.
    pub fn with_objects(objects: Arc<dyn Objects>) -> Device {
        Device::new(PoolOptions { threads: 2, ..PoolOptions::default() }, objects)
    }

    /// As [`Device::observed`], with textures and surfaces.
    pub fn observed_with_objects(observer: Arc<dyn Observer>, objects: Arc<dyn Objects>) -> Device {
        Device::new(PoolOptions { threads: 2, observer: Some(observer), ..PoolOptions::default() }, objects)
    }

    fn new(options: PoolOptions, objects: Arc<dyn Objects>) -> Device {
        let memory =
            Arc::new(Memory::new(Options { window: 1 << 36, capacity: 1 << 30, ..Options::default() }).unwrap());
        let printed = Arc::new(Printed::default());
        let environment = Arc::new(Environment {
            memory: memory.clone(),
            heap: DeviceHeap::new(memory.clone(), 0, 1),
            output: printed.clone(),
            clock_khz: CLOCK_KHZ,
            pending: Arc::default(),
        });
        let observer = options.observer.clone();
        Device { memory, environment, objects, printed, pool: Pool::new(options), observer }
    }

    /// Parses, lowers, verifies; places the variables; loads the one kernel of the text.
    pub fn kernel(&self, ptx: &str) -> Result<Kernel, LoadError> {
        self.kernel_for(ptx, Processor::default())
    }

    /// [`Device::kernel`] for a processor that may be less than the host.
    pub fn kernel_for(&self, ptx: &str, processor: Processor) -> Result<Kernel, LoadError> {
        self.load(ptx, None, processor)
    }

    /// Loads one of several kernels of the text.
    pub fn kernel_named(&self, ptx: &str, name: &str) -> Result<Kernel, LoadError> {
        self.load(ptx, Some(name), Processor::default())
    }

    fn load(&self, ptx: &str, name: Option<&str>, processor: Processor) -> Result<Kernel, LoadError> {
        let text = if ptx.contains(".version") {
            ptx.to_owned()
        } else {
            format!(".version 8.0\n.target sm_90\n.address_size 64\n{ptx}")
        };
        let options = warploom_ptx::Options { driver_version: 13000, sm: 90 };
        let module = warploom_ptx::load(text.as_bytes(), &options)
            .unwrap_or_else(|failure| panic!("{:?}\n{text}", failure.diagnostics));
        let kernel = module
            .functions
            .iter()
            .position(|function| {
                function.kind == warploom_ptx::ir::FunctionKind::Kernel && name.is_none_or(|name| function.name == name)
            })
            .map(|index| FunctionId(index as u32))
            .expect("a kernel");
        let places = self.place(&module);
        let is_placed = |GlobalId(id): GlobalId| places[id as usize].is_some();
        let loaded = match &self.observer {
            Some(observer) => load_observed(&module, kernel, &is_placed, processor, observer.wants())?,
            None => load(&module, kernel, &is_placed, processor)?,
        };
        Ok(Kernel { loaded, module: Arc::new(module), id: kernel, variables: table(places) })
    }

    /// The same kernel with variables of its own, as in another context.
    pub fn instance(&self, kernel: &Kernel) -> Kernel {
        let variables = table(self.place(&kernel.module));
        Kernel { loaded: kernel.loaded.clone(), module: kernel.module.clone(), id: kernel.id, variables }
    }

    fn place(&self, module: &Module) -> Vec<Option<u64>> {
        let places: Vec<Option<u64>> = module
            .globals
            .iter()
            .map(|global| (global.space != Space::Shared).then(|| self.alloc(global.size.max(1))))
            .collect();
        for (global, place) in module.globals.iter().zip(&places) {
            let Some(place) = *place else { continue };
            let mut bytes = global.init.clone();
            bytes.resize(global.size as usize, 0);
            for relocation in &global.relocations {
                let address = match relocation.target {
                    RelocationTarget::Global(id) => places[id.0 as usize].unwrap_or(0),
                    RelocationTarget::Function(id) => function_address(id),
                };
                let value = address.wrapping_add(relocation.addend as u64) >> relocation.shift;
                let start = relocation.offset as usize;
                let size = relocation.size as usize;
                bytes[start..start + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            self.memory.view().write_bytes(place, &bytes).unwrap();
        }
        places
    }

    /// Zeroed device memory of `size` bytes; its address.
    pub fn alloc(&self, size: u64) -> u64 {
        let spec =
            AllocSpec { size, kind: MemoryKind::Device, device: 0, owner: 1, tag: 0, origin: "a test's allocation" };
        let base = self.memory.alloc(spec).unwrap().base;
        self.memory.view().write_bytes(base, &vec![0; size as usize]).unwrap();
        base
    }

    /// Memory of constants, of `size` bytes; its address.
    pub fn constants(&self, size: u64) -> u64 {
        let (kind, origin) = (MemoryKind::ModuleConst, "a test's variable");
        self.memory.alloc(AllocSpec { size, kind, device: 0, owner: 1, tag: 0, origin }).unwrap().base
    }

    /// Gives memory back.
    pub fn free(&self, base: u64) {
        self.memory.free(base).unwrap();
    }

    /// Device memory that holds `words`; its address.
    pub fn buffer(&self, words: &[u32]) -> u64 {
        let base = self.alloc(words.len() as u64 * 4);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory.view().write_bytes(base, &bytes).unwrap();
        base
    }

    /// `count` words of device memory.
    pub fn words(&self, base: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.memory.view().read_bytes(base, &mut bytes).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    /// What kernels printed since the last call.
    pub fn printed(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.printed.0.lock().unwrap())).unwrap()
    }

    /// Launches with 64-bit parameters and waits.
    pub fn launch(&self, kernel: &Kernel, shape: Shape, params: &[u64]) -> Result<(), Arc<Fault>> {
        self.launch_bytes(kernel, shape, bytes(params))
    }

    /// Launches with these bytes as parameters and waits.
    pub fn launch_bytes(&self, kernel: &Kernel, shape: Shape, params: Vec<u8>) -> Result<(), Arc<Fault>> {
        let (send, receive) = channel();
        let launch = self.prepared(kernel, shape, params);
        self.pool.launch(launch, None, false, Box::new(move |fault| send.send(fault).unwrap()));
        match receive.recv().unwrap() {
            None => Ok(()),
            Some(fault) => Err(fault),
        }
    }

    /// A stream that is ordered with no other.
    pub fn stream(&self) -> Stream {
        let engine = Engine::new(&self.pool, None, Box::new(|_| {}));
        Stream::new(&engine, &Arc::default(), StreamKind::NonBlocking, false)
    }

    /// Launches in a stream, and waits for all that it holds.
    pub fn launch_in(&self, stream: &Stream, kernel: &Kernel, shape: Shape, params: &[u64]) {
        self.submit_in(stream, kernel, shape, params);
        stream.synchronize();
    }

    /// Puts a kernel into a stream, and does not wait for it.
    pub fn submit_in(&self, stream: &Stream, kernel: &Kernel, shape: Shape, params: &[u64]) {
        stream.launch(self.prepared(kernel, shape, bytes(params)));
    }

    fn prepared(&self, kernel: &Kernel, shape: Shape, params: Vec<u8>) -> Launch {
        Launch {
            variables: kernel.variables.clone(),
            objects: self.objects.clone(),
            dynamic_shared: shape.dynamic_shared,
            params: params.into(),
            cooperative: shape.cooperative.then(|| Workspace::new(&self.memory, 0).unwrap()),
            stack_limit: shape.stack_limit,
            cluster: shape.cluster,
            explicit_cluster: shape.cluster != [1; 3],
            ..Launch::new(kernel.loaded.clone(), shape.grid, shape.cta, &self.environment)
        }
    }

    /// Runs a kernel that writes one word for each thread, and returns them.
    pub fn run(&self, ptx: &str, shape: Shape) -> Vec<u32> {
        let kernel = self.kernel(ptx).unwrap_or_else(|error| panic!("{error}"));
        let threads = shape.grid.iter().chain(&shape.cta).product::<u32>() as usize;
        let out = self.alloc(threads as u64 * 4);
        self.launch(&kernel, shape, &[out]).unwrap_or_else(|fault| panic!("{fault}"));
        self.words(out, threads)
    }
}

fn bytes(params: &[u64]) -> Vec<u8> {
    params.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn table(places: Vec<Option<u64>>) -> Arc<[u64]> {
    places.into_iter().map(Option::unwrap_or_default).collect()
}

/// A kernel that stores `%r1` of every thread to its word of the output. The body may use `%r2` to `%r19`, `%p1` to `%p9`, `%d2` to
/// `%d9` and `%f1` to `%f9`; `%r0` is the number of the thread in the grid, `%d1` where its result goes.
pub fn entry(body: &str) -> String {
    format!(
        ".visible .entry kernel(.param .u64 out) {{
        .reg .b32 %r<20>; .reg .b64 %d<10>; .reg .pred %p<10>; .reg .f32 %f<10>;
        mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;
        ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d1, %d2;
        {body}
        st.global.u32 [%d1], %r1;
        ret;
        }}"
    )
}
