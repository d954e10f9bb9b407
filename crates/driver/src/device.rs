//! Devices: what the CPU says of itself as a CUDA device.
mod attributes;
mod host;
mod listener;
mod partition;
mod state;

pub use attributes::{attribute, capabilities};

pub(crate) use attributes::{MOST_SHARED, MOST_THREADS};
pub(crate) use listener::Listener;
pub(crate) use partition::{Partition, memory_of_one, processors};
pub(crate) use state::{DeviceState, Note};

use std::ffi::CString;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::context::Primary;
use crate::driver::DriverOptions;
use crate::handle::Handle;

/// One device: a part of the machine, with threads and memory of its own, which fails alone.
pub struct Device {
    ordinal: u32,
    number: u32,
    name: CString,
    uuid: [u8; 16],
    attributes: Box<[Option<i32>]>,
    total_memory: u64,
    state: Arc<DeviceState>,
    primary_handle: Handle,
    pub(crate) primary: Mutex<Primary>,
}

/// The UUID of the device with this number among those of the machine.
pub fn uuid(number: u32) -> [u8; 16] {
    host::uuid(&host::Host::get().model, number)
}

impl Device {
    /// `number` is that among the devices of the machine, `ordinal` that among those of the process; `threads` run its kernels.
    pub(crate) fn new(
        ordinal: u32,
        number: u32,
        options: &DriverOptions,
        threads: u32,
        total_memory: u64,
        state: DeviceState,
        primary_handle: Handle,
    ) -> Device {
        let host = host::Host::get();
        Device {
            ordinal,
            number,
            name: CString::new(format!("warploom ({})", host.model)).unwrap_or_default(),
            uuid: uuid(number),
            attributes: attributes::of(number, options, threads, host, total_memory),
            total_memory,
            state: Arc::new(state),
            primary_handle,
            primary: Mutex::new(Primary::default()),
        }
    }

    /// Its number, from 0.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Its number among the devices of the machine: the same in every process.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// `warploom (CPU model)`.
    pub fn name(&self) -> &CString {
        &self.name
    }

    /// The same in every process on this machine.
    pub fn uuid(&self) -> [u8; 16] {
        self.uuid
    }

    /// `dddd:bb:dd.f`, an address in a domain that hosts do not use.
    pub fn pci_bus_id(&self) -> String {
        let part = |number| self.attribute(number).unwrap_or_default();
        format!(
            "{:04x}:{:02x}:{:02x}.0",
            part(attribute::PCI_DOMAIN_ID),
            part(attribute::PCI_BUS_ID),
            part(attribute::PCI_DEVICE_ID)
        )
    }

    /// Most bytes that may be allocated.
    pub fn total_memory(&self) -> u64 {
        self.total_memory
    }

    /// A `CUdevice_attribute` by its number; None if the driver does not know it.
    pub fn attribute(&self, number: i32) -> Option<i32> {
        *self.attributes.get(usize::try_from(number).ok()?)?
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
