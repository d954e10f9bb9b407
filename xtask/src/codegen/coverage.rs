//! docs/coverage.md: which entry points are implemented.

use std::fmt::Write;

use anyhow::{Result, bail};

use super::libcuda::Handlers;
use crate::output::Output;
use crate::registry::{Abi, EntryPoint, Group, Omission, Registry};

pub(super) fn generate(registry: &Registry, handlers: &Handlers, outputs: &mut Vec<Output>) -> Result<()> {
    let mut groups = String::new();
    let mut summary = String::new();
    let (mut all_symbols, mut all_implemented) = (0, 0);
    for group in registry.groups.iter().filter(|group| !group.entry_points.is_empty()) {
        let (symbols, implemented) = count(group, handlers);
        all_symbols += symbols;
        all_implemented += implemented;
        writeln!(summary, "| {} | {symbols} | {implemented} |", group.title)?;
        writeln!(
            groups,
            "\n## {}\n\n| entry point | symbols, and the CUDA version each came with | status |",
            group.title
        )?;
        writeln!(groups, "| --- | --- | --- |")?;
        for entry_point in &group.entry_points {
            let symbols: Vec<String> = entry_point.abis.iter().map(symbol_text).collect();
            let status = status(entry_point, handlers)?;
            writeln!(groups, "| {} | {} | {status} |", entry_point.name, symbols.join(", "))?;
        }
    }
    let names = || {
        let groups = registry.groups.iter().flat_map(|group| &group.entry_points);
        groups.filter(|entry_point| entry_point.exported)
    };
    let answers = |entry_point: &&EntryPoint| {
        let handled = entry_point.abis.iter().all(|abi| handlers.module(&abi.symbol).is_some());
        handled && entry_point.not_supported.is_none()
    };
    let (names, answered) = (names().count(), names().filter(answers).count());
    let body = format!(
        "# Which entry points are implemented

{answered} of {names} entry points work, or are refused by a handler as a driver without what they need was recorded to refuse them; the others answer
`CUDA_ERROR_NOT_SUPPORTED`, each for the reason below. Of {all_symbols} symbols {all_implemented} have a handler. The others are exported and resolve.
`_ptds` and `_ptsz` variants share the handler of their symbol. What is *kept, no effect* is checked, remembered and told again, and changes
nothing else: a CPU has nothing that it could change, or not yet.

| group | symbols | with a handler |
| --- | --- | --- |
{summary}{groups}
## Left out

What a real driver exports, or NVIDIA's headers declare, and this project does not have.

| names | reason |
| --- | --- |
{}{}",
        omissions(&registry.left_out.symbols)?,
        omissions(&registry.left_out.headers)?
    );
    outputs.push(Output::markdown("docs/coverage.md", &body));
    Ok(())
}

/// Exported symbols of a group, and those with a handler.
fn count(group: &Group, handlers: &Handlers) -> (usize, usize) {
    let abis = || group.entry_points.iter().filter(|entry_point| entry_point.exported).flat_map(|entry| &entry.abis);
    let symbols = |abi: &Abi| 1 + usize::from(abi.per_thread.is_some());
    let implemented = abis().filter(|abi| handlers.module(&abi.symbol).is_some()).map(symbols).sum();
    (abis().map(symbols).sum(), implemented)
}

fn symbol_text(abi: &Abi) -> String {
    let variant = abi
        .per_thread
        .as_ref()
        .map(|variant| format!(" ({} {})", variant.suffix.replace('_', "\\_"), version(variant.since)))
        .unwrap_or_default();
    format!("{} {}{variant}", abi.symbol.replace('_', "\\_"), version(abi.since))
}

/// `12040` as `12.4`.
fn version(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// What the table says of an entry point. Fails for one that is said to be refused and has no handler that would: it answers `NOT_SUPPORTED`.
fn status(entry_point: &EntryPoint, handlers: &Handlers) -> Result<String> {
    if !entry_point.exported {
        return Ok("in the headers only: no driver for this platform has it".to_owned());
    }
    if let Some(reason) = &entry_point.not_supported {
        return Ok(format!("answers NOT_SUPPORTED: {reason}"));
    }
    let missing: Vec<&str> = entry_point
        .abis
        .iter()
        .map(|abi| abi.symbol.as_str())
        .filter(|symbol| handlers.module(symbol).is_none())
        .collect();
    if let Some(refused) = &entry_point.refused {
        if !missing.is_empty() {
            bail!("{} is refused with {refused}, but {} has no handler", entry_point.name, missing.join(", "));
        }
        return Ok(format!("refused as recorded with {refused}"));
    }
    Ok(match missing.len() {
        0 => match entry_point.without_effect.as_deref() {
            None => match &entry_point.not_supported_in_part {
                None => "implemented".to_owned(),
                Some(part) => format!("implemented; answers NOT_SUPPORTED to {part}"),
            },
            Some("everything") => "kept, no effect".to_owned(),
            Some(part) => format!("implemented; kept, no effect: {part}"),
        },
        all if all == entry_point.abis.len() => "answers NOT_SUPPORTED".to_owned(),
        _ => format!("implemented; {} answers NOT_SUPPORTED", missing.join(", ").replace('_', "\\_")),
    })
}

fn omissions(omissions: &[Omission]) -> Result<String> {
    let mut text = String::new();
    for omission in omissions {
        writeln!(text, "| {} | {} |", omission.names.join(", ").replace('_', "\\_"), omission.reason)?;
    }
    Ok(text)
}
