//! The driver as a whole: what is one a process.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warploom_exec::memory::{Memory, Options};

use crate::context::Context;
use crate::device::Device;
use crate::fault::Sticky;
use crate::handle::{HandleTable, Kind};
use crate::{DriverError, DriverResult, ErrorCode};

/// What a driver is made from.
#[derive(Clone, Debug)]
pub struct DriverOptions {
    /// The CUDA version that it behaves as, `1000 * major + 10 * minor`.
    pub cuda_version: i32,
    /// Compute capability of the devices, `10 * major + minor`.
    pub compute_capability: u32,
    /// How many devices there are.
    pub device_count: u32,
    /// How many threads run kernels; None for one a core that the process may use.
    pub threads: Option<u32>,
}

/// The state of the process, and the tables of its objects.
pub struct Driver {
    options: DriverOptions,
    memory: Arc<Memory>,
    devices: Box<[Device]>,
    pub(crate) contexts: HandleTable<Context>,
    pub(crate) sticky: Sticky,
    next_id: AtomicU64,
}

impl Driver {
    /// A driver without contexts. Starts no thread and installs no signal handler: a process may still fork.
    ///
    /// # Errors
    /// `OutOfMemory` if the host gives no address range for the device memory.
    pub fn new(options: DriverOptions) -> DriverResult<Driver> {
        let memory = Memory::new(Options::default()).map_err(|error| {
            DriverError::new(ErrorCode::OutOfMemory, format!("no address range for the device memory: {error}"))
        })?;
        let contexts = HandleTable::new(Kind::Context);
        let devices = (0..options.device_count)
            .map(|ordinal| Ok(Device::new(ordinal, &options, memory.capacity(), contexts.reserve()?)))
            .collect::<DriverResult<_>>()?;
        Ok(Driver {
            options,
            memory: Arc::new(memory),
            devices,
            contexts,
            sticky: Sticky::default(),
            next_id: AtomicU64::new(1),
        })
    }

    /// What it was made from.
    pub fn options(&self) -> &DriverOptions {
        &self.options
    }

    /// The device memory of the process.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
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

    /// A number that nothing else in this process has.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}
