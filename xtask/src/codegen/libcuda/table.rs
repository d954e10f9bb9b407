//! The table of the lookup: every name with its symbols, newest first.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::{FOLDER, exported_groups};
use crate::output::Output;
use crate::registry::Registry;

pub(super) fn generate(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for (group, entry_points) in exported_groups(registry) {
        for entry_point in entry_points {
            let (mut legacy, mut per_thread) = (String::new(), String::new());
            for abi in entry_point.abis.iter().rev() {
                write_version(&mut legacy, &group.name, &abi.symbol, abi.since)?;
                if let (Some(symbol), Some(variant)) = (abi.per_thread_symbol(), &abi.per_thread) {
                    write_version(&mut per_thread, &group.name, &symbol, variant.since)?;
                }
            }
            let row = format!(
                "EntryPoint {{ name: {:?}, legacy: &[{legacy}], per_thread: &[{per_thread}] }},\n",
                entry_point.name
            );
            rows.push((&entry_point.name, row));
        }
    }
    rows.sort_unstable();
    let text: String = rows.iter().map(|(_, row)| row.as_str()).collect();
    let body = format!(
        "//! Every name that the lookup knows, in the order of the names; symbols newest first.

use super::exports;
use crate::lookup::{{EntryPoint, Version}};

/// All entry points.
pub(crate) static ENTRY_POINTS: [EntryPoint; {}] = [\n{text}];\n",
        rows.len()
    );
    outputs.push(Output::rust(root, format!("{FOLDER}/entry_points.rs"), &body)?);
    Ok(())
}

fn write_version(text: &mut String, group: &str, symbol: &str, since: u32) -> Result<()> {
    write!(
        text,
        "Version {{ since: {since}, symbol: {symbol:?}, address: exports::{group}::{symbol} as *const () }},"
    )?;
    Ok(())
}
