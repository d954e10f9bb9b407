//! What is known of each device, one fact a line.

use std::fmt::Write as _;

use warploom_monitor::{Device, name_of_process};

use super::{Scene, field, mebibytes};

/// Where values begin.
const COLUMN: usize = 55;

struct Lines(String);

impl Lines {
    fn fact(&mut self, depth: usize, name: &str, value: impl std::fmt::Display) {
        let name = format!("{:1$}{name}", "", 4 * depth);
        // A String takes everything.
        let _ = writeln!(self.0, "{name:<COLUMN$}: {value}");
    }

    fn section(&mut self, name: &str) {
        let _ = writeln!(self.0, "    {name}");
    }
}

pub(super) fn report(scene: &Scene<'_>) -> String {
    let mut lines = Lines("\n==============NVSMI LOG==============\n\n".to_owned());
    lines.fact(0, "Timestamp", scene.time.format("%a %b %e %H:%M:%S %Y"));
    lines.fact(0, "Driver Version", scene.monitor.driver_version());
    lines.fact(0, "CUDA Version", scene.cuda_version());
    lines.0.push('\n');
    lines.fact(0, "Attached GPUs", scene.monitor.devices().len());
    for device in &scene.devices {
        of_device(&mut lines, scene, device);
    }
    lines.0
}

fn of_device(lines: &mut Lines, scene: &Scene<'_>, device: &Device) {
    let number = device.number();
    let _ = writeln!(lines.0, "GPU {}", device.long_pci_bus_id());
    lines.fact(1, "Product Name", field::name(device));
    let (major, minor) = device.compute_capability();
    lines.fact(1, "Compute Capability", format_args!("{major}.{minor}"));
    lines.fact(1, "Display Active", "Disabled");
    lines.fact(1, "Persistence Mode", "Enabled");
    lines.section("MIG Mode");
    lines.fact(2, "Current", "N/A");
    lines.fact(2, "Pending", "N/A");
    lines.fact(1, "Serial Number", "N/A");
    lines.fact(1, "GPU UUID", device.uuid_text());
    lines.fact(1, "Minor Number", number);
    lines.section("PCI");
    let [domain, bus, slot] = device.pci_address();
    lines.fact(2, "Bus", format_args!("0x{bus:02X}"));
    lines.fact(2, "Device", format_args!("0x{slot:02X}"));
    lines.fact(2, "Domain", format_args!("0x{domain:04X}"));
    lines.fact(2, "Bus Id", device.long_pci_bus_id());
    lines.fact(1, "Performance State", "P0");
    lines.section("FB Memory Usage");
    let (total, used) = (device.total_memory(), scene.look.used(number));
    for (name, bytes) in [("Total", total), ("Reserved", 0), ("Used", used), ("Free", total.saturating_sub(used))] {
        lines.fact(2, name, format_args!("{} MiB", mebibytes(bytes)));
    }
    lines.fact(1, "Compute Mode", "Default");
    lines.section("Utilization");
    lines.fact(2, "GPU", format_args!("{} %", scene.look.busy(number)));
    lines.fact(2, "Memory", "0 %");
    lines.section("Clocks");
    for name in ["Graphics", "SM"] {
        lines.fact(2, name, format_args!("{} MHz", device.clock()));
    }
    let processes = scene.look.processes(number);
    if processes.is_empty() {
        lines.fact(1, "Processes", "None");
        return;
    }
    lines.section("Processes");
    for process in processes {
        lines.fact(2, "Process ID", process.process);
        lines.fact(3, "Type", "C");
        lines.fact(3, "Name", name_of_process(process.process).unwrap_or_default());
        lines.fact(3, "Used GPU Memory", format_args!("{} MiB", mebibytes(process.memory)));
    }
}
