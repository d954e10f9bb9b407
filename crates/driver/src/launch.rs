//! Launches: which sizes are allowed, and how parameters get to the kernel.
mod device_runtime;
mod legacy;
mod occupancy;

pub use device_runtime::RuntimeErrorTexts;
pub use legacy::LegacyLaunch;

use std::collections::BTreeMap;
use std::sync::Arc;

use device_runtime::ModuleRuntime;
use warploom_exec::device_runtime::DeviceRuntime;
use warploom_exec::grid::{Launch, WorkerSet};
use warploom_exec::memory::Reservation;
use warploom_exec::workspace::Workspace;

use crate::context::{Context, Limit};
use crate::device::attribute;
use crate::driver::Driver;
use crate::graph::{Work, keep_number};
use crate::green::GreenContext;
use crate::handle::Handle;
use crate::module::Function;
use crate::stream::{AttributeValue, DEVICE_UPDATABLE, StreamName};
use crate::{DriverError, DriverResult, ErrorCode};

/// The sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// CTAs along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y and z.
    pub cta: [u32; 3],
    /// CTAs of a cluster along x, y and z, if the launch asks for clusters.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Whether all CTAs must be able to wait for each other.
    pub cooperative: bool,
}

/// CTAs of a cluster that every device with clusters has.
const PORTABLE_CLUSTER: u64 = 8;
/// CTAs of a cluster that are possible where the function allows it.
const LARGEST_CLUSTER: u64 = 16;

/// Bytes of local memory that a thread can have (CUDA programming guide, technical specifications).
const MOST_LOCAL: u64 = 512 << 10;

/// How many of something three extents hold; the largest number for more than that.
pub fn volume(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |product: u64, extent| product.saturating_mul(u64::from(*extent)))
}

impl Driver {
    /// Puts a launch into a stream. `parameters` is the parameter buffer of the kernel, as its source lays it out. If it becomes a node that kernels may change, answers the attribute, which names the node.
    ///
    /// # Errors
    /// `InvalidValue` for sizes that are not possible, `InvalidClusterSize`, `CooperativeLaunchTooLarge`,
    /// `LaunchOutOfResources` for more parameters than the kernel has; `InvalidHandle` for a stream of another context;
    /// `NotSupported` for an attribute about changes by kernels, which only nodes have, as recorded;
    /// as [`Driver::load_function`] and [`Driver::stream`]; where launches block, the error of a kernel that faulted.
    pub fn launch(
        &self,
        function: &Arc<Function>,
        shape: &LaunchShape,
        name: StreamName,
        parameters: Box<[u8]>,
        preferences: &BTreeMap<u32, AttributeValue>,
    ) -> DriverResult<Option<AttributeValue>> {
        let stream = self.stream(name)?;
        let context = function.module().context();
        if !Arc::ptr_eq(context, &stream.context) {
            return Err(DriverError::invalid_handle("function and stream belong to different contexts"));
        }
        if let Some(capture) = self.capture_of(&stream)? {
            let mut attributes = self.stream_preferences(name)?;
            attributes.extend(preferences);
            keep_number(&mut attributes, None)?;
            let work = self.kernel_work(function, Handle::NULL, *shape, parameters, attributes, stream.green.as_ref());
            // As recorded, a launch that is refused ends the capture; other calls do not.
            let work = work.inspect_err(|_| capture.invalidate())?;
            let attribute = match &work {
                Work::Kernel(kernel) => kernel.attributes.get(&DEVICE_UPDATABLE).copied(),
                _ => None,
            };
            self.capture(&capture, &stream, work)?;
            return Ok(attribute);
        }
        if preferences.contains_key(&DEVICE_UPDATABLE) {
            let reason = "only kernels of graphs can be changed by kernels";
            return Err(DriverError::new(ErrorCode::NotSupported, reason));
        }
        let prepared = self.prepare_launch(function, shape, parameters, stream.green.as_deref())?;
        self.flush_output();
        stream.stream.launch(prepared);
        if self.options().blocking_launches {
            self.finish(&stream)?;
            self.flush_output();
        }
        Ok(None)
    }

    /// Whether a function can be launched in these sizes.
    ///
    /// # Errors
    /// As [`Driver::launch`], but for what it says of parameters and streams.
    pub fn check_launch(&self, function: &Function, shape: &LaunchShape) -> DriverResult {
        self.check_shape(function, shape, None).map(drop)
    }

    /// A launch that only needs to be put into a stream; in a green context it has the multiprocessors of that one.
    ///
    /// # Errors
    /// As [`Driver::launch`].
    pub(crate) fn prepare_launch(
        &self,
        function: &Function,
        shape: &LaunchShape,
        parameters: Box<[u8]>,
        green: Option<&GreenContext>,
    ) -> DriverResult<Launch> {
        let (shape, cluster) = &self.check_shape(function, shape, green)?;
        let params = self.parameter_buffer(function, parameters)?;
        let kernel = function.loaded(self)?;
        let context = function.module().context();
        let cooperative = if shape.cooperative { Some(self.workspace(context)?) } else { None };
        Ok(Launch {
            kernel,
            grid: shape.grid,
            cta: shape.cta,
            cluster: *cluster,
            explicit_cluster: shape.cluster.is_some() || function.required_cluster().is_some(),
            dynamic_shared: shape.dynamic_shared,
            params,
            cooperative,
            stack_limit: context.limit(Limit::StackSize),
            variables: Arc::clone(function.module().variables().table()),
            objects: self.objects_of(function.module()),
            local: self.local_memory(function, shape)?,
            workers: green.map_or_else(WorkerSet::default, |green| green.workers().clone()),
            runtime: self.runtime_of(function),
            behind: None,
            graph: None,
            environment: Arc::clone(context.environment()),
        })
    }

