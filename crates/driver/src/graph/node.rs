//! What nodes do, with the parameters that a program gave and can ask for.
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::conditional::ConditionalWork;
use super::memory::GraphAllocation;
use super::updatable::{DeviceNode, keep_number};
use super::{Driver, DriverError, DriverResult, Graph, Handle};
use crate::event::Event;
use crate::green::GreenContext;
use crate::launch::LaunchShape;
use crate::memory::{CallersMemory, Checked, CopyPlace, Fill2d, Transfer};
use crate::module::Function;
use crate::stream::{
    AttributeValue, CLUSTER_DIMENSION, DEFAULT_DOMAINS, DEVICE_UPDATABLE, DOMAIN_MAP, SemaphoreAction, SemaphoreWork,
    ValueOperation, check_value, kept, word_of,
};

/// The kind of a node, by its number in `CUgraphNodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of CUgraphNodeType say it")]
#[repr(u32)]
pub enum NodeKind {
    Kernel = 0,
    Memcpy = 1,
    Memset = 2,
    Host = 3,
    Graph = 4,
    Empty = 5,
    WaitEvent = 6,
    EventRecord = 7,
    ExtSemasSignal = 8,
    ExtSemasWait = 9,
    MemAlloc = 10,
    MemFree = 11,
    BatchMemOp = 12,
    Conditional = 13,
    MemcpyBatch = 14,
}

impl NodeKind {
    /// The number.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The kind in words.
    pub fn noun(self) -> &'static str {
        match self {
            NodeKind::Kernel => "kernel",
            NodeKind::Memcpy => "copy",
            NodeKind::Memset => "set",
            NodeKind::Host => "host function",
            NodeKind::Graph => "graph",
            NodeKind::Empty => "empty node",
            NodeKind::WaitEvent => "wait for an event",
            NodeKind::EventRecord => "record of an event",
            NodeKind::ExtSemasSignal => "signal of semaphores",
            NodeKind::ExtSemasWait => "wait for semaphores",
            NodeKind::MemAlloc => "allocation",
            NodeKind::MemFree => "free",
            NodeKind::BatchMemOp => "batch of memory operations",
            NodeKind::Conditional => "conditional node",
            NodeKind::MemcpyBatch => "batch of copies",
        }
    }
}

/// What a node does.
#[derive(Clone)]
pub enum Work {
    /// Runs a kernel.
    Kernel(Arc<KernelWork>),
    /// Copies.
    Copy(Arc<CopyWork>),
    /// Copies several ranges, in any order.
    Copies(Arc<CopyBatch>),
    /// Sets memory.
    Fill(Fill2d),
    /// Calls a function of the program.
    Host(HostWork),
    /// Runs a graph that belongs to the node.
    Graph(Arc<Graph>),
    /// Nothing.
    Empty,
    /// Waits for an event.
    WaitEvent(Arc<Event>),
    /// Records an event.
    RecordEvent(Arc<Event>),
    /// Signals semaphores from outside, or waits for them.
    Semaphores(Arc<SemaphoreWork>),
    /// Writes values to memory and waits for them.
    Batch(Arc<BatchWork>),
    /// Allocates memory.
    Alloc(Arc<AllocWork>),
    /// Frees memory.
    Free(FreeWork),
    /// Runs graphs as a value says.
    Conditional(Arc<ConditionalWork>),
}

/// A kernel with all that its launches need.
pub struct KernelWork {
    /// The function.
    pub function: Arc<Function>,
    /// The kernel of a library that the program gave instead of the function; NULL if it gave the function.
    pub kernel: Handle,
    /// Sizes of the launch, without what attributes say.
    pub shape: LaunchShape,
    /// The parameter buffer, as the source lays it out.
    pub parameters: Box<[u8]>,
    /// Addresses of the parameters in the buffer, in order: they stay as long as this is kept.
    pub pointers: Box<[usize]>,
    /// Attributes of the launch, by their numbers in `CUlaunchAttributeID`.
    pub attributes: BTreeMap<u32, AttributeValue>,
    /// The green context in whose stream it was captured.
    pub green: Option<Arc<GreenContext>>,
    /// What kernels name to change it, if they may.
    pub device: Option<Arc<DeviceNode>>,
}

/// Numbers of the attributes that change a launch (`CUlaunchAttributeID`).
const COOPERATIVE: u32 = 2;
/// The attributes that kernel nodes have.
const KERNEL_ATTRIBUTES: [u32; 10] =
    [1, COOPERATIVE, CLUSTER_DIMENSION, 5, 8, DOMAIN_MAP, 10, DEVICE_UPDATABLE, 14, 16];

impl KernelWork {
    /// The sizes of the launch, with what attributes say.
    pub fn shape(&self) -> LaunchShape {
        let mut shape = self.shape;
        if let Some(cooperative) = self.attributes.get(&COOPERATIVE) {
            shape.cooperative = word_of(cooperative, 0) != 0;
        }
        if let Some(dimension) = self.attributes.get(&CLUSTER_DIMENSION)
            && word_of(dimension, 0) != 0
        {
            shape.cluster = Some([0, 1, 2].map(|axis| word_of(dimension, axis)));
        }
        shape
    }

