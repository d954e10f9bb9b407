//! The management library: its exports, the list that tests hold against it, and its coverage.

mod coverage;
mod exports;

use std::path::Path;

use anyhow::Result;

use super::libcuda::{Handlers, Sources};
use crate::output::Output;
use crate::registry::{Function, Registry};

/// The handlers of the management library.
const HANDLERS: Sources = Sources { folder: "crates/nvml/src/api", declaration: "pub(crate) fn ", names: &["nvml"] };
const FOLDER: &str = "crates/nvml/src/generated";

pub(super) fn generate(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let handlers = Handlers::scan(root, &HANDLERS)?;
    let functions = || registry.nvml.groups.iter().flat_map(|group| &group.functions);
    handlers.require_known(|name| functions().any(|function| function.handler == name))?;
    exports::generate(root, registry, &handlers, outputs)?;
    let symbols = |of: &dyn Fn(&Function) -> bool| {
        let mut symbols: Vec<String> =
            functions().filter(|function| of(function)).map(|function| function.name.clone()).collect();
        symbols.sort_unstable();
        symbols
    };
    let not_supported = |function: &Function| handlers.module(&function.handler).is_none();
    outputs.push(Output::list(format!("{FOLDER}/symbols.txt"), &symbols(&|_| true)));
    outputs.push(Output::list(format!("{FOLDER}/not_supported.txt"), &symbols(&not_supported)));
    coverage::generate(registry, &handlers, outputs)
}
