//! Kernel nodes that kernels change (CUDA runtime API, `cudaGraphKernelNodeUpdatesApply`): sizes of grids, parameters, and whether they take part. What is answered is as recorded
//! (`tests/cuda_recorded/graphs/device_updates`).
//!
//! A change is made when a kernel asks for it, and holds for all launches that get to the node later, until the host gives the node of the instance other parameters. So what is launched is
//! decided when the stream has come to the node.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use warploom_exec::device_runtime::{GraphRun, NodeChange, NodeUpdate};
use warploom_exec::fault::{Fault, FaultKind};
use warploom_exec::grid::Launch;
use warploom_exec::stream::{Marker, Stream};

use super::plan::{Plan, Step};
use super::{Driver, DriverError, DriverResult, Graph, KernelWork, State, Work};
use crate::ErrorCode;
use crate::fault::Sticky;
use crate::launch::LaunchShape;
use crate::stream::{AttributeValue, DEVICE_UPDATABLE, wide_of, word_of};

/// The word of the attribute that is 0 or 1.
const ASKED: usize = 0;
/// Where the node's number stands in the attribute.
const NUMBER: std::ops::Range<usize> = 8..16;

/// All nodes that kernels may change, by their numbers.
pub(crate) type DeviceNodes = Mutex<BTreeMap<u64, Weak<DeviceNode>>>;

/// The next number. Like handles they are multiples of 16, and not used again; they are none of any kind.
static NEXT: AtomicU64 = AtomicU64::new(1 << 16);

/// What kernels name. The node of a graph and that of its instance, of which there is one at a time, have the same.
pub struct DeviceNode {
    number: u64,
    driver: Weak<Driver>,
    changes: Mutex<Changes>,
}

#[derive(Default)]
struct Changes {
    /// The node of the instance; none before that was uploaded or launched.
    of: Weak<KernelWork>,
    grid: Option<[u32; 3]>,
    parameters: Option<Box<[u8]>>,
    enabled: Option<bool>,
}

impl DeviceNode {
    /// The host has given the node of the instance other parameters, which is to be uploaded again.
    pub(super) fn forget_parameters(&self) {
        let mut changes = self.changes.lock();
        *changes = Changes { enabled: changes.enabled, ..Changes::default() };
    }

    /// The host has said whether the node of the instance takes part.
    pub(super) fn forget_enabled(&self) {
        self.changes.lock().enabled = None;
    }

    fn apply(&self, work: &KernelWork, change: &NodeChange) {
        let mut changes = self.changes.lock();
        match change {
            NodeChange::Grid(grid) => changes.grid = Some(*grid),
            NodeChange::Enabled(enabled) => changes.enabled = Some(*enabled),
            NodeChange::Parameters { offset, bytes } => {
                let buffer = changes.parameters.get_or_insert_with(|| work.parameters.clone());
                // The range was checked.
                if let Some(place) = buffer.get_mut(*offset as usize..*offset as usize + bytes.len()) {
                    place.copy_from_slice(bytes);
                }
            }
        }
    }
}

impl Drop for DeviceNode {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.upgrade() {
            driver.device_nodes.lock().remove(&self.number);
        }
    }
}

/// A node of a launch, whose kernel is decided on when its turn has come.
#[derive(Clone)]
pub(super) struct Updatable {
    driver: Weak<Driver>,
    kernel: Arc<KernelWork>,
    device: Arc<DeviceNode>,
    /// What the host has said.
    enabled: bool,
}

