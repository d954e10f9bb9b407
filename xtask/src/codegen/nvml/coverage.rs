//! docs/nvml-coverage.md: which functions of the management library are implemented.

use std::fmt::Write;

use anyhow::Result;

use crate::codegen::libcuda::Handlers;
use crate::output::Output;
use crate::registry::{Function, Registry};

pub(super) fn generate(registry: &Registry, handlers: &Handlers, outputs: &mut Vec<Output>) -> Result<()> {
    let (mut groups, mut summary) = (String::new(), String::new());
    let (mut all, mut all_handled) = (0, 0);
    for group in &registry.nvml.groups {
        let handled = group.functions.iter().filter(|function| handlers.module(&function.handler).is_some()).count();
        all += group.functions.len();
        all_handled += handled;
        writeln!(summary, "| {} | {} | {handled} |", group.title, group.functions.len())?;
        writeln!(groups, "\n## {}\n\n| function | status |\n| --- | --- |", group.title)?;
        for function in &group.functions {
            let name = function.name.replace('_', "\\_");
            writeln!(groups, "| {name} | {} |", status(function, handlers))?;
        }
    }
    let body = format!(
        "# Which functions of the management library are implemented

{all_handled} of {all} functions have a handler. The others are exported; they answer `NVML_ERROR_UNINITIALIZED` before `nvmlInit`, `NVML_ERROR_INVALID_ARGUMENT` to a device
that there is not or a pointer that is NULL, and `NVML_ERROR_NOT_SUPPORTED` otherwise.

| group | functions | with a handler |
| --- | --- | --- |
{summary}{groups}"
    );
    outputs.push(Output::markdown("docs/nvml-coverage.md", &body));
    Ok(())
}

fn status(function: &Function, handlers: &Handlers) -> String {
    let why = function.refused.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    match (handlers.module(&function.handler), &function.without_effect) {
        (None, _) => format!("answers NVML_ERROR_NOT_SUPPORTED{why}"),
        (Some(_), Some(what)) => format!("implemented; {what}"),
        (Some(_), None) => "implemented".to_owned(),
    }
}
