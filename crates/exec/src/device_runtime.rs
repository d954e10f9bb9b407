//! What kernels ask of the driver that has launched them (CUDA programming guide, dynamic parallelism).

use std::sync::Arc;

use crate::family::{ChildLaunch, ChildWork, Family};
use crate::grid::Launch;

/// What a function of the device's runtime library answers if it fails: a `cudaError_t`, which the calling thread's last error becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeError(pub u32);

#[expect(missing_docs, reason = "the names of cudaError_t say it")]
impl RuntimeError {
    pub const INVALID_VALUE: RuntimeError = RuntimeError(1);
    pub const MEMORY_ALLOCATION: RuntimeError = RuntimeError(2);
    pub const INVALID_CONFIGURATION: RuntimeError = RuntimeError(9);
    pub const INVALID_MEMCPY_DIRECTION: RuntimeError = RuntimeError(21);
    pub const LAUNCH_PENDING_COUNT_EXCEEDED: RuntimeError = RuntimeError(69);
    pub const INVALID_DEVICE_FUNCTION: RuntimeError = RuntimeError(98);
    pub const INVALID_DEVICE: RuntimeError = RuntimeError(101);
    pub const NOT_SUPPORTED: RuntimeError = RuntimeError(801);
}

/// What `cudaFuncGetAttributes` tells a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of cudaFuncAttributes say it")]
pub struct FunctionFacts {
    pub shared_size_bytes: u64,
    pub const_size_bytes: u64,
    pub local_size_bytes: u64,
    pub max_threads_per_block: i32,
    pub num_regs: i32,
    pub ptx_version: i32,
    pub binary_version: i32,
    pub cache_mode_ca: i32,
}

/// The driver, for the kernels of one module in one context. Functions are named by their addresses.
pub trait DeviceRuntime: Send + Sync {
    /// Bytes of a kernel's parameter buffer.
    ///
    /// # Errors
    /// [`RuntimeError::INVALID_DEVICE_FUNCTION`] for what is no kernel of the module.
    fn parameter_bytes(&self, function: u64) -> Result<u32, RuntimeError>;

    /// Checks the shape of a launch.
    ///
    /// # Errors
    /// [`RuntimeError::INVALID_CONFIGURATION`] for one that is not possible; as [`DeviceRuntime::parameter_bytes`].
    fn check(&self, child: &ChildLaunch) -> Result<(), RuntimeError>;

    /// Prepares a launch with the bytes of the parameter buffer.
    ///
    /// # Errors
    /// As [`DeviceRuntime::check`]; [`RuntimeError::MEMORY_ALLOCATION`]; [`RuntimeError::NOT_SUPPORTED`] for a kernel that cannot be executed.
    fn prepare(&self, child: &ChildLaunch, parameters: Box<[u8]>) -> Result<Launch, RuntimeError>;

    /// An attribute of a device.
    ///
    /// # Errors
    /// [`RuntimeError::INVALID_VALUE`] for an unknown one, [`RuntimeError::INVALID_DEVICE`] for another device than the kernel's.
    fn attribute(&self, attribute: i32, device: i32) -> Result<i32, RuntimeError>;

    /// A limit of the context.
    ///
    /// # Errors
    /// [`RuntimeError::INVALID_VALUE`] for those that there are not.
    fn limit(&self, limit: u32) -> Result<u64, RuntimeError>;

    /// The kernel's device.
    fn device(&self) -> i32;

    /// How many devices there are.
    fn device_count(&self) -> i32;

    /// `1000 * major + 10 * minor`.
    fn version(&self) -> i32;

    /// What is known of a kernel.
    ///
    /// # Errors
    /// As [`DeviceRuntime::parameter_bytes`].
    fn function(&self, function: u64) -> Result<FunctionFacts, RuntimeError>;

    /// How many CTAs of a kernel fit a multiprocessor.
    ///
    /// # Errors
    /// As [`DeviceRuntime::parameter_bytes`]; [`RuntimeError::INVALID_VALUE`].
    fn resident_ctas(&self, function: u64, threads: i32, dynamic_shared: u64) -> Result<i32, RuntimeError>;

    /// The address of an error's name, or of its text, in the memory of the kernel's device. It stays there.
    ///
    /// # Errors
    /// [`RuntimeError::MEMORY_ALLOCATION`].
    fn error_text(&self, code: u32, name: bool) -> Result<u64, RuntimeError>;

    /// A launch of a graph, to be put into a stream: beside it goes what its kernels launch so.
    ///
    /// # Errors
    /// [`RuntimeError::INVALID_VALUE`] for what is no graph that a device may launch.
    fn graph(&self, exec: u64, beside: &Arc<Family>) -> Result<ChildWork, RuntimeError>;

    /// Changes nodes of graphs: all, or none.
    ///
    /// # Errors
    /// [`RuntimeError::INVALID_VALUE`] for what is no node that this kernel may change, and for a change that is not possible.
    fn update_nodes(&self, updates: &[NodeUpdate]) -> Result<(), RuntimeError>;
}

/// A change of a kernel node (`cudaGraphKernelNodeUpdate`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeUpdate {
    /// The node's number.
    pub node: u64,
    /// What becomes of it.
    pub change: NodeChange,
}

/// What a kernel changes of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeChange {
    /// CTAs of its grid in each dimension.
    Grid([u32; 3]),
    /// Bytes of its parameters.
    Parameters {
        /// Where they begin in the parameter buffer.
        offset: u64,
        /// What they become.
        bytes: Vec<u8>,
    },
    /// Whether it takes part in launches.
    Enabled(bool),
}

/// The launch of a graph that a kernel belongs to.
pub struct GraphRun {
    /// The instance that was launched: `%current_graph_exec`, 0 for one that the device may not launch.
    pub exec: u64,
    /// What its kernels launch.
    pub family: Arc<Family>,
    /// What is launched beside it.
    pub beside: Arc<Family>,
}
