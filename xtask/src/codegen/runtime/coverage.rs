//! docs/runtime-coverage.md: which functions of the runtime API are implemented.

use std::fmt::Write;

use anyhow::Result;

use crate::codegen::libcuda::Handlers;
use crate::output::Output;
use crate::registry::{Function, MAJORS, Registry};

pub(super) fn generate(registry: &Registry, handlers: &Handlers, outputs: &mut Vec<Output>) -> Result<()> {
    let (mut groups, mut summary) = (String::new(), String::new());
    let (mut all, mut all_implemented) = (0, 0);
    for group in &registry.runtime.groups {
        let count = |function: &Function| function.symbols().count();
        let symbols: usize = group.functions.iter().map(count).sum();
        let handled = group.functions.iter().filter(|function| handlers.module(&function.handler).is_some());
        let implemented: usize = handled.map(count).sum();
        all += symbols;
        all_implemented += implemented;
        writeln!(summary, "| {} | {symbols} | {implemented} |", group.title)?;
        writeln!(groups, "\n## {}\n\n| function | library | status |\n| --- | --- | --- |", group.title)?;
        for function in &group.functions {
            writeln!(groups, "| {} | {} | {} |", name(function), library(function), status(function, handlers))?;
        }
    }
    let body = format!(
        "# Which functions of the runtime API are implemented

{all_implemented} of {all} symbols have a handler. The others are exported; they answer `cudaErrorNotSupported`.
`_ptds` and `_ptsz` variants share the handler of their function. A name that stands twice has another signature in each major version.

| group | symbols | with a handler |
| --- | --- | --- |
{summary}{groups}"
    );
    outputs.push(Output::markdown("docs/runtime-coverage.md", &body));
    Ok(())
}

fn name(function: &Function) -> String {
    let variant = function.per_thread.as_ref().map(|suffix| format!(" ({suffix})")).unwrap_or_default();
    format!("{}{variant}", function.name).replace('_', "\\_")
}

fn library(function: &Function) -> String {
    let majors = MAJORS.into_iter().filter(|major| function.is_in(*major));
    majors.map(|major| major.to_string()).collect::<Vec<_>>().join(", ")
}

fn status(function: &Function, handlers: &Handlers) -> String {
    if handlers.module(&function.handler).is_none() {
        let why = function.refused.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        return format!("answers cudaErrorNotSupported{why}");
    }
    if let Some(why) = &function.refused {
        return format!("refused: {why}");
    }
    match function.without_effect.as_deref() {
        None => "implemented".to_owned(),
        Some("everything") => "kept, no effect".to_owned(),
        Some(part) => format!("implemented; kept, no effect: {part}"),
    }
}
