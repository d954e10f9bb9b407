//! `warploom smi`: devices at a glance, and what processes do with them; under the name `nvidia-smi` too. What it says is what the management library says.

mod field;
mod query;
mod report;
mod table;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::bail;
use chrono::{DateTime, Local};
use clap::{Args, Parser};
use warploom_monitor::{Device, Look, Monitor};

/// The name under which the command is this one alone.
pub(crate) const NAME: &str = "nvidia-smi";

/// The command under the other name.
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
pub(crate) struct Alone {
    #[command(flatten)]
    pub(crate) smi: Smi,
}

/// Show devices, their memory and how busy they are, and the processes that use them.
///
/// Takes the most used options of nvidia-smi, as which it can be called: `warploom run` has it on PATH under that name. Devices are those that the WARPLOOM_* settings
/// ask for, whatever CUDA_VISIBLE_DEVICES says; processes are those that this user may look into.
#[derive(Debug, Default, Args)]
#[command(
    after_help = "Examples:\n  warploom smi -l 1\n  warploom smi --query-gpu=index,memory.used,utilization.gpu --format=csv"
)]
pub(crate) struct Smi {
    /// List the devices, one a line.
    #[arg(short = 'L', long, conflicts_with_all = ["query", "query_gpu", "query_compute_apps"])]
    list_gpus: bool,

    /// Say more of each device, one fact a line.
    #[arg(short, long, conflicts_with_all = ["query_gpu", "query_compute_apps"])]
    query: bool,

    /// Print these facts of each device, a list with commas; --help-query-gpu lists them.
    #[arg(long, value_name = "FIELDS", requires = "format", conflicts_with = "query_compute_apps")]
    query_gpu: Option<String>,

    /// Print these facts of each process: a list with commas of timestamp, gpu_name, gpu_bus_id, gpu_serial, gpu_uuid, pid, process_name and used_gpu_memory.
    #[arg(long, value_name = "FIELDS", requires = "format")]
    query_compute_apps: Option<String>,

    /// How the facts are printed: csv, and with commas noheader and nounits.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// List the facts of devices that can be asked for.
    #[arg(long)]
    help_query_gpu: bool,

    /// Only these devices: a list with commas of numbers, UUIDs and PCI addresses.
    #[arg(short, long, value_name = "ID")]
    id: Option<String>,

    /// Again and again, after so many seconds.
    #[arg(short, long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5", value_parser = pause)]
    r#loop: Option<f64>,

    /// Again and again, after so many milliseconds.
    #[arg(long, value_name = "MILLISECONDS", conflicts_with = "loop")]
    loop_ms: Option<u64>,
}

fn pause(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0 && *seconds < 1e6);
    seconds.ok_or_else(|| "a time in seconds is expected".to_owned())
}

/// What is asked about: the machine at one time.
struct Scene<'a> {
    monitor: &'a Monitor,
    /// Those that are asked for.
    devices: Vec<&'a Device>,
    look: Look,
    time: DateTime<Local>,
}

impl Scene<'_> {
    /// `13.0`.
    fn cuda_version(&self) -> String {
        let version = self.monitor.cuda_version();
        format!("{}.{}", version / 1000, version % 1000 / 10)
    }
}

/// The exit status where there is no device that was asked for.
const NO_DEVICES: u8 = 6;

impl Smi {
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        if self.help_query_gpu {
            for field in field::ALL {
                writeln!(io::stdout(), "{}", field.names.join(" or "))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let (monitor, complaints) = Monitor::from_environment();
        for complaint in complaints {
            eprintln!("warploom: {complaint}");
        }
        let devices = chosen(monitor.devices(), self.id.as_deref());
        if devices.is_empty() {
            writeln!(io::stdout(), "No devices were found")?;
            return Ok(ExitCode::from(NO_DEVICES));
        }
        let pause = self.r#loop.map(Duration::from_secs_f64).or(self.loop_ms.map(Duration::from_millis));
        let mut first = true;
        loop {
            let scene = Scene { monitor: &monitor, devices: devices.clone(), look: Look::now(), time: Local::now() };
            let text = self.show(&scene, first)?;
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
            drop(out);
            let Some(pause) = pause else { return Ok(ExitCode::SUCCESS) };
            thread::sleep(pause);
            first = false;
        }
    }

    /// What is printed of one time; titles of columns only for the first one.
    fn show(&self, scene: &Scene<'_>, first: bool) -> anyhow::Result<String> {
        let format = match &self.format {
            Some(format) => query::Format::parse(format)?,
            None => query::Format::default(),
        };
        let format = query::Format { header: format.header && first, ..format };
        if let Some(fields) = &self.query_gpu {
            query::devices(scene, fields, format)
        } else if let Some(fields) = &self.query_compute_apps {
            query::processes(scene, fields, format)
        } else if self.format.is_some() {
            bail!("--format is for --query-gpu and --query-compute-apps")
        } else if self.list_gpus {
            let line = |device: &&Device| {
                format!("GPU {}: {} (UUID: {})\n", device.number(), device.name().to_string_lossy(), device.uuid_text())
            };
            Ok(scene.devices.iter().map(line).collect())
        } else if self.query {
            Ok(report::report(scene))
        } else {
            Ok(table::table(scene))
        }
    }
}

/// The devices that a list names; all of them without one.
fn chosen<'a>(devices: &'a [Device], list: Option<&str>) -> Vec<&'a Device> {
    let Some(list) = list else { return devices.iter().collect() };
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    let is_it = |device: &Device, name: &str| {
        device.number().to_string() == name
            || [device.uuid_text(), device.pci_bus_id(), device.long_pci_bus_id()]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
    };
    devices.iter().filter(|device| names.iter().any(|name| is_it(device, name))).collect()
}

/// Whole MiB.
fn mebibytes(bytes: u64) -> u64 {
    bytes >> 20
}
