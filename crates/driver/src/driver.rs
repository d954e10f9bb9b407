//! The driver as a whole: what is one a process.
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use warploom_exec::fault::{Fault, FaultKind, Refusal};
use warploom_exec::interprocess::activity::Activity;
use warploom_exec::interprocess::{Board, Opened};
use warploom_exec::memory::{Bounds, Memory, Options};
use warploom_exec::observe::{HostEvent, Observer};
use warploom_exec::output::{Buffered, CStdout, DeviceOutput};
use warploom_exec::pool::{AllPools, Pool, PoolOptions};
use warploom_exec::stream::Stream;

use crate::array::{Array, MipmappedArray};
use crate::context::Context;
use crate::device::{Device, DeviceState, Listener, Machine, Note};
use crate::event::Event;
use crate::executor::Executor;
use crate::graph::{Captures, Conditions, DeviceNodes, Graph, GraphExec, GraphMemory, NodeRef, UserObject};
use crate::green::{Description, GreenContext};
use crate::handle::{HandleTable, Kind};
use crate::launch::RuntimeErrorTexts;
use crate::library::{Kernel, Library};
use crate::linker::Linker;
use crate::memory::{
    AllHints, BetweenProcesses, Frees, ImportedMemory, Mappings, PhysicalMemory, Pools, RegisteredPages,
};
use crate::module::{Function, Module, VariableNames};
use crate::stream::{CreatedStream, ImportedSemaphore};
use crate::texture::ObjectTables;
use crate::{DriverError, DriverResult, ErrorCode};

/// What a driver is made from.
#[derive(Clone, Debug)]
pub struct DriverOptions {
    /// The machine, which says what the devices are.
    pub machine: Machine,
    /// The numbers, among those of the machine, of the devices that there are, in their order.
    pub devices: Vec<u32>,
    /// What each byte of device memory holds that a program allocates; None for 0.
    pub fresh_memory: Option<u8>,
    /// What kernels may access around an allocation.
    pub bounds: Bounds,
    /// After how long a kernel in which nothing moves is reported; None for 10 s.
    pub report_stalled: Option<Duration>,
    /// After how long a kernel is ended; None for never.
    pub launch_timeout: Option<Duration>,
    /// Whether all kernels of a module are made runnable when it is loaded, not each at its first launch.
    pub eager_loading: bool,
    /// Whether launches come back when their kernels have ended.
    pub blocking_launches: bool,
    /// What kernels are told of errors.
    pub runtime_error_texts: RuntimeErrorTexts,
}

/// The size of the buffer that holds what kernels print, as recorded for the limit's default.
pub(crate) const OUTPUT_BUFFER: usize = 8_650_752;