    /// Whom the threads of a kernel ask that can call the device's runtime library.
    fn runtime_of(&self, function: &Function) -> Option<Arc<dyn DeviceRuntime>> {
        let asks = function.resources().device_runtime;
        asks.then(|| Arc::new(ModuleRuntime::new(self.this(), function.module())) as Arc<dyn DeviceRuntime>)
    }

    /// Counts the local memory of the threads that can be resident at once, for as long as the launch lives. Launches of a context share
    /// it, as their threads share the device.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn local_memory(&self, function: &Function, shape: &LaunchShape) -> DriverResult<Option<Arc<Reservation>>> {
        let local = function.resources().local;
        if local == 0 {
            return Ok(None);
        }
        let context = function.module().context();
        let threads = volume(shape.grid).saturating_mul(volume(shape.cta)).min(self.resident_threads(context)?);
        let bytes = local.saturating_mul(threads);
        let mut counted = context.local_memory().lock();
        let held = counted.upgrade();
        if let Some(held) = held.as_ref().filter(|held| held.bytes() >= bytes) {
            return Ok(Some(Arc::clone(held)));
        }
        let reserve = || self.memory().reserve_bytes(context.ordinal(), bytes, held.clone());
        let reserved = reserve().or_else(|error| if self.release_kept() { reserve() } else { Err(error) });
        let reserved = reserved.map_err(|_| {
            let reason = format!("{local} bytes of local memory for each of {threads} threads are not free");
            DriverError::new(ErrorCode::OutOfMemory, reason)
        })?;
        *counted = Arc::downgrade(&reserved);
        Ok(Some(reserved))
    }

    /// Threads that the multiprocessors of a context's device hold at once.
    fn resident_threads(&self, context: &Context) -> DriverResult<u64> {
        let device = self.device_of(context)?;
        let most = |number| u64::from(device.limit(number));
        Ok(most(attribute::MULTIPROCESSOR_COUNT) * most(attribute::MAX_THREADS_PER_MULTIPROCESSOR))
    }

    /// Where the CTAs of a cooperative grid wait for each other.
    fn workspace(&self, context: &Context) -> DriverResult<Arc<Workspace>> {
        Workspace::new(self.memory(), context.ordinal()).map_err(|_| {
            DriverError::new(ErrorCode::OutOfMemory, "there is no memory for a cooperative grid to synchronise in")
        })
    }

    /// The whole parameter buffer of a kernel: what the caller left out reads as zero.
    ///
    /// # Errors
    /// `LaunchOutOfResources` for more parameters than the kernel has.
    pub(crate) fn parameter_buffer(&self, function: &Function, parameters: Box<[u8]>) -> DriverResult<Box<[u8]>> {
        let size = function.parameter_bytes() as usize;
        if parameters.len() > size {
            let reason = format!("{} bytes of parameters for a kernel with {size}", parameters.len());
            return Err(DriverError::new(ErrorCode::LaunchOutOfResources, reason));
        }
        Ok(padded(parameters, size))
    }

    /// Checks the sizes of a launch, and gives those that it runs in and the shape of its clusters.
    pub(crate) fn check_shape(
        &self,
        function: &Function,
        shape: &LaunchShape,
        green: Option<&GreenContext>,
    ) -> DriverResult<(LaunchShape, [u32; 3])> {
        let device = self.device_of(function.module().context())?;
        let refuse = |reason: String| Err(DriverError::invalid_value(reason));
        let shape = launched(function, shape);
        let LaunchShape { grid, cta, dynamic_shared, .. } = shape;
        let most = |numbers: [i32; 3]| numbers.map(|number| device.limit(number));
        let most_grid = most([attribute::MAX_GRID_DIM_X, attribute::MAX_GRID_DIM_Y, attribute::MAX_GRID_DIM_Z]);
        if !fits(grid, most_grid) {
            return refuse(format!("a grid of {grid:?}; from 1 to {most_grid:?} are possible"));
        }
        let most_cta = most([attribute::MAX_BLOCK_DIM_X, attribute::MAX_BLOCK_DIM_Y, attribute::MAX_BLOCK_DIM_Z]);
        if !fits(cta, most_cta) {
            return refuse(format!("CTAs of {cta:?}; from 1 to {most_cta:?} are possible"));
        }
        let threads = volume(cta);
        if threads > u64::from(function.max_threads()) {
            return refuse(format!("CTAs of {threads} threads; the kernel allows {}", function.max_threads()));
        }
        if let Some(required) = function.required_cta()
            && cta != required
        {
            return refuse(format!("CTAs of {cta:?}; the kernel requires {required:?}"));
        }
        if dynamic_shared > function.max_dynamic_shared() {
            let most = function.max_dynamic_shared();
            let reason = format!("{dynamic_shared} bytes of dynamic shared memory; the function allows {most}");
            // As recorded: no CTA of such a grid can be resident.
            let code = if shape.cooperative { ErrorCode::CooperativeLaunchTooLarge } else { ErrorCode::InvalidValue };
            return Err(DriverError::new(code, reason));
        }
        self.check_local(function)?;
        let cluster = self.check_cluster(function, &shape)?;
        if shape.cooperative {
            let ctas = volume(grid);
            let resident = u64::from(self.resident_ctas(function, threads, u64::from(dynamic_shared))?);
            let multiprocessors = match green {
                Some(green) => green.part().count(),
                None => device.limit(attribute::MULTIPROCESSOR_COUNT),
            };
            let most = resident * u64::from(multiprocessors);
            if ctas > most {
                let reason = format!("a cooperative grid of {ctas} CTAs; {most} can be resident at once");
                return Err(DriverError::new(ErrorCode::CooperativeLaunchTooLarge, reason));
            }
        }
        Ok((shape, cluster))
    }

    /// Most CTAs of a cluster that a function can be launched with.
    ///
    /// # Errors
    /// `InvalidDevice` if its device is gone.
    pub fn largest_cluster(&self, function: &Function) -> DriverResult<u64> {
        let device = self.device_of(function.module().context())?;
        Ok(match device.limit(attribute::CLUSTER_LAUNCH) {
            0 => 1,
            _ if function.allows_large_clusters() => LARGEST_CLUSTER,
            _ => PORTABLE_CLUSTER,
        })
    }

    /// Checks that the device has local memory for as many threads as it holds at once, whatever the size of the launch: recorded on
    /// hardware.
    fn check_local(&self, function: &Function) -> DriverResult {
        let local = function.resources().local;
        if local == 0 {
            return Ok(());
        }
        if local > MOST_LOCAL {
            let reason = format!("{local} bytes of local memory for each thread; {MOST_LOCAL} are possible");
            return Err(DriverError::invalid_value(reason));
        }
        let threads = self.resident_threads(function.module().context())?;
        if local * threads > self.memory().capacity() {
            let reason =
                format!("{local} bytes of local memory for each of {threads} threads are more than the device has");
            return Err(DriverError::new(ErrorCode::OutOfMemory, reason));
        }
        Ok(())
    }

    /// The cluster that a launch of this shape runs in.
    ///
    /// # Errors
    /// `InvalidClusterSize` for one that the kernel or the device does not have, and a grid that is no whole number of clusters.
    pub fn check_cluster(&self, function: &Function, shape: &LaunchShape) -> DriverResult<[u32; 3]> {
        let refuse = |reason: String| Err(DriverError::new(ErrorCode::InvalidClusterSize, reason));
        let cluster = match (shape.cluster, function.required_cluster()) {
            (Some(given), Some(required)) if given != required => {
                return refuse(format!("clusters of {given:?}; the kernel requires {required:?}"));
            }
            (Some(cluster), _) | (None, Some(cluster)) => cluster,
            (None, None) if function.is_explicitly_clustered() => {
                return refuse("the kernel requires that the launch says how large its clusters are".to_owned());
            }
            (None, None) => return Ok([1; 3]),
        };
        let ctas = volume(cluster);
        let most = self.largest_cluster(function)?.min(function.largest_cluster());
        if ctas == 0 || ctas > most {
            return refuse(format!("clusters of {cluster:?}, {ctas} CTAs; from 1 to {most} are possible"));
        }
        if (0..3).any(|axis| !shape.grid[axis].is_multiple_of(cluster[axis])) {
            return refuse(format!("a grid of {:?} is no whole number of clusters of {cluster:?}", shape.grid));
        }
        Ok(cluster)
    }
}

/// The sizes that a launch runs in. As recorded, CTAs of one thread of a kernel that requires more are those that it requires, and grids of one whose blocks are clusters
/// (CUDA programming guide, "Launching with Clusters using __block_size__") have as many clusters as the launch says.
fn launched(function: &Function, shape: &LaunchShape) -> LaunchShape {
    let mut shape = *shape;
    if let Some(required) = function.required_cta().filter(|_| shape.cta == [1; 3]) {
        shape.cta = required;
    }
    if let Some(cluster) = function.required_cluster().filter(|_| function.blocks_are_clusters()) {
        shape.grid = [0, 1, 2].map(|axis| shape.grid[axis].saturating_mul(cluster[axis]));
    }
    shape
}

fn fits(size: [u32; 3], most: [u32; 3]) -> bool {
    (0..3).all(|axis| (1..=most[axis]).contains(&size[axis]))
}

/// The parameters, with zeros up to `len`.
fn padded(parameters: Box<[u8]>, len: usize) -> Box<[u8]> {
    if parameters.len() >= len {
        return parameters;
    }
    let mut all = parameters.into_vec();
    all.resize(len, 0);
    all.into_boxed_slice()
}
