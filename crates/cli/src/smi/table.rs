//! The table.

use warploom_monitor::{Device, name_of_process};

use super::{Scene, mebibytes};

const LINE: &str = "+-----------------------------------------+------------------------+----------------------+";
const WHOLE: &str = "+-----------------------------------------------------------------------------------------+";
/// Characters between the edges.
const WIDTH: usize = WHOLE.len() - 2;

pub(super) fn table(scene: &Scene<'_>) -> String {
    let title = format!(
        " WARPLOOM-SMI {:<12}    Driver Version: {:<12}   CUDA Version: {:<8} ",
        env!("CARGO_PKG_VERSION"),
        scene.monitor.driver_version(),
        scene.cuda_version()
    );
    let mut lines = vec![
        scene.time.format("%a %b %e %H:%M:%S %Y").to_string(),
        WHOLE.to_owned(),
        format!("|{title:<WIDTH$}|"),
        LINE.to_owned(),
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |".to_owned(),
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |".to_owned(),
        "|                                         |                        |               MIG M. |".to_owned(),
        format!("|{}|", LINE[1..LINE.len() - 1].replace('-', "=")),
    ];
    for device in &scene.devices {
        lines.extend(device_lines(scene, device));
        lines.push(LINE.to_owned());
    }
    lines.extend([
        String::new(),
        WHOLE.to_owned(),
        format!("|{:<WIDTH$}|", " Processes:"),
        format!("|{:<78}{:<11}|", "  GPU   GI   CI              PID   Type   Process name", "GPU Memory"),
        format!("|{:<78}{:<11}|", "        ID   ID", "Usage"),
        format!("|{}|", "=".repeat(WIDTH)),
    ]);
    let processes: Vec<String> = scene.devices.iter().flat_map(|device| process_lines(scene, device)).collect();
    if processes.is_empty() {
        lines.push(format!("|{:<WIDTH$}|", "  No running processes found"));
    }
    lines.extend(processes);
    lines.push(WHOLE.to_owned());
    lines.join("\n") + "\n"
}

/// A device: what a CPU has nothing of is not available.
fn device_lines(scene: &Scene<'_>, device: &Device) -> [String; 3] {
    let name = shortened(&device.name().to_string_lossy(), 27, false);
    let used = format!("{}MiB", mebibytes(scene.look.used(device.number())));
    let total = format!("{}MiB", mebibytes(device.total_memory()));
    let busy = format!("{}%", scene.look.busy(device.number()));
    [
        format!(
            "|{:>4}  {name:<27}{:>6}  |{:>19} {:>3} |{:>21} |",
            device.number(),
            "On",
            device.long_pci_bus_id(),
            "Off",
            "N/A"
        ),
        format!(
            "| {:<3}{:>6}{:>6}  {:>13} / {:>6} |{used:>11} / {total:>9} |{busy:>8} {:>12} |",
            "N/A", "N/A", "P0", "N/A", "N/A", "Default"
        ),
        format!("|{:41}|{:24}|{:>21} |", "", "", "N/A"),
    ]
}

fn process_lines(scene: &Scene<'_>, device: &Device) -> Vec<String> {
    let line = |process: &warploom_monitor::ProcessUse| {
        let name = name_of_process(process.process).unwrap_or_default();
        format!(
            "|{:>5}   N/A  N/A {:>15}      C   {:<36}{:>10} |",
            device.number(),
            process.process,
            shortened(&name, 35, true),
            format!("{}MiB", mebibytes(process.memory))
        )
    };
    scene.look.processes(device.number()).iter().map(line).collect()
}

/// As much of a text as fits, its end or its start.
fn shortened(text: &str, width: usize, end: bool) -> String {
    let count = text.chars().count();
    if count <= width {
        text.to_owned()
    } else if end {
        format!("...{}", text.chars().skip(count + 3 - width).collect::<String>())
    } else {
        format!("{}...", text.chars().take(width - 3).collect::<String>())
    }
}
