//! A device, and how far it is from others.

use std::fs;
use std::ops::Deref;

use warploom_driver::device::{DeviceFacts, attribute};

/// What can be said of a device without using it.
#[derive(Debug)]
pub struct Device {
    facts: DeviceFacts,
    processors: Vec<u32>,
    nodes: Vec<u32>,
}

/// What two devices have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// They are one.
    Same,
    /// A memory node of the machine.
    Node,
    /// Nothing but the machine.
    Machine,
}

impl Deref for Device {
    type Target = DeviceFacts;

    fn deref(&self) -> &DeviceFacts {
        &self.facts
    }
}

impl Device {
    pub(crate) fn new(facts: DeviceFacts, mut processors: Vec<u32>) -> Device {
        processors.sort_unstable();
        let mut nodes: Vec<u32> = processors.iter().filter_map(|processor| node_of(*processor)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        Device { facts, processors, nodes }
    }

    /// `GPU-12345678-1234-8234-8234-123456789abc`.
    pub fn uuid_text(&self) -> String {
        let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let uuid = self.uuid();
        let parts = [&uuid[..4], &uuid[4..6], &uuid[6..8], &uuid[8..10], &uuid[10..]].map(digits);
        format!("GPU-{}", parts.join("-"))
    }

    /// `DDDDDDDD:BB:DD.F`, as the management library has it.
    pub fn long_pci_bus_id(&self) -> String {
        let [domain, bus, device] = self.pci_address();
        format!("{domain:08X}:{bus:02X}:{device:02X}.0")
    }

    /// Major and minor compute capability.
    pub fn compute_capability(&self) -> (i32, i32) {
        let part = |number| self.attribute(number).unwrap_or_default();
        (part(attribute::COMPUTE_CAPABILITY_MAJOR), part(attribute::COMPUTE_CAPABILITY_MINOR))
    }

    /// The clock of its processors in MHz.
    pub fn clock(&self) -> u32 {
        u32::try_from(self.attribute(attribute::CLOCK_RATE).unwrap_or_default() / 1000).unwrap_or_default()
    }

    /// The processors that run its kernels, in ascending order; none where the host does not say.
    pub fn processors(&self) -> &[u32] {
        &self.processors
    }

    /// The memory nodes of its processors, in ascending order; none where the host does not say.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// How far it is from another device.
    pub fn distance(&self, other: &Device) -> Distance {
        if self.number() == other.number() {
            Distance::Same
        } else if self.nodes == other.nodes {
            Distance::Node
        } else {
            Distance::Machine
        }
    }
}

/// The memory node of a processor.
fn node_of(processor: u32) -> Option<u32> {
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{processor}")).ok()?.flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()).next()
}