    /// An attribute as it was set, or what holds without.
    ///
    /// # Errors
    /// `InvalidValue` for attributes that kernel nodes do not have.
    pub fn attribute(&self, attribute: u32) -> DriverResult<AttributeValue> {
        check_attribute(attribute)?;
        if let Some(value) = self.attributes.get(&attribute) {
            return Ok(*value);
        }
        if attribute == DOMAIN_MAP {
            return Ok(DEFAULT_DOMAINS);
        }
        let mut value = [0; 64];
        let words = match attribute {
            COOPERATIVE => vec![u32::from(self.shape.cooperative)],
            CLUSTER_DIMENSION => self.shape.cluster.map_or_else(Vec::new, |cluster| cluster.to_vec()),
            _ => Vec::new(),
        };
        for (place, word) in value.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        Ok(value)
    }
}

fn check_attribute(attribute: u32) -> DriverResult {
    if !KERNEL_ATTRIBUTES.contains(&attribute) {
        return Err(DriverError::invalid_value(format!("{attribute} is no attribute of kernel nodes")));
    }
    Ok(())
}

/// A copy.
pub struct CopyWork {
    /// As the program gave it.
    pub transfer: Transfer,
    /// Ready to be done; None for a copy of nothing.
    pub(crate) checked: Option<Checked>,
}

impl CopyWork {
    /// A copy that was checked.
    pub(crate) fn new(transfer: Transfer, checked: Checked) -> CopyWork {
        CopyWork { transfer, checked: Some(checked) }
    }

    /// Whether it copies what only the host can copy: arrays, or host memory that is not pinned.
    pub(super) fn is_between_arrays_or_pageable(&self) -> bool {
        let arrays =
            [&self.transfer.src, &self.transfer.dst].iter().any(|side| matches!(side.place, CopyPlace::Array(_)));
        arrays || self.checked.as_ref().is_some_and(Checked::is_pageable)
    }
}

/// Several copies.
pub struct CopyBatch {
    pub(super) copies: Vec<CopyWork>,
    /// How the program described them, for when it asks.
    pub given: Box<dyn Any + Send + Sync>,
}

impl CopyBatch {
    /// Whether it copies the same.
    pub(super) fn is_same(&self, other: &CopyBatch) -> bool {
        let transfers = |batch: &CopyBatch| batch.copies.iter().map(|copy| copy.transfer.clone()).collect::<Vec<_>>();
        transfers(self) == transfers(other)
    }
}

/// A function of the program.
#[derive(Clone)]
pub struct HostWork {
    /// Its address.
    pub function: usize,
    /// What it is called with.
    pub data: usize,
    /// Calls it.
    pub call: Arc<dyn Fn() + Send + Sync>,
}

/// Memory operations, one after the other.
pub struct BatchWork {
    /// The operations.
    pub operations: Vec<ValueOperation>,
    /// How the program described them, for when it asks.
    pub given: Box<dyn Any + Send + Sync>,
}

/// An allocation. It has its memory from the time on when it is a node.
pub struct AllocWork {
    pub(super) allocation: OnceLock<Arc<GraphAllocation>>,
    /// Bytes.
    pub size: u64,
    /// The ordinal of the device.
    pub ordinal: u32,
    /// Whether it is managed memory.
    pub managed: bool,
    /// How the program described it, for when it asks.
    pub given: Box<dyn Any + Send + Sync>,
}

impl AllocWork {
    /// The address that the memory will have; 0 for work that is no node yet.
    pub fn address(&self) -> u64 {
        self.allocation.get().map_or(0, |allocation| allocation.address())
    }
}

/// A free.
#[derive(Clone)]
pub struct FreeWork {
    /// The address.
    pub address: u64,
    /// The memory, if a graph allocates it.
    pub(super) allocation: Option<Arc<GraphAllocation>>,
}

impl Work {
    /// Its kind.
    pub fn kind(&self) -> NodeKind {
        match self {
            Work::Kernel(_) => NodeKind::Kernel,
            Work::Copy(_) => NodeKind::Memcpy,
            Work::Copies(_) => NodeKind::MemcpyBatch,
            Work::Fill(_) => NodeKind::Memset,
            Work::Host(_) => NodeKind::Host,
            Work::Graph(_) => NodeKind::Graph,
            Work::Empty => NodeKind::Empty,
            Work::WaitEvent(_) => NodeKind::WaitEvent,
            Work::RecordEvent(_) => NodeKind::EventRecord,
            Work::Semaphores(work) if work.action == SemaphoreAction::Signal => NodeKind::ExtSemasSignal,
            Work::Semaphores(_) => NodeKind::ExtSemasWait,
            Work::Batch(_) => NodeKind::BatchMemOp,
            Work::Alloc(_) => NodeKind::MemAlloc,
            Work::Free(_) => NodeKind::MemFree,
            Work::Conditional(_) => NodeKind::Conditional,
        }
    }