/// The state of the process, and the tables of its objects.
pub struct Driver {
    options: DriverOptions,
    executor: Arc<dyn Executor>,
    memory: Arc<Memory>,
    own: DeviceState,
    output: Arc<dyn DeviceOutput>,
    devices: Box<[Device]>,
    pub(crate) contexts: HandleTable<Context>,
    pub(crate) green_contexts: HandleTable<GreenContext>,
    pub(crate) descriptions: HandleTable<Description>,
    pub(crate) streams: HandleTable<CreatedStream>,
    pub(crate) events: HandleTable<Event>,
    pub(crate) arrays: HandleTable<Array>,
    pub(crate) mipmapped_arrays: HandleTable<MipmappedArray>,
    pub(crate) modules: HandleTable<Module>,
    pub(crate) functions: HandleTable<Function>,
    pub(crate) libraries: HandleTable<Library>,
    pub(crate) kernels: HandleTable<Kernel>,
    pub(crate) linkers: HandleTable<Linker>,
    pub(crate) objects: Arc<ObjectTables>,
    pub(crate) registered: RegisteredPages,
    pub(crate) hints: AllHints,
    pub(crate) physical: HandleTable<PhysicalMemory>,
    pub(crate) mappings: Mappings,
    pub(crate) listeners: HandleTable<Listener>,
    pub(crate) imported: HandleTable<ImportedMemory>,
    pub(crate) semaphores: HandleTable<ImportedSemaphore>,
    pub(crate) pools: Arc<Pools>,
    pub(crate) frees: Arc<Frees>,
    pub(crate) variable_names: Arc<VariableNames>,
    pub(crate) graphs: HandleTable<Graph>,
    pub(crate) graph_nodes: HandleTable<NodeRef>,
    pub(crate) graph_execs: HandleTable<GraphExec>,
    pub(crate) user_objects: HandleTable<UserObject>,
    pub(crate) graph_memory: Arc<GraphMemory>,
    pub(crate) conditions: Conditions,
    pub(crate) device_nodes: DeviceNodes,
    pub(crate) captures: Captures,
    board: OnceLock<Arc<Board>>,
    pub(crate) opened_events: Opened,
    pub(crate) between_processes: BetweenProcesses,
    /// Where texts are that kernels were told, by device.
    pub(crate) runtime_texts: Mutex<HashMap<(u32, &'static CStr), u64>>,
    next_id: AtomicU64,
    observer: Option<Arc<dyn Observer>>,
    /// For what kernels ask while they run.
    this: OnceLock<Weak<Driver>>,
}

/// Who runs the kernels of each device; of the first one, where there is none.
fn pools(options: &DriverOptions, observer: Option<&Arc<dyn Observer>>, activity: &Arc<Activity>) -> Vec<Arc<Pool>> {
    let serial = observer.is_some_and(|observer| observer.wants().serial);
    let numbers = if options.devices.is_empty() { &[0] } else { &options.devices[..] };
    let settings = (0..).zip(options.machine.partitions(numbers, serial)).map(|(ordinal, part)| {
        let defaults = PoolOptions::default();
        PoolOptions {
            threads: part.threads,
            processors: part.processors,
            report_stalled: options.report_stalled.unwrap_or(defaults.report_stalled),
            launch_timeout: options.launch_timeout,
            observer: observer.cloned(),
            activity: options.devices.get(ordinal as usize).map(|_| activity.device(ordinal)),
            ..defaults
        }
    });
    let mut pools: Vec<Arc<Pool>> = Vec::new();
    for settings in settings {
        let pool = match pools.first() {
            Some(first) => first.beside(settings),
            None => Pool::new(settings),
        };
        pools.push(pool);
    }
    pools
}

/// What the process shows of devices with these numbers; without a descriptor to show it with, nothing.
fn shown(numbers: &[u32]) -> DriverResult<Arc<Activity>> {
    let activity = Activity::shown(numbers).or_else(|_| Activity::hidden(numbers.len() as u32));
    activity.map_err(|error| DriverError::new(ErrorCode::OutOfMemory, format!("no memory to count in: {error}")))
}

/// What the report of a fault adds if hardware need not have noticed.
fn unnoticed(memory: &Memory, fault: &Fault) -> &'static str {
    let FaultKind::Access(access) = &fault.kind else { return "" };
    if access.refusal == Refusal::Unmapped && memory.is_on_page(access.address, access.size, access.kind) {
        "\n  = note: hardware, which protects pages of 2 MiB, need not notice; nor does warploom with WARPLOOM_BOUNDS=pages"
    } else {
        ""
    }
}

