//! The PTX texts of the repository.

use std::path::{Path, PathBuf};
use warploom_ptx::isa::instances;
use warploom_ptx::{Options, VerifiedModule, isa, load};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files with that ending below a folder, in order.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()) {
        if entry.is_dir() {
            out.extend(files(&entry, ending));
        } else if entry.extension().is_some_and(|extension| extension == ending) {
            out.push(entry);
        }
    }
    out.sort();
    out
}

/// The device and the driver that a text names in its comments; an H100 and CUDA 13.0 if it names none.
pub(crate) fn options(text: &str) -> Options {
    let mut options = Options { driver_version: 13000, sm: 90 };
    for line in text.lines() {
        if let Some(sm) = line.strip_prefix("// device sm_") {
            options.sm = sm.trim().parse().expect("sm");
        } else if let Some(version) = line.strip_prefix("// driver ") {
            let (major, minor) = version.trim().split_once('.').expect("version");
            options.driver_version =
                1000 * major.parse::<u32>().expect("major") + 10 * minor.parse::<u32>().expect("minor");
        }
    }
    options
}

/// The modules of the `.ptx` files below a folder that load.
pub(crate) fn modules(folder: &Path) -> Vec<VerifiedModule> {
    let load = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a text");
        load(text.as_bytes(), &Options { driver_version: 13050, ..options(&text) }).ok()
    };
    files(folder, "ptx").iter().filter_map(load).collect()
}

/// A module for every instruction of every form, on each target that has it.
pub(crate) fn forms() -> impl Iterator<Item = VerifiedModule> {
    let texts = isa::all_forms().flat_map(|(opcode, form)| instances::all_instances(opcode, form));
    texts.flat_map(|text| {
        [("sm_90a", 90), ("sm_100a", 100), ("sm_120a", 120)].into_iter().filter_map(move |(target, sm)| {
            let declarations = instances::DECLARATIONS;
            let text = format!(
                ".version 9.5\n.target {target}\n.address_size 64\n.entry k()\n{{{declarations}\n{text}\nret;\n}}\n"
            );
            load(text.as_bytes(), &Options { driver_version: 13050, sm }).ok()
        })
    })
}
