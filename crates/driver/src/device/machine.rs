//! The machine that devices are parts of, and what can be said of them without using them.
use std::ffi::CString;

use warploom_exec::memory::Options;
use warploom_exec::pool::PoolOptions;

use super::partition::{Partition, memory_of_one, processors};
use super::{attribute, attributes, host};

/// How the machine is divided, and what the devices are to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The CUDA version of the driver, `1000 * major + 10 * minor`.
    pub cuda_version: i32,
    /// Compute capability of the devices, `10 * major + minor`.
    pub compute_capability: u32,
    /// How many devices the machine is divided into.
    pub device_count: u32,
    /// How many threads run kernels, if there are all devices; None for one a core that the process may use.
    pub threads: Option<u32>,
    /// How many multiprocessors devices show; None for one a thread that runs kernels.
    pub multiprocessors: Option<u32>,
    /// Bytes of device memory, of all devices of the machine together; None for three quarters of what the process may use.
    pub memory: Option<u64>,
}

impl Machine {
    /// The parts of the machine that devices with these numbers are; each with one thread if they are to be `serial`.
    pub(crate) fn partitions(&self, numbers: &[u32], serial: bool) -> Vec<Partition> {
        let threads = if serial { 1 } else { self.threads.unwrap_or_else(|| PoolOptions::default().threads) };
        let processors = if self.device_count > 1 { processors() } else { Vec::new() };
        numbers.iter().map(|number| Partition::new(*number, self.device_count, threads, &processors)).collect()
    }

    /// Most bytes of a device that may be allocated, if the host gives as many addresses.
    pub(crate) fn memory_of_device(&self) -> u64 {
        memory_of_one(self.device_count, self.memory.unwrap_or_else(|| Options::default().capacity))
    }

    /// What is to be said of all devices, by number, and the processors that run the kernels of each.
    pub fn devices(&self) -> Vec<(DeviceFacts, Vec<u32>)> {
        let numbers: Vec<u32> = (0..self.device_count).collect();
        let described = numbers.iter().zip(self.partitions(&numbers, false)).map(|(&number, part)| {
            let facts = DeviceFacts::new(number, self, part.threads, self.memory_of_device());
            (facts, if part.processors.is_empty() { processors() } else { part.processors })
        });
        described.collect()
    }
}

/// What a device says of itself. The same in every process with the same settings.
#[derive(Clone, Debug)]
pub struct DeviceFacts {
    number: u32,
    name: CString,
    uuid: [u8; 16],
    attributes: Box<[Option<i32>]>,
    total_memory: u64,
}

impl DeviceFacts {
    /// Those of the device with this number, whose kernels are run by so many threads.
    pub(super) fn new(number: u32, machine: &Machine, threads: u32, total_memory: u64) -> DeviceFacts {
        let host = host::Host::get();
        DeviceFacts {
            number,
            name: CString::new(format!("warploom ({})", host.model)).unwrap_or_default(),
            uuid: super::uuid(number),
            attributes: attributes::of(number, machine, threads, host, total_memory),
            total_memory,
        }
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

    /// Domain, bus and device, in a domain that hosts do not use.
    pub fn pci_address(&self) -> [i32; 3] {
        [attribute::PCI_DOMAIN_ID, attribute::PCI_BUS_ID, attribute::PCI_DEVICE_ID]
            .map(|part| self.attribute(part).unwrap_or_default())
    }

    /// `DDDD:BB:DD.F`, with the capital digits that the management library's have.
    pub fn pci_bus_id(&self) -> String {
        let [domain, bus, device] = self.pci_address();
        format!("{domain:04X}:{bus:02X}:{device:02X}.0")
    }

    /// Most bytes that may be allocated.
    pub fn total_memory(&self) -> u64 {
        self.total_memory
    }

    /// A `CUdevice_attribute` by its number; None if the driver does not know it.
    pub fn attribute(&self, number: i32) -> Option<i32> {
        *self.attributes.get(usize::try_from(number).ok()?)?
    }
}
