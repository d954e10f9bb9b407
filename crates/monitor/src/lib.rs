//! What devices the machine has and what processes do with them, seen from outside: nothing here uses a device, or needs one to be used.
//!
//! A [`Monitor`] knows what the settings make of the machine, all of its devices, whichever of them a process sees. A [`Look`] is what processes show of themselves at
//! one time.
#![forbid(unsafe_code)]

mod device;
mod look;
mod versions;

pub use device::{Device, Distance};
pub use look::{Look, ProcessUse, name_of_process};

use warploom_border::settings::{MachineSettings, Reader};
use warploom_driver::device::Machine;

/// The machine and its devices.
#[derive(Debug)]
pub struct Monitor {
    machine: Machine,
    devices: Vec<Device>,
}

impl Monitor {
    /// The machine that the environment asks for, and what is wrong with the settings there.
    pub fn from_environment() -> (Monitor, Vec<String>) {
        let mut reader = Reader::new(|name: &str| std::env::var_os(name));
        let settings = MachineSettings::read(&mut reader);
        (Monitor::new(&settings), reader.complaints())
    }

    /// The machine that settings ask for.
    pub fn new(settings: &MachineSettings) -> Monitor {
        let &MachineSettings { cuda_version, compute_capability, device_count, threads, multiprocessors, memory } =
            settings;
        let machine = Machine { cuda_version, compute_capability, device_count, threads, multiprocessors, memory };
        let devices = machine.devices().into_iter().map(|(facts, processors)| Device::new(facts, processors));
        Monitor { devices: devices.collect(), machine }
    }

    /// All devices, by their number on the machine.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The CUDA version of the driver, `1000 * major + 10 * minor`.
    pub fn cuda_version(&self) -> i32 {
        self.machine.cuda_version
    }

    /// What NVIDIA's driver of this CUDA version would begin its version with, and nothing behind that.
    pub fn driver_version(&self) -> String {
        format!("{}.00", versions::branch(self.machine.cuda_version))
    }

    /// The version of the management library: that of CUDA, and the driver's.
    pub fn library_version(&self) -> String {
        format!("{}.{}", self.machine.cuda_version / 1000, self.driver_version())
    }
}
