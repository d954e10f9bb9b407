//! An older driver: the names that our driver exports and that a driver of the CUDA version asked for did not have are taken from the dynamic symbol table before
//! anybody is bound to it. `dlsym` then finds no such name, and a program that is linked with one does not start, as with that driver.

use warploom_abi::facts::ENTRY_POINTS;

use crate::elf_file::{Export, Reason};
use crate::explain;
use crate::exports::{self, Lead};
use crate::loaded::NewObject;

/// The CUDA version that `WARPLOOM_CUDA_VERSION` asks for, `1000 * major + 10 * minor`; None if it asks for none that can be understood, which the driver says.
pub(crate) fn version() -> Option<i32> {
    let text = std::env::var("WARPLOOM_CUDA_VERSION").ok()?;
    let (major, minor) = text.trim().split_once('.')?;
    Some(1000 * major.parse::<i32>().ok()? + 10 * minor.parse::<i32>().ok()?)
}

/// Takes the names that are newer than `version` from `driver`.
pub(crate) fn newer_than(version: i32, driver: &NewObject) {
    let name = driver.display_name();
    match take(version, driver) {
        Ok(0) => {}
        Ok(count) => {
            let (major, minor) = (version / 1000, version % 1000 / 10);
            explain::say(
                &name,
                format_args!("{count} functions are not there: they are newer than CUDA {major}.{minor}"),
            );
        }
        Err(reason) => explain::say(&name, format_args!("all functions stay there: {reason}")),
    }
}

/// How many there were.
fn take(version: i32, driver: &NewObject) -> Result<usize, Reason> {
    let mut newer: Vec<&[u8]> = ENTRY_POINTS
        .iter()
        .flat_map(|entry| entry.versions)
        .filter(|abi| abi.since > version)
        .map(|abi| abi.symbol.as_bytes())
        .collect();
    newer.sort_unstable();
    let file = driver.file()?;
    let is_newer = |export: &Export| newer.binary_search(&export.name.as_slice()).is_ok();
    let taken: Vec<Export> = file.exports()?.into_iter().filter(is_newer).collect();
    let entries = || taken.iter().map(|export| export.entry);
    let (Some(first), Some(last)) = (entries().min(), entries().max()) else { return Ok(0) };
    let segment = file.loaded_segment(first, last + size_of::<u64>() as u64 - first);
    let segment = segment.ok_or_else(|| "is damaged: its symbol table is not loaded".to_owned())?;
    // A name whose value is 0 is none to the dynamic linker.
    let nowhere = driver.address(0);
    let leads: Vec<Lead> =
        taken.iter().map(|export| Lead { entry: driver.address(export.entry), to: nowhere }).collect();
    exports::write(driver, segment, &leads)
        .map_err(|error| format!("its symbol table cannot be written to: {error}"))?;
    Ok(leads.len())
}