impl Updatable {
    /// Puts the node into a stream, which goes on when the kernel has ended. `sticky` is that of the stream's device.
    pub(super) fn put(&self, stream: &Stream, sticky: &Arc<Sticky>, run: Option<&Arc<GraphRun>>) {
        let (node, sticky, run) = (self.clone(), Arc::clone(sticky), run.cloned());
        let inner = stream.new_within();
        let mut running: Option<Marker> = None;
        stream.work_until(move || {
            if let Some(marker) = &running {
                return marker.is_done();
            }
            if sticky.check().is_err() {
                return true;
            }
            match node.launch() {
                Ok(None) => true,
                Ok(Some(launch)) => {
                    inner.launch(Launch { graph: run.clone(), ..launch });
                    running = Some(inner.record());
                    false
                }
                Err(error) => {
                    let kind = FaultKind::IllegalInstruction(format!("a node that a kernel changed: {error}"));
                    inner.fail(Arc::new(Fault::new(kind, "cudaGraphKernelNodeUpdatesApply")));
                    true
                }
            }
        });
    }

    /// What the node launches now; none if it does not take part.
    fn launch(&self) -> DriverResult<Option<Launch>> {
        // Without a driver the process is at its end.
        let Some(driver) = self.driver.upgrade() else { return Ok(None) };
        let (shape, parameters) = {
            let changes = self.device.changes.lock();
            if !changes.enabled.unwrap_or(self.enabled) {
                return Ok(None);
            }
            let shape = self.kernel.shape();
            let shape = LaunchShape { grid: changes.grid.unwrap_or(shape.grid), ..shape };
            (shape, changes.parameters.as_ref().unwrap_or(&self.kernel.parameters).clone())
        };
        driver.prepare_kernel_with(&self.kernel, &shape, parameters).map(Some)
    }
}

impl KernelWork {
    /// Fails for a node that kernels may change, with which that is not possible.
    ///
    /// # Errors
    /// `NotSupported`, as recorded.
    pub fn refuse_updatable(&self, what: &str) -> DriverResult {
        if self.device.is_some() { Err(not_possible(what)) } else { Ok(()) }
    }
}

#[cold]
fn not_possible(what: &str) -> DriverError {
    DriverError::new(ErrorCode::NotSupported, format!("a node that kernels may change cannot {what}"))
}

impl Work {
    /// Whether kernels may change it, or a node of a graph in it.
    fn has_updatable(&self) -> bool {
        let own = matches!(self, Work::Kernel(kernel) if kernel.device.is_some());
        own || self.graphs().iter().any(|graph| graph.has_updatable())
    }
}

impl Graph {
    fn has_updatable(&self) -> bool {
        self.state.lock().nodes.values().any(|node| node.work.has_updatable())
    }
}

impl State {
    /// As [`KernelWork::refuse_updatable`], for all nodes.
    pub(super) fn refuse_updatable(&self, what: &str) -> DriverResult {
        if self.nodes.values().any(|node| node.work.has_updatable()) { Err(not_possible(what)) } else { Ok(()) }
    }
}

impl Step {
    /// What kernels change of it.
    pub(super) fn device(&self) -> Option<&Arc<DeviceNode>> {
        if let Work::Kernel(kernel) = &self.work { kernel.device.as_ref() } else { None }
    }

    /// Whether it is put into streams: what kernels may let take part always is.
    pub(super) fn is_put(&self) -> bool {
        self.enabled || self.device().is_some()
    }
}

impl Plan {
    /// Whether kernels may change a node of it.
    pub(super) fn has_updatable(&self) -> bool {
        self.steps.iter().any(|step| step.device().is_some() || step.bodies.iter().any(Plan::has_updatable))
    }

    /// From now on kernels may: the instance is uploaded.
    pub(super) fn upload(&self) {
        for step in &self.steps {
            if let (Work::Kernel(kernel), Some(device)) = (&step.work, step.device()) {
                device.changes.lock().of = Arc::downgrade(kernel);
            }
            step.bodies.iter().for_each(Plan::upload);
        }
    }
}

