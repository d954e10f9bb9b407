//! Devices: what the CPU says of itself as a CUDA device.
mod attributes;
mod host;
mod listener;
mod machine;
mod partition;
mod state;

pub use attributes::{attribute, capabilities};
pub use machine::{DeviceFacts, Machine};

pub(crate) use attributes::{MOST_SHARED, MOST_THREADS};
pub(crate) use listener::Listener;
pub(crate) use state::{DeviceState, Note};

use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::context::Primary;
use crate::handle::Handle;

/// One device: a part of the machine, with threads and memory of its own, which fails alone.
pub struct Device {
    ordinal: u32,
    facts: DeviceFacts,
    state: Arc<DeviceState>,
    primary_handle: Handle,
    pub(crate) primary: Mutex<Primary>,
}

impl Deref for Device {
    type Target = DeviceFacts;

    fn deref(&self) -> &DeviceFacts {
        &self.facts
    }
}

/// The UUID of the device with this number among those of the machine.
pub fn uuid(number: u32) -> [u8; 16] {
    host::uuid(&host::Host::get().model, number)
}

impl Device {
    /// The device with an ordinal in the process; `threads` run its kernels.
    pub(crate) fn new(
        ordinal: u32,
        number: u32,
        machine: &Machine,
        threads: u32,
        total_memory: u64,
        state: DeviceState,
        primary_handle: Handle,
    ) -> Device {
        Device {
            ordinal,
            facts: DeviceFacts::new(number, machine, threads, total_memory),
            state: Arc::new(state),
            primary_handle,
            primary: Mutex::new(Primary::default()),
        }
    }

    /// Its number, from 0.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// An attribute that every device has, as the unsigned number that it means.
    pub(crate) fn limit(&self, number: i32) -> u32 {
        self.attribute(number).and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
    }

    /// Compute capability, `10 * major + minor`.
    pub fn capability(&self) -> u32 {
        10 * self.limit(attribute::COMPUTE_CAPABILITY_MAJOR) + self.limit(attribute::COMPUTE_CAPABILITY_MINOR)
    }

    /// Who runs its streams, and whether a kernel has faulted.
    pub(crate) fn state(&self) -> &Arc<DeviceState> {
        &self.state
    }

    /// The handle that its primary context has for life.
    pub(crate) fn primary_handle(&self) -> Handle {
        self.primary_handle
    }
}
