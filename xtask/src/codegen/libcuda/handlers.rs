//! Which symbols have a handler: found in the sources, so that nothing is registered twice.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Where a library's handlers are, and how their declarations begin: what stands before the name, and the first letters of it.
pub(crate) struct Sources {
    pub(crate) folder: &'static str,
    pub(crate) declaration: &'static str,
    pub(crate) names: &'static [&'static str],
}

/// The handlers of the driver API.
pub(crate) const DRIVER: Sources =
    Sources { folder: "crates/libcuda/src/api", declaration: "pub(crate) fn ", names: &["cu"] };

/// The handlers by symbol.
pub(crate) struct Handlers {
    /// The path of the handler's module within the crate: `api::memory::device`.
    modules: HashMap<String, String>,
}

impl Handlers {
    /// Reads every declaration of a handler in the files below `api/`; the path of a file is the path of its module.
    pub(crate) fn scan(root: &Path, sources: &Sources) -> Result<Handlers> {
        let mut handlers = Handlers { modules: HashMap::new() };
        let api = root.join(sources.folder);
        let mut folders = vec![(api, "api".to_owned())];
        while let Some((folder, module)) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry?.path();
                let name = path.file_stem().and_then(|stem| stem.to_str()).context("a file of the API has a name")?;
                let child = format!("{module}::{name}");
                if path.is_dir() {
                    folders.push((path, child));
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let source = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                    handlers.scan_file(&source, &child, sources)?;
                }
            }
        }
        Ok(handlers)
    }

    fn scan_file(&mut self, source: &str, module: &str, sources: &Sources) -> Result<()> {
        for line in source.lines() {
            let Some(rest) = line.strip_prefix(sources.declaration) else { continue };
            let Some((name, _)) = rest.split_once('(') else { continue };
            let name = name.split_once('<').map_or(name, |(name, _)| name);
            if !sources.names.iter().any(|start| name.starts_with(start)) {
                continue;
            }
            let symbol = name.to_owned();
            if let Some(other) = self.modules.insert(symbol.clone(), module.to_owned()) {
                bail!("{symbol} has two handlers, in {other} and {module}");
            }
        }
        Ok(())
    }

    /// The module of the symbol's handler.
    pub(crate) fn module(&self, symbol: &str) -> Option<&str> {
        self.modules.get(symbol).map(String::as_str)
    }

    /// Fails if a handler is for no symbol of `known`: a misspelt one would never be called.
    pub(crate) fn require_known(&self, known: impl Fn(&str) -> bool) -> Result<()> {
        let mut unknown: Vec<&str> = self.modules.keys().map(String::as_str).filter(|symbol| !known(symbol)).collect();
        unknown.sort_unstable();
        if unknown.is_empty() {
            Ok(())
        } else {
            bail!("handlers for no symbol of the registry: {}", unknown.join(", "))
        }
    }
}