impl Driver {
    /// A driver without contexts. Starts no thread and installs no signal handler: a process may still fork.
    ///
    /// # Errors
    /// `OutOfMemory` if the host gives no address range for the device memory.
    pub fn new(options: DriverOptions, executor: Arc<dyn Executor>) -> DriverResult<Arc<Driver>> {
        let activity = shown(&options.devices)?;
        let capacity = options.machine.memory_of_device();
        let ordinals = 0..u32::try_from(options.devices.len()).unwrap_or(u32::MAX);
        let accounts = ordinals.map(|ordinal| activity.device(ordinal)).collect();
        let memory = Memory::counted(Options { capacity, bounds: options.bounds, ..Options::default() }, accounts);
        let memory = Arc::new(memory.map_err(|error| {
            DriverError::new(ErrorCode::OutOfMemory, format!("no address range for the device memory: {error}"))
        })?);
        let contexts = HandleTable::new(Kind::Context);
        let observer = executor.observer();
        let pools = pools(&options, observer.as_ref(), &activity);
        let variable_names = Arc::new(VariableNames::default());
        let names = Arc::clone(&variable_names);
        let space = Arc::clone(&memory);
        let note: Note = Arc::new(move |fault| names.note(fault) + unnoticed(&space, fault));
        let output: Arc<dyn DeviceOutput> = Arc::new(Buffered::new(OUTPUT_BUFFER, CStdout));
        let devices = (0..)
            .zip(&options.devices)
            .zip(&pools)
            .map(|((ordinal, &number), pool)| {
                let state = DeviceState::new(
                    pool,
                    Some(activity.device(ordinal)),
                    Some(ordinal),
                    Arc::clone(&note),
                    Arc::clone(&output),
                );
                let (threads, capacity) = (pool.threads(), memory.capacity());
                Ok(Device::new(ordinal, number, &options.machine, threads, capacity, state, contexts.reserve()?))
            })
            .collect::<DriverResult<_>>()?;
        memory.set_crew(Box::new(AllPools::new(&pools)));
        let driver = Driver {
            options,
            executor,
            memory,
            own: DeviceState::new(&pools[0], None, None, note, Arc::clone(&output)),
            output,
            devices,
            contexts,
            green_contexts: HandleTable::new(Kind::GreenContext),
            descriptions: HandleTable::new(Kind::ResourceDescription),
            streams: HandleTable::owned(Kind::Stream, CreatedStream::context_id),
            events: HandleTable::owned(Kind::Event, Event::context_id),
            arrays: HandleTable::owned(Kind::Array, Array::context_id),
            mipmapped_arrays: HandleTable::owned(Kind::MipmappedArray, MipmappedArray::context_id),
            modules: HandleTable::owned(Kind::Module, Module::context_id),
            functions: HandleTable::owned(Kind::Function, |function| function.module().context_id()),
            libraries: HandleTable::new(Kind::Library),
            kernels: HandleTable::new(Kind::Kernel),
            linkers: HandleTable::new(Kind::Linker),
            objects: Arc::new(ObjectTables::new()),
            registered: RegisteredPages::default(),
            hints: AllHints::default(),
            physical: HandleTable::new(Kind::PhysicalMemory),
            mappings: Mappings::default(),
            listeners: HandleTable::new(Kind::Listener),
            imported: HandleTable::new(Kind::ExternalMemory),
            semaphores: HandleTable::new(Kind::ExternalSemaphore),
            pools: Arc::new(Pools::new()),
            frees: Arc::new(Frees::default()),
            variable_names,
            graphs: HandleTable::new(Kind::Graph),
            graph_nodes: HandleTable::new(Kind::GraphNode),
            graph_execs: HandleTable::new(Kind::GraphExec),
            user_objects: HandleTable::new(Kind::UserObject),
            graph_memory: Arc::default(),
            conditions: Conditions::default(),
            device_nodes: DeviceNodes::default(),
            captures: Captures::default(),
            board: OnceLock::new(),
            opened_events: Opened::default(),
            between_processes: BetweenProcesses::default(),
            runtime_texts: Mutex::default(),
            next_id: AtomicU64::new(1),
            observer,
            this: OnceLock::new(),
        };
        driver.observe_tables();
        let driver = Arc::new(driver);
        driver.this.get_or_init(|| Arc::downgrade(&driver));
        Ok(driver)
    }

    /// Has the observer told of what programs make and are to end.
    fn observe_tables(&self) {
        let Some(observer) = &self.observer else { return };
        self.streams.tell(observer, |_| true);
        self.events.tell(observer, |_| true);
        self.arrays.tell(observer, Array::is_whole);
        self.mipmapped_arrays.tell(observer, |_| true);
        self.modules.tell(observer, |module| !module.is_of_library());
        self.graphs.tell(observer, |graph| !graph.is_made_for_node());
        self.graph_execs.tell(observer, |_| true);
    }