impl Driver {
    /// The node for the attributes of a kernel, if they ask for one. The number in the attribute is that of a node that there is, or 0 for a new one, whose number is put there.
    ///
    /// # Errors
    /// `InvalidValue` for other values than 0 and 1.
    pub(super) fn device_node(
        &self,
        attributes: &mut BTreeMap<u32, AttributeValue>,
    ) -> DriverResult<Option<Arc<DeviceNode>>> {
        let Some(value) = attributes.get_mut(&DEVICE_UPDATABLE) else { return Ok(None) };
        match word_of(value, ASKED) {
            0 => {
                attributes.remove(&DEVICE_UPDATABLE);
                Ok(None)
            }
            1 => {
                let known = self.device_node_of(wide_of(value, NUMBER.start / 4));
                let node = known.unwrap_or_else(|| self.new_device_node());
                value[NUMBER].copy_from_slice(&node.number.to_ne_bytes());
                Ok(Some(node))
            }
            other => Err(DriverError::invalid_value(format!("deviceUpdatable is {other}, not 0 or 1"))),
        }
    }

    fn new_device_node(&self) -> Arc<DeviceNode> {
        let number = NEXT.fetch_add(16, Ordering::Relaxed);
        let node = Arc::new(DeviceNode { number, driver: self.this(), changes: Mutex::default() });
        self.device_nodes.lock().insert(number, Arc::downgrade(&node));
        node
    }

    fn device_node_of(&self, number: u64) -> Option<Arc<DeviceNode>> {
        self.device_nodes.lock().get(&number).and_then(Weak::upgrade)
    }

    /// Makes changes that a kernel of a device asks for: all, or none.
    ///
    /// # Errors
    /// `InvalidValue` for what is no node, one of another device, and one whose instance was neither uploaded nor launched; for a grid that is not possible, and bytes beyond the parameters.
    pub(crate) fn update_nodes(&self, ordinal: u32, updates: &[NodeUpdate]) -> DriverResult {
        let found: Vec<_> =
            updates.iter().map(|update| self.check_update(ordinal, update)).collect::<DriverResult<_>>()?;
        for ((node, work), update) in found.iter().zip(updates) {
            node.apply(work, &update.change);
        }
        Ok(())
    }

    fn check_update(&self, ordinal: u32, update: &NodeUpdate) -> DriverResult<(Arc<DeviceNode>, Arc<KernelWork>)> {
        let unknown = || DriverError::invalid_value(format!("{:#x} is no node that kernels may change", update.node));
        let node = self.device_node_of(update.node).ok_or_else(unknown)?;
        let work = node.changes.lock().of.upgrade().ok_or_else(unknown)?;
        if work.function.module().context().ordinal() != ordinal {
            return Err(DriverError::invalid_value("the node is of another device"));
        }
        match &update.change {
            NodeChange::Grid(grid) => {
                let shape = LaunchShape { grid: *grid, ..work.shape() };
                self.check_shape(&work.function, &shape, work.green.as_deref())?;
            }
            NodeChange::Parameters { offset, bytes } => {
                let end = offset.saturating_add(bytes.len() as u64);
                if end > u64::from(work.function.parameter_bytes()) {
                    return Err(DriverError::invalid_value(format!("the kernel has no parameters up to {end}")));
                }
            }
            NodeChange::Enabled(_) => {}
        }
        Ok((node, work))
    }

    /// The node of a launch that a kernel with this may be.
    pub(super) fn updatable(&self, kernel: &Arc<KernelWork>, enabled: bool) -> Option<Updatable> {
        let device = kernel.device.clone()?;
        Some(Updatable { driver: self.this(), kernel: Arc::clone(kernel), device, enabled })
    }
}

/// Puts the number of a node that kernels may change into an attribute that a program gives to what `device` is of, whatever number it has written there itself.
///
/// # Errors
/// `NotSupported` for one that is to be changed no more by kernels, as recorded.
pub(crate) fn keep_number(
    attributes: &mut BTreeMap<u32, AttributeValue>,
    device: Option<&Arc<DeviceNode>>,
) -> DriverResult {
    let Some(value) = attributes.get_mut(&DEVICE_UPDATABLE) else { return Ok(()) };
    if device.is_some() && word_of(value, ASKED) == 0 {
        return Err(not_possible("become another"));
    }
    value[NUMBER].copy_from_slice(&device.map_or(0, |device| device.number).to_ne_bytes());
    Ok(())
}