    /// Fails unless it is of `kind`.
    pub(super) fn check_kind(&self, kind: NodeKind) -> DriverResult {
        if self.kind() != kind {
            let reason = format!("the node is a {}, not a {}", self.kind().noun(), kind.noun());
            return Err(DriverError::invalid_value(reason));
        }
        Ok(())
    }

    /// The graphs that belong to the node.
    pub(super) fn graphs(&self) -> &[Arc<Graph>] {
        match self {
            Work::Graph(graph) => std::slice::from_ref(graph),
            Work::Conditional(work) => &work.bodies,
            _ => &[],
        }
    }
}

impl Driver {
    /// The work of a kernel node. `kernel` is the handle that the program gave if it was one of a library's kernel.
    ///
    /// # Errors
    /// As [`Driver::launch`].
    pub fn kernel_work(
        &self,
        function: &Arc<Function>,
        kernel: Handle,
        shape: LaunchShape,
        parameters: Box<[u8]>,
        mut attributes: BTreeMap<u32, AttributeValue>,
        green: Option<&Arc<GreenContext>>,
    ) -> DriverResult<Work> {
        for (attribute, value) in &mut attributes {
            check_attribute(*attribute)?;
            check_value(*attribute, value)?;
            *value = kept(*attribute, *value);
        }
        let parameters = self.parameter_buffer(function, parameters)?;
        let start = parameters.as_ptr().expose_provenance();
        let pointers = function.parameters().iter().map(|place| start + place.offset as usize).collect();
        let function = Arc::clone(function);
        let device = self.device_node(&mut attributes)?;
        let green = green.cloned();
        let work = KernelWork { function, kernel, shape, parameters, pointers, attributes, green, device };
        self.check_shape(&work.function, &work.shape(), work.green.as_deref())?;
        Ok(Work::Kernel(Arc::new(work)))
    }

    /// The same kernel with other attributes.
    ///
    /// # Errors
    /// As [`Driver::kernel_work`]; `NotSupported` if kernels may change it, and are to do so no more.
    pub fn with_attributes_of(
        &self,
        work: &KernelWork,
        mut attributes: BTreeMap<u32, AttributeValue>,
    ) -> DriverResult<Work> {
        keep_number(&mut attributes, work.device.as_ref())?;
        let parameters = work.parameters.clone();
        self.kernel_work(&work.function, work.kernel, work.shape, parameters, attributes, work.green.as_ref())
    }

    /// The work of a copy node.
    ///
    /// # Errors
    /// As [`Driver::copy`].
    pub fn copy_work(&self, transfer: Transfer, callers: CallersMemory) -> DriverResult<Work> {
        let checked = self.check_transfer(&transfer, callers)?;
        Ok(Work::Copy(Arc::new(CopyWork { transfer, checked })))
    }

    /// The work of a node with several copies. `given` is how the program described them.
    ///
    /// # Errors
    /// As [`Driver::copy`].
    pub fn copies_work(
        &self,
        transfers: Vec<Transfer>,
        callers: CallersMemory,
        given: Box<dyn Any + Send + Sync>,
    ) -> DriverResult<Work> {
        let check = |transfer| Ok(CopyWork { checked: self.check_transfer(&transfer, callers)?, transfer });
        let copies = transfers.into_iter().map(check).collect::<DriverResult<_>>()?;
        Ok(Work::Copies(Arc::new(CopyBatch { copies, given })))
    }

    /// The work of a node that sets memory.
    ///
    /// # Errors
    /// As [`Driver::fill`].
    pub fn fill_work(&self, fill: Fill2d) -> DriverResult<Work> {
        if self.check_fill(&fill)?.is_none() {
            return Err(DriverError::invalid_value("a node that sets nothing"));
        }
        Ok(Work::Fill(fill))
    }

    /// The work of a node that records or waits for an event.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, as recorded; `InvalidHandle` for stale and foreign handles.
    pub fn event_work(&self, event: Handle, kind: NodeKind) -> DriverResult<Work> {
        if event.is_null() {
            return Err(DriverError::invalid_value("the event is NULL"));
        }
        let event = self.event(event)?;
        Ok(if kind == NodeKind::EventRecord { Work::RecordEvent(event) } else { Work::WaitEvent(event) })
    }

    /// The work of a node with memory operations. `given` is how the program described them.
    ///
    /// # Errors
    /// `InvalidValue` for an address that is misaligned or not device memory.
    pub fn batch_work(&self, operations: Vec<ValueOperation>, given: Box<dyn Any + Send + Sync>) -> DriverResult<Work> {
        for operation in &operations {
            self.check_operation(operation)?;
        }
        Ok(Work::Batch(Arc::new(BatchWork { operations, given })))
    }
}
