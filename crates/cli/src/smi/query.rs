//! Facts as a table with commas.

use anyhow::bail;
use warploom_monitor::{Device, ProcessUse, name_of_process};

use super::{Scene, field, mebibytes};

/// What is printed besides values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Format {
    pub(super) header: bool,
    pub(super) units: bool,
}

impl Format {
    pub(super) fn parse(text: &str) -> anyhow::Result<Format> {
        let mut words: Vec<&str> = text.split(',').map(str::trim).collect();
        let Some(at) = words.iter().position(|word| *word == "csv") else { bail!("{text}: the format is csv") };
        words.remove(at);
        if let Some(unknown) = words.iter().find(|word| !["noheader", "nounits"].contains(word)) {
            bail!("{unknown} is no part of a format: noheader and nounits are");
        }
        Ok(Format { header: !words.contains(&"noheader"), units: !words.contains(&"nounits") })
    }
}

/// The value where there is none.
const NONE: &str = "[N/A]";

pub(super) fn devices(scene: &Scene<'_>, fields: &str, format: Format) -> anyhow::Result<String> {
    let mut chosen = Vec::new();
    for name in fields.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match field::ALL.iter().find(|field| field.names.contains(&name)) {
            Some(field) => chosen.push(field),
            None => bail!("field \"{name}\" is not a valid field to query"),
        }
    }
    let mut rows = Vec::new();
    if format.header {
        rows.push(chosen.iter().map(|field| title(field.names[0], field.unit)).collect());
    }
    for device in &scene.devices {
        let value = |field: &&field::Field| cell((field.value)(scene, device), field.unit, format);
        rows.push(chosen.iter().map(value).collect());
    }
    Ok(lines(&rows))
}

/// A fact about a process: its names, the first of which stands above the column, its unit and its value.
struct OfProcess {
    names: &'static [&'static str],
    unit: Option<&'static str>,
    value: fn(&Scene<'_>, &Device, &ProcessUse) -> Option<String>,
}

const OF_PROCESSES: [OfProcess; 8] = [
    OfProcess { names: &["timestamp"], unit: None, value: |scene, _, _| Some(field::timestamp(scene)) },
    OfProcess { names: &["gpu_name"], unit: None, value: |_, device, _| Some(field::name(device)) },
    OfProcess { names: &["gpu_bus_id"], unit: None, value: |_, device, _| Some(device.long_pci_bus_id()) },
    OfProcess { names: &["gpu_serial"], unit: None, value: |_, _, _| None },
    OfProcess { names: &["gpu_uuid"], unit: None, value: |_, device, _| Some(device.uuid_text()) },
    OfProcess { names: &["pid"], unit: None, value: |_, _, process| Some(process.process.to_string()) },
    OfProcess { names: &["process_name", "name"], unit: None, value: |_, _, process| name_of_process(process.process) },
    OfProcess {
        names: &["used_gpu_memory", "used_memory"],
        unit: Some("MiB"),
        value: |_, _, process| Some(mebibytes(process.memory).to_string()),
    },
];

pub(super) fn processes(scene: &Scene<'_>, fields: &str, format: Format) -> anyhow::Result<String> {
    let mut chosen = Vec::new();
    for name in fields.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match OF_PROCESSES.iter().find(|field| field.names.contains(&name)) {
            Some(field) => chosen.push(field),
            None => bail!("field \"{name}\" is not a valid field to query"),
        }
    }
    let mut rows = Vec::new();
    if format.header {
        rows.push(chosen.iter().map(|field| title(field.names[0], field.unit)).collect());
    }
    for device in &scene.devices {
        for process in scene.look.processes(device.number()) {
            let value = |field: &&OfProcess| cell((field.value)(scene, device, &process), field.unit, format);
            rows.push(chosen.iter().map(value).collect());
        }
    }
    Ok(lines(&rows))
}

fn title(name: &str, unit: Option<&str>) -> String {
    unit.map_or(name.to_owned(), |unit| format!("{name} [{unit}]"))
}

fn cell(value: Option<String>, unit: Option<&str>, format: Format) -> String {
    match (value, unit) {
        (Some(value), Some(unit)) if format.units => format!("{value} {unit}"),
        (Some(value), _) => value,
        (None, _) => NONE.to_owned(),
    }
}

fn lines(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| row.join(", ") + "\n").collect()
}
