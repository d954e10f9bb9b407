//! `warploom info`: the driver, its devices, and the settings in force.
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use warploom_entrypoint::{DeviceFacts, Driver, Vendor};
use warploom_jit::{CacheSettings, Usage};

use crate::library;
use crate::version::CudaVersion;

/// Show the driver, its devices and the settings in force.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,

    /// Ask this driver library instead of warploom's.
    #[arg(long, value_name = "PATH")]
    library: Option<PathBuf>,
}

/// What is printed. Field names are the JSON interface.
#[derive(Debug, Serialize)]
struct Report {
    driver: DriverReport,
    devices: Vec<DeviceReport>,
    /// Of warploom's driver only.
    #[serde(skip_serializing_if = "Option::is_none")]
    compiler: Option<CompilerReport>,
    /// The `WARPLOOM_*` variables that are set.
    settings: BTreeMap<String, String>,
    /// Why there are no devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct DriverReport {
    vendor: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    cuda: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    library: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct CompilerReport {
    /// Which one there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    /// Why there is none: the interpreter runs everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    /// The folder that compiled code is kept in.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<CacheReport>,
}

#[derive(Debug, Serialize)]
struct CacheReport {
    folder: PathBuf,
    kernels: u64,
    bytes: u64,
    limit: u64,
}

impl CompilerReport {
    fn new() -> CompilerReport {
        let compiler = warploom_jit::compiler();
        // What is wrong with the settings is said by the driver.
        let (settings, _) = CacheSettings::read(|name| std::env::var_os(name));
        let cache = settings.map(|settings| {
            let Usage { entries, bytes } = settings.usage();
            CacheReport { folder: settings.folder, kernels: entries, bytes, limit: settings.limit }
        });
        CompilerReport { found: compiler.clone().ok(), missing: compiler.err(), cache }
    }
}

#[derive(Debug, Serialize)]
struct DeviceReport {
    ordinal: u32,
    name: String,
    compute_capability: String,
    multiprocessors: i32,
    memory_bytes: u64,
    uuid: String,
}

impl Info {
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        let driver = library::open(self.library.as_deref())?;
        let devices = devices(&driver);
        let error = devices.as_ref().err().map(|error| error.to_string());
        let report = Report {
            driver: driver_report(&driver),
            devices: devices.unwrap_or_default().into_iter().map(DeviceReport::from).collect(),
            compiler: matches!(driver.identity().vendor, Vendor::Warploom { .. }).then(CompilerReport::new),
            settings: std::env::vars().filter(|(name, _)| name.starts_with("WARPLOOM_")).collect(),
            error,
        };
        if self.json {
            writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&report)?)?;
        } else {
            print(&driver, &report)?;
        }
        Ok(if report.error.is_some() { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

fn devices(driver: &Driver) -> anyhow::Result<Vec<DeviceFacts>> {
    driver.init()?;
    (0..driver.device_count()?).map(|ordinal| Ok(driver.device(ordinal)?)).collect()
}

fn driver_report(driver: &Driver) -> DriverReport {
    let identity = driver.identity();
    let (vendor, version) = match &identity.vendor {
        Vendor::Warploom { version } => ("warploom", Some(version.clone())),
        Vendor::Nvidia { version } => ("NVIDIA", version.clone()),
        Vendor::Unknown => ("unknown", None),
    };
    DriverReport { vendor, version, cuda: CudaVersion(identity.version).to_string(), library: identity.path.clone() }
}

impl From<DeviceFacts> for DeviceReport {
    fn from(facts: DeviceFacts) -> DeviceReport {
        let (major, minor) = facts.compute_capability;
        DeviceReport {
            ordinal: facts.ordinal,
            name: facts.name,
            compute_capability: format!("{major}.{minor}"),
            multiprocessors: facts.multiprocessors,
            memory_bytes: facts.memory,
            uuid: facts.uuid,
        }
    }
}

fn print(driver: &Driver, report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "driver   {}", driver.identity())?;
    for device in &report.devices {
        writeln!(out, "device {} {}", device.ordinal, device.name)?;
        writeln!(
            out,
            "         compute capability {}, {} multiprocessors",
            device.compute_capability, device.multiprocessors
        )?;
        writeln!(out, "         {:.1} GiB of memory", device.memory_bytes as f64 / f64::from(1 << 30))?;
        writeln!(out, "         UUID {}", device.uuid)?;
    }
    if let Some(compiler) = &report.compiler {
        match (&compiler.found, &compiler.missing) {
            (Some(found), _) => writeln!(out, "compiler {found}")?,
            (None, why) => {
                writeln!(out, "compiler none, the interpreter runs everything: {}", why.as_deref().unwrap_or_default())?
            }
        }
        match &compiler.cache {
            Some(CacheReport { folder, kernels, bytes, limit }) => {
                let [held, limit] = [*bytes, *limit].map(|bytes| bytes as f64 / f64::from(1 << 20));
                writeln!(out, "cache    {}: {kernels} kernels, {held:.1} of {limit:.0} MiB", folder.display())?;
            }
            None => writeln!(out, "cache    none")?,
        }
    }
    for (name, value) in &report.settings {
        writeln!(out, "setting  {name}={value}")?;
    }
    if let Some(error) = &report.error {
        writeln!(out, "devices  none: {error}")?;
    }
    Ok(())
}
