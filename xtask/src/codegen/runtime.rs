//! The runtime library: the exports of each major version, the lists that tests hold against it, and its coverage.

mod coverage;
mod exports;

use std::path::Path;

use anyhow::Result;

use super::libcuda::{Handlers, Sources};
use crate::output::Output;
use crate::registry::{Function, MAJORS, Registry};

/// The handlers of the runtime API.
const HANDLERS: Sources =
    Sources { folder: "crates/cudart/src/api", declaration: "pub fn ", names: &["cuda", "__cuda"] };

pub(super) fn generate(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let handlers = Handlers::scan(root, &HANDLERS)?;
    let functions = || registry.runtime.groups.iter().flat_map(|group| &group.functions);
    handlers.require_known(|name| functions().any(|function| function.handler == name))?;
    for major in MAJORS {
        exports::generate(root, registry, &handlers, major, outputs)?;
        let symbols = |of: &dyn Fn(&Function) -> bool| {
            let mut symbols: Vec<String> = functions()
                .filter(|function| function.is_in(major) && of(function))
                .flat_map(|function| function.symbols().map(|(_, symbol)| symbol))
                .collect();
            symbols.sort_unstable();
            symbols
        };
        let not_supported = |function: &Function| handlers.module(&function.handler).is_none();
        let folder = format!("crates/cudart{major}/src/generated");
        outputs.push(Output::list(format!("{folder}/symbols.txt"), &symbols(&|_| true)));
        outputs.push(Output::list(format!("{folder}/not_supported.txt"), &symbols(&not_supported)));
    }
    coverage::generate(registry, &handlers, outputs)
}