    pub(crate) fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    /// Itself, for what kernels ask while they run.
    pub(crate) fn this(&self) -> Weak<Driver> {
        self.this.get().cloned().unwrap_or_default()
    }

    /// The observer, if there is one.
    pub(crate) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.observer.as_ref()
    }

    /// Tells the observer, if there is one.
    #[inline]
    pub(crate) fn tell(&self, event: impl FnOnce() -> HostEvent) {
        if let Some(observer) = &self.observer {
            observer.host(&event());
        }
    }

    /// Ends all kernels and copies at the end of the process, and waits until none runs, for `limit` at most: what they use, such as
    /// registered memory of the program's static objects, is about to go.
    pub fn close(&self, limit: std::time::Duration) {
        for device in &self.devices {
            device.state().engine().pool().close(limit);
        }
    }

    /// What it was made from.
    pub fn options(&self) -> &DriverOptions {
        &self.options
    }

    /// Who runs kernels.
    pub(crate) fn executor(&self) -> &Arc<dyn Executor> {
        &self.executor
    }

    /// The device memory of the process.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// What fails together with the work of a stream: its device, or nothing but the driver's own streams.
    pub(crate) fn state_of(&self, stream: &Stream) -> &DeviceState {
        let device = stream.device().and_then(|ordinal| self.devices.get(ordinal as usize));
        device.map_or(&self.own, |device| device.state())
    }

    /// A stream for what the driver does when others have got somewhere: no fault of a device ends it.
    pub(crate) fn internal_stream(&self) -> Stream {
        self.own.new_stream()
    }

    /// For a call that is about no device: fails if a kernel of the calling thread's has faulted. Without a context, if kernels of all devices have.
    ///
    /// # Errors
    /// The sticky error.
    pub(crate) fn check(&self) -> DriverResult {
        match self.current_unless_destroyed() {
            Ok(context) => context.check(),
            Err(_) => {
                let mut answers = self.devices.iter().map(|device| device.state().check());
                let first = answers.next().unwrap_or(Ok(()));
                if answers.all(|answer| answer.is_err()) { first } else { Ok(()) }
            }
        }
    }

    /// Where kernels print.
    pub(crate) fn output(&self) -> &Arc<dyn DeviceOutput> {
        &self.output
    }

    /// Passes on what kernels have printed.
    pub(crate) fn flush_output(&self) {
        self.output.flush();
    }

    /// All devices, by ordinal.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The device with `ordinal`.
    ///
    /// # Errors
    /// `NoDevice` if there is none at all, `InvalidDevice` if not this one.
    pub fn device(&self, ordinal: i32) -> DriverResult<&Device> {
        if self.devices.is_empty() {
            return Err(DriverError::new(ErrorCode::NoDevice, "there is no device"));
        }
        usize::try_from(ordinal).ok().and_then(|index| self.devices.get(index)).ok_or_else(|| {
            let reason = format!("there is no device {ordinal}, only {} from 0 on", self.devices.len());
            DriverError::new(ErrorCode::InvalidDevice, reason)
        })
    }

    /// The device that a context is on.
    pub(crate) fn device_of(&self, context: &Context) -> DriverResult<&Device> {
        self.device(i32::try_from(context.ordinal()).unwrap_or(-1))
    }

    /// What this process offers to others, if it ever did.
    pub(crate) fn existing_board(&self) -> Option<&Arc<Board>> {
        self.board.get()
    }

    /// What this process offers to others.
    pub(crate) fn board(&self) -> DriverResult<&Arc<Board>> {
        if let Some(board) = self.existing_board() {
            return Ok(board);
        }
        let board = Board::new().map_err(|error| crate::event::not_offered(&error))?;
        // Another thread may have been faster: its board counts.
        Ok(self.board.get_or_init(|| board))
    }

    /// A number that nothing else in this process has.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}
