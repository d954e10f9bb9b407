//! Texts of the repository that load.

use std::path::{Path, PathBuf};
use warploom_ptx::{Options, VerifiedModule, load};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()) {
        if entry.is_dir() {
            files(&entry, out);
        } else if entry.extension().is_some_and(|extension| extension == "ptx") {
            out.push(entry);
        }
    }
}

/// The modules of the `.ptx` files below a folder that load for a device that they name, or for an H100.
pub(crate) fn modules(root: &Path) -> Vec<VerifiedModule> {
    let mut paths = Vec::new();
    files(root, &mut paths);
    paths.sort();
    let load = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a text");
        let sm = text.lines().find_map(|line| line.strip_prefix("// device sm_")?.trim().parse().ok()).unwrap_or(90);
        load(text.as_bytes(), &Options { driver_version: 13020, sm }).ok()
    };
    paths.iter().filter_map(load).collect()
}
